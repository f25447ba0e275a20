// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// For `try`: measures how long the work of graphs and streams takes on the device, and which listed kernels run during that
/// time. The measurement uses events in the program's own streams, so it works without CUPTI.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>

#include "membar-domains/records.hpp"

namespace membar_domains {

/// Measures the time of an operation in a stream with events before and after it. A null stream is the legacy default stream.
class timed_span {
 public:
  /// Records the first event, unless the stream is being captured.
  explicit timed_span(CUstream stream);
  timed_span(const timed_span&) = delete;
  timed_span& operator=(const timed_span&) = delete;
  /// Records the second event after a listed kernel that ran in mode `how`.
  void end_listed(mode how);
  /// Records the second event after the launch of a graph, which is a unit of work. If `listed` is set, the graph contains
  /// listed kernels, which run in mode `how`.
  void end_graph(CUgraphExec exec, bool listed, mode how);

 private:
  void end(bool listed, mode how, CUgraphExec unit);
  CUstream stream_;
  void* context_ = nullptr;
  CUevent start_ = nullptr;
};

/// Counts units of work. Called before a kernel that is not listed is launched into the stream.
void pace_before_launch(CUstream stream, CUfunction kernel);
void pace_after_launch(CUstream stream);

/// Returns a hash of a kernel's name and a number. The hash is the same in every run. Streams and graphs are identified by sums
/// of hashes.
[[nodiscard]] std::uint32_t print_of(const std::string& name, std::uint32_t with = 0);
/// Registers the sum of hashes for the kernels in an executable graph.
void pace_graph(CUgraphExec exec, std::uint32_t print);

/// Returns whether the stream is being captured, or cannot be queried because another stream is being captured.
[[nodiscard]] bool capturing(CUstream stream);

/// Writes the measurements so far.
void pace_finish();

}  // namespace membar_domains
