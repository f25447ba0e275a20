// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Threads that act as processes with one PE each. A thread's exception is stored under its PE, and the threads gather numbers
/// in the same way as processes.
#pragma once

#include <barrier>
#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace membar_test {

/// Gathers numbers among threads.
class gathering_threads {
 public:
  explicit gathering_threads(int count) : slots_(static_cast<std::size_t>(count)), meet_(count) {}

  /// Returns the callback for thread `self`.
  [[nodiscard]] std::function<std::vector<unsigned long long>(unsigned long long)> callback(int self) {
    return [this, self](unsigned long long mine) {
      slots_[static_cast<std::size_t>(self)] = mine;
      meet_.arrive_and_wait();
      std::vector<unsigned long long> all = slots_;
      meet_.arrive_and_wait();
      return all;
    };
  }

 private:
  std::vector<unsigned long long> slots_;
  std::barrier<> meet_;
};

/// Runs `body(pe)` on each of `count` threads. Returns the message of each thread's exception; a message is empty if the body
/// returned normally.
template <class Body>
[[nodiscard]] std::vector<std::string> thrown_by_pes(int count, Body body) {
  std::vector<std::string> thrown(static_cast<std::size_t>(count));
  std::vector<std::jthread> threads;
  for (int self = 0; self != count; ++self) {
    threads.emplace_back([&, self] {
      try {
        body(self);
      } catch (const std::exception& failure) {
        thrown[static_cast<std::size_t>(self)] = failure.what();
      }
    });
  }
  threads.clear();
  return thrown;
}

}  // namespace membar_test
