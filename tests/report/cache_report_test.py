#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests bench/caches/report/report.py with fake results. Pass the name of a test to run only that one."""
import functools
import unittest

from written_report import assert_refused, written_report

SCRIPT = "caches/report/report.py"
report = functools.partial(written_report, SCRIPT)


def result(cases, label="", aggregates=True, repetitions=True):
    """Makes a Google Benchmark file. Each case has three repetitions, at the given time and 10 % to either side, and their
    aggregates. The aggregates have a different time, so a test can tell whether the script reads repetitions or aggregates. As in real
    files, cases appear in the order in which they ended; here, this is the reverse order."""
    runs = []
    for family, (name, figures) in enumerate(cases.items()):
        run_name = f"{name}/iterations:1/repeats:3/manual_time"
        common = {"run_name": run_name, "family_index": family, "repetitions": 3, "time_unit": "us", **figures}
        if label:
            common["label"] = label
        real_time = figures.get("real_time", 0.0)
        mine = []
        if repetitions:
            mine += [{**common, "name": run_name, "run_type": "iteration", "real_time": real_time * factor * (5 if aggregates else 1)}
                     for factor in (1.1, 0.9, 1.0)]
        if aggregates:
            mine += [{**common, "name": f"{run_name}_{which}", "run_type": "aggregate", "aggregate_name": which, "real_time": value}
                     for which, value in (("mean", 1e9), ("median", real_time), ("stddev", 1e7), ("cv", 0.1))]
        runs = mine + runs
    return {"context": {"gpu": "Fake GPU", "driver": "1.2"}, "benchmarks": runs}


