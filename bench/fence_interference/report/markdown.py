# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""report.md and the flat CSV, as text."""

import csv
import io

import cases as case_file
import required as requirements
import words


def _table(head, rows, right_from=1):
    """A Markdown table; columns from `right_from` on are numbers."""
    rule = ["---"] * right_from + ["---:"] * (len(head) - right_from)
    lines = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in [head, rule] + rows]
    return "\n".join(lines) + "\n"


def _grouped(cases, reason_of):
    """Reasons with the cases they concern, in words."""
    groups = {}
    for case in cases:
        groups.setdefault(reason_of(case), []).append(case)
    lines = []
    for reason, members in groups.items():
        names = ["`%s`" % case.name for case in members]
        if len(names) <= 4:
            which = words.listed(names)
        else:
            noises = sorted({c.noise for c in members}, key=words.NOISES.index)
            victims = sorted({c.victim for c in members}, key=words.VICTIMS.index)
            arms = sorted({c.arm for c in members}, key=words.ARMS.index)
            which = "%s; noise %s; arm %s" % (
                words.counted(len(victims), "victim") if len(victims) > 4 else words.listed("`%s`" % v for v in victims),
                words.listed("`%s`" % n for n in noises), words.listed("`%s`" % a for a in arms))
        lines.append("- **%s** — %s: %s" % (reason.replace("\n", " "), words.counted(len(members), "case"), which))
    return "\n".join(lines) + "\n"


def _ratio_columns(results, members):
    """(heading, ratio of a case or None), for the columns that have anything to say about these cases."""
    columns = [
        ("interference", lambda c: results.interference(c.victim, c.noise) if c.arm == "same" else None),
        ("relief", lambda c: results.relief(c.victim, c.noise) if c.arm == "separate" else None),
        ("residual", lambda c: results.residual(c.victim, c.noise) if c.arm == "separate" else None),
        ("slowdown", lambda c: None if c.arm in ("alone", "same", "separate")
         else results.ratio(c.victim, c.noise, c.arm, "alone")),
    ]
    return [(name, ratio) for name, ratio in columns if any(ratio(case) is not None for case in members)]


def _victim_section(results, victim, picture):
    members = [results.case(victim, noise, arm) for noise in results.noises(victim) for arm in words.ARMS]
    members = [case for case in members if case]
    divisor, unit = words.unit_of(min(case.get("p50_ns") for case in members))
    ratios = _ratio_columns(results, members)
    rows = []
    for case in members:
        spent = [words.duration(case.get(c), divisor) if case.get(c) is not None else "—"
                 for c in ("p50_ns", "p90_ns", "p99_ns", "max_ns")]
        cycles, spread, gbps = case.get("p50_cycles"), case.get("spread"), case.get("noise_gbps")
        formed = [ratio(case) for _, ratio in ratios]
        rows.append([words.noise_name(case.noise), "`%s`" % case.arm] + spent + [
            "{:,.0f}".format(cycles) if cycles is not None else "—",
            "%.1f %%" % (100 * spread) if spread is not None else "—",
            words.bandwidth(gbps) if gbps is not None else "—"]
            + [words.factor(value) if value is not None else "" for value in formed])
    text = "### %s\n\n" % words.victim_name(victim)
    if picture:
        text += "![%s: p50, p90 and p99 beside each noise, noise in the same and in a separate domain](%s)\n\n" % (
            words.victim_name(victim), picture)
    head = ["noise", "arm"] + ["%s, %s" % (name, unit) for name in ("p50", "p90", "p99", "max")] + [
        "p50, cycles", "spread", "noise kept, GB/s"] + [name for name, _ in ratios]
    return text + _table(head, rows, 2)


def _required_section(results, decided):
    """Required and wasted waiting; `decided` holds the answers of the model, which need no measurement."""
    groups = requirements.groups(decided)
    if not groups:
        return ""
    text = ("\n## Required and wasted waiting\n\nWhat a victim must wait for is a matter of the memory model and not of the machine. "
            "membar's executable model has decided it for every victim and arm: which earlier stores a thread that synchronizes with "
            "the victim cannot miss.\n\n")
    yes = {True: "yes", False: "no"}
    text += _table(["victims", "noise in", "its own stores", "the noise's", "the noise's, if it had acquired a flag of it at device scope",
                    "at system scope"],
                   [[who, where] + [yes[answer] for answer in answers] for who, where, answers in groups], 6)
    text += "\n" + requirements.sentence(decided) + "\n"
    rows = []
    for victim, noise, alone, same, separate in requirements.waits(results):
        divisor, unit = words.unit_of(alone)
        given_back = "—" if separate is None else "%s %s" % (words.duration(max(same - separate, 0.0), divisor), unit)
        left = "—" if separate is None else "%s %s" % (words.duration(max(separate - alone, 0.0), divisor), unit)
        rows.append([words.victim_name(victim), words.noise_name(noise), "%s %s" % (words.duration(alone, divisor), unit),
                     "%s %s" % (words.duration(same - alone, divisor), unit), "%.0f %%" % (100 * (same - alone) / same),
                     given_back, left])
    if rows:
        text += ("\nWhere the noise made a difference (medians): alone is what the victim's own stores take; the rest is wasted. A "
                 "separate domain gives back what was waited for in case the victim had looked; what is left is contention on the way "
                 "to memory and, at system scope, the wait that no domain takes away.\n\n")
        text += _table(["victim", "beside", "alone", "wasted in the same domain", "share", "given back by a separate domain", "left"],
                       rows, 2)
    return text


