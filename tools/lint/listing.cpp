// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <lint/listing.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace membar::lint {

namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// Splits the text at the commas that are not in brackets.
std::vector<std::string> operands_of(std::string_view text) {
  std::vector<std::string> out;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t k = 0; k <= text.size(); ++k) {
    const char c = k < text.size() ? text[k] : ',';
    depth += c == '[' || c == '(' || c == '{' ? 1 : 0;
    depth -= c == ']' || c == ')' || c == '}' ? 1 : 0;
    if (k == text.size() || (c == ',' && depth == 0)) {
      if (const std::string_view one = trimmed(text.substr(begin, k - begin)); !one.empty()) {
        out.emplace_back(one);
      }
      begin = k + 1;
    }
  }
  return out;
}

/// Returns the labels that an instruction refers to, such as `(.L_x_1). In an indirect branch, the labels are in a comment.
std::vector<std::string> labels_in(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = text.find_first_of(".$"); at != std::string_view::npos; at = text.find_first_of(".$", at + 1)) {
    const bool begins = at == 0 || std::string_view("(, \"").find(text[at - 1]) != std::string_view::npos;
    if (begins && (text[at] == '$' || text.substr(at).starts_with(".L"))) {
      out.emplace_back(text.substr(at, text.substr(at).find_first_of(",)\" ")));
    }
  }
  return out;
}

/// Reads the functions of a listing line by line.
class listing_reader {
 public:
  void take(std::string_view line) {
    const std::string_view text = trimmed(line);
    if (text.starts_with(".section")) {
      end_function();
      constexpr std::string_view prefix = ".text.";
      const std::string_view name = trimmed(text.substr(std::string_view(".section").size()));
      if (name.starts_with(prefix)) {
        functions_.push_back({std::string(name.substr(prefix.size(), name.find_first_of(",\t ") - prefix.size())), false, {}});
        open_ = true;
      }
    } else if (open_ && text.find("STO_CUDA_ENTRY") != std::string_view::npos) {
      functions_.back().kernel = true;
    } else if (open_ && text.ends_with(':') && !text.starts_with("/*")) {
      labels_[std::string(text.substr(0, text.size() - 1))] = static_cast<int>(functions_.back().code.size());
    } else if (open_ && text.starts_with("/*")) {
      take_instruction(text);
    }
  }

  std::vector<machine_function> end() {
    end_function();
    return std::move(functions_);
  }

 private:
  /// The line has the form "/*00b0*/  @P0 BRA `(.L_x_1) ;  /* the instruction's bits */".
  void take_instruction(std::string_view text) {
    machine_instruction one;
    const std::size_t close = text.find("*/");
    const auto [rest, bad] = std::from_chars(text.data() + 2, text.data() + std::min(close, text.size()), one.offset, 16);
    if (close == std::string_view::npos || bad != std::errc() || rest != text.data() + close) {
      return;
    }
    text = trimmed(text.substr(close + 2));
    if (const std::size_t semicolon = text.find(';'); semicolon != std::string_view::npos) {
      text = trimmed(text.substr(0, semicolon));
    } else {
      return;
    }
    if (text.starts_with('@')) {
      const std::size_t space = text.find(' ');
      one.guard = text.substr(1, space - 1);
      text = trimmed(text.substr(std::min(space, text.size())));
    }
    const std::size_t space = text.find(' ');
    one.opcode = text.substr(0, space);
    one.operands = space == std::string_view::npos ? std::vector<std::string>() : operands_of(text.substr(space));
    functions_.back().code.push_back(std::move(one));
  }

  void end_function() {
    if (open_) {
      connect(functions_.back().code);
    }
    open_ = false;
    labels_.clear();
  }

  [[nodiscard]] std::vector<int> targets_of(const machine_instruction& i) const {
    std::vector<int> out;
    for (const std::string& operand : i.operands) {
      for (const std::string& label : labels_in(operand)) {
        if (const auto at = labels_.find(label); at != labels_.end()) {
          out.push_back(at->second);
        }
      }
    }
    return out;
  }

  /// Sets the successors of each instruction. A BSYNC continues at the target of the BSSY for the same barrier.
  void connect(std::vector<machine_instruction>& code) const {
    std::map<std::string, std::vector<int>, std::less<>> meetings;
    for (const machine_instruction& i : code) {
      if (i.is("BSSY") && !i.operands.empty()) {
        const std::vector<int> targets = targets_of(i);
        std::vector<int>& all = meetings[i.operands[0]];
        all.insert(all.end(), targets.begin(), targets.end());
      }
    }
    for (std::size_t k = 0; k < code.size(); ++k) {
      machine_instruction& i = code[k];
      const bool jumps = i.is("BRA") || i.is("BRX") || i.is("JMP") || i.is("JMX") || i.is("BRXU") || i.is("JMXU");
      const bool asks = i.operands.size() > 1 && !i.is("BRX") && !i.is("BRXU");  // a condition: BRA UP0, `(.L_x_1)
      const bool ends = (jumps && !asks && !i.has("DIV") && !i.has("ANY")) || i.is("EXIT") || i.is("RET") || i.is("KILL");
      if (jumps || i.is("CALL") || i.is("WARPSYNC")) {
        i.next = targets_of(i);
      } else if (i.is("BSYNC") && !i.operands.empty()) {
        i.next = meetings[i.operands[0]];
      }
      if (!ends || !i.guard.empty()) {
        i.next.push_back(static_cast<int>(k) + 1);
      }
      std::ranges::sort(i.next);
      const auto same = std::ranges::unique(i.next);
      i.next.erase(same.begin(), same.end());
      std::erase_if(i.next, [&](int to) { return to < 0 || static_cast<std::size_t>(to) >= code.size(); });
    }
  }

  std::vector<machine_function> functions_;
  std::map<std::string, int, std::less<>> labels_;
  bool open_ = false;
};

}  // namespace

bool machine_instruction::has(std::string_view modifier) const {
  std::string_view rest = opcode;
  while (true) {
    const std::size_t dot = rest.find('.');
    if (dot == std::string_view::npos) {
      return false;
    }
    rest.remove_prefix(dot + 1);
    if (rest.substr(0, rest.find('.')) == modifier) {
      return true;
    }
  }
}

std::vector<machine_function> read_listing(std::string_view text) {
  listing_reader reader;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    reader.take(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return reader.end();
}

}  // namespace membar::lint
