// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A litmus test that can run: its kernel, its outcomes, and its twin in the model, which says which of them are allowed.
#pragma once

#include <membar/litmus/launch_view.hpp>
#include <membar/model/litmus_test.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace membar::litmus {

/// What the host runs of a test: thread `thread` of one instance. It reports every observed register of that thread.
using host_thread = std::function<void(int thread, const cells& at, const digits& out)>;

/// An observation of a test, and what its digits stand for.
struct observed_value {
  model::observable what;            ///< "P1:r0" or "x", as in the twin
  std::vector<std::int64_t> values;  ///< of digit 0, 1, ...; the digit after the last one is "other"

  [[nodiscard]] unsigned radix() const noexcept { return static_cast<unsigned>(values.size()) + 1; }
};

/// A litmus test that can run.
struct runnable_test {
  model::litmus_test twin;               ///< names, places, condition, and what is allowed
  std::vector<observed_value> observed;  ///< in the order of the kernel's observations
  int cells = 0;                         ///< per instance: the kernel's locations
  const void* kernel = nullptr;          ///< `run_instances` of the test: a function, or a `cudaKernel_t`
  host_thread on_host;                   ///< for tests with threads on the host

  /// The number of outcomes, those with unexpected values included; more than can be counted if it does not fit.
  [[nodiscard]] std::uint64_t outcomes() const noexcept {
    std::uint64_t count = 1;
    for (const observed_value& o : observed) {
      count = count > max_outcomes ? count : count * o.radix();
    }
    return count;
  }
};

}  // namespace membar::litmus
