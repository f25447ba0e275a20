// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Work that the last block to arrive does for all blocks. No block waits.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/lane.cuh>
#include <membar/detail/standard.hpp>
#include <membar/fence.cuh>

#if !defined(__CUDACC_RTC__)  // NVRTC has printf without a header
#include <cstdio>
#endif

namespace membar {
inline namespace v0_2 {

/// Determines which of several blocks is the last to arrive, and informs that block.
///
/// A zero-initialized object is ready for use. It is ready again once the last block has arrived.
///
/// Synchronizes: everything that any thread of any block did before its `arrive` is visible to every thread of the block for
/// which it returns true. It guarantees nothing to the other blocks, for which it returns false. No block waits for another, so
/// the blocks need not be resident at the same time, and the kernel cannot hang.
///
/// PTX: bar.sync, atom.acq_rel.inc by the first thread, bar.red. Requires: every thread of every block calls it, and no thread
/// calls it again before the last block has called it, so a second use in the kernel needs another object; `device` scope for
/// kernels in one physical domain, otherwise `system`.
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

  /// Returns true in all threads of the block of the grid that arrives last.
  [[nodiscard]] __device__ bool arrive() noexcept { return arrive(detail::grid_blocks()); }

 private:
  atomic<unsigned, Scope> arrived_;
};

namespace detail {

/// Prints a message and stops the kernel. It is out of line, so that it does not cost the reduction any registers.
[[noreturn]] __device__ __noinline__ inline void trap_second_use(unsigned block) noexcept {
  printf(
      "membar: last_block_reduce in block %u received partial values that an earlier use is still reading: give each use of a "
      "kernel its own partial values, or place a grid_barrier between the two\n",
      block);
  __trap();
  __builtin_unreachable();
}

}  // namespace detail

/// One block's part in one use of `last_block_reduce`. An array with one element for each block is bound to that use.
///
/// A zero-initialized array is ready for use. It is ready again after the last block has combined the values.
template <class T, thread_scope Scope>
class block_partial {
 public:
  using value_type = T;
  static constexpr thread_scope scope = Scope;

 private:
  template <thread_scope S, class Operation, class U>
  friend __device__ bool last_block_reduce(const std::type_identity_t<U>& block_value, block_partial<U, S>* partial,
                                           Operation operation, U& result) noexcept;

  /// Stores the block's value, unless the last block of the previous use has not read the value there yet.
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

/// Combines one value of each block of the grid. In the last block to arrive, the call returns true, and the block's first
/// thread receives the `result`.
///
/// The first thread of a block has the index 0, 0, 0, and only its `block_value` is used; blocks are numbered x first. Grid and
/// blocks may have up to three dimensions. `partial` is one `block_partial` for each block and is bound to this use: if a block
/// calls the function with it again before the last block has the result, the kernel stops with a message. The values are
/// combined in the order of the blocks, so equal values produce equal results. It synchronizes like `last_block`, and with a
/// use that follows the result.
///
/// PTX: the same as `last_block`; in addition, the first thread executes ld.acquire before it, and the first thread of the last
/// block executes fence.release and a st.relaxed for each block after it. Requires: every thread of every block calls it.
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

}  // namespace v0_2
}  // namespace membar
