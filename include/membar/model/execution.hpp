// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The events of one execution, before it is chosen which write each read takes its value from.
#pragma once

#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>

#include <cstdint>

namespace membar {
inline namespace v0_2 {
namespace model {

/// What an event does. Source: PTX ISA, "Operation types".
enum class event_kind : std::uint8_t {
  read,
  write,
  fence,
  proxy_fence,
  barrier,
  initialization,  ///< of an mbarrier
  shuffle_write,   ///< a lane's value in a shuffle
  shuffle_read,    ///< what a lane gets in a shuffle: the value of one `shuffle_write`
  issue,           ///< an instruction that starts asynchronous operations
  commit,          ///< the end of a group of asynchronous operations
  group_wait,      ///< `wait_group`
  grid_wait        ///< `griddepcontrol.wait`
};

/// One event. A load is a read, a store a write, a read-modify-write a read and a write joined by `partner`; a failed
/// compare-and-swap is only a read.
struct event {
  event_kind kind = event_kind::write;
  int thread = -1;  ///< -1: the initial write of a location
  int instruction = -1;
  int vector = -1;          ///< accesses of one vector instruction share a number and are not ordered among themselves
  bool strong = false;      ///< fences, and memory operations that are not weak
  bool acquires = false;    ///< of the instruction: a read, a fence or a wait then acquires
  bool releases = false;    ///< of the instruction: a write, a fence or an arrival then releases
  bool sequential = false;  ///< `fence.sc`
  bool restricted = false;  ///< `fence.mbarrier_init`, and proxy fences of one direction
  bool reduction = false;   ///< of a `red`
  bool atomic = false;      ///< of an `atom` or a `red`
  thread_scope scope = thread_scope::block;
  proxy via = proxy::generic;
  int location = -1;
  int address = -1;   ///< virtual address
  int physical = -1;  ///< physical memory
  int bytes = 4;
  int partner = -1;         ///< the other half of a read-modify-write
  int value = -1;           ///< expression that a write stores or a lane sends; of a read nothing asks for it
  event_set data = 0;       ///< reads that the stored value was computed from
  event_set addressed = 0;  ///< reads that the address was computed from
  event_set control = 0;    ///< reads that decided a branch before this event
  event_set guard = 0;      ///< reads that decided the predicate of this event's instruction

  barrier_kind barrier = barrier_kind::block;
  bool mbarrier = false;
  bool parity = false;  ///< mbarriers: a wait that names its phase by its parity
  bool arrives = false;
  bool waits = false;
  int id = -1;        ///< expression: the barrier's number, `bar.warp.sync`'s lane mask, an mbarrier's phase
  int resource = -1;  ///< expression: the second number of a barrier, -1: none
  int quorum = -1;    ///< expression: how many arrivals complete the barrier, -1: all that come

  int issue =
      -1;  ///< asynchronous operations: the event of the instruction that started them, whose thread they are in name only
  int arrivals = 1;                          ///< mbarriers: how many arrivals this is; -1: the phase expects one more
  int expected_bytes = 0;                    ///< mbarriers: what this adds to the transactions of the phase
  int completed_bytes = 0;                   ///< mbarriers: what this takes from them
  state_space space = state_space::generic;  ///< of an access: what its instruction names
};

/// One node of the expressions that registers and stored values are made of.
struct expression {
  enum class kind_t : std::uint8_t { constant, read, apply };
  kind_t kind = kind_t::constant;
  operation what = operation::move;
  std::int64_t value = 0;  ///< constant
  int left = -1;           ///< read: the event; apply: expression
  int right = -1;
  event_set depends = 0;  ///< the reads it is computed from
};

/// A comparison whose outcome a path assumes. It is checked once the values are known.
struct assumption {
  comparison test = comparison::equal;
  int left = -1;
  int right = -1;
  bool expected = true;
};

}  // namespace model
}  // namespace v0_2
}  // namespace membar
