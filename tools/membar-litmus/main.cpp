// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The command `membar-litmus`: decides litmus tests by the PTX memory model, and runs them on the GPU.
#include <litmus/files.hpp>
#include <membar-litmus/run.hpp>

#include <litmus/explain.hpp>
#include <litmus/nearest_name.hpp>
#include <membar/model/outcomes.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

namespace model = membar::model;
using membar::litmus_files::file_list;
using membar::litmus_files::files_of;
using membar::litmus_files::read_test;
using membar::litmus_files::warnings_of;

constexpr std::string_view usage =
    "usage: membar-litmus verdict [--jobs=N] PATH...     PATH<TAB>1|0 per test: does the quantified condition hold?\n"
    "       membar-litmus outcomes PATH                  every final state that the model allows, one per line\n"
    "       membar-litmus explain [--json|--dot] PATH    one execution that shows the outcome, or the rule that forbids it\n"
    "       membar-litmus run [OPTION...] PATH...        run the tests on the GPU under stress; compare every outcome with the "
    "model\n"
    "A PATH may be a folder: every *.litmus in it and below is a test. Every command gives up on a test after --limit=N\n"
    "steps of the model's search (default 300000000, about a minute; 0: no limit). A loop that does more than wait is an\n"
    "error if it may jump back more than once; --bounded decides the shorter runs alone, and marks such a verdict.\n"
    "A location that is accessed and not declared gets a warning; with --strict it is an error.\n"
    "Options of run:\n"
    "  --seconds=S       how long each test runs (default 1)\n"
    "  --tune=S          first search S seconds for the parameters that show the condition's outcomes most often; the search\n"
    "                    begins with those of --params\n"
    "  --params=TEXT     run with these parameters, written as in a report; the others keep their defaults\n"
    "  --seed=N          seed of all random choices (default 1)\n"
    "  --json            print one JSON document per test, each on one line\n"
    "  --source          print the CUDA source of each test, and do not run it\n"
    "  --compile-for=CC  compile each test for this compute capability, such as 90, and do not run it\n"
    "  --cache=DIR       keep compiled tests in DIR, not in $XDG_CACHE_HOME/membar; --no-cache keeps none\n"
    "Exit status of run: 0 if the model allows every observed outcome, 1 if a forbidden outcome was observed, else 2 if a "
    "test\n"
    "did not run. Exit status of the other commands: 0, or 2 for an error.\n";

/// What every command reads of its options.
struct request {
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  bool strict = false;
  model::search_options search = 300'000'000;
};

struct answer {
  std::string text;
  bool decided = false;
  std::string remarks{};  ///< lines for the error stream
};

answer verdict_of(const std::string& path, const request& asked) {
  answer result;
  try {
    const model::litmus_test test = read_test(path, asked.strict);
    result.remarks = warnings_of(path, test);
    const model::decision found = model::decide(test, asked.search);
    const model::data_race race = model::look_for_race(test.view().program).found;
    // a state that was found needs no longer runs
    const bool bounded = found.counts.cut.thread >= 0 && !found.reachable;
    result.text = std::string(found.holds ? "1" : "0") + (bounded ? "\tbounded" : "");
    result.decided = true;
    result.remarks += race ? path + ": data race: " + membar::litmus_files::race_text(test, race) + "\n" : "";
  } catch (const std::exception& e) {
    result.text = std::string("error: ") + e.what();
  }
  return result;
}

int verdict(const std::vector<std::string>& files, const request& asked) {
  std::vector<answer> answers(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      answers[i] = verdict_of(files[i], asked);
    }
  };
  std::vector<std::thread> helpers;
  const std::size_t threads = std::min<std::size_t>(asked.jobs, files.size());
  for (std::size_t i = 1; i < threads; ++i) {
    helpers.emplace_back(work);
  }
  work();
  for (std::thread& helper : helpers) {
    helper.join();
  }
  bool all = true;
  if (!files.empty() && isatty(STDOUT_FILENO) != 0) {  // a program that reads the columns knows them
    std::cout << "file\tverdict (1: the quantified condition holds, 0: it does not)\n";
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::cout << files[i] << '\t' << answers[i].text << '\n';
    std::cerr << answers[i].remarks;
    all = all && answers[i].decided;
  }
  return all ? 0 : 2;
}

/// Calls `use` with every test, and reports those with an error.
template <class Use>
int for_each_test(const std::vector<std::string>& files, const request& asked, const Use& use) {
  int status = 0;
  for (const std::string& file : files) {
    try {
      const model::litmus_test test = read_test(file, asked.strict);
      std::cerr << warnings_of(file, test);
      use(test);
    } catch (const std::exception& e) {
      membar::litmus_files::print_error(file, e.what());
      status = 2;
    }
  }
  return status;
}

int refuse(const std::string& message) {
  std::cerr << "membar-litmus: " << message << '\n' << usage;
  return 2;
}

bool read_number(const std::string& text, std::uint64_t& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0 && *end == '\0' && errno == 0;
}

/// Reads a time in seconds that a run may take.
bool read_seconds(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && value > 0 && value <= 1e6;
}

/// "; the nearest is 'verdict'": what a mistyped word was most likely meant to be.
template <class Names>
std::string nearest(const std::string& word, const Names& names) {
  return word.empty() ? "" : "; the nearest is '" + membar::litmus_files::nearest_name(word, names) + "'";
}

