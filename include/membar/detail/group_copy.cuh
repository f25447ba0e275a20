// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A copy by a group of threads, in accesses as wide as both addresses allow.
#pragma once

#include <membar/load_store.cuh>

#include <cstddef>
#include <cstdint>

namespace membar::detail {

struct alignas(16) copy_unit {
  unsigned words[4];
};

/// Copies `count` units, thread `rank` of `size` every `size`-th one: neighbours access neighbours, and each thread has
/// `Unroll` loads under way before its first store, of the rest as many as are left.
template <class Unit, int Unroll>
__device__ inline void copy_units(unsigned rank, unsigned size, void* to, const void* from, std::size_t count) noexcept {
  auto* const destination = static_cast<Unit*>(to);
  const auto* const source = static_cast<const Unit*>(from);
  const std::size_t step = size;
  Unit units[Unroll];
  std::size_t i = rank;
  for (; i + (Unroll - 1) * step < count; i += Unroll * step) {
#pragma unroll
    for (int u = 0; u != Unroll; ++u) {
      units[u] = load_weak(source + i + static_cast<std::size_t>(u) * step);
    }
#pragma unroll
    for (int u = 0; u != Unroll; ++u) {
      store_weak(destination + i + static_cast<std::size_t>(u) * step, units[u]);
    }
  }
  if (i < count) {
#pragma unroll
    for (int u = 0; u != Unroll; ++u) {
      if (i + static_cast<std::size_t>(u) * step < count) {
        units[u] = load_weak(source + i + static_cast<std::size_t>(u) * step);
      }
    }
#pragma unroll
    for (int u = 0; u != Unroll; ++u) {
      if (i + static_cast<std::size_t>(u) * step < count) {
        store_weak(destination + i + static_cast<std::size_t>(u) * step, units[u]);
      }
    }
  }
}

/// The same of bytes, where both addresses are the same distance from a multiple of the unit's size.
template <class Unit>
__device__ inline void copy_aligned_alike(unsigned rank, unsigned size, unsigned char* to, const unsigned char* from,
                                          std::size_t bytes) noexcept {
  const std::size_t before = (sizeof(Unit) - reinterpret_cast<std::uintptr_t>(to) % sizeof(Unit)) % sizeof(Unit);
  const std::size_t head = before < bytes ? before : bytes;
  const std::size_t body = (bytes - head) / sizeof(Unit);
  const std::size_t tail = head + body * sizeof(Unit);
  copy_units<unsigned char, 1>(rank, size, to, from, head);
  copy_units<Unit, 8>(rank, size, to + head, from + head, body);
  copy_units<unsigned char, 1>(rank, size, to + tail, from + tail, bytes - tail);
}

/// Where an address or the size is no multiple of 16. Out of line, for it is long and seldom what is wanted fast.
__device__ __noinline__ inline void copy_odd(unsigned rank, unsigned size, unsigned char* to, const unsigned char* from,
                                             std::size_t bytes) noexcept {
  const std::uintptr_t difference = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  if (difference % sizeof(copy_unit) == 0) {
    copy_aligned_alike<copy_unit>(rank, size, to, from, bytes);
  } else if (difference % sizeof(unsigned long long) == 0) {
    copy_aligned_alike<unsigned long long>(rank, size, to, from, bytes);
  } else if (difference % sizeof(unsigned) == 0) {
    copy_aligned_alike<unsigned>(rank, size, to, from, bytes);
  } else {
    copy_units<unsigned char, 8>(rank, size, to, from, bytes);
  }
}

/// Copies `bytes` by the calling group; `to` and `from` do not overlap. Nobody waits for anybody.
template <class Group>
__device__ inline void group_copy(Group, void* to, const void* from, std::size_t bytes) noexcept {
  const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  if (bits % sizeof(copy_unit) == 0) {
    copy_units<copy_unit, 8>(Group::rank(), Group::size(), to, from, bytes / sizeof(copy_unit));
  } else {
    copy_odd(Group::rank(), Group::size(), static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), bytes);
  }
}

}  // namespace membar::detail
