// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The memory that a scenario's lines name, and the values that they assign.
#pragma once

#include <common/alternatives.hpp>
#include <common/counted.hpp>
#include <common/quote.hpp>
#include <litmus/nearest_name.hpp>
#include <ptx/compute.hpp>
#include <ptx/instruction.hpp>
#include <ptx/words.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Memory that a scenario names. If each device has its own copy of a variable, there is one entry per device, `NAME@DEVICE`,
/// and an entry `NAME` for the first device's copy.
struct named_memory {
  std::string name;
  ptx_type type = ptx_type::u32;
  std::uint64_t count = 1;
  std::uint64_t address = 0;
  bool per_device = false;  ///< whether each device has its own copy of the variable
};

/// Returns the memory with the given name, or null if there is none. If each device has its own copy of the variable, returns
/// the copy of `device`, unless the name specifies a device.
[[nodiscard]] inline const named_memory* find_memory(const std::vector<named_memory>& memory, const std::string& name,
                                                     int device = -1) {
  const auto named = [&](const std::string& wanted) {
    const auto it = std::find_if(memory.begin(), memory.end(), [&](const named_memory& m) { return m.name == wanted; });
    return it == memory.end() ? nullptr : &*it;
  };
  const named_memory* const own = device < 0 ? nullptr : named(name + "@" + std::to_string(device));
  return own != nullptr ? own : named(name);
}

/// Returns "; did you mean 'count'?" if one of `names` is similar to `word` or is longer and begins with it, or an empty string
/// otherwise.
template <class Names>
[[nodiscard]] std::string did_you_mean(const std::string& word, const Names& names) {
  std::string nearest = litmus_files::nearest_name(word, names);
  std::size_t distance = litmus_files::edit_distance(word, nearest);
  const auto longer = std::find_if(std::begin(names), std::end(names), [&](const auto& n) { return n.starts_with(word); });
  if (distance > 1 && word.size() >= 3 && longer != std::end(names)) {
    nearest = std::string(*longer);
    distance = 1;
  }
  return nearest.empty() || distance >= word.size() || distance > std::max<std::size_t>(2, word.size() / 2)
             ? std::string()
             : "; did you mean '" + membar_tools::shortened(nearest, 160) + "'?";  // names with template arguments can be long
}

/// Returns what may stand instead of `word`: "load, store or fence", followed by a suggestion if one of the names is similar.
template <class Names>
[[nodiscard]] std::string one_of(const Names& names, const std::string& word) {
  return membar_tools::alternatives(names) + did_you_mean(word, names);
}

/// Returns a suggestion of this kind for a misspelled memory name. If no name is similar, the text lists all names.
[[nodiscard]] inline std::string nearest_memory(const std::vector<named_memory>& memory, const std::string& word) {
  std::vector<std::string> names;
  std::string all;
  for (const named_memory& m : memory) {
    names.push_back(m.name);
    all += (all.empty() ? "" : ", ") + m.name;
  }
  const std::string nearest = did_you_mean(word, names);
  constexpr std::size_t most = 80;
  return !nearest.empty() ? nearest
         : all.empty()    ? "; the scenario has no line 'memory NAME TYPE'"
                          : "; the scenario has " + membar_tools::shortened(all, most);
}

/// Returns the error message for `index`, which is not the index of an element of `m`.
[[nodiscard]] inline std::string outside_of(const named_memory& m, std::uint64_t index) {
  return "index " + std::to_string(index) + " is outside of " + membar_tools::quote(m.name) + ", which has " +
         membar_tools::counted(m.count, "element");
}

/// Parses a decimal or hexadecimal number, which may be negative. Returns false if `w` is not a number.
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

/// Converts a decimal number, which may be negative, to the bits of a float with 4 or 8 bytes. Hexadecimal digits are taken as
/// the bits themselves.
[[nodiscard]] inline bool float_of_text(const std::string& w, int bytes, std::uint64_t& v) {
  if (w.size() > 2 && w[0] == '0' && w[1] == 'x') {
    return number_of(w, v);
  }
  char* end = nullptr;
  const double value = std::strtod(w.c_str(), &end);
  const bool begins = !w.empty() && ((w[0] >= '0' && w[0] <= '9') || w[0] == '-' || w[0] == '.');
  v = bytes == 4 ? ptx::detail::bits_of(static_cast<float>(value)) : ptx::detail::bits_of(value);
  return begins && *end == '\0';
}

/// Returns whether the number `value`, which was parsed from `w`, fits into `bytes` bytes.
[[nodiscard]] inline bool fits(const std::string& w, std::uint64_t value, std::uint64_t bytes) noexcept {
  const auto bits = static_cast<unsigned>(8 * bytes);
  return bytes >= 8 || (w[0] == '-' ? (std::uint64_t{0} - value) <= (std::uint64_t{1} << (bits - 1)) : value >> bits == 0);
}

/// Parses a field of the memory `name`, which has `bytes` bytes. The field is given by its offset and type, as in "+8:u32".
/// Returns an error message, or an empty string if there is no error.
[[nodiscard]] inline std::string read_field(const std::string& text, const std::string& name, std::uint64_t bytes,
                                            std::uint64_t& offset, ptx_type& type) {
  const std::size_t colon = text.find(':');
  type = colon == std::string::npos ? ptx_type::none : type_named(text.substr(colon + 1));
  const auto size = static_cast<std::uint64_t>(bytes_of(type));
  const bool of_memory = size != 0 && size <= 8 && type != ptx_type::pred && !is_half(type);
  if (text[0] != '+' || !number_of(text.substr(1, colon - 1), offset) || !of_memory) {
    return membar_tools::quote(text) + " is not a field of " + membar_tools::quote(name) +
           ": expected its offset in bytes and its type, as in +8:u32";
  }
  if (offset % size != 0 || size > bytes || offset > bytes - size) {
    return membar_tools::quote(text) + " is not a field of " + membar_tools::quote(name) + ", which has " +
           std::to_string(bytes) + " bytes: give an offset that is a multiple of " + std::to_string(size) + ", up to " +
           std::to_string(size > bytes ? 0 : (bytes - size) / size * size);
  }
  return {};
}

/// Makes `field` describe a field of `m` as separate memory. Returns an error message, or an empty string if there is no error.
[[nodiscard]] inline std::string field_of(const named_memory& m, const std::string& text, named_memory& field) {
  std::uint64_t offset = 0;
  ptx_type type = ptx_type::none;
  std::string wrong = read_field(text, m.name, m.count * static_cast<std::uint64_t>(bytes_of(m.type)), offset, type);
  field = {m.name + text.substr(0, text.find(':')), type, 1, m.address + offset, m.per_device};
  return wrong;
}

/// Determines the value of a word, which is either a number or the address of memory plus an offset, as seen from `device`.
/// Returns false if the word is neither.
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
