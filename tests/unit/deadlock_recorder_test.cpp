// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The catalogue of deadlocks: the recorder reports each deadlock by name, and does not report the corrected program.
#include <membar/deadlock/recorder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace deadlock = membar::deadlock;

using membar::pe;
using namespace membar::deadlock;

constexpr int main_stream = 1;
constexpr int side_stream = 2;
constexpr int ready = 7;

/// A recorder with shorthand calls: by default they use the main stream and the signal `ready`, and each call comes after the
/// previous one.
class steps : public recorder {
 public:
  using recorder::collective, recorder::notify, recorder::recorder, recorder::wait;

  steps& notify(int from, int to, signal_effect effect, int stream = main_stream) {
    recorder::notify(pe(from), stream, pe(to), ready, effect);
    return *this;
  }
  steps& wait(int who, signal_condition until, int stream = main_stream) {
    recorder::wait(pe(who), stream, ready, until);
    return *this;
  }
  steps& collective(int who, int stream = main_stream, handle team = deadlock::world) {
    recorder::collective(pe(who), stream, team);
    return *this;
  }
  steps& record_event(int who, int event, int stream) {
    recorder::record_event(pe(who), event, stream);
    return *this;
  }
  steps& wait_event(int who, int stream, int event) {
    recorder::wait_event(pe(who), stream, event);
    return *this;
  }
  steps& host_copy(int who, int stream, bool early, const char* name = "") {
    recorder::host_copy(pe(who), stream, early, name);
    return *this;
  }
};

std::vector<hazard> kinds(const recorder& record) {
  std::vector<hazard> result;
  for (const report& each : record.check()) {
    result.push_back(each.kind);
  }
  return result;
}

const std::vector<hazard> nothing;
std::vector<hazard> only(hazard kind) { return {kind}; }
const std::vector<hazard> collectives_of_two_pes{hazard::concurrent_collectives, hazard::concurrent_collectives};

/// Returns the first report's sentence.
std::string sentence(const recorder& record) {
  const auto all = record.check();
  return all.empty() ? std::string() : all.front().sentence;
}
bool says(const recorder& record, const char* words) { return sentence(record).find(words) != std::string::npos; }

TEST(deadlock_recorder, barrier_before_the_put_that_another_pe_waits_for) {
  steps wrong(2);
  wrong.name(deadlock::handle_kind::signal, ready, "ready");
  wrong.name(deadlock::handle_kind::stream, main_stream, "main");
  wrong.collective(0);
  wrong.notify(pe(0), main_stream, pe(1), ready, signal_set(1), "put_signal");
  wrong.wait(pe(1), main_stream, ready, signal_equals(1), "signal_wait");
  wrong.collective(1);
  EXPECT_EQ(kinds(wrong), only(hazard::barrier_before_put));
  EXPECT_EQ(
      sentence(wrong),
      "membar: barrier before put: PE 0's barrier of all PEs in stream main waits for PE 1's barrier of all PEs in stream "
      "main, which comes after PE 1's signal_wait (signal ready = 1) in stream main, which waits for PE 0's put_signal "
      "(signal ready of PE 1 := 1) in stream main, which comes after PE 0's barrier of all PEs in stream main: enqueue "
      "the notification before the collective");
  const auto cycle = wrong.check().front().cycle;
  ASSERT_EQ(cycle.size(), 4U);
  EXPECT_EQ(cycle[2].pe, 1);
  EXPECT_EQ(cycle[2].where, "stream main");
  EXPECT_EQ(cycle[2].what, "signal_wait (signal ready = 1)");
  EXPECT_EQ(cycle[2].how, "waits for");
  EXPECT_EQ(kinds(steps(2).notify(0, 1, signal_set(1)).collective(0).wait(1, signal_equals(1)).collective(1)), nothing);
}

TEST(deadlock_recorder, wait_before_its_notification_on_another_stream) {
  steps wrong(1);
  wrong.wait(0, signal_at_least(1)).notify(0, 0, signal_add(1), side_stream);
  EXPECT_EQ(kinds(wrong), only(hazard::wait_before_notify));
  EXPECT_TRUE(says(wrong, "cudaStreamWaitEvent"));
  steps with_event(1);
  with_event.notify(0, 0, signal_add(1), side_stream).record_event(0, 1, side_stream);
  EXPECT_EQ(kinds(with_event.wait_event(0, main_stream, 1).wait(0, signal_at_least(1))), nothing);
  EXPECT_EQ(kinds(steps(1).notify(0, 0, signal_add(1)).wait(0, signal_at_least(1))), nothing) << "both are in the same stream";
}

TEST(deadlock_recorder, a_queue_may_hold_up_the_answer_that_another_pe_waits_for) {
  steps wrong(2);
  wrong.wait(0, signal_at_least(1)).notify(0, 1, signal_add(1), side_stream);  // the notification may be queued behind the wait
  EXPECT_EQ(kinds(wrong.wait(1, signal_at_least(1)).notify(1, 0, signal_add(1))), only(hazard::wait_before_notify));
}

TEST(deadlock_recorder, collectives_of_one_team_on_two_streams) {
  steps wrong(2);
  steps right(2);
  steps two_teams(2);
  two_teams.declare_team(1, {pe(0), pe(1)});
  for (const int i : {0, 1}) {
    wrong.collective(i).collective(i, side_stream);
    right.collective(i).record_event(i, 10 + i, main_stream).wait_event(i, side_stream, 10 + i).collective(i, side_stream);
    two_teams.collective(i).collective(i, side_stream, 1);
  }
  EXPECT_EQ(kinds(wrong), collectives_of_two_pes);
  EXPECT_EQ(kinds(right), nothing);
  EXPECT_EQ(kinds(two_teams), nothing);
}

/// Records two barriers on two streams, with a wait for `ready` before the second barrier. The notifications in `before` come
/// between the first barrier and the wait, and those in `after` come last.
std::vector<hazard> barriers_ordered_by_a_signal(signal_condition until, const std::vector<signal_effect>& before,
                                                 const std::vector<signal_effect>& after = {}) {
  steps record(1);
  record.collective(0);
  for (const signal_effect effect : before) {
    record.notify(0, 0, effect);
  }
  record.wait(0, until, side_stream).collective(0, side_stream);
  for (const signal_effect effect : after) {
    record.notify(0, 0, effect, side_stream);
  }
  return kinds(record);
}

