// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Bulk copies between global and shared memory. One thread starts a copy, and the hardware performs it while the program
/// continues.
///
/// A copy's return type indicates how to detect its completion. A copy into shared memory completes on an mbarrier and returns
/// the number of bytes that a phase must expect. A copy out of shared memory belongs to a group of its thread and returns an
/// object that must be committed.
///
/// A bulk copy accesses memory through the async proxy and is not performed in program order:
///
/// * Ordinary stores are ordered before a copy that reads their data only if a `proxy_fence<proxy::async>` (fence.cuh) is
///   between them, in the block that starts the copy. Either each storing thread executes the fence before a barrier, or the
///   copying thread executes it after it has acquired a flag.
/// * Likewise, ordinary loads are ordered before a copy that overwrites their data only if such a fence is between them.
/// * The data that a copy writes is visible, without a fence, to a thread that has waited for the copy: on the mbarrier with
///   `acquire`, or with `bulk_wait` in the thread that committed it.
/// * The source of a copy out of shared memory may be overwritten after `bulk_wait_read`, by the thread that committed the copy
///   and by the threads with which it then synchronizes.
///
/// A copy from or to global memory takes an optional `l2_policy` (cache_hint.cuh) as its last argument (`.L2::cache_hint`).
///
/// For every call, addresses and sizes must be multiples of 16, and the size must be at least 16. Source: PTX ISA,
/// "cp.async.bulk", "Async Proxy".
#pragma once

#include <membar/cache_hint.cuh>
#include <membar/detail/asynchronous.cuh>
#include <membar/detail/ptx_spelling.cuh>
#include <membar/detail/standard.hpp>
#include <membar/mbarrier.cuh>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {

namespace detail {

/// In the device compilation pass, rejects architectures without bulk copies.
template <bool Needed>
__device__ constexpr void require_bulk_copies() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(!Needed, "membar: a bulk copy requires compute capability 9.0: compile this code only for sm_90 or newer");
#endif
}

/// In the device compilation pass, rejects architectures without the bulk-copy features of compute capability 10.0.
template <bool Needed>
__device__ constexpr void require_masked_copies() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
  static_assert(
      !Needed,
      "membar: a bulk copy with a byte mask requires compute capability 10.0: compile this code only for sm_100 or newer");
#endif
}

}  // namespace detail

/// Copies `bytes` bytes from global memory at `from` into the block's shared memory at `to`. The copy completes on `barrier`,
/// an mbarrier of the block: a wait that acquires the phase sees the bytes.
///
/// PTX: `cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [to], [from], bytes, [barrier]`, one instruction.
/// Requires: compute capability 9.0 (PTX ISA 8.6). A proxy fence is needed after ordinary accesses to `to` and after ordinary
/// stores to `from`.
template <thread_scope Scope>
__device__ inline transaction_bytes bulk_load(void* to, const void* from, unsigned bytes, mbarrier<Scope>& barrier) noexcept {
  detail::require_bulk_copies<Scope == Scope>();
  // cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [dst], [src], size, [mbar];  PTX ISA 8.6, sm_90
  asm volatile(
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(detail::shared_address(to)),
      "l"(detail::global_address(from)), "r"(bytes), "r"(barrier.address())
      : "memory");
  return detail::copy_results::bytes(bytes);
}
/// Like `bulk_load`, with an L2 policy.
///
/// PTX: `cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [to], [from], bytes, [barrier], policy`.
template <thread_scope Scope>
__device__ inline transaction_bytes bulk_load(void* to, const void* from, unsigned bytes, mbarrier<Scope>& barrier,
                                              l2_policy policy) noexcept {
  detail::require_bulk_copies<Scope == Scope>();
  // cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [dst], [src], size, [mbar], cache-policy;
  // PTX ISA 8.6, sm_90
  asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(
                   detail::shared_address(to)),
               "l"(detail::global_address(from)), "r"(bytes), "r"(barrier.address()), "l"(policy.bits())
               : "memory");
  return detail::copy_results::bytes(bytes);
}

