// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The memory that the lines of a scenario name, and the values that they give.
#pragma once

#include <check/compute.hpp>
#include <ptx/instruction.hpp>
#include <ptx/words.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Memory that a scenario names. A variable of which each device has its own is there once per device, as `NAME@DEVICE`, and as `NAME` for the
/// first device.
struct named_memory {
  std::string name;
  ptx_type type = ptx_type::u32;
  std::uint64_t count = 1;
  std::uint64_t address = 0;
  bool per_device = false;  ///< a variable of which each device has its own
};

/// The memory of this name; null if there is none. Of a variable of which each device has its own, that of `device`, unless the name says which.
[[nodiscard]] inline const named_memory* find_memory(const std::vector<named_memory>& memory, const std::string& name,
                                                     int device = -1) {
  const auto named = [&](const std::string& wanted) {
    const auto it = std::find_if(memory.begin(), memory.end(), [&](const named_memory& m) { return m.name == wanted; });
    return it == memory.end() ? nullptr : &*it;
  };
  const named_memory* const own = device < 0 ? nullptr : named(name + "@" + std::to_string(device));
  return own != nullptr ? own : named(name);
}

/// A number in decimal or hexadecimal digits, perhaps negative. False if it is not one.
[[nodiscard]] inline bool number_of(const std::string& w, std::uint64_t& v) {
  const bool negative = !w.empty() && w[0] == '-';
  const std::string digits = negative ? w.substr(1) : w;
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') {
    return false;
  }
  char* end = nullptr;
  errno = 0;
  v = std::strtoull(digits.c_str(), &end, digits.size() > 2 && digits[1] == 'x' ? 16 : 10);
  v = negative ? std::uint64_t{0} - v : v;
  return *end == '\0' && errno == 0;
}

/// The bits of a decimal number as a float of 4 or 8 bytes, perhaps negative; bits in hexadecimal digits stay as they are.
[[nodiscard]] inline bool float_of_text(const std::string& w, int bytes, std::uint64_t& v) {
  if (w.size() > 2 && w[0] == '0' && w[1] == 'x') {
    return number_of(w, v);
  }
  char* end = nullptr;
  const double value = std::strtod(w.c_str(), &end);
  const bool begins = !w.empty() && ((w[0] >= '0' && w[0] <= '9') || w[0] == '-' || w[0] == '.');
  v = bytes == 4 ? detail::bits_of(static_cast<float>(value)) : detail::bits_of(value);
  return begins && *end == '\0';
}

/// Whether `bytes` bytes hold the number `value` of the text `w`.
[[nodiscard]] inline bool fits(const std::string& w, std::uint64_t value, std::uint64_t bytes) noexcept {
  const auto bits = static_cast<unsigned>(8 * bytes);
  return bytes >= 8 || (w[0] == '-' ? (std::uint64_t{0} - value) <= (std::uint64_t{1} << (bits - 1)) : value >> bits == 0);
}

/// The value of a word: a number, or the address of memory and bytes in it, as `device` sees it. False if it is neither.
[[nodiscard]] inline bool value_of(const std::vector<named_memory>& memory, const std::string& text, std::uint64_t& value,
                                   int device = -1) {
  if (number_of(text, value)) {
    return true;
  }
  const std::size_t plus = text.find('+');
  std::uint64_t offset = 0;
  const named_memory* const m = find_memory(memory, text.substr(0, plus), device);
  if (m == nullptr || (plus != std::string::npos && !number_of(text.substr(plus + 1), offset))) {
    return false;
  }
  value = m->address + offset;
  return true;
}

}  // namespace membar::check
