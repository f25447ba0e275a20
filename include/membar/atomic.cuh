// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Atomic operations: the scope is in the type, and the order is a tag in the call.
///
/// A call becomes one instruction where the machine has one. Otherwise it becomes the sequence that `atomic_ref` lists: a fence
/// and an instruction at seq_cst, a two-way form, or a loop. An operation with none of these does not compile.
#pragma once

#include <membar/detail/atomic_device.cuh>
#include <membar/detail/atomic_refused.cuh>
#include <membar/detail/config.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#include <cuda/atomic>

namespace membar {

/// The rule for the type that an atomic holds: trivially copyable (or a packed pair of half or bfloat16), of 1, 2, 4, 8 or 16
/// bytes, without const or volatile.
template <class T>
concept atomic_value = (std::is_trivially_copyable_v<T> || detail::kind_of<T> == detail::value_kind::half_pair ||
                        detail::kind_of<T> == detail::value_kind::bfloat16_pair) &&
                       std::is_same_v<T, std::remove_cv_t<T>> &&
                       (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);

/// The rule for bitwise operations: integers other than `bool`.
template <class T>
concept atomic_integer = atomic_value<T> && detail::kind_of<T> == detail::value_kind::integer;

/// The rule for wrapping increments and decrements: unsigned integers.
template <class T>
concept atomic_unsigned = atomic_integer<T> && !detail::is_signed<T>;

/// The rule for addition: integers, float, double, half, bfloat16 and their pairs, pointers to objects, and the vectors that
/// PTX can add.
template <class T>
concept atomic_addable = atomic_value<T> && detail::kind_of<T> != detail::value_kind::other &&
                         (detail::kind_of<T> != detail::value_kind::pointer || std::is_object_v<std::remove_pointer_t<T>>) &&
                         (detail::kind_of<T> != detail::value_kind::vector ||
                          detail::native_type<T>(detail::atom_op::add) != detail::ptx_type::none);

/// The rule for minimum and maximum: the types of addition, but no pointers and no vectors of float.
template <class T>
concept atomic_ordered = atomic_addable<T> && detail::kind_of<T> != detail::value_kind::pointer &&
                         (detail::kind_of<T> != detail::value_kind::vector ||
                          detail::native_type<T>(detail::atom_op::min) != detail::ptx_type::none);

namespace detail {

template <thread_scope Scope>
inline constexpr cuda::thread_scope cuda_scope = cuda::thread_scope_system;
template <>
inline constexpr cuda::thread_scope cuda_scope<thread_scope::device> = cuda::thread_scope_device;
template <>
inline constexpr cuda::thread_scope cuda_scope<thread_scope::block> = cuda::thread_scope_block;

template <memory_order Order>
inline constexpr cuda::memory_order cuda_order = cuda::memory_order_seq_cst;
template <>
inline constexpr cuda::memory_order cuda_order<memory_order::relaxed> = cuda::memory_order_relaxed;
template <>
inline constexpr cuda::memory_order cuda_order<memory_order::acquire> = cuda::memory_order_acquire;
template <>
inline constexpr cuda::memory_order cuda_order<memory_order::release> = cuda::memory_order_release;
template <>
inline constexpr cuda::memory_order cuda_order<memory_order::acq_rel> = cuda::memory_order_acq_rel;

/// Whether `cuda::atomic_ref` emits the right loads and stores of a `T` at a scope: integers of 32 and 64 bits, but no cluster
/// scope.
template <class T, thread_scope Scope>
inline constexpr bool cuda_loads_and_stores =
    Scope != thread_scope::cluster && kind_of<T> == value_kind::integer && (sizeof(T) == 4 || sizeof(T) == 8);

/// The type that `cuda::atomic_ref` gets: integers as they are, and the bits of every other value.
template <class T>
using cuda_value = std::conditional_t<kind_of<T> == value_kind::integer, T, bits_of<T>>;

/// The `cuda::atomic_ref` that performs loads and stores of integers of 32 and 64 bits, and every operation on the host.
template <class T, thread_scope Scope>
[[nodiscard]] MEMBAR_HOST_DEVICE inline auto native_ref(T* object) noexcept {
  return cuda::atomic_ref<cuda_value<T>, cuda_scope<Scope>>(*reinterpret_cast<cuda_value<T>*>(object));
}

template <atom_op Op, memory_order Order, class Ref, class T>
[[nodiscard]] inline T host_fetch(Ref ref, T value) noexcept {
  constexpr cuda::memory_order order = cuda_order<Order>;
  if constexpr (Op == atom_op::exchange) {
    return ref.exchange(value, order);
  } else if constexpr (Op == atom_op::add) {
    return ref.fetch_add(value, order);
  } else if constexpr (Op == atom_op::bitwise_and) {
    return ref.fetch_and(value, order);
  } else if constexpr (Op == atom_op::bitwise_or) {
    return ref.fetch_or(value, order);
  } else if constexpr (Op == atom_op::bitwise_xor) {
    return ref.fetch_xor(value, order);
  } else if constexpr (Op == atom_op::min) {
    return ref.fetch_min(value, order);
  } else {
    static_assert(Op == atom_op::max);
    return ref.fetch_max(value, order);
  }
}

/// The host's loop of compare-and-swap on the bits.
template <class T, thread_scope Scope, memory_order Order, class Function>
inline T host_update(T* object, Function function) {
  const auto ref = native_ref<T, Scope>(object);
  cuda_value<T> seen = ref.load(cuda::memory_order_relaxed);
  while (!ref.compare_exchange_strong(seen,
                                      __builtin_bit_cast(cuda_value<T>, to_bits<T>(function(from_bits<T>(to_bits(seen))))),
                                      cuda_order<Order>, cuda::memory_order_relaxed)) {
  }
  // Failed attempts are relaxed. The attempt that succeeds has the operation's order.
  return from_bits<T>(to_bits(seen));
}

template <class Order>
MEMBAR_HOST_DEVICE constexpr void require_order() noexcept {
  static_assert(!std::is_same_v<Order, missing_order>,
                "membar: an atomic operation is given its order: add relaxed, acquire, release, acq_rel or seq_cst");
  static_assert(memory_order_tag<Order> || std::is_same_v<Order, missing_order>,
                "membar: an order is one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
}

template <class Order>
MEMBAR_HOST_DEVICE constexpr void require_reduction_order() noexcept {
  require_order<Order>();
  static_assert(
      reduction_order<Order> || !memory_order_tag<Order>,
      "membar: a reduction takes relaxed or release: it returns nothing, so there is nothing to acquire; use the fetch_ form");
}

template <class T, atom_op Op>
MEMBAR_HOST_DEVICE constexpr void require_operation() noexcept {
  if constexpr (Op == atom_op::add) {
    static_assert(
        atomic_addable<T>,
        "membar: addition takes integers, float, double, half, bfloat16, their packed pairs, pointers to objects, and "
        "vectors of 2 or 4 floats or 2, 4 or 8 half or bfloat16: use fetch_update for other types");
  } else if constexpr (Op == atom_op::min || Op == atom_op::max) {
    static_assert(
        atomic_ordered<T>,
        "membar: minimum and maximum take integers, float, double, half, bfloat16, their packed pairs, and vectors of 2, "
        "4 or 8 half or bfloat16: use fetch_update for other types");
  } else if constexpr (Op == atom_op::inc || Op == atom_op::dec) {
    static_assert(atomic_unsigned<T>, "membar: wrapping increments and decrements take unsigned integers");
  } else if constexpr (Op != atom_op::exchange) {
    static_assert(atomic_integer<T>, "membar: bitwise operations take integers: use fetch_update for other types");
  }
}

/// Whether the rules above hold.
template <class T, atom_op Op>
inline constexpr bool has_operation = Op == atom_op::add                         ? atomic_addable<T>
                                      : Op == atom_op::min || Op == atom_op::max ? atomic_ordered<T>
                                      : Op == atom_op::inc || Op == atom_op::dec ? atomic_unsigned<T>
                                                                                 : Op == atom_op::exchange || atomic_integer<T>;

template <class T>
struct pointer_difference {
  using type = T;
};
template <class T>
struct pointer_difference<T*> {
  using type = decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr));
};

}  // namespace detail

