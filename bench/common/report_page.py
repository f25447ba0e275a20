# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Building blocks of the benches' pages: limits, tables, pictures (if matplotlib is installed), the line about the machine,
and the command line that the scripts share."""
import argparse
import os
import pathlib

import results

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
NO_PICTURES = "The pictures are left out: matplotlib is not installed."


def machine_of(context):
    return ", ".join(f"{label} {context[key]}" for key, label in CONTEXT if key in context)


def table(head, rows, right_from=None):
    """Returns a Markdown table. Columns from `right_from` on are right-aligned. Numbers have four significant digits, or all digits before the point."""
    def text(cell):
        return cell.replace("|", "\\|") if isinstance(cell, str) else f"{cell:.0f}" if cell >= 1000 else f"{cell:.4g}"

    if right_from is None:
        rule = "|" + "-|" * len(head)
    else:
        rule = "|" + "-|" * right_from + "-:|" * (len(head) - right_from)
    lines = ["|" + "|".join(map(text, row)) + "|" for row in [head, *rows]]
    return "\n".join([lines[0], rule, *lines[1:]])


def limit_row(what, measured, limit, at_most=True, uncertainty=NONE):
    """Returns a table row with a measurement and its limit. A measurement that exceeds the limit by less than its
    uncertainty is undecided."""
    limits = f"{'≤' if at_most else '≥'} {limit:g}"
    if measured != measured:
        return [what, limits, "not measured", ""]
    missed_by = measured - limit if at_most else limit - measured
    text = f"{measured:.3g}" + (f" ± {uncertainty:.2g}" if uncertainty == uncertainty else "")
    return [what, limits, text, "held" if missed_by <= 0 else "undecided" if missed_by <= uncertainty else "**missed**"]


def limit_table(rows):
    return table(["promise", "limit", "measured", ""], rows)


class Picture:
    """The file for one picture, and its link for a page in `folder`."""

    def __init__(self, folder, prefix, name):
        self.path = os.path.join(prefix if prefix.endswith(os.sep) else os.path.dirname(prefix), os.path.basename(prefix) + name)
        self.link = os.path.relpath(self.path, folder).replace(os.sep, "/")


class Page:
    """The folder that contains report.md, and the page's pictures, which are written to `prefix` + name."""

    def __init__(self, folder, prefix=None):
        self.folder, self._prefix = folder, prefix or os.path.join(str(folder), "")

    def _figure(self, **how):
        return pyplot.subplots(figsize=(11, 5), dpi=96, **how)

    def _save(self, figure, name, title, axes):
        picture = Picture(self.folder, self._prefix, name)
        figure.tight_layout()
        figure.savefig(picture.path)
        pyplot.close(figure)
        return f"![{title}. {axes}]({picture.link})\n\n"

    def _finish(self, figure, axis, name, title, **labels):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))
        axis.set(title=title, **labels)
        return self._save(figure, name, title, f"Vertical axis: {labels['ylabel']}")

    def lines(self, name, title, x_label, y_label, series, doubling=False, bottom=0.0):
        """`series` is {name: [(x, y)...]}; with `doubling` both axes are logarithmic, in powers of 2."""
        if pyplot is None:
            return ""
        figure, axis = self._figure()
        for i, (label, points) in enumerate(series.items()):
            points = sorted(points)
            # Later lines are thinner, so that overlapping lines stay visible.
            axis.plot([x for x, _ in points], [y for _, y in points], label=label, color=COLOURS[i % len(COLOURS)],
                      marker=MARKERS[i % len(MARKERS)], markersize=max(8 - i, 3), linewidth=max(4 - 0.5 * i, 1))
        if doubling:
            axis.set_xscale("log", base=2)
            axis.xaxis.set_major_formatter("{x:.0f}")
            axis.set_yscale("log", base=2)
            axis.yaxis.set_major_formatter("{x:g}")
        else:
            axis.set_ylim(bottom=bottom)
        return self._finish(figure, axis, name, title, xlabel=x_label, ylabel=y_label)

    def bars(self, name, title, y_label, groups, log_y=False, from_one=False):
        """`groups` is {group: {variant: value}}; `log_y` is for values that span several orders of magnitude; `from_one` is
        for ratios, and starts each bar at 1, on a scale on which 1/2 and 2 are equally far from 1."""
        if pyplot is None:
            return ""
        arms = list(dict.fromkeys(arm for values in groups.values() for arm in values))
        figure, axis = self._figure()
        width = 0.8 / max(len(arms), 1)
        base = 1 if from_one else 0
        for i, arm in enumerate(arms):
            axis.bar([group + i * width for group in range(len(groups))], [values.get(arm, NONE) - base for values in groups.values()],
                     width, bottom=base, label=arm, color=COLOURS[i % len(COLOURS)])
        axis.set_xticks([group + 0.4 - width / 2 for group in range(len(groups))], list(groups), fontsize=9)
        if from_one or log_y:
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter("{x:g}")
        if from_one:
            axis.axhline(1, color="black", linewidth=1)
        if log_y:
            axis.set_ylim(bottom=min(value for values in groups.values() for value in values.values()) / 2)
        return self._finish(figure, axis, name, title, ylabel=y_label)

    def panels(self, name, title, panels):
        """`panels` is {x label: {series: {row: value}}}: horizontal bars side by side, each panel with its own scale."""
        if pyplot is None:
            return ""
        figure, axes = self._figure(nrows=1, ncols=len(panels), sharey=True, squeeze=False)
        axes = axes[0]
        for axis, (label, series) in zip(axes, panels.items()):
            height = 0.8 / len(series)
            for i, (key, values) in enumerate(series.items()):
                axis.barh([row + (i - (len(series) - 1) / 2) * height for row in range(len(values))], list(values.values()), height,
                          label=key, color=COLOURS[i % len(COLOURS)])
                axis.set_yticks(range(len(values)), list(values), fontsize=9)
            axis.grid(alpha=0.3)
            axis.set(xlabel=label)
            if len(series) > 1:
                axis.legend(fontsize=8, loc="lower right")
        axes[0].invert_yaxis()
        figure.suptitle(title)
        return self._save(figure, name, title, "Horizontal axes: " + "; ".join(panels))


