// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The resources of a multiprocessor that a kernel uses: registers, local and shared memory, and the number of blocks that fit
/// at the same time.
///
/// A register has 32 bits: a double uses two, and two 16-bit values can share one. Local memory is private to a thread and is
/// in device memory. It holds arrays that are indexed at run time, large structs, and values that do not fit into registers
/// (spills).
#pragma once

#include <membar/error.hpp>

#include <cstddef>

namespace membar {
inline namespace v0_3 {

/// The resources that a kernel's code for the current device uses, per thread or per block.
struct kernel_resources {
  int registers = 0;                    ///< registers per thread, of 32 bits each
  std::size_t local_bytes = 0;          ///< local memory per thread, for arrays, structs and spills together
  std::size_t static_shared_bytes = 0;  ///< static shared memory per block
  std::size_t constant_bytes = 0;       ///< the size of the constant tables in the kernel's source file
  int max_threads_per_block = 0;        ///< the limit that follows from registers and launch bounds
  int max_dynamic_shared_bytes = 0;     ///< the limit per block that is currently set for the kernel
  int binary_version = 0;               ///< the architecture of the code, for example 90 for sm_90
};

/// The share of a multiprocessor that the blocks of a launch occupy.
struct kernel_occupancy {
  int blocks = 0;           ///< resident blocks per multiprocessor
  int threads = 0;          ///< resident threads per multiprocessor
  int threads_at_most = 0;  ///< the device's limit on resident threads per multiprocessor

  [[nodiscard]] constexpr double fraction() const noexcept {
    return threads_at_most == 0 ? 0.0 : static_cast<double>(threads) / static_cast<double>(threads_at_most);
  }
};

/// Returns the resources of `kernel` on the current device. The call loads the kernel.
template <class... Parameters>
[[nodiscard]] kernel_resources kernel_resources_of(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)),
        "pass a kernel that is compiled for the current device");
  kernel_resources resources;
  resources.registers = attributes.numRegs;
  resources.local_bytes = attributes.localSizeBytes;
  resources.static_shared_bytes = attributes.sharedSizeBytes;
  resources.constant_bytes = attributes.constSizeBytes;
  resources.max_threads_per_block = attributes.maxThreadsPerBlock;
  resources.max_dynamic_shared_bytes = attributes.maxDynamicSharedSizeBytes;
  resources.binary_version = attributes.binaryVersion;
  return resources;
}

/// Returns the number of blocks of `threads_per_block` threads that can be resident on a multiprocessor of the current device.
template <class... Parameters>
[[nodiscard]] kernel_occupancy occupancy_of(void (*kernel)(Parameters...), int threads_per_block,
                                            std::size_t dynamic_shared_bytes = 0) {
  kernel_occupancy occupancy;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occupancy.blocks, reinterpret_cast<const void*>(kernel),
                                                      threads_per_block, dynamic_shared_bytes),
        "pass a kernel and 1 to 1024 threads");
  occupancy.threads = occupancy.blocks * threads_per_block;
  int device = 0;
  check(cudaGetDevice(&device), "check with nvidia-smi that the CUDA driver and the device work");
  check(cudaDeviceGetAttribute(&occupancy.threads_at_most, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  return occupancy;
}

/// Throws `error` if the kernel uses local memory. This function is meant for tests.
inline void require_no_local_memory(const kernel_resources& resources, const char* kernel) {
  if (resources.local_bytes != 0) {
    throw error(cudaErrorInvalidValue,
                "membar: the kernel %s uses %zu bytes of local memory per thread in addition to %d registers: index its arrays "
                "only with compile-time constants, or raise its register limit if it spills (nvcc -Xptxas -v reports spills)",
                kernel, resources.local_bytes, resources.registers);
  }
}

}  // namespace v0_3
}  // namespace membar
