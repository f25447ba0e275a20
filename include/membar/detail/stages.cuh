// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Shared parts of the rings of stages in shared memory: the producer's and the consumer's positions, and the result of taking
/// a tile.
#pragma once

#include <membar/detail/compilation.cuh>
#include <membar/wait_budget.cuh>

#if defined(__CUDACC_RTC__)
#include <cuda/std/cassert>
#else
#include <cassert>
#endif

namespace membar {
inline namespace v0_3 {
namespace detail {

/// Rejects, at compile time, a ring that cannot hold a tile.
template <int Stages, unsigned StageBytes>
__host__ __device__ constexpr bool require_stages() noexcept {
  static_assert(Stages > 0, "membar: a pipeline needs at least one stage");
  static_assert(StageBytes > 0 && StageBytes % 16 == 0, "membar: the size of a pipeline stage must be a multiple of 16 bytes");
  return true;
}

/// A stage, and the parity of its barriers' current phase.
template <int Stages>
struct stage_position {
  int stage = 0;
  unsigned parity = 0;
  __device__ void advance() noexcept {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1U;
    }
  }
};

/// Rejects, at run time, a tile that bulk copies cannot transfer into a stage.
template <unsigned StageBytes>
__device__ inline void require_tile(unsigned bytes) noexcept {
  assert(bytes > 0 && bytes % 16 == 0 && bytes <= StageBytes &&
         "membar: the size of a tile must be a multiple of 16 bytes and at most the size of a stage");
  static_cast<void>(bytes);
}

/// The result of taking a tile.
struct taken_tile {
  wait_result result;
  void* memory;  ///< the stage, until it is released; null if no tile arrived in time
};

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
