// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures how many candidate executions per second the model checks, how its time grows with the numbers of events and
// threads, and how it compares with an enumerator that guesses values and total orders. The bench uses one thread on one core.
#include <bench/common/include_hash.hpp>

#include "naive.hpp"
#include "random_test.hpp"

#include <litmus/reader.hpp>
#include <membar/model/outcomes.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

namespace model = membar::model;

/// Returns `count` random programs of the size that the case specifies, in which every instruction accesses memory.
std::vector<model::litmus_test> programs(const benchmark::State& state, bool atomics, int count) {
  membar_test::random_shape shape;
  shape.threads = static_cast<int>(state.range(0));
  shape.instructions = static_cast<int>(state.range(1));
  shape.locations = static_cast<int>(state.range(2));
  shape.atomics = atomics;
  shape.only_accesses = true;
  shape.control = false;
  shape.places = false;
  membar_test::random_tests stream(7, shape);
  std::vector<model::litmus_test> result;
  for (int i = 0; i < count; ++i) {
    const membar_test::random_program p = stream.next();
    result.push_back(membar::litmus_files::read_litmus(p.text(p.own_order(), {"x", "y", "z"}, p.everything())));
  }
  return result;
}

void report(benchmark::State& state, std::uint64_t candidates, std::size_t tests_decided) {
  if (candidates != 0) {
    state.counters["candidates/s"] = benchmark::Counter(static_cast<double>(candidates), benchmark::Counter::kIsRate);
  }
  state.counters["tests/s"] = benchmark::Counter(static_cast<double>(tests_decided), benchmark::Counter::kIsRate);
}

/// Decides all tests repeatedly. `decide` returns how many candidates it has examined.
template <class Decide>
void measure(benchmark::State& state, const std::vector<model::litmus_test>& all, const Decide& decide) {
  std::uint64_t candidates = 0;
  std::size_t decided = 0;
  for (auto _ : state) {
    for (const model::litmus_test& test : all) {
      candidates += decide(test);
      ++decided;
    }
  }
  report(state, candidates, decided);
}

std::uint64_t candidates_of(const model::litmus_test& test) { return membar_test::searched(test).candidates; }

/// All candidate executions of programs with `threads` threads of `accesses` loads and stores each on `locations` locations.
void every_candidate(benchmark::State& state) {
  measure(state, programs(state, false, 24), candidates_of);
  state.SetLabel("random loads and stores");
}

/// All candidate executions of programs with atomics among their accesses.
void every_candidate_with_atomics(benchmark::State& state) {
  measure(state, programs(state, true, 8), candidates_of);
  state.SetLabel("random loads, stores and atomics");
}

/// The tests' naive decision procedure, on programs small enough for it. Its candidates are choices of reads-from and
/// coherence, and it requires more of them per answer, so compare tests/s instead of candidates/s.
void straightforward(benchmark::State& state) {
  measure(state, programs(state, false, 8), [](const model::litmus_test& test) {
    membar_test::naive_model naive(test, 1U << 20U);
    benchmark::DoNotOptimize(naive.outcomes());
    return naive.tried();
  });
  state.SetLabel("guessed values, every partial order");
}

/// The final states of the programs in `straightforward`, according to the model.
void model_outcomes(benchmark::State& state) {
  measure(state, programs(state, false, 8), [](const model::litmus_test& test) {
    benchmark::DoNotOptimize(model::outcomes(test));
    return std::uint64_t{0};
  });
  state.SetLabel("the same question to the model");
}

const std::vector<std::string> sizes = {"threads", "accesses", "locations"};
BENCHMARK(every_candidate)
    ->ArgNames(sizes)
    ->ArgsProduct({{2}, {2, 3, 4, 5, 6, 7}, {3}})
    ->ArgsProduct({{3}, {2, 3, 4, 5}, {3}})
    ->ArgsProduct({{4}, {2, 3, 4}, {3}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(every_candidate_with_atomics)
    ->ArgNames(sizes)
    ->Args({2, 3, 2})
    ->Args({3, 3, 2})
    ->Args({4, 4, 3})
    ->Unit(benchmark::kMillisecond);
void small_programs(benchmark::internal::Benchmark* bench) {
  bench->ArgNames(sizes)->Args({2, 2, 2})->Args({2, 3, 2})->Args({3, 2, 2})->Unit(benchmark::kMillisecond);
}
BENCHMARK(straightforward)->Apply(small_programs);
BENCHMARK(model_outcomes)->Apply(small_programs);

[[maybe_unused]] const bool headers_are_named = [] {
  benchmark::AddCustomContext("include", support::include_hash());
  return true;
}();

}  // namespace

BENCHMARK_MAIN();
