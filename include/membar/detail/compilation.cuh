// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The header that every `.cuh` header includes first. It requires a CUDA compiler.
#pragma once

#if !defined(__CUDACC__)
#error "membar: a .cuh header needs a CUDA compiler: compile the file that includes it with nvcc"
#include "the_error_above_ends_the_compilation"
#endif

#include <membar/base/config.hpp>
#include <membar/detail/compilation.hpp>
