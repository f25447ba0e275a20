// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Parses one instruction of a litmus file.
#pragma once

#include <litmus/declarations.hpp>
#include <litmus/lexer.hpp>

#include <optional>

namespace membar::litmus_files::detail {

/// Parses the operands after the mnemonic `word`, and appends the instruction to its thread. Returns the label that the
/// instruction jumps to, or nothing if it does not jump.
[[nodiscard]] std::optional<token> read_instruction(lexer& in, declarations& names, int thread, const token& word);

/// Parses an instruction with a predicate, beginning at the '@', in the same way as `read_instruction`.
[[nodiscard]] std::optional<token> read_predicated_instruction(lexer& in, declarations& names, int thread);

}  // namespace membar::litmus_files::detail
