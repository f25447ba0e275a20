// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// For an allowed outcome of a test with asynchronous operations or multimem addresses, finds one additional instruction that
/// would forbid the outcome: a proxy fence, a wait, or a fence before a relaxed arrival.
#pragma once

#include <membar/model/litmus_test.hpp>
#include <membar/model/rules.hpp>
#include <membar/model/search_options.hpp>

#include <string>

namespace membar::litmus_files {

/// If a single additional instruction for asynchronous operations or multimem addresses would forbid the condition of an
/// allowed test, returns a sentence about the first such instruction. Returns an empty string if there is none, or if the test
/// has jumps or a quantifier other than `exists`.
///
/// The changed test must still have executions; otherwise, the instruction would rule out the whole program and not only the
/// outcome.
[[nodiscard]] std::string missing_instruction(const model::litmus_test& test, const model::search_options& options,
                                              const model::other_readings& rules);

}  // namespace membar::litmus_files
