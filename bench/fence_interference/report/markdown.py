# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes report.md and the flat CSV."""
import csv
import io

import cases as case_file
import required as requirements
import words
from report_page import table


def _or_dash(value, form):
    return "—" if value is None else form(value)


def _grouped(cases, reason_of):
    """Groups the cases by reason, and returns a text that lists each reason's cases."""
    groups = {}
    for case in cases:
        groups.setdefault(reason_of(case), []).append(case)
    lines = []
    for reason, members in groups.items():
        names = ["`%s`" % case.name for case in members]
        if len(names) <= 4:
            which = words.listed(names)
        else:
            victims, noises, arms = (
                ["`%s`" % each for each in sorted({getattr(case, part) for case in members}, key=order.index)]
                for part, order in (("victim", words.VICTIMS), ("noise", words.NOISES), ("arm", words.ARMS)))
            which = "%s; noise %s; arm %s" % (words.counted(len(victims), "victim") if len(victims) > 4 else words.listed(victims),
                                              words.listed(noises), words.listed(arms))
        lines.append("- **%s** — %s: %s" % (reason.replace("\n", " "), words.counted(len(members), "case"), which))
    return "\n".join(lines) + "\n"


def _victim_section(results, victim):
    members = [results.case(victim, noise, arm) for noise in results.noises(victim) for arm in words.ARMS]
    members = [case for case in dict.fromkeys(members) if case]
    divisor, unit = words.unit_of(min(case.get("p50_ns") for case in members))
    ratios = {case: results.ratios_of(case) for case in members}
    for case, formed in ratios.items():
        if case.arm in ("same", "separate"):  # The slowdown of this arm has a separate name.
            formed["slowdown"] = None
    columns = [name for name in ("interference", "relief", "residual", "slowdown") if any(formed[name] for formed in ratios.values())]
    widths = [name for name in ("interval", "spread") if any(case.get(name) is not None for case in members)]
    rows = [[words.noise_name(case.noise), "`%s`" % case.arm,
             *[_or_dash(case.get(time), lambda ns: words.duration(ns, divisor)) for time in ("p50_ns", "p90_ns", "p99_ns", "max_ns")],
             *[_or_dash(case.get(width), lambda share: "%.1f %%" % (100 * share)) for width in widths],
             _or_dash(case.get("noise_gbps"), words.bandwidth),
             *["" if ratios[case][name] is None else words.factor(ratios[case][name]) for name in columns]] for case in members]
    for row, before in reversed(list(zip(rows[1:], rows))):  # The name of a noise is written once, before its arms.
        row[0] = "" if row[0] == before[0] else row[0]
    text = "### %s\n\n" % words.victim_name(victim)
    times = ["%s, %s" % (time, unit) for time in ("p50", "p90", "p99", "max")]
    return text + table(["noise", "arm", *times, *widths, "noise kept, GB/s", *columns], rows, 2) + "\n"


def _required_section(results, decided):
    """Returns the section on required and wasted waiting. `decided` holds the answers of the model, which need no
    measurement."""
    groups = requirements.groups(decided)
    if not groups:
        return ""
    text = ("\n## Required and wasted waiting\n\nThe memory model, not the machine, determines what a victim must wait for. For every victim and arm, membar's "
            "executable model determined which earlier stores must be visible to a thread that synchronizes with the victim.\n\n")
    text += table(["victims", "noise in", "must wait for its own stores", "must wait for the noise's stores",
                   "would have to wait for the noise's stores if it had acquired a flag from the noise at device scope", "the same, at system scope"],
                  [[who, where, *["yes" if answer else "no" for answer in answers]] for who, where, answers in groups], 6)
    text += "\n\n" + requirements.sentence(decided) + "\n"
    rows, last = [], None
    for victim, noise, alone, same, separate in requirements.waits(results):
        divisor, unit = words.unit_of(alone)

        def said(ns):
            return "%s %s" % (words.duration(ns, divisor), unit)

        rows.append(["" if victim == last else words.victim_name(victim), words.noise_name(noise), said(alone), said(same - alone),
                     "%.0f %%" % (100 * (same - alone) / same), _or_dash(separate, lambda ns: said(max(same - ns, 0.0))),
                     _or_dash(separate, lambda ns: said(max(ns - alone, 0.0)))])
        last = victim
    if rows:
        text += ("\nThe next table lists the medians of the cases in which the noise is known to have affected the victim. The column \"alone\" shows "
                 "the time that the victim spends on its own stores; the rest of its time is wasted. A separate domain recovers the part of the wait that would "
                 "be needed only if the victim had observed the noise. The remaining time is due to contention on the path to memory and, at system scope, to "
                 "a wait that domains cannot remove.\n\n")
        text += table(["victim", "during", "alone", "wasted in the same domain", "share", "recovered by a separate domain", "remaining"],
                      rows, 2) + "\n"
    return text


