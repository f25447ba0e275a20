// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Whether a barrier is in a conditional that another thread of the block did not take.
///
/// Threads that have left the kernel are not waited for, so an early return before a barrier is correct. A thread that bypassed the
/// barrier and continued is an error: it took a branch on which the barrier depends, and both sides of that branch come together again before
/// the end of the kernel. Source: CUDA programming guide, "Synchronization Functions"; PTX ISA, "bar, barrier", `.aligned`.
#pragma once

#include <check/program.hpp>
#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace membar::check {

/// The instructions that may follow each instruction; the count of instructions stands for the end of the kernel.
[[nodiscard]] std::vector<std::vector<std::int32_t>> next_instructions(const ptx::kernel_code& kernel);

/// For each instruction whether a thread may execute it after the one at `from`.
[[nodiscard]] std::vector<bool> reached_from(const ptx::kernel_code& kernel, std::int32_t from);

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

  std::vector<std::vector<std::int32_t>> next_;  ///< see `next_instructions`
  std::vector<pc_set> passed_;
  std::vector<bool>
      matters_;  ///< events; where the source's lines are known, those that the compiler did not merge from several lines
};

/// Why it is undefined that a thread which continues from the barrier `mine` and one that has arrived at it by `other` meet; empty if it is not. PTX
/// counts those that arrive at a barrier's number, whichever instruction they come by. But CUDA defines `__syncthreads()` in a branch only where
/// all threads of the block take it, and PTX a barrier that is `.aligned` only where all threads of the warp reach the same one. Source: CUDA C++
/// Programming Guide, "Synchronization Functions"; PTX ISA, "bar, barrier".
[[nodiscard]] std::string misuse_of_barrier(const program& p, int thread, const instruction& mine, const instruction& other,
                                            bool one_warp);

}  // namespace membar::check
