// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Whether a barrier stands in a conditional that another thread of the block did not take.
///
/// A thread that has left the kernel is not waited for, so that an early return before a barrier is fine. A thread that passed by the
/// barrier and went on is not: it took a branch on which the barrier depends, and both sides of that branch come together again before
/// the end of the kernel. Source: CUDA programming guide, "Synchronization Functions"; PTX ISA, "bar, barrier", `.aligned`.
#pragma once

#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace membar::check {

/// The control flow of a kernel.
class control_flow {
 public:
  explicit control_flow(const ptx::kernel_code& kernel);

  /// Whether the instruction at `inside` is executed or not as the branch at `branch` decides, and the branch's sides come together
  /// again at an event before the end of the kernel.
  [[nodiscard]] bool is_conditional_on(std::int32_t inside, std::int32_t branch) const;

 private:
  /// The instructions that every path from `pc` to the end of the kernel passes.
  using pc_set = std::vector<bool>;

  std::vector<std::vector<std::int32_t>> next_;  ///< per instruction; the count of instructions stands for the end
  std::vector<pc_set> passed_;
  std::vector<bool>
      matters_;  ///< events; where the source's lines are known, those that the compiler did not merge from several lines
};

}  // namespace membar::check