class CacheReport(unittest.TestCase):
    def test_the_tuned_window_is_compared_with_the_best_of_the_sweep(self):
        prefix = "l2_window/region_0.5/"
        _, page = report(result({prefix + "none": {"real_time": 200.0, "region_MB": 20.0}, prefix + "tuned": {"real_time": 125.0},
                                 prefix + "sweep_size_1.00_ratio_1.000": {"real_time": 100.0}}))
        self.assertIn("|0.5|20|nan|nan|nan|nan|nan|1.6|2|0.8|", page)
        self.assertIn("GPU Fake GPU, driver 1.2; medians of 3 repetitions.", page)

    def test_the_medians_of_a_file_count_and_those_of_its_repetitions_where_it_has_none(self):
        cases = {"l2_window/region_0.5/none": {"real_time": 200.0, "region_MB": 20.0}, "l2_window/region_0.5/tuned": {"real_time": 125.0}}
        pages = [report(result(cases, aggregates=aggregates, repetitions=repetitions))[1]
                 for aggregates, repetitions in ((True, True), (True, False), (False, True))]
        self.assertIn("|0.5|20|nan|nan|nan|nan|nan|1.6|1|1.6|", pages[0])
        self.assertIn("medians of 3 repetitions", pages[0])
        self.assertEqual(pages[0], pages[1])
        self.assertEqual(pages[0], pages[2])

    def test_the_return_to_normal_is_listed_by_kernels_in_between(self):
        cases = {"l2_window/region_0.5/none": {"real_time": 1.0}}
        for flushes, window in ((0, 10.0), (16, 40.0)):
            cases[f"l2_window/return_to_normal/{flushes}_flushes/window"] = {"real_time": window}
            cases[f"l2_window/return_to_normal/{flushes}_flushes/none"] = {"real_time": 50.0}
        self.assertIn("|0|50|10|\n|16|50|40|", report(result(cases))[1])

    def test_cycles_are_listed_by_number_of_addresses_stride_and_size(self):
        cases = {f"constant_broadcast/{k:02}_addresses/stride_1/2_KiB/constant": {"real_time": 1.0, "cycles_per_access": 8.0 * k}
                 for k in range(1, 33)}
        for k in (1, 2, 32):
            cases[f"constant_broadcast/{k:02}_addresses/stride_1/2_KiB/constant_16_at_once"] = {"real_time": 1.0, "cycles_per_access": 200.0}
            cases[f"constant_broadcast/{k:02}_addresses/stride_1/64_KiB/constant"] = {"real_time": 1.0, "cycles_per_access": 90.0 + k}
        page = report(result(cases))[1]
        self.assertIn("|different addresses per warp (2 KiB table): each access depends on the previous one|constant, 4 bytes apart|", page)
        self.assertIn("|1|8|", page)
        self.assertIn("|32|256|", page)
        self.assertIn("|different addresses per warp (2 KiB table): 16 accesses at once|constant, 4 bytes apart|", page)
        self.assertIn("|32|200|", page)
        self.assertIn("|table, KiB; addresses, 4 bytes apart|2|64|", page)
        self.assertIn("|constant, 32|256|122|", page)

    def test_a_ladder_lists_latency_and_bandwidth_by_footprint(self):
        cases = {f"memory_ladder/latency/global/{size}": {"real_time": 1.0, "cycles": 30.0 + size, "ns": 15.0} for size in (4, 256)}
        cases["memory_ladder/latency/local/0.250"] = {"real_time": 1.0, "cycles": 33.0, "ns": 16.0}
        cases["memory_ladder/bandwidth/shared/16"] = {"real_time": 1.0, "GB_per_s": 31000.0}
        for kind in ("l2", "global"):
            cases[f"memory_ladder/stride/{kind}/4"] = {"real_time": 1.0, "useful_GB_per_s": 3000.0}
        for kind in ("in_turn", "16_at_once"):
            cases[f"memory_ladder/bank_conflict/{kind}/32"] = {"real_time": 1.0, "cycles": 64.0, "ns": 32.0}
        page = report(result(cases))[1]
        self.assertIn("|cycles by footprint in KiB|0.25|4|256|", page)
        self.assertIn("|local|33|||", page)
        self.assertIn("|global||34|286|", page)
        self.assertIn("|shared|31000|", page)
        self.assertIn("|in turn|64|", page)

    def test_an_idle_set_aside_is_listed_beside_none(self):
        cases = {f"set_aside/reread/40_MiB/{state}": {"real_time": 1.0, "GB_per_s": rate}
                 for state, rate in (("nothing_aside", 4000.0), ("aside_idle", 3900.0), ("aside_full", 2000.0))}
        for share, none, window in ((0, 50.0, 50.0), (1, 90.0, 70.0)):
            cases[f"set_aside/changes_a_stream/region_0.50/aside_{share}.000/none"] = {"real_time": none}
            cases[f"set_aside/changes_a_stream/region_0.50/aside_{share}.000/window"] = {"real_time": window}
            cases[f"set_aside/copies/aside_{share}.000"] = {"real_time": 1.0, "GB_per_s": 4000.0 - 1000 * share}
        page = report(result(cases))[1]
        self.assertIn("|aside idle|3.9|", page)
        self.assertIn("|changes|0.5|none|50|90|\n|changes|0.5|window|50|70|", page)
        self.assertIn("|GB/s|4000|3000|", page)

    def test_spills_are_listed_beside_occupancy(self):
        cases = {f"register_spill/{blocks}_blocks_per_sm/loads": {"real_time": 100.0 + blocks, "registers": 128.0 / blocks,
                                                                  "local_bytes": 8.0 * blocks, "threads_per_sm": 256.0 * blocks}
                 for blocks in (1, 4)}
        self.assertIn("|loads|4|32|32|1024|104|", report(result(cases))[1])

    def test_three_windows_and_a_polynomial_have_tables(self):
        window = {"l2_window/three_streams/at_once/planned": {"real_time": 70.0}, "l2_window/region_0.5/none": {"real_time": 1.0}}
        polynomial = {"read_only_load/fits_l2/polynomial/restrict": {"real_time": 1.0, "GB_per_s": 2500.0, "registers": 32.0},
                      "read_only_load/fits_l1/gather/plain": {"real_time": 1.0, "GB_per_s": 100.0}}
        page = report(result(window), result(polynomial))[1]
        self.assertIn("|planned|70|", page)
        self.assertIn("|restrict|32|2500|", page)

    def test_the_break_even_of_zero_copy_is_said(self):
        cases = {}
        for passes in (1, 2, 4):
            cases[f"zero_copy/{passes}_passes/mapped"] = {"real_time": 100.0 * passes}
            cases[f"zero_copy/{passes}_passes/copy_from_pinned"] = {"real_time": 150.0 + passes}
            cases[f"zero_copy/{passes}_passes/copy_from_pageable"] = {"real_time": 900.0}
        page = report(result(cases))[1]
        self.assertIn("`copy_from_pinned` is faster than `mapped` with 2 passes or more.", page)
        self.assertIn("`copy_from_pageable` is not faster than `mapped` with any number of passes that was measured.", page)

    def test_bandwidths_are_listed_by_data_and_arm(self):
        cases = {f"read_only_load/fits_l1/gather/{arm}": {"real_time": 1.0, "GB_per_s": value}
                 for arm, value in (("plain", 100.0), ("read_only", 125.0))}
        hints = {"cache_hint_stream/copy/plain": {"real_time": 1.0, "GB_per_s": 3000.0, "table_after_us": 30.0,
                                                  "table_warm_us": 10.0}}
        page = report(result(cases), result(hints))[1]
        self.assertIn("|fits l1, gather|100|125|", page)
        self.assertIn("|plain|3000|30|10|", page)

    def test_arms_stand_in_the_order_of_the_bench(self):
        page = report(result({f"read_only_load/fits_l1/gather/{arm}": {"real_time": 1.0, "GB_per_s": 100.0}
                              for arm in ("plain", "cg", "ca")}))[1]
        self.assertIn("|data|plain|cg|ca|", page)

    def test_a_waived_bench_says_why(self):
        ran, page = report(result({"zero_copy/1_passes/mapped": {}}, label="waived: no CUDA device", aggregates=False))
        self.assertEqual(ran.returncode, 0)
        self.assertIn("Not measured: no CUDA device.", page)

    def test_what_is_no_result_is_refused_in_a_sentence(self):
        assert_refused(self, SCRIPT, result({"fence_interference/x": {"real_time": 1.0}}))


if __name__ == "__main__":
    unittest.main()
