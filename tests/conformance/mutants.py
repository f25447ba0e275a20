#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks the headers in one place at a time, and checks on a GPU whether the conformance suite detects it.

usage: mutants.py list
       mutants.py check                                       checks that every patch applies, without compiling
       mutants.py build [option...] FOLDER -- NVCC OPTION...  needs no GPU
       mutants.py run [option...] FOLDER                      needs a GPU

A mutant is a patch of one header. `build` compiles the parts of the suite that use the primitive with a patched copy of the headers. It
fails unless the code of at least one guarantee's kernel changes. `run` runs the guarantees whose kernels changed, for at most a minute per
mutant. It prints which mutants were detected, and over how many instances the other mutants remained undetected. --json writes
the same data to a file. A mutant that was not detected is still wrong.

Exit status: 0 on success; 1 if a mutant does not apply, compile or change anything; 2 if something else is wrong; 77 without a GPU.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests" / "codegen"), str(ROOT / "bench" / "common")]
from kernel_code import code_of_kernels
from results import text_of
INCLUDE = ROOT / "include"
# Files in the program that no mutant changes.
PROGRAM = ("main", "campaign", "output")

# Places at which too narrow a scope can have an effect. There is no effect among threads in the same device and domain.
FAR = r"@(two_domains|two_devices|host_\w+)$"


@dataclass(frozen=True)
class Mutant:
    name: str
    says: str     # A description of what is wrong with the headers.
    header: str   # The header's path in include/membar.
    old: str      # The text that is replaced. It occurs once in the header.
    new: str
    parts: tuple = ("message_passing_device",)  # The suite's source files to compile.
    tests: str = ""  # Only the changed guarantees whose name matches are run.


def change(before, old, new, after=""):
    """Returns the replaced text and the new text, which differ in one place."""
    return before + old + after, before + new + after


