// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The common parts of the JSON reports about litmus tests.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace membar::litmus_files {

/// Returns the beginning of a report: the name and the version of its format. The version changes when a member is removed or
/// its meaning changes.
[[nodiscard]] inline nlohmann::ordered_json document(const std::string& kind) {
  return {{"format", "membar-litmus " + kind}, {"format_version", 1}};
}

/// Returns JSON text on a single line, without a line end. Bytes that are not UTF-8 are replaced.
[[nodiscard]] inline std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace membar::litmus_files
