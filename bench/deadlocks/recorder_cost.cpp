// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures what the deadlock recorder costs per operation, and whether this cost grows with the program's length.
// If the time grows linearly, `per_operation` is constant. The bench uses one thread on one core.
#include <membar/deadlock/recorder.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>

namespace {

using membar::pe;
using namespace membar::deadlock;

constexpr int main_stream = 1;
constexpr int side_stream = 2;
constexpr int ready = 7;
constexpr int answer = 8;

void report(benchmark::State& state, bool clean) {
  if (!clean) {
    state.SkipWithError("the program has a deadlock hazard");
  }
  state.counters["operations"] = static_cast<double>(state.range(0));
  state.counters["per_operation"] = benchmark::Counter(
      static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Four PEs in a ring: each PE has local work, a notification, a wait and a collective, and the host waits in every tenth round.
void ring_with_waits_of_the_host(benchmark::State& state) {
  bool clean = true;
  for (auto _ : state) {
    recorder record(4);
    std::int64_t operations = 0;
    for (unsigned round = 1; operations < state.range(0); ++round) {
      for (const int i : {0, 1, 2, 3}) {
        record.work(pe(i), side_stream);
        record.notify(pe(i), main_stream, pe((i + 1) % 4), ready, signal_add(1));
        record.wait(pe(i), main_stream, ready, signal_at_least(round));
        record.collective(pe(i), main_stream);
        operations += 4;
      }
      if (round % 10 == 0) {
        record.synchronize_stream(pe(static_cast<int>(round / 10 % 4)), main_stream);
        ++operations;
      }
    }
    clean = clean && record.check().empty();
  }
  report(state, clean);
}
BENCHMARK(ring_with_waits_of_the_host)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// Two PEs that answer each other. One host thread per PE records its operations, and the recording is checked once at the end.
void there_and_back(benchmark::State& state) {
  bool clean = true;
  for (auto _ : state) {
    recorder record(2, callers::one_per_pe);
    for (std::int64_t round = 1; round <= state.range(0) / 4; ++round) {
      const auto value = static_cast<std::uint64_t>(round);
      record.notify(pe(0), main_stream, pe(1), ready, signal_set(value));
      record.wait(pe(1), main_stream, ready, signal_equals(value));
      record.notify(pe(1), main_stream, pe(0), answer, signal_set(value));
      record.wait(pe(0), main_stream, answer, signal_equals(value));
    }
    clean = clean && record.check().empty();
  }
  report(state, clean);
}
BENCHMARK(there_and_back)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// In every tenth round, the host records an event and waits for all PEs, so that earlier operations no longer matter.
void rounds_that_the_host_waits_for(benchmark::State& state) {
  bool clean = true;
  for (auto _ : state) {
    recorder record(2);
    std::int64_t operations = 0;
    for (unsigned round = 1; operations < state.range(0); ++round) {
      record.notify(pe(0), main_stream, pe(1), ready, signal_add(1));
      record.wait(pe(1), main_stream, ready, signal_at_least(round));
      operations += 2;
      if (round % 10 == 0) {
        record.record_event(pe(0), static_cast<int>(round), main_stream);
        record.synchronize_pe(pe(0));
        record.synchronize_pe(pe(1));
        operations += 3;
      }
    }
    clean = clean && record.check().empty();
  }
  report(state, clean);
}
BENCHMARK(rounds_that_the_host_waits_for)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
