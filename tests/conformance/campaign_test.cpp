// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Campaigns on a fake machine: which tests run, with which parameters and for how long, and what the campaign reports.
#include "output.hpp"

#include <membar/model/named_test.hpp>
#include <membar/model/test.hpp>

#include <tests/common/refusal.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace conformance;
namespace model = membar::model;
namespace litmus = membar::litmus;
using membar::thread_scope;
using membar_test::says;
using names = std::vector<std::string>;
using parameter_sets = std::vector<litmus::parameters>;

const std::string right = "MP+right@here";
const std::string elsewhere = "MP+elsewhere@here";
const std::string weak = "MP+weak@here";

/// Message passing. Its weak outcome is forbidden if `ordered`.
placed_test message_passing(const std::string& name, bool ordered) {
  constexpr model::variable x{0}, y{1};
  constexpr model::reg r0{0}, r1{1};
  constexpr auto device = thread_scope::device;
  const auto with = [&](auto set, auto look) {
    return model::named_test(model::litmus(model::thread(model::block(0), model::store(x, 1), model::store<device>(y, 1, set)),
                                           model::thread(model::block(1), model::load<device>(r0, y, look), model::load(r1, x)))
                                 .when(model::in(1, r0) == 1 && model::in(1, r1) == 0),
                             name);
  };
  placed_test one;
  one.name = name;
  one.test.model_test = ordered ? with(membar::release, membar::acquire) : with(membar::relaxed, membar::relaxed);
  for (const model::observable& what : one.test.model_test.observed) {
    one.test.observed.push_back({what, {0, 1}});
  }
  one.test.locations = 2;
  return one;
}

/// A suite of two guarantees that share a control. The machine does not have the second guarantee's place.
suite small_suite() {
  suite all;
  for (const std::string& test : {right, elsewhere}) {
    all.add(message_passing(test, true));
    all.add(guarantee{"family", test, {weak}});
  }
  all.add(message_passing(weak, false));
  return all;
}

/// A fake machine. Each run shows the weak outcome of its test a given number of times.
class fake_runner : public runner {
 public:
  std::map<std::string, std::uint64_t> shown;
  names runs;  ///< the tests that ran, in order
  names tuned;
  parameter_sets sets;
  std::vector<double> seconds;  ///< the limits of each run
  std::vector<std::uint64_t> instances;
  std::string fails;
  litmus::parameters shown_under{.width = 0};  ///< If the width is not 0, outcomes are shown only under these parameters.

  int find_place(const placed_test& test) override {
    if (test.name == elsewhere) {
      throw membar::error(cudaErrorNotSupported, "membar: the machine has no such place");
    }
    return 1;
  }
  litmus::run_result run(const placed_test& test, const litmus::parameters& how, const litmus::run_options& options) override {
    runs.push_back(test.name);
    sets.push_back(how);
    seconds.push_back(options.seconds);
    instances.push_back(options.instances);
    if (test.name == fails) {
      throw membar::error(cudaErrorLaunchTimeout, "membar: the run timed out");
    }
    litmus::run_result result;
    result.counts.resize(test.test.outcomes());
    result.instances = 1000;
    result.seconds = 0.5;
    result.used = how;
    const std::vector<bool> in_question = litmus::objective_outcomes(test.test, litmus::objective::condition);
    const std::uint64_t hits = shown_under.width == 0 || shown_under == how ? shown[test.name] : 0;
    for (std::size_t o = 0; o != in_question.size(); ++o) {
      result.counts[o] = in_question[o] ? hits : 0;
    }
    result.counts[0] = 1000 - hits;
    return result;
  }
  litmus::tune_result tune(const placed_test& test, const litmus::tune_options&) override {
    tuned.push_back(test.name);
    litmus::tune_result result;
    result.best.width = 64;
    result.log.resize(2);
    result.log[1].hits = shown[test.name];
    return result;
  }
};

