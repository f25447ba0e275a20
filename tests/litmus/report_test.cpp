// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reports: the names of outcomes, the model's marks, herd's format, and statistics.
#include <litmus/reader.hpp>
#include <membar/litmus/report.hpp>

#include <tests/common/refusal.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace {

namespace model = membar::model;
using namespace membar::litmus;
using membar_test::says;

/// Returns a file's test in the form that an engine runs; each observation has the values 0 and 1.
runnable_test of_file(const std::string& text) {
  runnable_test test;
  test.model_test = membar::litmus_files::read_litmus(text);
  for (const model::observable& o : test.model_test.observed) {
    test.observed.push_back({o, {0, 1}});
  }
  test.locations = static_cast<int>(test.model_test.locations.size());
  return test;
}

runnable_test message_passing(const std::string& question) {
  return of_file(
      "PTX MP\n{ x=0; y=0; }\n"
      " P0@cta 0,gpu 0        | P1@cta 1,gpu 0       ;\n"
      " st.weak x, 1          | ld.acquire.gpu r0, y ;\n"
      " st.release.gpu y, 1   | ld.weak r1, x        ;\n" +
      question);
}

/// The counts for two observations with the digits 0, 1 and "other".
run_result counted(const std::vector<std::vector<std::uint64_t>>& counts) {
  run_result run;
  run.counts.resize(9);
  for (const auto& c : counts) {
    run.counts[c[0] + 3 * c[1]] = c[2];
    run.instances += c[2];
  }
  run.seconds = 0.5;
  run.device = "a device";
  return run;
}

TEST(litmus_report, says_in_herds_words_what_was_seen) {
  const report r = make_report(message_passing("exists (P1:r0 == 1 /\\ P1:r1 == 1)"), counted({{0, 0, 1234567}, {1, 1, 42}}));
  EXPECT_TRUE(r.sound());
  EXPECT_TRUE(r.condition_allowed);
  const std::string expected =
      "Test MP Allowed\n"
      "Histogram (2 states)\n"
      "1234567 :> P1:r0=0; P1:r1=0;  allowed\n"
      "42      *> P1:r0=1; P1:r1=1;  allowed\n"
      "0       :> P1:r0=0; P1:r1=1;  allowed, not observed\n"
      "Ok\n"
      "Witnesses\n"
      "Positive: 42 Negative: 1234567\n"
      "Condition exists (P1:r0 == 1 /\\ P1:r1 == 1)\n"
      "Observation MP Sometimes 42 1234567\n"
      "Rate 2.47e+06 instances/s in 0.5 s on a device, parameters: " +
      text_of(parameters{}) +
      "\n"
      "Statistics: the condition, which the model allows, held 42 times: if instances were independent, an equally long run "
      "would miss it with probability 5.75e-19\n";
  EXPECT_EQ(text_of(r), expected);
}

TEST(litmus_report, names_each_forbidden_outcome_and_each_value_that_nobody_writes) {
  const report r =
      make_report(message_passing("~exists (P1:r0 == 1 /\\ P1:r1 == 0)"), counted({{0, 0, 10}, {1, 0, 2}, {0, 2, 1}}));
  EXPECT_FALSE(r.sound());
  EXPECT_FALSE(r.condition_allowed);
  EXPECT_EQ(r.positive, 2U);
  EXPECT_EQ(r.negative, 11U);
  const std::string text = text_of(r);
  EXPECT_TRUE(says(text, "Test MP Forbidden\nHistogram (3 states)\n"));
  EXPECT_TRUE(says(text, "2  *> P1:r0=1; P1:r1=0;      forbidden\n"));
  EXPECT_TRUE(says(text, "1  :> P1:r0=0; P1:r1=other;  corrupt\n"));
  EXPECT_TRUE(says(text, "\nNo\n"));
  EXPECT_TRUE(says(text, "Forbidden: P1:r0=1; P1:r1=0; was observed 2 times, and the model does not allow it\n"));
  EXPECT_TRUE(
      says(text, "Corrupt: P1:r0=0; P1:r1=other; was observed 1 times, and no thread of the test writes such a value\n"));
}

TEST(litmus_report, does_not_take_what_was_not_observed_for_forbidden) {
  const report r = make_report(message_passing("exists (P1:r0 == 0 /\\ P1:r1 == 1)"), counted({{0, 0, 3000}}));
  EXPECT_TRUE(r.sound());
  EXPECT_STREQ(r.frequency(), "Never");
  const std::string text = text_of(r);
  EXPECT_TRUE(says(text, "0    *> P1:r0=0; P1:r1=1;  allowed, not observed\n"));
  EXPECT_TRUE(
      says(text,
           "Statistics: the condition, which the model allows, held in none of 3000 instances: if instances were independent, "
           "its rate would be below 0.001 with 95 % confidence, under these parameters on this machine\n"));
}

