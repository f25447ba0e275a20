// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Of try: how long graphs and streams take for their work on the device, and which listed kernels ran meanwhile. Events in the
/// program's own streams tell, so it works without CUPTI.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>

#include "membar-domains/records.hpp"

namespace membar_domains {

/// The events around something in a stream. A null stream is the legacy default stream.
class timed_span {
 public:
  /// Records the first event, unless the stream is being captured.
  explicit timed_span(CUstream stream);
  timed_span(const timed_span&) = delete;
  timed_span& operator=(const timed_span&) = delete;
  /// Records the second. A listed kernel ran as `how` says.
  void end_listed(mode how);
  /// Records the second. A graph was launched, which is a unit of work; it holds listed kernels that run as `how` says.
  void end_graph(CUgraphExec exec, bool listed, mode how);

 private:
  void end(bool listed, mode how, CUgraphExec unit);
  CUstream stream_;
  void* context_ = nullptr;
  CUevent start_ = nullptr;
};

/// A launch of a kernel that is not listed is about to be made into the stream; counts units of work.
void pace_before_launch(CUstream stream, CUfunction kernel);
void pace_after_launch(CUstream stream);

/// A number that a kernel's name and another number always have, in every run. Sums of them name streams and graphs.
[[nodiscard]] std::uint32_t print_of(const std::string& name, std::uint32_t with = 0);
/// What runs in the executable graph has this sum.
void pace_graph(CUgraphExec exec, std::uint32_t print);

/// Whether the stream is being captured, or cannot be asked because another is.
[[nodiscard]] bool capturing(CUstream stream);

/// Writes what has been measured by now.
void pace_finish();

}  // namespace membar_domains
