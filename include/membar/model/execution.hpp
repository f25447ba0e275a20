// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The events of one execution, before the source of each read is chosen.
#pragma once

#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>

#include <cstdint>

namespace membar {
inline namespace v0_3 {
namespace model {

/// The kind of an event. Source: PTX ISA, "Operation types".
enum class event_kind : std::uint8_t {
  read,
  write,
  fence,
  proxy_fence,
  barrier,
  initialization,  ///< the initialization of an mbarrier
  shuffle_write,   ///< the value that a lane sends in a shuffle
  shuffle_read,    ///< the value that a lane receives in a shuffle: the value of one `shuffle_write`
  issue,           ///< an instruction that starts asynchronous operations
  commit,          ///< the end of a group of asynchronous operations
  group_wait,      ///< a wait for groups: `wait_group`
  grid_wait        ///< a wait for other grids: `griddepcontrol.wait`
};

/// One event. A load is a read, a store is a write, and a read-modify-write is a read and a write that refer to each other by
/// `partner`. A failed compare-and-swap is only a read.
struct event {
  event_kind kind = event_kind::write;
  int thread = -1;  ///< -1 for the initial write of a location
  int instruction = -1;
  int vector = -1;          ///< the number of a vector instruction; its accesses are not ordered among themselves
  bool strong = false;      ///< true for fences and for memory operations that are not weak
  bool acquires = false;    ///< whether the instruction acquires; its read, fence or wait then acquires
  bool releases = false;    ///< whether the instruction releases; its write, fence or arrival then releases
  bool sequential = false;  ///< whether it is a `fence.sc`
  bool restricted = false;  ///< whether it is a `fence.mbarrier_init` or a one-directional proxy fence
  bool reduction = false;   ///< whether the event is part of a `red`
  bool atomic = false;      ///< whether the event is part of an `atom` or a `red`
  thread_scope scope = thread_scope::block;
  proxy via = proxy::generic;
  int location = -1;
  int address = -1;   ///< the virtual address
  int physical = -1;  ///< the number of the physical memory location
  int bytes = 4;
  int partner = -1;         ///< the other half of a read-modify-write
  int value = -1;           ///< the expression that a write stores or a lane sends; not used for other events
  event_set data = 0;       ///< the reads that the stored value was computed from
  event_set addressed = 0;  ///< the reads that the address was computed from
  event_set control = 0;    ///< the reads that decided an earlier branch
  event_set guard = 0;      ///< the reads that decided the predicate of this event's instruction

  barrier_kind barrier = barrier_kind::block;
  bool mbarrier = false;
  bool parity = false;  ///< for mbarriers: whether a wait identifies its phase by its parity
  bool arrives = false;
  bool waits = false;
  int id = -1;        ///< an expression: the barrier's number, the lane mask of `bar.warp.sync`, or an mbarrier's phase
  int resource = -1;  ///< an expression: the second number of a barrier, or -1
  int quorum = -1;    ///< an expression: the number of arrivals that complete the barrier, or -1 for all threads that arrive

  /// for events of an asynchronous operation: the event of the instruction that started it; such events belong to the thread
  /// only nominally
  int issue = -1;
  int arrivals = 1;                          ///< for mbarriers: the number of arrivals; -1 if the phase expects one more
                                             ///< arrival instead
  int expected_bytes = 0;                    ///< for mbarriers: the number added to the phase's transactions
  int completed_bytes = 0;                   ///< for mbarriers: the number subtracted from the phase's transactions
  state_space space = state_space::generic;  ///< for an access: the state space that its instruction names
};

/// One node of the expressions for registers and stored values.
struct expression {
  enum class kind_t : std::uint8_t { constant, read, apply };
  kind_t kind = kind_t::constant;
  operation what = operation::move;
  std::int64_t value = 0;  ///< the constant
  int left = -1;           ///< for a read: the event; for `apply`: the left operand's expression
  int right = -1;
  event_set depends = 0;  ///< the reads that the value is computed from
};

/// A comparison and the outcome that a path assumes for it. The assumption is checked once the values are known.
struct assumption {
  comparison test = comparison::equal;
  int left = -1;
  int right = -1;
  bool expected = true;
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
