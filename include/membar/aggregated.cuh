// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Fewer atomic operations for the same result: those of a warp's lanes combined into one per address, and those of a block
/// kept in shared memory until it is done.
///
/// Where it pays: where the lanes of a warp share an address, for an instruction as much as for a loop: the hardware serves
/// them one by one. ptxas merges additions itself at an address that it sees to be one for all lanes.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/lane.cuh>

namespace membar {

/// A binary operation that atomics know: as a function object, and as the instruction it becomes.
template <detail::atom_op Op>
struct combining_operation {
  template <class T>
  [[nodiscard]] MEMBAR_HOST_DEVICE T operator()(T left, T right) const noexcept {
    return detail::applied<Op>(left, right);
  }
};
using plus = combining_operation<detail::atom_op::add>;
using minimum = combining_operation<detail::atom_op::min>;
using maximum = combining_operation<detail::atom_op::max>;
using bit_and = combining_operation<detail::atom_op::bitwise_and>;
using bit_or = combining_operation<detail::atom_op::bitwise_or>;
using bit_xor = combining_operation<detail::atom_op::bitwise_xor>;

/// Makes `operation(value, operand)` the value and returns the one before: by its instruction if `operation` is one of
/// membar's, else in a loop of compare-and-swap.
template <class T, thread_scope Scope, class Operation, class Order>
MEMBAR_HOST_DEVICE T fetch_combine(atomic_ref<T, Scope> object, T operand, Operation operation, Order order) {
  if constexpr (std::is_same_v<Operation, plus>) {
    return object.fetch_add(operand, order);
  } else if constexpr (std::is_same_v<Operation, minimum>) {
    return object.fetch_min(operand, order);
  } else if constexpr (std::is_same_v<Operation, maximum>) {
    return object.fetch_max(operand, order);
  } else if constexpr (std::is_same_v<Operation, bit_and>) {
    return object.fetch_and(operand, order);
  } else if constexpr (std::is_same_v<Operation, bit_or>) {
    return object.fetch_or(operand, order);
  } else if constexpr (std::is_same_v<Operation, bit_xor>) {
    return object.fetch_xor(operand, order);
  } else {
    return object.fetch_update([=](T old) { return operation(old, operand); }, order);
  }
}

/// `fetch_combine` without the value before, which makes it cheaper. Relaxed or release.
template <class T, thread_scope Scope, class Operation, class Order>
MEMBAR_HOST_DEVICE void combine(atomic_ref<T, Scope> object, T operand, Operation operation, Order order) {
  detail::require_reduction_order<Order>();
  if constexpr (std::is_same_v<Operation, plus>) {
    object.add(operand, order);
  } else if constexpr (std::is_same_v<Operation, minimum>) {
    object.min(operand, order);
  } else if constexpr (std::is_same_v<Operation, maximum>) {
    object.max(operand, order);
  } else if constexpr (std::is_same_v<Operation, bit_and>) {
    object.bit_and(operand, order);
  } else if constexpr (std::is_same_v<Operation, bit_or>) {
    object.bit_or(operand, order);
  } else if constexpr (std::is_same_v<Operation, bit_xor>) {
    object.bit_xor(operand, order);
  } else {
    static_cast<void>(object.fetch_update([=](T old) { return operation(old, operand); }, order));
  }
}

/// What the lanes of a warp that call together refer to.
enum class aggregation {
  one_address,  ///< all to the same object: the caller's promise
  any_address   ///< each to an object of its own choice: lanes are grouped by address
};

namespace detail {

/// `value` of another lane, of any size.
template <class T>
[[nodiscard]] __device__ inline T shuffled(unsigned lanes, const T& value, int from) noexcept {
  return from_bits<T>(bits_of_lane(lanes, to_bits(value), from));
}

/// The lanes that call together, and among them those that refer to the same object, in the order of their numbers.
class lane_group {
 public:
  template <aggregation Form>
  [[nodiscard]] __device__ static lane_group of(const void* address) noexcept {
    const unsigned together = __activemask();
    if constexpr (Form == aggregation::one_address) {
      return lane_group(together, together);
    } else {
      return lane_group(together, __match_any_sync(together, reinterpret_cast<unsigned long long>(address)));
    }
  }

  [[nodiscard]] __device__ unsigned size() const noexcept { return static_cast<unsigned>(__popc(static_cast<int>(group_))); }
  [[nodiscard]] __device__ unsigned rank() const noexcept {
    return static_cast<unsigned>(__popc(static_cast<int>(group_ & below_)));
  }

