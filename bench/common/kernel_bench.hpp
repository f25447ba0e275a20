// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Benchmarks that compare kernels: the arms of a comparison are timed in turn, in one run and with the same work, and each is
/// reported beside the first.
#pragma once

#include <membar/error.hpp>
#include <bench/common/cuda_handles.hpp>
#include <bench/common/machine_context.hpp>
#include <bench/common/statistics.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace support {

/// How much a launch does: so many blocks, each of whose threads does its step so many times.
struct workload {
  int blocks = 1;
  int turns = 1;
};

/// One way to do something: its name, and the launch of a kernel that does it.
struct bench_arm {
  std::string name;
  std::function<void(cudaStream_t, workload)> launch;
};

/// Ways to do the same thing. The first is membar's; each other's ratio is that of membar's time to its own.
struct comparison {
  std::string name;
  std::function<double(workload)> operations;  ///< of one launch, along one thread's chain or over all threads
  std::vector<bench_arm> arms;
  int most_blocks = 1;
  std::function<void(cudaStream_t)> reset = [](cudaStream_t) {};  ///< before each launch, not timed
};

/// How well a program measures: a launch of a comparison's slowest arm takes at least `launch_ns` (and less than four times
/// that, where the time grows with the square of the blocks), and each arm is launched `pairs` times on the way there and as
/// often on the way back. A comparison in which a ratio is near 1 and uncertain goes on for as long as its kernels take
/// `most_ns`.
struct bench_effort {
  double launch_ns;
  int pairs;
  double most_ns = 0;
};

/// A comparison's figures: measured at the first demand.
class measured_comparison {
 public:
  struct figures {
    double ns = 0;           ///< per operation, median
    double ratio = 1;        ///< of membar's time to this arm's, median over there and back
    double spread = 0;       ///< of these ratios, from their first to their last decile
    double uncertainty = 0;  ///< half of the interval in which their median is at 95 %
  };

  measured_comparison(comparison what, bench_effort effort) : what_(std::move(what)), effort_(effort) {}

  [[nodiscard]] const comparison& what() const noexcept { return what_; }
  [[nodiscard]] workload work() const noexcept { return work_; }
  [[nodiscard]] int pairs() const noexcept { return pairs_; }

  [[nodiscard]] const std::vector<figures>& arms() {
    if (figures_.empty()) {
      measure();
    }
    return figures_;
  }

 private:
  /// Times launches, one after the other.
  struct stopwatch {
    stream on;
    event before;
    event after;
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

  /// Doubles the work, from the least, until a launch of the slowest arm is long enough: first the blocks, with which
  /// contention grows, then the turns. All arms get the same.
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
      if (slowest >= effort_.launch_ns || (work_.blocks == what_.most_blocks && work_.turns == most_turns)) {
        return;
      }
      if (work_.blocks != what_.most_blocks) {
        work_.blocks = std::min(2 * work_.blocks, what_.most_blocks);
      } else {
        work_.turns *= 2;
      }
    }
  }

  /// By the ranks between which the median is, whatever the distribution.
  [[nodiscard]] static double uncertainty_of(std::vector<double> ratios) {
    std::sort(ratios.begin(), ratios.end());
    const auto n = static_cast<double>(ratios.size());
    const auto outer = static_cast<std::size_t>(std::max(std::round(n / 2 - 0.98 * std::sqrt(n)) - 1, 0.0));
    return (ratios[ratios.size() - 1 - outer] - ratios[outer]) / 2;
  }

  /// Whether each ratio is known well enough: surely far from 1 it need not be.
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
    for (pairs_ = 0; pairs_ < effort_.pairs || (spent < effort_.most_ns && !known(ratios)); ++pairs_) {
      // There and back again, and both together one time: what a launch takes also depends on its place among the others.
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
      const double uncertainty = uncertainty_of(ratios[arm]);
      std::sort(ratios[arm].begin(), ratios[arm].end());
      figures_.push_back({median(times[arm]), quantile(ratios[arm], 0.5),
                          quantile(ratios[arm], 0.9) - quantile(ratios[arm], 0.1), uncertainty});
    }
  }

  comparison what_;
  bench_effort effort_;
  workload work_;
  int pairs_ = 0;
  std::vector<figures> figures_;
};

/// Runs the comparisons that Google Benchmark's options select. `make` is called only where there is a GPU; where there is none
/// this says so and returns 0.
template <class Make>
int run_comparisons(int argc, char** argv, bench_effort effort, Make make) {
  try {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
      return 1;
    }
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
      std::printf("WAIVED: this benchmark needs a GPU, and the CUDA runtime finds none\n");
      return 0;
    }
    for (const auto& [key, value] : machine_context(0)) {
      benchmark::AddCustomContext(key, value);
    }
    benchmark::AddCustomContext("time",
                                "nanoseconds per operation, median of at least " + std::to_string(effort.pairs) +
                                    " pairs of launches, one there and one back through the arms; membar_ratio: membar's "
                                    "time to this arm's, likewise");
    for (comparison& what : make()) {
      const auto measured = std::make_shared<measured_comparison>(std::move(what), effort);
      for (std::size_t arm = 0; arm != measured->what().arms.size(); ++arm) {
        benchmark::RegisterBenchmark((measured->what().name + "/" + measured->what().arms[arm].name).c_str(),
                                     [measured, arm](benchmark::State& state) {
                                       const measured_comparison::figures& its = measured->arms()[arm];
                                       for (auto _ : state) {
                                         state.SetIterationTime(its.ns * 1e-9);
                                       }
                                       state.counters["ns"] = its.ns;
                                       state.counters["membar_ratio"] = its.ratio;
                                       state.counters["ratio_spread"] = its.spread;
                                       state.counters["ratio_uncertainty"] = its.uncertainty;
                                       state.counters["pairs"] = measured->pairs();
                                       state.counters["blocks"] = measured->work().blocks;
                                       state.counters["turns"] = measured->work().turns;
                                     })
            ->UseManualTime()
            ->Iterations(1)
            ->Unit(benchmark::kNanosecond);
      }
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}

}  // namespace support
