# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numba: threads add to a counter, and a flag signals that data is ready."""

import functools

import numpy
from numba import cuda


# Without lto=False, Numba links LTO-IR, and there is no PTX. numba-cuda 0.30.4 ignores the argument in @cuda.jit(lto=False).
@functools.partial(cuda.jit, lto=False)
def publish(data, flag, out):
    if cuda.blockIdx.x == 0:
        data[0] = 42
        cuda.threadfence()
        cuda.atomic.exch(flag, 0, 1)
    elif cuda.atomic.add(flag, 0, 0) == 1:
        cuda.threadfence()
        out[0] = data[0]


zeros = [cuda.to_device(numpy.zeros(4, numpy.int32)) for _ in range(3)]
publish[2, 1](*zeros)
cuda.synchronize()
