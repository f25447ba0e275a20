// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Bounds the search for a verdict: skips executions that differ only in that equal threads are exchanged, and enforces a time
/// limit.
#pragma once

#include <litmus/equal_threads.hpp>
#include <membar/model/partial_execution.hpp>

#include <ctime>
#include <utility>

namespace membar::litmus_files {

/// The bounds for the searches of one test. An object of this type belongs to the searching thread, and measures that thread's
/// CPU time.
class search_bounds final : public model::search_control {
 public:
  /// `seconds` is the time limit; 0 means that there is no limit.
  search_bounds(double seconds, equal_threads equal) : equal_(std::move(equal)), end_(seconds == 0 ? 0 : now() + seconds) {}

  [[nodiscard]] bool is_repeated(const model::partial_execution& execution, const model::execution_visitor& visitor) override {
    return equal_.is_repeated(execution, visitor);
  }
  [[nodiscard]] bool is_over() override { return end_ != 0 && now() > end_; }

 private:
  [[nodiscard]] static double now() noexcept {
    std::timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  equal_threads equal_;
  double end_;
};

}  // namespace membar::litmus_files
