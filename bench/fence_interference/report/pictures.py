# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pictures: one per victim, and the overview. Needs matplotlib; nothing else in this package does."""

import itertools
import textwrap

import matplotlib
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

import words

# Okabe and Ito's colours: told apart with every kind of colour blindness, and by shape besides.
SAME, SEPARATE, INK, FAINT, RECORDED = "#D55E00", "#0072B2", "#222222", "#767676", "#8F3B76"
ARMS = {"alone": (INK, "o", ""), "same": (SAME, "o", "the same domain"), "separate": (SEPARATE, "s", "a separate one")}
CONTROLS = {  # arm: (the arm it must equal, marker, name)
    "alias": ("same", "v", "alias (both remote)"), "env0": ("same", "P", "NCCL_MEM_SYNC_DOMAIN=0"),
    "swapped": ("separate", "D", "swapped (victim remote)"), "map": ("separate", "^", "map (physical 2 and 3)")}
HOLLOW = {"markersize": 5.2, "color": "none", "markeredgecolor": INK, "markeredgewidth": 0.9, "linestyle": "none"}
WIDTH, DPI = 10.0, 150  # inches; text of 9 points is 12 pixels high where the picture is shown 1000 pixels wide
# Whatever the user's settings are.
FONTS = {"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 9.0, "axes.linewidth": 0.8}


def _figure(height):
    return Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")


def _text(figure, x, inches_from_top, text, **style):
    height = figure.get_size_inches()[1]
    return figure.text(x, 1 - inches_from_top / height, text, va="top", **style)


def _frame(figure, results, title, subtitle, recorded):
    """Title, what is shown, the line of a recorded picture, and the machine."""
    _text(figure, 0.02, 0.14, title, size=14, weight="bold", color=INK)
    _text(figure, 0.02, 0.46, subtitle, size=9.5, color=INK)
    if recorded:
        _text(figure, 0.02, 0.70, words.sentence_case(recorded), size=10, weight="bold", color=RECORDED)
    height = figure.get_size_inches()[1]
    whole = words.machine(results.context).replace(" ", "\u00a0").replace("\u00a0·\u00a0", " · ")  # breaks between items only
    caption = textwrap.fill(whole, 155)
    figure.text(0.02, 0.10 / height, caption, size=8, color=FAINT, va="bottom")
    return 0.95 if recorded else 0.72


def _log_axis(axis, low, high):
    axis.set_xscale("log")
    axis.set_xlim(low / 1.35, high * 1.25)
    decades = high / low
    axis.xaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5) if decades < 200 else (1, 3) if decades < 2000 else (1,)))
    axis.xaxis.set_major_formatter("{x:,g}")
    axis.xaxis.set_minor_locator(NullLocator())


