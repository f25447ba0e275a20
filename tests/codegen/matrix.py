#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the codegen matrix: every fence, every mbarrier operation (asynchronous.py), and every atomic operation x order x scope x type,
each with the instructions that it must become.

usage: matrix.py [--sample] <folder>

The tables below restate the reference pages of fence.cuh and atomic.cuh in PTX, independently of the headers. For each part of the matrix,
the script writes three files: <part>.cu has one kernel per case that calls membar, <part>_by_hand.cu has a kernel of the same name in
inline PTX for each case that is not a loop, and <part>.json has the expected instructions. check_matrix.py compares them. With
--sample, each part with atomics contains every sixth case, starting with a different case in each part. Only the part for
device scope on sm_90 contains all cases.
"""

import json
import pathlib
import re
import sys

import asynchronous
from kernel_code import write_if_changed

SCOPES = {"block": "cta", "cluster": "cluster", "device": "gpu", "system": "sys"}
LOAD_ORDERS = ["relaxed", "acquire", "seq_cst"]
STORE_ORDERS = ["relaxed", "release", "seq_cst"]
REDUCTION_ORDERS = ["relaxed", "release"]
ORDERS = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"]

FENCE_ORDERS = {"acquire": "acquire", "release": "release", "acq_rel": "acq_rel", "seq_cst": "sc"}
PROXIES = {"alias": "alias"}
PROXIES_SM_90 = {
    "async": "async",
    "async_global": "async.global",
    "async_shared_block": "async.shared::cta",
    "async_shared_cluster": "async.shared::cluster",
}
FENCES_SM_90 = {
    "shared_fence(membar::acquire)": "fence.acquire.sync_restrict::shared::cluster.cluster",
    "shared_fence(membar::release)": "fence.release.sync_restrict::shared::cta.cluster",
    "shared_proxy_fence(membar::acquire)": "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
    "shared_proxy_fence(membar::release)": "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
    "mbarrier_init_fence()": "fence.mbarrier_init.release.cluster",
}

# The order of atom.cas by success order (row) and failure order (columns: relaxed, acquire, seq_cst). seq_cst becomes fence.sc and acquire.
COMPARE_EXCHANGE = {
    "relaxed": ["relaxed", "acquire", "seq_cst"],
    "acquire": ["acquire", "acquire", "seq_cst"],
    "release": ["release", "acq_rel", "seq_cst"],
    "acq_rel": ["acq_rel", "acq_rel", "seq_cst"],
    "seq_cst": ["seq_cst", "seq_cst", "seq_cst"],
}

# The fences around a loop, whose instructions are relaxed.
BEFORE = {"relaxed": [], "acquire": [], "release": ["release"], "acq_rel": ["release"], "seq_cst": ["sc"]}
AFTER = {"relaxed": [], "acquire": ["acquire"], "release": [], "acq_rel": ["acquire"], "seq_cst": ["acquire"]}

# fetch_sub adds the negated value.
FETCH = {"exchange": "exch", "fetch_add": "add", "fetch_sub": "add", "fetch_and": "and", "fetch_or": "or", "fetch_xor": "xor",
         "fetch_min": "min", "fetch_max": "max", "fetch_inc": "inc", "fetch_dec": "dec", "fetch_fminimum_num": "fminimum_num",
         "fetch_fmaximum_num": "fmaximum_num"}
REDUCE = {"add": "add", "sub": "add", "bit_and": "and", "bit_or": "or", "bit_xor": "xor", "min": "min", "max": "max", "inc": "inc",
          "dec": "dec"}
LOOP, TWO_WAY = "loop", "two-way"
RIVALS = "match.any.sync.b64"  # Determines which lanes of the warp update the same word.
ONE_SET = "match.any.sync.b32"  # Determines which of these lanes have not updated the word yet.
MOST = "redux.sync.max.u32"  # Determines the largest number of such lanes.
BIG = {8: "h", 16: "h", 32: "r", 64: "l", 128: "q"}


class Type:
    """A value type: its C++ name, its size, and the form of each operation: an instruction type, LOOP or TWO_WAY."""

    def __init__(self, cpp, bits, register=None, elements=1, minimum=80, **becomes):
        self.cpp, self.bits, self.elements, self.minimum = cpp, bits, elements, minimum
        self.register = register or BIG[bits]
        self.becomes = becomes

    def instruction(self, operation, architecture):
        """Returns what `operation` (exch, add, ...) becomes on `architecture`, or None if it does not compile there."""
        what = self.becomes.get(operation)
        if isinstance(what, tuple):  # (instruction type, first architecture that has it, its substitute on older ones)
            what = what[0] if architecture >= what[1] else what[2]
        return what


def integer(cpp, sign, bits):
    add = f"{sign}32" if bits == 32 else "u64"  # PTX has no atomic add.s64, and wrapping addition does not need one.
    untyped = dict.fromkeys(["exch", "and", "or", "xor"], f"b{bits}")
    own = dict.fromkeys(["min", "max"], f"{sign}{bits}")
    wrapping = {} if sign == "s" else dict.fromkeys(["inc", "dec"], "u32" if bits == 32 else LOOP)
    return Type(cpp, bits, add=add, **untyped, **own, **wrapping)


def small_integer(cpp, sign, bits):
    operations = ["exch", "add", "and", "or", "xor", "min", "max"] + (["inc", "dec"] if sign == "u" else [])
    return Type(cpp, bits, **dict.fromkeys(operations, LOOP))


def wide_integer(cpp, sign):
    loops = ["add", "and", "or", "xor", "min", "max"] + (["inc", "dec"] if sign == "u" else [])
    return Type(cpp, 128, exch=("b128", 90, None), **dict.fromkeys(loops, (LOOP, 90, None)))


def vector(element, cpp, size, bits):
    operations = ["add"] if element == "f32" else ["add", "min", "max"]
    form = f"v{size}.{element}" if element == "f32" else f"noftz.v{size}.{element}"
    whole = f"b{bits * size}"
    return Type(f"membar::vec<{cpp}, {size}>", bits * size, BIG[bits], size, 90, exch=whole, **dict.fromkeys(operations, form))


TYPES = {
    "s32": integer("int", "s", 32),
    "u32": integer("unsigned", "u", 32),
    "s64": integer("long long", "s", 64),
    "u64": integer("unsigned long long", "u", 64),
    "f32": Type("float", 32, exch="b32", add="f32", min=TWO_WAY, max=TWO_WAY, fminimum_num=LOOP, fmaximum_num=LOOP),
    "f64": Type("double", 64, exch="b64", add="f64", min=TWO_WAY, max=TWO_WAY, fminimum_num=LOOP, fmaximum_num=LOOP),
    "f16": Type("__half", 16, exch=LOOP, add=LOOP, min=LOOP, max=LOOP),
    "bf16": Type("__nv_bfloat16", 16, exch=LOOP, add=LOOP, min=LOOP, max=LOOP),
    "f16x2": Type("__half2", 32, exch="b32", add="noftz.f16x2", min=LOOP, max=LOOP),
    "bf16x2": Type("__nv_bfloat162", 32, exch="b32", add=("noftz.bf16x2", 90, LOOP), min=LOOP, max=LOOP),
    "s8": small_integer("signed char", "s", 8),
    "u8": small_integer("unsigned char", "u", 8),
    "s16": small_integer("short", "s", 16),
    "u16": small_integer("unsigned short", "u", 16),
    "s128": wide_integer("__int128", "s"),
    "u128": wide_integer("unsigned __int128", "u"),
    "bool": Type("bool", 8, exch=LOOP),
    "struct4": Type("struct4", 32, exch="b32"),
    "struct16": Type("struct16", 128, exch=("b128", 90, None)),
    "v2f32": vector("f32", "float", 2, 32),
    "v4f32": vector("f32", "float", 4, 32),
    **{f"v{n}f16": vector("f16", "__half", n, 16) for n in (2, 4, 8)},
    **{f"v{n}bf16": vector("bf16", "__nv_bfloat16", n, 16) for n in (2, 4, 8)},
}
EVERY_PAIR_OF_ORDERS = ["u32", "s64"]  # Only for compare_exchange; the failure order of the other operations is relaxed.

PREAMBLE = """// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Written by tests/codegen/matrix.py.
#include <membar/aggregated.cuh>
#include <membar/cache_hint.cuh>
#include <membar/fence.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct struct4 {
  short a, b;
};
struct struct16 {
  double a;
  int b, c;
};
template <class To, class From>
__device__ To bits(const From& from) {
  To to;
  memcpy(static_cast<void*>(&to), &from, sizeof to);
  return to;
}
"""

# The instructions of a loop do not show the function that it computes.
APPLIED = """
using membar::detail::applied;
using membar::detail::atom_op;
static_assert(applied<atom_op::exchange>(12, 10) == 10);
static_assert(applied<atom_op::add>(12, 10) == 22 && applied<atom_op::add>(1.5F, 2.0F) == 3.5F);
static_assert(applied<atom_op::bitwise_and>(12, 10) == 8);
static_assert(applied<atom_op::bitwise_or>(12, 10) == 14);
static_assert(applied<atom_op::bitwise_xor>(12, 10) == 6);
static_assert(applied<atom_op::min>(12, 10) == 10 && applied<atom_op::min>(-1, 1) == -1);
static_assert(applied<atom_op::max>(12, 10) == 12 && applied<atom_op::max>(-1, 1) == 1);
static_assert(applied<atom_op::min>(-1.0F, -2.0F) == -2.0F && applied<atom_op::min>(-1.0F, 2.0F) == -1.0F);
static_assert(applied<atom_op::max>(-1.0F, -2.0F) == -1.0F && applied<atom_op::max>(-1.0F, 2.0F) == 2.0F);
using membar::detail::extreme_number;
static_assert(extreme_number<atom_op::min, float>(0x3f800000, 0x40000000) == 0x3f800000);
static_assert(extreme_number<atom_op::max, float>(0x3f800000, 0x40000000) == 0x40000000);
static_assert(applied<atom_op::inc>(3U, 3U) == 0 && applied<atom_op::inc>(2U, 3U) == 3);
static_assert(applied<atom_op::dec>(0U, 3U) == 3 && applied<atom_op::dec>(2U, 3U) == 1 && applied<atom_op::dec>(4U, 3U) == 3);
"""


SAMPLED = 6  # A sample has one out of this many cases.


class Part:
    """One part of the matrix for one architecture: its kernels, the hand-written kernels, and the expected instructions."""

    def __init__(self, name, architecture, preamble=None, sample=None):
        self.name, self.architecture, self.preamble = name, architecture, preamble
        self.sample, self.seen = sample, 0  # `sample` specifies which of the SAMPLED cases are kept; None keeps all of them.
        self.kernels, self.by_hand, self.expected = [], [], {}

    def of_architecture(self, text):
        """Returns the PTX with the fences that the architecture supports: one-directional fences require sm_90."""
        return text if self.architecture >= 90 else re.sub(r"fence\.(?:acquire|release)\.", "fence.acq_rel.", text)

    def kernel(self, name, parameters, body, instructions, by_hand=None, looped=False, variable=""):
        """Adds a case if it is in the sample. Each of its results is a plain store. `variable` is declared before the call."""
        self.seen += 1
        if self.sample is not None and self.seen % SAMPLED != self.sample:
            return
        instructions = json.loads(self.of_architecture(json.dumps(instructions)))
        head = f'extern "C" __global__ void {name}({parameters})'
        if variable:  # The variable is in both files, because the code contains its offset.
            self.kernels.append(variable)
            self.by_hand.append(variable)
        self.kernels.append(f"{head} {{ {body} }}")
        if by_hand is not None:
            self.by_hand.append(f"{head} {{ {self.of_architecture(by_hand)} }}")
        stores = len(re.findall(r"\* (?:result|before|exchanged)\b", parameters))
        self.expected[name] = {"instructions": instructions, "stores": stores, "looped": looped, "by_hand": by_hand is not None}

    def write(self, folder):
        write_if_changed(folder / f"{self.name}.cu", (self.preamble or PREAMBLE + APPLIED) + "\n" + "\n".join(self.kernels) + "\n")
        write_if_changed(folder / f"{self.name}_by_hand.cu", (self.preamble or PREAMBLE) + "\n" + "\n".join(self.by_hand) + "\n")
        write_if_changed(folder / f"{self.name}.json",
                         json.dumps({"architecture": self.architecture, "cases": self.expected}, indent=1) + "\n")


def with_fence(order, scope, otherwise):
    """Returns the fence before an instruction, if any, and the order of the instruction itself."""
    return ([f"fence.sc.{scope}"], otherwise) if order == "seq_cst" else ([], order)


def fetch(order, scope, operation, what, bits, architecture):
    """Returns the fences before an instruction that returns the old value, its order, its state space if it is known to be
    global, and the fences after it. For shared memory, ptxas may expand some of these instructions into a loop and perform
    the instruction's own acquire before the loop, which is too early."""
    fences, own = with_fence(order, scope, "acquire")
    rereads = operation != "exch" and (bits == 64 or operation == "add" and "f" in what)
    if rereads and AFTER[order] and scope != "cta" and architecture < 90:
        return fences, own, ".global", []  # The kernels' objects are known to be in global memory.
    if rereads and AFTER[order] and scope != "cta":
        return fences, "release" if order == "acq_rel" else "relaxed", "", [f"fence.acquire.{scope}"]
    return fences, own, ".global" if order == "relaxed" and operation != "exch" else "", []


