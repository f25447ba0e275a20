// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The mnemonics of a litmus file, such as "atom.acq_rel.gpu.add.u32", and the meaning of their parts.
#pragma once

#include <common/quote.hpp>
#include <litmus/lexer.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/words.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace membar::litmus_files::detail {

using namespace model;

using ptx::find;
using ptx::meaning;

/// The parts of a mnemonic, and their meaning.
struct mnemonic {
  std::vector<std::string> parts;
  std::optional<memory_order> order;
  bool weak = false;
  bool is_volatile = false;
  bool mmio = false;
  bool read_only = false;  ///< whether the mnemonic has `nc`
  std::optional<thread_scope> scope;
  std::optional<operation> what;
  std::optional<state_space> space;
  int bytes = 0;
  int elements = 1;
  std::vector<std::string> others;  ///< the parts whose meaning is not determined here
};

/// Returns the parts between the dots.
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

/// Returns the number of bytes of a type such as "u32", or 0 for any other word.
[[nodiscard]] inline int type_bytes(std::string_view part) {
  const ptx::ptx_type type = ptx::type_named(part);
  return type == ptx::ptx_type::pred || (ptx::is_half(type) && type != ptx::ptx_type::f16) ? 0 : ptx::bytes_of(type);
}

/// Returns the operation that a part of a mnemonic names. Litmus files may also use `plus` and `minus`.
[[nodiscard]] inline std::optional<operation> operation_named(std::string_view part) {
  return part == "plus" ? operation::add : part == "minus" ? operation::subtract : find(ptx::operation_words, part);
}

/// Determines the meaning of a mnemonic's parts. Throws `error` if two parts contradict each other.
[[nodiscard]] inline mnemonic analyse(const token& word) {
  mnemonic m;
  m.parts = split(lower(word.text));
  for (std::size_t i = 1; i < m.parts.size(); ++i) {
    const std::string& part = m.parts[i];
    const auto once = [&](bool fresh) {
      if (!fresh) {
        fail(word, membar_tools::quote(word.text) + " has " + membar_tools::quote(part) + " and a conflicting qualifier");
      }
    };
    if (const auto order = find(ptx::order_words, part)) {
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
    } else if (const auto scope = find(ptx::scope_words, part)) {
      once(!m.scope);
      m.scope = scope;
    } else if (const auto what = operation_named(part)) {
      once(!m.what);
      m.what = what;
    } else if (type_bytes(part) != 0) {
      once(m.bytes == 0);
      m.bytes = type_bytes(part);
    } else if (part == "v2" || part == "v4" || part == "v8") {
      once(m.elements == 1);
      m.elements = part.back() - '0';
    } else if (const auto* const row = ptx::space_named(part); row != nullptr && row->for_model) {
      once(!m.space);
      m.space = row->for_model;
    } else {
      m.others.push_back(part);
    }
  }
  return m;
}

/// Returns advice on a part of a mnemonic that is written as in C++, or an empty string otherwise.
[[nodiscard]] inline std::string ptx_spelling(const mnemonic& m, std::string_view part) {
  if (part == "seq_cst") {
    return m.parts[0] == "fence"
               ? "; PTX spells this order 'sc'"
               : "; PTX has this order only for fences: put 'fence.sc.SCOPE' before a load with acquire or a relaxed store";
  }
  const std::string_view scope = part == "block" || part == "thread_block" ? "cta"
                                 : part == "device"                        ? "gpu"
                                 : part == "system"                        ? "sys"
                                                                           : "";
  return scope.empty() ? "" : "; PTX spells this scope '" + std::string(scope) + "'";
}

/// Rejects a mnemonic that contains an unknown part.
inline void no_others(const token& word, const mnemonic& m) {
  if (!m.others.empty() || m.read_only) {
    const std::string part = m.read_only ? "nc" : m.others.front();
    fail(word, membar_tools::quote(word.text) + ": " + membar_tools::quote(part) + " is not supported" + ptx_spelling(m, part));
  }
}

/// Returns whether `text` begins with `with`.
[[nodiscard]] inline bool starts(const std::string& text, std::string_view with) { return text.rfind(with, 0) == 0; }

}  // namespace membar::litmus_files::detail
