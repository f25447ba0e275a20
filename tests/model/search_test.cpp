// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The limits of the search: programs with many equal accesses, loops that only wait, and loops that are cut off.
#include "random_mixes.hpp"
#include "search_cases.hpp"

#include <tests/litmus/litmus_files.hpp>

#include <bench/model/naive.hpp>

#include <litmus/equal_threads.hpp>
#include <litmus/reader.hpp>
#include <litmus/search_bounds.hpp>
#include <litmus/writer.hpp>
#include <membar/model/outcomes.hpp>
#include <membar/model/races.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace search_test {

using namespace membar::model;
using namespace membar::litmus_files;
using membar_test::column;

class large_tests : public testing::TestWithParam<membar_test::large_test> {};

TEST_P(large_tests, are_decided_soon) { EXPECT_EQ(decide(GetParam().test, GetParam().steps).holds, GetParam().holds); }

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

void expect_cut(const membar_test::loop& l) {
  try {
    (void)outcomes(l.test);
    ADD_FAILURE() << l.why << " has outcomes";
  } catch (const error& e) {
    EXPECT_NE(e.message().find("--bounded"), std::string::npos) << l.why << ": " << e.message();
    EXPECT_NE(e.message().find("at line"), std::string::npos) << l.why << ": " << e.message();
  }
}

TEST(loops, that_do_more_than_wait_are_cut_and_have_no_verdict) {
  for (const membar_test::loop& l : membar_test::other_working_loops()) {
    expect_cut(l);
  }
  for (const membar_test::loop& l : membar_test::working_loops()) {
    expect_cut(l);
    membar_test::naive_model naive(l.test, 5000);
    auto found = naive.outcomes();
    ASSERT_TRUE(found.has_value()) << l.why;
    std::sort(found->begin(), found->end());
    EXPECT_EQ(outcomes(l.test, search_options(0, true)), *found) << l.why;
  }
}

TEST(loops, of_several_that_are_cut_the_first_is_named) {
  try {
    (void)outcomes(membar_test::looping({"L:", "add r0, r0, 1", "bne r0, 3, L"}, {"", "M:", "add r0, r0, 1", "bne r0, 3, M"}));
    FAIL();
  } catch (const error& e) {
    EXPECT_NE(e.message().find("at line 6 "), std::string::npos) << e.message();
  }
}

TEST(loops, a_state_that_is_found_needs_no_longer_runs) {
  const litmus_test test = membar_test::made_of(
      {{"L:", "add r0, r0, 1", "bne r0, 3, L"}, {"ld.relaxed.gpu r0, x", "st.relaxed.gpu x, 1"}}, "x=0;", "exists (x == 1)");
  EXPECT_THROW((void)decide(test), error);  // No run can end before its third iteration.
  const litmus_test found =
      membar_test::made_of({{"L:", "ld.relaxed.gpu r1, x", "add r0, r0, 1", "bne r1, 1, L"}, {"st.relaxed.gpu x, 1"}}, "x=0;",
                           "exists (P0:r0 == 2)");
  EXPECT_TRUE(decide(found).holds);
}

// ---- paths

constexpr const char* comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};

bool compared(int which, int left, int right) {
  const bool all[] = {left == right, left != right, left<right, left <= right, left> right, left >= right};
  return all[which];
}

TEST(paths, two_branches_on_one_value_go_ways_that_agree) {
  for (int one = 0; one < 6; ++one) {
    for (int other = 0; other < 6; ++other) {
      for (const int with : {1, 2}) {
        std::set<std::pair<bool, bool>> ways;
        for (const int value : {0, 1, 2}) {
          const bool first = compared(one, value, 1);
          const bool second = compared(other, value, with);
          ways.insert({first, second});
          const litmus_test test = membar_test::made_of(
              {{"ld.relaxed.gpu r0, x", std::string("b") + comparisons[one] + " r0, 1, A", "add r1, r1, 1", "A:",
                std::string("b") + comparisons[other] + " r0, " + membar_test::number(with) + ", B", "add r1, r1, 2", "B:"}},
              "P0:r1=0; x=" + membar_test::number(value) + ";", "exists (P0:r1 == 0)");
          const int sum = (first ? 0 : 1) + (second ? 0 : 2);
          EXPECT_EQ(outcomes(test), std::vector<std::string>{"P0:r1=" + membar_test::number(sum)}) << write_litmus(test);
        }
        for (const int value : {0, 1, 2}) {
          statistics counts;
          (void)outcomes(membar_test::made_of(
                             {{"ld.relaxed.gpu r0, x", std::string("b") + comparisons[one] + " r0, 1, A", "A:",
                               std::string("b") + comparisons[other] + " r0, " + membar_test::number(with) + ", B", "B:"}},
                             "x=" + membar_test::number(value) + ";", "exists (x == 0)"),
                         {}, &counts);
          EXPECT_EQ(counts.paths, with == 1 ? ways.size() : 4) << comparisons[one] << " " << comparisons[other];
        }
      }
    }
  }
}

