// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The CUDA driver functions that the preloaded libraries call directly.
#pragma once

#include <cuda.h>

#include "intercept/driver_function.hpp"

namespace membar::intercept::driver {
#define MEMBAR_DRIVER(name, symbol) \
  inline const driver_function<decltype(::name)> name##_ { #symbol }
MEMBAR_DRIVER(cuCtxGetCurrent, cuCtxGetCurrent);
MEMBAR_DRIVER(cuCtxGetDevice, cuCtxGetDevice);
MEMBAR_DRIVER(cuCtxSetCurrent, cuCtxSetCurrent);
MEMBAR_DRIVER(cuDeviceGetAttribute, cuDeviceGetAttribute);
MEMBAR_DRIVER(cuDeviceGetName, cuDeviceGetName);
MEMBAR_DRIVER(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState);
MEMBAR_DRIVER(cuDriverGetVersion, cuDriverGetVersion);
MEMBAR_DRIVER(cuEventCreate, cuEventCreate);
MEMBAR_DRIVER(cuEventDestroy, cuEventDestroy_v2);
MEMBAR_DRIVER(cuEventElapsedTime, cuEventElapsedTime);
MEMBAR_DRIVER(cuEventQuery, cuEventQuery);
MEMBAR_DRIVER(cuEventRecord, cuEventRecord);
MEMBAR_DRIVER(cuFuncGetAttribute, cuFuncGetAttribute);
MEMBAR_DRIVER(cuFuncGetModule, cuFuncGetModule);
MEMBAR_DRIVER(cuFuncGetName, cuFuncGetName);
MEMBAR_DRIVER(cuFuncGetParamInfo, cuFuncGetParamInfo);
MEMBAR_DRIVER(cuGetErrorName, cuGetErrorName);
MEMBAR_DRIVER(cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph);
MEMBAR_DRIVER(cuGraphExecDestroy, cuGraphExecDestroy);
MEMBAR_DRIVER(cuGraphGetEdges, cuGraphGetEdges_v2);
MEMBAR_DRIVER(cuGraphGetNodes, cuGraphGetNodes);
MEMBAR_DRIVER(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags);
MEMBAR_DRIVER(cuGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute);
MEMBAR_DRIVER(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2);
MEMBAR_DRIVER(cuGraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute);
MEMBAR_DRIVER(cuGraphNodeGetType, cuGraphNodeGetType);
MEMBAR_DRIVER(cuKernelGetAttribute, cuKernelGetAttribute);
MEMBAR_DRIVER(cuKernelGetLibrary, cuKernelGetLibrary);
MEMBAR_DRIVER(cuKernelGetName, cuKernelGetName);
MEMBAR_DRIVER(cuKernelGetParamInfo, cuKernelGetParamInfo);
MEMBAR_DRIVER(cuLibraryGetGlobal, cuLibraryGetGlobal);
MEMBAR_DRIVER(cuMemAllocHost, cuMemAllocHost_v2);
MEMBAR_DRIVER(cuMemGetAddressRange, cuMemGetAddressRange_v2);
MEMBAR_DRIVER(cuMemGetAccess, cuMemGetAccess);
MEMBAR_DRIVER(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2);
MEMBAR_DRIVER(cuMemHostRegister, cuMemHostRegister_v2);
MEMBAR_DRIVER(cuMemcpyAsync, cuMemcpyAsync);
MEMBAR_DRIVER(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2);
MEMBAR_DRIVER(cuMemsetD32Async, cuMemsetD32Async);
MEMBAR_DRIVER(cuModuleGetGlobal, cuModuleGetGlobal_v2);
MEMBAR_DRIVER(cuPointerGetAttribute, cuPointerGetAttribute);
MEMBAR_DRIVER(cuStreamCreate, cuStreamCreate);
MEMBAR_DRIVER(cuStreamGetAttribute, cuStreamGetAttribute);
MEMBAR_DRIVER(cuStreamGetFlags, cuStreamGetFlags);
MEMBAR_DRIVER(cuStreamIsCapturing, cuStreamIsCapturing);
MEMBAR_DRIVER(cuStreamQuery, cuStreamQuery);
MEMBAR_DRIVER(cuStreamWaitEvent, cuStreamWaitEvent);
MEMBAR_DRIVER(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode);
#undef MEMBAR_DRIVER
}  // namespace membar::intercept::driver
