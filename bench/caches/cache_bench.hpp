// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the benches on caches and kinds of memory have in common: options, context, waived cases, times of launches.
///
/// A case is one name, `<bench>/<what>/<arm>`, which does not depend on the device; sizes are fractions of what the device has.
/// The arms' repetitions are interleaved at random, so that a drift of the machine falls on all alike.
#pragma once

#include <bench/common/cuda_handles.hpp>
#include <bench/common/failed_cases.hpp>
#include <bench/common/machine_context.hpp>
#include <membar/error.hpp>

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cache_bench {

/// What a case measured: its time, and figures beside it.
struct figure {
  double seconds = 0.0;
  std::vector<std::pair<std::string, double>> counters{};
};

/// The seconds that `work` takes in `stream`, by events around it.
template <class Work>
[[nodiscard]] double seconds_of(const support::stream& stream, Work work) {
  const support::event begin;
  const support::event end;
  begin.record(stream.get());
  work();
  membar::check(cudaGetLastError(), "a launch", "the bench and the device do not fit together");
  end.record(stream.get());
  end.synchronize();
  return end.nanoseconds_since(begin) * 1e-9;
}

/// The options that a bench takes beside Google Benchmark's, and what it found.
class suite {
 public:
  suite(int argc, char** argv, const char* question) {
    std::vector<char*> kept;
    for (int i = 0; i != argc; ++i) {
      const std::string_view argument = argv[i];
      if (argument.substr(0, 9) == "--device=") {
        device_ = std::atoi(argv[i] + 9);
      } else if (argument.substr(0, 14) == "--repetitions=") {
        repetitions_ = std::atoi(argv[i] + 14);
      } else {
        kept.push_back(argv[i]);
      }
    }
    // Behind the program's name, so that what the user says holds. Of each case the aggregates are kept: what a report needs.
    static char interleave[] = "--benchmark_enable_random_interleaving=true";
    static char aggregates[] = "--benchmark_report_aggregates_only=true";
    kept.insert(kept.begin() + 1, {interleave, aggregates});
    int count = static_cast<int>(kept.size());
    kept.push_back(nullptr);
    static const char* the_question = nullptr;
    the_question = question;
    benchmark::Initialize(&count, kept.data(), [] {
      std::printf(
          "%s\n\n  --device=<index>     the device that is measured (default: 0)\n"
          "  --repetitions=<n>    of each case (default: 9)\n"
          "and Google Benchmark's: --benchmark_filter=<regex>, --benchmark_out=<file.json>, "
          "--benchmark_list_tests=true, --benchmark_report_aggregates_only=false (each repetition too)\n",
          the_question);
    });
    unrecognized_ = benchmark::ReportUnrecognizedArguments(count, kept.data()) || repetitions_ < 1;
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
      static_cast<void>(cudaGetLastError());
      waived_ = std::string("no CUDA device (") + cudaGetErrorString(status) + ")";
      return;
    }
    membar::check(cudaSetDevice(device_), "pass the index of a device that exists by --device");
    for (const auto& [key, value] : support::machine_context(device_)) {
      benchmark::AddCustomContext(key, value);
    }
  }

  [[nodiscard]] int device() const noexcept { return device_; }

  /// Waives all cases that are added from now on.
  void waive(const std::string& reason) {
    if (waived_.empty()) {
      waived_ = reason;
    }
  }
  [[nodiscard]] bool waived() const noexcept { return !waived_.empty(); }

  /// Adds one case. `measure` is not called where cases are waived.
  void add(const std::string& name, std::function<figure()> measure) const {
    auto* const registered = benchmark::RegisterBenchmark(
        name.c_str(), [name, measure = std::move(measure), waived = waived_,
                       failed = std::make_shared<support::case_failure>()](benchmark::State& state) {
          if (failed->before(state)) {
            return;
          }
          for ([[maybe_unused]] auto _ : state) {
            figure measured;
            if (waived.empty()) {
              try {
                measured = measure();
              } catch (const std::exception& failure) {
                failed->now(state, name, failure.what());
                break;
              }
            }
            state.SetIterationTime(measured.seconds);
            for (const auto& [key, value] : measured.counters) {
              state.counters[key] = value;
            }
          }
          if (!waived.empty()) {
            state.SetLabel("waived: " + waived);
          }
        });
    registered->Iterations(1)->UseManualTime()->Unit(benchmark::kMicrosecond)->Repetitions(waived_.empty() ? repetitions_ : 1);
  }

  /// Runs the cases; the program's exit status.
  [[nodiscard]] int run() const {
    if (unrecognized_) {
      std::fprintf(stderr, "membar: --help lists the options\n");
      return 1;
    }
    if (waived()) {
      std::printf("membar: %s: every case is waived\n", waived_.c_str());
    }
    return benchmark::RunSpecifiedBenchmarks() == 0 || support::failed_repetitions != 0 ? 1 : 0;
  }

 private:
  int device_ = 0;
  int repetitions_ = 9;
  bool unrecognized_ = false;
  std::string waived_;
};

/// Runs `body(suite)` and turns what it throws into an exit status.
template <class Body>
[[nodiscard]] int run(int argc, char** argv, const char* question, Body body) {
  try {
    suite cases(argc, argv, question);
    body(cases);
    return cases.run();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}

}  // namespace cache_bench
