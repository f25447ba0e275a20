# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the pictures as SVG that adapts to the light or dark theme of the reader's browser."""
import html
import math
import textwrap

import cases
import words

# Okabe and Ito's colours, which are distinguishable with every kind of colour blindness. The bars do not depend on colour
# alone: each has a label.
STYLE = ("<style>text{font:13px system-ui,'DejaVu Sans',sans-serif;fill:#222}.faint{fill:#666}.bold{font-weight:600}.small{font-size:11px}"
         ".end{text-anchor:end}.mid,.cell{text-anchor:middle}.cell{font-size:11px}.alone{fill:#8a8a8a}.same{fill:#D55E00}.separate{fill:#0072B2}.back{fill:#fff}"
         ".open{fill-opacity:.3}.rule{stroke:#ccc}@media(prefers-color-scheme:dark){text{fill:#e6e6e6}.faint{fill:#a5a5a5}.back{fill:#181a1d}"
         ".separate{fill:#4aa8e0}.same{fill:#ee7733}.rule{stroke:#444}}</style>")
WIDTH = 760


def _text(x, y, text, classes=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{classes}">{html.escape(text)}</text>'


def _bar(x, y, width, height, classes):
    return f'<rect x="{_short(x)}" y="{_short(y)}" width="{_short(width)}" height="{height}" class="{classes}"/>'


def _short(number):
    return f"{number:.1f}".removesuffix(".0")


def _cells(halves):
    """Draws half cells of a table, given as [(x, y, width, height, class, opacity, text, the text's class)]. Halves that look
    the same become one path, and the words of a row become one text element."""
    looks, rows = {}, {}
    for x, y, width, height, classes, opacity, text, kind in halves:
        shape = f"M{_short(x)} {_short(y)}h{_short(width)}v{height}h-{_short(width)}z"
        looks.setdefault((classes, f"{opacity:.2f}".removeprefix("0")), []).append(shape)
        kind = f' class="{kind}"' if kind else ""
        rows.setdefault(y + 14, []).append(f'<tspan x="{x + (width + 1) / 2:.0f}"{kind}>{html.escape(text)}</tspan>')
    return ([f'<path class="{classes}" fill-opacity="{opacity}" d="{"".join(shapes)}"/>' for (classes, opacity), shapes in looks.items()] +
            [f'<text y="{y:.0f}" class="cell">{"".join(words)}</text>' for y, words in rows.items()])


def _picture(title, body, height, context, recorded, width=WIDTH):
    """Returns the complete picture, with the machine's line below and a description for readers who cannot see it."""
    foot = ([words.sentence_case(recorded)] if recorded else []) + textwrap.wrap(words.machine(context), width // 6)
    lines = [_text(10, height + 16 * (i + 1), line, "faint small") for i, line in enumerate(foot)]
    height += 16 * len(foot) + 10
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" role="img" aria-label="{html.escape(title)}">'
            f'{STYLE}{_bar(0, 0, width, round(height), "back")}{"".join(body)}{"".join(lines)}</svg>\n')


def bars(title, groups, context, recorded, unit="ns"):
    """`groups` is [(label, [(the arm's class, the arm's name, value, whether its ratio is known)])]. Each value is a bar
    that starts at 0."""
    longest = max(value for _, members in groups for _, _, value, _ in members)
    divisor, unit = words.unit_of(longest) if unit == "ns" else (1.0, unit)
    body, y, left, room = [_text(10, 22, title, "bold")], 40, 400, 240
    for label, members in groups:
        body.append(_text(10, y + 14, label, "bold"))
        for kind, name, value, known in members:
            length = room * value / longest
            body += [_text(left - 8, y + 14, name, "end faint small"), _bar(left, y + 2, max(length, 1.5), 15, kind + ("" if known else " open")),
                     _text(left + length + 6, y + 14, f"{words.duration(value, divisor)} {unit}" + ("" if known else " ?"))]
            y += 20
        y += 8
    if not all(known for _, members in groups for *_, known in members):
        body.append(_text(10, y + 8, "Pale, with a question mark: its ratio is spread by more than 5 %, so it is not known.", "faint small"))
        y += 16
    return _picture(title, body, y, context, recorded)


def finding(found, results, recorded):
    """Draws the victim of a finding alone and under each kind of noise, with one domain and with two."""
    together = "the same queue" if found.name == "queue" else "the only domain" if results.one_domain else "traffic in its domain"
    alone = "another queue" if found.name == "queue" else "alone"
    groups = [] if found.name == "queue" else [("no noise", [("alone", alone, found.worst.alone, True)])]
    for effect in found.effects:
        members = [("alone", alone, effect.alone, True)] if found.name == "queue" else []
        members.append(("same", together, effect.same, effect.interference is not None))
        if effect.separate and not results.one_domain and found.name != "queue":
            members.append(("separate", "in a separate one", effect.separate, effect.relief is not None))
        groups.append((words.noise_name(effect.noise), members))
    return bars(words.victim_name(found.worst.victim), groups, results.context, recorded)


def publisher(figures, recorded):
    """Draws the pace of computing warps under each kind of noise, for the three ways to publish."""
    warps = min(figures.warps(), key=lambda count: abs(count - 4))
    ways = (("nothing", "alone", "the work alone"), ("publisher", "separate", "publisher warp"), ("release", "same", "a release in every warp"))
    groups = []
    for noise in figures.noises():
        members = [(kind, name, value, True) for way, kind, name in ways if (value := figures.get("pace", way, warps, noise))]
        if members:
            groups.append((words.noise_name(noise), members))
    title = f"Cycles of one iteration that computes and publishes to the host, {words.counted(warps, 'warp')} a block (p50)"
    return bars(title, groups, figures.context, recorded, "cycles") if groups else None


def overview(results, recorded):
    """Draws every victim under every kind of noise: interference in the left half of a cell, residual in the right. Returns None without cases."""
    noises = [n for n in results.noises() if n != "none"]
    victims = [v for v in results.victims() if any(results.interference(v, n) for n in noises)]
    if not victims:
        return None
    left, cell, row, top = 240, 90, 22, 96
    body = [_text(10, 22, "How many times longer than alone: noise in the victim's domain | in a separate one", "bold"),
            _text(10, 42, "Darker means longer. ≤ 1.1 counts as no wait. A question mark means that the ratio's spread "
                          "exceeds 5 %, so it is not known.", "faint small")]
    for column, noise in enumerate(noises):
        kind, _, pace = noise.partition(".")
        name = words.NOISE[kind].replace("stores to host memory", "host memory").replace("NCCL's all-reduce", "NCCL")
        name = name.replace("a spinning kernel", "spinning").replace("NVLink stores both ways", "both ways").replace("NVLink stores", "NVLink")
        middle = left + column * cell + cell / 2
        body += [_text(middle, top - 24, name, "cell bold"), _text(middle, top - 10, pace, "cell")]
    y, shown = top, []
    for victim in victims:
        body.append(_text(10, y + 15, words.victim_row(victim) if victim.startswith("kernel") else
                          victim.split(".")[0].replace("_", " ") + " · " + words.victim_row(victim), "small"))
        for column, noise in enumerate(noises):
            halves = [("same", results.interference(victim, noise))]
            halves += [] if results.one_domain else [("separate", results.residual(victim, noise))]
            wide = (cell - 6) / len(halves)
            for i, (arm, value) in enumerate(halves):
                if value is None:
                    continue
                known = results.spread((victim, noise, "alone"), (victim, noise, arm)) <= cases.MOST_SPREAD
                shade = min(0.15 + 0.17 * math.log(value), 0.85) if known and value > 1.1 else 0.06
                x = left + column * cell + 3 + i * wide
                shown.append((x, y + 1, wide - 1, row - 3, arm, shade, words.factor(value) if known else "?", "" if known else "faint"))
        y += row
    return _picture("Interference and residual of every victim under every kind of noise", body + _cells(shown), y + 4, results.context, recorded,
                    left + cell * len(noises) + 10)
