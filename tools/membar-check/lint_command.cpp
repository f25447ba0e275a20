// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <common/text_file.hpp>
#include <membar-check/lint_command.hpp>
#include <membar-check/nvcc.hpp>

#include <lint/lint.hpp>
#include <membar/model/error.hpp>
#include <ptx/reader.hpp>

#include <cxxabi.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace membar_check {

namespace {

namespace fs = std::filesystem;
namespace lint = membar::lint;
using json = nlohmann::ordered_json;

constexpr int lint_format_version = 1;
constexpr std::string_view confidences[] = {"note", "medium", "high"};

std::string_view word_of(lint::confidence sure) { return confidences[static_cast<std::size_t>(sure)]; }

/// The name of a kernel as C++ has it.
std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

/// The line in which a person would look first: of an inlined function the call in the kernel's own text.
std::pair<std::string, int> shown(const lint::place& p) {
  return p.caller_file.empty() ? std::pair(p.file, p.line) : std::pair(p.caller_file, p.caller_line);
}

std::string text_of(const lint::place& p, const std::string& ptx) {
  const auto [file, line] = shown(p);
  const std::string inner =
      p.caller_file.empty() ? "" : " (" + fs::path(p.file).filename().string() + ":" + std::to_string(p.line) + ")";
  return (line == 0 ? fs::path(ptx).filename().string() + ":" + std::to_string(p.ptx_line)
                    : file + ":" + std::to_string(line)) +
         inner + ": " + p.opcode;
}

/// Lines of sources that allow a rule: `// membar: allow RULE reason`, in the line of the warning or the one above it.
class suppressions {
 public:
  explicit suppressions(const std::string& file) {
    if (!file.empty()) {
      std::istringstream lines(membar_tools::read_file(file));
      for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string rule, part;
        if (words >> rule >> part) {
          require_rule(rule, file);
          by_file_.emplace_back(rule, part);
        }
      }
    }
  }

  [[nodiscard]] bool allow(const lint::finding& f) {
    const auto named = [&](const auto& entry) {
      return entry.first == f.rule && (demangled(f.kernel).find(entry.second) != std::string::npos ||
                                       shown(f.at).first.find(entry.second) != std::string::npos);
    };
    if (std::ranges::any_of(by_file_, named)) {
      return true;
    }
    const auto allows = [&](const std::string& file, int line) {
      const std::vector<std::string>& all = lines_of(file);
      for (int k = std::max(line - 1, 1); k <= line && static_cast<std::size_t>(k) <= all.size(); ++k) {
        const std::string& text = all[static_cast<std::size_t>(k) - 1];
        const std::size_t at = text.find("membar: allow " + std::string(f.rule));
        if (at != std::string::npos && text.rfind("//", at) != std::string::npos) {
          return true;
        }
      }
      return false;
    };
    return (!f.at.file.empty() && allows(f.at.file, f.at.line)) ||
           (!f.at.caller_file.empty() && allows(f.at.caller_file, f.at.caller_line));
  }

 private:
  static void require_rule(const std::string& name, const std::string& file) {
    if (std::ranges::none_of(lint::rules(), [&](const lint::rule& r) { return r.name == name; })) {
      throw membar::model::error(file + " allows " + membar_tools::quote(name) +
                                 ", which is no rule: `membar-check lint --rules` lists them");
    }
  }
  const std::vector<std::string>& lines_of(const std::string& file) {
    const auto [at, is_new] = lines_.try_emplace(file);
    if (is_new && fs::is_regular_file(file)) {
      std::istringstream in(membar_tools::read_file(file));
      for (std::string line; std::getline(in, line);) {
        at->second.push_back(line);
      }
    }
    return at->second;
  }

  std::vector<std::pair<std::string, std::string>> by_file_;  ///< a rule, and a part of the kernel's name or of the source's
  std::map<std::string, std::vector<std::string>> lines_;
};

struct options {
  std::vector<std::string> inputs;
  std::string format = "text", fail_on = "high", show = "medium", allow;
  bool list_rules = false;
};

/// The files that are linted: those named, and all PTX and CUDA sources in folders.
std::vector<std::string> files_of(const std::vector<std::string>& inputs) {
  std::vector<std::string> result;
  for (const std::string& input : inputs) {
    if (!fs::exists(input)) {
      throw membar::model::error(membar_tools::quote(input) + " does not exist");
    }
    if (!fs::is_directory(input)) {
      result.push_back(input);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(input)) {
      const std::string kind = entry.path().extension().string();
      if (entry.is_regular_file() && (kind == ".ptx" || kind == ".cu")) {
        found.push_back(entry.path().string());
      }
    }
    if (found.empty()) {
      throw membar::model::error(membar_tools::quote(input) + " has no .ptx and no .cu in it");
    }
    std::ranges::sort(found);
    result.insert(result.end(), found.begin(), found.end());
  }
  return result;
}

std::string ptx_in(const std::string& file) {
  const std::string kind = fs::path(file).extension().string();
  if (kind == ".cu") {
    return compiled("", file, {});
  }
  if (kind != ".ptx") {
    throw membar::model::error(membar_tools::quote(file) +
                               " is neither .ptx nor .cu: extract the PTX of a cubin, an object or a library by "
                               "'cuobjdump -xptx all FILE', and name the folder with it");
  }
  return membar_tools::read_file(file);
}

class lint_report {
 public:
  explicit lint_report(const options& how) : how_(how), allowed_(how.allow) {}

