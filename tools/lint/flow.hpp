// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The control flow of a kernel: which instructions can follow each instruction, on which paths, and under which branches.
#pragma once

#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace membar::lint {

/// The index of an instruction in a kernel's code.
using pc_t = std::int32_t;

/// A branch or an instruction's predicate that decides whether another instruction runs.
struct condition {
  pc_t at = 0;
  bool taken = false;  ///< whether the instruction runs if the predicate, as written, is true; otherwise, if it is false
};

/// A loop: the instructions on paths from its head back to it.
struct loop {
  std::vector<bool> inside;  ///< for each basic block, whether it is in the loop
};

class flow {
 public:
  explicit flow(const ptx::kernel_code& kernel);

  /// Returns the instructions that may be executed directly after the given instruction.
  [[nodiscard]] std::vector<pc_t> after(pc_t pc) const;
  /// Returns the instructions that may be executed directly before the given instruction.
  [[nodiscard]] const std::vector<pc_t>& before(pc_t pc) const { return before_[static_cast<std::size_t>(pc)]; }

  /// Returns the instructions that write a register, which is given by its first word.
  [[nodiscard]] const std::vector<pc_t>& writers_of(std::int32_t word) const {
    return written_by_[static_cast<std::size_t>(word)];
  }

  /// Calls `visit(pc)` for every instruction that may be executed after `from`, including `from` itself if it is in a loop. A
  /// path ends where `visit` returns false.
  template <class Visit>
  void forward(pc_t from, Visit visit) const {
    walk(after(from), visit);
  }
  /// Like `forward`, but against the direction of control flow.
  template <class Visit>
  void backward(pc_t from, Visit visit) const {
    search(before_[static_cast<std::size_t>(from)], visit, [this](pc_t pc) { return before_[static_cast<std::size_t>(pc)]; });
  }
  /// Like `forward`, but starts at the first instruction and includes it.
  template <class Visit>
  void from_entry(Visit visit) const {
    walk({0}, visit);
  }

  /// Returns whether a path leads from `from` to `to`.
  [[nodiscard]] bool reaches(pc_t from, pc_t to) const;
  /// Returns whether every path to `to` passes through `by`.
  [[nodiscard]] bool dominates(pc_t by, pc_t to) const;

  /// Returns the conditions that decide whether an instruction runs: its own predicate and the branches that it depends on.
  [[nodiscard]] std::vector<condition> conditions_of(pc_t pc) const;

  /// Returns whether the instruction runs only if the condition held when its branch was last executed. An instruction in the
  /// same loop after the point where the branch's paths rejoin does not qualify, although `conditions_of` includes the
  /// condition for it.
  [[nodiscard]] bool guards(const condition& c, pc_t pc) const;

  [[nodiscard]] const std::vector<loop>& loops() const noexcept { return loops_; }
  [[nodiscard]] bool is_inside(const loop& l, pc_t pc) const { return l.inside[block_of_[static_cast<std::size_t>(pc)]]; }

  [[nodiscard]] const ptx::kernel_code& code() const noexcept { return *kernel_; }
  [[nodiscard]] pc_t size() const noexcept { return static_cast<pc_t>(kernel_->code.size()); }
  [[nodiscard]] const ptx::instruction& at(pc_t pc) const { return kernel_->code[static_cast<std::size_t>(pc)]; }

 private:
  struct basic_block {
    pc_t begin = 0, end = 0;
    std::vector<std::size_t> next, before;
  };

  template <class Visit>
  void walk(std::vector<pc_t> open, Visit visit) const {
    search(std::move(open), visit, [this](pc_t pc) { return after(pc); });
  }
  template <class Visit, class Next>
  void search(std::vector<pc_t> open, Visit visit, Next next_of) const {
    std::vector<bool> seen(kernel_->code.size(), false);
    while (!open.empty()) {
      const pc_t pc = open.back();
      open.pop_back();
      if (pc < size() && !seen[static_cast<std::size_t>(pc)]) {
        seen[static_cast<std::size_t>(pc)] = true;
        if (visit(pc)) {
          const std::vector<pc_t> next = next_of(pc);
          open.insert(open.end(), next.begin(), next.end());
        }
      }
    }
  }

  /// Returns the basic blocks that can be reached from the other side of the condition's branch before the branch runs again.
  [[nodiscard]] const std::vector<bool>& by_other_side(const condition& c) const;

  void find_writers();
  void find_blocks();
  void find_dominators();
  void find_controls();
  void find_loops();

  const ptx::kernel_code* kernel_;
  std::vector<std::vector<pc_t>> written_by_;  ///< for each word
  std::vector<std::vector<pc_t>> before_;      ///< for each instruction
  std::vector<std::size_t> block_of_;          ///< for each instruction
  std::vector<basic_block> blocks_;            ///< the last block is the end of the kernel
  std::vector<std::size_t> dominator_, post_dominator_;
  std::vector<std::vector<condition>> controls_;  ///< for each block, the branches that directly control it
  std::vector<loop> loops_;
  mutable std::map<std::pair<pc_t, bool>, std::vector<bool>> by_other_side_;  ///< a cache of results
};

}  // namespace membar::lint
