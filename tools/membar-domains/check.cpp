// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/check.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>

#include "membar-domains/move_list.hpp"
#include "membar-domains/overlap.hpp"

namespace membar_domains {

namespace {

/// Statement by statement, as a comment or a name of another one may hold any word.
device_scope in_statements(std::string_view code) {
  static const std::regex releasing(
      R"(^\s*(@!?%?\w+\s+)?(st|red|atom|fence|multimem\.\w+)\.\S*(release|acq_rel|sc)\S*\.gpu\b)");
  static const std::regex acquiring(
      R"(^\s*(@!?%?\w+\s+)?(ld|red|atom|fence|multimem\.\w+)\.\S*(acquire|acq_rel|sc)\S*\.gpu\b)");
  static const std::regex membar(R"(^\s*(@!?%?\w+\s+)?membar\.gl\b)");
  device_scope out;
  std::size_t at = 0;
  while (at < code.size()) {
    const std::size_t end = std::min(code.find_first_of(";\n{}", at), code.size());
    const std::string statement(code.substr(at, end - at));
    const bool both = std::regex_search(statement, membar);
    out.releases = out.releases || both || std::regex_search(statement, releasing);
    out.acquires = out.acquires || both || std::regex_search(statement, acquiring);
    at = end + 1;
  }
  return out;
}

/// From `at` to the brace that closes the first one after it.
std::string_view body(std::string_view text, std::size_t at) {
  const std::size_t begin = text.find('{', at);
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) {
      return text.substr(begin, i - begin);
    }
  }
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin);
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "re"), pclose);
  std::string out;
  char part[4096];
  while (pipe) {
    const std::size_t got = std::fread(part, 1, sizeof part, pipe.get());
    if (got == 0) {
      break;
    }
    out.append(part, got);
  }
  return out;
}

}  // namespace

std::optional<device_scope> in_ptx(std::string_view text, const std::string& name) {
  for (std::size_t at = text.find(".entry"); at != std::string_view::npos; at = text.find(".entry", at + 6)) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n", at + 6);
    if (begin == std::string_view::npos || text.compare(begin, name.size(), name) != 0 ||
        (begin + name.size() < text.size() && is_word(text[begin + name.size()]))) {
      continue;
    }
    const std::string_view code = body(text, begin);
    device_scope out = in_statements(code);
    if (code.find("call") != std::string_view::npos) {
      for (std::size_t f = text.find(".func"); f != std::string_view::npos; f = text.find(".func", f + 5)) {
        const std::size_t brace = text.find_first_of("{;", f);
        if (brace != std::string_view::npos && text[brace] == '{') {
          const device_scope called = in_statements(body(text, f));
          out = {out.releases || called.releases, out.acquires || called.acquires};
        }
      }
    }
    return out;
  }
  return std::nullopt;
}

device_scope in_sass(std::string_view text) {
  const bool strong = text.find(".STRONG.GPU") != std::string_view::npos;
  bool barrier = false;
  for (std::size_t at = text.find("MEMBAR."); at != std::string_view::npos; at = text.find("MEMBAR.", at + 7)) {
    const std::string_view opcode = text.substr(at, text.find_first_of(" ;\n", at) - at);
    barrier = barrier || opcode.ends_with(".GPU");
  }
  return {barrier && strong, strong && text.find("CCTL.IVALL") != std::string_view::npos};
}

std::optional<device_scope> code_in_image(const std::string& path, const std::string& name) {
  std::ifstream file(path, std::ios::binary);
  char start[4] = {};
  if (!file.read(start, sizeof start)) {
    return std::nullopt;
  }
  const bool is_elf = start[0] == 0x7f;
  if (!is_elf && static_cast<unsigned char>(start[0]) != 0x50) {  // no fatbin: PTX
    std::ostringstream all;
    file.seekg(0);
    all << file.rdbuf();
    return in_ptx(all.str(), name);
  }
  if (!std::all_of(name.begin(), name.end(), is_word)) {
    return std::nullopt;
  }
  std::string tool = "cuobjdump";
  for (const char* place : {"/usr/local/cuda/bin/cuobjdump"}) {
    tool = std::filesystem::exists(place) ? place : tool;
  }
  if (!is_elf) {
    const std::string ptx = output_of(tool + " -ptx -fun '" + name + "' '" + path + "' 2> /dev/null");
    if (const auto found = in_ptx(ptx, name)) {
      return found;
    }
  }
  const std::string sass = output_of(tool + " -sass -fun '" + name + "' '" + path + "' 2> /dev/null");
  return sass.find(name) == std::string::npos ? std::nullopt : std::optional(in_sass(sass));
}

