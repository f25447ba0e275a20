// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tests of teams and split barriers: the barriers work, two teams can run concurrently, using a team on two streams is
/// rejected, and a wait that timed out can be repeated.
#pragma once

#include <membar/symmetric/team_barrier.hpp>

#include <tests/common/checked.cuh>
#include <tests/common/refusal.hpp>
#include <tests/common/symmetric_tests.cuh>

namespace membar_test {

using symmetric::team, symmetric::team_barrier, symmetric::team_words;

/// Every PE of a team writes to a slot of every other PE, arrives, does other work, waits, and finds all slots written. A
/// second barrier comes before the next write.
template <class Group>
__global__ void pass_split_barriers(span<int> slots, team_words<> words, unsigned rounds, pe_report* report) {
  const Group group;
  const team& members = words.members();
  const int own_rank = members.rank_of(words.self());
  const int threads = static_cast<int>(Group::size());
  const int rank = static_cast<int>(Group::rank());
  unsigned long long stale = 0;
  unsigned own_work = 0;
  bool late = false;
  for (unsigned round = 1; round <= rounds && !late; ++round) {
    for (int i = rank; i < members.size() * 32; i += threads) {
      put_value(slots[static_cast<std::size_t>(own_rank * 32 + i % 32)], static_cast<int>(round), members[i / 32]);
    }
    const symmetric::arrival own = arrive(group, words);
    own_work += round;
    late = try_wait(group, words, own, generous) != wait_result::done;
    for (int i = rank; i < members.size() * 32; i += threads) {
      stale += checked(slots.local()[i] != static_cast<int>(round));
    }
    late |= checked(try_barrier(group, words, generous) != wait_result::done);
  }
  add_to(*report, group, stale + (own_work == 0 ? 1 : 0), late, rounds);
}

/// Arrives, waits with a budget that is too short for the other PEs to arrive, and waits again.
__global__ void wait_twice(team_words<> words, unsigned long long pause, unsigned* told) {
  const unsigned long long begin = membar::global_nanoseconds();
  while (words.self() != pe(0) && membar::global_nanoseconds() - begin < pause) {
  }
  const symmetric::arrival own = arrive(by_block, words);
  if (words.self() == pe(0)) {
    const bool late = try_wait(by_block, words, own, short_one) == wait_result::timed_out;
    const bool done = try_wait(by_block, words, own, generous) == wait_result::done;
    if (threadIdx.x == 0) {
      *told = (late ? 1U : 0U) + (done ? 2U : 0U);
    }
  }
}

class symmetric_teams : public symmetric_pes {
 protected:
  /// Runs two teams of five PEs concurrently: the even PEs and the odd PEs.
  template <class Group>
  void expect_two_teams_hold(Group, unsigned threads) {
    peer_backend backend(devices(5));
    heap<peer_backend> heap(backend, 1 << 20);
    const scoped_array slots(heap.allocate<int>(3 * 32));
    const team_barrier<peer_backend> even(heap, team::strided(pe(0), 2, 3));
    const team_barrier<peer_backend> odd(heap, team::listed({pe(3), pe(1)}));
    const support::pinned_memory<pe_report> reports(5);
    std::fill_n(reports.get(), 5, pe_report{});
    run(backend, 1, threads, pass_split_barriers<Group>, [&](pe which, auto launch) {
      const auto& own = which.index() % 2 == 0 ? even : odd;
      launch(slots.on(which), own.on(which), 20'000U, reports.get() + which.index());
    });
    for (std::size_t i = 0; i != 5; ++i) {
      expect_clean(reports[i]);
      EXPECT_EQ(reports[i].messages, 20'000U);
    }
  }
};

TEST_P(symmetric_teams, hold_two_at_once_in_two_halves) {
  expect_two_teams_hold(by_thread, 1);
  expect_two_teams_hold(by_warp, 32);
  expect_two_teams_hold(by_block, 256);
}

TEST_P(symmetric_teams, late_half_can_be_waited_for_again) {
  peer_backend backend(devices(3));
  heap<peer_backend> heap(backend, 1 << 20);
  const team_barrier<peer_backend> three(heap, team::all(3));
  const support::pinned_memory<unsigned> told(1);
  *told.get() = 0;
  run(backend, 1, 64, wait_twice, [&](pe which, auto launch) { launch(three.on(which), 200'000'000ULL, told.get()); });
  EXPECT_EQ(*told.get(), 3U);
}

TEST_P(symmetric_teams, on_two_streams_at_once_never_wait_for_each_other) {
  const unsigned rounds = static_cast<unsigned>(stress_count("MEMBAR_STRESS_ROUNDS", 5'000));
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 1 << 20);
  load_stream_operations(heap);
  team_barrier<peer_backend> left(heap, team::all(2));
  team_barrier<peer_backend> right(heap, team::all(2));
  std::vector<std::unique_ptr<support::stream>> streams;
  for (const pe which : backend.local_pes()) {
    const membar::device_guard guard(backend.device_of(which));
    streams.push_back(std::make_unique<support::stream>());
    streams.push_back(std::make_unique<support::stream>());
  }
  for (unsigned round = 0; round != rounds; ++round) {
    for (const pe which : backend.local_pes()) {
      const membar::device_guard guard(backend.device_of(which));
      const auto own = static_cast<std::size_t>(2 * which.index());
      // Each of the two PEs begins with a different team.
      team_barrier<peer_backend>* const in_order[] = {which == pe(0) ? &left : &right, which == pe(0) ? &right : &left};
      for (const std::size_t i : {0U, 1U}) {
        const cudaStream_t stream = streams[own + (in_order[i] == &left ? 0 : 1)]->get();
        arrive_on_stream(*in_order[i], which, stream);
        wait_on_stream(*in_order[i], which, generous, stream);
      }
    }
  }
  for (const auto& each : streams) {
    each->synchronize();
  }
}

TEST_P(symmetric_teams, one_on_two_streams_is_refused) {
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 1 << 20);
  load_stream_operations(heap);
  team_barrier<peer_backend> both(heap, team::all(2));
  const support::stream main;
  const support::stream side;
  std::optional<support::stream> theirs;
  barrier_on_stream(both, pe(0), generous, main.get());  // This barrier waits for PE 1.
  EXPECT_TRUE(
      says(refusal([&] { barrier_on_stream(both, pe(0), generous, side.get()); }), "membar: team PEs 0, 1 cannot be used"));
  {
    const membar::device_guard guard(backend.device_of(pe(1)));
    theirs.emplace();
    barrier_on_stream(both, pe(1), generous, theirs->get());
    barrier_on_stream(both, pe(1), generous, theirs->get());
  }
  main.synchronize();
  barrier_on_stream(both, pe(0), generous, side.get());
  side.synchronize();
  theirs->synchronize();
}

TEST_P(symmetric_teams, replay_both_halves_in_graphs) {
  const unsigned replays = graph_replays();
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 1 << 20);
  load_stream_operations(heap);
  team_barrier<peer_backend> both(heap, team::all(2));
  std::vector<std::unique_ptr<support::stream>> streams;
  std::vector<std::unique_ptr<captured_graph>> graphs;
  std::vector<cudaGraphExec_t> executables;
  for (const pe which : backend.local_pes()) {
    const membar::device_guard guard(backend.device_of(which));
    streams.push_back(std::make_unique<support::stream>());
    const cudaStream_t stream = streams.back()->get();
    graphs.push_back(std::make_unique<captured_graph>(stream, [&] {
      arrive_on_stream(both, which, stream);
      wait_on_stream(both, which, generous, stream);
    }));
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graphs.back()->get(), 0));
    executables.push_back(executable);
    check(cudaGraphUpload(executable, stream));
    streams.back()->synchronize();
  }
  for (unsigned i = 0; i != replays; ++i) {
    for (const pe which : backend.local_pes()) {
      const membar::device_guard guard(backend.device_of(which));
      const auto own = static_cast<std::size_t>(which.index());
      check(cudaGraphLaunch(executables[own], streams[own]->get()));
    }
  }
  for (const auto& each : streams) {
    each->synchronize();
  }
  // Each barrier must have had its own number, in every replay.
  for (const pe which : backend.local_pes()) {
    const auto words = both.on(which).words();
    const auto* const at = reinterpret_cast<const unsigned long long*>(heap.address_at(words, which));
    EXPECT_EQ(copied(at, words.size()).back(), replays);
  }
  for (const cudaGraphExec_t each : executables) {
    check(cudaGraphExecDestroy(each));
  }
}

}  // namespace membar_test
