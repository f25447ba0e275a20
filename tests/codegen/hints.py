#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the codegen matrix of hints: every legal combination of order, scope, width and cache hints of a load or a store.

usage: hints.py <folder>

The tables below restate the documentation comments of load_store.cuh, read_only.cuh, cache_hint.cuh and cache_control.cuh in PTX,
independently of the headers. Each kernel contains all combinations of hints for one kind of access. The checks require that
each access is the one expected instruction with its operands. CHECK-NOT lines between them reject any other access, fence,
branch or call.
"""

import itertools
import pathlib
import sys

from kernel_code import write_if_changed
from matrix import LOAD_ORDERS, SCOPES, STORE_ORDERS

# Bytes -> type of a weak access, PTX type, register letters, number of registers.
WEAK = {
    1: ("unsigned char", "b8", "rs", 1),
    2: ("unsigned short", "b16", "rs", 1),
    4: ("unsigned", "b32", "r", 1),
    8: ("unsigned long long", "b64", "rd", 1),
    16: ("uint4", "v4.b32", "r", 4),
}
WIDE = {32: ("eight", "v8.b32", "r", 8)}
ORDERED = {bytes_: row for bytes_, row in WEAK.items() if bytes_ < 16}
ORDERED[16] = ("ulonglong2", "b128", "rd", 2)

L1 = ["", "evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate"]
L2 = ["", "evict_normal", "evict_first", "evict_last"]
PREFETCH = ["", "64B", "128B", "256B"]
LOAD_OPERATORS = ["ca", "cg", "cs", "lu", "cv"]
STORE_OPERATORS = ["wb", "cg", "cs", "wt"]
READ_ONLY_OPERATORS = ["ca", "cg", "cs"]

NOTHING_ELSE = (
    r"// CHECK-NOT: {{[[:space:]](atom|red|fence|membar|bar|barrier|ld|st|bra|brx|call|createpolicy|prefetch|discard|"
    r"applypriority|cp|@%p[0-9]+)[[:space:].]}}"
)
SKIP = "{{[[:space:]]*}}"


class Source:
    """A generated file: its kernels, and the FileCheck lines for each."""

    def __init__(self, headers):
        self.lines = ["// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception", "// Written by tests/codegen/hints.py."]
        self.lines += [f"#include <membar/{header}>" for header in headers]
        self.lines += ["", "using namespace membar;", "struct alignas(32) eight { unsigned words[8]; };"]
        self.cases = 0

    def kernel(self, name, parameters, statements, checks):
        """Adds a kernel. `checks` contains the expected instructions of each statement."""
        self.lines += ["", f"// CHECK-LABEL: .entry {name}("]
        for index, parameter in enumerate(parameters):
            kind = f"ld.param.{{{{[bus]}}}}64 {SKIP}"
            self.lines += [NOTHING_ELSE, f"// CHECK: {kind}%{{{{rd[0-9]+}}}}, [{name}_param_{index}];"]
        for expected in itertools.chain.from_iterable(checks):
            self.lines += [NOTHING_ELSE, f"// CHECK: {expected}"]
        self.lines += [NOTHING_ELSE, "// CHECK: {{^[[:space:]]}}ret;"]
        self.lines += [f'extern "C" __global__ void {name}({", ".join(parameters)}) {{']
        self.lines += [f"  {statement}" for statement in statements]
        self.lines += ["}"]
        self.cases += len(statements)


POLICY = "const cache_policy<l2::evict_last> policy(1.0f);"
MADE = "createpolicy.fractional.L2::evict_last.b64 %[[POLICY:rd[0-9]+]], %{{f[0-9]+}};"


def hints_of(operators, prefetches, l2_priorities):
    """Yields each combination as (arguments, PTX before the policy, PTX after it): operator or L1 priority, L2 priority, policy, prefetch
    size."""
    first = [(f"l1::{l1}" if l1 else "", "", f".L1::{l1}" if l1 else "") for l1 in L1]
    first += [(f"cache_op::{operator}", f".{operator}", "") for operator in operators]
    for (argument, operator, l1), l2, policy, prefetch in itertools.product(first, l2_priorities, [False, True], prefetches):
        arguments = [argument] if argument else []
        arguments += [f"l2::{l2}"] if l2 else []
        arguments += ["policy"] if policy else []
        arguments += [f"prefetch_{prefetch}"] if prefetch else []
        text = l1 + (f".L2::{l2}" if l2 else "") + (".L2::cache_hint" if policy else "")
        text += f".L2::{prefetch}" if prefetch else ""
        yield arguments, operator, text, policy


def registers(letters, count, name):
    """Returns the value's registers as the instruction lists them, and the name of each."""
    if count == 1:
        return f"%[[{name}:{letters}[0-9]+]]", f"%[[{name}]]"
    parts = [f"%[[{name}{i}:{letters}[0-9]+]]" for i in range(count)]
    again = [f"%[[{name}{i}]]" for i in range(count)]
    return "{" + ",{{ *}}".join(parts) + "}", "{" + ",{{ *}}".join(again) + "}"


