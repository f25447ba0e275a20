// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Atomic operations for kernels: this header includes atomic.hpp and requires a CUDA compiler.
#pragma once

#include <membar/atomic.hpp>
#include <membar/detail/compilation.cuh>
