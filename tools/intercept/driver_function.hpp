// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// CUDA driver functions that a preloaded library calls directly.
#pragma once

#include <cuda.h>

#include "intercept/hook.hpp"

namespace membar::intercept {

/// A driver function, specified by its name and type. It is looked up only once.
template <class Function>
class driver_function {
 public:
  explicit constexpr driver_function(const char* name) noexcept : name_(name) {}
  /// Returns the function, or null if the driver is too old to provide it.
  [[nodiscard]] Function* get() const noexcept {
    static_assert(sizeof(Function*) == sizeof(void*));
    void* found = __atomic_load_n(&found_, __ATOMIC_ACQUIRE);
    if (found == nullptr) {
      found = driver_symbol(name_);
      __atomic_store_n(&found_, found, __ATOMIC_RELEASE);
    }
    return reinterpret_cast<Function*>(found);
  }
  /// Calls the function, or returns CUDA_ERROR_NOT_FOUND if the driver does not provide it.
  template <class... Arguments>
  CUresult operator()(Arguments... arguments) const noexcept {
    Function* const function = get();
    return function == nullptr ? CUDA_ERROR_NOT_FOUND : function(arguments...);
  }

 private:
  const char* name_;
  mutable void* found_ = nullptr;
};

}  // namespace membar::intercept
