// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The conformance suite: tests of the headers' guarantees, run on the GPU under stress together with their controls.
#include "output.hpp"

#include <bench/common/machine_context.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using namespace conformance;

constexpr std::string_view usage =
    "usage: conformance [option...]\n"
    "  --list             print the guarantees and their controls, and run nothing; with --json also the type of each kernel\n"
    "  --filter=REGEX     only guarantees whose family/name matches, and their controls\n"
    "  --tests=FILE       only guarantees named in FILE, one per line, and their controls\n"
    "  --only=ROLE        only guarantees, or only controls\n"
    "  --test=NAME        only this guarantee or control, by its whole name; repeatable\n"
    "  --seconds=S        time per test, over all parameters (1)\n"
    "  --instances=N      instances of all tests of all parts together; each test also ends after --seconds (then 60)\n"
    "  --seed=N           seed of parameters and layouts (1)\n"
    "  --draws=N          sets of parameters that are drawn per test (4)\n"
    "  --parameters=TEXT  a set of parameters to begin with, written as in the results; repeatable\n"
    "  --tune=S           seconds of search for the best parameters, per shape and place (0)\n"
    "  --minutes=M        no test begins after M minutes; the results are still written\n"
    "  --part=K/N         the K-th of each N guarantees, counted from 1; the results of all parts belong together\n"
    "  --hunt=S           run guarantees in turns of --seconds (then 0.2) until one is broken or S seconds are over\n"
    "  --json[=FILE]      write the results as JSON, to FILE or instead of the lines\n"
    "Exit status: 0 no forbidden outcome; 1 one was observed; 2 a test failed to run, or an option is wrong; 77 no GPU.\n";

struct options {
  plan how{};
  bool list = false;
  bool json = false;
  std::string json_file;
  std::string selection;                ///< The options that select tests.
  std::string command = "conformance";  ///< The command line, except for options that name output files.
};

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument("conformance: " + why); }

template <class Number>
Number number_in(std::string_view option, std::string_view text, Number least, Number most) {
  Number value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  // The comparison in this form also rejects NaN.
  if (failed != std::errc{} || end != text.data() + text.size() || !(value >= least && value <= most)) {
    refuse(std::string(option) + std::string(text) + ": a number of at least " +
           printed("%.12g and at most %.12g is expected", static_cast<double>(least), static_cast<double>(most)));
  }
  return value;
}

/// Parses seconds or minutes, up to the largest time that clocks can add.
double time_in(std::string_view option, std::string_view text, double least) {
  return number_in<double>(option, text, least, 1e9);
}

/// Parses a number of instances, which may be written as 2e11.
std::uint64_t count_in(std::string_view option, std::string_view text) {
  return static_cast<std::uint64_t>(number_in<double>(option, text, 1, 1e18));
}

std::set<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    refuse("--tests=" + path + ": the file cannot be read");
  }
  std::set<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.insert(line);
  }
  return lines;
}

options read_options(int argc, char** argv) {
  options read;
  plan& how = read.how;
  std::optional<std::regex> filter;
  std::optional<std::set<std::string>> tests;
  std::optional<double> seconds;
  std::string only;
  using text = std::string_view;
  const std::map<text, std::function<void(text option, text value)>> readers = {
      {"--list", [&](text, text) { read.list = true; }},
      {"--json", [&](text, text) { read.json = true; }},
      {"--json=", [&](text, text value) { read.json_file = value; }},
      {"--filter=",
       [&](text option, text value) {
         try {
           filter.emplace(std::string(value));
         } catch (const std::regex_error&) {
           refuse(std::string(option) + std::string(value) + " is not a regular expression");
         }
       }},
      {"--tests=", [&](text, text value) { tests = lines_of(std::string(value)); }},
      {"--test=", [&](text, text value) { how.tests.emplace(value); }},
      {"--only=",
       [&](text, text value) {
         only = value;
         if (only != "guarantees" && only != "controls") {
           refuse("--only=" + only + ": write guarantees or controls");
         }
       }},
      {"--seconds=", [&](text option, text value) { seconds = time_in(option, value, 1e-3); }},
      {"--instances=", [&](text option, text value) { how.instances = count_in(option, value); }},
      {"--seed=", [&](text option, text value) { how.seed = number_in(option, value, std::uint64_t{0}, ~std::uint64_t{0}); }},
      {"--draws=", [&](text option, text value) { how.draws = number_in(option, value, 0, 1000); }},
      {"--parameters=", [&](text, text value) { how.given.push_back(membar::litmus::parse_parameters(value)); }},
      {"--tune=", [&](text option, text value) { how.tune_seconds = time_in(option, value, 0); }},
      {"--minutes=", [&](text option, text value) { how.minutes = time_in(option, value, 0); }},
      {"--part=",
       [&](text option, text value) {
         constexpr std::size_t most = 1000;
         const std::size_t slash = std::min(value.find('/'), value.size());
         how.part = number_in<std::size_t>(option, value.substr(0, slash), 1, most) - 1;
         how.parts = number_in(option, value.substr(std::min(slash + 1, value.size())), how.part + 1, most);
       }},
      {"--hunt=", [&](text option, text value) { how.hunt_seconds = time_in(option, value, 1e-3); }},
  };
  for (const text argument : std::vector<text>(argv + 1, argv + argc)) {
    const std::size_t equals = argument.find('=');
    const text option = argument.substr(0, equals == text::npos ? equals : equals + 1);
    const auto known = readers.find(option);
    if (known == readers.end()) {
      refuse(std::string(argument) + " is not an option\n" + std::string(usage));
    }
    known->second(option, argument.substr(option.size()));
    read.command += option.starts_with("--json") ? "" : " " + std::string(argument);
    if (option == "--filter=" || option == "--tests=" || option == "--test=" || option == "--only=") {
      read.selection += " " + std::string(argument);
    }
  }
  how.seconds = seconds.value_or(how.hunt_seconds != 0 ? 0.2 : how.instances != 0 ? 60 : 1);
  // A hunt runs only guarantees, because a control's outcome is expected.
  how.guarantees = only != "controls";
  how.controls = only != "guarantees" && how.hunt_seconds == 0;
  if (how.tune_seconds > 0 && !how.controls) {
    refuse("--tune searches on controls, which --only=guarantees and --hunt leave out: give --parameters instead");
  }
  how.selected = [=, names = how.tests](const guarantee& row) {
    const auto named = [&](const std::string& test) { return names.contains(test); };
    return (!filter || std::regex_search(row.family + "/" + row.test, *filter)) && (!tests || tests->contains(row.test)) &&
           (names.empty() || named(row.test) || std::any_of(row.controls.begin(), row.controls.end(), named));
  };
  return read;
}

