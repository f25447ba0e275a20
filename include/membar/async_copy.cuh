// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Small asynchronous operations: each thread copies a few bytes of global memory into shared memory (compute capability 8.0 or
/// later), or writes a value into the shared memory of another block in the cluster (9.0 or later).
///
/// Each call's return type indicates how to detect its completion. A copy must be committed to a group or arrive at an
/// mbarrier. A remote store returns the number of bytes that a phase of the other block's mbarrier must expect. A store or
/// reduction that releases (`async_store_release`, compute capability 10.0 or later) writes to global memory, and only a thread
/// that reads its value can detect its completion.
///
/// These operations access memory through the generic proxy, like ordinary loads and stores, so they need no proxy fence.
/// However, they are not performed in program order:
///
/// * They are ordered after everything that precedes their call in the thread. They are not ordered with anything that follows
///   the call.
/// * The data that a copy writes is visible to a thread that has waited for the copy: with `async_wait` in the thread that
///   committed it, or with `acquire` on the mbarrier in any thread.
/// * A completion orders only its own operation: waiting for an `async_store` does not order earlier ordinary stores.
///
/// Source: PTX ISA, "cp.async", "cp.async.mbarrier.arrive", "st.async", "red.async", "Asynchronous Operations".
#pragma once

#include <membar/cache_hint.cuh>
#include <membar/detail/asynchronous.cuh>
#include <membar/detail/ld_st_instructions.cuh>
#include <membar/detail/load_store_arguments.cuh>
#include <membar/detail/standard.hpp>
#include <membar/mbarrier.cuh>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {

/// Selects the caches that `async_copy` fills: all levels, or only L2, which requires a 16-byte type.
enum class async_caching : unsigned char { all_levels, l2_only };

namespace detail {

/// In the device compilation pass, rejects architectures without `cp.async`.
template <bool Needed>
__device__ constexpr void require_async_copies() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  static_assert(!Needed,
                "membar: an asynchronous copy requires compute capability 8.0: compile this code only for sm_80 or newer");
#endif
}

/// In the device compilation pass, rejects architectures without `st.async` and `red.async`.
template <bool Needed>
__device__ constexpr void require_remote_async() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(
      !Needed,
      "membar: an asynchronous store or reduction requires compute capability 9.0: compile this code only for sm_90 or newer");
#endif
}

/// In the device compilation pass, rejects architectures without `st.async` and `red.async` to global memory.
template <bool Needed>
__device__ constexpr void require_async_release() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
  static_assert(!Needed,
                "membar: an asynchronous store or reduction with release order requires compute capability 10.0: compile this "
                "code only for sm_100 or newer");
#endif
}

// clang-format off
template <class Order> struct ptx_async_release { static constexpr char text[] = ""; };
template <> struct ptx_async_release<release_t> { static constexpr char text[] = "release"; };
template <> struct ptx_async_release<mmio_t> { static constexpr char text[] = "mmio.release"; };

template <async_caching Caching> struct ptx_async_caching;
template <> struct ptx_async_caching<async_caching::all_levels> { static constexpr char text[] = "ca"; };
template <> struct ptx_async_caching<async_caching::l2_only> { static constexpr char text[] = "cg"; };

// The types that each kind of remote reduction supports: PTX has no other combinations.
template <async_operation Operation, class T> struct ptx_remote_type { static constexpr char text[] = ""; };
template <async_operation O> requires(O <= async_operation::max)
struct ptx_remote_type<O, std::int32_t> { static constexpr char text[] = "s32"; };
template <async_operation O> requires(O <= async_operation::dec)
struct ptx_remote_type<O, std::uint32_t> { static constexpr char text[] = "u32"; };
template <async_operation O> requires(O >= async_operation::bitwise_and)
struct ptx_remote_type<O, std::uint32_t> { static constexpr char text[] = "b32"; };
template <> struct ptx_remote_type<async_operation::add, unsigned long long> { static constexpr char text[] = "u64"; };
// signed and unsigned addition wrap around in the same way
template <> struct ptx_remote_type<async_operation::add, long long> { static constexpr char text[] = "u64"; };
// clang-format on

/// Checks that a single `cp.async` can copy a `T`. Returns whether it can, so that callers can avoid further error messages.
template <class T, async_caching Caching>
[[nodiscard]] __device__ constexpr bool require_copyable() noexcept {
  constexpr bool whole = (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) && alignof(T) >= sizeof(T) && is_bytes<T>;
  static_assert(whole,
                "membar: an asynchronous copy needs a trivially copyable type of 4, 8 or 16 bytes that is aligned to its size");
  constexpr bool legal = Caching == async_caching::all_levels || sizeof(T) == 16;
  static_assert(
      !whole || legal,
      "membar: an asynchronous copy that bypasses L1 needs a 16-byte type: use async_caching::all_levels for other sizes");
  require_async_copies<whole && legal>();
  return whole && legal;
}

}  // namespace detail