@matplotlib.rc_context(FONTS)
def draw_victim(results, victim, path, recorded):
    """One row per noise and domain: p50 as a mark, p90 as a thick bar, p99 as a thin one; the factors beside."""
    row, gap, axis_space, foot = 0.27, 0.16, 0.45, 0.42
    alone = results.case(victim, "none", "alone")
    noises = [n for n in results.noises(victim) if n != "none"]
    rows, labels, y = [], [], 0.0  # (y, noise, arm), (y, noise)
    if alone:
        rows.append((0.0, "none", "alone"))
        labels.append((0.0, "none"))
        y = row + gap
    for noise in noises:
        arms = [a for a in ("same", "separate") if any(
            results.case(victim, noise, arm) for arm in [a] + [c for c, (like, _, _) in CONTROLS.items() if like == a])]
        labels.append((y + row * (len(arms) - 1) / 2, noise))
        for arm in arms:
            rows.append((y, noise, arm))
            y += row
        y += gap
    body = y - gap + row

    used_controls = [a for a in CONTROLS if any(results.case(victim, n, a) for n in noises)]
    legend_space = 0.5 if used_controls else 0.1
    height = 0.95 + legend_space + 0.24 + body + axis_space + foot
    if not recorded:
        height -= 0.23
    figure = _figure(height)
    what = {family: text for family, _, text in words.FAMILIES}[victim.split(".")[0]]
    top = _frame(figure, results, words.victim_name(victim),
                 f"{words.sentence_case(what)}: mark p50, thick bar to p90, thin line to p99", recorded)
    left, right = 0.325, 0.735
    axis = figure.add_axes([left, (foot + axis_space) / height, right - left, body / height])
    axis.set_ylim(body - row / 2, -row / 2)

    members = [results.case(victim, n, a) for n in ["none"] + noises for a in words.ARMS]
    members = [c for c in members if c]
    low = min(c.get("p50_ns") for c in members)
    divisor, unit = words.unit_of(low)
    high = max(c.get("p99_ns") or c.get("p50_ns") for c in members)
    low, high = low / divisor, high / divisor
    logarithmic = high > 5 * low
    if logarithmic:
        _log_axis(axis, low, high)
    else:
        axis.set_xlim(0, high * 1.08)
        axis.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axis.xaxis.set_major_formatter("{x:,g}")
    axis.set_xlabel(f"{unit}{', logarithmic' if logarithmic else ''}", color=INK, labelpad=3)
    axis.xaxis.grid(True, color="#E4E4E4", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.set_yticks([])
    axis.spines[["top", "left", "right"]].set_visible(False)
    axis.tick_params(axis="x", color="#AAAAAA", labelcolor=INK)
    if alone:
        axis.axvline(alone.get("p50_ns") / divisor, color=INK, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1.5)

    def draw(case, y, color, marker):
        p50, p90, p99 = (case.get(c) for c in ("p50_ns", "p90_ns", "p99_ns"))
        for end, width in ((p99, 1.1), (p90, 3.2)):
            if end is not None:
                axis.plot([p50 / divisor, end / divisor], [y, y], color=color, linewidth=width, solid_capstyle="butt",
                          alpha=0.85, zorder=2)
        axis.plot([p50 / divisor], [y], marker=marker, color=color, markersize=7.5, markeredgecolor="white",
                  markeredgewidth=0.7, linestyle="none", zorder=3)

    # Text to both sides of the axes, on the rows of the plot.
    def level(y):
        return 1 - (height - (foot + axis_space + body) + y + row / 2) / height

    def beside(x, y, text, **style):
        return figure.text(x, level(y), text, va="center", **style)

    columns = {"p50": 0.805, "alone": 0.885, "relief": 0.98}
    heads = [("p50", f"p50, {unit}")] + ([("alone", "÷ alone")] if alone else [])
    if any(results.relief(victim, n) for n in noises):
        heads.append(("relief", "relief"))
    for key, text in heads:
        beside(columns[key], -row * 0.95, text, size=8.5, color=FAINT, ha="right")
    beside(left - 0.012, -row * 0.95, "the noise runs in", size=8.5, color=FAINT, ha="right")

    for y, noise in labels:
        if noise == "none":
            beside(0.02, y, "No noise", size=9.0, color=INK, weight="bold")
            continue
        case = results.case(victim, noise, "same") or results.case(victim, noise, "separate")
        kind, _, pace = noise.partition(".")
        gbps = case.get("noise_gbps") if case else None
        second = ", ".join(([pace] if pace else []) + ([f"{words.bandwidth(gbps)} GB/s"] if gbps else []))
        beside(0.02, y - (0.085 if second else 0), words.sentence_case(words.NOISE[kind]), size=9.0, color=INK, weight="bold")
        if second:
            beside(0.02, y + 0.085, second, size=8.5, color=INK)

    for y, noise, arm in rows:
        color, mark, runs_in = ARMS[arm]
        case = results.case(victim, noise, arm)
        if arm != "alone":
            beside(left - 0.012, y, "the only domain" if results.one_domain else runs_in, size=8.5, color=color, ha="right")
        if case:
            draw(case, y, color, mark)
            beside(columns["p50"], y, words.duration(case.get("p50_ns"), divisor), size=9, color=color, ha="right")
            slowdown = results.ratio(victim, noise, arm, "alone")
            if alone and slowdown and arm != "alone":
                beside(columns["alone"], y, f"{words.factor(slowdown)}×", size=9, color=color, ha="right",
                       weight="bold" if slowdown > 1.1 else "normal")
        else:
            beside(columns["p50"], y, "–", size=9, color=color, ha="right")
        for control in used_controls:
            like, marker, _ = CONTROLS[control]
            other = results.case(victim, noise, control)
            if other and like == arm:
                axis.plot([other.get("p50_ns") / divisor], [y + 0.075], marker=marker, zorder=4, **HOLLOW)
    for noise in noises:
        ys = [y for y, n, _ in rows if n == noise]
        relief = results.relief(victim, noise)
        if relief and len(ys) == 2:
            gain = relief > 1.1
            edges = [level(ys[0] - 0.06), level(ys[1] + 0.06)]
            hook, stem = columns["alone"] + 0.010, columns["alone"] + 0.016
            bracket = Line2D([hook, stem, stem, hook], [edges[0], edges[0], edges[1], edges[1]], color="#AAAAAA", linewidth=0.8)
            figure.add_artist(bracket)
            beside(columns["relief"], sum(ys) / 2, f"{words.factor(relief)}×", size=9.5 if gain else 9, ha="right",
                   color=INK if gain else FAINT, weight="bold" if gain else "normal")

    if used_controls:
        # A legend only for the hollow marks; everything else is labelled in place.
        _text(figure, 0.02, top, "Hollow marks are controls; each must agree with the filled mark above it:", size=8.5, color=INK)
        handles = [Line2D([], [], marker=CONTROLS[a][1], label=CONTROLS[a][2], **HOLLOW) for a in used_controls]
        figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.015, 1 - (top + 0.17) / height), ncol=len(handles),
                      frameon=False, fontsize=8.5, handletextpad=0.1, columnspacing=1.4, borderaxespad=0, borderpad=0.2)
    failed = sum(1 for c in results.failed if c.victim == victim)
    if failed:
        figure.text(0.98, 0.10 / height, f"{words.counted(failed, 'case')} failed, see report.md", size=8, color=RECORDED,
                    ha="right", va="bottom")
    figure.savefig(path, dpi=DPI)


