// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The paths that a single thread can take through a kernel.
#pragma once

#include <lint/flow.hpp>
#include <ptx/instruction.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace membar::lint {

/// The paths through a kernel without those that no thread can take, because one of their branches decides a later one: both
/// depend on the same predicate, or on comparisons of the same operands. After a barrier, a path may continue in a different
/// thread.
class thread_paths {
 public:
  explicit thread_paths(const flow& paths);

  /// Calls `visit(pc, next)` for the instructions that may be executed after `from`, where `next` are the instructions that can
  /// follow on the path. `visit` may be called several times for an instruction. A path ends where `visit` returns false.
  template <class Visit>
  void forward(pc_t from, Visit visit) const {
    walk seen(paths_->size());
    for (const claims& known : arriving_at(from)) {
      for (auto& [pc, then] : after(from, known)) {
        seen.add(pc, std::move(then));
      }
    }
    follow(seen, visit);
  }

  /// Calls `visit(pc)` for the instructions from which a path leads to `to`, against the direction of control flow.
  template <class Visit>
  void backward(pc_t to, Visit visit) const {
    walk seen(paths_->size());
    const auto add_before = [&](pc_t pc, const claims& known) {
      for (auto& [previous, then] : before(pc, known)) {
        seen.add(previous, std::move(then));
      }
    };
    for (const claims& known : arriving_at(to)) {
      add_before(to, known);
    }
    while (!seen.open.empty()) {
      const auto [pc, known] = seen.take();
      if (visit(pc)) {
        add_before(pc, known);
      }
    }
  }

 private:
  /// The numbers of the claims that hold at a point of a path, in ascending order.
  using claims = std::vector<std::size_t>;

  /// What a branch, or an instruction that sets a predicate to a constant, shows about the values of registers: a comparison, or
  /// a predicate whose origin is not followed, is true or false.
  struct claim {
    const ptx::instruction* compares = nullptr;
    std::int32_t predicate = -1;  ///< the predicate's register, if it is not a comparison
    bool holds = false;
    pc_t of = 0;                            ///< the instruction
    std::vector<std::int32_t> registers{};  ///< the registers that it is about
    std::vector<std::size_t> excludes{};    ///< the claims of other instructions that contradict it
  };

  /// A step of a path: an instruction and the claims that hold before it is executed.
  using step = std::pair<pc_t, claims>;

  /// The steps of a search that were found so far.
  struct walk {
    explicit walk(pc_t size) : seen(static_cast<std::size_t>(size)) {}
    /// Adds a step, unless a found step with fewer claims has the same paths.
    void add(pc_t pc, claims known);
    [[nodiscard]] step take();
    std::vector<std::vector<claims>> seen;  ///< for each instruction
    std::vector<step> open;
  };

  template <class Visit>
  void follow(walk& seen, Visit visit) const {
    while (!seen.open.empty()) {
      const auto [pc, known] = seen.take();
      std::vector<step> steps = after(pc, known);
      std::vector<pc_t> next;
      for (const step& s : steps) {
        next.push_back(s.first);
      }
      if (visit(pc, next)) {
        for (auto& [to, then] : steps) {
          seen.add(to, std::move(then));
        }
      }
    }
  }

  /// Returns the steps that can follow an instruction.
  [[nodiscard]] std::vector<step> after(pc_t pc, const claims& known) const;
  /// Returns the steps that can precede an instruction.
  [[nodiscard]] std::vector<step> before(pc_t pc, const claims& known) const;
  /// Returns the claims that hold at an instruction, for each kind of path from the kernel's start.
  [[nodiscard]] const std::vector<claims>& arriving_at(pc_t pc) const;

  [[nodiscard]] bool are_excluded(const claims& some, const claims& others) const;
  /// Adds the claims that hold if `to` is executed after an instruction. Returns false if they contradict the known claims.
  [[nodiscard]] bool take(pc_t pc, pc_t to, claims& known) const;
  /// Removes the claims that do not hold across an instruction.
  void drop_changed(pc_t pc, claims& known) const;

  void find_claims();
  void find_claims(pc_t branch, std::int32_t predicate, bool holds, std::vector<std::size_t>& out);
  /// Returns the only instruction that writes a register, if its result is still current at `at` on every path. Returns -1
  /// otherwise.
  [[nodiscard]] pc_t current_source(std::int32_t predicate, pc_t at) const;
  [[nodiscard]] bool contradict(const claim& a, const claim& b) const;

  const flow* paths_;
  std::vector<claim> claims_;
  std::vector<std::array<claims, 2>> of_;  ///< for each instruction: its claims if its predicate is false, and if it is true
  mutable std::vector<std::vector<claims>> arriving_;  ///< a cache; empty before the first use
};

}  // namespace membar::lint
