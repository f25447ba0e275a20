// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The catalogue in docs/deadlocks.md as programs, each in a wrong and a corrected version. A program is a function template
/// whose parameter is the object that receives its operations: either the recorder, which reports the deadlock, or GPUs, on
/// which the program runs with a time budget.
#pragma once

#include <membar/deadlock/recorder.hpp>

namespace membar_test::deadlocks {

namespace deadlock = membar::deadlock;

using deadlock::hazard;
using deadlock::signal_add, deadlock::signal_set;
using deadlock::signal_at_least, deadlock::signal_equals;
using membar::pe;

// Each PE's streams, the `signal<set>` and `signal<add>` objects, and an event.
inline constexpr int main_stream = 1;
inline constexpr int side_stream = 2;
inline constexpr int flag = 0;
inline constexpr int count = 0;
inline constexpr int event = 0;
inline constexpr int row_team = 1;

/// What happens if a wrong program runs on GPUs.
enum class effect {
  hangs,      ///< The program hangs in every schedule.
  may_hang,   ///< The program may hang, either if streams share a hardware queue or because its behaviour is undefined.
  runs_early  ///< Nothing waits, but an operation may run before another operation that it depends on.
};

template <hazard Kind, effect OnGpus>
struct entry {
  static constexpr hazard kind = Kind;
  static constexpr effect on_gpus = OnGpus;
};

struct barrier_before_put : entry<hazard::barrier_before_put, effect::hangs> {
  static void wrong(auto& to) {
    to.collective(pe(0), main_stream);
    to.notify(pe(0), main_stream, pe(1), flag, signal_set(1));
    to.wait(pe(1), main_stream, flag, signal_equals(1));
    to.collective(pe(1), main_stream);
  }
  static void right(auto& to) {
    to.notify(pe(0), main_stream, pe(1), flag, signal_set(1));
    to.collective(pe(0), main_stream);
    to.wait(pe(1), main_stream, flag, signal_equals(1));
    to.collective(pe(1), main_stream);
  }
};

struct wait_before_notify : entry<hazard::wait_before_notify, effect::may_hang> {
  static void wrong(auto& to) {
    to.wait(pe(0), main_stream, count, signal_at_least(1));
    to.work(pe(0), main_stream);  // A queue delays this operation until the wait has ended.
    to.notify(pe(0), side_stream, pe(0), count, signal_add(1));
  }
  static void right(auto& to) {
    to.notify(pe(0), side_stream, pe(0), count, signal_add(1));
    to.record_event(pe(0), event, side_stream);
    to.wait_event(pe(0), main_stream, event);
    to.wait(pe(0), main_stream, count, signal_at_least(1));
    to.work(pe(0), main_stream);
  }
};

struct concurrent_collectives : entry<hazard::concurrent_collectives, effect::may_hang> {
  static void wrong(auto& to) {
    for (const int i : {0, 1}) {
      to.collective(pe(i), i == 0 ? main_stream : side_stream);
      to.collective(pe(i), i == 0 ? side_stream : main_stream);
    }
  }
  static void right(auto& to) {
    for (const int i : {0, 1}) {
      to.collective(pe(i), main_stream);
      to.record_event(pe(i), event + 1 + i, main_stream);
      to.wait_event(pe(i), side_stream, event + 1 + i);
      to.collective(pe(i), side_stream);
    }
  }
};

struct grid_too_large : entry<hazard::grid_too_large, effect::hangs> {
  /// The last block notifies, and all other blocks wait for it.
  static void wrong(auto& to) { to.kernel(pe(0), main_stream, {2 * to.room(), to.room(), false}, roles()); }
  static void right(auto& to) { to.kernel(pe(0), main_stream, {to.room(), to.room(), true}, roles()); }