TEST(deadlock_recorder, a_signal_orders_collectives_too) {
  const signal_effect add = signal_add(1);
  const signal_effect set = signal_set(1);
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_at_least(1), {add}), nothing);
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_at_least(1), {add, add}), nothing)
      << "both notifications come after the first barrier";
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_at_least(1), {add}, {add}), nothing)
      << "the second notification comes after the wait";
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_equals(1), {set}), nothing);
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_equals(1), {set}, {set}), nothing)
      << "the second notification comes after the wait";
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_at_least(0), {add}), only(hazard::concurrent_collectives));
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_equals(0), {signal_set(0)}), only(hazard::concurrent_collectives))
      << "the signal initially has this value";
}

TEST(deadlock_recorder, collectives_of_one_team_on_a_stream_and_the_host) {
  steps wrong(2, callers::one_per_pe);
  steps right(2, callers::one_per_pe);
  for (const int i : {0, 1}) {
    wrong.collective(i).host_collective(pe(i));
    right.collective(i).synchronize_stream(pe(i), main_stream);
    right.host_collective(pe(i));
  }
  EXPECT_EQ(kinds(wrong), collectives_of_two_pes);
  EXPECT_EQ(kinds(right), nothing);
}

TEST(deadlock_recorder, two_teams_in_different_orders) {
  steps wrong(2);
  wrong.declare_team(1, {pe(0), pe(1)});
  wrong.collective(0).collective(0, main_stream, 1).collective(1, main_stream, 1).collective(1);
  EXPECT_EQ(kinds(wrong), only(hazard::cycle));
}

TEST(deadlock_recorder, a_grid_too_large_for_its_waits) {
  const std::vector<kernel_role> roles{{step_notify(pe(0), ready, signal_add(1))}, {step_wait(ready, signal_at_least(1))}};
  recorder wrong(1);
  wrong.kernel(pe(0), main_stream, kernel_shape{265, 264, false}, roles, "halo");
  EXPECT_EQ(kinds(wrong), only(hazard::grid_too_large));
  EXPECT_TRUE(says(wrong, "PE 0's halo in stream 1 has 265 blocks"));
  EXPECT_TRUE(says(wrong, "can hold only 264"));
  recorder cooperative(1);
  cooperative.kernel(pe(0), main_stream, kernel_shape{265, 264, true}, roles);
  EXPECT_TRUE(says(cooperative, "its cooperative launch fails"));
  recorder right(1);
  right.kernel(pe(0), main_stream, kernel_shape{264, 264, true}, roles);
  right.kernel(pe(0), main_stream, kernel_shape{1000, 264, false}, {{step_notify(pe(0), ready, signal_add(1))}});
  EXPECT_EQ(kinds(right), nothing);
}

TEST(deadlock_recorder, blocks_of_one_kernel_run_at_once_and_those_of_one_role_in_order) {
  recorder roles(2);
  recorder one_role(2);
  for (const int i : {0, 1}) {
    const auto wait = step_wait(ready, signal_at_least(1));
    const auto notify = step_notify(pe(1 - i), ready, signal_add(1));
    roles.kernel(pe(i), main_stream, {}, {{wait}, {notify}});
    one_role.kernel(pe(i), main_stream, {}, {{wait, notify}});
  }
  EXPECT_EQ(kinds(roles), nothing);
  EXPECT_EQ(kinds(one_role), only(hazard::cycle));
}

TEST(deadlock_recorder, a_host_copy_that_may_not_have_run) {
  steps wrong(2);
  wrong.host_copy(0, 0, true, "cudaMemcpy").collective(0).collective(1);
  EXPECT_EQ(kinds(wrong), only(hazard::early_host_copy));
  EXPECT_TRUE(says(wrong, "PE 0's cudaMemcpy in the default stream may return before it has finished"));
  steps waited_for(2);
  waited_for.host_copy(0, 0, true).synchronize_stream(pe(0), 0);
  EXPECT_EQ(kinds(waited_for.collective(0).collective(1)), nothing);
  EXPECT_EQ(kinds(steps(2).host_copy(0, 0, false).notify(0, 1, signal_add(1))), nothing) << "synchronous";
  steps same_stream(2);
  same_stream.host_copy(0, main_stream, true).access(pe(0), main_stream, pe(1), "put");
  EXPECT_EQ(kinds(same_stream), nothing);
  steps read_by_another(2);
  read_by_another.host_copy(0, 0, true).access(pe(1), main_stream, pe(0), "get");
  EXPECT_EQ(kinds(read_by_another), only(hazard::early_host_copy));
}

TEST(deadlock_recorder, the_host_waits_before_it_has_enqueued_all) {
  steps record(2);
  record.wait(0, signal_at_least(1));
  try {
    record.synchronize_stream(pe(0), main_stream);
    FAIL() << "the host would wait forever";
  } catch (const hazard_error& error) {
    EXPECT_EQ(error.report().kind, hazard::host_before_enqueue);
    EXPECT_STREQ(error.what(), error.report().sentence.c_str());
    EXPECT_NE(error.report().sentence.find("PE 0's wait for stream 1 by the host would never return"), std::string::npos);
  }
  // The wait was not recorded, so the program can continue.
  record.notify(1, 0, signal_add(1)).synchronize_stream(pe(0), main_stream);
  EXPECT_EQ(kinds(record), nothing);
}

TEST(deadlock_recorder, a_barrier_that_the_host_calls_for_one_pe_at_a_time) {
  recorder one(2);
  EXPECT_THROW(one.host_collective(pe(0)), hazard_error);
  recorder each(2, callers::one_per_pe);
  each.host_collective(pe(0));
  each.host_collective(pe(1));
  EXPECT_EQ(kinds(each), nothing);
}

TEST(deadlock_recorder, hosts_that_wait_before_they_enqueue_what_the_other_waits_for) {
  steps wrong(2, callers::one_per_pe);
  for (const int i : {0, 1}) {
    wrong.wait(i, signal_at_least(1)).synchronize_stream(pe(i), main_stream);
    wrong.notify(i, 1 - i, signal_add(1), side_stream);
  }
  EXPECT_EQ(kinds(wrong), only(hazard::host_before_enqueue));
}

TEST(deadlock_recorder, a_host_wait_that_can_return_is_not_rejected_for_the_rest) {
  steps record(2);
  record.work(pe(0), side_stream);
  record.wait(0, signal_at_least(1)).synchronize_stream(pe(0), side_stream);
  record.notify(1, 0, signal_add(1)).synchronize_pe(pe(0));
  EXPECT_EQ(kinds(record), nothing);
}

