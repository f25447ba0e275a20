// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/move_list.hpp"

#include <cxxabi.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <tuple>
#include <utility>

#include "membar-domains/format_version.hpp"

namespace membar_domains {

target parse_target(std::string_view word, const std::string& where) {
  if (word == "remote") {
    return {target::kind::logical_remote, 0};
  }
  if (word == "default") {
    return {target::kind::logical_default, 0};
  }
  int id = -1;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), id);
  if (status != std::errc{} || end != word.data() + word.size() || id < 0 || id > 255) {
    throw error(where + ": '" + std::string(word) +
                "' is not a domain: write remote, default, or the number of a physical domain, 0 to 255");
  }
  return {target::kind::physical, id};
}

void move_list::add(target to, const std::string& pattern, const std::string& where, int line, bool far) {
  try {
    rules_.push_back(
        {to, pattern, std::regex(pattern, std::regex::ECMAScript | std::regex::optimize), line, far, verdict::unchecked, {}});
  } catch (const std::regex_error&) {
    throw error(where + ": '" + pattern +
                "' is not a regular expression (ECMAScript): put a backslash before each literal ( ) [ ] { } * + ?");
  }
}

namespace {

void check_version(std::string version, const std::string& origin) {
  version.erase(version.find_last_not_of(" \t\r") + 1);
  if (version != std::to_string(list_version)) {
    throw error(origin + ": the list has format '" + version + "', but this version of membar-domains reads only format " +
                std::to_string(list_version) + ": use the membar-domains that wrote it, or write the list again with watch");
  }
}

constexpr std::string_view check_mark = "# check: ";

/// Returns "domain pattern", the form that is used in a rule and in the line of its check.
std::string key_of(const std::string& domain, const std::string& pattern) { return domain + " " + pattern; }

/// Stores the result of a rule's check if the comment contains a result.
void read_check(std::string_view line, std::map<std::string, std::pair<verdict, std::string>>& into) {
  if (!line.starts_with(check_mark)) {
    return;
  }
  line.remove_prefix(check_mark.size());
  const bool warned = line.starts_with("warned ");
  if (!warned && !line.starts_with("passed ")) {
    return;
  }
  line.remove_prefix(std::string_view("passed ").size());
  const auto end = std::min(line.find(" # "), line.size());
  const std::string warning(line.substr(std::min(end + 3, line.size())));
  auto& [found, words] = into[std::string(line.substr(0, end))];
  if (found != verdict::warned) {  // if there are several lines for a rule, a warning takes precedence
    found = warned ? verdict::warned : verdict::passed;
    words = warning;
  }
}

}  // namespace

std::string check_line(const std::string& rule, const std::string& warning) {
  return std::string(check_mark) + (warning.empty() ? "passed " + rule : "warned " + rule + " # " + warning) + "\n";
}

std::string move_list::objection() const {
  for (const rule& r : rules_) {
    if (r.checked == verdict::warned) {
      return "the list moves '" + r.pattern + "', but watch's check warns: " + r.warning +
             " Remove the kernel from the list, or add --force if you know that the move is safe";
    }
  }
  for (const rule& r : rules_) {
    if (r.checked == verdict::unchecked) {
      return "the list moves '" + r.pattern +
             "', but nothing checked whether it synchronizes with other kernels: use a list that membar-domains watch wrote "
             "(watch --remote=REGEX adds kernels to it), or add --force if you know that the move is safe";
    }
  }
  return {};
}