TEST(paths, a_predicate_holds_for_all_its_instructions_or_for_none) {
  for (const int value : {0, 1}) {
    const litmus_test test = membar_test::made_of({{"ld.relaxed.gpu r0, x", "setp.eq.s32 p, r0, 1", "@p add r1, r1, 1",
                                                    "@!p add r1, r1, 16", "@p add r1, r1, 1", "@!p add r1, r1, 16"}},
                                                  "P0:r1=0; x=" + membar_test::number(value) + ";", "exists (P0:r1 == 0)");
    statistics counts;
    EXPECT_EQ(outcomes(test, {}, &counts), std::vector<std::string>{value == 1 ? "P0:r1=2" : "P0:r1=32"});
    EXPECT_EQ(counts.paths, 2U);
  }
}

TEST(paths, each_has_the_limits_to_itself) {
  column five;
  for (int i = 0; i < 5; ++i) {
    const std::string n = membar_test::number(i);
    five.insert(five.end(), {"ld.relaxed.gpu r" + n + ", x", "beq r" + n + ", 0, L" + n, "L" + n + ":"});
  }
  statistics counts;
  (void)outcomes(membar_test::made_of({five, five}, "x=0;", "exists (x == 0)"), {}, &counts);
  EXPECT_EQ(counts.paths, 1024U);
}

// ---- how a search ends

/// Accepts a given number of executions, and counts those that it receives.
struct accepting final : execution_visitor {
  explicit accepting(int most) : left(most) {}
  bool accept(const partial_execution&) override { return --left > 0; }
  int left;
};

void expect_an_end(const litmus_test& test, const search_options& options) {
  for (const int most : {1, 2, 3}) {
    accepting visitor(most);
    (void)enumerator(test.view().program, visitor, every_rule{}, options).run();
    EXPECT_GE(visitor.left, 0) << write_litmus(test);
  }
}

TEST(a_search, shows_nothing_after_a_visitor_has_ended_it) {
  search_options eager;
  eager.few_choices = 0;
  for (const char* folder : {MEMBAR_LITMUS_CATALOGUE, MEMBAR_SMALL_TESTS}) {
    for (const auto& path : membar_test::litmus_files(folder)) {
      const litmus_test test = read_litmus(membar_test::read_text(path));
      expect_an_end(test, {});
      expect_an_end(test, eager);
    }
  }
  for (const membar_test::mix& one : membar_test::compared_mixes) {
    membar_test::random_tests stream(one.seed + 1, one.shape);
    for (int i = 0; i < one.programs / 5; ++i) {
      const membar_test::random_program p = stream.next();
      const litmus_test test = read_litmus(p.text(p.own_order(), membar_test::plain_names, p.everything()));
      expect_an_end(test, {});
      expect_an_end(test, eager);
    }
  }
}

std::vector<std::string> ends_and_race(const litmus_test& test, const search_options& options) {
  std::vector<std::string> all = outcomes(test, options);
  try {
    all.push_back(find_race(test.view().program, every_rule{}, options) ? "a race" : "no race");
  } catch (const error& e) {
    all.push_back(e.what());
  }
  return all;
}

TEST(a_search, ends_the_same_however_early_the_axioms_are_checked) {
  search_options eager;
  eager.few_choices = 0;
  for (const char* folder : {MEMBAR_LITMUS_CATALOGUE, MEMBAR_SMALL_TESTS}) {
    for (const auto& path : membar_test::litmus_files(folder)) {
      const litmus_test test = read_litmus(membar_test::read_text(path));
      EXPECT_EQ(ends_and_race(test, eager), ends_and_race(test, {})) << path;
    }
  }
}

/// A search's counts: paths, candidates, executions, steps.
std::vector<std::uint64_t> counted(const std::vector<column>& threads, const std::string& question, std::uint64_t few = 256) {
  search_options options;
  options.few_choices = few;
  const litmus_test test = membar_test::made_of(threads, "x=0; y=0;", question);
  outcome_collector visitor(test);
  const statistics counts = enumerator(test.view().program, visitor, every_rule{}, options).run();
  return {counts.paths, counts.candidates, counts.executions, counts.steps};
}

