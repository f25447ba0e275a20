// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Searches all kernels of a PTX module for error patterns.
#pragma once

#include <lint/rules.hpp>
#include <ptx/module.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::lint {

/// The source position of an instruction.
struct place {
  std::string file;  ///< the source file; empty if the PTX does not name it
  int line = 0;
  std::string caller_file;  ///< for a library's code: the position of the call in the program; otherwise empty
  int caller_line = 0;
  int ptx_line = 0;
  std::string opcode{};
  int code_offset = -1;  ///< the offset in the kernel's machine code; -1 for PTX
};

/// A warning with source positions in place of instruction numbers.
struct finding {
  std::string kernel;
  std::string_view rule;
  confidence sure = confidence::high;
  std::string text;
  place at;
  std::vector<std::pair<place, std::string>> related;
  std::string fix{};  ///< what to do about it; if empty, the rule's `fix` applies
};

struct module_findings {
  std::vector<finding> findings;
  int kernels = 0;
  std::vector<std::pair<std::string, std::string>> not_read;  ///< the kernels that could not be read, with the reasons
};

/// Applies all rules to all kernels that the module defines. Kernels with unknown instructions are skipped and listed in
/// `not_read`.
[[nodiscard]] module_findings lint(const ptx::ptx_module& module);

}  // namespace membar::lint
