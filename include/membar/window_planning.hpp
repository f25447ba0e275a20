// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Planning of access-policy windows: for kernels that may run at once, for one kernel by measurement, and for a region that is
/// larger than the largest window.
///
/// A plan keeps the persisting bytes within the set-aside. Whether a window helps, and which one helps most, depends on the
/// kernel: `tune_window` measures it on the device.
#pragma once

#include <membar/access_policy_window.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_2 {

/// A part of memory that a kernel reads again and again. `weight` compares regions: accesses per byte, in any unit.
struct hot_region {
  const void* start = nullptr;
  std::size_t bytes = 0;
  double weight = 1.0;
};

/// A kernel that may run at the same time as those of other streams; kernels of one stream run one after the other.
struct planned_kernel {
  cudaStream_t stream = nullptr;
  std::vector<hot_region> regions{};
};

/// The window of the kernel with the same index; off where the kernel has no region.
struct planned_window {
  cudaStream_t stream = nullptr;
  access_policy_window window{};
  /// The kernel's part of the set-aside, in bytes: window bytes times hit ratio do not exceed it.
  std::size_t share = 0;
};

namespace detail {

/// The range of a kernel's window, because a launch has a single window. Neighbouring regions are taken together where the gaps
/// are at most an eighth of the range; of the ranges that remain, the one with the most accesses is chosen.
[[nodiscard]] inline hot_region chosen_region(std::vector<hot_region> regions, std::size_t max_window) {
  std::erase_if(regions, [](const hot_region& region) { return region.bytes == 0; });
  const auto address = [](const hot_region& region) { return reinterpret_cast<std::size_t>(region.start); };
  std::sort(regions.begin(), regions.end(), [&](const hot_region& a, const hot_region& b) { return address(a) < address(b); });
  hot_region best;
  double most = -1.0;
  for (std::size_t first = 0; first != regions.size(); ++first) {
    std::size_t end = address(regions[first]) + regions[first].bytes;
    std::size_t hot = 0;
    double accesses = 0.0;
    for (std::size_t last = first; last != regions.size(); ++last) {
      end = std::max(end, address(regions[last]) + regions[last].bytes);
      hot += regions[last].bytes;
      accesses += static_cast<double>(regions[last].bytes) * regions[last].weight;
      const std::size_t bytes = end - address(regions[first]);
      const bool mostly_hot = bytes - std::min(bytes, hot) <= bytes / 8;
      if (last != first && (bytes > max_window || !mostly_hot)) {
        break;
      }
      if (accesses > most) {
        most = accesses;
        best = {regions[first].start, std::min(bytes, max_window), accesses / static_cast<double>(hot)};
      }
    }
  }
  return best;
}

/// Divides `total` among demands in proportion to demand times weight. What a demand leaves over goes to the others.
[[nodiscard]] inline std::vector<std::size_t> divided(std::size_t total, std::span<const std::size_t> demands,
                                                      std::span<const double> weights) {
  std::vector<std::size_t> shares(demands.size(), 0);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i != demands.size(); ++i) {
    open.push_back(i);
  }
  std::size_t left = total;
  while (!open.empty()) {
    double weight = 0.0;
    for (const std::size_t i : open) {
      weight += weights[i] * static_cast<double>(demands[i]);
    }
    if (!(weight > 0.0)) {
      break;
    }
    const auto part = [&](std::size_t i) {
      return static_cast<double>(left) * (weights[i] * static_cast<double>(demands[i]) / weight);
    };
    const auto satisfied =
        std::partition(open.begin(), open.end(), [&](std::size_t i) { return part(i) < static_cast<double>(demands[i]); });
    if (satisfied == open.end()) {
      for (const std::size_t i : open) {
        shares[i] = static_cast<std::size_t>(part(i));
      }
      break;
    }
    std::size_t taken = 0;
    for (auto i = satisfied; i != open.end(); ++i) {
      shares[*i] = demands[*i];
      taken += demands[*i];
    }
    left -= std::min(left, taken);
    open.erase(satisfied, open.end());
  }
  return shares;
}

}  // namespace detail

