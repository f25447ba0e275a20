// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Code shared by the kernels of several tests.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/compilation.cuh>
#include <membar/memory_order.hpp>

#include <cstring>

namespace membar_test {

/// Whether this code is compiled for a device that has clusters and 16-byte atomics.
inline constexpr bool has_hopper = membar::detail::has_hopper_instructions;

MEMBAR_CALLS_EITHER
template <class Function>
MEMBAR_HOST_DEVICE void for_each_order(Function function) {
  function(membar::relaxed);
  function(membar::acquire);
  function(membar::release);
  function(membar::acq_rel);
  function(membar::seq_cst);
}

/// Calls `function` with `value`, one of `Values`, as its template argument.
template <auto... Values, class Function>
void with_constant(auto value, Function function) {
  static_cast<void>(((value == Values && (function.template operator()<Values>(), true)) || ...));
}

/// Waits for all threads of the block or the cluster.
__device__ inline void meet([[maybe_unused]] bool of_cluster) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (of_cluster) {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    return;
  }
#endif
  __syncthreads();
}

/// The memory that contains the objects for which threads contend.
enum class placement {
  global,
  shared,
  distributed_shared,  ///< The shared memory of the cluster's first block.
  neighbour_shared     ///< The shared memory of the other block in a cluster of two, which does not use this memory itself.
};

/// Returns the memory's name for messages, without the word "memory".
[[nodiscard]] inline const char* name(placement where) {
  const char* const names[] = {"global", "shared", "distributed shared", "the other block's shared"};
  return names[static_cast<int>(where)];
}

/// Calls `function` with the `Count` objects at `global`, or with copies of them in shared memory that are written back.
template <unsigned Count, class T, class Function>
__device__ void on_objects(T* global, placement where, bool of_cluster, Function function) {
  __shared__ T shared[Count];
  T* objects = where == placement::global ? global : shared;
  bool copies = where != placement::global && threadIdx.x < Count;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const unsigned rank = __clusterRelativeBlockRank();
  if (where == placement::distributed_shared) {
    copies = copies && rank == 0;
    objects = static_cast<T*>(__cluster_map_shared_rank(shared, 0));
  } else if (where == placement::neighbour_shared) {
    objects = static_cast<T*>(__cluster_map_shared_rank(shared, rank ^ 1U));
  }
#endif
  const auto copy = [&](T* to, const T* from) {
    if (copies) {
      memcpy(static_cast<void*>(to + threadIdx.x), static_cast<const void*>(from + threadIdx.x), sizeof(T));
    }
  };
  meet(of_cluster);  // A block's shared memory exists only once the block is running.
  copy(objects, global);
  meet(of_cluster);
  function(objects);
  meet(of_cluster);
  copy(global, objects);
  meet(of_cluster);  // The shared memory also ceases to exist when the block ends.
}

}  // namespace membar_test
