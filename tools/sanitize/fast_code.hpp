// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Instructions that use only registers, with their operands resolved in advance.
///
/// `ptx::compute` defines the result of an instruction. It is instantiated here for the most frequent operations and types.
/// `check::machine` executes all other instructions and all threads that have unknown values.
#pragma once

#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>

#include <check/thread_context.hpp>

#include <cstdint>
#include <vector>

namespace membar::sanitize {

/// An instruction with resolved operands.
struct fast_instruction {
  enum class kind : std::uint8_t { slow, computes, jumps };
  using computation = std::uint64_t (*)(const fast_instruction&, const std::uint64_t*, const check::thread_context&);

  kind what = kind::slow;
  bool head = false;
  bool guard_negated = false;
  std::uint8_t sources = 0;
  std::int32_t guard = -1;
  std::int32_t target = 0;                 ///< the target of a jump; for other instructions, the destination word
  std::uint32_t word[4] = {};              ///< the word of each source
  std::uint64_t taken[4] = {};             ///< the mask of the bits that are used; 0 for a constant
  std::uint64_t added[4] = {};             ///< the value, if the source is a constant
  std::uint64_t kept = ~std::uint64_t{0};  ///< the mask of the result
  computation compute = nullptr;
  const check::instruction* of = nullptr;

  [[nodiscard]] std::uint64_t source(const std::uint64_t* words, unsigned k) const noexcept {
    return (words[word[k]] & taken[k]) + added[k];
  }
};

/// Returns the code of a kernel that is launched with these parameters. The result is empty if the kernel has operations that
/// hold registers.
[[nodiscard]] std::vector<fast_instruction> fast_code_of(const check::kernel_code& kernel,
                                                         const std::vector<std::uint8_t>& parameters);

}  // namespace membar::sanitize
