// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The hash of the headers with which a measurement was made.
#pragma once

namespace support {

/// Returns the hash of the headers, as `git rev-parse HEAD:include` prints it for their commit (include_hash.cmake).
[[nodiscard]] const char* include_hash() noexcept;

/// Returns the hash of the folder `tools`, which contains the model checker.
[[nodiscard]] const char* tools_hash() noexcept;

}  // namespace support
