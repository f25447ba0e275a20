// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds one additional instruction that would forbid an outcome that a test with asynchronous operations or multimem addresses
/// allows: a proxy fence, a wait, or a fence before an arrival without an order.
#pragma once

#include <membar/model/litmus_test.hpp>
#include <membar/model/rules.hpp>
#include <membar/model/search_options.hpp>

#include <string>

namespace membar::litmus_files {

/// Returns a sentence about the first instruction for asynchronous operations or multimem addresses that forbids the condition
/// of an allowed test if it is added at one place. Returns an empty text if there is none, or if the test has jumps or a
/// quantifier other than `exists`.
///
/// The changed test must still have executions, so that the state is forbidden and not the whole program.
[[nodiscard]] std::string missing_instruction(const model::litmus_test& test, const model::search_options& options,
                                              const model::other_readings& rules);

}  // namespace membar::litmus_files
