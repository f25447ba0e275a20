// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What all calls of the fake have in common.
#pragma once

#include "fake_cuda.hpp"

#include <string_view>
#include <type_traits>

namespace fake_cuda {

inline constexpr std::string_view wrapped = "__wrap_";

/// `name` without the linker's prefix.
[[nodiscard]] constexpr std::string_view call_name(std::string_view name) {
  return name.substr(name.starts_with(wrapped) ? wrapped.size() : 0);
}

/// The failure that the test has planned for this call, else success.
[[nodiscard]] cudaError_t planned(std::string_view call);

/// Answers one call at a time: the planned failure, else what `body` returns, or success. CUDA remembers a failure.
[[nodiscard]] cudaError_t answer(auto body, const char* name = __builtin_FUNCTION()) {
  const std::lock_guard lock(now().mutex);
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

/// The driver's function of this name, null where the fake has none.
[[nodiscard]] void* driver_function(std::string_view name);

}  // namespace fake_cuda
