// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/common/comparison.hpp>
#include <bench/common/cuda_handles.hpp>
#include <bench/common/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

namespace bench {
namespace {

using support::median;
using support::quantile;

/// The results of a comparison, measured when they are first requested.
class measured_comparison {
 public:
  measured_comparison(comparison what, effort how) : what_(std::move(what)), how_(how) {}

  [[nodiscard]] const figures& of(std::size_t arm) {
    if (figures_.empty()) {
      measure();
    }
    return figures_[arm];
  }

 private:
  /// Times consecutive launches.
  struct stopwatch {
    support::stream on;
    support::event before;
    support::event after;
  };

  [[nodiscard]] double nanoseconds_of(std::size_t arm, const stopwatch& watch) const {
    what_.reset(watch.on.get());
    watch.before.record(watch.on.get());
    what_.arms[arm].launch(watch.on.get(), work_);
    membar::check(cudaGetLastError(), "the launch of a kernel");
    watch.after.record(watch.on.get());
    watch.after.synchronize();
    return watch.after.nanoseconds_since(watch.before);
  }

  /// Doubles the work, starting from the minimum, until a launch of the slowest variant takes long enough: first the number of
  /// blocks, which increases contention, then the number of iterations. All variants get the same work.
  void calibrate(const stopwatch& watch) {
    constexpr int most_turns = 1 << 20;
    for (std::size_t arm = 0; arm != what_.arms.size(); ++arm) {
      static_cast<void>(nanoseconds_of(arm, watch));  // loads the kernel
    }
    for (;;) {
      double slowest = 0;
      for (std::size_t arm = 0; arm != what_.arms.size(); ++arm) {
        slowest = std::max(slowest, nanoseconds_of(arm, watch));
      }
      if (slowest >= how_.launch_ns || (work_.blocks == what_.most_blocks && work_.turns == most_turns)) {
        return;
      }
      if (work_.blocks != what_.most_blocks) {
        work_.blocks = std::min(2 * work_.blocks, what_.most_blocks);
      } else {
        work_.turns *= 2;
      }
    }
  }

  /// Half the width of the 95 % confidence interval of the median, computed from ranks, which is valid for any distribution.
  [[nodiscard]] static double uncertainty_of(std::vector<double> ratios) {
    std::sort(ratios.begin(), ratios.end());
    const auto n = static_cast<double>(ratios.size());
    const auto outer = static_cast<std::size_t>(std::max(std::round(n / 2 - 0.98 * std::sqrt(n)) - 1, 0.0));
    return (ratios[ratios.size() - 1 - outer] - ratios[outer]) / 2;
  }

  /// Returns whether each ratio is known precisely enough. A ratio that is certainly far from 1 need not be known precisely.
  [[nodiscard]] static bool known(const std::vector<std::vector<double>>& ratios) {
    constexpr double near = 0.1;
    constexpr double precise = 0.005;
    return std::all_of(ratios.begin(), ratios.end(), [](const std::vector<double>& each) {
      const double uncertainty = uncertainty_of(each);
      return std::abs(median(each) - 1) > near + uncertainty || uncertainty <= precise;
    });
  }

  void measure() {
    const stopwatch watch;
    calibrate(watch);
    const std::size_t count = what_.arms.size();
    std::vector<std::vector<double>> times(count);
    std::vector<std::vector<double>> ratios(count);
    double spent = 0;
    int pairs = 0;
    for (; pairs < how_.pairs || (spent < how_.most_ns && !known(ratios)); ++pairs) {
      // The variants run forwards and then backwards, and the two launches of a variant count as one measurement, because the
      // time of a launch also depends on its position in the sequence.
      std::vector<double> now(count);
      for (std::size_t i = 0; i != 2 * count; ++i) {
        const std::size_t arm = i < count ? i : 2 * count - 1 - i;
        now[arm] += nanoseconds_of(arm, watch) / 2;
      }
      for (std::size_t arm = 0; arm != count; ++arm) {
        times[arm].push_back(now[arm] / what_.operations(work_));
        ratios[arm].push_back(now[0] / now[arm]);
        spent += 2 * now[arm];
      }
    }
    for (std::size_t arm = 0; arm != count; ++arm) {
      const double ns = median(times[arm]);
      const double uncertainty = uncertainty_of(ratios[arm]);
      std::sort(ratios[arm].begin(), ratios[arm].end());
      figures_.push_back({ns,
                          {{"ns", ns},
                           {"membar_ratio", quantile(ratios[arm], 0.5)},
                           {"ratio_spread", quantile(ratios[arm], 0.9) - quantile(ratios[arm], 0.1)},
                           {"ratio_uncertainty", uncertainty},
                           {"pairs", pairs},
                           {"blocks", work_.blocks},
                           {"turns", work_.turns}}});
      if (what_.bytes != 0) {
        figures_.back().counters.emplace_back("GB_per_s", what_.bytes / ns);
      }
    }
  }

  comparison what_;
  effort how_;
  workload work_;
  std::vector<figures> figures_;
};

}  // namespace

void add(suite& cases, const std::vector<comparison>& all, effort how) {
  cases.context("time",
                "nanoseconds per operation, median of at least " + std::to_string(how.pairs) +
                    " pairs of launches, one with the variants in forward order and one in reverse order; membar_ratio: "
                    "the median of membar's time divided by this variant's time");
  for (const comparison& what : all) {
    const auto measured = std::make_shared<measured_comparison>(what, how);
    for (std::size_t arm = 0; arm != what.arms.size(); ++arm) {
      cases.add(what.name + "/" + what.arms[arm].name, [measured, arm] { return measured->of(arm); });
    }
  }
}

}  // namespace bench