MUTANTS = [
    Mutant("release-relaxed", "release stores of atomic_ref are relaxed", "detail/atomic_device.cuh",
           "ptx_store<Scope, order_after_fence<Order, memory_order::relaxed>>", "ptx_store<Scope, memory_order::relaxed>",
           ("message_passing_device",)),
    Mutant("acquire-relaxed", "acquire loads of atomic_ref are relaxed", "detail/atomic_device.cuh",
           *change("ptx_load<Scope, ", "", "Order == memory_order::acquire ? memory_order::relaxed : ",
                   "order_after_fence<Order, memory_order::acquire>>(reinterpret_cast"), ("message_passing_device",)),
    Mutant("acq_rel-acquires", "acq_rel read-modify-writes of atomic_ref do not release", "detail/atomic_device.cuh",
           "return fetch_by_instruction<Op, T, Scope, order_after_fence<Order, memory_order::acquire>,",
           "return fetch_by_instruction<Op, T, Scope, order_after_fence<Order == memory_order::acq_rel ? memory_order::acquire : Order, "
           "memory_order::acquire>,", ("message_passing_device",)),
    Mutant("device-load-as-block", "device-scope loads of atomic_ref have block scope", "detail/atomic_device.cuh",
           *change("ptx_load<", "Scope", "Scope == thread_scope::device ? thread_scope::block : Scope",
                   ", order_after_fence<Order, memory_order::acquire>>(reinterpret_cast"), ("message_passing_device",)),
    Mutant("device-fence-as-block", "fences, reductions and ordered accesses at device scope have block scope", "detail/ptx_spelling.cuh",
           'text[] = "gpu";', 'text[] = "cta";'),
    Mutant("cluster-scope-as-block", "operations at cluster scope have block scope", "detail/ptx_spelling.cuh", 'text[] = "cluster";', 'text[] = "cta";',
           ("message_passing_cluster",)),
    Mutant("system-scope-as-device", "fences and ordered accesses at system scope have device scope, which does not include other domains",
           "detail/ptx_spelling.cuh", 'text[] = "sys";', 'text[] = "gpu";', ("message_passing_system", "distance"), FAR),
    Mutant("system-store-as-device", "system-scope stores of atomic_ref have device scope, which does not include other domains", "detail/atomic_device.cuh",
           *change("ptx_store<", "Scope", "Scope == thread_scope::system ? thread_scope::device : Scope",
                   ", order_after_fence<Order, memory_order::relaxed>>"),
           ("message_passing_system", "distance"), FAR),
    Mutant("fence-removed", "thread_fence emits no instruction", "fence.hpp",
           'asm volatile("fence.%0.%1;" ::"C"(ptx_order<own>::text), "C"(ptx_scope<Scope>::text) : "memory");',
           'asm volatile("" ::: "memory");', ("message_passing_device", "ordering_device")),
    Mutant("release-fence-acquires", "a release fence is an acquire fence", "fence.hpp",
           '"C"(ptx_order<own>::text)',
           '"C"(ptx_order<own == memory_order::release ? memory_order::acquire : own>::text)',
           ("message_passing_device",)),
    Mutant("acquire-fence-releases", "an acquire fence is a release fence", "fence.hpp",
           '"C"(ptx_order<own>::text)',
           '"C"(ptx_order<own == memory_order::acquire ? memory_order::release : own>::text)',
           ("message_passing_device",)),
    Mutant("seq_cst-fence-as-acq_rel", "a seq_cst fence is an acq_rel fence", "detail/ptx_spelling.cuh",
           'text[] = "sc";', 'text[] = "acq_rel";', ("ordering_device",)),
    Mutant("seq_cst-load-without-fence", "a seq_cst load from load_store.cuh has no fence before it", "detail/checked_load_store.cuh",
           "thread_fence<Scope>(seq_cst);\n  }\n  using own = typename own_order<Order, memory_order::acquire>::type;",
           "}\n  using own = typename own_order<Order, memory_order::acquire>::type;", ("ordering_device",)),
    Mutant("loop-without-release-fence", "a compare-and-swap loop has no fence before it", "detail/atomic_device.cuh",
           "half_fence<Scope, release_half(Order)>();\n  auto seen", "auto seen", ("message_passing_device", "types")),
    Mutant("loop-without-acquire-fence", "a compare-and-swap loop has no fence after it", "detail/atomic_device.cuh",
           "half_fence<Scope, acquire_half(Order)>();\n  return from_bits<T>(old);", "return from_bits<T>(old);", ("message_passing_device", "types")),
    Mutant("acq_rel-loop-acquires", "an acq_rel compare-and-swap loop does not release", "detail/atomic_device.cuh",
           *change("half_fence<Scope, ", "", "Order == memory_order::acq_rel ? memory_order::relaxed : ",
                   "release_half(Order)>();\n  auto seen")),
    Mutant("byte-compare-exchange-unreleased", "compare_exchange on a byte does not release", "detail/atomic_device.cuh",
           "if constexpr (!look_after_fence) {\n      half_fence<Scope, release_half(Order)>();\n    }", "", ("types",)),
    Mutant("wait-without-fence", "wait does not acquire", "detail/atomic_device.cuh", "half_fence<Scope, acquire_half(Order)>();\n}", "}"),
    Mutant("reduction-relaxed", "a release reduction is relaxed", "detail/atomic_device.cuh",
           *change("ptx_red<Op, native_type<T>(Op), Scope, ", "Order", "memory_order::relaxed", ", Space>(object, operand);"),
           ("message_passing_device", "types")),
    Mutant("float-max-relaxed", "the integer form of a floating-point minimum or maximum is relaxed", "detail/atomic_device.cuh",
           *change(": ptx_atom<Op, form::as_signed, Scope, ", "Order", "memory_order::relaxed", ", Space>(object, operand)"), ("types",)),
    Mutant("acquire-before-shared-loop", "a read-modify-write in shared memory acquires before its loop reads", "detail/atomic_device.cuh",
           *change("return ", "", "false && ", "Op != atom_op::exchange && (sizeof(T) == 8 ||"), ("shared_memory",)),
    Mutant("failure-order-forgotten", "a failing compare_exchange has the success order", "detail/atomic_rules.hpp",
           "if (Failure == memory_order::acquire) {", "if (Success == Failure && Failure == memory_order::acquire) {",
           ("message_passing_cluster",)),
    Mutant("aggregation-relaxed", "an aggregated operation is relaxed", "aggregated.cuh",
           *change("old = membar::fetch_combine(ref(), sum, operation, ", "order);", "relaxed);")),
    Mutant("mailbox-release-relaxed", "a release store from load_store.cuh is relaxed", "load_store.cuh",
           "detail::store_with<Scope, order>(address, value, said...);",
           "detail::store_with<Scope, std::conditional_t<std::is_same_v<order, release_t>, relaxed_t, order>>(address, value);",
           ("distance", "message_passing_system")),
    Mutant("mailbox-acquire-relaxed", "an acquire load from load_store.cuh is relaxed", "load_store.cuh",
           "return detail::load_with<detail::access_kind::load, Scope, order>(address, said...);",
           "return detail::load_with<detail::access_kind::load, Scope, std::conditional_t<std::is_same_v<order, acquire_t>, relaxed_t, "
           "order>>(address);",
           ("distance", "message_passing_system")),
    Mutant("sequence-lock-end-relaxed", "a sequence lock's write ends with a relaxed store", "sync/sequence_lock.cuh",
           "sequence_.store(sequence + 2, release);", "sequence_.store(sequence + 2, relaxed);", ("patterns",)),
    Mutant("sequence-lock-begin-relaxed", "a sequence lock's read begins with a relaxed load", "sync/sequence_lock.cuh",
           "before = sequence_.load(acquire);", "before = sequence_.load(relaxed);", ("patterns",)),
    Mutant("bulk-copy-unfenced", "proxy_fence emits no instruction", "fence.cuh",
           'asm volatile("fence.proxy.%0;" ::"C"(detail::ptx_proxy<Proxy>::text) : "memory");', 'asm volatile("" ::: "memory");',
           ("proxies",)),
    Mutant("bulk-read-wait-removed", "bulk_wait_read emits no instruction", "bulk_copy.cuh",
           'asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");', 'asm volatile("" ::: "memory");',
           ("asynchronous",)),
    Mutant("cluster-arrival-relaxed", "a release arrival at the cluster's barrier is relaxed", "cluster_barrier.cuh",
           '"barrier.cluster.arrive.%0%1;" ::"C"(detail::ptx_order<Order::value>::text)',
           '"barrier.cluster.arrive.%0%1;" ::"C"(detail::ptx_order<memory_order::relaxed>::text)', ("asynchronous",)),
    Mutant("remote-arrival-relaxed", "a release arrival at another block's mbarrier is relaxed", "mbarrier.cuh",
           '"mbarrier.arrive.%2.cluster.shared::cluster.b64 _, [%0], %1;"',
           '"mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0], %1;"', ("asynchronous",)),
    Mutant("dependency-wait-removed", "wait_for_prerequisites emits no instruction", "dependent_launch.cuh",
           'asm volatile("griddepcontrol.wait;" ::: "memory");', 'asm volatile("" ::: "memory");', ("asynchronous",)),
    Mutant("fetch_add-split", "fetch_add is a load and a store", "detail/atomic_device.cuh",
           "return from_bits<T>(ptx_atom<Op, native_type<T>(Op), Scope, Order, Space>(object, operand));",
           "bits_of<T>* const bits = reinterpret_cast<bits_of<T>*>(object);\n"
           "    const T old = from_bits<T>(ptx_load<Scope, memory_order::relaxed>(bits));\n"
           "    ptx_store<Scope, memory_order::relaxed>(bits, to_bits(applied<Op>(old, from_bits<T>(operand))));\n    return old;",
           ("atomicity",)),
    Mutant("byte-loop-clears-neighbours", "a loop on a byte writes zeros into the rest of the word", "detail/atomic_device.cuh",
           "return (whole & ~(mask << shift)) | static_cast<unsigned>(part) << shift;",
           "return (whole & (mask & ~mask)) | static_cast<unsigned>(part) << shift;", ("atomicity",)),
    Mutant("wide-load-split", "an ordered 16-byte load is two 8-byte loads", "detail/ld_st_instructions.cuh",
           '"{ .reg .b128 q; ld%2.b128 q, [%3]; mov.b128 {%0, %1}, q; }"', '"ld%2.b64 %0, [%3]; ld%2.b64 %1, [%3+8];"',
           ("atomicity",)),
    Mutant("wide-store-split", "an ordered 16-byte store is two 8-byte stores", "detail/ld_st_instructions.cuh",
           '"{ .reg .b128 q; mov.b128 q, {%2, %3}; st%0.b128 [%1], q; }"', '"st%0.b64 [%1], %2; st%0.b64 [%1+8], %3;"',
           ("atomicity",)),
]


