// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/counted.hpp>
#include <common/quote.hpp>
#include <common/temporary_folder.hpp>
#include <common/text_file.hpp>
#include <intercept/child.hpp>
#include <membar-check/command_help.hpp>
#include <membar-check/dependents.hpp>
#include <membar-check/nvcc.hpp>
#include <membar-check/record_command.hpp>
#include <membar-check/recorder/records.hpp>
#include <membar-check/recording.hpp>

#include <membar/model/error.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <regex.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

namespace membar_check {

namespace {

namespace fs = std::filesystem;
using membar::model::error;
using membar_tools::quote;

constexpr int not_started = 125;

struct record_request {
  std::string kernels{}, output = "membar-check-record", limit{}, from{};
  bool all = false, no_contents = false, build = false, dependents = false;
  std::vector<std::string> compared{};  ///< the files that the program writes
  unsigned runs = 3;
  recording_options how{};
  std::vector<std::string> program{};
};

void say(const std::string& sentence) { std::cerr << "membar-check: " << sentence << '\n'; }

/// Parses "1G", "200M", "64K" or a number of bytes.
std::uint64_t bytes_of(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(text.c_str(), &end, 10);
  const std::string unit = end;
  const unsigned shift = unit == "G" ? 30 : unit == "M" ? 20 : unit == "K" ? 10 : 0;
  if (text.empty() || text[0] < '0' || text[0] > '9' || errno != 0 || value == 0 || (shift == 0 && !unit.empty()) ||
      (value << shift) >> shift != value) {
    throw error("--limit needs a size, such as 1G, 200M or a number of bytes: " + quote(text) + " was given");
  }
  return value << shift;
}

void check_pattern(const std::string& pattern) {
  regex_t compiled;
  if (const int wrong = regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB); wrong != 0) {
    char why[200] = {};
    regerror(wrong, &compiled, why, sizeof why);
    throw error("--kernels needs an extended regular expression, for example 'scan|reduce', but " + quote(pattern) +
                " is not one (" + why + ")");
  }
  regfree(&compiled);
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

using variables = std::vector<std::pair<std::string, std::string>>;

/// Returns the environment variables for recording a program into the folder.
variables recording_variables(const record_request& asked, const fs::path& folder) {
  namespace record = membar_record;
  const unsigned flags = (asked.all ? record::flag_all : 0U) | (asked.no_contents ? record::flag_no_contents : 0U) |
                         (asked.dependents ? record::flag_dependents : 0U);
  variables out{{"LD_PRELOAD", membar::intercept::preload_value(
                                   membar::intercept::library_path("libmembar_record.so", MEMBAR_RECORD_LIBRARY_FOLDER))},
                {record::environment::folder, folder.string()},
                {record::environment::kernels, asked.kernels},
                {record::environment::flags, std::to_string(flags)}};
  if (!asked.limit.empty()) {
    out.emplace_back(record::environment::limit, std::to_string(bytes_of(asked.limit)));
  }
  // CuPy's disk cache contains only machine code. Without the cache, CuPy compiles with NVRTC, which provides the PTX.
  if (variable("CUPY_CACHE_IN_MEMORY").empty()) {
    out.emplace_back("CUPY_CACHE_IN_MEMORY", "1");
  }
  // JAX's cache, if the program uses one, also contains only machine code.
  if (variable("JAX_ENABLE_COMPILATION_CACHE").empty()) {
    out.emplace_back("JAX_ENABLE_COMPILATION_CACHE", "0");
  }
  out.emplace_back(record::environment::xla, (folder / "xla").string());
  return out;
}

/// Returns the environment variables for a build that keeps PTX.
variables building_variables() {
  const std::string nvcc = variable("NVCC_APPEND_FLAGS");
  const std::string torch = variable("TORCH_CUDA_ARCH_LIST");
  const bool has_ptx = torch.find("+PTX") != std::string::npos;
  return {{"NVCC_APPEND_FLAGS", nvcc + (nvcc.empty() ? "" : " ") + "-gencode arch=compute_90,code=compute_90"},
          {"TORCH_CUDA_ARCH_LIST", torch.empty() ? "9.0+PTX"
                                   : has_ptx     ? torch
                                                 : torch + "+PTX"}};
}

void say_recorded(const recording& of) {
  constexpr std::size_t most = 8;
  std::string files;
  for (std::size_t i = 0; i < std::min(most, of.scenarios.size()); ++i) {
    files += (i == 0 ? ": " : " ") + of.scenarios[i];
  }
  files += of.scenarios.size() > most ? " and " + std::to_string(of.scenarios.size() - most) + " more" : "";
  say("recorded " + membar_tools::counted(of.kernels, "kernel") + " in " + membar_tools::counted(of.launches, "launch") +
      files);
  for (const std::string& sentence : of.sentences) {
    say(sentence);
  }
  if (!of.used_cuda) {
    say("The program did not initialize CUDA, so nothing was recorded: run it on a machine with a GPU and NVIDIA's driver "
        "(libcuda.so.1). Statically linked and set-user-ID programs cannot be recorded");
  } else if (of.scenarios.empty()) {
    say("No launch was recorded. By default, membar-check record selects the kernels whose PTX has an atomic operation, a "
        "fence, an ordered or volatile access, an mbarrier, an asynchronous copy or a programmatic launch; --kernels=REGEX and "
        "--all select others");
  } else if (of.has_contents) {
    say("The recording contains the program's data, and only you can read its files. --no-contents keeps only shapes and "
        "pointers, and --unknown-floats omits floats");
  }
}

int write_from(const fs::path& records, const record_request& asked) {
  say_recorded(write_recording(records, asked.output, asked.how));
  return 0;
}

/// Prints a table of a program's programmatic dependent launches. Returns whether something is wrong.
bool say_dependents(const fs::path& records) {
  const dependents_report report = dependents_of(jobs_of(records));
  std::cout << report.text() << std::flush;
  for (const std::string& sentence : report.sentences) {
    say(sentence);
  }
  return std::ranges::any_of(report.rows, [](const dependent_row& r) { return r.verdict == dependent_row::verdict_t::wrong; });
}

/// Runs the program and returns the contents of the files that it has written, in the order in which the user named them.
std::vector<std::string> outputs_of(const record_request& asked, const variables& with) {
  std::vector<fs::file_time_type> before;
  std::error_code missing;
  for (const std::string& file : asked.compared) {
    before.push_back(fs::last_write_time(file, missing));
  }
  const membar::intercept::outcome ended = membar::intercept::run(asked.program, with);
  if (ended.status != 0) {
    throw error("the outputs were not compared, because the program ended with status " + std::to_string(ended.status));
  }
  std::vector<std::string> out;
  for (std::size_t k = 0; k < asked.compared.size(); ++k) {
    const std::string& file = asked.compared[k];
    if (fs::last_write_time(file, missing) == before[k] || missing) {
      throw error("the program did not write " + quote(file) + ": with --compare, name files that the program writes");
    }
    out.push_back(membar_tools::read_file(file));
  }
  return out;
}

/// Runs the program with and without the attribute for programmatic dependent launch, and compares the files that it writes.
/// Returns whether they differ.
bool compare_outputs(const record_request& asked) {
  const variables stripped{{"LD_PRELOAD", membar::intercept::preload_value(membar::intercept::library_path(
                                              "libmembar_record.so", MEMBAR_RECORD_LIBRARY_FOLDER))},
                           {membar_record::environment::flags, std::to_string(membar_record::flag_strip)}};
  const std::vector<std::string> right = outputs_of(asked, stripped);
  const std::vector<std::string> again = outputs_of(asked, stripped);
  std::vector<unsigned> differ(right.size(), 0);
  for (unsigned run = 0; run < asked.runs; ++run) {
    const std::vector<std::string> out = outputs_of(asked, {});
    for (std::size_t k = 0; k < out.size(); ++k) {
      differ[k] += out[k] == right[k] ? 0 : 1;
    }
  }
  bool wrong = false;
  for (std::size_t k = 0; k < right.size(); ++k) {
    std::cout << asked.compared[k] << '\t';
    if (right[k] != again[k]) {
      std::cout << "differs between two runs without programmatic dependent launches, so it cannot be compared\n";
      continue;
    }
    std::cout << (differ[k] == 0 ? "equal in " + std::to_string(asked.runs)
                                 : "differs in " + std::to_string(differ[k]) + " of " + std::to_string(asked.runs))
              << (asked.runs == 1 ? " run" : " runs") << (differ[k] == 0 ? " to" : " from")
              << " the output without programmatic dependent launches\n";
    wrong = wrong || differ[k] != 0;
  }
  return wrong;
}

int run_recorded(const record_request& asked) {
  const membar_tools::temporary_folder folder("membar-record");
  const membar::intercept::outcome ended =
      membar::intercept::run(asked.program, asked.build ? building_variables() : recording_variables(asked, folder.path()));
  if (!ended.started) {
    say(quote(asked.program[0]) + " could not be started (" +
        (ended.status == 127 ? "there is no such program" : "it cannot be executed") + "): give its path after --");
    return ended.status;
  }
  if (asked.build) {
    return ended.status;
  }
  if (asked.dependents) {
    const bool wrong = say_dependents(folder.path());
    const bool differs = !asked.compared.empty() && compare_outputs(asked);
    return ended.status != 0 ? ended.status : wrong || differs ? 1 : 0;
  }
  try {
    static_cast<void>(write_from(folder.path(), asked));
  } catch (const std::exception& e) {
    say(e.what());
  }
  return ended.status;
}

/// Splits the words at "--" and stores the words after it in `behind`.
std::vector<std::string> split(const std::vector<std::string>& words, std::vector<std::string>& behind) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  behind.assign(dashes == words.end() ? dashes : dashes + 1, words.end());
  return {words.begin(), dashes};
}

}  // namespace

