// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Asynchronous operations in C++ litmus tests: bulk and small copies, groups, mbarriers, and dependent launches.
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
/// An mbarrier is a separate variable; `litmus_program::with_mbarrier` sets its expected arrivals. A kernel that depends on
/// another kernel is a thread that `litmus_program::dependent` names. Copies are 16 bytes long; the model represents these
/// bytes as one value. async_order.hpp and barrier_groups.hpp implement the rules; docs/model.md, "Asynchronous copies", quotes
/// the PTX ISA.
#pragma once

#include <membar/memory_order.hpp>
#include <membar/model/program.hpp>
#include <membar/model/test.hpp>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {
namespace model {

namespace detail {
[[nodiscard]] constexpr instruction copy_of(variable to, variable from, proxy via, completion ends) noexcept {
  instruction i;
  i.code = opcode::async_copy;
  i.via = via;
  i.target = to.index;
  i.target_of = to.thread;
  i.space = space_of(to, state_space::global);
  i.source = from.index;
  i.source_of = from.thread;
  i.source_space = space_of(from, state_space::global);
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
/// `cp.async.bulk.shared::cta.global`: copies 16 bytes of global memory into shared memory and completes on an mbarrier. With a
/// `remote` destination, the instruction is `cp.async.bulk.shared::cluster.global`.
[[nodiscard]] constexpr instruction bulk_load(variable to, variable from, variable barrier) noexcept {
  instruction i = detail::copy_of(to, from, proxy::async, completion::mbarrier);
  i.barrier_at = barrier.index;
  i.completed_bytes = 16;
  return i;
}
/// `cp.async.bulk.shared::cluster.shared::cta`: copies 16 bytes of shared memory into the shared memory of another block,
/// `remote`, and completes on an mbarrier there.
[[nodiscard]] constexpr instruction bulk_send(variable to, variable from, variable barrier) noexcept {
  return bulk_load(to, from, barrier);
}
/// `cp.async.bulk.global.shared::cta`: copies 16 bytes of shared memory into global memory. The copy belongs to a group of the
/// thread.
[[nodiscard]] constexpr instruction bulk_store(variable to, variable from) noexcept {
  return detail::copy_of(to, from, proxy::async, completion::bulk_group);
}
/// `cp.reduce.async.bulk.global.shared::cta.add`. The reduction belongs to a group of the thread.
[[nodiscard]] constexpr instruction bulk_add(variable to, variable from) noexcept {
  instruction i = bulk_store(to, from);
  i.reduces = true;
  i.what = operation::add;
  return i;
}
/// `cp.async.bulk.tensor.1d.shared::cta.global.tile`: copies 16 bytes from the location to which the tensor map `map` points
/// when the copy reads the map. The map is a variable in global memory that initially holds the address of another variable;
/// set it with `litmus_program::with_initial`.
[[nodiscard]] constexpr instruction tensor_load(variable to, variable map, variable barrier) noexcept {
  instruction i = bulk_load(to, {}, barrier);
  i.source = -1;
  i.source_space = state_space::generic;
  i.tensor_map = map.index;
  return i;
}
/// `st.async`: stores a value in the cluster's shared memory and completes on an mbarrier there.
[[nodiscard]] constexpr instruction async_store(variable to, source value, variable barrier) noexcept {
  instruction i = detail::copy_of(to, {}, proxy::generic, completion::mbarrier);
  i.space = state_space::shared_cluster;
  i.source = -1;
  i.source_space = state_space::generic;
  i.a = value.value;
  i.barrier_at = barrier.index;
  i.completed_bytes = 4;
  return i;
}
/// `red.async.relaxed.cluster.add` on the cluster's shared memory; the operation completes on an mbarrier there.
[[nodiscard]] constexpr instruction async_add(variable to, source value, variable barrier) noexcept {
  instruction i = async_store(to, value, barrier);
  i.scope = thread_scope::cluster;
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
/// `cp.async`: copies global memory into shared memory, through the generic proxy.
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
/// `cp.async.mbarrier.arrive.noinc`: arrives once the copies that the thread started with `async_copy` are complete.
[[nodiscard]] constexpr instruction async_arrive(variable barrier) noexcept {
  instruction i;
  i.code = opcode::async_arrive;
  i.completes = completion::group;
  i.barrier_at = barrier.index;
  return i;
}
/// `fence.proxy.async`: orders ordinary accesses and the accesses of bulk copies with each other, in both directions.
[[nodiscard]] constexpr instruction async_proxy_fence() noexcept {
  instruction i;
  i.code = opcode::proxy_fence;
  i.via = proxy::async;
  return i;
}
/// `fence.proxy.async.{global,shared::cta,shared::cluster}`: applies only to accesses to that state space.
[[nodiscard]] constexpr instruction async_proxy_fence(state_space space) noexcept {
  instruction i = async_proxy_fence();
  i.space = space;
  return i;
}
/// `fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster` or
/// `fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster`: orders ordinary accesses to shared memory
/// before the release with accesses of bulk copies after an acquire.
template <class Order>
  requires order_among<Order, memory_order::acquire, memory_order::release>
[[nodiscard]] constexpr instruction shared_proxy_fence(Order) noexcept {
  instruction i = async_proxy_fence(Order::value == memory_order::release ? state_space::shared : state_space::shared_cluster);
  i.restricted = true;
  i.order = Order::value;
  i.scope = thread_scope::cluster;
  return i;
}
/// `fence.proxy.tensormap::generic.release.scope`: must follow the writes to a tensor map.
template <thread_scope Scope>
[[nodiscard]] constexpr instruction tensor_map_fence(release_t) noexcept {
  instruction i;
  i.code = opcode::proxy_fence;
  i.via = proxy::tensor_map;
  i.restricted = true;
  i.order = memory_order::release;
  i.scope = Scope;
  return i;
}
/// `fence.proxy.tensormap::generic.acquire.scope [map], 128`: must precede the copies that use the map.
template <thread_scope Scope>
[[nodiscard]] constexpr instruction tensor_map_fence(acquire_t, variable map) noexcept {
  instruction i = tensor_map_fence<Scope>(release_t{});
  i.order = memory_order::acquire;
  i.target = map.index;
  return i;
}
/// @}

/// @name Mbarriers
/// @{
/// `mbarrier.init`. If a test has no such instruction, the mbarrier is initialized from the beginning. An operation that is not
/// ordered after the initialization makes the mbarrier undefined: waits on it do not block, and it orders nothing.
[[nodiscard]] constexpr instruction init(variable barrier, int expected) noexcept {
  instruction i = detail::on_mbarrier(opcode::mbarrier_init, barrier, memory_order::relaxed, thread_scope::block);
  i.arrives = false;
  i.arrivals = expected;
  return i;
}
/// `fence.mbarrier_init.release.cluster`: releases only the thread's earlier initializations.
[[nodiscard]] constexpr instruction mbarrier_init_fence() noexcept {
  instruction i;
  i.code = opcode::fence;
  i.restricted = true;
  i.order = memory_order::release;
  i.scope = thread_scope::cluster;
  return i;
}
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
/// `mbarrier.arrive.{relaxed,release}.scope` with a count: several arrivals at once.
template <thread_scope Scope = thread_scope::block, class Order = release_t>
  requires order_among<Order, memory_order::relaxed, memory_order::release>
[[nodiscard]] constexpr instruction arrive_times(variable barrier, int count, Order order = Order{}) noexcept {
  instruction i = arrive<Scope>(barrier, order);
  i.arrivals = count;
  return i;
}
/// `mbarrier.expect_tx.relaxed.scope`: does not arrive.
template <thread_scope Scope = thread_scope::block>
[[nodiscard]] constexpr instruction expect(variable barrier, int bytes) noexcept {
  instruction i = arrive_expect<Scope>(barrier, bytes, membar::relaxed);
  i.arrivals = 0;
  return i;
}
/// `mbarrier.complete_tx.relaxed.scope`: updates the mbarrier like the completion of a copy, but without an order.
template <thread_scope Scope = thread_scope::block>
[[nodiscard]] constexpr instruction complete(variable barrier, int bytes) noexcept {
  instruction i = expect<Scope>(barrier, 0);
  i.completed_bytes = bytes;
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
/// `mbarrier.try_wait.parity.{relaxed,acquire}.scope` in a loop, until the phase with this parity is complete.
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

}  // namespace model
}  // namespace v0_3
}  // namespace membar
