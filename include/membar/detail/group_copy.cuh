// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A copy that a group of threads performs together, with accesses as wide as the alignment of both addresses allows.
#pragma once

#include <membar/detail/standard.hpp>
#include <membar/load_store.cuh>

namespace membar {
inline namespace v0_3 {
namespace detail {

struct alignas(16) copy_unit {
  unsigned words[4];
};

/// Copies `count` units. A thread has `Unroll` loads in flight before its first store.
///
/// These loads are `Lanes` units apart, so neighbouring threads access neighbouring units. The distances are constants, so they
/// use no registers. The remaining units are copied up to four at a time, with a distance of one group between them. `Lanes` is
/// 1 for a single thread, and otherwise the number of threads in a warp.
template <class Unit, unsigned Lanes, int Unroll>
__device__ inline void copy_units(unsigned rank, unsigned size, unsigned char* to, const unsigned char* from,
                                  std::size_t count) noexcept {
  constexpr int at_the_end = Unroll < 4 ? Unroll : 4;
  auto* destination = reinterpret_cast<Unit*>(to);
  const auto* source = reinterpret_cast<const Unit*>(from);
  const unsigned whole = size / Lanes * Lanes;  // the number of threads in whole warps
  const std::size_t round = static_cast<std::size_t>(whole) * Unroll;
  const std::size_t first = rank / Lanes * (Lanes * Unroll) + rank % Lanes;
#pragma unroll 1
  for (; whole != 0 && count >= round; count -= round) {
    if (rank < whole) {
      Unit units[Unroll];
#pragma unroll
      for (int u = 0; u != Unroll; ++u) {
        units[u] = load_weak(source + first + static_cast<unsigned>(u) * Lanes);
      }
#pragma unroll
      for (int u = 0; u != Unroll; ++u) {
        store_weak(destination + first + static_cast<unsigned>(u) * Lanes, units[u]);
      }
    }
    source += round;
    destination += round;
  }
  const std::size_t step = size;
#pragma unroll 1
  for (std::size_t i = rank; i < count; i += at_the_end * step) {
    Unit units[at_the_end]{};
#pragma unroll
    for (int u = 0; u != at_the_end; ++u) {
      if (i + static_cast<unsigned>(u) * step < count) {
        units[u] = load_weak(source + i + static_cast<unsigned>(u) * step);
      }
    }
#pragma unroll
    for (int u = 0; u != at_the_end; ++u) {
      if (i + static_cast<unsigned>(u) * step < count) {
        store_weak(destination + i + static_cast<unsigned>(u) * step, units[u]);
      }
    }
  }
}

/// Copies `bytes` bytes in units, if both addresses have the same remainder modulo the unit's size.
template <class Unit, unsigned Lanes>
__device__ inline void copy_aligned_alike(unsigned rank, unsigned size, unsigned char* to, const unsigned char* from,
                                          std::size_t bytes) noexcept {
  const std::size_t before = (sizeof(Unit) - reinterpret_cast<std::uintptr_t>(to) % sizeof(Unit)) % sizeof(Unit);
  const std::size_t head = before < bytes ? before : bytes;
  const std::size_t body = (bytes - head) / sizeof(Unit);
  const std::size_t tail = head + body * sizeof(Unit);
  copy_units<unsigned char, Lanes, 1>(rank, size, to, from, head);
  copy_units<Unit, Lanes, 4>(rank, size, to + head, from + head, body);
  copy_units<unsigned char, Lanes, 1>(rank, size, to + tail, from + tail, bytes - tail);
}

/// Copies `bytes` bytes if an address or the size is not a multiple of 16. This function is not inlined, because it is long and
/// rarely on a fast path.
template <unsigned Lanes>
__device__ __noinline__ void copy_odd(unsigned rank, unsigned size, unsigned char* to, const unsigned char* from,
                                      std::size_t bytes) noexcept {
  const std::uintptr_t difference = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  if (bits % sizeof(unsigned) == 0 && bytes <= size * sizeof(unsigned)) {
    copy_units<unsigned, Lanes, 1>(rank, size, to, from, bytes / sizeof(unsigned));  // a few 4-byte words
  } else if (difference % sizeof(copy_unit) == 0) {
    copy_aligned_alike<copy_unit, Lanes>(rank, size, to, from, bytes);
  } else if (difference % sizeof(unsigned long long) == 0) {
    copy_aligned_alike<unsigned long long, Lanes>(rank, size, to, from, bytes);
  } else if (difference % sizeof(unsigned) == 0) {
    copy_aligned_alike<unsigned, Lanes>(rank, size, to, from, bytes);
  } else {
    copy_units<unsigned char, Lanes, 4>(rank, size, to, from, bytes);
  }
}

/// The calling group copies `bytes` bytes to `there(to)`, which must have the same alignment as `to`. The ranges must not
/// overlap.
///
/// No thread waits for another. A group has a `rank()`, a `size()` and the number of `lanes` that access neighbouring memory at
/// once. If the source is small, it is read before `there` is called, so that the load does not wait for the address.
template <class Group, class There>
__device__ inline void group_copy(Group, void* to, const void* from, std::size_t bytes, There there) noexcept {
  constexpr unsigned lanes = Group::lanes;
  const unsigned rank = Group::rank();
  const unsigned size = Group::size();
  const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  if (bits % sizeof(copy_unit) == 0 && bytes <= size * sizeof(copy_unit)) [[likely]] {
    // There is at most one unit per thread. Latency matters here, so this path has as few dependent instructions as possible.
    if (rank * sizeof(copy_unit) < bytes) {
      const copy_unit unit = load_weak(static_cast<const copy_unit*>(from) + rank);
      store_weak(static_cast<copy_unit*>(there(to)) + rank, unit);
    }
    return;
  }
  auto* const destination = static_cast<unsigned char*>(there(to));
  const auto* const source = static_cast<const unsigned char*>(from);
  if (bits % sizeof(copy_unit) == 0) [[likely]] {
    copy_units<copy_unit, lanes, 8>(rank, size, destination, source, bytes / sizeof(copy_unit));
  } else {
    copy_odd<lanes>(rank, size, destination, source, bytes);
  }
}

/// The calling group copies `bytes` bytes from `from` to `to`. No thread waits for another.
template <class Group>
__device__ inline void group_copy(Group group, void* to, const void* from, std::size_t bytes) noexcept {
  group_copy(group, to, from, bytes, [](void* itself) { return itself; });
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
