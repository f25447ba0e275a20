// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The asynchronous side in litmus tests that are written in C++: bulk and small copies, groups, mbarriers, dependent launches.
///
/// ```cpp
/// constexpr model::variable x{0}, s = model::shared(1), b{2};
/// constexpr auto stage = model::litmus(
///     model::thread(model::block(0), model::bulk_load(s, x, b), model::arrive_expect(b, 16),
///                   model::wait_phase(b, 0), model::load(model::reg{0}, s)),
///     model::thread(model::block(1), model::store(x, 1)))
///     .with_mbarrier(b, 1);
/// ```
///
/// An mbarrier is a variable of its own, that `litmus_program::with_mbarrier` gives its expected arrivals. A kernel that depends on
/// another one is a thread that `litmus_program::dependent` names. Copies have 16 bytes, of which the model has one value.
/// The rules: async_order.hpp, barrier_groups.hpp; docs/model.md, "Asynchronous copies", quotes the PTX ISA.
#pragma once

#include <membar/memory_order.hpp>
#include <membar/model/program.hpp>
#include <membar/model/test.hpp>
#include <membar/thread_scope.hpp>

namespace membar::inline v0_2::model {

namespace detail {
[[nodiscard]] constexpr state_space space_of(variable v) noexcept {
  return v.in_shared_memory ? state_space::shared : state_space::global;
}
[[nodiscard]] constexpr instruction copy_of(variable to, variable from, proxy via, completion ends) noexcept {
  instruction i;
  i.code = opcode::async_copy;
  i.via = via;
  i.target = to.index;
  i.space = space_of(to);
  i.source = from.index;
  i.source_space = space_of(from);
  i.scope = thread_scope::device;
  i.completes = ends;
  return i;
}
[[nodiscard]] constexpr instruction on_mbarrier(opcode code, variable barrier, memory_order order,
                                                thread_scope scope) noexcept {
  instruction i;
  i.code = code;
  i.target = barrier.index;
  i.order = order;
  i.scope = scope;
  i.arrives = code == opcode::mbarrier_arrive;
  i.waits = code == opcode::mbarrier_wait;
  i.b.value = -1;
  return i;
}
[[nodiscard]] constexpr instruction of_groups(opcode code, completion kind, int pending = 0) noexcept {
  instruction i;
  i.code = code;
  i.completes = kind;
  i.pending_groups = pending;
  return i;
}
}  // namespace detail

/// @name Copies
/// @{
/// `cp.async.bulk.shared::cta.global`: 16 bytes of global memory into shared memory, which completes on an mbarrier.
[[nodiscard]] constexpr instruction bulk_load(variable to, variable from, variable barrier) noexcept {
  instruction i = detail::copy_of(to, from, proxy::async, completion::mbarrier);
  i.barrier_at = barrier.index;
  i.completed_bytes = 16;
  return i;
}
/// `cp.async.bulk.global.shared::cta`: 16 bytes of shared memory into global memory, in a group of the thread.
[[nodiscard]] constexpr instruction bulk_store(variable to, variable from) noexcept {
  return detail::copy_of(to, from, proxy::async, completion::bulk_group);
}
/// `cp.reduce.async.bulk.global.shared::cta.add`, in a group of the thread.
[[nodiscard]] constexpr instruction bulk_add(variable to, variable from) noexcept {
  instruction i = bulk_store(to, from);
  i.reduces = true;
  i.what = operation::add;
  return i;
}
/// `cp.async.bulk.commit_group`.
[[nodiscard]] constexpr instruction bulk_commit() noexcept {
  return detail::of_groups(opcode::async_commit, completion::bulk_group);
}
/// `cp.async.bulk.wait_group pending`.
[[nodiscard]] constexpr instruction bulk_wait(int pending = 0) noexcept {
  return detail::of_groups(opcode::async_wait, completion::bulk_group, pending);
}
/// `cp.async.bulk.wait_group.read pending`.
[[nodiscard]] constexpr instruction bulk_wait_read(int pending = 0) noexcept {
  instruction i = bulk_wait(pending);
  i.reads_only = true;
  return i;
}
/// `cp.async`: global memory into shared memory, through the generic proxy.
[[nodiscard]] constexpr instruction async_copy(variable to, variable from) noexcept {
  return detail::copy_of(to, from, proxy::generic, completion::group);
}
/// `cp.async.commit_group`.
[[nodiscard]] constexpr instruction async_commit() noexcept {
  return detail::of_groups(opcode::async_commit, completion::group);
}
/// `cp.async.wait_group pending`.
[[nodiscard]] constexpr instruction async_wait(int pending = 0) noexcept {
  return detail::of_groups(opcode::async_wait, completion::group, pending);
}
/// `cp.async.mbarrier.arrive.noinc`: an arrival once the copies that the thread began with `async_copy` are done.
[[nodiscard]] constexpr instruction async_arrive(variable barrier) noexcept {
  instruction i;
  i.code = opcode::async_arrive;
  i.completes = completion::group;
  i.barrier_at = barrier.index;
  return i;
}
/// `fence.proxy.async`: between ordinary accesses and those of bulk copies.
[[nodiscard]] constexpr instruction async_proxy_fence() noexcept {
  instruction i;
  i.code = opcode::proxy_fence;
  i.via = proxy::async;
  return i;
}
/// @}

/// @name Mbarriers
/// @{
/// `mbarrier.arrive.{relaxed,release}.scope`.
template <thread_scope Scope = thread_scope::block, class Order = release_t>
  requires order_among<Order, memory_order::relaxed, memory_order::release>
[[nodiscard]] constexpr instruction arrive(variable barrier, Order = Order{}) noexcept {
  return detail::on_mbarrier(opcode::mbarrier_arrive, barrier, Order::value, Scope);
}
/// `mbarrier.arrive.expect_tx.{relaxed,release}.scope`.
template <thread_scope Scope = thread_scope::block, class Order = release_t>
  requires order_among<Order, memory_order::relaxed, memory_order::release>
[[nodiscard]] constexpr instruction arrive_expect(variable barrier, int bytes, Order order = Order{}) noexcept {
  instruction i = arrive<Scope>(barrier, order);
  i.expected_bytes = bytes;
  return i;
}
/// `mbarrier.try_wait.{relaxed,acquire}.scope` in a loop, until phase `number`, counted from 0, is complete.
template <thread_scope Scope = thread_scope::block, class Order = acquire_t>
  requires order_among<Order, memory_order::relaxed, memory_order::acquire>
[[nodiscard]] constexpr instruction wait_phase(variable barrier, int number, Order = Order{}) noexcept {
  instruction i = detail::on_mbarrier(opcode::mbarrier_wait, barrier, Order::value, Scope);
  i.a.value = number;
  return i;
}
/// `mbarrier.try_wait.parity.{relaxed,acquire}.scope` in a loop, until the phase of this parity is complete.
template <thread_scope Scope = thread_scope::block, class Order = acquire_t>
  requires order_among<Order, memory_order::relaxed, memory_order::acquire>
[[nodiscard]] constexpr instruction wait_parity(variable barrier, int parity, Order order = Order{}) noexcept {
  instruction i = wait_phase<Scope>(barrier, parity, order);
  i.parity = true;
  return i;
}
/// @}

/// @name Dependent launches
/// @{
/// `griddepcontrol.wait`.
[[nodiscard]] constexpr instruction grid_wait() noexcept {
  instruction i;
  i.code = opcode::grid_wait;
  return i;
}
/// `griddepcontrol.launch_dependents`, which orders nothing.
[[nodiscard]] constexpr instruction launch_dependents() noexcept {
  instruction i;
  i.code = opcode::grid_launch;
  return i;
}
/// @}

}  // namespace membar::inline v0_2::model
