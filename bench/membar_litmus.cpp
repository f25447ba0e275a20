// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The command `membar-litmus`: verdicts, outcomes and explanations of litmus tests by the PTX memory model.
#include <membar/model/explain.hpp>
#include <membar/model/litmus_file.hpp>
#include <membar/model/outcomes.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace {

namespace model = membar::model;
namespace fs = std::filesystem;

constexpr std::string_view usage =
    "usage: membar-litmus verdict [--jobs=N] PATH...     PATH<TAB>1|0 per test: does the quantified condition hold?\n"
    "       membar-litmus outcomes PATH                  every final state that the model allows, one per line\n"
    "       membar-litmus explain [--json|--dot] PATH    one execution that shows the outcome, or the rule that forbids it\n"
    "       membar-litmus run PATH...                    the tests on the GPU\n"
    "A PATH may be a folder; it is searched for *.litmus.\n";

/// The files a path stands for: itself, or the tests below a folder in the order of their names.
std::vector<std::string> files_of(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    return {path};
  }
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, ignored), end; entry != end;
       entry.increment(ignored)) {
    if (entry->path().extension() == ".litmus" && !entry->is_directory(ignored)) {
      files.push_back(entry->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_of(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || fs::is_directory(path, ignored)) {
    throw model::error("cannot open the file");
  }
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) {
    throw model::error("cannot read the file");
  }
  return text;
}

struct answer {
  std::string text;
  bool decided = false;
};

answer verdict_of(const std::string& path) {
  try {
    return {model::decide(model::read_litmus(text_of(path))).holds ? "1" : "0", true};
  } catch (const std::exception& e) {
    return {std::string("error: ") + e.what(), false};
  }
}

int verdict(const std::vector<std::string>& paths, unsigned jobs) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const std::vector<std::string> below = files_of(path);
    files.insert(files.end(), below.begin(), below.end());
  }
  std::vector<answer> answers(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      answers[i] = verdict_of(files[i]);
    }
  };
  std::vector<std::thread> helpers;
  const std::size_t wanted = std::min<std::size_t>(jobs, files.size());
  for (std::size_t i = 1; i < wanted; ++i) {
    helpers.emplace_back(work);
  }
  work();
  for (std::thread& helper : helpers) {
    helper.join();
  }
  bool all = true;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::cout << files[i] << '\t' << answers[i].text << '\n';
    all = all && answers[i].decided;
  }
  return all ? 0 : 2;
}

/// Runs `answer` on every test below the paths and reports the ones that cannot be read.
template <class Answer>
int for_each_test(const std::vector<std::string>& paths, const Answer& use) {
  int status = 0;
  for (const std::string& path : paths) {
    for (const std::string& file : files_of(path)) {
      try {
        use(model::read_litmus(text_of(file)));
      } catch (const std::exception& e) {
        std::cerr << file << "\terror: " << e.what() << '\n';
        status = 2;
      }
    }
  }
  return status;
}

int complain(const std::string& message) {
  std::cerr << "membar-litmus: " << message << '\n' << usage;
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  std::vector<std::string> paths;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  model::explanation_format format = model::explanation_format::text;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.rfind("--jobs=", 0) == 0) {
      const int given = std::atoi(word.c_str() + 7);
      if (given < 1) {
        return complain("--jobs wants a number, at least 1");
      }
      jobs = static_cast<unsigned>(given);
    } else if (word == "--json") {
      format = model::explanation_format::json;
    } else if (word == "--dot") {
      format = model::explanation_format::dot;
    } else if (word.rfind("--", 0) == 0 && word.size() > 2) {
      return complain("unknown option '" + word + "'");
    } else if (word != "--") {
      paths.push_back(word);
    }
  }
  const std::string command = words.empty() ? "" : words[0];
  if (command == "--help" || command == "help") {
    std::cout << usage;
    return 0;
  }
  if (command != "verdict" && command != "outcomes" && command != "explain" && command != "run") {
    return complain(command.empty() ? "no command given" : "unknown command '" + command + "'");
  }
  if (command == "run") {
    std::cerr << "membar-litmus: this executable was built without the GPU engine, so it cannot run tests on a GPU.\n";
    return 2;
  }
  if (paths.empty()) {
    return complain("no file given");
  }
  if (command == "verdict") {
    return verdict(paths, jobs);
  }
  if (command == "outcomes") {
    return for_each_test(paths, [](const model::litmus_test& test) {
      for (const std::string& line : model::outcomes(test)) {
        std::cout << line << '\n';
      }
    });
  }
  return for_each_test(paths, [&](const model::litmus_test& test) { std::cout << model::explain(test, format); });
}
