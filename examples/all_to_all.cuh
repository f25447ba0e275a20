// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// All-to-all with counts: rows (tokens) go to the PEs that handle them and come back to their original places. The buffers are
/// large enough for the worst case. The destination of each row is known only on the device. A row whose destination is not a
/// PE, such as -1, is not sent, and comes back as zeros. This works in every replay of a captured graph, with one process for
/// all GPUs or one process per GPU.
#pragma once

#include <membar/launch.hpp>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/peer_backend.hpp>

#include <cstddef>

namespace symmetric = membar::symmetric;
using symmetric::by_block, symmetric::by_warp, symmetric::pe, symmetric::span;

constexpr unsigned all_to_all_blocks = 32, all_to_all_threads = 512;
constexpr membar::wait_budget all_to_all_budget = membar::wait_budget::milliseconds(5000);

/// One PE's memory for rows that other PEs send. It holds up to `most` rows from each PE, in the order in which that PE sent
/// them.
template <class Backend>
struct all_to_all_memory {
  span<float, Backend> rows;                     ///< count x most x width: received rows, grouped by sender
  span<float, Backend> returned;                 ///< count x most x width: returned rows, grouped by the PE that handled them
  span<unsigned, Backend> counts;                ///< count: the number of rows received from each PE
  span<symmetric::barrier_word, Backend> words;  ///< The words for the barriers, one barrier per block.
  unsigned most;                                 ///< the maximum number of rows from each PE
  unsigned width;                                ///< The number of floats in a row, a multiple of 4.

  [[nodiscard]] __device__ bool is_pe(int which) const { return which >= 0 && which < rows.count(); }
  [[nodiscard]] __device__ std::size_t place(int from, unsigned slot) const {
    return (static_cast<std::size_t>(from) * most + slot) * width;
  }
  /// A barrier among the calling block and the blocks with the same index on all other PEs.
  __device__ void meet() const {
    const auto each = static_cast<std::size_t>(words.count()) + 1;
    barrier(by_block, words.subspan(blockIdx.x * each, each), all_to_all_budget);
  }
};

/// Numbers the rows for each destination: `slots[i]` is the position of row i among the rows for `to[i]`, in their original
/// order. Only one block runs this kernel. `sent` receives the number of rows for each PE.
template <class Backend>
__global__ void number_rows(all_to_all_memory<Backend> all, const int* to, unsigned rows, unsigned* slots, unsigned* sent) {
  const unsigned lane = threadIdx.x % 32;
  for (int destination = static_cast<int>(threadIdx.x / 32); destination < all.rows.count();
       destination += static_cast<int>(blockDim.x / 32)) {
    unsigned next = 0;
    for (unsigned first = 0; first < rows; first += 32) {
      const unsigned i = first + lane;
      const bool mine = i < rows && to[i] == destination;
      const unsigned same = __ballot_sync(0xffffffffU, mine ? 1 : 0);
      if (mine) {
        slots[i] = next + static_cast<unsigned>(__popc(same & ((1U << lane) - 1)));
      }
      next += static_cast<unsigned>(__popc(same));
    }
    if (lane == 0) {
      sent[destination] = next;
    }
  }
}

/// Sends each row to the PE that handles it, and sends each PE its count. When the kernel has ended, `counts[p]` rows of PE p
/// are stored starting at `place(p, 0)`, because each block has passed a barrier that its counterpart on every PE enters only
/// after sending its rows.
template <class Backend>
__global__ void send_rows(all_to_all_memory<Backend> all, const float* in, const int* to, const unsigned* slots,
                          const unsigned* sent, unsigned rows) {
  const int self = all.rows.self().index();
  all.meet();  // Every PE has finished using the rows that it last received.
  const unsigned warps = gridDim.x * blockDim.x / 32;
  for (unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < rows; i += warps) {
    if (!all.is_pe(to[i])) {
      continue;
    }
    put(by_warp, all.rows.subspan(all.place(self, slots[i]), all.width), in + static_cast<std::size_t>(i) * all.width,
        pe(to[i]));
  }
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < all.rows.count()) {
    put_value(all.counts[static_cast<std::size_t>(self)], sent[threadIdx.x], pe(static_cast<int>(threadIdx.x)));
  }
  all.meet();
}

