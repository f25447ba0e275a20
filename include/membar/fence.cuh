// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Fences for kernels: the fences of fence.hpp, and fences between ordinary accesses and other proxies.
#pragma once

#include <membar/detail/ptx_spelling.cuh>
#include <membar/fence.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {

/// A proxy: a path to memory other than ordinary loads and stores, or access through another virtual address.
///
/// PTX has no proxy fence for constant memory, textures and surfaces: through these paths, only a later kernel may read what
/// ordinary stores wrote.
enum class proxy {
  alias,                 ///< another virtual address for the same memory
  async,                 ///< asynchronous copies (bulk and tensor) and matrix operations, in every state space
  async_global,          ///< `async`, for accesses to global memory only
  async_shared_block,    ///< `async`, for accesses to the block's own shared memory only
  async_shared_cluster,  ///< `async`, for accesses to shared memory of the cluster only
  tensormap,             ///< reads of a tensor map by tensor copies
};

namespace detail {

// clang-format off
template <proxy Proxy> struct ptx_proxy;
template <> struct ptx_proxy<proxy::alias> { static constexpr char text[] = "alias"; };
template <> struct ptx_proxy<proxy::async> { static constexpr char text[] = "async"; };
template <> struct ptx_proxy<proxy::async_global> { static constexpr char text[] = "async.global"; };
template <> struct ptx_proxy<proxy::async_shared_block> { static constexpr char text[] = "async.shared::cta"; };
template <> struct ptx_proxy<proxy::async_shared_cluster> { static constexpr char text[] = "async.shared::cluster"; };
// clang-format on

/// The state spaces of the restricted fences: an acquire covers the cluster's shared memory, and a release the block's own.
// clang-format off
template <memory_order Order> struct narrowed;
template <> struct narrowed<memory_order::acquire> { static constexpr char text[] = "acquire.sync_restrict::shared::cluster"; };
template <> struct narrowed<memory_order::release> { static constexpr char text[] = "release.sync_restrict::shared::cta"; };
// clang-format on

/// In the device compilation pass, rejects architectures without thread block clusters.
template <bool Needed>
__device__ constexpr void require_hopper_fence() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(!Needed, "membar: this fence requires compute capability 9.0: compile this code only for sm_90 or newer");
#endif
}

/// Checks that the order is acquire or release. Returns whether it is, so that callers can avoid further error messages.
template <class Order>
[[nodiscard]] __device__ constexpr bool require_restricted() noexcept {
  static_assert(order_among<Order, memory_order::acquire, memory_order::release>,
                "membar: a restricted fence must be acquire or release: PTX has no other form");
  require_hopper_fence<order_among<Order, memory_order::acquire, memory_order::release>>();
  return order_among<Order, memory_order::acquire, memory_order::release>;
}

}  // namespace detail

/// Orders the calling thread's ordinary accesses and accesses through `Proxy` with each other, in both directions.
///
/// It does not synchronize on its own: accesses through two proxies are ordered only if this fence is on the synchronization
/// path between them. For example, if ordinary stores write shared memory that a bulk copy reads, `proxy_fence<proxy::async>`
/// must be after the stores and before the barrier that precedes the copy.
///
/// PTX: `fence.proxy.{alias,async,async.global,async.shared::cta,async.shared::cluster}`, one instruction. Requires: compute
/// capability 7.0 for `alias`, and 9.0 for the other proxies. Source: PTX ISA, "membar/fence" and "Proxies".
template <proxy Proxy>
__device__ inline void proxy_fence() noexcept {
  static_assert(
      Proxy != proxy::tensormap,
      "membar: a fence of the tensormap proxy needs a scope and an order: write proxy_fence<proxy::tensormap, Scope>(release)");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(Proxy == proxy::alias,
                "membar: the async proxy requires compute capability 9.0: compile this code only for sm_90 or newer");
#endif
  if constexpr (Proxy != proxy::tensormap) {
    // fence.proxy.kind;  kind: alias (PTX ISA 7.5, sm_70), async and its state spaces (8.0, sm_90)
    asm volatile("fence.proxy.%0;" ::"C"(detail::ptx_proxy<Proxy>::text) : "memory");
  }
}

/// Releases the calling thread's ordinary writes to a tensor map, for tensor copies by the threads in `Scope`.
///
/// Use it for a tensor map as you would use a release fence for data: an atomic store to a flag must follow it. The thread that
/// reads the flag uses `proxy_fence<proxy::tensormap, Scope>(acquire, map)`.
///
/// PTX: `fence.proxy.tensormap::generic.release.{cta,cluster,gpu,sys}`, one instruction.
/// Requires: compute capability 9.0. Source: PTX ISA, "membar/fence".
template <proxy Proxy, thread_scope Scope>
__device__ inline void proxy_fence(release_t) noexcept {
  static_assert(Proxy == proxy::tensormap, "membar: only the tensormap proxy has a release fence: write proxy_fence<Proxy>()");
  detail::require_hopper_fence<Proxy == proxy::tensormap>();
  // fence.proxy.tensormap::generic.release.scope;  PTX ISA 8.3, sm_90
  asm volatile("fence.proxy.tensormap::generic.release.%0;" ::"C"(detail::ptx_scope<Scope>::text) : "memory");
}

