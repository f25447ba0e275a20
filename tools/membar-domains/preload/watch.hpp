// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Of watch: CUPTI's records of kernels, and what kind of memory kernels get pointers to.
#pragma once

#include <cuda.h>

namespace membar_domains {

/// Starts recording, once. A CUPTI that is missing or busy is a complaint in a sentence.
void watch_start();

/// Ends recording and writes what is left.
void watch_finish();

/// Looks at the first launches of each kernel for pointers to peer or host memory. `parameters` is cuLaunchKernel's; may be null.
void watch_arguments(CUfunction kernel, void** parameters);

}  // namespace membar_domains
