// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The catalogue of deadlocks: each is reported by its name, and the same program put right is not.
#include <membar/symmetric/deadlock/recorder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace symmetric = membar::symmetric;

using membar::symmetric::pe;
using membar::symmetric::deadlock::callers;
using membar::symmetric::deadlock::handle;
using membar::symmetric::deadlock::hazard;
using membar::symmetric::deadlock::hazard_error;
using membar::symmetric::deadlock::kernel_role;
using membar::symmetric::deadlock::kernel_shape;
using membar::symmetric::deadlock::recorder;
using membar::symmetric::deadlock::report;
using membar::symmetric::deadlock::signal_add;
using membar::symmetric::deadlock::signal_at_least;
using membar::symmetric::deadlock::signal_equals;
using membar::symmetric::deadlock::signal_set;
using membar::symmetric::deadlock::step_notify;
using membar::symmetric::deadlock::step_wait;

// Streams, and a signal.
constexpr int main_stream = 1;
constexpr int side_stream = 2;
constexpr int ready = 7;

std::vector<hazard> kinds(const recorder& record) {
  std::vector<hazard> result;
  for (const report& each : record.check()) {
    result.push_back(each.kind);
  }
  return result;
}

const std::vector<hazard> nothing;
std::vector<hazard> only(hazard kind) { return {kind}; }

std::string sentence(const recorder& record) {
  const auto all = record.check();
  return all.empty() ? std::string() : all.front().sentence;
}

TEST(deadlock_recorder, barrier_before_the_put_that_another_pe_waits_for) {
  recorder wrong(2);
  wrong.name(symmetric::deadlock::handle_kind::signal, ready, "ready");
  wrong.name(symmetric::deadlock::handle_kind::stream, main_stream, "main");
  wrong.collective(pe(0), main_stream);
  wrong.notify(pe(0), main_stream, pe(1), ready, signal_set(1), "put_signal");
  wrong.wait(pe(1), main_stream, ready, signal_equals(1), "signal_wait");
  wrong.collective(pe(1), main_stream);
  EXPECT_EQ(kinds(wrong), only(hazard::barrier_before_put));
  EXPECT_EQ(
      sentence(wrong),
      "membar: barrier before put: PE 0's barrier of all PEs in stream main waits for PE 1's barrier of all PEs in stream "
      "main, which comes after PE 1's signal_wait (signal ready = 1) in stream main, which waits for PE 0's put_signal (signal "
      "ready of PE 1 := 1) in stream main, which comes after PE 0's barrier of all PEs in stream main: enqueue the "
      "notification "
      "before the collective");
  const auto cycle = wrong.check().front().cycle;
  ASSERT_EQ(cycle.size(), 4U);
  EXPECT_EQ(cycle[2].pe, 1);
  EXPECT_EQ(cycle[2].where, "stream main");
  EXPECT_EQ(cycle[2].what, "signal_wait (signal ready = 1)");
  EXPECT_EQ(cycle[2].how, "waits for");

  recorder right(2);
  right.notify(pe(0), main_stream, pe(1), ready, signal_set(1));
  right.collective(pe(0), main_stream);
  right.wait(pe(1), main_stream, ready, signal_equals(1));
  right.collective(pe(1), main_stream);
  EXPECT_EQ(kinds(right), nothing);
}

TEST(deadlock_recorder, wait_before_its_notification_on_another_stream) {
  recorder wrong(1);
  wrong.wait(pe(0), main_stream, ready, signal_at_least(1));
  wrong.notify(pe(0), side_stream, pe(0), ready, signal_add(1));
  EXPECT_EQ(kinds(wrong), only(hazard::wait_before_notify));
  EXPECT_NE(sentence(wrong).find("cudaStreamWaitEvent"), std::string::npos);

  recorder with_event(1);
  with_event.notify(pe(0), side_stream, pe(0), ready, signal_add(1));
  with_event.record_event(pe(0), 1, side_stream);
  with_event.wait_event(pe(0), main_stream, 1);
  with_event.wait(pe(0), main_stream, ready, signal_at_least(1));
  EXPECT_EQ(kinds(with_event), nothing);

  recorder same_stream(1);
  same_stream.notify(pe(0), main_stream, pe(0), ready, signal_add(1));
  same_stream.wait(pe(0), main_stream, ready, signal_at_least(1));
  EXPECT_EQ(kinds(same_stream), nothing);
}

