// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The current device of a thread, for a scope.
#pragma once

#include <membar/error.hpp>

namespace membar {
inline namespace v0_2 {

/// Makes `device` current for the calling thread, and the previous device again when it is destroyed. Where `device` is current
/// already, it sets nothing, so that a context made with the driver API stays. Errors: a device that does not exist.
class device_guard {
 public:
  [[nodiscard("the previous device is current again when this object is destroyed: give it a name")]] explicit device_guard(
      int device) {
    check(cudaGetDevice(&previous_), "a working CUDA driver and device are needed");
    changed_ = previous_ != device;
    if (changed_) {
      check(cudaSetDevice(device), "pass the index of a device that exists");
    }
  }
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;
  ~device_guard() {
    if (changed_) {
      detail::report_failed_restore(cudaSetDevice(previous_));
    }
  }

 private:
  int previous_ = 0;
  bool changed_ = false;
};

}  // namespace v0_2
}  // namespace membar
