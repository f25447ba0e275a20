// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A cache of compiled code on disk.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace membar::litmus_files {

/// Compiled code on disk, with one file per request. A file contains the whole request and a checksum of the code, so a name
/// collision or a damaged file is never mistaken for a result. A file is written under a temporary name and then renamed, so a
/// concurrent reader sees either the complete file or no file.
class code_cache {
 public:
  /// Creates a cache that stores nothing.
  code_cache() = default;
  /// Creates a cache that stores files in `folder`. The folder is created when the first file is stored.
  explicit code_cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Returns the default folder, which follows the XDG convention: $XDG_CACHE_HOME/membar, or otherwise $HOME/.cache/membar.
  /// Returns an empty path if neither variable is set.
  [[nodiscard]] static std::filesystem::path default_folder();

  [[nodiscard]] bool keeps() const noexcept { return !folder_.empty(); }

  /// Returns the code for `key`. Returns nothing if there is no file for it, or if the file is damaged or belongs to another
  /// key.
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;

  /// Stores `code` for `key`. Returns an error message, or an empty string on success.
  [[nodiscard]] std::string keep(const std::string& key, const std::string& code) const;

 private:
  [[nodiscard]] std::filesystem::path path_of(const std::string& key) const;

  std::filesystem::path folder_;
};

}  // namespace membar::litmus_files
