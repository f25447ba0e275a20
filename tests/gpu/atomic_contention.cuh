// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Threads that contend for atomic objects, and properties of the final values that hold for every order of the operations.
#pragma once

#include <membar/atomic.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/kernels.cuh>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace membar_test::contention {

using membar::thread_scope;

/// The threads that contend for one set of objects.
enum class group { block, cluster, grid };

/// Each set contains one object per order of an operation, or one per pair of orders.
inline constexpr int most_objects = 15;

template <class Order>
inline constexpr int index_of = Order::value == membar::memory_order::relaxed ? 0 : static_cast<int>(Order::value) - 1;

/// Returns a reproducible hash of the number, in which every bit depends on each of the number's bits.
__host__ __device__ constexpr std::uint64_t scattered(std::uint64_t id) {
  std::uint64_t x = (id + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Returns a value with the id in each 32-bit half, so that unequal halves reveal a torn access.
template <class T>
__host__ __device__ constexpr T encoded(unsigned id) {
  return static_cast<T>(sizeof(T) == 8 ? std::uint64_t{id} << 32 | id : id);
}

inline constexpr unsigned torn = ~0U;

template <class T>
__host__ __device__ constexpr unsigned decoded(T value) {
  const unsigned low = static_cast<unsigned>(value);
  if constexpr (sizeof(T) == 8) {
    return static_cast<unsigned>(static_cast<std::uint64_t>(value) >> 32) == low ? low : torn;
  }
  return low;
}

/// A thread's view of a contest: the objects, and how often the thread saw each index of each object.
template <class T>
struct contestant {
  T* objects;
  unsigned* counts;
  unsigned counts_per_object;  ///< The last entry counts values that do not correspond to any index.
  unsigned rank;               ///< the number of this thread in its group
  unsigned turns;

  __device__ void saw(int object, std::uint64_t index) const {
    const std::uint64_t last = counts_per_object - 1;
    atomicAdd(&counts[static_cast<unsigned>(object) * counts_per_object + (index < last ? index : last)], 1U);
  }
};

/// Returns the unsigned distance from `from` to `to`, with wraparound.
template <class T>
__host__ __device__ constexpr std::uint64_t distance(T from, T to) {
  using U = std::make_unsigned_t<T>;
  return static_cast<U>(static_cast<U>(to) - static_cast<U>(from));
}

template <class T>
__host__ __device__ constexpr T advanced(T from, std::uint64_t by) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(static_cast<U>(from) + static_cast<U>(by)));
}

// The operations. Each defines the number of objects, their initial value, the part that a thread performs, and the properties
// that must hold after n parts in total: how many indices have been seen exactly once, and the final value. The initial values
// make additions wrap around. A thread's part is `run`, or a `turn` on the object for each order.

/// Makes a thread take its turns on the object for each order: `part(atomic_ref, order, object, id)`. Every call has a
/// different id.
template <thread_scope Scope, class T, class Part>
__device__ void take_turns(const contestant<T>& c, Part part) {
  for_each_order([&](auto order) {
    constexpr int object = index_of<decltype(order)>;
    const membar::atomic_ref<T, Scope> cell(c.objects[object]);
    for (unsigned turn = 0; turn != c.turns; ++turn) {
      part(cell, order, object, c.rank * c.turns + turn);
    }
  });
}

/// An operation that has a single order and observes no index.
struct operation {
  static constexpr int objects = 5;
  template <class T>
  static unsigned seen_once(unsigned) {
    return 0;
  }
};

/// Adds 1: each earlier count is observed once.
struct increment : operation {
  template <class T>
  static constexpr T initial = std::numeric_limits<T>::max() - 5;
  template <class T>
  static unsigned seen_once(unsigned n) {
    return n;
  }
  template <class T>
  static T final(unsigned n) {
    return advanced(initial<T>, n);
  }
};

struct fetch_add : increment {
  template <class T>
  __device__ static void turn(const contestant<T>& c, auto cell, auto order, int object, unsigned) {
    c.saw(object, distance(initial<T>, cell.fetch_add(T{1}, order)));
  }
};

