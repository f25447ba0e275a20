// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Formats numbers with nouns for messages.
#pragma once

#include <cstdint>
#include <string>

namespace membar_tools {

/// Returns a number and a noun in the singular or the plural, for example "1 argument" or "2 arguments".
[[nodiscard]] inline std::string counted(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

}  // namespace membar_tools