TEST(deadlock_recorder, a_cycle_of_three_pes) {
  steps wrong(3);
  for (const int i : {0, 1, 2}) {
    wrong.wait(i, signal_at_least(1)).notify(i, (i + 1) % 3, signal_add(1));
  }
  EXPECT_EQ(kinds(wrong), only(hazard::cycle));
  EXPECT_EQ(wrong.check().front().cycle.size(), 6U);
}

TEST(deadlock_recorder, a_wait_that_nobody_notifies) {
  EXPECT_EQ(kinds(steps(2).notify(0, 1, signal_set(2)).wait(1, signal_equals(1))), only(hazard::never_notified));
  steps count(2);
  EXPECT_EQ(kinds(count.notify(0, 1, signal_add(2)).wait(1, signal_at_least(3))), only(hazard::never_notified));
  EXPECT_TRUE(says(count, "only to 2"));
  EXPECT_EQ(kinds(steps(2).notify(0, 0, signal_add(3)).wait(1, signal_at_least(3))), only(hazard::never_notified));
}

TEST(deadlock_recorder, a_collective_without_a_member) {
  steps wrong(3);
  EXPECT_THROW(wrong.declare_team(0, {pe(0), pe(1)}), membar::error) << "0 is the team of all PEs";
  EXPECT_EQ(kinds(wrong.collective(0).collective(1)), (std::vector{hazard::missing_member, hazard::missing_member}));
  EXPECT_TRUE(says(wrong, "waits for PE 2, which never calls it"));
}

TEST(deadlock_recorder, a_barrier_in_two_halves) {
  // Between the two halves, a PE may enqueue an operation that another PE's arrival waits for. Here, a barrier that is not
  // split would hang.
  steps halves(2), whole(2);
  halves.arrive(pe(0), main_stream);
  halves.notify(0, 1, signal_set(1)).wait(1, signal_equals(1));
  halves.arrive(pe(1), main_stream);
  for (int i = 0; i != 2; ++i) {
    halves.wait_for_team(pe(i), main_stream);
  }
  whole.collective(0).notify(0, 1, signal_set(1)).wait(1, signal_equals(1)).collective(1);
  EXPECT_EQ(kinds(halves), nothing);
  EXPECT_EQ(kinds(whole), only(hazard::barrier_before_put));
  // If it came after the wait for the barrier, this order would also hang.
  steps late(2);
  late.arrive(pe(0), main_stream);
  late.wait_for_team(pe(0), main_stream);
  late.notify(0, 1, signal_set(1)).wait(1, signal_equals(1));
  late.arrive(pe(1), main_stream);
  EXPECT_EQ(kinds(late), only(hazard::barrier_before_put));
  EXPECT_TRUE(
      says(late, "PE 0's wait for the barrier of all PEs in stream 1 waits for PE 1's arrival at the barrier of all PEs"));
}

TEST(deadlock_recorder, an_arrival_delivers_what_did_not_block) {
  const auto second_set_after = [](bool barrier) {
    steps record(2);
    record.notify(pe(0), main_stream, pe(1), ready, signal_set(1), "", false);
    for (int i = 0; barrier && i != 2; ++i) {
      record.arrive(pe(i), main_stream);
    }
    for (int i = 0; barrier && i != 2; ++i) {
      record.wait_for_team(pe(i), main_stream);
    }
    return kinds(record.notify(1, 1, signal_set(2)).wait(1, signal_equals(2)));
  };
  EXPECT_EQ(second_set_after(true), nothing);
  EXPECT_EQ(second_set_after(false), only(hazard::lost_signal));
}

TEST(deadlock_recorder, an_arrival_that_does_not_come) {
  steps wrong(3);
  wrong.arrive(pe(0), main_stream);
  EXPECT_EQ(kinds(wrong), nothing);  // an arrival does not wait for other PEs
  wrong.collective(1);
  wrong.wait_for_team(pe(0), main_stream);
  EXPECT_EQ(kinds(wrong), (std::vector{hazard::missing_member, hazard::missing_member}));
  EXPECT_TRUE(says(wrong, "waits for PE 2, which never calls it"));
}

TEST(deadlock_recorder, two_teams_whose_halves_overlap) {
  recorder record(2);
  record.declare_team(1, {pe(0), pe(1)});
  record.declare_team(2, {pe(0), pe(1)});
  for (const auto& [first, second] : {std::pair(1, 2), std::pair(2, 1)}) {
    const int i = first - 1;  // each PE enqueues them in a different order
    record.arrive(pe(i), main_stream, first);
    record.arrive(pe(i), main_stream, second);
  }
  for (int i = 0; i != 2; ++i) {
    record.wait_for_team(pe(i), main_stream, 1);
    record.wait_for_team(pe(i), main_stream, 2);
  }
  EXPECT_EQ(kinds(record), nothing);
  EXPECT_NO_THROW(record.forget());
}

TEST(deadlock_recorder, halves_in_kernels_of_one_stream) {
  recorder record(2);
  for (int i = 0; i != 2; ++i) {
    record.kernel(pe(i), main_stream, {}, {{deadlock::step_arrive()}});
    record.work(pe(i), main_stream);
    record.kernel(pe(i), main_stream, {}, {{deadlock::step_wait_for_team()}});
  }
  EXPECT_EQ(kinds(record), nothing);
  recorder alone(2);
  alone.kernel(pe(0), main_stream, {}, {{deadlock::step_arrive(), deadlock::step_wait_for_team()}});
  EXPECT_EQ(kinds(alone), only(hazard::missing_member));
}

