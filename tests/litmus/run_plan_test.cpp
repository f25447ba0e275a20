// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Run plans: the cells of a litmus file, the digits and their values, and the reasons why a file does not run.
#include "plans.hpp"

#include <membar/model/outcomes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

namespace model = membar::model;
using namespace membar_test;
using membar::litmus_files::run_plan;

[[nodiscard]] std::string digits_text(const run_plan& plan) {
  std::string text;
  for (const membar::litmus_files::outcome_digit& d : plan.digits()) {
    text += (text.empty() ? "" : " ") + d.name + "{";
    for (const std::int64_t value : d.values) {
      text += (text.back() == '{' ? "" : ",") + model::value_text(plan.test(), value);
    }
    text += "}";
  }
  return text;
}

/// Returns a test's digits, or the reason why the test does not run.
[[nodiscard]] std::string digits_of(const std::string& text) {
  const plan_or_reason one = plan_of(text);
  return one.plan == nullptr ? one.reason : digits_text(*one.plan);
}

[[nodiscard]] std::string two_threads(const std::string& start, const std::string& first, const std::string& second,
                                      const std::string& ending) {
  return "PTX t\n{ " + start + " }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n " + first + " | " + second + " ;\n" + ending + "\n";
}

TEST(litmus_run_plan, a_digit_has_every_value_that_an_execution_gives) {
  EXPECT_EQ(digits_of(two_threads("x=3;", "st.weak x, 5", "ld.weak r0, x", "exists (P1:r0 == 5)")), "P1:r0{0,3,5}")
      << "0 is the register's first value";
  EXPECT_EQ(digits_of(two_threads("x=0;", "atom.relaxed.gpu.add r0, x, 2", "atom.relaxed.gpu.add r0, x, 3", "exists (x == 5)")),
            "x{0,2,3,5}");
  EXPECT_EQ(digits_of(two_threads("x=0;", "st.weak x, 1", "st.weak x, 2", "exists (x == 9)")), "x{0,1,2,9}")
      << "the digit also has a value that only the condition names";
}

TEST(litmus_run_plan, a_forbidden_value_has_a_digit_too) {
  // The lost update is forbidden, but it has a name in case the hardware shows it.
  const plan_or_reason one =
      plan_of(two_threads("x=0;", "atom.relaxed.gpu.add r0, x, 1", "atom.relaxed.gpu.add r0, x, 1", "~exists (x == 1)"));
  ASSERT_NE(one.plan, nullptr) << one.reason;
  EXPECT_EQ(outcomes_of(one.plan->test()), std::vector<std::string>{"x=2"});
  EXPECT_EQ(digits_text(*one.plan), "x{0,1,2}");
}

TEST(litmus_run_plan, every_allowed_outcome_of_the_catalogue_has_digits) {
  std::size_t plans = 0;
  for (const auto& path : litmus_files(catalogue)) {
    const plan_or_reason one = plan_of(read_text(path));
    if (one.plan == nullptr) {
      continue;
    }
    ++plans;
    for (const std::vector<std::int64_t>& values : allowed_values(one.plan->test())) {
      for (std::size_t v = 0; v < values.size(); ++v) {
        const std::vector<std::int64_t>& known = one.plan->digits()[v].values;
        EXPECT_NE(std::find(known.begin(), known.end(), values[v]), known.end()) << path << " " << values[v];
      }
    }
  }
  EXPECT_GE(plans, 290U);
}

TEST(litmus_run_plan, an_address_is_a_token_that_fits_four_bytes_and_keeps_distances) {
  const plan_or_reason one =
      plan_of(two_threads("w=0; x=&w; z=0; P1:r5=&z;", "ld.weak r0, x", "st.weak x, r5", "exists (P0:r0 == &z)"));
  ASSERT_NE(one.plan, nullptr) << one.reason;
  EXPECT_EQ(digits_text(*one.plan), "P0:r0{0,&w,&z}");
  const auto token = [&](int location) { return one.plan->machine_value(model::address_value(location)); };
  EXPECT_EQ(token(2) - token(0), model::address_value(2) - model::address_value(0));
  EXPECT_TRUE(membar::litmus_files::fits(membar::litmus_files::address_token(63), 4));
  EXPECT_EQ(one.plan->digit(0, token(0)), 1U);
  EXPECT_EQ(one.plan->digit(0, model::address_value(0)), 3U) << "not the model's own number";
  EXPECT_EQ(one.plan->machine_value(7), 7);
}

