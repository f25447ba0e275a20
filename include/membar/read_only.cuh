// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Data that nobody writes while a kernel runs: loads through the read-only (non-coherent) path, for any trivially copyable
/// type, and a span that is read no other way.
///
/// The path may keep a line for as long as the kernel runs, whatever is written meanwhile. So a read-only load is undefined if
/// anything, this thread included, writes its bytes between the start and the end of the kernel. Data written by an earlier
/// kernel of the stream, or copied before the launch, is safe. With programmatic dependent launch, data of the previous kernel
/// is safe after `cudaGridDependencySynchronize` only.
#pragma once

#include <membar/detail/memory_access.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace membar {

namespace detail {

/// The widest load that a type's alignment and size allow.
template <class T>
inline constexpr std::size_t chunk_bytes = [] {
  std::size_t bytes = 16;
  while (bytes > alignof(T) || sizeof(T) % bytes != 0) {
    bytes /= 2;
  }
  return bytes;
}();

template <std::size_t Bytes>
struct alignas(Bytes) chunk {
  unsigned char bytes[Bytes];
};

template <class T>
struct chunks {
  chunk<chunk_bytes<T>> parts[sizeof(T) / chunk_bytes<T>];
};

template <class T>
inline constexpr bool one_read_only_load =
    alignof(T) >= sizeof(T) && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);

}  // namespace detail

/// Reads `*address`, which nothing writes while the kernel runs, through the read-only path; behind the pointer stand at most
/// one each of an L1 eviction priority or the cache operator ca, cg or cs, an L2 policy and a prefetch size.
///
/// Synchronizes with nothing, and sees no write of the running kernel for certain. PTX: `ld.global.nc{HINTS}.T`, of 16 bytes
/// `.v4.b32`; a type that no single instruction moves takes the fewest that its alignment allows, each with the same hints.
/// Requires: a trivially copyable type, global memory. Source: PTX ISA, "ld.global.nc".
template <class T, class... Said>
[[nodiscard]] __device__ inline T load_read_only(const T* address, Said... said) noexcept {
  static_assert(
      detail::times_said<detail::says::order, Said...> == 0,
      "membar: a read-only load has no order: nothing writes what it reads; use load with a scope for data that changes");
  static_assert(std::is_trivially_copyable_v<T>, "membar: a read-only load moves the bytes of a trivially copyable type");
  using detail::access_kind;
  if constexpr (detail::times_said<detail::says::order, Said...> == 0 && std::is_trivially_copyable_v<T>) {
    if constexpr (detail::one_read_only_load<T> ||
                  (sizeof(T) == 32 && (alignof(T) >= 32 || detail::times_said<detail::says::l2, Said...> != 0))) {
      return detail::load_with<access_kind::read_only_load, thread_scope::system, detail::no_order>(address, said...);
    } else {
      detail::chunks<T> whole;
      const auto* const parts = reinterpret_cast<const detail::chunk<detail::chunk_bytes<T>>*>(address);
#pragma unroll
      for (std::size_t i = 0; i != sizeof(T) / detail::chunk_bytes<T>; ++i) {
        whole.parts[i] =
            detail::load_with<access_kind::read_only_load, thread_scope::system, detail::no_order>(parts + i, said...);
      }
      return __builtin_bit_cast(T, whole);
    }
  }
}

}  // namespace membar