def around_loop(order, scope, inside):
    return [f"fence.{f}.{scope}" for f in BEFORE[order]] + inside + [f"fence.{f}.{scope}" for f in AFTER[order]]


def update_loop(order, scope, bits):
    """Returns the instructions of an update by a loop: a first load, each lane's own attempts, and the attempts of one lane on
    behalf of all lanes that update the same word. Warp barriers and fences are outside of the attempts, and order the accesses of
    all of these lanes."""
    attempt = f"atom.relaxed.{scope}.cas.b{bits}"
    merged = ["bar.warp.sync", *around_loop(order, scope, [ONE_SET, MOST, attempt]), "bar.warp.sync"]
    return around_loop(order, scope, [f"ld.relaxed.{scope}.b{bits}", attempt, RIVALS, *merged])


def asm(text, outputs="", inputs=""):
    return f'asm volatile("{text};" : {outputs} : {inputs} : "memory");'


def asm_fences(fences):
    return " ".join(asm(fence) for fence in fences)


REGISTER = {"h": "unsigned short", "r": "unsigned", "l": "unsigned long long", "q": "unsigned __int128"}


def address_of(instruction):
    for space in ("global", "shared"):
        if f".{space}." in instruction:
            return f"__cvta_generic_to_{space}(object)"
    return "object"


