// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Detects a barrier inside a conditional if another thread in the block skipped the barrier.
///
/// A barrier does not wait for threads that have exited the kernel, so an early return before a barrier is correct. It is an
/// error if a thread skips the barrier but does not exit, that is, if the thread takes the other side of a branch that the
/// barrier depends on, and both sides of that branch rejoin before the end of the kernel. Source: CUDA programming guide,
/// "Synchronization Functions"; PTX ISA, "bar, barrier", `.aligned`.
#pragma once

#include <check/program.hpp>
#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace membar::check {

/// Returns, for each instruction, the instructions that may be executed next. The number of instructions represents the end of
/// the kernel.
[[nodiscard]] std::vector<std::vector<std::int32_t>> next_instructions(const ptx::kernel_code& kernel);

/// Returns, for each instruction and for the end of the kernel, whether a thread may reach it after the instruction at `from`, or
/// from the kernel's entry if `from` is -1, without executing the instruction at `avoided`.
[[nodiscard]] std::vector<bool> reached_from(const ptx::kernel_code& kernel, std::int32_t from, std::int32_t avoided = -1);

/// As above, without executing any of the instructions in `avoided`, which also has an element for the end of the kernel.
[[nodiscard]] std::vector<bool> reached_from(const ptx::kernel_code& kernel, std::int32_t from,
                                             const std::vector<bool>& avoided);

/// Returns, for each instruction other than `avoided`, whether a thread may reach one of the targets after it, without executing
/// the instruction at `avoided`. The number of instructions as a target represents the end of the kernel.
[[nodiscard]] std::vector<bool> leading_to(const ptx::kernel_code& kernel, const std::vector<std::int32_t>& targets,
                                           std::int32_t avoided);

/// Returns whether both instructions come from the same line and call in the source, for example because the compiler unrolled a
/// loop.
[[nodiscard]] bool is_same_place(const ptx::instruction& x, const ptx::instruction& y) noexcept;

/// The control flow of a kernel.
class control_flow {
 public:
  explicit control_flow(const ptx::kernel_code& kernel);

  /// Returns whether two conditions hold: the branch at `branch` decides whether the instruction at `inside` is executed, and
  /// both sides of the branch reach a common event before the end of the kernel.
  [[nodiscard]] bool is_conditional_on(std::int32_t inside, std::int32_t branch) const;

 private:
  /// The instructions that are on every path from some point to the end of the kernel.
  using pc_set = std::vector<bool>;

  std::vector<std::vector<std::int32_t>> next_;  ///< see `next_instructions`
  std::vector<pc_set> passed_;
  /// whether an instruction is a relevant event; if source lines are known, events without a line are not relevant, because the
  /// compiler merged them from several lines
  std::vector<bool> matters_;
};

/// Returns the reason why the behaviour is undefined if a thread continues from the barrier `mine` after another thread has
/// arrived at the same barrier by executing `other`. Returns an empty string if the behaviour is defined.
///
/// PTX counts the arrivals at each barrier number, regardless of which instructions perform them. However, CUDA defines
/// `__syncthreads()` in a branch only if all threads of the block take the branch, and PTX defines a barrier with `.aligned`
/// only if all threads of the warp reach the same instruction. Source: CUDA C++ Programming Guide, "Synchronization Functions";
/// PTX ISA, "bar, barrier".
[[nodiscard]] std::string misuse_of_barrier(const program& p, int thread, const instruction& mine, const instruction& other,
                                            bool one_warp);

}  // namespace membar::check