/// Atomic operations on an object that lives elsewhere, for the threads in `Scope`.
///
/// Synchronizes: a release operation synchronizes with an acquire operation that reads its value, or a value of the
/// read-modify-writes that follow it, if each operation's scope includes the other's thread. At device scope both kernels run
/// in one physical synchronization domain. Relaxed operations order nothing but accesses of the same object. While a thread may
/// use the object through an `atomic_ref`, every concurrent access is such an operation, of a scope that includes the others.
///
/// PTX, where S is cta, cluster, gpu or sys for block, cluster, device or system, and T is the instruction's type:
///   load              ld.{relaxed,acquire}.S.T                          seq_cst: fence.sc.S; ld.acquire.S.T
///   store             st.{relaxed,release}.S.T                          seq_cst: fence.sc.S; st.relaxed.S.T
///   exchange, fetch_* atom.{relaxed,acquire,release,acq_rel}.S.OP.T      seq_cst: fence.sc.S; atom.acquire.S.OP.T
///   compare_exchange  atom.cas, with the weakest order that covers both of its orders
///   add, sub, ...     red.{relaxed,release}.S.OP.T                      no other order
///   float, double min and max: that of the bits, as .s32/.s64 for an operand without a sign, and the opposite operation as
///                     .u32/.u64 for an operand with one
///   no instruction:   fence of the order's release half; ld.relaxed; loop { atom.relaxed.cas }; fence of its acquire half;
///                     on the aligned 32-bit word around an object of 8 or 16 bits. The first attempt is each lane's own; then
///                     the lanes of a warp that change the same word take turns. A compare_exchange of 8 or 16 bits takes no
///                     turns. Its release fence stands after the load, if that finds the expected bits; at seq_cst before it.
///   acquire, acq_rel, seq_cst at cluster scope or wider, of 64 bits but exchange and compare_exchange, and additions of float,
///                     double and pairs: atom without the acquire; fence.acquire.S. ptxas adds loops for shared memory after
///                     the acquire of the instruction itself.
///   where the object is: a reduction in global memory, and a relaxed fetch_*, name .global; a reduction in the block's own
///                     shared memory is the fence of a release and red.relaxed.S.shared.OP.T. In the shared memory of another
///                     block of the cluster, 64-bit and, or, xor, min, max and additions of pairs are the loop. Where the
///                     compiler does not know the state space, isspacep instructions find it.
/// docs/headers/atomic.md has the table of types, operations and architectures. Loads and stores of 32 and 64 bits at block,
/// device and system scope go through `cuda::atomic_ref`. On the host every scope acts as an operation of the host's memory
/// model.
///
/// Comparisons, and floating-point minimum and maximum, are of bits: padding takes part in a comparison, and
/// -NaN < -inf < -0 < +0 < +inf < +NaN. Integer arithmetic wraps.
///
/// Requires: an object aligned to its size, in global, shared or distributed shared memory or in host memory that the device
/// reaches, never on a thread's stack. A read-modify-write of 8 or 16 bits: the whole aligned 32-bit word around the object in
/// the same allocation or variable. Vectors: global memory. Cluster scope, 16-byte read-modify-writes and vectors: compute
/// capability 9.0 in all code compiled for a device, host functions of the same file included. 16-byte objects on the host:
/// libatomic.
/// Source: PTX ISA, "atom", "red", "ld", "st", "Memory Consistency Model".
template <class T, thread_scope Scope>
class atomic_ref {
 public:
  using value_type = T;
  using difference_type = typename detail::pointer_difference<T>::type;
  static constexpr thread_scope scope = Scope;
  static constexpr int required_alignment = static_cast<int>(sizeof(T));

