// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests when the benches consider a median, and therefore a ratio of two medians, as known.
#include <bench/common/statistics.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace {

std::vector<double> one_to(int count) {
  std::vector<double> samples(static_cast<std::size_t>(count));
  std::iota(samples.begin(), samples.end(), 1.0);
  return samples;
}

TEST(median_interval, fewer_than_six_samples_have_none) {
  EXPECT_FALSE(support::median_interval({}));
  EXPECT_FALSE(support::median_interval(one_to(5)));
  EXPECT_FALSE(support::relative_interval(one_to(5)));
  EXPECT_TRUE(support::median_interval(one_to(6)));
}

// The ranks are from tables for the two-sided sign test at the 5 % level.
TEST(median_interval, has_the_ranks_of_the_sign_test) {
  using ends = std::pair<double, double>;
  EXPECT_EQ(support::median_interval(one_to(6)), ends(1, 6));
  EXPECT_EQ(support::median_interval(one_to(8)), ends(1, 8));
  EXPECT_EQ(support::median_interval(one_to(9)), ends(2, 8));
  EXPECT_EQ(support::median_interval(one_to(25)), ends(8, 18));
  EXPECT_EQ(support::median_interval(one_to(100)), ends(40, 61));
}

TEST(median_interval, holds_the_median_in_nineteen_of_twenty_draws) {
  std::mt19937 random(1);
  std::exponential_distribution<double> draw;
  int held = 0;
  constexpr int draws = 4000;
  for (int i = 0; i != draws; ++i) {
    std::vector<double> samples(20);
    std::generate(samples.begin(), samples.end(), [&] { return draw(random); });
    std::sort(samples.begin(), samples.end());
    const auto ends = support::median_interval(samples).value();
    held += ends.first <= std::log(2.0) && std::log(2.0) <= ends.second ? 1 : 0;
  }
  EXPECT_GE(held, draws * 95 / 100);
}

TEST(median_interval, is_relative_to_the_median_in_any_order) {
  EXPECT_DOUBLE_EQ(support::relative_interval({9, 1, 5, 3, 7, 2, 8, 4, 6}).value(), (8.0 - 2.0) / 5.0);
}

}  // namespace