struct fetch_sub : increment {
  static constexpr unsigned step = 3;
  template <class T>
  static constexpr T initial = std::numeric_limits<T>::min() + 5;
  template <class T>
  __device__ static void turn(const contestant<T>& c, auto cell, auto order, int object, unsigned) {
    const std::uint64_t gone = distance(cell.fetch_sub(T{step}, order), initial<T>);
    c.saw(object, gone % step == 0 ? gone / step : torn);
  }
  template <class T>
  static T final(unsigned n) {
    return advanced(initial<T>, std::uint64_t{0} - std::uint64_t{step} * n);
  }
};

/// The values that threads take out, together with the remaining value, are exactly the values that they put in.
struct exchange : operation {
  template <class T>
  static constexpr T initial = encoded<T>(0);
  static constexpr bool final_is_one_of_the_seen = true;
  template <class T>
  __device__ static void turn(const contestant<T>& c, auto cell, auto order, int object, unsigned id) {
    c.saw(object, decoded(cell.exchange(encoded<T>(id + 1), order)));
  }
  template <class T>
  static unsigned seen_once(unsigned n) {
    return n + 1;
  }
};

/// An increment by compare_exchange, for every combination of success and failure order. The loop ends, because some thread always
/// succeeds.
struct compare_exchange : increment {
  static constexpr int objects = 15;
  template <class T, thread_scope Scope, class Success, class Failure>
  __device__ static void count(const contestant<T>& c, int object, Success success, Failure failure) {
    const membar::atomic_ref<T, Scope> counter(c.objects[object]);
    for (unsigned turn = 0; turn != c.turns; ++turn) {
      T expected = counter.load(membar::relaxed);
      while (!counter.compare_exchange(expected, advanced(expected, 1), success, failure)) {
      }
      c.saw(object, distance(initial<T>, expected));
    }
  }
  template <class T, thread_scope Scope>
  __device__ static void run(const contestant<T>& c) {
    for_each_order([&](auto success) {
      constexpr int first = 3 * index_of<decltype(success)>;
      count<T, Scope>(c, first, success, membar::relaxed);
      count<T, Scope>(c, first + 1, success, membar::acquire);
      count<T, Scope>(c, first + 2, success, membar::seq_cst);
    });
  }
};

/// Threads set or clear bits. For each bit, exactly one thread finds the bit in its initial state.
template <bool Set>
struct change_bits : operation {
  template <class T>
  static constexpr T initial = static_cast<T>(Set ? std::uint64_t{0} : ~std::uint64_t{0});
  template <class T>
  __device__ static void turn(const contestant<T>& c, auto cell, auto order, int object, unsigned id) {
    const unsigned bit = id % (8 * sizeof(T));
    const T mask = static_cast<T>(std::uint64_t{1} << bit);
    const T old = Set ? cell.fetch_or(mask, order) : cell.fetch_and(static_cast<T>(~mask), order);
    if (((old & mask) == 0) == Set) {
      c.saw(object, bit);
    }
  }
  template <class T>
  static unsigned seen_once(unsigned n) {
    return n < 8 * sizeof(T) ? n : static_cast<unsigned>(8 * sizeof(T));
  }
  template <class T>
  static T final(unsigned n) {
    T value = initial<T>;
    for (unsigned bit = 0; bit != seen_once<T>(n); ++bit) {
      value = static_cast<T>(value ^ static_cast<T>(std::uint64_t{1} << bit));
    }
    return value;
  }
};
using fetch_and = change_bits<false>;
using fetch_or = change_bits<true>;

/// Returns the result of applying `combine` to the values of n parts.
template <class T, class Combine>
T combined(T value, unsigned n, Combine combine) {
  for (unsigned id = 0; id != n; ++id) {
    value = combine(value, static_cast<T>(scattered(id)));
  }
  return value;
}