def by_hand(kind, instruction, fences, result, value="value", after=(), policy=False):
    """Returns the body of a kernel that converts the parameters to registers, executes one instruction, and stores the result. The
    elements of a vector are separate operands."""
    letter, n = kind.register, kind.elements
    register = REGISTER[letter]
    bits = register if n > 1 or kind.bits >= 16 else "unsigned char"
    every = [""] if n == 1 else range(n)
    olds = ["old"] if n == 1 else [f"o{i}" for i in every]
    given = {} if value is None else {f"v{i}": value if n == 1 else f"{value}[{i}]" for i in every}

    def operand(first):
        return f"%{first}" if n == 1 else "{" + ", ".join(f"%{first + i}" for i in every) + "}"

    address = n if result else 0
    text = (f"{operand(0)}, " if result else "") + f"[%{address}]" + (f", {operand(address + 1)}" if given else "")
    text += f", %{address + 1 + len(given)}" if policy else ""
    outputs = ", ".join(f'"={letter}"({old})' for old in olds) if result else ""
    inputs = ", ".join([f'"l"({address_of(instruction)})'] + [f'"{letter}"({name})' for name in given] + ['"l"(policy)'] * policy)
    lines = [f"const {register} {name} = bits<{bits}>({what});" for name, what in given.items()]
    lines += [f"{register} {', '.join(olds)};"] if result else []
    lines += [asm_fences(fences), asm(f"{instruction} {text}", outputs, inputs), asm_fences(after)]
    if result and n == 1:
        lines.append(f"*result = bits<{kind.cpp}>(static_cast<{bits}>(old));")
    elif result:
        element = kind.cpp.split("<")[1].split(",")[0]
        lines += [f"{kind.cpp} all;", *(f"all[{i}] = bits<{element}>(o{i});" for i in every), "*result = all;"]
    return " ".join(lines)


