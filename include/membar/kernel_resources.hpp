// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a kernel uses of a multiprocessor: registers, local and shared memory, and how many blocks fit at the same time.
///
/// A register has 32 bits: a double takes two, and two 16-bit values can share one. Local memory is private to a thread and is
/// in device memory. Arrays that are indexed at run time, big structs, and values that do not fit into registers (spills) are
/// there.
#pragma once

#include <membar/error.hpp>

#include <cstddef>

namespace membar {
inline namespace v0_2 {

/// The resources of a kernel, per thread or per block, in the code for the current device.
struct kernel_resources {
  int registers = 0;                    ///< per thread, of 32 bits
  std::size_t local_bytes = 0;          ///< per thread: arrays, structs and spills together
  std::size_t static_shared_bytes = 0;  ///< per block
  std::size_t constant_bytes = 0;       ///< of the constant tables in the kernel's source file
  int max_threads_per_block = 0;        ///< as registers and launch bounds allow
  int max_dynamic_shared_bytes = 0;     ///< per block, as it is set for the kernel
  int binary_version = 0;               ///< 90 for code of sm_90
};

/// How much of a multiprocessor a launch fills.
struct kernel_occupancy {
  int blocks = 0;           ///< per multiprocessor, at once
  int threads = 0;          ///< per multiprocessor, at once
  int threads_at_most = 0;  ///< per multiprocessor: the limit of the device

  [[nodiscard]] constexpr double fraction() const noexcept {
    return threads_at_most == 0 ? 0.0 : static_cast<double>(threads) / static_cast<double>(threads_at_most);
  }
};

/// The resources of `kernel` on the current device. Loads the kernel.
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

/// How many blocks of `threads_per_block` threads run on a multiprocessor of the current device at once.
template <class... Parameters>
[[nodiscard]] kernel_occupancy occupancy_of(void (*kernel)(Parameters...), int threads_per_block,
                                            std::size_t dynamic_shared_bytes = 0) {
  kernel_occupancy occupancy;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occupancy.blocks, reinterpret_cast<const void*>(kernel),
                                                      threads_per_block, dynamic_shared_bytes),
        "pass a kernel and 1 to 1024 threads");
  occupancy.threads = occupancy.blocks * threads_per_block;
  int device = 0;
  check(cudaGetDevice(&device), "this call needs a working CUDA driver and device");
  check(cudaDeviceGetAttribute(&occupancy.threads_at_most, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  return occupancy;
}

/// For tests: throws `error` if the kernel uses local memory.
inline void require_no_local_memory(const kernel_resources& resources, const char* kernel) {
  if (resources.local_bytes != 0) {
    throw error(cudaErrorInvalidValue,
                "membar: the kernel %s uses %zu bytes of local memory per thread in addition to %d registers: index its arrays "
                "at compile time, or raise its register limit if it spills (nvcc -Xptxas -v reports spills)",
                kernel, resources.local_bytes, resources.registers);
  }
}

}  // namespace v0_2
}  // namespace membar
