# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds the bench publisher to the report: one section, one picture, and one sentence of advice."""
import math
import re
import statistics

import words
from cases import MOST_SPREAD
from report_page import table
from results import ResultError, load as load_file, number

_NAME = re.compile(r"(pace|latency)/(nothing|release|publisher|by_lane)/warps:(\d+)(?:/lag:(\d+))?/([a-z.]+)$")
_HAND_OVER = ("publisher", "by_lane")  # the ways to publish that have a lag
USUAL_LAG = 16
MOST_WARPS = 4  # The number of publishing warps of a block that the sentence describes.


class Figures:
    """Returns the medians over the repetitions, by (what, way, warps, lag or None, noise)."""

    def __init__(self, by_case, context):
        self._by_case, self.context = by_case, context

    def get(self, what, way, warps, noise, counter="p50_cycles", lag=USUAL_LAG):
        case = self._by_case.get((what, way, warps, lag if way in _HAND_OVER else None, noise))
        return case.get(counter) if case else None

    def noises(self):
        seen = {case[4] for case in self._by_case}
        return [noise for noise in words.NOISES if noise in seen]

    def warps(self):
        return sorted({case[2] for case in self._by_case})

    def lags(self, warps):
        return sorted({case[3] for case in self._by_case if case[1] == "publisher" and case[2] == warps})

    def gain(self, warps, noise):
        """Returns how many times faster computing warps run with a publisher than with a release in each warp."""
        release, publisher = self.get("pace", "release", warps, noise), self.get("pace", "publisher", warps, noise)
        return release / publisher if release and publisher else None

    def gain_spread(self, warps, noise):
        """Returns the spread of the gain: the combined coefficients of variation of its two paces."""
        return math.hypot(*[self.get("pace", way, warps, noise, "cv") or 0.0 for way in ("release", "publisher")])

    def kept(self, warps, noise):
        """Returns the pace of a block with a publisher during noise, as a share of its pace without noise."""
        quiet, beside = self.get("pace", "publisher", warps, "none"), self.get("pace", "publisher", warps, noise)
        return quiet / beside if quiet and beside else None


def load(path):
    """Returns the figures in a result file of the bench publisher, or None if nothing in it was measured."""
    by_case = {}
    try:
        read = load_file(path, "publisher")
    except ResultError as error:
        raise ResultError("--publisher %s" % error) from None
    for name, case in read.cases.items():
        match = _NAME.match(name)
        if not match:
            raise ResultError("--publisher %s has a case \"%s\", which is not a case of the bench publisher" % (path, name))
        if case.measured:
            what, way, warps, lag, noise = match.groups()
            paces = [entry["p50_cycles"] for entry in case.entries if number(entry.get("p50_cycles"))]
            if len(paces) > 1:
                case.figures["cv"] = statistics.stdev(paces) / statistics.mean(paces)
            by_case[what, way, int(warps), int(lag) if way in _HAND_OVER and lag else None, noise] = case.figures
    return Figures(by_case, read.context) if by_case else None


def _cycles(value):
    return "{:,.0f}".format(value) if value is not None else "—"


def sentence(figures):
    """Returns what the publisher recovers with the largest measured number of warps per block, at most four, during the
    worst noise of each kind. The largest gain comes first."""
    warps = max((w for w in figures.warps() if w <= MOST_WARPS), default=None)
    best = {}
    for noise in figures.noises():
        gain, kind = figures.gain(warps, noise), noise.partition(".")[0]
        known = figures.gain_spread(warps, noise) <= MOST_SPREAD
        if kind not in ("none", "spin", "local") and known and gain and gain > best.get(kind, (0,))[0]:
            best[kind] = (gain, noise)
    if not best:
        return ""
    gains = [each for each in sorted(best.values(), reverse=True) if each[0] > 1.05]
    if not gains:
        return " A publisher warp per block recovers no time here."

    return " If %d warps per block publish through a publisher warp, they compute %s." % (
        warps, words.listed("%s as fast during %s" % (words.times(gain), words.traffic(noise)) for gain, noise in gains))


def section(figures, picture):
    text = ("\n## Publisher\n\nThe table shows the cycles per iteration (p50) of a warp that computes, stores and publishes to the host: "
            "without publishing, with a system-scope release in every warp, and through the block's publisher warp (lag at most %d). "
            "Gain is release/publisher. Kept is the pace of a block with a publisher during the noise, divided by its pace without noise. "
            "Latency is the time from publishing until the signal is stored.\n\n" % USUAL_LAG)
    if picture:
        text += "![Pace of computing warps under each kind of noise: alone, with a release in every warp, with a publisher](%s)\n\n" % picture

    rows = []
    for warps in figures.warps():
        for noise in figures.noises():
            def pace(way, counter="p50_cycles"):
                return _cycles(figures.get("pace", way, warps, noise, counter))

            gain, kept = figures.gain(warps, noise), figures.kept(warps, noise)
            rows.append([str(warps), words.noise_name(noise), *[pace(way) for way in ("nothing", "release", "publisher")],
                         words.factor(gain) if gain else "—", "%.2f" % kept if kept else "—",
                         "%s for %s" % (pace("publisher", "fences"), pace("publisher", "publications")), pace("publisher", "largest_lag"),
                         *[_cycles(figures.get("latency", way, warps, noise)) for way in ("release", "publisher")]])
    text += table(["warps per block", "during", "work alone", "release", "publisher", "gain", "kept", "fences for publications",
                   "largest lag", "latency, release", "latency, publisher"], rows, 2) + "\n"
    by_lane = [value for value in (figures.get("pace", "by_lane", MOST_WARPS, noise) for noise in figures.noises()) if value]
    if by_lane:
        text += ("\nIf one lane publishes instead of the whole warp, an iteration with %d warps per block takes %s to %s cycles under these "
                 "loads, because the lane and the rest of the warp remain diverged afterwards.\n"
                 % (MOST_WARPS, _cycles(min(by_lane)), _cycles(max(by_lane))))
    lags = figures.lags(MOST_WARPS)
    if len(lags) > 1:
        rows = [[str(lag), words.noise_name(noise), *[_cycles(figures.get("pace", "publisher", MOST_WARPS, noise, counter, lag))
                                                      for counter in ("p50_cycles", "fences")]]
                for lag in lags for noise in figures.noises()]
        text += "\nThe next table shows the effect of the lag limit, with %d warps per block:\n\n%s\n" % (MOST_WARPS, table(["lag", "during", "publisher", "fences"], rows, 2))
    return text
