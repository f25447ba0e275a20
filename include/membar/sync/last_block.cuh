// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Work that the last block to arrive does for all blocks. No block waits.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/lane.cuh>
#include <membar/detail/standard.hpp>
#include <membar/fence.cuh>

#if !defined(__CUDACC_RTC__)  // NVRTC provides printf without a header
#include <cstdio>
#endif

namespace membar {
inline namespace v0_3 {

/// Determines which of several blocks is the last to arrive, and informs that block.
///
/// A zero-initialized object is ready for use. It is ready again once the last block has arrived.
///
/// Synchronizes: everything that any thread of any block did before its `arrive` is visible to every thread of the block in
/// which `arrive` returns true. Nothing is guaranteed to the other blocks, in which `arrive` returns false. No block waits for
/// another, so the blocks need not be resident at the same time, and the kernel cannot hang.
///
/// PTX: bar.sync, atom.acq_rel.inc by the first thread, bar.red. Requires: every thread of every block must call `arrive`, and
/// no thread may call it again before the last block has called it, so a second use in the kernel requires another object. Use
/// `device` scope for kernels in one physical domain, and `system` scope otherwise.
template <thread_scope Scope>
class last_block {
 public:
  static constexpr thread_scope scope = Scope;

  /// Returns true in all threads of the block that arrives as the last of `blocks`.
  [[nodiscard]] __device__ bool arrive(unsigned blocks) noexcept {
    __syncthreads();
    int last = 0;
    if (detail::is_first_thread()) {
      last = arrived_.fetch_inc(blocks - 1, acq_rel) == blocks - 1 ? 1 : 0;
    }
    return __syncthreads_or(last) != 0;
  }

  /// Returns true in all threads of the grid's last block to arrive.
  [[nodiscard]] __device__ bool arrive() noexcept { return arrive(detail::grid_blocks()); }

 private:
  atomic<unsigned, Scope> arrived_;
};

namespace detail {

/// Prints a message and ends the kernel with a trap. This function is not inlined, so that it does not cost the reduction any
/// registers.
[[noreturn]] __device__ __noinline__ inline void trap_second_use(unsigned block) noexcept {
  printf(
      "membar: last_block_reduce in block %u received partial values that an earlier use is still reading: give each use in a "
      "kernel its own partial values, or place a grid_barrier between the two uses\n",
      block);
  __trap();
  __builtin_unreachable();
}

}  // namespace detail

/// One block's partial value for `last_block_reduce`, which needs an array with one element for each block.
///
/// A zero-initialized array is ready for use. It is ready for another use after the last block has combined the values.
template <class T, thread_scope Scope>
class block_partial {
 public:
  using value_type = T;
  static constexpr thread_scope scope = Scope;

 private:
  template <thread_scope S, class Operation, class U>
  friend __device__ bool last_block_reduce(const std::type_identity_t<U>& block_value, block_partial<U, S>* partial,
                                           Operation operation, U& result) noexcept;

  /// Stores the block's value. Ends the kernel with a trap if the last block of the previous use has not read the previous
  /// value yet.
  __device__ void put(const T& value) noexcept {
    if (full_.load(acquire) != 0) {
      detail::trap_second_use(detail::block_rank());
    }
    value_ = value;
    full_.store(1, relaxed);
  }

  last_block<Scope> last_;        // all blocks use the member of the first element
  atomic<unsigned, Scope> full_;  // nonzero until the last block has read the value
  T value_;
};

/// Combines one value from each block of the grid. In the last block to arrive, the call returns true, and the block's first
/// thread receives the `result`.
///
/// Only the `block_value` of a block's first thread, whose index is 0, 0, 0, is used. Blocks are numbered with x varying
/// fastest. Grid and blocks may have up to three dimensions. `partial` must point to an array with one `block_partial` for each
/// block. The array belongs to this use: if a block passes it again before the last block has the result, the kernel prints a
/// message and ends with a trap. The values are combined in block order, so equal values produce equal results. A use
/// synchronizes like `last_block`, and also with each later use of the same array.
///
/// PTX: ld.acquire by the first thread; the instructions of `last_block`; then, by the first thread of the last block,
/// fence.release and a st.relaxed for each block. Requires: every thread of every block must call this function.
template <thread_scope Scope, class Operation, class T>
[[nodiscard]] __device__ bool last_block_reduce(const std::type_identity_t<T>& block_value, block_partial<T, Scope>* partial,
                                                Operation operation, T& result) noexcept {
  if (detail::is_first_thread()) {
    partial[detail::block_rank()].put(block_value);
  }
  if (!partial->last_.arrive()) {
    return false;
  }
  if (detail::is_first_thread()) {
    const unsigned blocks = detail::grid_blocks();
    T all = partial[0].value_;
    for (unsigned b = 1; b != blocks; ++b) {
      all = operation(all, partial[b].value_);
    }
    thread_fence<Scope>(release);
    for (unsigned b = 0; b != blocks; ++b) {
      partial[b].full_.store(0, relaxed);
    }
    result = all;
  }
  return true;
}

}  // namespace v0_3
}  // namespace membar
