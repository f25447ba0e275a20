#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests membar.record, membar.check and pytest --membar, in processes that use a fake driver without a device.

usage: python_test.py <membar-check> <folder of the fake driver> <fake XLA>
"""

import importlib.util
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import textwrap
import unittest

CHECK, DRIVER, XLA = (pathlib.Path(word) for word in sys.argv[1:4])
FOLDER = pathlib.Path(__file__).resolve().parent
PACKAGE = FOLDER.parent.parent / "tools" / "python"

# A program that calls the driver's functions and loads the module of these tests.
LAUNCHES = f"""
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
driver.cuInit(0)
image = ctypes.create_string_buffer(open({str(FOLDER / "module.ptx")!r}, "rb").read())
module, data = ctypes.c_void_p(), ctypes.c_uint64()
driver.cuModuleLoadData(ctypes.byref(module), image)
driver.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(64))
def store(word):
    driver.cuMemcpyHtoD_v2(data, ctypes.byref(ctypes.c_uint64(word)), ctypes.c_size_t(8))
def launch(name, stream=1, threads=2, blocks=1):
    function = ctypes.c_void_p()
    driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
    parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(data), ctypes.c_void_p))
    driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, ctypes.c_void_p(0x1000 * stream), parameters, None)
"""


class Python(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.environment = dict(os.environ, LD_LIBRARY_PATH=str(DRIVER), PYTHONPATH=str(PACKAGE), PYTHONDONTWRITEBYTECODE="1",
                                MEMBAR_CHECK=str(CHECK), TMPDIR=str(self.folder))

    def run_python(self, *words, timeout=120):
        return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=self.environment, timeout=timeout, cwd=self.folder)

    def script(self, text, name="script.py"):
        (self.folder / name).write_text(LAUNCHES + "import membar\n" + textwrap.dedent(text))
        return name

    def recorded(self, text):
        done = self.run_python("-m", "membar", "run", self.script(text))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_a_block_is_recorded(self):
        said = self.recorded("""
            launch("late", threads=1)
            with membar.record() as recorded:
                launch("late", threads=3)
                launch("small")
            launch("late", threads=4)
            print([path.name for path in recorded.scenarios], "block 3" in recorded.scenarios[0].read_text())
            with membar.record("small") as recorded:
                launch("late")
                launch("small", threads=1)
            print([path.name for path in recorded.scenarios])
            recorded.check()
            store(0x3f8000003f800000)
            for unknown_floats in (False, True):
                with membar.record(unknown_floats=unknown_floats) as recorded:
                    launch("late")
                text = recorded.scenarios[0].read_text()
                print("0x3f800000" in text, "unknown 0-7" in text)
        """)
        self.assertEqual(said, "['late_1.scenario'] True\n['small_1.scenario']\nTrue False\nFalse True\n")

    def test_caches_of_machine_code_are_not_used(self):
        names = ["CUPY_CACHE_IN_MEMORY", "JAX_ENABLE_COMPILATION_CACHE"]
        for name in names:
            self.environment.pop(name, None)
        done = self.run_python("-m", "membar", "run", self.script(f"import os; print(*(os.environ[name] for name in {names}))"))
        self.assertEqual((done.returncode, done.stdout), (0, "1 0\n"), done.stderr)

    def test_a_block_has_the_ptx_that_xla_wrote_before_it(self):
        self.environment.pop("XLA_FLAGS", None)
        names = b"".join(b"\0.text." + name for name in (b"put", b"small", b"late", b"count", b"await", b"meet", b"tally")) + b"\0"
        header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 190, 1, 0, 0, 64 + len(names), 0, 64, 0, 0, 64, 0, 0)
        (self.folder / "module.cubin").write_bytes(header + names)
        said = self.recorded(f"""
            import os
            xla = ctypes.CDLL({str(XLA)!r})
            xla.fakeXlaDump({str(FOLDER / "module.ptx")!r}.encode(), 0)
            cubin = ctypes.create_string_buffer(open("module.cubin", "rb").read())
            driver.cuModuleLoadData(ctypes.byref(module), cubin)
            with membar.record() as recorded:
                launch("count")
            recorded.check(schedules=1)
            print([path.name for path in recorded.scenarios], "XLA_FLAGS" in os.environ)
        """)
        self.assertEqual(said, "['count_1.scenario'] False\n")

    def test_a_finding_has_the_report(self):
        self.assertIn("found: data race on arg0", self.recorded("""
            with membar.record(all=True) as recorded:
                launch("small", stream=1)
                launch("small", stream=2)
            try:
                recorded.check()
            except membar.Finding as finding:
                print("found:", finding.report.splitlines()[1].strip())
        """))

    def test_a_launch_too_large_to_explore_is_sanitized(self):
        self.assertIn("found: race, seed", self.recorded("""
            with membar.record() as recorded:
                launch("late", blocks=100, threads=128)
            try:
                recorded.check(schedules=2)
            except membar.Finding as finding:
                print("found:", finding.report.splitlines()[1].strip())
        """))
        self.assertRegex(self.recorded("""
            with membar.record() as recorded:
                launch("count", blocks=100, threads=128)
            recorded.check(schedules=2)
            print(*recorded.undecided)
            recorded.sanitize(schedules=3)
            print(len(recorded.undecided))
            recorded.sanitize(schedules=1, options=["--limit=1"])
            print(*recorded.undecided)
            try:
                recorded.check(schedules=0)
            except RuntimeError as why:
                print(why)
        """), r"count_1.scenario\tclean in 2 schedules\t.*\n0\n.*\tgave up\t.*\nmembar: .* cannot be checked: .*would bring the total to 12800 threads; the number must be from 1 to 4096: make")

    def test_sanitize_reports_what_a_schedule_shows(self):
        self.assertIn("found: race", self.recorded("""
            with membar.record(all=True) as recorded:
                launch("small", stream=1)
                launch("small", stream=2)
            try:
                recorded.sanitize(schedules=1)
            except membar.Finding as finding:
                print("found:", finding.report.splitlines()[1].strip())
        """))

    def test_a_scenario_that_cannot_be_read_is_an_error(self):
        self.assertRegex(self.recorded("""
            with membar.record() as recorded:
                launch("late", threads=1)
            recorded.scenarios[0].write_text("launch late")
            for check in (recorded.check, recorded.sanitize):
                try:
                    check()
                except RuntimeError as why:
                    print(why)
        """), r"(membar: .*late_1.scenario cannot be checked: .*does not name a source.*\n\n?){2}")

    def test_a_checker_that_crashes_is_an_error(self):
        crashes = self.folder / "membar-check"
        crashes.write_text(f'#!/bin/sh\ncase $1 in record) exec {CHECK} "$@";; sanitize) exit 0;; esac\nkill -SEGV $$\n')
        crashes.chmod(0o755)
        (self.folder / "libmembar_record.so").symlink_to(CHECK.with_name("libmembar_record.so"))
        self.environment["MEMBAR_CHECK"] = str(crashes)
        self.assertRegex(self.recorded("""
            with membar.record() as recorded:
                launch("late")
            try:
                recorded.check()
            except RuntimeError as why:
                print(why)
        """), r"^membar: membar-check ended with status -11 for .*late_1.scenario: \n$")

    def test_nothing_recorded_is_an_error(self):
        self.assertIn("membar: nothing was recorded.\nmembar-check: recorded 0 kernels", self.recorded("""
            with membar.record() as recorded:
                launch("small")
            try:
                recorded.check()
            except RuntimeError as why:
                print(why)
        """))

    def test_a_wrong_expression_is_an_error(self):
        self.assertIn("recording did not begin, because another block is recording or 'a(' is not an extended regular expression", self.recorded("""
            try:
                with membar.record("a("):
                    pass
            except RuntimeError as why:
                print(why)
            with membar.record():
                launch("late")
        """))

    def test_without_the_library_the_remedy_is_named(self):
        done = self.run_python(self.script("""
            try:
                with membar.record():
                    print("entered")
            except RuntimeError as why:
                print(why)
        """))
        self.assertEqual(done.stdout, "membar: the recorder is not loaded in this process. It must be loaded before CUDA starts: run "
                                      "'python -m membar run SCRIPT', or 'pytest --membar'\n")

    def test_temporary_folders_are_removed(self):
        self.recorded("""
            with membar.record() as recorded:
                launch("late")
        """)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["script.py"])

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "no NumPy")
    def test_a_launch_is_checked_with_arrays_as_memory(self):
        done = self.run_python("-c", textwrap.dedent(f"""
            import membar, numpy as np
            ptx = {str(FOLDER / "module.ptx")!r}
            data = np.arange(8, dtype=np.uint32)
            print(membar.check(ptx, "late", 1, 1, [data[2:]], final=["arg0[2] == 3", "arg0[4] == 5"]))
            print(membar.check(ptx, "count", 100, 128, [data], schedules=1).split(chr(9))[1])
            for arguments in ([data], ["text"]):
                try:
                    membar.check(open(ptx).read(), "small", 2, 1, arguments)
                except (membar.Finding, TypeError) as why:
                    print(type(why).__name__, str(why).replace(chr(10), " ")[:160])
            try:
                membar.check(ptx, "put", 1, 1, [np.uint32(3), (data, np.array([0, 8], np.uint64), 1)])
            except membar.Finding as why:
                print(why.report.splitlines()[1])
        """))
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "verified")
        self.assertEqual(lines[1], "clean in 1 schedule")
        self.assertIn("Finding", lines[2])
        self.assertIn("data race on arg0", lines[2])
        self.assertIn("TypeError membar: argument 0 is of type str: expected an array", lines[3])
        self.assertIn("an access by thread 0 is outside of every object", lines[4])  # The expected message for the table's first word.

    @unittest.skipUnless(importlib.util.find_spec("pytest"), "no pytest")
    def test_marked_tests_are_checked(self):
        self.script("""
            import pytest

            @pytest.mark.membar
            def test_right():
                launch("late", threads=1)

            @pytest.mark.membar("small")
            def test_wrong():
                launch("small", stream=1)
                launch("small", stream=2)

            @pytest.mark.membar(schedules=2)
            def test_large():
                launch("late", blocks=100, threads=128)

            @pytest.mark.membar(schedules=1)
            def test_large_and_right():
                launch("count", blocks=100, threads=128)

            @pytest.mark.membar
            def test_nothing():
                pass

            def test_not_marked():
                launch("small", stream=1)
                launch("small", stream=2)
        """, "test_kernels.py")
        words = ("-m", "pytest", "-p", "membar._pytest", "-p", "no:cacheprovider", "test_kernels.py")
        done = self.run_python(*words, "--membar", "-rP")
        self.assertIn("3 failed, 3 passed", done.stdout, done.stderr)
        self.assertIn("data race on arg0", done.stdout)
        self.assertRegex(done.stdout, r"race, seed \d+, \d+ times: data race on arg0\+8")
        self.assertRegex(done.stdout, r"not decided: .*count_1.scenario\tclean in 1 schedule\t")
        self.assertIn("nothing was recorded", done.stdout)
        self.assertNotIn("_record.py", done.stdout)
        self.assertIn("6 passed", self.run_python(*words).stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