/// Acquires the 128-byte tensor map at `map`, which another thread released, for the calling thread's tensor copies.
///
/// PTX: `fence.proxy.tensormap::generic.acquire.{cta,cluster,gpu,sys} [map], 128`, one instruction. Requires: compute
/// capability 9.0; `map` is a generic address in global, constant or parameter memory, aligned to 128 bytes. Source: PTX ISA,
/// "membar/fence".
template <proxy Proxy, thread_scope Scope>
__device__ inline void proxy_fence(acquire_t, const void* map) noexcept {
  static_assert(Proxy == proxy::tensormap, "membar: only the tensormap proxy has an acquire fence: write proxy_fence<Proxy>()");
  detail::require_hopper_fence<Proxy == proxy::tensormap>();
  // fence.proxy.tensormap::generic.acquire.scope [addr], 128;  PTX ISA 8.3, sm_90
  asm volatile("fence.proxy.tensormap::generic.acquire.%1 [%0], 128;" ::"l"(map), "C"(detail::ptx_scope<Scope>::text)
               : "memory");
}

/// Copies the 128-byte tensor map at `from`, in the block's shared memory, to global memory at `to`, and releases it for tensor
/// copies by the threads in `Scope`. A kernel edits a tensor map in shared memory and publishes it with this function. The
/// whole warp must call it together.
///
/// It releases like `proxy_fence<proxy::tensormap, Scope>(release)`: an atomic store to a flag must follow it, and the thread
/// that reads the flag uses `proxy_fence<proxy::tensormap, Scope>(acquire, to)`.
///
/// PTX: `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{cta,cluster,gpu,sys}.sync.aligned [to], [from],
/// 128`, one instruction. Requires: compute capability 9.0 (PTX ISA 8.3); both addresses are aligned to 128 bytes; all 32
/// threads of the warp make the call. Source: PTX ISA, "tensormap.cp_fenceproxy".
template <thread_scope Scope>
__device__ inline void publish_tensor_map(void* to, const void* from) noexcept {
  detail::require_hopper_fence<Scope == Scope>();
  // tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src], 128;  PTX ISA 8.3, sm_90
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.%2.sync.aligned [%0], [%1], 128;" ::"l"(
                   __cvta_generic_to_global(to)),
               "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))), "C"(detail::ptx_scope<Scope>::text)
               : "memory");
}

/// A fence at cluster scope for objects in shared memory only. An acquire applies to objects anywhere in the cluster, and a
/// release to objects of the calling thread's block.
///
/// It orders less than `thread_fence<thread_scope::cluster>`, and is sufficient for barriers in shared memory.
///
/// PTX: `fence.acquire.sync_restrict::shared::cluster.cluster`, `fence.release.sync_restrict::shared::cta.cluster`.
/// Requires: compute capability 9.0 (PTX ISA 8.6). Source: PTX ISA, "membar/fence".
template <class Order>
__device__ inline void shared_fence(Order) noexcept {
  if constexpr (detail::require_restricted<Order>()) {
    // fence.sem.sync_restrict.cluster;  sem: acquire with ::shared::cluster, release with ::shared::cta (PTX ISA 8.6, sm_90)
    asm volatile("fence.%0.cluster;" ::"C"(detail::narrowed<Order::value>::text) : "memory");
  }
}

/// A fence at cluster scope between ordinary accesses and the async proxy, for objects in shared memory only.
///
/// It works in one direction and needs a matching fence: ordinary accesses before a release happen before asynchronous copies
/// after an acquire. The acquire must be executed by a thread of the block that starts the copies. The release applies to the
/// shared memory of the calling thread's block, and the acquire to the shared memory of the cluster. The two fences synchronize
/// through a relaxed flag or a relaxed arrival at cluster scope.
///
/// PTX: `fence.proxy.async::generic.{acquire.sync_restrict::shared::cluster,release.sync_restrict::shared::cta}.cluster`.
/// Requires: compute capability 9.0 (PTX ISA 8.6). Source: PTX ISA, "membar/fence".
template <class Order>
__device__ inline void shared_proxy_fence(Order) noexcept {
  if constexpr (detail::require_restricted<Order>()) {
    // fence.proxy.async::generic.sem.sync_restrict.cluster;  PTX ISA 8.6, sm_90
    asm volatile("fence.proxy.async::generic.%0.cluster;" ::"C"(detail::narrowed<Order::value>::text) : "memory");
  }
}

/// Makes the initialization of barriers in the block's shared memory visible to the cluster. It applies only to
/// `mbarrier.init`.
///
/// PTX: `fence.mbarrier_init.release.cluster`, one instruction. Requires: compute capability 9.0. Source: PTX ISA,
/// "membar/fence".
template <bool Needed = true>
__device__ inline void mbarrier_init_fence() noexcept {
  detail::require_hopper_fence<Needed>();
  // fence.mbarrier_init.release.cluster;  PTX ISA 8.0, sm_90
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

}  // namespace v0_3
}  // namespace membar
