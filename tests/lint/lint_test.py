#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of `membar-check lint` on kernels.cu: lint_test.py MEMBAR_CHECK KERNELS.CU FOLDER"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "check"))
import sarif  # noqa: E402

command, kernels, folder = sys.argv[1:4]
PTX = pathlib.Path(folder) / "kernels.ptx"

# The rule that each kernel breaks, and the confidence of the warning. Kernels that are not listed break no rule.
WARNINGS = {
    "wrong_flag_of_thread_0": ("flag-before-barrier", "high"),
    "wrong_flags_of_first_threads": ("flag-before-barrier", "high"),
    "wrong_flag_of_all_threads": ("flag-before-barrier", "high"),
    "wrong_flag_behind_a_warp_barrier": ("flag-before-barrier", "medium"),
    "wrong_flag_beside_data_of_some": ("flag-before-barrier", "medium"),
    "wrong_flag_in_a_loop": ("flag-before-barrier", "medium"),
    "wrong_flag_of_one_block": ("flag-before-barrier", "medium"),
    "wrong_message": ("flag-before-barrier", "medium"),
    "wrong_flag_of_a_carry": ("flag-before-barrier", "medium"),
    "wrong_flag_of_several_results": ("flag-before-barrier", "high"),
    "wrong_unlock_of_a_block": ("flag-before-barrier", "high"),
    "wrong_flags_in_a_row": ("flag-before-barrier", "high"),
    "wrong_volatile_wait": ("spin-without-acquire", "high"),
    "wrong_wait_for_peer": ("spin-without-acquire", "high"),
    "wrong_fence_before_the_loop": ("spin-without-acquire", "high"),
    "wrong_wait_in_rounds": ("spin-without-acquire", "high"),
    "wrong_wait_beside_a_round": ("spin-without-acquire", "medium"),
    "wrong_wait_before_a_count": ("spin-without-acquire", "medium"),
    "wrong_wait_for_a_packet": ("spin-without-acquire", "medium"),
    "wrong_wait_before_another": ("spin-without-acquire", "medium"),
    "wrong_block_fence_after_the_loop": ("spin-without-acquire", "high"),
    "wrong_block_scope_of_the_wait": ("spin-without-acquire", "medium"),
    "wrong_block_fence_before_the_flag": ("flag-without-release", "high"),
    "wrong_block_fence_of_the_last_block": ("last-block-without-acquire", "high"),
    "wrong_plain_poll": ("spin-without-load", "high"),
    "wrong_plain_poll_of_a_count": ("spin-without-load", "high"),
    "wrong_plain_poll_of_shared_memory": ("spin-without-load", "high"),
    "wrong_plain_poll_in_rounds": ("spin-without-load", "high"),
    "wrong_plain_poll_of_two": ("spin-without-load", "high"),
    "wrong_plain_poll_at_the_end": ("spin-without-load", "medium"),
    "wrong_endless_loop_under_a_condition": ("spin-without-load", "medium"),
    "wrong_relaxed_flag": ("flag-without-release", "high"),
    "wrong_fence_after_the_flag": ("flag-without-release", "high"),
    "wrong_flag_that_is_read_by_adding_zero": ("flag-without-release", "high"),
    "wrong_wait_by_or_of_zero": ("spin-without-acquire", "high"),
    "wrong_relaxed_flag_of_a_table": ("flag-without-release", "medium"),
    "wrong_relaxed_flag_beside_a_round": ("flag-without-release", "medium"),
    "wrong_relaxed_turn_of_a_slot": ("flag-without-release", "medium"),
    "wrong_relaxed_turn_of_some_slot": ("flag-without-release", "medium"),
    "wrong_arrival_beside_a_generation": ("flag-without-release", "high"),
    "wrong_relaxed_flag_of_the_next_block": ("flag-without-release", "high"),
    "wrong_taken_place": ("flag-without-release", "medium"),
    "wrong_unlock_in_rounds": ("flag-without-release", "high"),
    "wrong_counter_in_rounds": ("flag-without-release", "high"),
    "wrong_state_by_compare_and_swap": ("flag-without-release", "high"),
    "wrong_first_of_a_count": ("flag-without-release", "high"),
    "wrong_lock_in_a_loop_of_tries": ("spin-without-acquire", "high"),
    "wrong_acquire_under_another_condition": ("spin-without-acquire", "medium"),
    "wrong_release_under_another_condition": ("flag-without-release", "high"),
    "wrong_flag_of_the_first_for_data_of_the_others": ("flag-before-barrier", "high"),
    "wrong_last_block": ("last-block-without-acquire", "high"),
    "wrong_place_in_a_list": ("last-block-without-acquire", "medium"),
    "wrong_scope_of_one_side": ("narrow-scope", "medium"),
    "wrong_copy_of_stores": ("missing-proxy-fence", "high"),
    "wrong_early_exit": ("cluster-exit", "high"),
    "wrong_relaxed_arrival": ("relaxed-cluster-arrival", "medium"),
    "wrong_read_only_load": ("read-only-load", "high"),
    "wrong_read_only_load_in_place": ("read-only-load", "medium"),
    "wrong_half_mask": ("mask-without-caller", "medium"),
    "wrong_early_write": ("pdl-write-before-wait", "high"),
    "wrong_wait_of_one_warp": ("pdl-write-before-wait", "high"),
}


# The rules for which each kernel has a note; notes are shown only on request.
NOTES = {
    "noted_flag_of_one_thread": {"flag-before-barrier"},
    "noted_early_read": {"pdl-read-before-wait"},
    "noted_early_producer": {"pdl-read-before-wait"},
    "noted_read_only_load": {"pdl-read-only-load"},
    "noted_launch_without_wait": {"pdl-launch-without-wait"},
}