TEST(deadlock_recorder, halves_that_do_not_fit_are_rejected) {
  const auto refused = [](recorder& record, auto call, const char* words) {
    const std::size_t before = record.operations().size();
    try {
      call();
      ADD_FAILURE() << "not refused: " << words;
    } catch (const membar::error& refusal) {
      EXPECT_NE(std::string(refusal.what()).find(words), std::string::npos) << refusal.what();
    }
    EXPECT_EQ(record.operations().size(), before);
  };
  recorder record(2);
  refused(record, [&] { record.wait_for_team(pe(0), main_stream); }, "that it has not arrived at: record the arrival first");
  record.arrive(pe(0), main_stream);
  refused(record, [&] { record.arrive(pe(0), main_stream); }, "has arrived at a barrier of a team, so it cannot call another");
  refused(record, [&] { record.collective(pe(0), main_stream); }, "record the wait for the barrier first");
  refused(record, [&] { record.wait_for_team(pe(0), side_stream); }, "in a different stream than the one in which it arrived");
  record.begin_capture(pe(0), main_stream);
  refused(record, [&] { record.wait_for_team(pe(0), main_stream); }, "in a different graph than the one in which it arrived");
  static_cast<void>(record.end_capture(pe(0), main_stream));
  refused(record, [&] { record.forget(); }, "while PE 0 has arrived at a barrier but has not yet waited for it");
  record.discard();
  EXPECT_NO_THROW(record.arrive(pe(0), main_stream));
}

TEST(deadlock_recorder, what_the_host_has_waited_for_keeps_an_arrival) {
  // Enough operations to make the recorder start over after a wait by the host.
  recorder record(2);
  record.arrive(pe(0), main_stream);
  for (int i = 0; i != 20'000; ++i) {
    record.work(pe(0), main_stream);
  }
  record.synchronize_pe(pe(0));
  record.wait_for_team(pe(0), main_stream);
  EXPECT_EQ(kinds(record), only(hazard::missing_member));
}

TEST(deadlock_recorder, different_collectives_at_the_same_place) {
  recorder wrong(2);
  wrong.collective(pe(0), main_stream, deadlock::world, "barrier");
  wrong.collective(pe(1), main_stream, deadlock::world, "sum");
  EXPECT_EQ(kinds(wrong), only(hazard::collectives_differ));
}

TEST(deadlock_recorder, a_value_that_is_replaced_before_it_is_seen) {
  steps two_senders(3);
  two_senders.notify(0, 2, signal_set(1)).notify(1, 2, signal_set(2)).wait(2, signal_equals(1));
  EXPECT_EQ(kinds(two_senders), only(hazard::lost_signal));
  steps too_fast(2);
  too_fast.notify(0, 1, signal_set(1)).notify(0, 1, signal_set(2)).wait(1, signal_equals(1));
  EXPECT_EQ(kinds(too_fast), only(hazard::lost_signal));
  // If the wait is for "at least" this value, the next value also satisfies it.
  EXPECT_EQ(kinds(steps(2).notify(0, 1, signal_set(1)).notify(0, 1, signal_set(2)).wait(1, signal_at_least(1))), nothing);
}

TEST(deadlock_recorder, a_set_signal_whose_sender_waits_for_an_answer_is_never_lost) {
  steps ping_pong(2);
  for (unsigned round = 1; round <= 20; ++round) {
    ping_pong.notify(0, 1, signal_set(round)).wait(1, signal_equals(round));
    ping_pong.notify(1, 0, signal_set(round)).wait(0, signal_equals(round));
  }
  EXPECT_EQ(kinds(ping_pong), nothing);
}

TEST(deadlock_recorder, a_flag_that_its_reader_clears_can_be_set_again_after_the_answer) {
  constexpr int answer = 8;
  steps toggled(2);
  for (unsigned round = 1; round <= 3; ++round) {
    toggled.notify(0, 1, signal_set(1)).wait(1, signal_equals(1)).notify(1, 1, signal_set(0));
    toggled.notify(pe(1), main_stream, pe(0), answer, signal_add(1));
    toggled.wait(pe(0), main_stream, answer, signal_at_least(round));
  }
  EXPECT_EQ(kinds(toggled), nothing);
  toggled.notify(0, 1, signal_set(1)).notify(0, 1, signal_set(0));  // PE 0 does not wait for the answer.
  EXPECT_EQ(kinds(toggled.wait(1, signal_equals(1))), only(hazard::lost_signal));
}

TEST(deadlock_recorder, notifications_that_do_not_block_are_in_no_order_before_a_quiet) {
  for (const bool quiet : {false, true}) {
    steps record(2);
    record.notify(pe(0), main_stream, pe(1), ready, signal_set(1), "", false);
    if (quiet) {
      record.quiet(pe(0), main_stream);
    }
    record.notify(pe(0), main_stream, pe(1), ready, signal_set(2), "", false);
    EXPECT_EQ(kinds(record.wait(1, signal_equals(2))), quiet ? nothing : only(hazard::lost_signal));
  }
}

TEST(deadlock_recorder, what_a_graph_has_issued_its_launching_stream_has_issued) {
  const auto set_twice = [](int captured, int quieted) {
    steps record(2);
    record.begin_capture(pe(0), captured);
    record.notify(pe(0), captured, pe(1), ready, signal_set(1), "", false);
    record.launch_graph(pe(0), main_stream, record.end_capture(pe(0), captured));
    record.quiet(pe(0), quieted);
    record.record_event(0, 1, quieted).wait_event(0, main_stream, 1).notify(0, 1, signal_set(2));
    return kinds(record.wait(1, signal_equals(2)));
  };
  for (const int captured : {main_stream, side_stream}) {
    EXPECT_EQ(set_twice(captured, main_stream), nothing);
    EXPECT_EQ(set_twice(captured, side_stream), only(hazard::lost_signal));
  }
  steps inside(2);
  inside.notify(pe(0), main_stream, pe(1), ready, signal_set(1), "", false);
  inside.begin_capture(pe(0), side_stream);
  inside.quiet(pe(0), side_stream);
  inside.launch_graph(pe(0), main_stream, inside.end_capture(pe(0), side_stream));
  EXPECT_EQ(kinds(inside.notify(0, 1, signal_set(2)).wait(1, signal_equals(2))), nothing);
}

TEST(deadlock_recorder, an_event_means_its_last_record_before_the_wait) {
  steps record(1);
  record.record_event(0, 1, main_stream).wait_event(0, side_stream, 1).collective(0);
  record.record_event(0, 1, main_stream).collective(0, side_stream);  // this record comes too late for the wait above
  EXPECT_EQ(kinds(record), only(hazard::concurrent_collectives));
  steps again(1);
  again.record_event(0, 1, main_stream).collective(0);
  again.record_event(0, 1, main_stream).wait_event(0, side_stream, 1).collective(0, side_stream);
  EXPECT_EQ(kinds(again), nothing);
}