def negated(kind):
    return None if kind.elements > 1 else "-value"


def opposite(operation):
    return {"min": "max", "max": "min"}[operation]


def add_operation(part, name, kind, call, order, scope, operation, head, result):
    """Adds a fetch (head atom) or a reduction (head red) on an object that the compiler knows to be in global memory."""
    what = kind.instruction(operation, part.architecture)
    if what is None:
        return
    parameters = f"{kind.cpp}* object, {kind.cpp} value" + (f", {kind.cpp}* result" if result else "")
    fences, own, space, after = fetch(order, scope, operation, what, kind.bits, part.architecture) if result else ([], order, ".global", [])
    if kind.elements > 1 and operation != "exch":
        fences, own = with_fence(order, scope, "acquire")
        space, after = ".global", []
    body = f"*result = {call};" if result else f"{call};"
    if what == LOOP:
        part.kernel(name, parameters, body, update_loop(order, scope, max(kind.bits, 32)), looped=True)
    elif what == TWO_WAY:
        signed = f"{head}.{own}.{scope}{space}.{operation}.s{kind.bits}"
        unsigned = f"{head}.{own}.{scope}{space}.{opposite(operation)}.u{kind.bits}"
        letter, register = kind.register, REGISTER[kind.register]
        integer_type = {32: "int", 64: "long long"}[kind.bits]
        operands, output = ("%0, [%1], %2", f'"={letter}"(old)') if result else ("[%0], %1", "")
        one, two = (asm(f"{i} {operands}", output, f'"l"({address_of(i)}), "{letter}"(v)') for i in (signed, unsigned))
        hand = (f"const {register} v = bits<{register}>(value); {asm_fences(fences)} {f'{register} old;' if result else ''} "
                f"if (static_cast<{integer_type}>(v) >= 0) {{ {one} }} else {{ {two} }} {asm_fences(after)} "
                + (f"*result = bits<{kind.cpp}>(old);" if result else ""))
        # The compiler chooses which of the two comes first in the PTX.
        part.kernel(name, parameters, body, fences + [[signed, unsigned]] + after, hand)
    else:
        instruction = f"{head}.{own}.{scope}{space}.{operation}.{what}"
        value = "value"
        if name.startswith(("fetch_sub", "sub")):
            value = f"static_cast<{kind.cpp}>(0 - value)" if kind.becomes["add"] in ("u64", "s32", "u32") else negated(kind)
        if kind.elements > 1 and operation == "exch":  # The order applies to the whole vector, but by hand there are separate elements.
            value = None
        hand = None if value is None else by_hand(kind, instruction, fences, result, value, after)
        part.kernel(name, parameters, body, fences + [instruction] + after, hand)


