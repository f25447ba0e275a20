// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Threads of a litmus test that can be exchanged: of the executions that differ only by such exchanges, a search shows one.
#pragma once

#include <membar/model/partial_execution.hpp>
#include <membar/model/program.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace membar::litmus_files {

/// Two threads are equal if they have the same code and registers, have the same relation to every other thread, and their
/// registers are not observed. Exchanging them turns an execution into another execution with the same final memory. The
/// sources of the reads are compared as a word, read by read: an execution is omitted if the exchange of two equal threads
/// gives a lexicographically smaller word. Of the executions that differ by exchanges, the one with the smallest word is never
/// omitted.
class equal_threads {
 public:
  equal_threads() = default;  ///< no threads
  explicit equal_threads(const model::program_view& program);

  /// Returns whether an exchange gives an execution with a smaller word.
  [[nodiscard]] bool is_repeated(const model::partial_execution& execution, const model::execution_visitor& visitor);

 private:
  /// The events of two equal threads, in program order.
  struct exchange {
    int first = 0;
    int second = 0;
    int count = 0;

    /// Returns the event that replaces an event.
    [[nodiscard]] int of(int event) const noexcept;
  };

  void find_exchanges(const model::partial_execution& execution, const model::execution_visitor& visitor);

  std::vector<std::pair<int, int>> equal_;
  std::vector<exchange> exchanges_;  ///< on the current path
};

}  // namespace membar::litmus_files
