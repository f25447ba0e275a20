// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The group of threads that executes an operation together: a thread, a warp or a block. All threads of the group must call
/// the operation with the same arguments.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/compilation.cuh>
#include <membar/detail/lane.cuh>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// A group that consists of only the calling thread.
struct by_thread_t {
  static constexpr const char* name = "thread";
  static constexpr unsigned lanes = 1;  // the number of threads that access neighbouring addresses in one instruction
  [[nodiscard]] __device__ static unsigned rank() noexcept { return 0; }
  [[nodiscard]] __device__ static unsigned size() noexcept { return 1; }
  __device__ static void sync() noexcept {}
  [[nodiscard]] __device__ static bool any(bool value) noexcept { return value; }
};

/// The calling thread's warp, with all 32 lanes.
struct by_warp_t {
  static constexpr const char* name = "warp";
  static constexpr unsigned lanes = 32;
  [[nodiscard]] __device__ static unsigned rank() noexcept {
    membar::detail::require_whole_warp();
    return membar::detail::thread_rank() % 32;
  }
  [[nodiscard]] __device__ static unsigned size() noexcept { return 32; }
  __device__ static void sync() noexcept { __syncwarp(); }
  /// Executes a group barrier, and returns to all threads whether `value` is true for any of them.
  [[nodiscard]] __device__ static bool any(bool value) noexcept {
    const bool result = __any_sync(0xffffffffU, value ? 1 : 0) != 0;
    __syncwarp();  // the barrier is needed because a vote does not order memory accesses
    return result;
  }
};

/// The calling thread's block, with all its threads.
struct by_block_t {
  static constexpr const char* name = "block";
  static constexpr unsigned lanes = 32;
  [[nodiscard]] __device__ static unsigned rank() noexcept { return membar::detail::thread_rank(); }
  [[nodiscard]] __device__ static unsigned size() noexcept { return membar::detail::block_threads(); }
  __device__ static void sync() noexcept { __syncthreads(); }
  [[nodiscard]] __device__ static bool any(bool value) noexcept { return __syncthreads_or(value ? 1 : 0) != 0; }
};

MEMBAR_CONSTANT by_thread_t by_thread{};
MEMBAR_CONSTANT by_warp_t by_warp{};
MEMBAR_CONSTANT by_block_t by_block{};

namespace detail {

template <class Group>
inline constexpr bool is_group = false;
template <>
inline constexpr bool is_group<by_thread_t> = true;
template <>
inline constexpr bool is_group<by_warp_t> = true;
template <>
inline constexpr bool is_group<by_block_t> = true;

}  // namespace detail
}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