TEST(litmus_report, answers_every_quantifier) {
  const run_result always = counted({{1, 1, 5}});
  const std::string both = "(P1:r0 == 1 /\\ P1:r1 == 1)";
  EXPECT_TRUE(says(text_of(make_report(message_passing("forall " + both), always)), "Test MP Required\n"));
  EXPECT_TRUE(says(text_of(make_report(message_passing("forall " + both), always)), "\nOk\n"));
  EXPECT_TRUE(says(text_of(make_report(message_passing("~exists " + both), always)), "\nNo\n"));
  EXPECT_TRUE(says(text_of(make_report(message_passing("exists " + both), always)), "Observation MP Always 5 0\n"));
}

TEST(litmus_report, counts_nothing_that_the_filter_leaves_out_and_forbids_none_of_it) {
  const report r = make_report(message_passing("filter (P1:r0 == 1)\nexists (P1:r0 == 1 /\\ P1:r1 == 1)"),
                               counted({{0, 0, 100}, {1, 1, 7}}));
  EXPECT_TRUE(r.sound());
  EXPECT_EQ(r.positive, 7U);
  EXPECT_EQ(r.negative, 0U);
  EXPECT_TRUE(says(text_of(r), "allowed, left out by the filter\n"));
}

TEST(litmus_report, bounds_nothing_by_instances_that_have_no_outcome) {
  run_result run = counted({{0, 0, 3000}, {1, 0, 300}});
  run.instances += 5000;  // unfinished instances
  const report r = make_report(message_passing("filter (P1:r0 == 1)\nexists (P1:r0 == 1 /\\ P1:r1 == 1)"), run);
  EXPECT_EQ(r.relevant_instances(), 300U);
  EXPECT_TRUE(says(text_of(r), "held in none of 300 instances: if instances were independent, its rate would be below 0.01 "));
  EXPECT_TRUE(says(json_of(r), "\"rate_bound\": 0.01"));
}

TEST(litmus_report, says_in_how_many_slices_the_condition_held) {
  run_result run = counted({{0, 0, 100}, {1, 1, 42}, {0, 1, 5}});
  run.slices = 20;
  run.slices_with.resize(run.counts.size());
  run.slices_with[0] = 20;
  run.slices_with[1 + 3 * 1] = 3;
  run.slices_with[0 + 3 * 1] = 2;
  const report r = make_report(message_passing("exists ((P1:r0 == 0 \\/ P1:r0 == 1) /\\ P1:r1 == 1)"), run);
  EXPECT_EQ(r.positive, 47U);
  EXPECT_EQ(r.positive_slices, 3U);
  EXPECT_TRUE(says(text_of(r),
                   "Statistics: it held in at least 3 of 20 slices of the run: if only slices were independent, an equally "
                   "long run would miss it with probability 0.0498\n"));
  EXPECT_TRUE(says(json_of(r), "\"slices\": 20, \"positive_slices\": 3, "));
}

TEST(litmus_report, is_one_json_object_on_one_line) {
  runnable_test test = message_passing("exists (P1:r0 == 1 /\\ P1:r1 == 0)");
  test.model_test.name = "a \"name\"";
  const std::string json = json_of(make_report(test, counted({{1, 0, 1}})));
  EXPECT_EQ(json.find('\n'), std::string::npos);
  EXPECT_EQ(json.rfind("{\"test\": \"a \\\"name\\\"\", \"quantifier\": \"exists\"", 0), 0U) << json;
  EXPECT_TRUE(says(json, "\"sound\": false"));
  EXPECT_TRUE(
      says(json,
           "{\"state\": \"P1:r0=1; P1:r1=0;\", \"count\": 1, \"slices\": 0, \"model\": \"forbidden\", \"satisfies\": true, "
           "\"filtered\": false}"));
  EXPECT_EQ(json.back(), '}');
}

TEST(litmus_statistics, bound_what_was_never_seen_and_what_may_be_missed) {
  EXPECT_DOUBLE_EQ(rate_bound(300), 0.01);
  EXPECT_DOUBLE_EQ(rate_bound(0), 1.0);
  // This is the rule of three: at this rate, the probability that none of N instances shows the outcome is 5 %.
  EXPECT_NEAR(std::pow(1 - rate_bound(1'000'000), 1'000'000), 0.05, 0.001);
  EXPECT_DOUBLE_EQ(chance_of_missing(0), 1.0);
  EXPECT_NEAR(chance_of_missing(3), 0.0498, 0.0001);
  EXPECT_EQ(detail::chance_text(chance_of_missing(1'000'000)), "below 1e-300");
}

}  // namespace