# Source texts that launch kernels with the attribute for programmatic dependent launch, and source texts that launch without it.
LAUNCHERS = """#pragma once
struct configuration {
  configuration() {
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config{};
};
template <class... P>
void launch_by_configuration(void (*kernel)(P...), P... arguments) {
  configuration c;
  cudaLaunchKernelEx(&c.config, kernel, arguments...);
}
template <class... P>
void launch_dependent(void (*kernel)(P...), P... arguments) {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, arguments...);
}
template <class... P>
void launch_plain(void (*kernel)(P...), P... arguments) {
  cudaLaunchConfig_t config{};
  cudaLaunchKernelEx(&config, kernel, arguments...);  // not cudaLaunchAttributeProgrammaticStreamSerialization
}
#define LAUNCH(kernel, ...) \\
  do {                      \\
    launch_dependent(kernel, __VA_ARGS__); \\
  } while (0)
"""
LAUNCHES = """#include "launch.cuh"
#include <cstdio>
#define KERNEL(name, wait) __global__ void name(float* out) { wait; out[threadIdx.x] += 1; }
#define WAIT asm volatile("griddepcontrol.wait;" ::: "memory")
KERNEL(noted_itself, )
KERNEL(noted_by_function, )
KERNEL(noted_by_variable, )
KERNEL(noted_by_macro, )
KERNEL(noted_by_configuration, )
template <bool dependent> __global__ void right_if_asked(float* out) { if (dependent) { WAIT; } out[threadIdx.x] += 1; }
template <class T> __global__ void noted_template(T* out) { out[threadIdx.x] += 1; }
KERNEL(right_waits, WAIT)
KERNEL(right_plain, )
KERNEL(right_plain_beside, )
KERNEL(right_in_a_comment, )
KERNEL(right_in_a_string, )
namespace host {
void itself(float* out) {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  config.attrs = &attribute;
  cudaLaunchKernelEx(&config, noted_itself, out);
  right_plain_beside<<<1, 1>>>(out);
  // cudaLaunchKernelEx(&config, right_in_a_comment, out);
}
#if defined(TWO_ARGUMENTS)
void by_others(float* out, int) {
#else
void by_others(float* out) {
#endif
  launch_dependent(noted_by_function, out);
  launch_dependent<float*>(noted_template<float>, out);
  auto* const kernel = &noted_by_variable;
  launch_dependent(kernel, out);
  LAUNCH(noted_by_macro, out);
  launch_by_configuration(noted_by_configuration, out);
  launch_dependent(right_waits, out);
  launch_dependent(right_if_asked<true>, out);
  launch_dependent(right_if_asked<false>, out);
  launch_plain(right_plain, out);
  printf("launch_dependent(right_in_a_string, out)");
}
}  // namespace host
"""


def lint(*words, status=None, **environment):
    ran = subprocess.run([command, "lint", *words], capture_output=True, text=True, env={**os.environ, **environment})
    if status is not None:
        assert ran.returncode == status, (ran.returncode, ran.stdout, ran.stderr)
    return ran


def warnings(*words):
    return json.loads(lint("--format=json", *words).stdout)["warnings"]


def name_of(warning):
    return warning["kernel"].split("(")[0]