TEST(deadlock_recorder, a_queue_may_hold_up_the_answer_that_another_pe_waits_for) {
  recorder wrong(2);
  wrong.wait(pe(0), main_stream, ready, signal_at_least(1));
  wrong.notify(pe(0), side_stream, pe(1), ready, signal_add(1));  // may be behind the wait
  wrong.wait(pe(1), main_stream, ready, signal_at_least(1));
  wrong.notify(pe(1), main_stream, pe(0), ready, signal_add(1));
  EXPECT_EQ(kinds(wrong), only(hazard::wait_before_notify));
}

TEST(deadlock_recorder, collectives_of_one_team_on_two_streams) {
  recorder wrong(2);
  for (const int i : {0, 1}) {
    wrong.collective(pe(i), main_stream);
    wrong.collective(pe(i), side_stream);
  }
  EXPECT_EQ(kinds(wrong), (std::vector{hazard::concurrent_collectives, hazard::concurrent_collectives}));

  recorder right(2);
  for (const int i : {0, 1}) {
    right.collective(pe(i), main_stream);
    right.record_event(pe(i), 10 + i, main_stream);
    right.wait_event(pe(i), side_stream, 10 + i);
    right.collective(pe(i), side_stream);
  }
  EXPECT_EQ(kinds(right), nothing);

  recorder two_teams(2);
  two_teams.declare_team(1, {pe(0), pe(1)});
  for (const int i : {0, 1}) {
    two_teams.collective(pe(i), main_stream);
    two_teams.collective(pe(i), side_stream, 1);
  }
  EXPECT_EQ(kinds(two_teams), nothing);
}

/// Two barriers on two streams, the second behind a wait for signal `ready`, between what `before` notifies behind the first
/// and `after`.
template <class Before, class After>
std::vector<hazard> barriers_ordered_by_a_signal(symmetric::deadlock::signal_condition until, Before before, After after) {
  recorder record(1);
  record.collective(pe(0), main_stream);
  before(record, main_stream);
  record.wait(pe(0), side_stream, ready, until);
  record.collective(pe(0), side_stream);
  after(record, side_stream);
  return kinds(record);
}

TEST(deadlock_recorder, a_signal_orders_collectives_too) {
  const auto none = [](recorder&, int) {};
  const auto adds = [](int times) {
    return [times](recorder& record, int stream) {
      for (int i = 0; i != times; ++i) {
        record.notify(pe(0), stream, pe(0), ready, signal_add(1));
      }
    };
  };
  const auto sets = [](unsigned value) {
    return [value](recorder& record, int stream) { record.notify(pe(0), stream, pe(0), ready, signal_set(value)); };
  };
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_at_least(1), adds(1), none), nothing);
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_at_least(1), adds(2), none), nothing) << "the second comes after the first";
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_at_least(1), adds(1), adds(1)), nothing) << "the second comes after the wait";
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_equals(1), sets(1), none), nothing);
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_equals(1), sets(1), sets(1)), nothing) << "the second comes after the wait";
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_at_least(0), adds(1), none), only(hazard::concurrent_collectives));
  EXPECT_EQ(barriers_ordered_by_a_signal(signal_equals(0), sets(0), none), only(hazard::concurrent_collectives))
      << "the value is there from the start";
}

TEST(deadlock_recorder, collectives_of_one_team_on_a_stream_and_the_host) {
  recorder wrong(2, callers::one_per_pe);
  recorder right(2, callers::one_per_pe);
  for (const int i : {0, 1}) {
    wrong.collective(pe(i), main_stream);
    wrong.host_collective(pe(i));
    right.collective(pe(i), main_stream);
    right.synchronize_stream(pe(i), main_stream);
    right.host_collective(pe(i));
  }
  EXPECT_EQ(kinds(wrong), (std::vector{hazard::concurrent_collectives, hazard::concurrent_collectives}));
  EXPECT_EQ(kinds(right), nothing);
}

TEST(deadlock_recorder, two_teams_in_different_orders) {
  recorder wrong(2);
  wrong.declare_team(1, {pe(0), pe(1)});
  wrong.collective(pe(0), main_stream);
  wrong.collective(pe(0), main_stream, 1);
  wrong.collective(pe(1), main_stream, 1);
  wrong.collective(pe(1), main_stream);
  EXPECT_EQ(kinds(wrong), only(hazard::cycle));
}