def add_policies(part, scope, types, keep=lambda case: True):
    """Adds read-modify-writes with an L2 policy: one instruction in global memory, for which the instruction's own order is
    sufficient."""
    s = SCOPES[scope]
    for key in types:
        kind = TYPES[key]
        if part.architecture < kind.minimum:
            continue
        ref = f"membar::atomic_ref<{kind.cpp}, membar::thread_scope::{scope}>(*object)"
        for operations, orders, head in ((FETCH, ORDERS, "atom"), (REDUCE, REDUCTION_ORDERS, "red")):
            for operation, ptx in operations.items():
                what = kind.instruction(ptx, part.architecture)
                for order in orders if what not in (None, LOOP) else []:
                    if not keep((f"policy_{operation}", order, scope, key)):
                        continue
                    result = head == "atom"
                    fences, own = with_fence(order, s, "acquire")
                    start, end = f"{head}.{own}.{s}.global.", ".L2::cache_hint."
                    call = f"{ref}.{operation}(value, membar::{order}, membar::l2_policy(policy));"
                    parameters = f"{kind.cpp}* object, {kind.cpp} value, unsigned long long policy" + (f", {kind.cpp}* result" if result else "")
                    instruction, hand = f"{start}{ptx}{end}{what}", None
                    if what == TWO_WAY:
                        instruction = [f"{start}{ptx}{end}s{kind.bits}", f"{start}{opposite(ptx)}{end}u{kind.bits}"]
                    elif operation not in ("fetch_sub", "sub") and (kind.elements == 1 or ptx != "exch"):
                        hand = by_hand(kind, instruction, fences, result, policy=True)
                    part.kernel(f"policy_{operation}_{order}_{scope}_{key}", parameters, f"{'*result = ' if result else ''}{call}",
                                fences + [instruction], hand)


def add_atomics(part, scope, types, keep=lambda case: True):
    s = SCOPES[scope]
    for key in types:
        kind = TYPES[key]
        if part.architecture < kind.minimum:
            continue
        ref = f"membar::atomic_ref<{kind.cpp}, membar::thread_scope::{scope}>(*object)"
        pointer = f"{kind.cpp}* object"

        def wanted(operation, order):
            return keep((operation, order, scope, key))

        for order in LOAD_ORDERS if kind.elements == 1 else []:
            if wanted("load", order):
                fences, own = with_fence(order, s, "acquire")
                instruction = f"ld.{own}.{s}.b{kind.bits}"
                part.kernel(f"load_{order}_{scope}_{key}", f"{pointer}, {kind.cpp}* result", f"*result = {ref}.load(membar::{order});",
                            fences + [instruction], by_hand(kind, instruction, fences, True, None))
            if wanted("wait", order):
                part.kernel(f"wait_{order}_{scope}_{key}", f"{pointer}, {kind.cpp} value", f"{ref}.wait(value, membar::{order});",
                            around_loop(order, s, [f"ld.relaxed.{s}.b{kind.bits}"]), looped=True)
        for order in STORE_ORDERS if kind.elements == 1 else []:
            if wanted("store", order):
                fences, own = with_fence(order, s, "relaxed")
                instruction = f"st.{own}.{s}.b{kind.bits}"
                part.kernel(f"store_{order}_{scope}_{key}", f"{pointer}, {kind.cpp} value", f"{ref}.store(value, membar::{order});",
                            fences + [instruction], by_hand(kind, instruction, fences, False))
        for operations, orders, head in ((FETCH, ORDERS, "atom"), (REDUCE, REDUCTION_ORDERS, "red")):
            for operation, ptx in operations.items():
                for order in orders:
                    if wanted(operation, order):
                        add_operation(part, f"{operation}_{order}_{scope}_{key}", kind, f"{ref}.{operation}(value, membar::{order})",
                                      order, s, ptx, head, head == "atom")
        if kind.elements > 1 or (kind.bits == 128 and part.architecture < 90):
            continue
        for order in ORDERS:
            if wanted("fetch_update", order):
                part.kernel(f"fetch_update_{order}_{scope}_{key}", f"{pointer}, {kind.cpp} value, {kind.cpp}* result",
                            f"*result = {ref}.fetch_update([=]({kind.cpp}) {{ return value; }}, membar::{order});",
                            update_loop(order, s, max(kind.bits, 32)), looped=True)
            for failure, covering in zip(LOAD_ORDERS, COMPARE_EXCHANGE[order]):
                if (failure == "relaxed" or key in EVERY_PAIR_OF_ORDERS) and wanted("compare_exchange", order):
                    add_compare_exchange(part, scope, key, ref, order, failure, covering)


