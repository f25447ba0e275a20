// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines which test thread, of which instance of a litmus test, each GPU thread runs, and where the instance's memory is.
///
/// A step runs `instances()` instances of a test concurrently. Every GPU thread runs all test threads of its launch, each of
/// them for a different instance. The step's permutations select the instance. They depend only on the seed and the step's
/// number, so every launch and the host compute them independently.
///
/// This header is freestanding, because the host compiler, nvcc and NVRTC all compile it, and NVRTC has no standard headers.
#pragma once

#include <membar/base/config.hpp>

namespace membar {
inline namespace v0_3 {
namespace litmus {

/// The limits of a test: threads, locations, observations, and the number of outcomes that the observations can form.
inline constexpr int max_threads = 16;
inline constexpr int max_locations = 16;
inline constexpr int max_observations = 16;
inline constexpr unsigned max_outcomes = 4096;
/// The maximum number of launches and host threads in a run. They share the barrier at the end of each step.
inline constexpr int max_participants = 16;

/// Threads per warp.
inline constexpr unsigned warp_lanes = 32;
/// Bytes per cell: the memory of one location in one instance. An access of any supported size fits.
inline constexpr unsigned cell_bytes = 16;
/// Cells per line of 128 bytes. A step rotates the cells of a location by whole lines.
inline constexpr unsigned cells_per_line = 8;

/// The placement of those threads of an instance that share a block.
enum class spread : unsigned char {
  lanes,  ///< in different lanes of one warp
  warps,  ///< in different warps
  block   ///< in any two threads of the block
};

/// The number of instances that a step runs, and their memory layout. All launches of a run use the same layout.
struct instance_layout {
  unsigned blocks = 1;          ///< blocks per launch, excluding stress blocks; always whole clusters
  unsigned width = warp_lanes;  ///< threads per block: a power of two, at least 32
  unsigned cluster = 1;         ///< blocks per cluster
  unsigned batch = 1;           ///< instances that a GPU thread runs one after the other in a step
  unsigned locations = 1;
  unsigned observations = 1;
  unsigned stride = cell_bytes;  ///< bytes from one instance's cell to the next instance's cell, a multiple of 16
  bool together = false;         ///< whether an instance's cells are adjacent; otherwise each location has its own array
  spread within = spread::block;
  unsigned long long seed = 0;

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned per_round() const noexcept { return blocks * width; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned instances() const noexcept { return batch * blocks * width; }
  /// Returns the size in bytes of one of the two regions of cells.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned long long region_bytes() const noexcept {
    return 1ULL * locations * instances() * stride;
  }
  /// Returns the size in bytes of one of the two regions of digits, which encode the observed values.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned long long digit_bytes() const noexcept {
    return 1ULL * observations * instances();
  }
};

/// The position of a test thread relative to the others of its instance. Two test threads share a block if their launch and
/// group are equal, and a cluster if their launch and cluster group are equal.
struct seat {
  unsigned char launch = 0;          ///< the launch that runs it; host threads are numbered after the launches
  unsigned char cluster_group = 0;   ///< the index of its cluster among the instance's clusters in this launch
  unsigned char cluster_groups = 1;  ///< the number of the instance's clusters in this launch
  unsigned char rank = 0;            ///< the index of its block among the instance's blocks in this cluster
  unsigned char group = 0;           ///< the index of its block among the instance's blocks in the whole run
  unsigned char slot = 0;            ///< its index among the instance's threads in this block
  unsigned char slots = 1;           ///< the number of the instance's threads in this block
};

/// A GPU thread that runs tests, and one of its `batch` rounds in the step. The GPU thread runs one instance per round.
struct position {
  unsigned block = 0;
  unsigned thread = 0;
  unsigned round = 0;

  friend MEMBAR_HOST_DEVICE constexpr bool operator==(const position&, const position&) noexcept = default;
};

namespace detail {

/// A bijective hash: every bit of `x` affects every bit of the result. Source: the finalizer of MurmurHash3 (public domain).
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned mixed(unsigned x) noexcept {
  x = (x ^ (x >> 16)) * 0x85ebca6bU;
  x = (x ^ (x >> 13)) * 0xc2b2ae35U;
  return x ^ (x >> 16);
}

/// Returns a random number that depends only on the seed, the step and the purpose.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned draw(unsigned long long seed, unsigned step, unsigned purpose) noexcept {
  const unsigned low = mixed(static_cast<unsigned>(seed) + step * 0x9e3779b9U);
  return mixed(low ^ static_cast<unsigned>(seed >> 32) ^ (purpose * 0x27d4eb2fU + 0x165667b1U));
}

/// Returns `random` scaled to [0, `count`).
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned scaled(unsigned random, unsigned count) noexcept {
  return static_cast<unsigned>((1ULL * random * count) >> 32);
}

/// Returns `a + b` modulo `n`, for a and b below n.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned add_modulo(unsigned a, unsigned b, unsigned n) noexcept {
  const unsigned sum = a + b;
  return sum >= n ? sum - n : sum;
}

/// Returns `a - b` modulo `n`, for a and b below n.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned subtract_modulo(unsigned a, unsigned b, unsigned n) noexcept {
  return a >= b ? a - b : a + n - b;
}

