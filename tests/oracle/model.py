# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides very small PTX programs by enumerating their sequentially consistent interleavings.

The oracle is based on the PTX ISA ("Memory Consistency Model", and the sections on the instructions) and the CUDA programming guide
("Distributed shared memory", "Synchronization functions"). It does not share any code or method with membar-check: it has no event graph,
no axioms and no revisits. It executes the threads in every order and tracks, for each thread, which accesses are ordered before the
thread's next instruction by causality. Two conflicting accesses that are neither morally strong nor ordered by causality are a race, and an
access to another block's shared memory that is not ordered between that block's begin and exit is undefined.

Every interleaving is also an execution in the weak model. The converse holds only if a program's interleavings have no race and no critical
cycle through two locations. `Verdict.exact` is true if this was proven for the program; only then is the list of final values complete.
"""

import struct
from typing import NamedTuple, Optional

SCOPES = ("cta", "cluster", "gpu", "sys")
COMPARE = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b}
ACQUIRES = ("acquire", "acq_rel")
RELEASES = ("release", "acq_rel")


class Place(NamedTuple):
    """The place where a thread runs. A host thread has no device. The numbering of blocks and clusters continues over all launches."""
    device: Optional[int]
    cluster: int
    block: int


class Loc(NamedTuple):
    """A word of an object, or one of the word's halves. `rank` is the cluster rank of the block that owns the shared memory; None means the
    thread's own block."""
    name: str
    rank: Optional[int] = None
    half: Optional[int] = None


class Ins(NamedTuple):
    """ld, st, add, exch, red, packed, fence, wait, need, bar, arrive, cwait, ret, copyin, copyout, mwait, gwait, pfence.

    `need` ends the thread unless the comparison holds for the loaded value. `value` is the value that is written, added or awaited. `arg`
    is the comparison for a wait or need, the place for a bar, whether a packed addition returns the old value, (source, mbarrier) for a
    copyin, the source for a copyout, the mbarrier for an mwait, and "read" or "" for a gwait. `window` marks an access through the
    .shared::cta window, regardless of which block the address belongs to; `type` is the type of a packed addition."""
    op: str
    loc: Optional[Loc] = None
    order: str = "weak"
    scope: str = "sys"
    value: int = 0
    arg: object = None
    window: bool = False
    type: str = "f16x2"


class Program(NamedTuple):
    places: tuple
    code: tuple    # For each thread, a tuple of Ins.
    spaces: dict   # name -> "global", "shared", "device" (a variable with an instance on each device) or "managed" (one instance for all devices)
    initial: dict  # name -> value, for all except shared objects; for a "device" variable possibly device -> value

    def objects(self):
        """Returns the objects whose final values are compared: (name, None), or (name, device)."""
        devices = sorted({p.device for p in self.places if p.device is not None})
        return ([(n, None) for n in sorted(n for n, s in self.spaces.items() if s == "global")] +
                [(n, None) for n in sorted(n for n, s in self.spaces.items() if s == "managed")] +
                [(n, d) for n in sorted(n for n, s in self.spaces.items() if s == "device") for d in devices])


class Verdict(NamedTuple):
    findings: frozenset  # A set of "undefined", "race", "hang", "uninitialised".
    finals: frozenset    # A set of (words of Program.objects, registers of each thread).
    exact: bool
    open: bool           # True if a race exists only if the halves of a read-modify-write count as two operations, not one as in the ISA.
    why: str             # A description of the first undefined behaviour.


