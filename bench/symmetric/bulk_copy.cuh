// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A copy to another GPU's memory by the bulk-copy engines of the multiprocessors, by way of shared memory.
#pragma once

#include <bench/common/device_clock.cuh>
#include <membar/error.hpp>
#include <membar/fence.cuh>

#include <cstddef>

namespace symmetric_bench::bulk {

inline constexpr unsigned tile = 16384;
inline constexpr unsigned tiles = 8;  ///< in shared memory
inline constexpr unsigned ahead = 4;  ///< read before the oldest of them is written
inline constexpr std::size_t shared_bytes = std::size_t{tile} * tiles;

[[nodiscard]] inline bool available(int device) {
  int major = 0;
  membar::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major >= 9;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

[[nodiscard]] __device__ inline unsigned shared_address(const void* address) {
  return static_cast<unsigned>(__cvta_generic_to_shared(address));
}

__device__ inline void read_tile(unsigned to, const unsigned char* from, unsigned arrived) {
  // mbarrier.arrive.expect_tx.shared::cta.b64 _, [addr], bytes;  PTX ISA 8.0, sm_90
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived), "r"(tile) : "memory");
  // cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [dst], [src], size, [mbar];  PTX ISA 8.0, sm_90
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(tile), "r"(arrived)
               : "memory");
}

__device__ inline void write_tile(unsigned char* to, unsigned from) {
  // cp.async.bulk.global.shared::cta.bulk_group [dst], [src], size;  PTX ISA 8.0, sm_90
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), "r"(from),
               "r"(tile)
               : "memory");
  // cp.async.bulk.commit_group;  PTX ISA 8.0, sm_90
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ inline void wait_for_tile(unsigned arrived, unsigned phase) {
  const unsigned long long begin = support::device_nanoseconds();
  for (unsigned done = 0; done == 0;) {
    // mbarrier.try_wait.parity.shared::cta.b64 p, [addr], parity;  PTX ISA 7.8, sm_90
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(arrived), "r"(phase)
                 : "memory");
    if (done == 0 && support::device_nanoseconds() - begin > 1'000'000'000) {
      __trap();
    }
  }
}

#endif

/// Each block of one thread copies every `gridDim.x`-th tile, `times` times; `bytes` is a multiple of a tile. The source was
/// written by an earlier kernel, or by none.
__global__ void __launch_bounds__(32) copy(unsigned char* to, const unsigned char* from, std::size_t bytes, unsigned times) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char bulk_tiles[];
  __shared__ __align__(8) unsigned long long arrivals[tiles];
  const unsigned shared = shared_address(bulk_tiles);
  const unsigned arrived = shared_address(arrivals);
  for (unsigned i = 0; i != tiles; ++i) {
    // mbarrier.init.shared::cta.b64 [addr], count;  PTX ISA 7.8, sm_80
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(arrived + 8 * i) : "memory");
  }
  membar::proxy_fence<membar::proxy::async>();  // bulk copies see the barriers
  const std::size_t step = std::size_t{gridDim.x} * tile;
  const std::size_t first = std::size_t{blockIdx.x} * tile;
  const std::size_t mine = first < bytes ? (bytes - first + step - 1) / step : 0;
  const std::size_t all = mine * times;
  std::size_t reading = first;
  std::size_t writing = first;
  for (std::size_t n = 0; n < all + ahead; ++n) {
    if (n < all) {
      const unsigned slot = static_cast<unsigned>(n % tiles);
      // What was written from this slot, `tiles` before, has been read: all groups have, but those behind it.
      // cp.async.bulk.wait_group.read n;  PTX ISA 8.0, sm_90
      asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(tiles - ahead - 1) : "memory");
      read_tile(shared + slot * tile, from + reading, arrived + 8 * slot);
      reading = reading + step < bytes ? reading + step : first;
    }
    if (n >= ahead) {
      const unsigned slot = static_cast<unsigned>((n - ahead) % tiles);
      wait_for_tile(arrived + 8 * slot, static_cast<unsigned>((n - ahead) / tiles % 2));
      write_tile(to + writing, shared + slot * tile);
      writing = writing + step < bytes ? writing + step : first;
    }
  }
  // cp.async.bulk.wait_group 0;  PTX ISA 8.0, sm_90
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  membar::proxy_fence<membar::proxy::async>();
  membar::thread_fence<membar::thread_scope::system>(membar::acq_rel);
#endif
}

/// Lets `copy` have its shared memory on the current device.
inline void prepare() {
  membar::check(cudaFuncSetAttribute(copy, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
}

}  // namespace symmetric_bench::bulk