def patched(mutant):
    """Returns the text of the mutant's header. Line breaks in the replaced text do not matter."""
    path = INCLUDE / "membar" / mutant.header
    text = path.read_text()
    pattern = r"\s*".join(re.escape(word) for word in mutant.old.split())
    found = list(re.finditer(pattern, text))
    if len(found) != 1:
        raise SystemExit(f"{mutant.name}: membar/{mutant.header} must contain this text once, but contains it {len(found)} times: "
                         f"{mutant.old}")
    return text[:found[0].start()] + mutant.new + text[found[0].end():]


def called(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class Compiler:
    """nvcc with its options. It compiles only for the architecture on which the mutants run."""

    def __init__(self, command, architecture):
        self.command = [*command, "-gencode", f"arch=compute_{architecture},code=sm_{architecture}", f"-I{ROOT}"]
        # The kernels are very similar, so compression makes the programs small; they may have to be copied to a machine with a GPU.
        if "--compress-mode" in called([command[0], "--help"]):
            self.command.append("--compress-mode=size")

    def object_of(self, source, include, folder):
        """Compiles a part of the suite into `folder`, and returns the code of its kernels."""
        kept = folder / (source.stem + ".kept")
        kept.mkdir(parents=True, exist_ok=True)
        # The mutant's headers come before the include folders of the command.
        called([self.command[0], f"-I{include}", *self.command[1:], "--keep", "--keep-dir", kept, "-c", source, "-o",
                folder / (source.stem + ".o")])
        cubins = list(kept.glob("*.cubin"))
        code = code_of_kernels(cubins[0]) if cubins else {}
        shutil.rmtree(kept)
        return code

    def link(self, objects, program):
        called([*self.command, *objects, "-o", program, "-ldl", "-Xlinker", "--strip-all"])


def demangled(names, *options):
    """Returns the names demangled by c++filt, without spaces, which differ between compilers."""
    names = list(names)
    out = called(["c++filt", *options], input="\n".join(names) + "\n").splitlines()
    return [name.replace(" ", "") for name in out]


def tests_of(kernels, listed):
    """Returns the listed tests that these kernels run: the template argument of a kernel is the type of its test."""
    types = demangled((test["type"] for test in listed["tests"]), "-t")
    found = (re.search(r"run_\w+<membar::\w+::litmus::kernel_test<(.*)>>\(", name) for name in demangled(kernels))
    run = [match.group(1) for match in found if match]
    return [test["test"] for name in run for test, own in zip(listed["tests"], types) if own == name]


def build(arguments, nvcc):
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    compiler = Compiler(nvcc, arguments.architecture)
    chosen = [m for m in MUTANTS if re.search(arguments.mutants, m.name)]
    if not chosen:
        raise SystemExit(f"mutants.py: no mutant is called {arguments.mutants}")
    parts = sorted({part for m in chosen for part in m.parts})
    plain = folder / "plain"
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        files = [*(f"{name}.cpp" for name in PROGRAM), *(f"{part}.cu" for part in parts)]
        codes = dict(zip((file.split(".")[0] for file in files), pool.map(lambda file: compiler.object_of(HERE / file, INCLUDE, plain), files)))
        # The headers from which the mutants are made. The results name them.
        hashed = folder / "include_hash.cpp"
        called([sys.executable, ROOT / "bench" / "common" / "include_hash.py", INCLUDE, hashed])
        compiler.link([hashed, *(plain / f"{part}.o" for part in [*PROGRAM, *parts])], plain / "conformance")
        listed = json.loads(called([plain / "conformance", "--list", "--json"]))
        guarantees = {row["test"] for row in listed["guarantees"]}

        def one(mutant):
            here = folder / mutant.name
            shutil.rmtree(here, ignore_errors=True)
            shutil.copytree(INCLUDE, here / "include")
            (here / "include" / "membar" / mutant.header).write_text(patched(mutant))
            changed = [kernel for part in mutant.parts
                       for kernel, text in compiler.object_of(HERE / f"{part}.cu", here / "include", here).items()
                       if codes[part].get(kernel) != text]
            tests = sorted({test for test in tests_of(changed, listed) if test in guarantees and re.search(mutant.tests, test)})
            if not tests:
                raise RuntimeError(f"the code of {len(changed)} kernels changes, but none of them belongs to a guarantee that could "
                                   "reveal it")
            (here / "tests.txt").write_text("\n".join(tests) + "\n")
            objects = [here / f"{part}.o" for part in mutant.parts]
            compiler.link([hashed, *(plain / f"{name}.o" for name in PROGRAM), *objects], here / "conformance")
            shutil.rmtree(here / "include")
            for each in objects:
                each.unlink()
            return f"changes {len(changed)} kernels; {len(tests)} guarantees can reveal it"

        wrong = 0
        for mutant, result in [(mutant, pool.submit(one, mutant)) for mutant in chosen]:
            try:
                print(f"{mutant.name}: {result.result()}", flush=True)
            except RuntimeError as failure:
                wrong += 1
                print(f"{mutant.name}: {failure}", file=sys.stderr, flush=True)
    print(f"{len(chosen) - wrong} of {len(chosen)} mutants built in {folder}")
    return 1 if wrong else 0


def merged(campaigns):
    """Merges the results of several runs: for each test, the line with the highest rate; a test that ran takes precedence over a skipped
    one."""
    tests, guarantees = {}, {}
    for campaign in campaigns:
        guarantees.update({g["test"]: g["controls"] for g in campaign["guarantees"]})
        for t in campaign["tests"]:
            known = tests.get(t["test"])
            if known is None or (t["verdict"] != "skipped", t["rate"]) > (known["verdict"] != "skipped", known["rate"]):
                tests[t["test"]] = t
    return {"tests": tests, "guarantees": guarantees}


def shown_by(test, campaign):
    """Returns the controls of a guarantee that a campaign observed, the highest rate first."""
    controls = (campaign["tests"].get(name) for name in campaign["guarantees"].get(test, ()))
    return sorted((t for t in controls if t and t["weak"]), key=lambda t: -t["rate"])


def best_parameters(tests, campaign, most):
    """Returns the parameters with which the controls of these guarantees showed their outcomes most often."""
    controls = sorted((t for test in tests for t in shown_by(test, campaign)), key=lambda t: -t["rate"])
    return list(dict.fromkeys(t["parameters"] for t in controls))[:most]


def gpu_count():
    """Returns the number of GPUs that a program started by this process sees; 0 without a driver."""
    try:
        lines = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True).stdout.splitlines()
    except OSError:
        return 0
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = sum(line.startswith("GPU ") for line in lines)
    return count if visible is None else min(count, len([name for name in visible.split(",") if name]))


