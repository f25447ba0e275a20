// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Every macro of membar. Headers that a plain C++ compiler reads use them so that one declaration serves host and device.
#pragma once

/// major * 10000 + minor * 100 + patch, for `#if`. The typed form is in version.hpp. CMake reads the version from this line.
#define MEMBAR_VERSION 200

// Errors of the preprocessor end the work of nvcc. A host compiler continues and reports what follows from them, unless a file is
// missing; this one always is.
#if __cplusplus < 202002L
#error "membar: these headers need C++20: compile with -std=c++20 or newer"
#if !defined(__CUDACC__)
#include "the_error_above_ends_the_compilation"
#endif
#endif
#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1208
#error "membar: these headers need CUDA 12.8 or newer: compile with a newer toolkit"
#endif

/// MEMBAR_CONSTANT declares a constant of a namespace, such as the tag of an order. Device code can bind it to a reference: nvcc
/// gives a `constexpr` object an address there only if it is `__device__`.
#if defined(__CUDA_ARCH__)
#define MEMBAR_CONSTANT __device__ constexpr
#else
#define MEMBAR_CONSTANT inline constexpr
#endif

/// MEMBAR_CALLS_EITHER is before a template for host and device. It allows calls of functions that only one of the two has.
#if defined(__CUDACC__)
#define MEMBAR_HOST_DEVICE __host__ __device__
#define MEMBAR_CALLS_EITHER _Pragma("nv_exec_check_disable")
#else
#define MEMBAR_HOST_DEVICE
#define MEMBAR_CALLS_EITHER
#endif

/// MEMBAR_HOST is before a function of the host that NVRTC reads too, with a device header: it accepts functions of the device
/// only. No kernel calls it.
#if defined(__CUDACC_RTC__)
#define MEMBAR_HOST __device__
#else
#define MEMBAR_HOST
#endif
