// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The litmus engine's parameters: their text form, their ranges, and random draws of them.
#include <membar/litmus/parameters.hpp>

#include <tests/common/refusal.hpp>

#include <map>
#include <set>
#include <string>

namespace {

using namespace membar::litmus;
using membar_test::refusal;

TEST(litmus_parameters, are_the_same_when_their_text_is_read) {
  for (std::uint64_t index = 0; index < 500; ++index) {
    const parameters p = draw_parameters(11, index, 3);
    EXPECT_EQ(parse_parameters(text_of(p)), p);
  }
}

TEST(litmus_parameters, keep_what_a_text_does_not_name) {
  parameters base;
  base.delay = 17;
  const parameters p = parse_parameters("width=64,order=lane  pattern=ld/ld", base);
  EXPECT_EQ(p.width, 64);
  EXPECT_EQ(p.order, run_order::by_lane);
  EXPECT_EQ(p.pattern, stress_pattern::load_load);
  EXPECT_EQ(p.delay, 17);
  EXPECT_EQ(parse_parameters("", base), base);
}

TEST(litmus_parameters, refuse_a_text_with_the_word_and_what_it_can_be) {
  const std::map<std::string, std::string> refusals = {
      {"order=sideways", "the parameter order is 'sideways', but must be one of fixed, warp, lane"},
      {"delay=12x", "the parameter delay is '12x', but must be a number from 0 to 1000000"},
      {"delay", "the parameter delay is '', but must be a number from 0 to 1000000"},
      {"order=1", "the parameter order is '1', but must be one of fixed, warp, lane"},
      {"stride=24", "the parameter stride is 24, but must be a multiple of 16 from 16 to 4096"},
      {"delay=99999999999", "the parameter delay is '99999999999', but must be a number from 0 to 1000000"},
      {"width=96", "the parameter width is 96, but must be a power of two from 32 to 1024"},
      {"share=60 stress=50",
       "the parameters share and stress are 60 and 50 percent of the blocks, but their sum can be at most 100 percent"}};
  for (const auto& [text, sentence] : refusals) {
    EXPECT_EQ(refusal([&] { static_cast<void>(parse_parameters(text)); }), "membar: " + sentence);
  }
  EXPECT_EQ(refusal([] { static_cast<void>(parse_parameters("speed=9")); }).rfind("membar: there is no parameter 'speed': ", 0),
            0U);
}

TEST(litmus_parameters, are_drawn_alike_from_a_seed_and_within_their_ranges) {
  std::map<std::string, std::set<int>> seen;
  for (std::uint64_t index = 0; index < 2000; ++index) {
    const parameters p = draw_parameters(5, index, 2);
    EXPECT_EQ(draw_parameters(5, index, 2), p);
    EXPECT_NO_THROW(validate(p));
    for (const detail::parameter_row& row : detail::parameter_table) {
      seen[row.name].insert(row.get(p));
    }
  }
  EXPECT_NE(draw_parameters(5, 1), draw_parameters(6, 1));
  for (const detail::parameter_row& row : detail::parameter_table) {
    for (const int value : row.tried) {
      EXPECT_EQ(seen[row.name].count(value), 1U) << row.name << "=" << value;
    }
  }
  EXPECT_EQ(seen["home"], (std::set<int>{0, 1}));
}

TEST(litmus_parameters, try_values_in_ascending_order_within_the_range) {
  for (const detail::parameter_row& row : detail::parameter_table) {
    for (std::size_t i = 0; i < row.tried.size(); ++i) {
      EXPECT_GE(row.tried[i], row.least) << row.name;
      EXPECT_LE(row.tried[i], row.most) << row.name;
      EXPECT_TRUE(i == 0 || row.tried[i - 1] < row.tried[i]) << row.name;
      EXPECT_EQ(row.tried[i] % row.multiple, 0) << row.name;
    }
    EXPECT_TRUE(row.words.empty() || static_cast<int>(row.words.size()) == row.most + 1) << row.name;
  }
}

}  // namespace