TEST(deadlock_recorder, a_grid_too_large_for_its_waits) {
  const std::vector<kernel_role> roles{{step_notify(pe(0), ready, signal_add(1))}, {step_wait(ready, signal_at_least(1))}};
  recorder wrong(1);
  wrong.kernel(pe(0), main_stream, kernel_shape{265, 264, false}, roles, "halo");
  EXPECT_EQ(kinds(wrong), only(hazard::grid_too_large));
  EXPECT_NE(sentence(wrong).find("PE 0's halo in stream 1 has 265 blocks"), std::string::npos);
  EXPECT_NE(sentence(wrong).find("room for 264"), std::string::npos);

  recorder cooperative(1);
  cooperative.kernel(pe(0), main_stream, kernel_shape{265, 264, true}, roles);
  EXPECT_NE(sentence(cooperative).find("its cooperative launch fails"), std::string::npos);

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
  recorder wrong(2);
  wrong.host_copy(pe(0), 0, true, "cudaMemcpy");
  wrong.collective(pe(0), main_stream);
  wrong.collective(pe(1), main_stream);
  EXPECT_EQ(kinds(wrong), only(hazard::early_host_copy));
  EXPECT_NE(sentence(wrong).find("PE 0's cudaMemcpy in the default stream may return before it has run"), std::string::npos);

  recorder waited_for(2);
  waited_for.host_copy(pe(0), 0, true);
  waited_for.synchronize_stream(pe(0), 0);
  waited_for.collective(pe(0), main_stream);
  waited_for.collective(pe(1), main_stream);
  EXPECT_EQ(kinds(waited_for), nothing);

  recorder synchronous(2);
  synchronous.host_copy(pe(0), 0, false);
  synchronous.notify(pe(0), main_stream, pe(1), ready, signal_add(1));
  EXPECT_EQ(kinds(synchronous), nothing);

  recorder same_stream(2);
  same_stream.host_copy(pe(0), main_stream, true);
  same_stream.access(pe(0), main_stream, pe(1), "put");
  EXPECT_EQ(kinds(same_stream), nothing);

  recorder read_by_another(2);
  read_by_another.host_copy(pe(0), 0, true);
  read_by_another.access(pe(1), main_stream, pe(0), "get");
  EXPECT_EQ(kinds(read_by_another), only(hazard::early_host_copy));
}

TEST(deadlock_recorder, the_host_waits_before_it_has_enqueued_all) {
  recorder record(2);
  record.wait(pe(0), main_stream, ready, signal_at_least(1));
  try {
    record.synchronize_stream(pe(0), main_stream);
    FAIL() << "the host would wait forever";
  } catch (const hazard_error& error) {
    EXPECT_EQ(error.report().kind, hazard::host_before_enqueue);
    EXPECT_STREQ(error.what(), error.report().sentence.c_str());
    EXPECT_NE(error.report().sentence.find("PE 0's wait for stream 1 by the host would never return"), std::string::npos);
  }
  // Nothing was recorded of the wait, and the program can go on.
  record.notify(pe(1), main_stream, pe(0), ready, signal_add(1));
  record.synchronize_stream(pe(0), main_stream);
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
  recorder wrong(2, callers::one_per_pe);
  for (const int i : {0, 1}) {
    wrong.wait(pe(i), main_stream, ready, signal_at_least(1));
    wrong.synchronize_stream(pe(i), main_stream);
    wrong.notify(pe(i), side_stream, pe(1 - i), ready, signal_add(1));
  }
  EXPECT_EQ(kinds(wrong), only(hazard::host_before_enqueue));
}

TEST(deadlock_recorder, a_host_wait_that_can_return_is_not_refused_for_the_rest) {
  recorder record(2);
  record.work(pe(0), side_stream);
  record.wait(pe(0), main_stream, ready, signal_at_least(1));
  record.synchronize_stream(pe(0), side_stream);
  record.notify(pe(1), main_stream, pe(0), ready, signal_add(1));
  record.synchronize_pe(pe(0));
  EXPECT_EQ(kinds(record), nothing);
}

TEST(deadlock_recorder, a_cycle_of_three_pes) {
  recorder wrong(3);
  for (const int i : {0, 1, 2}) {
    wrong.wait(pe(i), main_stream, ready, signal_at_least(1));
    wrong.notify(pe(i), main_stream, pe((i + 1) % 3), ready, signal_add(1));
  }
  EXPECT_EQ(kinds(wrong), only(hazard::cycle));
  EXPECT_EQ(wrong.check().front().cycle.size(), 6U);
}

