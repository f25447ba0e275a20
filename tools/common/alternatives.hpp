// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Lists alternatives in messages.
#pragma once

#include <iterator>
#include <string>

namespace membar_tools {

/// Returns the names as a list, for example "load, store or fence".
template <class Names>
[[nodiscard]] std::string alternatives(const Names& names) {
  std::string result;
  for (auto n = std::begin(names); n != std::end(names); ++n) {
    result += n == std::begin(names) ? "" : std::next(n) == std::end(names) ? " or " : ", ";
    result += *n;
  }
  return result;
}

}  // namespace membar_tools