/// Rejects an empty selection, because a run without tests would pass.
void require_selection(const suite& all, const options& how) {
  for (const std::string& test : how.how.tests) {
    if (all.find(test) == nullptr) {
      refuse("--test=" + test + ": no test has this name: see --list");
    }
  }
  const auto selected = [&](const guarantee& row) {
    const auto runs = [&](const std::string& test) { return how.how.tests.empty() || how.how.tests.contains(test); };
    return how.how.selected(row) &&
           ((how.how.guarantees && runs(row.test)) || (how.how.controls && std::ranges::any_of(row.controls, runs)));
  };
  if (std::none_of(all.guarantees().begin(), all.guarantees().end(), selected)) {
    const bool plus = how.selection.find('+') != std::string::npos && how.selection.find("--filter=") != std::string::npos;
    refuse("no guarantee matches" + how.selection + ": see --list" +
           (plus ? "; in --filter a + repeats what is before it: --test=NAME takes a name as it is" : ""));
  }
}

void list(const suite& all, const options& how) {
  if (how.json) {
    write_list_json(std::cout, all);
    return;
  }
  std::size_t rows = 0;
  for (const guarantee& row : all.guarantees()) {
    if (how.how.selected(row)) {
      std::cout << row.family << "/" << row.test << "\n";
      for (const std::string& control : row.controls) {
        std::cout << "  " << control << "\n";
      }
      ++rows;
    }
  }
  std::cout << rows << " guarantees\n";
}

bool demanded(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

/// Returns the reason why the suite cannot run, or an empty string if it can.
std::string missing_gpu() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    return std::string("the CUDA runtime finds none: ") +
           (status != cudaSuccess ? cudaGetErrorString(status) : "there is no device");
  }
  int major = 0;
  membar::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  return major >= 9 ? "" : "device 0 has compute capability " + std::to_string(major) + ".x";
}

int run(const suite& all, const options& how) {
  const std::string lack = missing_gpu();
  if (!lack.empty()) {
    std::cout << "SKIPPED: the conformance suite needs a GPU of compute capability 9.0, but " << lack
              << ": run it where nvidia-smi lists one that CUDA_VISIBLE_DEVICES does not hide\n";
    return demanded("MEMBAR_REQUIRE_GPU") || demanded("MEMBAR_REQUIRE_MULTI_GPU") ? 1 : 77;
  }
  const std::unique_ptr<runner> gpus = gpu_runner();
  auto context = support::machine_context(0);
  context.emplace_back("command", how.command);
  // If a run is killed, the results up to that point are kept.
  constexpr std::chrono::seconds between_writes(30);
  auto written = std::chrono::steady_clock::now();
  const campaign* running = nullptr;
  const auto save = [&] {
    if (!how.json_file.empty()) {
      write_json_file(how.json_file, all, *running, context);
    }
  };
  campaign work(all, *gpus, how.how, [&](const test_result& t) {
    if (!how.json) {
      std::cout << line_of(t) << std::endl;
    }
    if (std::chrono::steady_clock::now() - written > between_writes) {
      save();
      written = std::chrono::steady_clock::now();
    }
  });
  running = &work;
  save();  // If a file cannot be written, report this at the start rather than after hours.
  work.run();
  if (how.json) {
    write_json(std::cout, all, work, context);
  } else {
    write_summary(std::cout, all, work);
  }
  save();
  const auto any = [&](verdict v) { return work.count(true, v) + work.count(false, v) != 0; };
  const bool lacking = demanded("MEMBAR_REQUIRE_MULTI_GPU") && any(verdict::skipped);
  return any(verdict::forbidden) ? 1 : any(verdict::failed) || lacking ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const options how = read_options(argc, argv);
  const suite all = whole_suite();
  require_selection(all, how);
  if (how.list) {
    list(all, how);
    return 0;
  }
  return run(all, how);
} catch (const std::exception& failure) {
  std::cerr << failure.what() << "\n";
  return 2;
}
