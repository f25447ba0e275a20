// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explains the verdict on a test, as text or as a graph.
#pragma once

#include <membar/model/litmus_test.hpp>
#include <membar/model/races.hpp>
#include <membar/model/rules.hpp>
#include <membar/model/search_options.hpp>

#include <string>

namespace membar::litmus_files {

/// The format of an explanation: `dot` is a graph for Graphviz.
enum class explanation_format { text, json, dot };

/// Explains the verdict on a test. If a single additional asynchronous instruction would forbid an allowed outcome, the text
/// also names that instruction (missing_instruction.hpp). Throws `model::error` for the same reasons as `decide`.
[[nodiscard]] std::string explain(const model::litmus_test& test, explanation_format format = explanation_format::text,
                                  const model::search_options& options = {}, const model::other_readings& rules = {});

/// Describes the two accesses of a data race, for example "P0 'st.weak x, 1' and P1 'ld.weak r0, x', where P1 'ld.acquire.gpu
/// r1, y' reads 0".
[[nodiscard]] std::string race_text(const model::litmus_test& test, const model::data_race& race);

}  // namespace membar::litmus_files