void check(const records& of, const std::function<std::string(std::uint32_t, const std::string&)>& why_remote,
           const std::function<std::optional<device_scope>(std::uint32_t)>& code_of, check_report& into) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<interval>> remote;  // by device and name
  std::set<std::uint32_t> far;
  for (const auto& [id, name] : of.names) {
    if (!why_remote(id, name).empty()) {
      far.insert(id);
    }
  }
  for (const kernel_record& k : of.kernels) {
    if (far.contains(k.name) && !k.near) {
      remote[{k.device, k.name}].push_back({static_cast<std::int64_t>(k.start), static_cast<std::int64_t>(k.end)});
    }
  }
  for (auto& [where, intervals] : remote) {
    intervals = merge(std::move(intervals));
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const kernel_record& k : of.kernels) {
    if ((far.contains(k.name) && !k.near) || k.end < k.start + 2) {
      continue;
    }
    for (const auto& [where, intervals] : remote) {
      if (where.first == k.device && !pairs.contains({where.second, k.name}) &&
          overlaps(intervals, static_cast<std::int64_t>(k.start) + 1, static_cast<std::int64_t>(k.end) - 1)) {
        pairs.insert({where.second, k.name});
      }
    }
  }
  std::set<std::uint32_t> unseen;
  std::map<std::uint32_t, std::optional<device_scope>> code;
  const auto looked_at = [&](std::uint32_t id) {
    const auto [at, is_new] = code.try_emplace(id);
    if (is_new) {
      at->second = code_of(id);
      if (!at->second) {
        into.without_code.push_back(short_name(of.names.at(id)));
      }
    }
    return at->second;
  };
  for (const auto& [far_id, near_id] : pairs) {
    ++into.pairs;
    const auto far_pointers = of.pointers.find(far_id);
    const auto near_pointers = of.pointers.find(near_id);
    if (far_pointers == of.pointers.end() || near_pointers == of.pointers.end()) {
      if (far_pointers == of.pointers.end()) {
        unseen.insert(far_id);
      }
      if (near_pointers == of.pointers.end()) {
        unseen.insert(near_id);
      }
      continue;
    }
    const auto& known = far_pointers->second;
    if (std::none_of(near_pointers->second.begin(), near_pointers->second.end(), [&](auto p) { return known.contains(p); })) {
      continue;
    }
    ++into.sharing;
    const auto a = looked_at(far_id);
    const auto b = looked_at(near_id);
    if (a && b && ((a->releases && b->acquires) || (a->acquires && b->releases))) {
      into.warnings.push_back(short_name(of.names.at(far_id)) + " and " + short_name(of.names.at(near_id)) +
                              " ran at the same time, were given the same pointer, and one releases and the other acquires at "
                              "device scope: in different domains that orders nothing, so do not move the one without the "
                              "other, and try with --whole-runs.");
    }
  }
  into.without_arguments += unseen.size();
}

std::string text(const check_report& report) {
  std::string out;
  std::set<std::string> said;
  for (const std::string& warning : report.warnings) {
    out += said.insert(warning).second ? "WARNING: " + warning + "\n" : "";
  }
  const std::set<std::string> names(report.without_code.begin(), report.without_code.end());
  std::string unread;
  for (const std::string& name : names) {
    unread += (unread.empty() ? "" : ", ") + name;
  }
  return out + "--check looked at " + grouped(report.pairs) + (report.pairs == 1 ? " pair" : " pairs") +
         " of a kernel to move and one that ran at the same time; " + grouped(report.sharing) +
         " were given the same pointer, and " + (said.empty() ? "none" : grouped(said.size())) +
         " synchronize at device scope in their code." +
         (unread.empty() ? ""
                         : " The code of these could not be read (no PTX, and no cuobjdump that reads them): " + unread + ".") +
         (report.without_arguments == 0
              ? ""
              : " Of " + grouped(report.without_arguments) + " kernels no pointer was seen in their arguments.") +
         " It cannot see pointers that lie in memory, buffers that overlap without the same start, and launches after the "
         "first three "
         "of a kernel.\n";
}

}  // namespace membar_domains
