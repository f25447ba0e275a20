// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The order of operations that a thread starts without waiting for them: bulk copies, `cp.async`, `st.async` and `red.async`.
///
/// The rules of the PTX ISA, and the functions and relations that implement them:
///
/// * "Asynchronous Operations": they are ordered after the preceding instructions of their thread, but are not in program order
///   (`in_program_order`, `issued`).
/// * "Asynchronous Operations": `complete_tx` is ordered only with the operations of its own instruction. `issued` is therefore
///   added to base causality last, so that no path continues through it.
/// * "cp.async.bulk": `complete_tx` releases at cluster scope (`barrier_groups::join`).
/// * "Async Proxy": a completion is followed by a fence between the generic and the async proxy (`relate_causes`).
/// * "cp.async.bulk.wait_group": groups complete in the thread that committed them. With `.read`, only their sources have been
///   read (`complete_groups`).
/// * "griddepcontrol": `.wait` ends when the prerequisite grids have completed and their memory operations are visible
///   (`order_grids`).
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>

#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

namespace detail {

/// Returns the instruction of an event that is not an initial write.
[[nodiscard]] constexpr const instruction& instruction_of(const program_view& program, const event& e) noexcept {
  return at(program.threads[e.thread].code, e.instruction);
}

/// Orders the operations of the complete groups of one thread and one kind before the wait for these groups.
template <class Rules>
constexpr void complete_groups(event_structure& f, const Rules& rules, const program_view& program,
                               std::span<const event> events, int thread, completion kind) {
  bounded<event_set, max_events> groups;
  event_set open = 0;
  for (int i = 0; i < f.count; ++i) {
    const event& e = at(events, i);
    if (e.thread != thread || instruction_of(program, e).completes != kind) {
      continue;
    }
    const instruction& by = instruction_of(program, e);
    if (e.issue >= 0 && by.code == opcode::async_copy) {
      open |= only(i);
    } else if (e.kind == event_kind::commit) {
      groups.push(open, "a thread commits more than 64 groups");
      open = 0;
    } else if (e.kind == event_kind::group_wait && rules.holds(rule::group_wait_synchronizes)) {
      const int pending = rules.holds(rule::newest_groups_may_be_pending) ? by.pending_groups : 0;
      for (int g = 0; g < groups.size() - pending; ++g) {
        const bool sources = by.reads_only && rules.holds(rule::read_wait_is_for_sources_only);
        for (event_set s = groups[g]; s != 0; s = rest(s)) {
          // the read that is part of an update accesses the destination
          const bool of_source = contains(f.reads, first(s)) && at(events, first(s)).partner < 0;
          if (!sources || of_source) {
            f.completed.add(first(s), i);
          }
        }
      }
    }
  }
}

/// Orders the grids that `griddepcontrol.wait` waits for before that wait.
template <class Rules>
constexpr void order_grids(event_structure& f, const Rules& rules, const program_view& program, std::span<const event> events) {
  if (!rules.holds(rule::dependency_wait_synchronizes)) {
    return;
  }
  for (const api_edge& launch : program.launches) {
    for (int j = 0; j < f.count; ++j) {
      for (int i = 0; at(events, j).kind == event_kind::grid_wait && at(events, j).thread == launch.after && i < f.count; ++i) {
        if (at(events, i).thread == launch.before) {
          f.base.add(i, j);
        }
      }
    }
  }
}

}  // namespace detail

/// Adds the orders of asynchronous operations and dependent launches to `f.base`, which is not yet transitively closed, and
/// fills `f.issued`.
template <class Rules>
constexpr void order_asynchronous(event_structure& f, const Rules& rules, const program_view& program,
                                  std::span<const event> events) {
  detail::order_grids(f, rules, program, events);
  if (f.asynchronous == 0) {
    return;
  }
  for (int t = 0; t < program.threads.size(); ++t) {
    detail::complete_groups(f, rules, program, events, t, completion::group);
    detail::complete_groups(f, rules, program, events, t, completion::bulk_group);
  }
  for (event_set s = f.asynchronous; s != 0; s = rest(s)) {
    const int one = first(s);
    const event& e = at(events, one);
    if (e.kind != event_kind::barrier) {
      f.issued.add(e.issue, one);
      if (!rules.holds(rule::completion_orders_its_own_operation_only)) {
        f.base.add(e.issue, one);
      }
      continue;
    }
    // a completion is ordered after its instruction's accesses, and an arrival after the accesses of all earlier cp.async
    const bool arrival = detail::instruction_of(program, e).code == opcode::async_arrive;
    for (event_set o = f.asynchronous & f.memory; o != 0; o = rest(o)) {
      const event& other = at(events, first(o));
      const bool earlier =
          other.thread == e.thread && first(o) < one && detail::instruction_of(program, other).completes == completion::group;
      if (arrival ? earlier : other.issue == e.issue) {
        f.completed.add(first(o), one);
      }
    }
  }
  for (int i = 0; i < f.count; ++i) {
    f.base[i] |= f.completed[i];
  }
  // since version 9.3, a release fence followed by an asynchronous operation that performs a strong write forms a release
  // pattern
  for (event_set s = program.version == 0 || program.version >= 93 ? f.release_fences : 0; s != 0; s = rest(s)) {
    for (event_set w = f.issued.image(f.po[first(s)]) & f.writes; w != 0 && rules.holds(rule::release_fence); w = rest(w)) {
      f.release_pattern[first(s)] |= at(events, first(w)).strong ? only(first(w)) : 0;
    }
    f.release_starts |= f.release_pattern[first(s)] != 0 ? only(first(s)) : 0;
  }
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
