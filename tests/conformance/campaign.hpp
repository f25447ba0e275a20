// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Runs the suite on a machine and keeps count: of each test, under which parameters, what was seen.
#pragma once

#include "suite.hpp"

#include <membar/litmus/report.hpp>
#include <membar/litmus/engine.hpp>
#include <membar/litmus/tuner.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace conformance {

/// How a campaign runs.
struct plan {
  double seconds = 1.0;         ///< of each test, over all parameters it runs under
  std::uint64_t instances = 0;  ///< of all tests of all parts, if not 0; `seconds` is then the most that a test may take
  std::uint64_t seed = 1;
  int draws = 4;                                    ///< sets of parameters that are drawn, beside those that are given or tuned
  double tune_seconds = 0;                          ///< of each shape at each place, on the control that shows most
  std::vector<membar::litmus::parameters> given{};  ///< sets of parameters to begin with
  double hunt_seconds = 0;  ///< if not 0: guarantees in turns, until one is broken or as much time is over
  double minutes = 1e9;     ///< no test begins after as long
  std::size_t part = 0;     ///< of `parts`: of each so many guarantees, which one
  std::size_t parts = 1;
  bool guarantees = true;
  bool controls = true;
  std::function<bool(const guarantee&)> wanted;
  std::set<std::string> tests{};  ///< if not empty: of the guarantees that are wanted and their controls, these alone
};

/// Sets of parameters that each test runs under, whatever is drawn: the default one, in which all blocks test, and one in
/// which a quarter of them keeps memory busy.
[[nodiscard]] inline std::vector<membar::litmus::parameters> built_in_sets() {
  membar::litmus::parameters stressed;
  stressed.share = 75;
  stressed.stress = 25;
  stressed.pattern = membar::litmus::stress_pattern::store_store;
  stressed.stress_lines = 64;
  return {{}, stressed};
}

/// What became of a test.
enum class verdict { not_run, skipped, failed, unseen, seen, forbidden };

[[nodiscard]] inline const char* name(verdict v) {
  constexpr const char* names[] = {"not run", "skipped", "failed", "not observed", "observed", "FORBIDDEN"};
  return names[static_cast<int>(v)];
}

/// What was counted of a test.
struct tally {
  const placed_test* test = nullptr;
  bool is_guarantee = false;
  std::string family;
  std::uint64_t instances = 0;
  std::uint64_t weak = 0;       ///< in which the outcome in question came out
  std::uint64_t forbidden = 0;  ///< in which any outcome came out that the model forbids
  double seconds = 0;           ///< in which kernels ran
  double best_rate = -1;        ///< weak outcomes per instance, under the parameters that showed the most
  std::string best_parameters;
  std::uint64_t best_seed = 0;
  int sets = 0;        ///< of parameters
  int homes = 1;       ///< launches that its memory can be at
  std::string reason;  ///< why it was skipped or failed, or the forbidden outcomes and their parameters
  bool was_skipped = false;
  bool has_failed = false;

  [[nodiscard]] verdict result() const noexcept {
    return forbidden != 0   ? verdict::forbidden
           : was_skipped    ? verdict::skipped
           : has_failed     ? verdict::failed
           : instances == 0 ? verdict::not_run
           : weak != 0      ? verdict::seen
                            : verdict::unseen;
  }
  [[nodiscard]] double rate() const noexcept {
    return instances == 0 ? 0 : static_cast<double>(weak) / static_cast<double>(instances);
  }
};

/// What a campaign runs on: an engine, or in tests something made up.
class runner {
 public:
  virtual ~runner() = default;
  /// How many launches of the test's could own its memory. Throws `membar::error` if the machine lacks what the places ask for.
  virtual int find_place(const placed_test& test) = 0;
  virtual membar::litmus::run_result run(const placed_test& test, const membar::litmus::parameters& how,
                                         const membar::litmus::run_options& options) = 0;
  virtual membar::litmus::tune_result tune(const placed_test& test, const membar::litmus::tune_options& options) = 0;
};