/// Returns the inverse of the odd number `a` modulo 2^32, which is also its inverse modulo every smaller power of two.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned inverse(unsigned a) noexcept {
  unsigned x = a;  // three bits are correct; each iteration doubles the number of correct bits
  for (int turn = 0; turn != 4; ++turn) {
    x *= 2 - a * x;
  }
  return x;
}

/// The purpose of a random number. A group or a location adds its own number.
namespace purpose {
inline constexpr unsigned cluster_base = 0x000;
inline constexpr unsigned cluster_gap = 0x100;
inline constexpr unsigned rank_base = 0x200;
inline constexpr unsigned factor = 0x300;
inline constexpr unsigned slot_base = 0x400;
inline constexpr unsigned slot_gap = 0x500;
inline constexpr unsigned lane_factor = 0x600;
inline constexpr unsigned lane_base = 0x700;
inline constexpr unsigned rotation = 0x800;
inline constexpr unsigned host_rotation = 0x900;
inline constexpr unsigned order = 0xa00;
inline constexpr unsigned delay = 0xb00;
inline constexpr unsigned stress = 0xc00;
inline constexpr unsigned tally = 0xd00;
}  // namespace purpose

/// Returns the number at index `which` in a sequence of `of` distinct numbers below `n`. A step draws the sequence's base, gap
/// and direction.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned apart(const instance_layout& l, unsigned step, unsigned base, unsigned gap,
                                                          unsigned which, unsigned of, unsigned n) noexcept {
  const unsigned first = scaled(draw(l.seed, step, base), n);
  const unsigned random = draw(l.seed, step, gap);
  // (of - 1) gaps stay below n, so the numbers differ
  const unsigned distance = 1 + scaled(random, n / of);
  return add_modulo(first, ((random & 1U) != 0 ? of - 1 - which : which) * distance, n);
}

/// The low bits of a thread's number, which a step permutes by multiplying them by a factor: the lane's bits, or all bits of
/// the thread's number in the block.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned low_bits(const instance_layout& l) noexcept {
  return l.within == spread::block ? l.width - 1 : warp_lanes - 1;
}

}  // namespace detail

/// The mapping, in one step, from the GPU threads that run one test thread to the owners of the instances. Blocks are shifted
/// by a number of clusters and, within the cluster, by a number of blocks. Threads are permuted by multiplying and shifting the
/// low bits of their number, and by shifting the high bits.
struct seat_map {
  unsigned clusters = 0;
  unsigned rank = 0;
  unsigned factor = 1;
  unsigned shift = 0;
  unsigned high_shift = 0;
};

/// Returns the mapping of seat `s` in `step`.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr seat_map seat_map_of(const instance_layout& l, const seat& s,
                                                                unsigned step) noexcept {
  using namespace detail;  // `purpose`, for the random numbers
  seat_map m;
  m.clusters = apart(l, step, purpose::cluster_base + s.launch, purpose::cluster_gap + s.launch, s.cluster_group,
                     s.cluster_groups, l.blocks / l.cluster);
  m.rank = add_modulo(scaled(draw(l.seed, step, purpose::rank_base + s.launch), l.cluster), s.rank, l.cluster);
  if (l.within == spread::warps) {
    // the warps differ, so each test thread can permute its lanes independently
    const unsigned number = static_cast<unsigned>(s.group * max_threads + s.slot);
    m.factor = draw(l.seed, step, purpose::lane_factor + number) | 1U;
    m.shift = draw(l.seed, step, purpose::lane_base + number);
    m.high_shift = warp_lanes * apart(l, step, purpose::slot_base + s.group, purpose::slot_gap + s.group, s.slot, s.slots,
                                      l.width / warp_lanes);
  } else {
    // with one factor for all threads of a block, different shifts give different threads
    m.factor = draw(l.seed, step, purpose::factor + s.group) | 1U;
    m.shift = apart(l, step, purpose::slot_base + s.group, purpose::slot_gap + s.group, s.slot, s.slots, low_bits(l) + 1);
  }
  return m;
}