class Known(NamedTuple):
    """The accesses that causality orders before a point in a thread. base: for each actor, how many of its first accesses are included.
    seen: single writes that were observed, without their predecessors. fenced: the part of `base` that a
    fence.sc of the whole program separates from this point. proxy, proxy_seen: the part that a fence.proxy.async of the block
    separates from this point, as an asynchronous copy requires."""
    base: tuple
    seen: frozenset
    fenced: tuple
    proxy: tuple
    proxy_seen: frozenset

    def has(self, access):
        return access.actor < 0 or access.index <= self.base[access.actor] or (access.actor, access.index) in self.seen

    def has_by_proxy(self, access):
        return access.actor < 0 or access.index <= self.proxy[access.actor] or (access.actor, access.index) in self.proxy_seen

    def join(self, other, same_block):
        base = tuple(map(max, self.base, other.base))
        proxy, proxy_seen = self.proxy, self.proxy_seen
        if same_block:
            proxy, proxy_seen = tuple(map(max, proxy, other.proxy)), proxy_seen | other.proxy_seen
        return Known(base, frozenset(e for e in self.seen | other.seen if e[1] > base[e[0]]),
                     tuple(map(max, self.fenced, other.fenced)), proxy, proxy_seen)

    def with_count(self, actor, count):
        return self._replace(base=self.base[:actor] + (max(count, self.base[actor]),) + self.base[actor + 1:])


class Access(NamedTuple):
    actor: int   # A thread, a copy, or -1 for the initial value.
    index: int
    write: bool
    read: bool
    strong: bool
    scope: str
    covers: tuple  # The object and its half, or None for the whole word.


class Head(NamedTuple):
    """The first operation of a release pattern. It synchronizes with an acquire pattern that observes the write that carries it."""
    thread: int
    scope: str
    covers: Optional[tuple]  # None for a fence
    known: Known


class Message(NamedTuple):
    value: int
    by: Access
    heads: frozenset
    chain: frozenset  # The writes that a read of this write also observes.


# The value that a read returns if nothing was written.
NOTHING = Message(0, Access(-1, 0, True, False, False, "sys", None), frozenset(), frozenset())


class ThreadState(NamedTuple):
    pc: int
    known: Known
    fences: tuple = (None,) * 4         # For each scope, the Known of the thread at its last fence.
    releases: frozenset = frozenset()   # Heads of release operations, for later strong writes of the same location.
    pending: frozenset = frozenset()    # (covers, head) pairs observed by strong reads, for later acquire operations and fences.
    registers: tuple = ()
    waits: bool = False                 # The thread waits at a bar.
    ended: bool = False
    phase: int = 0                      # The phase of the cluster barrier at the thread's last arrival.
    half: Optional[tuple] = None        # (element, old value) of a half-completed packed addition.


class CopyState(NamedTuple):
    known: Optional[Known] = None  # The Known at its start; None before the start.
    done: int = 0                  # 1: the source was read, 2: the destination was written.
    value: tuple = ()


class State(NamedTuple):
    threads: tuple
    copies: tuple
    memory: tuple   # For each cell a Message, or None before any write.
    history: tuple  # For each cell, a frozenset of Access.
    sc: frozenset   # (thread, scope, Known) of each fence.sc so far
    clusters: tuple  # For each cluster (phase, frozenset of arrived threads, Known of arrivals, Known of the completed phase).
    gone: frozenset  # blocks that have ended


class Undefined(Exception):
    pass


class TooLarge(Exception):
    pass


def add_element(kind, a, b):
    """Returns the sum of two elements, rounded to nearest even."""
    if kind == "f16x2":
        x, y = (struct.unpack("<e", struct.pack("<H", v))[0] for v in (a, b))
        return struct.unpack("<H", struct.pack("<e", x + y))[0]
    x, y = (struct.unpack("<f", struct.pack("<I", v << 16))[0] for v in (a, b))
    bits = struct.unpack("<I", struct.pack("<f", x + y))[0]
    return bits + 0x7fff + (bits >> 16 & 1) >> 16


