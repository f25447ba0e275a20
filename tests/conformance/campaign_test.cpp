// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Campaigns on a fake machine: which tests run, under which parameters, for how long, and what is reported.
#include "output.hpp"

#include <membar/model/named_test.hpp>
#include <membar/model/test.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace conformance;
namespace model = membar::model;
namespace litmus = membar::litmus;
using membar::thread_scope;

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

/// A suite of two guarantees that share a control. The machine lacks the place of the second one.
suite small_suite() {
  suite all;
  all.add(message_passing("MP+right@here", true));
  all.add(message_passing("MP+elsewhere@here", true));
  all.add(message_passing("MP+weak@here", false));
  all.add(guarantee{"family", "MP+right@here", {"MP+weak@here"}});
  all.add(guarantee{"family", "MP+elsewhere@here", {"MP+weak@here"}});
  return all;
}

/// A fake machine. Each run shows the weak outcome of its test a given number of times.
class fake_runner : public runner {
 public:
  std::map<std::string, std::uint64_t> shown;
  std::vector<std::string> runs;  ///< names of tests, in order
  std::vector<std::string> tuned;
  std::vector<litmus::parameters> sets;
  std::vector<litmus::run_options> options_of;
  std::string fails;
  litmus::parameters shown_under{.width = 0};  ///< if its width is not 0: outcomes are shown only under these

