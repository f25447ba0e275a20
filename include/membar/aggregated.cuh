// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Atomic aggregation, which produces the same result with fewer atomic operations: one per warp and address, or one per block
/// and bin.
///
/// Aggregation pays off if a warp's lanes share an address, because the hardware would otherwise serialize their atomics. The
/// loops that membar uses for some operations already merge lanes, but only after each lane has made one attempt. ptxas merges
/// additions if it can see that all lanes use the same address.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/lane.cuh>
#include <membar/detail/standard.hpp>

namespace membar {
inline namespace v0_3 {

/// A function object for an operation that has an atomic instruction or a built-in loop.
template <detail::atom_op Op>
struct combining_operation {
  static constexpr detail::atom_op op = Op;
  template <class T>
  [[nodiscard]] MEMBAR_HOST_DEVICE T operator()(T left, T right) const noexcept {
    return detail::applied<Op>(left, right);
  }
  /// Returns the identity element: the value that leaves every other value unchanged.
  template <class T>
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr T identity() noexcept {
    return detail::identity_of<Op, T>();
  }
};
/// Addition.
using plus = combining_operation<detail::atom_op::add>;
/// The smaller of two values.
using minimum = combining_operation<detail::atom_op::min>;
/// The larger of two values.
using maximum = combining_operation<detail::atom_op::max>;
/// Bitwise AND.
using bit_and = combining_operation<detail::atom_op::bitwise_and>;
/// Bitwise OR.
using bit_or = combining_operation<detail::atom_op::bitwise_or>;
/// Bitwise exclusive OR.
using bit_xor = combining_operation<detail::atom_op::bitwise_xor>;

namespace detail {
template <class Operation>
inline constexpr bool is_combining = false;
template <atom_op Op>
inline constexpr bool is_combining<combining_operation<Op>> = true;
}  // namespace detail

/// Stores `operation(value, operand)` and returns the previous value.
///
/// Calls the `fetch_` form if `operation` is one of membar's function objects; otherwise calls `fetch_update`, which is a
/// loop.
template <class T, thread_scope Scope, class Operation, class Order>
MEMBAR_HOST_DEVICE T fetch_combine(atomic_ref<T, Scope> object, T operand, Operation operation, Order order) {
  if constexpr (detail::is_combining<Operation>) {
    return object.template fetch<Operation::op>(operand, order);
  } else {
    return object.fetch_update([=](T old) { return operation(old, operand); }, order);
  }
}

/// Stores `operation(value, operand)` and returns nothing, which is cheaper than `fetch_combine`. The order is relaxed or
/// release.
template <class T, thread_scope Scope, class Operation, class Order>
MEMBAR_HOST_DEVICE void combine(atomic_ref<T, Scope> object, T operand, Operation operation, Order order) {
  detail::require_reduction_order<Order>();
  if constexpr (detail::is_combining<Operation>) {
    object.template reduce<Operation::op>(operand, order);
  } else {
    static_cast<void>(object.fetch_update([=](T old) { return operation(old, operand); }, order));
  }
}

/// Whether all lanes of a warp that execute a call together refer to the same object.
enum class aggregation {
  one_address,  ///< all lanes refer to the same object; the caller guarantees this
  any_address   ///< each lane may refer to a different object; lanes are grouped by address
};

namespace detail {

/// Returns lane `from`'s `value`. The type may have any size.
template <class T>
[[nodiscard]] __device__ inline T shuffled(unsigned lanes, const T& value, int from) noexcept {
  return from_bits<T>(bits_of_lane(lanes, to_bits(value), from));
}

/// The lanes that execute a call together and refer to the same object, ordered by lane number.
class lane_group {
 public:
  /// Returns the group of the calling lane.
  template <aggregation Form>
  [[nodiscard]] __device__ static lane_group of(const void* address) noexcept {
    const unsigned together = __activemask();
    if constexpr (Form == aggregation::one_address) {
      return lane_group(together, together);
    } else {
      return lane_group(together, __match_any_sync(together, reinterpret_cast<unsigned long long>(address)));
    }
  }

  /// The number of lanes in the group.
  [[nodiscard]] __device__ unsigned size() const noexcept { return static_cast<unsigned>(__popc(static_cast<int>(group_))); }
  /// Returns the number of lanes in the group whose lane number is lower than this lane's.
  [[nodiscard]] __device__ unsigned rank() const noexcept {
    return static_cast<unsigned>(__popc(static_cast<int>(group_ & below_)));
  }

  /// Returns the last lane of the group, which performs the operation for the whole group.
  [[nodiscard]] __device__ int leader() const noexcept { return 31 - __clz(static_cast<int>(group_)); }
  [[nodiscard]] __device__ bool leads() const noexcept { return leader() == lane_; }

  /// Executes a barrier among the lanes before the leader's operation if that operation releases, so that it also releases the
  /// other lanes' earlier accesses.
  template <memory_order Order>
  __device__ void release() const noexcept {
    if constexpr (release_half(Order) != memory_order::relaxed) {
      __syncwarp(together_);
    }
  }
  /// Executes a barrier among the lanes after the leader's operation if that operation acquires, so that every lane acquires.
  template <memory_order Order>
  __device__ void acquire() const noexcept {
    if constexpr (acquire_half(Order) != memory_order::relaxed) {
      __syncwarp(together_);
    }
  }

  /// Returns the leader's value.
  template <class T>
  [[nodiscard]] __device__ T of_leader(const T& value) const noexcept {
    return shuffled(together_, value, leader());
  }

  /// Returns the preceding lane's value, or this lane's own value if it is the first lane of the group.
  template <class T>
  [[nodiscard]] __device__ T of_previous(const T& value) const noexcept {
    return shuffled(together_, value, first() ? lane_ : previous_);
  }
  /// Returns whether this lane is the first of the group.
  [[nodiscard]] __device__ bool first() const noexcept { return previous_ < 0; }

  /// Returns the inclusive scan of the group's values with `operation`, in lane order. The step doubles in each iteration.
  template <class T, class Operation>
  [[nodiscard]] __device__ T scanned(T value, Operation operation) const {
    int before = previous_;
    while (__any_sync(together_, before >= 0)) {
      const int from = before >= 0 ? before : lane_;
      const T theirs = shuffled(together_, value, from);
      const int next = __shfl_sync(together_, before, from);
      if (before >= 0) {
        value = operation(theirs, value);
        before = next;
      }
    }
    return value;
  }

 private:
  __device__ lane_group(unsigned together, unsigned group) noexcept : together_(together), group_(group) {
    // mov.u32 d, %lanemask_lt;  PTX ISA 2.0
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(below_)::"memory");
    lane_ = static_cast<int>(lane_id());
    previous_ = 31 - __clz(static_cast<int>(group_ & below_));
  }

  unsigned together_;
  unsigned group_;
  unsigned below_;
  int lane_;
  int previous_;
};

/// Returns the value after `count` wrapping increments of `old`.
template <class T>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr T incremented(T old, unsigned count, T limit) noexcept {
  if (count == 0) {
    return old;
  }
  if (old > limit) {
    old = 0;
    --count;
  }
  const T period = static_cast<T>(limit + 1);  // 0 stands for the type's full period
  if (period == 0) {
    return static_cast<T>(old + count);
  }
  const T step = static_cast<T>(count % period);
  return static_cast<T>(old >= period - step ? old - (period - step) : old + step);
}

/// Returns the value after `count` wrapping decrements of `old`.
template <class T>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr T decremented(T old, unsigned count, T limit) noexcept {
  if (count == 0) {
    return old;
  }
  if (old > limit) {
    old = limit;
    --count;
  }
  const T period = static_cast<T>(limit + 1);
  if (period == 0) {
    return static_cast<T>(old - count);
  }
  const T step = static_cast<T>(count % period);
  return static_cast<T>(old >= step ? old - step : old + (period - step));
}

}  // namespace detail

/// Performs the read-modify-writes of `atomic_ref` once for all lanes of a warp that together execute a call on the same
/// object.
///
/// Each lane receives the value before its own operation, as if the lanes had executed their operations one after the other in
/// lane order. Floating-point sums may be rounded differently. The hardware chooses which lanes execute together. Its choice
/// affects the cost but not the result. With `aggregation::one_address`, the caller guarantees that all lanes that execute a
/// call together refer to the same object.
///
/// Synchronizes: as if each lane had performed its operation with the given order. A barrier among the lanes precedes the
/// leader's operation if that operation releases, and another barrier follows it if it acquires.
///
/// PTX: `match.any.sync` to group by address, shuffles with a doubling step, then the operation of `atomic_ref`, once per
/// group. Requires: device code; an associative operation; the requirements of `atomic_ref`. Source: PTX ISA, "match.sync",
/// "shfl.sync", "bar.warp.sync".
template <class T, thread_scope Scope, aggregation Form = aggregation::any_address>
class aggregated_ref {
  static_assert(detail::kind_of<T> != detail::value_kind::vector && detail::kind_of<T> != detail::value_kind::pointer,
                "membar: aggregation supports only scalars: aggregate the elements of a vector separately, or convert a "
                "pointer to an integer");

