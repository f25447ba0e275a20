#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests `membar-litmus run` without a GPU: sources, compilation, the cache, messages and exit statuses.

usage: run_command_test.py MEMBAR_LITMUS CATALOGUE
"""

import functools
import shutil
import unittest

import litmus_command
from litmus_command import CATALOGUE, COMMAND, Case

MP = litmus_command.MP + "~exists (P1:r0 == 1 /\\ P1:r1 == 0)\n"
run = functools.partial(litmus_command.run, "run", CUDA_VISIBLE_DEVICES="")


def nvrtc_is_missing():
    """Returns the reason why nothing can be compiled here, or an empty string."""
    code, _, err = run("--compile-for=90", "--no-cache", CATALOGUE / "allowed" / "MP+relaxed.litmus")
    return err if code != 0 and "NVRTC" in err else ""


MISSING = nvrtc_is_missing()


class Run(Case):
    def test_without_a_gpu_it_says_so_in_one_sentence(self):
        answer = run(CATALOGUE)
        self.assert_refused(answer)
        err = answer[2]
        self.assertTrue(err.startswith("membar-litmus: "))
        self.assertTrue("run needs a GPU" in err or "run needs a driver" in err or "without a CUDA toolkit" in err, err)

    def test_the_source_of_a_test_is_printed_without_a_gpu(self):
        out = self.output_of(run("--source", self.file("t.litmus", MP)))
        for part in ("#include <membar/litmus/kernel.cuh>", "struct file_test", "membar_litmus_kernel",
                     'asm volatile("st.release.gpu.global.b32 [%0], %1;"', 'asm volatile("ld.acquire.gpu.global.b32 %0, [%1];"'):
            self.assertIn(part, out)

    def test_a_test_that_cannot_run_is_one_sentence_and_the_next_one_goes_on(self):
        malformed = self.file("a.litmus", MP.replace("ld.weak r1, x", "ld.weak r1 x"))
        barrier = self.file("b.litmus", MP.replace("st.weak x, 1 ", "bar.cta.sync 0"))
        good = self.file("c.litmus", MP)
        code, out, err = run("--source", malformed, barrier, self.folder / "missing.litmus", good)
        self.assertEqual(code, 2)
        self.assertIn("struct file_test", out)
        lines = err.splitlines()
        self.assertEqual(lines[0], f"{malformed}\terror: 5:35: expected ',' between operands, found 'x'")
        self.assertEqual(lines[1], f"{barrier}\terror: line 4: 'bar.cta.sync 0': a block runs many instances of a test concurrently, so a test with barriers cannot run")
        self.assertEqual(lines[2], f"{self.folder / 'missing.litmus'}\terror: cannot open the file: check that it exists and can be read")
        self.assertEqual(len(lines), 3)

    def test_what_a_host_thread_cannot_do_is_one_sentence(self):
        path = self.file("t.litmus", MP.replace("cta 1,gpu 0", "host       ").replace("ld.weak r1, x    ", "fence.proxy.alias").replace("P1:r1", "P1:r0"))
        self.assert_refused(run("--source", path), "line 5: 'fence.proxy.alias': a host thread accesses memory through only one proxy")

    def test_wrong_options_are_refused_in_one_sentence(self):
        path = self.file("t.litmus", MP)
        for word in ("--seconds=0", "--seconds=x", "--seconds=", "--tune=-1", "--seed=x", "--seed=-1", "--compile-for=sm_90", "--cache=",
                     "--jobs=2", "--dot", "--nonsense", "--limit=x"):
            code, out, err = run(word, path)
            self.assertEqual((code, out), (2, ""), word)
            self.assertIn(word.split("=")[0], err)
            self.assertEqual(len(err.splitlines()), 2, err)
        code, _, err = run()
        self.assertEqual(code, 2)
        self.assertIn("no file given", err)

    def test_wrong_parameters_are_one_sentence(self):
        for text, part in (("nonsense=1", "nonsense"), ("width=33", "width")):
            answer = run(f"--params={text}", self.file("t.litmus", MP))
            self.assert_refused(answer)
            self.assertTrue(part in answer[2] or "without a CUDA toolkit" in answer[2], answer)

    def test_a_folder_without_tests_is_an_error(self):
        self.assert_refused(run(self.folder), "no *.litmus")

    def test_help_names_every_option(self):
        out = self.output_of(litmus_command.run("--help"))
        for option in ("--seconds=S", "--tune=S", "--params=TEXT", "--seed=N", "--json", "--source", "--compile-for=CC", "--cache=DIR",
                       "--no-cache", "Exit status of run"):
            self.assertIn(option, out)

    def test_nvrtc_missing_is_one_sentence(self):
        answer = run("--compile-for=90", self.file("t.litmus", MP), MEMBAR_NVRTC="/no/such/file.so")
        self.assert_refused(answer, "MEMBAR_NVRTC is '/no/such/file.so', which cannot be loaded", "unset it")


@unittest.skipIf(MISSING, MISSING)
class Compile(Case):
    def compiled(self, *words, **environment):
        """Returns the text after the size, for each file."""
        code, out, err = run("--compile-for=90", *words, **environment)
        self.assertEqual(code, 0, err)
        return [line.split("\t")[1].split(", ")[1] for line in out.splitlines()], err

    def test_a_test_is_compiled_once(self):
        path = self.file("t.litmus", MP)
        cache = self.folder / "cache"
        self.assertEqual(self.compiled(f"--cache={cache}", path), (["compiled"], ""))
        self.assertEqual(self.compiled(f"--cache={cache}", path), (["from the cache"], ""))
        self.assertEqual(len(list(cache.iterdir())), 1)
        path.write_text(MP.replace("st.weak x, 1 ", "st.relaxed.gpu x, 1 "))
        self.assertEqual(self.compiled(f"--cache={cache}", path), (["compiled"], ""))
        self.assertEqual(self.compiled(f"--cache={cache}", path), (["from the cache"], ""))

    def test_the_usual_folder_is_the_xdg_one(self):
        path = self.file("t.litmus", MP)
        self.assertEqual(self.compiled(path, XDG_CACHE_HOME=str(self.folder / "xdg")), (["compiled"], ""))
        self.assertEqual(len(list((self.folder / "xdg" / "membar").iterdir())), 1)
        self.assertEqual(self.compiled(path, XDG_CACHE_HOME=str(self.folder / "xdg")), (["from the cache"], ""))

    def test_no_cache_keeps_nothing(self):
        path = self.file("t.litmus", MP)
        for _ in range(2):
            self.assertEqual(self.compiled("--no-cache", path, XDG_CACHE_HOME=str(self.folder / "xdg")), (["compiled"], ""))
        self.assertFalse((self.folder / "xdg").exists())

    def test_a_damaged_file_is_compiled_again(self):
        path = self.file("t.litmus", MP)
        cache = self.folder / "cache"
        self.compiled(f"--cache={cache}", path)
        (kept,) = cache.iterdir()
        good = kept.read_bytes()
        for damaged in (b"", good[:-1], good[:-1] + bytes([good[-1] ^ 1]), b"x" + good[1:]):
            kept.write_bytes(damaged)
            self.assertEqual(self.compiled(f"--cache={cache}", path), (["compiled"], ""))
            self.assertEqual(kept.read_bytes(), good)

    def test_a_cache_that_cannot_be_written_is_a_warning(self):
        path = self.file("t.litmus", MP)
        words, err = self.compiled(f"--cache={path}", path)
        self.assertEqual(words, ["compiled"])
        self.assert_one_sentence(err, "compiled tests are not cached", "--no-cache")

    def test_an_architecture_that_nvrtc_does_not_support_is_one_sentence(self):
        self.assert_refused(run("--compile-for=99", self.file("t.litmus", MP)), "does not support compute capability 9.9")

    def test_an_instruction_that_the_device_lacks_is_one_sentence(self):
        path = self.file("t.litmus", MP.replace("acquire.gpu", "acquire.cluster"))
        self.assert_refused(run("--compile-for=80", "--no-cache", path),
                            "line 4: 'ld.acquire.cluster r0, y' needs compute capability 9.0, but the device has 8.0")

    def test_the_executable_works_alone(self):
        alone = self.folder / "elsewhere" / "membar-litmus"
        alone.parent.mkdir()
        shutil.copy2(COMMAND, alone)
        self.assertIn("compiled", self.output_of(run("--compile-for=90", "--no-cache", self.file("t.litmus", MP), command=alone)))


if __name__ == "__main__":
    if MISSING:
        print("SKIPPED: what compiles: " + MISSING)
    litmus_command.main()
