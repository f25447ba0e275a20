# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests for pytest --membar: a correct counter, and a counter without atomic additions."""

import cupy
import pytest

SOURCE = r"""
extern "C" __global__ void right(unsigned* count) { atomicAdd(count, 1); __threadfence(); }
extern "C" __global__ void wrong(unsigned* count) { *count += 1; __threadfence(); }
"""


def count(name):
    memory = cupy.zeros(4, cupy.uint32)
    cupy.RawModule(code=SOURCE).get_function(name)((2,), (1,), (memory,))
    return int(memory[0])


@pytest.mark.membar("right")
def test_right():
    assert count("right") == 2


@pytest.mark.membar("wrong")
def test_wrong():
    assert count("wrong") >= 1