TEST(litmus_run_plan, elements_of_a_vector_share_a_cell_and_others_do_not) {
  const plan_or_reason one = plan_of(two_threads("v=1; v[1]=-2; y=3; y[1]=4;", "ld.weak.v2 {r0, r1}, v", "ld.weak r0, y[1]",
                                                 "exists (P0:r0 == 0 /\\ v[1] == 0)"));
  ASSERT_NE(one.plan, nullptr) << one.reason;
  ASSERT_EQ(one.plan->cells(), 3);
  EXPECT_EQ(one.plan->part(0).cell, one.plan->part(1).cell);
  EXPECT_EQ(one.plan->part(1).offset, 4);
  EXPECT_NE(one.plan->part(2).cell, one.plan->part(3).cell);
  const auto& bytes = one.plan->initial(one.plan->part(0).cell);
  EXPECT_EQ(std::vector<int>(bytes.begin(), bytes.begin() + 9), (std::vector<int>{1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0}));
}

TEST(litmus_run_plan, how_a_loop_or_an_address_ends_is_a_digit) {
  const std::string spin =
      "PTX t\n{ x=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.release.gpu x, 1 | L: ;\n | ld.acquire.gpu r0, x ;\n | bne r0, "
      "1, L ;\nexists (P1:r0 == 1)\n";
  const plan_or_reason one = plan_of(spin);
  ASSERT_NE(one.plan, nullptr) << one.reason;
  EXPECT_EQ(digits_text(*one.plan), "P1:r0{0,1} the end of P1{0,1,2}");
  // 3 * 4 outcomes: r0 is 0, 1 or other; the thread has reached its end, strayed, is unfinished, or none of these
  const membar::litmus_files::folded_counts folded = one.plan->fold({1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048});
  EXPECT_EQ(folded.counts, (std::vector<std::uint64_t>{1, 2, 4}));
  EXPECT_EQ(folded.strayed, 8U + 16U + 32U);
  EXPECT_EQ(folded.unfinished, 64U + 128U + 256U);
  EXPECT_EQ(folded.unknown, 512U + 1024U + 2048U);
}

