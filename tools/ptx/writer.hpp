// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Builds PTX kernels from statements instead of text. `opcode_text` builds the opcodes.
#pragma once

#include <ptx/module.hpp>
#include <ptx/words.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace membar::ptx {

/// Returns a constant operand.
[[nodiscard]] ptx_operand number(std::int64_t value);

/// Returns an operand that names a label, a variable or a special register.
[[nodiscard]] ptx_operand named(std::string name);

/// Returns the operand `_`, which discards a result.
[[nodiscard]] ptx_operand sink();

/// Returns the operand `[address]`.
[[nodiscard]] ptx_operand memory_at(std::uint64_t address);

/// Returns the operand `[register]`.
[[nodiscard]] ptx_operand memory_at(const ptx_operand& base);

/// Returns the operand `[variable+offset]`.
[[nodiscard]] ptx_operand memory_at(std::string variable, std::uint64_t offset);

/// Builds one kernel. Its line numbers refer to the printed kernel, which has one line for its head, one for the brace that
/// opens its body, and one for each declaration and statement.
class kernel_writer {
 public:
  /// Creates a kernel whose head is on line `line`.
  kernel_writer(std::string name, int line);

  /// Declares registers of a type, as in `.reg .b64 %r<count>`, and returns them.
  [[nodiscard]] std::vector<ptx_operand> declare_registers(const std::string& name, ptx_type type, int count);

  /// Declares an array of bytes in local memory.
  void declare_local(std::string name, std::uint64_t alignment, std::uint64_t bytes);

  void label(std::string name);

  /// Gives the next instruction a predicate. The instruction is executed only if the predicate is true or, with `negated`,
  /// false.
  void guard(const ptx_operand& predicate, bool negated);

  void add(std::string opcode, std::initializer_list<ptx_operand> operands);

  [[nodiscard]] const ptx_function& function() const noexcept { return function_; }
  /// Returns the line after the brace that closes the body.
  [[nodiscard]] int end_line() const noexcept { return line_ + 2; }

 private:
  ptx_function function_{};
  ptx_statement next_{};  ///< holds the guard for the next instruction
  int line_ = 0;          ///< the number of the last line so far
};

}  // namespace membar::ptx
