# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generates random programs with the chosen features, and writes a program as PTX with a scenario for membar-check.

A program consists of host threads and the launch of a kernel (one launch per device). Between the barriers that all threads execute, each
thread of the kernel executes its own code. Most programs are idioms (message passing, chains, counters, a neighbour's shared memory, bulk
copies) with random changes, so that about half of them are correct.
"""

import random
from typing import NamedTuple

from model import Ins, Loc, Place, Program

FEATURES = {
    "base": "loads, stores, atomics, fences, waits, bar.sync and early returns of up to three threads",
    "red": "an acquire load of a location after a red of it",
    "cluster": "accesses of the other block's shared memory, between two cluster barriers that all threads execute",
    "lifetime": "such accesses with either cluster barrier missing, or in another place",
    "window": ".shared::cta instructions with an address of the other block",
    "packed": "f16x2 and bf16x2 additions with accesses of 2 and 4 bytes",
    "barriers": "bar.sync and barrier.sync in branches",
    "bulk": "bulk copies that are complete before the block ends",
    "bulk_end": "bulk copies that may not be complete when the block ends",
    "devices": "launches on two devices",
    "devvar": "a __device__ or __managed__ variable on two devices",
    "host": "one or two host threads",
}


class Launch(NamedTuple):
    """Segments of code for each thread. Operations that all threads execute separate the segments: "bar", "csync" (a cluster
    barrier) or "" (nothing)."""
    places: tuple      # The places of the kernel's threads.
    block: int         # The number of threads in a block.
    cluster: int       # The number of blocks in a cluster, or 0.
    segments: tuple    # For each segment, a tuple of Ins per thread.
    syncs: tuple       # What all threads execute after each segment.
    host: tuple        # For each host thread, a tuple of Ins.
    spaces: dict
    initial: dict

    def program(self):
        code = []
        for t in range(len(self.places)):
            body = []
            for n, segment in enumerate(self.segments):
                body += segment[t]
                if any(i.op == "ret" for i in segment[t]):
                    break
                body += {"bar": [Ins("bar", order="aligned", arg=n)], "csync": [Ins("arrive"), Ins("cwait")], "": []}[self.syncs[n]]
            code.append(tuple(body))
        hosts = tuple(Place(None, -1 - h, -1 - h) for h in range(len(self.host)))
        return Program(self.places + hosts, tuple(code) + self.host, self.spaces, self.initial)


def places(devices, blocks, threads, cluster=0):
    return tuple(Place(d, (d * blocks + b) // (cluster or 1), d * blocks + b) for d in range(devices) for b in range(blocks) for _ in range(threads))


# ---- PTX

class Text:
    """A launch's PTX, and its scenario without the `final` lines."""

    def __init__(self, launch):
        self.launch, self.lines, self.labels, self.slots = launch, [], 0, 0
        self.globals = sorted(n for n, s in launch.spaces.items() if s == "global")
        self.loads = [[] for _ in launch.places]
        # copies of 16 bytes
        self.copies = any(i.op == "copyout" for segment in launch.segments for body in segment for i in body)

    def first(self, variable):
        """Returns the initial value of a variable in the module. The scenario contains the values for individual devices."""
        value = self.launch.initial[variable]
        return 0 if isinstance(value, dict) else value

    def emit(self, line):
        self.lines.append("  " + line)

    def address(self, loc, window=False):
        """Returns the state space and the address of a location."""
        offset = 2 * (loc.half or 0)
        space = self.launch.spaces[loc.name]
        if space == "global":
            return ".global", f"[%rd{self.globals.index(loc.name)}+{offset}]"
        if space in ("device", "managed"):
            return ".global", f"[{loc.name}+{offset}]"
        if loc.rank is None:
            return ".shared", f"[{loc.name}+{offset}]"
        self.emit(f"mov.u32 %a0, {loc.name};")
        self.emit(f"mapa.shared::cluster.u32 %a1, %a0, {loc.rank};")
        return (".shared" if window else ".shared::cluster"), f"[%a1+{offset}]"

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    def register(self, t):
        register = f"%r{self.slots}"
        self.slots += 1
        self.loads[t].append(register)
        return register

    def ins(self, t, i):
        order = "" if i.order == "weak" else f".{i.order}.{i.scope}"
        if i.loc and i.op not in ("copyin", "copyout"):
            space, at = self.address(i.loc, i.window)
            kind = "u32" if i.loc.half is None else "u16"
        if i.op == "ld":
            self.emit(f"ld{order}{space}.{kind} {self.register(t)}, {at};")
        elif i.op == "st":
            self.emit(f"mov.u32 %v, {i.value};")
            whole = self.copies and space == ".shared" and i.order == "weak"
            self.emit(f"st{space}.v4.u32 {at}, {{%v, %v, %v, %v}};" if whole else f"st{order}{space}.{kind} {at}, %v;")
        elif i.op in ("add", "exch"):
            self.emit(f"atom{order}{space}.{i.op}.{'u32' if i.op == 'add' else 'b32'} {self.register(t)}, {at}, {i.value};")
        elif i.op == "red":
            self.emit(f"red{order}{space}.add.u32 {at}, {i.value};")
        elif i.op == "packed":
            self.emit(f"mov.b32 %v, {i.value};")
            result = self.register(t) + ", " if i.arg == "atom" else ""
            self.emit(f"{i.arg}{order}{space}.add.noftz.{i.type} {result}{at}, %v;")
        elif i.op == "fence":
            self.emit(f"fence.{i.order}.{i.scope};")
        elif i.op == "wait":
            again = self.label()
            self.emit(f"{again}: ld{order}{space}.{kind} %v, {at};")
            self.emit(f"setp.{ {'==': 'ne', '!=': 'eq', '<': 'ge', '>=': 'lt'}[i.arg] }.u32 %p1, %v, {i.value};")
            self.emit(f"@%p1 bra {again};")
        elif i.op == "need":
            go_on = self.label()
            self.emit(f"ld{order}{space}.{kind} %v, {at};")
            self.emit(f"setp.{ {'==': 'eq', '!=': 'ne', '<': 'lt', '>=': 'ge'}[i.arg] }.u32 %p1, %v, {i.value};")
            self.emit(f"@%p1 bra {go_on};")
            self.results(t)
            self.emit("ret;")
            self.emit(f"{go_on}:")
        elif i.op == "bar":
            self.emit("bar.sync 0;" if i.order == "aligned" else "barrier.sync 0;")
        elif i.op == "arrive":
            self.emit("barrier.cluster.arrive;")
        elif i.op == "cwait":
            self.emit("barrier.cluster.wait;")
        elif i.op == "ret":
            self.results(t)
            self.emit("ret;")
        else:
            self.asynchronous(i)

    def asynchronous(self, i):
        if i.op == "copyin":
            _, to = self.address(i.loc)
            _, source = self.address(i.arg[0])
            self.emit(f"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %s, [bar{i.arg[1]}], 16;")
            self.emit(f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes {to}, {source}, 16, [bar{i.arg[1]}];")
        elif i.op == "copyout":
            _, to = self.address(i.loc)
            _, source = self.address(i.arg)
            self.emit(f"cp.async.bulk.global.shared::cta.bulk_group {to}, {source}, 16;")
            self.emit("cp.async.bulk.commit_group;")
        elif i.op == "gwait":
            self.emit(f"cp.async.bulk.wait_group{'.read' if i.arg else ''} 0;")
        elif i.op == "mwait":
            again = self.label()
            self.emit(f"{again}: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [bar{i.arg}], 0;")
            self.emit(f"@!%p1 bra {again};")
        else:
            self.emit("fence.proxy.async;")

    def results(self, t):
        for n, register in enumerate(self.loads[t]):
            self.emit(f"st.global.u32 [%rdout+{32 * t + 4 * n}], {register};")

    def kernel(self):
        launch = self.launch
        mbarriers = sorted({i.arg[1] for segment in launch.segments for body in segment for i in body if i.op == "copyin"} |
                           {i.arg for segment in launch.segments for body in segment for i in body if i.op == "mwait"})
        per_device = len(launch.places) // len({p.device for p in launch.places})
        if mbarriers:
            end = self.label()
            self.emit("mov.u32 %v, %tid.x;")
            self.emit(f"setp.ne.u32 %p0, %v, 0; @%p0 bra {end};")
            for m in mbarriers:
                self.emit(f"mbarrier.init.shared.b64 [bar{m}], 1;")
            self.emit("fence.proxy.async;")
            self.emit(f"{end}: " + ("bar.sync 0;" if launch.block > 1 else ""))
        for n, segment in enumerate(launch.segments):
            for t, body in enumerate(segment):
                if not body:
                    continue
                end = self.label()
                self.emit(f"setp.ne.u32 %p0, %index, {t}; @%p0 bra {end};")
                for i in body:
                    self.ins(t, i)
                self.emit(f"{end}:")
            sync = {"bar": ["bar.sync 0;"], "csync": ["barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;"], "": []}
            self.lines += ["  " + x for x in sync[launch.syncs[n]]]
        for t in range(len(launch.places)):
            if self.loads[t] and not any(i.op == "ret" for segment in launch.segments for i in segment[t]):
                end = self.label()
                self.emit(f"setp.ne.u32 %p0, %index, {t}; @%p0 bra {end};")
                self.results(t)
                self.emit(f"{end}:")
        self.emit("ret;")
        params = [f".param .u64 p{n}" for n in range(len(self.globals))] + [".param .u64 out", ".param .u32 first"]
        head = [".version 8.6", ".target sm_90", ".address_size 64"]
        head += [f".visible .global{' .attribute(.managed)' if s == 'managed' else ''} .align 16 .u32 {n}[4] = {{{self.first(n)}, 0, 0, 0}};"
                 for n, s in launch.spaces.items() if s in ("device", "managed")]
        head += [f".visible .entry k({', '.join(params)}) {{", "  .reg .pred %p<2>; .reg .b32 %v, %index, %base, %a<2>; .reg .b64 %s, %rdout;",
                 f"  .reg .b32 %r<{self.slots + 1}>; .reg .b64 %rd<{len(self.globals) + 1}>;"]
        head += [f"  .shared .align 16 .b8 {n}[16];" for n, s in launch.spaces.items() if s == "shared"]
        head += [f"  .shared .align 8 .b64 bar{m};" for m in mbarriers]
        head += [f"  ld.param.u64 %rd{n}, [p{n}];" for n in range(len(self.globals))]
        head += ["  ld.param.u64 %rdout, [out];", "  ld.param.u32 %base, [first];", "  mov.u32 %index, %ctaid.x;", "  mov.u32 %v, %tid.x;",
                 f"  mad.lo.u32 %index, %index, {launch.block}, %v;", "  add.u32 %index, %index, %base;"]
        self.per_device = per_device
        return "\n".join(head + self.lines + ["}"]) + "\n"

    def scenario(self, source):
        launch = self.launch
        devices = sorted({p.device for p in launch.places})
        reached = {i.loc.name for body in launch.host for i in body if i.loc}
        lines = [f"source {source}"]
        for n in self.globals:
            lines.append(f"memory {n} u32[4] = {launch.initial[n]}, 0, 0, 0" + (" host" if n in reached else ""))
        for n, value in sorted(launch.initial.items()):
            lines += [f"memory {n} u32[4] = {v}, 0, 0, 0 device {d}" for d, v in value.items()] if isinstance(value, dict) else []
        lines.append(f"memory out u32[{8 * len(launch.places)}]")
        for d in devices:
            shape = f"grid {self.per_device // launch.block} block {launch.block}" + (f" cluster {launch.cluster}" if launch.cluster else "")
            device = f" device {d}" if len(devices) > 1 else ""
            lines.append(f"launch k {shape}{device} args {' '.join(self.globals)} out {d * self.per_device}")
        for h, body in enumerate(launch.host):
            statements = []
            for i in body:
                order = "" if i.order == "weak" else " " + i.order
                statements.append({"wait": f"wait {{}} {i.arg} {i.value}{order}", "ld": f"load {{}}{order}", "st": f"store {{}} = {i.value}{order}",
                                   "add": f"add {{}} {i.value}{order}", "exch": f"exchange {{}} {i.value}{order}",
                                   "fence": "fence " + ("seq_cst" if i.order == "sc" else "acq_rel")}[i.op].format(i.loc and i.loc.name))
            if body:
                lines += [f"host h{h} {{ {'; '.join(statements)} }}"] if h % 2 else [f"host h{h} {{"] + ["  " + s for s in statements] + ["}"]
        return "\n".join(lines) + "\n"

    def padded(self, t, registers):
        """Sets a register to 0 if the thread returned before loading it."""
        return registers[t] + (0,) * (len(self.loads[t]) - len(registers[t])) if t < len(self.loads) else ()

    def condition(self, final):
        words, registers = final
        names = [n if d is None else f"{n}@{d}" for n, d in self.launch.program().objects()]
        parts = [f"{n} == {v}" for n, v in zip(names, words)]
        parts += [f"out[{8 * t + n}] == {v}" for t in range(len(self.launch.places)) for n, v in enumerate(self.padded(t, registers))]
        return "(" + " /\\ ".join(parts) + ")"


# ---- random programs

HALF_ONE = 0x3c00  # 1.0 in f16


class Maker:
    def __init__(self, rng, features):
        self.rng, self.features = rng, features
        self.spaces = {"x": "global", "f": "global"}
        self.initial = {"x": 0, "f": 0}
        self.value = 0

    def chance(self, p):
        return self.rng.random() < p

    def next_value(self):
        self.value += 1
        return self.value

    # ---- shapes

    def make(self):
        rng = self.rng
        feature = rng.choice(sorted(self.features))
        devices, blocks, threads, cluster = 1, *rng.choice([(1, 2), (1, 3), (2, 1), (2, 1), (3, 1)]), 0
        if feature in ("cluster", "lifetime", "window"):
            blocks, threads, cluster = 2, rng.choice([1, 1, 2]), 2
        elif feature in ("devices", "devvar"):
            devices, blocks, threads = 2, 1, rng.choice([1, 1, 2])
        elif feature in ("bulk", "bulk_end", "host"):
            blocks, threads = rng.choice([(1, 1), (1, 2), (2, 1)])
        elif feature == "barriers":
            blocks, threads = 1, rng.choice([2, 2, 3])
        where = places(devices, blocks, threads, cluster)
        self.where, self.n = where, len(where)
        self.block_size, self.cluster, self.feature = threads, cluster, feature
        self.good = tuple(s for s in ("cta", "cluster", "gpu", "sys") if self.reaches(s))
        count = rng.choice([1, 1, 2]) if threads == 1 and not cluster else rng.choice([1, 2, 2, 3])
        if feature == "barriers":
            count = 2
        bodies = [[[] for _ in where] for _ in range(count)]
        syncs = [rng.choice(["bar", "bar", ""]) if threads > 1 else "" for _ in range(count)]
        if cluster and count > 1:
            syncs = [rng.choice(["csync", "csync", "bar" if threads > 1 else ""]) for _ in syncs]
        host = []
        getattr(self, "add_" + feature)(bodies, syncs, host)
        bodies = [[self.perturb(body) for body in segment] for segment in bodies]
        host = [self.perturb(body, host=True) for body in host]
        self.finish(bodies, syncs)
        return Launch(where, threads, cluster, tuple(tuple(tuple(b) for b in segment) for segment in bodies), tuple(syncs),
                      tuple(tuple(b) for b in host), self.spaces, self.initial)

    def reaches(self, scope):
        return {"cta": len({p.block for p in self.where}), "cluster": len({p.cluster for p in self.where}),
                "gpu": len({p.device for p in self.where}), "sys": 1}[scope] == 1

    def scope(self):
        return "sys" if self.feature == "host" else self.rng.choice(self.good)

    # ---- idioms

    def release(self, flag, value, s):
        """Returns instructions that signal that the preceding accesses are done."""
        op = self.rng.choice(["st", "st", "exch", "red"])
        if self.chance(0.35):
            return [Ins("fence", order=self.rng.choice(["acq_rel", "sc"]), scope=s), Ins(op, flag, "relaxed", s, value)]
        return [Ins(op, flag, "release", s, value)]

    def acquire(self, flag, value, s):
        order = "relaxed" if self.chance(0.35) else "acquire"
        op = self.rng.choice(["wait", "wait", "ld"] if self.feature in ("host", "cluster") else ["wait", "need", "need", "ld"])
        first = Ins(op, flag, order, s, value, None if op == "ld" else "==")
        return [first] + ([Ins("fence", order=self.rng.choice(["acq_rel", "sc"]), scope=s)] if order == "relaxed" else [])

    def touch(self, loc):
        if self.chance(0.65):
            return Ins("ld", loc)
        return Ins("st", loc, value=self.next_value())

    def any_access(self, loc, strong=None):
        rng = self.rng
        strong = self.chance(0.7) if strong is None else strong
        if not strong:
            return self.touch(loc)
        op = rng.choice(["ld", "ld", "st", "add", "exch", "red"])
        order = rng.choice({"ld": ["relaxed", "acquire"], "st": ["relaxed", "release"], "red": ["relaxed", "release"]}.get(
            op, ["relaxed", "acquire", "release", "acq_rel"]))
        return Ins(op, loc, order, self.scope(), self.next_value())

    def idiom(self, threads, data, flag):
        """Returns one communication pattern, as instructions per thread."""
        rng, s = self.rng, self.scope()
        kind = rng.choice(["pass", "pass", "pass", "chain", "count", "buffer", "free"])
        a, b, rest = threads[0], threads[1 % len(threads)], threads[2:]
        out = {t: [] for t in threads}
        if kind == "pass" or (kind == "chain" and not rest):
            value = self.next_value()
            out[a] = [Ins("st", data, value=self.next_value())] + self.release(flag, value, s)
            out[b] = self.acquire(flag, value, s) + [self.touch(data)]
        elif kind == "chain":
            link = Ins("add", flag, rng.choice(["relaxed", "acq_rel"]), s, 1)
            out[a] = [Ins("st", data, value=self.next_value()), Ins("add", flag, "release", s, 1)]
            out[b] = [link]
            out[rest[0]] = [Ins("wait", flag, "acquire", s, 2, "=="), self.touch(data)]
        elif kind == "count":
            for t in threads:
                out[t] = [Ins("add", flag, rng.choice(["relaxed", "acq_rel"]), s, 1)] + ([self.touch(data)] if self.chance(0.15) else [])
        elif kind == "buffer":
            middle = [Ins("fence", order="sc", scope=s)] if self.chance(0.7) else []
            out[a] = [Ins("st", data, "relaxed", s, 1)] + middle + [Ins("ld", flag, "relaxed", s)]
            out[b] = [Ins("st", flag, "relaxed", s, 1)] + middle + [Ins("ld", data, "relaxed", s)]
        else:
            for t in threads:
                out[t] = [self.any_access(rng.choice([data, flag, flag]), self.chance(0.9)) for _ in range(rng.choice([1, 2]))]
        for t in rest:
            if not out[t] and self.chance(0.5):
                out[t] = [self.any_access(flag, True)]
        return out

    def pour(self, bodies, threads=None, data=Loc("x"), flag=Loc("f"), segment=None):
        threads = list(range(self.n)) if threads is None else list(threads)
        self.rng.shuffle(threads)
        segment = self.rng.randrange(len(bodies)) if segment is None else segment
        for t, body in self.idiom(threads, data, flag).items():
            bodies[segment][t] += body

    def shared(self, name="s"):
        self.spaces[name] = "shared"
        return Loc(name)

    def add_base(self, bodies, syncs, host):
        self.pour(bodies)
        if self.block_size > 1 and self.chance(0.6):
            s = self.shared()
            leader = self.rng.randrange(self.n)
            bodies[0][leader].insert(0, Ins("st", s, value=self.next_value()))
            for t in range(self.n):
                if self.chance(0.5):
                    bodies[-1][t].append(self.touch(s) if t == leader else Ins("ld", s))
            syncs[0] = "bar" if self.chance(0.8) else syncs[0]
        if self.chance(0.15):
            bodies[-1][self.rng.randrange(self.n)].append(self.touch(Loc("x")))
        if self.block_size > 1 and self.chance(0.25):
            bodies[self.rng.randrange(len(bodies))][self.rng.randrange(self.n)].append(Ins("ret"))

    def add_red(self, bodies, syncs, host):
        """The red reads the release if its sum is observed; the acquire after it may read another, unrelated write."""
        s, f, x, body = self.scope(), Loc("f"), Loc("x"), bodies[0]
        order = list(range(self.n))
        self.rng.shuffle(order)
        body[order[0]] += [Ins("st", x, value=self.next_value())] + self.release(f, 1, s)
        other = order[2] if self.n > 2 else order[0]
        body[order[1]] += [Ins(self.rng.choice(["red", "red", "add"]), f, "relaxed", s, 2),
                           Ins("need", f, "acquire", s, self.rng.choice([3, 16, 16]), "=="),
                           self.touch(x)]
        body[other] += [Ins("need", f, "relaxed", s, 3, "=="), Ins("st", f, self.rng.choice(["relaxed", "relaxed", "release"]), s, 16)]

    def add_cluster(self, bodies, syncs, host, loose=False, window=False):
        """The first thread of each block sets its block's word; then threads access the words of both blocks."""
        rng, s = self.rng, self.shared()
        for b in range(2):
            bodies[0][b * self.block_size].append(Ins("st", s, value=self.next_value()))
        bodies.insert(1, [[] for _ in self.where])
        syncs.insert(0, "csync" if not loose or self.chance(0.9) else "")
        for t in range(self.n):
            other = 1 - self.where[t].block
            for _ in range(rng.choice([0, 1, 1] if self.block_size > 1 else [1, 1, 2])):
                loc = Loc("s", other) if self.chance(0.6) else Loc("s")
                i = Ins("ld", loc) if self.chance(0.6) else self.any_access(loc, True)
                bodies[1][t].append(i._replace(window=window and loc.rank is not None and self.chance(0.6)))
        if self.chance(0.5):
            self.pour(bodies, data=Loc("s", 0) if self.chance(0.5) else Loc("x"), segment=1)
        if not loose:
            bodies.insert(0, [[] for _ in self.where])
            syncs.insert(0, "csync")
            syncs[-1] = "csync"
        else:
            if self.chance(0.5):
                bodies.insert(0, [[] for _ in self.where])
                syncs.insert(0, "csync")
            syncs[-1] = "csync" if self.chance(0.45) else ""
            if self.chance(0.2):
                t = rng.randrange(self.n)
                bodies[-1][t].append(Ins("ret"))
            if self.chance(0.2):  # A split barrier: the thread arrives before some work, and waits after it.
                where = rng.randrange(len(bodies))
                for t in range(self.n):
                    at = rng.randrange(len(bodies[where][t]) + 1)
                    bodies[where][t].insert(at, Ins("arrive"))
                    later = rng.randrange(at + 1, len(bodies[where][t]) + 1)
                    bodies[where][t].insert(later, Ins("cwait"))

    def add_lifetime(self, bodies, syncs, host):
        self.add_cluster(bodies, syncs, host, loose=True)

    def add_window(self, bodies, syncs, host):
        self.add_cluster(bodies, syncs, host, window=True)

    def add_packed(self, bodies, syncs, host):
        """Returns packed additions to x, and accesses to its halves and to the whole word."""
        rng, s = self.rng, self.scope()
        self.initial["x"] = HALF_ONE | HALF_ONE << 16
        order = list(range(self.n))
        rng.shuffle(order)
        kind = rng.choice(["f16x2", "bf16x2"])

        def add():
            value = rng.choice([0x3c00, 0x4000]) | rng.choice([0x3c00, 0x4200]) << 16
            return Ins("packed", Loc("x"), "relaxed", s, value, rng.choice(["atom", "red"]), type=kind)

        for n, t in enumerate(order):
            part = Loc("x", None, rng.choice([0, 1]))
            word = rng.choice([Ins("exch", Loc("x"), "relaxed", s, 0x44004400), Ins("ld", Loc("x"), "relaxed", s), Ins("ld", Loc("x")),
                               Ins("st", Loc("x"), "relaxed", s, 0x40004000)])
            half = rng.choice([Ins("ld", part, "relaxed", s), Ins("st", part, "relaxed", s, 0x4400), Ins("ld", part)])
            bodies[rng.randrange(len(bodies))][t].append(add() if n == 0 else rng.choice([add(), add(), half, half, word]))
            if self.chance(0.3):
                bodies[rng.randrange(len(bodies))][t].append(rng.choice([half, word]))
        if len(bodies) > 1 and self.block_size > 1 and self.chance(0.6):
            syncs[0] = "bar"
        if self.chance(0.3):
            a, b = order[:2]
            bodies[-1][a] += self.release(Loc("f"), 1, s)
            bodies[-1][b] += self.acquire(Loc("f"), 1, s) + [Ins("ld", Loc("x"))]

    def add_barriers(self, bodies, syncs, host):
        """Returns barriers of one or both kinds in branches; every thread that does not return early reaches the last barrier."""
        rng = self.rng
        self.pour(bodies, segment=0 if self.chance(0.5) else 1)
        aligned = rng.choice(["aligned", "unaligned", "unaligned", "unaligned"])
        who = [t for t in range(self.n) if self.chance(0.75)]
        for t in range(self.n):
            if t in who:
                kind = aligned if self.chance(0.95) else rng.choice(["aligned", "unaligned"])
                at = rng.randrange(len(bodies[0][t]) + 1)
                bodies[0][t].insert(at, Ins("bar", order=kind, arg=100 + t))
            elif self.chance(0.7):
                bodies[0][t].append(Ins("ret"))
        syncs[:] = ["", "bar"] if self.chance(0.5) else ["bar", "bar"]
        if self.chance(0.3):
            t = rng.randrange(self.n)
            bodies[1][t].append(Ins("ret"))

    def add_bulk(self, bodies, syncs, host, loose=False):
        rng, s = self.rng, self.shared()
        self.spaces["y"] = "global"
        self.initial.update(x=5, y=9)
        for b in range(self.n // self.block_size):
            if b > 0 and self.chance(0.6):
                continue
            mine = [b * self.block_size + k for k in range(self.block_size)]
            t, u = rng.choice(mine), rng.choice(mine)
            first, last = bodies[0], bodies[-1]
            if self.chance(0.5):
                first[t] += [Ins("copyin", s, arg=(Loc("x"), 0))]
                last[t] += [Ins("mwait", arg=0)]
                if u != t and self.chance(0.7):
                    last[u] += [Ins("mwait", arg=0)] if self.chance(0.7) else []
                    last[u] += [self.touch(s)]
                elif self.chance(0.8):
                    last[t] += [self.touch(s)]
                if self.chance(0.3):
                    last[t] += ([Ins("pfence")] if self.chance(0.7) else []) + [Ins("copyout", Loc("y"), arg=s), Ins("gwait", arg="")]
            else:
                first[u] += [Ins("st", s, value=self.next_value())] + ([Ins("pfence")] if self.chance(0.4) else [])
                body = ([Ins("pfence")] if self.chance(0.7) else []) + [Ins("copyout", Loc("y"), arg=s), Ins("gwait", arg=rng.choice(["", "read"]))]
                last[t] += body
                if self.chance(0.4):
                    last[t] += [Ins("st", s, value=self.next_value())]
                if self.chance(0.3):
                    last[t] += [self.touch(Loc("y"))]
                if u != t and self.chance(0.7):
                    syncs[0] = "bar"
            if self.chance(0.2):
                last[u] += [self.touch(Loc(rng.choice(["x", "y"])))]
        if len(bodies) > 1 and self.block_size > 1 and self.chance(0.5):
            syncs[0] = "bar"
        if self.n > 1 and self.chance(0.3):
            a, b = rng.sample(range(self.n), 2)
            bodies[-1][a] += self.release(Loc("f"), 1, self.scope())
            bodies[-1][b] += self.acquire(Loc("f"), 1, self.scope()) + [self.touch(Loc("y"))]

    def add_bulk_end(self, bodies, syncs, host):
        self.add_bulk(bodies, syncs, host)

    def add_devices(self, bodies, syncs, host):
        self.pour(bodies)
        if self.n == 2 and self.chance(0.6):
            self.pour(bodies, data=Loc("f"), flag=Loc("x") if self.chance(0.3) else Loc("f"))

    def add_devvar(self, bodies, syncs, host):
        self.spaces["v"], self.initial["v"] = self.rng.choice([("device", 0), ("device", {0: 0, 1: 4}), ("managed", 0)])
        self.pour(bodies, data=Loc("v"))
        for t in range(self.n):
            if self.chance(0.6):
                bodies[self.rng.randrange(len(bodies))][t].insert(0, self.any_access(Loc("v")))

    def add_host(self, bodies, syncs, host):
        rng, n = self.rng, self.n
        hosts = rng.choice([1, 1, 2])
        order = rng.sample(range(n + hosts), n + hosts) if hosts > 1 else [n] + rng.sample(range(n), n)
        if hosts == 1 and self.chance(0.5):
            order[0], order[1] = order[1], order[0]
        fake = [[] for _ in order]
        for t, body in self.idiom(order, Loc("x"), Loc("f")).items():
            fake[t] += body
        for t in range(n):
            bodies[0][t] += fake[t]
        host += [[i._replace(op="add" if i.op == "red" else i.op) for i in body] for body in fake[n:]]

    # ---- changes

    def perturb(self, body, host=False):
        """Randomly omits some of the instructions, weakens their orders or changes their scopes."""
        rng, out = self.rng, []
        for i in body:
            rare = self.feature == "bulk_end" and i.op in ("mwait", "gwait")
            if self.chance(0.6 if rare else 0.9) or i.op in ("bar", "arrive", "cwait", "ret", "copyin", "copyout"):
                out.append(i)
                continue
            if i.op in ("mwait", "gwait"):
                if self.feature == "bulk" or self.chance(0.2):
                    out.append(i)
                continue
            change = rng.choice(["drop", "order", "scope", "scope"])
            if change == "order" and i.op != "fence" and i.order != "weak":
                out.append(i._replace(order="relaxed"))
            elif change == "scope" and not host and (i.order != "weak" or i.op == "fence"):
                out.append(i._replace(scope=rng.choice(["cta", "cluster", "gpu", "sys"])))
            elif change == "scope":
                out.append(i)
        return out

    def finish(self, bodies, syncs):
        """Makes the program satisfy its features' guarantees: it waits for copies, and no acquire of a location follows a red
        of that location."""
        for t in range(self.n):
            gone, reds, waits = False, set(), []
            for segment in bodies:
                body = [] if gone else segment[t]
                kept = []
                for i in body:
                    if gone:
                        break
                    gone = i.op == "ret"
                    if i.op == "red":
                        reds.add(i.loc)
                    if self.feature != "red" and i.loc in reds and i.order in ("acquire", "acq_rel") and i.op != "red":
                        i = i._replace(order="relaxed")
                    kept.append(i)
                segment[t] = kept
        if self.feature in ("bulk", "bulk_end"):
            self.finish_copies(bodies)

    def finish_copies(self, bodies):
        started = {}
        for t in range(self.n):
            for segment in bodies:
                for i in segment[t]:
                    if i.op == "copyin":
                        started.setdefault((self.where[t].block, i.arg[1]), t)
        for t in range(self.n):
            for segment in bodies:
                segment[t] = [i for i in segment[t] if i.op != "mwait" or (self.where[t].block, i.arg) in started]
        if self.feature == "bulk":
            for t in range(self.n):
                last = bodies[-1][t]
                if any(i.op == "copyout" for segment in bodies for i in segment[t]) and not any(i.op == "gwait" for i in last):
                    last.append(Ins("gwait", arg="read"))


def make(seed, features):
    return Maker(random.Random(seed), features).make()
