// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The command `membar-litmus`, which evaluates litmus tests under the PTX memory model and runs them on GPUs.
#include <litmus/equal_threads.hpp>
#include <litmus/explain.hpp>
#include <litmus/files.hpp>
#include <litmus/json_document.hpp>
#include <litmus/search_bounds.hpp>
#include <membar-litmus/options.hpp>
#include <membar-litmus/run.hpp>

#include <membar/model/outcomes.hpp>

#include <common/quote.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace membar::litmus_files {

namespace {

/// The verdict for one file.
struct answer {
  std::string error{};  ///< the reason why there is no verdict; empty if there is one
  bool holds = false;
  bool bounded = false;     ///< whether longer executions were omitted
  std::string warnings{};   ///< the lines to print on standard error
  std::string data_race{};  ///< a description of a data race; empty if no execution has one
};

/// Returns the message of an exception on a single line, without control characters.
[[nodiscard]] std::string shown(const std::exception& e) {
  return membar_tools::shortened(e.what(), membar_tools::most_of_a_message - 3);
}

/// Returns the test in a file. Its instructions have the meaning that the chosen readings give them.
[[nodiscard]] model::litmus_test test_of(const std::string& path, const request& asked) {
  model::litmus_test test = read_test(path, asked.strict);
  asked.readings.apply(test);
  return test;
}

/// Calls `use` with the model's rules. They are compile-time constants unless another reading is requested.
template <class Use>
[[nodiscard]] auto with_rules(const request& asked, const Use& use) {
  return asked.readings ? use(asked.readings.rules()) : use(model::every_rule{});
}

[[nodiscard]] answer verdict_of(const std::string& path, const request& asked) {
  answer result;
  try {
    const model::litmus_test test = test_of(path, asked);
    result.warnings = warnings_of(path, test);
    const auto [found, race] = with_rules(asked, [&](const auto& rules) {
      const model::test_view view = test.view();
      search_bounds bounds(asked.seconds, equal_threads(view.program));
      model::search_options search = asked.search;
      search.control = &bounds;
      return std::pair{model::decide(test, search, rules), model::look_for_race(view.program, 0, rules).found};
    });
    result.holds = found.holds;
    // if the state was found, longer executions are not needed
    result.bounded = found.counts.cut.thread >= 0 && !found.reachable;
    result.data_race = race ? race_text(test, race) : "";
  } catch (const std::exception& e) {
    result.error = shown(e);
  }
  return result;
}

[[nodiscard]] std::string json_of(const std::string& file, const answer& one) {
  nlohmann::ordered_json out = document("verdict");
  out["file"] = file;
  if (!one.error.empty()) {
    out["error"] = one.error;
  } else {
    out["holds"] = one.holds;
    out["bounded"] = one.bounded;
    out["race"] = one.data_race.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(one.data_race);
  }
  return text_of(out) + "\n";
}

[[nodiscard]] std::vector<answer> verdicts_of(const std::vector<std::string>& files, const request& asked) {
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
  return answers;
}

[[nodiscard]] int verdict(const std::vector<std::string>& files, const request& asked) {
  const bool json = asked.format == explanation_format::json;
  const std::vector<answer> answers = verdicts_of(files, asked);
  if (!json && !files.empty() && isatty(STDOUT_FILENO) != 0) {  // the header is only for users at a terminal
    std::cout << "file\tverdict (1: the quantified condition holds, 0: it does not)\n";
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    const answer& one = answers[i];
    if (json) {
      std::cout << json_of(files[i], one);
    } else {
      std::cout << files[i] << '\t'
                << (!one.error.empty() ? "error: " + one.error
                                       : (one.holds ? "1" : "0") + std::string(one.bounded ? "\tbounded" : ""))
                << '\n';
    }
    std::cerr << one.warnings << (one.data_race.empty() ? "" : files[i] + ": data race: " + one.data_race + "\n");
  }
  return std::all_of(answers.begin(), answers.end(), [](const answer& one) { return one.error.empty(); }) ? 0 : 2;
}

/// Calls `use` for each file and its test, and reports files with errors.
[[nodiscard]] int for_each_test(const std::vector<std::string>& files, const request& asked,
                                const std::function<void(const std::string&, const model::litmus_test&)>& use) {
  int status = 0;
  for (const std::string& file : files) {
    try {
      const model::litmus_test test = test_of(file, asked);
      std::cerr << warnings_of(file, test);
      use(file, test);
    } catch (const std::exception& e) {
      print_error(file, shown(e).c_str());
      status = 2;
    }
  }
  return status;
}

void print_outcomes(const std::string& file, const model::litmus_test& test, const request& asked) {
  model::statistics counts;
  const std::vector<std::string> lines = with_rules(asked, [&](const auto& rules) {
    const model::test_view view = test.view();
    search_bounds bounds(asked.seconds, equal_threads(view.program));
    model::search_options search = asked.search;
    search.control = &bounds;
    return model::outcomes(test, search, &counts, rules);
  });
  const bool bounded = counts.cut.thread >= 0;
  if (asked.format == explanation_format::json) {
    nlohmann::ordered_json out = document("outcomes");
    out["file"] = file;
    out["test"] = test.name;
    out["outcomes"] = lines;
    out["bounded"] = bounded;
    std::cout << text_of(out) << '\n';
  } else {
    for (const std::string& line : lines) {
      std::cout << line << '\n';
    }
  }
  if (bounded) {
    std::cerr << "membar-litmus: bounded: the verdict omits runs that jump back a second time at line " << counts.cut.line
              << '\n';
  }
}

[[nodiscard]] int run(const request& asked, const std::vector<std::string>& files) {
  run_request run = asked.run;
  run.files = files;
  return run.source ? print_sources(run) : run.compile_for != 0 ? compile_only(run) : files.empty() ? not_run : run_on_gpu(run);
}

[[nodiscard]] int execute(const request& asked, const std::vector<std::string>& files) {
  switch (asked.command) {
    case command::verdict:
      return verdict(files, asked);
    case command::outcomes:
      return for_each_test(files, asked,
                           [&](const std::string& file, const model::litmus_test& test) { print_outcomes(file, test, asked); });
    case command::explain:
      return for_each_test(files, asked, [&](const std::string&, const model::litmus_test& test) {
        search_bounds bounds(asked.seconds, equal_threads());
        model::search_options search = asked.search;
        search.control = &bounds;
        std::cout << explain(test, asked.format, search, asked.readings.rules());
      });
    case command::run:
      return run(asked, files);
  }
  return 2;
}

}  // namespace

}  // namespace membar::litmus_files

int main(int count, char** arguments) {
  using namespace membar::litmus_files;
  const std::variant<request, int> read = read_command_line({arguments + 1, arguments + count});
  if (const int* const status = std::get_if<int>(&read)) {
    return *status;
  }
  const request& asked = std::get<request>(read);
  const file_list found = files_of(asked.paths);
  for (const std::string& folder : found.empty_folders) {
    print_error(folder, "the folder contains no *.litmus file");
  }
  const int status = execute(asked, found.files);
  return status == 0 && !found.empty_folders.empty() ? 2 : status;
}
