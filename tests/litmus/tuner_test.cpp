// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The search for parameters: which outcomes it counts, which parameters it tries, and which it selects.
#include <membar/litmus/report.hpp>
#include <membar/litmus/tuner.hpp>
#include <membar/model/interleave.hpp>
#include <membar/model/named_test.hpp>
#include <membar/model/test.hpp>

#include <tests/model/sync_litmus.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

namespace {

namespace model = membar::model;
using namespace membar::litmus;
using membar_test::sync_litmus::relaxed_store_buffering;

TEST(litmus_objective, is_the_condition_or_what_no_interleaving_gives) {
  const model::litmus_test test = model::named_test(relaxed_store_buffering, "SB");
  EXPECT_EQ(model::interleaved_outcomes(test), (std::set<std::vector<std::int64_t>>{{0, 1}, {1, 0}, {1, 1}}));
  runnable_test run;
  run.model_test = test;
  for (const model::observable& o : test.observed) {
    run.observed.push_back({o, {0, 1}});
  }
  EXPECT_EQ(allowed_outcomes(run), (std::set<std::vector<std::int64_t>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  const std::vector<bool> weak = objective_outcomes(run, objective::not_sequentially_consistent);
  EXPECT_EQ(std::count(weak.begin(), weak.end(), true), 1);
  EXPECT_TRUE(weak[0]);
  EXPECT_EQ(weak, objective_outcomes(run, objective::condition));
}

/// A fake machine whose rate is highest at width=64, order=lane, delay=512, and lower for every other value.
trial fake_trial(const parameters& p) {
  trial t;
  t.seconds = 0.1;
  t.instances = 1'000'000;
  if (p.stride == 4096) {
    t.failure = "the device has too little memory";
  }
  t.hits = 1000;
  t.hits -= p.width == 64 ? 0U : 300U;
  t.hits -= p.order == run_order::by_lane ? 0U : 300U;
  t.hits -= p.delay == 512 ? 0U : 300U;
  return t;
}

/// A search on the fake machine, where each trial takes some time.
template <class Run = decltype(&fake_trial)>
tune_result searched(const tune_options& options, double seconds_of_a_trial = 0.1, Run run = &fake_trial) {
  double now = 0;
  const auto trial_of = [&](const parameters& p) {
    now += seconds_of_a_trial;
    return run(p);
  };
  return tune(trial_of, [&] { return now; }, options);
}

/// Returns the number of parameters in which two sets differ.
int different(const parameters& a, const parameters& b) {
  return static_cast<int>(std::count_if(std::begin(detail::parameter_table), std::end(detail::parameter_table),
                                        [&](const detail::parameter_row& row) { return row.get(a) != row.get(b); }));
}

TEST(litmus_tuner, finds_the_best_parameters_of_a_machine_and_logs_every_trial) {
  const tune_result result = searched({.seconds = 40});
  EXPECT_EQ(result.best.width, 64);
  EXPECT_EQ(result.best.order, run_order::by_lane);
  EXPECT_EQ(result.best.delay, 512);
  EXPECT_NEAR(static_cast<double>(result.log.size()), 400, 2);
  EXPECT_EQ(result.log[0].tried, parameters{});
  // The search spends the second half of the time near the best parameters found so far.
  trial best;
  for (std::size_t i = 0; i < result.log.size(); ++i) {
    if (i > 201) {
      EXPECT_LE(different(best.tried, result.log[i].tried), 3) << i;
    }
    if (best.seconds == 0 || better(result.log[i], best)) {
      best = result.log[i];
    }
  }
}

TEST(litmus_tuner, begins_with_the_given_set_and_chosen_ones_near_it) {
  tune_options options{.seconds = 1, .first = {.width = 128, .order = run_order::fixed}};
  const tune_result result = searched(options);
  const std::vector<parameters> chosen = chosen_parameters(options.first);
  ASSERT_EQ(chosen.size(), 5U);
  EXPECT_EQ(chosen.front(), options.first);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    EXPECT_EQ(result.log[i].tried, chosen[i]);
    EXPECT_EQ(chosen[i].order, run_order::fixed);
    EXPECT_EQ(chosen[i].width, 128);
  }
  // A set that equals the first set is not tried twice.
  options.first.stride = 128;
  EXPECT_EQ(chosen_parameters(options.first).size(), 4U);
}

TEST(litmus_tuner, repeats_itself_with_the_same_seed) {
  const auto search = [](std::uint64_t seed) { return text_of(searched({.seconds = 5, .seed = seed})); };
  EXPECT_EQ(search(3), search(3));
  EXPECT_NE(search(3), search(4));
}

TEST(litmus_tuner, goes_on_after_parameters_that_do_not_run) {
  const tune_result result = searched({}, 1, [](const parameters& p) {
    trial t = fake_trial(p);
    t.failure = p == parameters{} ? "it did not run" : "";
    t.hits += p == parameters{} ? 1'000'000 : 0;
    return t;
  });
  EXPECT_NE(result.best, parameters{});
  EXPECT_EQ(result.log.front().failure, "it did not run");
  EXPECT_EQ(text_of(result).rfind("did not run  width=256", 0), 0U) << text_of(result);
}

TEST(litmus_tuner, prefers_the_faster_of_two_that_show_nothing) {
  trial slow;
  slow.seconds = 1;
  slow.instances = 10;
  trial fast = slow;
  fast.instances = 20;
  EXPECT_TRUE(better(fast, slow));
  slow.hits = 1;
  EXPECT_TRUE(better(slow, fast));
}

TEST(litmus_tuner, changes_one_or_two_parameters_for_a_neighbour) {
  const parameters from;
  for (std::uint64_t index = 0; index < 300; ++index) {
    const parameters to = neighbour_of(from, 1, index);
    EXPECT_LE(different(from, to), 3);  // With a larger share, less may be left for the stress.
    EXPECT_NO_THROW(validate(to));
  }
}

}  // namespace
