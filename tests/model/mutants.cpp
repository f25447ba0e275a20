// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mutation score of the catalogue. For every rule, a model without this rule evaluates every catalogue test, and the
// verdicts of at least three tests must change. The program prints one line per rule.
//
// usage: model_mutants FOLDER
#include <tests/litmus/litmus_files.hpp>

#include <litmus/reader.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace membar::model;
using namespace membar::litmus_files;

/// Rules whose absence does not change the verdict of any test, with the reasons.
const std::vector<std::pair<rule, const char*>> equivalent = {
    {rule::program_order_is_morally_strong,
     "accesses that program order relates are ordered by base causality already: a weak access is in no pattern and no update, "
     "and a strong one includes its own thread in every scope"},
    {rule::axiom_fence_sc,
     "the Fence-SC order is part of base causality: a pair oriented against it only adds a cycle to base causality, which "
     "forbids more, and the orientation that satisfies the axiom is always tried"},
    {rule::one_way_proxy_fences_have_one_direction,
     "the other direction is from an asynchronous access to an ordinary one, and every order from an asynchronous access is "
     "its completion or the end of its grid, which need no fence; asynchronous_test.cpp tests the rule without these"},
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: model_mutants FOLDER\n";
    return 2;
  }
  std::vector<litmus_test> tests;
  try {
    for (const auto& file : membar_test::litmus_files(arguments[1])) {
      tests.push_back(read_litmus(membar_test::read_text(file)));
      if (!decide(tests.back()).holds) {
        std::cout << "FAIL: " << file.string() << " does not hold with every rule in force\n";
        return 1;
      }
    }
  } catch (const std::exception& e) {
    std::cout << "FAIL: " << e.what() << '\n';
    return 1;
  }
  if (tests.size() < 100) {
    std::cout << "FAIL: only " << tests.size() << " catalogue tests found\n";
    return 1;
  }
  int failures = 0;
  int mutants = 0;
  for (int i = 0; i < static_cast<int>(rule::count); ++i) {
    const rule dropped = static_cast<rule>(i);
    std::vector<std::string> changed;
    for (const litmus_test& t : tests) {
      try {
        if (!decide(t.view(), every_rule_but(dropped)).holds) {
          changed.push_back(t.name);
        }
      } catch (const error&) {
        changed.push_back(t.name + " has no verdict");  // Without this rule, accesses of different sizes race.
      }
    }
    const auto argued = std::find_if(equivalent.begin(), equivalent.end(), [&](const auto& e) { return e.first == dropped; });
    const bool expected_equivalent = argued != equivalent.end();
    const bool good = expected_equivalent ? changed.empty() : changed.size() >= 3;
    failures += good ? 0 : 1;
    mutants += expected_equivalent ? 0 : 1;
    std::cout << (good ? "ok    " : "FAIL  ") << name(dropped) << ": " << changed.size() << " tests change";
    const std::size_t shown = std::min<std::size_t>(3, changed.size());
    for (std::size_t k = 0; k < shown; ++k) {
      std::cout << (k == 0 ? " (" : ", ") << changed[k] << (k + 1 == shown ? ")" : "");
    }
    if (expected_equivalent) {
      std::cout << " [equivalent: " << argued->second << "]";
    }
    std::cout << '\n';
  }
  std::cout << mutants << " mutants over " << tests.size() << " tests, " << failures
            << " without three tests that distinguish them\n";
  return failures == 0 ? 0 : 1;
}
