// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Atomic operations: the scope is in the type, the order is a tag in the call, and a call is one instruction.
#pragma once

#include <membar/detail/atomic_ptx.cuh>
#include <membar/detail/config.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#include <cuda/atomic>

#include <concepts>
#include <type_traits>

namespace membar {

/// The rule for the types that an atomic holds: integers of 32 or 64 bits.
template <class T>
concept atomic_integer =
    std::integral<T> && !std::same_as<T, bool> && std::same_as<T, std::remove_cv_t<T>> && (sizeof(T) == 4 || sizeof(T) == 8);

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

}  // namespace detail

/// Atomic operations on an object that lives elsewhere, for the threads in `Scope`.
///
/// Synchronizes: a release operation synchronizes with an acquire operation that reads its value, or a value of the
/// read-modify-writes that follow it, if each operation's scope includes the other's thread. At device scope that needs both
/// kernels in one physical synchronization domain. While a thread may use the object through an `atomic_ref`, every concurrent
/// access must be such an operation of a scope that includes the others; relaxed operations order nothing else.
///
/// PTX, with S = cta, cluster, gpu, sys for block, cluster, device, system and T = the type:
///   load              ld.{relaxed,acquire}.S.T                          seq_cst: fence.sc.S; ld.acquire.S.T
///   store             st.{relaxed,release}.S.T                          seq_cst: fence.sc.S; st.relaxed.S.T
///   exchange, fetch_* atom.OP.{relaxed,acquire,release,acq_rel}.S.T      seq_cst: fence.sc.S; atom.OP.acquire.S.T
///   compare_exchange  atom.cas, with the weakest order that covers both of its orders
/// Block, device and system scope go through `cuda::atomic_ref`, which emits these instructions; it has no cluster scope, so
/// there membar emits them. On the host every scope acts as an operation of the host's memory model.
///
/// Requires: the object aligned to its size, in global, shared or distributed shared memory (or host memory that the device
/// reaches); cluster scope requires compute capability 9.0 in all code compiled for a device, host functions of the same file
/// included. Source: PTX ISA, "atom", "ld", "st", "Memory Consistency Model".
template <class T, thread_scope Scope>
class atomic_ref {
  static_assert(atomic_integer<T>, "membar: an atomic holds an integer of 32 or 64 bits, without const or volatile");

 public:
  using value_type = T;
  static constexpr thread_scope scope = Scope;

  MEMBAR_HOST_DEVICE explicit atomic_ref(T& object) noexcept : object_(&object) {}

  /// `cuda::atomic_ref` of the same object and scope; cluster scope has none.
  [[nodiscard]] MEMBAR_HOST_DEVICE operator cuda::atomic_ref<T, detail::cuda_scope<Scope>>() const noexcept
    requires(Scope != thread_scope::cluster)
  {
    return native();
  }

  /// The value.
  template <class Order>
  [[nodiscard]] MEMBAR_HOST_DEVICE T load(Order) const noexcept {
    static_assert(load_order<Order>, "membar: a load takes relaxed, acquire or seq_cst: it has nothing to release");
    if constexpr (emits_ptx) {
      return detail::ptx_load<T, Scope, Order::value>(object_);
    } else {
      return native().load(detail::cuda_order<Order::value>);
    }
  }

  /// Makes `value` the value.
  template <class Order>
  MEMBAR_HOST_DEVICE void store(T value, Order) const noexcept {
    static_assert(store_order<Order>, "membar: a store takes relaxed, release or seq_cst: it has nothing to acquire");
    if constexpr (emits_ptx) {
      detail::ptx_store<T, Scope, Order::value>(object_, value);
    } else {
      native().store(value, detail::cuda_order<Order::value>);
    }
  }

  /// Makes `value` the value and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T exchange(T value, Order) const noexcept {
    static_assert(memory_order_tag<Order>,
                  "membar: an order is one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
    if constexpr (emits_ptx) {
      return detail::ptx_fetch<detail::atom_op::exchange, T, Scope, Order::value>(object_, value);
    } else {
      return native().exchange(value, detail::cuda_order<Order::value>);
    }
  }