  /// Refers to `object`.
  MEMBAR_HOST_DEVICE explicit atomic_ref(T& object) noexcept : object_(&object) {}

  /// Converts to the `cuda::atomic_ref` of the same object and scope. There is none for cluster scope and for packed pairs.
  [[nodiscard]] MEMBAR_HOST_DEVICE operator cuda::atomic_ref<T, detail::cuda_scope<Scope>>() const noexcept
    requires(Scope != thread_scope::cluster && std::is_trivially_copyable_v<T>)
  {
    return cuda::atomic_ref<T, detail::cuda_scope<Scope>>(*object_);
  }

  /// Returns the value. Relaxed, acquire or seq_cst.
  template <class Order = detail::missing_order>
  [[nodiscard]] MEMBAR_HOST_DEVICE T load(Order = {}) const noexcept {
    detail::require_order<Order>();
    static_assert(load_order<Order> || !memory_order_tag<Order>,
                  "membar: a load takes relaxed, acquire or seq_cst: it has nothing to release");
    if constexpr (emits_ptx) {
      return detail::device_load<T, Scope, detail::order_of<Order>>(object_);
    } else {
      return detail::from_bits<T>(detail::to_bits(native().load(detail::cuda_order<detail::order_of<Order>>)));
    }
  }

  /// Stores `value`. Relaxed, release or seq_cst.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void store(T value, Order = {}) const noexcept {
    detail::require_order<Order>();
    static_assert(store_order<Order> || !memory_order_tag<Order>,
                  "membar: a store takes relaxed, release or seq_cst: it has nothing to acquire");
    if constexpr (emits_ptx) {
      detail::device_store<T, Scope, detail::order_of<Order>>(object_, value);
    } else {
      native().store(__builtin_bit_cast(detail::cuda_value<T>, detail::to_bits(value)),
                     detail::cuda_order<detail::order_of<Order>>);
    }
  }

  /// If the value's bits are those of `expected`, stores `desired`, else copies the value into `expected`. Returns whether it
  /// stored.
  ///
  /// The first order is for success, the second for failure. It never fails spuriously. Padding is compared too: take
  /// `expected` from the object itself, or use a type without padding.
  template <class Success, class Failure>
  MEMBAR_HOST_DEVICE bool compare_exchange(T& expected, T desired, Success, Failure) const noexcept {
    detail::require_order<Success>();
    static_assert(load_order<Failure>,
                  "membar: a compare_exchange that fails takes relaxed, acquire or seq_cst: it stores nothing to release");
    if constexpr (detail::compiling_for_device) {
      return detail::device_compare_exchange<T, Scope,
                                             detail::covering_order<detail::order_of<Success>, detail::order_of<Failure>>>(
          object_, expected, desired);
    } else {
      auto seen = __builtin_bit_cast(detail::cuda_value<T>, detail::to_bits(expected));
      const bool exchanged = native().compare_exchange_strong(
          seen, __builtin_bit_cast(detail::cuda_value<T>, detail::to_bits(desired)),
          detail::cuda_order<detail::order_of<Success>>, detail::cuda_order<detail::order_of<Failure>>);
      expected = detail::from_bits<T>(detail::to_bits(seen));
      return exchanged;
    }
  }

  /// Stores `value` and returns the value before.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE T exchange(T value, Order order = {}) const noexcept {
    return fetch<detail::atom_op::exchange>(value, order);
  }

  /// Adds `value`, with wrap-around, and returns the value before. To a pointer it adds that many objects.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE T fetch_add(difference_type value, Order order = {}) const noexcept {
    return fetch<detail::atom_op::add>(value, order);
  }

  /// Subtracts `value`, with wrap-around, and returns the value before. PTX: `atom.add` of the negated value.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE T fetch_sub(difference_type value, Order order = {}) const noexcept {
    return fetch<detail::atom_op::add>(detail::negated(value), order);
  }

  /// Stores the bitwise and of the value and `value`, and returns the value before.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE T fetch_and(T value, Order order = {}) const noexcept {
    return fetch<detail::atom_op::bitwise_and>(value, order);
  }

  /// Stores the bitwise or of the value and `value`, and returns the value before.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE T fetch_or(T value, Order order = {}) const noexcept {
    return fetch<detail::atom_op::bitwise_or>(value, order);
  }

  /// Stores the bitwise exclusive or of the value and `value`, and returns the value before.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE T fetch_xor(T value, Order order = {}) const noexcept {
    return fetch<detail::atom_op::bitwise_xor>(value, order);
  }

  /// Stores the smaller of the value and `value`, and returns the value before.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE T fetch_min(T value, Order order = {}) const noexcept {
    return fetch<detail::atom_op::min>(value, order);
  }

  /// Stores the larger of the value and `value`, and returns the value before.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE T fetch_max(T value, Order order = {}) const noexcept {
    return fetch<detail::atom_op::max>(value, order);
  }

  /// Adds 1, or stores 0 if the value is `limit` or more, and returns the value before.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE T fetch_inc(T limit, Order order = {}) const noexcept {
    return fetch<detail::atom_op::inc>(limit, order);
  }

  /// Subtracts 1, or stores `limit` if the value is 0 or above `limit`, and returns the value before.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE T fetch_dec(T limit, Order order = {}) const noexcept {
    return fetch<detail::atom_op::dec>(limit, order);
  }

  // Reductions return nothing, which makes them cheaper in global memory. They are relaxed or release.

  /// Adds `value`, with wrap-around. To a pointer it adds that many objects. Relaxed or release.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void add(difference_type value, Order order = {}) const noexcept {
    reduce<detail::atom_op::add>(value, order);
  }

  /// Subtracts `value`, with wrap-around. Relaxed or release.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void sub(difference_type value, Order order = {}) const noexcept {
    reduce<detail::atom_op::add>(detail::negated(value), order);
  }

  /// Stores the bitwise and of the value and `value`. Relaxed or release.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void bit_and(T value, Order order = {}) const noexcept {
    reduce<detail::atom_op::bitwise_and>(value, order);
  }

  /// Stores the bitwise or of the value and `value`. Relaxed or release.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void bit_or(T value, Order order = {}) const noexcept {
    reduce<detail::atom_op::bitwise_or>(value, order);
  }

  /// Stores the bitwise exclusive or of the value and `value`. Relaxed or release.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void bit_xor(T value, Order order = {}) const noexcept {
    reduce<detail::atom_op::bitwise_xor>(value, order);
  }

  /// Stores the smaller of the value and `value`. Relaxed or release.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void min(T value, Order order = {}) const noexcept {
    reduce<detail::atom_op::min>(value, order);
  }

  /// Stores the larger of the value and `value`. Relaxed or release.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void max(T value, Order order = {}) const noexcept {
    reduce<detail::atom_op::max>(value, order);
  }

  /// Adds 1, or stores 0 if the value is `limit` or more. Relaxed or release.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void inc(T limit, Order order = {}) const noexcept {
    reduce<detail::atom_op::inc>(limit, order);
  }

  /// Subtracts 1, or stores `limit` if the value is 0 or above `limit`. Relaxed or release.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void dec(T limit, Order order = {}) const noexcept {
    reduce<detail::atom_op::dec>(limit, order);
  }

  /// Stores `function(value)` and returns the value before, by a loop of relaxed compare-and-swap on the bits.
  ///
  /// The order is applied once, outside the loop. `function` may be called several times. The lanes of a warp that update the
  /// same object take turns.
  template <class Function, class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE T fetch_update(Function function, Order = {}) const {
    detail::require_order<Order>();
    if constexpr (detail::compiling_for_device) {
      detail::require_architecture_of<Scope>();
      detail::require_compare_and_swap<T>();
      return detail::update_loop<T, Scope, detail::order_of<Order>>(object_, function);
    } else {
      return detail::host_update<T, Scope, detail::order_of<Order>>(object_, function);
    }
  }

  /// Returns once the value's bits are other than those of `old`, as a load with that order that found it so.
  ///
  /// It polls with back-off, without end. Relaxed, acquire or seq_cst.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void wait(T old, Order = {}) const noexcept {
    detail::require_order<Order>();
    static_assert(load_order<Order> || !memory_order_tag<Order>,
                  "membar: a wait takes relaxed, acquire or seq_cst: it has nothing to release");
    if constexpr (detail::compiling_for_device) {
      detail::device_wait<T, Scope, detail::order_of<Order>>(object_, old);
    } else {
      while (detail::to_bits(native().load(detail::cuda_order<detail::order_of<Order>>)) == detail::to_bits(old)) {
      }
    }
  }

  /// Does nothing, because `wait` polls. For code that is written for the standard's interface.
  MEMBAR_HOST_DEVICE void notify_one() const noexcept {}
  /// Does nothing, because `wait` polls. For code that is written for the standard's interface.
  MEMBAR_HOST_DEVICE void notify_all() const noexcept {}

 private:
  static constexpr bool emits_ptx = detail::compiling_for_device && !detail::cuda_loads_and_stores<T, Scope>;

  template <detail::atom_op Op>
  static constexpr bool adds_bytes = Op == detail::atom_op::add && detail::kind_of<T> == detail::value_kind::pointer;

  [[nodiscard]] MEMBAR_HOST_DEVICE auto native() const noexcept { return detail::native_ref<T, Scope>(object_); }

  /// The atomic operations on a pointer's bits, to which bytes are added.
  [[nodiscard]] MEMBAR_HOST_DEVICE auto address() const noexcept {
    return atomic_ref<detail::bits_of<T>, Scope>(*reinterpret_cast<detail::bits_of<T>*>(object_));
  }
  [[nodiscard]] MEMBAR_HOST_DEVICE static detail::bits_of<T> bytes(difference_type objects) noexcept {
    return static_cast<detail::bits_of<T>>(objects) * sizeof(std::remove_pointer_t<T>);
  }

  template <detail::atom_op Op, class Value, class Order>
  MEMBAR_HOST_DEVICE T fetch(Value value, Order order) const noexcept {
    detail::require_order<Order>();
    detail::require_operation<T, Op>();
    if constexpr (!detail::has_operation<T, Op>) {
      __builtin_unreachable();
    } else if constexpr (adds_bytes<Op>) {
      return detail::from_bits<T>(address().fetch_add(bytes(value), order));
    } else if constexpr (detail::compiling_for_device) {
      return detail::device_fetch<Op, T, Scope, detail::order_of<Order>>(object_, value);
    } else if constexpr (detail::kind_of<T> == detail::value_kind::integer && Op != detail::atom_op::inc &&
                         Op != detail::atom_op::dec) {
      return detail::host_fetch<Op, detail::order_of<Order>>(native(), value);
    } else if constexpr (detail::kind_of<T> == detail::value_kind::vector) {
      // On the host, too, the operation is atomic per element.
      T old = value;
      for (int i = 0; i != T::size; ++i) {
        using element = typename T::value_type;
        const element operand = value.elements[i];
        if constexpr (Op == detail::atom_op::min || Op == detail::atom_op::max) {
          // As the vector instruction, and unlike the operation on an element, it ignores a NaN beside a number.
          old.elements[i] =
              detail::host_update<element, Scope, detail::order_of<Order>>(&object_->elements[i], [=](element seen) {
                return detail::from_bits<element>(
                    detail::extreme_number<Op, element>(detail::to_bits(seen), detail::to_bits(operand)));
              });
        } else {
          const atomic_ref<element, Scope> each(object_->elements[i]);
          old.elements[i] = each.template fetch<Op>(operand, order);
        }
      }
      return old;
    } else {
      return detail::host_update<T, Scope, detail::order_of<Order>>(object_,
                                                                    [=](T old) { return detail::applied<Op>(old, value); });
    }
  }

  template <detail::atom_op Op, class Value, class Order>
  MEMBAR_HOST_DEVICE void reduce(Value value, Order order) const noexcept {
    detail::require_reduction_order<Order>();
    detail::require_operation<T, Op>();
    if constexpr (!detail::has_operation<T, Op>) {
      // It is refused above.
    } else if constexpr (adds_bytes<Op>) {
      address().add(bytes(value), order);
    } else if constexpr (detail::compiling_for_device) {
      detail::device_reduce<Op, T, Scope, detail::order_of<Order>>(object_, value);
    } else {
      static_cast<void>(fetch<Op>(value, order));
    }
  }

  template <class, thread_scope>
  friend class atomic_ref;

  T* object_;
};

