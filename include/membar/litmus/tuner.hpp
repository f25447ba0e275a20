// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A time-limited search for the parameters that make a test show the desired outcomes most often.
#pragma once

#include <membar/error.hpp>
#include <membar/litmus/engine.hpp>
#include <membar/litmus/parameters.hpp>
#include <membar/litmus/placement.hpp>
#include <membar/litmus/report.hpp>
#include <membar/litmus/runnable_test.hpp>
#include <membar/model/error.hpp>
#include <membar/model/interleave.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace litmus {

/// The outcomes that a search counts.
enum class objective {
  condition,                   ///< outcomes that satisfy the test's condition
  not_sequentially_consistent  ///< outcomes that no interleaving of the threads produces
};

/// The duration and the seed of a search. The seed makes the search reproducible.
struct tune_options {
  double seconds = 10.0;
  double trial_seconds = 0.1;
  std::uint64_t seed = 1;
  objective goal = objective::condition;
  parameters first{};  ///< the set that is tried first; the predefined sets that follow it are different
  int homes = 1;       ///< the number of launches whose device can hold the cells; the `tune` that takes an engine sets it
};

/// One set of parameters and its result.
struct trial {
  parameters tried{};
  std::uint64_t hits = 0;  ///< instances whose outcome the search counts
  std::uint64_t instances = 0;
  double seconds = 0;
  std::string failure;  ///< the reason why the test did not run with these parameters; empty if it did

  /// Returns the hits per second, which the search maximizes.
  [[nodiscard]] double score() const noexcept { return seconds > 0 ? static_cast<double>(hits) / seconds : 0; }
  [[nodiscard]] double rate() const noexcept { return seconds > 0 ? static_cast<double>(instances) / seconds : 0; }
};

/// The trials of a search, in order, and the best parameters.
struct tune_result {
  parameters best{};
  std::vector<trial> log;
};