using several = std::vector<std::uint64_t>;

TEST(a_search, is_given_up_after_its_limit) {
  const std::vector<column> passing = {{"st.weak x, 1", "st.weak y, 1"}, {"ld.weak r0, y", "ld.weak r1, x"}};
  const litmus_test test = membar_test::made_of(passing, "x=0; y=0;", "exists (P1:r0 == 0 /\\ P1:r1 == 0)");
  EXPECT_EQ(outcomes(test, 11).size(), 4U);
  EXPECT_THROW((void)outcomes(test, 10), limit_reached);
}

TEST(a_search, counts_what_it_goes_through) {
  const std::vector<column> passing = {{"st.relaxed.gpu x, 1", "st.relaxed.gpu y, 1"},
                                       {"ld.relaxed.gpu r0, y", "ld.relaxed.gpu r1, x"}};
  EXPECT_EQ(counted(passing, "exists (P1:r0 == 0)"), (several{1, 4, 4, 11}));
  EXPECT_EQ(counted(passing, "exists (P1:r0 == 0)", 0), (several{1, 11, 2, 12}));
  const std::vector<column> fenced = {{"st.weak x, 1", "fence.sc.gpu", "ld.weak r0, y"},
                                      {"st.weak y, 1", "fence.sc.gpu", "ld.weak r0, x"}};
  EXPECT_EQ(counted(fenced, "exists (P1:r0 == 0)"), (several{1, 8, 4, 15}));
  const std::vector<column> writing = {{"st.relaxed.gpu x, 1", "ld.weak r0, x"}, {"st.relaxed.gpu x, 2"}};
  EXPECT_EQ(counted(writing, "exists (x == 0)"), (several{1, 7, 2, 11}));
  const std::vector<column> weak = {{"st.weak x, 1", "st.weak y, 1"},
                                    {"ld.weak r0, x", "ld.weak r1, y", "ld.weak r2, x", "ld.weak r3, y"}};
  EXPECT_EQ(counted(weak, "exists (P1:r0 == 0)"), (several{1, 16, 16, 47}));
  EXPECT_EQ(counted(weak, "exists (P1:r0 == 0)", 0), (several{1, 16, 16, 47}));
}

// ---- parts that a search skips

