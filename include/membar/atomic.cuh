// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Atomic operations: the scope is in the type, the order is a tag in the call, and a call is one instruction, a two-way form
/// or a documented loop, or does not compile.
#pragma once

#include <membar/detail/atomic_device.cuh>
#include <membar/detail/config.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#include <cuda/atomic>

namespace membar {

/// The rule for what an atomic holds: a trivially copyable object of 1, 2, 4, 8 or 16 bytes (or a packed pair of half or
/// bfloat16), without const or volatile.
template <class T>
concept atomic_value = (std::is_trivially_copyable_v<T> || detail::kind_of<T> == detail::value_kind::half_pair ||
                        detail::kind_of<T> == detail::value_kind::bfloat16_pair) &&
                       std::is_same_v<T, std::remove_cv_t<T>> &&
                       (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);

/// The rule for bitwise operations: integers, `bool` not among them.
template <class T>
concept atomic_integer = atomic_value<T> && detail::kind_of<T> == detail::value_kind::integer;

/// The rule for wrapping increments and decrements: unsigned integers.
template <class T>
concept atomic_unsigned = atomic_integer<T> && !detail::is_signed<T>;

/// The rule for addition: integers, float, double, half, bfloat16 and their pairs, pointers to objects, and vectors that PTX
/// can add.
template <class T>
concept atomic_addable = atomic_value<T> && detail::kind_of<T> != detail::value_kind::other &&
                         (detail::kind_of<T> != detail::value_kind::pointer || std::is_object_v<std::remove_pointer_t<T>>) &&
                         (detail::kind_of<T> != detail::value_kind::vector ||
                          detail::native_type<T>(detail::atom_op::add) != detail::ptx_type::none);

/// The rule for minimum and maximum: what can be added, without pointers and without vectors of float.
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

/// Whether `cuda::atomic_ref` emits the right instructions for a `T` at a scope: integers of 32 and 64 bits, but no cluster
/// scope.
template <class T, thread_scope Scope>
inline constexpr bool cuda_emits =
    Scope != thread_scope::cluster && kind_of<T> == value_kind::integer && (sizeof(T) == 4 || sizeof(T) == 8);

/// What `cuda::atomic_ref` is given: the object, or, where it would treat the value as more than bits or refuse it, its bits.
template <class T>
using cuda_value = std::conditional_t<kind_of<T> == value_kind::integer, T, bits_of<T>>;

/// `cuda::atomic_ref` behind every operation on integers of 32 and 64 bits, and behind every operation on the host.
template <class T, thread_scope Scope>
[[nodiscard]] MEMBAR_HOST_DEVICE inline auto native_ref(T* object) noexcept {
  return cuda::atomic_ref<cuda_value<T>, cuda_scope<Scope>>(*reinterpret_cast<cuda_value<T>*>(object));
}

template <atom_op Op, memory_order Order, class Ref, class T>
[[nodiscard]] MEMBAR_HOST_DEVICE inline T native_fetch(Ref ref, T value) noexcept {
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
  // A failed attempt is relaxed: the order of the one that succeeded is the operation's.
  return from_bits<T>(to_bits(seen));
}

template <class Order>
MEMBAR_HOST_DEVICE constexpr void require_order() noexcept {
  static_assert(memory_order_tag<Order>,
                "membar: an order is one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
}

template <class Order>
MEMBAR_HOST_DEVICE constexpr void require_reduction_order() noexcept {
  static_assert(
      reduction_order<Order>,
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
/// read-modify-writes that follow it, if each operation's scope includes the other's thread. At device scope that needs both
/// kernels in one physical synchronization domain. While a thread may use the object through an `atomic_ref`, every concurrent
/// access must be such an operation of a scope that includes the others; relaxed operations order nothing else.
///
/// PTX, with S = cta, cluster, gpu, sys for block, cluster, device, system and T = the instruction's type:
///   load              ld.{relaxed,acquire}.S.T                          seq_cst: fence.sc.S; ld.acquire.S.T
///   store             st.{relaxed,release}.S.T                          seq_cst: fence.sc.S; st.relaxed.S.T
///   exchange, fetch_* atom.{relaxed,acquire,release,acq_rel}.S.OP.T      seq_cst: fence.sc.S; atom.acquire.S.OP.T
///   compare_exchange  atom.cas, with the weakest order that covers both of its orders
///   add, sub, ...     red.{relaxed,release}.S.OP.T                      no other order
///   float, double min and max: that of the bits, .s32/.s64 for operands without and the opposite in .u32/.u64 with a sign
///   Where the compiler does not know where the object is, a reduction asks first (isspacep.global, isspacep.shared), and so
///   do 64-bit and, or, xor, min, max, and additions of pairs (isspacep.shared::cluster, isspacep.shared): in the shared memory
///   of another block of the cluster these are the loop. A reduction in global memory is
///   red.{relaxed,release}.S.global.OP.T, a relaxed one in the own block's shared memory red.relaxed.S.shared.OP.T.
///   no instruction:   fence of the order's release half; ld.relaxed; loop { atom.relaxed.cas }; fence of its acquire half;
///                     on 8 and 16 bits of the aligned 32-bit word around the object. The first attempt is each lane's; then
///                     those lanes of a warp that want one word take turns. The compare_exchange of a byte takes none, and its
///                     release fence stands behind the load, where that finds what is expected; at seq_cst before it.
/// Which operation has an instruction for which type on which architecture is tabulated in docs/headers/atomic.md. Integers of
/// 32 and 64 bits at block, device and system scope go through `cuda::atomic_ref`. On the host every scope acts as an operation
/// of the host's memory model; 16-byte objects need libatomic there.
///
/// Values are compared, and chosen by floating-point minimum and maximum, by their bits: padding takes part in a comparison,
/// and -NaN < -inf < -0 < +0 < +inf < +NaN. Arithmetic of integers wraps.
///
/// Requires: the object aligned to its size, in global, shared or distributed shared memory (or host memory that the device
/// reaches), never on a thread's stack; for a read-modify-write of 8 or 16 bits all of the aligned 32-bit word around it in the
/// same allocation or variable; vectors in global memory. Cluster scope, 16-byte read-modify-writes and vectors require
/// compute capability 9.0 in all code compiled for a device, host functions of the same file included.
/// Source: PTX ISA, "atom", "red", "ld", "st", "Memory Consistency Model".
template <class T, thread_scope Scope>
class atomic_ref {
  static_assert(atomic_value<T>,
                "membar: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16 bytes, without const or volatile");

 public:
  using value_type = T;
  using difference_type = typename detail::pointer_difference<T>::type;
  static constexpr thread_scope scope = Scope;
  static constexpr int required_alignment = static_cast<int>(sizeof(T));

  MEMBAR_HOST_DEVICE explicit atomic_ref(T& object) noexcept : object_(&object) {}

  /// `cuda::atomic_ref` of the same object and scope; cluster scope has none, nor have the packed pairs.
  [[nodiscard]] MEMBAR_HOST_DEVICE operator cuda::atomic_ref<T, detail::cuda_scope<Scope>>() const noexcept
    requires(Scope != thread_scope::cluster && std::is_trivially_copyable_v<T>)
  {
    return cuda::atomic_ref<T, detail::cuda_scope<Scope>>(*object_);
  }

  /// The value.
  template <class Order>
  [[nodiscard]] MEMBAR_HOST_DEVICE T load(Order) const noexcept {
    static_assert(load_order<Order>, "membar: a load takes relaxed, acquire or seq_cst: it has nothing to release");
    if constexpr (emits_ptx) {
      return detail::device_load<T, Scope, Order::value>(object_);
    } else {
      return detail::from_bits<T>(detail::to_bits(native().load(detail::cuda_order<Order::value>)));
    }
  }

  /// Makes `value` the value.
  template <class Order>
  MEMBAR_HOST_DEVICE void store(T value, Order) const noexcept {
    static_assert(store_order<Order>, "membar: a store takes relaxed, release or seq_cst: it has nothing to acquire");
    if constexpr (emits_ptx) {
      detail::device_store<T, Scope, Order::value>(object_, value);
    } else {
      native().store(__builtin_bit_cast(detail::cuda_value<T>, detail::to_bits(value)), detail::cuda_order<Order::value>);
    }
  }

  /// Makes `desired` the value if its bits were those of `expected`, with order `success`; else puts the value it was into
  /// `expected`, with order `failure`. Returns whether it was. Never fails spuriously. Padding is compared too: take `expected`
  /// from the object itself, or give the type no padding.
  template <class Success, class Failure>
  MEMBAR_HOST_DEVICE bool compare_exchange(T& expected, T desired, Success, Failure) const noexcept {
    detail::require_order<Success>();
    static_assert(load_order<Failure>,
                  "membar: a compare_exchange that fails takes relaxed, acquire or seq_cst: it stores nothing to release");
    if constexpr (emits_ptx) {
      return detail::device_compare_exchange<T, Scope, detail::covering_order<Success::value, Failure::value>>(
          object_, expected, desired);
    } else {
      auto seen = __builtin_bit_cast(detail::cuda_value<T>, detail::to_bits(expected));
      const bool exchanged =
          native().compare_exchange_strong(seen, __builtin_bit_cast(detail::cuda_value<T>, detail::to_bits(desired)),
                                           detail::cuda_order<Success::value>, detail::cuda_order<Failure::value>);
      expected = detail::from_bits<T>(detail::to_bits(seen));
      return exchanged;
    }
  }

  /// Makes `value` the value and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T exchange(T value, Order order) const noexcept {
    return fetch<detail::atom_op::exchange>(value, order);
  }

  /// Adds `value`, wrapping, and returns the value before. To a pointer it adds that many objects.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_add(difference_type value, Order order) const noexcept {
    return fetch<detail::atom_op::add>(value, order);
  }

  /// Subtracts `value`, wrapping, and returns the value before. PTX: `atom.add` of the negated value.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_sub(difference_type value, Order order) const noexcept {
    return fetch<detail::atom_op::add>(detail::negated(value), order);
  }

  /// Makes the bitwise and with `value` the value and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_and(T value, Order order) const noexcept {
    return fetch<detail::atom_op::bitwise_and>(value, order);
  }

