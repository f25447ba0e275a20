// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The conformance suite: what the headers guarantee, run on the GPU under stress, beside weakened twins of the same tests.
#include "output.hpp"

#include <support/machine_context.hpp>

#include <charconv>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using namespace conformance;

constexpr std::string_view usage =
    "usage: conformance [option...]\n"
    "  --list             the guarantees and their controls, and nothing runs; with --json also the type of each kernel\n"
    "  --filter=REGEX     guarantees whose family/name it is found in, and their controls\n"
    "  --tests=FILE       the guarantees named there, one in a line, and their controls\n"
    "  --only=ROLE        guarantees or controls\n"
    "  --seconds=S        of each test, over all parameters (1)\n"
    "  --instances=N      of all tests together; a test still ends after --seconds, for which 60 is then the default\n"
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
};

template <class Number>
Number number_in(std::string_view option, std::string_view text, Number least) {
  Number value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || value < least) {
    throw std::invalid_argument("conformance: " + std::string(option) + std::string(text) + ": a number of at least " +
                                std::to_string(least) + " is expected");
  }
  return value;
}

/// Instances are often many: 2e11 is understood.
std::uint64_t count_in(std::string_view option, std::string_view text) {
  return static_cast<std::uint64_t>(number_in<double>(option, text, 1));
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
    } else if (value_of("--only=", value)) {
      only = value;
      if (only != "guarantees" && only != "controls") {
        throw std::invalid_argument("conformance: --only=" + only + ": guarantees or controls is expected");
      }
    } else if (value_of("--seconds=", value)) {
      read.how.seconds = number_in<double>("--seconds=", value, 1e-3);
      read.seconds_given = true;
    } else if (value_of("--instances=", value)) {
      read.how.instances = count_in("--instances=", value);
    } else if (value_of("--seed=", value)) {
      read.how.seed = number_in<std::uint64_t>("--seed=", value, 0);
    } else if (value_of("--draws=", value)) {
      read.how.draws = number_in<int>("--draws=", value, 0);
    } else if (value_of("--parameters=", value)) {
      read.how.given.push_back(membar::litmus::parse_parameters(value));
    } else if (value_of("--tune=", value)) {
      read.how.tune_seconds = number_in<double>("--tune=", value, 0);
    } else if (value_of("--minutes=", value)) {
      read.how.minutes = number_in<double>("--minutes=", value, 0);
    } else if (value_of("--part=", value)) {
      const std::size_t slash = std::min(value.find('/'), value.size());
      read.how.part = number_in<std::size_t>("--part=", value.substr(0, slash), 1) - 1;
      read.how.parts = number_in<std::size_t>("--part=", value.substr(std::min(slash + 1, value.size())), read.how.part + 1);
    } else if (value_of("--hunt=", value)) {
      read.how.hunt_seconds = number_in<double>("--hunt=", value, 1e-3);
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
  read.how.wanted = [=](const guarantee& row) {
    return (!filter || std::regex_search(row.family + "/" + row.test, *filter)) && (!tests || tests->contains(row.test));
  };
  return read;
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
  membar::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "cudaDeviceGetAttribute");
  return major >= 9 ? "" : "device 0 has compute capability " + std::to_string(major) + ".x";
}

int run(const suite& all, const options& how) {
  const std::string lack = missing_gpu();
  if (!lack.empty()) {
    std::cout << "SKIPPED: the conformance suite needs a GPU of compute capability 9.0, and " << lack << "\n";
    return demanded("MEMBAR_REQUIRE_GPU") || demanded("MEMBAR_REQUIRE_MULTI_GPU") ? 1 : 77;
  }
  engine_runner gpus;
  campaign work(all, gpus, how.how, [&](const tally& t) {
    if (!how.json) {
      std::cout << line_of(t) << std::endl;
    }
  });
  work.run();
  if (how.json) {
    write_json(std::cout, all, work, support::machine_context(0));
  } else {
    write_summary(std::cout, all, work);
  }
  if (!how.json_file.empty()) {
    std::ofstream file(how.json_file);
    write_json(file, all, work, support::machine_context(0));
    if (!file) {
      throw std::runtime_error("conformance: the results cannot be written to " + how.json_file);
    }
  }
  const auto any = [&](verdict v) { return work.count(true, v) + work.count(false, v) != 0; };
  const bool lacking = demanded("MEMBAR_REQUIRE_MULTI_GPU") && any(verdict::skipped);
  return any(verdict::forbidden) ? 1 : any(verdict::failed) || lacking ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const options how = read_options(argc, argv);
  const suite all = whole_suite();
  if (how.list) {
    list(all, how);
    return 0;
  }
  return run(all, how);
} catch (const std::exception& failure) {
  std::cerr << failure.what() << "\n";
  return 2;
}