/// An object that is accessed only by atomic operations, for the threads in `Scope`.
///
/// It has the operations of `atomic_ref`, which say what they synchronize with and become. It is neither copyable nor movable,
/// has the size of its value, and is aligned to that size.
///
/// The default constructor leaves the value uninitialized, so that it can stand in `__shared__` memory. One thread stores a
/// value, and a barrier follows, before others use it.
template <class T, thread_scope Scope>
class atomic {
 public:
  using value_type = T;
  using difference_type = typename detail::pointer_difference<T>::type;
  static constexpr thread_scope scope = Scope;

  /// Leaves the value uninitialized.
  atomic() noexcept = default;
  /// Begins with `value`. The initialization is not atomic.
  MEMBAR_HOST_DEVICE constexpr explicit atomic(T value) noexcept : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  /// The operations on this object, as a reference that can be passed on.
  [[nodiscard]] MEMBAR_HOST_DEVICE atomic_ref<T, Scope> ref() noexcept { return atomic_ref<T, Scope>(value_); }

  /// Converts to the `cuda::atomic_ref` of the object. There is none for cluster scope and for packed pairs.
  [[nodiscard]] MEMBAR_HOST_DEVICE operator cuda::atomic_ref<T, detail::cuda_scope<Scope>>() noexcept
    requires(Scope != thread_scope::cluster && std::is_trivially_copyable_v<T>)
  {
    return ref();
  }