def plain(bytes_, ordered):
    """Returns the bits and vector size that nvcc uses to move plain objects."""
    kind = {1: "8", 2: "16", 4: "32", 8: "64", 16: "64" if ordered else "32", 32: "32"}[bytes_]
    return kind, {16: "v2." if ordered else "v4.", 32: "v8."}.get(bytes_, "")


def result_stores(bytes_, ordered, again):
    """Returns how nvcc stores the loaded value."""
    kind, vector = plain(bytes_, ordered)
    return [f"st.global.{vector}{{{{[bus]}}}}{kind} {SKIP}[%{{{{rd[0-9]+.*}}}}], {again};"]


def loading(opcode, value, operand, wide):
    """Returns a load into the value's registers. An ordered load of 16 bytes is `wide`: it uses one 128-bit register."""
    return f"{{ .reg .b128 q; {opcode} q, {operand}; mov.b128 {value}, q; }}" if wide else f"{opcode} {value}, {operand};"


def storing(opcode, again, hint, wide):
    address = "[%{{rd[0-9]+}}]"
    return (f"{{ .reg .b128 q; mov.b128 q, {again}; {opcode} {address}, q{hint}; }}" if wide
            else f"{opcode} {address}, {again}{hint};")


def value_load(bytes_, ordered, value):
    """Returns how nvcc loads the value that is stored."""
    kind, vector = plain(bytes_, ordered)
    return f"ld.global.{vector}{{{{[bus]}}}}{kind} {SKIP}{value}, [%{{{{rd[0-9]+}}}}];"


def with_order(arguments, index, order):
    """Returns the arguments with the order inserted among the hints; `index` selects the position."""
    given = list(arguments)
    if order is not None:
        given.insert(index % (len(given) + 1), order)
    return given


def add_accesses(source, name, widths, call, instruction, combinations, fence=None, order=None):
    """Adds one kernel per width of loads or stores. `instruction` begins with `ld` or `st`, and `call` is the function with
    its scope."""
    ordered, stores, nc = order is not None, instruction.startswith("st"), ".nc" if call == "load_read_only" else ""
    for bytes_, (cpp, ptx, letters, count) in widths.items():
        statements, checks = [POLICY], [[MADE]]
        value, again = registers(letters, count, "V")
        wide = ordered and bytes_ == 16
        if stores:
            statements.append("const auto value = *in;")
            checks.append([value_load(bytes_, ordered, value)])
        for index, (arguments, operator, text, policy) in enumerate(combinations):
            given = with_order(arguments, index, order)
            opcode = f"{instruction}{'.global' if arguments or nc else ''}{operator}{nc}{text}.{ptx}"
            hint = ", %[[POLICY]]" if policy else ""
            if stores:
                statements.append(f"{call}({', '.join([f'out + {index}', 'value'] + given)});")
                access = [storing(opcode, again, hint, wide)]
            else:
                statements.append(f"out[{index}] = {call}({', '.join([f'in + {index}'] + given)});")
                access = [loading(opcode, value, "[%{{rd[0-9]+}}]" + hint, wide)] + result_stores(bytes_, ordered, again)
            checks.append(([fence] if fence else []) + access)
        source.kernel(f"{name}_{bytes_}", [f"const {cpp}* in", f"{cpp}* out"], statements, checks)