 public:
  using value_type = T;
  static constexpr thread_scope scope = Scope;

  /// Refers to `object`.
  __device__ explicit aggregated_ref(T& object) noexcept : object_(&object) {}

  /// Stores `operation(value, operand)` and returns the value before this lane's operation.
  ///
  /// `operation` must be associative. It receives the operands in lane order.
  template <class Operation, class Order>
  __device__ T fetch_combine(T operand, Operation operation, Order order) const {
    detail::require_order<Order>();
    const auto group = detail::lane_group::of<Form>(object_);
    const T sum = group.scanned(operand, operation);
    T old = operand;
    group.template release<Order::value>();
    if (group.leads()) {
      old = membar::fetch_combine(ref(), sum, operation, order);
    }
    group.template acquire<Order::value>();
    old = group.of_leader(old);
    const T before = group.of_previous(sum);
    return group.first() ? old : operation(old, before);
  }

  /// Stores `operation(value, operand)` and returns nothing. `operation` must be associative. The order is relaxed or release.
  template <class Operation, class Order>
  __device__ void combine(T operand, Operation operation, Order order) const {
    detail::require_reduction_order<Order>();
    const auto group = detail::lane_group::of<Form>(object_);
    const T sum = group.scanned(operand, operation);
    group.template release<Order::value>();
    if (group.leads()) {
      membar::combine(ref(), sum, operation, order);
    }
  }

