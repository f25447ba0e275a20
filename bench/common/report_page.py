# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the pages of several benches are made of: medians, promises, tables, pictures (if matplotlib is there), the machine's line, and
what their scripts do with the command line."""
import argparse
import json
import pathlib
import statistics

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    pyplot = None

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8F3B76", "#222222", "#767676", "#B22222"]
MARKERS = "osv^DPX*<>"
CONTEXT = [("gpu", "GPU"), ("driver", "driver"), ("cuda_runtime", "CUDA"), ("date", "date")]
NONE = float("nan")


class Medians:
    """The medians of one file: {case: {"time_us": ..., counter: ...}}, and why cases are missing. `benches` says whose it may be."""

    def __init__(self, path, benches, counters):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            runs = document["benchmarks"]
            self.bench = runs[0]["name"].split("/")[0]
            samples, medians, families = {}, {}, {}
            self.waived = set()
            self.repetitions = 0
            for run in runs:
                if run.get("error_occurred") or run.get("aggregate_name", "median") != "median":
                    continue
                if run.get("label", "").startswith("waived: "):
                    self.waived.add(run["label"][len("waived: "):])
                    continue
                name = run["run_name"].split("/iterations:")[0]
                families[name] = run["family_index"]
                self.repetitions = max(self.repetitions, run["repetitions"])
                scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}[run["time_unit"]]
                figures = {"time_us": run["real_time"] * scale, **{key: run[key] for key in counters if key in run}}
                if run["run_type"] == "aggregate":
                    medians[name] = figures
                else:
                    samples.setdefault(name, []).append(figures)
        except (OSError, ValueError, LookupError, TypeError) as failure:
            raise SystemExit(f"{path}: not a result of a bench on {benches}: {failure!r}") from None
        self.context = document.get("context", {})
        for name, runs_of_case in samples.items():
            medians.setdefault(name, {key: statistics.median(run[key] for run in runs_of_case) for key in runs_of_case[0]})
        # In the order of the bench's code: the repetitions of cases are interleaved at random.
        self.cases = {name: medians[name] for name in sorted(medians, key=families.get)}

    def origin(self):
        """Where the figures are from."""
        return f"{machine_of(self.context)}; medians of {self.repetitions} repetitions."

    def titled(self, title):
        """The title with the machine's name."""
        return f"{title} ({self.context['gpu']})" if "gpu" in self.context else title

    def rows(self, depth):
        """{parts of the name behind the bench: figures} for names of that many parts."""
        split = {tuple(name.split("/")[1:]): figures for name, figures in self.cases.items()}
        return {parts: figures for parts, figures in split.items() if len(parts) == depth}


def pages_of(files, folder, draw, read):
    """The parts of a page for the files: for each a heading, its origin, and what `draw[bench](read(file), folder)` says."""
    parts = []
    for path in files:
        results = read(path)
        if results.bench not in draw:
            raise SystemExit(f"{path}: the bench {results.bench} is none of {', '.join(draw)}")
        parts.append(f"## {results.bench}")
        if not results.cases:
            parts.append("Not measured: " + "; ".join(sorted(results.waived) or ["every case failed"]) + ".")
            continue
        parts.append(results.origin())
        try:
            parts.append(draw[results.bench](results, folder))
        except (LookupError, ValueError) as failure:
            raise SystemExit(f"{path}: not a result of {results.bench}: {failure!r}") from None
    return parts


