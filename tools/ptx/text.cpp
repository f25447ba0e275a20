// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ptx/text.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace membar::ptx {

namespace {

[[nodiscard]] bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
[[nodiscard]] bool is_of_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

/// Returns the end of the comment or string that begins at `at`, or `at` if there is none.
[[nodiscard]] std::size_t behind_comment(std::string_view text, std::size_t at) noexcept {
  const auto behind = [&](std::string_view end, std::size_t from) {
    const std::size_t found = text.find(end, from);
    return found == std::string_view::npos ? text.size() : found + end.size();
  };
  return text.substr(at, 2) == "//"   ? behind("\n", at)
         : text.substr(at, 2) == "/*" ? behind("*/", at + 2)
         : text[at] == '"'            ? behind("\"", at + 1)
                                      : at;
}

/// Returns the word that begins at or after `at`.
[[nodiscard]] std::string_view word_from(std::string_view text, std::size_t at) noexcept {
  while (at < text.size() && is_space(text[at])) {
    ++at;
  }
  std::size_t end = at;
  while (end < text.size() && is_of_word(text[end])) {
    ++end;
  }
  return text.substr(at, end - at);
}

/// Directives that extend to the end of the line.
constexpr std::string_view line_directives[] = {".version", ".target", ".address_size", ".file", ".loc"};

/// Returns the name of a variable: the first word that is neither a directive nor a number.
[[nodiscard]] std::string_view variable_name(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size() && text[at] != '=' && text[at] != ';';) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_space(text[end]) && text[end] != '[' && text[end] != ';' && text[end] != '=') {
      ++end;
    }
    if (text[at] != '.' && (text[at] < '0' || text[at] > '9')) {
      return text.substr(at, end - at);
    }
    at = std::max(end, at + 1);
  }
  return {};
}

[[nodiscard]] ptx_part part_of(std::string_view text) {
  const std::string_view head = text.substr(0, text.find_first_of("{;="));
  ptx_part part;
  part.text = text;
  if (const std::size_t entry = head.find(".entry"); entry != std::string_view::npos) {
    part.kind = ptx_part::kind_t::kernel;
    part.name = word_from(head, entry + 6);
  } else if (const std::size_t function = head.find(".func"); function != std::string_view::npos) {
    std::size_t at = head.find_first_not_of(" \t\r\n", function + 5);
    at = at != std::string_view::npos && head[at] == '(' ? head.find(')', at) + 1 : at;
    part.kind = ptx_part::kind_t::function;
    part.name = at == std::string_view::npos ? std::string_view() : word_from(head, at);
  } else if (head.find(".global") != std::string_view::npos || head.find(".const") != std::string_view::npos) {
    part.kind = ptx_part::kind_t::variable;
    part.name = variable_name(text);
  }
  return part;
}

/// The prefixes of opcodes that synchronize threads.
constexpr std::string_view synchronizing[] = {"atom.",       "red.",        "fence.",    "membar.",          "ld.acquire",
                                              "ld.relaxed",  "ld.volatile", "ld.mmio",   "st.release",       "st.relaxed",
                                              "st.volatile", "st.mmio",     "mbarrier.", "cp.async",         "cp.reduce.async",
                                              "st.async",    "red.async",   "st.bulk",   "griddepcontrol.",  "barrier.cluster",
                                              "multimem.",   "tcgen05.",    "wgmma.",    "tensormap.replace"};

[[nodiscard]] bool has_opcode(std::string_view body, const auto& begins) {
  for (std::size_t at = 0; at < body.size();) {
    if (const std::size_t behind = behind_comment(body, at); behind != at) {
      at = behind;
      continue;
    }
    const bool first = at == 0 || (!is_of_word(body[at - 1]) && body[at - 1] != '.');
    if (first && body[at] >= 'a' && body[at] <= 'z' && begins(body.substr(at))) {
      return true;
    }
    ++at;
  }
  return false;
}

[[nodiscard]] bool synchronizes(std::string_view body) {
  return has_opcode(body, [](std::string_view rest) {
    return std::any_of(std::begin(synchronizing), std::end(synchronizing),
                       [&](std::string_view o) { return rest.starts_with(o); });
  });
}

}  // namespace

std::vector<ptx_part> parts_of(std::string_view text) {
  std::vector<ptx_part> parts;
  std::size_t begin = 0;
  int depth = 0;
  const auto end_at = [&](std::size_t end) {
    parts.push_back(part_of(text.substr(begin, end - begin)));
    begin = end;
  };
  for (std::size_t at = 0; at < text.size();) {
    const bool starts = begin == at;
    if (starts && is_space(text[at])) {
      begin = ++at;
      continue;
    }
    if (const std::size_t behind = behind_comment(text, at); behind != at) {
      begin = starts ? behind : begin;
      at = behind;
      continue;
    }
    const auto is_here = [&](std::string_view directive) {
      return text.substr(at).starts_with(directive) && is_space(text[std::min(at + directive.size(), text.size() - 1)]);
    };
    if (starts && std::any_of(std::begin(line_directives), std::end(line_directives), is_here)) {
      at = std::min(text.find('\n', at), text.size());
      end_at(at);
      parts.back().kind = ptx_part::kind_t::directive;
      continue;
    }
    const char c = text[at++];
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    const std::string_view so_far = text.substr(begin, at - begin);
    const bool of_variable = c == '}' && so_far.substr(0, so_far.find('{')).find('=') != std::string_view::npos;
    if (depth == 0 && (c == ';' || (c == '}' && !of_variable))) {
      end_at(at);
    }
  }
  return parts;
}

bool defines_kernel(std::string_view text, std::string_view kernel) {
  for (std::size_t at = text.find(".entry"); at != std::string_view::npos; at = text.find(".entry", at + 1)) {
    if (word_from(text, at + 6) == kernel) {
      return true;
    }
  }
  return false;
}

bool synchronizes(const std::vector<ptx_part>& module, std::string_view kernel) {
  const auto is_it = [&](const ptx_part& p) { return p.kind == ptx_part::kind_t::kernel && p.name == kernel; };
  const auto found = std::find_if(module.begin(), module.end(), is_it);
  if (found == module.end()) {
    return false;
  }
  const auto calls = [](std::string_view rest) { return rest.starts_with("call") && rest.size() > 4 && !is_of_word(rest[4]); };
  return synchronizes(found->text) ||
         (has_opcode(found->text, calls) && std::any_of(module.begin(), module.end(), [](const ptx_part& p) {
            return p.kind == ptx_part::kind_t::function && synchronizes(p.text);
          }));
}

std::string with_kernels(std::string_view text, const std::vector<std::string>& kernels) {
  using kind_t = ptx_part::kind_t;
  std::vector<ptx_part> parts = parts_of(text);
  std::erase_if(parts, [&](const ptx_part& p) {
    const bool other_kernel = p.kind == kind_t::kernel && std::find(kernels.begin(), kernels.end(), p.name) == kernels.end();
    return other_kernel || p.text.starts_with(".section");
  });
  const auto is_named = [&](const ptx_part& variable) {
    return std::any_of(parts.begin(), parts.end(), [&](const ptx_part& p) {
      return p.text.data() != variable.text.data() && p.text.find(variable.name) != std::string_view::npos;
    });
  };
  std::string out;
  for (const ptx_part& p : parts) {
    if (p.kind != kind_t::variable || is_named(p)) {
      out += p.text;
      out += '\n';
    }
  }
  return out;
}

}  // namespace membar::ptx