def _remark(results, victim, noise):
    """The line about relief below a cell. None where there is nothing to relieve: no wait, or no foreign traffic."""
    relief = results.relief(victim, noise)
    if relief is None:
        return ""
    if abs(relief - 1) > 0.1:
        return f"relief {words.factor(relief)}"
    waits = max(results.interference(victim, noise) or 0, results.residual(victim, noise) or 0) > 1.1
    return "no relief" if waits and noise.partition(".")[0] in words.FOREIGN else ""


@matplotlib.rc_context(FONTS)
def draw_overview(results, path, recorded):
    """Every victim beside every noise: interference in the left half of a cell, residual in the right, relief below."""
    noises = [n for n in results.noises() if n != "none"]
    victims = [v for v in results.victims() if any(results.interference(v, n) for n in noises)]
    head_row, row, low_row = 0.26, 0.42, 0.31  # a low row has no line about relief
    lines, y, family = [], 0.0, None  # (y, victim) or (y, family title)
    for victim in victims:
        if victim.split(".")[0] != family:
            family = victim.split(".")[0]
            lines.append((y, None, {f: t for f, t, _ in words.FAMILIES}[family]))
            y += head_row
        lines.append((y, victim, words.victim_row(victim)))
        y += row if any(_remark(results, victim, n) for n in noises) else low_row
    body = max(y, row)
    above, below, key_space = 0.52, 0.55, 0.62
    start = (0.95 if recorded else 0.72) + key_space
    height = start + above + body + below
    figure = _figure(height)
    shades = matplotlib.colormaps["Oranges"] if hasattr(matplotlib, "colormaps") else matplotlib.cm.get_cmap("Oranges")
    norm = LogNorm(1.0, 150.0, clip=True)

    def fill(value):
        return "#F4F4F4" if value <= 1.1 else shades(0.10 + 0.85 * float(norm(value)))

    def ink(value):
        return "white" if value > 1.1 and float(norm(value)) > 0.55 else INK

    subtitle = "Ratios of medians (p50): the darker, the longer the victim waits; grey is no wait (≤ 1.1)"
    title = f"Fence interference: who waits{'' if results.one_domain else ', and what a separate domain gives back'}"
    top = _frame(figure, results, title, subtitle, recorded)

    label_end = 0.225
    axis = figure.add_axes([0, below / height, 1, (above + body) / height])
    axis.set_xlim(0, WIDTH)
    axis.set_ylim(body, -above)
    axis.axis("off")
    start_x, end_x = WIDTH * label_end, WIDTH * 0.985
    width = min((end_x - start_x) / max(len(noises), 1), 1.1)
    pad = 0.03

    def cell(x, y, interference, residual, relief, remark, foreign, wide):
        upper = 0.23
        pieces = [interference] if results.one_domain else [interference, residual]
        for index, value in enumerate(pieces):
            piece = (wide - 2 * pad) / len(pieces)
            at = x + pad + index * piece
            if value is None:
                axis.text(at + piece / 2, y + upper / 2 + 0.03, "–", ha="center", va="center", size=8.5, color=FAINT)
                continue
            axis.add_patch(Rectangle((at, y + 0.03), piece, upper, facecolor=fill(value), edgecolor="white", linewidth=1.2))
            axis.text(at + piece / 2, y + 0.03 + upper / 2, words.factor(value), ha="center", va="center_baseline", size=8.5,
                      color=ink(value))
        if remark:
            # Where domains may change nothing, a change is a failed control and not a gain.
            gain = relief > 1.1 and foreign
            odd = abs(relief - 1) > 0.1 and not gain
            axis.text(x + wide / 2, y + upper + 0.115, remark, ha="center", va="center", size=7.8,
                      color=SEPARATE if gain else RECORDED if odd else FAINT, weight="bold" if gain else "normal")

    # The key: one cell, explained in place.
    key = figure.add_axes([0, 1 - (top + 0.48) / height, 1, 0.46 / height])
    key.set_xlim(0, WIDTH)
    key.set_ylim(0.46, 0)
    key.axis("off")
    wide = 1.0
    if results.one_domain:
        key.add_patch(Rectangle((0.2, 0.05), wide, 0.23, facecolor=shades(0.3), edgecolor="white"))
        key.text(0.2 + wide + 0.1, 0.165, "interference: p50 beside the noise ÷ p50 alone. One memory synchronization domain: "
                 "a negative control, no relief to measure", size=8.5, color=INK, va="center")
    else:
        for index, shade in enumerate((0.5, 0.25)):
            key.add_patch(Rectangle((0.2 + index * wide / 2, 0.03), wide / 2, 0.2, facecolor=shades(shade), edgecolor="white",
                                    linewidth=1.2))
        key.text(0.2 + wide / 4, 0.13, "A", ha="center", va="center_baseline", size=8.5, color=INK)
        key.text(0.2 + 3 * wide / 4, 0.13, "B", ha="center", va="center_baseline", size=8.5, color=INK)
        key.text(0.2 + wide / 2, 0.345, "relief A/B", ha="center", va="center", size=7.8, color=SEPARATE, weight="bold")
        key.text(1.32, 0.13, "A  interference: noise in the same domain ÷ alone     "
                 "B  residual: noise in a separate domain ÷ alone", size=8.5, color=INK, va="center_baseline")
        key.text(1.32, 0.345, "relief: how many times shorter the wait is with the noise in a separate domain", size=8.5, color=INK,
                 va="center")

    # Column heads: the kind over its paces.
    kinds = {"spin": "spin", "local": "local stores", "host": "stores to\nhost memory", "nvlink": "NVLink\nstores",
             "nccl": "NCCL\nall-reduce"}
    for kind, group in itertools.groupby(range(len(noises)), lambda column: noises[column].partition(".")[0]):
        columns = list(group)
        middle = start_x + (columns[0] + len(columns) / 2) * width
        name = kinds[kind].replace("\n", " ") if len(columns) > 1 else kinds[kind]
        axis.text(middle, -0.27 if "." in noises[columns[0]] else -0.06, name, ha="center", va="bottom", size=9, color=INK,
                  weight="bold", linespacing=1.05)
        for column in columns:
            axis.text(start_x + (column + 0.5) * width, -0.07, noises[column].partition(".")[2], ha="center", va="bottom", size=8.2,
                      color=INK)
        if columns[0]:
            axis.plot([start_x + columns[0] * width] * 2, [-0.3, body], color="#D0D0D0", linewidth=0.8)
    for y, victim, label in lines:
        if victim is None:
            axis.text(0.2, y + head_row / 2 + 0.03, label, size=9, weight="bold", color=INK, va="center")
            continue
        axis.text(0.32, y + 0.03 + 0.115, label, size=8.8, color=INK, va="center_baseline")
        for index, noise in enumerate(noises):
            x = start_x + index * width
            values = [results.interference(victim, noise), results.residual(victim, noise), results.relief(victim, noise)]
            if any(value is not None for value in values):
                cell(x, y, values[0], values[1], values[2], _remark(results, victim, noise),
                     noise.partition(".")[0] in words.FOREIGN, width)
    figure.savefig(path, dpi=DPI)


