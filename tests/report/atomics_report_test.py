#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests bench/atomics/report/report.py with fake results. Pass the name of a test to run only that one."""
import functools
import unittest

from written_report import assert_refused, written_report

SCRIPT = "atomics/report/report.py"
report = functools.partial(written_report, SCRIPT)


def result(bench, cases):
    """Makes a Google Benchmark file from {case: {variant: nanoseconds}}. membar's variant is the first."""
    runs = []
    for case, arms in cases.items():
        first = next(iter(arms.values()))
        runs += [{"name": f"{case}/{arm}/iterations:1/manual_time", "run_type": "iteration", "time_unit": "ns", "real_time": ns,
                  "ns": ns, "membar_ratio": first / ns, "ratio_spread": 0.01} for arm, ns in arms.items()]
    return {"context": {"gpu": "Fake GPU", "executable": f"/somewhere/{bench}", "time": "nanoseconds per operation"},
            "benchmarks": runs}


class AtomicsReport(unittest.TestCase):
    def test_the_greatest_ratio_to_cuda_counts_and_is_named_where_it_is_too_great(self):
        cases = {"latency/fetch_add/u8": {"membar": 100.0, "cuda_atomic_ref": 100.0},
                 "latency/exchange/u16": {"membar": 110.0, "cuda_atomic_ref": 100.0}}
        page = report(result("atomic_cost", cases))[1]
        self.assertIn("the largest ratio of 2 cases whose machine code differs|≤ 1.02|1.1|**missed**|", page)
        self.assertIn("|`latency/exchange/u16`|different|110|100|1.1|0.01||", page)
        self.assertNotIn("the same machine code", page)
        del cases["latency/exchange/u16"]
        page = report(result("atomic_cost", cases))[1]
        self.assertIn("the largest ratio of 1 cases whose machine code differs|≤ 1.02|1|held|", page)
        self.assertNotIn("Above", page)

    def test_a_ratio_of_one_machine_code_is_a_control_and_counts_on_both_sides_of_1(self):
        page = report(result("atomic_cost", {"latency/fetch_max/f32": {"membar": 50.0, "cuda_atomic_ref": 100.0},
                                             "latency/exchange/f32/relaxed": {"membar": 100.0, "cuda_atomic_ref": 110.0},
                                             "throughput/load/u8": {"membar": 101.0, "cuda_atomic_ref": 100.0},
                                             "latency/load/u32": {"membar": 105.0, "cuda_atomic_ref": 100.0}}))[1]
        self.assertIn("the largest ratio of 1 cases whose machine code differs|≤ 1.02|0.5|held|", page)
        self.assertIn("the same, in 3 cases with the same machine code, the ratio farthest from 1|≤ 1.02|1.1|**missed**|", page)
        self.assertIn("|`latency/load/u32`|one|105|100|1.05|0.01||", page)

    def test_a_ratio_that_may_be_within_its_limit_is_undecided_unless_another_is_surely_above(self):
        document = result("atomic_contention", {"fetch_add/u8/per_warp": {"membar": 105.0, "cuda_atomic_ref": 100.0},
                                                "fetch_max/u8/per_warp": {"membar": 104.0, "cuda_atomic_ref": 100.0}})
        for run in document["benchmarks"]:
            run["ratio_uncertainty"] = 0.04
        self.assertIn("the largest ratio of 2 cases whose machine code differs|≤ 1.02|1.05 ± 0.04|undecided|", report(document)[1])
        document["benchmarks"][-1]["ratio_uncertainty"] = 0.01
        self.assertIn("the largest ratio of 2 cases whose machine code differs|≤ 1.02|1.04 ± 0.01|**missed**|", report(document)[1])

    def test_the_control_counts_on_both_sides_of_1(self):
        page = report(result("atomic_cost", {"latency/control/load": {"membar": 100.0, "membar_again": 110.0}}))[1]
        self.assertIn("two measurements of the same kernel, the ratio farthest from 1|≤ 1.02|1.1|**missed**|", page)

    def test_promises_under_contention_are_held_or_missed_by_their_limits(self):
        page = report(result("atomic_contention", {
            "fetch_max_beside_loops/f32/relaxed/global/used/one": {"membar": 4.0, "cuda_atomic_ref": 10.0},
            "fetch_add/u8/acq_rel/global/unused/one": {"membar": 9.0, "cuda_atomic_ref": 10.0},
            "fetch_add/u16/acq_rel/global/unused/one": {"membar": 8.0, "cuda_atomic_ref": 10.0},
            "fetch_add/f16/acq_rel/global/unused/one": {"membar": 7.0, "ptx": 10.0}}))[1]
        self.assertIn("float maximum at one address / the same with `cuda::atomic_ref`|≤ 0.5|0.4|held|", page)
        self.assertIn("8-bit acq_rel addition at one address / the same with `cuda::atomic_ref`|≤ 0.8|0.9|**missed**|", page)
        self.assertIn("16-bit acq_rel addition at one address / the same with `cuda::atomic_ref`|≤ 0.8|0.8|held|", page)
        of_half = "acq_rel addition at one address / the instruction `atom.acq_rel.add.noftz"
        self.assertIn(f"f16 {of_half}.f16`|≤ 0.7|0.7|held|", page)
        self.assertIn(f"bf16 {of_half}.bf16`|≤ 0.7|not measured|", page)

    def test_the_recommended_form_is_that_of_the_pattern_and_a_better_one_is_named(self):
        cases = {"add/u32/relaxed/global/unused/one": {"membar": 10.0, "aggregated": 5.0, "intrinsic": 4.9},
                 "add/u32/relaxed/global/unused/per_lane": {"membar": 10.0, "aggregated": 20.0, "intrinsic": 9.6},
                 "fetch_add/u8/relaxed/global/unused/one": {"membar": 10.0, "other": 1.0}}
        what = "speed of the recommended form, relative to the fastest variant|≥ 0.95|"
        page = report(result("atomic_contention", cases))[1]
        self.assertIn(f"{what}0.96|held|", page)
        self.assertIn("|`add/u32/relaxed/global/unused`|2|0.5|", page)
        cases["add/u32/relaxed/global/unused/one"]["intrinsic"] = 4.0
        page = report(result("atomic_contention", cases))[1]
        self.assertIn(f"{what}0.8|**missed**|", page)
        self.assertIn("|`add/u32/relaxed/global/unused/one`|aggregated|intrinsic|5|4|0.8|", page)

    def test_a_fetch_whose_result_nobody_reads_is_no_recommendation(self):
        cases = {"add/u32/relaxed/shared": {"membar": 10.0, "intrinsic": 9.8},
                 "fetch_add/u32/relaxed/shared": {"membar": 12.0, "intrinsic": 9.8},
                 "fetch_add/u8/acq_rel/global/unused/per_lane": {"membar": 10.0, "aggregated": 9.0}}
        what = "speed of the recommended form, relative to the fastest variant|≥ 0.95|"
        self.assertIn(f"{what}0.98|held|", report(result("atomic_contention", cases))[1])
        del cases["add/u32/relaxed/shared"]
        self.assertIn(f"{what}0.817|**missed**|", report(result("atomic_contention", cases))[1])

    def test_a_fence_costs_the_slope_of_its_ladder(self):
        cases = {f"fence/device/acq_rel/idle/{n}": {"membar": 100.0 + 7 * n} for n in (1, 2, 4, 8)}
        cases.update({f"fence/device/acq_rel/after_store/{n}": {"membar": 50.0 + 9 * n} for n in (1, 2, 4, 8)})
        page = report(result("fence_cost", cases))[1]
        self.assertIn("|`fence/device/acq_rel`|membar|7|9|", page)

    def test_levels_are_listed_by_latency_and_throughput_and_a_histogram_by_bins(self):
        cases = {"levels/latency/fetch_add/shared": {"ns": 20.0, "cycles": 40.0}, "levels/latency/fetch_add/l2": {"ns": 300.0, "cycles": 600.0},
                 "levels/throughput/one_object/fetch_add/l2": {"operations_per_ns": 2.5},
                 "histogram/1_bins/direct": {"values_per_ns": 30.0}, "histogram/256_bins/direct": {"values_per_ns": 60.0}}
        runs = [{"name": f"{name}/iterations:1/manual_time", "run_type": "iteration", "time_unit": "ns", "real_time": 1.0, **figures}
                for name, figures in cases.items()]
        page = report({"context": {"gpu": "Fake GPU", "executable": "/somewhere/atomic_levels"}, "benchmarks": runs})[1]
        self.assertIn("|latency, cycles|shared|l2|", page)
        self.assertIn("|fetch add|40|600|", page)
        self.assertIn("|fetch add|one object||2.5|", page)
        self.assertIn("|direct|30|60|", page)

    def test_several_files_become_one_page_with_their_machine(self):
        arms = {"membar": 1.0, "cuda_atomic_ref": 1.0}
        page = report(result("atomic_cost", {"latency/x": arms}), result("atomic_contention", {"x/one": arms}))[1]
        self.assertIn("## atomic_cost", page)
        self.assertIn("## atomic_contention", page)
        self.assertIn("GPU Fake GPU; nanoseconds per operation.", page)

    def test_what_is_no_result_is_refused_in_a_sentence(self):
        assert_refused(self, SCRIPT, result("zero_copy", {"a/b": {"c": 1.0}}), result("atomic_cost", {}),
                       result("fence_cost", {"no ladder/at all/x": {"membar": 1.0}}))


if __name__ == "__main__":
    unittest.main()