  void lint_file(const std::string& file) {
    try {
      const lint::module_findings found = lint::lint(membar::ptx::read_ptx(ptx_in(file)));
      kernels_ += found.kernels;
      for (const auto& [kernel, why] : found.not_read) {
        not_read_.push_back({{"file", file}, {"kernel", kernel}, {"reason", why}});
      }
      for (const lint::finding& f : found.findings) {
        add(file, f);
      }
    } catch (const std::exception& e) {
      errors_.push_back({{"file", file}, {"reason", e.what()}});
      std::cerr << "membar-check: " << file << ": " << e.what() << "\n";
    }
  }

  [[nodiscard]] int end() {
    if (how_.format == "json") {
      json all = {{"format", "membar-check lint"}, {"format_version", lint_format_version},
                  {"kernels", kernels_},           {"warnings", json::array()},
                  {"not_read", not_read_},         {"errors", errors_}};
      for (const auto& [key, one] : found_) {
        all["warnings"].push_back(one);
      }
      std::cout << all.dump(2) << "\n";
    } else {
      say();
    }
    return !errors_.empty() ? 2 : fails_ ? 1 : 0;
  }

 private:
  void add(const std::string& file, const lint::finding& f) {
    const auto at_least = [&](const std::string& word) { return word_of(f.sure) == word || f.sure > sure_of(word); };
    if (!at_least(how_.show)) {
      return;
    }
    if (allowed_.allow(f)) {
      ++suppressed_;
      return;
    }
    fails_ = fails_ || at_least(how_.fail_on);
    // Instances of a template have the same lines.
    const auto [source, line] = shown(f.at);
    const std::tuple key(line == 0 ? file + "\n" + f.kernel : source, line, std::string(f.rule), f.at.file, f.at.line);
    const auto known = found_.find(key);
    if (known != found_.end()) {
      known->second["instances"] = known->second["instances"].get<int>() + 1;
      return;
    }
    json one = {{"rule", f.rule},
                {"confidence", word_of(f.sure)},
                {"message", f.text},
                {"kernel", demangled(f.kernel)},
                {"file", file},
                {"source", source},
                {"line", line},
                {"ptx_line", f.at.ptx_line},
                {"opcode", f.at.opcode},
                {"instances", 1},
                {"text", text_of(f.at, file)},
                {"related", json::array()}};
    for (const auto& [at, what] : f.related) {
      one["related"].push_back({{"what", what}, {"text", text_of(at, file)}});
    }
    found_.emplace(key, std::move(one));
  }

  void say() const {
    std::map<std::string, int> counts;
    for (const auto& [key, one] : found_) {
      const int instances = one["instances"].get<int>();
      std::cout << one["text"].get<std::string>() << "\n  " << one["confidence"].get<std::string>() << ": "
                << one["rule"].get<std::string>() << ": " << one["message"].get<std::string>() << "\n";
      for (const json& related : one["related"]) {
        std::cout << "  " << related["what"].get<std::string>() << ": " << related["text"].get<std::string>() << "\n";
      }
      std::cout << "  in " << one["kernel"].get<std::string>()
                << (instances == 1 ? "" : ", and " + std::to_string(instances - 1) + " more instances") << "\n";
      ++counts[one["confidence"].get<std::string>()];
    }
    std::cout << kernels_ << (kernels_ == 1 ? " kernel" : " kernels");
    for (const std::string_view sure : {"high", "medium", "note"}) {
      if (const auto at = counts.find(std::string(sure)); at != counts.end()) {
        std::cout << ", " << at->second << " " << sure;
      }
    }
    std::cout << (counts.empty() ? ", no warning" : "")
              << (suppressed_ == 0 ? "" : ", " + std::to_string(suppressed_) + " allowed");
    if (!not_read_.empty()) {
      std::cout << "; " << not_read_.size() << " not read, the first: " << not_read_[0]["reason"].get<std::string>();
    }
    std::cout << "\n";
  }

  static lint::confidence sure_of(const std::string& word) {
    return static_cast<lint::confidence>(std::ranges::find(confidences, word) - std::begin(confidences));
  }

  const options& how_;
  suppressions allowed_;
  std::map<std::tuple<std::string, int, std::string, std::string, int>, json> found_;
  json not_read_ = json::array(), errors_ = json::array();
  int kernels_ = 0, suppressed_ = 0;
  bool fails_ = false;
};

}  // namespace

int lint_command(const std::vector<std::string>& words) {
  CLI::App app("Looks for wrong patterns in kernels, without running them.", "membar-check lint");
  options how;
  const CLI::IsMember levels(std::vector<std::string>(std::begin(confidences), std::end(confidences)));
  app.add_option("files", how.inputs, "PTX (.ptx), CUDA C++ (.cu, compiled by nvcc), folders of such files");
  app.add_option("--format", how.format, "text or json (text)")->check(CLI::IsMember({"text", "json"}));
  app.add_option("--show", how.show, "the least sure warnings that are shown: note, medium or high (medium)")->check(levels);
  app.add_option("--fail-on", how.fail_on, "the least sure warnings that make the exit status 1 (high)")->check(levels);
  app.add_option("--allow", how.allow, "a file with a rule and a part of a kernel's or source's name in each line: not shown")
      ->type_name("FILE");
  app.add_flag("--rules", how.list_rules, "lists the rules");
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(std::move(reversed));
    if (how.list_rules) {
      for (const lint::rule& r : lint::rules()) {
        std::cout << r.name << "\t" << r.about << "\n";
      }
      return 0;
    }
    if (how.inputs.empty()) {
      throw membar::model::error("lint needs files or folders: membar-check lint FILE|FOLDER...");
    }
    lint_report out(how);
    for (const std::string& file : files_of(how.inputs)) {
      out.lint_file(file);
    }
    return out.end();
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const CLI::Error& e) {
    std::cerr << "membar-check: " << e.what() << "\n";
  } catch (const std::exception& e) {
    std::cerr << "membar-check: " << e.what() << "\n";
  }
  return 2;
}

}  // namespace membar_check