/// Sends back the received rows, which were handled in place.
template <class Backend>
__global__ void send_back(all_to_all_memory<Backend> all) {
  const int self = all.rows.self().index();
  all.meet();  // Every PE has finished using the rows that were last returned to it.
  const unsigned warps = gridDim.x * blockDim.x / 32;
  for (int from = 0; from != all.rows.count(); ++from) {
    for (unsigned slot = (blockIdx.x * blockDim.x + threadIdx.x) / 32; slot < all.counts.local()[from]; slot += warps) {
      put(by_warp, all.returned.subspan(all.place(self, slot), all.width), all.rows.local() + all.place(from, slot), pe(from));
    }
  }
  all.meet();
}

/// Writes the returned rows to `out`, in the order in which they were sent.
template <class Backend>
__global__ void collect_rows(all_to_all_memory<Backend> all, float* out, const int* to, const unsigned* slots, unsigned rows) {
  for (unsigned i = blockIdx.x; i < rows; i += gridDim.x) {
    for (unsigned k = threadIdx.x; k < all.width; k += blockDim.x) {
      out[static_cast<std::size_t>(i) * all.width + k] =
          all.is_pe(to[i]) ? all.returned.local()[all.place(to[i], slots[i]) + k] : 0.0F;
    }
  }
}

/// Exchanges rows among a heap's PEs. Each exchange consists of `dispatch`, the program's work on the rows, and `combine`.
/// Exchanges run one after another, in one stream per PE.
template <class backend = symmetric::peer_backend>
class all_to_all {
  static auto launched(unsigned blocks, cudaStream_t stream) {
    return membar::launch_config{blocks, all_to_all_threads, stream}.with(membar::sync_domain::remote);
  }

 public:
  /// Allocates memory for at most `most` rows from each PE. Each row has `row_width` floats, which must be a multiple of 4.
  all_to_all(symmetric::heap<backend>& from, unsigned most, unsigned row_width)
      : count_(static_cast<std::size_t>(from.backend().count())),
        most_(most),
        width_(row_width),
        rows_(from.template allocate<float>(count_ * most * row_width)),
        returned_(from.template allocate<float>(count_ * most * row_width)),
        counts_(from.template allocate<unsigned>(count_)),
        words_(from.template allocate<symmetric::barrier_word>(all_to_all_blocks * (count_ + 1))),
        slots_(from.template allocate<unsigned>(most)),
        sent_(from.template allocate<unsigned>(count_)) {}

  [[nodiscard]] all_to_all_memory<backend> on(pe which) const {
    return {rows_.on(which), returned_.on(which), counts_.on(which), words_.on(which), most_, width_};
  }
  /// Sends row i of `in` to PE `to[i]`; `in` and `to` are in PE `which`'s memory. Later work in the stream finds the received
  /// rows at `on(which)`.
  void dispatch(pe which, const float* in, const int* to, unsigned rows, cudaStream_t stream) const {
    if (rows > most_) {
      throw membar::error(
          cudaErrorInvalidValue,
          "an all-to-all of %u rows was requested, but the object has space for only %u: create it with space for more", rows,
          most_);
    }
    unsigned* const slots = slots_.on(which).local();
    unsigned* const sent = sent_.on(which).local();
    membar::launch(membar::launch_config{1, all_to_all_threads, stream}, number_rows<backend>, on(which), to, rows, slots,
                   sent);
    membar::launch(launched(all_to_all_blocks, stream), send_rows<backend>, on(which), in, to, slots, sent, rows);
  }
  /// Returns the handled rows of the last `dispatch` in their original order.
  void combine(pe which, float* out, const int* to, unsigned rows, cudaStream_t stream) const {
    membar::launch(launched(all_to_all_blocks, stream), send_back<backend>, on(which));
    membar::launch(membar::launch_config{rows == 0 ? 1 : rows, 128, stream}, collect_rows<backend>, on(which), out, to,
                   slots_.on(which).local(), rows);
  }

 private:
  std::size_t count_;
  unsigned most_, width_;
  symmetric::scoped_array<float, backend> rows_, returned_;
  symmetric::scoped_array<unsigned, backend> counts_;
  symmetric::scoped_array<symmetric::barrier_word, backend> words_;
  symmetric::scoped_array<unsigned, backend> slots_, sent_;
};