def add_compare_exchange(part, scope, key, ref, order, failure, covering):
    kind, s = TYPES[key], SCOPES[scope]
    name = f"compare_exchange_{order}_{failure}_{scope}_{key}"
    parameters = f"{kind.cpp}* object, {kind.cpp} expected, {kind.cpp} desired, {kind.cpp}* before, bool* exchanged"
    body = f"*exchanged = {ref}.compare_exchange(expected, desired, membar::{order}, membar::{failure}); *before = expected;"
    if kind.bits < 32:
        look = [f"ld.relaxed.{s}.b32"]  # The order of the load before the fence, if the load need not be sequentially consistent.
        attempt = [f"atom.relaxed.{s}.cas.b32"]
        instructions = (around_loop(covering, s, look + attempt) if covering == "seq_cst"
                        else look + around_loop(covering, s, attempt))
        part.kernel(name, parameters, body, instructions, looped=True)
        return
    fences, own = with_fence(covering, s, "acquire")
    instruction = f"atom.{own}.{s}.cas.b{kind.bits}"
    letter, register = kind.register, REGISTER[kind.register]
    cas = asm(f"{instruction} %0, [%1], %2, %3", f'"={letter}"(o)', f'"l"({address_of(instruction)}), "{letter}"(e), "{letter}"(d)')
    hand = (f"const {register} e = bits<{register}>(expected), d = bits<{register}>(desired); {asm_fences(fences)} "
            f"{register} o; {cas} *exchanged = o == e; *before = bits<{kind.cpp}>(o);")
    part.kernel(name, parameters, body, fences + [instruction], hand)


def add_owning(part, scope):
    """Adds each member of the owning form once, because it forwards to the reference."""
    s = SCOPES[scope]
    u32 = TYPES["u32"]
    get, put, both = "unsigned* result", "unsigned value", "unsigned value, unsigned* result"
    rows = [("load", get, "*result = object->load(membar::acquire);", [f"ld.acquire.{s}.b32"]),
            ("store", put, "object->store(value, membar::release);", [f"st.release.{s}.b32"]),
            ("wait", put, "object->wait(value, membar::acquire);", [f"ld.relaxed.{s}.b32", f"fence.acquire.{s}"]),
            ("update", both, "*result = object->fetch_update([=](unsigned) { return value; }, membar::release);",
             update_loop("release", s, 32)),
            ("compare_exchange", "unsigned expected, unsigned value, bool* result",
             "*result = object->compare_exchange(expected, value, membar::release, membar::acquire);", [f"atom.acq_rel.{s}.cas.b32"])]
    for form in ("", "_weak", "_strong"):
        for order in ORDERS:  # On failure, the order of the operation is its success order without the release half.
            fences, own = with_fence(order, s, "acquire")
            rows.append((f"compare_exchange{form}_{order}", "unsigned expected, unsigned value, bool* result",
                         f"*result = object->compare_exchange{form}(expected, value, membar::{order});",
                         fences + [f"atom.{own}.{s}.cas.b32"]))
    rows.append(("load_const", get, f"const membar::atomic_ref<const unsigned, membar::thread_scope::{scope}> reader = object->ref(); "
                 "reader.wait(1, membar::relaxed); *result = reader.load(membar::acquire);", [f"ld.relaxed.{s}.b32", f"ld.acquire.{s}.b32"]))
    rows += [(operation, both, f"*result = object->{operation}(value, membar::acq_rel);",
              [f"atom.acq_rel.{s}.{ptx}.{u32.instruction(ptx, 90)}"]) for operation, ptx in FETCH.items() if ptx in u32.becomes]
    rows += [(operation, put, f"object->{operation}(value, membar::release);",
              [f"red.release.{s}.global.{ptx}.{u32.instruction(ptx, 90)}"]) for operation, ptx in REDUCE.items()]
    for name, parameters, body, instructions in rows:
        part.kernel(f"owning_{name}_{scope}", f"membar::atomic<unsigned, membar::thread_scope::{scope}>* object, {parameters}", body,
                    instructions, looped=name in ("wait", "update", "load_const"))


def add_pointers(part, scope):
    """Adds the operations on pointers: addition counts bytes, and the other operations are 64-bit operations."""
    s = SCOPES[scope]
    ref = f"membar::atomic_ref<int*, membar::thread_scope::{scope}>(*object)"
    for operation, sign in (("fetch_add", ""), ("fetch_sub", "-")):
        for order in ORDERS:
            fences, own, space, after = fetch(order, s, "add", "u64", 64, part.architecture)
            instruction = f"atom.{own}.{s}{space}.add.u64"
            part.kernel(f"pointer_{operation}_{order}_{scope}", "int** object, long value, int** result",
                        f"*result = {ref}.{operation}(value, membar::{order});", fences + [instruction] + after,
                        f"long old; const long bytes = {sign}value * 4; {asm_fences(fences)} "
                        + asm(f"{instruction} %0, [%1], %2", '"=l"(old)', f'"l"({address_of(instruction)}), "l"(bytes)')
                        + asm_fences(after) + " *result = bits<int*>(old);")
    for order in REDUCTION_ORDERS:
        part.kernel(f"pointer_add_{order}_{scope}", "int** object, long value", f"{ref}.add(value, membar::{order});",
                    [f"red.{order}.{s}.global.add.u64"])