/// Starts copying the object at `from` in global memory to `to` in the block's shared memory.
///
/// The copy is ordered after everything that precedes the call in the thread. It does not synchronize with anything on its own:
/// use a group (`async_commit`, `async_wait`) or an mbarrier (`async_arrive`) to wait for it.
///
/// PTX: `cp.async.{ca,cg}.shared::cta.global [to], [from], sizeof(T)`, one instruction. Requires: compute capability 8.0; a
/// trivially copyable `T` of 4, 8 or 16 bytes, aligned to its size; 16 bytes for `async_caching::l2_only`. Source: PTX ISA,
/// "cp.async".
template <async_caching Caching = async_caching::all_levels, class T>
__device__ inline started_copies async_copy(T* to, const T* from) noexcept {
  if constexpr (detail::require_copyable<T, Caching>()) {
    // cp.async.{ca,cg}.shared::cta.global [dst], [src], cp-size;  PTX ISA 7.0, sm_80
    asm volatile("cp.async.%2.shared::cta.global [%0], [%1], %3;" ::"r"(detail::shared_address(to)),
                 "l"(detail::global_address(from)), "C"(detail::ptx_async_caching<Caching>::text), "n"(sizeof(T))
                 : "memory");
  }
  return detail::copy_results::started();
}
/// Like `async_copy`, with an L2 policy. PTX: `cp.async.{ca,cg}.shared::cta.global.L2::cache_hint [to], [from], sizeof(T),
/// policy`.
template <async_caching Caching = async_caching::all_levels, class T>
__device__ inline started_copies async_copy(T* to, const T* from, l2_policy policy) noexcept {
  if constexpr (detail::require_copyable<T, Caching>()) {
    // cp.async.{ca,cg}.shared::cta.global.L2::cache_hint [dst], [src], cp-size, cache-policy;  PTX ISA 7.4, sm_80
    asm volatile("cp.async.%3.shared::cta.global.L2::cache_hint [%0], [%1], %4, %2;" ::"r"(detail::shared_address(to)),
                 "l"(detail::global_address(from)), "l"(policy.bits()), "C"(detail::ptx_async_caching<Caching>::text),
                 "n"(sizeof(T))
                 : "memory");
  }
  return detail::copy_results::started();
}

/// Like `async_copy`, but copies only the first `there` bytes of the object (0 to `sizeof(T)`). The rest of `*to` becomes zero,
/// and the rest of `*from` is not read. Use 0 for an element past the end of its array.
///
/// PTX: `cp.async.{ca,cg}.shared::cta.global [to], [from], sizeof(T), there`, one instruction. Requires: the same as
/// `async_copy`.
template <async_caching Caching = async_caching::all_levels, class T>
__device__ inline started_copies async_copy_first(T* to, const T* from, unsigned there) noexcept {
  if constexpr (detail::require_copyable<T, Caching>()) {
    // cp.async.{ca,cg}.shared::cta.global [dst], [src], cp-size, src-size;  PTX ISA 7.0, sm_80
    asm volatile("cp.async.%3.shared::cta.global [%0], [%1], %4, %2;" ::"r"(detail::shared_address(to)),
                 "l"(detail::global_address(from)), "r"(there), "C"(detail::ptx_async_caching<Caching>::text), "n"(sizeof(T))
                 : "memory");
  }
  return detail::copy_results::started();
}
/// Like `async_copy_first`, with an L2 policy. PTX: the same with `.L2::cache_hint` and `policy`.
template <async_caching Caching = async_caching::all_levels, class T>
__device__ inline started_copies async_copy_first(T* to, const T* from, unsigned there, l2_policy policy) noexcept {
  if constexpr (detail::require_copyable<T, Caching>()) {
    // cp.async.{ca,cg}.shared::cta.global.L2::cache_hint [dst], [src], cp-size, src-size, cache-policy;  PTX ISA 7.4, sm_80
    asm volatile("cp.async.%4.shared::cta.global.L2::cache_hint [%0], [%1], %5, %2, %3;" ::"r"(detail::shared_address(to)),
                 "l"(detail::global_address(from)), "r"(there), "l"(policy.bits()),
                 "C"(detail::ptx_async_caching<Caching>::text), "n"(sizeof(T))
                 : "memory");
  }
  return detail::copy_results::started();
}

