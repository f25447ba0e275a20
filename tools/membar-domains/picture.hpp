// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Draws the timeline: streams are rows, kernels are bars, and delayed boundaries are marked.
#pragma once

#include <string>

#include "membar-domains/overlap.hpp"

namespace membar_domains {

/// Returns an SVG image for light and dark pages. It shows the `span_us` µs of the run with the most delay. Returns an empty
/// string if there was no delay.
[[nodiscard]] std::string timeline(const records& of, const overlap_report& report, double span_us = 200);

}  // namespace membar_domains
