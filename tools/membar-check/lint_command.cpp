// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <common/short_path.hpp>
#include <common/text_file.hpp>
#include <membar-check/command_help.hpp>
#include <membar-check/device_code.hpp>
#include <membar-check/lint_command.hpp>
#include <membar-check/nvcc.hpp>
#include <membar-check/nvdisasm.hpp>
#include <membar-check/progress.hpp>
#include <membar-check/sarif_document.hpp>
#include <membar-check/suppression_file.hpp>

#include <lint/cubin.hpp>
#include <lint/lint.hpp>
#include <lint/machine_code.hpp>
#include <membar/model/error.hpp>
#include <ptx/reader.hpp>

#include <cxxabi.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
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

/// Returns the C++ name of a kernel.
std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

/// Returns the line to show for a position. For library code, this is the line of the call.
std::pair<std::string, int> shown(const lint::place& p) {
  return p.caller_file.empty() ? std::pair(p.file, p.line) : std::pair(p.caller_file, p.caller_line);
}

std::string hexadecimal(int number) {
  std::ostringstream out;
  out << "0x" << std::hex << number;
  return out.str();
}

/// Returns the position as text. `ptx` is the name of the PTX.
std::string text_of(const lint::place& p, const std::string& ptx) {
  const auto [file, line] = shown(p);
  const std::string inner =
      p.caller_file.empty() ? "" : " (" + fs::path(p.file).filename().string() + ":" + std::to_string(p.line) + ")";
  const std::string at = line != 0            ? membar_tools::short_path(file) + ":" + std::to_string(line)
                         : p.code_offset >= 0 ? ptx + " at " + hexadecimal(p.code_offset)
                                              : ptx + ":" + std::to_string(p.ptx_line);
  return at + inner + ": " + p.opcode;
}

/// Suppressions of a rule: comments of the form `// membar: allow RULE reason` on the line of the warning or on the preceding
/// line, and entries in a file.
class suppressions {
 public:
  explicit suppressions(const std::string& file) : in_file_(file) {
    for (const suppression_file::line& one : in_file_.lines()) {
      if (std::ranges::none_of(lint::rules(), [&](const lint::rule& r) { return r.name == one.kind; })) {
        throw membar::model::error(in_file_.place_of(one) + ": " + membar_tools::quote(one.kind) +
                                   " is not a rule: `membar-check lint --rules` lists them");
      }
    }
  }