TEST(deadlock_recorder, a_wait_that_nobody_notifies) {
  recorder value(2);
  value.notify(pe(0), main_stream, pe(1), ready, signal_set(2));
  value.wait(pe(1), main_stream, ready, signal_equals(1));
  EXPECT_EQ(kinds(value), only(hazard::never_notified));

  recorder count(2);
  count.notify(pe(0), main_stream, pe(1), ready, signal_add(2));
  count.wait(pe(1), main_stream, ready, signal_at_least(3));
  EXPECT_EQ(kinds(count), only(hazard::never_notified));
  EXPECT_NE(sentence(count).find("to 2 only"), std::string::npos);

  recorder other_pe(2);
  other_pe.notify(pe(0), main_stream, pe(0), ready, signal_add(3));
  other_pe.wait(pe(1), main_stream, ready, signal_at_least(3));
  EXPECT_EQ(kinds(other_pe), only(hazard::never_notified));
}

TEST(deadlock_recorder, a_collective_without_a_member) {
  recorder wrong(3);
  wrong.collective(pe(0), main_stream);
  wrong.collective(pe(1), main_stream);
  const auto all = kinds(wrong);
  EXPECT_EQ(all, (std::vector{hazard::missing_member, hazard::missing_member}));
  EXPECT_NE(sentence(wrong).find("waits for PE 2, which never calls it"), std::string::npos);
}

TEST(deadlock_recorder, different_collectives_at_the_same_place) {
  recorder wrong(2);
  wrong.collective(pe(0), main_stream, symmetric::deadlock::world, "barrier");
  wrong.collective(pe(1), main_stream, symmetric::deadlock::world, "sum");
  EXPECT_EQ(kinds(wrong), only(hazard::collectives_differ));
}

TEST(deadlock_recorder, a_value_that_is_replaced_before_it_is_seen) {
  recorder two_senders(3);
  two_senders.notify(pe(0), main_stream, pe(2), ready, signal_set(1));
  two_senders.notify(pe(1), main_stream, pe(2), ready, signal_set(2));
  two_senders.wait(pe(2), main_stream, ready, signal_equals(1));
  EXPECT_EQ(kinds(two_senders), only(hazard::lost_signal));

  recorder too_fast(2);
  too_fast.notify(pe(0), main_stream, pe(1), ready, signal_set(1));
  too_fast.notify(pe(0), main_stream, pe(1), ready, signal_set(2));
  too_fast.wait(pe(1), main_stream, ready, signal_equals(1));
  EXPECT_EQ(kinds(too_fast), only(hazard::lost_signal));

  // Where it is waited for to be at least that, the next one will do.
  recorder at_least(2);
  at_least.notify(pe(0), main_stream, pe(1), ready, signal_set(1));
  at_least.notify(pe(0), main_stream, pe(1), ready, signal_set(2));
  at_least.wait(pe(1), main_stream, ready, signal_at_least(1));
  EXPECT_EQ(kinds(at_least), nothing);
}

TEST(deadlock_recorder, a_set_signal_whose_sender_waits_for_an_answer_is_never_lost) {
  recorder ping_pong(2);
  for (unsigned round = 1; round <= 20; ++round) {
    ping_pong.notify(pe(0), main_stream, pe(1), ready, signal_set(round));
    ping_pong.wait(pe(1), main_stream, ready, signal_equals(round));
    ping_pong.notify(pe(1), main_stream, pe(0), ready, signal_set(round));
    ping_pong.wait(pe(0), main_stream, ready, signal_equals(round));
  }
  EXPECT_EQ(kinds(ping_pong), nothing);
}

TEST(deadlock_recorder, a_flag_that_its_reader_clears_can_be_set_again_after_the_answer) {
  constexpr int answer = 8;
  recorder toggled(2);
  for (int round = 1; round <= 3; ++round) {
    toggled.notify(pe(0), main_stream, pe(1), ready, signal_set(1));
    toggled.wait(pe(1), main_stream, ready, signal_equals(1));
    toggled.notify(pe(1), main_stream, pe(1), ready, signal_set(0));
    toggled.notify(pe(1), main_stream, pe(0), answer, signal_add(1));
    toggled.wait(pe(0), main_stream, answer, signal_at_least(static_cast<unsigned>(round)));
  }
  EXPECT_EQ(kinds(toggled), nothing);
  toggled.notify(pe(0), main_stream, pe(1), ready, signal_set(1));
  toggled.notify(pe(0), main_stream, pe(1), ready, signal_set(0));  // does not wait for the answer
  toggled.wait(pe(1), main_stream, ready, signal_equals(1));
  EXPECT_EQ(kinds(toggled), only(hazard::lost_signal));
}

