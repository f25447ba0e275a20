// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The version of the library, as values.
#pragma once

#include <membar/base/config.hpp>

namespace membar {
inline namespace v0_3 {

/// A semantic version: interfaces change incompatibly only with `major` (or, while `major` is 0, with `minor`).
struct version_number {
  int major;
  int minor;
  int patch;
};

/// The version of the headers in use. For `#if`, the same number is `MEMBAR_VERSION` (major * 10000 + minor * 100 + patch).
inline constexpr version_number version{MEMBAR_VERSION / 10000, MEMBAR_VERSION / 100 % 100, MEMBAR_VERSION % 100};

}  // namespace v0_3
}  // namespace membar
