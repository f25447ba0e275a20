// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads one instruction of a litmus file.
#pragma once

#include <litmus/declarations.hpp>
#include <litmus/lexer.hpp>

#include <optional>

namespace membar::litmus_files::detail {

/// Reads the operands after the mnemonic `word`, and appends the instruction to its thread. Returns the label that it jumps to, if it does.
[[nodiscard]] std::optional<token> read_instruction(lexer& in, declarations& names, int thread, const token& word);

/// Like `read_instruction`, for an instruction with a predicate: reads from the '@' on.
[[nodiscard]] std::optional<token> read_predicated_instruction(lexer& in, declarations& names, int thread);

}  // namespace membar::litmus_files::detail
