// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The operations that the PEs of a program enqueue, as values: operations on streams, captured graphs and host waits, in the
/// order of the host's calls. This header makes no CUDA calls: streams, events, signals and teams are numbers or addresses.
#pragma once

#include <membar/pe.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock {

/// Which host threads make the calls: one for all PEs (a process with all GPUs), or one per PE (a process per GPU). While a
/// single thread waits for one PE, it enqueues nothing for the other PEs.
enum class callers : unsigned char { one, one_per_pe };

/// Identifies a stream, an event, a signal, an epoch, a team or a graph.
///
/// A signal is identified by its heap allocation (`array::identity`), or by any number or address that is the same in all
/// calls. Every PE has a signal with that handle. An offset in a heap does not identify a signal, because an object in another
/// allocation or another heap may have the same offset.
class handle {
 public:
  constexpr handle() noexcept = default;
  constexpr handle(const object_identity& object) noexcept
      : number_(object.index), place_(object.heap << allocation_bits | object.allocation) {}
  constexpr handle(std::uint64_t number) noexcept : number_(number) {}
  constexpr handle(int number) noexcept : number_(static_cast<std::uint64_t>(number)) {}
  handle(const void* address) noexcept : number_(reinterpret_cast<std::uintptr_t>(address)) {}

  [[nodiscard]] constexpr std::uint64_t number() const noexcept { return number_; }
  /// These two functions return the object's allocation and the object's symmetric heap, respectively, or 0 for an object
  /// outside any heap.
  [[nodiscard]] constexpr std::uint64_t allocation() const noexcept {
    return place_ & ((std::uint64_t{1} << allocation_bits) - 1);
  }
  [[nodiscard]] constexpr std::uint64_t heap() const noexcept { return place_ >> allocation_bits; }
  friend constexpr auto operator<=>(const handle&, const handle&) noexcept = default;
  // nvcc does not derive this operator from operator<=>
  friend constexpr bool operator==(const handle&, const handle&) noexcept = default;

 private:
  static constexpr int allocation_bits = 40;

  std::uint64_t number_ = 0;
  std::uint64_t place_ = 0;  ///< the heap and the allocation
};

/// The kind of object that a handle identifies.
enum class handle_kind : unsigned char { stream, event, signal, team, graph, epoch };

/// The team of all PEs, which has the number 0. It need not be declared.
inline constexpr handle world{};

/// The effect of a notification on a signal: `signal_set(v)`, `signal_add(v)` or `signal_next(epoch)`. A program must either
/// only set a signal or only add to it.
struct signal_effect {
  bool adds = false;
  std::uint64_t value = 0;
  bool numbered = false;  ///< each time the operation runs, the value is the next number of `epoch`
  handle epoch{};
};
[[nodiscard]] constexpr signal_effect signal_set(std::uint64_t value) noexcept { return {false, value}; }
[[nodiscard]] constexpr signal_effect signal_add(std::uint64_t value) noexcept { return {true, value}; }
/// Sets the signal to the next number of an epoch on the notifying PE (epoch.cuh). Operations take the numbers in the order in
/// which they are recorded. A graph's operations take new numbers at each launch.
[[nodiscard]] constexpr signal_effect signal_next(handle epoch) noexcept { return {false, 1, true, epoch}; }

/// The condition that a wait requires of a signal: `signal_at_least(v)`, `signal_at_least_next(epoch)` or, only for signals
/// that are set, `signal_equals(v)`. Numbers may wrap around as in the device's waits (wait.cuh).
struct signal_condition {
  bool at_least = false;
  std::uint64_t value = 0;  ///< the required value, or the step of a numbered condition whose number is not known yet
  bool numbered = false;    ///< each time the operation runs, the value is the next number of `epoch`
  handle epoch{};

  [[nodiscard]] constexpr bool holds(std::uint64_t seen) const noexcept {
    return at_least ? static_cast<std::int64_t>(seen - value) >= 0 : seen == value;
  }
  /// Returns whether every value that meets this condition also meets `other`.
  [[nodiscard]] constexpr bool implies(const signal_condition& other) const noexcept {
    return other.holds(value) && (other.at_least || !at_least);
  }
};
[[nodiscard]] constexpr signal_condition signal_equals(std::uint64_t value) noexcept { return {false, value}; }
[[nodiscard]] constexpr signal_condition signal_at_least(std::uint64_t value) noexcept { return {true, value}; }
/// Requires at least the next number of an epoch on the waiting PE, which is the previous number plus `step`.
[[nodiscard]] constexpr signal_condition signal_at_least_next(handle epoch, std::uint64_t step = 1) noexcept {
  return {true, step, true, epoch};
}