int record_command(const std::vector<std::string>& words) {
  CLI::App app("Runs a program and records the kernels that it launches as scenarios.", "membar-check record");
  app.formatter(std::make_shared<command_help>("membar-check record [OPTION...] -- PROGRAM [ARGUMENT...]"));
  record_request asked;
  app.add_option("--kernels", asked.kernels, "record the kernels whose names match (default: those whose PTX synchronizes)")
      ->type_name("REGEX");
  app.add_flag("--all", asked.all, "record all kernels, including those that do not synchronize");
  app.add_option("--output", asked.output, "write the recording to this folder (membar-check-record)")->type_name("DIR");
  app.add_option("--limit", asked.limit, "write at most this many bytes, for example 200M (1G)")->type_name("SIZE");
  app.add_flag("--no-contents", asked.no_contents, "record shapes and pointers, but not the contents of memory");
  app.add_flag("--unknown-floats", asked.how.unknown_floats, "record values that may be floats as unknown values");
  app.add_flag("--shrink", asked.how.shrink,
               "if a launch is too large to explore, record it with fewer blocks, where possible");
  app.add_flag("--build", asked.build,
               "PROGRAM is a build command: make nvcc and PyTorch keep the PTX in their output, and record nothing");
  app.add_flag(
      "--pdl", asked.dependents,
      "report the programmatic dependent launches that access the memory of preceding kernels too early; record no scenarios");
  app.add_option("--compare", asked.compared,
                 "with --pdl: compare this file, which PROGRAM writes, with the file that it writes without programmatic "
                 "dependent launches")
      ->type_name("FILE");
  app.add_option("--runs", asked.runs, "with --compare: the number of runs to compare (3)")->check(CLI::Range(1U, 1000U));
  app.add_option("--from", asked.from, "write the scenarios for records that the Python package wrote")
      ->type_name("DIR")
      ->group("");
  try {
    std::vector<std::string> own = split(words, asked.program);
    std::reverse(own.begin(), own.end());
    app.parse(std::move(own));
    if (!asked.kernels.empty()) {
      check_pattern(asked.kernels);
    }
    if (!asked.compared.empty() && !asked.dependents) {
      throw error(
          "--compare needs --pdl, because it compares runs with and without programmatic dependent launches: add --pdl");
    }
    if (!asked.from.empty()) {
      return write_from(asked.from, asked);
    }
    if (asked.program.empty()) {
      throw error("record needs a program: membar-check record [OPTION...] -- PROGRAM [ARGUMENT...]");
    }
    return run_recorded(asked);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const std::exception& e) {
    say(e.what());
  }
  return not_started;
}