def add_ordered(source, scope):
    ptx = SCOPES[scope]
    for call, orders, otherwise, prefetches in (("load", LOAD_ORDERS, "acquire", PREFETCH), ("store", STORE_ORDERS, "relaxed", [""])):
        for order in orders:
            own, fence = (otherwise, f"fence.sc.{ptx};") if order == "seq_cst" else (order, None)
            add_accesses(source, f"{call}_{order}_{scope}", ORDERED, f"{call}<thread_scope::{scope}>",
                         f"{'ld' if call == 'load' else 'st'}.{own}.{ptx}", list(hints_of([], prefetches, [""])), fence, order)


def add_without_order(source, widths, l2_priorities):
    for call, instruction, operators, prefetches in (("load_weak", "ld.weak", LOAD_OPERATORS, PREFETCH),
                                                     ("load_read_only", "ld", READ_ONLY_OPERATORS, PREFETCH),
                                                     ("store_weak", "st.weak", STORE_OPERATORS, [""])):
        add_accesses(source, call, widths, call, instruction, list(hints_of(operators, prefetches, l2_priorities)))


def add_single(source, name, parameters, statement, expected):
    source.kernel(name, parameters, [statement], [expected])


def add_policies(source):
    """Adds every createpolicy, and all mmio accesses."""
    primaries = ["evict_normal", "evict_unchanged", "evict_first", "evict_last"]
    for primary, secondary in itertools.product(primaries, ["evict_unchanged", "evict_first"]):
        text = f".L2::{primary}" + ("" if secondary == "evict_unchanged" else f".L2::{secondary}")
        used = ["ld.weak.global.L2::cache_hint.b32 %[[V:r[0-9]+]], [%{{rd[0-9]+}}], %[[POLICY]];",
                f"st.global.{{{{[bus]}}}}32 {SKIP}[%{{{{rd[0-9]+}}}}], %[[V]];"]
        add_single(source, f"policy_{primary}_{secondary}", ["const int* in", "int* out"],
                   f"*out = load_weak(in, cache_policy<l2::{primary}, l2::{secondary}>(0.25));",
                   ["mov.f32 " + SKIP + "%[[F:f[0-9]+]], 0f3E800000;",
                    f"createpolicy.fractional{text}.b64 %[[POLICY:rd[0-9]+]], %[[F]];", *used])
        add_single(source, f"range_{primary}_{secondary}", ["const int* in", "int* out"],
                   f"*out = load_weak(in, cache_policy_range<l2::{primary}, l2::{secondary}>(in, 4096, 8192));",
                   [f"createpolicy.range.global{text}.b64 %[[POLICY:rd[0-9]+]], [%{{{{rd[0-9]+}}}}], %{{{{r[0-9]+}}}}, "
                    "%{{r[0-9]+}};", *used])
    for bytes_, (cpp, ptx, letters, count) in ORDERED.items():
        value, again = registers(letters, count, "V")
        parameters = [f"const {cpp}* in", f"{cpp}* out"]
        add_single(source, f"load_mmio_{bytes_}", parameters, "*out = load<thread_scope::system>(in, mmio);",
                   [loading(f"ld.mmio.relaxed.sys.{ptx}", value, "[%{{rd[0-9]+}}]", bytes_ == 16), *result_stores(bytes_, True, again)])
        add_single(source, f"store_mmio_{bytes_}", parameters, "store<thread_scope::system>(out, *in, mmio);",
                   [value_load(bytes_, True, value), storing(f"st.mmio.relaxed.sys.{ptx}", again, "", bytes_ == 16)])
    add_single(source, "policy_converted", ["const unsigned long long* in", "const int* from", "int* out"],
               "*out = load_weak(from, converted_policy(*in));",
               ["ld.global.{{[bu]}}64 " + SKIP + "%[[P:rd[0-9]+]], [%{{rd[0-9]+}}];", "createpolicy.cvt.L2.b64 %[[POLICY:rd[0-9]+]], %[[P]];",
                "ld.weak.global.L2::cache_hint.b32 %[[V:r[0-9]+]], [%{{rd[0-9]+}}], %[[POLICY]];",
                f"st.global.{{{{[bus]}}}}32 {SKIP}[%{{{{rd[0-9]+}}}}], %[[V]];"])
    for name, statement, expected in [
        ("prefetch_l1_", "prefetch_l1(in);", "prefetch.global.L1 [%{{rd[0-9]+}}];"),
        ("prefetch_l2_", "prefetch_l2(in);", "prefetch.global.L2 [%{{rd[0-9]+}}];"),
        ("prefetch_last", "prefetch_l2(in, l2::evict_last);", "prefetch.global.L2::evict_last [%{{rd[0-9]+}}];"),
        ("prefetch_normal", "prefetch_l2(in, l2::evict_normal);", "prefetch.global.L2::evict_normal [%{{rd[0-9]+}}];"),
        ("apply", "apply_priority(in, l2::evict_normal);", "applypriority.global.L2::evict_normal [%{{rd[0-9]+}}], 128;"),
        ("discard_", "discard_l2(in);", "discard.global.L2 [%{{rd[0-9]+}}], 128;"),
    ]:
        add_single(source, name, ["int* in"], statement, [expected])


