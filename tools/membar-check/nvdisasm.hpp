// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Lists machine code with nvdisasm, as a command.
#pragma once

#include <string>
#include <string_view>

namespace membar_check {

/// Whether there is an nvdisasm: $NVDISASM, or that on the PATH, or that in /usr/local/cuda.
[[nodiscard]] bool has_nvdisasm();

/// What `nvdisasm -c` prints of a cubin. Throws `model::error` with what nvdisasm says.
[[nodiscard]] std::string disassembled(std::string_view cubin);

}  // namespace membar_check
