// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds access-policy windows by measurement, for one kernel, and for a region that is larger than the largest window.
#pragma once

#include <membar/access_policy_window.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace bench {

using membar::access_policy_window, membar::error, membar::l2_facts, membar::l2_plan, membar::reset_persisting_lines;

/// A window that the tuner has tried.
struct l2_trial {
  access_policy_window window{};
  double median_seconds = 0.0;
};

/// The best window that the tuner found, or a disabled one if no window gains enough.
struct tuned_window {
  access_policy_window window{};
  double seconds = 0.0;
  double seconds_without = 0.0;
  std::vector<l2_trial> trials{};

  [[nodiscard]] double speedup() const noexcept { return seconds_without / seconds; }
};

/// How the tuner measures.
struct tuning_options {
  int repetitions = 5;  ///< The number of runs with each window. The runs alternate between the windows, and their medians are
                        ///< compared.
  /// A window is chosen only if it gains at least this much over no window; a smaller gain may be noise.
  double least_gain = 0.01;
  /// Called before each run, so that no window benefits from lines that another window left in L2.
  void (*reset)() = &reset_persisting_lines;
};

namespace detail {

[[nodiscard]] inline double median_of(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// Runs all candidates in turn, `repetitions` times, so that a slow change of the clock rate affects all of them equally.
template <class Timed>
void measure(std::vector<l2_trial>& trials, Timed& timed, const tuning_options& options) {
  std::vector<std::vector<double>> samples(trials.size());
  for (int repetition = 0; repetition != options.repetitions; ++repetition) {
    for (std::size_t i = 0; i != trials.size(); ++i) {
      options.reset();
      const double seconds = timed(trials[i].window);
      if (!(seconds > 0.0 && std::isfinite(seconds))) {
        throw error(
            cudaErrorInvalidValue,
            "membar: the timed function returned %g seconds: return the time that the kernel took, which must be above 0",
            seconds);
      }
      samples[i].push_back(seconds);
    }
  }
  for (std::size_t i = 0; i != trials.size(); ++i) {
    trials[i].median_seconds = median_of(std::move(samples[i]));
  }
}

[[nodiscard]] inline const l2_trial& best_of(const std::vector<l2_trial>& trials) {
  return *std::min_element(trials.begin(), trials.end(),
                           [](const l2_trial& a, const l2_trial& b) { return a.median_seconds < b.median_seconds; });
}

}  // namespace detail

/// Measures on the device which window over a kernel's hot region makes the kernel fastest.
///
/// `timed(window)` runs the kernel under `window`, waits for it and returns the time that it took, in seconds. The function is
/// called `options.repetitions` times for each of about twenty candidates, in turn, with the persisting lines reset before each
/// call. If one run is not enough to warm up, `timed` should run the kernel several times. The candidates are no window,
/// windows of several sizes and hit ratios at the start of the region, and then the neighbours of the best candidate. A window
/// that gains less than `options.least_gain` is not chosen. While tuning, hold the `l2_set_aside` with which the kernel will
/// run. Errors: there is no set-aside, or `timed` throws an exception. The persisting lines are reset before the function
/// returns.
template <class Timed>
[[nodiscard]] tuned_window tune_window(const void* start, std::size_t bytes, const l2_facts& facts, Timed&& timed,
                                       const tuning_options& options = {}) {
  if (options.repetitions < 1) {
    throw error(cudaErrorInvalidValue, "membar: the tuner cannot run %d repetitions: use 1 or more", options.repetitions);
  }
  const std::size_t largest = std::min(bytes, facts.max_window);
  // Throws if no plan is possible: there is no set-aside, or the pointer is null.
  const float by_rule = l2_plan(facts).window(start, facts.max_window == 0 ? bytes : largest).hit_ratio;

  std::vector<l2_trial> trials;
  const auto add = [&](std::size_t window_bytes, double ratio) {
    const access_policy_window window{.start = start, .bytes = window_bytes, .hit_ratio = static_cast<float>(ratio)};
    const bool known = std::any_of(trials.begin(), trials.end(), [&](const l2_trial& trial) { return trial.window == window; });
    if (!known && (window.off() || (window_bytes <= largest && ratio > 0.0 && ratio <= 1.0))) {
      trials.push_back({window, 0.0});
    }
  };
  add(0, 1.0);
  for (const std::size_t size : {largest, facts.set_aside, facts.set_aside / 4 * 3, facts.set_aside / 2}) {
    if (size == 0) {
      continue;
    }
    const double rule = std::min(1.0, static_cast<double>(facts.set_aside) / static_cast<double>(size));
    for (const double ratio : {1.0, rule, rule * 0.85, rule * 0.65}) {
      add(std::min(size, largest), ratio);
    }
  }
  add(largest, static_cast<double>(by_rule));
  detail::measure(trials, timed, options);

  // Then tries the neighbours of the best window, and measures the case without a window again together with them.
  const access_policy_window coarse = detail::best_of(trials).window;
  tuned_window result;
  if (!coarse.off()) {
    std::vector<l2_trial> before = std::move(trials);
    trials = {{access_policy_window{}, 0.0}, {coarse, 0.0}};
    const auto size = static_cast<double>(coarse.bytes);
    const auto ratio = static_cast<double>(coarse.hit_ratio);
    for (const double factor : {0.93, 1.07}) {
      add(coarse.bytes, ratio * factor);
      add(static_cast<std::size_t>(size * factor), ratio);
    }
    detail::measure(trials, timed, options);
    result.seconds_without = trials.front().median_seconds;
    const l2_trial best = detail::best_of(trials);
    result.window = best.window;
    result.seconds = best.median_seconds;
    before.insert(before.end(), trials.begin(), trials.end());
    result.trials = std::move(before);
  } else {
    result.seconds_without = trials.front().median_seconds;
    result.trials = std::move(trials);
  }
  if (result.window.off() || result.seconds > result.seconds_without * (1.0 - options.least_gain)) {
    result.window = {};
    result.seconds = result.seconds_without;
  }
  options.reset();
  return result;
}

/// The windows over the parts of a region that is larger than the largest window, or larger than the part of L2 that can
/// persist at once.
///
/// Launch a kernel that walks through the region one part at a time: once per part, under that part's window. `back_to_normal`
/// resets the lines of the previous part. Every part except the last is `step` bytes long, and every window uses the plan's
/// share.
class sliding_window {
 public:
  /// Errors: `step` is 0 or exceeds the largest window, or `l2_plan::window` rejects the arguments.
  sliding_window(const l2_plan& plan, const void* start, std::size_t bytes, std::size_t step)
      : plan_(plan), start_(static_cast<const std::byte*>(start)), bytes_(bytes), step_(step) {
    if (step == 0 || step > plan.facts().max_window) {
      throw error(cudaErrorInvalidValue,
                  "membar: the step of a sliding window is %zu bytes: use 1 to %zu bytes (the largest window)", step,
                  plan.facts().max_window);
    }
    if (bytes != 0) {
      static_cast<void>((*this)[0]);
    }
  }

  /// Each part is as large as the plan's share, or as the largest window if that is smaller.
  sliding_window(const l2_plan& plan, const void* start, std::size_t bytes)
      : sliding_window(plan, start, bytes, std::min(plan.share(), plan.facts().max_window)) {}

  [[nodiscard]] std::size_t size() const noexcept { return bytes_ / step_ + (bytes_ % step_ != 0 ? 1 : 0); }

  /// Returns the window over part `index`, which must be less than `size()`.
  [[nodiscard]] access_policy_window operator[](std::size_t index) const {
    const std::size_t offset = index * step_;
    return plan_.window(start_ + offset, std::min(step_, bytes_ - offset));
  }

 private:
  l2_plan plan_;
  const std::byte* start_;
  std::size_t bytes_;
  std::size_t step_;
};

}  // namespace bench
