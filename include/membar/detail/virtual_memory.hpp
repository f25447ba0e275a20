// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Virtual memory management, which only the driver has: found at run time, so that nothing links against it.
#pragma once

#include <membar/error.hpp>

#include <cuda.h>

#include <cstddef>

namespace membar::detail {

/// The driver's function `name`, whose type is `Function`. Throws `error` where the driver has none.
template <class Function>
[[nodiscard]] Function* driver_function(const char* name) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &found);
#endif
  check(status, "cudaGetDriverEntryPoint", "a working CUDA driver is needed");
  if (found != cudaDriverEntryPointSuccess || entry == nullptr) {
    throw error(cudaErrorNotSupported, "membar: the CUDA driver has no %s: install a driver of CUDA 12.0 or newer", name);
  }
  return reinterpret_cast<Function*>(entry);
}

/// The driver's calls. Their codes are the runtime's.
struct virtual_memory_calls {
  decltype(cuDeviceGetAttribute)* device_get_attribute =
      driver_function<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute");
  decltype(cuMemGetAllocationGranularity)* granularity =
      driver_function<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
  decltype(cuMemAddressReserve)* reserve = driver_function<decltype(cuMemAddressReserve)>("cuMemAddressReserve");
  decltype(cuMemAddressFree)* unreserve = driver_function<decltype(cuMemAddressFree)>("cuMemAddressFree");
  decltype(cuMemCreate)* create = driver_function<decltype(cuMemCreate)>("cuMemCreate");
  decltype(cuMemRelease)* release = driver_function<decltype(cuMemRelease)>("cuMemRelease");
  decltype(cuMemMap)* map = driver_function<decltype(cuMemMap)>("cuMemMap");
  decltype(cuMemUnmap)* unmap = driver_function<decltype(cuMemUnmap)>("cuMemUnmap");
  decltype(cuMemSetAccess)* set_access = driver_function<decltype(cuMemSetAccess)>("cuMemSetAccess");
};

[[nodiscard]] inline const virtual_memory_calls& virtual_memory() {
  static const virtual_memory_calls calls;
  return calls;
}

[[nodiscard]] constexpr cudaError_t as_runtime(CUresult code) noexcept { return static_cast<cudaError_t>(code); }

/// Whether the device manages virtual memory in this way.
[[nodiscard]] inline bool has_virtual_memory(int device) {
  int value = 0;
  check(as_runtime(
            virtual_memory().device_get_attribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device)),
        "cuDeviceGetAttribute", "pass the index of a device that exists");
  return value != 0;
}

/// What `cuMemCreate` is asked for: memory of `device`, pinned as all device memory is.
[[nodiscard]] inline CUmemAllocationProp memory_of(int device) noexcept {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device;
  return wanted;
}

}  // namespace membar::detail
