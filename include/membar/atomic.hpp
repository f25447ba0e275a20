// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Atomic operations for kernels and for the host. The scope is part of the type, and each call specifies the order.
///
/// On the device, a call compiles to a single instruction if the hardware has one. Otherwise it compiles to the sequence that
/// `atomic_ref` lists: a fence and an instruction at seq_cst, a choice between two instructions, or a loop. An operation that
/// has none of these does not compile. A plain C++ compiler can also compile this header, for the host side of a protocol.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/atomic_host.hpp>
#include <membar/detail/atomic_rules.hpp>
#include <membar/detail/compilation.hpp>
#include <membar/detail/cuda_atomic_ref.hpp>
#include <membar/detail/standard.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#if defined(__CUDACC__)
#include <membar/detail/atomic_device.cuh>
#include <membar/detail/atomic_policy.cuh>
#endif

namespace membar {
inline namespace v0_3 {

#if !defined(__CUDACC__)
namespace detail {

// Device functions, which detail/atomic_device.cuh defines.
template <class T, thread_scope Scope, memory_order Order>
T device_load(const T* object) noexcept;
template <class T, thread_scope Scope, memory_order Order>
void device_store(T* object, const T& value) noexcept;
template <class T, thread_scope Scope, memory_order Order>
bool device_compare_exchange(T* object, T& expected, const T& desired) noexcept;
template <atom_op Op, class T, thread_scope Scope, memory_order Order>
T device_fetch(T* object, T value) noexcept;
template <atom_op Op, class T, thread_scope Scope, memory_order Order>
void device_reduce(T* object, T value) noexcept;
template <atom_op Op, class T, thread_scope Scope, memory_order Order>
T device_fetch_with_policy(T* object, T value, unsigned long long policy) noexcept;
template <atom_op Op, class T, thread_scope Scope, memory_order Order>
void device_reduce_with_policy(T* object, T value, unsigned long long policy) noexcept;
template <class T, thread_scope Scope, memory_order Order, class Function>
T device_update(T* object, Function function);
template <class T, thread_scope Scope, memory_order Order>
void device_wait(const T* object, const T& old) noexcept;

}  // namespace detail
#endif

/// Atomic operations on an object that is defined elsewhere, for the threads in `Scope`.
///
/// Synchronizes: a release operation synchronizes with an acquire operation that reads its value, or a value of a
/// read-modify-write chain that starts with it, if each operation's scope includes the thread of the other operation. At device
/// scope, both kernels must also run in the same physical synchronization domain. Relaxed operations order only accesses to the
/// same object. While a thread may access the object through an `atomic_ref`, every concurrent access must also be an atomic
/// operation, with a scope that includes the other threads.
///
/// PTX, where S is cta, cluster, gpu or sys for block, cluster, device or system, and T is the instruction's type:
///   load              ld.{relaxed,acquire}.S.T                          seq_cst: fence.sc.S; ld.acquire.S.T
///   store             st.{relaxed,release}.S.T                          seq_cst: fence.sc.S; st.relaxed.S.T
///   exchange, fetch_* atom.{relaxed,acquire,release,acq_rel}.S.OP.T      seq_cst: fence.sc.S; atom.acquire.S.OP.T
///   compare_exchange  atom.cas, with the weakest order that covers both of its orders
///   add, sub, ...     red.{relaxed,release}.S.OP.T                      no other order
///   float, double min and max: the operation on the bits, as .s32/.s64 for a positive operand, and the opposite operation as
///                     .u32/.u64 for a negative one
///   no instruction:   fence of the order's release half; ld.relaxed; loop { atom.relaxed.cas }; fence of its acquire half;
///                     on the aligned 32-bit word that holds an 8-bit or 16-bit object. Each lane first makes its own attempt.
///                     After that, one lane makes the attempts for all lanes of its warp that change the same word. It repeats
///                     the fences, between two barriers among these lanes. For a compare_exchange of 8 or 16 bits, each lane
///                     always makes its own attempts. The release fence follows the load and is executed only if the load finds
///                     the expected bits; at seq_cst the fence precedes the load.
///   acquire, acq_rel, seq_cst at cluster scope or wider, for 64-bit operations except exchange and compare_exchange, and for
///                     additions of float, double and pairs: atom without the acquire; fence.acquire.S. If the
///                     instruction itself acquired, the loops that ptxas adds for shared memory would follow that acquire.
///   state spaces:     in global memory, a reduction and a relaxed fetch_* name .global. In the block's own shared memory, a
///                     reduction is red.relaxed.S.shared.OP.T, after a fence if it releases, and a relaxed fetch_* of 32-bit
///                     integers at block scope names .shared. In the shared memory of another block in the cluster, 64-bit
///                     and, or, xor, min and max use the loop, as do additions of pairs. If the compiler does not know the
///                     state space, isspacep instructions determine it.
///   with an L2 policy, which an exchange, a fetch_* or a reduction takes after its order: atom....S.global.OP.L2::cache_hint.T
///                     and red....S.global.OP.L2::cache_hint.T in every order; a loop does not accept a policy.
/// docs/headers/atomic.md has the table of types, operations and architectures. On the host, an operation at any scope uses the
/// compiler's `__atomic` functions on the value's bits and follows the host's memory model, and a policy has no effect.
///
/// `atomic_ref<const T, Scope>` can only load and wait. Its other operations do not compile.
///
/// Comparisons, and floating-point minimum and maximum, compare bits: padding is compared as well, and -NaN < -inf < -0 < +0 <
/// +inf < +NaN. Integer arithmetic wraps around.
///
/// Requires: an object aligned to its size, in global, shared or distributed shared memory or in host memory that the device
/// can access, never on a thread's stack. For an 8-bit or 16-bit read-modify-write, the whole aligned 32-bit word that contains
/// the object must be in the same allocation or variable. Vectors, and operations with an L2 policy, require global memory. A
/// policy requires compute capability 8.0. Cluster scope, 16-byte read-modify-writes and vectors require compute capability 9.0
/// in all code compiled for a device, including host functions of the same file. 16-byte objects on the host require libatomic,
/// whose loads may need writable memory. Errors: an operation that does not support the type, the order, a const object or a
/// policy does not compile. Source: PTX ISA, "atom", "red", "ld", "st", "Memory Consistency Model".
template <class T, thread_scope Scope>
class atomic_ref {
 public:
  using value_type = std::remove_const_t<T>;
  using difference_type = typename detail::pointer_difference<value_type>::type;
  using operand = detail::operand<value_type>;
  using difference = detail::operand<difference_type>;
  using op = detail::atom_op;
  static constexpr thread_scope scope = Scope;
  static constexpr int required_alignment = static_cast<int>(sizeof(T));
  /// Whether all operations are lock-free on every machine. On the host, libatomic may use a lock for 16-byte objects.
  static constexpr bool is_always_lock_free = sizeof(T) <= 8;

  /// Refers to `object`.
  MEMBAR_HOST_DEVICE explicit atomic_ref(T& object) noexcept : object_(__builtin_addressof(object)) {
    detail::require_aligned<sizeof(T)>(object_);
  }
  atomic_ref(const atomic_ref&) = default;
  /// Assignment does not compile, because it could mean either rebinding the reference or storing through it. Use `store` to
  /// change the value.
  MEMBAR_HOST_DEVICE atomic_ref& operator=(const atomic_ref&) = delete;

  /// Refers to the object of a `cuda::atomic_ref` or `cuda::atomic` with the same scope, in a file that includes
  /// interop/cuda_atomic.cuh.
  template <detail::has_cuda_object Object>
    requires std::is_same_v<typename detail::cuda_object<std::remove_cvref_t<Object>>::value_type, value_type>
  MEMBAR_HOST_DEVICE atomic_ref(Object&& object) noexcept
      : object_(detail::cuda_object<std::remove_cvref_t<Object>>::address(object)) {
    static_assert(detail::cuda_object<std::remove_cvref_t<Object>>::scope == Scope,
                  "membar: a reference must have the same scope as the object's other references: use that scope");
  }

  /// This constructor is never valid; it exists only so that the compiler's message explains what is wrong with the argument.
  template <class Object>
    requires(!detail::is_atomic_object<std::remove_cvref_t<Object>> && !detail::has_cuda_object<Object> &&
             !std::is_convertible_v<Object, T&>)
  MEMBAR_HOST_DEVICE explicit atomic_ref(Object&&) noexcept : object_(nullptr) {
    detail::refuse_object<T, Object>();
  }

  /// Refers to the object of `other`, for loads only.
  template <class U>
    requires(std::is_same_v<const U, T> && !std::is_const_v<U>)
  MEMBAR_HOST_DEVICE atomic_ref(const atomic_ref<U, Scope>& other) noexcept : object_(other.object_) {}

  /// Converts to the `cuda::atomic_ref` for the same object and scope, in a file that includes <cuda/atomic>. There is no
  /// conversion for const objects, cluster scope or packed pairs.
  template <detail::cuda_atomic_ref_of<T, Scope> Ref>
  [[nodiscard]] MEMBAR_HOST_DEVICE operator Ref() const noexcept {
    return Ref(*object_);
  }

  /// Returns whether the operations on this object are lock-free. On the device they always are.
  [[nodiscard]] MEMBAR_HOST_DEVICE bool is_lock_free() const noexcept {
    if constexpr (detail::compiling_for_device) {
      return true;
    } else {
      return __atomic_is_lock_free(sizeof(T), object_);
    }
  }

  /// Returns the value. The order is relaxed, acquire or seq_cst.
  template <class Order = detail::missing_order>
  [[nodiscard]] MEMBAR_HOST_DEVICE value_type load(Order = {}) const noexcept {
    detail::require_order<Order>();
    static_assert(load_order<Order> || !memory_order_tag<Order>,
                  "membar: a load cannot release, because it writes nothing: use relaxed, acquire or seq_cst");
    if constexpr (detail::compiling_for_device) {
      return detail::device_load<value_type, Scope, detail::order_of<Order>>(object_);
    } else {
      return detail::host_load<detail::order_of<Order>>(object_);
    }
  }

  /// Stores `value`. The order is relaxed, release or seq_cst.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void store(operand value, Order = {}) const noexcept {
    detail::require_order<Order>();
    static_assert(store_order<Order> || !memory_order_tag<Order>,
                  "membar: a store cannot acquire, because it reads nothing: use relaxed, release or seq_cst");
    detail::require_mutable<T>();
    if constexpr (std::is_const_v<T>) {
      // The static_assert above rejects this case.
    } else if constexpr (detail::compiling_for_device) {
      detail::device_store<T, Scope, detail::order_of<Order>>(object_, value);
    } else {
      detail::host_store<detail::order_of<Order>>(object_, static_cast<value_type>(value));
    }
  }

  /// Stores `desired` if the value's bits equal those of `expected`; otherwise copies the value into `expected`. Returns
  /// whether it stored.
  ///
  /// The first order applies to success and the second to failure. If only one order is passed, the failure order is that order
  /// without its release half, which is acquire for acq_rel. The operation never fails spuriously. Padding is also compared, so
  /// load `expected` from the object itself or use a type without padding.
  template <class Success = detail::missing_order, class Failure = typename detail::failure_tag<Success>::type>
  MEMBAR_HOST_DEVICE bool compare_exchange(value_type& expected, operand desired, Success = {},
                                           Failure = Failure{}) const noexcept {
    detail::require_order<Success>();
    static_assert(
        load_order<Failure>,
        "membar: the failure order of compare_exchange must be relaxed, acquire or seq_cst: a failed exchange does not "
        "write, so it cannot release");
    detail::require_mutable<T>();
    constexpr memory_order covering = detail::covering_order<detail::order_of<Success>, detail::order_of<Failure>>();
    if constexpr (std::is_const_v<T>) {
      __builtin_unreachable();
    } else if constexpr (detail::compiling_for_device) {
      return detail::device_compare_exchange<T, Scope, covering>(object_, expected, static_cast<value_type>(desired));
    } else {
      return detail::host_compare_exchange<covering>(object_, expected, static_cast<value_type>(desired));
    }
  }

  /// The standard's name for `compare_exchange`, which never fails spuriously.
  MEMBAR_HOST_DEVICE bool compare_exchange_weak(value_type& expected, operand desired, auto... orders) const noexcept {
    return compare_exchange(expected, desired, orders...);
  }
  /// The standard's name for `compare_exchange`.
  MEMBAR_HOST_DEVICE bool compare_exchange_strong(value_type& expected, operand desired, auto... orders) const noexcept {
    return compare_exchange(expected, desired, orders...);
  }

  /// Stores `value` and returns the previous value.
  MEMBAR_HOST_DEVICE value_type exchange(operand value, auto... said) const noexcept {
    return fetch<op::exchange>(value, said...);
  }

  /// Adds `value` with wrap-around and returns the previous value. For a pointer, `value` counts objects.
  MEMBAR_HOST_DEVICE value_type fetch_add(difference value, auto... said) const noexcept {
    return fetch<op::add>(value, said...);
  }

  /// Subtracts `value` with wrap-around and returns the previous value. PTX: `atom.add` of the negated value.
  MEMBAR_HOST_DEVICE value_type fetch_sub(difference value, auto... said) const noexcept {
    return fetch<op::add>(detail::negated(static_cast<difference_type>(value)), said...);
  }

  /// Stores the bitwise AND of the current value and `value`, and returns the previous value.
  MEMBAR_HOST_DEVICE value_type fetch_and(operand value, auto... said) const noexcept {
    return fetch<op::bitwise_and>(value, said...);
  }

  /// Stores the bitwise OR of the current value and `value`, and returns the previous value.
  MEMBAR_HOST_DEVICE value_type fetch_or(operand value, auto... said) const noexcept {
    return fetch<op::bitwise_or>(value, said...);
  }

  /// Stores the bitwise exclusive OR of the current value and `value`, and returns the previous value.
  MEMBAR_HOST_DEVICE value_type fetch_xor(operand value, auto... said) const noexcept {
    return fetch<op::bitwise_xor>(value, said...);
  }

  /// Stores the smaller of the current value and `value`, and returns the previous value.
  MEMBAR_HOST_DEVICE value_type fetch_min(operand value, auto... said) const noexcept { return fetch<op::min>(value, said...); }

  /// Stores the larger of the current value and `value`, and returns the previous value.
  MEMBAR_HOST_DEVICE value_type fetch_max(operand value, auto... said) const noexcept { return fetch<op::max>(value, said...); }

  /// Adds 1, or stores 0 if the value is `limit` or more, and returns the previous value.
  MEMBAR_HOST_DEVICE value_type fetch_inc(operand limit, auto... said) const noexcept { return fetch<op::inc>(limit, said...); }

  /// Subtracts 1, or stores `limit` if the value is 0 or above `limit`, and returns the previous value.
  MEMBAR_HOST_DEVICE value_type fetch_dec(operand limit, auto... said) const noexcept { return fetch<op::dec>(limit, said...); }

  /// Stores the smaller of the current value and `value`, and returns the previous value. If exactly one of the two is a NaN,
  /// the other is stored. -0 is smaller than +0.
  ///
  /// The object must be a float or a double, and the operation is a loop. If both values are NaNs, it stores the canonical
  /// NaN, which has no sign bit and all other bits set.
  MEMBAR_HOST_DEVICE value_type fetch_fminimum_num(operand value, auto... said) const noexcept {
    return fetch_number<op::min>(value, said...);
  }

  /// Stores the larger of the current value and `value`, and returns the previous value. If exactly one of the two is a NaN,
  /// the other is stored. +0 is larger than -0.
  ///
  /// The object must be a float or a double, and the operation is a loop. If both values are NaNs, it stores the canonical
  /// NaN, which has no sign bit and all other bits set.
  MEMBAR_HOST_DEVICE value_type fetch_fmaximum_num(operand value, auto... said) const noexcept {
    return fetch_number<op::max>(value, said...);
  }

  // Reductions return nothing, which makes them cheaper in global memory. Their order is relaxed or release.

  /// Adds `value` with wrap-around. For a pointer, `value` counts objects. The order is relaxed or release.
  MEMBAR_HOST_DEVICE void add(difference value, auto... said) const noexcept { reduce<op::add>(value, said...); }

  /// Subtracts `value` with wrap-around. The order is relaxed or release.
  MEMBAR_HOST_DEVICE void sub(difference value, auto... said) const noexcept {
    reduce<op::add>(detail::negated(static_cast<difference_type>(value)), said...);
  }

  /// Stores the bitwise AND of the current value and `value`. The order is relaxed or release.
  MEMBAR_HOST_DEVICE void bit_and(operand value, auto... said) const noexcept { reduce<op::bitwise_and>(value, said...); }

  /// Stores the bitwise OR of the current value and `value`. The order is relaxed or release.
  MEMBAR_HOST_DEVICE void bit_or(operand value, auto... said) const noexcept { reduce<op::bitwise_or>(value, said...); }

  /// Stores the bitwise exclusive OR of the current value and `value`. The order is relaxed or release.
  MEMBAR_HOST_DEVICE void bit_xor(operand value, auto... said) const noexcept { reduce<op::bitwise_xor>(value, said...); }

  /// Stores the smaller of the current value and `value`. The order is relaxed or release.
  MEMBAR_HOST_DEVICE void min(operand value, auto... said) const noexcept { reduce<op::min>(value, said...); }

  /// Stores the larger of the current value and `value`. The order is relaxed or release.
  MEMBAR_HOST_DEVICE void max(operand value, auto... said) const noexcept { reduce<op::max>(value, said...); }

  /// Adds 1, or stores 0 if the value is `limit` or more. The order is relaxed or release.
  MEMBAR_HOST_DEVICE void inc(operand limit, auto... said) const noexcept { reduce<op::inc>(limit, said...); }

  /// Subtracts 1, or stores `limit` if the value is 0 or above `limit`. The order is relaxed or release.
  MEMBAR_HOST_DEVICE void dec(operand limit, auto... said) const noexcept { reduce<op::dec>(limit, said...); }

  /// Stores `function(value)` and returns the previous value, in a loop of relaxed compare-and-swap operations on the bits.
  ///
  /// The fences for the order are outside the loop. `function` may be called several times. If several lanes of a warp update
  /// the same word, their updates may be merged into one attempt, which stores the result of applying the lanes' functions one
  /// after the other.
  template <class Function, class Order = detail::missing_order, class Policy = detail::no_policy>
  MEMBAR_HOST_DEVICE value_type fetch_update(Function function, Order = {}, Policy = {}) const {
    detail::require_order<Order>();
    detail::refuse_policy_of_loop<Policy>();
    detail::require_mutable<T>();
    if constexpr (std::is_const_v<T>) {
      __builtin_unreachable();
    } else if constexpr (detail::compiling_for_device) {
      return detail::device_update<T, Scope, detail::order_of<Order>>(object_, function);
    } else {
      return detail::host_update<detail::order_of<Order>>(object_, function);
    }
  }

  /// Blocks until the value's bits differ from those of `old`. The order applies to the load that reads the new value.
  ///
  /// The function polls with back-off and has no time limit. The order is relaxed, acquire or seq_cst.
  template <class Order = detail::missing_order>
  MEMBAR_HOST_DEVICE void wait(operand old, Order = {}) const noexcept {
    detail::require_order<Order>();
    static_assert(load_order<Order> || !memory_order_tag<Order>,
                  "membar: a wait cannot release, because it writes nothing: use relaxed, acquire or seq_cst");
    if constexpr (detail::compiling_for_device) {
      detail::device_wait<value_type, Scope, detail::order_of<Order>>(object_, old);
    } else {
      detail::host_back_off pause;
      while (detail::to_bits(detail::host_load<detail::order_of<Order>>(object_)) ==
             detail::to_bits(static_cast<value_type>(old))) {
        pause();
      }
    }
  }

  /// Does nothing, because `wait` polls; exists for code written against the interface of `std::atomic_ref`.
  MEMBAR_HOST_DEVICE void notify_one() const noexcept {}
  /// Does nothing, because `wait` polls; exists for code written against the interface of `std::atomic_ref`.
  MEMBAR_HOST_DEVICE void notify_all() const noexcept {}

 private:
  template <detail::atom_op Op>
  static constexpr bool adds_bytes = Op == detail::atom_op::add && detail::kind_of<T> == detail::value_kind::pointer;

  /// The type of an operation's argument. For a pointer, the argument is a number of objects.
  template <detail::atom_op Op>
  using operated = std::conditional_t<Op == detail::atom_op::add, difference_type, value_type>;

  /// Atomic operations on a pointer's bits. Additions count bytes.
  [[nodiscard]] MEMBAR_HOST_DEVICE auto address() const noexcept {
    return atomic_ref<detail::bits_of<T>, Scope>(*reinterpret_cast<detail::bits_of<T>*>(object_));
  }
  [[nodiscard]] MEMBAR_HOST_DEVICE static detail::bits_of<T> bytes(difference_type objects) noexcept {
    return static_cast<detail::bits_of<T>>(objects) * sizeof(std::remove_pointer_t<T>);
  }

  /// A policy has no effect on the host.
  template <detail::atom_op Op, class Value, class Order = detail::missing_order, class Policy = detail::no_policy>
  MEMBAR_HOST_DEVICE value_type fetch(Value given, Order order = {}, [[maybe_unused]] Policy policy = {}) const noexcept {
    [[maybe_unused]] const auto value = static_cast<operated<Op>>(given);
    detail::require_order<Order>();
    detail::require_operation<value_type, Op>();
    detail::require_policy<Policy>();
    detail::require_mutable<T>();
    if constexpr (std::is_const_v<T> || !detail::has_operation<value_type, Op>) {
      __builtin_unreachable();
    } else if constexpr (adds_bytes<Op>) {
      return detail::from_bits<T>(address().fetch_add(bytes(value), order, policy));
    } else if constexpr (detail::compiling_for_device && detail::is_policy<Policy>) {
      return detail::device_fetch_with_policy<Op, T, Scope, detail::order_of<Order>>(object_, value, policy.bits());
    } else if constexpr (detail::compiling_for_device) {
      return detail::device_fetch<Op, T, Scope, detail::order_of<Order>>(object_, value);
    } else if constexpr (detail::is_by_element<Op, T>) {
      // On the host, the operation is also atomic per element.
      T old = value;
      for (int i = 0; i != T::size; ++i) {
        old.elements[i] = detail::host_fetch_element<Op, detail::order_of<Order>>(&object_->elements[i], value.elements[i]);
      }
      return old;
    } else {
      return detail::host_fetch<Op, detail::order_of<Order>>(object_, value);
    }
  }

  template <detail::atom_op Op, class Value, class Order = detail::missing_order, class Policy = detail::no_policy>
  MEMBAR_HOST_DEVICE void reduce(Value given, Order order = {}, [[maybe_unused]] Policy policy = {}) const noexcept {
    [[maybe_unused]] const auto value = static_cast<operated<Op>>(given);
    detail::require_reduction_order<Order>();
    detail::require_operation<value_type, Op>();
    detail::require_policy<Policy>();
    detail::require_mutable<T>();
    if constexpr (std::is_const_v<T> || !detail::has_operation<value_type, Op>) {
      // The static_assert above rejects this case.
    } else if constexpr (adds_bytes<Op>) {
      address().add(bytes(value), order, policy);
    } else if constexpr (detail::compiling_for_device && detail::is_policy<Policy>) {
      detail::device_reduce_with_policy<Op, T, Scope, detail::order_of<Order>>(object_, value, policy.bits());
    } else if constexpr (detail::compiling_for_device) {
      detail::device_reduce<Op, T, Scope, detail::order_of<Order>>(object_, value);
    } else {
      static_cast<void>(fetch<Op>(value, order, policy));
    }
  }

  template <detail::atom_op Op, class Order = detail::missing_order, class Policy = detail::no_policy>
  MEMBAR_HOST_DEVICE value_type fetch_number(value_type value, Order order = {}, Policy policy = {}) const noexcept {
    constexpr bool is_floating = detail::kind_of<value_type> == detail::value_kind::floating;
    static_assert(
        is_floating,
        "membar: fetch_fminimum_num and fetch_fmaximum_num support only float and double: use fetch_min or fetch_max");
    if constexpr (!is_floating) {
      __builtin_unreachable();
    } else {
      const auto update = [=](value_type old) {
        return detail::from_bits<value_type>(
            detail::extreme_number<Op, value_type>(detail::to_bits(old), detail::to_bits(value)));
      };
      return fetch_update(update, order, policy);
    }
  }

  template <class, thread_scope>
  friend class atomic_ref;
  template <class U, thread_scope S, class Operation, class Order>
  MEMBAR_HOST_DEVICE friend U fetch_combine(atomic_ref<U, S> object, U operand, Operation operation, Order order);
  template <class U, thread_scope S, class Operation, class Order>
  MEMBAR_HOST_DEVICE friend void combine(atomic_ref<U, S> object, U operand, Operation operation, Order order);

  T* object_;
};

/// Returns a reference to `object`, which must be in global memory: `atomic_ref<T, thread_scope::device>(in_global(*pointer))`.
/// Operations then need no code for other state spaces. Without this call, that code is the largest part of an operation if the
/// compiler does not know the state space. The call itself generates no instructions.
template <class T>
[[nodiscard]] MEMBAR_HOST_DEVICE T& in_global(T& object) noexcept {
#if defined(__CUDA_ARCH__)
  __builtin_assume(__isGlobal(__builtin_addressof(object)) != 0);
#endif
  return object;
}

/// An object that the threads in `Scope` access only with atomic operations.
///
/// It has the operations of `atomic_ref`, which documents their synchronization and their machine code. An `atomic` is neither
/// copyable nor movable, has the same size as its value, and is aligned to that size.
///
/// The default constructor leaves the value uninitialized, so the object can be in `__shared__` memory. One thread must store a
/// value and execute a barrier before other threads use it.
template <class T, thread_scope Scope>
class atomic {
 public:
  using value_type = T;
  using difference_type = typename detail::pointer_difference<T>::type;
  using operand = detail::operand<T>;
  using difference = detail::operand<difference_type>;
  static constexpr thread_scope scope = Scope;
  static constexpr bool is_always_lock_free = atomic_ref<T, Scope>::is_always_lock_free;

