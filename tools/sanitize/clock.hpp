// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Vector clocks. For each other thread, a clock stores the time up to which that thread's accesses happen before the next
/// event of the clock's own thread.
///
/// Every thread has a key, and each block has an aligned range of keys. A clock is a tree over the keys with 16 children per
/// node. If all keys of a range have the same time, a single entry represents the whole range. This is the case for a block
/// after its barrier and for a launch that has ended. Clocks share nodes, which are copied on write, so entries that the clocks
/// of all threads of a block have in common are stored only once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace membar::sanitize {

/// A thread's key, and a time of that thread. Every thread begins at time 1.
using thread_key = std::uint32_t;
using thread_time = std::uint32_t;
inline constexpr thread_time end_of_time = 0x7fffffff;

namespace detail {

struct clock_node_pool;

struct clock_node {
  clock_node_pool* pool = nullptr;  ///< the pool that the node belongs to
  std::uint32_t users = 1;
  std::uint32_t most = 0;  ///< the latest time in the subtree
  std::uint64_t child[16] = {};
};

/// The nodes of the clocks of one run, or of a part of it.
struct clock_node_pool {
  std::vector<clock_node*> chunks{};
  clock_node* free = nullptr;
  std::uint64_t live = 0;
  clock_node_pool() = default;
  clock_node_pool(const clock_node_pool&) = delete;
  clock_node_pool& operator=(const clock_node_pool&) = delete;
  ~clock_node_pool() {
    for (clock_node* const c : chunks) {
      delete[] c;
    }
  }
  [[nodiscard]] clock_node* take() {
    if (free == nullptr) {
      const std::size_t count = chunks.empty() ? 64 : 1024;  // a part of a run needs only a few nodes
      clock_node* const chunk = new clock_node[count];
      chunks.push_back(chunk);
      for (std::size_t k = 0; k < count; ++k) {
        chunk[k].child[0] = reinterpret_cast<std::uint64_t>(std::exchange(free, chunk + k));
      }
    }
    ++live;
    clock_node* const result = free;
    free = reinterpret_cast<clock_node*>(result->child[0]);
    result->pool = this;
    result->users = 1;
    result->most = 0;
    return result;
  }
  void give(clock_node* n) noexcept {
    --live;
    n->child[0] = reinterpret_cast<std::uint64_t>(std::exchange(free, n));
  }
};

}  // namespace detail

using clock_nodes = detail::clock_node_pool;

/// A map from keys to times. Clocks share nodes. A host thread creates nodes in one pool at a time. It only reads the nodes of
/// other pools, and these nodes must not change in the meantime.
class clock {
 public:
  /// During the lifetime of this object, the clocks of this host thread allocate nodes in `pool` and have keys of `levels`
  /// levels.
  class using_nodes {
   public:
    using_nodes(clock_nodes& pool, int levels) noexcept
        : before_(std::exchange(pool_, &pool)), levels_before_(std::exchange(levels_, levels)) {}
    using_nodes(const using_nodes&) = delete;
    using_nodes& operator=(const using_nodes&) = delete;
    ~using_nodes() {
      pool_ = before_;
      levels_ = levels_before_;
    }

   private:
    clock_nodes* before_;
    int levels_before_;
  };

  clock() = default;
  clock(const clock& other) noexcept : root_(retained(other.root_)) {}
  clock(clock&& other) noexcept : root_(std::exchange(other.root_, 0)) {}
  clock& operator=(const clock& other) noexcept {
    const slot mine = std::exchange(root_, retained(other.root_));
    release(mine);
    return *this;
  }
  clock& operator=(clock&& other) noexcept {
    std::swap(root_, other.root_);
    return *this;
  }
  ~clock() { release(root_); }

  /// Limits keys to values below 16 to the power of `levels`, for all clocks that this host thread creates from now on.
  static void use_levels(int levels) noexcept { levels_ = levels; }
  [[nodiscard]] static int levels() noexcept { return levels_; }
  /// Returns the number of levels that are needed for this number of keys.
  [[nodiscard]] static int levels_for(std::uint64_t keys) noexcept {
    int levels = 1;
    while ((std::uint64_t{1} << (4 * levels)) < keys) {
      ++levels;
    }
    return levels;
  }

