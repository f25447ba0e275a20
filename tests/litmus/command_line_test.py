#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests the command line of membar-litmus: its output and its exit status.

usage: command_line_test.py MEMBAR_LITMUS CATALOGUE
"""

import json
import os
import pty
import subprocess

import litmus_command
from litmus_command import CATALOGUE, COMMAND, MP, run

OUTCOME = r"(P1:r0 == 1 /\ P1:r1 == 0)"


class CommandLine(litmus_command.Case):
    def test_a_verdict_is_one_if_the_quantified_condition_holds(self):
        for quantifier, verdict in (("exists", 0), ("~exists", 1), ("forall ~", 1), ("forall", 0)):
            path = self.file("t.litmus", MP + quantifier + OUTCOME)
            self.assertEqual(run("verdict", path)[:2], (0, f"{path}\t{verdict}\n"), quantifier)

    def test_a_data_race_is_named_beside_the_verdict(self):
        path = self.file("t.litmus", MP + "exists " + OUTCOME)
        race = "P0 'st.weak x, 1' and P1 'ld.weak r1, x', where P1 'ld.acquire.gpu r0, y' reads 0"
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
        self.assertIn("omits runs that jump back a second time at line 6", run("outcomes", "--bounded", path)[2])

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
        undecided = f"{path}\terror: undecided: the search was stopped at its step limit\n"
        self.assertEqual(run("verdict", "--limit=1", path)[:2], (2, undecided))
        code, out, problem = run("explain", "--limit=1", path)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("stopped at its step limit", problem)
        self.assertEqual(run("verdict", "--limit=0", path)[:2], (0, f"{path}\t1\n"))

    def test_a_search_is_bounded_by_time_and_by_memory(self):
        loads = "".join(f" | ld.weak r{i}, x;\n" for i in range(30))
        path = self.file("t.litmus", "PTX t\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0;\nst.weak x, 1 |;\n" + loads +
                         "exists (" + " \\/ ".join(f"P1:r{i} == 2" for i in range(30)) + ")\n")
        late = "undecided: the search was stopped at its time limit"
        self.assertEqual(run("verdict", "--time=0.1", path)[:2], (2, f"{path}\terror: {late}\n"))
        for command in ("outcomes", "explain"):
            self.assert_refused(run(command, "--time=0.1", path), late)
        readers = range(2, 16)
        path = self.file("m.litmus", "PTX t\n{ x=0; }\n" + " | ".join(f"P{i}@cta {i},gpu 0" for i in range(16)) + ";\n" +
                         "st.relaxed.gpu x, 1 | st.relaxed.gpu x, 2" + " | ld.relaxed.gpu r0, x" * 14 + ";\n |" + " | ld.relaxed.gpu r1, x" * 14 +
                         ";\nexists (" + " \\/ ".join(f"P{i}:r0 == 3" for i in readers) + ")\n")
        full = "undecided: the search was stopped because its states need more than 1 MiB"
        for command in ("outcomes", "explain"):
            self.assert_refused(run(command, "--memory=1", path), full)
        self.assertEqual(run("verdict", "--memory=1", path)[:2], (2, f"{path}\terror: {full}\n"))
        self.assertEqual(run("verdict", "--time=0", "--memory=0", self.file("g.litmus", MP + "~exists " + OUTCOME))[0], 0)
        for option in ("--time=", "--time=x", "--time=-1", "--memory=x", "--memory="):
            self.assertEqual(run("verdict", option, path)[0], 2, option)

    def test_readings_take_the_other_side(self):
        path = CATALOGUE / "allowed" / "Alias.multimem.signal-by-own-address.litmus"
        fence = CATALOGUE / "forbidden" / "Init.cluster+fence.litmus"
        for options, verdict in (((), 1), (("--reading=multimem-flags",), 0), (("--reading=maps-at-kernel-start",), 1), (("--readings=lenient",), 0),
                                 (("--readings=strict",), 1), (("--readings=default",), 1),
                                 (("--reading=maps-at-kernel-start", "--reading=multimem-flags"), 0)):
            self.assertEqual(run("verdict", *options, path)[:2], (0, f"{path}\t{verdict}\n"), options)
        self.assertEqual(run("verdict", fence)[1], f"{fence}\t1\n")
        self.assertNotEqual(run("outcomes", path)[1], run("outcomes", "--reading=multimem-flags", path)[1])
        self.assertIn(": allowed", run("explain", path)[1])
        self.assertIn(": forbidden", run("explain", "--reading=multimem-flags", path)[1])
        self.assertIn("--reading: no reading is named 'multimem-flag'; did you mean 'multimem-flags'?", run("verdict", "--reading=multimem-flag", path)[2])
        self.assertIn("--readings needs lenient, strict or default", run("verdict", "--readings=all", path)[2])

    def test_messages_quote_little_of_a_file_and_nothing_that_a_terminal_acts_on(self):
        for wrong, shown in (("ld." + "weak" * 200 + " r0, x", "'ld." + ("weak" * 10)[:37] + "...'"), ("ld.weak r0, \x1b[31mx", r"found '\x1b'"),
                             ("\x00ld.weak r0, x", r"found '\x00'"), ("ld.weak r0, x \x7f", r"found '\x7f'")):
            path = self.file("t.litmus", "PTX t\n{ x=0; }\nP0@cta 0,gpu 0;\n" + wrong + ";\nexists (x==0)\n")
            code, out, err = run("verdict", path)
            self.assertEqual((code, err), (2, ""))
            self.assertIn(shown, out)
            self.assertLessEqual(len(out) - len(str(path)), 310)

    def test_a_name_in_a_condition_that_nothing_declares_is_an_error(self):
        for wrong, reason in ((r"(P1:r0 == 1 /\ P1:r10 == 0)", "6:26: no instruction or initial value in P1 names the register 'r10'; did you mean 'r0'?"),
                              ("(P0:r0 == 1)", "6:12: no instruction or initial value in P0 names the register 'r0'"),
                              ("(yy == 1)", "6:9: 'yy' is not a location of this test; did you mean 'y'?"),
                              ("(r1 == 1)", "6:9: 'r1' is not a location of this test; write a register with its thread, as in 'P1:r1'")):
            path = self.file("t.litmus", MP + "exists " + wrong)
            self.assertEqual(run("verdict", path)[:2], (2, f"{path}\terror: {reason}\n"))

    def test_a_location_that_is_not_declared_gets_a_warning_and_strict_refuses_it(self):
        path = self.file("t.litmus", MP.replace("ld.weak r1, x ", "ld.weak r1, xx") + "~exists " + OUTCOME)
        text = "'xx' is accessed but not declared; did you mean 'x'?"
        for command in ("verdict", "outcomes", "explain"):
            self.assertIn(f"{path}: 5:36: warning: {text}\n", run(command, path)[2], command)
            code, out, problem = run(command, "--strict", path)
            self.assertEqual(code, 2, command)
            self.assertIn(f"error: 5:36: {text}\n", out + problem, command)
        self.assertIn(f"{path}: 5:36: warning: {text}\n", run("run", "--source", path)[2])
        self.assertIn(f"error: 5:36: {text}\n", run("run", "--strict", "--source", path)[2])
        self.assertEqual(run("verdict", path)[:2], (0, f"{path}\t0\n"))
        good = self.file("g.litmus", MP + "~exists " + OUTCOME)
        self.assertEqual(run("verdict", "--strict", good)[:2], (0, f"{good}\t1\n"))
        self.assertNotIn("warning", run("verdict", good)[2])

    def test_elements_of_a_vector_access_are_declared_with_their_array(self):
        rows = "P0@cta 0,gpu 0;\nst.weak.v2 x, {1, 2};\nexists (x[1]==2)\n"
        self.assertEqual(run("verdict", self.file("t.litmus", "PTX t\n{ x=0; }\n" + rows))[2], "")
        self.assertIn("'x' is accessed but not declared", run("verdict", self.file("u.litmus", "PTX t\n{ }\n" + rows))[2])

    def test_a_folder_without_tests_is_an_error(self):
        empty = self.folder / "empty"
        empty.mkdir()
        test = self.file("t.litmus", MP + "~exists " + OUTCOME)
        for command in ("verdict", "outcomes", "explain", "run"):
            self.assert_refused(run(command, empty), f"{empty}\terror: the folder contains no *.litmus file")
        code, out, problem = run("verdict", empty, test)
        self.assertEqual((code, out), (2, f"{test}\t1\n"))
        self.assertIn("the folder contains no *.litmus file", problem)

    def test_a_mistyped_command_or_option_names_the_nearest(self):
        for words, nearest in ((("verdct", "x"), "verdict"), (("explian", "x"), "explain"), (("rum", "x"), "run"), (("verdict", "--bonded", "x"), "--bounded"),
                               (("verdict", "--limits=3", "x"), "--limit="), (("run", "--second=3", "x"), "--seconds=")):
            self.assertIn(f"; did you mean '{nearest}'?\n", run(*words)[2])

    def test_a_verdict_is_explained_on_a_terminal_only(self):
        path = self.file("t.litmus", MP + "~exists " + OUTCOME)
        self.assertEqual(run("verdict", path)[1], f"{path}\t1\n")
        reader, writer = pty.openpty()
        self.addCleanup(os.close, reader)
        subprocess.run([COMMAND, "verdict", str(path)], stdout=writer, stderr=subprocess.DEVNULL, timeout=60, check=True)
        os.close(writer)
        shown = os.read(reader, 1 << 16).decode().splitlines()
        self.assertEqual(shown[0], "file\tverdict (1: the quantified condition holds, 0: it does not)")
        self.assertEqual(shown[1:], [f"{path}\t1"])

    def test_all_searches_of_an_explanation_share_its_limit(self):
        path = CATALOGUE / "forbidden" / "IRIW+fence.sc.litmus"
        enough = next(n for n in (2**k for k in range(20)) if run("verdict", f"--limit={n}", path)[0] == 0)
        text = self.output_of(run("explain", f"--limit={enough}", path))
        self.assertIn(": forbidden", text)
        self.assertIn("the search for the rule that forbids it reached its step limit", text)
        self.assertIn("Cycle", self.output_of(run("explain", path)))

    def documents_of(self, kind, *words):
        """Returns the JSON documents that a command prints, which begin with their format."""
        code, out, _ = run(*words)
        documents = [json.loads(line) for line in out.splitlines()]
        for document in documents:
            self.assertEqual(list(document.items())[:2], [("format", f"membar-litmus {kind}"), ("format_version", 1)])
        return code, documents

    def test_each_verdict_is_a_json_document(self):
        good = self.file("a.litmus", MP + "~exists " + OUTCOME)
        bad = self.file("b.litmus", MP + "exists (z == 1)")
        for words in (["--format=json"], ["--json"], ["--format", "json"], ["--format=text", "--json"]):
            code, documents = self.documents_of("verdict", "verdict", *words, good, bad)
            self.assertEqual(code, 2)
            self.assertEqual([d["file"] for d in documents], [str(good), str(bad)])
            self.assertEqual((documents[0]["holds"], documents[0]["bounded"]), (True, False))
            self.assertIn("and P1 'ld.weak r1, x'", documents[0]["race"])
            self.assertIn("'z' is not a location of this test", documents[1]["error"])
            self.assertNotIn("holds", documents[1])
        self.assertEqual(run("verdict", "--json", "--format=text", good)[1], f"{good}\t1\n")

    def test_outcomes_are_a_json_document(self):
        path = self.file("t.litmus", MP + r"exists (P1:r1 == 0 /\ P1:r0 == 1 /\ x == 1)")
        code, (document,) = self.documents_of("outcomes", "outcomes", "--format=json", path)
        self.assertEqual((code, document["test"], document["bounded"]), (0, "MP", False))
        self.assertEqual(document["outcomes"], run("outcomes", path)[1].splitlines())

    def test_an_explanation_in_json_says_its_format(self):
        code, (document,) = self.documents_of("explanation", "explain", "--format=json", CATALOGUE / "allowed" / "MP+relaxed.litmus")
        self.assertEqual((code, document["verdict"]), (0, "allowed"))

    def test_text_that_is_not_utf_8_makes_a_json_document_nevertheless(self):
        path = self.folder / "t.litmus"
        path.write_bytes(MP.replace("PTX MP", "PTX M\xe9").encode("latin-1") + b"exists (x == 1)\n")
        self.assertEqual(json.loads(self.output_of(run("outcomes", "--json", path)))["test"], "M\ufffd")

    def test_the_version_is_that_of_the_headers(self):
        self.assertRegex(self.output_of(run("--version")), r"\Amembar-litmus \d+\.\d+\.\d+\n\Z")

    def test_help_is_printed_anywhere(self):
        for words in (["--help"], ["help"], ["verdict", "--help"], ["run", "--help", "x"]):
            self.assertTrue(self.output_of(run(*words)).startswith("usage: membar-litmus"), words)

    def test_an_option_with_a_wrong_value_or_place_is_one_sentence(self):
        for words, what in ((["verdict", "x", "--limit"], "--limit needs a number"), (["verdict", "--jobs=", "x"], "--jobs needs a number, at least 1"),
                            (["outcomes", "--format=xml", "x"], "--format needs text or json"),
                            (["mp.litmus"], "no command given for 'mp.litmus': write, for example, membar-litmus explain mp.litmus"),
                            (["run", "--cache=", "x"], "--cache needs a folder"), (["verdict", "--strict=no", "x"], "--strict takes no value"),
                            (["--limit=3", "verdict", "x"], "unknown command '--limit=3'; did you mean 'verdict'?")):
            code, out, err = run(*words)
            self.assertEqual((code, out, err.splitlines()[0]), (2, "", f"membar-litmus: {what}"))

    def test_words_after_two_dashes_are_paths(self):
        self.file("--json", MP + "~exists " + OUTCOME)
        done = subprocess.run([os.path.abspath(COMMAND), "verdict", "--", "--json"], cwd=self.folder, capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(done.stdout, "--json\t1\n")

    def test_wrong_usage_exits_with_two(self):
        for words in ([], ["decide"], ["verdict"], ["verdict", "--nonsense", "x"], ["verdict", "--jobs=0", "x"], ["verdict", "--limit=x", "y"],
                      ["verdict", "--seconds=1", "x"], ["outcomes", "-j", "x"]):
            code, out, err = run(*words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertIn("usage:" if not words else "membar-litmus --help lists the commands and options\n", err)
            self.assertTrue(not words or len(err.splitlines()) == 2, err)  # the help does not hide the error


if __name__ == "__main__":
    litmus_command.main()
