#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests bench/fence_interference/report/report.py with fake results (synthetic.py). The tests need only Python."""
import ast
import contextlib
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
import xml.dom.minidom

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
BENCH = HERE.parent.parent / "bench"
REPORT = BENCH / "fence_interference" / "report" / "report.py"
SCRIPT = REPORT.with_name("fence_report.cmake")
CMAKE = os.environ.get("MEMBAR_CMAKE") or shutil.which("cmake")
sys.path[:0] = [str(HERE), str(REPORT.parent)]

import report  # noqa: E402
import cases, chart, controls, findings, markdown, publisher, web_page, words  # noqa: E402
from synthetic import Synthetic, everything  # noqa: E402

BOUNDARY = "kernel_boundary.stream"
GRAPH = "kernel_boundary.graph"
DEVICE = "fence.device.acq_rel.shared_sm"
DEVICE_OWN = "fence.device.acq_rel.own_sm"
SYSTEM = "fence.system.acq_rel.own_sm"
NVLINK, HOST, NCCL = "nvlink.saturating", "host.saturating", "nccl.saturating"


class Scratch(unittest.TestCase):
    """Gives each test its own folder, and runs report.py there."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="membar-report-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.output = self.path("out")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def text(self, *names):
        return pathlib.Path(self.path(*names)).read_text(encoding="utf-8")

    def write(self, text, *names):
        pathlib.Path(self.path(*names)).write_text(text, encoding="utf-8")
        return self.path(*names)

    def page(self):
        return self.text("out", "report.md")

    def run_report(self, *options):
        """Runs report.py with these options. Returns its returncode, stdout and stderr."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = report.main(list(options))
            except SystemExit as end:
                code = end.code
        return types.SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())

    def drawn(self, made, *options):
        """Runs report.py on a fake result, which must succeed. Returns its output."""
        done = self.run_report("--input", made.write(self.path("in.json")), "--output-dir", self.output, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def load(self, made):
        return cases.load(made.write(self.path("in.json")))

    def findings_of(self, made):
        results = self.load(made)
        return findings.Findings(results, controls.check(results))

    def report(self, made):
        self.drawn(made)
        return self.page()

    def states_of(self, made):
        return {control.name: control.state for control in controls.check(self.load(made))}


def one(victim, base, noise, same, separate=None, **more):
    """Makes a fake result with a victim on its own and during a background load."""
    return Synthetic().alone(victim, base).beside(victim, noise, same, separate, **more)


class Ranking(Scratch):
    def test_the_headline_has_one_number_what_loses_it_and_what_to_change(self):
        found = self.findings_of(one(GRAPH, 1000, NVLINK, 11000, 4000))
        self.assertEqual(found.headline(), "10.0 µs is lost at the end of each kernel in a graph during saturating NVLink stores.")
        self.assertEqual(len(re.findall(r"\d[\d.,]*", found.headline())), 1)
        self.assertTrue(found.change().startswith("Move the kernels that cause this traffic to a separate memory synchronization domain"))

    def test_findings_are_ranked_by_what_one_event_loses(self):
        made = one(GRAPH, 1000, NVLINK, 6000).alone(SYSTEM, 600).beside(SYSTEM, NVLINK, 9000).alone(DEVICE, 300).beside(DEVICE, NVLINK, 7300)
        found = self.findings_of(made)
        self.assertEqual([(finding.name, finding.lost) for finding in found.shown],
                         [("system", 8400.0), ("device", 7000.0), ("kernel_boundary", 5000.0)])
        self.assertIn("### 1. 8.40 µs lost", self.report(made))

    def test_at_most_five_are_shown_and_the_rest_is_named(self):
        made = one(GRAPH, 1000, NCCL, 90000).alone(BOUNDARY, 1000).beside(BOUNDARY, NCCL, 2000)
        made.beside("kernel_boundary.shared_queue", NCCL, 50000)
        for i, victim in enumerate((SYSTEM, DEVICE, "fence.block.acq_rel.shared_sm", "acquire_load.device.shared_sm")):
            made.alone(victim, 100).beside(victim, NVLINK, 20000 - 1000 * i)
        found = self.findings_of(made)
        self.assertEqual([finding.name for finding in found.shown], ["kernel_boundary", "queue", "system", "device", "block"])
        self.assertIn("Less is lost at acquire loads (16.9 µs).", found.remarks)
        self.assertNotIn("### 6.", self.report(made))

    def test_each_shown_has_its_number_its_picture_and_what_to_do(self):
        page = self.report(everything())
        parts = page[page.index("## Findings"):page.index("## All ratios")].split("### ")[1:]
        self.assertTrue(1 <= len(parts) <= findings.MOST)
        for part in parts:
            self.assertRegex(part, r"\A\d\. [\d.,]+ [nµ]s lost at ")
            self.assertIn("**What to do:** ", part)
            picture = re.search(r"\]\((finding\.[a-z_]+\.svg)\)", part)
            self.assertTrue(os.path.exists(self.path("out", picture[1])), part)

    def test_a_domain_is_advised_where_it_is_known_to_give_something_back(self):
        for separate, says in ((1000, "a separate memory synchronization domain"), (8900, "does not reduce the delay")):
            self.assertIn(says, self.findings_of(one(GRAPH, 1000, NVLINK, 9000, separate)).change())
        self.assertIn("does not order anything", " ".join(self.findings_of(one(GRAPH, 1000, NVLINK, 9000, 1000)).remarks))

    def test_a_wait_within_ten_per_cent_is_none(self):
        for same, count in ((1090, 0), (1120, 1)):
            self.assertEqual(len(self.findings_of(one(GRAPH, 1000, NVLINK, same)).shown), count)
        found = self.findings_of(one(GRAPH, 1000, NVLINK, 1030))
        self.assertEqual(found.headline(), "Nothing needs to change: every known operation waits at most 1.03 times as long during foreign traffic.")
        self.assertEqual(found.remarks, ["Not delayed: kernel boundaries."])

    def test_says_if_nothing_was_measured_and_why(self):
        for made, said in ((Synthetic().waived(BOUNDARY, "none", "alone", "no GPU"), "Nothing was measured: no GPU."),
                           (Synthetic(), "Nothing was measured: the file contains no cases."),
                           (Synthetic().beside(BOUNDARY, NVLINK, 4000, 2000), "Nothing was measured both alone and during foreign traffic, "
                            "so there is no interference to report.")):
            self.assertEqual(self.findings_of(made).headline(), said)
        made = one(BOUNDARY, 3000, NVLINK, 13800, 4500).waived(BOUNDARY, NCCL, "same", "NCCL was not found")
        self.assertIn("Not measured: NCCL's all-reduce (NCCL was not found).", self.findings_of(made).remarks)

    def test_another_sm_is_told_apart(self):
        made = one(DEVICE, 250, NVLINK, 12000, 5500).alone(DEVICE_OWN, 250).beside(DEVICE_OWN, NVLINK, 252, 251)
        self.assertIn("On an SM without this traffic, this delay does not occur.", self.report(made))

    def test_one_domain_is_a_negative_control_and_never_a_relief(self):
        made = Synthetic(sync_domain_count="1").alone(BOUNDARY, 1000)
        made.beside(BOUNDARY, HOST, 4000, 4000)  # On such a machine, the variant `separate` runs in the only domain.
        found = self.findings_of(made)
        self.assertIn("the run is a negative control", found.remarks[0])
        self.assertNotRegex(found.shown[0].text() + found.change(), "separate|domain")
        self.assertNotIn("in a separate one", chart.finding(found.shown[0], found.results, None))
        self.assertNotRegex(self.report(made), r"\| (relief|residual) \|")


class Controls(Scratch):
    def test_all_hold_on_a_sound_run(self):
        states = self.states_of(everything())
        self.assertEqual(states.pop("stored ratios"), "not measured")
        self.assertEqual(set(states.values()), {"holds"})

    def test_each_fails_beyond_its_limit(self):
        none = one(BOUNDARY, 1000, NVLINK, 4000, 2000)
        for name, good, bad in (
                ("spin interference", one(BOUNDARY, 1000, "spin", 1100), one(BOUNDARY, 1000, "spin", 1110)),
                ("spin relief", one(BOUNDARY, 1000, "spin", 1100, 1000), one(BOUNDARY, 1000, "spin", 1000, 1120)),
                ("local relief", one(BOUNDARY, 1000, "local.paced", 3000, 2800), one(BOUNDARY, 1000, "local.paced", 3000, 2000))):
            for made, state in ((good, "holds"), (bad, "fails"), (none, "not measured")):
                self.assertEqual(self.states_of(made)[name], state, name)
        for name, arm, equal in (("alias equals same", "alias", 4000), ("map equals separate", "map", 2000),
                                 ("env0 equals same", "env0", 4000), ("swapped equals separate", "swapped", 2000)):
            for change, state in ((1.1, "holds"), (0.9, "holds"), (1.11, "fails"), (0.89, "fails")):
                made = one(BOUNDARY, 1000, NCCL, 4000, 2000).case(BOUNDARY, NCCL, arm, equal * change)
                self.assertEqual(self.states_of(made)[name], state, "%s at %s" % (name, change))

    def test_ratios_are_shown_as_measured_with_their_spread(self):
        made = one(BOUNDARY, 1000, NVLINK, 4000, 2000).case(BOUNDARY, NVLINK, "alias", 4300, spread=0.09)
        self.assertRegex(self.report(made), r"\|alias equals same\|.*\|holds\|1\.075, spread 9 % \(")

    def test_one_that_no_result_could_make_fail_is_inconclusive(self):
        for spread, times, state in ((0.09, 1.05, "holds"), (0.09, 1.11, "fails"), (0.5, 1.0, "inconclusive"), (0.5, 1.4, "inconclusive"),
                                     (0.5, 1.6, "fails")):
            made = one(BOUNDARY, 1000, NVLINK, 4000, 2000).case(BOUNDARY, NVLINK, "alias", 4000 * times, spread=spread)
            self.assertEqual(self.states_of(made)["alias equals same"], state, (spread, times))

    def test_inconclusive_cases_are_counted_separately(self):
        made = one(BOUNDARY, 1000, NVLINK, 4000, 2000).case(BOUNDARY, NVLINK, "alias", 4100)
        made.case(BOUNDARY, HOST, "same", 4000).case(BOUNDARY, HOST, "alias", 5200, spread=0.5)
        self.assertRegex(self.report(made), r"\|alias equals same\|.*\|holds\|1\.025, spread 1 % .*; 1 case at 1\.300 is inconclusive: the spread is "
                                            r"larger than the rule's tolerance\|")

    def test_a_failed_one_begins_the_report_and_is_named_with_its_numbers(self):
        made = one(BOUNDARY, 1000, NVLINK, 4000, 2000).case(BOUNDARY, NVLINK, "map", 3000)
        said = self.findings_of(made).warning
        self.assertIn("**Warning.** " + said, self.report(made))
        self.assertTrue(said.startswith("Warning: a control fails: \"map equals separate\" in 1 of 1 case (worst "
                                        "kernel_boundary.stream during nvlink.saturating: 1.50)"), said)
        self.assertRegex(self.report(made), r"\|map equals separate\|.*\|\*\*fails\*\*\|1\.500, spread 1 % ")

    def test_alias_and_swapped_do_not_enter_the_figures(self):
        made = everything()
        plain = markdown.summary(self.findings_of(made))
        made.entries = [entry for entry in made.entries if entry["name"].rsplit("/", 1)[1] not in ("alias", "swapped", "map")]
        self.assertEqual(markdown.summary(self.findings_of(made)), plain)


class Ratios(Scratch):
    def made(self, **stored):
        made = Synthetic().alone(BOUNDARY, 1000).case(BOUNDARY, NVLINK, "same", 4000, 300.0, interference=4.0)
        return made.case(BOUNDARY, NVLINK, "separate", 2000, 300.0, **dict({"relief": 2.0, "residual": 2.0}, **stored))

    def ratios(self, made, noise=NVLINK):
        results = self.load(made)
        return tuple(of(BOUNDARY, noise) for of in (results.interference, results.relief, results.residual))

    def test_are_formed_from_the_medians_of_both_of_their_cases(self):
        lacking = Synthetic().alone(BOUNDARY, 1000).waived(BOUNDARY, NVLINK, "same", "one GPU")
        lacking.failed(BOUNDARY, "host.paced", "same", "the noise ended before the victim")
        for made, noise, ratios in ((self.made(), NVLINK, (4.0, 2.0, 2.0)),
                                    (Synthetic().beside(BOUNDARY, NVLINK, 4000, 2000), NVLINK, (None, 2.0, None)),
                                    (lacking, NVLINK, (None, None, None)), (lacking, "host.paced", (None, None, None))):
            self.assertEqual(self.ratios(made, noise), ratios)

    def test_stored_ones_that_agree_hold(self):
        held = {control.name: control for control in controls.check(self.load(self.made()))}["stored ratios"]
        self.assertEqual((held.state, len(held.values)), ("holds", 3))

    def test_stored_ones_that_disagree_are_reported_and_not_used(self):
        made = self.made(relief=2.5)
        self.assertEqual(self.ratios(made)[1], 2.0)
        said = self.findings_of(made).warning
        self.assertIn("a control fails: \"stored ratios\" in 1 of 3 cases (worst relief of kernel_boundary.stream/nvlink.saturating/separate",
                      said)

    def test_appended_run_settings_and_aggregates_are_no_part_of_the_case(self):
        made = self.made()
        made.entries[0]["name"] += "/iterations:1/manual_time"
        made.entries.append(dict(made.entries[1], run_type="aggregate", name=made.entries[1]["name"] + "_mean"))
        self.assertEqual(self.ratios(made)[0], 4.0)


class Spread(Scratch):
    def test_a_ratio_spread_by_more_than_five_per_cent_is_said_to_be_not_known(self):
        for spread, known in ((0.0485, True), (0.0495, False)):  # The time without traffic has a spread of 1 %, so the results are 4.95 % and 5.05 %.
            made = Synthetic().alone(BOUNDARY, 1000).case(BOUNDARY, HOST, "same", 3000.0, 50.0, spread=spread)
            found = self.findings_of(made)
            self.assertEqual(len(found.shown), int(known))
            self.assertEqual(found.headline() == "Nothing is known: every ratio's spread exceeds 5 %.", not known)
            self.assertEqual(any(remark.startswith("1 of 1 ratio is not known, ") for remark in found.remarks), not known)
            self.assertEqual(">?<" in chart.overview(found.results, None), not known)

    def test_a_gain_spread_by_more_than_five_per_cent_is_said_to_be_not_known(self):
        made = one(BOUNDARY, 1000, NVLINK, 9000).case(BOUNDARY, NVLINK, "separate", 2000, spread=0.06)
        shown = self.findings_of(made).shown[0]
        self.assertIn("in a separate domain is not known (spread by 6 %)", shown.text())
        self.assertIn("It is not known whether a separate domain for this traffic helps.", shown.remedy()[0])
        self.assertIn("2.00 µs ?", chart.finding(shown, self.load(made), None))

    def test_intervals_count_where_the_file_has_them(self):
        for interval, known in ((0.03, True), (0.06, False), (None, False)):  # None means too few repetitions
            made = Synthetic().alone(BOUNDARY, 1000).case(BOUNDARY, HOST, "same", 3000.0, 50.0, sets=20.0)
            if interval is not None:
                made.entries[-1].update(interval=interval, spread=0.3)
            self.assertEqual(bool(self.findings_of(made).shown), known)

    def test_a_control_fails_only_beyond_the_spread(self):
        for spread, state in ((0.5, "inconclusive"), (0.2, "fails"), (0.01, "fails")):
            made = one(BOUNDARY, 100.0, NVLINK, 500.0, 200.0).case(BOUNDARY, NVLINK, "swapped", 260.0, 50.0, spread=spread)
            self.assertEqual(self.states_of(made)["swapped equals separate"], state)


class Required(Scratch):
    def made(self):
        made = one(DEVICE, 300.0, NVLINK, 1200.0, 400.0).requires(DEVICE, "same", 1, 0, 1, 1)
        return made.requires(DEVICE, "separate", 1, 0, 0, 1)

    def test_is_left_out_where_the_file_does_not_say(self):
        self.assertNotIn("Required and wasted", self.report(one(BOUNDARY, 100.0, NVLINK, 300.0, 120.0)))

    def test_tells_wasted_waiting_from_required_waiting(self):
        text = self.report(self.made())
        for part in ("|device-scope fences|the same domain|yes|no|yes|yes|", "||a separate domain|yes|no|no|yes|",
                     "Any time beyond the victim's time without noise is wasted", "|300 ns|900 ns|75 %|800 ns|100 ns|"):
            self.assertIn(part, text)

    def test_what_is_spread_too_widely_is_not_called_wasted(self):
        made = self.made()
        for arm, row in (("separate", "|300 ns|900 ns|75 %|—|—|"), ("same", None)):
            made.entries[-1 if arm == "separate" else -2]["spread"] = 0.2
            text = self.report(made)
            self.assertIn(row, text) if row else self.assertNotIn("|75 %|", text)

    def test_says_if_a_victim_must_wait_for_the_noise(self):
        text = self.report(self.made().requires(DEVICE, "same", 1, 1, 1, 1))
        self.assertIn("must wait for the noise although they have not observed it", text)
        self.assertNotIn("is wasted. The hardware", text)

    def test_needs_no_measurement(self):
        made = Synthetic().waived("acquire_load.device.own_sm", NVLINK, "same", "no GPU")
        made.requires("acquire_load.device.own_sm", "same", 0, 0, 0, 0)
        self.assertIn("|device-scope acquire loads|the same domain|no|no|no|no|", self.report(made))


class Output(Scratch):
    def test_every_noise_of_the_bench_has_words(self):
        listed = re.search(r"all_noises\[\] = \{(.*?)\}", (BENCH / "fence_interference" / "cases.cuh").read_text(encoding="utf-8"), re.DOTALL)[1]
        self.assertEqual(set(re.findall(r'"([^"]+)"', listed)), set(words.NOISES) - {"none"})

    def test_the_page_fetches_nothing(self):
        self.drawn(everything())
        page = self.text("out", "report.html")
        self.assertNotRegex(page.replace('xmlns="http://www.w3.org/2000/svg"', ""), r"https?:|src=|href=|url\(|@import|<script|<link")
        self.assertEqual(page.count("<svg"), len([name for name in os.listdir(self.output) if name.endswith(".svg")]))

    def test_the_page_and_each_picture_are_light_and_dark(self):
        self.drawn(everything())
        for name in [name for name in os.listdir(self.output) if not name.endswith(".md")]:
            self.assertEqual(self.text("out", name).count("@media(prefers-color-scheme:dark)"), 2 if name == "report.html" else 1, name)
        self.assertIn("color-scheme:light dark", self.text("out", "report.html"))

    def test_the_page_says_what_the_markdown_says(self):
        text = "# T\n\n> **R.**\n\n**H 1.**\n\na `b|<c>` **d**\n\n## S\n\n|x|y|\n|---|---:|\n|a\\|b|2|\n\n- e\n- f\n\n![p](q.svg)\n"
        page = web_page.page(text, {"q.svg": "<svg>" + chart.STYLE + "</svg>"}, "T")
        for part in ("<h1>T</h1>", "<blockquote><p><strong>R.</strong>", "<p class=headline><strong>H 1.", "a <code>b|&lt;c&gt;</code> <strong>d",
                     "<details open><summary>S", "<td>a|b</td><td class=number>2</td>", "<li>e</li><li>f</li>", "<svg></svg>", "</details>"):
            self.assertIn(part, page)

    def test_open_shows_the_page_or_says_that_there_is_no_browser(self):
        for works in (True, False):
            with unittest.mock.patch.object(report.webbrowser, "open", return_value=works) as opened:
                done = self.drawn(everything(), "--open")
            opened.assert_called_once_with(pathlib.Path(self.output, "report.html").as_uri())
            self.assertEqual("no browser was found for --open; open " in done.stdout, not works)
        with unittest.mock.patch.object(report.webbrowser, "open") as opened:
            self.drawn(everything())
        opened.assert_not_called()

    def test_report_has_its_parts(self):
        made = everything().waived(BOUNDARY, "spin", "env0", "not an arm of spin").failed(
            BOUNDARY, "nccl.paced", "env0", "the noise ended before the victim")
        done = self.drawn(made)
        page = self.page()
        self.assertEqual(page.splitlines()[0], "# Fence interference")
        self.assertIn(page.splitlines()[2].strip("*"), done.stdout)
        for part in ("## Machine", "|GPU|Synthetic GPU|", "## Controls", "## Kernel boundary", "## Fence", "## Release store",
                     "## Acquire load", "p99, µs", "noise kept, GB/s", "## Waived cases", "**not an arm of spin** — 1 case",
                     "## Failed cases", "**the noise ended before the victim** — 1 case"):
            self.assertIn(part, page)

    def test_context_may_be_absent(self):
        made = everything()
        made.context = {}
        self.drawn(made)
        self.assertIn("The file does not state the machine.", self.page())

    def test_csv_has_every_case_and_recomputed_ratios(self):
        made = Synthetic().alone(BOUNDARY, 1000).case(BOUNDARY, NVLINK, "same", 4000, 300.0, interference=9.0)
        made.waived(BOUNDARY, "nccl.paced", "same", "NCCL was not found").failed(BOUNDARY, "host.paced", "same", "too short")
        self.drawn(made, "--csv", self.path("flat.csv"))
        rows = list(csv.DictReader(self.text("flat.csv").splitlines()))
        self.assertEqual([(row["noise"], row["pace"], row["arm"], row["interference"]) for row in rows],
                         [("none", "", "alone", ""), ("nvlink", "saturating", "same", "4"), ("nccl", "paced", "same", ""),
                          ("host", "paced", "same", "")])
        self.assertEqual((rows[2]["label"], rows[3]["error"]), ("waived: NCCL was not found", "too short"))

    def test_pictures_of_an_earlier_report_do_not_stay(self):
        os.makedirs(self.output)
        for name in ("overview.svg", "finding.queue.svg", "publisher.svg", "mine.svg"):
            self.write("", "out", name)
        self.drawn(one(GRAPH, 1000, NVLINK, 4000))
        self.assertEqual(sorted(os.listdir(self.output)), ["finding.kernel_boundary.svg", "mine.svg", "overview.svg", "report.html", "report.md"])

    def test_sources_are_python_3_8(self):
        for path in [*REPORT.parent.glob("*.py"), *(BENCH / "common").glob("*.py")]:
            ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 8))