int attach_command(const std::vector<std::string>& words) {
  CLI::App app("Adds the PTX of a source to recorded scenarios that have no PTX.", "membar-check attach");
  app.footer("membar-check attach [OPTION...] NAME.scenario... --source FILE [-- NVCC_OPTION...]");
  std::vector<std::string> scenarios;
  std::vector<std::string> options;
  std::string source;
  app.add_option("scenarios", scenarios, "recorded scenarios")->type_name("FILE");
  app.add_option("--source", source, "CUDA C++ (.cu), which nvcc compiles with the options after --, or PTX (.ptx)")
      ->type_name("FILE");
  add_nvcc_options(app, options);
  try {
    std::vector<std::string> own = split(words, options);
    std::reverse(own.begin(), own.end());
    app.parse(std::move(own));
    if (scenarios.empty() || source.empty()) {
      throw error(
          "attach needs a recorded scenario and a source: membar-check attach NAME.scenario --source FILE.cu [-- "
          "NVCC_OPTION...]");
    }
    const bool is_ptx = fs::path(source).extension() == ".ptx";
    require_source(options, !is_ptx);
    const std::string ptx = is_ptx ? membar_tools::read_file(source) : compiled("", source, options);
    for (const std::string& scenario : scenarios) {
      std::cout << scenario << "\t" << attach_ptx(scenario, ptx) << "\n";
    }
    return 0;
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const std::exception& e) {
    say(e.what());
  }
  return 2;
}

}  // namespace membar_check