  /// Makes `desired` the value if it was `expected`, with order `success`; else puts the value it was into `expected`, with
  /// order `failure`. Returns whether it was. Never fails spuriously.
  template <class Success, class Failure>
  MEMBAR_HOST_DEVICE bool compare_exchange(T& expected, T desired, Success, Failure) const noexcept {
    static_assert(memory_order_tag<Success>,
                  "membar: an order is one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
    static_assert(load_order<Failure>,
                  "membar: a compare_exchange that fails takes relaxed, acquire or seq_cst: it stores nothing to release");
    if constexpr (emits_ptx) {
      return detail::ptx_compare_exchange<T, Scope, detail::covering_order<Success::value, Failure::value>>(object_, expected,
                                                                                                            desired);
    } else {
      return native().compare_exchange_strong(expected, desired, detail::cuda_order<Success::value>,
                                              detail::cuda_order<Failure::value>);
    }
  }

  /// Adds `value`, wrapping, and returns the value before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_add(T value, Order) const noexcept {
    static_assert(memory_order_tag<Order>,
                  "membar: an order is one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
    if constexpr (emits_ptx) {
      return detail::ptx_fetch<detail::atom_op::add, T, Scope, Order::value>(object_, value);
    } else {
      return native().fetch_add(value, detail::cuda_order<Order::value>);
    }
  }

  /// Subtracts `value`, wrapping, and returns the value before. PTX: `atom.add` of the negated value.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_sub(T value, Order) const noexcept {
    static_assert(memory_order_tag<Order>,
                  "membar: an order is one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
    if constexpr (emits_ptx) {
      return detail::ptx_fetch<detail::atom_op::add, T, Scope, Order::value>(object_, detail::negated(value));
    } else {
      return native().fetch_sub(value, detail::cuda_order<Order::value>);
    }
  }

  /// Makes the bitwise and with `value` the value and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_and(T value, Order) const noexcept {
    static_assert(memory_order_tag<Order>,
                  "membar: an order is one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
    if constexpr (emits_ptx) {
      return detail::ptx_fetch<detail::atom_op::bitwise_and, T, Scope, Order::value>(object_, value);
    } else {
      return native().fetch_and(value, detail::cuda_order<Order::value>);
    }
  }

  /// Makes the bitwise or with `value` the value and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_or(T value, Order) const noexcept {
    static_assert(memory_order_tag<Order>,
                  "membar: an order is one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
    if constexpr (emits_ptx) {
      return detail::ptx_fetch<detail::atom_op::bitwise_or, T, Scope, Order::value>(object_, value);
    } else {
      return native().fetch_or(value, detail::cuda_order<Order::value>);
    }
  }

  /// Makes the bitwise exclusive or with `value` the value and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_xor(T value, Order) const noexcept {
    static_assert(memory_order_tag<Order>,
                  "membar: an order is one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
    if constexpr (emits_ptx) {
      return detail::ptx_fetch<detail::atom_op::bitwise_xor, T, Scope, Order::value>(object_, value);
    } else {
      return native().fetch_xor(value, detail::cuda_order<Order::value>);
    }
  }

  /// Makes the smaller of the value and `value` the value and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_min(T value, Order) const noexcept {
    static_assert(memory_order_tag<Order>,
                  "membar: an order is one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
    if constexpr (emits_ptx) {
      return detail::ptx_fetch<detail::atom_op::min, T, Scope, Order::value>(object_, value);
    } else {
      return native().fetch_min(value, detail::cuda_order<Order::value>);
    }
  }

  /// Makes the larger of the value and `value` the value and returns the one before.
  template <class Order>
  MEMBAR_HOST_DEVICE T fetch_max(T value, Order) const noexcept {
    static_assert(memory_order_tag<Order>,
                  "membar: an order is one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
    if constexpr (emits_ptx) {
      return detail::ptx_fetch<detail::atom_op::max, T, Scope, Order::value>(object_, value);
    } else {
      return native().fetch_max(value, detail::cuda_order<Order::value>);
    }
  }

 private:
  static constexpr bool emits_ptx = detail::compiling_for_device && Scope == thread_scope::cluster;

  [[nodiscard]] MEMBAR_HOST_DEVICE cuda::atomic_ref<T, detail::cuda_scope<Scope>> native() const noexcept {
    return cuda::atomic_ref<T, detail::cuda_scope<Scope>>(*object_);
  }

  T* object_;
};

/// An object that is only ever accessed atomically, for the threads in `Scope`: it has the operations of `atomic_ref`, which
/// say what they synchronize with and become. Neither copyable nor movable.
///
/// The default constructor leaves the value uninitialized, so that it can stand in `__shared__` memory; one thread stores a
/// value before others are let at it.
template <class T, thread_scope Scope>
class atomic {
  static_assert(atomic_integer<T>, "membar: an atomic holds an integer of 32 or 64 bits, without const or volatile");

 public:
  using value_type = T;
  static constexpr thread_scope scope = Scope;

  atomic() noexcept = default;
  MEMBAR_HOST_DEVICE constexpr explicit atomic(T value) noexcept : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  /// The operations on this object, as a reference that can be passed on.
  [[nodiscard]] MEMBAR_HOST_DEVICE atomic_ref<T, Scope> ref() noexcept { return atomic_ref<T, Scope>(value_); }

  [[nodiscard]] MEMBAR_HOST_DEVICE operator cuda::atomic_ref<T, detail::cuda_scope<Scope>>() noexcept
    requires(Scope != thread_scope::cluster)
  {
    return ref();
  }

  [[nodiscard]] MEMBAR_HOST_DEVICE T load(auto order) const noexcept {
    // A load writes nothing; atomic_ref has no read-only form.
    return const_cast<atomic*>(this)->ref().load(order);
  }
  MEMBAR_HOST_DEVICE void store(T value, auto order) noexcept { ref().store(value, order); }
  MEMBAR_HOST_DEVICE T exchange(T value, auto order) noexcept { return ref().exchange(value, order); }
  MEMBAR_HOST_DEVICE bool compare_exchange(T& expected, T desired, auto success, auto failure) noexcept {
    return ref().compare_exchange(expected, desired, success, failure);
  }
  MEMBAR_HOST_DEVICE T fetch_add(T value, auto order) noexcept { return ref().fetch_add(value, order); }
  MEMBAR_HOST_DEVICE T fetch_sub(T value, auto order) noexcept { return ref().fetch_sub(value, order); }
  MEMBAR_HOST_DEVICE T fetch_and(T value, auto order) noexcept { return ref().fetch_and(value, order); }
  MEMBAR_HOST_DEVICE T fetch_or(T value, auto order) noexcept { return ref().fetch_or(value, order); }
  MEMBAR_HOST_DEVICE T fetch_xor(T value, auto order) noexcept { return ref().fetch_xor(value, order); }
  MEMBAR_HOST_DEVICE T fetch_min(T value, auto order) noexcept { return ref().fetch_min(value, order); }
  MEMBAR_HOST_DEVICE T fetch_max(T value, auto order) noexcept { return ref().fetch_max(value, order); }

 private:
  alignas(sizeof(T)) T value_;
};

}  // namespace membar
