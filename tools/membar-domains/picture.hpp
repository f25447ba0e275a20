// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The timeline: streams as rows, kernels as bars, and the delayed boundaries.
#pragma once

#include <string>

#include "membar-domains/overlap.hpp"

namespace membar_domains {

/// An SVG image, for light and dark pages, of the `span_us` of the run with the most delay. Empty if there was none.
[[nodiscard]] std::string timeline(const records& of, const overlap_report& report, double span_us = 200);

}  // namespace membar_domains