  /// The last lane of the group acts for it.
  [[nodiscard]] __device__ int leader() const noexcept { return 31 - __clz(static_cast<int>(group_)); }
  [[nodiscard]] __device__ bool leads() const noexcept { return leader() == lane_; }

  /// Barriers before and after what the leader does, so that its order is that of each lane.
  template <memory_order Order>
  __device__ void release() const noexcept {
    if constexpr (release_half(Order) != memory_order::relaxed) {
      __syncwarp(together_);
    }
  }
  template <memory_order Order>
  __device__ void acquire() const noexcept {
    if constexpr (acquire_half(Order) != memory_order::relaxed) {
      __syncwarp(together_);
    }
  }

  template <class T>
  [[nodiscard]] __device__ T of_leader(const T& value) const noexcept {
    return shuffled(together_, value, leader());
  }

  /// The lane before in the group, or this one if it is the first.
  template <class T>
  [[nodiscard]] __device__ T of_previous(const T& value) const noexcept {
    return shuffled(together_, value, first() ? lane_ : previous_);
  }
  [[nodiscard]] __device__ bool first() const noexcept { return previous_ < 0; }

  /// `operation` over the group's values up to this lane's own, in the order of lanes: the step doubles, whatever lanes there
  /// are.
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

/// What `count` wrapping increments make of `old`.
template <class T>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr T incremented(T old, unsigned count, T limit) noexcept {
  if (count == 0) {
    return old;
  }
  if (old > limit) {
    old = 0;
    --count;
  }
  const T period = static_cast<T>(limit + 1);  // 0: that of the type
  if (period == 0) {
    return static_cast<T>(old + count);
  }
  const T step = static_cast<T>(count % period);
  return static_cast<T>(old >= period - step ? old - (period - step) : old + step);
}

/// What `count` wrapping decrements make of `old`.
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

/// The read-modify-writes of `atomic_ref`, done once for all lanes of a warp that call together for one object.
///
/// Each lane gets the value before its own operation, as if the lanes had come one after the other by their numbers;
/// floating-point sums may be rounded otherwise. Which lanes come together is the hardware's choice: a result does not depend
/// on it, its cost does. With `aggregation::one_address` the caller promises that all lanes that call together refer to one
/// object.
///
/// Synchronizes: as if each lane had performed its operation with the order itself: a barrier of the lanes stands before the
/// leader's operation if that releases, and one after it if it acquires. PTX: `match.any.sync` to group by address, then
/// shuffles that double their step, then the operation of `atomic_ref`, once per group. Requires: device code; an associative
/// operation; what `atomic_ref` requires. Source: PTX ISA, "match.sync", "shfl.sync", "bar.warp.sync".
template <class T, thread_scope Scope, aggregation Form = aggregation::any_address>
class aggregated_ref {
  static_assert(detail::kind_of<T> != detail::value_kind::vector && detail::kind_of<T> != detail::value_kind::pointer,
                "membar: aggregation takes values of one number: aggregate the elements, or the pointer's integer");

 public:
  using value_type = T;
  static constexpr thread_scope scope = Scope;

  __device__ explicit aggregated_ref(T& object) noexcept : object_(&object) {}

  /// Makes `operation(value, operand)` the value and returns the one before this lane's. `operation` is associative, and is
  /// given the operands in the order of lanes.
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

  /// The same without the value before. Relaxed or release.
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

  template <class Order>
  __device__ T fetch_add(T value, Order order) const noexcept {
    return fetch_combine(value, plus{}, order);
  }
  template <class Order>
  __device__ T fetch_sub(T value, Order order) const noexcept {
    return fetch_combine(detail::negated(value), plus{}, order);
  }
  template <class Order>
  __device__ T fetch_min(T value, Order order) const noexcept {
    return fetch_combine(value, minimum{}, order);
  }
  template <class Order>
  __device__ T fetch_max(T value, Order order) const noexcept {
    return fetch_combine(value, maximum{}, order);
  }
  template <class Order>
  __device__ T fetch_and(T value, Order order) const noexcept {
    return fetch_combine(value, membar::bit_and{}, order);
  }
  template <class Order>
  __device__ T fetch_or(T value, Order order) const noexcept {
    return fetch_combine(value, membar::bit_or{}, order);
  }
  template <class Order>
  __device__ T fetch_xor(T value, Order order) const noexcept {
    return fetch_combine(value, membar::bit_xor{}, order);
  }

