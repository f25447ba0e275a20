// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Converts small numbers to values of every type that atomics hold, and back. The outcome of a test consists of the numbers
/// that its threads read.
#pragma once

#include <membar/base/config.hpp>

#include <string>
#include <type_traits>

namespace conformance {

/// The digit of a value that no test writes.
inline constexpr unsigned no_number = 15;

/// The numbers 0, 1, 2, ... as values of the unsigned or floating-point type `T`, and the digit of a value: four bits for each
/// of its parts.
template <class T>
struct number {
  static_assert(std::is_unsigned_v<T> || std::is_floating_point_v<T>);
  static constexpr int parts = 1;
  [[nodiscard]] MEMBAR_HOST_DEVICE static T of(int n) noexcept { return static_cast<T>(n); }
  [[nodiscard]] MEMBAR_HOST_DEVICE static unsigned digits(T value) noexcept {
    if constexpr (std::is_integral_v<T>) {
      return value < of(static_cast<int>(no_number)) ? static_cast<unsigned>(value) : no_number;
    } else {
      return value == of(0) ? 0 : value == of(1) ? 1 : value == of(2) ? 2 : no_number;
    }
  }
};

/// Sixteen bytes, in two halves. Both halves hold the same number unless an access was torn.
struct alignas(16) quad {
  unsigned long long low;
  unsigned long long high;
};
template <>
struct number<quad> {
  static constexpr int parts = 2;
  [[nodiscard]] MEMBAR_HOST_DEVICE static quad of(int n) noexcept {
    return {static_cast<unsigned long long>(n), static_cast<unsigned long long>(n)};
  }
  [[nodiscard]] MEMBAR_HOST_DEVICE static unsigned digits(quad value) noexcept {
    return number<unsigned long long>::digits(value.low) | number<unsigned long long>::digits(value.high) << 4;
  }
};

/// The type in the name of a test: "uint32", "float", "quad".
template <class T>
[[nodiscard]] inline std::string type_name() {
  if constexpr (std::is_same_v<T, quad>) {
    return "quad";
  } else if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? "float" : "double";
  } else {
    static_assert(std::is_integral_v<T>, "a type that tests use must have a name");
    return std::string(std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
  }
}

}  // namespace conformance
