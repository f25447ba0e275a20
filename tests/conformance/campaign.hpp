// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Runs the suite on a machine. For each test, counts the outcomes and finds the parameters under which they are most frequent.
#pragma once

#include "suite.hpp"

#include <membar/litmus/engine.hpp>
#include <membar/litmus/tuner.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace conformance {

/// The settings of a campaign.
struct plan {
  double seconds = 1.0;  ///< The time for each test, over all parameter sets.
  /// If not 0, the limit for all tests of all parts together; `seconds` is then the limit per test.
  std::uint64_t instances = 0;
  std::uint64_t seed = 1;
  /// The number of randomly drawn parameter sets, in addition to given and tuned ones.
  int draws = 4;
  /// The time for tuning each shape and place. Tuning runs the control that shows its outcome most often.
  double tune_seconds = 0;
  std::vector<membar::litmus::parameters> given{};  ///< The parameter sets to start with.
  double hunt_seconds = 0;  ///< If not 0, guarantees run in turns until one is broken or this time is up.
  double minutes = 1e9;     ///< No test begins after this time.
  std::size_t part = 0;     ///< Selects every `parts`-th guarantee, starting with index `part`.
  std::size_t parts = 1;
  bool guarantees = true;
  bool controls = true;
  std::function<bool(const guarantee&)> selected = [](const guarantee&) { return true; };
  std::set<std::string> tests{};  ///< If not empty, only those of the selected guarantees that are listed here run, with their
                                  ///< controls.
};

/// The parameter sets under which each test runs: the default, in which all blocks run the test, and one in which a quarter of
/// them keeps the memory busy.
[[nodiscard]] std::vector<membar::litmus::parameters> built_in_sets();

/// The result of a test.
enum class verdict { not_run, skipped, failed, not_observed, observed, forbidden };

[[nodiscard]] const char* name(verdict v);

/// The counts of a test.
struct test_result {
  const placed_test* test = nullptr;
  bool is_guarantee = false;
  std::string family{};
  std::uint64_t instances = 0;
  std::uint64_t weak = 0;       ///< The number of instances with the outcome in question.
  std::uint64_t forbidden = 0;  ///< The number of instances with any outcome that the model forbids.
  double seconds = 0;           ///< kernel time
  double best_rate = -1;        ///< The number of weak outcomes per instance under the parameters that showed the most weak
                                ///< outcomes.
  std::string best_parameters{};
  std::uint64_t best_seed = 0;
  int sets = 0;          ///< the number of parameter sets
  int homes = 1;         ///< The number of the test's launches whose device has enough space for the launch's memory.
  std::string reason{};  ///< The reason why it was skipped or failed, or the forbidden outcomes and their parameters.
  bool was_skipped = false;
  bool has_failed = false;

  [[nodiscard]] verdict result() const noexcept {
    return forbidden != 0   ? verdict::forbidden
           : was_skipped    ? verdict::skipped
           : has_failed     ? verdict::failed
           : instances == 0 ? verdict::not_run
           : weak != 0      ? verdict::observed
                            : verdict::not_observed;
  }
  [[nodiscard]] double rate() const noexcept {
    return instances == 0 ? 0 : static_cast<double>(weak) / static_cast<double>(instances);
  }
};

/// The machine on which a campaign runs: an engine or, in tests, a fake machine.
class runner {
 public:
  virtual ~runner() = default;
  /// Returns the number of the test's launches whose device has enough space for the launch's memory. Throws `membar::error` if
  /// the machine does not have the test's place.
  virtual int find_place(const placed_test& test) = 0;
  virtual membar::litmus::run_result run(const placed_test& test, const membar::litmus::parameters& how,
                                         const membar::litmus::run_options& options) = 0;
  virtual membar::litmus::tune_result tune(const placed_test& test, const membar::litmus::tune_options& options) = 0;
};

/// Runs tests on the GPUs of this machine.
[[nodiscard]] std::unique_ptr<runner> gpu_runner();

/// Runs the suite, or a part of it.
class campaign {
 public:
  /// `progress` is called after each test.
  campaign(const suite& all, runner& on, plan how, std::function<void(const test_result&)> progress);

  void run();

  [[nodiscard]] const std::vector<test_result>& results() const noexcept { return results_; }
  [[nodiscard]] const plan& how() const noexcept { return plan_; }

  /// Returns the result of the test with this name, or a null pointer if the test is not part of the campaign.
  [[nodiscard]] const test_result* find(const std::string& test) const;

  /// Returns whether a control of the guarantee was observed at the guarantee's place.
  [[nodiscard]] bool control_observed(const guarantee& row) const { return any_observed(row, true); }
  /// Returns whether a control was observed at another place, but no control at the guarantee's own place. Such a control does
  /// not support the guarantee.
  [[nodiscard]] bool control_observed_elsewhere(const guarantee& row) const {
    return !any_observed(row, true) && any_observed(row, false);
  }

  /// The number of guarantees, or of controls, with a verdict.
  [[nodiscard]] std::size_t count(bool guarantees, verdict v) const;

 private:
  void add(const std::string& test, bool is_guarantee, const std::string& family);
  [[nodiscard]] bool any_observed(const guarantee& row, bool at_its_place) const;
  [[nodiscard]] membar::litmus::parameters drawn(const test_result& t, std::uint64_t index) const;
  [[nodiscard]] std::vector<membar::litmus::parameters> sets_of(const test_result& t) const;
  void run_once(test_result& t, membar::litmus::parameters how, double seconds, std::uint64_t instances);
  void run_test(test_result& t);
  void tune(const std::string& kind);
  void hunt();
  [[nodiscard]] membar::litmus::parameters set_of_turn(std::size_t turn, const test_result& t) const;
  [[nodiscard]] std::size_t runnable() const;

  const suite* all_;
  runner* on_;
  plan plan_;
  std::function<void(const test_result&)> progress_;
  std::vector<test_result> results_;
  std::map<std::string, std::size_t> index_;
  std::size_t turns_left_ = 0;  ///< the number of tests that can run
  std::map<std::string, membar::litmus::parameters> tuned_;
  std::set<std::string> searched_;  ///< The kinds that were tuned, or that have no control with an outcome.
};

}  // namespace conformance
