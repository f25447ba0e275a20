// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Functions that only the driver has. They are found at run time, so that no program links with the driver.
#pragma once

#include <membar/error.hpp>

#include <cuda.h>

namespace membar {
inline namespace v0_2 {
namespace detail {

/// The address of the driver's function `name`. Throws `error` where the driver has none.
[[nodiscard]] inline void* driver_address(const char* name) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found);
  check(status, "a working CUDA driver is needed");
  if (found != cudaDriverEntryPointSuccess || entry == nullptr) {
    throw error(cudaErrorNotSupported, "membar: the CUDA driver has no %s: install a driver of CUDA 12.0 or newer", name);
  }
  return entry;
}

/// The driver's function `name`, whose type is `Function`. Throws `error` where the driver has none.
template <class Function>
[[nodiscard]] Function* driver_function(const char* name) {
  return reinterpret_cast<Function*>(driver_address(name));
}

/// The runtime's code of a driver's code: both have the same values.
[[nodiscard]] constexpr cudaError_t as_runtime(CUresult code) noexcept { return static_cast<cudaError_t>(code); }

}  // namespace detail
}  // namespace v0_2
}  // namespace membar
