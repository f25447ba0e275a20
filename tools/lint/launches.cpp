// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <lint/launches.hpp>

#include <ptx/module.hpp>

#include <cxxabi.h>
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

namespace membar::lint {

namespace {

using names = std::set<std::string, std::less<>>;

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// Returns the text with comments and the contents of string and character literals replaced by blanks. Lines that end with a
/// backslash are joined with the next line.
std::string code_of(std::string text) {
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < std::min(to, text.size()); ++k) {
      text[k] = text[k] == '\n' ? '\n' : ' ';
    }
  };
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text.compare(k, 2, "//") == 0) {
      blank(k, text.find('\n', k));
    } else if (text.compare(k, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", k + 2);
      blank(k, end == std::string::npos ? end : end + 2);
    } else if (text[k] == '\\' && k + 1 < text.size() && text[k + 1] == '\n') {
      text[k] = text[k + 1] = ' ';
    } else if (text[k] == '"' || (text[k] == '\'' && (k == 0 || !is_of_name(text[k - 1])))) {
      std::size_t end = k + 1;
      while (end < text.size() && text[end] != text[k] && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
      }
      blank(k + 1, end);
      k = end;
    }
  }
  return text;
}

/// A function or a macro in a source file.
struct region {
  std::string name;
  std::string_view text;
  bool macro = false;
};

/// Returns the name before the parentheses that end at `close`, such as the name of a function before its body.
std::string name_before(std::string_view code, std::size_t close) {
  int depth = 0;
  for (std::size_t k = close + 1; k-- > 0;) {
    depth += code[k] == ')' ? 1 : code[k] == '(' ? -1 : 0;
    if (depth == 0) {
      std::size_t end = k;
      while (end > 0 && is_space(code[end - 1])) {
        --end;
      }
      std::size_t begin = end;
      while (begin > 0 && is_of_name(code[begin - 1])) {
        --begin;
      }
      return std::string(code.substr(begin, end - begin));
    }
  }
  return "";
}

/// Returns the name of the function whose body starts at this brace, or an empty string if there is none.
std::string function_of(std::string_view code, std::size_t brace) {
  const std::size_t from = code.find_last_of(";{}", brace == 0 ? 0 : brace - 1);
  const std::string_view head = code.substr(from == std::string_view::npos ? 0 : from + 1);
  const std::string_view before = head.substr(0, brace - (from == std::string_view::npos ? 0 : from + 1));
  const std::size_t close = before.rfind(')');
  return close == std::string_view::npos ? "" : name_before(before, close);
}

bool is_first_in_line(std::string_view code, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : code.find_last_not_of(" \t", at - 1);
  return before == std::string_view::npos || code[before] == '\n';
}

/// Returns the macro that the line defines, or nothing if it is not a #define.
std::optional<region> macro_of(std::string_view line) {
  constexpr std::string_view word = "define";
  std::size_t begin = line.find_first_not_of(" \t", 1);
  if (begin == std::string_view::npos || !line.substr(begin).starts_with(word)) {
    return std::nullopt;
  }
  begin = std::min(line.find_first_not_of(" \t", begin + word.size()), line.size());
  std::size_t end = begin;
  while (end < line.size() && is_of_name(line[end])) {
    ++end;
  }
  return region{std::string(line.substr(begin, end - begin)), line.substr(end), true};
}

std::vector<region> regions_of(std::string_view code) {
  std::vector<region> result;
  std::vector<std::pair<std::size_t, std::string>> open;  // the open braces, each with the function that it starts or ""
  for (std::size_t k = 0; k < code.size(); ++k) {
    if (code[k] == '#' && is_first_in_line(code, k)) {
      const std::size_t end = std::min(code.find('\n', k), code.size());
      const std::string_view line = code.substr(k, end - k);
      if (const auto macro = macro_of(line)) {
        result.push_back(*macro);
      }
      k = end;
    } else if (code[k] == '{') {
      const bool inside = std::ranges::any_of(open, [](const auto& o) { return !o.second.empty(); });
      open.emplace_back(k, inside ? std::string() : function_of(code, k));
    } else if (code[k] == '}') {
      // A brace at the beginning of a line ends the function, even if the branches of an #if open more braces than they close.
      const bool ends_function = k == 0 || code[k - 1] == '\n';
      const auto inside = [&] { return std::ranges::any_of(open, [](const auto& o) { return !o.second.empty(); }); };
      do {
        if (!open.empty() && !open.back().second.empty()) {
          result.push_back({open.back().second, code.substr(open.back().first, k - open.back().first), false});
        }
        if (!open.empty()) {
          open.pop_back();
        }
      } while (ends_function && inside());
    }
  }
  return result;
}

/// Calls `take(name, begin)` for each name in the text.
template <class Take>
void for_each_name(std::string_view text, Take take) {
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (is_of_name(text[k]) && (k == 0 || !is_of_name(text[k - 1]))) {
      std::size_t end = k;
      while (end < text.size() && is_of_name(text[end])) {
        ++end;
      }
      take(text.substr(k, end - k), k);
      k = end - 1;
    }
  }
}

/// Returns the text from an opening parenthesis to the matching closing parenthesis.
std::string_view in_parentheses(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t k = open; k < text.size(); ++k) {
    depth += text[k] == '(' ? 1 : text[k] == ')' ? -1 : 0;
    if (depth == 0) {
      return text.substr(open + 1, k - open - 1);
    }
  }
  return text.substr(open);
}

