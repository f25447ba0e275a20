// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Virtual memory management, which only the driver provides. Its functions are looked up at run time, so that programs need
/// not link against the driver.
#pragma once

#include <membar/detail/driver_function.hpp>
#include <membar/error.hpp>

#include <cuda.h>

#include <cstddef>

namespace membar {
inline namespace v0_3 {
namespace detail {

/// The driver's functions.
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

/// Returns whether the device supports virtual memory management.
[[nodiscard]] inline bool has_virtual_memory(int device) {
  int value = 0;
  check(as_runtime(
            virtual_memory().device_get_attribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device)),
        "pass the index of a device that exists");
  return value != 0;
}

/// Returns the properties of memory on `device`, for `cuMemCreate`.
[[nodiscard]] inline CUmemAllocationProp memory_of(int device) noexcept {
  CUmemAllocationProp property{};
  property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  property.location.id = device;
  return property;
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
