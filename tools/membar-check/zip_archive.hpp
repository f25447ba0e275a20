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
  std::string_view packed;  ///< in the archive's bytes
  std::size_t bytes = 0;    ///< when unpacked
  bool is_readable = true;  ///< neither encrypted nor packed in another way
};

[[nodiscard]] bool is_zip(std::string_view file);

/// The files in an archive, which may be longer than 4 GB. Throws `model::error` for one that is damaged.
[[nodiscard]] std::vector<zip_member> members_of_zip(std::string_view archive);

/// The bytes of a file in it. Throws `model::error`; deflated bytes need the machine's zlib.
[[nodiscard]] std::string unpacked(const zip_member& member);

}  // namespace membar_check
