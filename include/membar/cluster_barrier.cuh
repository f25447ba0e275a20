// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The barrier of a thread block cluster, the ranks and the number of its blocks, and access to the blocks' shared memory.
#pragma once

#include <membar/detail/ptx_spelling.cuh>
#include <membar/memory_order.hpp>

namespace membar {
inline namespace v0_3 {

/// Whether all threads of the warp execute the call together.
enum class warp_execution : unsigned char {
  diverged,  ///< the threads may be diverged
  together   ///< `.aligned`: all threads execute the call without divergence; otherwise the behaviour is undefined
};

namespace detail {

/// In the device compilation pass, rejects architectures without thread block clusters.
template <bool Needed>
__device__ constexpr void require_clusters() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(!Needed,
                "membar: thread block clusters require compute capability 9.0: compile this code only for sm_90 or newer");
#endif
}

// clang-format off
template <warp_execution Execution> struct ptx_aligned { static constexpr char text[] = ""; };
template <> struct ptx_aligned<warp_execution::together> { static constexpr char text[] = ".aligned"; };
// clang-format on

struct cluster_arrivals;

}  // namespace detail

/// A thread's arrival at the cluster barrier, to be passed to `cluster_wait`. A thread must wait for each arrival before it
/// arrives again.
class [[nodiscard(
    "an arrival at the cluster barrier must be followed by its wait: call cluster_wait(arrival)")]] cluster_arrival {
 private:
  friend struct detail::cluster_arrivals;
  constexpr cluster_arrival() noexcept = default;
};

namespace detail {
/// Allows only `cluster_arrive` to create an arrival.
struct cluster_arrivals {
  [[nodiscard]] __device__ static constexpr cluster_arrival one() noexcept { return cluster_arrival(); }
};
}  // namespace detail

/// Arrives at the cluster barrier without waiting.
///
/// With `release` it synchronizes with the `cluster_wait` of every thread of the cluster. With `relaxed` it orders nothing on
/// its own, but a preceding `thread_fence<thread_scope::cluster>(release)` synchronizes with these waits.
///
/// PTX: `barrier.cluster.arrive.{relaxed,release}{.aligned}`, one instruction; `.aligned` for `warp_execution::together`.
/// Requires: compute capability 9.0; all threads of the cluster that have not exited must arrive. Source: PTX ISA,
/// "barrier.cluster".
template <warp_execution Execution = warp_execution::diverged, class Order>
__device__ inline cluster_arrival cluster_arrive(Order) noexcept {
  constexpr bool legal = order_among<Order, memory_order::relaxed, memory_order::release>;
  static_assert(legal, "membar: an arrival cannot acquire, because it reads nothing: use relaxed or release");
  detail::require_clusters<legal>();
  if constexpr (legal) {
    // barrier.cluster.arrive.sem{.aligned};  PTX ISA 8.0, sm_90
    asm volatile("barrier.cluster.arrive.%0%1;" ::"C"(detail::ptx_order<Order::value>::text),
                 "C"(detail::ptx_aligned<Execution>::text)
                 : "memory");
  }
  return detail::cluster_arrivals::one();
}

/// Waits until all threads of the cluster have arrived. Synchronizes with every arrival that specified `release`.
///
/// PTX: `barrier.cluster.wait.acquire{.aligned}`, one instruction. Requires: compute capability 9.0. Like a block barrier, it
/// has no time limit: it waits until every thread of the cluster has arrived or exited. Source: PTX ISA, "barrier.cluster".
template <warp_execution Execution = warp_execution::diverged, bool Needed = true>
__device__ inline void cluster_wait(cluster_arrival) noexcept {
  detail::require_clusters<Needed>();
  // barrier.cluster.wait.acquire{.aligned};  PTX ISA 8.0, sm_90
  asm volatile("barrier.cluster.wait.acquire%0;" ::"C"(detail::ptx_aligned<Execution>::text) : "memory");
}

/// Arrives with `release` and waits. Everything that any thread of the cluster did before the call is visible to all threads of
/// the cluster after the call.
///
/// PTX: `barrier.cluster.arrive.release{.aligned}` and `barrier.cluster.wait.acquire{.aligned}`. Requires: the same as
/// `cluster_arrive` and `cluster_wait`.
template <warp_execution Execution = warp_execution::diverged>
__device__ inline void cluster_sync() noexcept {
  cluster_wait<Execution>(cluster_arrive<Execution>(release));
}

/// Returns the rank of the calling thread's block in its cluster, 0 to `cluster_block_count()` - 1.
///
/// PTX: `mov.b32 %cluster_ctarank`. Requires: compute capability 9.0. Source: PTX ISA, "%cluster_ctarank".
template <bool Needed = true>
[[nodiscard]] __device__ inline unsigned cluster_block_rank() noexcept {
  detail::require_clusters<Needed>();
  unsigned rank = 0;
  // mov.b32 r, %cluster_ctarank;  PTX ISA 7.8, sm_90
  asm volatile("mov.b32 %0, %%cluster_ctarank;" : "=r"(rank)::"memory");
  return rank;
}

/// Returns the number of blocks in the calling thread's cluster, which is 1 in a launch without clusters.
///
/// PTX: `mov.b32 %cluster_nctarank`. Requires: compute capability 9.0. Source: PTX ISA, "%cluster_nctarank".
template <bool Needed = true>
[[nodiscard]] __device__ inline unsigned cluster_block_count() noexcept {
  detail::require_clusters<Needed>();
  unsigned count = 0;
  // mov.b32 r, %cluster_nctarank;  PTX ISA 7.8, sm_90
  asm volatile("mov.b32 %0, %%cluster_nctarank;" : "=r"(count)::"memory");
  return count;
}

/// Returns a pointer to the object that corresponds to `*own` in the shared memory of the cluster's block `rank`. Operations on
/// that object that order other accesses require cluster scope: `atomic_ref<T, thread_scope::cluster>(*shared_of_block(&own,
/// rank))`.
///
/// The other block must have started and must not have exited: call `cluster_sync` before the first use and after the last.
///
/// PTX: `mapa.u64`. Requires: compute capability 9.0; `own` is in shared memory, and `rank` is less than
/// `cluster_block_count()`. Source: PTX ISA, "mapa".
template <class T>
[[nodiscard]] __device__ inline T* shared_of_block(T* own, unsigned rank) noexcept {
  detail::require_clusters<sizeof(T*) != 0>();
  T* there = nullptr;
  // mapa.u64 there, here, rank;  PTX ISA 7.8, sm_90
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own), "r"(rank) : "memory");
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  // With this assumption, an atomic operation on the address need not determine its state space.
  __builtin_assume(__isGlobal(there) == 0 && __isClusterShared(there) != 0);
#endif
  return there;
}

}  // namespace v0_3
}  // namespace membar
