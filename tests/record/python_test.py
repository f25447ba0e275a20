#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""membar.record, membar.check and pytest --membar, in processes that use a driver without a device.

usage: python_test.py <membar-check> <folder of the fake driver>
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

CHECK, DRIVER = (pathlib.Path(word) for word in sys.argv[1:3])
FOLDER = pathlib.Path(__file__).resolve().parent
PACKAGE = FOLDER.parent.parent / "tools" / "python"

# A program of the driver's functions, which loads the module of these tests.
LAUNCHES = f"""
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
driver.cuInit(0)
image = ctypes.create_string_buffer(open({str(FOLDER / "module.ptx")!r}, "rb").read())
module, data = ctypes.c_void_p(), ctypes.c_uint64()
driver.cuModuleLoadData(ctypes.byref(module), image)
driver.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(64))
def launch(name, stream=1, threads=2):
    function = ctypes.c_void_p()
    driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
    parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(data), ctypes.c_void_p))
    driver.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, ctypes.c_void_p(0x1000 * stream), parameters, None)
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
        """)
        self.assertEqual(said, "['late_1.scenario'] True\n['small_1.scenario']\n")

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
        self.assertIn("recording did not begin: another block records, or 'a(' is not an extended regular expression", self.recorded("""
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
        self.assertEqual(done.stdout, "membar: the recorder is not in this process. It must be there before CUDA starts: run "
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
        self.assertIn("Finding", lines[1])
        self.assertIn("data race on arg0", lines[1])
        self.assertIn("TypeError membar: argument 0 is str: expected an array", lines[2])
        self.assertIn("an access by thread 0 is outside of every object", lines[3])  # what the table's first word leads to

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

            @pytest.mark.membar
            def test_nothing():
                pass

            def test_not_marked():
                launch("small", stream=1)
                launch("small", stream=2)
        """, "test_kernels.py")
        words = ("-m", "pytest", "-p", "membar._pytest", "-p", "no:cacheprovider", "test_kernels.py")
        done = self.run_python(*words, "--membar")
        self.assertIn("2 failed, 2 passed", done.stdout, done.stderr)
        self.assertIn("data race on arg0", done.stdout)
        self.assertIn("nothing was recorded", done.stdout)
        self.assertNotIn("_record.py", done.stdout)
        self.assertIn("4 passed", self.run_python(*words).stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