IN_OWN_BLOCK, IN_CLUSTER = "isspacep.shared", "isspacep.shared::cluster"

# The operations that ptxas implements non-atomically in another block's shared memory (sm_90 and newer).
TORN = {"s64": ["and", "or", "xor", "min", "max"], "u64": ["and", "or", "xor", "min", "max"], "f64": ["min", "max"],
        "f16x2": ["add"], "bf16x2": ["add"]}


def add_places(part, scope, every_order=False):
    """Adds operations on an object whose location the compiler does not know, and on one whose location it knows. In the
    first case, the code contains a loop next to the instruction if the instruction is not atomic in another block's shared
    memory; a reduction and a relaxed fetch have a form for global memory, and a reduction also has a form for this block's
    shared memory. In the second case, there is only one of these forms."""
    s = SCOPES[scope]

    def instructions(head, own, space, operation, what, bits):
        if what == TWO_WAY:
            return [f"{head}.{own}.{s}{space}.{operation}.s{bits}", f"{head}.{own}.{s}{space}.{opposite(operation)}.u{bits}"]
        return [f"{head}.{own}.{s}{space}.{operation}.{what}"]

    for key, kind in TYPES.items():
        for operations, orders, head in ((FETCH, ORDERS, "atom"), (REDUCE, REDUCTION_ORDERS, "red")):
            for operation, ptx in operations.items():
                what = kind.instruction(ptx, part.architecture)
                if what is None or what == LOOP or kind.elements > 1 or kind.bits == 128:
                    continue
                result = head == "atom"
                for order in orders if every_order or not result else ["relaxed", "seq_cst"]:
                    form = (ptx, what, kind.bits)
                    torn = part.architecture >= 90 and ptx in TORN.get(key, [])
                    loop = update_loop(order, s, kind.bits)
                    if result:
                        fences, own, space, after = fetch(order, s, *form, part.architecture)
                        in_global = fences + instructions(head, own, space, *form) + after
                        elsewhere = fences + instructions(head, own, "", *form) + after
                        # ptxas does not expand these into loops. At wider scopes the object may be in another block's shared
                        # memory.
                        of_shared = bool(space) and key in ("u32", "s32") and scope == "block"
                        in_shared = instructions(head, own, ".shared", *form) if of_shared else elsewhere
                        either = [IN_CLUSTER, IN_OWN_BLOCK, *loop, *elsewhere] if torn else elsewhere
                        # On architectures before Hopper, an acquire on the instruction would add a second MEMBAR.
                        if space and order != "relaxed":
                            weaker = "release" if order == "acq_rel" else "relaxed"
                            elsewhere = instructions(head, weaker, "", *form) + [f"fence.acquire.{s}"]
                            either = [*fences, "isspacep.global", *instructions(head, own, space, *form), *elsewhere]
                            in_shared = fences + elsewhere
                        elif space:
                            either = ["isspacep.global", *in_global, *([IN_OWN_BLOCK, *in_shared] if of_shared else []), *either]
                    else:
                        in_global = instructions(head, order, ".global", *form)
                        in_shared = around_loop(order, s, instructions(head, "relaxed", ".shared", *form))
                        either = (["isspacep.global", *in_global, IN_OWN_BLOCK, *in_shared]
                                  + (loop if torn else instructions(head, order, "", *form)))
                    ref = f"membar::atomic_ref<{kind.cpp}, membar::thread_scope::{scope}>"
                    call = f"(*object).{operation}(value, membar::{order});"
                    parameters = f"{kind.cpp} value" + (f", {kind.cpp}* result" if result else "")
                    store = "*result = " if result else ""
                    hidden = asm("mov.b64 %0, %1", '"=l"(object)', '"l"(given)')
                    # The compiler chooses which branch comes first in the PTX.
                    part.kernel(f"somewhere_{operation}_{order}_{scope}_{key}", f"{kind.cpp}* given, {parameters}",
                                f"{kind.cpp}* object; {hidden} {store}{ref}{call}", [either], looped=torn)
                    for place, wanted in (("global", in_global), ("shared", in_shared)):
                        name = f"in_{place}_{operation}_{order}_{scope}_{key}"
                        declared = f"extern __shared__ {kind.cpp} {name}_object[]; const auto object = {name}_object; "
                        variable = ""
                        if place == "global":
                            variable = f"__device__ {kind.cpp} {name}_object[2];"
                            declared = f"const auto object = &{name}_object[1]; "
                        value = negated(kind) if operation.endswith("sub") else "value"
                        hand = None
                        if not result and len(wanted) == 1 and value is not None:
                            hand = declared + by_hand(kind, wanted[0], [], False, value)
                        part.kernel(name, parameters, f"{declared}{store}{ref}{call}", [wanted], hand, variable=variable)