  int find_place(const placed_test& test) override {
    if (test.name == "MP+elsewhere@here") {
      throw membar::error(cudaErrorNotSupported, "membar: the machine has no such place");
    }
    return 1;
  }
  litmus::run_result run(const placed_test& test, const litmus::parameters& how, const litmus::run_options& options) override {
    runs.push_back(test.name);
    sets.push_back(how);
    options_of.push_back(options);
    if (test.name == fails) {
      throw membar::error(cudaErrorLaunchTimeout, "membar: the run timed out");
    }
    litmus::run_result result;
    result.counts.resize(test.test.outcomes());
    result.instances = 1000;
    result.seconds = 0.5;
    result.used = how;
    const std::vector<bool> in_question = litmus::objective_outcomes(test.test, litmus::objective::condition);
    const std::uint64_t weak = shown_under.width == 0 || shown_under == how ? shown[test.name] : 0;
    for (std::size_t o = 0; o != in_question.size(); ++o) {
      result.counts[o] = in_question[o] ? weak : 0;
    }
    result.counts[0] = 1000 - weak;
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

plan simple_plan() {
  plan how;
  how.selected = [](const guarantee&) { return true; };
  return how;
}

class conformance_campaign : public ::testing::Test {
 protected:
  void run(const plan& how) {
    campaign done(all, machine, how, [&](const test_result& t) { lines.push_back(line_of(t)); });
    done.run();
    right = *done.find("MP+right@here");
    weak = done.find("MP+weak@here") == nullptr ? test_result{} : *done.find("MP+weak@here");
    elsewhere = *done.find("MP+elsewhere@here");
    control_observed = done.control_observed(all.guarantees().front());
    std::ostringstream json;
    write_json(json, all, done, {{"gpu", "fake \"one\""}});
    told = json.str();
    std::ostringstream end;
    write_summary(end, all, done);
    summary = end.str();
  }

  suite all = small_suite();
  fake_runner machine;
  test_result right, weak, elsewhere;
  bool control_observed = false;
  std::vector<std::string> lines;
  std::string told, summary;
};

TEST_F(conformance_campaign, runs_controls_first_each_test_once_under_every_set_and_skips_what_has_no_place) {
  machine.shown["MP+weak@here"] = 3;
  plan how = simple_plan();  // two built-in sets of parameters, and three drawn ones
  how.draws = 3;
  run(how);
  EXPECT_EQ(machine.runs,
            (std::vector<std::string>{"MP+weak@here", "MP+weak@here", "MP+weak@here", "MP+weak@here", "MP+weak@here",
                                      "MP+right@here", "MP+right@here", "MP+right@here", "MP+right@here", "MP+right@here"}));
  EXPECT_EQ(machine.sets[0], litmus::parameters{});
  EXPECT_EQ(machine.sets[1], litmus::parse_parameters("share=75 stress=25 pattern=st/st lines=64"));
  EXPECT_EQ(std::vector<litmus::parameters>(machine.sets.begin(), machine.sets.begin() + 5),
            std::vector<litmus::parameters>(machine.sets.begin() + 5, machine.sets.end()));
  EXPECT_DOUBLE_EQ(machine.options_of[0].seconds, 0.2);
  EXPECT_EQ(right.result(), verdict::not_observed);
  EXPECT_EQ(right.instances, 5000u);
  EXPECT_EQ(weak.result(), verdict::observed);
  EXPECT_EQ(weak.weak, 15u);
  EXPECT_EQ(weak.forbidden, 0u);
  EXPECT_EQ(elsewhere.result(), verdict::skipped);
  EXPECT_TRUE(control_observed);
  EXPECT_EQ(lines[0], "  control MP+weak@here: observed, 15 of 5e+03 instances, 0.003");
  EXPECT_EQ(lines[1], "guarantee MP+right@here: not observed in 5e+03 instances: a rate below 0.0006, with 95 % confidence");
  EXPECT_EQ(lines[2], "guarantee MP+elsewhere@here: skipped: membar: the machine has no such place");
  EXPECT_NE(summary.find("1 guarantees ran, 0 of them broken; 1 skipped, 0 failed\n"), std::string::npos) << summary;
  EXPECT_NE(summary.find("1 of those that ran had a control that was observed"), std::string::npos) << summary;
}

TEST_F(conformance_campaign, a_forbidden_outcome_is_reported_with_its_parameters_and_seed) {
  machine.shown["MP+right@here"] = 2;
  plan how = simple_plan();
  how.draws = 0;
  how.seed = 7;
  run(how);
  EXPECT_EQ(right.result(), verdict::forbidden);
  EXPECT_EQ(right.forbidden, 4u);
  EXPECT_FALSE(control_observed);
  EXPECT_EQ(weak.result(), verdict::not_observed);
  EXPECT_NE(lines[1].find("FORBIDDEN outcomes in 4 of 2e+03 instances: 2 of P1:r0=1; P1:r1=0;"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find("width=256"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find("seed 7"), std::string::npos) << lines[1];
  EXPECT_NE(told.find("\"verdict\": \"FORBIDDEN\""), std::string::npos) << told;
  EXPECT_NE(told.find("\"seed\": 7, \"reason\": \"2 of"), std::string::npos) << told;
  EXPECT_NE(told.find("\"part\": 1, \"parts\": 1, \"given\": []}"), std::string::npos) << told;
  EXPECT_NE(told.find("\"gpu\": \"fake \\\"one\\\"\""), std::string::npos) << told;
}

TEST_F(conformance_campaign, tests_share_the_instances_and_later_ones_use_what_is_left) {
  plan how = simple_plan();
  how.draws = 0;
  how.instances = 8000;
  run(how);  // each run has 1000 instances, whatever its limit
  ASSERT_EQ(machine.options_of.size(), 4u);
  EXPECT_EQ(machine.options_of[0].instances, 2000u);
  EXPECT_EQ(machine.options_of[1].instances, 3000u);
  EXPECT_EQ(machine.options_of[2].instances, 3000u);
  EXPECT_EQ(machine.options_of[3].instances, 5000u);
}

TEST_F(conformance_campaign, a_part_has_its_share_of_the_instances) {
  plan how = simple_plan();
  how.draws = 0;
  how.instances = 8000;
  how.parts = 2;
  campaign done(all, machine, how, [](const test_result&) {});
  done.run();
  EXPECT_EQ(machine.options_of[0].instances, 1000u);
}

TEST_F(conformance_campaign, each_kind_draws_its_parameters) {
  all.add(message_passing("SB+right@here", true));
  all.add(guarantee{"family", "SB+right@here", {}});
  plan how = simple_plan();
  how.draws = 1;
  run(how);
  ASSERT_EQ(machine.runs.size(), 9u);
  EXPECT_EQ(machine.sets[2], machine.sets[5]);
  EXPECT_NE(machine.sets[2], machine.sets[8]);
}

TEST_F(conformance_campaign, the_best_parameters_are_reported_with_their_seed) {
  machine.shown_under = litmus::parse_parameters("stride=64");
  plan how = simple_plan();
  how.draws = 0;
  how.seed = 7;
  how.given = {litmus::parse_parameters("stride=32"), machine.shown_under};
  machine.shown["MP+weak@here"] = 1;
  run(how);
  EXPECT_EQ(weak.best_seed, 8u);
  EXPECT_NE(told.find("stride=64"), std::string::npos) << told;
  EXPECT_NE(told.find("\"seed\": 8, "), std::string::npos) << told;
}

TEST_F(conformance_campaign, a_test_that_is_named_runs_alone) {
  plan how = simple_plan();
  how.tests = {"MP+weak@here"};
  campaign done(all, machine, how, [](const test_result&) {});
  done.run();
  EXPECT_EQ(done.results().size(), 1u);
  EXPECT_NE(done.find("MP+weak@here"), nullptr);
}

TEST_F(conformance_campaign, a_file_of_results_is_replaced_at_once) {
  const std::string path = ::testing::TempDir() + "conformance_campaign.json";
  campaign done(all, machine, simple_plan(), [](const test_result&) {});
  for (int time = 0; time != 2; ++time) {
    write_json_file(path, all, done, {});
    std::ostringstream told_now, told_there;
    write_json(told_now, all, done, {});
    told_there << std::ifstream(path).rdbuf();
    EXPECT_EQ(told_there.str(), told_now.str());
    EXPECT_FALSE(std::ifstream(path + ".part").is_open());
    done.run();
  }
  std::remove(path.c_str());
  EXPECT_THROW(write_json_file("/no/such/folder/a.json", all, done, {}), std::runtime_error);
}

TEST_F(conformance_campaign, a_guarantee_runs_under_what_was_tuned_for_its_controls) {
  machine.shown["MP+weak@here"] = 1;
  plan how = simple_plan();
  how.draws = 0;
  how.tune_seconds = 1;
  run(how);
  ASSERT_EQ(machine.sets.size(), 7u);
  EXPECT_EQ(machine.sets[0], litmus::parameters{});  // the first short run
  for (const std::size_t run : {1u, 4u}) {
    EXPECT_EQ(machine.sets[run].width, 64);
    EXPECT_EQ(machine.sets[run + 1], litmus::parameters{});
  }
}

/// A suite of one guarantee with four controls, whose names show how much they are ordered.
suite suite_to_tune() {
  suite all;
  guarantee row{"family",
                "MP+right@here",
                {"MP+a.release@here", "MP+thread_fence@here", "MP+b.relaxed@here", "MP+c.acq_rel.acq_rel@here"}};
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
  plan how = simple_plan();
  how.tune_seconds = 1;
  campaign done(all, machine, how, [](const test_result&) {});
  done.run();
  EXPECT_EQ(machine.tuned, std::vector<std::string>{"MP+thread_fence@here"});
  EXPECT_EQ(std::vector<std::string>(machine.runs.begin(), machine.runs.begin() + 4), all.guarantees().front().controls);
  EXPECT_DOUBLE_EQ(machine.options_of[0].seconds, 0.02);
}

TEST_F(conformance_campaign,
       without_an_observed_control_the_least_ordered_ones_are_searched_and_a_search_without_hits_has_no_result) {
  all = suite_to_tune();
  plan how = simple_plan();
  how.tune_seconds = 1;
  campaign done(all, machine, how, [](const test_result&) {});
  done.run();
  EXPECT_EQ(machine.tuned, (std::vector<std::string>{"MP+b.relaxed@here", "MP+a.release@here", "MP+thread_fence@here"}));
  EXPECT_EQ(machine.sets[4], litmus::parameters{});  // after four short runs, one per control
}

TEST_F(conformance_campaign, a_test_that_fails_is_reported_and_the_next_one_runs) {
  machine.fails = "MP+weak@here";
  run(simple_plan());
  EXPECT_EQ(weak.result(), verdict::failed);
  EXPECT_EQ(lines[0], "  control MP+weak@here: failed: membar: the run timed out");
  EXPECT_EQ(right.result(), verdict::not_observed);
}

TEST_F(conformance_campaign, a_hunt_is_for_guarantees_and_ends_with_the_first_that_is_broken) {
  machine.shown["MP+right@here"] = 1;
  plan how = simple_plan();
  how.hunt_seconds = 60;
  how.controls = false;
  run(how);
  EXPECT_EQ(machine.runs, std::vector<std::string>{"MP+right@here"});
  EXPECT_EQ(right.result(), verdict::forbidden);
}

TEST_F(conformance_campaign, a_hunt_without_success_tries_other_parameters_until_its_time_is_over) {
  plan how = simple_plan();
  how.hunt_seconds = 0.05;
  how.controls = false;
  run(how);
  ASSERT_GE(machine.sets.size(), 4u);
  EXPECT_EQ(machine.sets[0], litmus::parameters{});
  EXPECT_EQ(machine.sets[1], built_in_sets()[1]);
  EXPECT_NE(machine.sets[2], machine.sets[3]);
  EXPECT_EQ(right.result(), verdict::not_observed);
}

TEST_F(conformance_campaign, no_test_begins_after_its_minutes_are_over) {
  plan how = simple_plan();
  how.minutes = 0;
  run(how);
  EXPECT_TRUE(machine.runs.empty());
  EXPECT_EQ(right.result(), verdict::not_run);
  EXPECT_EQ(lines[1], "guarantee MP+right@here: not run");
}

TEST_F(conformance_campaign, parts_together_are_the_whole) {
  plan how = simple_plan();
  how.parts = 2;
  for (how.part = 0; how.part != 2; ++how.part) {
    campaign done(all, machine, how, [](const test_result&) {});
    EXPECT_EQ(done.find("MP+right@here") != nullptr, how.part == 0);
    EXPECT_EQ(done.find("MP+elsewhere@here") != nullptr, how.part == 1);
    EXPECT_NE(done.find("MP+weak@here"), nullptr);
  }
}

TEST_F(conformance_campaign, only_selected_guarantees_run_with_their_controls) {
  plan how = simple_plan();
  how.selected = [](const guarantee& row) { return row.test == "MP+elsewhere@here"; };
  campaign done(all, machine, how, [](const test_result&) {});
  done.run();
  EXPECT_EQ(done.find("MP+right@here"), nullptr);
  EXPECT_NE(done.find("MP+weak@here"), nullptr);
}

TEST(conformance_suite, a_guarantee_that_is_added_again_gets_the_missing_controls) {
  suite all = small_suite();
  all.add(guarantee{"family", "MP+right@here", {"MP+weak@here", "MP+weaker@here"}});
  EXPECT_EQ(all.guarantees().size(), 2u);
  EXPECT_EQ(all.guarantees().front().controls, (std::vector<std::string>{"MP+weak@here", "MP+weaker@here"}));
}

TEST(conformance_suite, without_a_gpu_every_test_is_skipped_with_a_reason) {
  const suite all = small_suite();
  const std::unique_ptr<runner> machine = gpu_runner();
  if (membar::litmus::this_machine().devices.empty()) {
    campaign done(all, *machine, simple_plan(), [](const test_result&) {});
    done.run();
    EXPECT_EQ(done.find("MP+right@here")->result(), verdict::skipped);
    EXPECT_NE(done.find("MP+right@here")->reason.find("needs a GPU"), std::string::npos);
  } else {
    GTEST_SKIP() << "this machine has a GPU";
  }
}

}  // namespace