class conformance_campaign : public ::testing::Test {
 protected:
  const campaign& run(plan how) {
    done = std::make_unique<campaign>(all, machine, std::move(how), [&](const test_result& t) { lines.push_back(line_of(t)); });
    done->run();
    return *done;
  }
  [[nodiscard]] const test_result& of(const std::string& test) const { return *done->find(test); }
  [[nodiscard]] bool control_observed() const { return done->control_observed(all.guarantees().front()); }
  [[nodiscard]] std::string json() const {
    std::ostringstream out;
    write_json(out, all, *done, {{"gpu", "fake \"one\""}});
    return out.str();
  }
  [[nodiscard]] std::string summary() const {
    std::ostringstream out;
    write_summary(out, all, *done);
    return out.str();
  }

  suite all = small_suite();
  fake_runner machine;
  std::unique_ptr<campaign> done;
  names lines;
};

TEST_F(conformance_campaign, runs_controls_first_each_test_once_under_every_set_and_skips_what_has_no_place) {
  machine.shown[weak] = 3;
  run({.draws = 3});  // Three drawn sets are added to two built-in ones.
  EXPECT_EQ(machine.runs, (names{weak, weak, weak, weak, weak, right, right, right, right, right}));
  EXPECT_EQ(built_in_sets(), (parameter_sets{{}, litmus::parse_parameters("share=75 stress=25 pattern=st/st lines=64")}));
  EXPECT_EQ(parameter_sets(machine.sets.begin(), machine.sets.begin() + 2), built_in_sets());
  EXPECT_EQ(parameter_sets(machine.sets.begin(), machine.sets.begin() + 5),
            parameter_sets(machine.sets.begin() + 5, machine.sets.end()));
  EXPECT_DOUBLE_EQ(machine.seconds[0], 0.2);
  EXPECT_EQ(of(right).result(), verdict::not_observed);
  EXPECT_EQ(of(right).instances, 5000u);
  EXPECT_EQ(of(weak).result(), verdict::observed);
  EXPECT_EQ(of(weak).weak, 15u);
  EXPECT_EQ(of(weak).forbidden, 0u);
  EXPECT_EQ(of(elsewhere).result(), verdict::skipped);
  EXPECT_TRUE(control_observed());
  EXPECT_EQ(lines, (names{"  control MP+weak@here: observed, 15 of 5e+03 instances, 0.003",
                          "guarantee MP+right@here: not observed in 5e+03 instances: a rate below 0.0006, with 95 % confidence "
                          "if they are independent",
                          "guarantee MP+elsewhere@here: skipped: membar: the machine has no such place"}));
  EXPECT_TRUE(says(summary(), "1 guarantees ran, 0 of them broken; 1 skipped, 0 failed\n"));
  EXPECT_TRUE(says(summary(),
                   "1 of the guarantees that ran had a control that was observed at the same place, 0 more only at another"));
}

TEST_F(conformance_campaign, a_control_of_another_place_says_nothing_of_this_one) {
  const std::string far = "MP+weak@there";
  all.add(message_passing(far, false));
  all.add(guarantee{"family", right, {far}});
  machine.shown[far] = 3;
  run({.draws = 0});
  EXPECT_EQ(of(far).result(), verdict::observed);
  EXPECT_FALSE(control_observed());
  EXPECT_TRUE(done->control_observed_elsewhere(all.guarantees().front()));
  EXPECT_TRUE(says(summary(),
                   "0 of the guarantees that ran had a control that was observed at the same place, 1 more only at another"));
}

TEST_F(conformance_campaign, a_forbidden_outcome_is_reported_with_its_parameters_and_seed) {
  machine.shown[right] = 2;
  run({.seed = 7, .draws = 0});
  EXPECT_EQ(of(right).result(), verdict::forbidden);
  EXPECT_EQ(of(right).forbidden, 4u);
  EXPECT_FALSE(control_observed());
  EXPECT_EQ(of(weak).result(), verdict::not_observed);
  for (const char* words : {"FORBIDDEN outcomes in 4 of 2e+03 instances: 2 of P1:r0=1; P1:r1=0;", "width=256", "seed 7"}) {
    EXPECT_TRUE(says(lines[1], words));
  }
  for (const char* words : {R"("verdict": "FORBIDDEN")", R"("seed": 7, "reason": "2 of)",
                            R"("part": 1, "parts": 1, "given": []})", R"("gpu": "fake \"one\"")"}) {
    EXPECT_TRUE(says(json(), words));
  }
}