  [[nodiscard]] bool allow(const lint::finding& f) {
    std::string searched = demangled(f.kernel);
    for (const auto& [file, line] : {std::pair(f.at.file, f.at.line), std::pair(f.at.caller_file, f.at.caller_line)}) {
      searched += "\n" + file + ":" + std::to_string(line);
    }
    if (in_file_.suppresses(f.rule, searched)) {
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

  /// Names the lines of the file that suppress nothing.
  void report_unused() const { in_file_.report_unused(); }

 private:
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

  suppression_file in_file_;
  std::map<std::string, std::vector<std::string>> lines_;
};

struct options {
  std::vector<std::string> inputs;
  std::vector<std::string> nvcc_options;
  std::string format = "text", fail_on = "high", show = "medium", allow;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  bool list_rules = false;
};

constexpr std::string_view how_to_instantiate =
    "instantiate each kernel template that is to be linted with a line like 'template __global__ void f<32>(int*);'";

/// The linter's findings in a PTX text, or the reason why the text cannot be read.
struct linted_ptx {
  lint::module_findings found;
  std::string error;
};

lint::module_findings lint_cubin(const std::string& cubin) {
  return lint::may_be_dependent(cubin) ? lint::lint_machine_code(cubin, disassembled(cubin)) : lint::module_findings();
}

linted_ptx lint_ptx(const ptx_source& source, const std::vector<std::string>& nvcc_options) {
  linted_ptx result;
  try {
    result.found =
        source.machine_code ? lint_cubin(source.cubin()) : lint::lint(membar::ptx::read_ptx(source.text(nvcc_options)));
  } catch (const std::exception& e) {
    result.error = e.what();
  }
  return result;
}

/// Lints texts on several threads. `take` receives the results in order.
template <class Take>
void lint_all(const std::vector<ptx_source>& sources, const options& how, progress_line& progress, const Take& take) {
  std::vector<std::optional<linted_ptx>> done(sources.size());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::condition_variable one_more;
  const auto work = [&] {
    for (std::size_t k = next++; k < sources.size(); k = next++) {
      linted_ptx one = lint_ptx(sources[k], how.nvcc_options);
      const std::lock_guard lock(mutex);
      done[k] = std::move(one);
      one_more.notify_all();
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t k = 0; k < std::min<std::size_t>(how.jobs, sources.size()); ++k) {
    threads.emplace_back(work);
  }
  const bool in_files = std::ranges::all_of(sources, [](const ptx_source& s) { return s.number == 0; });
  for (std::size_t k = 0; k < sources.size(); ++k) {
    linted_ptx one;
    {
      std::unique_lock lock(mutex);
      one_more.wait(lock, [&] { return done[k].has_value(); });
      one = std::move(*done[k]);
    }
    progress.is_at(k + 1, sources.size(), in_files ? "files" : "images");
    take(sources[k], one);
  }
}

class lint_report {
 public:
  explicit lint_report(const options& how) : how_(how), allowed_(how.allow) {}

  void take(const ptx_source& source, const linted_ptx& one) {
    if (!one.error.empty()) {
      const std::string kind = source.machine_code ? "machine code " : "PTX ";
      take_error(source.file, (source.number == 0 ? "" : kind + std::to_string(source.number) + ": ") + one.error);
      return;
    }
    (source.machine_code ? machine_kernels_ : kernels_) += one.found.kernels;
    if (one.found.kernels == 0 && source.is_source_of_kernels()) {
      without_kernels_.push_back(
          {{"file", source.file}, {"reason", "the PTX contains no kernel: " + std::string(how_to_instantiate)}});
    }
    for (const auto& [kernel, why] : one.found.not_read) {
      not_read_.push_back({{"file", source.file}, {"kernel", kernel}, {"reason", why}});
    }
    for (const lint::finding& f : one.found.findings) {
      add(source, f);
    }
  }
  void take_error(const std::string& file, const std::string& why) { errors_.push_back({{"file", file}, {"reason", why}}); }
  void take_machine_code(const std::string& file, int images) {
    machine_code_only_.push_back({{"file", file}, {"images", images}});
    images_without_ptx_ += images;
  }

  [[nodiscard]] int end() {
    for (const json& one : errors_) {
      std::cerr << "membar-check: " << one["file"].get<std::string>() << ": " << one["reason"].get<std::string>() << "\n";
    }
    if (how_.format == "json") {
      json all = {{"format", "membar-check lint"},
                  {"format_version", lint_format_version},
                  {"kernels", kernels_},
                  {"machine_code_kernels", machine_kernels_},
                  {"warnings", json::array()},
                  {"not_read", not_read_},
                  {"machine_code_only", machine_code_only_},
                  {"without_kernels", without_kernels_},
                  {"errors", errors_}};
      for (const auto& [key, one] : found_) {
        all["warnings"].push_back(one);
      }
      std::cout << all.dump(2) << "\n";
    } else if (how_.format == "sarif") {
      write_sarif();
    } else {
      say();
    }
    allowed_.report_unused();
    return !errors_.empty() ? 2 : fails_ ? 1 : 0;
  }

 private:
  /// Returns the advice for fixing a finding.
  [[nodiscard]] static std::string fix_of(const lint::finding& f) {
    const auto of = std::ranges::find_if(lint::rules(), [&](const lint::rule& r) { return r.name == f.rule; });
    return f.fix.empty() ? std::string(of->fix) : f.fix;
  }

  void add(const ptx_source& source, const lint::finding& f) {
    const auto at_least = [&](const std::string& word) { return word_of(f.sure) == word || f.sure > sure_of(word); };
    const bool is_allowed = allowed_.allow(f);
    if (!at_least(how_.show)) {
      return;
    }
    if (is_allowed) {
      ++suppressed_;
      return;
    }
    fails_ = fails_ || at_least(how_.fail_on);
    // All instances of a template have the same source lines.
    const auto [text, line] = shown(f.at);
    const std::tuple key(line == 0 ? source.file + "\n" + f.kernel : text, line, std::string(f.rule), f.at.file, f.at.line);
    json one = {{"rule", f.rule},
                {"confidence", word_of(f.sure)},
                {"message", f.text},
                {"fix", fix_of(f)},
                {"kernel", demangled(f.kernel)},
                {"file", source.file},
                {"ptx", source.number},
                {"machine_code", source.machine_code},
                {"source", text},
                {"line", line},
                {"ptx_line", f.at.ptx_line},
                {"opcode", f.at.opcode},
                {"instances", 1},
                {"text", text_of(f.at, source.name())},
                {"related", json::array()}};
    for (const auto& [at, what] : f.related) {
      const auto [related_source, related_line] = shown(at);
      one["related"].push_back({{"what", what},
                                {"source", related_source},
                                {"line", related_line},
                                {"ptx_line", at.ptx_line},
                                {"text", text_of(at, source.name())}});
    }
    const auto [known, is_new] = found_.try_emplace(key, one);
    if (!is_new && f.sure > sure_of(known->second["confidence"].get<std::string>())) {  // the highest confidence is shown
      known->second = std::move(one);
    }
    std::set<std::string>& kernels = instances_[key];  // a kernel may contain several copies of an inlined function
    kernels.insert(source.name() + "\n" + f.kernel);
    known->second["instances"] = kernels.size();
  }

  void say() const {
    std::map<std::string, int> counts;
    for (const auto& [key, one] : found_) {
      const int instances = one["instances"].get<int>();
      std::cout << one["text"].get<std::string>() << "\n  " << one["confidence"].get<std::string>() << ": "
                << one["rule"].get<std::string>() << ": " << one["message"].get<std::string>()
                << "\n  fix: " << one["fix"].get<std::string>() << "\n";
      for (const json& related : one["related"]) {
        std::cout << "  " << related["what"].get<std::string>() << ": " << related["text"].get<std::string>() << "\n";
      }
      std::cout << "  in " << one["kernel"].get<std::string>()
                << (instances == 1   ? ""
                    : instances == 2 ? ", and one more instance"
                                     : ", and " + std::to_string(instances - 1) + " more instances")
                << "\n";
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
      std::cout << "; " << not_read_.size()
                << " could not be read; the reason for the first: " << not_read_[0]["reason"].get<std::string>();
    }
    std::cout << "\n";
    if (images_without_ptx_ != 0) {
      std::cout << images_without_ptx_ << (images_without_ptx_ == 1 ? " image has" : " images have")
                << " only machine code, the first in " << machine_code_only_[0]["file"].get<std::string>() << "; "
                << what_of_machine_code() << ": " << how_to_have_ptx << "\n";
    }
    if (!without_kernels_.empty()) {
      const std::string first = without_kernels_[0]["file"].get<std::string>();
      std::cout << (without_kernels_.size() == 1
                        ? first + " has __global__ functions, but its PTX has no kernel"
                        : std::to_string(without_kernels_.size()) +
                              " sources have __global__ functions, but their PTX has no kernel; the first is " + first)
                << ": " << how_to_instantiate << "\n";
    }
  }

  /// A warning is located at its source line, or at its PTX line if the PTX does not name a source. The level shows whether the
  /// warning's confidence affects the exit status.
  void write_sarif() const {
    std::vector<sarif_document::rule> rules;
    for (const lint::rule& r : lint::rules()) {
      rules.push_back({r.name, r.about});
    }
    sarif_document out(std::move(rules));
    const auto place = [](const json& at, const json& of) {
      const bool in_source = at["line"].get<int>() != 0;
      return sarif_document::location((in_source ? at["source"] : of["file"]).get<std::string>(),
                                      (in_source ? at["line"] : of["ptx_line"]).get<int>());
    };
    for (const auto& [key, one] : found_) {
      const std::string sure = one["confidence"].get<std::string>();
      json result = out.result(one["rule"].get<std::string>(),
                               sure == "high"     ? "error"
                               : sure == "medium" ? "warning"
                                                  : "note",
                               one["message"].get<std::string>() + ". Fix: " + one["fix"].get<std::string>());
      result["locations"] = json::array({place(one, one)});
      for (std::size_t k = 0; k < one["related"].size(); ++k) {
        json other = place(one["related"][k], one);
        other["id"] = k + 1;
        other["message"] = sarif_document::message(one["related"][k]["what"].get<std::string>());
        result["relatedLocations"].push_back(std::move(other));
      }
      result["properties"] = {{"kernel", one["kernel"]},
                              {"opcode", one["opcode"]},
                              {"instances", one["instances"]},
                              {"ptx", one["file"]},
                              {"machineCode", one["machine_code"]}};
      out.add(std::move(result));
    }
    for (const json& one : not_read_) {
      out.notify(
          one["file"].get<std::string>(), "warning",
          "the kernel " + demangled(one["kernel"].get<std::string>()) + " was not read: " + one["reason"].get<std::string>());
    }
    for (const json& one : machine_code_only_) {
      out.notify(one["file"].get<std::string>(), "warning",
                 std::to_string(one["images"].get<int>()) + " images have only machine code; " + what_of_machine_code() + ": " +
                     std::string(how_to_have_ptx));
    }
    for (const json& one : without_kernels_) {
      out.notify(one["file"].get<std::string>(), "warning", one["reason"].get<std::string>());
    }
    for (const json& one : errors_) {
      out.notify(one["file"].get<std::string>(), "error", one["reason"].get<std::string>());
    }
    out.write(std::cout);
  }

  /// Returns a clause that describes what was checked in code without PTX.
  [[nodiscard]] std::string what_of_machine_code() const {
    if (!has_nvdisasm()) {
      return "they were not linted (to check programmatic dependent launches in them, install nvdisasm, for example "
             "nvidia-cuda-nvdisasm from PyPI)";
    }
    return "only programmatic dependent launch was checked in them, in " + std::to_string(machine_kernels_) +
           (machine_kernels_ == 1 ? " kernel" : " kernels");
  }

  static lint::confidence sure_of(const std::string& word) {
    return static_cast<lint::confidence>(std::ranges::find(confidences, word) - std::begin(confidences));
  }

  const options& how_;
  suppressions allowed_;
  using finding_key = std::tuple<std::string, int, std::string, std::string, int>;
  std::map<finding_key, json> found_;
  std::map<finding_key, std::set<std::string>> instances_{};  ///< the kernels that have a finding
  json not_read_ = json::array(), machine_code_only_ = json::array(), without_kernels_ = json::array(), errors_ = json::array();
  int kernels_ = 0, machine_kernels_ = 0, suppressed_ = 0, images_without_ptx_ = 0;
  bool fails_ = false;
};

/// Lints the inputs one after another, each on several threads. Returns the exit status.
int lint_inputs(const options& how) {
  lint_report out(how);
  {
    const bool several = how.inputs.size() != 1;
    progress_line progress(several ? std::to_string(how.inputs.size()) + " inputs" : how.inputs[0], true, several);
    std::vector<ptx_source> sources;
    for (const std::string& input : how.inputs) {
      try {
        device_code code = code_in(input, has_nvdisasm());
        std::ranges::move(code.ptx, std::back_inserter(sources));
        std::ranges::move(code.machine_code, std::back_inserter(sources));
        for (const auto& [file, images] : code.machine_code_only) {
          out.take_machine_code(file, images);
        }
        for (const auto& [file, why] : code.errors) {
          out.take_error(file, why);
        }
      } catch (const std::exception& e) {
        out.take_error(input, e.what());
      }
    }
    require_source(how.nvcc_options, std::ranges::any_of(sources, &ptx_source::is_source));
    progress.begins("being linted");
    lint_all(sources, how, progress, [&](const ptx_source& source, const linted_ptx& one) { out.take(source, one); });
  }
  return out.end();
}

}  // namespace

int lint_command(const std::vector<std::string>& words) {
  CLI::App app(
      "Looks for error patterns in kernels without running them. A PATH is PTX, CUDA C++ (.cu, which nvcc compiles), a cubin,\n"
      "fatbin, object, library or wheel, or a folder of such files.",
      "membar-check lint");
  app.formatter(std::make_shared<command_help>("membar-check lint [OPTION...] PATH..."));
  options how;
  const CLI::IsMember levels(std::vector<std::string>(std::begin(confidences), std::end(confidences)));
  app.add_option(
      "files", how.inputs,
      "PTX (.ptx), CUDA C++ (.cu, compiled by nvcc), cubins, fatbins, objects, libraries and wheels, folders of such files");
  app.add_option("--format", how.format, "the format of the report (text)")->check(CLI::IsMember({"text", "json", "sarif"}));
  app.add_option("--show", how.show, "show warnings of at least this confidence (medium)")->check(levels);
  app.add_option("--fail-on", how.fail_on, "exit with 1 if there is a warning of at least this confidence (high)")
      ->check(levels);
  app.add_option("--allow", how.allow,
                 "a file of warnings to hide; each line contains a rule and parts of places or kernel names")
      ->type_name("FILE");
  app.add_option("--jobs", how.jobs, "lint N PTX texts at the same time (one per core)")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U));
  add_nvcc_options(app, how.nvcc_options);
  app.add_flag("--rules", how.list_rules, "print the rules");
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
    return lint_inputs(how);
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