@matplotlib.rc_context(FONTS)
def draw_publisher(figures, path, recorded):
    """Pace of computing warps beside each noise, four warps a block: three ways, on one axis of cycles."""
    warps = min(figures.warps(), key=lambda count: abs(count - 4))
    ways = (("nothing", "the work alone", INK, "|"), ("publisher", "publisher warp", SEPARATE, "o"),
            ("release", "a release in every warp", SAME, "s"))
    noises = figures.noises()
    values = [figures.get("pace", way, warps, noise, counter) for way, _, _, _ in ways for noise in noises
              for counter in ("p50_cycles", "p90_cycles")]
    values = [value for value in values if value]
    figure = _figure(2.0 + 0.34 * len(noises))
    top = _frame(figure, figures, f"Publishing to the whole system, {words.counted(warps, 'warp')} a block",
                 "Cycles of one iteration of a warp that computes and publishes; p50, a bar to p90", recorded)
    height = figure.get_size_inches()[1]
    axis = figure.add_axes((0.24, 0.95 / height, 0.72, 1 - (0.95 + top + 0.3) / height))
    for row, noise in enumerate(noises):
        for way, label, colour, marker in ways:
            middle, far = (figures.get("pace", way, warps, noise, counter) for counter in ("p50_cycles", "p90_cycles"))
            if middle:
                axis.plot([middle, max(far or middle, middle)], [row, row], color=colour, linewidth=3, solid_capstyle="butt")
                axis.plot([middle], [row], marker=marker, color=colour, markersize=7, markeredgewidth=1.5, linestyle="none",
                          label=label if row == 0 else None)
    axis.set_yticks(range(len(noises)))
    axis.set_yticklabels([words.noise_name(noise) for noise in noises])
    axis.set_ylim(len(noises) - 0.4, -0.6)
    _log_axis(axis, min(values), max(values))
    axis.set_xlabel("cycles (logarithmic)")
    axis.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    axis.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=3, frameon=False)
    figure.savefig(path, dpi=DPI)


def draw_all(results, picture, recorded, victims=True):
    """Draws the overview, and each victim if asked; returns {victim or 'overview': link}. `picture(name)` says where one goes."""
    links = {}

    def draw(what, drawing, *which):
        place = picture(f"{what}.png")
        drawing(results, *which, place.path, recorded)
        place.shrink()
        links[what] = place.link

    if any(results.interference(v, n) for v in results.victims() for n in results.noises(v)):
        draw("overview", draw_overview)
    for victim in results.victims() if victims else ():
        draw(victim, draw_victim, victim)
    return links