/// Commits all of the thread's copies that are not yet in a group to a new group, which `async_wait` can wait for.
///
/// PTX: `cp.async.commit_group`, one instruction. Requires: compute capability 8.0.
template <bool Needed = true>
__device__ inline void async_commit(started_copies) noexcept {
  detail::require_async_copies<Needed>();
  // cp.async.commit_group;  PTX ISA 7.0, sm_80
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most the newest `Pending` groups of the thread are incomplete. The data of the completed groups is then
/// visible to this thread, and to other threads of the block after a barrier.
///
/// This function does not wait for bulk copies, and `bulk_wait` does not wait for these copies.
///
/// PTX: `cp.async.wait_group Pending`, one instruction. Requires: compute capability 8.0. The wait has no time limit.
template <int Pending = 0>
__device__ inline void async_wait() noexcept {
  static_assert(Pending >= 0, "membar: the number of pending groups cannot be negative");
  detail::require_async_copies<Pending >= 0>();
  // cp.async.wait_group N;  PTX ISA 7.0, sm_80
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

/// Arrives once at `barrier`, an mbarrier of the block, when all copies that the thread started before the call are complete.
/// This counts as one of the arrivals that a phase expects: if each thread calls it once, use `init(threads)`.
///
/// A wait that acquires the phase sees the data of the copies. This arrival does not order anything else that the thread did.
/// To order ordinary stores, call `arrive(release)` afterwards.
///
/// PTX: `cp.async.mbarrier.arrive.noinc.shared::cta.b64 [barrier]`, one instruction. Requires: compute capability 8.0. Source:
/// PTX ISA, "cp.async.mbarrier.arrive".
template <thread_scope Scope>
__device__ inline void async_arrive(started_copies, mbarrier<Scope>& barrier) noexcept {
  detail::require_async_copies<Scope == Scope>();
  // cp.async.mbarrier.arrive.noinc.shared::cta.b64 [addr];  PTX ISA 7.0, sm_80
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier.address()) : "memory");
}

/// Like `async_arrive`, but the phase expects one more arrival, which occurs when the copies are complete. The same thread must
/// also arrive after the call; otherwise the phase might complete before the call.
///
/// PTX: `cp.async.mbarrier.arrive.shared::cta.b64 [barrier]`, one instruction. Requires: compute capability 8.0. Source: PTX
/// ISA, "cp.async.mbarrier.arrive".
template <thread_scope Scope>
__device__ inline void async_arrive_beside(started_copies, mbarrier<Scope>& barrier) noexcept {
  detail::require_async_copies<Scope == Scope>();
  // cp.async.mbarrier.arrive.shared::cta.b64 [addr];  PTX ISA 7.0, sm_80
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(barrier.address()) : "memory");
}

/// Stores `value` to the location that corresponds to `to` in the shared memory of block `rank` in the cluster. The store
/// completes on the mbarrier that corresponds to `barrier` in that block. A phase of that mbarrier must expect the bytes, and a
/// wait that acquires the phase sees the value.
///
/// This is a weak store. Its completion releases only this store, at cluster scope, and does not release earlier stores of the
/// thread.
///
/// PTX: `mapa.shared::cluster.u32` for `to` and for `barrier`, then
/// `st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.{b32,b64,v4.b32}`. Requires: compute capability 9.0; the other
/// block is running; a trivially copyable `T` of 4, 8 or 16 bytes, aligned to its size. Source: PTX ISA, "st.async".
template <class T>
__device__ inline transaction_bytes async_store(T* to, unsigned rank, const std::type_identity_t<T>& value,
                                                mbarrier<thread_scope::cluster>& barrier) noexcept {
  constexpr bool legal =
      (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) && alignof(T) >= sizeof(T) && detail::is_bytes<T>;
  static_assert(
      legal, "membar: an asynchronous store needs a trivially copyable type of 4, 8 or 16 bytes that is aligned to its size");
  detail::require_remote_async<legal>();
  if constexpr (legal) {
    const unsigned there = detail::cluster_address(detail::shared_address(to), rank);
    const unsigned completes = detail::cluster_address(barrier.address(), rank);
    if constexpr (sizeof(T) == 4) {
      // st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [a], b, [mbar];  PTX ISA 8.1, sm_90
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(there),
                   "r"(detail::bits_as<unsigned>(value)), "r"(completes)
                   : "memory");
    } else if constexpr (sizeof(T) == 8) {
      // st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [a], b, [mbar];  PTX ISA 8.1, sm_90
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(there),
                   "l"(detail::bits_as<unsigned long long>(value)), "r"(completes)
                   : "memory");
    } else {
      const auto words = detail::bits_as<detail::registers<16>>(value);
      // st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [a], {b, c, d, e}, [mbar];  PTX ISA 8.1, sm_90
      asm volatile(
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(there),
          "r"(words.words[0]), "r"(words.words[1]), "r"(words.words[2]), "r"(words.words[3]), "r"(completes)
          : "memory");
    }
  }
  return detail::copy_results::bytes(sizeof(T));
}