TEST(deadlock_recorder, notifications_that_do_not_block_are_in_no_order_before_a_quiet) {
  for (const bool quiet : {false, true}) {
    recorder record(2);
    record.notify(pe(0), main_stream, pe(1), ready, signal_set(1), "", false);
    if (quiet) {
      record.quiet(pe(0), main_stream);
    }
    record.notify(pe(0), main_stream, pe(1), ready, signal_set(2), "", false);
    record.wait(pe(1), main_stream, ready, signal_equals(2));
    EXPECT_EQ(kinds(record), quiet ? nothing : only(hazard::lost_signal));
  }
}

TEST(deadlock_recorder, an_event_means_its_last_record_before_the_wait) {
  recorder record(1);
  record.record_event(pe(0), 1, main_stream);
  record.wait_event(pe(0), side_stream, 1);
  record.collective(pe(0), main_stream);
  record.record_event(pe(0), 1, main_stream);  // too late for the wait above
  record.collective(pe(0), side_stream);
  EXPECT_EQ(kinds(record), only(hazard::concurrent_collectives));

  recorder again(1);
  again.record_event(pe(0), 1, main_stream);
  again.collective(pe(0), main_stream);
  again.record_event(pe(0), 1, main_stream);
  again.wait_event(pe(0), side_stream, 1);
  again.collective(pe(0), side_stream);
  EXPECT_EQ(kinds(again), nothing);
}

TEST(deadlock_recorder, an_event_belongs_to_one_process) {
  for (const callers hosts : {callers::one, callers::one_per_pe}) {
    recorder record(2, hosts);
    record.record_event(pe(0), 1, main_stream);
    record.wait_event(pe(1), main_stream, 1);
    EXPECT_EQ(kinds(record), hosts == callers::one ? nothing : only(hazard::unrecorded_event));
  }
}

TEST(deadlock_recorder, an_event_that_was_not_recorded) {
  recorder record(1);
  record.wait_event(pe(0), side_stream, 1);
  record.record_event(pe(0), 1, main_stream);
  EXPECT_EQ(kinds(record), only(hazard::unrecorded_event));
}

/// A graph with a wait in one branch and its notification in another, with an edge between them or without.
std::vector<hazard> branches(bool edge) {
  recorder record(1);
  record.begin_capture(pe(0), main_stream);
  record.record_event(pe(0), 1, main_stream);
  record.wait_event(pe(0), side_stream, 1);  // joins
  record.notify(pe(0), side_stream, pe(0), ready, signal_add(1));
  record.record_event(pe(0), 2, side_stream);
  if (edge) {
    record.wait_event(pe(0), main_stream, 2);
  }
  record.wait(pe(0), main_stream, ready, signal_at_least(1));
  if (!edge) {
    record.wait_event(pe(0), main_stream, 2);
  }
  const handle graph = record.end_capture(pe(0), main_stream);
  record.launch_graph(pe(0), main_stream, graph);
  return kinds(record);
}

TEST(deadlock_recorder, in_a_graph_the_order_of_capture_orders_nothing) {
  EXPECT_EQ(branches(false), only(hazard::wait_before_notify));
  EXPECT_EQ(branches(true), nothing);
}

TEST(deadlock_recorder, a_graph_runs_when_it_is_launched_and_as_often_as_that) {
  recorder record(2);
  record.begin_capture(pe(0), main_stream);
  record.notify(pe(0), main_stream, pe(1), ready, signal_add(1));
  const handle graph = record.end_capture(pe(0), main_stream);
  record.wait(pe(1), main_stream, ready, signal_at_least(2));
  record.launch_graph(pe(0), main_stream, graph);
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
  EXPECT_THROW(record.wait_event(pe(0), main_stream, 1), membar::error);  // recorded outside
  EXPECT_THROW(record.synchronize_stream(pe(0), main_stream), membar::error);
  EXPECT_THROW(record.host_copy(pe(0), main_stream, true), membar::error);
  record.record_event(pe(0), 2, main_stream);
  static_cast<void>(record.end_capture(pe(0), main_stream));
  EXPECT_THROW(static_cast<void>(record.end_capture(pe(0), main_stream)), membar::error);
  EXPECT_THROW(record.wait_event(pe(0), side_stream, 2), membar::error);  // recorded inside
}