class Oracle:
    def __init__(self, program):
        self.p = program
        self.n = len(program.places)
        self.copies = [(t, pc) for t, code in enumerate(program.code) for pc, i in enumerate(code) if i.op in ("copyin", "copyout")]
        self.blocks = sorted({p.block for p in program.places if p.device is not None})
        self.clusters = sorted({p.cluster for p in program.places if p.device is not None})
        self.mates = {b: [t for t in range(self.n) if program.places[t].block == b] for b in self.blocks}
        self.actors = self.n + len(self.copies) + len(self.blocks)
        self.findings, self.finals, self.open, self.why = set(), set(), False, ""
        self.contended, self.edges, self.waited_for_exit = set(), set(), set()
        self.fences_around_exit = False
        self.lay_out()

    # ---- static facts

    def lay_out(self):
        """Assigns a cell to each object, or two cells if any access is to a half. Finds the cells that only one actor accesses."""
        halves, users = set(), {}
        for t, code in enumerate(self.p.code):
            for pc, i in enumerate(code):
                for loc in self.locations(i):
                    key = self.object(t, loc)
                    actor = self.n + self.copies.index((t, pc)) if i.op in ("copyin", "copyout") else t
                    users.setdefault(key, set()).add(actor)
                    if loc.half is not None or i.op == "packed":
                        halves.add(key)
        self.cells, self.owner, initial = {}, [], []
        for key in self.p.objects():
            users.setdefault(key, set())
        for key in sorted(users, key=str):
            word = None if self.p.spaces[key[0]] == "shared" else self.p.initial[key[0]]
            word = word[key[1]] if isinstance(word, dict) else word
            parts = 2 if key in halves else 1
            self.cells[key] = range(len(self.owner), len(self.owner) + parts)
            self.owner += [block_of(key, self.p)] * parts
            values = [word] if parts == 1 else [word & 0xffff, word >> 16] if word is not None else [None, None]
            initial += [None if v is None else NOTHING._replace(value=v) for v in values]
        self.private = {key for key, who in users.items() if len(who) < 2}
        self.initial = tuple(initial)

    @staticmethod
    def locations(i):
        if i.op == "copyin":
            return [i.loc, i.arg[0]]
        if i.op == "copyout":
            return [i.loc, i.arg]
        return [i.loc] if i.loc else []

    def object(self, t, loc):
        place, space = self.p.places[t], self.p.spaces[loc.name]
        if space in ("global", "managed"):
            return loc.name, None
        if space == "device":
            return loc.name, place.device
        if loc.rank is None:
            return loc.name, place.block
        return loc.name, sorted({p.block for p in self.p.places if p.device is not None and p.cluster == place.cluster})[loc.rank]

    def place(self, actor):
        return self.p.places[actor if actor < self.n else self.copies[actor - self.n][0]]

    def includes(self, scope, a, b):
        """Returns whether the scope of an operation by thread `a` includes thread `b`."""
        x, y = self.place(a), self.place(b)
        if a == b or scope == "sys":
            return True
        if x.device is None or y.device is None or x.device != y.device:
            return False
        return scope == "gpu" or (x.cluster == y.cluster if scope == "cluster" else x.block == y.block)

    def both_include(self, a, scope_a, b, scope_b):
        return self.includes(scope_a, a, b) and self.includes(scope_b, b, a)

    def morally_strong(self, a, b):
        if a.actor < 0 or a.covers != b.covers:
            return False
        return a.actor == b.actor or (a.strong and b.strong and self.both_include(a.actor, a.scope, b.actor, b.scope))

    def covers_all(self, t, scope):
        return all(self.includes(scope, t, other) for other in range(self.n))

    # ---- the search

    def start(self):
        zeros = (0,) * self.actors
        threads = []
        for place in self.p.places:
            known = Known(zeros, frozenset(), zeros, zeros, frozenset())
            if place.device is not None:
                known = known.with_count(self.begin(place.block), 1)
            threads.append(ThreadState(0, known))
        nothing = Known(zeros, frozenset(), zeros, zeros, frozenset())
        return State(tuple(threads), (CopyState(),) * len(self.copies), self.initial, (frozenset(),) * len(self.initial),
                     frozenset(), ((0, frozenset(), nothing, nothing),) * len(self.clusters), frozenset())

    def begin(self, block):
        return self.n + len(self.copies) + self.blocks.index(block)

    def decide(self, limit=6000):
        seen, stack = set(), [self.start()]
        while stack:
            state = stack.pop()
            try:
                following = self.successors(state)
            except Undefined as fault:
                self.findings.add("undefined")
                self.why = self.why or str(fault)
                continue
            for state in following or ():
                if state not in seen:
                    seen.add(state)
                    stack.append(state)
            if len(seen) > limit:
                raise TooLarge
        exact = not self.critical_cycle() and not self.waited_for_exit & self.contended and not self.fences_around_exit
        return Verdict(frozenset(self.findings), frozenset(self.finals), exact, self.open, self.why)

    def successors(self, s):
        """Returns the states after one step. If some step commutes with all steps of the other threads, only that step is taken."""
        steps = []
        for t, th in enumerate(s.threads):
            if th.ended or th.waits:
                continue
            code = self.p.code[t]
            i = code[th.pc] if th.pc < len(code) else Ins("ret")
            if i.loc is None or i.op in ("copyin", "copyout"):
                if not self.enabled(s, t, i):
                    continue
                if i.op == "fence" and i.order == "sc":
                    steps.append((t, i))
                else:
                    return self.local_step(s, t, i)
            elif i.op == "packed":
                steps.append((t, i))
            elif self.enabled(s, t, i):
                if self.object(t, i.loc) in self.private:
                    return [self.thread_access(s, t, i)]
                steps.append((t, i))
        copies = [k for k, c in enumerate(s.copies) if c.known is not None and c.done < 2]
        if not steps and not copies:
            if all(th.ended for th in s.threads):
                self.finish(s)
            else:
                self.findings.add("hang")
            return None
        result = []
        for t, i in steps:
            if i.op == "packed":
                result += self.packed_steps(s, t, i)
            else:
                result += self.local_step(s, t, i) if i.loc is None else [self.thread_access(s, t, i)]
        return result + [self.copy_step(s, k) for k in copies]

    def finish(self, s):
        words = []
        for key in self.p.objects():
            parts = [s.memory[c].value for c in self.cells[key]]
            words.append(parts[0] if len(parts) == 1 else parts[0] | parts[1] << 16)
        self.finals.add((tuple(words), tuple(th.registers for th in s.threads)))

    def critical_cycle(self):
        """Returns whether the weak model may have an execution that is not an interleaving. Within one location, reads-from,
        from-read and causality never run against coherence. A cycle of such an execution therefore leads by causality from
        one contended location to another, and finally back. If each of these steps contains a fence.sc, the Fence-SC order
        would also have a cycle. `edges` has the steps of all interleavings, with False for steps without a fence.sc."""
        edges = {e for e in self.edges if e[0] in self.contended and e[1] in self.contended}
        reach = {c: {b for a, b, _ in edges if a == c} for c in self.contended}
        for middle in self.contended:
            for c in self.contended:
                if middle in reach[c]:
                    reach[c] |= reach[middle]
        return any(not fenced and a in reach[b] for a, b, fenced in edges)

    # ---- steps without an access

    def enabled(self, s, t, i):
        th, place = s.threads[t], self.p.places[t]
        if i.op == "wait":
            message = self.cell_messages(s, t, i.loc)
            if not COMPARE[i.arg](self.value([m or NOTHING for m in message]), i.value):
                self.probe(s, t, i)
                return False
        if i.op == "cwait":
            return s.clusters[self.clusters.index(place.cluster)][0] > th.phase
        if i.op == "mwait":
            return all(s.copies[k].done == 2 for k in self.of_mbarrier(place.block, i.arg)) and bool(self.of_mbarrier(place.block, i.arg))
        if i.op == "gwait":
            return all(s.copies[k].done >= (1 if i.arg == "read" else 2) for k in self.of_group(t, th.pc))
        return True

    def of_mbarrier(self, block, mbarrier):
        return [k for k, (t, pc) in enumerate(self.copies)
                if self.p.code[t][pc].op == "copyin" and self.p.places[t].block == block and self.p.code[t][pc].arg[1] == mbarrier]

    def of_group(self, t, pc):
        return [k for k, (u, at) in enumerate(self.copies) if u == t and at < pc and self.p.code[t][at].op == "copyout"]

    def local_step(self, s, t, i):
        th, place = s.threads[t], self.p.places[t]
        k = th.known
        if i.op == "ret":
            return [self.end_thread(s, t)]
        if i.op == "bar":
            return [self.release_barriers(put(s, t, th._replace(waits=True)))]
        th = th._replace(pc=th.pc + 1)
        if i.op == "fence":
            return [self.fence(s, t, th, i)]
        if i.op == "pfence":
            th = th._replace(known=k._replace(proxy=k.base, proxy_seen=k.seen))
        elif i.op == "arrive":
            at = self.clusters.index(place.cluster)
            phase, who, arrived, done = s.clusters[at]
            clusters = s.clusters[:at] + ((phase, who | {t}, arrived.join(k, False), done),) + s.clusters[at + 1:]
            return [self.release_barriers(put(s, t, th._replace(phase=phase))._replace(clusters=clusters))]
        elif i.op == "cwait":
            th = th._replace(known=k.join(s.clusters[self.clusters.index(place.cluster)][3], False))
        elif i.op == "mwait":
            for c in self.of_mbarrier(place.block, i.arg):
                k = k.join(s.copies[c].known, True).with_count(self.n + c, 2)
            th = th._replace(known=k)
        elif i.op == "gwait":
            for c in self.of_group(t, th.pc - 1):
                k = k.with_count(self.n + c, 1 if i.arg == "read" else 2)
            th = th._replace(known=k)
        else:  # starts a copy
            c = self.copies.index((t, th.pc - 1))
            s = s._replace(copies=s.copies[:c] + (CopyState(k),) + s.copies[c + 1:])
        return [put(s, t, th)]

    def fence(self, s, t, th, i):
        th = self.acquire(t, th, i.scope, None)
        if i.order == "sc":
            k = th.known
            for other, scope, known in s.sc:
                if self.both_include(t, i.scope, other, scope):
                    k = k.join(known, self.same_block(t, other))
            if self.covers_all(t, i.scope):
                k = k._replace(fenced=k.base)
            th = th._replace(known=k)
            s = s._replace(sc=s.sc | {(t, i.scope, k)})
        level = SCOPES.index(i.scope)
        th = th._replace(fences=(None,) * level + (th.known,) + th.fences[level + 1:])
        return put(s, t, th)

    def same_block(self, a, b):
        return self.place(a).device is not None and self.place(a).block == self.place(b).block

    def acquire(self, t, th, scope, covers):
        """Completes acquire patterns: a fence (covers is None) completes the patterns of all earlier strong reads; any other
        operation completes only patterns on its own location."""
        k, left = th.known, set()
        for read, head in th.pending:
            ends = (covers is None or (read == covers and head.covers in (None, covers))) and self.both_include(t, scope, head.thread, head.scope)
            if ends:
                k = k.join(head.known, self.same_block(t, head.thread))
            else:
                left.add((read, head))
        return th._replace(known=k, pending=frozenset(left))

    def release_barriers(self, s):
        """Lets threads pass a bar or a cluster barrier once all threads that have not exited wait at it."""
        for mates in self.mates.values():
            live = [t for t in mates if not s.threads[t].ended]
            waiting = [t for t in live if s.threads[t].waits]
            at = [self.p.code[t][s.threads[t].pc] for t in waiting]
            if len({i.arg for i in at}) > 1 and any(i.order == "aligned" for i in at):
                raise Undefined("threads of a block wait at different aligned barriers")
            if waiting and waiting == live:
                self.passes(s, mates)
                known = s.threads[live[0]].known
                for t in live[1:]:
                    known = known.join(s.threads[t].known, True)
                for t in live:
                    th = s.threads[t]
                    s = put(s, t, th._replace(known=th.known.join(known, True), waits=False, pc=th.pc + 1))
        for at, cluster in enumerate(self.clusters):
            phase, who, arrived, done = s.clusters[at]
            if not who:
                continue
            live = {t for t in range(self.n) if self.p.places[t].cluster == cluster and not s.threads[t].ended}
            if live and live <= who:
                self.passes(s, [t for t in range(self.n) if self.p.places[t].cluster == cluster])
                clusters = s.clusters[:at] + ((phase + 1, frozenset(), arrived, arrived),) + s.clusters[at + 1:]
                s = s._replace(clusters=clusters)
        return s

    def passes(self, s, threads):
        """Handles a barrier that waited for a thread's exit. In the weak model, this wait does not create causality. In every interleaving,
        the wait puts a fence.sc before the exit and a fence.sc after the barrier in this order, but the Fence-SC order may contain them in
        the opposite order. The accesses that such fences order have the same order in every interleaving, so they do not
        count as contended; `fences_around_exit` records that such fences may exist."""
        fences = [t for t, code in enumerate(self.p.code) if any(i.op == "fence" and i.order == "sc" for i in code)]
        for t in threads:
            if s.threads[t].ended:
                self.fences_around_exit |= len(fences) > 1
                self.waited_for_exit.update(c for i in self.p.code[t] if i.loc and i.order != "weak" for c in self.cells[self.object(t, i.loc)])

    def end_thread(self, s, t):
        place = self.p.places[t]
        s = put(s, t, s.threads[t]._replace(ended=True))
        if place.device is None:
            return s
        mates = self.mates[place.block]
        if all(s.threads[u].ended for u in mates):
            self.end_block(s, place.block, mates)
            s = s._replace(gone=s.gone | {place.block})
        return self.release_barriers(s)

    def end_block(self, s, block, mates):
        known = s.threads[mates[0]].known
        for u in mates[1:]:
            known = known.join(s.threads[u].known, True)
        for cell, owner in enumerate(self.owner):
            if owner == block:
                for access in s.history[cell]:
                    if access.actor not in mates and not known.has(access):
                        what = "a bulk copy" if access.actor >= self.n else "another block"
                        raise Undefined(f"the exit of block {block} is not ordered after an access of {what} to its shared memory")
        for c, (t, pc) in enumerate(self.copies):
            touches = [self.owner[self.cells[self.object(t, loc)][0]] for loc in self.locations(self.p.code[t][pc])]
            if s.copies[c].known is not None and block in touches and s.copies[c].done < 2:
                shared_source = self.p.code[t][pc].op == "copyout"
                if not (shared_source and s.copies[c].done == 1):
                    raise Undefined(f"block {block} ends while a bulk copy accesses its shared memory")

    # ---- accesses

    def cell_messages(self, s, t, loc):
        cells = self.cells[self.object(t, loc)]
        if loc.half is not None:
            cells = cells[loc.half:loc.half + 1]
        return [s.memory[c] for c in cells]

    @staticmethod
    def value(messages):
        return sum(m.value << 16 * n for n, m in enumerate(messages))

    def lives(self, s, t, i, known):
        """Raises an exception if the accessed shared memory may not exist."""
        block = self.owner[self.cells[self.object(t, i.loc)][0]]
        if block is None or block == self.p.places[t].block:
            return
        if i.window:
            raise Undefined("the .shared::cta window is accessed with an address of another block")
        if known.base[self.begin(block)] == 0:
            raise Undefined(f"an access to the shared memory of block {block} is not ordered after the block's start")
        if block in s.gone:
            raise Undefined(f"an access to the shared memory of block {block} comes after the block's exit")

    def look_for_races(self, s, access, cells, ordered, known=None):
        for cell in cells:
            for other in s.history[cell]:
                if other.actor == access.actor or not (other.write or access.write):
                    continue
                strong = self.morally_strong(other, access)
                if ordered(other):
                    update_seen = known is not None and other.read and other.write and other.index > known.base[other.actor]
                    self.open |= update_seen and access.write and not strong
                elif strong:
                    self.contended.add(cell)
                else:
                    self.findings.add("race")

    def probe(self, s, t, i):
        """A failed wait also counts as a read."""
        key = self.object(t, i.loc)
        if None in self.cell_messages(s, t, i.loc):
            self.findings.add("uninitialised")
        self.lives(s, t, i, s.threads[t].known)
        access = Access(t, 0, False, True, i.order != "weak", i.scope, (key, None))
        self.look_for_races(s, access, self.cells[key], s.threads[t].known.has)

    def note_edges(self, s, t, access, cells):
        """Records the other locations from which there is a causality path to this access; see critical_cycle."""
        k = s.threads[t].known
        if access.strong:
            for cell, accesses in enumerate(s.history):
                if cell not in cells:
                    before = [a.index <= k.fenced[a.actor] for a in accesses if a.strong and k.has(a)]
                    self.edges.update((cell, c, fenced) for c in cells for fenced in before)

    def thread_access(self, s, t, i):
        th = s.threads[t]
        key = self.object(t, i.loc)
        cells = list(self.cells[key])
        half = i.loc.half
        if half is not None:
            cells = cells[half:half + 1]
        reads, writes = i.op != "st", i.op not in ("ld", "wait", "need")
        index = th.known.base[t] + 1
        s, th, old = self.perform(s, t, i, key, half, cells, reads, writes, index)
        if i.op in ("ld", "add", "exch"):
            th = th._replace(registers=th.registers + (old,))
        th = th._replace(pc=th.pc + 1, known=th.known.with_count(t, index))
        s = put(s, t, th)
        return self.end_thread(s, t) if i.op == "need" and not COMPARE[i.arg](old, i.value) else s

    def packed_steps(self, s, t, i):
        """A packed addition is one read-modify-write per element, in either order."""
        result = []
        th = s.threads[t]
        key = self.object(t, i.loc)
        for element in (0, 1):
            if th.half is not None and th.half[0] == element:
                continue
            ins = i._replace(value=i.value >> 16 * element & 0xffff)
            index = th.known.base[t] + (1 if th.half is None else 2)
            after, next_th, old = self.perform(s, t, ins, key, element, [self.cells[key][element]], True, True, index)
            if th.half is None:
                next_th = next_th._replace(half=(element, old))
            else:
                word = old << 16 * element | th.half[1] << 16 * th.half[0]
                next_th = next_th._replace(half=None, pc=th.pc + 1, known=next_th.known.with_count(t, index),
                                           registers=th.registers + ((word,) if i.arg == "atom" else ()))
            result.append(put(after, t, next_th))
        return result

    def perform(self, s, t, i, key, half, cells, reads, writes, index):
        """Reads and writes the cells. Returns three values: the new state without the thread's part, the thread's part, and the
        old value."""
        th = s.threads[t]
        self.lives(s, t, i, th.known)
        strong = i.order != "weak"
        access = Access(t, index, writes, reads, strong, i.scope, (key, half))
        self.look_for_races(s, access, cells, th.known.has, th.known)
        self.note_edges(s, t, access, cells)
        messages = [s.memory[c] for c in cells]
        if reads and None in messages:
            self.findings.add("uninitialised")
        messages = [m or NOTHING for m in messages]
        old = self.value(messages) if reads else 0
        inherited, chain = frozenset(), frozenset()
        if reads:
            observed = [m for m in messages if self.morally_strong(m.by, access)]
            inherited = frozenset().union(*(m.heads for m in observed))
            chain = frozenset().union(*(m.chain for m in observed))
            if strong and i.op != "red" and not (i.op == "packed" and i.arg == "red"):
                th = th._replace(pending=th.pending | {((key, half), h) for h in inherited if not self.knows(th, h)})
            if i.order in ACQUIRES:
                th = self.acquire(t, th, i.scope, (key, half))
            k = th.known
            th = th._replace(known=k._replace(seen=k.seen | {e for e in chain if e[1] > k.base[e[0]]}))
        memory, history = list(s.memory), list(s.history)
        if writes:
            heads, th = self.heads(t, th, i, (key, half), index)
            new = {"add": old + i.value & 0xffffffff, "red": old + i.value & 0xffffffff, "packed": 0}.get(i.op, i.value)
            if i.op == "packed":
                new = add_element(i.type, old, i.value)
            for n, c in enumerate(cells):
                part = new if len(cells) == 1 else new >> 16 * n & 0xffff
                memory[c] = Message(part, access, heads | inherited, chain | {(t, index)})
        for c in cells:
            history[c] = history[c] | {access}
        return s._replace(memory=tuple(memory), history=tuple(history)), th, old

    @staticmethod
    def knows(th, head):
        return all(a <= b for a, b in zip(head.known.base, th.known.base)) and head.known.seen <= th.known.seen and \
            all(a <= b for a, b in zip(head.known.proxy, th.known.proxy)) and all(a <= b for a, b in zip(head.known.fenced, th.known.fenced))

    def heads(self, t, th, i, covers, index):
        """Returns the release patterns that this write completes."""
        if i.order == "weak":
            return frozenset(), th
        result = {Head(t, SCOPES[n], None, k) for n, k in enumerate(th.fences) if k is not None}
        if i.order in RELEASES:
            th = th._replace(releases=th.releases | {Head(t, i.scope, covers, th.known.with_count(t, index))})
        return frozenset(result | {h for h in th.releases if h.covers == covers}), th

    def copy_step(self, s, c):
        """Executes a bulk copy, which reads its source and then writes its destination, through the async proxy of the block that started
        it."""
        t, pc = self.copies[c]
        i, state, actor = self.p.code[t][pc], s.copies[c], self.n + c
        source, target = (i.arg[0], i.loc) if i.op == "copyin" else (i.arg, i.loc)
        key = self.object(t, target if state.done else source)
        cells = self.cells[key]
        access = Access(actor, state.done + 1, state.done == 1, state.done == 0, False, "sys", (key, None))

        def ordered(other):
            if other.actor >= self.n and self.same_block(actor, other.actor):
                return state.known.has(other)
            return state.known.has_by_proxy(other)

        self.look_for_races(s, access, cells, ordered)
        memory, history, value = list(s.memory), list(s.history), state.value
        if state.done == 0:
            messages = [s.memory[cell] for cell in cells]
            if None in messages:
                self.findings.add("uninitialised")
            value = self.value([m or NOTHING for m in messages])
        for n, cell in enumerate(cells):
            history[cell] = history[cell] | {access}
            if state.done == 1:
                memory[cell] = Message(value if len(cells) == 1 else value >> 16 * n & 0xffff, access, frozenset(), frozenset())
        copies = s.copies[:c] + (CopyState(state.known, state.done + 1, value),) + s.copies[c + 1:]
        return s._replace(memory=tuple(memory), history=tuple(history), copies=copies)


def block_of(key, program):
    return key[1] if program.spaces[key[0]] == "shared" else None


def put(s, t, th):
    return s._replace(threads=s.threads[:t] + (th,) + s.threads[t + 1:])


def decide(program):
    return Oracle(program).decide()
