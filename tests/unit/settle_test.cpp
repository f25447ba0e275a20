// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests how often the fence bench repeats the cases on which the findings in its report are based.
#include <bench/fence_interference/settle.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace {

using fence_interference::is_steady, fence_interference::most_spread, fence_interference::settle;

struct fake_case {
  std::vector<double> medians;
  double half_width;  // The medians alternate between 100 minus this value and 100 plus this value.
  int repeated = 0;
};

const auto medians_of = [](const fake_case* each) { return each->medians; };
const auto never = [] { return false; };

bool add(fake_case* each) {
  const int i = ++each->repeated;
  each->medians.push_back(i > 3 && i % 9 != 0 ? 100.0 : 100.0 + (i % 2 == 0 ? each->half_width : -each->half_width));
  return true;
}

TEST(settle, two_steady_cases_make_a_known_ratio) {
  const double widest = 100 * most_spread / std::sqrt(2.0);
  EXPECT_TRUE(is_steady({100, 100, 100, 100, 100, 100 + 0.99 * widest}));
  EXPECT_FALSE(is_steady({100, 100, 100, 100, 100, 100 + 1.01 * widest}));
  EXPECT_FALSE(is_steady({100, 100, 100, 100, 100}));  // too few repetitions
}

TEST(settle, repeats_until_each_case_is_steady_and_no_further) {
  fake_case quiet{.medians = std::vector<double>(9, 100.0), .half_width = 0};
  fake_case noisy{.medians = {}, .half_width = 20};
  settle<fake_case*>({&quiet, &noisy}, medians_of, [](fake_case* each, std::size_t) { return add(each); }, never);
  EXPECT_EQ(quiet.repeated, 0);
  EXPECT_TRUE(is_steady(noisy.medians));
  noisy.medians.pop_back();
  EXPECT_FALSE(is_steady(noisy.medians));
}

TEST(settle, ends_with_its_time_in_the_midst_of_a_round) {
  std::vector<fake_case> cases(4, {.medians = {}, .half_width = 20});
  int measured = 0;
  settle<fake_case*>(
      {&cases[0], &cases[1], &cases[2], &cases[3]}, medians_of, [&](fake_case*, std::size_t) { return ++measured > 0; },
      [&] { return measured == 6; });
  EXPECT_EQ(measured, 6);
}

TEST(settle, leaves_out_what_can_be_measured_no_further) {
  fake_case failing{.medians = {}, .half_width = 20};
  fake_case noisy{.medians = {}, .half_width = 20};
  std::size_t least = 2;
  settle<fake_case*>(
      {&failing, &noisy}, medians_of,
      [&](fake_case* each, std::size_t left) {
        least = std::min(least, left);
        return each == &noisy ? add(each) : (++each->repeated, false);
      },
      never);
  EXPECT_EQ(failing.repeated, 1);
  EXPECT_EQ(least, 1U);
  EXPECT_TRUE(is_steady(noisy.medians));
}

}  // namespace
