// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of mutate_model.py: decides tests with mutants of the model, whose numbers it reads from standard input, each in a
// process of its own. A mutant is noticed if a test gets another verdict, other outcomes or an error, or
// takes too long. Prints "<number> noticed by <test>" or "<number> survived".
//
// usage: source_mutants FOLDER...
#include "random_mixes.hpp"

#include <tests/litmus/litmus_files.hpp>

#include <membar/model/litmus_file.hpp>
#include <membar/model/mutant.hpp>
#include <membar/model/outcomes.hpp>

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace membar::model;

struct expected {
  litmus_test test;
  std::vector<std::string> outcomes;
  bool holds = false;
};

std::vector<expected> with_outcomes() {
  std::vector<expected> all;
  for (const membar_test::mix& one : membar_test::compared_mixes) {
    membar_test::random_tests stream(one.seed, one.shape);
    for (int i = 0; i < one.programs; ++i) {
      const membar_test::random_program p = stream.next();
      litmus_test test = read_litmus(p.text(p.own_order(), membar_test::plain_names, p.everything()));
      std::vector<std::string> seen = outcomes(test);
      all.push_back({std::move(test), std::move(seen)});
    }
  }
  return all;
}

/// The test that notices the active mutant, or nothing.
std::string noticed(const std::vector<expected>& named, const std::vector<expected>& random) {
  try {
    for (const expected& e : named) {
      if (decide(e.test).holds != e.holds) {
        return e.test.name;
      }
    }
    for (std::size_t i = 0; i < random.size(); ++i) {
      if (outcomes(random[i].test) != random[i].outcomes) {
        return "random test " + std::to_string(i);
      }
    }
    for (const expected& e : named) {
      if (outcomes(e.test) != e.outcomes) {
        return "outcomes of " + e.test.name;
      }
    }
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<expected> named;
  for (int i = 1; i < count; ++i) {
    for (const auto& file : membar_test::litmus_files(arguments[i])) {
      litmus_test test = read_litmus(membar_test::read_text(file));
      const bool holds = decide(test).holds;
      std::vector<std::string> seen = outcomes(test);
      named.push_back({std::move(test), std::move(seen), holds});
    }
  }
  const std::vector<expected> random = with_outcomes();
  constexpr itimerval limit = {{0, 0}, {1, 0}};  // of CPU time, which is several times what the model needs
  for (int number; std::cin >> number;) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      active_mutant = number;
      setitimer(ITIMER_PROF, &limit, nullptr);
      const std::string by = noticed(named, random);
      std::printf("%d %s\n", number, by.empty() ? "survived" : ("noticed by " + by).c_str());
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
      return 1;
    }
    if (status != 0) {
      std::printf("%d noticed by its end\n", number);
    }
  }
  return 0;
}