/// The GPUs of this machine.
class engine_runner : public runner {
 public:
  int find_place(const placed_test& test) override {
    const auto place = places_.insert_or_assign(&test, membar::litmus::place_threads(test.test.model_test, engine_.runs_on()));
    return static_cast<int>(place.first->second.launches.size());
  }
  membar::litmus::run_result run(const placed_test& test, const membar::litmus::parameters& how,
                                 const membar::litmus::run_options& options) override {
    return engine_.run(test.test, places_.at(&test), how, options);
  }
  membar::litmus::tune_result tune(const placed_test& test, const membar::litmus::tune_options& options) override {
    return membar::litmus::tune(engine_, test.test, options);
  }

 private:
  membar::litmus::engine engine_;
  std::map<const placed_test*, membar::litmus::placement> places_;
};

/// A run of the suite.
class campaign {
 public:
  /// `progress` is called with each test that is done.
  campaign(const suite& all, runner& on, plan how, std::function<void(const tally&)> progress)
      : all_(&all), on_(&on), plan_(std::move(how)), progress_(std::move(progress)) {
    std::size_t number = 0;
    for (const guarantee& row : all.guarantees()) {
      if (plan_.wanted(row) && number++ % plan_.parts == plan_.part) {
        // controls first: what is found to show their outcomes is what the guarantee is tried under
        for (const std::string& control : row.controls) {
          if (plan_.controls) {
            add(control, false, row.family);
          }
        }
        if (plan_.guarantees) {
          add(row.test, true, row.family);
        }
      }
    }
  }

