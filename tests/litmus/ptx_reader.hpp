// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads the PTX that NVRTC generates from litmus files, for the tests of the generated sources.
#pragma once

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace membar_test {

/// Returns the parts of a text that match this pattern, in order.
[[nodiscard]] inline std::vector<std::string> parts_of(const std::string& text, const std::regex& shape) {
  return {std::sregex_token_iterator(text.begin(), text.end(), shape), std::sregex_token_iterator()};
}

[[nodiscard]] inline std::vector<std::string> words_of(std::string mnemonic) {
  std::ranges::transform(mnemonic, mnemonic.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static const std::regex word(R"([^.]+)");
  return parts_of(mnemonic, word);
}

/// Returns the lines of each kernel's PTX, by the kernel's name.
[[nodiscard]] inline std::map<std::string, std::vector<std::string>> kernels_of(const std::string& ptx) {
  std::map<std::string, std::vector<std::string>> kernels;
  std::istringstream lines(ptx);
  std::string name;
  static const std::regex entry(R"(\.entry (\w+)\()");
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_search(line, found, entry)) {
      name = found[1];
    }
    if (!name.empty()) {
      kernels[name].push_back(line);
    }
  }
  return kernels;
}

/// Returns the inline-assembly statements in a kernel's PTX, each as one line.
[[nodiscard]] inline std::vector<std::string> inline_statements(const std::vector<std::string>& lines) {
  std::vector<std::string> statements;
  bool inside = false;
  for (const std::string& line : lines) {
    if (line.find("begin inline asm") != std::string::npos) {
      inside = true;
      statements.emplace_back();
    } else if (line.find("end inline asm") != std::string::npos) {
      inside = false;
    } else if (inside) {
      statements.back() += line;
    }
  }
  return statements;
}

/// Returns whether a word of a mnemonic is a type, such as "b32".
[[nodiscard]] inline bool is_type(const std::string& word) {
  static const std::regex shape("[busf](8|16|32|64|128)");
  return std::regex_match(word, shape);
}

/// Returns the words that a file's mnemonic becomes in PTX, with PTX's defaults and without the state space.
[[nodiscard]] inline std::multiset<std::string> expected_words(const std::string& text) {
  const std::vector<std::string> words = words_of(text.substr(0, text.find(' ')));
  std::multiset<std::string> expected;
  bool has_type = false;
  for (const std::string& word : words) {
    if (word != "global" && word != "generic") {
      expected.insert(word == "plus" || word == "sub" ? "add" : word);
    }
    has_type = has_type || is_type(word);
  }
  const std::string& head = words.front();
  const bool access = head == "ld" || head == "st";
  const bool update = head == "atom" || head == "red";
  const bool mmio = expected.contains("mmio");
  const auto by_default = [&](bool applies, std::initializer_list<const char*> others, const char* word) {
    if (applies && std::none_of(others.begin(), others.end(), [&](const char* other) { return expected.contains(other); })) {
      expected.insert(word);
    }
  };
  by_default(access, {"weak", "relaxed", "acquire", "release", "volatile", "mmio"}, "weak");
  by_default(mmio, {"relaxed"}, "relaxed");
  by_default(mmio, {"sys"}, "sys");
  by_default(update, {"relaxed", "acquire", "release", "acq_rel"}, "relaxed");
  by_default(update, {"cta", "cluster", "gpu", "sys"}, "gpu");
  by_default(head == "fence", {"sc", "acq_rel", "acquire", "release", "proxy"}, "acq_rel");
  by_default((access || update) && !has_type, {}, "32");  // four bytes of any type
  return expected;
}

/// Returns the words of a statement's memory instruction or fence, in the form of `expected_words`; empty if there is none.
[[nodiscard]] inline std::multiset<std::string> statement_words(const std::string& statement, bool typed) {
  static const std::regex shape(R"((?:^|[\s{;])((?:ld|st|atom|red|fence|membar)\.[\w.:]+))");
  std::smatch found;
  std::multiset<std::string> words;
  if (std::regex_search(statement, found, shape)) {
    for (const std::string& word : words_of(found[1])) {
      if (word != "global") {
        words.insert(!typed && is_type(word) ? word.substr(1) : word);
      }
    }
  }
  return words;
}

