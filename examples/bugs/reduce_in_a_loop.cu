// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block reduction that must not be called twice in a row, because it reuses its shared memory (cudf #13488).

template <bool Mended>
__device__ unsigned sum_of_block(unsigned value) {
  __shared__ unsigned cells[256];
  cells[threadIdx.x] = value;
  __syncthreads();
  unsigned sum = 0;
  for (unsigned t = 0; t < blockDim.x; ++t) {
    sum += cells[t];
  }
  if constexpr (Mended) {
    __syncthreads();  // before the next call writes the sums
  }
  return sum;
}

template <bool Mended>
__global__ void sum_repeatedly(unsigned calls, unsigned* wrong) {
  for (unsigned c = 1; c <= calls; ++c) {
    wrong[threadIdx.x] += sum_of_block<Mended>(c) != c * blockDim.x ? 1 : 0;
  }
}
template __global__ void sum_repeatedly<false>(unsigned, unsigned*);
template __global__ void sum_repeatedly<true>(unsigned, unsigned*);