class Lint(unittest.TestCase):
    def test_every_kernel_has_the_warning_of_its_rule_and_no_other(self):
        report = json.loads(lint("--format=json", str(PTX), status=1).stdout)
        self.assertEqual({name_of(w): (w["rule"], w["confidence"]) for w in report["warnings"]}, WARNINGS)
        self.assertEqual(len(report["warnings"]), len(WARNINGS))
        self.assertEqual((report["format"], report["format_version"], report["not_read"], report["errors"]), ("membar-check lint", 1, [], []))
        self.assertEqual(report["kernels"], pathlib.Path(kernels).read_text().count("__global__"))

    def test_every_rule_has_a_kernel_that_breaks_it_and_a_section_of_the_page(self):
        listed = {line.split("\t")[0] for line in lint("--rules", status=0).stdout.splitlines()}
        self.assertEqual(listed, {"pdl-never-waits"} | {rule for rule, _ in WARNINGS.values()}.union(*NOTES.values()))
        page = (pathlib.Path(kernels).parents[2] / "docs/lint.md").read_text()
        self.assertEqual(listed, {line[4:] for line in page.splitlines() if line.startswith("### ")})

    def test_notes_are_shown_if_asked_for(self):
        noted = collections.defaultdict(set)
        for w in warnings("--show=note", str(PTX)):
            if w["confidence"] == "note":
                noted[name_of(w)].add(w["rule"])
        self.assertEqual(noted, NOTES)

    def test_a_kernel_that_does_not_wait_as_most_of_its_module_do_is_noted(self):
        wait = """asm volatile("griddepcontrol.wait;" ::: "memory");"""
        kernel = "__global__ void {}(const float* in, float* out) {{ {} out[threadIdx.x] = {}; }}\n"
        waits = [kernel.format(f"waits_{k}", wait, "in[threadIdx.x]") for k in range(2)]
        launches = kernel.format("launches", """asm volatile("griddepcontrol.launch_dependents;" ::: "memory");""", "1")
        for name, others, noted in (("two_of_three", waits, ["never"]), ("one_of_two", waits[:1], []), ("two_of_four", [*waits, launches], [])):
            source = pathlib.Path(folder) / f"{name}.cu"
            source.write_text("".join(others) + kernel.format("never", "", "in[threadIdx.x]"))
            ptx = source.with_suffix(".ptx")
            subprocess.run([*sys.argv[4:], "-ptx", "-arch=sm_90", "-o", str(ptx), str(source)], check=True)
            self.assertEqual([name_of(w) for w in warnings("--show=note", str(ptx)) if w["rule"] == "pdl-never-waits"], noted, name)

    def test_a_kernel_that_the_source_launches_as_a_dependent_and_that_never_waits_is_noted(self):
        of = pathlib.Path(folder) / "launches"
        of.mkdir(exist_ok=True)
        (of / "launch.cuh").write_text(LAUNCHERS)
        source = of / "launches.cu"
        source.write_text(LAUNCHES)
        ptx = source.with_suffix(".ptx")
        subprocess.run([*sys.argv[4:], "-ptx", "-lineinfo", "-arch=sm_90", "-o", str(ptx), str(source)], check=True)
        noted = {name_of(w) for w in warnings("--show=note", str(ptx)) if w["rule"] == "pdl-never-waits"}
        self.assertEqual(noted, {"void noted_template<float>"} | {f"noted_{how}" for how in ("itself", "by_function", "by_variable", "by_macro", "by_configuration")})
        source.write_text(LAUNCHES.replace("ProgrammaticStreamSerialization", "Priority"))
        (of / "launch.cuh").write_text(LAUNCHERS.replace("ProgrammaticStreamSerialization", "Priority"))
        self.assertEqual([w for w in warnings("--show=note", str(ptx)) if w["rule"] == "pdl-never-waits"], [])

    def test_fail_on_sets_what_is_a_failure(self):
        clean = pathlib.Path(folder) / "clean.ptx"
        source = PTX.read_text()
        begin = source.index(".visible .entry", source.index("right_list") - 200)
        clean.write_text(source[:source.index(".visible .entry")] + source[begin:source.index("\n}\n", begin) + 3])
        lint(str(clean), status=0)
        lint("--show=note", "--fail-on=note", str(PTX), status=1)
        medium = pathlib.Path(folder) / "medium.allow"
        medium.write_text("".join(f"{rule} kernels.cu  # of this file\n" for rule, sure in WARNINGS.values() if sure == "high"))
        lint(f"--allow={medium}", str(PTX), status=0)
        lint(f"--allow={medium}", "--fail-on=medium", str(PTX), status=1)

    def test_the_text_names_the_line_of_the_kernel_and_the_others(self):
        text = lint(str(PTX)).stdout
        line = next(k for k, l in enumerate(pathlib.Path(kernels).read_text().splitlines(), 1) if "flag_t(*flag).store(1, cuda::memory_order_release)" in l)
        self.assertIn(f"kernels.cu:{line} (", text)
        self.assertIn("the data that all threads write: ", text)
        self.assertRegex(text, r"\n\d+ kernels, 37 high, 24 medium, 1 allowed\n$")

    def test_a_flag_is_stored_by_a_store_and_updated_by_an_atomic(self):
        messages = {name_of(w): w["message"] for w in warnings(str(PTX)) if w["rule"] == "flag-without-release"}
        self.assertIn("the last thread to update this counter sets a flag that other threads wait for, but the counter is updated without a release: they may see", messages["wrong_arrival_beside_a_generation"])
        for kernel, text in (("wrong_relaxed_flag", "but the flag is stored without a release"),
                             ("wrong_flag_that_is_read_by_adding_zero", "but the flag is updated without a release"),
                             ("wrong_fence_after_the_flag", "; the fence after the access to the flag is too late")):
            self.assertIn(text, messages[kernel])

    def test_a_poll_without_a_load_names_both_lines_and_the_remedy(self):
        lines = pathlib.Path(kernels).read_text().splitlines()
        loop = next(k for k, line in enumerate(lines, 1) if "while (flags[k] == 0)" in line)
        found = next(w for w in warnings(str(PTX)) if name_of(w) == "wrong_plain_poll_in_rounds")
        self.assertEqual((found["line"], found["related"][0]["what"]), (loop, "the load before the loop"))
        self.assertIn("that is loaded through parameter 0 only once, before the loop", found["message"])
        self.assertIn("poll with cuda::atomic_ref<T, cuda::thread_scope_device>(*p).load(cuda::memory_order_acquire) or membar::load<", found["fix"])
        shared = next(w for w in warnings(str(PTX)) if name_of(w) == "wrong_plain_poll_of_shared_memory")
        self.assertIn("cuda::thread_scope_block", shared["fix"])

    def test_of_the_writes_to_a_lock_the_unlock_is_the_flag(self):
        found = {name_of(w): w for w in warnings(str(PTX))}
        self.assertIn(".exch.", found["wrong_unlock_in_rounds"]["opcode"])
        self.assertIn("st.release.", found["wrong_unlock_of_a_block"]["opcode"])

    def test_the_data_before_a_flag_is_what_other_blocks_read(self):
        lines = pathlib.Path(kernels).read_text().splitlines()
        found = {name_of(w): w["related"][0] for w in warnings(str(PTX)) if w["rule"] == "flag-before-barrier"}
        for kernel, line, what in (("wrong_flag_of_a_carry", "    carry[blockIdx.x] = base + in[threadIdx.x];", "the data that other threads write"),
                                   ("wrong_flag_of_several_results", "  results[threadIdx.x] = 1;", "the data that all threads write")):
            with self.subTest(kernel):
                self.assertEqual((found[kernel]["line"], found[kernel]["what"]), (lines.index(line) + 1, what))

    def test_a_fix_is_right_for_what_was_seen(self):
        found = {name_of(w): w for w in warnings("--show=note", str(PTX))}
        self.assertTrue(all(w["fix"] for w in found.values()))
        device, volatile = "cuda::atomic_ref<T, cuda::thread_scope_device>(*p).", "; use system scope if another device or the host takes part"
        acquire, release = "load(cuda::memory_order_acquire)", "store(v, cuda::memory_order_release)"
        for kernel, message, fix in (
                ("wrong_volatile_wait", "without an acquire", f"use {device}{acquire}, or execute __threadfence() after the loop{volatile}"),
                ("wrong_relaxed_flag_of_a_table", "without a release", f"use {device}{release}, or execute __threadfence() before the flag"),
                # a message of several words has no such access
                ("wrong_wait_for_a_packet", "without an acquire", f"execute __threadfence() after the loop{volatile}"),
                ("wrong_block_fence_after_the_loop", "the acquire has block scope: if another block sets the flag", f"use {device}{acquire}, or execute __threadfence() after the loop{volatile}"),
                # a fence does not widen the scope of the load
                ("wrong_block_scope_of_the_wait", "the acquire has block scope: if another block sets the flag", f"use {device}{acquire}"),
                ("wrong_block_fence_before_the_flag", "the fence before the flag has block scope", f"use {device}{release}, or execute __threadfence() before the flag{volatile}"),
                ("wrong_block_fence_of_the_last_block", "its acquire has block scope",
                 f"use {device}fetch_add(v, cuda::memory_order_acquire), or execute __threadfence() after the counter"),
                ("wrong_flag_of_thread_0", "without a barrier in between", "put __syncthreads() between the data and the flag"),
                ("noted_flag_of_one_thread", "if a block has several threads", "launch the kernel with one thread per block, or put __syncthreads() between the data and the flag")):
            with self.subTest(kernel):
                self.assertIn(message, found[kernel]["message"])
                self.assertEqual(found[kernel]["fix"], fix)
        narrow = found["wrong_block_fence_after_the_loop"]["related"][0]
        self.assertEqual(narrow["what"], "the acquire")
        self.assertIn("__threadfence_block", pathlib.Path(kernels).read_text().splitlines()[narrow["line"] - 1])

    def test_sarif_has_each_warning_with_its_line_and_what_it_is_about(self):
        document = json.loads(lint("--format=sarif", str(PTX), status=1).stdout)
        self.assertTrue(sarif.is_valid(document, pathlib.Path.cwd()), document)
        results = document["runs"][0]["results"]
        self.assertEqual(sorted((r["properties"]["kernel"].split("(")[0], r["ruleId"]) for r in results), sorted((k, rule) for k, (rule, _) in WARNINGS.items()))
        levels = {"high": "error", "medium": "warning"}
        self.assertEqual({r["properties"]["kernel"].split("(")[0]: r["level"] for r in results}, {k: levels[sure] for k, (_, sure) in WARNINGS.items()})
        flag = next(r for r in results if r["properties"]["kernel"].startswith("wrong_flag_of_thread_0"))
        at = flag["locations"][0]["physicalLocation"]
        self.assertTrue(at["artifactLocation"]["uri"].endswith("kernels.cu"))
        self.assertEqual([one["message"]["text"] for one in flag["relatedLocations"]], ["the data that all threads write"])
        broken = json.loads(lint("--format=sarif", str(self.library()), status=2).stdout)["runs"][0]
        self.assertFalse(broken["invocations"][0]["executionSuccessful"])
        self.assertEqual(broken["results"], [])

    @staticmethod
    def library():
        other = pathlib.Path(folder) / "no_cuda.so"
        other.write_bytes(b"\x7fELF" + bytes(100) + b"\x7fELF")
        return other

    def test_any_number_of_jobs_reports_the_same(self):
        files = []
        for number in range(7):
            files.append(pathlib.Path(folder) / f"part_{number}.ptx")
            files[-1].write_text(PTX.read_text())
        words = ["--format=json", *map(str, files)]
        alone = lint("--jobs=1", *words, status=1).stdout
        self.assertEqual(lint("--jobs=5", *words, status=1).stdout, alone)
        self.assertIn("--jobs", lint("--jobs=0", *words, status=2).stderr)

    def test_a_file_that_cannot_be_read_is_said_and_the_others_are_linted(self):
        ran = lint(str(self.library()), str(PTX), status=2)
        self.assertIn("no_cuda.so: the file contains no device code: name PTX", ran.stderr)
        self.assertIn("flag-before-barrier", ran.stdout)
        self.assertIn("nothing.ptx: the file does not exist", lint("nothing.ptx", status=2).stderr)
        self.assertIn("lint needs files or folders", lint(status=2).stderr)
        wrong = pathlib.Path(folder) / "wrong.allow"
        wrong.write_text("no-such-rule kernel\n")
        self.assertIn("wrong.allow:1: 'no-such-rule' is not a rule", lint(f"--allow={wrong}", str(PTX), status=2).stderr)
        wrong.write_text("\nflag-before-barrier  # all\n")
        self.assertIn("wrong.allow:2: 'flag-before-barrier  # all' would suppress too much", lint(f"--allow={wrong}", str(PTX), status=2).stderr)

    def test_a_line_of_an_allow_file_matches_a_place_exactly(self):
        one = next(w for w in warnings(str(PTX)) if w["rule"] == "flag-before-barrier")
        place, allow = f"{pathlib.Path(one['source']).name}:{one['line']}", pathlib.Path(folder) / "place.allow"
        allow.write_text(f"{one['rule']} {place} {one['kernel'].split('(')[0]}\n{one['rule']} {place[:-1]}\n{one['rule']} {place} no_such_kernel\n")
        ran = lint(f"--allow={allow}", "--format=json", str(PTX), status=1)
        left = json.loads(ran.stdout)["warnings"]
        self.assertEqual(len(left), len(warnings(str(PTX))) - 1)
        self.assertNotIn((one["rule"], one["line"]), {(w["rule"], w["line"]) for w in left})
        self.assertEqual(re.findall(r"place\.allow:(\d) suppresses nothing", ran.stderr), ["2", "3"])

    def test_the_text_has_short_paths_inside_the_working_folder(self):
        short = subprocess.run([str(pathlib.Path(command).resolve()), "lint", str(PTX.resolve())], capture_output=True, text=True, cwd=pathlib.Path(kernels).parents[1]).stdout
        self.assertRegex(short, r"(?m)^lint/kernels\.cu:\d+ ")
        self.assertRegex(short, r"(?m)^  the data that all threads write: lint/kernels\.cu:\d+: ")
        self.assertNotIn(str(pathlib.Path(kernels).parent), short)
        outside = subprocess.run([str(pathlib.Path(command).resolve()), "lint", str(PTX.resolve())], capture_output=True, text=True, cwd="/").stdout
        self.assertIn(f"{str(pathlib.Path(kernels).resolve())[1:]}:", outside)

    def test_templates_without_an_instance_are_mentioned(self):
        of = pathlib.Path(folder) / "templates"
        of.mkdir(exist_ok=True)
        template = of / "template.cu"
        template.write_text("template <int N> __global__ void fill(int* p) { p[threadIdx.x] = N; }\n")
        (of / "host.cu").write_text("__device__ int one() { return 1; }\n")
        advice = "instantiate each kernel template that is to be linted with a line like 'template __global__ void f<32>(int*);'\n"
        text = lint(str(template), status=0, CUDACXX=sys.argv[4]).stdout
        self.assertEqual(text, f"0 kernels, no warning\n{template} has __global__ functions, but its PTX has no kernel: {advice}")
        report = json.loads(lint("--format=json", str(of), status=0, CUDACXX=sys.argv[4]).stdout)
        self.assertEqual([one["file"] for one in report["without_kernels"]], [str(template)])
        document = json.loads(lint("--format=sarif", str(of), status=0, CUDACXX=sys.argv[4]).stdout)
        notes = document["runs"][0]["invocations"][0]["toolExecutionNotifications"]
        self.assertEqual([one["level"] for one in notes], ["warning"])
        self.assertTrue(sarif.is_valid(document, pathlib.Path.cwd()), document)
        (of / "second.cu").write_text(template.read_text())
        self.assertIn(f"\n2 sources have __global__ functions, but their PTX has no kernel; the first is {of}/second.cu: instantiate ",
                      lint(str(of / "second.cu"), str(template), status=0, CUDACXX=sys.argv[4]).stdout)
        (of / "second.cu").write_text(template.read_text() + "template __global__ void fill<32>(int*);\n")
        self.assertEqual(lint(str(of / "second.cu"), status=0, CUDACXX=sys.argv[4]).stdout, "1 kernel, no warning\n")
        (of / "second.cu").unlink()

    def test_folders_of_headers_and_macros_are_passed_to_nvcc(self):
        of = pathlib.Path(folder) / "with_headers"
        (of / "include").mkdir(parents=True, exist_ok=True)
        (of / "include/part.cuh").write_text("__global__ void fill(int* p) { p[threadIdx.x] = N; }\n#ifdef SECOND\n__global__ void second() {}\n#endif\n")
        source = of / "main.cu"
        source.write_text("#include <part.cuh>\n")
        nvcc = sys.argv[4]
        self.assertIn("nvcc failed to compile", lint(str(source), "-DN=1", status=2, CUDACXX=nvcc).stderr)
        for options, found in ((("-DN=1", f"-I{of}/include"), "1 kernel,"), (("-I", f"{of}/include", "-D", "N=1", "-DSECOND"), "2 kernels,")):
            self.assertIn(found, lint(*options, str(source), status=0, CUDACXX=nvcc).stdout)
        self.assertIn("2 kernels,", lint(str(of), "-DN=1", "-DSECOND", f"-I{of}/include", status=0, CUDACXX=nvcc).stdout)
        self.assertEqual(lint(str(PTX), "-Iinclude", status=2).stderr,
                         "membar-check: '-Iinclude' is an option for compiling CUDA C++, but no .cu file was given: leave the option out\n")

    def test_a_scenario_is_not_linted_but_checked(self):
        for name in ("one.scenario", "two.litmus"):
            file = pathlib.Path(folder) / name
            file.write_text("source k.cu\n")
            self.assertIn(f"{file}: this is a {name[4:]}", lint(str(file), status=2).stderr.replace("litmus test", "litmus"))
            self.assertIn(f"'membar-check {file}' checks it", lint(str(file), status=2).stderr)

    def test_the_progress_line_is_a_sentence(self):
        nvcc = pathlib.Path(folder) / "slow_nvcc"
        nvcc.write_text("#!/bin/sh\nsleep 3\nexit 1\n")
        nvcc.chmod(0o755)
        sources = [str(pathlib.Path(folder) / f"slow_{k}.cu") for k in range(2)]
        for source in sources:
            pathlib.Path(source).write_text("")
        self.assertIn(f"membar-check: {sources[0][-60:]} is being linted, 2 s so far", lint(sources[0], status=2, CUDACXX=str(nvcc)).stderr.replace(sources[0], sources[0][-60:]))
        self.assertIn("membar-check: 2 inputs are being linted, 2 s so far", lint(*sources, status=2, CUDACXX=str(nvcc)).stderr)

    def test_of_several_warnings_without_lines_the_surest_is_shown(self):
        source = pathlib.Path(folder) / "two_flags.cu"
        source.write_text("""__global__ void two_flags(int* flags, float* data, int n) {
  if (threadIdx.x < n) { data[threadIdx.x] = 1; }
  if (threadIdx.x == 0) { asm volatile("st.release.gpu.s32 [%0], 1;" :: "l"(flags) : "memory"); }
  __syncthreads();
  data[threadIdx.x] = 2;
  if (threadIdx.x == 0) { asm volatile("st.release.gpu.s32 [%0], 1;" :: "l"(flags + 1) : "memory"); }
}
""")
        ptx = source.with_suffix(".ptx")
        subprocess.run([*sys.argv[4:], "-ptx", "-arch=sm_90", "-o", str(ptx), str(source)], check=True)
        self.assertEqual([(w["confidence"], w["instances"]) for w in warnings(str(ptx))], [("high", 1)])

    def test_several_copies_of_a_line_in_one_kernel_are_one_instance(self):
        self.assertEqual([(w["kernel"], w["instances"]) for w in warnings("--show=note", str(PTX)) if w["instances"] != 1], [])

    def test_the_folder_of_a_recording_is_linted(self):
        recording = pathlib.Path(kernels).parents[1] / "record/recordings"
        report = json.loads(lint("--format=json", str(recording)).stdout)
        self.assertEqual(report["kernels"], sum(path.read_text().count(".entry ") for path in recording.glob("*.ptx")))

    def test_a_folder_stands_for_the_files_in_it(self):
        inner = pathlib.Path(folder) / "tree" / "inner"
        inner.mkdir(parents=True, exist_ok=True)
        (inner / "kernels.ptx").write_text(PTX.read_text())
        self.assertEqual(len(warnings(str(inner.parent))), len(WARNINGS))


