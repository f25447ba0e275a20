// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Code that is shared by all functions of the fake runtime and driver.
#pragma once

#include "fake_cuda.hpp"

#include <string_view>
#include <type_traits>

namespace fake_cuda {

inline constexpr std::string_view wrapped = "__wrap_";

/// Returns `name` without the linker's prefix.
[[nodiscard]] constexpr std::string_view call_name(std::string_view name) {
  return name.substr(name.starts_with(wrapped) ? wrapped.size() : 0);
}

/// Returns the failure that the test has planned for this call, or success.
[[nodiscard]] cudaError_t planned(std::string_view call);

/// Handles one call at a time. The result is the planned failure, the value that `body` returns, or success. As in CUDA, a
/// failure is remembered.
[[nodiscard]] cudaError_t answer(auto body, const char* name = __builtin_FUNCTION()) {
  const std::lock_guard lock(now().mutex);
  if (now().on_call) {
    now().on_call(call_name(name));
  }
  cudaError_t status = now().driver ? planned(call_name(name)) : cudaErrorInsufficientDriver;
  if (status == cudaSuccess) {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
    } else {
      status = body();
    }
  }
  if (status != cudaSuccess) {
    now().last_error = status;
  }
  return status;
}

[[nodiscard]] inline bool exists(int index) { return index >= 0 && index < device_count(); }
[[nodiscard]] inline device& at(int index) { return now().devices.at(static_cast<std::size_t>(index)); }
[[nodiscard]] inline device& here() { return at(current_device()); }

/// Returns the driver's function with this name, or null if the fake has none.
[[nodiscard]] void* driver_function(std::string_view name);

}  // namespace fake_cuda
