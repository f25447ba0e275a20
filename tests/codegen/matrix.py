#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the codegen matrix: one kernel per fence and per atomic operation x order x scope x type, each above the PTX it must be.

usage: matrix.py <folder>

The tables below restate the documentation comments of fence.cuh and atomic.cuh in PTX, independently of the headers. Every
kernel's check lists its whole body's memory instructions: parameters, the sequence, the store of the result. CHECK-NOT lines
between them refuse any other access, fence, branch or call.
"""

import pathlib
import sys

SCOPES = {"block": "cta", "cluster": "cluster", "device": "gpu", "system": "sys"}
TYPES = {"s32": "int", "u32": "unsigned", "s64": "long long", "u64": "unsigned long long"}

FENCE_ORDERS = {"acquire": "acquire", "release": "release", "acq_rel": "acq_rel", "seq_cst": "sc"}
PROXIES = {"alias": "alias"}
PROXIES_SM_90 = {
    "async": "async",
    "async_global": "async.global",
    "async_shared_block": "async.shared::cta",
    "async_shared_cluster": "async.shared::cluster",
}

LOAD_ORDERS = ["relaxed", "acquire", "seq_cst"]
STORE_ORDERS = ["relaxed", "release", "seq_cst"]
ORDERS = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"]

# What follows `atom.`: the operation, and the type that PTX gives it for each of ours.
BITS = {"s32": "b32", "u32": "b32", "s64": "b64", "u64": "b64"}
SUM = {"s32": "s32", "u32": "u32", "s64": "u64", "u64": "u64"}  # there is no add.s64, and wrapping needs none
SAME = {name: name for name in TYPES}
FETCH = {
    "exchange": ("exch", BITS),
    "fetch_add": ("add", SUM),
    "fetch_sub": ("add", SUM),  # of the negated value
    "fetch_and": ("and", BITS),
    "fetch_or": ("or", BITS),
    "fetch_xor": ("xor", BITS),
    "fetch_min": ("min", SAME),
    "fetch_max": ("max", SAME),
}

# The order of atom.cas, by success order (row) and failure order (column: relaxed, acquire, seq_cst). `sc` is fence.sc, acquire.
COMPARE_EXCHANGE = {
    "relaxed": ["relaxed", "acquire", "sc"],
    "acquire": ["acquire", "acquire", "sc"],
    "release": ["release", "acq_rel", "sc"],
    "acq_rel": ["acq_rel", "acq_rel", "sc"],
    "seq_cst": ["sc", "sc", "sc"],
}

# Anything that touches memory or orders it, or leaves the straight line. Parameters and the result's store are matched by name.
NOTHING_ELSE = r"// CHECK-NOT: {{[[:space:]](atom|red|fence|membar|bar|barrier|ld|st|bra|brx|call|@%p[0-9]+)[[:space:].]}}"


class Source:
    """One generated file: kernels, and the lines that FileCheck wants of each."""

    def __init__(self, header):
        self.lines = [
            "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
            "// Written by tests/codegen/matrix.py.",
            f"#include <membar/{header}>",
        ]
        self.cases = 0

    def kernel(self, name, parameters, body, checks):
        self.cases += 1
        self.lines += ["", f"// CHECK-LABEL: .entry {name}(", NOTHING_ELSE]
        for check in checks:
            self.lines += [f"// CHECK: {check}", NOTHING_ELSE]
        self.lines += ["// CHECK: {{^[[:space:]]}}ret;", f'extern "C" __global__ void {name}({parameters}) {{ {body} }}']


def parameter(name, index, width, variable):
    register = "rd" if width == 64 else "r"
    kind = f"{{{{[bus]}}}}{width}"
    return f"ld.param.{kind} {{{{[[:space:]]*}}}}%[[{variable}:{register}[0-9]+]], [{name}_param_{index}];"


def result(width, variable):
    return f"st.global.{{{{[bus]}}}}{width} {{{{[[:space:]]*}}}}[%{{{{rd[0-9]+}}}}], %[[{variable}]];"


def defined(width, variable):
    return f"%[[{variable}:{'rd' if width == 64 else 'r'}[0-9]+]]"


def ordered(order, scope, otherwise):
    """The fence before an operation, if any, and the order of the operation itself."""
    if order in ("seq_cst", "sc"):
        return [f"fence.sc.{scope};"], otherwise
    return [], order


def atom(operation, order, scope, kind):
    """Either position of the operation that PTX accepts: atom.add.relaxed.gpu and atom.relaxed.gpu.add are one instruction."""
    return f"atom.{{{{({operation}[.]{order}[.]{scope}|{order}[.]{scope}[.]{operation})}}}}.{kind}"


def add_atomics(source, scope, types, form, only=None):
    ptx_scope = SCOPES[scope]
    for kind in types:
        cpp = TYPES[kind]
        width = int(kind[1:])
        prefix, ref, pointer = {
            "ref": ("", f"membar::atomic_ref<{cpp}, membar::thread_scope::{scope}>(*object)", cpp),
            "owning": ("owning_", "object->ref()", f"membar::atomic<{cpp}, membar::thread_scope::{scope}>"),
        }[form]
        if form == "owning":
            ref = "(*object)"

        def orders_of(operation, orders):
            return orders if only is None else [o for o in orders if o in only]

        for order in orders_of("load", LOAD_ORDERS):
            name = f"{prefix}load_{order}_{scope}_{kind}"
            fence, own = ordered(order, ptx_scope, "acquire")
            source.kernel(
                name,
                f"{pointer}* object, {cpp}* result",
                f"*result = {ref}.load(membar::{order});",
                [parameter(name, 0, 64, "P"), parameter(name, 1, 64, "Q")]
                + fence
                + [f"ld.{own}.{ptx_scope}.b{width} {defined(width, 'OLD')},{{{{ *}}}}[%[[P]]];", result(width, "OLD")],
            )
        for order in orders_of("store", STORE_ORDERS):
            name = f"{prefix}store_{order}_{scope}_{kind}"
            fence, own = ordered(order, ptx_scope, "relaxed")
            source.kernel(
                name,
                f"{pointer}* object, {cpp} value",
                f"{ref}.store(value, membar::{order});",
                [parameter(name, 0, 64, "P"), parameter(name, 1, width, "V")]
                + fence
                + [f"st.{own}.{ptx_scope}.b{width} [%[[P]]],{{{{ *}}}}%[[V]];"],
            )
        for operation, (ptx_operation, ptx_types) in FETCH.items():
            for order in orders_of(operation, ORDERS):
                name = f"{prefix}{operation}_{order}_{scope}_{kind}"
                fence, own = ordered(order, ptx_scope, "acquire")
                value = "V"
                checks = [parameter(name, 0, 64, "P"), parameter(name, 1, width, "V"), parameter(name, 2, 64, "Q")]
                if operation == "fetch_sub":
                    checks += [f"neg.s{width} {{{{[[:space:]]*}}}}{defined(width, 'N')}, %[[V]];"]
                    value = "N"
                source.kernel(
                    name,
                    f"{pointer}* object, {cpp} value, {cpp}* result",
                    f"*result = {ref}.{operation}(value, membar::{order});",
                    checks
                    + fence
                    + [
                        f"{atom(ptx_operation, own, ptx_scope, ptx_types[kind])} {defined(width, 'OLD')},"
                        f"{{{{ *}}}}[%[[P]]],{{{{ *}}}}%[[{value}]];",
                        result(width, "OLD"),
                    ],
                )
        for success in orders_of("compare_exchange", ORDERS):
            for failure, covering in zip(LOAD_ORDERS, COMPARE_EXCHANGE[success]):
                if only is not None and failure not in only:
                    continue
                name = f"{prefix}compare_exchange_{success}_{failure}_{scope}_{kind}"
                fence, own = ordered(covering, ptx_scope, "acquire")
                register = "rd" if width == 64 else "r"
                source.kernel(
                    name,
                    f"{pointer}* object, {cpp} expected, {cpp} desired, {cpp}* old, bool* exchanged",
                    f"*exchanged = {ref}.compare_exchange(expected, desired, membar::{success}, membar::{failure}); "
                    "*old = expected;",
                    [
                        parameter(name, 0, 64, "P"),
                        parameter(name, 1, width, "E"),
                        parameter(name, 2, width, "D"),
                        parameter(name, 3, 64, "Q"),
                        parameter(name, 4, 64, "B"),
                    ]
                    + fence
                    + [
                        f"{atom('cas', own, ptx_scope, f'b{width}')} %[[OLD:{register}[0-9]+]],"
                        "{{ *}}[%[[P]]],{{ *}}%[[E]],{{ *}}%[[D]];",
                        "setp.eq.{{[bus]}}%d {{[[:space:]]*}}%%[[SAME:p[0-9]+]], %%[[OLD]], %%[[E]];" % width,
                        "st.global.{{[bus]}}8 {{[[:space:]]*}}[%{{rd[0-9]+}}], %{{rs[0-9]+}};",
                        result(width, "OLD"),
                    ],
                )


def add_fences(source, scopes, proxies):
    for scope in scopes:
        for order, ptx in FENCE_ORDERS.items():
            source.kernel(
                f"thread_fence_{order}_{scope}",
                "",
                f"membar::thread_fence<membar::thread_scope::{scope}>(membar::{order});",
                [f"{{{{^[[:space:]]}}}}fence.{ptx}.{SCOPES[scope]};"],
            )
    for proxy, ptx in proxies.items():
        source.kernel(
            f"proxy_fence_{proxy}",
            "",
            f"membar::proxy_fence<membar::proxy::{proxy}>();",
            [f"{{{{^[[:space:]]}}}}fence.proxy.{ptx};"],
        )


def sources():
    fences = Source("fence.cuh")
    add_fences(fences, ["block", "device", "system"], PROXIES)
    yield "fence.cu", fences
    fences = Source("fence.cuh")
    add_fences(fences, ["cluster"], PROXIES_SM_90)
    yield "fence_sm_90.cu", fences
    for scope in SCOPES:
        source = Source("atomic.cuh")
        add_atomics(source, scope, TYPES, "ref")
        # The owning form forwards to the reference: one type and one order of each operation show it.
        add_atomics(source, scope, ["s32"], "owning", only=["seq_cst"])
        yield f"atomic_{scope}.cu", source


def main(folder):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    total = 0
    for name, source in sources():
        text = "\n".join(source.lines) + "\n"
        path = pathlib.Path(folder, name)
        if not path.exists() or path.read_text() != text:  # an unchanged file keeps its date
            path.write_text(text)
        print(f"{name}: {source.cases} kernels")
        total += source.cases
    print(f"codegen matrix: {total} kernels")


if __name__ == "__main__":
    main(sys.argv[1])