  /// Adds `value` and returns the value before this lane's operation.
  __device__ T fetch_add(T value, auto order) const noexcept { return fetch_combine(value, plus{}, order); }
  /// Subtracts `value` and returns the value before this lane's operation.
  __device__ T fetch_sub(T value, auto order) const noexcept { return fetch_combine(detail::negated(value), plus{}, order); }
  /// Stores the smaller of the current value and `value`, and returns the value before this lane's operation.
  __device__ T fetch_min(T value, auto order) const noexcept { return fetch_combine(value, minimum{}, order); }
  /// Stores the larger of the current value and `value`, and returns the value before this lane's operation.
  __device__ T fetch_max(T value, auto order) const noexcept { return fetch_combine(value, maximum{}, order); }
  /// Stores the bitwise AND of the current value and `value`, and returns the value before this lane's operation.
  __device__ T fetch_and(T value, auto order) const noexcept { return fetch_combine(value, membar::bit_and{}, order); }
  /// Stores the bitwise OR of the current value and `value`, and returns the value before this lane's operation.
  __device__ T fetch_or(T value, auto order) const noexcept { return fetch_combine(value, membar::bit_or{}, order); }
  /// Stores the bitwise exclusive OR of the current value and `value`, and returns the value before this lane's operation.
  __device__ T fetch_xor(T value, auto order) const noexcept { return fetch_combine(value, membar::bit_xor{}, order); }

  /// Adds 1, or stores 0 if the value is `limit` or more, and returns the previous value. Lanes that update the same object
  /// must pass the same limit.
  template <class Order>
  __device__ T fetch_inc(T limit, Order order) const noexcept {
    return fetch_wrapping([](T old, unsigned count, T most) { return detail::incremented(old, count, most); }, limit, order);
  }
  /// Subtracts 1, or stores `limit` if the value is 0 or above `limit`, and returns the previous value. Lanes that update the
  /// same object must pass the same limit.
  template <class Order>
  __device__ T fetch_dec(T limit, Order order) const noexcept {
    return fetch_wrapping([](T old, unsigned count, T most) { return detail::decremented(old, count, most); }, limit, order);
  }

  /// Adds `value`. The order is relaxed or release.
  __device__ void add(T value, auto order) const noexcept { combine(value, plus{}, order); }
  /// Subtracts `value`. The order is relaxed or release.
  __device__ void sub(T value, auto order) const noexcept { combine(detail::negated(value), plus{}, order); }
  /// Stores the smaller of the current value and `value`. The order is relaxed or release.
  __device__ void min(T value, auto order) const noexcept { combine(value, minimum{}, order); }
  /// Stores the larger of the current value and `value`. The order is relaxed or release.
  __device__ void max(T value, auto order) const noexcept { combine(value, maximum{}, order); }
  /// Stores the bitwise AND of the current value and `value`. The order is relaxed or release.
  __device__ void bit_and(T value, auto order) const noexcept { combine(value, membar::bit_and{}, order); }
  /// Stores the bitwise OR of the current value and `value`. The order is relaxed or release.
  __device__ void bit_or(T value, auto order) const noexcept { combine(value, membar::bit_or{}, order); }
  /// Stores the bitwise exclusive OR of the current value and `value`. The order is relaxed or release.
  __device__ void bit_xor(T value, auto order) const noexcept { combine(value, membar::bit_xor{}, order); }