/// Returns the arguments of a call. `at` is the position after the name, which may have template arguments.
std::optional<std::string_view> arguments_after(std::string_view text, std::size_t at) {
  std::size_t k = at;
  const auto skip_spaces = [&] {
    while (k < text.size() && is_space(text[k])) {
      ++k;
    }
  };
  skip_spaces();
  if (k < text.size() && text[k] == '<') {
    int depth = 0;
    for (; k < text.size() && text[k] != ';' && text[k] != '{'; ++k) {
      depth += text[k] == '<' ? 1 : text[k] == '>' ? -1 : 0;
      if (depth == 0) {
        ++k;
        break;
      }
    }
    skip_spaces();
  }
  return k < text.size() && text[k] == '(' ? std::optional(in_parentheses(text, k)) : std::nullopt;
}

bool sets_attribute(std::string_view text) {
  return text.find("ProgrammaticStreamSerialization") != std::string_view::npos ||
         text.find("PROGRAMMATIC_STREAM_SERIALIZATION") != std::string_view::npos;
}

bool is_launch(std::string_view name) {
  return name == "cudaLaunchKernelEx" || name == "cudaLaunchKernelExC" || name == "cuLaunchKernelEx";
}

/// Adds the names in `arguments`. If one of them is a variable that `body` initializes, also adds the names in its initializer.
void add_names(std::string_view arguments, std::string_view body, names& into) {
  names direct;
  for_each_name(arguments, [&](std::string_view name, std::size_t) { direct.emplace(name); });
  for_each_name(body, [&](std::string_view name, std::size_t at) {
    std::size_t k = at + name.size();
    while (k < body.size() && is_space(body[k])) {
      ++k;
    }
    if (direct.contains(name) && k + 1 < body.size() && body[k] == '=' && body[k + 1] != '=') {
      for_each_name(body.substr(k, body.find(';', k) - k), [&](std::string_view from, std::size_t) { into.emplace(from); });
    }
  });
  into.merge(direct);
}

/// Returns whether a region contains a name, other than its own, for which `is_one` returns true.
template <class Is>
bool mentions(const region& r, Is is_one) {
  bool found = false;
  for_each_name(r.text, [&](std::string_view name, std::size_t) { found = found || (name != r.name && is_one(name)); });
  return found;
}

/// Returns the files that a source includes with quotes, relative to the source's folder.
std::vector<std::string> included_by(const std::string& file, const std::string& text) {
  std::vector<std::string> result;
  constexpr std::string_view word = "#include \"";
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t begin = at + word.size();
    const std::string name = text.substr(begin, text.find_first_of("\"\n", begin) - begin);
    result.push_back((std::filesystem::path(file).parent_path() / name).lexically_normal().string());
  }
  return result;
}

/// Returns the code of the sources and of the files that they include. CUDA headers are omitted.
std::vector<std::string> codes_of(std::vector<std::string> files) {
  constexpr std::size_t most = 400;
  std::vector<std::string> result;
  std::set<std::string> known(files.begin(), files.end());
  for (std::size_t k = 0; k < files.size() && result.size() < most; ++k) {
    const std::string file = files[k];
    std::error_code ignored;
    if (file.empty() || ptx::is_library(file) || !std::filesystem::is_regular_file(file, ignored)) {
      continue;
    }
    std::ifstream in(file, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    for (std::string& other : included_by(file, text)) {
      if (known.insert(other).second) {
        files.push_back(std::move(other));
      }
    }
    result.push_back(code_of(std::move(text)));
  }
  return result;
}

}  // namespace

std::string plain_name(std::string_view kernel) {
  int status = 0;
  const std::string text(kernel);
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status),
                                                         std::free);
  std::string name = status == 0 ? demangled.get() : text;
  std::size_t depth = 0;
  std::string last;
  for (const char c : name) {
    depth += c == '<' ? 1 : 0;
    if (depth == 0 && c == '(' && !last.empty()) {
      break;
    }
    if (depth == 0) {
      if (is_of_name(c)) {
        last += c;
      } else if (c == ':' || is_space(c)) {
        last.clear();
      }
    }
    depth -= c == '>' && depth > 0 ? 1 : 0;
  }
  return last;
}

dependent_launches::dependent_launches(const std::vector<std::string>& files) {
  const std::vector<std::string> codes = codes_of(files);
  if (std::ranges::none_of(codes, sets_attribute)) {
    return;
  }
  std::vector<region> regions;
  for (const std::string& code : codes) {
    std::ranges::move(regions_of(code), std::back_inserter(regions));
  }
  names setters;
  for (const region& r : regions) {
    if (sets_attribute(r.text)) {
      setters.insert(r.name);
    }
  }
  const auto sets = [&](const region& r) {
    return sets_attribute(r.text) || mentions(r, [&](std::string_view n) { return setters.contains(n); });
  };
  names launchers;
  for (const region& r : regions) {
    if (sets(r) && mentions(r, is_launch)) {
      launchers.insert(r.name);
    }
  }
  for (const region& r : regions) {  // a macro passes its arguments on
    if (r.macro && mentions(r, [&](std::string_view n) { return launchers.contains(n); })) {
      launchers.insert(r.name);
    }
  }
  for (const region& r : regions) {
    const bool itself = sets(r);
    for_each_name(r.text, [&](std::string_view name, std::size_t at) {
      if ((itself && is_launch(name)) || (launchers.contains(name) && name != r.name)) {
        if (const auto arguments = arguments_after(r.text, at + name.size())) {
          add_names(*arguments, r.text, names_);
        }
      }
    });
  }
}

}  // namespace membar::lint
