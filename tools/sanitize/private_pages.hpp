// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The words of global memory that a part of a run has accessed, stored separately from the run's memory.
#pragma once

#include <sanitize/stamp.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

namespace membar::sanitize {

class object;

/// A page of 256 bytes. Until the part writes to a word, the word keeps the value that it had before the part started.
struct private_page {
  static constexpr unsigned shift = 8;
  static constexpr std::uint64_t bytes = std::uint64_t{1} << shift;
  static constexpr unsigned words = bytes / 4;

  std::uint64_t number = 0;   ///< the page's number among the pages of all objects
  std::uint64_t address = 0;  ///< the address of the page's first byte
  object* of = nullptr;       ///< the object in the run's memory
  std::uint64_t read = 0;     ///< one bit for each word that the part has read
  std::uint64_t written = 0;  ///< one bit for each word that the part has written
  bool has_unknown = false;   ///< whether the part has written an unknown value
  std::array<std::uint8_t, words> marks{};
  alignas(16) std::array<std::byte, bytes> data{};
  std::array<cell, words> cells{};

  [[nodiscard]] std::uint64_t word_of(std::uint64_t at) const noexcept { return (at - address) / 4; }
};

/// The pages of one part. Each page is created at its first access.
class private_pages {
 public:
  /// The maximum number of pages in a part. A part that needs more is abandoned.
  static constexpr std::size_t most = 16384;

  /// Returns the page with this number, or null if it does not exist.
  [[nodiscard]] private_page* find(std::uint64_t number) noexcept {
    private_page*& kept = last_[number % last_.size()];
    if (kept == nullptr || kept->number != number) {
      const auto it = by_number_.find(number);
      if (it == by_number_.end()) {
        return nullptr;
      }
      kept = it->second;
    }
    return kept;
  }
  private_page& add(std::uint64_t number) {
    private_page& p = *pages_[number % shares].emplace_back(std::make_unique<private_page>());
    p.number = number;
    by_number_.emplace(number, &p);
    last_[number % last_.size()] = &p;
    return p;
  }
  void let_unknown(private_page& p) {
    if (!p.has_unknown) {
      p.has_unknown = true;
      with_unknown_.push_back(p.of);
    }
  }

  /// The number of shares among which the pages are distributed according to their numbers.
  static constexpr std::size_t shares = 8;
  [[nodiscard]] const std::vector<std::unique_ptr<private_page>>& share(std::size_t k) const noexcept { return pages_[k]; }
  /// Returns the objects that have a page with unknown values.
  [[nodiscard]] const std::vector<object*>& with_unknown() const noexcept { return with_unknown_; }
  [[nodiscard]] std::size_t count() const noexcept { return by_number_.size(); }
  [[nodiscard]] bool are_too_many() const noexcept { return count() > most; }

 private:
  std::array<private_page*, 128> last_{};
  std::unordered_map<std::uint64_t, private_page*> by_number_{};
  std::array<std::vector<std::unique_ptr<private_page>>, shares> pages_{};
  std::vector<object*> with_unknown_{};
};

}  // namespace membar::sanitize