class Figures:
    """Returns one file's measured cases for a report: {name: figures}."""

    def __init__(self, path, draw):
        read = results.load(path, "that the report is about")
        self.context, self.waivers = read.context, read.waivers
        self.failures = sum(1 for case in read.cases.values() if case.failed is not None)
        self.cases = {name: case.figures for name, case in read.measured.items()}
        self.repetitions = max((case.repetitions for case in read.measured.values()), default=0)
        first = next(iter(read.cases), "").split("/")[0]
        self.bench = first if first in draw else pathlib.PurePath(read.context.get("executable", first)).name

    def origin(self):
        """Returns a paragraph on the origin and the meaning of the figures."""
        return f"{machine_of(self.context)}; " + self.context.get("time", f"medians of {self.repetitions} repetitions") + "."

    def titled(self, title):
        """Returns the title with the machine's name."""
        return f"{title} ({self.context['gpu']})" if "gpu" in self.context else title

    def rows(self, depth):
        """Returns {parts of the name after the bench: figures} for the names with that many parts."""
        split = {tuple(name.split("/")[1:]): figures for name, figures in self.cases.items()}
        return {parts: figures for parts, figures in split.items() if len(parts) == depth}


def section(path, page, draw):
    """Returns a page's section for one file: a heading, the file's origin, and the text that `draw[bench](figures, page)`
    returns."""
    figures = Figures(path, draw)
    if figures.bench not in draw:
        raise results.ResultError(f"{path}: the bench {figures.bench or 'of no case'} is not one of {', '.join(draw)}")
    if not figures.cases and not figures.waivers and not figures.failures:
        raise results.ResultError(f"{path} contains no cases")
    heading = f"## {figures.bench}\n\n"
    if not figures.cases:
        return heading + "Not measured: " + "; ".join(sorted(figures.waivers) or [f"{figures.failures} cases failed"]) + "."
    try:
        return heading + figures.origin() + "\n\n" + draw[figures.bench](figures, page)
    except (LookupError, ValueError) as failure:
        raise results.ResultError(f"{path}: not a result of {figures.bench}: {failure!r}") from None


def write_report(description, title, draw):
    """Runs a report's script: writes the page and the pictures for the files on the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the folder for report.md and the pictures")
    parser.add_argument("--pictures", metavar="PREFIX", help="the prefix of the pictures' paths, such as folder/machine. (default: the output folder)")
    parser.add_argument("files", type=pathlib.Path, nargs="+", metavar="bench.json")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    page = Page(options.output, options.pictures)
    try:
        parts = [f"# {title}", *[section(path, page, draw) for path in options.files]]
    except results.ResultError as failure:
        raise SystemExit(str(failure)) from None
    if pyplot is None:
        parts.append(NO_PICTURES)
    (options.output / "report.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(options.output / "report.md")
