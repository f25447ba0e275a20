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

/// Compiled code on disk, with one file per request. A file contains the whole request and a checksum of the code, so that a
/// name collision or a damaged file is never mistaken for a result. It is written under another name and then renamed, so a
/// concurrent reader sees either a complete file or none.
class code_cache {
 public:
  /// Creates a cache that stores nothing.
  code_cache() = default;
  /// Stores files in `folder`, which is created with the first file.
  explicit code_cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Returns the folder according to the XDG convention: $XDG_CACHE_HOME/membar, otherwise $HOME/.cache/membar; empty if
  /// neither variable is set.
  [[nodiscard]] static std::filesystem::path default_folder();

  [[nodiscard]] bool keeps() const noexcept { return !folder_.empty(); }

  /// Returns the code for `key`, or nothing if there is no file, or if it is damaged or belongs to another key.
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;

  /// Stores `code` for `key`. Returns the reason if that failed, otherwise an empty string.
  [[nodiscard]] std::string keep(const std::string& key, const std::string& code) const;

 private:
  [[nodiscard]] std::filesystem::path path_of(const std::string& key) const;

  std::filesystem::path folder_;
};

}  // namespace membar::litmus_files
