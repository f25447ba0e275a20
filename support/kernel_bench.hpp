// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Benchmarks that compare kernels: the arms of a comparison are timed in turn, in one run, and each is reported beside the
/// first.
#pragma once

#include <membar/error.hpp>
#include <support/cuda_handles.hpp>
#include <support/machine_context.hpp>
#include <support/statistics.hpp>

#include <benchmark/benchmark.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace support {

/// One way to do something: its name, and the launch of a kernel that does it `operations` times.
struct bench_arm {
  std::string name;
  std::function<void(cudaStream_t)> launch;
};

/// Ways to do the same thing. The first is membar's; each other's ratio is that of membar's time to its own.
struct comparison {
  std::string name;
  double operations;  ///< per launch, along one thread's chain or over all threads
  std::vector<bench_arm> arms;
};

/// The medians of a comparison's arms, in nanoseconds per operation: measured at the first demand, arms in turn.
class measured_comparison {
 public:
  explicit measured_comparison(comparison what) : what_(std::move(what)) {}

  [[nodiscard]] const comparison& what() const noexcept { return what_; }

  [[nodiscard]] const std::vector<double>& medians() {
    if (medians_.empty()) {
      const stream on;
      const event before;
      const event after;
      std::vector<std::vector<double>> samples(what_.arms.size());
      for (int repetition = -warm_up; repetition != repetitions; ++repetition) {
        for (std::size_t arm = 0; arm != what_.arms.size(); ++arm) {
          before.record(on.get());
          what_.arms[arm].launch(on.get());
          after.record(on.get());
          after.synchronize();
          if (repetition >= 0) {
            samples[arm].push_back(after.nanoseconds_since(before) / what_.operations);
          }
        }
      }
      for (const auto& each : samples) {
        medians_.push_back(median(each));
      }
    }
    return medians_;
  }

 private:
  static constexpr int warm_up = 3;
  static constexpr int repetitions = 21;
  comparison what_;
  std::vector<double> medians_;
};

/// Runs the comparisons that Google Benchmark's options select. `make` is called only where there is a GPU; where there is none
/// this says so and returns 0.
template <class Make>
int run_comparisons(int argc, char** argv, Make make) {
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
    benchmark::AddCustomContext("time", "nanoseconds per operation, median of 21 launches; ratio: membar's time to this arm's");
    for (comparison& what : make()) {
      const auto measured = std::make_shared<measured_comparison>(std::move(what));
      for (std::size_t arm = 0; arm != measured->what().arms.size(); ++arm) {
        benchmark::RegisterBenchmark((measured->what().name + "/" + measured->what().arms[arm].name).c_str(),
                                     [measured, arm](benchmark::State& state) {
                                       const std::vector<double>& medians = measured->medians();
                                       for (auto _ : state) {
                                         state.SetIterationTime(medians[arm] * 1e-9);
                                       }
                                       state.counters["ns"] = medians[arm];
                                       state.counters["membar_ratio"] = medians[0] / medians[arm];
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
