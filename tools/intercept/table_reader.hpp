// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tables of pointers in device memory.
#pragma once

#include <cuda.h>

#include <vector>

namespace membar::intercept {

/// Returns the words at the address, up to the end of its allocation and at most 4096 bytes. They are copied on the library's
/// own stream, which does not wait for the program's streams. The result is empty if this takes longer than 200 ms, and from
/// then on.
[[nodiscard]] std::vector<CUdeviceptr> words_at(CUdeviceptr table);

}  // namespace membar::intercept