TEST(litmus_run_plan, without_loops_folding_changes_nothing) {
  const plan_or_reason one = plan_of(read_text(catalogue / "allowed" / "MP+relaxed.litmus"));
  ASSERT_NE(one.plan, nullptr) << one.reason;
  const std::vector<std::uint64_t> counts = {9, 8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(one.plan->fold(counts).counts, counts);
  EXPECT_EQ(one.plan->fold(counts, counts).slices_with, counts);
}

TEST(litmus_run_plan, what_only_the_filter_names_is_observed_after_the_condition) {
  EXPECT_EQ(digits_of(two_threads("x=0; y=0;", "st.weak x, 1", "ld.weak r0, x", "filter (y == 0)\nexists (P1:r0 == 1)")),
            "P1:r0{0,1} y{0}");
}

TEST(litmus_run_plan, why_a_test_does_not_run_is_one_sentence) {
  const auto alone = [](const std::string& start, const std::string& code, const std::string& ending) {
    return digits_of("PTX t\n{ " + start + " }\n P0@cta 0,gpu 0 ;\n " + code + " ;\n" + ending + "\n");
  };
  EXPECT_EQ(alone("x=0;", "st.weak x, 1", ""),
            "the test observes no register and no location: add a condition, or locations [...]");
  EXPECT_EQ(alone("x=300;", "ld.weak.b8 r0, x", "exists (P0:r0 == 0)"),
            "'x' has the initial value 300, which does not fit in the 1 byte of its accesses as a signed number: give them a "
            "wider type, such "
            "as .b64");
  EXPECT_EQ(alone("x=0;", "st.weak.b16 x, 40000", "exists (x == 0)"),
            "line 4: the value 40000 does not fit in the 2 bytes of the access as a signed number: give the accesses a wider "
            "type, such as .b64");
  EXPECT_EQ(alone("x=0;", "st.weak.b64 x, 1 ;\n ld.weak r0, x", "exists (P0:r0 == 0)"),
            "line 5: 'x' is accessed with 4 and with 8 bytes, but a run observes one value of one size per location: use "
            "accesses of one size");
  EXPECT_EQ(alone("x=0; a @ generic aliases x;", "st.weak a, 1", "exists (x == 0)"),
            "'a' is another virtual address of 'x', but in a run, every location has only one address");
  EXPECT_EQ(alone("x=0; m @ multimem aliases x;", "multimem.st.weak m, 1", "exists (x == 0)"),
            "'m' is a multimem address, but a run does not create multicast objects");
  EXPECT_EQ(
      alone("b @ mbarrier 1; x=0;", "mbarrier.arrive b", "exists (x == 0)"),
      "line 4: 'mbarrier.arrive b': a block runs many instances of a test concurrently, so a test with mbarriers cannot run");
  EXPECT_EQ(alone("x=0;", "st.weak x, 1 ;\n fence.mbarrier_init.release.cluster", "exists (x == 0)"),
            "line 5: 'fence.mbarrier_init.release.cluster': a block runs many instances of a test concurrently, so a test with "
            "mbarriers cannot run");
  EXPECT_EQ(
      alone("x=0;", "L: ;\n atom.relaxed.gpu.add r0, x, 1 ;\n bne r0, 5, L", "exists (P0:r0 == 0)"),
      "line 6: the loop that jumps back here does more than wait, but the model follows only one jump back: unroll the loop");
  std::string start;
  std::string code;
  std::string condition;
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    start += "x" + n + "=0; ";
    code += (i == 0 ? "" : " ;\n ") + ("ld.weak r" + n) + ", x" + n;
    condition += (i == 0 ? "" : " /\\ ") + ("P0:r" + n) + " == 1";
  }
  EXPECT_EQ(alone(start, code, "exists (" + condition + ")"),
            "the test may have more than 4096 outcomes, the most that a run can count: observe fewer values in each test");
  for (int i = 8; i < 17; ++i) {
    start += "x" + std::to_string(i) + "=0; ";
  }
  EXPECT_EQ(alone(start, "ld.weak r0, x0", "exists (P0:r0 == 1)"),
            "the test has 17 locations, but a run can have at most 16: split the test");
}

TEST(litmus_run_plan, an_update_of_memory_that_the_host_writes_is_named) {
  const auto shared = [](const std::string& gpu, const std::string& host) {
    const plan_or_reason one =
        plan_of("PTX t\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@host ;\n " + gpu + " | " + host + " ;\nexists (x == 1)\n");
    return one.plan == nullptr ? one.reason : one.plan->update_shared_with_host();
  };
  EXPECT_EQ(shared("red.relaxed.sys.add x, 1", "st.weak x, 2"), "line 4: 'red.relaxed.sys.add x, 1'");
  EXPECT_EQ(shared("red.relaxed.sys.add x, 1", "atom.relaxed.sys.add r0, x, 2"), "line 4: 'red.relaxed.sys.add x, 1'");
  EXPECT_EQ(shared("red.relaxed.sys.add x, 1", "ld.weak r0, x"), "");
  EXPECT_EQ(shared("red.relaxed.sys.add x, 1", "st.weak y, 2"), "");
  EXPECT_EQ(shared("st.weak x, 1", "atom.relaxed.sys.add r0, x, 2"), "");
}

}  // namespace
