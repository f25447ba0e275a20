// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds the flags that are meant to order two racing accesses.
#pragma once

#include <check/program.hpp>
#include <check/shown_execution.hpp>

#include <cstddef>
#include <vector>

namespace membar::check {

using namespace ptx;

/// A value that one thread writes and another thread reads.
struct passed_value {
  const trace_event* write = nullptr;
  const trace_event* read = nullptr;
  /// the strong writes to the same location with which the data can be released: earlier writes of the writing thread, and
  /// `write`, which is the last
  std::vector<const trace_event*> publications{};
};

/// A race and the handover between its accesses. In a handover, the thread or block of the first access writes a value, and the
/// thread or block of the second access reads that value. If other blocks pass the data on, there are several values: the thread
/// or block that reads one of them writes the next one. `values` is empty if there is no handover.
struct handover {
  const trace_event* first = nullptr;
  const trace_event* second = nullptr;
  std::vector<passed_value> values{};

  /// Returns the event that precedes the write of a value: the first access, or the read of the previous value.
  [[nodiscard]] const trace_event& before(std::size_t n) const { return n == 0 ? *first : *values[n - 1].read; }
};

/// Returns the accesses of a race and the handover between them. The accesses are null unless kernel threads perform both of
/// them.
[[nodiscard]] handover handover_of(const program& whole, const finding& f);

namespace detail {

/// Like `handover_of`, for the execution that a race shows.
[[nodiscard]] handover handover_in(const shown_execution& shown);

}  // namespace detail

}  // namespace membar::check
