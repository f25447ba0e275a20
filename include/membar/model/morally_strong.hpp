// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines whether a scope includes a thread, and whether two operations are morally strong.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/rules.hpp>

namespace membar {
inline namespace v0_3 {
namespace model {

/// incl(X, Y): returns whether the scope of `x` includes the thread at `there`. Source: PTX ISA, "Scope". The clause for
/// domains is membar's reading of the CUDA guide, and the clause for clusters is the obvious extension.
template <class Rules>
[[nodiscard]] constexpr bool includes(const Rules& rules, thread_scope scope, const place& here, const place& there) noexcept {
  if (scope == thread_scope::system) {
    return true;
  }
  if ((here.host || there.host) && rules.holds(rule::host_is_in_system_scope_only)) {
    return false;
  }
  const bool block = here.gpu == there.gpu && here.block == there.block && here.host == there.host;
  switch (scope) {
    case thread_scope::block:
      return block || !rules.holds(rule::block_scope_is_the_block);
    case thread_scope::cluster:
      return block || same_cluster(here, there) || !rules.holds(rule::cluster_scope_is_the_cluster);
    default:
      return (here.gpu == there.gpu || !rules.holds(rule::device_scope_is_the_device)) &&
             (here.gpu != there.gpu || here.domain == there.domain || !rules.holds(rule::device_scope_is_the_domain));
  }
}

/// Returns whether one of two atomic operations, which may differ in size, is performed completely before the other. This is
/// the case if they overlap and their scopes include each other's thread. Source: PTX ISA, "Atomicity of mixed-size RMW
/// operations".
template <class Rules>
[[nodiscard]] constexpr bool serial_atomics(const Rules& rules, const program_view& program, const event& x,
                                            const event& y) noexcept {
  if (!x.atomic || !y.atomic || x.address != y.address || x.via != y.via) {
    return false;
  }
  const place& here = program.threads[x.thread].where;
  const place& there = program.threads[y.thread].where;
  return includes(rules, x.scope, here, there) && includes(rules, y.scope, there, here);
}

/// Returns whether the event is in program order. All events are, except the events of asynchronous operations.
template <class Event>
[[nodiscard]] constexpr bool in_program_order(const Event& e) noexcept {
  if constexpr (requires { e.issue; }) {
    return e.issue < 0;
  } else {
    return true;
  }
}

/// ms(X, Y): the events are related by program order, or both are strong with scopes that include each other; they use the same
/// proxy; and, if both access memory, they overlap completely through the same virtual address. `here` and `there` are the
/// places of their threads. Initial writes are never morally strong with any event. Source: PTX ISA, "Morally strong
/// operations".
template <class Rules, class Event>
[[nodiscard]] constexpr bool morally_strong(const Rules& rules, const place& here, const place& there, const Event& x,
                                            const Event& y) noexcept {
  const bool x_memory = x.kind == event_kind::read || x.kind == event_kind::write;
  const bool y_memory = y.kind == event_kind::read || y.kind == event_kind::write;
  if ((!x_memory && x.kind != event_kind::fence) || (!y_memory && y.kind != event_kind::fence)) {
    return false;
  }
  bool related = x.thread == y.thread && in_program_order(x) && in_program_order(y) && (0 > x.vector || x.vector != y.vector) &&
                 rules.holds(rule::program_order_is_morally_strong);
  if (!related && ((x.strong && y.strong) || !rules.holds(rule::weak_is_not_strong))) {
    const bool forth = includes(rules, x.strong ? x.scope : thread_scope::system, here, there);
    const bool back = includes(rules, y.strong ? y.scope : thread_scope::system, there, here);
    related = rules.holds(rule::inclusion_is_mutual) ? forth && back : forth || back;
  }
  const bool proxies = x.via == y.via || !rules.holds(rule::same_proxy);
  const bool whole = !x_memory || !y_memory || (x.address == y.address && x.bytes == y.bytes) ||
                     (x.physical == y.physical && !rules.holds(rule::complete_overlap));
  return related && proxies && whole;
}

/// ms(X, Y) for two events of a litmus test.
template <class Rules>
[[nodiscard]] constexpr bool morally_strong(const Rules& rules, const program_view& program, const event& x,
                                            const event& y) noexcept {
  if (x.thread < 0 || y.thread < 0) {
    return false;
  }
  const place& here = program.threads[x.thread].where;
  const place& there = program.threads[y.thread].where;
  const auto by_own_address = [&](event e) {
    e.address = e.location >= 0 && at(program.locations, e.location).multimem >= 0 ? e.physical : e.address;
    return e;
  };
  return rules.takes(reading::multimem_flags) ? morally_strong(rules, here, there, by_own_address(x), by_own_address(y))
                                              : morally_strong(rules, here, there, x, y);
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