/// Returns the final states that the search finds if it skips nothing.
std::vector<std::string> all_states(const litmus_test& test) {
  outcome_collector visitor(test);
  (void)enumerator(test.view().program, visitor, every_rule{}, search_options{}).run();
  std::vector<std::string> lines;
  for (const auto& values : visitor.found()) {
    std::string line;
    for (std::size_t i = 0; i < values.size(); ++i) {
      line += (i == 0 ? "" : " ") + test.observed[i].name + "=" + value_text(test, values[i]);
    }
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// Returns the final states, found in the same way as in the commands.
std::vector<std::string> bounded_states(const litmus_test& test) {
  const test_view view = test.view();
  search_bounds bounds(0, equal_threads(view.program));
  search_options options;
  options.control = &bounds;
  return outcomes(test, options);
}

TEST(what_is_left_out, changes_no_final_state_of_a_recorded_test) {
  for (const char* folder : {MEMBAR_LITMUS_CATALOGUE, MEMBAR_SMALL_TESTS}) {
    for (const auto& path : membar_test::litmus_files(folder)) {
      const litmus_test test = read_litmus(membar_test::read_text(path));
      try {
        const auto states = outcomes(test);  // This throws if accesses of different sizes race.
        EXPECT_EQ(bounded_states(test), states) << path;
        EXPECT_EQ(states, all_states(test)) << path;
      } catch (const error&) {
      }
    }
  }
}

TEST(what_is_left_out, changes_no_final_state_of_a_random_test) {
  for (const membar_test::mix& one : membar_test::compared_mixes) {
    membar_test::random_tests stream(one.seed + 2, one.shape);
    for (int i = 0; i < one.programs / 4; ++i) {
      membar_test::random_program p = stream.next();
      if (i % 2 != 0) {  // Equal threads; the condition names one of them.
        for (std::size_t t = 1; t < p.code.size(); ++t) {
          p.code[t] = p.code[0];
          p.places[t] = "cta " + std::to_string(t) + ",gpu 0";
        }
        p.places[0] = "cta 0,gpu 0";
      }
      const std::string question = i % 3 == 0   ? "exists (x == 1)"
                                   : i % 3 == 1 ? "exists (P0:r0 == 1)"
                                                : "exists (P0:r0 == 1 /\\ x == 1)";
      const std::string text = p.text(p.own_order(), membar_test::plain_names, question);
      try {
        const litmus_test test = read_litmus(text);
        EXPECT_EQ(bounded_states(test), all_states(test)) << text;
      } catch (const error&) {  // no instruction of P0 names r0
      }
    }
  }
}

TEST(what_is_left_out, makes_large_tests_small) {
  const auto steps = [](const std::vector<column>& threads, const std::string& state, const std::string& question) {
    const litmus_test test = membar_test::made_of(threads, state, question);
    const test_view view = test.view();
    search_bounds bounds(0, equal_threads(view.program));
    search_options options(50'000);
    options.memory = std::uint64_t{16} << 20U;
    options.control = &bounds;
    return decide(test, options).counts.steps;
  };
  std::vector<column> readers = {{"st.relaxed.gpu x, 1"}, {"st.relaxed.gpu x, 2"}};
  readers.insert(readers.end(), 12, {"ld.relaxed.gpu r0, x", "ld.relaxed.gpu r1, x"});
  EXPECT_LT(steps(readers, "x=0;", "~exists (P2:r0 == 1 /\\ P2:r1 == 0)"), 50'000U);
  std::vector<column> ring;
  std::string state;
  std::string all;
  for (int i = 0; i < 12; ++i) {
    const std::string mine = "x" + membar_test::number(i);
    ring.push_back({"st.weak " + mine + ", 1", "fence.sc.gpu", "ld.weak r0, x" + membar_test::number((i + 1) % 12)});
    state += mine + "=0; ";
    all += (i == 0 ? "P" : " /\\ P") + membar_test::number(i) + ":r0 == 0";
  }
  EXPECT_LT(steps(ring, state, "~exists (" + all + ")"), 5'000U);
  EXPECT_LT(steps(ring, state, "exists (x3 == 1)"), 5'000U);
  column loads;
  for (int i = 0; i < 32; ++i) {
    loads.push_back("ld.weak r" + membar_test::number(i) + ", x");
  }
  EXPECT_LT(steps({{"st.weak x, 1"}, loads}, "x=0;", "~exists (P1:r31 == 2)"), 100U);
  EXPECT_LT(steps({{"st.weak x, 1"}, loads}, "x=0;", "~exists (x == 2)"), 100U);
  const std::vector<column> adders(10, {"red.relaxed.cta.add x, 1"});
  EXPECT_LT(steps(adders, "x=0;", "~exists (x == 11)"), 50'000U);
}

TEST(a_search, is_given_up_where_its_states_need_too_much_memory) {
  std::vector<column> readers = {{"st.relaxed.gpu x, 1"}, {"st.relaxed.gpu x, 2"}};
  readers.insert(readers.end(), 14, {"ld.relaxed.gpu r0, x", "ld.relaxed.gpu r1, x"});
  std::string any;
  for (int i = 2; i < 16; ++i) {
    any += (i == 2 ? "P" : " \\/ P") + membar_test::number(i) + ":r0 == 3";
  }
  search_options options;
  options.memory = std::uint64_t{1} << 20U;
  try {
    (void)decide(membar_test::made_of(readers, "x=0;", "exists (" + any + ")"), options);
    FAIL();
  } catch (const limit_reached& e) {
    EXPECT_EQ(e.message(), "undecided: the search was stopped because its states need more than 1 MiB");
  }
}

TEST(a_search, is_given_up_when_its_control_says_so) {
  struct over final : search_control {
    bool is_repeated(const partial_execution&, const execution_visitor&) override { return false; }
    bool is_over() override { return ++asked > 3; }
    int asked = 0;
  } control;
  column loads;
  for (int i = 0; i < 16; ++i) {
    loads.push_back("ld.weak r" + membar_test::number(i) + ", x");
  }
  std::string any = "P1:r0 == 3";
  for (int i = 1; i < 16; ++i) {
    any += " \\/ P1:r" + membar_test::number(i) + " == 3";
  }
  search_options options;
  options.control = &control;
  EXPECT_THROW((void)decide(membar_test::made_of({{"st.weak x, 1"}, loads}, "x=0;", "exists (" + any + ")"), options),
               limit_reached);
  EXPECT_EQ(control.asked, 4);
}

}  // namespace search_test
