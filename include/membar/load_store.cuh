// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Loads and stores with every option of the instruction: order, scope, L1 eviction priority, L2 policy, prefetch size.
#pragma once

#include <membar/cache_hint.cuh>
#include <membar/detail/checked_load_store.cuh>
#include <membar/detail/operand.hpp>
#include <membar/detail/standard.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {

/// Reads `*address` with an order, for the threads in `Scope`: `load<thread_scope::system>(p, acquire)`.
///
/// The order's tag follows the pointer, along with at most one L1 eviction priority, one L2 policy and one prefetch size, in
/// any sequence.
///
/// Synchronizes: an acquire load synchronizes with the release operation whose value it reads, if each scope includes the
/// other's thread. A relaxed load is atomic but orders nothing. An `mmio` load, which requires system scope, is relaxed and is
/// neither merged nor repeated. The load is a single access for every size: 16 bytes use `.b128`, not a vector.
///
/// PTX: `ld.{relaxed,acquire}.S{.global.HINTS}.T`; seq_cst is two instructions: `fence.sc.S; ld.acquire.S...`; mmio:
/// `ld.mmio.relaxed.sys.T`. S is cta, cluster, gpu or sys for block, cluster, device or system. Requires: a trivially copyable
/// type of 1, 2, 4, 8 or 16 bytes, aligned to its size; global memory for an access with a hint; compute capability 8.0 for an
/// L2 policy. Source: PTX ISA, "ld".
template <thread_scope Scope = detail::missing_scope, class T, class... Said>
[[nodiscard]] __device__ inline T load(const T* address, Said... said) noexcept {
  detail::require_scope<Scope>();
  using order = detail::picked<detail::says::order, Said...>;
  constexpr bool is_mmio = std::is_same_v<order, mmio_t>;
  static_assert(!std::is_same_v<order, detail::unsaid>,
                "membar: a load with a scope needs an order (relaxed, acquire or seq_cst); load_weak needs none");
  static_assert(std::is_same_v<order, detail::unsaid> || is_mmio || load_order<order>,
                "membar: a load cannot release, because it writes nothing: use relaxed, acquire or seq_cst");
  static_assert(!is_mmio || Scope == thread_scope::system, "membar: an mmio access must have system scope");
  detail::require_architecture_of<Scope>();
  if constexpr (Scope != detail::missing_scope && (is_mmio || load_order<order>)) {
    return detail::load_with<detail::access_kind::load, Scope, order>(address, said...);
  } else {
    __builtin_unreachable();
  }
}

/// Reads `*address` with cache hints and, like a plain read, without a memory order.
///
/// At most one of each of the following may come after the pointer: an L1 eviction priority or a cache operator, an L2 policy,
/// a prefetch size, and for 32 bytes an L2 eviction priority.
///
/// The load does not synchronize. Like any plain load, it races with a concurrent store. PTX: `ld.weak{.global.HINTS}.T`, with
/// `.v4.b32` and `.v8.b32` for 16 and 32 bytes. Requires: the same as `load`; 32 bytes require compute capability 10.0. Source:
/// PTX ISA, "ld".
template <class T, class... Said>
[[nodiscard]] __device__ inline T load_weak(const T* address, Said... said) noexcept {
  static_assert(detail::times_said<detail::says::order, Said...> == 0,
                "membar: a weak access cannot have an order: use load or store with a scope");
  return detail::load_with<detail::access_kind::load, thread_scope::system, detail::no_order>(address, said...);
}

/// Writes `value` to `*address` with an order, for the threads in `Scope`: `store<thread_scope::device>(p, 1, release)`.
///
/// An integer `value` that is not a constant must not be wider than the object, and must not be a floating-point number: cast it.
/// The order's tag follows the value, along with at most one L1 eviction priority and one L2 policy, in any sequence.
///
/// Synchronizes: a release store synchronizes with the acquire operation that reads the value, if each scope includes the
/// other's thread, and releases everything that this thread has observed. A relaxed store is atomic but orders nothing. `mmio`
/// has the same meaning as for `load`.
///
/// PTX: `st.{relaxed,release}.S{.global.HINTS}.T`; seq_cst is two instructions: `fence.sc.S; st.relaxed.S...`; mmio:
/// `st.mmio.relaxed.sys.T`. Requires: the same as `load`. Source: PTX ISA, "st".
template <thread_scope Scope = detail::missing_scope, class T, class... Said>
__device__ inline void store(T* address, detail::operand<std::remove_cv_t<T>> value, Said... said) noexcept {
  using order = detail::picked<detail::says::order, Said...>;
  constexpr bool is_mmio = std::is_same_v<order, mmio_t>;
  static_assert(!std::is_same_v<order, detail::unsaid>,
                "membar: a store with a scope needs an order (relaxed, release or seq_cst); store_weak needs none");
  detail::require_scope<Scope>();
  static_assert(std::is_same_v<order, detail::unsaid> || is_mmio || store_order<order>,
                "membar: a store cannot acquire, because it reads nothing: use relaxed, release or seq_cst");
  static_assert(!is_mmio || Scope == thread_scope::system, "membar: an mmio access must have system scope");
  static_assert(!std::is_const_v<T>, "membar: a store needs a pointer to a non-const object");
  detail::require_architecture_of<Scope>();
  if constexpr (Scope != detail::missing_scope && (is_mmio || store_order<order>) && !std::is_const_v<T>) {
    detail::store_with<Scope, order>(address, value, said...);
  }
}

/// Writes `value` to `*address` with cache hints and, like a plain write, without a memory order.
///
/// The hints of `load_weak`, except the prefetch size, may come after the value.
///
/// The store does not synchronize. PTX: `st.weak{.global.HINTS}.T`. Requires: the same as `load_weak`. Source: PTX ISA, "st".
template <class T, class... Said>
__device__ inline void store_weak(T* address, detail::operand<std::remove_cv_t<T>> value, Said... said) noexcept {
  static_assert(detail::times_said<detail::says::order, Said...> == 0,
                "membar: a weak access cannot have an order: use load or store with a scope");
  static_assert(!std::is_const_v<T>, "membar: a store needs a pointer to a non-const object");
  if constexpr (!std::is_const_v<T>) {
    detail::store_with<thread_scope::system, detail::no_order>(address, value, said...);
  }
}

}  // namespace v0_3
}  // namespace membar
