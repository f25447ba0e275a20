// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far the search goes: programs of many equal accesses, loops that only wait, loops that are cut.
#include "search_cases.hpp"

#include <bench/model/naive.hpp>

#include <membar/model/litmus_file.hpp>
#include <membar/model/outcomes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace membar::model;

class large_tests : public testing::TestWithParam<membar_test::large_test> {};

TEST_P(large_tests, are_decided_soon) { EXPECT_EQ(decide(GetParam().test, 1'000'000).holds, GetParam().holds); }

INSTANTIATE_TEST_SUITE_P(, large_tests, testing::ValuesIn(membar_test::large_tests()),
                         [](const auto& one) { return one.param.name; });

TEST(loops, that_only_wait_end_as_the_naive_procedure_says) {
  for (const membar_test::loop& l : membar_test::waiting_loops()) {
    membar_test::naive_model naive(l.test, 5000);
    auto found = naive.outcomes();
    ASSERT_TRUE(found.has_value()) << l.why;
    std::sort(found->begin(), found->end());
    EXPECT_EQ(outcomes(l.test), *found) << l.why;
    EXPECT_FALSE(found->empty()) << l.why;
  }
}

TEST(loops, that_do_more_than_wait_are_cut_and_have_no_verdict) {
  for (const membar_test::loop& l : membar_test::working_loops()) {
    try {
      (void)outcomes(l.test);
      ADD_FAILURE() << l.why << " has outcomes";
    } catch (const error& e) {
      EXPECT_NE(e.message().find("--bounded"), std::string::npos) << l.why << ": " << e.message();
      EXPECT_NE(e.message().find("at line"), std::string::npos) << l.why << ": " << e.message();
    }
    membar_test::naive_model naive(l.test, 5000);
    auto found = naive.outcomes();
    ASSERT_TRUE(found.has_value()) << l.why;
    std::sort(found->begin(), found->end());
    EXPECT_EQ(outcomes(l.test, search_options(0, true)), *found) << l.why;
  }
}

TEST(loops, a_state_that_is_found_needs_no_longer_runs) {
  const litmus_test test = membar_test::made_of(
      {{"L:", "add r0, r0, 1", "bne r0, 3, L"}, {"ld.relaxed.gpu r0, x", "st.relaxed.gpu x, 1"}}, "x=0;", "exists (x == 1)");
  EXPECT_THROW((void)decide(test), error);  // no run without a third iteration ends
  const litmus_test found =
      membar_test::made_of({{"L:", "ld.relaxed.gpu r1, x", "add r0, r0, 1", "bne r1, 1, L"}, {"st.relaxed.gpu x, 1"}}, "x=0;",
                           "exists (P0:r0 == 2)");
  EXPECT_TRUE(decide(found).holds);
}

}  // namespace
