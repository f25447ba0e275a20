// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads tables of pointers in device memory.
#pragma once

#include <cuda.h>

#include <vector>

namespace membar::intercept {

/// Returns the words at the address, up to the end of the allocation but at most 4096 bytes. They are copied on the library's
/// own stream, which does not wait for the program's streams. If a copy fails or takes longer than 200 ms, this call and all
/// later calls in the same context return an empty vector.
[[nodiscard]] std::vector<CUdeviceptr> words_at(CUdeviceptr table);

}  // namespace membar::intercept
