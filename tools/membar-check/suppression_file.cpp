// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <common/text_file.hpp>
#include <membar-check/suppression_file.hpp>

#include <membar/model/error.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iostream>
#include <sstream>
#include <utility>

namespace membar_check {

namespace {

[[nodiscard]] bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

[[nodiscard]] bool contains(std::string_view text, const std::string& part) {
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if (end == text.size() || !is_digit(part.back()) || !is_digit(text[end])) {
      return true;
    }
  }
  return false;
}

}  // namespace

suppression_file::suppression_file(const std::string& path) : path_(path) {
  if (path.empty()) {
    return;
  }
  std::istringstream file(membar_tools::read_file(path));
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    line one{++number, {}, {}};
    std::istringstream words(text.substr(0, text.find('#')));
    if (!(words >> one.kind)) {
      continue;
    }
    for (std::string word; words >> word;) {
      one.parts.push_back(word);
    }
    if (one.parts.empty()) {
      throw membar::model::error(place_of(one) + ": " + membar_tools::quote(text) +
                                 " would suppress too much: add part of a place, such as sum.cu:3, or of a kernel's name");
    }
    lines_.push_back(std::move(one));
  }
}

bool suppression_file::suppresses(std::string_view kind, std::string_view text) {
  bool any = false;
  for (line& one : lines_) {
    if (one.kind == kind && std::ranges::all_of(one.parts, [&](const std::string& part) { return contains(text, part); })) {
      any = one.is_used = true;
    }
  }
  return any;
}

void suppression_file::report_unused() const {
  for (const line& one : lines_) {
    if (!one.is_used) {
      std::cerr << "membar-check: " << place_of(one) << " suppresses nothing: no finding matches the line\n";
    }
  }
}

}  // namespace membar_check
