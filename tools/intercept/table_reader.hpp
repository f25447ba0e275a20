// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tables of pointers in device memory.
#pragma once

#include <cuda.h>

#include <vector>

namespace membar::intercept {

/// The words at the address, up to the end of its allocation and to 4096 bytes, copied on a stream of the library's own that waits for no stream of
/// the program's. Empty where that takes longer than 200 ms, and from then on.
[[nodiscard]] std::vector<CUdeviceptr> words_at(CUdeviceptr table);

}  // namespace membar::intercept
