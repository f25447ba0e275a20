// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Numbers of every type that atomics support, and contests in which 512 threads use one object per order.
#pragma once

#include <membar/aggregated.cuh>

#include <tests/common/kernels.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace membar_test::types {

using membar::thread_scope;

/// The number of threads in a contest, regardless of how they are spread over blocks.
inline constexpr unsigned contestants = 512;
inline constexpr int orders = 5;

/// Returns the number of an order, from 0 to 4.
template <membar::memory_order Order>
__host__ __device__ constexpr int index_of(membar::memory_order_constant<Order>) {
  return Order == membar::memory_order::relaxed ? 0 : static_cast<int>(Order) - 1;
}

template <class T>
inline constexpr bool is_half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
template <class T>
inline constexpr bool is_float = std::is_floating_point_v<T> || is_half<T>;
template <class T>
inline constexpr bool needs_hopper = sizeof(T) == 16;

template <class T>
__host__ __device__ T number(int i) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half(static_cast<float>(i));
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16(static_cast<float>(i));
  } else {
    return static_cast<T>(i);
  }
}

/// Counting starts here, so that every count up to `contestants` is exact in bfloat16, and integers wrap around.
template <class T>
__host__ __device__ T start() {
  if constexpr (is_float<T>) {
    return number<T>(-256);
  } else {
    return static_cast<T>(static_cast<T>(~T{0}) - 5);
  }
}

/// Returns the number of times that 1 was added to `start` to reach `value`, modulo 2^16 and the type's own range.
template <class T>
__host__ __device__ unsigned count_of(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return static_cast<unsigned>(__half2float(value) + 256);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return static_cast<unsigned>(__bfloat162float(value) + 256);
  } else if constexpr (is_float<T>) {
    return static_cast<unsigned>(value + 256);
  } else if constexpr (sizeof(T) == 1) {
    return static_cast<unsigned>(static_cast<unsigned char>(value - start<T>()));
  } else {
    return static_cast<unsigned>(static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(start<T>())) & 0xffffU;
  }
}

/// The number of counts in a contest that a type can distinguish.
template <class T>
inline constexpr unsigned distinct = sizeof(T) == 1 ? 256 : contestants;

/// An object between two objects that no thread accesses. With 8 or 16 bits, the object shares a word with them.
template <class T>
struct guarded {
  T before;
  T object;
  T after;
};

/// The cells in a contest. An operation on 8 or 16 bits reads the whole aligned word around its object, so the cells fill whole
/// words.
template <class T>
struct alignas(16) board {
  guarded<T> cells[orders];
};

/// The result of a contest: the objects, and how often each count was seen before an operation.
template <class T>
struct contest : board<T> {
  unsigned seen[orders][contestants];
  unsigned strange;  ///< Values that no thread stored.
};

/// Whether code for this device provides the operations at this scope.
template <class T, thread_scope Scope>
inline constexpr bool compiled = has_hopper || (Scope != thread_scope::cluster && !needs_hopper<T>);

template <class T>
__device__ void saw(contest<T>& all, int order, T old) {
  const unsigned count = count_of(old);
  atomicAdd(count < contestants ? &all.seen[order][count] : &all.strange, 1U);
}

/// Makes each thread of the group call `step(cell, order)` once for each order, either on the cells in global memory or on
/// copies of them.
template <class T, class Step>
__device__ void on_cells(contest<T>& all, placement where, Step step) {
  on_objects<1>(static_cast<board<T>*>(&all), where, where == placement::distributed_shared,
                [&](board<T>* on) { for_each_order([&](auto order) { step(on->cells[index_of(order)].object, order); }); });
}

/// The ways to add 1. `add` and all ways listed after it return nothing.
enum class way {
  fetch_add,
  fetch_sub,
  compare_exchange,
  fetch_update,
  aggregation_at_one_address,
  aggregation_at_any_address,
  aggregation_of_a_function,
  add,
  aggregated_add
};
template <way How>
inline constexpr bool returns = How < way::add;