  // The operations of `atomic_ref`, by the same names.

  [[nodiscard]] MEMBAR_HOST_DEVICE T load(auto... order) const noexcept { return read_only().load(order...); }
  MEMBAR_HOST_DEVICE void wait(T old, auto... order) const noexcept { read_only().wait(old, order...); }
  MEMBAR_HOST_DEVICE void notify_one() noexcept { ref().notify_one(); }
  MEMBAR_HOST_DEVICE void notify_all() noexcept { ref().notify_all(); }
  MEMBAR_HOST_DEVICE void store(T value, auto... order) noexcept { ref().store(value, order...); }
  MEMBAR_HOST_DEVICE bool compare_exchange(T& expected, T desired, auto success, auto failure) noexcept {
    return ref().compare_exchange(expected, desired, success, failure);
  }
  MEMBAR_HOST_DEVICE T fetch_update(auto function, auto... order) { return ref().fetch_update(function, order...); }
  MEMBAR_HOST_DEVICE T exchange(T value, auto... order) noexcept { return ref().exchange(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_add(difference_type value, auto... order) noexcept { return ref().fetch_add(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_sub(difference_type value, auto... order) noexcept { return ref().fetch_sub(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_and(T value, auto... order) noexcept { return ref().fetch_and(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_or(T value, auto... order) noexcept { return ref().fetch_or(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_xor(T value, auto... order) noexcept { return ref().fetch_xor(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_min(T value, auto... order) noexcept { return ref().fetch_min(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_max(T value, auto... order) noexcept { return ref().fetch_max(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_inc(T value, auto... order) noexcept { return ref().fetch_inc(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_dec(T value, auto... order) noexcept { return ref().fetch_dec(value, order...); }
  MEMBAR_HOST_DEVICE void add(difference_type value, auto... order) noexcept { ref().add(value, order...); }
  MEMBAR_HOST_DEVICE void sub(difference_type value, auto... order) noexcept { ref().sub(value, order...); }
  MEMBAR_HOST_DEVICE void bit_and(T value, auto... order) noexcept { ref().bit_and(value, order...); }
  MEMBAR_HOST_DEVICE void bit_or(T value, auto... order) noexcept { ref().bit_or(value, order...); }
  MEMBAR_HOST_DEVICE void bit_xor(T value, auto... order) noexcept { ref().bit_xor(value, order...); }
  MEMBAR_HOST_DEVICE void min(T value, auto... order) noexcept { ref().min(value, order...); }
  MEMBAR_HOST_DEVICE void max(T value, auto... order) noexcept { ref().max(value, order...); }
  MEMBAR_HOST_DEVICE void inc(T value, auto... order) noexcept { ref().inc(value, order...); }
  MEMBAR_HOST_DEVICE void dec(T value, auto... order) noexcept { ref().dec(value, order...); }

 private:
  // A load writes nothing; atomic_ref has no read-only form.
  [[nodiscard]] MEMBAR_HOST_DEVICE atomic_ref<T, Scope> read_only() const noexcept { return const_cast<atomic*>(this)->ref(); }

  alignas(sizeof(T)) T value_;
};

template <class T, thread_scope Scope>
  requires(!atomic_value<T>)
class atomic_ref<T, Scope> : public detail::refused_atomic<T> {
  static_assert(atomic_value<T>,
                "membar: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16 bytes, without const or volatile");
  using detail::refused_atomic<T>::refused_atomic;
};
template <class T, thread_scope Scope>
  requires(!atomic_value<T>)
class atomic<T, Scope> : public detail::refused_atomic<T> {
  static_assert(atomic_value<T>,
                "membar: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16 bytes, without const or volatile");
  using detail::refused_atomic<T>::refused_atomic;
};

}  // namespace membar
