// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Searches the parameters under which a test shows what it asks for most often, within a time.
#pragma once

#include <membar/error.hpp>
#include <membar/litmus/histogram.hpp>
#include <membar/litmus/parameters.hpp>
#include <membar/litmus/placement.hpp>
#include <membar/litmus/runner.hpp>
#include <membar/litmus/test.hpp>
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

namespace membar::litmus {

/// What a search counts.
enum class objective {
  condition,                   ///< outcomes that satisfy the test's condition
  not_sequentially_consistent  ///< outcomes that no interleaving of the threads gives
};

/// How long a search takes, and what makes it reproducible.
struct tune_options {
  double seconds = 10.0;
  double trial_seconds = 0.1;
  std::uint64_t seed = 1;
  objective wanted = objective::condition;
  parameters first{};  ///< what is tried first, and what the chosen sets that follow differ from
  int homes = 1;       ///< launches that can own the memory; `tune` of an engine sets it
};

/// One set of parameters, and what it showed.
struct trial {
  parameters tried{};
  std::uint64_t wanted = 0;  ///< instances with a wanted outcome
  std::uint64_t instances = 0;
  double seconds = 0;
  std::string failure;  ///< a sentence, if the test did not run with these parameters

  /// Wanted outcomes per second: what a search makes large.
  [[nodiscard]] double score() const noexcept { return seconds > 0 ? static_cast<double>(wanted) / seconds : 0; }
  [[nodiscard]] double rate() const noexcept { return seconds > 0 ? static_cast<double>(instances) / seconds : 0; }
};

/// What a search tried, in order, and the best of it.
struct tune_result {
  parameters best{};
  std::vector<trial> log;
};

/// Parameters that differ from `from` in one or two of them, by a step along what a search tries of it: number `index` of the
/// sequence of `seed`.
[[nodiscard]] inline parameters neighbour_of(parameters from, std::uint64_t seed, std::uint64_t index) {
  constexpr unsigned rows = std::size(detail::parameter_table) - 1;  // the last is the home, which has no neighbours
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

/// Whether trial `a` is better than `b`: it shows more of what is wanted in a second; where neither shows any, it runs more
/// instances.
[[nodiscard]] inline bool better(const trial& a, const trial& b) noexcept {
  return a.score() != b.score() ? a.score() > b.score() : a.rate() > b.rate();
}

/// What a search tries before it draws: the given set, and that set with what often shows much. Stress by stores on lines of
/// their own, blocks that begin at one time, instances in one warp, and cells on lines of their own; each of them once.
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

/// Tries parameters by `run`: first the chosen ones, then random ones until half of the time is over, then neighbours of the
/// best so far. `elapsed` tells the seconds since the search began. With the same seed and the same figures the log is the
/// same.
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

/// Per outcome of the engine, whether a search with this objective counts it.
[[nodiscard]] inline std::vector<bool> wanted_outcomes(const runnable_test& test, objective wanted) {
  std::set<std::vector<std::int64_t>> interleavings;
  if (wanted == objective::not_sequentially_consistent) {
    interleavings = model::interleaved_outcomes(asked_of(test));
  } else if (!test.twin.has_condition) {
    throw model::error("the test has no condition to search for");
  }
  std::vector<bool> counts(static_cast<std::size_t>(test.outcomes()));
  for (std::size_t key = 0; key < counts.size(); ++key) {
    const outcome o = detail::outcome_of(test, {}, key);
    counts[key] =
        !o.corrupt() && !o.filtered && (wanted == objective::condition ? o.satisfies : interleavings.count(o.values) == 0);
  }
  return counts;
}

/// The same on an engine. A set of parameters that does not run is logged with its sentence, and the search goes on.
[[nodiscard]] inline tune_result tune(engine& on, const runnable_test& test, const tune_options& options = {}) {
  const placement where = place_threads(test.twin, on.runs_on());
  const std::vector<bool> wanted = wanted_outcomes(test, options.wanted);
  tune_options with_homes = options;
  with_homes.homes = static_cast<int>(where.launches.size());
  const auto begin = detail::wall_clock::now();
  const auto run = [&](const parameters& how) {
    trial one;
    try {
      run_options shortly;
      shortly.seconds = options.trial_seconds;
      shortly.seed = options.seed;
      const run_result seen = on.run(test, where, how, shortly);
      for (std::size_t key = 0; key < seen.counts.size(); ++key) {
        one.wanted += wanted[key] ? seen.counts[key] : 0;
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

/// The log, a line per trial: what was wanted per second, instances per second, parameters.
[[nodiscard]] inline std::string text_of(const tune_result& result) {
  std::string text;
  for (const trial& one : result.log) {
    text += one.failure.empty() ? detail::number_text(one.score()) + " of " + detail::number_text(one.rate()) +
                                      " instances/s  " + text_of(one.tried) + "\n"
                                : "did not run  " + text_of(one.tried) + ": " + one.failure + "\n";
  }
  return text;
}

}  // namespace membar::litmus
