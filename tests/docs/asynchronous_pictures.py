#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the two pictures for docs/asynchronous_copies.md.

usage: asynchronous_pictures.py [--check]

With --check, it writes nothing, and fails if a picture is out of date.
"""

import sys

from picture import Picture, draw


def stage():
    """Draws one stage of shared memory, from one bulk load to the next."""
    p = Picture(860, 300, "One stage of shared memory over time",
                "A bulk load fills the stage through the async proxy. It ends on the mbarrier, and the consumers that wait need no fence. They "
                "read and write through the generic proxy, then execute a proxy fence and a barrier before a bulk store reads the stage. After "
                "bulk_wait_read, the next load may fill it.")
    for y, words in ((50, "async proxy"), (180, "generic proxy")):
        p.box(16, y, 828, 84, "lane")
        p.text(28, y + 20, words, "note")
    p.text(16, 30, "shared memory of one stage, from left to right in time", "head")
    p.labelled(60, 76, 150, 46, "async", "bulk_load", "writes the stage")
    p.labelled(262, 206, 190, 46, "generic", "loads and stores", "of all consumers")
    p.labelled(520, 76, 150, 46, "async", "bulk_store", "reads the stage")
    p.labelled(716, 76, 116, 46, "async", "bulk_load", "the next tile")
    p.arrow("done", (170, 122), (170, 158), (290, 158), (290, 204))
    p.text(180, 152, "mbarrier: wait(acquire)", "done-text")
    p.arrow("fence", (430, 206), (430, 158), (560, 158), (560, 124))
    p.text(440, 152, "proxy fence,", "fence-text")
    p.text(572, 152, "then a barrier", "fence-text")
    p.arrow("done", (670, 99), (714, 99))
    p.text(692, 44, "bulk_wait_read", "done-text", "middle")
    p.arrow("done", (692, 48), (692, 92))
    p.text(28, 288, "From async to generic, the completion acts as the fence. From generic to async, the program needs its own "
                    "fence.", "note")
    return p.svg()


def paths():
    """Draws the synchronization required between two accesses to the same bytes."""
    rows = [
        ("generic", "ordinary access", "async", "bulk copy", "fence", "proxy fence after the access, in the copy's block"),
        ("async", "bulk copy", "generic", "ordinary access", "done", "its completion: mbarrier or group"),
        ("async", "bulk copy", "async", "bulk copy, same block", "done", "its completion"),
        ("async", "bulk copy", "async", "bulk copy, other block", "fence", "completion, flag, then a proxy fence there"),
        ("generic", "a kernel", "async", "bulk copy, next kernel", "order", "its end, or wait_for_prerequisites()"),
    ]
    p = Picture(860, 52 + 62 * len(rows), "What two accesses to the same bytes need between them",
                "; ".join(f"from {first} to {then}: {words}" for _, first, _, then, _, words in rows))
    p.text(16, 30, "first", "head")
    p.text(636, 30, "then", "head")
    for i, (first_kind, first, then_kind, then, arrow, words) in enumerate(rows):
        y = 44 + 62 * i
        p.labelled(16, y, 160, 42, first_kind, first)
        p.labelled(636, y, 208, 42, then_kind, then)
        p.arrow(arrow, (178, y + 21), (634, y + 21))
        p.text(406, y + 13, words, f"{arrow}-text", "middle")
    return p.svg()


if __name__ == "__main__":
    sys.exit(draw("asynchronous_pictures.py", __doc__, {"asynchronous_stage.svg": stage(), "asynchronous_paths.svg": paths()}))
