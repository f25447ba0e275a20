// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The memory whose updates are explored in every order although their operations commute (commuting_updates.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace membar::check {

/// Memory whose updates are explored in every order.
class kept_apart {
 public:
  [[nodiscard]] bool has(std::uint64_t address) const {
    return addresses_.count(address) != 0 ||
           std::any_of(objects_.begin(), objects_.end(), [&](const auto& o) { return address - o.first < o.second; });
  }

  /// Adds the location at `address`. Once several locations of an object have been added, adds the whole object, which has
  /// `bytes` bytes and begins at `object`.
  void add(std::uint64_t object, std::uint64_t bytes, std::uint64_t address) {
    constexpr int most_locations = 3;
    addresses_.insert(address);
    if (++of_object_[object] == most_locations) {
      objects_.emplace_back(object, bytes);
    }
  }

  /// Returns whether updates are explored in every order if some value depends on their order.
  [[nodiscard]] bool has_hidden_values() const noexcept { return hidden_values_; }
  void add_hidden_values() noexcept { hidden_values_ = true; }

 private:
  std::set<std::uint64_t> addresses_{};
  std::map<std::uint64_t, int> of_object_{};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> objects_{};
  bool hidden_values_ = false;
};

}  // namespace membar::check
