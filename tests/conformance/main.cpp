// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The conformance suite: what the headers guarantee, run on the GPU under stress, beside weakened twins of the same tests.
#include "output.hpp"

#include <bench/common/machine_context.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace {

using namespace conformance;

constexpr std::string_view usage =
    "usage: conformance [option...]\n"
    "  --list             the guarantees and their controls, and nothing runs; with --json also the type of each kernel\n"
    "  --filter=REGEX     guarantees whose family/name it is found in, and their controls\n"
    "  --tests=FILE       the guarantees named there, one in a line, and their controls\n"
    "  --only=ROLE        guarantees or controls\n"
    "  --test=NAME        a guarantee or a control alone, by its whole name; may be said more than once\n"
    "  --seconds=S        of each test, over all parameters (1)\n"
    "  --instances=N      of all tests of all parts together; a test still ends after --seconds, for which 60 is then the "
    "default\n"
    "  --seed=N           of parameters and layouts (1)\n"
    "  --draws=N          sets of parameters drawn for each test (4)\n"
    "  --parameters=TEXT  a set of parameters to begin with, as the results have it; may be said more than once\n"
    "  --tune=S           seconds of search for the parameters that show most, for each shape at each place (0)\n"
    "  --minutes=M        no test begins after as long; results are written all the same\n"
    "  --part=K/N         of each N guarantees the K-th, counted from 1; results of all parts belong together\n"
    "  --hunt=S           guarantees in turns of --seconds each (0.2), until one is broken or S seconds are over\n"
    "  --json[=FILE]      the results as JSON, to FILE or in place of the lines\n"
    "Exit status: 0 no forbidden outcome; 1 one was observed; 2 a test failed to run, or an option is wrong; 77 no GPU.\n";

struct options {
  plan how{};
  bool list = false;
  bool json = false;
  std::string json_file;
  bool seconds_given = false;
  std::string selection;  ///< the options that choose tests
};

template <class Number>
Number number_in(std::string_view option, std::string_view text, Number least, Number most) {
  Number value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  // so written that what is no number is refused too
  if (failed != std::errc{} || end != text.data() + text.size() || !(value >= least && value <= most)) {
    throw std::invalid_argument(
        "conformance: " + std::string(option) + std::string(text) + ": a number of at least " +
        printed("%.12g and at most %.12g is expected", static_cast<double>(least), static_cast<double>(most)));
  }
  return value;
}

/// Seconds or minutes: as many as clocks can add.
double time_in(std::string_view option, std::string_view text, double least) {
  return number_in<double>(option, text, least, 1e9);
}

/// Instances are often many: 2e11 is understood.
std::uint64_t count_in(std::string_view option, std::string_view text) {
  return static_cast<std::uint64_t>(number_in<double>(option, text, 1, 1e18));
}

std::set<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw std::invalid_argument("conformance: --tests=" + path + ": the file cannot be read");
  }
  std::set<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.insert(line);
  }
  return lines;
}

