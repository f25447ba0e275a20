// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures how many instructions per second the sanitizer executes in straight-line code, accesses, barriers, atomics, fences
// and chains of blocks, and how its time grows with the size of the launch. The sanitizer runs one schedule, on one host thread
// or, if blocks do not communicate, also on two.
#include <tests/check/ptx_programs.hpp>

#include <sanitize/sanitize.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace check = membar::check;
namespace sanitize = membar::sanitize;

constexpr std::uint32_t threads = 256;

const std::string number =
    "mov.u32 %r0, %tid.x;mov.u32 %r1, %ctaid.x;mad.lo.u32 %r2, %r1, 256, %r0;shl.b32 %r3, %r2, 2;cvt.u64.u32 %rd0, %r3;"
    "mov.u64 %rd1, cells;add.u64 %rd1, %rd1, %rd0;shl.b32 %r4, %r0, 2;mov.u32 %r5, s;add.u32 %r5, %r5, %r4;";

std::string loop(int rounds, const std::string& body) {
  return "mov.u32 %r15, 0;L:" + body + "add.u32 %r15, %r15, 1;setp.lt.u32 %p7, %r15, " + std::to_string(rounds) +
         ";@%p7 bra L;";
}

[[nodiscard]] double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// The CPU time of this thread, and of all threads.
struct processor_time {
  double mine = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  double all = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
};

void run(benchmark::State& state, const std::string& body, int jobs = 1) {
  const auto blocks = static_cast<std::uint32_t>(state.range(0));
  const check::ptx_module module = check::read_ptx(
      ".version 9.0\n.target sm_90\n.address_size 64\n.global .u32 x;\n.global .align 16 .b8 table[4096];\n.shared .align 16 "
      ".b8 s[1024];\n.global .align 16 .b8 "
      "cells[" +
      std::to_string(4 * threads * blocks) + "];\n" + membar_test::kernel_text("k", number + body));
  const check::module_layout layout = check::layout_of(module);
  check::program p;
  check::add_variables(p, module, layout);
  check::launch_request request;
  request.kernel = std::make_shared<check::kernel_code>(check::decode_kernel(module, layout, module.functions.front()));
  request.grid[0] = blocks;
  request.block[0] = threads;
  const std::vector<check::planned_launch> launches = {check::plan_launch(p, request, 0, 0)};
  sanitize::sanitize_options how;
  how.schedules = 1;
  how.jobs = jobs;
  sanitize::sanitize_result r;
  double all = 0;
  double busiest = 0;
  for (auto _ : state) {
    const processor_time before;
    r = sanitize::sanitize(p, launches, {}, how);
    const processor_time after;
    const double mine = after.mine - before.mine;
    all += after.all - before.all;
    busiest += std::max(mine, (after.all - before.all - mine) / std::max(jobs - 1, 1));
  }
  if (!r.findings.empty()) {
    state.SkipWithError(("the sanitizer found: " + r.findings.front().found.message).c_str());
  }
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["processor_ms"] = 1e3 * all / rounds;  // CPU time of all host threads
  state.counters["busiest_ms"] =
      1e3 * busiest / rounds;  // CPU time of the busiest host thread: the time that a schedule takes on an otherwise idle
                               // machine
  state.counters["instructions_per_s"] = static_cast<double>(r.counts.instructions) * rounds / busiest;
  state.counters["parts"] = static_cast<double>(r.counts.parts);
  state.counters["instructions"] = static_cast<double>(r.counts.instructions);
  state.counters["accesses"] = static_cast<double>(r.counts.accesses);
  state.counters["clock_bytes"] = static_cast<double>(r.counts.clock_bytes);
}

void straight_code(benchmark::State& state) {
  std::string body;
  for (int k = 0; k < 16; ++k) {
    body += "mad.lo.u32 %r6, %r6, 1664525, %r2;shr.u32 %r7, %r6, 13;xor.b32 %r6, %r6, %r7;add.u32 %r6, %r6, 7;";
  }
  run(state, loop(30, body) + "st.global.u32 [%rd1], %r6;", static_cast<int>(state.range(1)));
}

void accesses(benchmark::State& state) {
  run(state, loop(50, "ld.global.u32 %r6, [%rd1];add.u32 %r6, %r6, 1;st.global.u32 [%rd1], %r6;"),
      static_cast<int>(state.range(1)));
}

void barriers(benchmark::State& state) {
  run(state,
      loop(20,
           "st.shared.u32 [%r5], %r15;bar.sync 0;xor.b32 %r6, %r4, 128;mov.u32 %r7, s;add.u32 %r7, %r7, %r6;ld.shared.u32 %r8, "
           "[%r7];bar.sync 0;"),
      static_cast<int>(state.range(1)));
}

// Each thread reads words that many others also read, and writes its own word.
void shared_reads(benchmark::State& state) {
  run(state,
      loop(
          20,
          "and.b32 %r6, %r2, 4092;cvt.u64.u32 %rd2, %r6;mov.u64 %rd3, table;add.u64 %rd3, %rd3, %rd2;ld.global.u32 %r7, [%rd3];"
          "add.u32 %r8, %r8, %r7;add.u32 %r2, %r2, 52;") +
          "st.global.u32 [%rd1], %r8;",
      static_cast<int>(state.range(1)));
}

void atomics(benchmark::State& state) { run(state, loop(10, "atom.relaxed.gpu.global.add.u32 %r6, [x], 1;")); }

// Like the last-block pattern, except that every thread increments the counter.
void fences(benchmark::State& state) {
  run(state, "st.global.u32 [%rd1], %r0;membar.gl;atom.relaxed.gpu.global.add.u32 %r6, [x], 1;");
}

// Each block waits for the previous one, as in a scan with decoupled look-back.
void chain_of_blocks(benchmark::State& state) {
  run(state,
      "bar.sync 0;setp.ne.u32 %p0, %r0, 0;@%p0 bra D;W:ld.acquire.gpu.global.u32 %r6, [x];setp.ne.u32 %p1, %r6, %r1;@%p1 bra "
      "W;add.u32 %r6, %r6, 1;st.release.gpu.global.u32 [x], %r6;D:bar.sync 0;");
}

void grows(benchmark::internal::Benchmark* b) {
  b->ArgName("blocks")->RangeMultiplier(4)->Range(16, 1024)->Unit(benchmark::kMillisecond);
}
void grows_on_two(benchmark::internal::Benchmark* b) {
  for (const int jobs : {1, 2}) {
    for (const int blocks : {16, 64, 256, 1024}) {
      b->Args({blocks, jobs});
    }
  }
  b->ArgNames({"blocks", "jobs"})->Unit(benchmark::kMillisecond);
}
BENCHMARK(straight_code)->Apply(grows_on_two);
BENCHMARK(accesses)->Apply(grows_on_two);
BENCHMARK(barriers)->Apply(grows_on_two);
BENCHMARK(shared_reads)->Apply(grows_on_two);
BENCHMARK(atomics)->Apply(grows);
BENCHMARK(fences)->Apply(grows);
BENCHMARK(chain_of_blocks)->Apply(grows);

}  // namespace
