// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Generates C++ statements with inline assembly for the instructions of one thread of a litmus file.
#pragma once

#include <litmus/run_plan.hpp>
#include <litmus/source.hpp>

#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::litmus_files {

/// Returns `text` for use in a comment. Nonprintable characters are replaced by spaces.
[[nodiscard]] std::string printable(std::string text);

/// Returns a literal of type `long long`.
[[nodiscard]] std::string literal(std::int64_t value);

/// Returns the name of the variable for a register.
[[nodiscard]] std::string register_name(int index);

/// Generates the statements of one thread, instruction by instruction, and records which variables they need.
class thread_writer {
 public:
  thread_writer(const run_plan& plan, const model::litmus_test::thread& thread, requirements& needs);

  /// Returns the statement for instruction `n`, which must not be an element of a vector access other than the first. Throws
  /// `model::error` with the line if PTX has no such instruction.
  [[nodiscard]] std::string statement(std::size_t n);

  /// Returns whether any instruction jumps to instruction `n`.
  [[nodiscard]] bool is_target(std::size_t n) const { return targets_.count(n) != 0; }
  /// Returns the locations whose addresses are used by the statements generated so far.
  [[nodiscard]] const std::set<int>& addresses() const noexcept { return addresses_; }
  [[nodiscard]] bool uses_zero() const noexcept { return uses_zero_; }
  [[nodiscard]] bool uses_turns() const noexcept { return uses_turns_; }
  [[nodiscard]] bool carries_control() const noexcept { return carries_control_; }

 private:
  using instruction = model::instruction;

  [[nodiscard]] std::string quoted() const;
  [[noreturn]] void refuse(const std::string& why) const;
  void needs_capability(int capability);
  void needs_nvrtc(int version);
  [[nodiscard]] std::vector<std::string> words() const;
  [[nodiscard]] bool says(std::string_view word) const;
  [[nodiscard]] int elements() const;

  [[nodiscard]] std::string scope(membar::thread_scope s);
  [[nodiscard]] std::string plain(const model::operand& o) const;
  [[nodiscard]] std::string opaque(const model::operand& o, model::operation what);
  [[nodiscard]] std::pair<std::string, std::string> operands(const model::operand& a, const model::operand& b,
                                                             model::operation what);
  [[nodiscard]] std::pair<std::string, std::string> address(const instruction& i, bool writes);
  [[nodiscard]] std::string manner(const instruction& i);
  [[nodiscard]] std::string type(const instruction& i, std::string_view allowed) const;
  void refuse_large_vector(int count, int bytes) const;

  [[nodiscard]] std::string load(const instruction& i);
  [[nodiscard]] std::string store(const instruction& i);
  [[nodiscard]] std::string modification(const instruction& i);
  [[nodiscard]] std::string update(const instruction& i);
  [[nodiscard]] std::string fence(const instruction& i);
  [[nodiscard]] std::string proxy_fence(const instruction& i);
  [[nodiscard]] std::string compute(const instruction& i);
  [[nodiscard]] std::string jump(const instruction& i);

  const run_plan* plan_;
  const model::litmus_test::thread* thread_;
  requirements* needs_;
  std::size_t at_ = 0;
  std::set<std::size_t> targets_;
  std::set<int> addresses_;
  bool uses_zero_ = false;
  bool uses_turns_ = false;
  bool carries_control_ = false;
};

}  // namespace membar::litmus_files
