// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "campaign.hpp"

#include <membar/litmus/engine.hpp>
#include <membar/litmus/report.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string_view>
#include <tuple>
#include <utility>

namespace conformance {

namespace {

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

[[nodiscard]] double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The kind of a test, such as "MP@one_device". Parameters are tuned for each kind, that is, for each shape at each place.
[[nodiscard]] std::string kind_of(const std::string& test) {
  const std::size_t plus = test.find('+', test.starts_with("2+2W") ? 4 : 0);
  return test.substr(0, plus) + test.substr(test.rfind('@'));
}

// The next turn's share of the remaining work, if `turns` turns remain; later turns thus compensate for a turn that had too
// little time.
[[nodiscard]] std::uint64_t share_of(std::uint64_t all, std::uint64_t done, std::size_t turns) {
  return std::max<std::uint64_t>(1, (all - std::min(all, done)) / std::max<std::size_t>(1, turns));
}

// A sort key that puts the controls whose names show the least ordering first. The key compares whether no access is split,
// then the number of orders and fences, and then the number of relaxed accesses in descending order.
[[nodiscard]] std::tuple<bool, std::ptrdiff_t, std::ptrdiff_t> ordering_of(const std::string& test) {
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

}  // namespace

std::vector<membar::litmus::parameters> built_in_sets() {
  return {{}, {.share = 75, .stress = 25, .pattern = membar::litmus::stress_pattern::store_store, .stress_lines = 64}};
}

const char* name(verdict v) {
  constexpr const char* names[] = {"not run", "skipped", "failed", "not observed", "observed", "FORBIDDEN"};
  return names[static_cast<int>(v)];
}

std::unique_ptr<runner> gpu_runner() { return std::make_unique<engine_runner>(); }

campaign::campaign(const suite& all, runner& on, plan how, std::function<void(const test_result&)> progress)
    : all_(&all), on_(&on), plan_(std::move(how)), progress_(std::move(progress)) {
  std::size_t number = 0;
  for (const guarantee& row : all.guarantees()) {
    if (plan_.selected(row) && number++ % plan_.parts == plan_.part) {
      // Controls run first, because the guarantee runs under the parameters that show their outcomes.
      for (const std::string& control : plan_.controls ? row.controls : std::vector<std::string>{}) {
        add(control, false, row.family);
      }
      if (plan_.guarantees) {
        add(row.test, true, row.family);
      }
    }
  }
}

void campaign::run() {
  for (test_result& t : results_) {
    try {
      t.homes = on_->find_place(*t.test);
    } catch (const membar::error& lack) {  // the machine does not have the test's place
      t.was_skipped = true;
      t.reason = lack.what();
    }
  }
  if (plan_.hunt_seconds != 0) {
    hunt();
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  turns_left_ = runnable();
  for (test_result& t : results_) {
    if (seconds_since(begin) < 60 * plan_.minutes) {
      run_test(t);
    }
    progress_(t);
  }
}

const test_result* campaign::find(const std::string& test) const {
  const auto found = index_.find(test);
  return found == index_.end() ? nullptr : &results_[found->second];
}

bool campaign::any_observed(const guarantee& row, bool at_its_place) const {
  return std::ranges::any_of(row.controls, [&](const std::string& control) {
    const test_result* t = find(control);
    return t != nullptr && t->weak != 0 && (place_of(control) == place_of(row.test)) == at_its_place;
  });
}

std::size_t campaign::count(bool guarantees, verdict v) const {
  const auto has = [&](const test_result& t) { return t.is_guarantee == guarantees && t.result() == v; };
  return static_cast<std::size_t>(std::ranges::count_if(results_, has));
}

void campaign::add(const std::string& test, bool is_guarantee, const std::string& family) {
  if ((plan_.tests.empty() || plan_.tests.contains(test)) && index_.emplace(test, results_.size()).second) {
    results_.push_back({.test = all_->find(test), .is_guarantee = is_guarantee, .family = family});
  }
}

// Returns the randomly drawn set with this index. A guarantee and its controls use the same sets; tests of other kinds use
// different sets.
membar::litmus::parameters campaign::drawn(const test_result& t, std::uint64_t index) const {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, which is the same in each build.
  for (const char c : kind_of(t.test->name)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return membar::litmus::draw_parameters(plan_.seed ^ hash, index, t.homes);
}

// Returns a test's parameter sets: the given sets, the sets tuned for the test or its controls, the built-in sets, and the
// drawn sets.
std::vector<membar::litmus::parameters> campaign::sets_of(const test_result& t) const {
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

// Runs a test with one set of parameters for a while. If the run fails, the next set still runs. The parameter `home` selects
// the launch whose device holds the memory. A set that was found in a test with several launches may select a launch that this
// test does not have.
void campaign::run_once(test_result& t, membar::litmus::parameters how, double seconds, std::uint64_t instances) {
  how.home = how.home < t.homes ? how.home : 0;
  membar::litmus::run_options options{
      .seconds = seconds, .instances = instances, .seed = plan_.seed + static_cast<std::uint64_t>(t.sets++)};
  options.slice_seconds = std::min(options.slice_seconds, seconds);
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

void campaign::run_test(test_result& t) {
  if (t.was_skipped) {
    return;
  }
  if (!t.is_guarantee && plan_.tune_seconds > 0) {
    tune(kind_of(t.test->name));
  }
  const auto sets = sets_of(t);
  std::uint64_t counted = 0;
  for (const test_result& each : results_) {
    counted += each.instances;
  }
  const std::uint64_t mine = share_of(plan_.instances / plan_.parts, counted, turns_left_--);
  const std::uint64_t before = t.instances;
  for (std::size_t set = 0; set != sets.size(); ++set) {
    run_once(t, sets[set], plan_.seconds / static_cast<double>(sets.size()),
             plan_.instances == 0 ? 0 : share_of(mine, t.instances - before, sets.size() - set));
  }
}

// Searches for the parameters of a kind, unless this has already been done. Many controls never show their outcome because
// their code orders more than they require; a search on such a control would find only the fastest parameters. Therefore each
// control first runs briefly, and the search starts with the control that showed its outcome most often. A search that shows no
// outcome has no result.
void campaign::tune(const std::string& kind) {
  if (!searched_.insert(kind).second) {
    return;
  }
  constexpr double first_run_seconds = 0.02;
  constexpr std::size_t most_searches = 3;
  std::vector<test_result*> controls;
  for (test_result& t : results_) {
    if (!t.is_guarantee && !t.was_skipped && kind_of(t.test->name) == kind) {
      run_once(t, {}, first_run_seconds, 0);
      controls.push_back(&t);
    }
  }
  std::ranges::stable_sort(controls, {},
                           [](const test_result* t) { return std::pair(-t->rate(), ordering_of(t->test->name)); });
  controls.resize(std::min(controls.size(), most_searches));
  for (const test_result* t : controls) {
    try {
      const auto found = on_->tune(*t->test, {.seconds = plan_.tune_seconds, .seed = plan_.seed});
      if (std::ranges::any_of(found.log, [](const auto& trial) { return trial.hits != 0; })) {
        tuned_[kind] = found.best;
        return;
      }
    } catch (const std::exception&) {
      // The run that follows reports the error.
    }
  }
}

// Runs guarantees in turns, each turn with the next set of parameters, until a guarantee is broken or the time is up.
void campaign::hunt() {
  const auto goes_on = [this, begin = std::chrono::steady_clock::now()] { return seconds_since(begin) < plan_.hunt_seconds; };
  for (std::size_t turn = 0; goes_on() && runnable() != 0; ++turn) {
    for (test_result& t : results_) {
      if (!t.was_skipped && goes_on()) {
        run_once(t, set_of_turn(turn, t), plan_.seconds, 0);
        if (t.forbidden != 0) {
          progress_(t);
          return;
        }
      }
    }
  }
  std::for_each(results_.begin(), results_.end(), progress_);
}

// The parameter set of a turn: first the given sets, then the built-in sets, then randomly drawn sets.
membar::litmus::parameters campaign::set_of_turn(std::size_t turn, const test_result& t) const {
  const auto built_in = built_in_sets();
  const std::size_t given = plan_.given.size();
  const std::size_t fixed = given + built_in.size();
  return turn < given ? plan_.given[turn] : turn < fixed ? built_in[turn - given] : drawn(t, turn - fixed);
}

std::size_t campaign::runnable() const {
  return static_cast<std::size_t>(std::ranges::count(results_, false, &test_result::was_skipped));
}

}  // namespace conformance