/// Windows for kernels of several streams. The persisting bytes of the kernels that may run at once do not exceed the set-aside
/// in `facts`.
///
/// A kernel has one window. Regions close to each other are covered together, else the one with the most accesses is chosen; a
/// region larger than the largest window is cut to it. The set-aside is divided in proportion to accesses. A region that kernels
/// of several streams share is counted once. Errors: no set-aside, a weight that is negative or not a number.
[[nodiscard]] inline std::vector<planned_window> plan_windows(std::span<const planned_kernel> kernels, const l2_facts& facts) {
  struct claim {
    hot_region region;
    cudaStream_t stream;
    bool several_streams;
    std::size_t group;
  };
  std::vector<claim> claims;
  std::vector<std::size_t> claim_of;
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  for (const planned_kernel& kernel : kernels) {
    for (const hot_region& region : kernel.regions) {
      if (!(region.weight >= 0.0 && std::isfinite(region.weight))) {
        throw error(cudaErrorInvalidValue, "membar: the weight of a hot region is %g: use accesses per byte, 0 or more",
                    region.weight);
      }
    }
    const hot_region region = detail::chosen_region(kernel.regions, facts.max_window);
    if (region.bytes == 0) {
      if (!kernel.regions.empty() && facts.max_set_aside == 0) {
        validate({.start = kernel.regions.front().start, .bytes = kernel.regions.front().bytes}, facts);
      }
      claim_of.push_back(none);
      continue;
    }
    const auto same = std::find_if(claims.begin(), claims.end(), [&](const claim& other) {
      return other.region.start == region.start && other.region.bytes == region.bytes;
    });
    if (same == claims.end()) {
      claim_of.push_back(claims.size());
      claims.push_back({region, kernel.stream, false, 0});
    } else {
      claim_of.push_back(static_cast<std::size_t>(same - claims.begin()));
      same->several_streams = same->several_streams || same->stream != kernel.stream;
      same->region.weight = std::max(same->region.weight, region.weight);
    }
  }

  // Kernels of one stream never run at once, so their claims get the same share. A claim of several streams gets its own.
  std::vector<std::size_t> demands;
  std::vector<double> weights;
  for (std::size_t i = 0; i != claims.size(); ++i) {
    claims[i].group = demands.size();
    for (std::size_t j = 0; !claims[i].several_streams && j != i; ++j) {
      if (!claims[j].several_streams && claims[j].stream == claims[i].stream) {
        claims[i].group = claims[j].group;
      }
    }
    if (claims[i].group == demands.size()) {
      demands.push_back(0);
      weights.push_back(0.0);
    }
    demands[claims[i].group] = std::max(demands[claims[i].group], claims[i].region.bytes);
    weights[claims[i].group] = std::max(weights[claims[i].group], claims[i].region.weight);
  }
  const std::vector<std::size_t> shares = detail::divided(facts.set_aside, demands, weights);

  std::vector<planned_window> planned;
  for (std::size_t i = 0; i != kernels.size(); ++i) {
    planned_window result;
    result.stream = kernels[i].stream;
    if (claim_of[i] != none) {
      const claim& mine = claims[claim_of[i]];
      if (shares[mine.group] != 0 || facts.set_aside == 0) {  // without a set-aside: the error of `window` says so
        result.window = l2_plan(facts).with_share(shares[mine.group]).window(mine.region.start, mine.region.bytes);
        result.share = std::min(shares[mine.group], mine.region.bytes);
      }
    }
    planned.push_back(result);
  }
  return planned;
}

/// One window that the tuner tried.
struct l2_trial {
  access_policy_window window{};
  double median_seconds = 0.0;
};

