// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// All of membar's macros. Headers that a plain C++ compiler also compiles use these macros so that one declaration works for
/// host and device.
#pragma once

/// The version as major * 10000 + minor * 100 + patch, for `#if`. version.hpp defines it as a typed constant. CMake reads the
/// version from this line.
#define MEMBAR_VERSION 300

// nvcc stops at a preprocessor error. A host compiler continues and reports follow-on errors, unless an included file is
// missing, so this header includes a file that does not exist.
#if __cplusplus < 202002L
#error "membar: these headers need C++20: compile with -std=c++20 or newer"
#if !defined(__CUDACC__)
#include "the_error_above_ends_the_compilation"
#endif
#endif
#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1208
#error "membar: these headers need CUDA 12.8 or newer: compile with a newer toolkit"
#endif

/// MEMBAR_CONSTANT declares a constant at namespace scope, such as a memory order's tag. Device code can bind such a constant
/// to a reference: nvcc gives a `constexpr` object an address in device code only if the object is `__device__`.
#if defined(__CUDA_ARCH__)
#define MEMBAR_CONSTANT __device__ constexpr
#else
#define MEMBAR_CONSTANT inline constexpr
#endif

/// MEMBAR_CALLS_EITHER precedes a template for host and device. It allows calls to functions that exist for only one of the
/// two.
#if defined(__CUDACC__)
#define MEMBAR_HOST_DEVICE __host__ __device__
#define MEMBAR_CALLS_EITHER _Pragma("nv_exec_check_disable")
#else
#define MEMBAR_HOST_DEVICE
#define MEMBAR_CALLS_EITHER
#endif

/// MEMBAR_HOST precedes a host function in a device header that NVRTC also compiles, because NVRTC accepts only device
/// functions. Kernels never call such a function.
#if defined(__CUDACC_RTC__)
#define MEMBAR_HOST __device__
#else
#define MEMBAR_HOST
#endif