def report(results, controls, verdict, pictures, recorded=None):
    """The whole report. `pictures` maps a victim (or 'overview') to a file name; `recorded`, if the figures are not of
    this machine, is the pair (line, this machine's results or None)."""
    text = "# Fence interference\n\n"
    if recorded:
        text += "> **%s.**\n\n" % words.sentence_case(recorded[0])
    text += verdict + "\n\n"
    if "overview" in pictures:
        text += "![Overview: interference, relief and residual of every victim beside every noise](%s)\n\n" % pictures["overview"]
    elif results.measured:
        text += "No pictures: matplotlib is missing (`pip install matplotlib`).\n\n"

    text += "## Machine\n\n"
    if recorded:
        text += "The machine of the recording, not this one.\n\n"
    rows = [[label, "`%s`" % results.context[key] if key == "command" else results.context[key]]
            for key, label in words.CONTEXT if results.context.get(key)]
    text += _table(["what", "value"], rows, 2) if rows else "The file does not state the machine.\n"

    text += "\n## Controls\n\n"
    text += _table(["control", "rule", "result", "numbers"],
                   [[c.name, c.rule, c.state if c.state != "fails" else "**fails**", c.numbers()] for c in controls], 4)
    for control in controls:
        if control.state == "fails":
            text += "\n**%s** fails in: %s.\n" % (control.name, ", ".join("`%s` %.2f" % item for item in control.failing))

    text += ("\n## Figures\n\nAll factors are ratios of medians (p50): **interference** = same/alone, **relief** = same/separate, "
             "**residual** = separate/alone, **slowdown** = a control arm/alone.")
    if results.one_domain:
        text += " This GPU has one memory synchronization domain: there is no separate domain, hence no relief and no residual."
    text += " Spread is the relative range of the medians of the repetitions.\n"
    text += _required_section(results, recorded[1] if recorded and recorded[1] is not None else results)
    for family, title, what in words.FAMILIES:
        members = [v for v in results.victims() if v.split(".")[0] == family]
        if members:
            text += "\n## %s\n\n%s.\n" % (title, words.sentence_case(what))
            for victim in members:
                text += "\n" + _victim_section(results, victim, pictures.get(victim))
    if results.waived:
        text += "\n## Waived cases\n\n" + _grouped(results.waived, lambda case: case.waived)
    if results.failed:
        text += "\n## Failed cases\n\n" + _grouped(results.failed, lambda case: case.failed)
    if recorded and recorded[1] is not None and recorded[1].cases:
        text += "\n## On this machine\n\nNothing was measured here.\n\n"
        text += _grouped(recorded[1].waived, lambda case: case.waived) if recorded[1].waived else ""
        text += _grouped(recorded[1].failed, lambda case: "failed: " + case.failed) if recorded[1].failed else ""
    return text


def table(results, recorded):
    """All cases as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["victim", "noise", "pace", "arm"] + list(case_file.COUNTERS)
                    + ["interference", "slowdown", "relief", "residual", "label", "error", "source"])
    for case in results.cases:
        measured = case.measured
        ratios = [
            results.interference(case.victim, case.noise) if measured and case.arm == "same" else None,
            results.ratio(case.victim, case.noise, case.arm, "alone") if measured and case.arm != "alone" else None,
            results.relief(case.victim, case.noise) if measured and case.arm == "separate" else None,
            results.residual(case.victim, case.noise) if measured and case.arm == "separate" else None,
        ]
        row = [case.victim, case.kind, case.pace, case.arm] + [case.get(c) for c in case_file.COUNTERS] + ratios + [
            "waived: " + case.waived if case.waived is not None else None, case.failed,
            "recorded" if recorded else "measured"]
        writer.writerow(["" if cell is None else "%.10g" % cell if isinstance(cell, float) else cell for cell in row])
    return out.getvalue()
