// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Fences: order among the calling thread's memory accesses, as threads in a scope observe it. A fence waits for nobody else.
#pragma once

#include <membar/detail/ptx.cuh>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

namespace membar {

/// Orders the calling thread's accesses before it with those after it, for the threads in `Scope`.
///
/// Synchronizes: a release fence followed by a relaxed (or stronger) store synchronizes with an acquire fence that follows a
/// relaxed (or stronger) load of that store's value, or of one that later read-modify-writes made of it, if both fences and both accesses include each other's threads; cumulative:
/// what the releasing thread has observed is released too. All `seq_cst` fences in scope also have one order.
/// At device scope the threads are those of the same physical synchronization domain.
///
/// PTX: `fence.{acquire,release,acq_rel,sc}.{cta,cluster,gpu,sys}`, one instruction.
/// Requires: compute capability 7.0; `thread_scope::cluster` 9.0; acquire or release alone CUDA 12.8 (PTX ISA 8.6), and no
/// other order stands in for them before it. Cost: device scope and wider wait until the domain's earlier writes are visible
/// that far, other threads' included. Source: PTX ISA, "membar/fence" and "Memory Consistency Model".
template <thread_scope Scope, class Order>
__device__ inline void thread_fence(Order) noexcept {
  static_assert(fence_order<Order>,
                "membar: a fence takes acquire, release, acq_rel or seq_cst: a relaxed fence would order nothing");
  detail::require_architecture_of<Scope>();
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1208
  static_assert(Order::value == memory_order::acq_rel || Order::value == memory_order::seq_cst,
                "membar: a fence of acquire or release alone requires CUDA 12.8: use acq_rel");
#endif
  // fence.sem.scope;  sem: acquire, release (PTX ISA 8.6), acq_rel, sc (6.0); scope: cta, gpu, sys (sm_70), cluster (7.8,
  // sm_90)
  asm volatile("fence.%0.%1;" ::"C"(detail::ptx_order<Order::value>::text), "C"(detail::ptx_scope<Scope>::text) : "memory");
}

/// A path to memory other than ordinary loads and stores, or other than the same virtual address.
enum class proxy {
  alias,                 ///< another virtual address of the same memory
  async,                 ///< asynchronous copies (bulk and tensor) and matrix operations, in every state space
  async_global,          ///< `async`, for accesses to global memory only
  async_shared_block,    ///< `async`, for accesses to the own block's shared memory only
  async_shared_cluster,  ///< `async`, for accesses to shared memory of the cluster only
};

namespace detail {

template <proxy Proxy>
struct ptx_proxy;
template <>
struct ptx_proxy<proxy::alias> {
  static constexpr char text[] = "alias";
};
template <>
struct ptx_proxy<proxy::async> {
  static constexpr char text[] = "async";
};
template <>
struct ptx_proxy<proxy::async_global> {
  static constexpr char text[] = "async.global";
};
template <>
struct ptx_proxy<proxy::async_shared_block> {
  static constexpr char text[] = "async.shared::cta";
};
template <>
struct ptx_proxy<proxy::async_shared_cluster> {
  static constexpr char text[] = "async.shared::cluster";
};

}  // namespace detail

/// Orders the calling thread's ordinary accesses with those through `Proxy`, in both directions.
///
/// It synchronizes with nothing by itself: accesses through two proxies are ordered only if this fence stands on the path that
/// orders them. For example, shared memory written by ordinary stores and read by a bulk copy takes `proxy::async` after the
/// stores, before the barrier that precedes the copy.
///
/// PTX: `fence.proxy.{alias,async,async.global,async.shared::cta,async.shared::cluster}`, one instruction.
/// Requires: compute capability 7.0 for `alias`, 9.0 for the others.
/// Source: PTX ISA, "membar/fence" and "Proxies".
template <proxy Proxy>
__device__ inline void proxy_fence() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(Proxy == proxy::alias,
                "membar: the async proxy requires compute capability 9.0: compile this code for sm_90 or newer only");
#endif
  // fence.proxy.kind;  kind: alias (PTX ISA 7.5, sm_70), async and its state spaces (8.0, sm_90)
  asm volatile("fence.proxy.%0;" ::"C"(detail::ptx_proxy<Proxy>::text) : "memory");
}

}  // namespace membar