options read_options(int argc, char** argv) {
  options read;
  std::optional<std::regex> filter;
  std::optional<std::set<std::string>> tests;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value_of = [&](std::string_view option, std::string_view& value) {
      if (!argument.starts_with(option)) {
        return false;
      }
      value = argument.substr(option.size());
      return true;
    };
    for (const std::string_view option : {"--filter=", "--tests=", "--test=", "--only="}) {
      read.selection += argument.starts_with(option) ? " " + std::string(argument) : "";
    }
    std::string_view value;
    if (argument == "--list") {
      read.list = true;
    } else if (argument == "--json") {
      read.json = true;
    } else if (value_of("--json=", value)) {
      read.json_file = value;
    } else if (value_of("--filter=", value)) {
      try {
        filter.emplace(std::string(value));
      } catch (const std::regex_error&) {
        throw std::invalid_argument("conformance: --filter=" + std::string(value) + " is no regular expression");
      }
    } else if (value_of("--tests=", value)) {
      tests = lines_of(std::string(value));
    } else if (value_of("--test=", value)) {
      read.how.tests.emplace(value);
    } else if (value_of("--only=", value)) {
      only = value;
      if (only != "guarantees" && only != "controls") {
        throw std::invalid_argument("conformance: --only=" + only + ": guarantees or controls is expected");
      }
    } else if (value_of("--seconds=", value)) {
      read.how.seconds = time_in("--seconds=", value, 1e-3);
      read.seconds_given = true;
    } else if (value_of("--instances=", value)) {
      read.how.instances = count_in("--instances=", value);
    } else if (value_of("--seed=", value)) {
      read.how.seed = number_in<std::uint64_t>("--seed=", value, 0, std::numeric_limits<std::uint64_t>::max());
    } else if (value_of("--draws=", value)) {
      read.how.draws = number_in<int>("--draws=", value, 0, 1000);
    } else if (value_of("--parameters=", value)) {
      read.how.given.push_back(membar::litmus::parse_parameters(value));
    } else if (value_of("--tune=", value)) {
      read.how.tune_seconds = time_in("--tune=", value, 0);
    } else if (value_of("--minutes=", value)) {
      read.how.minutes = time_in("--minutes=", value, 0);
    } else if (value_of("--part=", value)) {
      const std::size_t slash = std::min(value.find('/'), value.size());
      constexpr std::size_t most = 1000;
      read.how.part = number_in<std::size_t>("--part=", value.substr(0, slash), 1, most) - 1;
      read.how.parts =
          number_in<std::size_t>("--part=", value.substr(std::min(slash + 1, value.size())), read.how.part + 1, most);
    } else if (value_of("--hunt=", value)) {
      read.how.hunt_seconds = time_in("--hunt=", value, 1e-3);
    } else {
      throw std::invalid_argument("conformance: " + std::string(argument) + " is no option\n" + std::string(usage));
    }
  }
  if (!read.seconds_given) {
    read.how.seconds = read.how.hunt_seconds != 0 ? 0.2 : read.how.instances != 0 ? 60 : 1;
  }
  // A hunt is for guarantees: that a control shows something is no news.
  read.how.guarantees = only != "controls";
  read.how.controls = only != "guarantees" && read.how.hunt_seconds == 0;
  if (read.how.tune_seconds > 0 && !read.how.controls) {
    throw std::invalid_argument(
        "conformance: --tune searches on controls, which --only=guarantees and --hunt leave out: give "
        "--parameters instead");
  }
  read.how.wanted = [=, names = read.how.tests](const guarantee& row) {
    const auto named = [&](const std::string& test) { return names.contains(test); };
    return (!filter || std::regex_search(row.family + "/" + row.test, *filter)) && (!tests || tests->contains(row.test)) &&
           (names.empty() || named(row.test) || std::any_of(row.controls.begin(), row.controls.end(), named));
  };
  return read;
}

/// What is asked for has to be there: a run of nothing would pass.
void require_selection(const suite& all, const options& how) {
  for (const std::string& test : how.how.tests) {
    if (all.find(test) == nullptr) {
      throw std::invalid_argument("conformance: --test=" + test + ": no test has this name: see --list");
    }
  }
  const auto selected = [&](const guarantee& row) {
    const auto runs = [&](const std::string& test) { return how.how.tests.empty() || how.how.tests.contains(test); };
    return how.how.wanted(row) && ((how.how.guarantees && runs(row.test)) ||
                                   (how.how.controls && std::any_of(row.controls.begin(), row.controls.end(), runs)));
  };
  if (std::none_of(all.guarantees().begin(), all.guarantees().end(), selected)) {
    const bool plus = how.selection.find('+') != std::string::npos && how.selection.find("--filter=") != std::string::npos;
    throw std::invalid_argument("conformance: no guarantee matches" + how.selection + ": see --list" +
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
    if (how.how.wanted(row)) {
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

/// What keeps the suite from running, in words; nothing where nothing does.
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
    std::cout << "SKIPPED: the conformance suite needs a GPU of compute capability 9.0, and " << lack
              << ": run it where nvidia-smi lists one that CUDA_VISIBLE_DEVICES does not hide\n";
    return demanded("MEMBAR_REQUIRE_GPU") || demanded("MEMBAR_REQUIRE_MULTI_GPU") ? 1 : 77;
  }
  engine_runner gpus;
  const auto context = support::machine_context(0);
  // A run that is ended from outside leaves what it had.
  constexpr std::chrono::seconds between_writes(30);
  auto written = std::chrono::steady_clock::now();
  const campaign* running = nullptr;
  campaign work(all, gpus, how.how, [&](const tally& t) {
    if (!how.json) {
      std::cout << line_of(t) << std::endl;
    }
    if (!how.json_file.empty() && std::chrono::steady_clock::now() - written > between_writes) {
      write_json_file(how.json_file, all, *running, context);
      written = std::chrono::steady_clock::now();
    }
  });
  running = &work;
  if (!how.json_file.empty()) {
    write_json_file(how.json_file, all, work, context);  // a file that cannot be written is told before hours are spent
  }
  work.run();
  if (how.json) {
    write_json(std::cout, all, work, context);
  } else {
    write_summary(std::cout, all, work);
  }
  if (!how.json_file.empty()) {
    write_json_file(how.json_file, all, work, context);
  }
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
