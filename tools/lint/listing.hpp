// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The listing of machine code that `nvdisasm -c` prints, as functions with their instructions and branches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace membar::lint {

/// An instruction of machine code.
struct machine_instruction {
  int offset = 0;                     ///< in the function's code
  std::string guard;                  ///< "P0", "!UP1"; empty if it is always executed
  std::string opcode;                 ///< with its modifiers: LDG.E.64.CONSTANT
  std::vector<std::string> operands;  ///< "R2", "desc[UR4][R2.64+0x10]", "c[0x0][0x210]"
  std::vector<int> next;              ///< what may be executed after it: places in the function's code

  /// Whether the opcode is `name`, with any modifiers.
  [[nodiscard]] bool is(std::string_view name) const { return std::string_view(opcode).substr(0, opcode.find('.')) == name; }
  [[nodiscard]] bool has(std::string_view modifier) const;
};

struct machine_function {
  std::string name;
  bool kernel = false;
  std::vector<machine_instruction> code;
};

[[nodiscard]] std::vector<machine_function> read_listing(std::string_view text);

}  // namespace membar::lint
