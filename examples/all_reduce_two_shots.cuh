// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// All-reduce of floats in two shots, for large vectors. It is right in every replay of a captured graph,
/// runs in the remote synchronization domain, and waits with a budget. Every PE calls the same, in one order.
#pragma once

#include <membar/launch.hpp>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/peer_backend.hpp>

#include <cstddef>
#include <cstdint>

namespace symmetric = membar::symmetric;
using symmetric::by_block, symmetric::pe, symmetric::span;

constexpr unsigned two_shots_blocks = 32, two_shots_threads = 512;
constexpr membar::wait_budget two_shots_budget = membar::wait_budget::milliseconds(5000);

/// Two shots, in place: each PE adds up its part of all vectors, and writes the sums to all. Between its loads and its stores nobody
/// else touches its part. Each block meets the same block of the other PEs, before and after. `words`: a barrier for each block.
template <class Backend>
__device__ void add_in_two_shots(span<float, Backend> vector, std::size_t size, span<symmetric::barrier_word, Backend> words) {
  constexpr unsigned batch = 4;  // loads under way
  const auto count = static_cast<std::size_t>(vector.count());
  const auto own = words.subspan(blockIdx.x * (count + 1), count + 1);
  barrier(by_block, own, two_shots_budget);
  const auto at = [&](std::size_t which) { return reinterpret_cast<float4*>(vector.at(pe(static_cast<int>(which))).data()); };
  const auto self = static_cast<std::size_t>(vector.self().index());
  const std::size_t all = size / 4, part = (all + count - 1) / count, end = all < (self + 1) * part ? all : (self + 1) * part;
  const std::size_t step = gridDim.x * blockDim.x;
  for (std::size_t i = self * part + blockIdx.x * blockDim.x + threadIdx.x; i < end; i += batch * step) {
    float4 sum[batch] = {};
    for (std::size_t from = 0; from != count; ++from) {
      float4 theirs[batch] = {};
#pragma unroll
      for (unsigned k = 0; k != batch; ++k) {
        theirs[k] = i + k * step < end ? at(from)[i + k * step] : float4{};
      }
#pragma unroll
      for (unsigned k = 0; k != batch; ++k) {
        sum[k] = {sum[k].x + theirs[k].x, sum[k].y + theirs[k].y, sum[k].z + theirs[k].z, sum[k].w + theirs[k].w};
      }
    }
    for (std::size_t distance = 0; distance != count; ++distance) {
      float4* const to = at((self + distance) % count);
#pragma unroll
      for (unsigned k = 0; k != batch; ++k) {
        if (i + k * step < end) {
          to[i + k * step] = sum[k];
        }
      }
    }
  }
  barrier(by_block, own, two_shots_budget);
}

template <class Backend>
__global__ void two_shots(span<float, Backend> vector, std::size_t size, span<symmetric::barrier_word, Backend> words) {
  add_in_two_shots(vector, size, words);
}

/// All-reduces of a heap's PEs, one after the other in one stream of each PE.
template <class Backend = symmetric::peer_backend>
class two_shot_all_reduce {
 public:
  explicit two_shot_all_reduce(symmetric::heap<Backend>& from)
      : words_(from.template allocate<symmetric::barrier_word>(two_shots_blocks *
                                                               (static_cast<std::size_t>(from.backend().count()) + 1))) {}

  /// Adds up the first `size` floats of all PEs' vectors, in place: a multiple of 4, from a multiple of 16 bytes on.
  void enqueue(const span<float, Backend>& vector, std::size_t size, cudaStream_t stream) const {
    if (size % 4 != 0 || size > vector.size() || reinterpret_cast<std::uintptr_t>(vector.local()) % 16 != 0) {
      throw membar::error(
          cudaErrorInvalidValue,
          "an all-reduce of %zu floats of %zu at %p in two shots: pass a multiple of 4 of them, at a multiple of 16", size,
          vector.size(), static_cast<const void*>(vector.local()));
    }
    membar::launch(membar::launch_config{two_shots_blocks, two_shots_threads, stream}.with(membar::sync_domain::remote),
                   two_shots<Backend>, vector, size, words_.on(vector.self()));
  }

 private:
  symmetric::scoped_array<symmetric::barrier_word, Backend> words_;
};