  /// Makes the bitwise or with `value` the value and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_or(T value, Order order) const noexcept {
    return fetch<detail::atom_op::bitwise_or>(value, order);
  }

  /// Makes the bitwise exclusive or with `value` the value and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_xor(T value, Order order) const noexcept {
    return fetch<detail::atom_op::bitwise_xor>(value, order);
  }

  /// Makes the smaller of the value and `value` the value and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_min(T value, Order order) const noexcept {
    return fetch<detail::atom_op::min>(value, order);
  }

  /// Makes the larger of the value and `value` the value and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_max(T value, Order order) const noexcept {
    return fetch<detail::atom_op::max>(value, order);
  }

  /// Adds 1, but makes 0 of a value that is `value` or more, and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_inc(T value, Order order) const noexcept {
    return fetch<detail::atom_op::inc>(value, order);
  }

  /// Subtracts 1, but makes `value` of 0 and of a value above it, and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_dec(T value, Order order) const noexcept {
    return fetch<detail::atom_op::dec>(value, order);
  }

  // The reductions: the same without the value before, which makes them cheaper in global memory. Relaxed or release.

  template <class Order>
  MEMBAR_HOST_DEVICE void add(difference_type value, Order order) const noexcept {
    reduce<detail::atom_op::add>(value, order);
  }

  template <class Order>
  MEMBAR_HOST_DEVICE void sub(difference_type value, Order order) const noexcept {
    reduce<detail::atom_op::add>(detail::negated(value), order);
  }

  template <class Order>
  MEMBAR_HOST_DEVICE void bit_and(T value, Order order) const noexcept {
    reduce<detail::atom_op::bitwise_and>(value, order);
  }

  template <class Order>
  MEMBAR_HOST_DEVICE void bit_or(T value, Order order) const noexcept {
    reduce<detail::atom_op::bitwise_or>(value, order);
  }

  template <class Order>
  MEMBAR_HOST_DEVICE void bit_xor(T value, Order order) const noexcept {
    reduce<detail::atom_op::bitwise_xor>(value, order);
  }

  template <class Order>
  MEMBAR_HOST_DEVICE void min(T value, Order order) const noexcept {
    reduce<detail::atom_op::min>(value, order);
  }

  template <class Order>
  MEMBAR_HOST_DEVICE void max(T value, Order order) const noexcept {
    reduce<detail::atom_op::max>(value, order);
  }

  template <class Order>
  MEMBAR_HOST_DEVICE void inc(T value, Order order) const noexcept {
    reduce<detail::atom_op::inc>(value, order);
  }

  template <class Order>
  MEMBAR_HOST_DEVICE void dec(T value, Order order) const noexcept {
    reduce<detail::atom_op::dec>(value, order);
  }

  /// Makes `function(value)` the value and returns the one before: a loop of relaxed compare-and-swap that compares bits,
  /// in which the lanes of a warp that want one object take turns. The order is applied once, outside the loop. `function` may
  /// be called several times.
  template <class Function, class Order>
  MEMBAR_HOST_DEVICE T fetch_update(Function function, Order) const {
    detail::require_order<Order>();
    if constexpr (detail::compiling_for_device) {
      detail::require_architecture_of<Scope>();
      detail::require_compare_and_swap<T>();
      return detail::update_loop<T, Scope, Order::value>(object_, function);
    } else {
      return detail::host_update<T, Scope, Order::value>(object_, function);
    }
  }

  /// Returns once the value's bits are other than those of `old`, as a load with that order that found it so. It polls, and
  /// backs off: no notification is needed.
  template <class Order>
  MEMBAR_HOST_DEVICE void wait(T old, Order) const noexcept {
    static_assert(load_order<Order>, "membar: a wait takes relaxed, acquire or seq_cst: it has nothing to release");
    if constexpr (detail::compiling_for_device) {
      detail::device_wait<T, Scope, Order::value>(object_, old);
    } else {
      while (detail::to_bits(native().load(detail::cuda_order<Order::value>)) == detail::to_bits(old)) {
      }
    }
  }

  /// Nothing: whoever waits polls. For code that is written against the standard's interface.
  MEMBAR_HOST_DEVICE void notify_one() const noexcept {}
  MEMBAR_HOST_DEVICE void notify_all() const noexcept {}

 private:
  static constexpr bool emits_ptx = detail::compiling_for_device && !detail::cuda_emits<T, Scope>;

  template <detail::atom_op Op>
  static constexpr bool adds_bytes = Op == detail::atom_op::add && detail::kind_of<T> == detail::value_kind::pointer;

  [[nodiscard]] MEMBAR_HOST_DEVICE auto native() const noexcept { return detail::native_ref<T, Scope>(object_); }

  /// A pointer as its bits, to which bytes are added.
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
    constexpr bool has_native_member = Op != detail::atom_op::inc && Op != detail::atom_op::dec;
    if constexpr (adds_bytes<Op>) {
      return detail::from_bits<T>(address().fetch_add(bytes(value), order));
    } else if constexpr (detail::compiling_for_device && !(detail::cuda_emits<T, Scope> && has_native_member)) {
      return detail::device_fetch<Op, T, Scope, Order::value>(object_, value);
    } else if constexpr (has_native_member && detail::kind_of<T> == detail::value_kind::integer) {
      if constexpr (detail::compiling_for_device && detail::torn_in_other_blocks_shared_memory<Op, T>()) {
        if (detail::in_other_blocks_shared_memory(object_)) {
          return detail::fetch_in_loop<Op, T, Scope, Order::value>(object_, value);
        }
      }
      return detail::native_fetch<Op, Order::value>(native(), value);
    } else if constexpr (detail::kind_of<T> == detail::value_kind::vector) {
      // Atomic per element on the host, too.
      T old = value;
      for (int i = 0; i != T::size; ++i) {
        using element = typename T::value_type;
        const atomic_ref<element, Scope> each(object_->elements[i]);
        old.elements[i] = each.template fetch<Op>(value.elements[i], order);
      }
      return old;
    } else {
      return detail::host_update<T, Scope, Order::value>(object_, [=](T old) { return detail::applied<Op>(old, value); });
    }
  }

  template <detail::atom_op Op, class Value, class Order>
  MEMBAR_HOST_DEVICE void reduce(Value value, Order order) const noexcept {
    detail::require_reduction_order<Order>();
    detail::require_operation<T, Op>();
    if constexpr (adds_bytes<Op>) {
      address().add(bytes(value), order);
    } else if constexpr (detail::compiling_for_device) {
      detail::device_reduce<Op, T, Scope, Order::value>(object_, value);
    } else {
      static_cast<void>(fetch<Op>(value, order));
    }
  }

  template <class, thread_scope>
  friend class atomic_ref;

  T* object_;
};

