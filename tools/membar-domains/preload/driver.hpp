// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The CUDA driver itself, which the functions of hooks.cpp stand in front of.
#pragma once

#include <cuda.h>

namespace membar_domains {

/// The driver's function of this name as its library exports it, or null.
[[nodiscard]] void* driver_symbol(const char* name) noexcept;

/// A driver's function by name and type, looked up once.
template <class Function>
class driver_function {
 public:
  explicit constexpr driver_function(const char* name) noexcept : name_(name) {}
  /// Null where the driver is too old to have it.
  [[nodiscard]] Function* get() const noexcept {
    static_assert(sizeof(Function*) == sizeof(void*));
    void* found = __atomic_load_n(&found_, __ATOMIC_ACQUIRE);
    if (found == nullptr) {
      found = driver_symbol(name_);
      __atomic_store_n(&found_, found, __ATOMIC_RELEASE);
    }
    return reinterpret_cast<Function*>(found);
  }
  /// Calls it, or returns CUDA_ERROR_NOT_FOUND where the driver has none.
  template <class... Arguments>
  CUresult operator()(Arguments... arguments) const noexcept {
    Function* const function = get();
    return function == nullptr ? CUDA_ERROR_NOT_FOUND : function(arguments...);
  }

 private:
  const char* name_;
  mutable void* found_ = nullptr;
};

/// The functions that the library calls itself.
namespace driver {
#define MEMBAR_DOMAINS_DRIVER(name, symbol) \
  inline const driver_function<decltype(::name)> name##_ { #symbol }
MEMBAR_DOMAINS_DRIVER(cuCtxGetCurrent, cuCtxGetCurrent);
MEMBAR_DOMAINS_DRIVER(cuCtxGetDevice, cuCtxGetDevice);
MEMBAR_DOMAINS_DRIVER(cuDeviceGetAttribute, cuDeviceGetAttribute);
MEMBAR_DOMAINS_DRIVER(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState);
MEMBAR_DOMAINS_DRIVER(cuEventCreate, cuEventCreate);
MEMBAR_DOMAINS_DRIVER(cuEventQuery, cuEventQuery);
MEMBAR_DOMAINS_DRIVER(cuEventRecord, cuEventRecord);
MEMBAR_DOMAINS_DRIVER(cuEventElapsedTime, cuEventElapsedTime);
MEMBAR_DOMAINS_DRIVER(cuFuncGetName, cuFuncGetName);
MEMBAR_DOMAINS_DRIVER(cuFuncGetParamInfo, cuFuncGetParamInfo);
MEMBAR_DOMAINS_DRIVER(cuGetErrorName, cuGetErrorName);
MEMBAR_DOMAINS_DRIVER(cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph);
MEMBAR_DOMAINS_DRIVER(cuGraphGetNodes, cuGraphGetNodes);
MEMBAR_DOMAINS_DRIVER(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2);
MEMBAR_DOMAINS_DRIVER(cuGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute);
MEMBAR_DOMAINS_DRIVER(cuGraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute);
MEMBAR_DOMAINS_DRIVER(cuGraphNodeGetType, cuGraphNodeGetType);
MEMBAR_DOMAINS_DRIVER(cuKernelGetName, cuKernelGetName);
MEMBAR_DOMAINS_DRIVER(cuKernelGetParamInfo, cuKernelGetParamInfo);
MEMBAR_DOMAINS_DRIVER(cuPointerGetAttribute, cuPointerGetAttribute);
MEMBAR_DOMAINS_DRIVER(cuStreamGetAttribute, cuStreamGetAttribute);
MEMBAR_DOMAINS_DRIVER(cuStreamIsCapturing, cuStreamIsCapturing);
MEMBAR_DOMAINS_DRIVER(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode);
#undef MEMBAR_DOMAINS_DRIVER
}  // namespace driver

}  // namespace membar_domains