TEST(deadlock_recorder, an_event_belongs_to_one_process) {
  for (const callers hosts : {callers::one, callers::one_per_pe}) {
    EXPECT_EQ(kinds(steps(2, hosts).record_event(0, 1, main_stream).wait_event(1, main_stream, 1)),
              hosts == callers::one ? nothing : only(hazard::unrecorded_event));
  }
}

TEST(deadlock_recorder, an_event_that_was_not_recorded) {
  EXPECT_EQ(kinds(steps(1).wait_event(0, side_stream, 1).record_event(0, 1, main_stream)), only(hazard::unrecorded_event));
}

/// A graph with a wait in one branch and its notification in another, with or without an edge between them.
std::vector<hazard> branches(bool edge) {
  steps record(1);
  record.begin_capture(pe(0), main_stream);
  record.record_event(0, 1, main_stream).wait_event(0, side_stream, 1);  // joins the capture
  record.notify(0, 0, signal_add(1), side_stream).record_event(0, 2, side_stream);
  if (edge) {
    record.wait_event(0, main_stream, 2).wait(0, signal_at_least(1));
  } else {
    record.wait(0, signal_at_least(1)).wait_event(0, main_stream, 2);
  }
  record.launch_graph(pe(0), main_stream, record.end_capture(pe(0), main_stream));
  return kinds(record);
}

TEST(deadlock_recorder, in_a_graph_the_order_of_capture_orders_nothing) {
  EXPECT_EQ(branches(false), only(hazard::wait_before_notify));
  EXPECT_EQ(branches(true), nothing);
}

TEST(deadlock_recorder, a_graph_runs_when_it_is_launched_and_as_often_as_that) {
  steps record(2);
  record.begin_capture(pe(0), main_stream);
  record.notify(0, 1, signal_add(1));
  const handle graph = record.end_capture(pe(0), main_stream);
  record.wait(1, signal_at_least(2)).launch_graph(pe(0), main_stream, graph);
  EXPECT_EQ(kinds(record), only(hazard::never_notified));
  record.launch_graph(pe(0), side_stream, graph);
  EXPECT_EQ(kinds(record), nothing);
}

TEST(deadlock_recorder, a_graph_that_is_not_there_is_an_error) {
  recorder record(1);
  EXPECT_THROW(record.launch_graph(pe(0), main_stream, 1), membar::error);
  record.begin_capture(pe(0), main_stream);
  record.work(pe(0), main_stream);
  const handle graph = record.end_capture(pe(0), main_stream);
  record.launch_graph(pe(0), main_stream, graph);
  record.forget();
  EXPECT_THROW(record.launch_graph(pe(0), main_stream, graph), membar::error);
}

TEST(deadlock_recorder, what_capture_does_not_allow_is_an_error) {
  recorder record(1);
  record.record_event(pe(0), 1, side_stream);
  record.begin_capture(pe(0), main_stream);
  EXPECT_THROW(record.begin_capture(pe(0), main_stream), membar::error);
  EXPECT_THROW(record.wait_event(pe(0), main_stream, 1), membar::error);  // the event was recorded outside the capture
  EXPECT_THROW(record.synchronize_stream(pe(0), main_stream), membar::error);
  EXPECT_THROW(record.host_copy(pe(0), main_stream, true), membar::error);
  record.record_event(pe(0), 2, main_stream);
  static_cast<void>(record.end_capture(pe(0), main_stream));
  EXPECT_THROW(static_cast<void>(record.end_capture(pe(0), main_stream)), membar::error);
  EXPECT_THROW(record.wait_event(pe(0), side_stream, 2), membar::error);  // the event was recorded inside the capture
}

TEST(deadlock_recorder, a_signal_is_set_or_added_to) {
  steps record(2);
  record.notify(0, 1, signal_add(1));
  EXPECT_THROW(record.notify(0, 1, signal_set(1)), membar::error);
  EXPECT_THROW(record.wait(1, signal_equals(1)), membar::error);
  record.notify(1, 0, signal_set(1));  // The signal's instance at PE 0 is a different signal.
  steps late(2);
  late.wait(1, signal_equals(1));
  EXPECT_THROW(late.notify(0, 1, signal_add(1)), membar::error);
  EXPECT_EQ(late.operations().size(), 1U);
}

TEST(deadlock_recorder, a_pe_that_does_not_exist_is_an_error) {
  EXPECT_THROW(recorder(0), membar::error);
  recorder record(2);
  EXPECT_THROW(record.work(pe(2), main_stream), membar::error);
  EXPECT_THROW(record.notify(pe(0), main_stream, pe(-1), ready, signal_add(1)), membar::error);
  EXPECT_THROW(record.declare_team(1, {pe(0), pe(2)}), membar::error);
  EXPECT_TRUE(record.operations().empty());
}

TEST(deadlock_recorder, records_of_two_processes_are_joined) {
  steps first(2, callers::one_per_pe);
  steps second(2, callers::one_per_pe);
  const std::vector<kernel_role> roles{{step_wait(ready, signal_at_least(1)), step_notify(pe(1), ready, signal_add(1))}};
  first.kernel(pe(0), main_stream, {}, roles);
  second.begin_capture(pe(1), main_stream);
  second.wait(1, signal_at_least(1)).notify(1, 0, signal_add(1));
  second.launch_graph(pe(1), side_stream, second.end_capture(pe(1), main_stream));
  EXPECT_EQ(kinds(first), only(hazard::never_notified));
  first.append(second.operations());
  EXPECT_EQ(kinds(first), only(hazard::cycle));
}

TEST(deadlock_recorder, a_capture_that_is_joined_has_ended) {
  steps theirs(2, callers::one_per_pe);
  theirs.begin_capture(pe(1), main_stream);
  theirs.record_event(1, 1, main_stream).wait_event(1, side_stream, 1).record_event(1, 2, side_stream);
  static_cast<void>(theirs.wait_event(1, main_stream, 2).end_capture(pe(1), main_stream));
  steps joined(2, callers::one_per_pe);
  joined.append(theirs.operations());
  joined.notify(1, 0, signal_add(1), side_stream).wait(0, signal_at_least(1));
  EXPECT_EQ(kinds(joined), nothing);
  EXPECT_NO_THROW(joined.forget());
}

TEST(deadlock_recorder, forgetting_keeps_what_signals_hold) {
  steps record(2);
  record.notify(0, 1, signal_add(2)).notify(1, 0, signal_set(5)).forget();
  EXPECT_TRUE(record.operations().empty());
  EXPECT_EQ(kinds(record.wait(1, signal_at_least(2)).wait(0, signal_equals(5))), nothing);
  record.wait(1, signal_at_least(3));
  EXPECT_THROW(record.forget(), hazard_error);
  EXPECT_EQ(record.operations().size(), 3U);
}

