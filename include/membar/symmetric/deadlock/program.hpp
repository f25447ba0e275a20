// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the PEs of a program enqueue, as values: operations on streams, captured graphs and the host's own waits, in the
/// order in which the host calls them. No CUDA call: streams, events, signals and teams are numbers or addresses.
#pragma once

#include <membar/symmetric/pe.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace membar::symmetric::deadlock {

/// Who calls: one host thread for all PEs (one process with all GPUs), or one for each PE (one process per GPU). One thread
/// that waits for a PE enqueues nothing for the others meanwhile.
enum class callers : unsigned char { one, one_per_pe };

/// What is known of a stream, an event, a signal, a team or a graph: which one it is.
///
/// A signal's is its offset in the symmetric heap, or its address on one and the same PE: every PE has a signal of that name.
class handle {
 public:
  constexpr handle() noexcept = default;
  constexpr handle(std::uint64_t number) noexcept : number_(number) {}
  constexpr handle(int number) noexcept : number_(static_cast<std::uint64_t>(number)) {}
  handle(const void* address) noexcept : number_(reinterpret_cast<std::uintptr_t>(address)) {}

  [[nodiscard]] constexpr std::uint64_t number() const noexcept { return number_; }
  friend constexpr bool operator==(handle a, handle b) noexcept { return a.number_ == b.number_; }
  friend constexpr bool operator<(handle a, handle b) noexcept { return a.number_ < b.number_; }

 private:
  std::uint64_t number_ = 0;
};

/// What a name is of.
enum class handle_kind : unsigned char { stream, event, signal, team, graph };

/// The team of all PEs, which need not be declared.
inline constexpr handle world{};

/// What a notification does to a signal: `signal_set(v)` or `signal_add(v)`. A signal is either set or added to, never both.
struct signal_effect {
  bool adds = false;
  std::uint64_t value = 0;
};
[[nodiscard]] constexpr signal_effect signal_set(std::uint64_t value) noexcept { return {false, value}; }
[[nodiscard]] constexpr signal_effect signal_add(std::uint64_t value) noexcept { return {true, value}; }

/// What a wait asks of a signal: `signal_equals(v)`, for signals that are set, or
/// `signal_at_least(v)`, where numbers may wrap, as in the device's waits (wait.cuh).
struct signal_condition {
  bool at_least = false;
  std::uint64_t value = 0;

  [[nodiscard]] constexpr bool holds(std::uint64_t seen) const noexcept {
    return at_least ? static_cast<std::int64_t>(seen - value) >= 0 : seen == value;
  }
};
[[nodiscard]] constexpr signal_condition signal_equals(std::uint64_t value) noexcept { return {false, value}; }
[[nodiscard]] constexpr signal_condition signal_at_least(std::uint64_t value) noexcept { return {true, value}; }

/// What an operation is.
enum class operation_kind : unsigned char {
  work,             ///< waits for nothing outside its stream and leaves the heap alone
  access,           ///< the same, and reads or writes the heap: put, get, a kernel
  notify,           ///< sets or adds to a signal of a PE: a put with signal, a signal operation
  wait,             ///< waits for an own signal
  quiet,            ///< the notifications that the stream has issued without blocking are delivered
  collective,       ///< barrier, synchronization, reduction of a team, on a stream
  record_event,     ///< of the stream
  wait_event,       ///< the stream waits for the event's last record
  kernel,           ///< a launch whose threads wait or notify: its steps follow
  launch_graph,     ///< everything that was captured
  host_collective,  ///< a collective that the host calls
  host_stream,      ///< the host waits for a stream
  host_event,       ///< the host waits for an event
  host_pe,          ///< the host waits for all streams of a PE
  host_copy         ///< a copy that the host calls and that may return before it has run
};

/// A launch whose threads wait: how many blocks it has, and how many the device has room for at once (0: not known).
struct kernel_shape {
  unsigned long long blocks = 1;
  unsigned long long room = 0;
  bool cooperative = false;
};

/// One operation. Trivially copyable, so that processes can exchange what they have recorded.
struct stream_operation {
  operation_kind kind = operation_kind::work;
  int pe = 0;
  handle stream;    ///< of work that is enqueued, and what `host_stream` waits for
  handle object;    ///< the signal, event, team or graph
  int target = -1;  ///< of `notify` and `access`: whose signal, whose heap
  signal_effect effect;
  signal_condition condition;
  kernel_shape shape;
  bool blocking = true;  ///< of `notify`: delivered when it ends; else at the latest when a quiet or a collective has ended
  bool early = false;    ///< of `host_copy`: it may return before it has run
  unsigned graph = 0;    ///< captured in this graph, which is not run yet; 0: enqueued
  unsigned kernel = 0;   ///< a step of this kernel; 0: not in a kernel
  unsigned role = 0;     ///< steps of one role are in order; roles are different blocks of a grid, which run at once
  char name[24] = {};    ///< what a report calls it; empty: what it does
};

/// A step that some of a kernel's blocks do.
struct kernel_step {
  operation_kind kind = operation_kind::wait;
  handle object;
  int target = 0;
  signal_effect effect;
  signal_condition condition;
};
[[nodiscard]] inline kernel_step step_wait(handle signal, signal_condition until) {
  return {operation_kind::wait, signal, 0, {}, until};
}
[[nodiscard]] inline kernel_step step_notify(pe target, handle signal, signal_effect effect) {
  return {operation_kind::notify, signal, target.index(), effect, {}};
}
[[nodiscard]] inline kernel_step step_collective(handle team = world) { return {operation_kind::collective, team, 0, {}, {}}; }
/// What one group of a kernel's blocks does, in order.
using kernel_role = std::vector<kernel_step>;

/// What all PEs do.
struct program {
  int pes = 0;
  callers hosts = callers::one;
  std::vector<stream_operation> operations;  ///< with one host thread in its order; else each PE's in the order of its thread
  /// The members of each team but the world.
  std::map<handle, std::vector<int>> teams;
  /// What reports call streams, signals and so on, where they have a name.
  std::map<std::pair<handle_kind, handle>, std::string> names;
  /// What the signals hold at the start, where that is not 0: PE and signal.
  std::map<std::pair<int, handle>, std::uint64_t> signals;
};

}  // namespace membar::symmetric::deadlock
