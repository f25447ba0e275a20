// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does a barrier between two GPUs cost? The barriers are in a kernel (for groups of several sizes, with and
/// without ordering memory, for a team, and in two halves) and on streams. They are compared with a barrier in which threads
/// exchange flags, and with NVSHMEM's barrier. Times are per barrier.
#include "peer_world.cuh"

#include <membar/symmetric/on_stream.cuh>
#include <membar/symmetric/team_barrier.hpp>
#include <membar/sync/cross_barrier.cuh>

namespace {

using namespace symmetric_bench;

using flags = membar::cross_barrier<2>::flags;

__global__ void cross_barriers(flags* first, flags* second, int rank, unsigned rounds, kernel_report* report) {
  flags* const all[2] = {first, second};
  membar::cross_barrier<2> barrier(all, rank);
  timed_rounds(by_thread, rounds, report, [&](unsigned) { return barrier.sync(generous) == wait_result::done; });
}

/// A team's barrier, as a whole or in two halves with nothing in between.
template <bool Halves>
__global__ void team_barriers(symmetric::team_words<peer_backend> words, unsigned rounds, kernel_report* report) {
  timed_rounds(by_block, rounds, report, [&](unsigned) {
    if constexpr (Halves) {
      const symmetric::arrival here = arrive(by_block, words);
      return try_wait(by_block, words, here, generous) == wait_result::done;
    } else {
      return try_barrier(by_block, words, generous) == wait_result::done;
    }
  });
}

template <class Kernel>
double team_barrier_nanoseconds(world& two, unsigned threads, Kernel kernel) {
  const symmetric::team_barrier<peer_backend> team(two.heap, symmetric::team::all(2));
  return two.round_nanoseconds(threads, 3'000, kernel, [&](pe which, auto launch) { launch(team.on(which)); });
}

template <class... Parameters>
double barrier_nanoseconds(world& two, unsigned threads, void (*kernel)(Parameters...)) {
  const scoped_array words(two.heap.allocate_barrier());
  return two.round_nanoseconds(threads, 3'000, kernel, [&](pe which, auto launch) { launch(words.on(which)); });
}

double cross_barrier_nanoseconds(world& two) {
  const scoped_array memory(two.heap.allocate<unsigned char>(sizeof(flags)));
  const auto flags_of = [&](int which) { return reinterpret_cast<flags*>(memory.on(pe(which)).local()); };
  return two.round_nanoseconds(1, 3'000, cross_barriers,
                               [&](pe which, auto launch) { launch(flags_of(0), flags_of(1), which.index()); });
}

double stream_barrier_nanoseconds(world& two) {
  symmetric::load_stream_operations(two.heap);
  const scoped_array words(two.heap.allocate_barrier());
  return nanoseconds_of_one(
      two.backend, 100, [&](pe which) { return two.streams.of(which); },
      [&] {
        at_each_pe(two.backend,
                   [&](pe which) { symmetric::barrier_on_stream(words.on(which), generous, two.streams.of(which)); });
      });
}

void add_cases(bench::suite& cases) {
  const peers of(cases);
  const auto add = [&](const std::string& arm, const bench::axis<unsigned>& threads, auto kernel) {
    cases.add(
        "barrier_latency/" + arm + "/threads:{}",
        [two = of.two, kernel](unsigned count) { return barrier_nanoseconds(*two, count, kernel); }, threads);
  };
  add("membar_peer_by_thread", {1}, &barriers<by_thread_t, membar::acq_rel_t, peer_backend>);
  add("membar_peer_by_warp", {32}, &barriers<by_warp_t, membar::acq_rel_t, peer_backend>);
  add("membar_peer_by_block", {64, 256, 1024}, &barriers<by_block_t, membar::acq_rel_t, peer_backend>);
  add("membar_peer_relaxed_by_block", {256}, &barriers<by_block_t, membar::relaxed_t, peer_backend>);
  cases.add("barrier_latency/membar_peer_team_by_block/threads:256",
            [two = of.two] { return team_barrier_nanoseconds(*two, 256, &team_barriers<false>); });
  cases.add("barrier_latency/membar_peer_halves_by_block/threads:256",
            [two = of.two] { return team_barrier_nanoseconds(*two, 256, &team_barriers<true>); });
  cases.add("barrier_latency/cross_barrier/threads:1", [two = of.two] { return cross_barrier_nanoseconds(*two); });
  cases.add("barrier_latency/membar_peer_on_stream", [two = of.two] { return stream_barrier_nanoseconds(*two); });
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What does a barrier of two GPUs cost, in a kernel and on streams?",
          .add_cases = add_cases,
          .takes_device = false,
          .before_cuda = [](suite& cases) { symmetric_bench::add_nvshmem_cases(cases, "barrier_latency"); }};
}

}  // namespace bench