/// Like `bulk_load`, but copies into the same location in each block in the cluster whose bit is set in `blocks`. In each of
/// these blocks, the copy completes on the mbarrier that corresponds to `barrier`, and a phase of that mbarrier must expect the
/// bytes.
///
/// PTX: `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster`, one instruction. ptxas
/// recommends compiling for sm_90a, because the instruction may be slow on other targets. Requires: compute capability 9.0.
template <bool Needed = true>
__device__ inline transaction_bytes bulk_load_multicast(void* to, const void* from, unsigned bytes,
                                                        mbarrier<thread_scope::cluster>& barrier,
                                                        std::uint16_t blocks) noexcept {
  detail::require_bulk_copies<Needed>();
  // cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [dst], [src], size, [mbar], ctaMask;
  // PTX ISA 8.0, sm_90
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
          detail::shared_address(to)),
      "l"(detail::global_address(from)), "r"(bytes), "r"(barrier.address()), "h"(blocks)
      : "memory");
  return detail::copy_results::bytes(bytes);
}
/// Like `bulk_load_multicast`, with an L2 policy. PTX: the same with `.L2::cache_hint` and `policy`.
template <bool Needed = true>
__device__ inline transaction_bytes bulk_load_multicast(void* to, const void* from, unsigned bytes,
                                                        mbarrier<thread_scope::cluster>& barrier, std::uint16_t blocks,
                                                        l2_policy policy) noexcept {
  detail::require_bulk_copies<Needed>();
  // cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [dst], [src], size, [mbar],
  // ctaMask, cache-policy;  PTX ISA 8.0, sm_90
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%0], [%1], %2, "
      "[%3], %4, %5;" ::"r"(detail::shared_address(to)),
      "l"(detail::global_address(from)), "r"(bytes), "r"(barrier.address()), "h"(blocks), "l"(policy.bits())
      : "memory");
  return detail::copy_results::bytes(bytes);
}

/// Copies `bytes` bytes of the block's shared memory at `from` to the location that corresponds to `to` in block `rank` of the
/// cluster. The copy completes on the mbarrier that corresponds to `barrier` in that block, and a phase of that mbarrier must
/// expect the bytes.
///
/// PTX: `mapa.shared::cluster.u32` for `to` and for `barrier`, then `cp.async.bulk.shared::cluster.shared::cta.mbarrier::...`.
/// Requires: compute capability 9.0; the other block is running. A proxy fence is needed after ordinary stores to `from` and
/// after ordinary accesses to the destination in the other block.
template <bool Needed = true>
__device__ inline transaction_bytes bulk_send(void* to, unsigned rank, const void* from, unsigned bytes,
                                              mbarrier<thread_scope::cluster>& barrier) noexcept {
  detail::require_bulk_copies<Needed>();
  const unsigned there = detail::cluster_address(detail::shared_address(to), rank);
  const unsigned completes = detail::cluster_address(barrier.address(), rank);
  // cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [dst], [src], size, [mbar];  PTX ISA 8.0, sm_90
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(there),
               "r"(detail::shared_address(from)), "r"(bytes), "r"(completes)
               : "memory");
  return detail::copy_results::bytes(bytes);
}

/// Copies `bytes` bytes of the block's shared memory at `from` to global memory at `to`. The copy belongs to a group of the
/// calling thread.
///
/// PTX: `cp.async.bulk.global.shared::cta.bulk_group [to], [from], bytes`, one instruction. Requires: compute capability 9.0. A
/// proxy fence is needed after ordinary stores to `from` and after ordinary accesses to `to`.
template <bool Needed = true>
__device__ inline uncommitted_copies bulk_store(void* to, const void* from, unsigned bytes) noexcept {
  detail::require_bulk_copies<Needed>();
  // cp.async.bulk.global.shared::cta.bulk_group [dst], [src], size;  PTX ISA 8.0, sm_90
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(detail::global_address(to)),
               "r"(detail::shared_address(from)), "r"(bytes)
               : "memory");
  return detail::copy_results::copies();
}
/// Like `bulk_store`, with an L2 policy. PTX: `cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [to], [from], bytes,
/// policy`.
template <bool Needed = true>
__device__ inline uncommitted_copies bulk_store(void* to, const void* from, unsigned bytes, l2_policy policy) noexcept {
  detail::require_bulk_copies<Needed>();
  // cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [dst], [src], size, cache-policy;  PTX ISA 8.0, sm_90
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(detail::global_address(to)),
      "r"(detail::shared_address(from)), "r"(bytes), "l"(policy.bits())
      : "memory");
  return detail::copy_results::copies();
}

