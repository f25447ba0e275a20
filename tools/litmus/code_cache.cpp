// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/code_cache.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

namespace membar::litmus_files {

namespace {

constexpr std::size_t checksum_digits = 16;

// FNV-1a. The hash names files and detects damage. It does not protect against an attacker, who could just as well replace the
// compiler.
[[nodiscard]] std::string hash_text(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  std::string text(checksum_digits, '0');
  for (std::size_t d = checksum_digits; d-- > 0; hash >>= 4U) {
    text[d] = "0123456789abcdef"[hash & 15U];
  }
  return text;
}

[[nodiscard]] std::string head_of(const std::string& key) {
  return "membar compiled code 1\n" + std::to_string(key.size()) + "\n" + key;
}

}  // namespace

std::filesystem::path code_cache::default_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') {  // the XDG convention ignores relative paths
    return std::filesystem::path(cache) / "membar";
  }
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::filesystem::path(home) / ".cache" / "membar" : std::filesystem::path();
}

std::optional<std::string> code_cache::find(const std::string& key) const {
  if (!keeps()) {
    return std::nullopt;
  }
  std::ifstream file(path_of(key), std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string head = head_of(key);
  if (all.size() < head.size() + checksum_digits || all.compare(0, head.size(), head) != 0) {
    return std::nullopt;
  }
  std::string code = all.substr(head.size() + checksum_digits);
  if (all.compare(head.size(), checksum_digits, hash_text(code)) != 0) {
    return std::nullopt;
  }
  return code;
}

std::string code_cache::keep(const std::string& key, const std::string& code) const {
  if (!keeps()) {
    return {};
  }
  std::error_code failure;
  std::filesystem::create_directories(folder_, failure);
  static std::atomic<unsigned> count{0};
  const std::filesystem::path target = path_of(key);
  std::filesystem::path other = target;
  other += "." + std::to_string(getpid()) + "." + std::to_string(count++) + ".tmp";
  {
    std::ofstream file(other, std::ios::binary | std::ios::trunc);
    file << head_of(key) << hash_text(code) << code;
    file.close();
    if (!file) {
      std::filesystem::remove(other, failure);
      return "compiled tests are not cached: cannot write to '" + folder_.string() +
             "'; name a writable folder with --cache=DIR, or use --no-cache";
    }
  }
  std::filesystem::rename(other, target, failure);
  if (failure) {
    std::error_code ignored;
    std::filesystem::remove(other, ignored);
    return "compiled tests are not cached: cannot write '" + target.string() + "': " + failure.message();
  }
  return {};
}

std::filesystem::path code_cache::path_of(const std::string& key) const { return folder_ / (hash_text(key) + ".code"); }

}  // namespace membar::litmus_files
