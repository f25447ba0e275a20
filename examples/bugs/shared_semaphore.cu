// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two kernels in two streams count their blocks with one semaphore, and each waits for a last block of its own (ROCm/aiter #3288).

/// The block that comes last, by the semaphore, adds up the parts of its kernel, and clears the semaphore.
extern "C" __global__ void add_parts(unsigned* parts, unsigned* semaphore, unsigned* sum) {
  parts[blockIdx.x] = 1;
  __threadfence();
  if (atomicAdd(semaphore, 1U) == gridDim.x - 1) {
    __threadfence();
    for (unsigned b = 0; b < gridDim.x; ++b) {
      *sum += parts[b];
    }
    atomicExch(semaphore, 0U);
  }
}