/// Like `bulk_store`, but copies only some of the bytes in each group of 16: bit i of `mask` selects byte i. The other bytes of
/// `to` are not written.
///
/// PTX: `cp.async.bulk.global.shared::cta.bulk_group.cp_mask [to], [from], bytes, mask`, one instruction. Requires: compute
/// capability 10.0 (PTX ISA 8.6).
template <bool Needed = true>
__device__ inline uncommitted_copies bulk_store_masked(void* to, const void* from, unsigned bytes,
                                                       std::uint16_t mask) noexcept {
  detail::require_masked_copies<Needed>();
  // cp.async.bulk.global.shared::cta.bulk_group.cp_mask [dst], [src], size, byteMask;  PTX ISA 8.6, sm_100
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%0], [%1], %2, %3;" ::"l"(detail::global_address(to)),
               "r"(detail::shared_address(from)), "r"(bytes), "h"(mask)
               : "memory");
  return detail::copy_results::copies();
}
/// Like `bulk_store_masked`, with an L2 policy. PTX: the same with `.L2::cache_hint.cp_mask` and `policy` before the mask.
template <bool Needed = true>
__device__ inline uncommitted_copies bulk_store_masked(void* to, const void* from, unsigned bytes, std::uint16_t mask,
                                                       l2_policy policy) noexcept {
  detail::require_masked_copies<Needed>();
  // cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [dst], [src], size, cache-policy, byteMask;
  // PTX ISA 8.6, sm_100
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [%0], [%1], %2, %3, %4;" ::"l"(
                   detail::global_address(to)),
               "r"(detail::shared_address(from)), "r"(bytes), "l"(policy.bits()), "h"(mask)
               : "memory");
  return detail::copy_results::copies();
}

namespace detail {

// clang-format off
// The types that each kind of operation supports: PTX has no other combinations.
template <async_operation Operation, class T> struct ptx_bulk_type { static constexpr char text[] = ""; };
template <async_operation O> requires(O <= async_operation::max)
struct ptx_bulk_type<O, std::int32_t> { static constexpr char text[] = "s32"; };
template <async_operation O> requires(O <= async_operation::dec)
struct ptx_bulk_type<O, std::uint32_t> { static constexpr char text[] = "u32"; };
template <async_operation O> requires(O <= async_operation::max)
struct ptx_bulk_type<O, unsigned long long> { static constexpr char text[] = "u64"; };
template <async_operation O> requires(O == async_operation::min || O == async_operation::max)
struct ptx_bulk_type<O, long long> { static constexpr char text[] = "s64"; };
// signed and unsigned addition wrap around in the same way
template <> struct ptx_bulk_type<async_operation::add, long long> { static constexpr char text[] = "u64"; };
template <> struct ptx_bulk_type<async_operation::add, float> { static constexpr char text[] = "f32"; };
template <> struct ptx_bulk_type<async_operation::add, double> { static constexpr char text[] = "f64"; };
template <> struct ptx_bulk_type<async_operation::add, __half> { static constexpr char text[] = "noftz.f16"; };
template <> struct ptx_bulk_type<async_operation::min, __half> { static constexpr char text[] = "f16"; };
template <> struct ptx_bulk_type<async_operation::max, __half> { static constexpr char text[] = "f16"; };
template <> struct ptx_bulk_type<async_operation::add, __nv_bfloat16> { static constexpr char text[] = "noftz.bf16"; };
template <> struct ptx_bulk_type<async_operation::min, __nv_bfloat16> { static constexpr char text[] = "bf16"; };
template <> struct ptx_bulk_type<async_operation::max, __nv_bfloat16> { static constexpr char text[] = "bf16"; };
template <async_operation O> requires(O >= async_operation::bitwise_and)
struct ptx_bulk_type<O, std::uint32_t> { static constexpr char text[] = "b32"; };
template <async_operation O> requires(O >= async_operation::bitwise_and)
struct ptx_bulk_type<O, unsigned long long> { static constexpr char text[] = "b64"; };
// clang-format on

/// Checks that bulk reductions support the operation for the type. Returns whether they do, so that callers can avoid further
/// error messages.
template <auto Operation, class T>
[[nodiscard]] __device__ constexpr bool require_bulk_reduction() noexcept {
  static_assert(std::is_same_v<decltype(Operation), async_operation>,
                "membar: the operation of bulk_reduce must be an async_operation");
  constexpr bool legal = sizeof(ptx_bulk_type<Operation, typename element_of<T>::type>::text) > 1;
  static_assert(
      legal,
      "membar: bulk reductions do not support this operation on this type: see the list in the documentation of bulk_copy.cuh");
  require_bulk_copies<legal>();
  return legal;
}

}  // namespace detail

