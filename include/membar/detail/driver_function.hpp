// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Functions that only the driver has. They are found at run time, so that no program links with the driver.
#pragma once

#include <membar/error.hpp>

namespace membar {
inline namespace v0_2 {
namespace detail {

/// Finds the address of the driver's function `name`, null where the driver has none.
[[nodiscard]] inline cudaError_t find_in_driver(const char* name, void*& entry) noexcept {
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  entry = nullptr;
  return cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found);
}

/// The address of the driver's function `name`. Throws `error` where the driver has none.
[[nodiscard]] inline void* driver_address(const char* name) {
  void* entry = nullptr;
  check(find_in_driver(name, entry), "this call needs a working CUDA driver");
  if (entry == nullptr) {
    throw error(cudaErrorNotSupported, "membar: the CUDA driver has no %s: install a driver for CUDA 12.0 or newer", name);
  }
  return entry;
}

/// The driver's function `name`, whose type is `Function`. Throws `error` where the driver has none.
template <class Function>
[[nodiscard]] Function* driver_function(const char* name) {
  return reinterpret_cast<Function*>(driver_address(name));
}

/// The runtime's code of a driver's code, a `CUresult`: both have the same values.
template <class Result>
[[nodiscard]] constexpr cudaError_t as_runtime(Result code) noexcept {
  return static_cast<cudaError_t>(code);
}

}  // namespace detail
}  // namespace v0_2
}  // namespace membar
