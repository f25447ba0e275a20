// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Thread fences, on the device and on the host. A fence orders a thread's memory accesses, as threads in a scope observe them.
/// It does not wait for other threads.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/compilation.hpp>
#include <membar/detail/host_order.hpp>
#include <membar/detail/standard.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#if defined(__CUDACC__)
#include <membar/detail/ptx_spelling.cuh>
#endif

namespace membar {
inline namespace v0_3 {
namespace detail {

#if defined(__CUDACC__)
template <thread_scope Scope, memory_order Order>
__device__ inline void device_fence() noexcept {
  require_architecture_of<Scope>();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  // ptxas 13.0 does not reject a one-directional fence here, but emits 16 zero bytes instead.
  constexpr memory_order own = Order == memory_order::seq_cst ? Order : memory_order::acq_rel;
#else
  constexpr memory_order own = Order;
#endif
  // fence.sem.scope;  sem: acquire, release (PTX ISA 8.6, sm_90), acq_rel, sc (6.0); scope: cta, gpu, sys (sm_70), cluster
  // (7.8, sm_90)
  asm volatile("fence.%0.%1;" ::"C"(ptx_order<own>::text), "C"(ptx_scope<Scope>::text) : "memory");
}
#else
template <thread_scope Scope, memory_order Order>
void device_fence() noexcept;
#endif

}  // namespace detail

/// Orders the calling thread's accesses before the fence with those after it, for the threads in `Scope`.
///
/// Synchronizes: a release fence followed by a relaxed (or stronger) store synchronizes with an acquire fence that follows a
/// relaxed (or stronger) load of that store's value, or of a value in the chain of read-modify-writes after it, if the scopes
/// of both fences and both accesses include each other's threads. Release is cumulative: accesses that the releasing thread has
/// observed are also released. In addition, all `seq_cst` fences in scope occur in a single order. Device scope includes the
/// threads of one physical synchronization domain.
///
/// PTX: `fence.{acquire,release,acq_rel,sc}.{cta,cluster,gpu,sys}`, one instruction; `acquire` and `release` are `acq_rel`
/// before sm_90. On the host, a fence at any scope is `__atomic_thread_fence`, in the host's memory model. Requires: compute
/// capability 7.0, or 9.0 for `thread_scope::cluster`. Cost: at device scope and wider, the fence waits until all earlier
/// writes of the domain, including those of other threads, are visible at that scope. Source: PTX ISA, "membar/fence" and
/// "Memory Consistency Model".
template <thread_scope Scope = detail::missing_scope, class Order = detail::missing_order>
MEMBAR_HOST_DEVICE inline void thread_fence(Order = {}) noexcept {
  detail::require_scope<Scope>();
  static_assert(!std::is_same_v<Order, detail::missing_order>,
                "membar: a fence needs an order: pass acquire, release, acq_rel or seq_cst");
  static_assert(fence_order<Order> || std::is_same_v<Order, detail::missing_order>,
                "membar: a relaxed fence would order nothing: use acquire, release, acq_rel or seq_cst");
  if constexpr (Scope == detail::missing_scope || !fence_order<Order>) {
    // The static_assert above rejects this case.
  } else if constexpr (detail::compiling_for_device) {
    detail::device_fence<Scope, Order::value>();
  } else {
    detail::host_fence<Order::value>();
  }
}

}  // namespace v0_3
}  // namespace membar