/// Returns the block that owns the instances whose test thread with mapping `m` runs in block `block`.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned owner_block(const instance_layout& l, const seat_map& m,
                                                                unsigned block) noexcept {
  const unsigned cluster = detail::subtract_modulo(block / l.cluster, m.clusters, l.blocks / l.cluster);
  return cluster * l.cluster + detail::subtract_modulo(block % l.cluster, m.rank, l.cluster);
}

/// Returns the thread of the owner block that owns the instance whose test thread runs in thread `thread`.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned owner_thread(const instance_layout& l, unsigned factor, unsigned shift,
                                                                 unsigned high_shift, unsigned thread) noexcept {
  const unsigned low = detail::low_bits(l);
  return ((thread * factor + shift) & low) | (((thread & ~low) + high_shift) & (l.width - 1) & ~low);
}

/// Returns the instance that the GPU thread at `at` owns. The owner counts the instance's outcome and resets its cells.
/// Neighbouring threads own neighbouring instances.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned owned_instance(const instance_layout& l, const position& at) noexcept {
  return (at.round * l.blocks + at.block) * l.width + at.thread;
}

/// Returns the instance whose test thread with seat `s` runs in the GPU thread at `at` in `step`. For every seat and step this
/// is a bijection. Seats of the same group place an instance in different threads of one block; seats of different groups place
/// it in different blocks.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned instance_at(const instance_layout& l, const seat& s, unsigned step,
                                                                const position& at) noexcept {
  const seat_map m = seat_map_of(l, s, step);
  return owned_instance(l,
                        {owner_block(l, m, at.block), owner_thread(l, m.factor, m.shift, m.high_shift, at.thread), at.round});
}

/// The inverse of `instance_at`: returns the GPU thread that runs the test thread with seat `s` of `instance` in `step`.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr position position_of(const instance_layout& l, const seat& s, unsigned step,
                                                                unsigned instance) noexcept {
  const seat_map m = seat_map_of(l, s, step);
  const unsigned block = instance / l.width % l.blocks;
  const unsigned cluster = detail::add_modulo(block / l.cluster, m.clusters, l.blocks / l.cluster);
  const unsigned thread = instance % l.width;
  const unsigned low = detail::low_bits(l);
  return {cluster * l.cluster + detail::add_modulo(block % l.cluster, m.rank, l.cluster),
          (((thread - m.shift) * detail::inverse(m.factor)) & low) | ((thread - m.high_shift) & (l.width - 1) & ~low),
          instance / l.per_round()};
}

/// Returns the instance that a host thread with seat `s` runs at position `turn` in `step`. The host thread proceeds round by
/// round, as the GPU threads do.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned host_instance(const instance_layout& l, const seat& s, unsigned step,
                                                                  unsigned turn) noexcept {
  const unsigned n = l.per_round();
  const unsigned shift = detail::scaled(detail::draw(l.seed, step, detail::purpose::host_rotation + s.launch), n);
  return turn / n * n + detail::add_modulo(turn % n, shift, n);
}

/// Returns how many instances the cells of `location` are rotated by in `step`, so that the distance between an instance's
/// cells changes with every step. A rotation is a whole number of lines.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned rotation_of(const instance_layout& l, unsigned step,
                                                                unsigned location) noexcept {
  const unsigned random = detail::draw(l.seed, step, detail::purpose::rotation + (l.together ? 0 : location));
  return cells_per_line * detail::scaled(random, l.instances() / cells_per_line);
}

/// Returns the offset in bytes from the start of a region to the cell for `location` in `instance`, in a step that rotates the
/// cells of the location by `rotation`.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned long long cell_offset(const instance_layout& l, unsigned rotation,
                                                                          unsigned location, unsigned instance) noexcept {
  const unsigned n = l.instances();
  const unsigned index = detail::add_modulo(instance, rotation, n);
  return l.together ? (1ULL * index * l.locations + location) * l.stride : (1ULL * location * n + index) * l.stride;
}

/// Returns the offset in bytes from the start of a region to the digit for `observation` in `instance`.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned long long digit_offset(const instance_layout& l, unsigned observation,
                                                                           unsigned instance) noexcept {
  return 1ULL * observation * l.instances() + instance;
}

}  // namespace litmus
}  // namespace v0_3
}  // namespace membar
