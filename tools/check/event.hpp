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

/// A value of up to 128 bits.
struct wide_value {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool unknown = false;  ///< it is data that is not followed
  [[nodiscard]] friend constexpr bool operator==(const wide_value&, const wide_value&) noexcept = default;
};

/// Returns the scope of an instruction: its own, or the cluster for an instruction on an mbarrier that names none, if that reading is chosen.
[[nodiscard]] inline thread_scope scope_of(const instruction& i, const model::other_readings& readings) noexcept {
  return i.mbarrier != mbarrier_op::none && readings.takes(model::reading::cluster_scope_of_mbarriers) &&
                 !names_block_or_cluster(i.text)
             ? thread_scope::cluster
             : i.scope;
}

/// One access of an asynchronous operation, or an update of an mbarrier.
struct copy_step {
  std::uint64_t address = 0;
  wide_value value{};             ///< that is written, or that updates by
  std::int32_t first = -1;        ///< a write of what was read: the first read; -1: of `value`
  std::int16_t reads = 0;         ///< how many reads, whose bytes come one after the other
  std::int8_t shift = 0;          ///< bytes of those that are left out; negative: zeros that come before them
  std::uint8_t bytes = 0;         ///< of the access
  std::uint16_t instruction = 0;  ///< of what performs operations
};

/// The registers of what performs an asynchronous operation.
struct copy_registers {
  static constexpr int address = 0;
  static constexpr int value = 1;  ///< and the next one
  static constexpr int next = 3;   ///< the number of the step that it is at
  static constexpr int steps = 4;  ///< where they are, in the checker's own memory
  static constexpr int end = 5;    ///< how many
  static constexpr int read = 6;   ///< where the values are that the reads have seen
  static constexpr int count = 7;
};

/// One event. It never changes once it is part of a graph. The members that `model::morally_strong` reads have the names that
/// the model gives them.
struct graph_event {
  model::event_kind kind = model::event_kind::read;
  bool strong = false;
  bool acquires = false;
  bool releases = false;
  bool sequential = false;
  bool reduction = false;
  bool rmw = false;           ///< half of a read-modify-write
  bool mixed = false;         ///< a read that takes its bytes from writes of other sizes
  bool restricted = false;    ///< a fence for the initialization of mbarriers only
  bool completes = false;     ///< a read-modify-write of an mbarrier: its phase
  bool arrives = false;       ///< at an mbarrier
  bool passes = false;        ///< a test of an mbarrier: the phase is complete
  bool non_coherent = false;  ///< a read through the proxy of data that nobody writes while the kernel runs
  bool chosen = false;        ///< no event of memory, but which way a thread goes where an unknown value decides: `value`
  bool discarded = false;     ///< a weak read whose value its thread never uses
  bool same_value = false;    ///< a read for a read-modify-write that cannot change the value, and has no write of its own
  std::uint8_t update =
      0;  ///< half of a read-modify-write that commutes with those of the same number (commuting_updates.hpp); 0: of none
  mbarrier_op mbarrier = mbarrier_op::none;
  one_way fenced = one_way::async;  ///< a proxy fence of one direction
  thread_scope scope = thread_scope::system;
  model::proxy via = model::proxy::generic;
  std::int32_t thread = 0;
  std::int32_t number = 0;  ///< in its thread
  std::int32_t vector = -1;
  std::int32_t location = -1;
  std::int32_t pc = 0;
  std::int32_t bytes = 0;
  std::uint32_t stamp = 0;   ///< the order in which events were added
  std::uint64_t serial = 0;  ///< its own, among all events that the exploration has made
  std::uint64_t address = 0;
  std::uint64_t physical = 0;
  wide_value value{};                    ///< read or written; a sync point's arrival: what the thread brings
  const graph_event* source = nullptr;   ///< the write a read takes its value from; none: the initial value
  const graph_event* partner = nullptr;  ///< the read of a read-modify-write's write
  std::uint64_t sync_point = 0;          ///< barriers: which one
  std::int32_t turn = 0;                 ///< an arrival: the how manieth of its thread there
  const std::uint16_t* base = nullptr;   ///< per thread: how many events precede this one by base causality, itself included
  /// Per thread: how many initializations of mbarriers precede it by base causality, which a fence for them alone releases.
  const std::uint16_t* begun = nullptr;
  const std::uint16_t* prefix = nullptr;  ///< per thread: how many precede it by program order, reads-from and sync points
  const std::uint16_t* past = nullptr;    ///< `prefix`, and what equal threads have done before: what is there whenever this is
  /// A write's: the starts of the release patterns that a read of it observes. An arrival's at a cluster barrier: of those that end in it.
  std::span<const graph_event* const> heads{};
  /// Per `proxy_space` the base of what comes before a proxy fence of that space in this thread's block; null: nothing is copied.
  const std::uint16_t* crossed = nullptr;
  /// Per `one_way` the base of what a proxy fence of that kind has released; null: nothing is copied.
  const std::uint16_t* released = nullptr;
  const std::uint16_t* given = nullptr;  ///< of an asynchronous operation: what its completion passes on, instead of `base`
  std::int32_t starts = -1;              ///< which thread performs the operation that the event starts
  const thread_state* started = nullptr;
};

}  // namespace membar::check
