// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Which one instruction more would forbid what a test of the asynchronous side, or of multimem addresses, allows: a proxy fence, a wait,
/// or a fence before an arrival without an order.
#pragma once

#include <membar/model/litmus_test.hpp>
#include <membar/model/rules.hpp>
#include <membar/model/search_options.hpp>

#include <string>

namespace membar::litmus_files {

/// A sentence on the first instruction, of those that the asynchronous side and multimem addresses have, that forbids the condition of an
/// allowed test if it is added at one place; an empty text if there is none, or if the test has jumps or another quantifier than
/// `exists`.
///
/// Its executions still end, so that what is forbidden is the state and not the program.
[[nodiscard]] std::string missing_instruction(const model::litmus_test& test, const model::search_options& options,
                                              const model::other_readings& rules);

}  // namespace membar::litmus_files
