// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Every macro of membar. Headers that a plain C++ compiler reads use them so that one declaration serves host and device.
#pragma once

/// major * 10000 + minor * 100 + patch, for `#if`. The typed form is in version.hpp. CMake reads the version from this line.
#define MEMBAR_VERSION 200

/// MEMBAR_CALLS_EITHER before a template of host and device says that what it calls may be of the host alone, or the device
/// alone.
#if defined(__CUDACC__)
#define MEMBAR_HOST_DEVICE __host__ __device__
#define MEMBAR_CALLS_EITHER _Pragma("nv_exec_check_disable")
#else
#define MEMBAR_HOST_DEVICE
#define MEMBAR_CALLS_EITHER
#endif