  [[nodiscard]] thread_time at(thread_key key) const noexcept {
    slot s = root_;
    for (int shift = 4 * (levels_ - 1);; shift -= 4) {
      if (s == 0 || is_time(s)) {
        return time_in(s);
      }
      s = node_in(s)->child[(key >> static_cast<unsigned>(shift)) & 15U];
    }
  }
  [[nodiscard]] bool covers(thread_key key, thread_time time) const noexcept { return at(key) >= time; }
  [[nodiscard]] bool is_same(const clock& other) const noexcept { return root_ == other.root_; }
  [[nodiscard]] bool is_empty() const noexcept { return root_ == 0; }

  /// Returns whether any key from `first` to `last` has a time.
  [[nodiscard]] bool has_some(thread_key first, thread_key last) const noexcept {
    for (thread_key k = first; k <= last; ++k) {
      if (at(k) > 0) {
        return true;
      }
    }
    return false;
  }

  /// Raises the times of the keys from `first` to `last` to at least `time`.
  void raise(thread_key first, thread_key last, thread_time time) {
    raise(root_, 4 * (levels_ - 1), 0, first, last, time_slot(time));
  }
  void raise(thread_key key, thread_time time) { raise(key, key, time); }

  void join(const clock& other) { static_cast<void>(join(root_, other.root_, no_base)); }
  /// Joins `other` into this clock like `join(other)`, but faster. This clock must have been derived from `base`, an earlier
  /// value of `other`, so only the later changes to `other` are examined.
  void join(const clock& other, const clock& base) { static_cast<void>(join(root_, other.root_, base.root_)); }

  /// Sets each key's time to the earlier of its times in the two clocks.
  void meet(const clock& other) {
    const slot mine = root_;
    root_ = met(mine, other.root_);
    release(mine);
  }

  /// Returns the same clock in the current pool: nodes from other pools are copied.
  [[nodiscard]] clock adopted() const {
    clock result;
    result.root_ = adopted(root_);
    return result;
  }

  /// Returns the number of nodes in this host thread's pool.
  [[nodiscard]] static std::uint64_t nodes() noexcept { return pool().live; }
  static constexpr std::uint64_t node_bytes = 144;

 private:
  /// 0 if no time is known, an odd number for a time, or any other number for a node
  using slot = std::uint64_t;
  using node = detail::clock_node;
  static_assert(sizeof(node) == node_bytes);
  static constexpr slot no_base = 2;

  [[nodiscard]] static bool is_time(slot s) noexcept { return (s & 1U) != 0; }
  [[nodiscard]] static thread_time time_in(slot s) noexcept { return static_cast<thread_time>(s >> 1U); }
  [[nodiscard]] static slot time_slot(thread_time t) noexcept { return (std::uint64_t{t} << 1U) | 1U; }
  [[nodiscard]] static node* node_in(slot s) noexcept { return reinterpret_cast<node*>(s); }
  [[nodiscard]] static bool is_node(slot s) noexcept { return s != 0 && !is_time(s) && s != no_base; }
  [[nodiscard]] static clock_nodes& pool() noexcept {
    if (pool_ == nullptr) {
      thread_local clock_nodes first;
      pool_ = &first;
    }
    return *pool_;
  }
  /// Returns whether this host thread counts the users of a node.
  [[nodiscard]] static bool is_counted(slot s) noexcept { return is_node(s) && node_in(s)->pool == pool_; }
  [[nodiscard]] static bool is_unshared(slot s) noexcept { return is_counted(s) && node_in(s)->users == 1; }
  static slot retained(slot s) noexcept {
    if (is_counted(s)) {
      ++node_in(s)->users;
    }
    return s;
  }
  static void release(slot s) noexcept {
    if (is_counted(s) && --node_in(s)->users == 0) {
      for (const slot c : node_in(s)->child) {
        release(c);
      }
      pool_->give(node_in(s));
    }
  }
  [[nodiscard]] static thread_time most_in(slot s) noexcept { return is_node(s) ? node_in(s)->most : time_in(s); }
  [[nodiscard]] static slot child_of(slot s, unsigned k) noexcept { return is_node(s) ? node_in(s)->child[k] : s; }

