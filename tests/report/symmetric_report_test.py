#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests bench/symmetric/report/report.py with fake results. Pass the name of a test to run only that one."""
import functools
import unittest

from written_report import assert_refused, written_report

SCRIPT = "symmetric/report/report.py"
report = functools.partial(written_report, SCRIPT)


def result(cases, waived=""):
    """Makes a Google Benchmark file from {case: nanoseconds} or {case: (nanoseconds, GB/s)}. In addition to each median, the
    file contains a mean, which must not be read."""
    runs = []
    for family, (name, figures) in enumerate(cases.items()):
        ns, *rate = figures if isinstance(figures, tuple) else (figures,)
        common = {"run_name": f"{name}/iterations:1/repeats:9/manual_time", "family_index": family, "repetitions": 9, "time_unit": "ns"}
        if waived:
            runs.append({**common, "name": common["run_name"], "run_type": "iteration", "real_time": 0.0, "label": "waived: " + waived})
            continue
        for which, factor in (("mean", 100.0), ("median", 1.0)):
            runs.append({**common, "name": f"{common['run_name']}_{which}", "run_type": "aggregate", "aggregate_name": which,
                         "real_time": ns * factor, **({"GB/s": rate[0] * factor} if rate else {})})
    return {"context": {"gpu": "Fake GPU"}, "benchmarks": runs}


LATENCIES = {f"put_signal_latency/{case}": ns for case, ns in {
    "membar_peer/thread:1/bytes:16": 3000.0, "membar_peer/block:64/bytes:16": 4000.0, "membar_peer/block:64/bytes:1024": 4100.0,
    "membar_peer_from_shared/thread:1/bytes:16": 3700.0, "membar_peer_packed/thread:1/bytes:16": 2000.0,
    "membar_peer_packed_in_memory/thread:1/bytes:16": 1500.0, "membar_peer_packed/block:96/bytes:1024": 1700.0,
    "membar_peer_packed_pieces/lanes:8/bytes:1024": 1600.0, "membar_peer_packed_pieces/lanes:32/bytes:1024": 1660.0,
    "nvshmem/thread:1/bytes:16": 4500.0, "nvshmem_and_acquire/thread:1/bytes:16": 5000.0, "nvshmem_and_acquire/warp:32/bytes:16": 6000.0,
    "membar_nvshmem/thread:1/bytes:16": 5100.0, "membar_nvshmem/warp:32/bytes:16": 5400.0,
    "membar_peer_notify/thread:1/bytes:0": 2400.0, "nccl_send_recv/host/bytes:16": 24000.0}.items()}