TEST(deadlock_recorder, a_signal_is_set_or_added_to) {
  recorder record(2);
  record.notify(pe(0), main_stream, pe(1), ready, signal_add(1));
  EXPECT_THROW(record.notify(pe(0), main_stream, pe(1), ready, signal_set(1)), membar::error);
  EXPECT_THROW(record.wait(pe(1), main_stream, ready, signal_equals(1)), membar::error);
  record.notify(pe(1), main_stream, pe(0), ready, signal_set(1));  // PE 0's signal is another one
  recorder late(2);
  late.wait(pe(1), main_stream, ready, signal_equals(1));
  EXPECT_THROW(late.notify(pe(0), main_stream, pe(1), ready, signal_add(1)), membar::error);
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
  recorder first(2, callers::one_per_pe);
  recorder second(2, callers::one_per_pe);
  const std::vector<kernel_role> roles{{step_wait(ready, signal_at_least(1)), step_notify(pe(1), ready, signal_add(1))}};
  first.kernel(pe(0), main_stream, {}, roles);
  second.begin_capture(pe(1), main_stream);
  second.wait(pe(1), main_stream, ready, signal_at_least(1));
  second.notify(pe(1), main_stream, pe(0), ready, signal_add(1));
  second.launch_graph(pe(1), side_stream, second.end_capture(pe(1), main_stream));
  EXPECT_EQ(kinds(first), only(hazard::never_notified));
  first.append(second.operations());
  EXPECT_EQ(kinds(first), only(hazard::cycle));
}

TEST(deadlock_recorder, forgetting_keeps_what_signals_hold) {
  recorder record(2);
  record.notify(pe(0), main_stream, pe(1), ready, signal_add(2));
  record.notify(pe(1), main_stream, pe(0), ready, signal_set(5));
  record.forget();
  EXPECT_TRUE(record.operations().empty());
  record.wait(pe(1), main_stream, ready, signal_at_least(2));
  record.wait(pe(0), main_stream, ready, signal_equals(5));
  EXPECT_EQ(kinds(record), nothing);
  record.wait(pe(1), main_stream, ready, signal_at_least(3));
  EXPECT_THROW(record.forget(), hazard_error);
  EXPECT_EQ(record.operations().size(), 3U);
}

TEST(deadlock_recorder, takes_what_several_threads_record) {
  recorder record(4, callers::one_per_pe);
  std::vector<std::thread> threads;
  for (int i = 0; i != 4; ++i) {
    threads.emplace_back([&record, i] {
      for (int round = 0; round != 50; ++round) {
        record.notify(pe(i), main_stream, pe((i + 1) % 4), ready, signal_add(1));
        record.wait(pe(i), main_stream, ready, signal_at_least(static_cast<unsigned>(round) + 1));
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  EXPECT_EQ(record.operations().size(), 400U);
  EXPECT_EQ(kinds(record), nothing);
}

TEST(deadlock_recorder, finds_the_cycle_of_a_long_program) {
  recorder record(4);
  for (unsigned round = 1; round <= 100; ++round) {
    for (int i = 0; i != 4; ++i) {
      record.notify(pe(i), main_stream, pe((i + 1) % 4), ready, signal_add(1));
      record.wait(pe(i), main_stream, ready, signal_at_least(round));
      record.collective(pe(i), main_stream);
    }
  }
  EXPECT_EQ(kinds(record), nothing);
  record.wait(pe(0), main_stream, ready, signal_at_least(101));
  record.collective(pe(0), main_stream);
  for (int i = 1; i != 4; ++i) {
    record.collective(pe(i), main_stream);
  }
  record.notify(pe(3), main_stream, pe(0), ready, signal_add(1));
  EXPECT_EQ(kinds(record), only(hazard::barrier_before_put));
  EXPECT_EQ(record.check().front().cycle.size(), 4U);
}

TEST(deadlock_recorder, a_program_too_long_to_check_is_an_error_that_says_how_to_go_on) {
  recorder record(1);
  for (int i = 0; i != 16385; ++i) {
    record.work(pe(0), main_stream);
  }
  EXPECT_THROW(static_cast<void>(record.check()), membar::error);
}

}  // namespace