/// The kind of an operation.
enum class operation_kind : unsigned char {
  work,             ///< waits for nothing outside its stream and does not use the heap
  access,           ///< work that reads or writes the heap: put, get, a kernel
  notify,           ///< sets a PE's signal or adds to it: a put with signal, a signal operation
  wait,             ///< waits for a signal of its own PE
  quiet,            ///< delivers the stream's notifications that do not block
  collective,       ///< a barrier, a synchronization or a reduction of a team, on a stream
  arrive,           ///< the first half of a team's barrier
  depart,           ///< the second half of a barrier: waits for the arrival of every member
  record_event,     ///< records an event in the stream
  wait_event,       ///< the stream waits for the event's last record
  kernel,           ///< a launch whose threads wait or notify, followed by its steps
  launch_graph,     ///< launches everything that was captured
  host_collective,  ///< a collective that the host calls
  host_stream,      ///< the host waits for a stream
  host_event,       ///< the host waits for an event
  host_pe,          ///< the host waits for all streams of a PE
  host_copy         ///< a copy call by the host, which may return before the copy has finished
};

/// The size of a launch whose threads wait: the number of its blocks, and the number of blocks that the device can hold at once
/// (0 if unknown).
struct kernel_shape {
  unsigned long long blocks = 1;
  unsigned long long room = 0;
  bool cooperative = false;
};

/// One operation. The type is trivially copyable, so that processes can exchange their records.
struct stream_operation {
  operation_kind kind = operation_kind::work;
  int pe = 0;
  handle stream;    ///< the stream that the operation is enqueued in; for `host_stream`, the stream that the host waits for
  handle object;    ///< the signal, event, team or graph
  int target = -1;  ///< for `notify` and `access`: the PE whose signal or heap the operation uses
  signal_effect effect;
  signal_condition condition;
  kernel_shape shape;
  /// for `notify`: if true, the notification is delivered when the operation ends; otherwise it is delivered no later than the
  /// end of the next quiet or collective
  bool blocking = true;
  bool early = false;   ///< for `host_copy`: whether it may return before it has finished
  unsigned graph = 0;   ///< the graph that captured the operation; 0 if it was not captured
  unsigned kernel = 0;  ///< the kernel that contains the operation as a step; 0 if it is not in a kernel
  /// the role of a step: steps of one role run in order; different roles are different blocks of the grid, which run
  /// concurrently
  unsigned role = 0;
  char name[24] = {};  ///< its name in reports; if empty, the report describes the operation
};

/// A step that some blocks of a kernel execute.
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
/// The two halves of a barrier, in this kernel or in two kernels in one stream.
[[nodiscard]] inline kernel_step step_arrive(handle team = world) { return {operation_kind::arrive, team, 0, {}, {}}; }
[[nodiscard]] inline kernel_step step_wait_for_team(handle team = world) { return {operation_kind::depart, team, 0, {}, {}}; }
/// The steps of one group of a kernel's blocks, in order.
using kernel_role = std::vector<kernel_step>;

/// Everything that the PEs enqueue.
struct program {
  int pes = 0;
  callers hosts = callers::one;
  /// in the order of the host thread's calls; with one thread per PE, the operations of each PE are in the order of its
  /// thread's calls
  std::vector<stream_operation> operations;
  /// The members of each team except `world`.
  std::map<handle, std::vector<int>> teams;
  /// Names of streams, signals and so on, for reports.
  std::map<std::pair<handle_kind, handle>, std::string> names;
  /// The initial values of the signals that do not start at 0, by PE and signal.
  std::map<std::pair<int, handle>, std::uint64_t> signals;
  /// The conditions that each PE waited for before the start, for signals that have not been set to another value since then.
  std::map<std::pair<int, handle>, signal_condition> waited;
  /// The initial numbers of the epochs that do not start at 0, by PE and epoch.
  std::map<std::pair<int, handle>, std::uint64_t> epochs;
  /// Streams that have their own hardware queues, by PE. All other streams of a device may share a queue.
  std::set<std::pair<int, handle>> own_queues;
  /// The index of the first operation to analyze. All operations before it have ended, and all later ones are ordered after
  /// them. Of the earlier operations, the analysis uses only their effects, which the members above and below describe, and the
  /// graphs that they captured, which can still be launched.
  std::size_t begin = 0;
  /// The events that the operations before `begin` recorded, by host thread (0 if there is only one thread).
  std::set<std::pair<int, handle>> recorded;
};

}  // namespace deadlock

namespace symmetric {
namespace deadlock = v0_3::deadlock;  // deprecated: the old name, until version 0.4
}
}  // namespace v0_3
}  // namespace membar