class SymmetricReport(unittest.TestCase):
    def test_the_quickest_group_stands_for_an_arm_and_a_table_has_all(self):
        page = report(result(LATENCIES))[1]
        self.assertIn("|16|3|3.7||1.5||4.5|5|5.1|24|", page)
        self.assertIn("|1024|4.1|||1.7|1.6|||||", page)
        self.assertIn("|`membar_peer/block:64`||4|4.1|", page)
        self.assertIn("|`membar_peer_notify/thread:1`|2.4|||", page)

    def test_promises_are_held_or_missed_by_their_limits(self):
        page = report(result(LATENCIES))[1]
        self.assertIn("|put_signal at 16 B, µs|≤ 3.6|3|held|", page)
        self.assertIn("|the same from shared memory, µs|≤ 3.6|3.7|**missed**|", page)
        self.assertIn("|packed at 16 B, µs|≤ 1.5|1.5|held|", page)
        self.assertIn("|packed at 1 KiB, one piece per thread, µs|≤ 1.65|1.6|held|", page)
        self.assertIn("|packed at 1 KiB, whole message by the group, µs|≤ 1.65|1.7|**missed**|", page)
        self.assertIn("/ put_signal, 16 B|≥ 1.5|1.5|held|", page)
        self.assertIn("/ packed, 16 B|≥ 3|3|held|", page)

    def test_of_the_ratios_to_nvshmem_with_its_acquire_the_greatest_counts(self):
        page = report(result(LATENCIES))[1]
        self.assertIn("NVSHMEM with an acquire, the largest ratio of 2 cases|≤ 1.03|1.02|held|", page)
        page = report(result({**LATENCIES, "put_signal_latency/membar_nvshmem/warp:32/bytes:16": 6600.0}))[1]
        self.assertIn("NVSHMEM with an acquire, the largest ratio of 2 cases|≤ 1.03|1.1|**missed**|", page)

    def test_a_case_of_membar_alone_is_not_compared(self):
        page = report(result({**LATENCIES, "put_signal_latency/membar_nvshmem/block:64/bytes:1024": 9900.0}))[1]
        self.assertIn("NVSHMEM with an acquire, the largest ratio of 2 cases|≤ 1.03|1.02|held|", page)

    def test_what_was_not_measured_is_said_to_be_neither_held_nor_missed(self):
        page = report(result({"put_signal_latency/membar_peer/thread:1/bytes:16": 3000.0}))[1]
        self.assertIn("|packed at 16 B, µs|≤ 1.5|not measured||", page)
        self.assertIn("the largest ratio of 0 cases|≤ 1.03|not measured||", page)
        page = report(result({"put_bandwidth/membar_peer/blocks:8/threads:256/MiB:64": (1.0, 380.0)}))[1]
        self.assertIn("a put by a kernel / the copy engine, 64 MiB|≥ 0.95|not measured||", page)

    def test_large_puts_are_compared_with_the_copy_engine_by_their_best_grid(self):
        prefix = "put_bandwidth/"
        page = report(result({prefix + "membar_peer/blocks:8/threads:256/MiB:64": (1.0, 300.0),
                              prefix + "membar_peer/blocks:32/threads:512/MiB:64": (1.0, 380.0),
                              prefix + "membar_peer/blocks:32/threads:512/MiB:256": (1.0, 360.0),
                              prefix + "membar_peer_tiles/KiB:16/blocks:32/threads:512/MiB:256": (1.0, 370.0),
                              prefix + "membar_peer_on_stream/MiB:256": (1.0, 399.0),
                              prefix + "cudaMemcpyPeerAsync/MiB:64": (1.0, 400.0),
                              prefix + "cudaMemcpyPeerAsync/MiB:256": (1.0, 400.0)}))[1]
        self.assertIn("the copy engine, 64 MiB|≥ 0.95|0.95|held|", page)
        self.assertIn("the copy engine, 256 MiB|≥ 0.95|0.925|**missed**|", page)
        self.assertIn("|`membar_peer`|380|360|0.950|0.900|blocks:32/threads:512|", page)
        self.assertIn("|`membar_peer_on_stream`||399||0.998||", page)

    def test_atomics_barriers_and_domains_have_a_table_each(self):
        page = report(result({"amo_latency/membar_peer_fetch_add/own_pe": 180.0, "amo_latency/membar_peer_fetch_add/other_pe": 936.0}),
                      result({"barrier_latency/membar_peer_by_thread/threads:1": 1500.0, "barrier_latency/membar_peer_on_stream": 4000.0}),
                      result({"domain_overlap/alone": 2000.0, "domain_overlap/same_domain": 14000.0,
                              "domain_overlap/remote_domain": 6000.0}))[1]
        self.assertIn("|`membar_peer_fetch_add`|180|936|", page)
        self.assertIn("|`membar_peer_by_thread`|1.5||", page)
        self.assertIn("|`membar_peer_on_stream`||4|", page)
        self.assertIn("|same domain|14|7|", page)
        self.assertIn("|remote domain|6|3|", page)

    def test_all_reduces_are_compared_with_nccls_by_the_quicker_of_both(self):
        prefix = "all_reduce_latency/"
        page = report(result({prefix + "one_shot/gpus:2/bytes:1024": 6000.0, prefix + "two_shots/gpus:2/bytes:1024": 8000.0,
                              prefix + "nccl/gpus:2/bytes:1024": 18000.0, prefix + "two_shots/gpus:4/bytes:4096": 9000.0}))[1]
        self.assertIn("|2|1024|6|8|18|||||||3|", page)
        self.assertIn("|4|4096||9|||||||||", page)

    def test_waived_cases_are_left_out_with_their_reason(self):
        ran, page = report(result(LATENCIES, waived="no two devices with peer access to each other"))
        self.assertEqual(ran.returncode, 0)
        self.assertIn("Not measured: no two devices with peer access to each other.", page)

    def test_what_is_no_result_is_refused_in_a_sentence(self):
        assert_refused(self, SCRIPT, result({"zero_copy/a/b": 1.0}), result({"put_signal_latency/membar_peer/no_size": 1.0}),
                       result({"put_signal_latency/membar_peer/MiB:1": 1.0}), result({"put_bandwidth/membar_peer/MiB:1": 1.0}))


if __name__ == "__main__":
    unittest.main()
