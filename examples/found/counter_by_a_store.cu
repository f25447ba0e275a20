// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel signals a chunk with a plain store and a fence; another kernel polls with compare-and-swap and resets the counter.

template <bool Fixed>
__global__ void produce(int* chunk, unsigned* counter) {
  *chunk = 7;
  if constexpr (Fixed) {
    __threadfence();
    atomicExch(counter, 0U);
  } else {
    *counter = 0;
    __threadfence();
  }
}

template <bool Fixed>
__global__ void consume(const int* chunk, unsigned* counter, int* out) {
  while (atomicCAS(counter, 0U, 0U) != 0) {
  }
  if constexpr (Fixed) {
    __threadfence();
    atomicExch(counter, 1U);
  } else {
    *counter = 1;
    __threadfence();
  }
  *out = *chunk;
}
template __global__ void produce<false>(int*, unsigned*);
template __global__ void produce<true>(int*, unsigned*);
template __global__ void consume<false>(const int*, unsigned*, int*);
template __global__ void consume<true>(const int*, unsigned*, int*);