  /// Makes `s` a node that nothing else uses.
  static node* owned(slot& s) {
    if (is_unshared(s)) {
      return node_in(s);
    }
    node* const n = pool().take();
    n->most = most_in(s);
    for (unsigned k = 0; k < 16; ++k) {
      n->child[k] = retained(child_of(s, k));
    }
    release(s);
    s = reinterpret_cast<slot>(n);
    return n;
  }

  static void raise(slot& s, int shift, std::uint64_t begin, std::uint64_t first, std::uint64_t last, slot time) {
    const std::uint64_t size = std::uint64_t{16} << static_cast<unsigned>(shift);
    if (first <= begin && begin + size - 1 <= last) {
      static_cast<void>(join(s, time, no_base));
      return;
    }
    if (is_time(s) && s >= time) {
      return;
    }
    node* const n = owned(s);
    n->most = std::max(n->most, time_in(time));
    const std::uint64_t part = size / 16;
    const std::uint64_t from = first > begin ? (first - begin) / part : 0;
    const std::uint64_t to = last < begin + size - 1 ? (last - begin) / part : 15;
    for (std::uint64_t k = from; k <= to; ++k) {
      if (part == 1) {
        slot& c = n->child[k];
        c = c < time ? time : c;
      } else {
        raise(n->child[k], shift - 4, begin + k * part, first, last, time);
      }
    }
  }

  /// Joins `b` into `a`. Returns false if that changes nothing.
  static bool join(slot& a, slot b, slot base) {
    if (a == b || b == 0 || b == base) {
      return false;
    }
    if (a == 0 || a == base) {
      release(std::exchange(a, retained(b)));
      return true;
    }
    if (is_time(a) && is_time(b)) {
      const bool later = b > a;
      a = later ? b : a;
      return later;
    }
    if (is_time(a) && time_in(a) >= most_in(b)) {
      return false;
    }
    if (is_time(b) && time_in(b) >= most_in(a)) {
      release(std::exchange(a, b));
      return true;
    }
    bool changed = false;
    for (unsigned k = 0; k < 16; ++k) {
      const slot theirs = child_of(b, k);
      const slot before = base == no_base ? no_base : child_of(base, k);
      if (is_unshared(a)) {
        changed = join(node_in(a)->child[k], theirs, before) || changed;
        continue;
      }
      slot mine = retained(child_of(a, k));
      if (join(mine, theirs, before)) {
        changed = true;
        std::swap(owned(a)->child[k], mine);
      }
      release(mine);
    }
    if (changed) {
      node_in(a)->most = std::max(node_in(a)->most, most_in(b));
    }
    if (changed && is_node(b) && std::equal(node_in(a)->child, node_in(a)->child + 16, node_in(b)->child)) {
      release(std::exchange(a, retained(b)));  // equal nodes are stored once, so that they can be compared quickly
    }
    return changed;
  }

  [[nodiscard]] static slot met(slot a, slot b) {
    if (a == b || a == 0) {
      return retained(a);
    }
    if (b == 0) {
      return 0;
    }
    if (is_time(a) && is_time(b)) {
      return std::min(a, b);
    }
    node* const n = pool().take();
    for (unsigned k = 0; k < 16; ++k) {
      n->child[k] = met(child_of(a, k), child_of(b, k));
      n->most = std::max(n->most, most_in(n->child[k]));
    }
    return reinterpret_cast<slot>(n);
  }

  [[nodiscard]] static slot adopted(slot s) {
    if (!is_node(s) || node_in(s)->pool == &pool()) {
      return retained(s);
    }
    node* const n = pool().take();
    n->most = node_in(s)->most;
    for (unsigned k = 0; k < 16; ++k) {
      n->child[k] = adopted(node_in(s)->child[k]);
    }
    return reinterpret_cast<slot>(n);
  }

  static inline thread_local clock_nodes* pool_ = nullptr;
  static inline thread_local int levels_ = 1;
  slot root_ = 0;
};

}  // namespace membar::sanitize
