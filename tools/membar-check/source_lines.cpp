// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/text_file.hpp>
#include <membar-check/places.hpp>
#include <membar-check/source_lines.hpp>

#include <cstddef>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace membar_check {

namespace check = membar::check;

std::string source_lines::line(const std::string& path, int number) {
  auto it = files_.find(path);
  if (it == files_.end()) {
    std::vector<std::string> lines;
    try {
      std::istringstream in(membar_tools::read_file(path));
      for (std::string one; std::getline(in, one);) {
        lines.push_back(one);
      }
    } catch (const std::exception&) {
      // the location and the PTX are shown if the source file is not available
    }
    it = files_.emplace(path, std::move(lines)).first;
  }
  if (number < 1 || static_cast<std::size_t>(number) > it->second.size()) {
    return "";
  }
  const std::string& whole = it->second[static_cast<std::size_t>(number) - 1];
  const std::size_t begin = whole.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : whole.substr(begin, whole.find_last_not_of(" \t\r") - begin + 1);
}

std::string source_lines::shown(const check::program& p, int thread, const check::instruction& i, bool ptx) {
  const instruction_places places = places_of(p, thread, i);
  const bool statement = is_statement(p, thread, places);
  if (!statement && (ptx || places.own.path.empty())) {
    return "PTX line " + std::to_string(i.line) + ": " + i.text;
  }
  const auto name = [](const source_place& place) {
    return std::filesystem::path(place.path).filename().string() + ":" + std::to_string(place.line);
  };
  if (statement) {
    return name(places.own) + ": " + i.text;
  }
  const auto text = [&](const source_place& place) {
    const std::string source = line(place.path, place.line);
    return name(place) + ": " + (source.empty() ? i.text : source);
  };
  const std::string inner = places.own == places.user ? "" : "in " + name(places.own);
  const std::string outer = places.caller.path.empty() || places.caller == places.user ? ""
                            : places.via.path.empty()
                                ? "called at " + name(places.caller)
                                : "called at " + name(places.via) + " in the call at " + name(places.caller);
  const std::string both = inner + (inner.empty() || outer.empty() ? "" : ", ") + outer;
  return text(places.user) + (both.empty() ? "" : "   [" + both + "]");
}

std::string with_comment(const std::string& line, const std::string& comment) {
  constexpr std::size_t widest = 150;
  const bool fits = line.size() + comment.size() < widest;
  return line + (comment.empty() ? "" : fits ? "   // " : "\n         // ") + comment;
}

}  // namespace membar_check
