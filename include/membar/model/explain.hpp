// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Why a test is decided as it is, in words or as a picture.
#pragma once

#include <membar/model/enumerate.hpp>
#include <membar/model/explanation.hpp>
#include <membar/model/explanation_text.hpp>
#include <membar/model/litmus_test.hpp>

#include <string>

namespace membar::inline v0_2::model {

/// Explains the verdict of a test. Throws `error` as `decide` does.
[[nodiscard]] inline std::string explain(const litmus_test& test, explanation_format format = explanation_format::text,
                                         const search_options& options = {}) {
  const explanation found = explainer(test, options).run();
  return explanation_printer(test, found).print(format);
}

}  // namespace membar::inline v0_2::model
