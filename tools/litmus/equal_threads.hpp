// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Threads of a litmus test that may change places: of the executions that differ only by that, a search shows one.
#pragma once

#include <membar/model/partial_execution.hpp>
#include <membar/model/program.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace membar::litmus_files {

/// Two threads are equal if they have the same code and registers, are to every other thread what the other is, and nobody asks for their
/// registers. Exchanging them makes an execution of an execution, with the same final memory. Sources are compared as a word, read by read:
/// an execution is left out if the exchange of some two equal threads makes a word of it that comes earlier in the alphabet. Of executions that
/// differ by exchanges, the one whose word comes first is never left out.
class equal_threads {
 public:
  equal_threads() = default;  ///< no threads
  explicit equal_threads(const model::program_view& program);

  /// Whether an exchange gives an execution that comes earlier.
  [[nodiscard]] bool is_repeated(const model::partial_execution& execution, const model::execution_visitor& visitor);

 private:
  /// The events of two equal threads, one after the other in each.
  struct exchange {
    int first = 0;
    int second = 0;
    int count = 0;

    /// What an event becomes.
    [[nodiscard]] int of(int event) const noexcept;
  };

  void find_exchanges(const model::partial_execution& execution, const model::execution_visitor& visitor);

  std::vector<std::pair<int, int>> equal_;
  std::vector<exchange> exchanges_;  ///< on the path at hand
};

}  // namespace membar::litmus_files
