#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of membar-litmus: what it prints, and how it exits.

usage: command_line_test.py MEMBAR_LITMUS CATALOGUE
"""

import json

import litmus_command
from litmus_command import CATALOGUE, MP, run

OUTCOME = r"(P1:r0 == 1 /\ P1:r1 == 0)"


class CommandLine(litmus_command.Case):
    def test_a_verdict_is_one_if_the_quantified_condition_holds(self):
        for quantifier, verdict in (("exists", 0), ("~exists", 1), ("forall ~", 1), ("forall", 0)):
            path = self.file("t.litmus", MP + quantifier + OUTCOME)
            self.assertEqual(run("verdict", path)[:2], (0, f"{path}\t{verdict}\n"), quantifier)

    def test_a_data_race_is_named_beside_the_verdict(self):
        path = self.file("t.litmus", MP + "exists " + OUTCOME)
        race = "P0 'st.weak x, 1' and P1 'ld.weak r1, x'"
        self.assertEqual(run("verdict", path)[2], f"{path}: data race: {race}\n")
        self.assertIn(f"Data race: {race}.", self.output_of(run("explain", path)))
        self.assertEqual(json.loads(self.output_of(run("explain", "--json", path)))["race"], race)
        waiting = self.file("w.litmus", MP.replace("ld.weak r1, x       ", "bne r0, 1, END ;\n | ld.weak r1, x ;\n | END: ") + "exists " + OUTCOME)
        self.assertEqual(run("verdict", waiting)[2], "")
        self.assertIn("No execution has a data race", self.output_of(run("explain", waiting)))

    def test_other_files_are_decided_beside_a_malformed_one(self):
        good = self.file("a.litmus", MP + "~exists " + OUTCOME)
        bad = self.file("b.litmus", MP.replace("ld.weak r1, x", "ld.weak r1 x"))
        code, out, _ = run("verdict", bad, good, self.folder / "missing.litmus")
        lines = out.splitlines()
        self.assertEqual(code, 2)
        self.assertEqual(lines[0], f"{bad}\terror: 5:35: expected ',' between operands, found 'x'")
        self.assertEqual(lines[1], f"{good}\t1")
        self.assertIn("missing.litmus\terror: cannot open", lines[2])

    def test_a_folder_is_searched_for_litmus_files(self):
        self.file("deep/er/t.litmus", MP + "~exists " + OUTCOME)
        self.file("notes.txt", "no test")
        out = run("verdict", self.folder)[1]
        self.assertEqual(len(out.splitlines()), 1)
        self.assertTrue(out.endswith("deep/er/t.litmus\t1\n"))

    def test_the_catalogue_holds_in_any_number_of_jobs(self):
        answers = {run("verdict", f"--jobs={jobs}", CATALOGUE) for jobs in (1, 2, 7)}
        self.assertEqual(len(answers), 1)
        code, out, _ = answers.pop()
        self.assertEqual(code, 0)
        self.assertGreaterEqual(len(out.splitlines()), 200)
        self.assertTrue(all(line.endswith("\t1") for line in out.splitlines()))

    def test_a_mixed_size_race_is_an_error(self):
        path = self.file("t.litmus", "PTX t\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0;\nst.weak.b64 x, 1 | ld.weak r0, x;\nexists (x==0)\n")
        self.assertEqual(run("verdict", path)[:2], (2, f"{path}\terror: mixed-size data race: the program's behaviour is undefined\n"))

    def test_a_loop_that_is_cut_is_an_error_and_its_bounded_verdict_says_so(self):
        path = self.file("t.litmus", "PTX t\n{ x=0; }\nP0@cta 0,gpu 0;\nL: add r0, r0, 1;\natom.relaxed.gpu.add r1, x, 1;\n"
                                     "bne r0, 3, L;\n~exists (x==3)\n")
        for command in ("verdict", "outcomes", "explain"):
            code, out, problem = run(command, path)
            self.assertEqual(code, 2, command)
            self.assertIn("at line 6", out + problem, command)
            self.assertIn("--bounded", out + problem, command)
        self.assertEqual(run("verdict", "--bounded", path), (0, f"{path}\t1\tbounded\n", ""))
        self.assertIn("second jump back at line 6", run("outcomes", "--bounded", path)[2])

    def test_outcomes_are_sorted_and_in_the_conditions_order(self):
        path = self.file("t.litmus", MP + r"exists (P1:r1 == 0 /\ P1:r0 == 1 /\ x == 1)")
        self.assertEqual(run("outcomes", path), (0, "P1:r1=0 P1:r0=0 x=1\nP1:r1=1 P1:r0=0 x=1\nP1:r1=1 P1:r0=1 x=1\n", ""))
        path = self.file("s.litmus", "PTX t\n{ x=10; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0;\nst.weak x, 9 | ld.weak r0, x;\nexists (P1:r0==0)\n")
        self.assertEqual(run("outcomes", path), (0, "P1:r0=10\nP1:r0=9\n", ""))

    def test_explain_prints_text_json_and_a_picture(self):
        path = CATALOGUE / "forbidden" / "MP.gpu.two_blocks.litmus"
        self.assertIn("Cycle", self.output_of(run("explain", path)))
        document = json.loads(self.output_of(run("explain", "--json", path)))
        self.assertEqual(document["verdict"], "forbidden")
        self.assertEqual([s["relation"] for s in document["cycle"]], ["fr", "po", "sync", "po"])
        self.assertTrue(self.output_of(run("explain", "--dot", path)).startswith("digraph"))

    def test_every_explanation_in_json_can_be_parsed(self):
        documents = [json.loads(line) for line in self.output_of(run("explain", "--json", CATALOGUE)).splitlines()]
        self.assertGreaterEqual(len(documents), 200)
        self.assertEqual({d["verdict"] for d in documents}, {"allowed", "forbidden"})

    def test_a_search_beyond_its_limit_is_undecided(self):
        path = self.file("t.litmus", MP + "~exists " + OUTCOME)
        undecided = f"{path}\terror: undecided: the search was given up after its limit of steps\n"
        self.assertEqual(run("verdict", "--limit=1", path)[:2], (2, undecided))
        code, out, problem = run("explain", "--limit=1", path)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("given up after its limit of steps", problem)
        self.assertEqual(run("verdict", "--limit=0", path)[:2], (0, f"{path}\t1\n"))

    def test_wrong_usage_exits_with_two(self):
        for words in ([], ["decide"], ["verdict"], ["verdict", "--nonsense", "x"], ["verdict", "--jobs=0", "x"], ["verdict", "--limit=x", "y"]):
            code, out, err = run(*words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertIn("usage:", err)


if __name__ == "__main__":
    litmus_command.main()