/// Adds 1 and returns the old value. A reduction returns 0, and uses the release half of the order.
template <way How, thread_scope Scope, class T, class Order>
__device__ T add_one(T& object, Order order) {
  using membar::aggregation;
  const T one = number<T>(1);
  const membar::atomic_ref<T, Scope> n(object);
  const membar::aggregated_ref<T, Scope> many(object);
  if constexpr (How == way::fetch_add) {
    return n.fetch_add(one, order);
  } else if constexpr (How == way::fetch_sub) {
    return n.fetch_sub(number<T>(-1), order);
  } else if constexpr (How == way::compare_exchange) {
    T seen = n.load(membar::relaxed);
    while (!n.compare_exchange(seen, static_cast<T>(seen + one), order, membar::relaxed)) {
    }
    return seen;
  } else if constexpr (How == way::fetch_update) {
    return n.fetch_update([](T x) { return static_cast<T>(x + number<T>(1)); }, order);
  } else if constexpr (How == way::aggregation_at_one_address) {
    return membar::aggregated_ref<T, Scope, aggregation::one_address>(object).fetch_add(one, order);
  } else if constexpr (How == way::aggregation_at_any_address) {
    return membar::aggregated_ref<T, Scope, aggregation::any_address>(object).fetch_add(one, order);
  } else if constexpr (How == way::aggregation_of_a_function) {
    return many.fetch_combine(one, [](T a, T b) { return static_cast<T>(a + b); }, order);
  } else if constexpr (How == way::aggregated_add) {
    many.add(one, membar::release);
  } else if constexpr (membar::reduction_order<Order>) {
    n.add(one, order);
  } else {
    n.sub(number<T>(-1), membar::release);
  }
  return number<T>(0);
}

template <way How, class T, thread_scope Scope>
__global__ void count(contest<T>* all, placement where) {
  if constexpr (compiled<T, Scope>) {
    on_cells(*all, where, [&](T& object, auto order) {
      const T old = add_one<How, Scope>(object, order);
      if constexpr (returns<How>) {
        saw(*all, index_of(order), old);
      }
    });
  }
}

/// Returns a thread's operand. The operands have both signs and include both zeros, infinities, and numbers of all sizes, but
/// no NaN.
template <class T>
__host__ __device__ T operand(unsigned rank) {
  const int magnitude = static_cast<int>((rank * 2654435761U) >> 24);
  if constexpr (is_float<T>) {
    if (magnitude == 0) {
      return (rank & 1) != 0 ? number<T>(0) : -number<T>(0);
    }
    return (rank & 1) != 0 ? number<T>(magnitude) : -number<T>(magnitude);
  } else {
    return static_cast<T>((rank & 1) != 0 ? magnitude : -magnitude);
  }
}

template <bool Maximum, bool Returns, class T, thread_scope Scope>
__global__ void find_extreme(contest<T>* all, placement where) {
  if constexpr (compiled<T, Scope>) {
    const T mine = operand<T>(blockIdx.x * blockDim.x + threadIdx.x);
    on_cells(*all, where, [&](T& object, auto order) {
      const membar::atomic_ref<T, Scope> n(object);
      if constexpr (Returns) {
        Maximum ? n.fetch_max(mine, order) : n.fetch_min(mine, order);
      } else {
        Maximum ? n.max(mine, membar::release) : n.min(mine, membar::relaxed);
      }
    });
  }
}

/// Every value is taken out exactly once. For each rank, `seen` counts how often the value that this rank put in was taken out.
template <class T, thread_scope Scope>
__global__ void pass_around(contest<T>* all, placement where) {
  if constexpr (compiled<T, Scope>) {
    const int rank = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    on_cells(*all, where, [&](T& object, auto order) {
      const T mine = is_float<T> ? number<T>(rank + 1 - 256) : static_cast<T>(start<T>() + number<T>(rank + 1));
      const T old = membar::atomic_ref<T, Scope>(object).exchange(mine, order);
      // The last rank's value does not fit into `seen`; on the host it is `contestants`.
      if (count_of(old) != contestants) {
        saw(*all, index_of(order), old);
      }
    });
  }
}

template <bool Aggregated, class T, thread_scope Scope>
__global__ void wrap(contest<T>* all, placement where, bool up, T limit) {
  if constexpr (compiled<T, Scope>) {
    on_cells(*all, where, [&](T& object, auto order) {
      const std::conditional_t<Aggregated, membar::aggregated_ref<T, Scope>, membar::atomic_ref<T, Scope>> n(object);
      const T old = up ? n.fetch_inc(limit, order) : n.fetch_dec(limit, order);
      atomicAdd(old <= limit ? &all->seen[index_of(order)][static_cast<unsigned>(old)] : &all->strange, 1U);
    });
  }
}

}  // namespace membar_test::types
