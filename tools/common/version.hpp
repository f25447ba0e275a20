// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The version that every command prints.
#pragma once

#include <membar/version.hpp>

#include <string>

namespace membar_tools {

/// Returns the version, for example "0.3.0".
[[nodiscard]] inline std::string version_text() {
  return std::to_string(membar::version.major) + "." + std::to_string(membar::version.minor) + "." +
         std::to_string(membar::version.patch);
}

}  // namespace membar_tools
