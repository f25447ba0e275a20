#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the pictures of the kinds of memory for docs/memory_guide.md.

usage: memory_pictures.py [--check]

With --check, it writes nothing, and fails if a picture is out of date.
"""

import sys

from picture import Picture, draw


def cells(p, x, y, width, words, kind="generic", height=34):
    for i, word in enumerate(words):
        p.box(x + i * width, y, width - 4, height, kind)
        p.text(x + i * width + width / 2 - 2, y + height / 2 + 5, word, "", "middle")


def local():
    p = Picture(760, 186, "The layout of a warp's local memory",
                "Word 0 of all 32 threads is in one line of 128 bytes, word 1 of all in the next. If all threads use one index, a warp reads one "
                "line. If their indices differ, it reads many.")
    for row in range(3):
        y = 44 + 44 * row
        p.text(16, y + 22, f"word {row}", "head")
        cells(p, 96, y, 84, ("thread 0", "thread 1", "thread 2", "thread 3", "..."), "generic" if row == 1 else "lane")
        cells(p, 516, y, 92, ("thread 31",), "generic" if row == 1 else "lane")
    p.text(96, 30, "a line of 128 bytes: one word of each of the 32 threads", "note")
    p.text(620, 110, "one index for all:", "done-text")
    p.text(620, 127, "one line", "done-text")
    return p.svg()


def distributed_shared():
    p = Picture(760, 190, "Distributed shared memory",
                "Each block of a cluster has shared memory on its own multiprocessor. A thread reads another block's shared memory through the "
                "cluster's network, without L2.")
    for x, block in ((16, 0), (424, 1)):
        p.box(x, 14, 320, 116, "lane")
        p.text(x + 12, 38, f"block {block}", "head")
        p.text(x + 308, 38, "a multiprocessor", "note", "end")
        p.labelled(x + 16, 56, 130, 56, "generic", "threads")
        p.labelled(x + 174, 56, 130, 56, "generic", "shared", "its own")
        p.arrow("order", (x + 146, 84), (x + 172, 84))
    p.arrow("done", (97, 112), (97, 152), (663, 152), (663, 114))
    p.text(380, 146, "shared_of_block: over the cluster's network", "done-text", "middle")
    p.text(380, 174, "cluster_sync() before the first access, and before a block ends", "note", "middle")
    return p.svg()


def texture():
    p = Picture(760, 212, "What a texture fetch computes",
                "The coordinates of a fetch are between four texels. The texture unit clamps them to the border, reads the four texels through L1 and "
                "returns their weighted mean.")
    for row in range(4):
        cells(p, 16, 22 + 38 * row, 44, ("",) * 5, "lane")
    for column, row in ((1, 1), (2, 1), (1, 2), (2, 2)):
        p.box(16 + 44 * column, 22 + 38 * row, 40, 34, "generic")
    p.text(104, 102, "●", "fence-text", "middle")
    p.text(16, 196, "an image; a point between four texels", "note")
    p.arrow("order", (244, 94), (300, 94))
    p.labelled(304, 60, 190, 68, "async", "texture unit", "clamps, filters, converts")
    p.arrow("order", (494, 94), (550, 94))
    p.labelled(554, 68, 190, 52, "generic", "one value", "the texels' mean")
    p.text(304, 156, "It reads through L1, by its own proxy: only a later kernel", "note")
    p.text(304, 174, "may fetch what ordinary stores have written.", "note")
    return p.svg()


def global_memory():
    p = Picture(760, 200, "A warp reads 16 bytes per lane",
                "32 lanes that read 16 bytes each request four whole lines of 128 bytes, with one instruction. If several such loads are issued before "
                "the first use, they are in flight at the same time.")
    p.text(16, 36, "lanes of a warp, 16 bytes each", "note")
    cells(p, 16, 46, 182, ("0 to 7", "8 to 15", "16 to 23", "24 to 31"))
    for i in range(4):
        p.arrow("order", (105 + 182 * i, 82), (105 + 182 * i, 116))
    cells(p, 16, 118, 182, ("line of 128 bytes",) * 4, "async")
    p.text(16, 178, "Whole lines, each fetched once. Issue more loads before you use the first value: their latencies overlap.", "note")
    return p.svg()


def managed():
    p = Picture(760, 210, "Pages of managed memory move",
                "A page is where it was last used. A kernel's first access faults and moves it to the device; a prefetch moves it before the kernel "
                "begins; an access by the host moves it back.")
    for x, where in ((16, "host memory"), (484, "device memory")):
        p.box(x, 14, 260, 130, "lane")
        p.text(x + 12, 38, where, "head")
    cells(p, 32, 60, 58, ("page",) * 4, "generic", 62)
    cells(p, 500, 60, 58, ("page",) * 4, "generic", 62)
    p.arrow("fence", (278, 66), (482, 66))
    p.text(380, 58, "a kernel touches it: a fault", "fence-text", "middle")
    p.arrow("done", (278, 98), (482, 98))
    p.text(380, 90, "prefetch_pages: no fault", "done-text", "middle")
    p.arrow("order", (482, 130), (278, 130))
    p.text(380, 122, "the host touches it", "order-text", "middle")
    p.text(16, 172, "Both use the same address. Until the page has moved, an access waits for the fault and the link;", "note")
    p.text(16, 190, "after that, the page is ordinary device memory.", "note")
    return p.svg()


def peer():
    p = Picture(760, 210, "Memory of another GPU",
                "A load from a peer's memory makes a round trip over the link. A store is sent, and the thread does not wait for it. L1 may keep a "
                "line that was read.")
    for x, gpu in ((16, 0), (464, 1)):
        p.box(x, 14, 280, 132, "lane")
        p.text(x + 12, 38, f"GPU {gpu}", "head")
    p.labelled(32, 54, 118, 76, "generic", "threads", "and their L1")
    p.labelled(480, 54, 118, 76, "generic", "L2")
    p.labelled(610, 54, 118, 76, "generic", "memory")
    p.arrow("order", (598, 92), (608, 92))
    p.arrow("done", (150, 70), (478, 70))
    p.text(380, 62, "a store: sent", "done-text", "middle")
    p.arrow("fence", (150, 96), (478, 96))
    p.text(380, 90, "a load: there", "fence-text", "middle")
    p.arrow("fence", (478, 120), (152, 120))
    p.text(380, 114, "and back", "fence-text", "middle")
    p.text(16, 174, "Write rather than read. A flag after the data needs a release at system scope:", "note")
    p.text(16, 192, "it waits until the stores have arrived.", "note")
    return p.svg()


PICTURES = {"memory_local.svg": local(), "memory_distributed_shared.svg": distributed_shared(), "memory_texture.svg": texture(),
            "memory_global.svg": global_memory(), "memory_managed.svg": managed(), "memory_peer.svg": peer()}

if __name__ == "__main__":
    sys.exit(draw("memory_pictures.py", __doc__, PICTURES))