TEST(deadlock_recorder, takes_what_several_threads_record) {
  steps record(4, callers::one_per_pe);
  std::vector<std::jthread> threads;
  for (int i = 0; i != 4; ++i) {
    threads.emplace_back([&record, i] {
      for (unsigned round = 1; round <= 50; ++round) {
        record.notify(i, (i + 1) % 4, signal_add(1)).wait(i, signal_at_least(round));
      }
    });
  }
  threads.clear();  // joins the capture
  EXPECT_EQ(record.operations().size(), 400U);
  EXPECT_EQ(kinds(record), nothing);
}

TEST(deadlock_recorder, finds_the_cycle_of_a_long_program) {
  steps record(4);
  for (unsigned round = 1; round <= 100; ++round) {
    for (int i = 0; i != 4; ++i) {
      record.notify(i, (i + 1) % 4, signal_add(1)).wait(i, signal_at_least(round)).collective(i);
    }
  }
  EXPECT_EQ(kinds(record), nothing);
  record.wait(0, signal_at_least(101)).collective(0).collective(1).collective(2).collective(3).notify(3, 0, signal_add(1));
  EXPECT_EQ(kinds(record), only(hazard::barrier_before_put));
  EXPECT_EQ(record.check().front().cycle.size(), 4U);
}

TEST(deadlock_recorder, accepts_a_long_program_at_every_wait_of_the_host) {
  steps record(4);
  for (unsigned round = 1; round <= 6000; ++round) {
    for (const int i : {0, 1, 2, 3}) {
      record.work(pe(i), side_stream);
      record.notify(i, (i + 1) % 4, signal_add(1)).wait(i, signal_at_least(round)).collective(i);
    }
    if (round % 10 == 0) {
      record.synchronize_stream(pe(static_cast<int>(round / 10 % 4)), main_stream);
    }
  }
  EXPECT_EQ(kinds(record), nothing);
}

TEST(deadlock_recorder, accepts_a_long_program_without_a_wait_of_the_host) {
  constexpr int answer = 8;
  steps record(2, callers::one_per_pe);
  for (unsigned round = 1; round <= 25'000; ++round) {
    record.notify(0, 1, signal_set(round)).wait(1, signal_equals(round));
    record.notify(pe(1), main_stream, pe(0), answer, signal_set(round));
    record.wait(pe(0), main_stream, answer, signal_equals(round));
  }
  EXPECT_EQ(kinds(record), nothing);
}

TEST(deadlock_recorder, finds_why_a_long_program_hangs) {
  for (const bool host_waits : {false, true}) {
    steps record(2);
    for (unsigned round = 1; round <= 5000; ++round) {
      record.notify(0, 1, signal_add(1)).wait(1, signal_at_least(round));
    }
    record.collective(0).notify(0, 1, signal_add(1)).wait(1, signal_at_least(5001)).collective(1);
    for (unsigned round = 5002; round <= 10'000; ++round) {
      record.notify(0, 1, signal_add(1)).wait(1, signal_at_least(round));
    }
    if (host_waits) {
      EXPECT_THROW(record.synchronize_pe(pe(0)), hazard_error);
    }
    EXPECT_EQ(kinds(record), only(hazard::barrier_before_put));
    EXPECT_EQ(record.check().front().cycle.size(), 4U);
  }
}

TEST(deadlock_recorder, a_long_program_that_misses_a_notification_says_which) {
  steps record(2);
  for (unsigned round = 1; round <= 5000; ++round) {
    record.wait(1, signal_at_least(round));
  }
  for (unsigned round = 1; round <= 4999; ++round) {
    record.notify(0, 1, signal_add(1));
  }
  EXPECT_EQ(kinds(record), only(hazard::never_notified));
  EXPECT_TRUE(says(record, "(signal 0x7 >= 5000)") || says(record, "(signal 7 >= 5000)")) << sentence(record);
  EXPECT_TRUE(says(record, "only to 4999"));
}

TEST(deadlock_recorder, a_wait_that_is_rejected_changes_nothing_in_a_long_program) {
  steps record(2);
  for (int i = 0; i != 20'000; ++i) {
    record.work(pe(0), main_stream);
  }
  record.wait(0, signal_at_least(1));
  const std::size_t before = record.operations().size();
  for (int again = 0; again != 3; ++again) {
    EXPECT_THROW(record.synchronize_stream(pe(0), main_stream), hazard_error);
    EXPECT_EQ(record.operations().size(), before);
  }
  EXPECT_THROW(record.forget(), hazard_error);
  record.notify(1, 0, signal_add(1)).synchronize_stream(pe(0), main_stream);
  record.forget();
  EXPECT_TRUE(record.operations().empty());
}

TEST(deadlock_recorder, a_record_that_hangs_can_be_discarded) {
  steps record(2);
  record.begin_capture(pe(1), side_stream);
  record.notify(1, 1, signal_set(3)).wait(0, signal_at_least(1));
  EXPECT_THROW(record.forget(), hazard_error);
  record.discard();
  EXPECT_TRUE(record.operations().empty());
  EXPECT_EQ(kinds(record), nothing);
  // The signal now has a different kind.
  record.notify(0, 1, signal_add(1)).wait(1, signal_at_least(1)).synchronize_pe(pe(1));
  record.wait(1, signal_at_least(2));
  EXPECT_EQ(kinds(record), only(hazard::never_notified));
}

TEST(deadlock_recorder, signals_of_allocations_and_heaps_are_different_signals) {
  using membar::object_identity;
  steps record(2);
  const handle first(object_identity{1, 1, 0});
  record.notify(pe(0), main_stream, pe(1), first, signal_add(1));
  record.wait(pe(1), main_stream, first, signal_at_least(1));
  record.synchronize_pe(pe(1));
  // The signal is freed and allocated again at the same offset: it is 0, and nobody notifies it. The same applies to a signal
  // in another heap.
  for (const object_identity other : {object_identity{1, 2, 0}, object_identity{2, 1, 0}, object_identity{1, 1, 1}}) {
    steps again(2);
    again.append(record.operations());
    again.wait(pe(1), main_stream, other, signal_at_least(1));
    EXPECT_EQ(kinds(again), only(hazard::never_notified));
  }
  record.wait(pe(1), main_stream, object_identity{1, 2, 0}, signal_at_least(1));
  EXPECT_TRUE(says(record, "(signal 0 of allocation 2 of heap 1 >= 1)")) << sentence(record);
}

