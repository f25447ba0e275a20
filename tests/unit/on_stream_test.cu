// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symmetric operations on a stream, tested on the host with the fake CUDA runtime: what a captured graph may contain, and how
// teams use streams.
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/on_stream.cuh>
#include <membar/symmetric/recoverable.cuh>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <vector>

namespace {

namespace symmetric = membar::symmetric;

using fake_cuda::now;
using membar_test::refusal, membar_test::says;
using symmetric::pe, symmetric::peer_backend, symmetric::scoped_array, symmetric::team, symmetric::team_barrier;

constexpr membar::wait_budget budget = membar::wait_budget::milliseconds(5);

class on_stream : public fake_cuda::test {
 protected:
  peer_backend backend{std::vector<int>{0, 1}};
  symmetric::heap<peer_backend> heap{backend, 1 << 16};
  const scoped_array<symmetric::signal<symmetric::set>, peer_backend> flags{
      heap.allocate<symmetric::signal<symmetric::set>>(1)};
  const scoped_array<symmetric::signal<symmetric::add>, peer_backend> sums{heap.allocate<symmetric::signal<symmetric::add>>(1)};
  const scoped_array<symmetric::epoch, peer_backend> epochs{heap.allocate<symmetric::epoch>(2)};
  const scoped_array<symmetric::barrier_word, peer_backend> words{heap.allocate_barrier()};
  const symmetric::object<symmetric::signal<symmetric::set>> flag = flags.on(pe(0))[0];
  const symmetric::object<symmetric::signal<symmetric::add>> sum = sums.on(pe(0))[0];
  const symmetric::object<symmetric::epoch> number = epochs.on(pe(0))[0];
  fake_cuda::stream stream;
};

TEST_F(on_stream, what_would_be_the_same_in_every_replay_is_not_captured) {
  stream.capturing = true;
  EXPECT_EQ(
      refusal([&] { notify_on_stream(flag, 7, pe(1), stream.handle()); }),
      "membar: a notification that sets a signal to 7 cannot be captured in a graph: the value would be the same in "
      "every replay, so a wait could be satisfied by the value of the previous replay: pass an epoch instead of the value, or "
      "add to a signal<add>");
  EXPECT_EQ(refusal([&] { wait_on_stream(flag, symmetric::equals(7), budget, stream.handle()); }),
            "membar: a wait that compares a signal with 7 cannot be captured in a graph: the value would be the same in every "
            "replay, so "
            "a wait could be satisfied by the value of the previous replay: pass an epoch instead of the condition");
  EXPECT_NE(refusal([&] { wait_on_stream(sum, symmetric::at_least(7), budget, stream.handle()); }), "");
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(on_stream, what_is_right_in_every_replay_is_captured) {
  stream.capturing = true;
  notify_on_stream(sum, 1, pe(1), stream.handle());
  notify_on_stream(flag, number, pe(1), stream.handle());
  wait_on_stream(flag, number, budget, stream.handle());
  wait_on_stream(sum, number, budget, stream.handle(), 3);
  barrier_on_stream(words.on(pe(0)), budget, stream.handle());
  quiet_on_stream(heap.reach_of(pe(0)), stream.handle());
  EXPECT_EQ(now().launches.size(), 6U);
}

TEST_F(on_stream, outside_of_a_capture_values_are_what_they_are) {
  notify_on_stream(flag, 7, pe(1), stream.handle());
  wait_on_stream(flag, symmetric::equals(7), budget, stream.handle());
  wait_on_stream(sum, symmetric::at_least(7), budget, stream.handle());
  EXPECT_EQ(now().launches.size(), 3U);
}

TEST_F(on_stream, all_kernels_are_loaded_before_one_waits) {
  load_stream_operations(heap);
  for (const int device : {0, 1}) {
    EXPECT_EQ(now().devices[static_cast<std::size_t>(device)].loaded.size(), 13U);
  }
}

TEST_F(on_stream, a_recoverable_wait_has_a_status_and_freezes_no_value) {
  const scoped_array flags_of_abort(heap.allocate<symmetric::abort_flag>(1));
  const auto abort = flags_of_abort.on(pe(0))[0];
  symmetric::stream_status status;
  EXPECT_EQ(refusal([&] { try_wait_on_stream(flag, symmetric::equals(7), budget, abort, nullptr, stream.handle()); }),
            "membar: the status pointer of a recoverable operation is null: pass device memory or mapped host memory that the "
            "device can write to");
  EXPECT_NE(refusal([&] { try_barrier_on_stream(words.on(pe(0)), budget, abort, nullptr, stream.handle()); }), "");
  stream.capturing = true;
  EXPECT_NE(refusal([&] { try_wait_on_stream(sum, symmetric::at_least(7), budget, abort, &status, stream.handle()); }), "");
  EXPECT_TRUE(now().launches.empty());
  try_wait_on_stream(flag, number, budget, abort, &status, stream.handle());
  try_barrier_on_stream(words.on(pe(0)), budget, abort, &status, stream.handle());
  abort_on_stream(abort, stream.handle());
  EXPECT_EQ(now().launches.size(), 3U);
  EXPECT_STREQ(name(status.result), "pending");
}

TEST_F(on_stream, all_recoverable_kernels_are_loaded_before_one_waits) {
  load_recoverable_operations(heap);
  EXPECT_EQ(now().devices[0].loaded.size(), 8U);
}

TEST_F(on_stream, a_status_keeps_what_failed_first) {
  using symmetric::status_after, symmetric::stream_result, symmetric::stream_status;
  const stream_status late{stream_result::timed_out, 0, 5, 4, 1};
  const stream_status aborted{stream_result::aborted, 0, 6, 4, 1};
  const stream_status done{stream_result::done, 0, 7, 7, -1};
  static_assert(status_after({}, {stream_result::aborted}).result == stream_result::aborted);
  EXPECT_EQ(status_after(late, aborted).result, stream_result::timed_out) << "a replay after the failure is aborted";
  EXPECT_EQ(status_after(late, aborted).expected, 5U);
  EXPECT_EQ(status_after(aborted, {stream_result::aborted, 0, 9, 4, 1}).expected, 6U);
  EXPECT_EQ(status_after(done, late).result, stream_result::timed_out);
  EXPECT_EQ(status_after(late, done).result, stream_result::done) << "the words were allocated again, so a wait succeeds";
  EXPECT_EQ(status_after({}, done).missing, -1);
}

class teams_on_streams : public on_stream {
 protected:
  team_barrier<peer_backend> pair{heap, team::all(2)};
  team_barrier<peer_backend> same_pair{heap, team::all(2)};
  fake_cuda::stream other;
};

TEST_F(teams_on_streams, one_team_is_rejected_on_two_streams_at_once) {
  barrier_on_stream(pair, pe(0), budget, stream.handle());
  stream.busy = true;
  const std::string refused = refusal([&] { barrier_on_stream(pair, pe(0), budget, other.handle()); });
  EXPECT_TRUE(says(refused, "membar: team PEs 0, 1 cannot be used on stream"));
  EXPECT_TRUE(says(refused, "wait for that stream first"));
  EXPECT_EQ(now().launches.size(), 1U);
  barrier_on_stream(pair, pe(1), budget, other.handle());  // Each PE of a team has its own streams.
  stream.busy = false;
  barrier_on_stream(pair, pe(0), budget, other.handle());
  EXPECT_EQ(now().launches.size(), 3U);
}

TEST_F(teams_on_streams, two_teams_run_on_two_streams_at_once) {
  barrier_on_stream(pair, pe(0), budget, stream.handle());
  stream.busy = true;
  barrier_on_stream(same_pair, pe(0), budget, other.handle());
  EXPECT_EQ(now().launches.size(), 2U);
}

TEST_F(teams_on_streams, an_arrival_keeps_the_team_until_its_wait) {
  arrive_on_stream(pair, pe(0), stream.handle());
  EXPECT_TRUE(says(refusal([&] { barrier_on_stream(pair, pe(0), budget, other.handle()); }), "is in use on stream"));
  EXPECT_TRUE(says(refusal([&] { wait_on_stream(pair, pe(0), budget, other.handle()); }), "is in use on stream"));
  EXPECT_EQ(refusal([&] { arrive_on_stream(pair, pe(0), stream.handle()); }),
            "membar: PE 0 cannot arrive at the next barrier of team PEs 0, 1, because it has not waited for the last barrier "
            "at which it arrived: call wait_on_stream first");
  EXPECT_EQ(now().launches.size(), 1U);
  wait_on_stream(pair, pe(0), budget, stream.handle());
  EXPECT_EQ(refusal([&] { wait_on_stream(pair, pe(0), budget, stream.handle()); }),
            "membar: PE 0 cannot wait for a barrier of team PEs 0, 1 at which it has not arrived: call arrive_on_stream first, "
            "in the same capture");
  barrier_on_stream(pair, pe(0), budget, other.handle());
  EXPECT_EQ(now().launches.size(), 3U);
}

TEST_F(teams_on_streams, a_half_whose_launch_failed_has_not_been_done) {
  now().fails["cudaLaunchKernelExC"] = {.code = cudaErrorInvalidResourceHandle, .times = 1};
  EXPECT_NE(refusal([&] { arrive_on_stream(pair, pe(0), stream.handle()); }), "");
  EXPECT_TRUE(says(refusal([&] { wait_on_stream(pair, pe(0), budget, stream.handle()); }), "at which it has not arrived"));
  arrive_on_stream(pair, pe(0), stream.handle());
  now().fails["cudaLaunchKernelExC"] = {.code = cudaErrorInvalidResourceHandle, .times = 1};
  EXPECT_NE(refusal([&] { wait_on_stream(pair, pe(0), budget, stream.handle()); }), "");
  EXPECT_TRUE(says(refusal([&] { arrive_on_stream(pair, pe(0), stream.handle()); }), "call wait_on_stream first"));
  wait_on_stream(pair, pe(0), budget, stream.handle());
  EXPECT_EQ(now().launches.size(), 2U);
}

TEST_F(on_stream, an_empty_part_may_be_at_the_end_of_the_heap) {
  symmetric::heap<peer_backend> small(backend, 1 << 12);
  const symmetric::scoped_array all(small.allocate<float>(small.largest_free() / sizeof(float)));
  const auto whole = all.on(pe(0));
  put_on_stream(small, whole.subspan(whole.size(), 0), whole.local(), pe(1), stream.handle());
}

TEST_F(teams_on_streams, a_pe_that_is_not_of_the_team_is_rejected) {
  team_barrier<peer_backend> alone(heap, team::listed({pe(1)}));
  EXPECT_TRUE(says(refusal([&] { arrive_on_stream(alone, pe(0), stream.handle()); }), "is not in the team"));
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(teams_on_streams, both_halves_are_captured) {
  stream.capturing = true;
  arrive_on_stream(pair, pe(0), stream.handle());
  wait_on_stream(pair, pe(0), budget, stream.handle());
  EXPECT_EQ(now().launches.size(), 2U);
}

TEST_F(teams_on_streams, both_halves_are_in_one_capture) {
  const auto wait = [&] { return refusal([&] { wait_on_stream(pair, pe(0), budget, stream.handle()); }); };
  stream.capturing = true;
  arrive_on_stream(pair, pe(0), stream.handle());
  stream.capture = 2;
  EXPECT_TRUE(says(wait(), "at which it has not arrived: call arrive_on_stream first, in the same capture"));
  stream.capturing = false;
  EXPECT_NE(wait(), "");
  stream.capturing = true;
  stream.capture = 1;
  EXPECT_EQ(wait(), "") << "the rejected waits have changed nothing";
}

TEST_F(teams_on_streams, an_arrival_in_a_capture_keeps_the_team_within_it_only) {
  other.capturing = stream.capturing = true;
  arrive_on_stream(pair, pe(0), stream.handle());
  EXPECT_TRUE(says(refusal([&] { barrier_on_stream(pair, pe(0), budget, other.handle()); }), "is in use on captured stream"));
  other.capture = 2;
  barrier_on_stream(pair, pe(0), budget, other.handle());
  stream.capturing = false;  // The capture has ended, and it does not contain the wait.
  barrier_on_stream(pair, pe(0), budget, stream.handle());
  EXPECT_EQ(refusal([&] { return pair.guard(pe(0)).on_host(); }), "");
  arrive_on_stream(pair, pe(0), stream.handle());
  wait_on_stream(pair, pe(0), budget, stream.handle());
  EXPECT_EQ(now().launches.size(), 5U);
}

TEST_F(teams_on_streams, a_recoverable_barrier_takes_its_turn_too) {
  const scoped_array aborts(heap.allocate<symmetric::abort_flag>(1));
  symmetric::stream_status status;
  try_barrier_on_stream(pair, budget, aborts.on(pe(0))[0], &status, stream.handle());
  stream.busy = true;
  EXPECT_NE(refusal([&] { try_barrier_on_stream(pair, budget, aborts.on(pe(0))[0], &status, other.handle()); }), "");
  EXPECT_EQ(now().launches.size(), 1U);
}

}  // namespace
