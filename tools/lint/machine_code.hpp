// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Checks programmatic dependent launches in machine code, for kernels without PTX: determines which global memory a kernel
/// accesses before it waits.
#pragma once

#include <lint/lint.hpp>

#include <string_view>

namespace membar::lint {

/// Returns the findings in a cubin. `listing` is the output of `nvdisasm -c` for the cubin. An access is identified by the
/// parameter that its address comes from, and its position is the offset in the kernel's code. The confidence of a finding is
/// never `high`.
[[nodiscard]] module_findings lint_machine_code(std::string_view cubin, std::string_view listing);

}  // namespace membar::lint
