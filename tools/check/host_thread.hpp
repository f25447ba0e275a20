// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Host threads of a scenario. A host thread becomes a kernel of one thread that lies on the host: its accesses have system scope.
#pragma once

#include <check/final_condition.hpp>
#include <ptx/decode.hpp>

#include <string>
#include <vector>

namespace membar::check {

/// A statement of a host thread, as it was written.
struct host_statement {
  std::vector<std::string> words;  ///< without commas
  std::string text;
  int line = 0;
};

/// The statements of a host thread as a kernel without parameters. Throws `model::error` for a statement that is not known, or one of memory
/// that is not there, or of an order that its kind does not have.
[[nodiscard]] ptx::kernel_code host_kernel(const std::string& name, const std::vector<host_statement>& body,
                                           const std::vector<named_memory>& memory);

/// Whether some statement of a host thread reads the memory of this name.
[[nodiscard]] bool host_reads(const std::vector<host_statement>& body, const std::string& memory);

}  // namespace membar::check