TEST(deadlock_recorder, a_stream_with_a_queue_of_its_own_holds_up_no_other) {
  for (const int own : {main_stream, side_stream}) {
    steps overlapped(1);
    overlapped.declare_own_queue(pe(0), own);
    EXPECT_EQ(kinds(overlapped.wait(0, signal_at_least(1)).notify(0, 0, signal_add(1), side_stream)), nothing);
  }
  steps late(1);
  late.wait(0, signal_at_least(1)).notify(0, 0, signal_add(1), side_stream);
  EXPECT_EQ(kinds(late), only(hazard::wait_before_notify));
  late.declare_own_queue(pe(0), main_stream);
  EXPECT_EQ(kinds(late), nothing);
  steps shared(1);
  shared.declare_own_queue(pe(0), 3);
  EXPECT_EQ(kinds(shared.wait(0, signal_at_least(1)).notify(0, 0, signal_add(1), side_stream)),
            only(hazard::wait_before_notify))
      << "the two streams share a queue";
  EXPECT_THROW(shared.declare_own_queue(pe(1), main_stream), membar::error);
}

TEST(deadlock_recorder, a_wait_that_ends_by_what_an_earlier_wait_has_seen) {
  steps twice(2);
  for (int round = 0; round != 2; ++round) {
    twice.notify(0, 1, signal_set(1)).wait(1, signal_equals(1));
  }
  EXPECT_EQ(kinds(twice), only(hazard::stale_wait));
  EXPECT_TRUE(says(twice,
                   "PE 1's wait (signal 7 = 1) in stream 1 may be satisfied by the value that PE 1's wait (signal 7 = 1) in "
                   "stream 1 has already seen, before PE 0's notification (signal 7 of PE 1 := 1) in stream 1"))
      << sentence(twice);
  steps counted(2);
  for (int round = 0; round != 2; ++round) {
    counted.notify(0, 1, signal_add(1)).wait(1, signal_at_least(1));
  }
  EXPECT_EQ(kinds(counted), only(hazard::stale_wait));
  steps ordered(2);
  ordered.notify(0, 1, signal_set(1)).notify(0, 1, signal_set(1)).synchronize_pe(pe(0));
  EXPECT_EQ(kinds(ordered.wait(1, signal_equals(1)).wait(1, signal_equals(1))), nothing)
      << "both notifications come before both waits";
}

TEST(deadlock_recorder, a_wait_is_stale_also_where_the_host_waits_between) {
  for (const bool forgets : {false, true}) {
    steps record(2);
    for (int i = 0; i != 600; ++i) {  // So many operations that the recorder discards them.
      record.work(pe(0), main_stream);
    }
    record.notify(0, 1, signal_set(1)).wait(1, signal_equals(1)).synchronize_pe(pe(0));
    record.synchronize_pe(pe(1));
    if (forgets) {
      record.forget();
    }
    record.notify(0, 1, signal_set(1)).wait(1, signal_equals(1));
    EXPECT_EQ(kinds(record), only(hazard::stale_wait));
  }
}

TEST(deadlock_recorder, a_graph_that_freezes_the_value_it_waits_for_is_stale_when_it_is_replayed) {
  steps record(2);
  record.begin_capture(pe(0), main_stream);
  record.notify(0, 1, signal_set(1));
  const handle sends = record.end_capture(pe(0), main_stream);
  record.begin_capture(pe(1), main_stream);
  record.wait(1, signal_equals(1));
  const handle waits = record.end_capture(pe(1), main_stream);
  record.launch_graph(pe(0), main_stream, sends);
  record.launch_graph(pe(1), main_stream, waits);
  EXPECT_EQ(kinds(record), nothing);
  record.launch_graph(pe(0), main_stream, sends);
  record.launch_graph(pe(1), main_stream, waits);
  EXPECT_EQ(kinds(record), only(hazard::stale_wait));
}

TEST(deadlock_recorder, a_later_notification_takes_an_order_away) {
  steps record(2);
  record.collective(0).notify(0, 0, signal_add(1)).wait(0, signal_at_least(1), side_stream).collective(0, side_stream);
  record.collective(1).collective(1);
  EXPECT_EQ(kinds(record), nothing);
  // The wait may also end because of this notification, but the notification comes after both collectives.
  record.notify(1, 0, signal_add(1));
  EXPECT_EQ(kinds(record), nothing);
  record.notify(pe(1), 3, pe(0), ready, signal_add(1));
  EXPECT_EQ(kinds(record), only(hazard::concurrent_collectives));
}

// Epochs.

/// Each PE has a graph that is captured once. In it, PE 0 notifies with its epoch's next number, and PE 1 waits for the next
/// number of its own epoch.
class replayed : public steps {
 public:
  explicit replayed(signal_effect effect = signal_next(1), signal_condition until = signal_at_least_next(2)) : steps(2) {
    begin_capture(pe(0), main_stream);
    notify(0, 1, effect);
    sends_ = end_capture(pe(0), main_stream);
    begin_capture(pe(1), main_stream);
    wait(1, until);
    waits_ = end_capture(pe(1), main_stream);
  }
  replayed& send() {
    launch_graph(pe(0), main_stream, sends_);
    return *this;
  }
  replayed& receive() {
    launch_graph(pe(1), main_stream, waits_);
    return *this;
  }

 private:
  handle sends_, waits_;
};

TEST(deadlock_recorder, an_epoch_gives_each_replay_the_next_number) {
  replayed record;
  for (int replay = 0; replay != 3; ++replay) {
    record.send().receive();
  }
  EXPECT_EQ(kinds(record), nothing);
  record.receive();
  EXPECT_EQ(kinds(record), only(hazard::never_notified));
  EXPECT_TRUE(says(record, "(signal 7 >= the next number of epoch 2)")) << sentence(record);
}