def promise(what, ratio, limit, at_most=True, uncertainty=NONE):
    """A row. What is within the uncertainty of the limit, on the wrong side, is neither held nor missed."""
    limits = f"{'≤' if at_most else '≥'} {limit:g}"
    if ratio != ratio:
        return [what, limits, "not measured", ""]
    missed_by = ratio - limit if at_most else limit - ratio
    measured = f"{ratio:.3g}" + (f" ± {uncertainty:.2g}" if uncertainty == uncertainty else "")
    return [what, limits, measured, "held" if missed_by <= 0 else "undecided" if missed_by <= uncertainty else "**missed**"]


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(cell if isinstance(cell, str) else f"{cell:.0f}" if cell >= 1000 else f"{cell:.4g}" for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def save(figure, path, title):
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
    return f"![{title}]({path.name})\n\n"


def finish(axis, title, **labels):
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    axis.set(title=title, **labels)


def lines_picture(path, title, x_label, y_label, series, doubling=False, bottom=0.0):
    """`series` is {name: [(x, y)...]}; with `doubling` both axes are logarithmic, in powers of 2."""
    if pyplot is None:
        return ""
    figure, axis = pyplot.subplots(figsize=(11, 5), dpi=120)
    for i, (name, points) in enumerate(series.items()):
        points = sorted(points)
        # The later, the thinner: lines that lie on each other are all seen.
        axis.plot([x for x, _ in points], [y for _, y in points], label=name, color=COLOURS[i % len(COLOURS)],
                  marker=MARKERS[i % len(MARKERS)], markersize=max(8 - i, 3), linewidth=max(4 - 0.5 * i, 1))
    if doubling:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.set_yscale("log", base=2)
        axis.yaxis.set_major_formatter("{x:g}")
    else:
        axis.set_ylim(bottom=bottom)
    finish(axis, title, xlabel=x_label, ylabel=y_label)
    return save(figure, path, title)


def bars_picture(path, title, y_label, groups, log_y=False, from_one=False):
    """`groups` is {group: {arm: value}}; `log_y` is for values of several orders of magnitude; `from_one` for ratios: each bar begins
    at 1, and goes as far for a half as for the double."""
    if pyplot is None:
        return ""
    arms = list(dict.fromkeys(arm for values in groups.values() for arm in values))
    figure, axis = pyplot.subplots(figsize=(11, 5), dpi=120)
    width = 0.8 / max(len(arms), 1)
    for i, arm in enumerate(arms):
        heights = [values.get(arm, NONE) - (1 if from_one else 0) for values in groups.values()]
        axis.bar([group + i * width for group in range(len(groups))], heights, width, bottom=1 if from_one else 0,
                 label=arm, color=COLOURS[i % len(COLOURS)])
    axis.set_xticks([group + 0.4 - width / 2 for group in range(len(groups))], list(groups), fontsize=9)
    if from_one:
        axis.axhline(1, color="black", linewidth=1)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
    if log_y:
        axis.set_yscale("log")
        axis.set_ylim(bottom=min(value for values in groups.values() for value in values.values()) / 2)
        axis.yaxis.set_major_formatter("{x:g}")
    finish(axis, title, ylabel=y_label)
    return save(figure, path, title)


def panels_picture(path, title, panels):
    """`panels` is {x label: {series: {row: value}}}: horizontal bars side by side, each panel with its own scale."""
    if pyplot is None:
        return ""
    figure, axes = pyplot.subplots(1, len(panels), figsize=(11, 5), dpi=120, sharey=True, squeeze=False)
    axes = axes[0]
    for axis, (label, series) in zip(axes, panels.items()):
        height = 0.8 / len(series)
        for i, (name, values) in enumerate(series.items()):
            axis.barh([row + (i - (len(series) - 1) / 2) * height for row in range(len(values))], list(values.values()), height,
                      label=name, color=COLOURS[i % len(COLOURS)])
            axis.set_yticks(range(len(values)), list(values), fontsize=9)
        axis.grid(alpha=0.3)
        axis.set(xlabel=label)
        if len(series) > 1:
            axis.legend(fontsize=8, loc="lower right")
    axes[0].invert_yaxis()
    figure.suptitle(title)
    return save(figure, path, title)


def machine_of(context):
    return ", ".join(f"{label} {context[key]}" for key, label in CONTEXT if key in context)


def write_page(folder, parts):
    if pyplot is None:
        parts = [*parts, "The pictures are left out: matplotlib is not installed."]
    (folder / "report.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(folder / "report.md")


def write_report(description, title, draw, read):
    """All that a report's script does: the page and the pictures of the files on the command line, in the folder named there."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the folder for report.md and the pictures")
    parser.add_argument("files", type=pathlib.Path, nargs="+", metavar="bench.json")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    write_page(options.output, [f"# {title}", *pages_of(options.files, options.output, draw, read)])
