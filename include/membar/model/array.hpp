// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file Arrays that are indexed by `int`. The model numbers events, threads, locations and registers with `int` values, where
/// -1 means "none".
#pragma once

#include <membar/base/config.hpp>
#include <membar/model/error.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace membar {
inline namespace v0_3 {
namespace model {

/// Returns element `index` of an array, a span or a vector. Precondition: `index` is not negative and is less than the size.
template <class Array>
[[nodiscard]] constexpr decltype(auto) at(Array&& array, int index) noexcept {
  return array[static_cast<std::size_t>(index)];
}

/// Returns the number of elements as an `int`.
template <class Array>
[[nodiscard]] constexpr int count_of(const Array& array) noexcept {
  return static_cast<int>(array.size());
}

/// An array that grows up to a fixed capacity, so that the same code runs at compile time and, without allocations, at run
/// time.
template <class T, int Capacity>
class bounded {
 public:
  constexpr bounded() noexcept {}  // not defaulted: `bounded<T, N> b{};` would clear the items

  [[nodiscard]] constexpr T& operator[](int index) noexcept { return at(storage_.items, index); }
  [[nodiscard]] constexpr const T& operator[](int index) const noexcept { return at(storage_.items, index); }
  [[nodiscard]] constexpr int size() const noexcept { return size_; }
  [[nodiscard]] constexpr T* begin() noexcept { return storage_.items.data(); }
  [[nodiscard]] constexpr T* end() noexcept { return storage_.items.data() + size_; }
  [[nodiscard]] constexpr const T* begin() const noexcept { return storage_.items.data(); }
  [[nodiscard]] constexpr const T* end() const noexcept { return storage_.items.data() + size_; }
  [[nodiscard]] constexpr std::span<const T> span() const noexcept { return {begin(), end()}; }

  /// Appends an item and returns its index. Throws `error` with `message` if the array is full.
  constexpr int push(const T& item, const char* message) {
    if (size_ == Capacity) {
      throw error(message);
    }
    (*this)[size_] = item;
    return size_++;
  }

  /// Removes all items at index `size` and above.
  constexpr void shrink(int size) noexcept { size_ = size; }

 private:
  static_assert(std::is_trivially_copyable_v<T>);
  // At run time, an item is first written by `push`, because clearing all items would take longer than the whole search for a
  // small test. A constant expression copies the whole array, so there the items must be initialized.
  union storage {
    constexpr storage() noexcept {
      if (std::is_constant_evaluated()) {
        std::construct_at(&items);
      }
    }
    std::array<T, static_cast<std::size_t>(Capacity)> items;
  };
  storage storage_;
  int size_ = 0;
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
