// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Merges findings that a reader of the source cannot distinguish.
#pragma once

#include <sanitize/findings.hpp>

#include <vector>

namespace membar_check {

/// Merges findings that have the same status, source lines and memory object, for example because the compiler has unrolled a
/// loop. For inlined code, the lines of the calls must also be the same. Without line information, the PTX lines distinguish
/// findings; if there are no PTX lines either, the messages do. For each group of merged findings, returns the finding with the
/// smallest seed, and sets its count to the sum of the group's counts. It comes after another finding only if all findings of the
/// group do. A finding that does not depend on a reading of the PTX ISA is preferred to findings that do.
[[nodiscard]] std::vector<membar::sanitize::sanitizer_finding> merged(
    std::vector<membar::sanitize::sanitizer_finding> findings);

}  // namespace membar_check
