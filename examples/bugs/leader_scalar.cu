// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread publishes a number to its block in every iteration of a loop with only one barrier (TensorRT-LLM #18338).

template <bool Mended>
__global__ void refine(unsigned steps, unsigned* wrong) {
  __shared__ unsigned pivot;
  for (unsigned step = 0; step < steps; ++step) {
    if (threadIdx.x == 0) {
      pivot = step;
    }
    __syncthreads();
    wrong[threadIdx.x] += pivot != step ? 1 : 0;
    if constexpr (Mended) {
      __syncthreads();  // all threads have read it
    }
  }
}
template __global__ void refine<false>(unsigned, unsigned*);
template __global__ void refine<true>(unsigned, unsigned*);
