// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The all-reduces of the examples, of two PEs, several in a row in a stream: by one thread of each. What waits in vain traps in silence.
#include <cstdio>
#define printf(...) static_cast<void>(0)
#include "../../../examples/all_reduce_one_shot.cuh"
#include "../../../examples/all_reduce_two_shots.cuh"

using make = symmetric::detail::access;
using backend = symmetric::peer_backend;

template <class T>
__device__ span<T> symmetric_span(T* memory, int self, int each) {
  return make::make_span<T, backend>(memory + each * self, static_cast<std::size_t>(each),
                                     symmetric::peer_reach(pe(self), 2, each * static_cast<long>(sizeof *memory)));
}

extern "C" __global__ void in_one_shot(packed<piece>* boxes, ended_signal* ended, unsigned long long* rounds, int self,
                                       const float* in, float* out, unsigned long long size) {
  add_in_one_shot(in + 4 * self, out + 4 * self, size, symmetric_span(boxes, self, 12), symmetric_span(ended, self, 2),
                  rounds + 2 * self);
}

/// Between a step that writes the vector and one that reads it.
extern "C" __global__ void in_two_shots(float* vector, symmetric::barrier_word* words, int self, float* sums) {
  for (int i = 0; i != 8; ++i) {
    vector[8 * self + i] += 1;
  }
  add_in_two_shots(symmetric_span(vector, self, 8), 8, symmetric_span(words, self, 3));
  for (int i = 0; i != 8; ++i) {
    sums[self] += vector[8 * self + i];
  }
}
