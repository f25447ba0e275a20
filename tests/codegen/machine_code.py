#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks in machine code that on every path an acquire follows the last read of the object, and a release precedes the first write.

usage: machine_code.py [option...] <folder> -- <nvcc> <option>...
       machine_code.py --mutants [option...] <folder> -- <nvcc> <option>...

PTX cannot show this: if an instruction may access shared memory, ptxas adds a loop, which may come after the instruction's own acquire.
For each operation x order x scope x type x place, the script compiles a kernel that stores data before the operation and loads data after
it. Both accesses have a cache hint that identifies them. The script reads nvdisasm's listing as a control-flow graph. If the
operation acquires, there must be a CCTL.IVALL on every path from a read of the object to the load of the data. If it releases,
there must be a MEMBAR of the operation's scope or a wider scope on every path from the store of the data to a write of the
object. The script ignores plain accesses that ptxas adds for local memory, because no two threads share an object there.

With --mutants, the script breaks the headers in one place at a time, and each time it must find a wrong kernel.

Exit status: 0 if all kernels are correct and all mutants are found, 1 if not, 2 if something does not compile or nvdisasm
cannot read it.
"""

import argparse
import collections
import functools
import pathlib
import re
import shutil
import subprocess
import sys

import matrix
from kernel_code import run, split_arguments

# Within a block, the issue order is sufficient, so the code contains no instruction for the order.
SCOPES = ["cluster", "device", "system"]
PLACES = ["anywhere", "shared", "cluster", "global"]
ACQUIRES = {"acquire", "acq_rel", "seq_cst"}
RELEASES = {"release", "acq_rel", "seq_cst"}
BARRIER_SCOPES = {"cluster": {"GPU", "SYS"}, "device": {"GPU", "SYS"}, "system": {"SYS"}}

# What the compiler can infer about the object: nothing, or that it is in this block's shared memory, in the cluster's shared
# memory, or in global memory.
OBJECT = {
    "anywhere": 'T* object; asm("mov.b64 %0, %1;" : "=l"(object) : "l"(given + threadIdx.x));',
    "shared": "extern __shared__ uint4 own[]; T* object = reinterpret_cast<T*>(own) + threadIdx.x;",
    "cluster": "extern __shared__ uint4 own[]; T* object; "
               'asm("mapa.u64 %0, %1, %2;" : "=l"(object) : "l"(reinterpret_cast<T*>(own) + threadIdx.x), "r"(rank));',
    "global": "T* object = given + threadIdx.x;",
}
PARAMETERS = "T* given, const T* values, T* results, int rank, uint4* data, const uint4* other, uint4* seen"

# For each mutant: what is broken and how, and the type and place of an operation that reveals it.
DEVICE = "detail/atomic_device.cuh"
LATE = """reads_again_in_shared_memory<Op, T>()) {"""
MUTANTS = [
    ("an instruction that ptxas expands into loops does its own acquire", DEVICE, LATE, "false && " + LATE, "u64", "anywhere"),
    ("the fence after an instruction that ptxas expands into loops is missing", DEVICE, "      half_fence<Scope, "
                                                                                        "memory_order::acquire>();\n", "", "f64", "shared"),
    ("such an instruction does not release", DEVICE, "? memory_order::release : memory_order::relaxed;",
     "? memory_order::relaxed : memory_order::relaxed;", "f32", "cluster"),
    ("a reduction in shared memory does its own release", DEVICE,
     "      half_fence<Scope, release_half(Order)>();\n      reduce_by_instruction<Op, T, Scope, memory_order::relaxed,",
     "      reduce_by_instruction<Op, T, Scope, Order,", "f64", "shared"),
    ("a loop is not acquired", DEVICE, "  half_fence<Scope, acquire_half(Order)>();\n  return from_bits<T>(old);",
     "  return from_bits<T>(old);", "f16", "anywhere"),
]
LIBRARIES = {
    "membar": ("membar::atomic_ref<T, membar::thread_scope::{scope}>(*object)", "membar::{}"),
    "cuda": ("cuda::atomic_ref<T, cuda::thread_scope_{scope}>(*object)", "cuda::memory_order_{}"),
}
CUDA_TYPES = ["s32", "u32", "s64", "u64", "f32", "f64", "u8", "u16"]
CUDA_OPERATIONS = {"exchange", "fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor", "fetch_min", "fetch_max", "load", "store",
                   "compare_exchange"}


def calls(kind, architecture):
    """Yields (operation, orders, C++ after the reference) for each operation that an atomic of this type supports."""
    if kind.elements == 1:
        yield "load", matrix.LOAD_ORDERS, "*result = {ref}.load({order});"
        yield "store", matrix.STORE_ORDERS, "{ref}.store(value, {order});"
        yield "wait", matrix.LOAD_ORDERS, "{ref}.wait(value, {order});"
    for operation, ptx in matrix.FETCH.items():
        if kind.instruction(ptx, architecture) is not None:
            yield operation, matrix.ORDERS, f"*result = {{ref}}.{operation}(value, {{order}});"
    for operation, ptx in matrix.REDUCE.items():
        if kind.instruction(ptx, architecture) is not None:
            yield operation, matrix.REDUCTION_ORDERS, f"{{ref}}.{operation}(value, {{order}});"
    if kind.elements == 1 and (kind.bits < 128 or architecture >= 90):
        yield "compare_exchange", matrix.ORDERS, "T e = *result; {ref}.compare_exchange(e, value, {order}, {failure}); *result = e;"
        yield "fetch_update", matrix.ORDERS, "*result = {ref}.fetch_update([=](T) {{ return value; }}, {order});"


def kernels(architecture, library, scopes, places, orders, types):
    """Yields (name, order, scope, text)."""
    ref, spelled = LIBRARIES[library]
    for key in types:
        kind = matrix.TYPES[key]
        if architecture < kind.minimum:
            continue
        for operation, possible, call in calls(kind, architecture):
            if library == "cuda":
                if operation not in CUDA_OPERATIONS or kind.bits < 32 and operation.startswith("fetch"):
                    continue
                call = call.replace("compare_exchange", "compare_exchange_strong")
            for order in possible:
                for scope in scopes:
                    if order not in orders or scope == "cluster" and (architecture < 90 or library == "cuda"):
                        continue
                    for place in places:
                        if place == "cluster" and architecture < 90 or place in ("shared", "cluster") and kind.elements > 1:
                            continue
                        name = f"{operation}_{order}_{scope}_{key}_{place}"
                        failure = spelled.format("relaxed")
                        body = call.format(ref=ref.format(scope=scope), order=spelled.format(order), failure=failure)
                        parameters = re.sub(r"\bT\b", kind.cpp, PARAMETERS)
                        yield name, order, scope, (
                            f'extern "C" __global__ void {name}({parameters}) {{ using T = {kind.cpp}; {OBJECT[place]} '
                            f"T* result = results + threadIdx.x; const T value = values[threadIdx.x]; "
                            f"__stcs(data + threadIdx.x, uint4{{1, 2, 3, 4}}); {body} seen[threadIdx.x] = __ldcs(other + threadIdx.x); }}")


# An instruction in the listing: its guard, its opcode with modifiers, and its operands.
INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*);")
LABEL = re.compile(r"^(\.L_x?_?\w+|\.L_\w+|\$[\w$]+):")
FUNCTION = re.compile(r"^\.text\.(\w+):")
TARGET = re.compile(r"`\((\.L_\w+|\$[\w$]+)\)")
READS = re.compile(r"^(ATOM|ATOMG|ATOMS|LDS|LD|LDG)\b(?!.*\.EF)")
WRITES = re.compile(r"^(ATOM|ATOMG|ATOMS|RED|REDG|REDS|REDAS|STS|ST)\b(?!.*\.EF)")


def read_listing(text):
    """Returns the instructions of each function as (guard, opcode, operands), and the position of each label."""
    functions, current, labels = {}, None, {}
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            current, labels = [], {}
            functions[match.group(1)] = (current, labels)
        elif current is None:
            continue
        elif match := LABEL.match(line):
            labels[match.group(1)] = len(current)
        elif match := INSTRUCTION.match(line):
            current.append(match.groups())
    return functions


def successors(code, labels):
    """Returns for each instruction the positions that may follow it."""
    reconverge = collections.defaultdict(list)
    for guard, opcode, operands in code:
        if opcode.startswith("BSSY"):
            reconverge[operands.split(",")[0].strip()].append(labels[TARGET.search(operands).group(1)])
    # The listing of a kernel contains the functions that it calls, such as the loop for other blocks' shared memory, under a label with a
    # dollar sign.
    called = [at + 1 for at, (_, opcode, operands) in enumerate(code) if opcode.startswith("CALL") and "`($" in operands and "__cuda_" not in operands]
    begins = sorted((place, label) for label, place in labels.items() if label.startswith("$"))
    following = []
    for at, (guard, opcode, operands) in enumerate(code):
        head = opcode.split(".")[0]
        next_ones = [at + 1] if at + 1 < len(code) else []
        if head == "BRA":
            target = TARGET.search(operands)
            if not target:
                raise ValueError(f"a branch without a label: {operands}")
            # BRA.DIV: taken if lanes have diverged
            conditional = guard or ".DIV" in opcode or re.search(r"\bU?P\d", operands.split("`")[0])
            next_ones = [labels[target.group(1)]] + (next_ones if conditional else [])
        elif head == "BSYNC":
            next_ones = reconverge[operands.strip()] + (next_ones if guard else [])
        elif head == "EXIT":
            next_ones = next_ones if guard else []
        elif head == "WARPSYNC" and (target := TARGET.search(operands)):
            next_ones = next_ones + [labels[target.group(1)]]
        elif head == "CALL" and "__cuda_" in operands:  # A function that the compiler adds and that does not access memory.
            pass
        elif head == "RET":
            inside = [label for place, label in begins if place <= at]
            next_ones = called if inside and "__cuda_" not in inside[-1] else []
        elif head == "CALL" and (target := TARGET.search(operands)):  # A jump within the function, which does not return.
            next_ones = [labels[target.group(1)]] + (next_ones if guard else [])
        elif head in ("CALL", "BRX", "JMP"):
            raise ValueError(f"unsupported control flow: {opcode} {operands}")
        following.append(next_ones)
    return following


def local_branch(code):
    """Returns the plain generic accesses that ptxas adds for local memory: LD or ST without STRONG, except in a loop with CAST."""
    casts = {re.search(r"\[(R\d+)", operands).group(1) for _, opcode, operands in code
             if opcode.startswith("ATOM.E.CAST") and re.search(r"\[(R\d+)", operands)}
    local = set()
    for at, (_, opcode, operands) in enumerate(code):
        if re.match(r"^(LD|ST)\.E\b", opcode) and "STRONG" not in opcode and ".EF" not in opcode:
            address = re.search(r"\[(R\d+)", operands)
            in_loop = opcode.startswith("LD") and "desc" not in operands and address and address.group(1) in casts
            if not in_loop:
                local.add(at)
    return local


def fault(name, code, labels, order, scope):
    """Returns the error in a kernel, or None."""
    acquires = order in ACQUIRES and not name.startswith("store")
    following, local = successors(code, labels), local_branch(code)
    # The open obligations at a position: "data" means that data has been stored but not yet released; each listed read, with its guard, has
    # not been acquired yet.
    states = {0: frozenset()}
    pending = [0]
    seen = {"read": False, "write": False, "data": False, "load": False}
    while pending:
        at = pending.pop()
        guard, opcode, operands = code[at]
        state = set(states[at])
        if opcode.startswith("STG") and ".EF" in opcode:
            state.add("data")
            seen["data"] = True
        elif opcode.startswith("LDG") and ".EF" in opcode:
            seen["load"] = True
            if acquires and any(s != "data" for s in state):
                return "the data is loaded before an earlier read of the object has been acquired"
        elif opcode.startswith("CCTL.IVALL"):
            state = {s for s in state if s == "data" or guard not in (None, s)}
        elif opcode.startswith("MEMBAR") and not guard:
            if opcode.split(".")[2] in BARRIER_SCOPES[scope] and (order != "seq_cst" or opcode.split(".")[1] == "SC"):
                state.discard("data")
        elif opcode.startswith("MEMBAR"):
            raise ValueError("a MEMBAR with a guard")
        elif at not in local:
            if WRITES.match(opcode):
                seen["write"] = True
                if order in RELEASES and "data" in state:
                    return f"{opcode} writes the object before the earlier data has been released"
            if READS.match(opcode) and "STRONG" in opcode or re.match(r"^(ATOMS?|LDS|LD\.E)\b", opcode):
                seen["read"] = True
                state.add(guard or "always")
        for next_one in following[at]:
            merged = states.get(next_one, frozenset()) | state
            if next_one not in states or merged != states[next_one]:
                states[next_one] = merged
                pending.append(next_one)
    if not (seen["data"] and seen["load"]):
        return "the kernel's own store or load was not found"
    if not (seen["read"] or seen["write"]):
        return "no access to the object was found"
    return None


def check(wanted, source, architecture, nvcc, disassembler):
    """Compiles the kernels. Returns a list of (name, what is wrong)."""
    cubin = source.with_suffix(".cubin")
    run([*nvcc, "-cubin", f"-arch=sm_{architecture}", "-o", cubin, source])
    done = subprocess.run([disassembler, "-c", cubin], capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        sys.exit(2)
    functions = read_listing(done.stdout)
    cubin.unlink()
    wrong = []
    for name, (order, scope) in wanted.items():
        if name not in functions:
            wrong.append((name, "there is no such kernel"))
        elif what := fault(name, *functions[name], order, scope):
            wrong.append((name, what))
    return wrong


def generate(arguments, source):
    """Writes the kernels, and returns {name: (order, scope)}."""
    types = [t for t in arguments.types if arguments.library == "membar" or t in CUDA_TYPES]
    cases = list(kernels(arguments.architecture, arguments.library, arguments.scopes, arguments.places, arguments.orders, types))
    source.write_text(matrix.PREAMBLE + "#include <cuda/atomic>\n" + "\n".join(text for *_, text in cases) + "\n")
    return {name: (order, scope) for name, order, scope, _ in cases}


def mutants_missed(arguments, source, nvcc):
    """Returns the number of mutants for which no wrong kernel was found."""
    own = next((o for o in nvcc if o.startswith("-I") and pathlib.Path(o[2:], "membar").is_dir()), None)
    if own is None:
        raise SystemExit("machine_code.py: the compiler's command names no -I<folder> of membar's headers")
    copy = arguments.folder / "mutated"
    shutil.copytree(own[2:], copy, dirs_exist_ok=True)
    command = [f"-I{copy}" if option == own else option for option in nvcc]
    arguments.orders, arguments.scopes, missed = ["release", "acq_rel"], ["device"], 0
    for what, header, old, new, kind, place in MUTANTS:
        path = copy / "membar" / header
        right = path.read_text()
        if right.count(old) != 1:
            raise SystemExit(f"machine_code.py: {header} does not have exactly one place to break so that {what}")
        path.write_text(right.replace(old, new))
        arguments.types, arguments.places = [kind], [place]
        wrong = check(generate(arguments, source), source, arguments.architecture, command, arguments.disassembler)
        path.write_text(right)
        print(f"{what}: {len(wrong)} kernels found wrong" + (f", the first: {wrong[0][0]}" if wrong else ""))
        missed += not wrong
    return missed


def some_of(every, text):
    """Splits a comma-separated list of names, each of which must be known."""
    names = text.split(",")
    if unknown := [name for name in names if name not in every]:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is not one of {', '.join(every)}")
    return names


def main():
    options, nvcc, _ = split_arguments()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--disassembler", default="nvdisasm")
    parser.add_argument("--architecture", type=int, default=90)
    parser.add_argument("--library", choices=LIBRARIES, default="membar")
    parser.add_argument("--mutants", action="store_true")
    for name, every in (("scopes", SCOPES), ("places", PLACES), ("orders", matrix.ORDERS), ("types", list(matrix.TYPES))):
        parser.add_argument(f"--{name}", type=functools.partial(some_of, every), default=every)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args(options)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    what = "mutants" if arguments.mutants else arguments.library
    source = arguments.folder / f"machine_code_{what}_sm_{arguments.architecture}.cu"
    if arguments.mutants:
        missed = mutants_missed(arguments, source, nvcc)
        print(f"{len(MUTANTS)} mutants, {missed} not found")
        sys.exit(1 if missed else 0)
    wanted = generate(arguments, source)
    wrong = check(wanted, source, arguments.architecture, nvcc, arguments.disassembler)
    for name, reason in wrong:
        print(f"{name}: {reason}")
    print(f"sm_{arguments.architecture}: {len(wanted)} kernels of {arguments.library}, {len(wrong)} not as required")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
