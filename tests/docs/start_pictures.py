#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the pictures for docs/start.

usage: start_pictures.py [--check]

With --check, it writes nothing, and fails if a picture is out of date.
"""

import sys

from picture import Picture, draw

ROW, TOP = 52, 62  # The height of a step, and the position of the first one.


class Lanes(Picture):
    """Draws threads side by side, each in its own lane, with time running from top to bottom."""

    def __init__(self, title, description, lanes, rows, notes, width=760):
        self._height = TOP + ROW * rows
        super().__init__(width, self._height + 22 + 22 * len(notes), title, description)
        self._lanes, gap = [], 76
        each = (width - 32 - gap * (len(lanes) - 1)) / len(lanes)
        for i, (head, note) in enumerate(lanes):
            x = 16 + i * (each + gap)
            self._lanes.append((x, each))
            self.box(x, 14, each, self._height - 14, "lane")
            self.text(x + 12, 38, head, "head")
            self.text(x + each - 12, 38, note, "note", "end")
        for i, words in enumerate(notes):
            self.text(16, self._height + 26 + 22 * i, words, "note")

    def step(self, lane, row, words, kind="generic", note=""):
        x, each = self._lanes[lane]
        self.labelled(x + 16, TOP + ROW * row - 8, each - 32, 42 if note else 34, kind, words, note)

    def between(self, start, end, kind, *words):
        """Draws an arrow from (lane, row) to (lane, row), with words above it."""
        (lane, row), (to, to_row) = start, end
        x, each = self._lanes[lane]
        to_x, to_each = self._lanes[to]
        a, b = (x + each - 16, to_x + 14) if to > lane else (x + 16, to_x + to_each - 14)
        y, to_y = TOP + ROW * row + 10, TOP + ROW * to_row + 10
        self.arrow(kind, (a, y), (b, to_y))
        for i, line in enumerate(reversed(words)):
            self.text((a + b) / 2, min(y, to_y) - 8 - 15 * i, line, f"{kind}-text", "middle")


def counter():
    p = Picture(760, 254, "Two threads count with ++ and with an atomic addition",
                "With plain ++, both threads read 0 and both write 1: one addition is lost. With an atomic addition, one thread changes "
                "0 to 1 and the other changes 1 to 2.")
    for x, head, kind, steps, ends in (
            (16, "counter++", "fence", (("A reads 0", 0), ("B reads 0", 1), ("A writes 1", 0), ("B writes 1", 1)), "the counter is 1"),
            (388, "atomic addition", "done", (("A: 0 becomes 1", 0), ("B: 1 becomes 2", 1)), "the counter is 2")):
        p.box(x, 14, 356, 190, "lane")
        p.text(x + 12, 38, head, "head")
        p.text(x + 344, 38, "threads A and B", "note", "end")
        for row, (words, side) in enumerate(steps):
            p.labelled(x + 16 + 166 * side, 50 + row * (36 if len(steps) == 4 else 72), 158, 34, "generic", words)
        p.text(x + 178, 232, ends, f"{kind}-text", "middle")
    return p.svg()


def flag_and_data():
    p = Lanes("A flag and its data",
              "The first warp writes data and stores the flag with release. The second loads the flag with acquire until it is 1, and then "
              "reads the data. After the acquire, the second warp sees everything that the first did before the release.",
              [("warp 0", "writes"), ("warp 1", "reads")], 4,
              ["Everything above the release is visible to everything below the acquire that found the flag raised."])
    p.step(0, 0, "data = 42")
    p.step(0, 1, "flag.store(1, release)", "async")
    p.step(1, 1, "flag.load(acquire) → 0", "generic")
    p.step(1, 2, "flag.load(acquire) → 1", "async")
    p.step(1, 3, "data is 42")
    p.between((0, 1), (1, 2), "done", "")
    return p.svg()


def two_blocks():
    p = Lanes("One thread releases on behalf of its block",
              "All threads of block 0 write and call __syncthreads, and one of them releases the flag at device scope. One thread of "
              "block 1 acquires it, all threads call __syncthreads, and all read.",
              [("block 0", "on one multiprocessor"), ("block 1", "on another")], 5,
              ["Block scope covers only one block. The flag goes to another block, so it has device scope."])
    p.step(0, 0, "all threads write data")
    p.step(0, 1, "__syncthreads()", "lane")
    p.step(0, 2, "one: store(1, release)", "async")
    p.step(1, 2, "one: load(acquire) → 1", "async")
    p.step(1, 3, "__syncthreads()", "lane")
    p.step(1, 4, "all threads read data")
    p.between((0, 2), (1, 2), "done", "device", "scope")
    return p.svg()


def host_and_kernel():
    p = Lanes("A question and its answer",
              "The host writes the question and releases a flag. The running kernel acquires it, writes the answer and releases another flag, "
              "which the host acquires. Both flags have system scope.",
              [("host", "a thread on the CPU"), ("kernel", "runs all the time")], 5,
              ["The words are in mapped host memory. Each flag has one writer.", "System scope is the only scope that includes the host."])
    p.step(0, 0, "question = 7")
    p.step(0, 1, "asked: store(1, release)", "async")
    p.step(1, 1, "asked: load(acquire) → 1", "async")
    p.step(1, 2, "answer = 49")
    p.step(1, 3, "answered: store(1, release)", "async")
    p.step(0, 3, "answered: load(acquire) → 1", "async")
    p.step(0, 4, "answer is 49")
    p.between((0, 1), (1, 1), "done", "system", "scope")
    p.between((1, 3), (0, 3), "done", "system", "scope")
    return p.svg()


def two_gpus():
    p = Lanes("A put with its signal",
              "GPU 0 stores the message into the memory of GPU 1, and then the signal, with release at system scope. GPU 1 waits for the signal "
              "with acquire, and reads the message from its own memory.",
              [("GPU 0", "put_signal"), ("GPU 1", "wait")], 4,
              ["The message is stored in the memory of its reader, because a load over the link would take a round trip."])
    p.step(0, 0, "message is written")
    p.step(0, 1, "stores to GPU 1", "async")
    p.step(0, 2, "signal: release", "async")
    p.step(1, 1, "box", "lane")
    p.step(1, 2, "signal: acquire", "async")
    p.step(1, 3, "box is the message")
    p.between((0, 1), (1, 1), "order", "NVLink")
    p.between((0, 2), (1, 2), "done", "system", "scope")
    return p.svg()


if __name__ == "__main__":
    sys.exit(draw("start_pictures.py", __doc__, {f"start_{made.__name__}.svg": made() for made in
                                                 (counter, flag_and_data, two_blocks, host_and_kernel, two_gpus)}))