TEST(deadlock_recorder, an_epoch_continues_where_the_host_has_waited_or_the_record_is_forgotten) {
  for (const bool forgets : {false, true}) {
    replayed record;
    for (int i = 0; i != 600; ++i) {  // So many operations that the recorder discards them.
      record.work(pe(0), main_stream);
    }
    record.send().receive();
    record.synchronize_pe(pe(0));
    record.synchronize_pe(pe(1));
    if (!forgets) {
      record.send().receive();
      EXPECT_EQ(kinds(record), nothing);
      continue;
    }
    record.forget();  // the graphs are discarded as well
    record.notify(0, 1, signal_next(1)).wait(1, signal_at_least_next(2));
    EXPECT_EQ(kinds(record), nothing);
    record.wait(1, signal_at_least(2));
    EXPECT_EQ(kinds(record), nothing) << "the epoch has continued with 2";
    record.wait(1, signal_at_least(3));
    EXPECT_EQ(kinds(record), only(hazard::never_notified));
  }
}

TEST(deadlock_recorder, an_epoch_may_count_what_several_add) {
  replayed record(signal_add(2), signal_at_least_next(2, 2));
  record.send().receive().send().receive();
  EXPECT_EQ(kinds(record), nothing);
  replayed too_few(signal_add(1), signal_at_least_next(2, 2));
  EXPECT_EQ(kinds(too_few.send().receive()), only(hazard::never_notified));
}

TEST(deadlock_recorder, a_long_program_of_epochs_hangs_where_a_short_one_does) {
  replayed record;
  for (int replay = 0; replay != 1000; ++replay) {
    record.send().receive();
  }
  EXPECT_EQ(kinds(record), nothing);
  record.receive();
  EXPECT_EQ(kinds(record), only(hazard::never_notified));
  record.send();
  EXPECT_EQ(kinds(record), nothing);
}

// Tests the cost of a check, measured in operations rather than time.

using checker = membar::deadlock::detail::checker;

TEST(deadlock_checker, starts_over_once_for_all_orders_that_are_invalidated) {
  deadlock::program program;
  program.pes = 2;
  const auto add = [&](operation_kind kind, int who, int stream, int signal) -> stream_operation& {
    stream_operation& made = program.operations.emplace_back();
    made.kind = kind;
    made.pe = who;
    made.stream = stream;
    made.object = signal;
    made.effect = signal_add(1);
    made.condition = signal_at_least(1);
    made.target = 0;
    return made;
  };
  constexpr int signals = 100;
  for (int i = 0; i != signals; ++i) {
    add(operation_kind::notify, 0, main_stream, i);
    add(operation_kind::wait, 0, side_stream, i);
  }
  for (int i = 0; i != signals; ++i) {
    add(operation_kind::notify, 1, 3, i);  // The wait may also end because of this notification.
  }
  checker all(program);
  EXPECT_TRUE(all.reports().empty());
  EXPECT_LE(all.runs(), 3U);
}

TEST(deadlock_checker, registers_an_operation_once_however_often_the_host_waits) {
  deadlock::program program;
  program.pes = 1;
  checker all(program);
  for (int round = 0; round != 10; ++round) {
    for (int i = 0; i != 100; ++i) {
      program.operations.emplace_back().stream = main_stream;
    }
    EXPECT_TRUE(all.reports().empty());
    program.begin = program.operations.size();
    all.restart();
  }
  EXPECT_EQ(all.registered(), program.operations.size());
}

TEST(deadlock_checker, takes_a_launch_as_easily_as_the_one_before) {
  struct edges : deadlock::detail::graph {
    using graph::graph;
    std::size_t count() const {
      std::size_t sum = 0;
      for (std::size_t n = 0; n != size(); ++n) {
        sum += after(n).size();
      }
      return sum;
    }
  };
  const auto after = [](int launches) {
    steps record(2);
    record.begin_capture(pe(0), main_stream);
    record.notify(pe(0), main_stream, pe(1), ready, signal_add(1), "", false);
    record.quiet(pe(0), main_stream);
    record.notify(pe(0), main_stream, pe(1), ready, signal_add(1), "", false);
    const handle graph = record.end_capture(pe(0), main_stream);
    for (int i = 0; i != launches; ++i) {
      record.launch_graph(pe(0), main_stream, graph);
    }
    const deadlock::program program = record.program();
    return edges(program, std::make_shared<deadlock::detail::program_parts>()).count();
  };
  EXPECT_EQ(after(20) - after(10), after(30) - after(20));
}

TEST(deadlock_checker, hides_no_hazard_behind_many_of_another_kind) {
  recorder record(2);
  for (int signal = 10; signal != 80; ++signal) {  // Each value may be replaced before it is seen.
    record.notify(pe(0), main_stream, pe(1), signal, signal_set(1));
    record.notify(pe(0), main_stream, pe(1), signal, signal_set(2));
    record.notify(pe(0), main_stream, pe(1), signal, signal_set(1));
    record.wait(pe(1), main_stream, signal, signal_equals(1));
  }
  for (const int i : {0, 1}) {
    record.collective(pe(i), main_stream);
    record.collective(pe(i), side_stream);
  }
  const deadlock::program program = record.program();
  const auto all = checker(program, 0).reports();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const report& each) { return each.kind == hazard::lost_signal; }));
  EXPECT_TRUE(
      std::any_of(all.begin(), all.end(), [](const report& each) { return each.kind == hazard::concurrent_collectives; }));
}

TEST(deadlock_checker, acquits_nothing_that_it_has_not_seen) {
  deadlock::program program;
  steps source(2);
  constexpr int third = 3;
  constexpr int lost = 9;
  source.collective(0).notify(0, 0, signal_add(1)).wait(0, signal_at_least(1), side_stream).collective(0, side_stream);
  source.collective(1).collective(1);
  source.notify(pe(0), third, pe(0), lost, signal_set(1));
  source.notify(pe(1), third, pe(0), lost, signal_set(2));
  source.wait(pe(0), third, lost, signal_equals(1));
  const auto wait_of_the_host = [&] {
    stream_operation wait;
    wait.kind = operation_kind::host_stream;
    wait.pe = 1;
    wait.stream = third;
    program.operations.push_back(wait);
  };
  program = source.program();
  checker all(program, 0);
  wait_of_the_host();
  EXPECT_TRUE(all.reports_of_last_wait().empty()) << "a later operation may show that the signal is not lost";
  // This notification can also end the wait, so the collectives are no longer ordered.
  source.notify(pe(1), 4, pe(0), ready, signal_add(1));
  program.operations.push_back(source.operations().back());
  wait_of_the_host();
  const auto found = all.reports_of_last_wait();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().kind, hazard::concurrent_collectives);
}

}  // namespace