  void run() {
    for (tally& t : tallies_) {
      find_place(t);
    }
    if (plan_.hunt_seconds != 0) {
      hunt();
      return;
    }
    const auto begin = std::chrono::steady_clock::now();
    turns_left_ = runnable();
    for (tally& t : tallies_) {
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 60 * plan_.minutes) {
        run_test(t);
      }
      progress_(t);
    }
  }

  [[nodiscard]] const std::vector<tally>& tallies() const noexcept { return tallies_; }
  [[nodiscard]] const plan& how() const noexcept { return plan_; }

  [[nodiscard]] const tally* find(const std::string& test) const {
    const auto found = index_.find(test);
    return found == index_.end() ? nullptr : &tallies_[found->second];
  }

  /// Whether a control of the guarantee was seen.
  [[nodiscard]] bool control_seen(const guarantee& row) const {
    return std::any_of(row.controls.begin(), row.controls.end(), [&](const std::string& control) {
      const tally* t = find(control);
      return t != nullptr && t->weak != 0;
    });
  }

  [[nodiscard]] std::size_t count(bool guarantees, verdict v) const {
    return static_cast<std::size_t>(std::count_if(
        tallies_.begin(), tallies_.end(), [&](const tally& t) { return t.is_guarantee == guarantees && t.result() == v; }));
  }

 private:
  void add(const std::string& test, bool is_guarantee, const std::string& family) {
    if ((plan_.tests.empty() || plan_.tests.contains(test)) && index_.emplace(test, tallies_.size()).second) {
      tally one;
      one.test = all_->find(test);
      one.is_guarantee = is_guarantee;
      one.family = family;
      tallies_.push_back(std::move(one));
    }
  }

  /// A place that the machine lacks is a skip, in the engine's words.
  void find_place(tally& t) {
    try {
      t.homes = on_->find_place(*t.test);
    } catch (const membar::error& lack) {
      t.was_skipped = true;
      t.reason = lack.what();
    }
  }

  /// "MP@one_device": what is tuned for is the shape and the place.
  [[nodiscard]] static std::string kind_of(const std::string& test) {
    const std::size_t plus = test.find('+', test.starts_with("2+2W") ? 4 : 0);
    return test.substr(0, plus) + test.substr(test.rfind('@'));
  }

  /// Number `index` of the sets that are drawn: a guarantee and its controls share them, other kinds have others.
  [[nodiscard]] membar::litmus::parameters drawn(const tally& t, std::uint64_t index) const {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, the same in each build
    for (const char c : kind_of(t.test->name)) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
    return membar::litmus::draw_parameters(plan_.seed ^ hash, index, t.homes);
  }

  /// The sets of parameters of a test: given ones, those tuned for it or its controls, built-in ones, drawn ones.
  [[nodiscard]] std::vector<membar::litmus::parameters> sets_of(const tally& t) const {
    std::vector<membar::litmus::parameters> sets = plan_.given;
    const auto take = [&](const std::string& test) {
      const auto best = tuned_.find(kind_of(test));
      if (best != tuned_.end() && std::find(sets.begin(), sets.end(), best->second) == sets.end()) {
        sets.push_back(best->second);
      }
    };
    take(t.test->name);
    for (const guarantee& row : all_->guarantees()) {
      if (row.test == t.test->name) {
        std::for_each(row.controls.begin(), row.controls.end(), take);
      }
    }
    const auto built_in = built_in_sets();
    sets.insert(sets.end(), built_in.begin(), built_in.end());
    for (int draw = 0; draw != plan_.draws; ++draw) {
      sets.push_back(drawn(t, static_cast<std::uint64_t>(draw)));
    }
    return sets;
  }

  /// Runs a test under one set of parameters for a while. A run that fails is told of, and the next set has its turn. What was
  /// found with several launches may ask for a home that this test has not.
  void run_once(tally& t, membar::litmus::parameters how, double seconds, std::uint64_t instances) {
    how.home = how.home < t.homes ? how.home : 0;
    membar::litmus::run_options options;
    options.seconds = seconds;
    options.instances = instances;
    options.slice_seconds = std::min(options.slice_seconds, seconds);
    options.seed = plan_.seed + static_cast<std::uint64_t>(t.sets);
    ++t.sets;
    try {
      const auto result = on_->run(*t.test, how, options);
      const auto report = membar::litmus::make_report(t.test->test, result);
      t.instances += result.instances;
      t.seconds += result.seconds;
      t.weak += report.positive;
      const double rate =
          result.instances == 0 ? 0 : static_cast<double>(report.positive) / static_cast<double>(result.instances);
      if (rate > t.best_rate) {
        t.best_rate = rate;
        t.best_parameters = membar::litmus::text_of(result.used);
        t.best_seed = options.seed;
      }
      for (const auto& outcome : report.outcomes) {
        if (!outcome.allowed && outcome.count != 0) {
          t.forbidden += outcome.count;
          t.reason += (t.reason.empty() ? "" : " | ") + std::to_string(outcome.count) + " of " + outcome.text + " with " +
                      membar::litmus::text_of(result.used) + " seed " + std::to_string(options.seed);
        }
      }
    } catch (const std::exception& failure) {
      t.has_failed = true;
      t.reason = failure.what();
    }
  }

  void run_test(tally& t) {
    if (!t.was_skipped) {
      if (!t.is_guarantee && plan_.tune_seconds > 0) {
        tune(kind_of(t.test->name));
      }
      const auto sets = sets_of(t);
      const std::uint64_t mine = share_of(plan_.instances / plan_.parts, counted(), turns_left_--);
      const std::uint64_t before = t.instances;
      for (std::size_t set = 0; set != sets.size(); ++set) {
        run_once(t, sets[set], plan_.seconds / static_cast<double>(sets.size()),
                 plan_.instances == 0 ? 0 : share_of(mine, t.instances - before, sets.size() - set));
      }
    }
  }

  /// What the next of so many turns may run, so that they share what is left: where one had too little time, the others make up
  /// for it.
  [[nodiscard]] static std::uint64_t share_of(std::uint64_t all, std::uint64_t done, std::size_t turns) {
    return std::max<std::uint64_t>(1, (all - std::min(all, done)) / std::max<std::size_t>(1, turns));
  }

  [[nodiscard]] std::uint64_t counted() const {
    std::uint64_t sum = 0;
    for (const tally& t : tallies_) {
      sum += t.instances;
    }
    return sum;
  }

  /// How much keeps a control from showing its outcome, by its name, the least first: an access that is not split, orders and
  /// fences, then how little is relaxed.
  [[nodiscard]] static std::tuple<bool, std::ptrdiff_t, std::ptrdiff_t> ordering_of(const std::string& test) {
    const auto times = [&](std::string_view word) {
      std::ptrdiff_t count = 0;
      for (std::size_t at = test.find(word); at != std::string::npos; at = test.find(word, at + word.size())) {
        ++count;
      }
      return count;
    };
    const bool split = times("load-add-store") + times("two-halves") != 0;
    return {!split, times(".release") + times(".acquire") + times(".acq_rel") + times(".seq_cst") + times("_fence"),
            -times(".relaxed") - times("_weak")};
  }

  /// Searches for the parameters of a kind, once. Many controls never show their outcome, as their code orders more than they
  /// ask for, and a search on them would find the fastest parameters: each has a short look first, and the search begins with
  /// the one that showed most. What shows nothing is no result.
  void tune(const std::string& kind) {
    if (!looked_.insert(kind).second) {
      return;
    }
    constexpr double look_seconds = 0.02;
    constexpr std::size_t most_searches = 3;
    std::vector<tally*> controls;
    for (tally& t : tallies_) {
      if (!t.is_guarantee && !t.was_skipped && kind_of(t.test->name) == kind) {
        run_once(t, {}, look_seconds, 0);
        controls.push_back(&t);
      }
    }
    std::stable_sort(controls.begin(), controls.end(), [](const tally* a, const tally* b) {
      return a->rate() != b->rate() ? a->rate() > b->rate() : ordering_of(a->test->name) < ordering_of(b->test->name);
    });
    controls.resize(std::min(controls.size(), most_searches));
    for (const tally* t : controls) {
      try {
        membar::litmus::tune_options options;
        options.seconds = plan_.tune_seconds;
        options.seed = plan_.seed;
        const auto found = on_->tune(*t->test, options);
        if (std::any_of(found.log.begin(), found.log.end(), [](const auto& trial) { return trial.wanted != 0; })) {
          tuned_[kind] = found.best;
          return;
        }
      } catch (const std::exception&) {
        // the run that follows says what is wrong
      }
    }
  }

  /// Guarantees in turns, each turn under the next set of parameters, until one is broken or the time is over.
  void hunt() {
    using clock = std::chrono::steady_clock;
    const auto end =
        clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(plan_.hunt_seconds));
    for (std::size_t turn = 0; clock::now() < end && runnable() != 0; ++turn) {
      for (tally& t : tallies_) {
        if (!t.was_skipped && clock::now() < end) {
          run_once(t, set_of_turn(turn, t), plan_.seconds, 0);
          if (t.forbidden != 0) {
            progress_(t);
            return;
          }
        }
      }
    }
    std::for_each(tallies_.begin(), tallies_.end(), progress_);
  }

  /// Given sets, built-in ones, then drawn ones.
  [[nodiscard]] membar::litmus::parameters set_of_turn(std::size_t turn, const tally& t) const {
    const auto built_in = built_in_sets();
    const std::size_t given = plan_.given.size();
    const std::size_t fixed = given + built_in.size();
    return turn < given ? plan_.given[turn] : turn < fixed ? built_in[turn - given] : drawn(t, turn - fixed);
  }

  [[nodiscard]] std::size_t runnable() const {
    return static_cast<std::size_t>(
        std::count_if(tallies_.begin(), tallies_.end(), [](const tally& t) { return !t.was_skipped; }));
  }

  const suite* all_;
  runner* on_;
  plan plan_;
  std::function<void(const tally&)> progress_;
  std::vector<tally> tallies_;
  std::map<std::string, std::size_t> index_;
  std::size_t turns_left_ = 0;  ///< of tests that can run
  std::map<std::string, membar::litmus::parameters> tuned_;
  std::set<std::string> looked_;  ///< kinds that were tuned, or that have nothing to tune on
};

}  // namespace conformance