/// An object that is only ever accessed atomically, for the threads in `Scope`: it has the operations of `atomic_ref`, which
/// say what they synchronize with and become. Neither copyable nor movable. As large as its value, and aligned to its size.
///
/// The default constructor leaves the value uninitialized, so that it can stand in `__shared__` memory; one thread stores a
/// value before others are let at it.
template <class T, thread_scope Scope>
class atomic {
  static_assert(atomic_value<T>,
                "membar: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16 bytes, without const or volatile");

 public:
  using value_type = T;
  using difference_type = typename detail::pointer_difference<T>::type;
  static constexpr thread_scope scope = Scope;

  atomic() noexcept = default;
  MEMBAR_HOST_DEVICE constexpr explicit atomic(T value) noexcept : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  /// The operations on this object, as a reference that can be passed on.
  [[nodiscard]] MEMBAR_HOST_DEVICE atomic_ref<T, Scope> ref() noexcept { return atomic_ref<T, Scope>(value_); }

  [[nodiscard]] MEMBAR_HOST_DEVICE operator cuda::atomic_ref<T, detail::cuda_scope<Scope>>() noexcept
    requires(Scope != thread_scope::cluster && std::is_trivially_copyable_v<T>)
  {
    return ref();
  }

  [[nodiscard]] MEMBAR_HOST_DEVICE T load(auto order) const noexcept { return read_only().load(order); }
  MEMBAR_HOST_DEVICE void wait(T old, auto order) const noexcept { read_only().wait(old, order); }
  MEMBAR_HOST_DEVICE void notify_one() noexcept { ref().notify_one(); }
  MEMBAR_HOST_DEVICE void notify_all() noexcept { ref().notify_all(); }
  MEMBAR_HOST_DEVICE void store(T value, auto order) noexcept { ref().store(value, order); }
  MEMBAR_HOST_DEVICE bool compare_exchange(T& expected, T desired, auto success, auto failure) noexcept {
    return ref().compare_exchange(expected, desired, success, failure);
  }
  MEMBAR_HOST_DEVICE T fetch_update(auto function, auto order) { return ref().fetch_update(function, order); }
  MEMBAR_HOST_DEVICE T exchange(T value, auto order) noexcept { return ref().exchange(value, order); }
  MEMBAR_HOST_DEVICE T fetch_add(difference_type value, auto order) noexcept { return ref().fetch_add(value, order); }
  MEMBAR_HOST_DEVICE T fetch_sub(difference_type value, auto order) noexcept { return ref().fetch_sub(value, order); }
  MEMBAR_HOST_DEVICE T fetch_and(T value, auto order) noexcept { return ref().fetch_and(value, order); }
  MEMBAR_HOST_DEVICE T fetch_or(T value, auto order) noexcept { return ref().fetch_or(value, order); }
  MEMBAR_HOST_DEVICE T fetch_xor(T value, auto order) noexcept { return ref().fetch_xor(value, order); }
  MEMBAR_HOST_DEVICE T fetch_min(T value, auto order) noexcept { return ref().fetch_min(value, order); }
  MEMBAR_HOST_DEVICE T fetch_max(T value, auto order) noexcept { return ref().fetch_max(value, order); }
  MEMBAR_HOST_DEVICE T fetch_inc(T value, auto order) noexcept { return ref().fetch_inc(value, order); }
  MEMBAR_HOST_DEVICE T fetch_dec(T value, auto order) noexcept { return ref().fetch_dec(value, order); }
  MEMBAR_HOST_DEVICE void add(difference_type value, auto order) noexcept { ref().add(value, order); }
  MEMBAR_HOST_DEVICE void sub(difference_type value, auto order) noexcept { ref().sub(value, order); }
  MEMBAR_HOST_DEVICE void bit_and(T value, auto order) noexcept { ref().bit_and(value, order); }
  MEMBAR_HOST_DEVICE void bit_or(T value, auto order) noexcept { ref().bit_or(value, order); }
  MEMBAR_HOST_DEVICE void bit_xor(T value, auto order) noexcept { ref().bit_xor(value, order); }
  MEMBAR_HOST_DEVICE void min(T value, auto order) noexcept { ref().min(value, order); }
  MEMBAR_HOST_DEVICE void max(T value, auto order) noexcept { ref().max(value, order); }
  MEMBAR_HOST_DEVICE void inc(T value, auto order) noexcept { ref().inc(value, order); }
  MEMBAR_HOST_DEVICE void dec(T value, auto order) noexcept { ref().dec(value, order); }

 private:
  // A load writes nothing; atomic_ref has no read-only form.
  [[nodiscard]] MEMBAR_HOST_DEVICE atomic_ref<T, Scope> read_only() const noexcept { return const_cast<atomic*>(this)->ref(); }

  alignas(sizeof(T)) T value_;
};

}  // namespace membar
