// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The host threads of a scenario: their statements, and the code that executes them. Every access and fence of a host thread
/// has system scope.
#pragma once

#include <check/named_memory.hpp>
#include <membar/memory_order.hpp>
#include <ptx/decode.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace membar::check {

/// A statement of a host thread, as written in the scenario.
struct host_statement {
  struct word {
    std::string text;
    int column = 1;
  };
  std::vector<word> words{};
  std::string text{};
  int line = 0;
};

/// Parses the statements in line `number`, starting at `begin`. Returns the position of the text that follows the '}', or
/// `npos` if the line does not contain one.
std::size_t read_host_statements(std::string_view line, std::size_t begin, int number, std::vector<host_statement>& body);

/// Returns a host thread's statements as a kernel with a single thread. The source location of each instruction is its
/// statement's line in `path`. Throws `model::error` with line and column for an unknown statement, unknown memory, or an order
/// that the statement does not support.
[[nodiscard]] kernel_code host_kernel(const std::string& name, const std::vector<host_statement>& body,
                                      const std::vector<named_memory>& memory, const std::string& path);

/// Returns the name of an order in host thread statements.
[[nodiscard]] std::string_view host_order_word(memory_order order) noexcept;

}  // namespace membar::check