/// Combines `bytes` bytes of the block's shared memory at `from` into global memory at `to`, element by element. The reduction
/// belongs to a group of the calling thread. Each element is updated by a relaxed atomic operation at device scope. The update
/// is atomic only with respect to other bulk copies, because an ordinary atomic operation on the same memory uses a different
/// proxy.
///
/// `T` must be a 32-bit unsigned integer (all operations), a 64-bit unsigned integer (all but inc and dec), a 32-bit or 64-bit
/// signed integer (add, min, max), `float` or `double` (add), or `__half`, `__nv_bfloat16` or a pair of either (min, max, and
/// add, which keeps subnormal numbers).
///
/// PTX: `cp.reduce.async.bulk.global.shared::cta.bulk_group.OP.T [to], [from], bytes`, one instruction. Requires: compute
/// capability 9.0. A proxy fence is needed in the same places as for `bulk_store`. Source: PTX ISA, "cp.reduce.async.bulk".
template <auto Operation, class T>
__device__ inline uncommitted_copies bulk_reduce(T* to, const T* from, unsigned bytes) noexcept {
  if constexpr (detail::require_bulk_reduction<Operation, T>()) {
    // cp.reduce.async.bulk.global.shared::cta.bulk_group.op.type [dst], [src], size;  PTX ISA 8.0, sm_90
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.%3.%4 [%0], [%1], %2;" ::"l"(detail::global_address(to)),
                 "r"(detail::shared_address(from)), "r"(bytes), "C"(detail::ptx_async_operation<Operation>::text),
                 "C"(detail::ptx_bulk_type<Operation, typename detail::element_of<T>::type>::text)
                 : "memory");
  }
  return detail::copy_results::copies();
}
/// Like `bulk_reduce`, with an L2 policy.
///
/// PTX: `cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.OP.T [to], [from], bytes, policy`.
template <auto Operation, class T>
__device__ inline uncommitted_copies bulk_reduce(T* to, const T* from, unsigned bytes, l2_policy policy) noexcept {
  if constexpr (detail::require_bulk_reduction<Operation, T>()) {
    // cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.op.type [dst], [src], size, cache-policy;  PTX ISA 8.0, sm_90
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.%4.%5 [%0], [%1], %2, %3;" ::"l"(
                     detail::global_address(to)),
                 "r"(detail::shared_address(from)), "r"(bytes), "l"(policy.bits()),
                 "C"(detail::ptx_async_operation<Operation>::text),
                 "C"(detail::ptx_bulk_type<Operation, typename detail::element_of<T>::type>::text)
                 : "memory");
  }
  return detail::copy_results::copies();
}

/// Commits all of the thread's copies that are not yet in a group to a new group, which `bulk_wait` can wait for.
///
/// PTX: `cp.async.bulk.commit_group`, one instruction. Requires: compute capability 9.0.
template <bool Needed = true>
__device__ inline void bulk_commit(uncommitted_copies) noexcept {
  detail::require_bulk_copies<Needed>();
  // cp.async.bulk.commit_group;  PTX ISA 8.0, sm_90
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until at most the newest `Pending` groups of the thread are incomplete. The data of the completed groups is then
/// visible to the thread without a proxy fence, and their sources may be overwritten.
///
/// PTX: `cp.async.bulk.wait_group Pending`, one instruction. Requires: compute capability 9.0. The wait has no time limit.
template <int Pending = 0>
__device__ inline void bulk_wait() noexcept {
  static_assert(Pending >= 0, "membar: the number of pending groups cannot be negative");
  detail::require_bulk_copies<Pending >= 0>();
  // cp.async.bulk.wait_group N;  PTX ISA 8.0, sm_90
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
}

/// Waits until the sources of all of the thread's groups except the newest `Pending` have been read, so that they may be
/// overwritten. The data that these copies write may not be visible to any thread yet.
///
/// In a ring of stages, copies out of a stage may be pending while other stages are filled. The copy out of the stage that is
/// filled next must not be in one of the newest `Pending` groups.
///
/// PTX: `cp.async.bulk.wait_group.read Pending`, one instruction. Requires: compute capability 9.0. The wait has no time limit.
template <int Pending = 0>
__device__ inline void bulk_wait_read() noexcept {
  static_assert(Pending >= 0, "membar: the number of pending groups cannot be negative");
  detail::require_bulk_copies<Pending >= 0>();
  // cp.async.bulk.wait_group.read N;  PTX ISA 8.0, sm_90
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

}  // namespace v0_3
}  // namespace membar
