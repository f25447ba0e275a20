// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Why a test is decided as it is, in words or as a picture.
#pragma once

#include <litmus/explanation.hpp>
#include <litmus/explanation_text.hpp>
#include <litmus/missing_instruction.hpp>
#include <membar/model/enumerate.hpp>
#include <membar/model/litmus_test.hpp>

#include <string>

namespace membar::litmus_files {

using namespace model;

/// Explains the verdict of a test. In text it also says which one instruction more of the asynchronous side would forbid what is allowed.
/// Throws `error` as `decide` does.
[[nodiscard]] inline std::string explain(const litmus_test& test, explanation_format format = explanation_format::text,
                                         const search_options& options = {}) {
  const explanation found = explainer(test, options).run();
  std::string printed = explanation_printer(test, found).print(format);
  if (format == explanation_format::text) {
    printed += missing_instruction(test, options);
  }
  return printed;
}

}  // namespace membar::litmus_files
