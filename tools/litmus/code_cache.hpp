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

/// Compiled code on disk, one file per request. A file holds the whole request and a checksum of the code, so that a collision
/// of names or a damaged file is never taken for a result. It is written under another name and then renamed: a concurrent
/// reader sees a whole file or none.
class code_cache {
 public:
  /// A cache that keeps nothing.
  code_cache() = default;
  /// Keeps files in `folder`, which is created with the first file.
  explicit code_cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The folder by the XDG convention: $XDG_CACHE_HOME/membar, else $HOME/.cache/membar; empty if neither variable is set.
  [[nodiscard]] static std::filesystem::path default_folder();

  [[nodiscard]] bool keeps() const noexcept { return !folder_.empty(); }

  /// The code for `key`; nothing if there is no file, or one that is damaged or for another key.
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;

  /// Keeps `code` for `key`. Returns why that failed, or an empty string.
  [[nodiscard]] std::string keep(const std::string& key, const std::string& code) const;

 private:
  [[nodiscard]] std::filesystem::path path_of(const std::string& key) const;

  std::filesystem::path folder_;
};

}  // namespace membar::litmus_files