class Recorded(Scratch):
    LINE = "recorded on Synthetic GPU, 2001-01-01, not measured on this machine"

    def setUp(self):
        super().setUp()
        self.recorded = everything().write(self.path("recorded.json"))
        self.waived = Synthetic().waived(BOUNDARY, "none", "alone", "no GPU")

    def test_the_pages_are_what_the_report_makes_of_their_results(self):
        def lines(text):  # Everything except the pictures, which are in a different place here.
            return [line for line in text.splitlines() if line and "![" not in line]

        pages = sorted((BENCH.parent / "docs" / "measurements").glob("*/fence_interference.md"))
        self.assertGreaterEqual(len(pages), 1)
        for page in pages:
            done = self.run_report("--input", str(page.with_suffix(".json")), "--publisher", str(page.with_name("publisher.json")),
                                   "--output-dir", self.output, "--pictures", self.path("picture."))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(lines(self.page()), lines(page.read_text(encoding="utf-8")), page)

    def test_is_drawn_and_marked_where_nothing_was_measured(self):
        for own in (self.waived.write(self.path("in.json")), self.path("none.json")):
            done = self.run_report("--input", own, "--recorded", self.recorded, "--output-dir", self.output, "--csv", self.path("flat.csv"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(self.LINE, done.stdout)
            self.assertEqual(self.page().splitlines()[2], "> **R%s.**" % self.LINE[1:])
            self.assertIn("This is the machine on which the results were recorded, not the current machine.", self.page())
            self.assertEqual("## On this machine\n\nNothing was measured here.\n\n- **no GPU** — 1 case" in self.page(), "in.json" in own)
            self.assertEqual({row["source"] for row in csv.DictReader(self.text("flat.csv").splitlines())}, {"recorded"})

    def test_is_not_drawn_where_something_was_measured(self):
        done = self.drawn(Synthetic(gpu="Other GPU").alone(BOUNDARY, 3000), "--recorded", self.recorded)
        self.assertNotIn("ecorded", self.page() + done.stdout)

    def test_may_be_left_out(self):
        self.assertIn("Nothing was measured: no GPU.", self.drawn(self.waived).stdout)
        self.assertIn("## Waived cases", self.page())


class BadInput(Scratch):
    def refuse(self, *options, naming, code=1):
        """Expects a single sentence on stderr that names the value, and no output files."""
        done = self.run_report(*options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"\Areport\.py: [^\n]+\n\Z")
        for name in naming:
            self.assertIn(name, done.stderr)
        self.assertFalse(os.path.isdir(self.output) and os.listdir(self.output))

    def refuse_input(self, path, *naming):
        self.refuse("--input", path, "--output-dir", self.output, naming=(path, *naming))

    def refuse_case(self, name, *naming, **fields):
        made = Synthetic().alone(BOUNDARY, 1000)
        made.entries.append(dict({"name": name}, **fields))
        self.refuse_input(made.write(self.path("in.json")), *naming)

    def sound(self):
        return Synthetic().alone(BOUNDARY, 1000).write(self.path("in.json"))

    def test_files_that_are_no_results(self):
        pathlib.Path(self.path("binary.json")).write_bytes(b"\xff\xfe\x00")
        self.refuse_input(self.path("missing.json"), "run the bench")
        self.refuse_input(self.folder, "cannot be read")
        self.refuse_input(self.path("binary.json"), "is not JSON")
        self.refuse_input(self.write("half a {", "in.json"), "is not JSON")
        for text in ("[]", "3", "{}", "{\"benchmarks\": {}}", "{\"benchmarks\": [1]}"):
            self.refuse_input(self.write(text, "in.json"), "benchmarks")
        self.refuse_input(self.write("{\"benchmarks\": [{}]}", "in.json"), "has no name")

    def test_recorded_files(self):
        empty = Synthetic().write(self.path("empty.json"))
        for own, recorded, naming in ((self.path("missing.json"), self.path("gone.json"), ("missing.json", "gone.json")),
                                      (empty, empty, ("empty.json", "no measured case"))):
            self.refuse("--input", own, "--recorded", recorded, "--output-dir", self.output, naming=naming)

    def test_cases_that_the_report_does_not_know(self):
        for name, *naming in (("BM_Something", "BM_Something", "victim/noise/arm"),
                              ("fence.warp.acq_rel.own_sm/none/alone", "unknown victim", "fence.warp.acq_rel.own_sm"),
                              (BOUNDARY + "/music/same", "unknown noise", "music"), (BOUNDARY + "/spin/other", "unknown arm", "other"),
                              (BOUNDARY + "/none/same", "contradictory")):
            self.refuse_case(name, *naming)
        self.refuse_case(BOUNDARY + "/none/alone", "twice", p50_ns=1.0)

    def test_medians_that_are_no_times(self):
        for value in (None, "fast", 0, -1.0, True, float("nan"), float("inf")):
            self.refuse_case(BOUNDARY + "/spin/same", BOUNDARY + "/spin/same", "p50_ns", p50_ns=value)

    def test_output_folder_that_cannot_be(self):
        made, file = self.sound(), self.write("a file", "file")
        # Even the superuser cannot write to the last two paths.
        for folder in (file, os.path.join(file, "below"), "/proc", "/proc/below"):
            self.refuse("--input", made, "--output-dir", folder, naming=("--output-dir " + folder, "writable"))
        self.assertEqual(self.text("file"), "a file")

    def test_a_folder_in_the_place_of_the_report(self):
        os.makedirs(self.path("other", "report.md"))
        self.refuse("--input", self.sound(), "--output-dir", self.path("other"), naming=("other", "report.md"))
        self.assertEqual(os.listdir(self.path("other")), ["report.md"])

    def test_csv_that_cannot_be_written(self):
        self.refuse("--input", self.sound(), "--output-dir", self.output, "--csv", self.path("nowhere", "flat.csv"),
                    naming=("--csv", "nowhere"))

    def test_options(self):
        made = self.sound()
        for options, naming in ((("--input", made, "--output-dir", self.output, "--colour"), ("--colour", "--help")),
                                (("--input", made), ("--output-dir",)), (("--in", made, "--output-dir", self.output), ("--input",))):
            self.refuse(*options, naming=naming, code=2)


def published(gain=12.0):
    """Makes a fake result of the publisher bench, in which a release costs `gain` times as much during NVLink stores."""
    entries = []
    for warps in (1, 4):
        for noise, beside in (("none", 1.5), (NVLINK, gain)):
            for way, cycles in (("nothing", 1950), ("release", 2000 * beside), ("publisher", 2000)):
                for what in ("pace", "latency")[:1 if way == "nothing" else 2]:
                    name = "%s/%s/warps:%d%s/%s/iterations:1/repeats:9/manual_time" % (
                        what, way, warps, "/lag:16" if way == "publisher" else "", noise)
                    entries += [{"name": name, "run_type": "iteration", "p50_cycles": cycles + off, "p90_cycles": cycles + 50,
                                 "fences": 100, "publications": 16000 * warps, "largest_lag": 9} for off in (-1, 0, 1)]
    entries.append({"name": "pace/release/warps:4/none", "run_type": "aggregate", "p50_cycles": 1})
    return {"context": {"gpu": "Synthetic GPU"}, "benchmarks": entries}


class Publisher(Scratch):
    def report_with(self, result, *more):
        """Runs report.py on a result of the publisher bench. Returns the script's output and the page."""
        done = self.run_report("--input", one(BOUNDARY, 3000, NVLINK, 13800, 4500).write(self.path("in.json")), "--output-dir", self.output,
                               "--publisher", self.write(json.dumps(result), "publisher.json"), *more)
        return done, (self.page() if done.returncode == 0 else "")

    def said_of(self, result):
        """Returns the sentence about the publisher in the advice on system scope."""
        return publisher.sentence(publisher.load(self.write(json.dumps(result), "publisher.json")))

    def test_what_to_do_about_system_scope_says_what_a_publisher_recovers(self):
        made = one(SYSTEM, 600, NVLINK, 9000, 9000).write(self.path("in.json"))
        self.run_report("--input", made, "--output-dir", self.output, "--publisher", self.write(json.dumps(published()), "publisher.json"))
        self.assertIn("If 4 warps per block publish through a publisher warp, they compute 12× as fast during saturating NVLink stores.", self.page())
        self.assertIn("](publisher.svg)", self.page())

    def test_the_sentence_goes_from_the_greatest_gain_on_and_leaves_controls_and_what_gains_nothing_out(self):
        result = published()
        for entry in list(result["benchmarks"]):
            if "/nvlink.saturating/" in entry["name"]:
                for noise, factor in ((HOST, 2), ("local.saturating", 3), (NCCL, 1 / 12)):
                    other = {**entry, "name": entry["name"].replace(NVLINK, noise)}
                    if "/release/" in entry["name"]:
                        other["p50_cycles"] *= factor
                    result["benchmarks"].append(other)
        said = self.said_of(result)
        self.assertIn("compute 24× as fast during saturating stores to host memory and 12× as fast during saturating NVLink stores.", said)
        self.assertNotRegex(said, "local|NCCL")

    def test_the_sentence_is_of_one_number_of_warps(self):
        result = published()
        for entry in result["benchmarks"]:
            if entry["name"].startswith("pace/release/warps:1/nvlink"):
                entry["p50_cycles"] *= 5  # This is 60 times the publisher's time.
        self.assertIn("12× as fast during saturating NVLink stores", self.said_of(result))

    def test_the_section_has_a_row_for_each_noise_and_number_of_warps(self):
        page = self.report_with(published())[1]
        for part in ("## Publisher", "|4|NVLink stores, saturating|1,950|24,000|2,000|", "|1|no noise|1,950|3,000|2,000|",
                     "100 for 64,000"):
            self.assertIn(part, page)

    def test_a_file_of_aggregates_alone_says_the_same(self):
        result = published()
        medians = [{**entry, "run_type": "aggregate", "aggregate_name": "median", "name": entry["name"] + "_median"}
                   for entry in result["benchmarks"][1::3] if entry["run_type"] == "iteration"]
        means = [{**entry, "aggregate_name": "mean", "p50_cycles": 1} for entry in medians]
        singles = self.report_with(result)[1]
        self.assertEqual(self.report_with({**result, "benchmarks": medians + means})[1], singles)

    def test_what_a_lane_alone_costs_is_said(self):
        result = published()
        result["benchmarks"].append({"name": "pace/by_lane/warps:4/lag:16/none/iterations:1/repeats:9/manual_time",
                                     "run_type": "iteration", "p50_cycles": 4900})
        self.assertIn("If one lane publishes instead of the whole warp, an iteration with 4 warps per block takes 4,900 to 4,900 cycles",
                      self.report_with(result)[1])

    def test_a_gain_that_is_not_known_is_not_said(self):
        result = published()
        for i, entry in enumerate(result["benchmarks"]):
            if entry["name"].startswith("pace/release/warps:4/nvlink"):
                entry["p50_cycles"] *= 1 + 0.1 * (i % 3)
        self.assertNotIn("as fast", self.said_of(result))

    def test_no_gain_is_said(self):
        self.assertIn("A publisher warp per block recovers no time here.", self.said_of(published(1.0)))

    def test_without_a_measured_case_there_is_no_section(self):
        done, page = self.report_with({"benchmarks": [{"name": "pace/release/warps:4/none", "label": "waived: no CUDA device"}]})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("## Publisher", page)

    def test_the_recorded_figures_stand_in_and_are_marked(self):
        os.mkdir(self.path("kept"))
        everything().write(self.path("kept", "fence_interference.json"))
        self.write(json.dumps(published()), "kept", "publisher.json")
        page = self.report_with({"benchmarks": []}, "--recorded", self.path("kept", "fence_interference.json"))[1]
        self.assertIn("> **Recorded", page[page.index("## Publisher"):])

    def test_a_file_of_another_bench_is_refused_in_one_sentence(self):
        done = self.report_with({"benchmarks": [{"name": "something/else", "p50_cycles": 1}]})[0]
        self.assertEqual(done.returncode, 1)
        self.assertIn('has a case "something/else", which is not a case of the bench publisher', done.stderr)


@unittest.skipUnless(CMAKE and os.name == "posix", "needs cmake and a POSIX system")
class Script(Scratch):
    """Tests fence_report.cmake with a fake bench."""

    def setUp(self):
        super().setUp()
        self.result = everything().write(self.path("result.json"))
        self.output = self.path("build", "out")

    def program(self, text, *names):
        os.makedirs(os.path.dirname(self.path(*names)), exist_ok=True)
        os.chmod(self.write(text, *names), 0o755)
        return self.path(*names)

    def bench(self, code=0):
        """Makes a bench that records its arguments and copies a fake result."""
        return self.program("#!%s\nimport shutil, sys\nopen(%r, 'w').write('\\n'.join(sys.argv[1:]))\n"
                            "path = [a for a in sys.argv if a.startswith('--benchmark_out=')][0].partition('=')[2]\n"
                            "shutil.copy(%r, path) if %d == 0 else None\nsys.exit(%d)\n"
                            % (sys.executable, self.path("arguments"), self.result, code, code), "bench")

    def run_script(self, path=None, **variables):
        environment = dict(os.environ, **{"PATH": path} if path else {})
        given = dict({"MEMBAR_REPORT": REPORT, "MEMBAR_OUTPUT_DIR": self.output}, **variables)
        return subprocess.run([CMAKE] + ["-D%s=%s" % item for item in given.items()] + ["-P", SCRIPT], env=environment, check=False,
                              encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_runs_the_bench_and_prints_where_the_report_is_and_the_headline(self):
        done = self.run_script(MEMBAR_BENCH=self.bench(), MEMBAR_BENCH_ARGS="--all --benchmark_filter='a b'",
                               MEMBAR_REPORT_ARGS="--csv '%s'" % self.path("flat.csv"))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(os.path.exists(self.path("flat.csv")))
        self.assertEqual(self.text("arguments").splitlines(), [
            "--benchmark_out=%s/fence_interference.json" % self.output, "--benchmark_out_format=json",
            "--csv=%s/fence_interference.csv" % self.output, "--all", "--benchmark_filter=a b"])
        for part in ("report: %s/report.html" % self.output, " is lost at ", "measuring with bench"):
            self.assertIn(part, done.stdout)

    def test_draws_the_recorded_file_where_nothing_was_measured(self):
        recorded, self.result = self.result, Synthetic().waived(BOUNDARY, "none", "alone", "no GPU").write(self.path("waived.json"))
        done = self.run_script(MEMBAR_BENCH=self.bench(), MEMBAR_RECORDED=recorded)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(Recorded.LINE, done.stdout)

    def test_works_without_a_recorded_file(self):
        done = self.run_script(MEMBAR_BENCH=self.bench(), MEMBAR_RECORDED=self.path("none.json"))
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_stops_where_the_bench_fails(self):
        os.makedirs(self.output)
        self.write("stale", "build", "out", "fence_interference.json")
        done = self.run_script(MEMBAR_BENCH=self.bench(code=3))
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(re.sub(r"\s+", " ", done.stdout), r"fence_report: \S+bench failed \(3\)")
        self.assertEqual(os.listdir(self.output), [])

    def test_leaves_the_results_where_there_is_no_python(self):
        os.makedirs(self.path("empty"))
        # CMAKE_FIND_USE_…: CMake must not search anything outside the empty PATH.
        done = self.run_script(self.path("empty"), MEMBAR_BENCH=self.program("#!/bin/sh\nexit 0\n", "bench.sh"),
                               CMAKE_FIND_USE_CMAKE_SYSTEM_PATH="OFF")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("Python 3.8 or newer was not found (install python3)", done.stdout)

    def test_names_a_variable_that_is_missing(self):
        done = self.run_script()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("MEMBAR_BENCH is not set", done.stdout)


class Pictures(Scratch):
    @staticmethod
    def some(**context):
        """Makes a result with few victims and all kinds of rows."""
        made = everything(**context)
        made.entries = [e for e in made.entries if e["name"].split("/")[0] in (BOUNDARY, DEVICE, "acquire_load.system.own_sm")]
        return made

    def all_of(self, made, recorded=None):
        found = self.findings_of(made)
        drawn = [chart.finding(finding, found.results, recorded) for finding in found.shown] + [chart.overview(found.results, recorded)]
        drawn = [picture for picture in drawn if picture]
        for picture in drawn:
            xml.dom.minidom.parseString(picture)
        return drawn

    def test_go_where_they_are_asked_for(self):
        self.drawn(one(BOUNDARY, 1000, NVLINK, 4000), "--pictures", self.path("machine."))
        self.assertEqual(sorted(name for name in os.listdir(self.folder) if name.endswith(".svg")),
                         ["machine.finding.kernel_boundary.svg", "machine.overview.svg"])
        self.assertIn("](../machine.overview.svg)", self.page())

    def test_recorded_ones_say_so_and_all_name_the_machine(self):
        for recorded in (Recorded.LINE, None):
            for picture in self.all_of(self.some(), recorded):
                self.assertEqual("R" + Recorded.LINE[1:] in picture, bool(recorded))
                self.assertIn("2 × Synthetic GPU", picture)

    def test_come_out_of_every_partial_result(self):
        for made in (Synthetic().alone(BOUNDARY, 1000), Synthetic().beside(BOUNDARY, "nvlink.paced", 4000),
                     Synthetic().case(BOUNDARY, "nvlink.paced", "separate", 4000), Synthetic().case(BOUNDARY, "nvlink.paced", "map", 4000),
                     Synthetic(gpu="", date="").failed(BOUNDARY, "spin", "same", "too short").alone(BOUNDARY, 1.5)):
            self.all_of(made)

    def test_come_out_of_a_median_alone(self):
        made = self.some()
        for entry in made.entries:
            for name in [n for n in entry if n.endswith(("_ns", "_cycles")) and n != "p50_ns"] + ["spread", "samples"]:
                entry.pop(name, None)
        self.assertEqual(len(self.all_of(made)), 1)  # There is no spread, so no ratio is known and no finding is shown.


if __name__ == "__main__":
    unittest.main()
