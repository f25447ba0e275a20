// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The faults that the operations of PEs can have, and their reports.
#pragma once

#include <string>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock {

/// The kind of a program's fault.
enum class hazard : unsigned char {
  barrier_before_put,      ///< a collective is enqueued before a notification that another PE awaits before it joins the
                           ///< collective
  wait_before_notify,      ///< a wait may block a notification of its own PE: their streams share a queue, or their graph has
                           ///< no edge between them
  host_before_enqueue,     ///< the host waits before it has enqueued the operation it waits for
  cycle,                   ///< any other cycle
  never_notified,          ///< a wait for a value that the signal never takes
  missing_member,          ///< a member of the team never calls the collective
  collectives_differ,      ///< the members of a team call different collectives where they must call the same one
  concurrent_collectives,  ///< a PE runs two collectives of one team on two streams, or on a stream and the host
  grid_too_large,          ///< the grid is too large for waits inside the kernel
  early_host_copy,         ///< an operation on the heap after a host copy that may not have finished
  lost_signal,             ///< another value may replace the awaited value before the wait has seen it
  stale_wait,              ///< a value that an earlier wait has seen may satisfy the wait before its own notification arrives
  unrecorded_event         ///< a wait for an event that was not recorded orders nothing
};

/// Returns the hazard's name: "barrier before put", "wait before notify", and so on.
[[nodiscard]] constexpr const char* name(hazard kind) noexcept {
  switch (kind) {
    case hazard::barrier_before_put:
      return "barrier before put";
    case hazard::wait_before_notify:
      return "wait before notify";
    case hazard::host_before_enqueue:
      return "host waits before it enqueues";
    case hazard::cycle:
      return "cycle";
    case hazard::never_notified:
      return "never notified";
    case hazard::missing_member:
      return "missing member";
    case hazard::collectives_differ:
      return "collectives differ";
    case hazard::concurrent_collectives:
      return "concurrent collectives";
    case hazard::grid_too_large:
      return "grid too large";
    case hazard::early_host_copy:
      return "early host copy";
    case hazard::lost_signal:
      return "lost signal";
    case hazard::stale_wait:
      return "stale wait";
    case hazard::unrecorded_event:
      return "unrecorded event";
  }
  return "unknown hazard";
}

/// Returns whether a report of this kind means that the program hangs in some schedule. All other kinds of reports mean
/// undefined behaviour or a possible hang.
[[nodiscard]] constexpr bool hangs(hazard kind) noexcept { return kind <= hazard::missing_member; }

/// A step of a cycle: an operation, and how it depends on the next one.
struct cycle_step {
  int pe = 0;
  std::string where;  ///< such as "stream 1" or "the host"
  std::string what;   ///< such as "wait for signal ready = 1"
  std::string how;    ///< such as "comes after", "waits for" or "may share a hardware queue with, and then follow,"
};

/// A fault, described in one sentence that names the operations and the remedy.
struct report {
  hazard kind = hazard::cycle;
  std::string sentence;
  /// The steps of the shortest cycle, if the hazard is a cycle. The last step depends on the first.
  std::vector<cycle_step> cycle;
};

}  // namespace deadlock
}  // namespace v0_3
}  // namespace membar
