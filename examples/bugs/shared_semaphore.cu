// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two kernels in two streams count blocks with one semaphore; each expects its own last block (ROCm/aiter #3288).

/// The block that is last according to the semaphore sums its kernel's parts and clears the semaphore.
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