TEST_F(conformance_campaign, tests_share_the_instances_and_later_ones_use_what_is_left) {
  run({.instances = 8000, .draws = 0});  // Each run has 1000 instances, regardless of its limit.
  EXPECT_EQ(machine.instances, (std::vector<std::uint64_t>{2000, 3000, 3000, 5000}));
}

TEST_F(conformance_campaign, a_part_has_its_share_of_the_instances) {
  run({.instances = 8000, .draws = 0, .parts = 2});
  EXPECT_EQ(machine.instances[0], 1000u);
}

TEST_F(conformance_campaign, each_kind_draws_its_parameters) {
  all.add(message_passing("SB+right@here", true));
  all.add(guarantee{"family", "SB+right@here", {}});
  run({.draws = 1});
  ASSERT_EQ(machine.runs.size(), 9u);
  EXPECT_EQ(machine.sets[2], machine.sets[5]);
  EXPECT_NE(machine.sets[2], machine.sets[8]);
}

TEST_F(conformance_campaign, the_best_parameters_are_reported_with_their_seed) {
  machine.shown_under = litmus::parse_parameters("stride=64");
  machine.shown[weak] = 1;
  run({.seed = 7, .draws = 0, .given = {litmus::parse_parameters("stride=32"), machine.shown_under}});
  EXPECT_EQ(of(weak).best_seed, 8u);
  EXPECT_TRUE(says(json(), "stride=64"));
  EXPECT_TRUE(says(json(), "\"seed\": 8, "));
}

TEST_F(conformance_campaign, only_the_named_test_runs) {
  EXPECT_EQ(run({.tests = {weak}}).results().size(), 1u);
  EXPECT_NE(done->find(weak), nullptr);
}

TEST_F(conformance_campaign, a_file_of_results_is_replaced_at_once) {
  const std::string path = ::testing::TempDir() + "conformance_campaign.json";
  campaign two_times(all, machine, {}, [](const test_result&) {});
  for (int time = 0; time != 2; ++time) {
    write_json_file(path, all, two_times, {});
    std::ostringstream told_now, told_there;
    write_json(told_now, all, two_times, {});
    told_there << std::ifstream(path).rdbuf();
    EXPECT_EQ(told_there.str(), told_now.str());
    EXPECT_FALSE(std::ifstream(path + ".part").is_open());
    two_times.run();
  }
  std::remove(path.c_str());
  EXPECT_THROW(write_json_file("/no/such/folder/a.json", all, two_times, {}), std::runtime_error);
}

TEST_F(conformance_campaign, a_guarantee_runs_under_what_was_tuned_for_its_controls) {
  machine.shown[weak] = 1;
  run({.draws = 0, .tune_seconds = 1});
  ASSERT_EQ(machine.sets.size(), 7u);
  EXPECT_EQ(machine.sets[0], litmus::parameters{});  // the parameters of the first short run
  for (const std::size_t run : {1u, 4u}) {
    EXPECT_EQ(machine.sets[run].width, 64);
    EXPECT_EQ(machine.sets[run + 1], litmus::parameters{});
  }
}

/// A suite with one guarantee and four controls, whose names show how much they order.
suite suite_to_tune() {
  suite all;
  const guarantee row{
      "family", right, {"MP+a.release@here", "MP+thread_fence@here", "MP+b.relaxed@here", "MP+c.acq_rel.acq_rel@here"}};
  all.add(message_passing(row.test, true));
  for (const std::string& control : row.controls) {
    all.add(message_passing(control, false));
  }
  all.add(row);
  return all;
}

