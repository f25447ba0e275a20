// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The functions of the CUDA driver that the library calls itself.
#pragma once

#include <cuda.h>

#include "intercept/driver_function.hpp"

namespace membar_domains {

namespace driver {
#define MEMBAR_DOMAINS_DRIVER(name, symbol) \
  inline const membar::intercept::driver_function<decltype(::name)> name##_ { #symbol }
MEMBAR_DOMAINS_DRIVER(cuCtxGetCurrent, cuCtxGetCurrent);
MEMBAR_DOMAINS_DRIVER(cuCtxGetDevice, cuCtxGetDevice);
MEMBAR_DOMAINS_DRIVER(cuCtxSetCurrent, cuCtxSetCurrent);
MEMBAR_DOMAINS_DRIVER(cuDeviceGetAttribute, cuDeviceGetAttribute);
MEMBAR_DOMAINS_DRIVER(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState);
MEMBAR_DOMAINS_DRIVER(cuDriverGetVersion, cuDriverGetVersion);
MEMBAR_DOMAINS_DRIVER(cuEventCreate, cuEventCreate);
MEMBAR_DOMAINS_DRIVER(cuEventDestroy, cuEventDestroy_v2);
MEMBAR_DOMAINS_DRIVER(cuEventQuery, cuEventQuery);
MEMBAR_DOMAINS_DRIVER(cuEventRecord, cuEventRecord);
MEMBAR_DOMAINS_DRIVER(cuEventElapsedTime, cuEventElapsedTime);
MEMBAR_DOMAINS_DRIVER(cuFuncGetName, cuFuncGetName);
MEMBAR_DOMAINS_DRIVER(cuFuncGetParamInfo, cuFuncGetParamInfo);
MEMBAR_DOMAINS_DRIVER(cuGetErrorName, cuGetErrorName);
MEMBAR_DOMAINS_DRIVER(cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph);
MEMBAR_DOMAINS_DRIVER(cuGraphExecDestroy, cuGraphExecDestroy);
MEMBAR_DOMAINS_DRIVER(cuGraphGetNodes, cuGraphGetNodes);
MEMBAR_DOMAINS_DRIVER(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags);
MEMBAR_DOMAINS_DRIVER(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2);
MEMBAR_DOMAINS_DRIVER(cuGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute);
MEMBAR_DOMAINS_DRIVER(cuGraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute);
MEMBAR_DOMAINS_DRIVER(cuGraphNodeGetType, cuGraphNodeGetType);
MEMBAR_DOMAINS_DRIVER(cuKernelGetName, cuKernelGetName);
MEMBAR_DOMAINS_DRIVER(cuKernelGetParamInfo, cuKernelGetParamInfo);
MEMBAR_DOMAINS_DRIVER(cuMemAllocHost, cuMemAllocHost_v2);
MEMBAR_DOMAINS_DRIVER(cuMemGetAddressRange, cuMemGetAddressRange_v2);
MEMBAR_DOMAINS_DRIVER(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2);
MEMBAR_DOMAINS_DRIVER(cuPointerGetAttribute, cuPointerGetAttribute);
MEMBAR_DOMAINS_DRIVER(cuStreamCreate, cuStreamCreate);
MEMBAR_DOMAINS_DRIVER(cuStreamGetAttribute, cuStreamGetAttribute);
MEMBAR_DOMAINS_DRIVER(cuStreamIsCapturing, cuStreamIsCapturing);
MEMBAR_DOMAINS_DRIVER(cuStreamQuery, cuStreamQuery);
MEMBAR_DOMAINS_DRIVER(cuStreamWaitEvent, cuStreamWaitEvent);
MEMBAR_DOMAINS_DRIVER(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode);
#undef MEMBAR_DOMAINS_DRIVER
}  // namespace driver

}  // namespace membar_domains
