// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads the output of `nvdisasm -c`: functions with their instructions and branches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace membar::lint {

/// An instruction of machine code.
struct machine_instruction {
  int offset = 0;                     ///< the offset in the function's code
  std::string guard;                  ///< for example "P0" or "!UP1"; empty if the instruction is unconditional
  std::string opcode;                 ///< with its modifiers, for example LDG.E.64.CONSTANT
  std::vector<std::string> operands;  ///< for example "R2", "desc[UR4][R2.64+0x10]" or "c[0x0][0x210]"
  std::vector<int> next;              ///< the indices of the instructions that may be executed next

  /// Returns whether the opcode is `name`, with or without modifiers.
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
