// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What of a program is part of another operation: steps of kernels, and what graphs captured.
#pragma once

#include <membar/deadlock/program.hpp>

#include <cstddef>
#include <unordered_map>
#include <vector>

namespace membar {
inline namespace v0_2 {
namespace deadlock::detail {

/// The operations of a program that are parts of others: the steps of each kernel, and what each graph captured. It outlives the
/// graphs that begin at a later operation, so that each is looked at once.
class program_parts {
 public:
  /// Takes what was added to the program since.
  void take(const program& program) {
    for (; next_ < program.operations.size(); ++next_) {
      const stream_operation& operation = program.operations[next_];
      if (is_step(operation)) {
        steps_[operation.kernel].push_back(next_);
      } else if (operation.graph != 0) {
        captured_[operation.graph].push_back(next_);
      }
    }
  }
  /// The last operation, which is no part, was taken back.
  void take_back() noexcept { --next_; }

  [[nodiscard]] const std::vector<std::size_t>& steps(unsigned kernel) const { return of(steps_, kernel); }
  [[nodiscard]] const std::vector<std::size_t>& captured(unsigned graph) const { return of(captured_, graph); }
  /// How many operations it has looked at.
  [[nodiscard]] std::size_t taken() const noexcept { return next_; }

  [[nodiscard]] static bool is_step(const stream_operation& each) noexcept {
    return each.kernel != 0 && each.kind != operation_kind::kernel;
  }

 private:
  using lists = std::unordered_map<unsigned, std::vector<std::size_t>>;
  [[nodiscard]] static const std::vector<std::size_t>& of(const lists& all, unsigned which) {
    static const std::vector<std::size_t> none;
    const auto found = all.find(which);
    return found == all.end() ? none : found->second;
  }

  lists steps_;
  lists captured_;
  std::size_t next_ = 0;
};

}  // namespace deadlock::detail
}  // namespace v0_2
}  // namespace membar