/// The best window that the tuner found, or one that is off where no window gains enough.
struct tuned_window {
  access_policy_window window{};
  double seconds = 0.0;
  double seconds_without = 0.0;
  std::vector<l2_trial> trials{};

  [[nodiscard]] double speedup() const noexcept { return seconds_without / seconds; }
};

/// How the tuner measures.
struct tuning_options {
  int repetitions = 5;  ///< runs of each window, one window after the other; the median is compared
  /// The least gain over no window with which a window is chosen; a smaller gain may be noise.
  double least_gain = 0.01;
  /// Called before each run, so that no window profits from lines that another window left.
  void (*reset)() = &reset_persisting_lines;
};

namespace detail {

[[nodiscard]] inline double median_of(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// Runs all candidates in turn, `repetitions` times, so that a slow change of the clock affects all of them alike.
template <class Timed>
void measure(std::vector<l2_trial>& trials, Timed& timed, const tuning_options& options) {
  std::vector<std::vector<double>> samples(trials.size());
  for (int repetition = 0; repetition != options.repetitions; ++repetition) {
    for (std::size_t i = 0; i != trials.size(); ++i) {
      options.reset();
      const double seconds = timed(trials[i].window);
      if (!(seconds > 0.0 && std::isfinite(seconds))) {
        throw error(cudaErrorInvalidValue,
                    "membar: the timed function answered %g seconds: return the time that the kernel took, above 0", seconds);
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
/// `timed(window)` runs the kernel under `window`, waits for it and returns the seconds it took. It is called
/// `options.repetitions` times for each of some twenty candidates, in turn, with the persisting lines reset before each call.
/// Where one run is not enough to warm up, `timed` runs the kernel more often. The candidates are no window, and windows of
/// several sizes from the start of the region with several hit ratios; then the neighbours of the best. A window that gains
/// less than `options.least_gain` is not chosen. Hold the `l2_set_aside` that the kernel will run with.
/// Errors: no set-aside, and what `timed` throws. The persisting lines are reset before it returns.
template <class Timed>
[[nodiscard]] tuned_window tune_window(const void* start, std::size_t bytes, const l2_facts& facts, Timed&& timed,
                                       const tuning_options& options = {}) {
  if (options.repetitions < 1) {
    throw error(cudaErrorInvalidValue, "membar: the tuner was asked for %d repetitions: use 1 or more", options.repetitions);
  }
  const std::size_t largest = std::min(bytes, facts.max_window);
  // Throws where no plan is possible: no set-aside, a null pointer.
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

  // Then the neighbours of the best. No window is measured again together with them.
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

/// The windows over the parts of a region that is larger than the largest window, or than what persists at once.
///
/// A kernel that walks through the region is launched once per part, under that part's window. `back_to_normal` turns the lines
/// of the part before back. All parts but the last have `step` bytes, and every window has the share of the plan.
class sliding_window {
 public:
  /// Errors: a step of 0 or larger than the largest window, and what `l2_plan::window` refuses.
  sliding_window(const l2_plan& plan, const void* start, std::size_t bytes, std::size_t step)
      : plan_(plan), start_(static_cast<const std::byte*>(start)), bytes_(bytes), step_(step) {
    if (step == 0 || step > plan.facts().max_window) {
      throw error(cudaErrorInvalidValue, "membar: the step of a sliding window is %zu bytes: use 1 to %zu, the largest window",
                  step, plan.facts().max_window);
    }
    if (bytes != 0) {
      static_cast<void>((*this)[0]);
    }
  }

  /// Parts are as large as the share of the plan, or as the largest window if that is less.
  sliding_window(const l2_plan& plan, const void* start, std::size_t bytes)
      : sliding_window(plan, start, bytes, std::min(plan.share(), plan.facts().max_window)) {}

  [[nodiscard]] std::size_t size() const noexcept { return bytes_ / step_ + (bytes_ % step_ != 0 ? 1 : 0); }

  /// The window over part `index`, which is below `size()`.
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

}  // namespace v0_2
}  // namespace membar