def add_aggregated(part, scope):
    """Adds operations that execute once per warp and address, with warp barriers if the order releases or acquires."""
    s = SCOPES[scope]
    for form in ("one_address", "any_address"):
        ref = f"membar::aggregated_ref<unsigned, membar::thread_scope::{scope}, membar::aggregation::{form}>(*object)"
        groups = [RIVALS] if form == "any_address" else []
        for operation in ("fetch_add", "fetch_max", "fetch_xor"):
            for order in ORDERS:
                fences, own, space, _ = fetch(order, s, FETCH[operation], "u32", 32, part.architecture)
                instruction = f"atom.{own}.{s}{space}.{TYPES['u32'].becomes[FETCH[operation]]}.{FETCH[operation]}"
                part.kernel(f"aggregated_{operation}_{order}_{form}_{scope}", "unsigned* object, unsigned value, unsigned* result",
                            f"result[threadIdx.x] = {ref}.{operation}(value, membar::{order});",
                            groups + ["bar.warp.sync"] * len(BEFORE[order]) + fences + [instruction]
                            + ["bar.warp.sync"] * len(AFTER[order]), looped=True)
        for order in REDUCTION_ORDERS:
            part.kernel(f"aggregated_add_{order}_{form}_{scope}", "unsigned* object, unsigned value",
                        f"{ref}.add(value, membar::{order});",
                        groups + ["bar.warp.sync"] * len(BEFORE[order]) + [f"red.{order}.{s}.global.add.u32"], looped=True)


def add_fences(part, scopes, proxies, others):
    for scope in scopes:
        for order, ptx in FENCE_ORDERS.items():
            instruction = f"fence.{ptx}.{SCOPES[scope]}"
            part.kernel(f"thread_fence_{order}_{scope}", "",
                        f"membar::thread_fence<membar::thread_scope::{scope}>(membar::{order});", [instruction], asm(instruction))
    for proxy, ptx in proxies.items():
        part.kernel(f"proxy_fence_{proxy}", "", f"membar::proxy_fence<membar::proxy::{proxy}>();", [f"fence.proxy.{ptx}"],
                    asm(f"fence.proxy.{ptx}"))
    for number, (call, ptx) in enumerate(others.items()):
        part.kernel(f"restricted_fence_{number}", "", f"membar::{call};", [ptx], asm(ptx))
    if others:
        for scope, s in SCOPES.items():
            fence = f"membar::proxy_fence<membar::proxy::tensormap, membar::thread_scope::{scope}>"
            release = f"fence.proxy.tensormap::generic.release.{s}"
            part.kernel(f"tensormap_release_{scope}", "", f"{fence}(membar::release);", [release], asm(release))
            acquire = f"fence.proxy.tensormap::generic.acquire.{s}"
            part.kernel(f"tensormap_acquire_{scope}", "const void* map", f"{fence}(membar::acquire, map);", [acquire],
                        asm(f"{acquire} [%0], 128", "", '"l"(map)'))


def parts(sampled):
    for architecture in (80, 90):
        hopper = architecture >= 90
        part = Part(f"fence_sm_{architecture}", architecture)
        scopes = list(SCOPES) if hopper else [s for s in SCOPES if s != "cluster"]
        add_fences(part, scopes, PROXIES | (PROXIES_SM_90 if hopper else {}), FENCES_SM_90 if hopper else {})
        yield part
        for number, scope in enumerate(scopes):
            whole = not sampled or (hopper and scope == "device")
            part = Part(f"atomic_{scope}_sm_{architecture}", architecture, sample=None if whole else number + (2 if hopper else 0))
            add_atomics(part, scope, TYPES)
            add_owning(part, scope)
            add_pointers(part, scope)
            add_places(part, scope, every_order=scope == "device")
            add_policies(part, scope, TYPES)
            add_aggregated(part, scope)
            yield part
    yield from asynchronous.parts(Part)
    # Every operation on every type once, with alternating orders and scopes, and every order and scope for one type. This set is small
    # enough to compile for every mutation of the headers.
    part = Part("sample_sm_90", 90)
    add_fences(part, SCOPES, PROXIES | PROXIES_SM_90, FENCES_SM_90)
    seen = {}

    def keep(case):
        operation, order, scope, key = case
        if key == "u32" or key in ("u8", "f16") and scope == "device":
            return True
        orders = {"load": LOAD_ORDERS, "wait": LOAD_ORDERS, "store": STORE_ORDERS}.get(
            operation, REDUCTION_ORDERS if operation.removeprefix("policy_") in REDUCE else ORDERS)
        first = seen.setdefault((operation, key), len(seen))
        return order == orders[first % len(orders)] and scope == list(SCOPES)[first // len(orders) % 4]

    for scope in SCOPES:
        add_atomics(part, scope, TYPES, keep)
        add_owning(part, scope)
        add_pointers(part, scope)
        add_policies(part, scope, TYPES, keep)
    add_places(part, "device")
    yield part


def main(folder, sampled=False):
    for part in parts(sampled):
        part.write(folder)
        print(part.name)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[-1]), "--sample" in sys.argv[1:-1])