def built(name, *options, architecture="-arch=sm_90", lines="-lineinfo", of=None):
    """Makes a file of a given kind, with SASS and PTX for sm_90, from the kernels with nvcc or from nvcc's output."""
    to = pathlib.Path(folder) / "built" / name
    to.parent.mkdir(exist_ok=True)
    if to not in BUILT:
        subprocess.run([*sys.argv[4:], architecture, *filter(None, [lines]), "-o", str(to), *options, of or kernels], check=True)
        BUILT.add(to)
    return to


BUILT = set()


def without_lines():
    """Returns the kernels' PTX without source lines. nvcc compiles this PTX in the same way as the source, but without reading the headers
    again."""
    return built("bare.ptx", "-ptx", lines="")


def kernels_object():
    return built("kernels.o", "-c", "-Xcompiler=-fPIC")


def kernels_library():
    return built("libkernels.so", "-shared", "-cudart=none", of=kernels_object())


def wheel(name, members, **how):
    to = pathlib.Path(folder) / name
    with zipfile.ZipFile(to, "w", **how) as archive:
        for member, file in members.items():
            archive.writestr(member, file if isinstance(file, bytes) else file.read_bytes())
    return to


class Binaries(unittest.TestCase):
    """Tests PTX in fatbins, objects, libraries and wheels."""

    @classmethod
    def setUpClass(cls):
        cls.plain = {(name_of(w), w["rule"], w["confidence"], w["line"]) for w in warnings(str(PTX))}

    def require_the_same(self, file, holder=None):
        found = warnings(str(file))
        self.assertEqual({(name_of(w), w["rule"], w["confidence"], w["line"]) for w in found}, self.plain)
        self.assertEqual({(w["file"], w["ptx"]) for w in found}, {(str(holder or file), 1)})

    def test_fatbins_objects_archives_and_libraries_give_the_warnings_of_their_ptx(self):
        self.require_the_same(built("kernels.fatbin", "-fatbin", of=PTX))
        self.require_the_same(kernels_object())
        self.require_the_same(built("kernels.a", "-lib", of=kernels_object()))
        self.require_the_same(kernels_library())

    def test_every_compression_of_nvcc_is_read(self):
        for mode in ("none", "speed", "balance", "size"):
            self.require_the_same(built(f"{mode}.fatbin", "-fatbin", f"--compress-mode={mode}", of=PTX))

    def test_the_library_of_a_wheel_is_read_and_its_other_files_are_not(self):
        library = kernels_library()
        members = {"package/__init__.py": b"pass\n", "package/libkernels.so.1": library, "package/libhost.so": b"\x7fELF" + bytes(60)}
        for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            file = wheel(f"package_{compression}.whl", members, compression=compression)
            self.require_the_same(file, f"{file}/package/libkernels.so.1")
        # more members than the directory's short form can count
        many = wheel("many.whl", {**members, **{f"package/{k}.py": b"" for k in range(65536)}})
        self.require_the_same(many, f"{many}/package/libkernels.so.1")
        self.assertIn("package.whl/package/kernels.ptx", warnings(str(wheel("package.whl", {"package/kernels.ptx": PTX})))[0]["file"])

    def test_a_damaged_or_foreign_wheel_is_named(self):
        good = wheel("good.whl", {"kernels.ptx": PTX}, compression=zipfile.ZIP_DEFLATED).read_bytes()
        at = good.index(b"kernels.ptx")
        damaged = pathlib.Path(folder) / "damaged.whl"
        flipped = good[:at + 200] + bytes(b ^ 0x55 for b in good[at + 200:at + 400]) + good[at + 400:]
        for bad in (good[:100], flipped, good[:-100]):
            damaged.write_bytes(bad)
            self.assertIn("damaged.whl: the archive is damaged: copy or download it again", lint(str(damaged), status=2).stderr)
        foreign = wheel("foreign.whl", {"kernels.ptx": PTX}, compression=zipfile.ZIP_LZMA)
        self.assertIn("'kernels.ptx' is encrypted or packed in an unknown way", lint(str(foreign), status=2).stderr)
        self.assertIn("the file contains no device code", lint(str(wheel("host.whl", {"a.py": b""})), status=2).stderr)

    def test_images_of_machine_code_only_are_counted_with_the_remedy(self):
        only = built("only.cubin", "-cubin", lines="", of=without_lines())
        none = {"NVDISASM": str(pathlib.Path(folder) / "there_is_none")}
        self.assertIn("the file has only machine code: compile with -gencode=", lint(str(only), status=2, **none).stderr)
        both = wheel("both.whl", {"a.cubin": only, "b.cubin": only, "c.ptx": PTX})
        text = lint(str(both), status=1, **none).stdout
        self.assertIn(f"\n2 images have only machine code, the first in {both}/a.cubin; they were not linted (to check programmatic dependent launches in them, install nvdisasm, ", text)
        self.assertIn(": compile with -gencode=", text)
        report = json.loads(lint("--format=json", str(both), status=1, **none).stdout)
        self.assertEqual(report["machine_code_only"], [{"file": f"{both}/{name}.cubin", "images": 1} for name in "ab"])
        self.assertEqual(report["machine_code_kernels"], 0)

    def test_a_cubin_with_lines_or_for_the_debugger_has_its_ptx(self):
        found = warnings(str(built("lines.cubin", "-cubin", of=PTX)))
        # The PTX of a cubin has no line numbers. Unless the loop has an exit, the confidence of this rule depends on them.
        known = {(name, rule, "medium" if rule == "spin-without-load" and name != "wrong_plain_poll_of_two" else sure) for name, rule, sure, _ in self.plain}
        self.assertEqual({(name_of(w), w["rule"], w["confidence"]) for w in found} - {("allowed_early_write", "pdl-write-before-wait", "high")}, known)
        report = json.loads(lint("--format=json", str(built("debug.cubin", "-cubin", "-G", lines=""))).stdout)
        self.assertEqual((report["kernels"], report["errors"]), (pathlib.Path(kernels).read_text().count("__global__"), []))

    def test_the_ptx_of_every_architecture_is_read_and_a_warning_of_several_is_one(self):
        file = built("two.fatbin", "-fatbin", "-gencode=arch=compute_100,code=compute_100", architecture="-gencode=arch=compute_90,code=compute_90")
        report = json.loads(lint("--format=json", str(file), status=1).stdout)
        self.assertEqual(report["kernels"], 2 * pathlib.Path(kernels).read_text().count("__global__"))
        # For sm_100, nvcc removes the loops on which this rule reports.
        both = {(name, 1 if rule == "spin-without-load" else 2) for name, rule, *_ in self.plain}
        self.assertEqual({(name_of(w), w["instances"]) for w in report["warnings"]}, both)

    def test_a_folder_has_binaries_and_a_link_counts_once(self):
        tree = pathlib.Path(folder) / "binaries"
        tree.mkdir(exist_ok=True)
        (tree / "libkernels.so.1").write_bytes(kernels_library().read_bytes())
        (tree / "libhost.so").write_bytes(b"\x7fELF" + bytes(60))
        if not (tree / "libkernels.so").exists():
            (tree / "libkernels.so").symlink_to("libkernels.so.1")
        self.assertEqual(len(warnings(str(tree))), len(self.plain))
        self.assertEqual(json.loads(lint("--format=json", str(tree)).stdout)["kernels"], pathlib.Path(kernels).read_text().count("__global__"))

    def test_a_line_of_ptx_without_a_source_is_named_by_the_number_of_the_ptx(self):
        bare = built("bare.fatbin", "-fatbin", lines="", of=without_lines())
        self.assertRegex(lint(str(bare), status=1).stdout, r"(?m)^bare.fatbin \(PTX 1\):\d+: st.release.gpu")

    def test_bytes_that_only_look_like_an_image_are_passed_over(self):
        fatbin = built("kernels.fatbin", "-fatbin", of=PTX).read_bytes()
        around = pathlib.Path(folder) / "around.bin"
        looks = [fatbin[:4], fatbin[:16] + b"\xff" * 80, b"\x7fELF" + b"\xff" * 14 + b"\xbe\0" + b"\xff" * 60]
        around.write_bytes(b"".join(looks) + fatbin + b"".join(looks) + fatbin[:200])
        self.require_the_same(around)


