// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program that mutate_model.py compiles: it runs the model's tests with the mutants of the model whose numbers it reads
// from standard input. Each mutant has its own process, and JOBS of these processes run at once. A mutant counts as noticed if
// a verdict, an outcome, an error or a data race changes, if a test in the linked test files fails, or if the mutant takes many
// times as long as the original. Prints "<number> noticed by <test>" or "<number> survived".
//
// usage: source_mutants JOBS FOLDER...
#include "random_mixes.hpp"
#include "search_cases.hpp"

#include <tests/litmus/litmus_files.hpp>

#include <litmus/explain.hpp>
#include <litmus/reader.hpp>
#include <membar/model/mutant.hpp>
#include <membar/model/outcomes.hpp>
#include <membar/model/races.hpp>

#include <gtest/gtest.h>

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace membar::model;
using namespace membar::litmus_files;

/// A question about a test, and the unmodified model's answer.
struct question {
  std::string name;
  std::function<std::string()> ask;
  std::string answer;
};

class questions {
 public:
  void add(std::string name, std::function<std::string()> ask) {
    auto guarded = [ask = std::move(ask)]() -> std::string {
      try {
        return ask();
      } catch (const std::exception& e) {
        return e.what();
      }
    };
    std::string answer = guarded();
    all_.push_back({std::move(name), std::move(guarded), std::move(answer)});
  }

  /// Returns the first question that the active mutant answers differently, or nothing.
  [[nodiscard]] std::string noticed() const {
    for (const question& q : all_) {
      if (q.ask() != q.answer) {
        return q.name;
      }
    }
    return {};
  }

 private:
  std::vector<question> all_;
};

std::string together(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) {
    all += line + "\n";
  }
  return all;
}

std::string verdict(const litmus_test& test, std::uint64_t steps = 0) { return decide(test, steps).holds ? "1" : "0"; }
std::string raced(const litmus_test& test) { return find_race(test.view().program) ? "a race" : "no race"; }

void add_all(questions& all, int count, char** folders) {
  search_options eager;  // Checks the axioms after every choice, even if only a few choices remain.
  eager.few_choices = 0;
  const search_options bounded(0, true);
  std::vector<litmus_test> named;
  for (int i = 0; i < count; ++i) {
    for (const auto& file : membar_test::litmus_files(folders[i])) {
      named.push_back(read_litmus(membar_test::read_text(file)));
    }
  }
  for (const litmus_test& t : named) {
    all.add(t.name, [t] { return verdict(t); });
  }
  for (const auto& p : membar_test::racing_programs) {
    const litmus_test t = p.test();
    all.add(p.rows, [t] {
      const data_race found = find_race(t.view().program);
      return found ? race_text(t, found) : "no race";
    });
  }
  for (const auto& l : membar_test::waiting_loops()) {
    all.add(l.why, [t = l.test] { return together(outcomes(t)); });
  }
  for (const auto& l : membar_test::other_working_loops()) {
    all.add(l.why, [t = l.test] { return together(outcomes(t)); });
  }
  for (const auto& l : membar_test::working_loops()) {
    all.add(l.why, [t = l.test] { return together(outcomes(t)); });
    all.add(l.why, [t = l.test, bounded] { return together(outcomes(t, bounded)); });
  }
  const auto add_random = [&](const membar_test::mix& one, bool races) {
    membar_test::random_tests stream(one.seed, one.shape);
    for (int i = 0; i < one.programs; ++i) {
      const membar_test::random_program p = stream.next();
      const litmus_test t = read_litmus(p.text(p.own_order(), membar_test::plain_names, p.everything()));
      const std::string name = std::string("random test ") + one.name + " " + std::to_string(i);
      all.add(name, [t] { return together(outcomes(t)); });
      all.add(name + ", eager", [t, eager] { return together(outcomes(t, eager)); });
      if (races) {
        all.add(name + ", races", [t] { return raced(t); });
      }
    }
  };
  for (const membar_test::mix& one : membar_test::compared_mixes) {
    add_random(one, true);
  }
  for (const membar_test::mix& one : membar_test::interleaved_mixes) {
    add_random(one, false);
  }
  for (const membar_test::mix& one : membar_test::mutated_mixes) {
    add_random(one, true);
  }
  for (const litmus_test& t : named) {
    all.add("outcomes of " + t.name, [t] { return together(outcomes(t)); });
    all.add("outcomes of " + t.name + ", eager", [t, eager] { return together(outcomes(t, eager)); });
  }
  for (const auto& l : membar_test::large_tests()) {
    all.add(l.name, [l] { return verdict(l.test, l.steps); });
  }
}

/// Returns the first failing test of the linked files, or nothing.
std::string failing_test() {
  class first_failure final : public testing::EmptyTestEventListener {
   public:
    std::string name;
    void OnTestEnd(const testing::TestInfo& test) override {
      if (name.empty() && test.result()->Failed()) {
        name = std::string(test.test_suite_name()) + "." + test.name();
      }
    }
  };
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  auto* const failure = new first_failure;  // the listeners own this object
  listeners.Append(failure);
  const int failed = RUN_ALL_TESTS();
  return failed != 0 && failure->name.empty() ? "a test" : failure->name;
}

/// Waits for one mutant to end.
void wait_for_one(std::map<pid_t, int>& running) {
  int status = 0;
  const auto one = running.find(wait(&status));
  if (one != running.end()) {
    if (status != 0) {
      std::printf("%d noticed by its end\n", one->second);
    }
    running.erase(one);
  }
}

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest();
  testing::GTEST_FLAG(filter) = "-*large_tests*";  // add_all, below, decides these tests
  testing::GTEST_FLAG(break_on_failure) = false;
  testing::GTEST_FLAG(fail_fast) = true;
  const auto jobs = std::stoul(arguments[1]);
  questions all;
  const std::clock_t start = std::clock();
  add_all(all, count - 2, arguments + 2);
  if (all.noticed() != "") {
    std::puts("the unmodified model does not give the same answer each time");
    return 1;
  }
  const auto seconds = 1 + 10 * (std::clock() - start) / CLOCKS_PER_SEC;
  const itimerval limit = {{0, 0}, {seconds, 0}};  // A limit on the CPU time stops infinite loops.
  std::map<pid_t, int> running;
  for (int number; std::cin >> number;) {
    if (running.size() == jobs) {
      wait_for_one(running);
    }
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) {
      return 1;
    }
    if (child == 0) {
      active_mutant = number;
      setitimer(ITIMER_PROF, &limit, nullptr);
      std::string by = failing_test();
      by = by.empty() ? all.noticed() : by;
      std::printf("%d %s\n", number, by.empty() ? "survived" : ("noticed by " + by.substr(0, by.find('\n'))).c_str());
      std::fflush(stdout);
      _exit(0);
    }
    running[child] = number;
  }
  while (!running.empty()) {
    wait_for_one(running);
  }
  return 0;
}
