// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A litmus test that can run: its kernel, its outcomes, and the model test that determines which outcomes are allowed.
#pragma once

#include <membar/litmus/launch_view.hpp>
#include <membar/model/litmus_test.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace litmus {

/// Host code that runs test thread `thread` of one instance and reports each of that thread's observed registers.
using host_thread = std::function<void(int thread, const instance_cells& at, const instance_digits& out)>;

/// An observation of a test, and the values that its digits stand for.
struct observed_value {
  model::observable what;            ///< "P1:r0" or "x", as in the model test
  std::vector<std::int64_t> values;  ///< the values of the digits 0, 1, ...; one more digit stands for all other values

  [[nodiscard]] unsigned radix() const noexcept { return static_cast<unsigned>(values.size()) + 1; }
};

/// A litmus test that can run.
struct runnable_test {
  model::litmus_test model_test;         ///< names, places and condition; the model decides it
  std::vector<observed_value> observed;  ///< the observations, in the order of the kernel's observations
  int locations = 0;                     ///< the number of locations that the kernel uses per instance
  const void* kernel = nullptr;          ///< the test's `run_instances`: the address of a function, or a `cudaKernel_t`
  /// A second kernel with the same argument, or a null pointer. Each step then consists of a launch of `kernel` and a
  /// programmatic dependent launch of this kernel, which must fit on the device together with `kernel`.
  const void* dependent_kernel = nullptr;
  host_thread on_host;  ///< needed if a test thread runs on the host

  /// Returns the number of outcomes, including those with unexpected values. Above `max_outcomes` it is only a lower bound.
  [[nodiscard]] std::uint64_t outcomes() const noexcept {
    std::uint64_t count = 1;
    for (const observed_value& o : observed) {
      count = count > max_outcomes ? count : count * o.radix();
    }
    return count;
  }
};

}  // namespace litmus
}  // namespace v0_3
}  // namespace membar