# The report on each kernel in machine_code.cu, and how the kernel accesses the memory. There is no report on the other kernels.
MACHINE_CODE = {
    "early_write": ("pdl-write-before-wait", "medium", "through parameter 0:"),
    "early_atomic": ("pdl-write-before-wait", "medium", "through parameter 0:"),
    "write_of_other_warps": ("pdl-write-before-wait", "medium", "through parameter 0:"),
    "early_tensor_store": ("pdl-write-before-wait", "medium", "through the tensor map in parameter 1:"),
    "early_bulk_store": ("pdl-write-before-wait", "medium", "through parameter 0:"),
    "early_read_of_a_structure": ("pdl-read-before-wait", "note", "through parameter 0 at byte 16:"),
    "early_read_of_a_table": ("pdl-read-before-wait", "note", "through parameter 0, through memory that parameter 0 points to:"),
    "early_bulk_copy": ("pdl-read-before-wait", "note", "through parameter 1:"),
    "early_tensor_copy": ("pdl-read-before-wait", "note", "through the tensor map in parameter 2:"),
    "launch_without_wait": ("pdl-launch-without-wait", "note", ""),
    "never_waits": ("pdl-never-waits", "note", ""),
}


def has_nvdisasm():
    return shutil.which(os.environ.get("NVDISASM", "nvdisasm")) is not None or os.access("/usr/local/cuda/bin/nvdisasm", os.X_OK)


