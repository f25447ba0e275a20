// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the JSON reports on litmus tests have in common.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace membar::litmus_files {

/// The begin of a report: its format and that format's version, which changes when a member is removed or means something else.
[[nodiscard]] inline nlohmann::ordered_json document(const std::string& kind) {
  return {{"format", "membar-litmus " + kind}, {"format_version", 1}};
}

/// JSON on one line, without its end. Bytes that are not UTF-8 are replaced.
[[nodiscard]] inline std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace membar::litmus_files
