// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Programmatic dependent launch in machine code, where there is no PTX: which global memory is accessed before the kernel has waited.
#pragma once

#include <lint/lint.hpp>

#include <string_view>

namespace membar::lint {

/// The findings in a cubin, of which `listing` is what `nvdisasm -c` prints. Accesses are known by the parameter that their address comes from,
/// and their place is the offset in the kernel's code. No finding is `high`.
[[nodiscard]] module_findings lint_machine_code(std::string_view cubin, std::string_view listing);

}  // namespace membar::lint
