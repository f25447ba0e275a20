// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Disassembles machine code by running nvdisasm.
#pragma once

#include <string>
#include <string_view>

namespace membar_check {

/// Returns whether nvdisasm is available: as $NVDISASM, on the PATH, or in /usr/local/cuda.
[[nodiscard]] bool has_nvdisasm();

/// Returns the output of `nvdisasm -c` for a cubin. Throws `model::error` with nvdisasm's message if nvdisasm fails.
[[nodiscard]] std::string disassembled(std::string_view cubin);

}  // namespace membar_check
