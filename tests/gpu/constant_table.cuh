// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A constant table that constant_test.cu defines and constant_elsewhere.cu reads.
#pragma once

#include <membar/constant.cuh>

extern __constant__ membar::constant_table<int, 100> shared_table;

/// Enqueues a kernel from the other source file, which copies the table to `out`.
void copy_shared_table(int* out, cudaStream_t stream);
