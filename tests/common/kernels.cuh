// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What kernels of several tests share.
#pragma once

#include <membar/memory_order.hpp>

namespace membar_test {

/// Whether code can be for a device with clusters and atomics of 16 bytes.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool has_hopper = false;
#else
inline constexpr bool has_hopper = true;
#endif

template <class Function>
__device__ void for_each_order(Function function) {
  function(membar::relaxed);
  function(membar::acquire);
  function(membar::release);
  function(membar::acq_rel);
  function(membar::seq_cst);
}

/// Waits for all threads of the block, or of the cluster.
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

}  // namespace membar_test
