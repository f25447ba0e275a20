// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures how many executions of 10 and of 30 events the model checker explores per second, and how the exploration of a lock
// grows with the number of threads. The checker uses one thread on one core.
#include <tests/check/ptx_programs.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

namespace check = membar::check;

std::string repeated(const std::string& text, std::int64_t times) {
  std::string result;
  for (std::int64_t i = 0; i < times; ++i) {
    result += text;
  }
  return result;
}

void explore(benchmark::State& state, const membar_test::ptx_program& p, bool symmetry = false) {
  check::check_options options;
  options.symmetry = symmetry;
  check::check_result r;
  std::uint64_t executions = 0;
  for (auto _ : state) {
    r = p.explore({}, options);
    executions += r.counts.executions;
  }
  if (r.status != check::check_status::verified) {
    state.SkipWithError(("the exploration ended with: " + r.found.message).c_str());
  }
  state.counters["executions_per_s"] = benchmark::Counter(static_cast<double>(executions), benchmark::Counter::kIsRate);
  state.counters["executions"] = static_cast<double>(r.counts.executions);
  state.counters["blocked"] = static_cast<double>(r.counts.blocked);
  state.counters["events_of_the_longest"] = r.counts.longest;
}

void explore(benchmark::State& state, const std::vector<std::string>& threads) {
  explore(state, membar_test::ptx_program(threads));
}

// Every thread adds 1 to a counter with atom.add. Each atom.add counts as a read and a write.
void counter(benchmark::State& state) {
  explore(state, std::vector<std::string>(static_cast<std::size_t>(state.range(0)),
                                          repeated("atom.relaxed.gpu.global.add.u32 %r0, [x], 1;", state.range(1))));
}
BENCHMARK(counter)->ArgNames({"threads", "rounds"})->Args({5, 1})->Args({2, 5})->Unit(benchmark::kMillisecond);

// Repeated store buffering: each thread stores to its own cell and loads the other thread's cell.
void store_buffering(benchmark::State& state) {
  const auto side = [&](const std::string& own, const std::string& other) {
    return repeated("st.relaxed.gpu.global.u32 [" + own + "], 1; ld.relaxed.gpu.global.u32 %r0, [" + other + "];",
                    state.range(0));
  };
  explore(state, {side("x", "y"), side("y", "x")});
}
BENCHMARK(store_buffering)->ArgName("rounds")->Arg(2)->Arg(4)->Unit(benchmark::kMillisecond);

// Each thread takes a ticket, waits for its turn, does private work that consists of several events, and passes on the turn.
void ticket_lock(benchmark::State& state) {
  const std::string worker =
      "atom.relaxed.gpu.global.add.u32 %r0, [x], 1;"
      "W: ld.acquire.gpu.global.u32 %r1, [y]; setp.ne.u32 %p0, %r0, %r1; @%p0 bra W;"
      "ld.global.u32 %r2, [z]; add.u32 %r2, %r2, 1; st.global.u32 [z], %r2;"
      "red.release.gpu.global.add.u32 [y], 1;";
  explore(state, std::vector<std::string>(static_cast<std::size_t>(state.range(0)), worker));
}
BENCHMARK(ticket_lock)->ArgName("threads")->DenseRange(2, 6)->Unit(benchmark::kMillisecond);

// A counter program with 30 events. Most of the events are the threads' private work.
void long_threads(benchmark::State& state) {
  const std::string work = repeated("ld.global.u32 %r2, [%rd0]; add.u32 %r2, %r2, 1; st.global.u32 [%rd0], %r2;", 4);
  std::vector<std::string> threads;
  for (int t = 0; t < 3; ++t) {
    threads.push_back("mov.u64 %rd0, wide; add.u64 %rd0, %rd0, " + std::to_string(8 * t) + ";" + work +
                      "atom.acq_rel.gpu.global.add.u32 %r0, [x], 1;");
  }
  explore(state, threads);
}
BENCHMARK(long_threads)->Unit(benchmark::kMillisecond);

// How an exploration grows with the number of threads that take a ticket lock in one launch, and with the number of times each
// takes it.
void growth(benchmark::State& state) {
  std::string worker;
  for (int round = 0; round < state.range(1); ++round) {
    const std::string label = "W" + std::to_string(round);
    worker += "atom.relaxed.gpu.global.add.u32 %r0, [x], 1;" + label +
              ": ld.acquire.gpu.global.u32 %r1, [y]; setp.ne.u32 %p0, %r0, %r1; @%p0 bra " + label +
              "; ld.global.u32 %r2, [z]; add.u32 %r2, %r2, 1; st.global.u32 [z], %r2;"
              "red.release.gpu.global.add.u32 [y], 1;";
  }
  explore(state, membar_test::ptx_program({worker}, static_cast<std::uint32_t>(state.range(0))), state.range(2) != 0);
}
BENCHMARK(growth)
    ->ArgNames({"threads", "rounds", "symmetry"})
    ->ArgsProduct({{2, 3, 4, 5, 6}, {1}, {0, 1}})
    ->ArgsProduct({{2, 3, 4}, {2}, {0, 1}})
    ->ArgsProduct({{2, 3}, {3}, {0, 1}})
    ->ArgsProduct({{5}, {2}, {1}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
