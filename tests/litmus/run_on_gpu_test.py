#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests `membar-litmus run` on a GPU: files from the catalogue run, the model allows every observed outcome, and the counts in a report add up.

usage: run_on_gpu_test.py MEMBAR_LITMUS CATALOGUE

Without a GPU, the test is skipped (exit status 77), unless MEMBAR_REQUIRE_GPU is 1. MEMBAR_LITMUS_SECONDS is the duration of
each test (default: 0.1).
"""

import functools
import json
import os
import sys
import time

import litmus_command
from litmus_command import file_of

run = functools.partial(litmus_command.run, "run")
SECONDS = os.environ.get("MEMBAR_LITMUS_SECONDS", "0.1")

# One allowed and one forbidden test of each shape.
CLASSIC = ["allowed/MP+relaxed", "forbidden/MP.gpu.two_blocks",
           "allowed/SB+weak", "forbidden/SB+fence.sc.gpu.two_blocks",
           "allowed/LB+ld.relaxed.gpu+st.relaxed.gpu", "forbidden/LB+ld.acquire.gpu+st.release.gpu",
           "allowed/IRIW+relaxed", "forbidden/IRIW+fence.sc",
           "allowed/ISA2.cta+gpu.three-blocks", "forbidden/ISA2.gpu",
           "allowed/WRC+relaxed-second-hop", "forbidden/WRC+release+acquire",
           "allowed/RWC+fence.acq_rel.gpu", "forbidden/RWC+fence.sc.gpu",
           "allowed/2+2W+relaxed", "forbidden/2+2W+fence.sc.gpu",
           "allowed/CoRR.weak", "forbidden/CoRR.relaxed"]
# Tests with loops, addresses, vectors, updates, a single block, and accesses of several sizes to the same data.
OTHERS = ["forbidden/Lock.spin", "forbidden/Lock.ticket", "forbidden/LB+address+data", "forbidden/LB+false-data+false-data",
          "forbidden/Vector.before-release", "forbidden/Atomicity.increments.gpu.two_blocks", "forbidden/MP.cta.one_block",
          "forbidden/Cas.fails-and-is-read"]
CLUSTER = ["forbidden/MP.cluster.one_cluster", "forbidden/SB+fence.sc.cluster.one_cluster"]
DOMAINS = ["forbidden/MP.sys.two_domains", "allowed/MP.gpu.two_domains"]
HOST = ["forbidden/MP.sys.host", "forbidden/SB+fence.sc.sys.host", "forbidden/WRC+sys.host"]


class OnGpu(litmus_command.Case):
    def check(self, document, name):
        self.assertTrue(document["sound"], document)
        self.assertEqual((document["format"], document["format_version"]), ("membar-litmus run", 1))
        self.assertGreater(document["instances"], 0, name)
        counted = sum(o["count"] for o in document["outcomes"]) + document["unfinished"] + document["strayed"]
        self.assertEqual(counted, document["instances"], name)
        self.assertEqual((document["strayed"], document["unknown"]), (0, 0), name)
        for outcome in document["outcomes"]:
            if outcome["count"] != 0:
                self.assertEqual(outcome["model"], "allowed", (name, outcome))
        if name.startswith("forbidden/"):
            self.assertEqual((document["positive"], document["condition_allowed"]), (0, False), name)

    def report_of(self, *words, name):
        return json.loads(self.output_of(run("--json", *words, f"--seconds={SECONDS}", file_of(name))))

    def run_all(self, names):
        out = self.output_of(run("--json", f"--seconds={SECONDS}", *map(file_of, names)))
        documents = [json.loads(line) for line in out.splitlines() if line]
        self.assertEqual([d["test"] for d in documents], [n.split("/")[1] for n in names])
        for document, name in zip(documents, names):
            self.check(document, name)

    def run_where_possible(self, names):
        """Runs the tests whose placement the machine's GPUs allow. For every other test, expects a single sentence and no report."""
        for name in names:
            code, out, err = run("--json", f"--seconds={SECONDS}", file_of(name))
            if code == 2:
                self.assertEqual((out, len(err.splitlines())), ("", 1), err)
                self.assertRegex(err, "needs|no such|makes no update")
                print(f"not run: {err.strip()}")
                continue
            self.assertEqual((code, err), (0, ""), name)
            self.check(json.loads(out), name)

    def test_the_classic_tests_show_what_the_model_allows(self):
        self.run_all(CLASSIC)

    def test_loops_addresses_vectors_and_updates_run(self):
        self.run_all(OTHERS)

    def test_clusters_and_domains_run_where_there_are_any(self):
        self.run_where_possible(CLUSTER + DOMAINS)

    def test_a_gpu_and_a_host_thread_show_what_the_model_allows(self):
        self.run_where_possible(HOST)

    def test_two_gpus_run_or_are_reported_as_missing(self):
        self.run_where_possible(["forbidden/MP.sys.two_gpus", "allowed/MP.gpu.two_gpus"])

    def test_the_report_has_herds_format(self):
        out = self.output_of(run(f"--seconds={SECONDS}", file_of("allowed/MP+relaxed")))
        for line in ("Test MP+relaxed Allowed", "Histogram (", "Observation MP+relaxed ", "Rate ", "Statistics: "):
            self.assertTrue(any(one.startswith(line) for one in out.splitlines()), (line, out))

    def test_the_time_of_a_run_is_kept_within_bounds(self):
        path = file_of("allowed/SB+weak")
        run("--seconds=0.1", path)  # compiles the test
        begin = time.monotonic()
        code, _, _ = run("--seconds=1", path)
        self.assertEqual(code, 0)
        self.assertLess(time.monotonic() - begin, 15)

    def test_a_search_of_parameters_ends_and_its_result_runs_again(self):
        document = self.report_of("--tune=2", name="allowed/SB+weak")
        self.assertTrue(document["tuned"])
        again = self.report_of(f"--params={document['parameters']}", name="allowed/SB+weak")
        self.assertEqual(again["parameters"], document["parameters"])

    def test_a_thread_that_waits_for_nothing_is_unfinished_and_the_next_test_runs(self):
        text = "PTX wait\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n L: | st.weak y, 1 ;\n ld.relaxed.gpu r0, x | ;\n bne r0, 1, L | ;\nexists (P0:r0 == 0)\n"
        code, out, err = run("--json", f"--seconds={SECONDS}", self.file("wait.litmus", text), file_of("allowed/SB+weak"))
        documents = [json.loads(line) for line in out.splitlines() if line]
        self.assertEqual(documents[-1]["test"], "SB+weak", err)
        if code == 0:
            self.assertEqual(documents[0]["unfinished"], documents[0]["instances"])
        else:  # or the time runs out first
            self.assertEqual((code, len(err.splitlines())), (2, 1), err)
            self.assertIn("timed out", err)

    def test_another_seed_is_another_run_and_both_are_sound(self):
        for seed in (1, 2, 3):
            self.assertEqual(self.report_of(f"--seed={seed}", name="forbidden/ISA2.gpu")["seed"], seed)


if __name__ == "__main__":
    code, _, err = run("--seconds=0.1", file_of("forbidden/MP.gpu.two_blocks"))
    missing = [w for w in ("run needs a GPU", "run needs a driver", "without a CUDA toolkit", "NVRTC") if w in err]
    required = os.environ.get("MEMBAR_REQUIRE_GPU") == "1" or os.environ.get("MEMBAR_REQUIRE_MULTI_GPU") == "1"
    if missing and not required:
        print("SKIPPED: " + err.strip())
        sys.exit(77)
    if missing:
        sys.exit(err)
    litmus_command.main()
