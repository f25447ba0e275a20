// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Atomic operations in kernels: atomic.hpp, where a CUDA compiler reads it.
#pragma once

#include <membar/atomic.hpp>
#include <membar/detail/compilation.cuh>
