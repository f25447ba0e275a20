// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads zip archives, such as the wheels of Python packages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace membar_check {

/// A file in an archive.
struct zip_member {
  std::string name;
  bool is_deflated = false;
  std::string_view packed;  ///< the compressed bytes in the archive
  std::size_t bytes = 0;    ///< the uncompressed size
  bool is_readable = true;  ///< whether it is unencrypted and compressed with a supported method
};

[[nodiscard]] bool is_zip(std::string_view file);

/// Returns the files in an archive, which may be larger than 4 GB. Throws `model::error` if the archive is damaged.
[[nodiscard]] std::vector<zip_member> members_of_zip(std::string_view archive);

/// Returns the uncompressed bytes of a file in the archive. Throws `model::error`. A deflated file can be read only if zlib is
/// installed.
[[nodiscard]] std::string unpacked(const zip_member& member);

}  // namespace membar_check