TEST_F(conformance_campaign, parameters_are_searched_on_the_control_that_shows_most) {
  all = suite_to_tune();
  machine.shown["MP+b.relaxed@here"] = 1;
  machine.shown["MP+thread_fence@here"] = 2;
  run({.tune_seconds = 1});
  EXPECT_EQ(machine.tuned, names{"MP+thread_fence@here"});
  EXPECT_EQ(names(machine.runs.begin(), machine.runs.begin() + 4), all.guarantees().front().controls);
  EXPECT_DOUBLE_EQ(machine.seconds[0], 0.02);
}

TEST_F(conformance_campaign,
       without_an_observed_control_the_least_ordered_ones_are_searched_and_a_search_without_hits_has_no_result) {
  all = suite_to_tune();
  run({.tune_seconds = 1});
  EXPECT_EQ(machine.tuned, (names{"MP+b.relaxed@here", "MP+a.release@here", "MP+thread_fence@here"}));
  EXPECT_EQ(machine.sets[4], litmus::parameters{});  // the parameters after four short runs, one per control
}

TEST_F(conformance_campaign, a_test_that_fails_is_reported_and_the_next_one_runs) {
  machine.fails = weak;
  run({});
  EXPECT_EQ(of(weak).result(), verdict::failed);
  EXPECT_EQ(lines[0], "  control MP+weak@here: failed: membar: the run timed out");
  EXPECT_EQ(of(right).result(), verdict::not_observed);
}

TEST_F(conformance_campaign, a_hunt_is_for_guarantees_and_ends_with_the_first_that_is_broken) {
  machine.shown[right] = 1;
  run({.hunt_seconds = 60, .controls = false});
  EXPECT_EQ(machine.runs, names{right});
  EXPECT_EQ(of(right).result(), verdict::forbidden);
}

TEST_F(conformance_campaign, a_hunt_without_success_tries_other_parameters_until_its_time_is_over) {
  run({.hunt_seconds = 0.05, .controls = false});
  ASSERT_GE(machine.sets.size(), 4u);
  EXPECT_EQ(machine.sets[0], litmus::parameters{});
  EXPECT_EQ(machine.sets[1], built_in_sets()[1]);
  EXPECT_NE(machine.sets[2], machine.sets[3]);
  EXPECT_EQ(of(right).result(), verdict::not_observed);
}

TEST_F(conformance_campaign, no_test_begins_after_its_minutes_are_over) {
  run({.minutes = 0});
  EXPECT_TRUE(machine.runs.empty());
  EXPECT_EQ(of(right).result(), verdict::not_run);
  EXPECT_EQ(lines[1], "guarantee MP+right@here: not run");
}

TEST_F(conformance_campaign, parts_together_are_the_whole) {
  for (const std::size_t part : {0u, 1u}) {
    const campaign half(all, machine, {.part = part, .parts = 2}, [](const test_result&) {});
    EXPECT_EQ(half.find(right) != nullptr, part == 0);
    EXPECT_EQ(half.find(elsewhere) != nullptr, part == 1);
    EXPECT_NE(half.find(weak), nullptr);
  }
}

TEST_F(conformance_campaign, only_selected_guarantees_run_with_their_controls) {
  run({.selected = [](const guarantee& row) { return row.test == elsewhere; }});
  EXPECT_EQ(done->find(right), nullptr);
  EXPECT_NE(done->find(weak), nullptr);
}

TEST(conformance_suite, a_guarantee_that_is_added_again_gets_the_missing_controls) {
  suite all = small_suite();
  all.add(guarantee{"family", right, {weak, "MP+weaker@here"}});
  EXPECT_EQ(all.guarantees().size(), 2u);
  EXPECT_EQ(all.guarantees().front().controls, (names{weak, "MP+weaker@here"}));
}

TEST(conformance_suite, without_a_gpu_every_test_is_skipped_with_a_reason) {
  const suite all = small_suite();
  if (!litmus::this_machine().devices.empty()) {
    GTEST_SKIP() << "this machine has a GPU";
  }
  const std::unique_ptr<runner> machine = gpu_runner();
  campaign done(all, *machine, {}, [](const test_result&) {});
  done.run();
  EXPECT_EQ(done.find(right)->result(), verdict::skipped);
  EXPECT_TRUE(says(done.find(right)->reason, "needs a GPU"));
}

}  // namespace