def summary(found):
    """Returns the part that the reader sees first: the headline and the recommended change."""
    return (f"**Warning.** {found.warning}\n\n" if found.warning else "") + f"**{found.headline()}**" + (
        f"\n\n**What to change:** {found.change()}" if found.change() else "")


def report(results, controls, found, pictures, recorded=None):
    """Returns the whole report. `found` contains the findings; `pictures` maps the name of a finding, or 'overview', to a link.
    If the figures are not from this machine, `recorded` is the pair (line, this machine's results or None)."""
    text = "# Fence interference\n\n"
    if recorded:
        text += "> **%s.**\n\n" % words.sentence_case(recorded[0])
    text += summary(found) + "\n\n"
    text += ("To keep stores in order, a GPU waits until earlier stores have arrived. It does not record which kernel issued a store. "
             "Fences and the ends of kernels therefore also wait for the traffic of other kernels. A memory synchronization domain is "
             "a number that a launch or a stream attaches to its stores. With domains, fences at device scope wait only for stores in their "
             "own domain.\n\nBelow, the **victim** is the operation that is timed, the **noise** is the background load, and the **arm** specifies "
             "the domains in which the victim and the noise run.\n\n")
    if found.shown or found.remarks:
        text += "## Findings\n\n"
    if found.shown:
        text += "The findings are ranked by the time that each event loses (medians). A frequent event may cost more in total than a slow one.\n\n"
    for number, finding in enumerate(found.shown, 1):
        text += f"### {number}. {words.sentence_case(finding.title())}\n\n{finding.text()}\n\n**What to do:** {finding.remedy()[0]}\n\n"
        text += f"![{words.victim_name(finding.worst.victim)}: alone, and under each kind of noise]({pictures[finding.name]})\n\n"
    text += "".join(f"- {remark}\n" for remark in found.remarks) + "\n" * bool(found.remarks)
    if "overview" in pictures:
        text += "## All ratios\n\n![Interference and residual of every victim under every kind of noise](%s)\n\n" % pictures["overview"]

    text += "## Machine\n\n"
    if recorded:
        text += "This is the machine on which the results were recorded, not the current machine.\n\n"
    rows = [[label, "`%s`" % results.context[key] if key == "command" else results.context[key]]
            for key, label in words.CONTEXT if results.context.get(key)]
    text += table(["what", "value"], rows, 2) + "\n" if rows else "The file does not state the machine.\n"

    text += "\n## Controls\n\n"
    text += table(["control", "rule", "result", "numbers"],
                  [[c.name, c.rule, c.state if c.state != "fails" else "**fails**", c.numbers()] for c in controls], 4) + "\n"
    for control in controls:
        if control.state == "fails":
            text += "\n**%s** fails in: %s.\n" % (control.name, ", ".join("`%s` %.2f" % (v.where, v.ratio) for v in control.failing))

    text += ("\n## Figures\n\nAll factors are ratios of medians (p50): **interference** = same/alone, **relief** = same/separate, "
             "**residual** = separate/alone, **slowdown** = a control arm/alone.")
    if results.one_domain:
        text += " This GPU has one memory synchronization domain: there is no separate domain, and therefore no relief and no residual."
    text += (" Interval is the relative width of the 95 % confidence interval for the median; spread is the relative range of the repetitions' medians. "
             "A ratio is known if the combined interval of its two cases (the square root of the sum of their squares) is at most 5 %. If a file "
             "has no intervals, the spreads are used instead.\n")
    text += _required_section(results, recorded[1] if recorded and recorded[1] is not None else results)
    for family, title, what in words.FAMILIES:
        members = [v for v in results.victims() if v.split(".")[0] == family]
        if members:
            text += "\n## %s\n\nThe tables show the %s.\n" % (title, what)
            for victim in members:
                text += "\n" + _victim_section(results, victim)
    if results.waived:
        text += "\n## Waived cases\n\n" + _grouped(results.waived, lambda case: case.waived)
    if results.failed:
        text += "\n## Failed cases\n\n" + _grouped(results.failed, lambda case: case.failed)
    if recorded and recorded[1] is not None and recorded[1].cases:
        text += "\n## On this machine\n\nNothing was measured here.\n\n"
        text += _grouped(recorded[1].waived, lambda case: case.waived) if recorded[1].waived else ""
        text += _grouped(recorded[1].failed, lambda case: "failed: " + case.failed) if recorded[1].failed else ""
    return text


def flat(results, recorded):
    """All cases as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["victim", "noise", "pace", "arm", *case_file.COUNTERS, *case_file.RATIOS, "label", "error", "source"])
    for case in results.cases:
        ratios = results.ratios_of(case) if case.measured else {}
        row = [case.victim, case.kind, case.pace, case.arm, *[case.get(c) for c in case_file.COUNTERS],
               *[ratios.get(name) for name in case_file.RATIOS], "waived: " + case.waived if case.waived is not None else None,
               case.failed, "recorded" if recorded else "measured"]
        writer.writerow(["" if cell is None else "%.10g" % cell if isinstance(cell, float) else cell for cell in row])
    return out.getvalue()