/// Applies `value` to the object that corresponds to `to` in the shared memory of block `rank` in the cluster, with a relaxed
/// atomic operation at cluster scope. The update completes in the same way as an `async_store`.
///
/// `T` must be a 32-bit unsigned integer (all operations), a 32-bit signed integer (add, min, max), or a 64-bit integer (add).
///
/// PTX: `mapa.shared::cluster.u32` for `to` and for `barrier`, then
/// `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.OP.T`. Requires: compute capability 9.0; the other
/// block is running. Source: PTX ISA, "red.async".
template <async_operation Operation, class T>
__device__ inline transaction_bytes async_reduce(T* to, unsigned rank, std::type_identity_t<T> value,
                                                 mbarrier<thread_scope::cluster>& barrier) noexcept {
  using element = typename detail::element_of<T>::type;
  constexpr bool legal = sizeof(detail::ptx_remote_type<Operation, element>::text) > 1;
  static_assert(legal,
                "membar: asynchronous reductions do not support this operation on this type: see the list in the documentation "
                "of async_copy.cuh");
  detail::require_remote_async<legal>();
  if constexpr (legal) {
    const unsigned there = detail::cluster_address(detail::shared_address(to), rank);
    const unsigned completes = detail::cluster_address(barrier.address(), rank);
    // red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.op.type [a], b, [mbar];  PTX ISA 8.1, sm_90
    if constexpr (sizeof(T) == 4) {
      asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.%3.%4 [%0], %1, [%2];" ::"r"(there),
                   "r"(value), "r"(completes), "C"(detail::ptx_async_operation<Operation>::text),
                   "C"(detail::ptx_remote_type<Operation, element>::text)
                   : "memory");
    } else {
      asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.%3.%4 [%0], %1, [%2];" ::"r"(there),
                   "l"(value), "r"(completes), "C"(detail::ptx_async_operation<Operation>::text),
                   "C"(detail::ptx_remote_type<Operation, element>::text)
                   : "memory");
    }
  }
  return detail::copy_results::bytes(sizeof(T));
}

namespace detail {

/// Checks that asynchronous operations on global memory support the scope and the order. Returns whether they do, so that
/// callers can avoid further error messages.
template <thread_scope Scope, class Order, bool Fits>
[[nodiscard]] __device__ constexpr bool require_release_in_global() noexcept {
  constexpr bool named = sizeof(ptx_async_release<Order>::text) > 1;
  static_assert(named,
                "membar: the order of an asynchronous operation on global memory must be release or mmio, which also releases");
  constexpr bool scoped = Scope == thread_scope::system || (Scope == thread_scope::device && std::is_same_v<Order, release_t>);
  static_assert(!named || scoped,
                "membar: an asynchronous operation on global memory needs device or system scope, and mmio needs system scope");
  require_async_release<named && scoped && Fits>();
  return named && scoped && Fits;
}

}  // namespace detail

