// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/gain.hpp"

#include <gtest/gtest.h>

namespace {

using namespace membar_domains;

lane_times lane(double off, double on, double control, std::size_t count = 40) {
  lane_times out;
  out.lane = "graph 1";
  for (std::size_t i = 0; i < count; ++i) {
    const double wobble = 1 + 0.002 * static_cast<double>(i % 5);
    out.beside[0].push_back(off * wobble);
    out.beside[1].push_back(on * wobble);
    out.beside[2].push_back(control * wobble);
  }
  return out;
}

TEST(gain, a_unit_counts_for_the_one_mode_that_ran_beside_it) {
  records r;
  r.moves = {{mode::off, 0, 100'000}, {mode::off, 101'000, 200'000}, {mode::on, 200'500, 300'000}};
  r.ticks = {{1, 10'000, 20'000},   {1, 90'000, 120'000},  {1, 190'000, 210'000},
             {1, 250'000, 260'000}, {1, 400'000, 405'000}, {1, 290'000, 310'000}};
  const auto lanes = sort_ticks(r);
  ASSERT_EQ(lanes.size(), 1U);
  EXPECT_EQ(lanes[0].beside[0], (std::vector<double>{10, 30}));
  EXPECT_EQ(lanes[0].beside[1], (std::vector<double>{10, 20}));
  EXPECT_EQ(lanes[0].alone, (std::vector<double>{5}));
}

TEST(gain, it_is_the_ratio_of_medians_with_an_interval_that_contains_it) {
  const gain_report report = gains({lane(745, 622, 745)});
  EXPECT_NEAR(report.gain.value, 745.0 / 622.0, 1e-9);
  EXPECT_LE(report.gain.low, report.gain.value);
  EXPECT_GE(report.gain.high, report.gain.value);
  EXPECT_NEAR(report.control.value, 1, 1e-9);
  EXPECT_NE(sentence(report).find("1.198×"), std::string::npos);
}

TEST(gain, lanes_weigh_as_much_as_their_time) {
  const gain_report report = gains({lane(900, 450, 900), lane(100, 100, 100)});
  EXPECT_NEAR(report.gain.value, 1000.0 / 550.0, 1e-9);
  EXPECT_DOUBLE_EQ(report.lanes.at(0).p50[0], 900 * 1.004);
}

TEST(gain, a_lane_with_too_few_units_of_a_mode_is_left_out_and_said) {
  const gain_report report = gains({lane(2, 1, 2, enough_ticks - 1)});
  EXPECT_TRUE(report.lanes.empty());
  EXPECT_EQ(report.left_out, 1U);
  EXPECT_NE(sentence(report).find("The gain is not known"), std::string::npos);
  EXPECT_NE(json(report).find("\"gain\": null"), std::string::npos);
}

TEST(gain, a_loss_and_a_control_that_is_not_one_are_said) {
  EXPECT_NE(sentence(gains({lane(100, 110, 100)})).find("makes this program slower"), std::string::npos);
  EXPECT_NE(sentence(gains({lane(100, 90, 80)})).find("The control is not 1"), std::string::npos);
  EXPECT_NE(sentence(gains({lane(100, 100, 100)})).find("no gain that this measurement can tell from none"), std::string::npos);
}

TEST(gain, equal_input_gives_equal_output) { EXPECT_EQ(json(gains({lane(9, 7, 9)})), json(gains({lane(9, 7, 9)}))); }

}  // namespace
