// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The calling thread's lane in its warp, and the exchange of values among lanes.
#pragma once

#include <membar/detail/compilation.cuh>

namespace membar {
inline namespace v0_2 {
namespace detail {

/// The calling thread's lane, 0 to 31.
[[nodiscard]] __device__ inline unsigned lane_id() noexcept {
  unsigned lane = 0;
  // mov.u32 d, %laneid;  PTX ISA 1.3
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane)::"memory");
  return lane;
}

/// The value that lane `from` passes as `mine`. All lanes of `lanes` call it; `Bits` is an unsigned integer of any size.
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

/// The greatest of the values, each below 64, that the lanes of `lanes` pass. All of them call it.
[[nodiscard]] __device__ inline unsigned most_of_lanes(unsigned lanes, unsigned mine) noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  unsigned most = 0;  // bit by bit: before sm_80 no instruction compares lanes
  for (unsigned bit = 32; bit != 0; bit /= 2) {
    most += __any_sync(lanes, mine >= most + bit) != 0 ? bit : 0;
  }
  return most;
#else
  return __reduce_max_sync(lanes, mine);
#endif
}

}  // namespace detail
}  // namespace v0_2
}  // namespace membar