/// Returns the memory accesses between the first and the last inline statement that are not part of such a statement. Such
/// accesses would separate the test's accesses in time. Accesses to constant memory, which holds the zero that no compiler can
/// predict, do not count.
[[nodiscard]] inline std::vector<std::string> accesses_between(const std::vector<std::string>& lines) {
  static const std::regex access(R"(^\s*(@%p\d+ )?(ld|st|atom|red|bar|membar|fence)\.(?!const|param))");
  const auto mark = [](const char* words) {
    return [words](const std::string& line) { return line.find(words) != std::string::npos; };
  };
  const auto first = std::find_if(lines.begin(), lines.end(), mark("begin inline asm"));
  const auto last = std::find_if(lines.rbegin(), lines.rend(), mark("end inline asm")).base();
  std::vector<std::string> found;
  bool inside = false;
  for (auto line = first; line < last; ++line) {
    inside = mark("begin inline asm")(*line) || (inside && !mark("end inline asm")(*line));
    if (!inside && std::regex_search(*line, access)) {
      found.push_back(*line);
    }
  }
  return found;
}

/// Returns the numbers among a statement's operands, in order. A register that holds a constant counts as that constant.
[[nodiscard]] inline std::vector<long long> numbers_of(const std::string& statement, const std::vector<std::string>& lines) {
  static const std::regex operand(R"(%[a-z]+\d+|[-\s{,]-?\d+(?=[,;}\s]))");
  std::vector<long long> numbers;
  for (const std::string& one : parts_of(statement, operand)) {
    if (one.front() != '%') {
      numbers.push_back(std::stoll(one.substr(1)));
      continue;
    }
    const std::regex constant(R"(mov\.[bu]\d+\s+)" + one + R"(, (-?\d+);)");
    for (const std::string& line : lines) {
      std::smatch found;
      if (std::regex_search(line, found, constant)) {
        numbers.push_back(std::stoll(found[1]));
      }
    }
  }
  return numbers;
}

/// Records which registers of a kernel's PTX are computed from which.
class data_flow {
 public:
  explicit data_flow(const std::vector<std::string>& lines) {
    static const std::regex shape(R"(^\s*(?:\{ \.reg \.\w+ \w+; )?(\S+)\s+([^;]*);)");
    static const std::regex any_register(R"(%[a-z]+\d+)");
    for (const std::string& line : lines) {
      std::smatch found;
      if (!std::regex_search(line, found, shape)) {
        continue;
      }
      const std::string opcode = found[1];
      const std::vector<std::string> registers = parts_of(found[2], any_register);
      const bool writes = !opcode.starts_with("st.") && !opcode.starts_with("red.");
      if (writes && !registers.empty()) {
        sources_[registers.front()].insert(registers.begin() + 1, registers.end());
        if (opcode.starts_with("ld.const")) {
          unforeseen_.insert(registers.front());
        } else if (opcode.starts_with("ld.") && opcode.find(".param") == opcode.npos && opcode.find(".const") == opcode.npos) {
          loads_.insert(registers.front());
        }
      } else if (opcode.starts_with(
                     "st.weak")) {  // This store must come from the file, because the engine's own stores are plain.
        stores_.push_back(registers);
      }
    }
  }

  /// Returns whether `reg` is computed from one of the registers in `goals`.
  [[nodiscard]] bool reaches(const std::string& reg, const std::set<std::string>& goals) const {
    std::set<std::string> seen;
    std::vector<std::string> open = {reg};
    while (!open.empty()) {
      const std::string one = open.back();
      open.pop_back();
      if (goals.contains(one)) {
        return true;
      }
      const auto found = sources_.find(one);
      if (seen.insert(one).second && found != sources_.end()) {
        open.insert(open.end(), found->second.begin(), found->second.end());
      }
    }
    return false;
  }

  /// Returns the registers that were loaded from the test's memory.
  [[nodiscard]] const std::set<std::string>& loads() const { return loads_; }
  /// Returns the registers that hold the zero that no compiler can predict.
  [[nodiscard]] const std::set<std::string>& unforeseen() const { return unforeseen_; }
  /// Returns the registers that each of the file's stores uses.
  [[nodiscard]] const std::vector<std::vector<std::string>>& stores() const { return stores_; }

 private:
  std::map<std::string, std::set<std::string>> sources_;
  std::set<std::string> loads_;
  std::set<std::string> unforeseen_;
  std::vector<std::vector<std::string>> stores_;
};

}  // namespace membar_test