def add_bulk(source):
    add_single(source, "prefetch_map", ["int* in"], "prefetch_tensor_map(in);", ["prefetch.tensormap [%{{rd[0-9]+}}];"])
    add_single(source, "bulk", ["int* in"], "bulk_prefetch_l2(in, 4096);",
               ["cp.async.bulk.prefetch.L2.global [%{{rd[0-9]+}}], %{{r[0-9]+}};"])
    add_single(source, "bulk_checked", ["int* in"], "bulk_prefetch_l2<256>(in);",
               ["cp.async.bulk.prefetch.L2.global [%{{rd[0-9]+}}], %{{r[0-9]+}};"])
    source.kernel("bulk_policy", ["int* in"], [POLICY, "bulk_prefetch_l2(in, 4096, policy);"],
                  [[MADE], ["cp.async.bulk.prefetch.L2.global.L2::cache_hint [%{{rd[0-9]+}}], %{{r[0-9]+}}, %[[POLICY]];"]])


def sources():
    for scope in SCOPES:
        source = Source(["load_store.cuh"])
        add_ordered(source, scope)
        yield f"hints_{scope}.cu", source
    source = Source(["load_store.cuh", "read_only.cuh"])
    add_without_order(source, WEAK, [""])
    yield "hints_weak.cu", source
    source = Source(["load_store.cuh", "cache_control.cuh"])
    add_policies(source)
    yield "hints_control.cu", source
    source = Source(["cache_control.cuh"])
    add_bulk(source)
    yield "hints_control_sm_90.cu", source
    source = Source(["load_store.cuh", "read_only.cuh"])
    add_without_order(source, WIDE, L2)
    yield "hints_sm_100.cu", source


def main(folder):
    total = 0
    for name, source in sources():
        write_if_changed(folder / name, "\n".join(source.lines) + "\n")
        print(f"{name}: {source.cases} accesses")
        total += source.cases
    print(f"codegen matrix of hints: {total} accesses")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
