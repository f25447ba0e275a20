// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Functions that only the driver provides. They are looked up at run time, so that programs need not link against the driver.
#pragma once

#include <membar/error.hpp>

namespace membar {
inline namespace v0_3 {
namespace detail {

/// Looks up the address of the driver's function `name`, which is null if the driver does not provide the function.
[[nodiscard]] inline cudaError_t find_in_driver(const char* name, void*& entry) noexcept {
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  entry = nullptr;
  return cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found);
}

/// Returns the address of the driver's function `name`. Throws `error` if the driver does not provide it.
[[nodiscard]] inline void* driver_address(const char* name) {
  void* entry = nullptr;
  check(find_in_driver(name, entry), "check with nvidia-smi that the CUDA driver works");
  if (entry == nullptr) {
    throw error(cudaErrorNotSupported, "membar: the CUDA driver does not provide %s: install a driver for CUDA 12.0 or newer",
                name);
  }
  return entry;
}

/// Returns the driver's function `name`, whose type is `Function`. Throws `error` if the driver does not provide it.
template <class Function>
[[nodiscard]] Function* driver_function(const char* name) {
  return reinterpret_cast<Function*>(driver_address(name));
}

/// Converts a driver's `CUresult` to the runtime's error code. Both types use the same values.
template <class Result>
[[nodiscard]] constexpr cudaError_t as_runtime(Result code) noexcept {
  return static_cast<cudaError_t>(code);
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