/// Returns element `index` of the sequence of neighbours that `from` and `seed` define. Neighbours differ in one or two
/// parameters, each by one step in the list of values that a search tries.
[[nodiscard]] inline parameters neighbour_of(parameters from, std::uint64_t seed, std::uint64_t index) {
  constexpr unsigned rows = std::size(detail::parameter_table) - 1;  // the last row is `home`, which has no neighbours
  auto random = [seed, index, purpose = 0U]() mutable {
    return detail::draw(seed ^ 0x6d656d62'61726d65ULL, static_cast<unsigned>(index), purpose++);
  };
  const unsigned changes = 1 + detail::scaled(random(), 2);
  for (unsigned c = 0; c < changes; ++c) {
    const detail::parameter_row& row = detail::parameter_table[detail::scaled(random(), rows)];
    const auto at =
        static_cast<std::size_t>(std::lower_bound(row.tried.begin(), row.tried.end(), row.get(from)) - row.tried.begin());
    const bool up = (random() & 1U) != 0;
    const std::size_t last = row.tried.size() - 1;
    const std::size_t next = up ? (at >= last ? 0 : at + 1) : (at == 0 ? last : at - 1);
    row.set(from, row.tried[next]);
  }
  detail::make_room(from);
  return from;
}

/// Returns whether trial `a` is better than `b`: it has more hits per second or, if both have the same number, more instances
/// per second.
[[nodiscard]] inline bool better(const trial& a, const trial& b) noexcept {
  return a.score() != b.score() ? a.score() > b.score() : a.rate() > b.rate();
}

/// Returns the sets of parameters that a search tries before it draws random sets. These are `first`, and variants of `first`
/// with a single change that often helps: stress by stores, blocks that begin at the same time, instances in one warp, and each
/// cell on its own line.
[[nodiscard]] inline std::vector<parameters> chosen_parameters(const parameters& first) {
  std::vector<parameters> all{first};
  for (const char* const change :
       {"share=75 stress=25 pattern=st/st lines=64", "align=1 delay=128", "within=lanes", "stride=128"}) {
    const parameters one = parse_parameters(change, first);
    if (std::find(all.begin(), all.end(), one) == all.end()) {
      all.push_back(one);
    }
  }
  return all;
}

/// Searches with `run`. Tries the predefined sets first, then random sets until half of the time is over, and then neighbours
/// of the best set so far. `elapsed` returns the seconds since the search began. Equal seeds and equal results of `run` and
/// `elapsed` give equal logs.
[[nodiscard]] inline tune_result tune(const std::function<trial(const parameters&)>& run,
                                      const std::function<double()>& elapsed, const tune_options& options = {}) {
  tune_result result;
  trial best;
  std::uint64_t refinements = 0;
  const std::vector<parameters> chosen = chosen_parameters(options.first);
  for (std::uint64_t index = 0; index == 0 || elapsed() < options.seconds; ++index) {
    const bool exploring = elapsed() < options.seconds / 2;
    const parameters next = index < chosen.size() ? chosen[static_cast<std::size_t>(index)]
                            : exploring           ? draw_parameters(options.seed, index, options.homes)
                                                  : neighbour_of(best.tried, options.seed, refinements++);
    trial one = run(next);
    one.tried = next;
    if (one.failure.empty() && (best.seconds == 0 || better(one, best))) {
      best = one;
    }
    result.log.push_back(std::move(one));
  }
  result.best = best.tried;
  return result;
}

/// Returns, for each outcome of the engine, whether a search for `goal` counts it.
[[nodiscard]] inline std::vector<bool> objective_outcomes(const runnable_test& test, objective goal) {
  std::set<std::vector<std::int64_t>> interleavings;
  if (goal == objective::not_sequentially_consistent) {
    interleavings = model::interleaved_outcomes(model_question(test));
  } else if (!test.model_test.has_condition) {
    throw model::error("the test has no condition to search for: add one with when()");
  }
  std::vector<bool> counts(static_cast<std::size_t>(test.outcomes()));
  for (std::size_t key = 0; key < counts.size(); ++key) {
    const outcome o = detail::outcome_of(test, {}, key);
    counts[key] =
        !o.corrupt() && !o.filtered && (goal == objective::condition ? o.satisfies : interleavings.count(o.values) == 0);
  }
  return counts;
}

/// Searches on an engine. If the test cannot run with a set of parameters, the log contains the reason, and the search
/// continues.
[[nodiscard]] inline tune_result tune(engine& on, const runnable_test& test, const tune_options& options = {}) {
  const placement where = place_threads(test.model_test, on.runs_on());
  const std::vector<bool> counted = objective_outcomes(test, options.goal);
  tune_options with_homes = options;
  with_homes.homes = static_cast<int>(where.launches.size());
  const auto begin = detail::wall_clock::now();
  const auto run = [&](const parameters& how) {
    trial one;
    try {
      run_options of_trial;
      of_trial.seconds = options.trial_seconds;
      of_trial.seed = options.seed;
      const run_result seen = on.run(test, where, how, of_trial);
      for (std::size_t key = 0; key < seen.counts.size(); ++key) {
        one.hits += counted[key] ? seen.counts[key] : 0;
      }
      one.instances = seen.instances;
      one.seconds = seen.seconds;
    } catch (const error& failure) {
      one.failure = failure.what();
    }
    return one;
  };
  return tune(run, [&] { return detail::seconds_since(begin); }, with_homes);
}

/// Returns the log, with one line per trial: hits per second, instances per second, and parameters.
[[nodiscard]] inline std::string text_of(const tune_result& result) {
  std::string text;
  for (const trial& one : result.log) {
    text += one.failure.empty() ? detail::number_text(one.score()) + " of " + detail::number_text(one.rate()) +
                                      " instances/s  " + text_of(one.tried) + "\n"
                                : "did not run  " + text_of(one.tried) + ": " + one.failure + "\n";
  }
  return text;
}

}  // namespace litmus
}  // namespace v0_3
}  // namespace membar