/// Stores `value` to global memory at `to` with release semantics. The thread does not wait for the store to be performed.
///
/// To threads that acquire the value at `Scope`, the store releases everything that precedes the call in this thread. It is not
/// ordered with anything that follows the call: a later load of `*to` by this thread may still read the old value, and a later
/// store to `*to` may be performed first. With `mmio`, at system scope, the store is performed exactly once and as written, as
/// a device register requires. Only a thread that reads the value can detect the store's completion.
///
/// PTX: `st.async{.mmio}.release.{gpu,sys}.global.{b16,b32,b64} [to], value`, one instruction. Requires: compute capability
/// 10.0 (PTX ISA 8.7); `to` is in global memory; a trivially copyable `T` of 2, 4 or 8 bytes, aligned to its size. Source: PTX
/// ISA, "st.async".
template <thread_scope Scope, class T, class Order>
__device__ inline void async_store_release(T* to, const std::type_identity_t<T>& value, Order) noexcept {
  constexpr bool fits = (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8) && alignof(T) >= sizeof(T) && detail::is_bytes<T>;
  static_assert(fits,
                "membar: an asynchronous store to global memory needs a trivially copyable type of 2, 4 or 8 bytes that is "
                "aligned to its size");
  if constexpr (detail::require_release_in_global<Scope, Order, fits>()) {
    using order = detail::ptx_async_release<Order>;
    using scope = detail::ptx_scope<Scope>;
    if constexpr (sizeof(T) == 2) {
      // st.async{.mmio}.release.scope.global.b16 [a], b;  PTX ISA 8.7, sm_100
      asm volatile("st.async.%2.%3.global.b16 [%0], %1;" ::"l"(detail::global_address(to)),
                   "h"(detail::bits_as<unsigned short>(value)), "C"(order::text), "C"(scope::text)
                   : "memory");
    } else if constexpr (sizeof(T) == 4) {
      // st.async{.mmio}.release.scope.global.b32 [a], b;  PTX ISA 8.7, sm_100
      asm volatile("st.async.%2.%3.global.b32 [%0], %1;" ::"l"(detail::global_address(to)),
                   "r"(detail::bits_as<unsigned>(value)), "C"(order::text), "C"(scope::text)
                   : "memory");
    } else {
      // st.async{.mmio}.release.scope.global.b64 [a], b;  PTX ISA 8.7, sm_100
      asm volatile("st.async.%2.%3.global.b64 [%0], %1;" ::"l"(detail::global_address(to)),
                   "l"(detail::bits_as<unsigned long long>(value)), "C"(order::text), "C"(scope::text)
                   : "memory");
    }
  }
}

/// Applies `value` to the object in global memory at `to`, with an atomic operation that has release semantics. The thread does
/// not wait for the update to be performed. The update has the same release semantics and ordering as an `async_store_release`.
/// The operations and types are the same as for `async_reduce`.
///
/// PTX: `red.async{.mmio}.release.{gpu,sys}.global.OP.T [to], value`, one instruction. Requires: compute capability 10.0 (PTX
/// ISA 8.7); `to` is in global memory. Source: PTX ISA, "red.async".
template <async_operation Operation, thread_scope Scope, class T, class Order>
__device__ inline void async_reduce_release(T* to, std::type_identity_t<T> value, Order) noexcept {
  using type = detail::ptx_remote_type<Operation, typename detail::element_of<T>::type>;
  constexpr bool fits = sizeof(type::text) > 1;
  static_assert(fits,
                "membar: asynchronous reductions do not support this operation on this type: see the list in the documentation "
                "of async_copy.cuh");
  if constexpr (detail::require_release_in_global<Scope, Order, fits>()) {
    // red.async{.mmio}.release.scope.global.op.type [a], b;  PTX ISA 8.7, sm_100
    if constexpr (sizeof(T) == 4) {
      asm volatile("red.async.%2.%3.global.%4.%5 [%0], %1;" ::"l"(detail::global_address(to)), "r"(value),
                   "C"(detail::ptx_async_release<Order>::text), "C"(detail::ptx_scope<Scope>::text),
                   "C"(detail::ptx_async_operation<Operation>::text), "C"(type::text)
                   : "memory");
    } else {
      asm volatile("red.async.%2.%3.global.%4.%5 [%0], %1;" ::"l"(detail::global_address(to)), "l"(value),
                   "C"(detail::ptx_async_release<Order>::text), "C"(detail::ptx_scope<Scope>::text),
                   "C"(detail::ptx_async_operation<Operation>::text), "C"(type::text)
                   : "memory");
    }
  }
}

namespace detail {

/// In the device compilation pass, rejects architectures without `st.bulk`.
template <bool Needed>
__device__ constexpr void require_bulk_zero() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
  static_assert(!Needed, "membar: bulk_zero requires compute capability 10.0: compile this code only for sm_100 or newer");
#endif
}

}  // namespace detail

/// Writes zeros to `bytes` bytes of the block's shared memory at `to`. This is a weak store by the calling thread, in program
/// order, through the generic proxy. Other threads see the zeros after a barrier. A bulk copy that reads these bytes sees the
/// zeros after a proxy fence.
///
/// PTX: `st.bulk.weak.shared::cta [to], bytes, 0`, one instruction. Requires: compute capability 10.0 (PTX ISA 8.6); `bytes` is
/// a multiple of 8, at most 2^24. Source: PTX ISA, "st.bulk".
template <bool Needed = true>
__device__ inline void bulk_zero(void* to, std::uint64_t bytes) noexcept {
  detail::require_bulk_zero<Needed>();
  // st.bulk.weak.shared::cta [a], size, initval;  initval is 0 (PTX ISA 8.6, sm_100)
  asm volatile("st.bulk.weak.shared::cta [%0], %1, 0;" ::"r"(detail::shared_address(to)), "l"(bytes) : "memory");
}

}  // namespace v0_3
}  // namespace membar
