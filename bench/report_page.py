# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the pages of several benches are made of: tables, pictures (if matplotlib is there), the machine's line."""

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


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(cell if isinstance(cell, str) else f"{cell:.4g}" for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def save(figure, axis, path, title):
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
    return f"![{title}]({path.name})\n\n"


def lines_picture(path, title, x_label, y_label, series, log_x=False):
    """`series` is {name: [(x, y)...]}."""
    if pyplot is None:
        return ""
    figure, axis = pyplot.subplots(figsize=(11, 5), dpi=150)
    for i, (name, points) in enumerate(series.items()):
        points = sorted(points)
        axis.plot([x for x, _ in points], [y for _, y in points], label=name, color=COLOURS[i % len(COLOURS)],
                  marker=MARKERS[i % len(MARKERS)], markersize=4, linewidth=1.3)
    if log_x:
        axis.set_xscale("log", base=2)
    axis.set(title=title, xlabel=x_label, ylabel=y_label)
    axis.set_ylim(bottom=0)
    return save(figure, axis, path, title)


def bars_picture(path, title, y_label, groups):
    """`groups` is {group: {arm: value}}."""
    if pyplot is None:
        return ""
    arms = list(dict.fromkeys(arm for values in groups.values() for arm in values))
    figure, axis = pyplot.subplots(figsize=(11, 5), dpi=150)
    width = 0.8 / max(len(arms), 1)
    for i, arm in enumerate(arms):
        axis.bar([group + i * width for group in range(len(groups))], [values.get(arm, 0) for values in groups.values()], width,
                 label=arm, color=COLOURS[i % len(COLOURS)])
    axis.set_xticks([group + 0.4 - width / 2 for group in range(len(groups))], list(groups), fontsize=8, rotation=15)
    axis.set(title=title, ylabel=y_label)
    return save(figure, axis, path, title)


def machine_of(context):
    return ", ".join(f"{label} {context[key]}" for key, label in CONTEXT if key in context)


def write_page(folder, parts):
    if pyplot is None:
        parts = [*parts, "The pictures are left out: matplotlib is not installed."]
    (folder / "report.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(folder / "report.md")