 private:
  [[nodiscard]] __device__ atomic_ref<T, Scope> ref() const noexcept { return atomic_ref<T, Scope>(*object_); }

  template <class Steps, class Order>
  __device__ T fetch_wrapping(Steps steps, T limit, Order order) const noexcept {
    detail::require_order<Order>();
    static_assert(atomic_unsigned<T>, "membar: wrapping increments and decrements require an unsigned integer type");
    const auto group = detail::lane_group::of<Form>(object_);
    const unsigned count = group.size();
    T old = limit;
    group.template release<Order::value>();
    if (group.leads()) {
      old = ref().fetch_update([=](T before) { return steps(before, count, limit); }, order);
    }
    group.template acquire<Order::value>();
    return steps(group.of_leader(old), group.rank(), limit);
  }

  T* object_;
};

/// The histogram bins of one block, in shared memory. The threads of the block combine values into the bins, and `flush`
/// combines each bin into global memory.
///
/// Use: `__shared__ membar::privatized_histogram<unsigned, 256> bins;`. All threads of the block call `bins.clear()`, any
/// thread calls `bins.add(bin, value)`, and all threads call `bins.flush<Scope>(target, order)`. `Operation` must be
/// associative and commutative, and must have an identity element: bins are initialized with the identity, and `flush` skips
/// bins that still hold it.
///
/// Synchronizes: values are combined with relaxed atomics at block scope. `flush` begins with a block barrier, so if the order
/// is release, each of its operations releases the earlier accesses of all threads of the block. Requires: device code; all
/// threads of the block call `clear` and `flush`; the requirements of `atomic_ref`. The object is aligned to at least 4 bytes
/// and its size is a multiple of its alignment, so no other variable shares a 32-bit word with bins of 8 or 16 bits.
template <class T, int Bins, class Operation = plus>
class privatized_histogram {
  static_assert(Bins > 0, "membar: a histogram needs at least one bin");

 public:
  static constexpr int size = Bins;

  /// Sets every bin to the operation's identity. membar's operations have one, as does any other operation with an
  /// `identity<T>()`. All threads of the block must call this function before the first use, and again between a flush and the
  /// next use.
  __device__ void clear() noexcept {
    constexpr bool known = requires { Operation::template identity<T>(); };
    static_assert(known, "membar: the identity element of this operation is not known: pass it to clear()");
    if constexpr (known) {
      clear(Operation::template identity<T>());
    }
  }
  /// Sets every bin to `identity`, which must not change any value that it is combined with.
  __device__ void clear(T identity) noexcept {
    __syncthreads();
    for (unsigned bin = detail::thread_rank(); bin < Bins; bin += detail::block_threads()) {
      bins_[bin] = identity;
    }
    if (detail::is_first_thread()) {
      identity_ = identity;
    }
    __syncthreads();
  }

  /// Combines `value` into a bin.
  __device__ void add(int bin, T value, Operation operation = Operation{}) noexcept {
    combine(atomic_ref<T, thread_scope::block>(bins_[bin]), value, operation, relaxed);
  }

  /// Combines the bins into `target[0]` to `target[Bins - 1]`. All threads of the block must call this function. The order is
  /// relaxed or release.
  template <thread_scope Scope, class Order>
  __device__ void flush(T* target, Order order, Operation operation = Operation{}) noexcept {
    detail::require_reduction_order<Order>();
    __syncthreads();
    for (unsigned bin = detail::thread_rank(); bin < Bins; bin += detail::block_threads()) {
      if (detail::to_bits(bins_[bin]) != detail::to_bits(identity_)) {
        combine(atomic_ref<T, Scope>(target[bin]), bins_[bin], operation, order);
      }
    }
  }

 private:
  // A read-modify-write of 8 or 16 bits accesses the aligned 32-bit word that contains its bin. That word contains only bins.
  // The identity is in a different word, because it is read without atomics.
  static constexpr std::size_t word = alignof(T) < 4 ? 4 : alignof(T);

  alignas(word) T bins_[static_cast<std::size_t>(Bins)];
  alignas(word) T identity_;
};

/// A block's counter in shared memory: a histogram with one bin.
template <class T, class Operation = plus>
using privatized_counter = privatized_histogram<T, 1, Operation>;

}  // namespace v0_3
}  // namespace membar
