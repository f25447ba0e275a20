// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Why a test is decided as it is, in words or as a picture.
#pragma once

#include <membar/model/litmus_test.hpp>
#include <membar/model/races.hpp>
#include <membar/model/rules.hpp>
#include <membar/model/search_options.hpp>

#include <string>

namespace membar::litmus_files {

/// How an explanation is printed: `dot` is a picture for Graphviz.
enum class explanation_format { text, json, dot };

/// Explains the verdict of a test. The text also names one more instruction of the asynchronous side that would forbid what is allowed, if
/// there is one (missing_instruction.hpp). Throws `model::error` as `decide` does.
[[nodiscard]] std::string explain(const model::litmus_test& test, explanation_format format = explanation_format::text,
                                  const model::search_options& options = {}, const model::other_readings& rules = {});

/// The two accesses of a data race, as "P0 'st.weak x, 1' and P1 'ld.weak r0, x', where P1 'ld.acquire.gpu r1, y' reads 0".
[[nodiscard]] std::string race_text(const model::litmus_test& test, const model::data_race& race);

}  // namespace membar::litmus_files
