// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The producer and the consumers of a bulk-copy pipeline in one block. In every tile, each consumer reads its word and
// overwrites it.
#include <membar/sync/bulk_pipeline.cuh>

constexpr membar::wait_budget long_enough = membar::wait_budget::milliseconds(10'000);

template <int Stages>
__global__ void stream(const unsigned* from, unsigned tiles, unsigned* sums) {
  __shared__ membar::bulk_pipeline<Stages, 16> pipeline;
  const unsigned consumers = blockDim.x - 1;
  if (threadIdx.x == 0) {
    pipeline.init(consumers);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    typename membar::bulk_pipeline<Stages, 16>::producer fills(pipeline);
    for (unsigned i = 0; i < tiles; ++i) {
      if (fills.fill(from + 4 * i, 16, long_enough) != membar::wait_result::done) {
        __trap();
      }
    }
  } else {
    typename membar::bulk_pipeline<Stages, 16>::consumer takes(pipeline);
    unsigned sum = 0;
    for (unsigned i = 0; i < tiles; ++i) {
      const auto tile = takes.take(long_enough);
      if (tile.result != membar::wait_result::done) {
        __trap();
      }
      unsigned& word = static_cast<unsigned*>(tile.memory)[threadIdx.x];
      sum += word;
      word = 0;
      takes.give_back();
    }
    sums[threadIdx.x] = sum;
  }
}
template __global__ void stream<1>(const unsigned*, unsigned, unsigned*);
template __global__ void stream<2>(const unsigned*, unsigned, unsigned*);