  /// Leaves the value uninitialized.
  atomic() noexcept = default;
  /// Initializes the object with `value`. The initialization is not atomic.
  MEMBAR_HOST_DEVICE constexpr explicit atomic(T value) noexcept : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  /// Returns a copyable reference to this object with the same operations.
  [[nodiscard]] MEMBAR_HOST_DEVICE atomic_ref<T, Scope> ref() noexcept { return atomic_ref<T, Scope>(value_); }
  /// Returns a copyable reference to this object that can only load.
  [[nodiscard]] MEMBAR_HOST_DEVICE atomic_ref<const T, Scope> ref() const noexcept {
    return atomic_ref<const T, Scope>(value_);
  }

  /// Converts to a `cuda::atomic_ref` to the object, in a file that includes <cuda/atomic>. There is no conversion for cluster
  /// scope or packed pairs.
  template <detail::cuda_atomic_ref_of<T, Scope> Ref>
  [[nodiscard]] MEMBAR_HOST_DEVICE operator Ref() noexcept {
    return Ref(value_);
  }

  // The operations of `atomic_ref`, with the same names.

  [[nodiscard]] MEMBAR_HOST_DEVICE bool is_lock_free() const noexcept { return ref().is_lock_free(); }
  [[nodiscard]] MEMBAR_HOST_DEVICE T load(auto... order) const noexcept { return ref().load(order...); }
  MEMBAR_HOST_DEVICE void wait(operand old, auto... order) const noexcept { ref().wait(old, order...); }
  MEMBAR_HOST_DEVICE void notify_one() noexcept { ref().notify_one(); }
  MEMBAR_HOST_DEVICE void notify_all() noexcept { ref().notify_all(); }
  MEMBAR_HOST_DEVICE void store(operand value, auto... order) noexcept { ref().store(value, order...); }
  MEMBAR_HOST_DEVICE bool compare_exchange(T& expected, operand desired, auto... orders) noexcept {
    return ref().compare_exchange(expected, desired, orders...);
  }
  MEMBAR_HOST_DEVICE bool compare_exchange_weak(T& expected, operand desired, auto... orders) noexcept {
    return ref().compare_exchange(expected, desired, orders...);
  }
  MEMBAR_HOST_DEVICE bool compare_exchange_strong(T& expected, operand desired, auto... orders) noexcept {
    return ref().compare_exchange(expected, desired, orders...);
  }
  MEMBAR_HOST_DEVICE T fetch_update(auto function, auto... order) { return ref().fetch_update(function, order...); }
  MEMBAR_HOST_DEVICE T exchange(operand value, auto... order) noexcept { return ref().exchange(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_add(difference value, auto... order) noexcept { return ref().fetch_add(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_sub(difference value, auto... order) noexcept { return ref().fetch_sub(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_and(operand value, auto... order) noexcept { return ref().fetch_and(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_or(operand value, auto... order) noexcept { return ref().fetch_or(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_xor(operand value, auto... order) noexcept { return ref().fetch_xor(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_min(operand value, auto... order) noexcept { return ref().fetch_min(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_max(operand value, auto... order) noexcept { return ref().fetch_max(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_inc(operand value, auto... order) noexcept { return ref().fetch_inc(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_dec(operand value, auto... order) noexcept { return ref().fetch_dec(value, order...); }
  MEMBAR_HOST_DEVICE T fetch_fminimum_num(operand value, auto... order) noexcept {
    return ref().fetch_fminimum_num(value, order...);
  }
  MEMBAR_HOST_DEVICE T fetch_fmaximum_num(operand value, auto... order) noexcept {
    return ref().fetch_fmaximum_num(value, order...);
  }
  MEMBAR_HOST_DEVICE void add(difference value, auto... order) noexcept { ref().add(value, order...); }
  MEMBAR_HOST_DEVICE void sub(difference value, auto... order) noexcept { ref().sub(value, order...); }
  MEMBAR_HOST_DEVICE void bit_and(operand value, auto... order) noexcept { ref().bit_and(value, order...); }
  MEMBAR_HOST_DEVICE void bit_or(operand value, auto... order) noexcept { ref().bit_or(value, order...); }
  MEMBAR_HOST_DEVICE void bit_xor(operand value, auto... order) noexcept { ref().bit_xor(value, order...); }
  MEMBAR_HOST_DEVICE void min(operand value, auto... order) noexcept { ref().min(value, order...); }
  MEMBAR_HOST_DEVICE void max(operand value, auto... order) noexcept { ref().max(value, order...); }
  MEMBAR_HOST_DEVICE void inc(operand value, auto... order) noexcept { ref().inc(value, order...); }
  MEMBAR_HOST_DEVICE void dec(operand value, auto... order) noexcept { ref().dec(value, order...); }

 private:
  alignas(sizeof(T)) T value_;
};

template <class T, thread_scope Scope>
  requires(Scope == detail::missing_scope || !atomic_value<std::remove_const_t<T>>)
class atomic_ref<T, Scope> : public detail::refused_atomic<std::remove_cv_t<T>> {
  static_assert(detail::require_value<T, Scope>());
  static_assert(Scope == detail::missing_scope || !detail::is_complete<T> || atomic_value<std::remove_const_t<T>>,
                "membar: an atomic object must be trivially copyable, not volatile, and 1, 2, 4, 8 or 16 bytes long");
  using detail::refused_atomic<std::remove_cv_t<T>>::refused_atomic;
};
template <class T, thread_scope Scope>
  requires(Scope == detail::missing_scope || !atomic_value<T>)
class atomic<T, Scope> : public detail::refused_atomic<std::remove_cv_t<T>> {
  static_assert(detail::require_value<T, Scope>());
  static_assert(
      Scope == detail::missing_scope || !detail::is_complete<T> || atomic_value<T>,
      "membar: an atomic object must be trivially copyable, neither const nor volatile, and 1, 2, 4, 8 or 16 bytes long");
  using detail::refused_atomic<std::remove_cv_t<T>>::refused_atomic;
};
template <class T>
atomic_ref(T&) -> atomic_ref<T>;
template <class T>
atomic(T) -> atomic<T>;

// Operators are deleted, because they cannot specify an order. The declarations exist so that the compiler's message explains
// this.

MEMBAR_HOST_DEVICE void operator++(detail::atomic_object auto&& object) noexcept { detail::refuse_operator(object); }
MEMBAR_HOST_DEVICE void operator++(detail::atomic_object auto&& object, int) noexcept { detail::refuse_operator(object); }
MEMBAR_HOST_DEVICE void operator--(detail::atomic_object auto&& object) noexcept { detail::refuse_operator(object); }
MEMBAR_HOST_DEVICE void operator--(detail::atomic_object auto&& object, int) noexcept { detail::refuse_operator(object); }
MEMBAR_HOST_DEVICE void operator+=(detail::atomic_object auto&& object, const auto&) noexcept {
  detail::refuse_operator(object);
}
MEMBAR_HOST_DEVICE void operator-=(detail::atomic_object auto&& object, const auto&) noexcept {
  detail::refuse_operator(object);
}
MEMBAR_HOST_DEVICE void operator&=(detail::atomic_object auto&& object, const auto&) noexcept {
  detail::refuse_operator(object);
}
MEMBAR_HOST_DEVICE void operator|=(detail::atomic_object auto&& object, const auto&) noexcept {
  detail::refuse_operator(object);
}
MEMBAR_HOST_DEVICE void operator^=(detail::atomic_object auto&& object, const auto&) noexcept {
  detail::refuse_operator(object);
}

}  // namespace v0_3
}  // namespace membar