struct fetch_xor : operation {
  template <class T>
  static constexpr T initial = T{5};
  template <class T>
  __device__ static void turn(const contestant<T>&, auto cell, auto order, int, unsigned id) {
    cell.fetch_xor(static_cast<T>(scattered(id)), order);
  }
  template <class T>
  static T final(unsigned n) {
    return combined(initial<T>, n, [](T a, T b) { return static_cast<T>(a ^ b); });
  }
};

/// The values have both signs. A thread never sees the minimum grow or the maximum shrink.
template <bool Maximum>
struct fetch_extreme : operation {
  template <class T>
  static constexpr T initial = Maximum ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  /// Returns whether `a` is the more extreme value.
  template <class T>
  __host__ __device__ static bool beyond(T a, T b) {
    return Maximum ? a > b : a < b;
  }
  template <class T, thread_scope Scope>
  __device__ static void run(const contestant<T>& c) {
    T before = initial<T>;
    take_turns<Scope>(c, [&](auto cell, auto order, int object, unsigned id) {
      if (id == c.rank * c.turns) {
        before = initial<T>;  // the initial value of the next order's object
      }
      const T value = static_cast<T>(scattered(id));
      const T old = Maximum ? cell.fetch_max(value, order) : cell.fetch_min(value, order);
      if (checked(beyond(before, old))) {
        c.saw(object, torn);
      }
      before = beyond(old, value) ? old : value;
    });
  }
  template <class T>
  static T final(unsigned n) {
    return combined(initial<T>, n, [](T a, T b) { return beyond(b, a) ? b : a; });
  }
};
using fetch_min = fetch_extreme<false>;
using fetch_max = fetch_extreme<true>;

/// Every load must return a whole value that some thread has stored.
struct load_store : operation {
  static constexpr int objects = 3;
  template <class T>
  static constexpr T initial = encoded<T>(0);
  template <class T, thread_scope Scope, class Store, class Load>
  __device__ static void store_and_load(const contestant<T>& c, int object, Store store, Load load) {
    const membar::atomic_ref<T, Scope> cell(c.objects[object]);
    for (unsigned turn = 0; turn != c.turns; ++turn) {
      cell.store(encoded<T>(c.rank * c.turns + turn + 1), store);
      const unsigned id = decoded(cell.load(load));
      if (checked(id >= c.counts_per_object - 1)) {
        c.saw(object, torn);
      }
    }
  }
  template <class T, thread_scope Scope>
  __device__ static void run(const contestant<T>& c) {
    store_and_load<T, Scope>(c, 0, membar::relaxed, membar::relaxed);
    store_and_load<T, Scope>(c, 1, membar::release, membar::acquire);
    store_and_load<T, Scope>(c, 2, membar::seq_cst, membar::seq_cst);
  }
};

template <class Operation, thread_scope Scope, class T>
__device__ void run(const contestant<T>& c) {
  if constexpr (requires { Operation::template run<T, Scope>(c); }) {
    Operation::template run<T, Scope>(c);
  } else {
    take_turns<Scope>(c, [&](auto... turn) { Operation::turn(c, turn...); });
  }
}

/// Runs `Operation` on the objects at `global`, or on copies of them.
template <class Operation, class T, thread_scope Scope>
__global__ void contend(T* global, unsigned* counts, unsigned counts_per_object, placement where, group who, unsigned turns) {
  if constexpr (Scope != thread_scope::cluster || has_hopper) {
    unsigned set = blockIdx.x;
    unsigned rank = threadIdx.x;
    if (who == group::grid) {
      set = 0;
      rank = blockIdx.x * blockDim.x + threadIdx.x;
    }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (who == group::cluster) {
      set = __clusterIdx().x;
      rank = __clusterRelativeBlockRank() * blockDim.x + threadIdx.x;
    }
#endif
    const bool of_cluster = who == group::cluster || where == placement::neighbour_shared;
    on_objects<most_objects>(global + set * most_objects, where, of_cluster, [&](T* objects) {
      run<Operation, Scope>(contestant<T>{.objects = objects,
                                          .counts = counts + set * most_objects * counts_per_object,
                                          .counts_per_object = counts_per_object,
                                          .rank = rank,
                                          .turns = turns});
    });
  }
}

}  // namespace membar_test::contention
