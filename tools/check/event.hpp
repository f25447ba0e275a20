// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// One event of an execution.
#pragma once

#include <membar/model/execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/rules.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/instruction.hpp>

#include <cstdint>
#include <span>

namespace membar::check {

using namespace ptx;

struct thread_state;

/// A value with up to 128 bits.
struct wide_value {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool unknown = false;  ///< whether the value is data that is not tracked
  [[nodiscard]] friend constexpr bool operator==(const wide_value&, const wide_value&) noexcept = default;
};

/// Returns the scope of an instruction. An mbarrier instruction that does not specify a scope has cluster scope if the
/// corresponding reading is chosen.
[[nodiscard]] inline thread_scope scope_of(const instruction& i, const model::other_readings& readings) noexcept {
  return i.mbarrier != mbarrier_op::none && readings.takes(model::reading::cluster_scope_of_mbarriers) &&
                 !names_block_or_cluster(i.text)
             ? thread_scope::cluster
             : i.scope;
}

/// One access of an asynchronous operation, or one update of an mbarrier.
struct copy_step {
  std::uint64_t address = 0;
  wide_value value{};       ///< the value to write, or the operand of an update
  std::int32_t first = -1;  ///< for a write of data that was read: the first read of this data; -1 if it writes `value`
  std::int16_t reads = 0;   ///< the number of reads, whose bytes are consecutive
  /// the number of bytes that are omitted at the start of this data; -n means that n zeros precede the data
  std::int8_t shift = 0;
  std::uint8_t bytes = 0;         ///< the size of the access
  std::uint16_t instruction = 0;  ///< the index of the instruction in the code that performs operations
};

/// The registers of a thread that performs asynchronous operations.
struct copy_registers {
  static constexpr int address = 0;
  static constexpr int value = 1;  ///< this register and the next one
  static constexpr int next = 3;   ///< the number of the current step
  static constexpr int steps = 4;  ///< the address of the steps, in the checker's own memory
  static constexpr int end = 5;    ///< the number of steps
  static constexpr int read = 6;   ///< the address of the values that the reads returned
  static constexpr int count = 7;
};

/// One event. An event never changes once it is part of a graph. The members that `model::morally_strong` reads have the same
/// names as in the model.
struct graph_event {
  model::event_kind kind = model::event_kind::read;
  bool strong = false;
  bool acquires = false;
  bool releases = false;
  bool sequential = false;
  bool reduction = false;
  bool rmw = false;           ///< whether it is the read or the write of a read-modify-write
  bool mixed = false;         ///< whether it is a read that takes its bytes from writes of different sizes
  bool restricted = false;    ///< whether it is a fence that applies only to the initialization of mbarriers
  bool completes = false;     ///< for a read-modify-write of an mbarrier: whether it completes the current phase
  bool arrives = false;       ///< whether it arrives at an mbarrier
  bool passes = false;        ///< for a test of an mbarrier: whether the phase is complete
  bool non_coherent = false;  ///< whether it reads through the proxy for data that no thread writes while the kernel runs
  /// whether it is not a memory event but a choice: an unknown value decides the thread's path, and `value` is the chosen path
  bool chosen = false;
  bool discarded = false;   ///< whether it is a weak read whose value its thread never uses
  bool unwritten = false;   ///< whether it reads memory that was never written; the order of the fences may rule out this read
  bool same_value = false;  ///< whether it is the read of a read-modify-write that cannot change the value and therefore has no
                            ///< separate write
  /// the number of the group of commuting read-modify-writes to which it belongs (commuting_updates.hpp); 0 if it is not in a
  /// group
  std::uint8_t update = 0;
  mbarrier_op mbarrier = mbarrier_op::none;
  one_way fenced = one_way::async;  ///< for a one-directional proxy fence: its kind
  thread_scope scope = thread_scope::system;
  model::proxy via = model::proxy::generic;
  std::int32_t thread = 0;
  std::int32_t number = 0;  ///< the event's number in its thread
  std::int32_t vector = -1;
  std::int32_t location = -1;
  std::int32_t pc = 0;
  std::int32_t bytes = 0;
  std::uint32_t stamp = 0;   ///< a number that increases in the order in which events are added
  std::uint64_t serial = 0;  ///< the event's number among all events that the exploration has created
  std::uint64_t address = 0;
  std::uint64_t physical = 0;
  /// the value that is read or written; for an arrival at a sync point: the value that the thread contributes
  wide_value value{};
  const graph_event* source = nullptr;   ///< the write from which a read takes its value; null for the initial value
  const graph_event* partner = nullptr;  ///< for the write of a read-modify-write: its read
  std::uint64_t sync_point = 0;          ///< for barriers: the sync point
  std::int32_t turn = 0;                 ///< for an arrival: its number among its thread's arrivals at the sync point
  const std::uint16_t* base = nullptr;   ///< per thread: the number of its events that precede this event by base causality,
                                         ///< including this event
  /// Like `base`, but includes causality through fences that release only initializations of mbarriers. This clock orders only
  /// these initializations.
  const std::uint16_t* begun = nullptr;
  /// per thread: the number of its events that precede this event by program order, reads-from and sync points
  const std::uint16_t* prefix = nullptr;
  /// `prefix` plus the earlier events of equal threads: the clock of the events that exist whenever this event exists
  const std::uint16_t* past = nullptr;
  /// For a write: the starts of the release patterns that a read of this write observes. For an arrival at a cluster barrier:
  /// the starts of the release patterns that end in the arrival.
  std::span<const graph_event* const> heads{};
  /// Per `proxy_space`: the base clock of the events before a proxy fence for that space in this thread's block; null if the
  /// program has no copies.
  const std::uint16_t* crossed = nullptr;
  /// Per `one_way`: the base clock of the events that a proxy fence of that kind has released; null if the program has no
  /// copies.
  const std::uint16_t* released = nullptr;
  /// for an asynchronous operation: the clock that its completion passes on instead of `base`
  const std::uint16_t* given = nullptr;
  std::int32_t starts = -1;  ///< the thread that performs the operation that the event starts
  const thread_state* started = nullptr;
};

}  // namespace membar::check
