// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Which headers a measurement was made with.
#pragma once

namespace support {

/// The hash of the headers, as `git rev-parse HEAD:include` prints it for a commit that has them (include_hash.cmake).
[[nodiscard]] const char* include_hash() noexcept;

/// The same of the folder `tools`, which has the model checker.
[[nodiscard]] const char* tools_hash() noexcept;

}  // namespace support
