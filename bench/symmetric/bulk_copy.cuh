// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A copy to another GPU's memory with the multiprocessors' bulk-copy engines, through shared memory.
#pragma once

#include <membar/device_clock.cuh>
#include <membar/error.hpp>
#include <membar/fence.cuh>

#include <cuda/ptx>

#include <cstddef>

namespace symmetric_bench::bulk {

inline constexpr unsigned tile = 16384;
inline constexpr unsigned tiles = 8;  ///< The number of tiles in shared memory.
inline constexpr unsigned ahead = 4;  ///< The number of tiles read before the oldest of them is written.
inline constexpr std::size_t shared_bytes = std::size_t{tile} * tiles;

[[nodiscard]] inline bool available(int device) {
  int major = 0;
  membar::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major >= 9;
}

/// Each block has one thread, which copies every `gridDim.x`-th tile, `times` times. `bytes` is a multiple of the tile size. No
/// concurrent kernel may write to the source.
__global__ void __launch_bounds__(32) copy(unsigned char* to, const unsigned char* from, std::size_t bytes, unsigned times) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  namespace ptx = cuda::ptx;
  constexpr unsigned size = tile;  // cuda::ptx takes this argument by reference.
  extern __shared__ __align__(128) unsigned char bulk_tiles[];
  __shared__ __align__(8) cuda::std::uint64_t arrivals[tiles];
  for (cuda::std::uint64_t& each : arrivals) {
    ptx::mbarrier_init(&each, 1);
  }
  membar::proxy_fence<membar::proxy::async>();  // Makes the initialized barriers visible to the bulk copies.
  const std::size_t step = std::size_t{gridDim.x} * tile;
  const std::size_t first = std::size_t{blockIdx.x} * tile;
  const std::size_t mine = first < bytes ? (bytes - first + step - 1) / step : 0;
  const std::size_t all = mine * times;
  std::size_t reading = first;
  std::size_t writing = first;
  for (std::size_t n = 0; n < all + ahead; ++n) {
    if (n < all) {
      const std::size_t slot = n % tiles;
      // Waits until the copy from this slot, `tiles` iterations ago, has read its data: only later groups may be
      // unfinished.
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<tiles - ahead - 1>());
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, arrivals + slot, size);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, bulk_tiles + slot * tile, from + reading, size,
                         arrivals + slot);
      reading = reading + step < bytes ? reading + step : first;
    }
    if (n >= ahead) {
      const std::size_t slot = (n - ahead) % tiles;
      const auto phase = static_cast<unsigned>((n - ahead) / tiles % 2);
      const unsigned long long begin = membar::global_nanoseconds();
      while (!ptx::mbarrier_try_wait_parity(arrivals + slot, phase)) {
        if (membar::global_nanoseconds() - begin > 1'000'000'000) {
          __trap();
        }
      }
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, to + writing, bulk_tiles + slot * tile, size);
      ptx::cp_async_bulk_commit_group();
      writing = writing + step < bytes ? writing + step : first;
    }
  }
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  membar::proxy_fence<membar::proxy::async>();
  membar::thread_fence<membar::thread_scope::system>(membar::acq_rel);
#endif
}

/// Allows `copy` to use its shared memory on the current device.
inline void prepare() {
  membar::check(cudaFuncSetAttribute(copy, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
}

}  // namespace symmetric_bench::bulk