move_list move_list::parse(std::string_view text, const std::string& origin) {
  move_list list;
  std::map<std::string, std::pair<verdict, std::string>> checks;
  std::vector<std::string> keys;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string where = origin + ":" + std::to_string(number);
    std::istringstream words(line);
    std::string domain;
    if (number == 1 && line.starts_with(list_header)) {
      check_version(line.substr(std::string_view(list_header).size()), origin);
    }
    if (!(words >> domain) || domain[0] == '#') {
      read_check(line, checks);
      continue;
    }
    const auto colon = domain.find(':');
    const target to = parse_target(std::string_view(domain).substr(0, colon), where);
    const bool far = colon != std::string::npos;
    if (far && domain.substr(colon) != ":far") {
      throw error(
          where + ": '" + domain + "' ends in ':" + domain.substr(colon + 1) +
          "': after the domain, write nothing, or :far to select launches with a pointer to a peer's or the host's memory");
    }
    std::string pattern;
    std::getline(words >> std::ws, pattern);
    // A comment at the end of a line starts with a blank and '#', which no kernel's name contains.
    if (const auto comment = pattern.starts_with('#') ? 0 : pattern.find(" #"); comment != std::string::npos) {
      pattern.erase(comment);
    }
    pattern.erase(pattern.find_last_not_of(" \t\r") + 1);
    if (pattern.empty()) {
      throw error(where + ": no kernel names follow the domain '" + domain + "': write a regular expression for them after it");
    }
    list.add(to, pattern, where, number, far);
    keys.push_back(key_of(domain, pattern));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (const auto at = checks.find(keys[i]); at != checks.end()) {
      std::tie(list.rules_[i].checked, list.rules_[i].warning) = at->second;
    }
  }
  return list;
}

std::string move_list::text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    // Reading an empty file sets the fail bit of `text`. An empty file is an empty list.
    if (!file.is_open()) {
      throw error("cannot read the list '" + path + "': name a file that membar-domains watch wrote");
    }
  }
  return text.str();
}

move_list move_list::read(const std::string& path) { return parse(text_of(path), path); }

decision move_list::decide(const std::string& name) const {
  const std::string plain = demangled(name);
  const std::string brief = short_name(name);
  decision out;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    for (const std::string* candidate : std::array{&name, &plain, &brief}) {
      if (std::regex_search(*candidate, rules_[i].compiled)) {
        out.far = out.far < 0 ? static_cast<int>(i) : out.far;
        if (!rules_[i].far) {
          out.near = static_cast<int>(i);
          return out;
        }
      }
    }
  }
  return out;
}

target move_list::match(const std::string& name) const {
  const int rule = decide(name).near;
  return rule < 0 ? target{} : rules_[static_cast<std::size_t>(rule)].to;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && plain ? std::string(plain.get()) : name;
}

std::string short_name(const std::string& name) {
  const std::string plain = demangled(name);
  // Takes the text up to the first '(' or '<' outside brackets. A leading "(anonymous namespace)" is ignored.
  std::string without;
  int depth = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    constexpr std::string_view anonymous = "(anonymous namespace)";
    if (depth == 0 && plain.compare(i, anonymous.size(), anonymous) == 0) {
      i += anonymous.size() - 1;
      continue;
    }
    if (plain[i] == '<') {
      ++depth;
    } else if (plain[i] == '>' && depth > 0) {
      --depth;
    } else if (depth == 0 && plain[i] == '(') {
      break;
    } else if (depth == 0) {
      without += plain[i];
    }
  }
  const auto start = without.find_last_of(" :");
  const std::string brief = start == std::string::npos ? without : without.substr(start + 1);
  return brief.empty() ? plain : brief;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

bool known_remote(const std::string& name) {
  static const std::regex known(
      "^nccl(Dev)?Kernel|^ncclSym(k|DevKernel)|nvshmem|mscclpp|userbuffers|membar::.*(notify|barrier|abort)\\w*_kernel"
      "|^(one_shot|two_shot|multimem)_.*(reduce|gather)|symmetric_memory::.*(reduce|gather|put|get|all_to_all)"
      "|deep_ep::|ar_fusion|allreduce_fusion|trtllm_allreduce|cross_device_reduce",
      std::regex::ECMAScript | std::regex::optimize);
  return std::regex_search(demangled(name), known) || std::regex_search(short_name(name), known);
}

}  // namespace membar_domains