@unittest.skipUnless(has_nvdisasm(), "no nvdisasm found")
class MachineCode(unittest.TestCase):
    """Tests dependent launches in binaries without PTX."""

    source = pathlib.Path(kernels).with_name("machine_code.cu")

    def built(self, name, *options, architecture):
        return built(name, *options, architecture=architecture, lines="", of=str(self.source))

    def require_the_findings(self, file):
        report = json.loads(lint("--format=json", "--show=note", str(file), status=0).stdout)
        found = {name_of(w): w for w in report["warnings"]}
        self.assertEqual({name: (w["rule"], w["confidence"]) for name, w in found.items()}, {name: wanted[:2] for name, wanted in MACHINE_CODE.items()})
        self.assertEqual(len(report["warnings"]), len(MACHINE_CODE))
        for name, (_, _, through) in MACHINE_CODE.items():
            self.assertIn(through, found[name]["message"])
            self.assertIn("found in machine code, which is less precise than PTX", found[name]["message"])
            self.assertTrue(found[name]["machine_code"])
        self.assertEqual((report["kernels"], report["machine_code_kernels"]), (0, self.source.read_text().count("__global__")))
        self.assertEqual((report["errors"], report["not_read"]), ([], []))

    def test_early_accesses_are_found_in_cubins_of_hopper_and_blackwell(self):
        for architecture in ("sm_90", "sm_90a", "sm_100a", "sm_120"):
            with self.subTest(architecture):
                self.require_the_findings(self.built(f"machine_{architecture}.cubin", "-cubin", architecture=f"-arch={architecture}"))

    def test_they_are_found_in_fatbins_and_libraries_without_ptx(self):
        only = "-gencode=arch=compute_90a,code=sm_90a"
        for mode in ("none", "speed", "balance", "size"):
            self.require_the_findings(self.built(f"machine_{mode}.fatbin", "-fatbin", f"--compress-mode={mode}", architecture=only))
        self.require_the_findings(self.built("machine.o", "-c", architecture=only))

    def test_ptx_comes_before_machine_code(self):
        both = self.built("machine_both.fatbin", "-fatbin", architecture="-gencode=arch=compute_90a,code=[sm_90a,compute_90a]")
        report = json.loads(lint("--format=json", "--show=note", str(both), status=1).stdout)
        self.assertEqual((report["kernels"], report["machine_code_kernels"], report["machine_code_only"]), (self.source.read_text().count("__global__"), 0, []))
        self.assertFalse(any(w["machine_code"] for w in report["warnings"]))

    def test_the_text_has_the_place_in_the_code_and_says_what_was_not_looked_at(self):
        text = lint("--show=note", str(self.built("machine_sm_90a.cubin", "-cubin", architecture="-arch=sm_90a")), status=0).stdout
        self.assertRegex(text, r"(?m)^machine_sm_90a.cubin \(machine code 1\) at 0x[0-9a-f]+: STG\.E ")
        self.assertIn("only programmatic dependent launch was checked in them, in ", text)

    def test_code_of_earlier_architectures_and_without_dependents_is_not_listed(self):
        failing = {"NVDISASM": "/bin/false"}
        plain = pathlib.Path(folder) / "plain.cu"
        plain.write_text("__global__ void plain(int* p) { *p = 1; }\n")
        for architecture in ("sm_80", "sm_90"):
            cubin = built(f"plain_{architecture}.cubin", "-cubin", architecture=f"-arch={architecture}", lines="", of=str(plain))
            self.assertIn("in 0 kernels", lint(str(cubin), status=0, **failing).stdout)
        ours = self.built("machine_sm_90a.cubin", "-cubin", architecture="-arch=sm_90a")
        self.assertIn("nvdisasm cannot list the machine code", lint(str(ours), status=2, **failing).stderr)

    def test_sarif_says_that_it_is_machine_code(self):
        cubin = self.built("machine_sm_90a.cubin", "-cubin", architecture="-arch=sm_90a")
        document = json.loads(lint("--format=sarif", "--show=note", str(cubin), status=0).stdout)
        self.assertTrue(sarif.is_valid(document, pathlib.Path.cwd()), document)
        results = document["runs"][0]["results"]
        self.assertEqual(len(results), len(MACHINE_CODE))
        self.assertTrue(all(r["properties"]["machineCode"] for r in results))


if __name__ == "__main__":
    os.makedirs(folder, exist_ok=True)
    subprocess.run([*sys.argv[4:], "-ptx", "-arch=sm_90", "-lineinfo", "-o", str(PTX), kernels], check=True)
    unittest.main(argv=sys.argv[:1])
