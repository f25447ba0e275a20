// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Sets a thread's current device for the duration of a C++ scope.
#pragma once

#include <membar/detail/driver_function.hpp>
#include <membar/error.hpp>

struct CUctx_st;  // the type that the driver's CUcontext points to

namespace membar {
inline namespace v0_3 {
namespace detail {

/// `device_guard` without exceptions, for destructors: `status` holds the error.
class device_switch {
 public:
  explicit device_switch(int device) noexcept : status_(cudaGetDevice(&previous_)) {
    if (status_ != cudaSuccess || previous_ == device) {
      return;
    }
    // The runtime API can switch only between devices: it would make the primary context current even if the thread had another
    // context.
    void* get = nullptr;
    void* set = nullptr;
    if (find_in_driver("cuCtxGetCurrent", get) == cudaSuccess && find_in_driver("cuCtxSetCurrent", set) == cudaSuccess &&
        get != nullptr && set != nullptr && reinterpret_cast<int (*)(CUctx_st**)>(get)(&context_) == 0) {
      set_ = reinterpret_cast<int (*)(CUctx_st*)>(set);
    }
    remedy_ = "pass the index of a device that exists";
    status_ = cudaSetDevice(device);
    changed_ = status_ == cudaSuccess;
  }
  device_switch(const device_switch&) = delete;
  device_switch& operator=(const device_switch&) = delete;
  ~device_switch() {
    if (changed_) {
      report_failed_restore(set_ != nullptr && context_ != nullptr ? static_cast<cudaError_t>(set_(context_))
                                                                   : cudaSetDevice(previous_));
    }
  }

  [[nodiscard]] cudaError_t status() const noexcept { return status_; }
  [[nodiscard]] const char* remedy() const noexcept { return remedy_; }

 private:
  int previous_ = 0;
  cudaError_t status_;
  const char* remedy_ = "check with nvidia-smi that the CUDA driver and the device work";
  int (*set_)(CUctx_st*) = nullptr;
  CUctx_st* context_ = nullptr;  // null if the thread had no context
  bool changed_ = false;
};

}  // namespace detail

/// Makes `device` current for the calling thread. The destructor makes the thread's previous context current again, whether it
/// was a device's primary context or a context that the program created with the driver API. If `device` is already current,
/// the guard has no effect. Errors: the device does not exist.
class device_guard {
 public:
  [[nodiscard("destroying this object makes the previous device current again: give the object a name")]] explicit device_guard(
      int device)
      : switch_(device) {
    check(switch_.status(), switch_.remedy());
  }

 private:
  detail::device_switch switch_;
};

}  // namespace v0_3
}  // namespace membar
