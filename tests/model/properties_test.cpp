// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Properties that must hold for every program, checked on random programs: the order of threads and the names of locations do
// not matter, and a second, naive decision procedure finds the same final states.
#include "random_mixes.hpp"

#include <bench/model/naive.hpp>

#include <litmus/reader.hpp>
#include <litmus/writer.hpp>
#include <membar/model/interleave.hpp>
#include <membar/model/outcomes.hpp>
#include <membar/model/races.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace properties_test {

using namespace membar::model;
using namespace membar::litmus_files;
using membar_test::mix, membar_test::naive_model, membar_test::random_program, membar_test::random_tests, membar_test::shaped,
    membar_test::wide;

std::uint64_t executions(const litmus_test& test) { return membar_test::searched(test).executions; }

const std::vector<std::string>& plain = membar_test::plain_names;

/// Checks the axioms after every choice, even if only a few choices remain.
search_options eager() {
  search_options options;
  options.few_choices = 0;
  return options;
}

class random_programs : public testing::TestWithParam<mix> {};

TEST_P(random_programs, counts_do_not_depend_on_the_order_of_threads) {
  random_tests stream(GetParam().seed, GetParam().shape);
  for (int i = 0; i < GetParam().programs; ++i) {
    const random_program p = stream.next();
    const std::string condition = p.everything();
    const litmus_test before = read_litmus(p.text(p.own_order(), plain, condition));
    std::vector<int> order = p.own_order();
    for (std::size_t k = order.size(); k > 1; --k) {
      std::swap(order[k - 1], order[static_cast<std::size_t>(stream.below(static_cast<int>(k)))]);
    }
    // bar.warp.sync numbers lanes in the order of threads in the file, so tests with bar.warp.sync keep the order of their
    // threads.
    const std::string text = p.text(order, plain, condition);
    if (text.find("bar.warp") != std::string::npos) {
      continue;
    }
    const litmus_test after = read_litmus(text);
    ASSERT_EQ(executions(before), executions(after)) << write_litmus(before);
    ASSERT_EQ(outcomes(before), outcomes(after)) << write_litmus(before);
  }
}

TEST_P(random_programs, counts_do_not_depend_on_the_names_of_locations) {
  random_tests stream(GetParam().seed + 1000, GetParam().shape);
  for (int i = 0; i < GetParam().programs; ++i) {
    const random_program p = stream.next();
    const std::string condition = p.everything();
    const litmus_test before = read_litmus(p.text(p.own_order(), plain, condition));
    const litmus_test after = read_litmus(p.text(p.own_order(), {"zebra", "apple", "mango"}, condition));
    ASSERT_EQ(executions(before), executions(after)) << write_litmus(before);
    std::vector<std::string> renamed = outcomes(after);
    for (std::string& line : renamed) {
      for (const auto& [from, to] : {std::pair<std::string, std::string>{"zebra", "x"}, {"apple", "y"}, {"mango", "z"}}) {
        for (auto at = line.find(from); at != std::string::npos; at = line.find(from)) {
          line.replace(at, from.size(), to);
        }
      }
    }
    std::sort(renamed.begin(), renamed.end());
    ASSERT_EQ(outcomes(before), renamed) << write_litmus(before);
  }
}

INSTANTIATE_TEST_SUITE_P(, random_programs,
                         testing::Values(mix{"two", shaped(2, 4, 2, false, false), 11, 1500},
                                         mix{"three", shaped(3, 3, 2, false, false), 12, 800},
                                         mix{"barriers", shaped(3, 3, 2, true, false), 13, 800},
                                         mix{"proxies", shaped(2, 4, 2, false, true), 14, 1000},
                                         mix{"four", shaped(4, 2, 3, false, false), 15, 600},
                                         mix{"wide", wide(3, 4, 2), 16, 600}),
                         [](const auto& one) { return std::string(one.param.name); });

class second_procedure : public testing::TestWithParam<mix> {};

TEST_P(second_procedure, finds_the_same_final_states_and_data_races) {
  random_tests stream(GetParam().seed, GetParam().shape);
  int compared = 0;
  for (int i = 0; i < GetParam().programs; ++i) {
    const random_program p = stream.next();
    const litmus_test test = read_litmus(p.text(p.own_order(), plain, p.everything()));
    naive_model naive(test, 600);
    auto found = naive.outcomes();
    if (!found) {
      continue;
    }
    ++compared;
    std::sort(found->begin(), found->end());
    ASSERT_EQ(*found, outcomes(test)) << write_litmus(test);
    ASSERT_EQ(*found, outcomes(test, eager())) << write_litmus(test);
    ASSERT_EQ(naive.races(), static_cast<bool>(find_race(test.view().program))) << write_litmus(test);
  }
  EXPECT_GE(compared, GetParam().programs / 2) << "too few programs were small enough to compare";
}

INSTANTIATE_TEST_SUITE_P(, second_procedure, testing::ValuesIn(membar_test::compared_mixes),
                         [](const auto& one) { return std::string(one.param.name); });

class one_location : public testing::TestWithParam<mix> {};

TEST_P(one_location, of_strong_accesses_ends_as_some_interleaving) {
  random_tests stream(GetParam().seed, GetParam().shape);
  for (int i = 0; i < GetParam().programs; ++i) {
    const random_program p = stream.next();
    const litmus_test test = read_litmus(p.text(p.own_order(), plain, p.everything()));
    outcome_collector found(test);
    (void)enumerator(test.view().program, found).run();
    const auto ends = interleaving(test).outcomes();
    ASSERT_EQ(found.found(), ends) << write_litmus(test);
    outcome_collector found_eagerly(test);
    (void)enumerator(test.view().program, found_eagerly, every_rule{}, eager()).run();
    ASSERT_EQ(found_eagerly.found(), ends) << write_litmus(test);
  }
}

INSTANTIATE_TEST_SUITE_P(, one_location, testing::ValuesIn(membar_test::interleaved_mixes),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace properties_test
