// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// All-reduce of floats, in one shot for small vectors and in two for large ones. Both are right in every replay of a captured graph,
/// run in the remote synchronization domain, and wait with a budget. Every PE calls the same, in one order.
#pragma once

#include <membar/launch.hpp>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/packed.cuh>
#include <membar/symmetric/peer_backend.hpp>

#include <cstddef>

namespace symmetric = membar::symmetric;
using symmetric::by_block, symmetric::by_thread, symmetric::packed, symmetric::pe, symmetric::span;
using ended_signal = symmetric::signal<symmetric::set>;

/// What fits into a packed word.
struct piece {
  float values[3];
};
template <>
inline constexpr bool membar::symmetric::has_no_padding<piece> = true;

constexpr unsigned all_reduce_blocks = 32, all_reduce_threads = 512;
constexpr membar::wait_budget all_reduce_budget = membar::wait_budget::milliseconds(5000);

/// One shot: sends its vector to every PE, in packed words, and adds what comes. There are two boxes for each PE and piece. That of a
/// round is free when its owner has ended the round before the last. It says so by a signal at the beginning of its next kernel: a
/// message as an answer, which is relaxed, orders its own thread alone.
template <class Backend>
__global__ void one_shot(const float* in, float* out, std::size_t size, span<packed<piece>, Backend> boxes,
                         span<ended_signal, Backend> ended, unsigned long long* rounds) {
  const int count = boxes.count(), self = boxes.self().index();
  const unsigned long long round = rounds[blockIdx.x] + 1;  // in memory, so that each replay of a graph has its own
  if (static_cast<int>(threadIdx.x) < count - 1) {
    const pe other = ring_neighbour(boxes.self(), static_cast<int>(threadIdx.x) + 1, count);
    if (blockIdx.x == 0) {
      notify(by_thread, ended[static_cast<std::size_t>(self)], round - 1, other);
    }
    if (round > 2) {
      wait(by_thread, ended[static_cast<std::size_t>(other.index())], symmetric::at_least(round - 2), all_reduce_budget);
    }
  }
  __syncthreads();
  const unsigned sequence = static_cast<unsigned>(round % 0xffffffffULL) + 1;
  const std::size_t most = boxes.size() / (2 * static_cast<std::size_t>(count));
  const auto box = [&](int from, std::size_t i) {
    return boxes[(round % 2 * static_cast<std::size_t>(count) + static_cast<std::size_t>(from)) * most + i];
  };
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; 3 * i < size; i += gridDim.x * blockDim.x) {
    piece own{};
    for (std::size_t k = 0; k != 3 && 3 * i + k < size; ++k) {
      own.values[k] = in[3 * i + k];
    }
    for (int step = 1; step != count; ++step) {
      put_packed(by_thread, box(self, i), &own, sequence, ring_neighbour(boxes.self(), step, count));
    }
    piece sum{};
    for (int from = 0; from != count; ++from) {  // in one order, so that all have the same sum
      piece theirs = own;
      if (from != self) {
        take_packed(by_thread, box(from, i), &theirs, sequence, all_reduce_budget);
      }
      for (int k = 0; k != 3; ++k) {
        sum.values[k] += theirs.values[k];
      }
    }
    for (std::size_t k = 0; k != 3 && 3 * i + k < size; ++k) {
      out[3 * i + k] = sum.values[k];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    rounds[blockIdx.x] = round;
  }
}

/// Two shots, in place: each PE adds up its part of all vectors, and writes the sums to all. Between its loads and its stores nobody
/// else touches its part. Each block meets the same block of the other PEs, before and after. `words`: a barrier for each block.
template <class Backend>
__global__ void two_shot(span<float, Backend> vector, std::size_t size, span<symmetric::barrier_word, Backend> words) {
  constexpr unsigned batch = 4;  // loads under way
  const auto count = static_cast<std::size_t>(vector.count());
  const auto own = words.subspan(blockIdx.x * (count + 1), count + 1);
  barrier(by_block, own, all_reduce_budget);
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
  barrier(by_block, own, all_reduce_budget);
}

/// All-reduces of a heap's PEs, one after the other in one stream of each PE. `most_in_one_shot`: floats.
class all_reduce {
  static auto launched_in(cudaStream_t stream) {
    return membar::launch_config{all_reduce_blocks, all_reduce_threads, stream}.with(membar::sync_domain::remote);
  }

 public:
  using backend = symmetric::peer_backend;
  using heap = symmetric::heap<backend>;

  all_reduce(heap& from, std::size_t most_in_one_shot, std::size_t pes)
      : boxes_(from.allocate<packed<piece>>(2 * pes * ((most_in_one_shot + 2) / 3))),
        ended_(from.allocate<ended_signal>(pes)),
        rounds_(from.allocate<unsigned long long>(all_reduce_blocks)),
        words_(from.allocate<symmetric::barrier_word>(all_reduce_blocks * (pes + 1))) {}
  all_reduce(heap& from, std::size_t most_in_one_shot)
      : all_reduce(from, most_in_one_shot, static_cast<std::size_t>(from.backend().count())) {}

  /// Of any memory of PE `which`; at most as many floats as the constructor was told.
  void in_one_shot(pe which, const float* in, float* out, std::size_t size, cudaStream_t stream) const {
    if (const std::size_t room = boxes_.size() / (2 * ended_.size()) * 3; size > room) {
      throw membar::error(cudaErrorInvalidValue, "an all-reduce of %zu floats in one shot has room for %zu: do it in two", size,
                          room);
    }
    membar::launch(launched_in(stream), one_shot<backend>, in, out, size, boxes_.on(which), ended_.on(which),
                   rounds_.on(which).local());
  }
  /// In place, of the first `size` floats, a multiple of 4.
  void in_two_shots(pe which, const span<float>& vector, std::size_t size, cudaStream_t stream) const {
    if (size % 4 != 0 || size > vector.size()) {
      throw membar::error(cudaErrorInvalidValue,
                          "an all-reduce of %zu floats of %zu in two shots: pass a multiple of 4 of them", size, vector.size());
    }
    membar::launch(launched_in(stream), two_shot<backend>, vector, size, words_.on(which));
  }

 private:
  symmetric::scoped_array<packed<piece>, backend> boxes_;
  symmetric::scoped_array<ended_signal, backend> ended_;
  symmetric::scoped_array<unsigned long long, backend> rounds_;
  symmetric::scoped_array<symmetric::barrier_word, backend> words_;
};