  /// Adds 1, but makes 0 of a value that is `limit` or more, and returns the one before. Lanes of one object pass the same
  /// limit.
  template <class Order>
  __device__ T fetch_inc(T limit, Order order) const noexcept {
    return fetch_wrapping([](T old, unsigned count, T most) { return detail::incremented(old, count, most); }, limit, order);
  }
  /// Subtracts 1, but makes `limit` of 0 and of a value above it, and returns the one before. Lanes of one object pass the same
  /// limit.
  template <class Order>
  __device__ T fetch_dec(T limit, Order order) const noexcept {
    return fetch_wrapping([](T old, unsigned count, T most) { return detail::decremented(old, count, most); }, limit, order);
  }

  template <class Order>
  __device__ void add(T value, Order order) const noexcept {
    combine(value, plus{}, order);
  }
  template <class Order>
  __device__ void sub(T value, Order order) const noexcept {
    combine(detail::negated(value), plus{}, order);
  }
  template <class Order>
  __device__ void min(T value, Order order) const noexcept {
    combine(value, minimum{}, order);
  }
  template <class Order>
  __device__ void max(T value, Order order) const noexcept {
    combine(value, maximum{}, order);
  }
  template <class Order>
  __device__ void bit_and(T value, Order order) const noexcept {
    combine(value, membar::bit_and{}, order);
  }
  template <class Order>
  __device__ void bit_or(T value, Order order) const noexcept {
    combine(value, membar::bit_or{}, order);
  }
  template <class Order>
  __device__ void bit_xor(T value, Order order) const noexcept {
    combine(value, membar::bit_xor{}, order);
  }

 private:
  [[nodiscard]] __device__ atomic_ref<T, Scope> ref() const noexcept { return atomic_ref<T, Scope>(*object_); }

  template <class Steps, class Order>
  __device__ T fetch_wrapping(Steps steps, T limit, Order order) const noexcept {
    detail::require_order<Order>();
    static_assert(atomic_unsigned<T>, "membar: wrapping increments and decrements take unsigned integers");
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

/// Bins of one block in shared memory, into which its threads combine values, and which are combined into global memory once.
///
/// Use: `__shared__ membar::privatized_histogram<unsigned, 256> bins;` then by all threads of the block `bins.clear()`, by any
/// `bins.add(bin, value)`, by all `bins.flush<Scope>(target, order)`. `Operation` is associative and commutative, and
/// `identity` changes nothing.
///
/// Synchronizes: values are combined with relaxed atomics of block scope. `flush` begins with a barrier of the block, so that
/// each of its operations, if its order is release, releases what any thread of the block did before. Requires: device code; a
/// block whose threads all reach `clear` and `flush`; what `atomic_ref` requires. A bin that is still the identity is not
/// combined.
template <class T, int Bins, class Operation = plus>
class privatized_histogram {
  static_assert(Bins > 0, "membar: a histogram has at least one bin");

 public:
  static constexpr int size = Bins;

  /// Makes every bin the identity. By all threads of the block; also between a flush and the next use.
  __device__ void clear(T identity = T{}) noexcept {
    __syncthreads();
    for (unsigned bin = rank(); bin < Bins; bin += threads()) {
      bins_[bin] = identity;
    }
    if (rank() == 0) {
      identity_ = identity;
    }
    __syncthreads();
  }

  /// Combines `value` into a bin.
  __device__ void add(int bin, T value, Operation operation = Operation{}) noexcept {
    combine(atomic_ref<T, thread_scope::block>(bins_[bin]), value, operation, relaxed);
  }

  /// Combines the bins into `target[0]`, ... `target[Bins - 1]`, with `order`: relaxed or release. By all threads of the block.
  template <thread_scope Scope, class Order>
  __device__ void flush(T* target, Order order, Operation operation = Operation{}) noexcept {
    detail::require_reduction_order<Order>();
    __syncthreads();
    for (unsigned bin = rank(); bin < Bins; bin += threads()) {
      if (detail::to_bits(bins_[bin]) != detail::to_bits(identity_)) {
        combine(atomic_ref<T, Scope>(target[bin]), bins_[bin], operation, order);
      }
    }
  }

 private:
  [[nodiscard]] __device__ static unsigned rank() noexcept {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  [[nodiscard]] __device__ static unsigned threads() noexcept { return blockDim.x * blockDim.y * blockDim.z; }

  T bins_[Bins];
  T identity_;
};

/// One such bin: a counter that a block keeps to itself until it is done.
template <class T, class Operation = plus>
using privatized_counter = privatized_histogram<T, 1, Operation>;

}  // namespace membar
