// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Interchangeable threads in a litmus test. If executions differ only in that such threads are exchanged, a search needs only
/// one of them.
#pragma once

#include <membar/model/partial_execution.hpp>
#include <membar/model/program.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace membar::litmus_files {

/// Detects executions that can be omitted because equal threads can be exchanged.
///
/// Two threads are equal if they have the same code and registers, they have the same relation to every other thread, and their
/// registers are not observed. Exchanging equal threads in an execution yields an execution with the same final memory.
///
/// To select one of these executions, executions are compared by their words. The word of an execution is a sequence of
/// numbers: for each read, the number of the write from which the read takes its value. An execution is omitted if exchanging
/// two equal threads gives a lexicographically smaller word. Of the executions that differ only by exchanges, the execution
/// with the smallest word is never omitted.
class equal_threads {
 public:
  equal_threads() = default;  ///< no threads are equal
  explicit equal_threads(const model::program_view& program);

  /// Returns whether exchanging two equal threads gives an execution with a smaller word.
  [[nodiscard]] bool is_repeated(const model::partial_execution& execution, const model::execution_visitor& visitor);

 private:
  /// The events of two equal threads, in program order.
  struct exchange {
    int first = 0;
    int second = 0;
    int count = 0;

    /// Returns the event that takes the place of `event` after the exchange.
    [[nodiscard]] int of(int event) const noexcept;
  };

  void find_exchanges(const model::partial_execution& execution, const model::execution_visitor& visitor);

  std::vector<std::pair<int, int>> equal_;
  std::vector<exchange> exchanges_;  ///< for the current path of the search
};

}  // namespace membar::litmus_files
