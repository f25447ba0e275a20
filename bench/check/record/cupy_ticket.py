# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CuPy: a ticket lock as a RawModule."""

import cupy

SOURCE = r"""
extern "C" __global__ void ticket(unsigned* next, unsigned* serving, unsigned* count) {
  const unsigned mine = atomicAdd(next, 1);
  while (atomicAdd(serving, 0) != mine) {}
  __threadfence();
  *count += 1;
  __threadfence();
  atomicAdd(serving, 1);
}
"""
memory = cupy.zeros(24, cupy.uint32)
cupy.RawModule(code=SOURCE).get_function("ticket")((2,), (1,), (memory[0:1], memory[2:3], memory[4:5]))
assert memory[4] == 2, memory
