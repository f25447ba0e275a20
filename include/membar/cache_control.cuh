// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Instructions that move or mark cache lines without reading or writing data: prefetches, priority changes and discards.
///
/// These instructions apply to global memory. They do not order accesses. Only `discard_l2` changes what a later load reads.
#pragma once

#include <membar/cache_hint.cuh>
#include <membar/detail/standard.hpp>

namespace membar {
inline namespace v0_3 {

namespace detail {

/// The parameter `Dependent` delays the check until the template is instantiated.
template <int Floor, class Dependent>
__device__ constexpr void require_cache_control() noexcept {
#if defined(__CUDA_ARCH__)
  static_assert(Floor != 800 || __CUDA_ARCH__ >= 800,
                "membar: L2 priorities and discard require compute capability 8.0: compile this code only for sm_80 or newer");
  static_assert(Floor != 900 || __CUDA_ARCH__ >= 900,
                "membar: a bulk prefetch requires compute capability 9.0: compile this code only for sm_90 or newer");
  static_assert(Floor != 901 || __CUDA_ARCH__ >= 900,
                "membar: a tensor map requires compute capability 9.0: compile this code only for sm_90 or newer");
#endif
}

}  // namespace detail

/// Prefetches the line that contains `address` into L1. PTX: `prefetch.global.L1 [a]`. Source: PTX ISA, "prefetch".
__device__ inline void prefetch_l1(const void* address) noexcept {
  // prefetch{.space}.level [a];  (PTX ISA 2.0, sm_20)
  asm volatile("prefetch.global.L1 [%0];" ::"l"(__cvta_generic_to_global(address)) : "memory");
}

/// Prefetches the line that contains `address` into L2. PTX: `prefetch.global.L2 [a]`. Source: PTX ISA, "prefetch".
__device__ inline void prefetch_l2(const void* address) noexcept {
  // prefetch{.space}.level [a];  (PTX ISA 2.0, sm_20)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(address)) : "memory");
}

/// Prefetches the line that contains `address` into L2 and sets its eviction priority.
///
/// `l2::evict_last` makes the line persist. `l2::evict_normal` makes a persisting line normal again.
///
/// PTX: `prefetch.global.L2::{evict_last,evict_normal} [a]`. Requires: compute capability 8.0. Source: PTX ISA, "prefetch".
template <l2_priority Priority>
__device__ inline void prefetch_l2(const void* address, l2_hint<Priority>) noexcept {
  static_assert(Priority == l2_priority::evict_last || Priority == l2_priority::evict_normal,
                "membar: the priority of a prefetch into L2 must be evict_last or evict_normal");
  detail::require_cache_control<800, l2_hint<Priority>>();
  // prefetch{.global}.level::eviction_priority [a];  (PTX ISA 7.4, sm_80)
  asm volatile("prefetch.global%0 [%1];" ::"C"(detail::l2_text<Priority>::text), "l"(__cvta_generic_to_global(address))
               : "memory");
}

/// Prefetches the tensor map at `map` for a later tensor copy, so that a kernel's first copy does not have to wait for the map.
///
/// PTX: `prefetch.tensormap [a]`. Requires: compute capability 9.0; `map` is a generic address in parameter, constant or global
/// memory. Source: PTX ISA, "prefetch".
template <class T>
__device__ inline void prefetch_tensor_map(const T* map) noexcept {
  detail::require_cache_control<901, T>();
  // prefetch{.tensormap_space}.tensormap [a];  (PTX ISA 8.0, sm_90)
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Starts prefetching the `bytes` bytes at `address` into L2. A single thread requests all of them. Their arrival cannot be
/// detected.
///
/// PTX: `cp.async.bulk.prefetch.L2.global [a], size`. Requires: compute capability 9.0; the address and the size are multiples
/// of 16. Source: PTX ISA, "cp.async.bulk.prefetch".
template <class T>
__device__ inline void bulk_prefetch_l2(const T* address, std::uint32_t bytes) noexcept {
  detail::require_cache_control<900, T>();
  // cp.async.bulk.prefetch.L2.src{.level::cache_hint} [a], size{, cache-policy};  (PTX ISA 8.0, sm_90)
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "r"(bytes) : "memory");
}
/// Starts prefetching the `bytes` bytes at `address` into L2, with an L2 policy.
///
/// PTX: `cp.async.bulk.prefetch.L2.global.L2::cache_hint [a], size, policy`. Requires: compute capability 9.0; the address and
/// the size are multiples of 16. Source: PTX ISA, "cp.async.bulk.prefetch".
template <class T>
__device__ inline void bulk_prefetch_l2(const T* address, std::uint32_t bytes, l2_policy policy) noexcept {
  detail::require_cache_control<900, T>();
  // cp.async.bulk.prefetch.L2.src{.level::cache_hint} [a], size{, cache-policy};  (PTX ISA 8.0, sm_90)
  asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(__cvta_generic_to_global(address)),
               "r"(bytes), "l"(policy.bits())
               : "memory");
}
/// Starts prefetching the `Bytes` bytes at `address` into L2, with an L2 policy if one is passed. The size is checked at
/// compile time.
///
/// PTX: `cp.async.bulk.prefetch.L2.global{.L2::cache_hint} [a], size{, policy}`. Requires: compute capability 9.0; the address
/// and the size are multiples of 16. Source: PTX ISA, "cp.async.bulk.prefetch".
template <std::uint32_t Bytes, class T, class... Policy>
__device__ inline void bulk_prefetch_l2(const T* address, Policy... policy) noexcept {
  static_assert(Bytes > 0 && Bytes % 16 == 0, "membar: the size of a bulk prefetch must be a multiple of 16 bytes");
  bulk_prefetch_l2(address, Bytes, policy...);
}

/// Sets the L2 eviction priority of the 128 bytes at `address` to `l2::evict_normal`, which turns persisting lines back to
/// normal. PTX allows only this priority for the instruction.
///
/// PTX: `applypriority.global.L2::evict_normal [a], 128`. Requires: compute capability 8.0; `address` is a multiple of 128.
/// Source: PTX ISA, "applypriority".
template <int Bytes = 128, l2_priority Priority>
__device__ inline void apply_priority(const void* address, l2_hint<Priority>) noexcept {
  static_assert(Priority == l2_priority::evict_normal, "membar: the priority of apply_priority must be evict_normal");
  static_assert(Bytes == 128, "membar: apply_priority supports only 128 bytes");
  detail::require_cache_control<800, l2_hint<Priority>>();
  // applypriority{.global}.level::eviction_priority [a], size;  (PTX ISA 7.4, sm_80)
  asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(__cvta_generic_to_global(address)) : "memory");
}

/// Discards the 128 bytes at `address` without writing them back. Their value is undefined until they are written again.
///
/// PTX: `discard.global.L2 [a], 128`. Requires: compute capability 8.0; `address` is a multiple of 128. Source: PTX ISA,
/// "discard".
template <int Bytes = 128, class T>
__device__ inline void discard_l2(T* address) noexcept {
  static_assert(!std::is_const_v<T>, "membar: discard_l2 destroys the data: pass a pointer to non-const data");
  static_assert(Bytes == 128, "membar: discard_l2 supports only 128 bytes");
  detail::require_cache_control<800, T>();
  // discard{.global}.level [a], size;  (PTX ISA 7.4, sm_80)
  asm volatile("discard.global.L2 [%0], 128;" ::"l"(__cvta_generic_to_global(address)) : "memory");
}

}  // namespace v0_3
}  // namespace membar
