// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The mnemonics of a litmus file: "atom.acq_rel.gpu.add.u32" and what its parts mean.
#pragma once

#include <litmus/lexer.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace membar::litmus_files::detail {

using namespace model;

/// A word and what it means.
template <class Value>
struct meaning {
  std::string_view word;
  Value value;
};

/// What a word means, if the table has it.
template <class Value, std::size_t Count>
[[nodiscard]] constexpr std::optional<Value> find(const meaning<Value> (&table)[Count], std::string_view word) noexcept {
  for (const meaning<Value>& one : table) {
    if (one.word == word) {
      return one.value;
    }
  }
  return std::nullopt;
}

/// The parts of a mnemonic, and what they mean.
struct mnemonic {
  std::vector<std::string> parts;
  std::optional<memory_order> order;
  bool weak = false;
  bool is_volatile = false;
  bool mmio = false;
  bool read_only = false;  ///< nc
  std::optional<thread_scope> scope;
  std::optional<operation> what;
  std::optional<state_space> space;
  int bytes = 0;
  int elements = 1;
  std::vector<std::string> others;  ///< parts of no meaning here
};

/// The parts between the dots.
[[nodiscard]] inline std::vector<std::string> split(const std::string& word) {
  std::vector<std::string> parts(1);
  for (const char c : word) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// The bytes of a type suffix such as "u32"; 0 for any other word.
[[nodiscard]] inline int type_bytes(const std::string& part) {
  if (part.size() < 2 || std::string_view("busf").find(part.front()) == std::string_view::npos) {
    return 0;
  }
  static constexpr meaning<int> sizes[] = {{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}, {"128", 16}};
  return find(sizes, std::string_view(part).substr(1)).value_or(0);
}

/// Says what the parts of a mnemonic mean. Throws `error` if two of them contradict each other.
[[nodiscard]] inline mnemonic analyse(const token& word) {
  static constexpr meaning<memory_order> orders[] = {{"relaxed", memory_order::relaxed},
                                                     {"acquire", memory_order::acquire},
                                                     {"release", memory_order::release},
                                                     {"acq_rel", memory_order::acq_rel},
                                                     {"sc", memory_order::seq_cst}};
  static constexpr meaning<thread_scope> scopes[] = {{"cta", thread_scope::block},
                                                     {"cluster", thread_scope::cluster},
                                                     {"gpu", thread_scope::device},
                                                     {"sys", thread_scope::system}};
  static constexpr meaning<operation> operations[] = {
      {"add", operation::add},        {"plus", operation::add},     {"sub", operation::subtract},
      {"minus", operation::subtract}, {"mul", operation::multiply}, {"div", operation::divide},
      {"and", operation::bit_and},    {"or", operation::bit_or},    {"xor", operation::bit_xor},
      {"min", operation::minimum},    {"max", operation::maximum},  {"inc", operation::increment},
      {"dec", operation::decrement},  {"exch", operation::move},    {"cas", operation::compare_exchange}};
  static constexpr meaning<state_space> spaces[] = {{"generic", state_space::generic},
                                                    {"global", state_space::global},
                                                    {"shared", state_space::shared},
                                                    {"shared::cta", state_space::shared},
                                                    {"shared::cluster", state_space::shared_cluster}};
  mnemonic m;
  m.parts = split(lower(word.text));
  for (std::size_t i = 1; i < m.parts.size(); ++i) {
    const std::string& part = m.parts[i];
    const auto once = [&](bool fresh) {
      if (!fresh) {
        fail(word, "'" + std::string(word.text) + "' has '" + part + "' and another word of its kind");
      }
    };
    if (const auto order = find(orders, part)) {
      once(!m.order && !m.weak);
      m.order = order;
    } else if (part == "weak") {
      once(!m.order && !m.weak);
      m.weak = true;
    } else if (part == "volatile") {
      m.is_volatile = true;
    } else if (part == "mmio") {
      m.mmio = true;
    } else if (part == "nc") {
      m.read_only = true;
    } else if (const auto scope = find(scopes, part)) {
      once(!m.scope);
      m.scope = scope;
    } else if (const auto what = find(operations, part)) {
      once(!m.what);
      m.what = what;
    } else if (type_bytes(part) != 0) {
      once(m.bytes == 0);
      m.bytes = type_bytes(part);
    } else if (part == "v2" || part == "v4" || part == "v8") {
      once(m.elements == 1);
      m.elements = part.back() - '0';
    } else if (const auto space = find(spaces, part)) {
      once(!m.space);
      m.space = space;
    } else {
      m.others.push_back(part);
    }
  }
  return m;
}

/// Refuses a mnemonic with a part of no known meaning.
inline void no_others(const token& word, const mnemonic& m) {
  if (!m.others.empty() || m.read_only) {
    fail(word, "'" + std::string(word.text) + "': '" + (m.read_only ? "nc" : m.others.front()) + "' is not known here");
  }
}

/// Whether `text` begins with `with`.
[[nodiscard]] inline bool starts(const std::string& text, std::string_view with) { return text.rfind(with, 0) == 0; }

}  // namespace membar::litmus_files::detail