def spread(tests, most):
    """Returns at most `most` of the tests, evenly distributed over the list."""
    return tests if len(tests) <= most else [tests[i * len(tests) // most] for i in range(most)]


def few_of(tests, most, gpus, campaign=None):
    """Returns at most `most` of the tests to run against a mutant. With a campaign, these are tests that the machine ran and whose controls
    showed their outcomes most often. Without one, they are spread over the list, and tests with a host thread come last because they are
    slow. If no test can run, it returns some tests that report what is missing."""
    if campaign:
        can = [t for t in tests if campaign["tests"].get(t, {}).get("verdict") != "skipped"]
        rate = {t: max((c["rate"] for c in shown_by(t, campaign)), default=0) for t in can}
        return sorted(can, key=lambda t: -rate[t])[:most] or spread(tests, most)
    can = [t for t in tests if gpus >= 2 or not t.endswith("@two_devices")]
    hosted = [t for t in can if "@host_" in t]
    few = spread([t for t in can if t not in hosted], most)
    return few + spread(hosted, most - len(few)) or spread(tests, most)


def run(arguments):
    campaign = merged(json.loads(file.read_text()) for file in arguments.campaign) if arguments.campaign else None
    gpus = gpu_count()
    built = [m for m in MUTANTS if (arguments.folder / m.name / "conformance").exists() and re.search(arguments.mutants, m.name)]
    if not built:
        raise SystemExit(f"mutants.py: no mutant is built in {arguments.folder}: mutants.py build {arguments.folder} -- nvcc ...")
    end = time.monotonic() + 60 * arguments.minutes
    rows, context = [], {}
    for index, mutant in enumerate(built):
        here = arguments.folder / mutant.name
        few = here / "few.txt"
        tests = few_of((here / "tests.txt").read_text().split(), arguments.most, gpus, campaign)
        parameters = arguments.parameters + (best_parameters(tests, campaign, 4) if campaign else [])
        few.write_text("\n".join(tests) + "\n")
        # The remaining mutants can use the time that this mutant does not use.
        limit = max(1.0, min(arguments.seconds, (end - time.monotonic()) / (len(built) - index)))
        results = here / "results.json"
        results.unlink(missing_ok=True)
        begin = time.monotonic()
        done = subprocess.run(
            [str(here / "conformance"), f"--tests={few}", f"--hunt={limit:.3f}", f"--seed={arguments.seed}",
             f"--json={results}", *(f"--parameters={text}" for text in parameters)], capture_output=True, text=True)
        seconds = time.monotonic() - begin
        if done.returncode == 77:
            print(done.stdout, end="")
            return 77
        row = {"mutant": mutant.name, "says": mutant.says, "header": mutant.header, "seconds": round(seconds, 2),
               "revealed": False, "by": "", "instances": 0, "forbidden": 0, "reason": ""}
        if results.exists() and done.returncode >= 0:  # A program that was killed may have left results of an earlier run.
            told = json.loads(results.read_text())
            context, all_tests = {**told["context"], "command": "mutants.py " + " ".join(sys.argv[1:])}, told["tests"]
            row.update(instances=sum(t["instances"] for t in all_tests), tests=sum(t["instances"] != 0 for t in all_tests))
            guilty = next((t for t in all_tests if t["forbidden"]), None)
            if guilty:
                row.update(revealed=True, by=guilty["test"], forbidden=guilty["forbidden"], reason=guilty["reason"])
            elif not row["instances"]:
                row["reason"] = "; ".join(sorted({t["reason"] for t in all_tests if t["reason"]})) or done.stderr.strip()
        else:
            row["reason"] = (done.stderr or done.stdout).strip() or f"the program ended with {done.returncode}"
        rows.append(row)
        print(f"{row['mutant']}: {outcome_of(row)}", flush=True)
    shown = sum(row["revealed"] for row in rows)
    ran = sum(row["instances"] != 0 for row in rows)
    print(f"{shown} of {ran} mutants that ran were detected; {len(rows) - ran} could not run here")
    if arguments.json:
        arguments.json.write_text(text_of({"context": context, "seed": arguments.seed, "mutants": rows}))
    return 0


def short(count):
    return f"{count:.3g}".replace("e+", "e")


def outcome_of(row, quoted="{}"):
    """Describes what a hunt found, with names formatted as in `quoted`."""
    if row["revealed"]:
        return f"detected after {row['seconds']:.1f} s and {short(row['instances'])} instances, by {quoted.format(row['by'])}"
    if row["instances"]:
        return f"not detected in {row['seconds']:.1f} s and {short(row['instances'])} instances"
    return f"not run: {row['reason']}"


def main():
    given, nvcc = sys.argv[1:], []
    if "--" in given:
        given, nvcc = given[:given.index("--")], given[given.index("--") + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = {name: commands.add_parser(name) for name in ("list", "check", "build", "run")}
    for each in (command["build"], command["run"]):
        each.add_argument("folder", type=pathlib.Path)
        each.add_argument("--mutants", default="", metavar="REGEX", help="only mutants whose name matches")
    command["build"].add_argument("--jobs", type=int, default=os.cpu_count())
    command["build"].add_argument("--architecture", default="90")
    option = command["run"].add_argument
    option("--minutes", type=float, default=9.0, help="for all mutants together")
    option("--seconds", type=float, default=60.0, help="the maximum for one mutant")
    option("--most", type=int, default=8, help="the maximum number of guarantees per mutant")
    option("--seed", type=int, default=1)
    option("--parameters", action="append", default=[], metavar="TEXT", help="tried first")
    option("--campaign", type=pathlib.Path, action="append", default=[], metavar="JSON",
           help="results that choose the guarantees and the first parameters; repeatable")
    option("--json", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args(given)
    if arguments.command == "build":
        if not nvcc:
            parser.error("the compiler's command follows --")
        return build(arguments, nvcc)
    if arguments.command == "run":
        return run(arguments)
    said = {"list": "\n".join(f"{m.name}: {m.says} (membar/{m.header})" for m in MUTANTS),
            "check": f"{len([patched(m) for m in MUTANTS])} mutants apply"}
    print(said[arguments.command])
    return 0


if __name__ == "__main__":
    sys.exit(main())
