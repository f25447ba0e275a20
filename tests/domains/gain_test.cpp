// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/gain.hpp"

#include <gtest/gtest.h>

#include "membar-domains/report_json.hpp"

namespace {

using namespace membar_domains;

json document_of(const gain_report& report) {
  json out = document("try");
  add(out, report);
  return out;
}

lane_times lane(double off, double on, double control, std::size_t count = 40) {
  lane_times out;
  out.lane = "graph 1";
  out.beside.fill(turns(8));
  for (std::size_t i = 0; i < count; ++i) {
    const double wobble = 1 + 0.002 * static_cast<double>(i % 5);
    out.beside[0][i % 8].push_back(off * wobble);
    out.beside[1][i % 8].push_back(on * wobble);
    out.beside[2][i % 8].push_back(control * wobble);
  }
  return out;
}

TEST(gain, a_unit_counts_for_the_mode_that_ran_concurrently) {
  records r;
  r.moves = {{mode::off, 0, 100'000}, {mode::off, 101'000, 200'000}, {mode::on, 200'500, 300'000}};
  r.ticks = {{1, 10'000, 20'000},   {1, 90'000, 120'000},  {1, 190'000, 210'000},
             {1, 250'000, 260'000}, {1, 400'000, 405'000}, {1, 290'000, 310'000}};
  const auto lanes = sort_ticks(r);
  ASSERT_EQ(lanes.size(), 1U);
  EXPECT_EQ(lanes[0].beside[0], (turns{{10, 30}}));
  EXPECT_EQ(lanes[0].beside[1], (turns{{10, 20}}));
  EXPECT_EQ(lanes[0].alone, (std::vector<double>{5}));
}

TEST(gain, units_of_one_turn_stay_together) {
  records r;
  r.moves = {{mode::off, 0, 100'000},
             {mode::on, 101'000, 200'000},
             {mode::off, 201'000, 240'000},
             {mode::off, 241'000, 300'000},
             {mode::control, 301'000, 400'000}};
  r.ticks = {{1, 10'000, 20'000}, {1, 30'000, 50'000}, {1, 110'000, 120'000}, {1, 210'000, 220'000}, {1, 250'000, 260'000}};
  const auto lanes = sort_ticks(r);
  EXPECT_EQ(lanes[0].beside[0], (turns{{10, 20}, {10, 10}}));
  EXPECT_EQ(lanes[0].beside[1], (turns{{10}}));
}

TEST(gain, a_unit_at_the_edge_of_a_turn_does_not_count_for_it) {
  records r;
  r.moves = {{mode::off, 0, 100'000}};
  r.ticks = {{1, 10'000, 30'000}, {1, 30'000, 50'000}, {1, 50'000, 70'000}, {1, 91'000, 111'000}, {1, 89'000, 109'000}};
  EXPECT_EQ(sort_ticks(r)[0].beside[0], (turns{{20, 20, 20, 20}}));  // 9 of the fourth unit's 20 µs are in the turn.
}

TEST(gain, where_listed_kernels_never_cover_a_unit_half_of_the_usual_share_counts) {
  records r;
  for (int i = 0; i < 10; ++i) {
    r.moves.push_back({mode::off, i * 10'000, i * 10'000 + 2'000});
    r.ticks.push_back({1, i * 10'000, i * 10'000 + 10'000 - 1});
  }
  EXPECT_EQ(sort_ticks(r)[0].overlap.size(), 10U);
}

TEST(gain, the_interval_rests_on_turns_and_not_on_units) {
  lane_times few = lane(100, 50, 100, 400);
  for (std::size_t t = 0; t < 8; ++t) {
    for (double& v : few.beside[0][t]) {
      v *= t % 2 == 0 ? 1 : 1.2;  // The turns differ, but the units within a turn do not.
    }
  }
  const gain_report report = gains({few});
  EXPECT_LT(report.gain.low, 2.01);
  EXPECT_GT(report.gain.high, 2.39);
  lane_times one = lane(100, 50, 100);
  one.beside[0] = {{}};
  for (int i = 0; i < 40; ++i) {
    one.beside[0][0].push_back(100);
  }
  EXPECT_NE(sentence(gains({one})).find("The intervals are based on as few as 1 turn per mode: run the program longer"),
            std::string::npos);
  EXPECT_NE(sentence(gains({one}), true).find("per mode: use --runs=5 or more."), std::string::npos);
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
  EXPECT_NE(sentence(report).find("The gain could not be measured"), std::string::npos);
  EXPECT_TRUE(document_of(report)["gain"].is_null());
}

TEST(gain, lanes_that_run_the_same_at_another_pace_are_left_out_of_whole_runs_and_said) {
  const std::vector<lane_times> alike{lane(100, 50, 100), lane(105, 50, 100)}, unlike{lane(100, 50, 100), lane(120, 50, 100)};
  EXPECT_EQ(gains(joined({{alike}, {alike}})).lanes.at(1).lane, "graph 1");
  EXPECT_EQ(gains(joined({{alike}, {alike}})).lanes.at(0).lane, "graph 1 (2)");
  EXPECT_EQ(gains(joined({{unlike}})).lanes.size(), 2U) << "within one run, all lanes are distinct";
  const gain_report report = gains(joined({{unlike, alike}, {alike, alike}}));
  EXPECT_NE(sentence(gains(joined({{unlike}, {unlike}}))).find("no stream or graph that can be identified in every run ran"),
            std::string::npos);
  ASSERT_EQ(report.lanes.size(), 2U);
  EXPECT_TRUE(report.lanes[0].lane.starts_with("process 2, "));
  EXPECT_NE(table(report).find("2 streams or graphs are left out"), std::string::npos) << table(report);
}

TEST(gain, a_loss_and_a_control_that_is_not_one_are_said) {
  EXPECT_NE(sentence(gains({lane(100, 110, 100)})).find("makes this program slower"), std::string::npos);
  EXPECT_NE(sentence(gains({lane(100, 90, 80)})).find("The control differs from 1"), std::string::npos);
  EXPECT_NE(sentence(gains({lane(100, 100, 100)})).find("This gain cannot be distinguished from no gain"), std::string::npos);
}

TEST(gain, equal_input_gives_equal_output) {
  EXPECT_EQ(document_of(gains({lane(9, 7, 9)})), document_of(gains({lane(9, 7, 9)})));
}

TEST(reports_in_json, begin_with_their_format_and_its_version) {
  const std::string text = file_text(document_of(gains({lane(100, 50, 100)})));
  EXPECT_TRUE(text.starts_with("{\n  \"format\": \"membar-domains.try\",\n  \"version\": 1,\n")) << text;
  EXPECT_EQ(json::parse(text)["lanes"].at(0)["moved"]["count"], 40);
}

}  // namespace
