// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The calling thread's position in its warp, block and grid, which may have any shape, and the exchange of values between
/// lanes.
#pragma once

#include <membar/detail/compilation.cuh>

#if !defined(__CUDACC_RTC__)
#include <cassert>
#endif

namespace membar {
inline namespace v0_3 {
namespace detail {

/// Returns the calling thread's lane, 0 to 31.
[[nodiscard]] __device__ inline unsigned lane_id() noexcept {
  unsigned lane = 0;
  // mov.u32 d, %laneid;  PTX ISA 1.3
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane)::"memory");
  return lane;
}

/// Returns the number of threads in the block.
[[nodiscard]] __device__ inline unsigned block_threads() noexcept { return blockDim.x * blockDim.y * blockDim.z; }
/// Returns the calling thread's linear index in its block, with x varying fastest.
[[nodiscard]] __device__ inline unsigned thread_rank() noexcept {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
[[nodiscard]] __device__ inline bool is_first_thread() noexcept { return (threadIdx.x | threadIdx.y | threadIdx.z) == 0; }
/// Returns whether the calling thread's warp has 32 threads. The last warp of a block has fewer if the block's size is not a
/// multiple of 32.
[[nodiscard]] __device__ inline bool has_whole_warp() noexcept { return thread_rank() / 32 < block_threads() / 32; }

/// Stops a debug build (nvcc -G) if the calling thread's warp has fewer than 32 threads.
__device__ inline void require_whole_warp() noexcept {
#if defined(__CUDACC_DEBUG__) && !defined(__CUDACC_RTC__)
  assert(has_whole_warp() && "membar: a warp operation needs whole warps: launch blocks whose size is a multiple of 32");
#endif
}

/// Returns the number of blocks in the grid.
[[nodiscard]] __device__ inline unsigned grid_blocks() noexcept { return gridDim.x * gridDim.y * gridDim.z; }
/// Returns the block's linear index in the grid, with x varying fastest.
[[nodiscard]] __device__ inline unsigned block_rank() noexcept {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

/// Returns the value that lane `from` passes as `mine`. All lanes in `lanes` must call this function. `Bits` is an unsigned
/// integer of any size.
template <class Bits>
[[nodiscard]] __device__ inline Bits bits_of_lane(unsigned lanes, Bits mine, int from) noexcept {
  if constexpr (sizeof(Bits) <= 4) {
    return static_cast<Bits>(__shfl_sync(lanes, static_cast<unsigned>(mine), from));
  } else {
    Bits theirs = 0;
    for (unsigned word = 0; word != sizeof(Bits) / 4; ++word) {
      theirs |= static_cast<Bits>(__shfl_sync(lanes, static_cast<unsigned>(mine >> (32 * word)), from)) << (32 * word);
    }
    return theirs;
  }
}

/// Returns the largest of the values, each below 64, that the lanes in `lanes` pass. All of these lanes must call this
/// function.
[[nodiscard]] __device__ inline unsigned most_of_lanes(unsigned lanes, unsigned mine) noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  unsigned most = 0;  // bit by bit, because no instruction computes the maximum over lanes before sm_80
  for (unsigned bit = 32; bit != 0; bit /= 2) {
    most += __any_sync(lanes, mine >= most + bit) != 0 ? bit : 0;
  }
  return most;
#else
  return __reduce_max_sync(lanes, mine);
#endif
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
