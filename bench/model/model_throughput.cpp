// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// How many candidate executions per second does the model check, how does that grow with events and threads, and how does it
/// compare with an enumerator that guesses values and total orders? One thread, one core.
#include "naive.hpp"
#include "random_test.hpp"

#include <membar/model/litmus_file.hpp>
#include <membar/model/outcomes.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace {

namespace model = membar::model;
namespace tests = membar_test;

/// Visits every execution and keeps none.
struct every_execution final : model::execution_visitor {
  bool accept(const model::partial_execution&) override { return true; }
};

/// `count` random programs whose every instruction accesses memory.
std::vector<model::litmus_test> programs(int threads, int accesses, int locations, bool atomics, int count) {
  membar_test::random_shape shape;
  shape.threads = threads;
  shape.instructions = accesses;
  shape.locations = locations;
  shape.atomics = atomics;
  shape.only_accesses = true;
  shape.control = false;
  shape.places = false;
  membar_test::random_tests stream(7, shape);
  std::vector<int> order(static_cast<std::size_t>(threads));
  std::iota(order.begin(), order.end(), 0);
  std::vector<model::litmus_test> result;
  for (int i = 0; i < count; ++i) {
    const membar_test::random_program p = stream.next();
    result.push_back(model::read_litmus(p.text(order, {"x", "y", "z"}, p.everything())));
  }
  return result;
}

void report(benchmark::State& state, std::uint64_t candidates, std::size_t tests_decided) {
  if (candidates != 0) {
    state.counters["candidates/s"] = benchmark::Counter(static_cast<double>(candidates), benchmark::Counter::kIsRate);
  }
  state.counters["tests/s"] = benchmark::Counter(static_cast<double>(tests_decided), benchmark::Counter::kIsRate);
}

void count_candidates(benchmark::State& state, const std::vector<model::litmus_test>& all) {
  std::uint64_t candidates = 0;
  std::size_t decided = 0;
  for (auto _ : state) {
    for (const model::litmus_test& test : all) {
      every_execution visitor;
      const model::test_view view = test.view();
      const model::statistics counts = model::enumerator(view.program, visitor).run();
      candidates += counts.candidates;
      ++decided;
    }
  }
  report(state, candidates, decided);
}

/// Every candidate execution of programs of `threads` x `accesses` on `locations`, loads and stores.
void every_candidate(benchmark::State& state) {
  count_candidates(state, programs(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
                                   static_cast<int>(state.range(2)), false, 24));
  state.SetLabel("random loads and stores");
}

/// Every candidate execution of programs with atomics among their accesses.
void every_candidate_with_atomics(benchmark::State& state) {
  count_candidates(state, programs(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
                                   static_cast<int>(state.range(2)), true, 8));
  state.SetLabel("random loads, stores and atomics");
}

/// The naive decision procedure of the tests, on programs that it can finish. Its candidates are choices of reads-from and of
/// coherence, and it needs more of them for one answer: compare tests/s.
void straightforward(benchmark::State& state) {
  const auto all =
      programs(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), static_cast<int>(state.range(2)), false, 8);
  std::uint64_t tried = 0;
  std::size_t decided = 0;
  for (auto _ : state) {
    for (const model::litmus_test& test : all) {
      membar_test::naive_model naive(test, 1U << 20U);
      benchmark::DoNotOptimize(naive.outcomes());
      tried += naive.tried();
      ++decided;
    }
  }
  report(state, tried, decided);
  state.SetLabel("guessed values, every partial order");
}

/// The final states of the programs of `straightforward`, by the model.
void model_outcomes(benchmark::State& state) {
  const auto all =
      programs(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), static_cast<int>(state.range(2)), false, 8);
  std::size_t decided = 0;
  for (auto _ : state) {
    for (const model::litmus_test& test : all) {
      benchmark::DoNotOptimize(model::outcomes(test));
      ++decided;
    }
  }
  report(state, 0, decided);
  state.SetLabel("the same question to the model");
}

BENCHMARK(every_candidate)
    ->ArgNames({"threads", "accesses", "locations"})
    ->Args({2, 2, 3})
    ->Args({2, 3, 3})
    ->Args({2, 4, 3})
    ->Args({2, 5, 3})
    ->Args({2, 6, 3})
    ->Args({2, 7, 3})
    ->Args({3, 2, 3})
    ->Args({3, 3, 3})
    ->Args({3, 4, 3})
    ->Args({3, 5, 3})
    ->Args({4, 2, 3})
    ->Args({4, 3, 3})
    ->Args({4, 4, 3})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(every_candidate_with_atomics)
    ->ArgNames({"threads", "accesses", "locations"})
    ->Args({2, 3, 2})
    ->Args({3, 3, 2})
    ->Args({4, 4, 3})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(straightforward)
    ->ArgNames({"threads", "accesses", "locations"})
    ->Args({2, 2, 2})
    ->Args({2, 3, 2})
    ->Args({3, 2, 2})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(model_outcomes)
    ->ArgNames({"threads", "accesses", "locations"})
    ->Args({2, 2, 2})
    ->Args({2, 3, 2})
    ->Args({3, 2, 2})
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