constexpr std::string_view commands[] = {"verdict", "outcomes", "explain", "run"};
constexpr std::string_view options[] = {"--bounded", "--strict", "--limit=", "--jobs=", "--json", "--dot", "--help"};
constexpr std::string_view options_of_run[] = {"--seconds=",     "--tune=",  "--params=",  "--seed=",  "--json",   "--source",
                                               "--compile-for=", "--cache=", "--no-cache", "--strict", "--limit=", "--help"};

/// Reads an option of `run`; returns false if `word` is none. `wrong` becomes what is wrong with its value.
bool run_option(const std::string& word, membar::litmus_files::run_request& request, std::string& wrong) {
  const auto value_of = [&word](std::string_view name) { return word.substr(name.size()); };
  const auto is = [&word](std::string_view name) { return word.rfind(name, 0) == 0; };
  std::uint64_t number = 0;
  if (is("--seconds=")) {
    if (!read_seconds(value_of("--seconds="), request.seconds)) {
      wrong = "--seconds needs a time in seconds, more than 0 and at most 1000000";
    }
  } else if (is("--tune=")) {
    if (!read_seconds(value_of("--tune="), request.tune_seconds)) {
      wrong = "--tune needs a time in seconds, more than 0 and at most 1000000";
    }
  } else if (is("--seed=")) {
    if (!read_number(value_of("--seed="), request.seed)) {
      wrong = "--seed needs a number";
    }
  } else if (is("--params=")) {
    request.parameters = value_of("--params=");
  } else if (word == "--json") {
    request.json = true;
  } else if (word == "--source") {
    request.source = true;
  } else if (is("--compile-for=")) {
    if (!read_number(value_of("--compile-for="), number) || number < 50 || number > 999) {
      wrong = "--compile-for needs a compute capability without its point, such as 90";
    }
    request.compile_for = static_cast<int>(number);
  } else if (is("--cache=")) {
    request.cache = value_of("--cache=");
    if (request.cache->empty()) {
      wrong = "--cache needs a folder";
    }
  } else if (word == "--no-cache") {
    request.use_cache = false;
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  const std::string command = words.empty() ? "" : words[0];
  if (command == "--help" || command == "help") {
    std::cout << usage;
    return 0;
  }
  if (std::find(std::begin(commands), std::end(commands), command) == std::end(commands)) {
    return refuse(command.empty() ? "no command given" : "unknown command '" + command + "'" + nearest(command, commands));
  }
  std::vector<std::string> paths;
  request asked;
  membar::litmus_files::explanation_format format = membar::litmus_files::explanation_format::text;
  membar::litmus_files::run_request run;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (command == "run") {
      std::string wrong;
      if (run_option(word, run, wrong)) {
        if (!wrong.empty()) {
          return refuse(wrong);
        }
        continue;
      }
    }
    if (command != "run" && word.rfind("--jobs=", 0) == 0) {
      const int given = std::atoi(word.c_str() + 7);
      if (given < 1) {
        return refuse("--jobs needs a number, at least 1");
      }
      asked.jobs = static_cast<unsigned>(given);
    } else if (word.rfind("--limit=", 0) == 0) {
      if (!read_number(word.substr(8), asked.search.limit)) {
        return refuse("--limit needs a number");
      }
    } else if (word == "--bounded" && command != "run") {
      asked.search.bounded = true;
    } else if (word == "--strict") {
      asked.strict = true;
    } else if (word == "--json") {
      format = membar::litmus_files::explanation_format::json;
    } else if (word == "--dot" && command != "run") {
      format = membar::litmus_files::explanation_format::dot;
    } else if (word == "--help") {
      std::cout << usage;
      return 0;
    } else if (word.rfind("--", 0) == 0 && word.size() > 2) {
      const std::string name = word.substr(0, word.find('='));
      return refuse("unknown option '" + word + "'" +
                    (command == "run" ? nearest(name, options_of_run) : nearest(name, options)));
    } else if (word != "--") {
      paths.push_back(word);
    }
  }
  if (paths.empty()) {
    return refuse("no file given");
  }
  const file_list found = files_of(paths);
  for (const std::string& folder : found.empty_folders) {
    membar::litmus_files::print_error(folder, "the folder contains no *.litmus");
  }
  if (command == "run") {
    run.limit = asked.search.limit;
    run.strict = asked.strict;
    run.files = found.files;
    const int status = run.source             ? membar::litmus_files::print_sources(run)
                       : run.compile_for != 0 ? membar::litmus_files::compile_only(run)
                       : run.files.empty()    ? membar::litmus_files::not_run
                                              : membar::litmus_files::run_on_gpu(run);
    return status == membar::litmus_files::all_allowed && !found.empty_folders.empty() ? membar::litmus_files::not_run : status;
  }
  const auto with_folders = [&](int status) { return found.empty_folders.empty() ? status : 2; };
  if (command == "verdict") {
    return with_folders(verdict(found.files, asked));
  }
  if (command == "outcomes") {
    return with_folders(for_each_test(found.files, asked, [&](const model::litmus_test& test) {
      model::statistics counts;
      for (const std::string& line : model::outcomes(test, asked.search, &counts)) {
        std::cout << line << '\n';
      }
      if (counts.cut.thread >= 0) {
        std::cerr << "membar-litmus: bounded: runs with a second jump back at line " << counts.cut.line << " are left out\n";
      }
    }));
  }
  return with_folders(for_each_test(found.files, asked, [&](const model::litmus_test& test) {
    std::cout << membar::litmus_files::explain(test, format, asked.search);
  }));
}