 private:
  [[nodiscard]] static std::vector<deadlock::kernel_role> roles() {
    return {{deadlock::step_notify(pe(0), count, signal_add(1))}, {deadlock::step_wait(count, signal_at_least(1))}};
  }
};

struct early_host_copy : entry<hazard::early_host_copy, effect::runs_early> {
  static void wrong(auto& to) {
    to.host_copy(pe(0), 0, true);
    to.notify(pe(0), main_stream, pe(1), count, signal_add(1));
    to.wait(pe(1), main_stream, count, signal_at_least(1));
  }
  static void right(auto& to) {
    to.host_copy(pe(0), 0, false);
    to.notify(pe(0), main_stream, pe(1), count, signal_add(1));
    to.wait(pe(1), main_stream, count, signal_at_least(1));
  }
};

struct cycle : entry<hazard::cycle, effect::hangs> {
  static void wrong(auto& to) {
    for (const int i : {0, 1}) {
      to.wait(pe(i), main_stream, count, signal_at_least(1));
      to.notify(pe(i), main_stream, pe(1 - i), count, signal_add(1));
    }
  }
  static void right(auto& to) {
    for (const int i : {0, 1}) {
      to.notify(pe(i), main_stream, pe(1 - i), count, signal_add(1));
      to.wait(pe(i), main_stream, count, signal_at_least(1));
    }
  }
};

struct two_teams_in_two_orders : entry<hazard::cycle, effect::hangs> {
  static void wrong(auto& to) {
    to.declare_team(row_team, {pe(0), pe(1)});
    to.collective(pe(0), main_stream);
    to.collective(pe(0), main_stream, row_team);
    to.collective(pe(1), main_stream, row_team);
    to.collective(pe(1), main_stream);
  }
  static void right(auto& to) {
    to.declare_team(row_team, {pe(0), pe(1)});
    for (const int i : {0, 1}) {
      to.collective(pe(i), main_stream);
      to.collective(pe(i), main_stream, row_team);
    }
  }
};

struct host_before_enqueue : entry<hazard::host_before_enqueue, effect::hangs> {
  static void wrong(auto& to) {
    to.wait(pe(0), main_stream, count, signal_at_least(1));
    to.synchronize_stream(pe(0), main_stream);
    to.notify(pe(1), main_stream, pe(0), count, signal_add(1));
  }
  static void right(auto& to) {
    to.wait(pe(0), main_stream, count, signal_at_least(1));
    to.notify(pe(1), main_stream, pe(0), count, signal_add(1));
    to.synchronize_stream(pe(0), main_stream);
  }
};

struct never_notified : entry<hazard::never_notified, effect::hangs> {
  static void wrong(auto& to) { run(to, 2); }
  static void right(auto& to) { run(to, 1); }

 private:
  static void run(auto& to, unsigned long long sent) {
    to.notify(pe(0), main_stream, pe(1), flag, signal_set(sent));
    to.wait(pe(1), main_stream, flag, signal_equals(1));
  }
};

struct missing_member : entry<hazard::missing_member, effect::hangs> {
  static void wrong(auto& to) { to.collective(pe(0), main_stream); }
  static void right(auto& to) {
    to.collective(pe(0), main_stream);
    to.collective(pe(1), main_stream);
  }
};

struct lost_signal : entry<hazard::lost_signal, effect::hangs> {
  static void wrong(auto& to) {
    to.notify(pe(0), main_stream, pe(1), flag, signal_set(1));
    to.notify(pe(0), main_stream, pe(1), flag, signal_set(2));
    to.synchronize_stream(pe(0), main_stream);  // This makes sure that the notification comes too late.
    to.wait(pe(1), main_stream, flag, signal_equals(1));
  }
  /// A counter counts all additions, so a second addition loses nothing.
  static void right(auto& to) {
    to.notify(pe(0), main_stream, pe(1), count, signal_add(1));
    to.notify(pe(0), main_stream, pe(1), count, signal_add(1));
    to.synchronize_stream(pe(0), main_stream);
    to.wait(pe(1), main_stream, count, signal_at_least(1));
  }
};

struct stale_wait : entry<hazard::stale_wait, effect::runs_early> {
  static void wrong(auto& to) { run(to, 1); }
  static void right(auto& to) { run(to, 2); }

 private:
  static void run(auto& to, unsigned long long second) {
    for (const unsigned long long value : {1ULL, second}) {
      to.notify(pe(0), main_stream, pe(1), count, signal_add(1));
      to.wait(pe(1), main_stream, count, signal_at_least(value));
    }
  }
};

/// All entries, as a list of types: `every<::testing::Types>`.
template <template <class...> class List>
using every = List<barrier_before_put, wait_before_notify, concurrent_collectives, grid_too_large, early_host_copy, cycle,
                   two_teams_in_two_orders, host_before_enqueue, never_notified, missing_member, lost_signal, stale_wait>;

/// The recorder, as the object that receives a program's operations.
struct recorded : deadlock::recorder {
  using deadlock::recorder::recorder;
  [[nodiscard]] static unsigned long long room() { return 264; }
};

/// Returns the recorder's reports on a program, or its report on a host wait that would not return.
template <class Program>
[[nodiscard]] std::vector<deadlock::report> reports_of(Program program) {
  recorded recorder(2);
  recorder.name(deadlock::handle_kind::stream, main_stream, "main");
  recorder.name(deadlock::handle_kind::stream, side_stream, "side");
  try {
    program(recorder);
    return recorder.check();
  } catch (const deadlock::hazard_error& would_hang) {
    return {would_hang.report()};
  }
}

}  // namespace membar_test::deadlocks
