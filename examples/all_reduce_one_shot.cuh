// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// All-reduce of floats in one shot: each GPU sends its vector to all, for small vectors. It is right in every replay of a captured graph,
/// runs in the remote synchronization domain, and waits with a budget. Every PE calls the same, in one order.
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

constexpr unsigned one_shot_blocks = 32, one_shot_threads = 512;
constexpr membar::wait_budget one_shot_budget = membar::wait_budget::milliseconds(5000);

/// One shot: sends its vector to every PE, in packed words, and adds what comes. There are three boxes for each PE and piece. At the
/// beginning of a round a PE says by a signal that its last one has ended. At the end one block waits for what the others said in the round
/// before, which has come by then. So the next kernel writes at once. Packed words are no answer: relaxed, they order their own thread alone.
template <class Backend>
__device__ void add_in_one_shot(const float* in, float* out, std::size_t size, span<packed<piece>, Backend> boxes,
                                span<ended_signal, Backend> ended, unsigned long long* rounds) {
  const int count = boxes.count(), self = boxes.self().index();
  const unsigned long long round = rounds[blockIdx.x] + 1;  // in memory, so that each replay of a graph has its own
  const unsigned sequence = static_cast<unsigned>(round % 0xfffffffeULL) + 1;  // 3 does not divide it
  const std::size_t most = boxes.size() / (3 * static_cast<std::size_t>(count));
  const auto box = [&](int from, std::size_t i) {
    return boxes[(round % 3 * static_cast<std::size_t>(count) + static_cast<std::size_t>(from)) * most + i];
  };
  const auto own = [&](std::size_t i) {
    piece of{};
    for (std::size_t k = 0; k != 3 && 3 * i + k < size; ++k) {
      of.values[k] = in[3 * i + k];
    }
    return of;
  };
  // The last block has least to send.
  const bool tells = blockIdx.x == gridDim.x - 1 && static_cast<int>(threadIdx.x) < count - 1;
  const pe other = ring_neighbour(boxes.self(), static_cast<int>(threadIdx.x) + 1, count);
  if (tells) {
    notify(by_thread, ended[static_cast<std::size_t>(self)], round - 1, other);
  }
  const std::size_t first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  for (std::size_t i = first; 3 * i < size; i += step) {
    const piece mine = own(i);
    for (int distance = 1; distance != count; ++distance) {
      put_packed(by_thread, box(self, i), &mine, sequence, ring_neighbour(boxes.self(), distance, count));
    }
  }
  for (std::size_t i = first; 3 * i < size; i += step) {
    const piece mine = own(i);
    piece sum{};
    for (int from = 0; from != count; ++from) {  // in one order, so that all have the same sum
      piece theirs = mine;
      if (from != self) {
        take_packed(by_thread, box(from, i), &theirs, sequence, one_shot_budget);
      }
      for (int k = 0; k != 3; ++k) {
        sum.values[k] += theirs.values[k];
      }
    }
    for (std::size_t k = 0; k != 3 && 3 * i + k < size; ++k) {
      out[3 * i + k] = sum.values[k];
    }
  }
  if (tells) {
    wait(by_thread, ended[static_cast<std::size_t>(other.index())], symmetric::at_least(round - 2), one_shot_budget);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    rounds[blockIdx.x] = round;
  }
}

/// What `add_in_one_shot` needs at a PE, for a kernel of your own.
template <class Backend>
struct one_shot_memory {
  span<packed<piece>, Backend> boxes;
  span<ended_signal, Backend> ended;
  unsigned long long* rounds;
};

/// All-reduce within a kernel of your own, of blocks and a grid of one dimension. All threads of `one_shot_blocks` blocks call it once, in every launch; no other kernel uses the
/// memory meanwhile. A thread sends its own floats and gets their sums: so it needs no barrier before or after if it made and uses them itself.
template <class Backend>
__device__ void add_in_one_shot(const float* in, float* out, std::size_t size, const one_shot_memory<Backend>& memory) {
  add_in_one_shot(in, out, size, memory.boxes, memory.ended, memory.rounds);
}

/// Calls `use(i)` with each of the floats that the calling thread sends.
template <class Use>
__device__ void for_own_floats(std::size_t size, Use use) {
  for (std::size_t first = 3 * (blockIdx.x * blockDim.x + threadIdx.x); first < size; first += 3 * gridDim.x * blockDim.x) {
    for (std::size_t i = first; i != first + 3 && i < size; ++i) {
      use(i);
    }
  }
}

template <class Backend>
__global__ void one_shot(const float* in, float* out, std::size_t size, span<packed<piece>, Backend> boxes,
                         span<ended_signal, Backend> ended, unsigned long long* rounds) {
  add_in_one_shot(in, out, size, boxes, ended, rounds);
}

/// All-reduces of a heap's PEs, one after the other in one stream of each PE.
template <class Backend = symmetric::peer_backend>
class one_shot_all_reduce {
 public:
  /// Of at most `most` floats.
  one_shot_all_reduce(symmetric::heap<Backend>& from, std::size_t most)
      : pes_(static_cast<std::size_t>(from.backend().count())),
        boxes_(from.template allocate<packed<piece>>(3 * pes_ * ((most + 2) / 3))),
        ended_(from.template allocate<ended_signal>(pes_)),
        rounds_(from.template allocate<unsigned long long>(one_shot_blocks)) {}

  /// For a kernel of your own at PE `which`.
  [[nodiscard]] one_shot_memory<Backend> on(pe which) const {
    return {boxes_.on(which), ended_.on(which), rounds_.on(which).local()};
  }

  /// Adds up what `in` is at all PEs, any memory of PE `which`, into `out`, which may be the same.
  void enqueue(pe which, const float* in, float* out, std::size_t size, cudaStream_t stream) const {
    if (const std::size_t room = boxes_.size() / (3 * pes_) * 3; size > room) {
      throw membar::error(cudaErrorInvalidValue, "an all-reduce of %zu floats in one shot has room for %zu: do it in two", size,
                          room);
    }
    membar::launch(membar::launch_config{one_shot_blocks, one_shot_threads, stream}.with(membar::sync_domain::remote),
                   one_shot<Backend>, in, out, size, boxes_.on(which), ended_.on(which), rounds_.on(which).local());
  }

 private:
  std::size_t pes_;
  symmetric::scoped_array<packed<piece>, Backend> boxes_;
  symmetric::scoped_array<ended_signal, Backend> ended_;
  symmetric::scoped_array<unsigned long long, Backend> rounds_;
};
