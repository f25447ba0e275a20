// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The actions of test threads, one type per primitive of the headers. An action is a call on a cell of 16 bytes, together with
/// the instructions that its header lists for the call; the model executes these instructions. This file has the actions for
/// fence.cuh and load_store.cuh, and combinations of actions.
///
/// An action has
/// * `run(cell)`, which returns what it read: a `read` or `nothing`;
/// * `instructions(at, first)`, whose observations are in the registers from `first` on;
/// * `text()`, its part of a test's name.
/// Actions that also run on the host use `atomic_ref`.
#pragma once

#include "values.cuh"

#include <membar/fence.cuh>
#include <membar/load_store.cuh>
#include <membar/model/test.hpp>

#include <array>
#include <cstddef>
#include <string>

namespace conformance {

namespace model = membar::model;
using membar::memory_order;
using membar::thread_scope;

/// The tag of the order.
template <memory_order Order>
inline constexpr membar::memory_order_constant<Order> tag{};

/// @name Instructions for the model
/// @{
template <std::size_t Count>
using steps = std::array<model::instruction, Count>;

template <class... Instructions>
[[nodiscard]] constexpr steps<sizeof...(Instructions)> sequence(const Instructions&... instructions) noexcept {
  return {instructions...};
}

template <std::size_t... Counts>
[[nodiscard]] constexpr steps<(Counts + ... + 0)> joined(const steps<Counts>&... parts) noexcept {
  steps<(Counts + ... + 0)> all{};
  [[maybe_unused]] std::size_t at = 0;
  const auto append = [&](const auto& part) {
    for (const model::instruction& i : part) {
      all[at++] = i;
    }
  };
  (append(parts), ...);
  return all;
}

/// A register that no test observes.
inline constexpr model::reg unread{7};

/// The fence for one half of an order. A relaxed half has no fence.
template <thread_scope Scope, memory_order Half>
[[nodiscard]] constexpr auto half_fence() noexcept {
  if constexpr (Half == memory_order::relaxed) {
    return steps<0>{};
  } else {
    return sequence(model::thread_fence<Scope>(tag<Half>));
  }
}

/// `make(tag)` as one instruction with its order. `seq_cst` is `fence.sc` followed by the instruction with order `Otherwise`.
template <thread_scope Scope, memory_order Order, memory_order Otherwise, class Make>
[[nodiscard]] constexpr auto as_instruction(Make make) noexcept {
  if constexpr (Order == memory_order::seq_cst) {
    return sequence(model::thread_fence<Scope>(membar::seq_cst), make(tag<Otherwise>));
  } else {
    return sequence(make(tag<Order>));
  }
}

/// `make(tag)` as a loop. Only the last iteration counts: a relaxed instruction between the fences for the two halves of the
/// order.
template <thread_scope Scope, memory_order Order, class Make>
[[nodiscard]] constexpr auto as_loop(Make make) noexcept {
  return joined(half_fence<Scope, membar::release_half(Order)>(), sequence(make(membar::relaxed)),
                half_fence<Scope, membar::acquire_half(Order)>());
}

/// For sixteen bytes, copies the value that was read for the first half to the second half's register, because a single
/// instruction reads both halves.
template <class T>
[[nodiscard]] constexpr auto parts_of(model::reg first) noexcept {
  if constexpr (number<T>::parts == 1) {
    return steps<0>{};
  } else {
    model::instruction copy;
    copy.destination = first.index + 1;
    copy.b = {true, first.index, 0};
    return sequence(copy);
  }
}
/// @}

/// A call as it appears in a test's name, such as "fetch_add.release.device", preceded by the type if it is not `unsigned`.
template <class T = unsigned>
[[nodiscard]] inline std::string spelled(const std::string& call, memory_order order, thread_scope scope) {
  const std::string words = call + "." + membar::name(order) + "." + membar::name(scope);
  return std::is_same_v<T, unsigned> ? words : type_name<T>() + "." + words;
}

template <class T>
[[nodiscard]] MEMBAR_HOST_DEVICE inline T& as(void* cell) noexcept {
  return *static_cast<T*>(cell);
}

/// The value that an action has read. Its digits are computed after all actions of the thread, so that no access waits for an
/// earlier one.
template <class T>
struct read {
  T value;
  static constexpr int parts = number<T>::parts;
  [[nodiscard]] MEMBAR_HOST_DEVICE unsigned digits() const noexcept { return number<T>::digits(value); }
};
struct nothing {
  static constexpr int parts = 0;
  [[nodiscard]] MEMBAR_HOST_DEVICE static unsigned digits() noexcept { return 0; }
};

/// The number of four-bit digits that represent the value that an action reads.
template <class Action>
inline constexpr int observations = decltype(Action::run(nullptr))::parts;

/// @name Accesses without an order
/// On the host, they are plain accesses.
/// @{
template <int Value = 1, class T = unsigned>
struct store_weak {
  MEMBAR_CALLS_EITHER
  MEMBAR_HOST_DEVICE static nothing run(void* cell) noexcept {
#if defined(__CUDA_ARCH__)
    membar::store_weak(&as<T>(cell), number<T>::of(Value));
#else
    as<T>(cell) = number<T>::of(Value);
#endif
    return {};
  }
  static constexpr auto instructions(model::variable at, model::reg) { return sequence(model::store(at, Value)); }
  static std::string text() { return std::is_same_v<T, unsigned> ? "store_weak" : type_name<T>() + ".store_weak"; }
};

template <class T = unsigned>
struct load_weak {
  MEMBAR_CALLS_EITHER
  MEMBAR_HOST_DEVICE static read<T> run(void* cell) noexcept {
#if defined(__CUDA_ARCH__)
    return {membar::load_weak(&as<const T>(cell))};
#else
    return {as<const T>(cell)};
#endif
  }
  static constexpr auto instructions(model::variable at, model::reg first) { return sequence(model::load(first, at)); }
  static std::string text() { return std::is_same_v<T, unsigned> ? "load_weak" : type_name<T>() + ".load_weak"; }
};

/// `volatile` is relaxed at system scope.
template <int Value = 1>
struct store_volatile {
  MEMBAR_HOST_DEVICE static nothing run(void* cell) noexcept {
    *static_cast<volatile unsigned*>(cell) = Value;
    return {};
  }
  static constexpr auto instructions(model::variable at, model::reg) {
    return sequence(model::store<thread_scope::system>(at, Value, membar::relaxed));
  }
  static std::string text() { return "store_volatile"; }
};
struct load_volatile {
  MEMBAR_HOST_DEVICE static read<unsigned> run(void* cell) noexcept { return {*static_cast<const volatile unsigned*>(cell)}; }
  static constexpr auto instructions(model::variable at, model::reg first) {
    return sequence(model::load<thread_scope::system>(first, at, membar::relaxed));
  }
  static std::string text() { return "load_volatile"; }
};
/// @}

/// @name fence.cuh
/// @{
template <thread_scope Scope, memory_order Order>
struct fence {
  __device__ static nothing run(void*) noexcept {
    membar::thread_fence<Scope>(tag<Order>);
    return {};
  }
  static constexpr auto instructions(model::variable, model::reg) { return sequence(model::thread_fence<Scope>(tag<Order>)); }
  static std::string text() { return spelled("thread_fence", Order, Scope); }
};
/// @}

/// @name load_store.cuh
/// @{
template <thread_scope Scope, memory_order Order, int Value = 1, class T = unsigned, class... Hints>
struct ordered_store {
  __device__ static nothing run(void* cell) noexcept {
    membar::store<Scope>(&as<T>(cell), number<T>::of(Value), tag<Order>, Hints{}...);
    return {};
  }
  static constexpr auto instructions(model::variable at, model::reg) {
    return as_instruction<Scope, Order, memory_order::relaxed>([=](auto o) { return model::store<Scope>(at, Value, o); });
  }
  static std::string text() { return spelled<T>(sizeof...(Hints) == 0 ? "store" : "store_hinted", Order, Scope); }
};

template <thread_scope Scope, memory_order Order, class T = unsigned, class... Hints>
struct ordered_load {
  __device__ static read<T> run(void* cell) noexcept {
    return {membar::load<Scope>(&as<const T>(cell), tag<Order>, Hints{}...)};
  }
  static constexpr auto instructions(model::variable at, model::reg first) {
    return joined(as_instruction<Scope, Order, memory_order::acquire>([=](auto o) { return model::load<Scope>(first, at, o); }),
                  parts_of<T>(first));
  }
  static std::string text() { return spelled<T>(sizeof...(Hints) == 0 ? "load" : "load_hinted", Order, Scope); }
};

/// An access that is relaxed at system scope, and that is neither merged nor repeated.
template <int Value = 1>
struct store_mmio : store_volatile<Value> {
  __device__ static nothing run(void* cell) noexcept {
    membar::store<thread_scope::system>(&as<unsigned>(cell), number<unsigned>::of(Value), membar::mmio);
    return {};
  }
  static std::string text() { return "store.mmio.system"; }
};
struct load_mmio : load_volatile {
  __device__ static read<unsigned> run(void* cell) noexcept {
    return {membar::load<thread_scope::system>(&as<const unsigned>(cell), membar::mmio)};
  }
  static std::string text() { return "load.mmio.system"; }
};
/// @}

/// The values that two actions have read.
template <class First, class Second>
struct both_read {
  First first;
  Second second;
  static constexpr int parts = First::parts + Second::parts;
  [[nodiscard]] MEMBAR_HOST_DEVICE unsigned digits() const noexcept {
    return first.digits() | second.digits() << (4 * First::parts);
  }
};

/// @name Sixteen-byte accesses that are not a single access
/// For the model the upper half is the next location.
/// @{
/// Performs `Half` on each half of eight bytes.
template <class Half>
struct on_halves {
  MEMBAR_CALLS_EITHER
  MEMBAR_HOST_DEVICE static auto run(void* cell) noexcept {
    const auto low = Half::run(cell);
    return both_read{low, Half::run(static_cast<unsigned long long*>(cell) + 1)};
  }
  static constexpr auto instructions(model::variable at, model::reg first) {
    return joined(Half::instructions(at, first),
                  Half::instructions(model::variable{at.index + 1}, model::reg{first.index + 1}));
  }
};
template <thread_scope Scope>
struct store_halves : on_halves<ordered_store<Scope, memory_order::relaxed, 1, unsigned long long>> {
  static std::string text() { return spelled("store-two-halves", memory_order::relaxed, Scope); }
};
template <thread_scope Scope>
struct load_halves : on_halves<ordered_load<Scope, memory_order::relaxed, unsigned long long>> {
  static std::string text() { return spelled("load-two-halves", memory_order::relaxed, Scope); }
};

/// A weak access is a vector of four words, which is four accesses. The model has one access per half.
struct store_vector : store_weak<1, quad> {
  static constexpr auto instructions(model::variable at, model::reg first) {
    return on_halves<store_weak<>>::instructions(at, first);
  }
};
struct load_vector : load_weak<quad> {
  static constexpr auto instructions(model::variable at, model::reg first) {
    return on_halves<load_weak<>>::instructions(at, first);
  }
};
/// @}

/// Two actions on the same location, one after the other.
template <class First, class Second>
struct both {
  MEMBAR_CALLS_EITHER
  MEMBAR_HOST_DEVICE static auto run(void* cell) noexcept {
    const auto first = First::run(cell);
    return both_read{first, Second::run(cell)};
  }
  static constexpr auto instructions(model::variable at, model::reg first) {
    return joined(First::instructions(at, first), Second::instructions(at, model::reg{first.index + observations<First>}));
  }
  static std::string text() { return First::text() + "-" + Second::text(); }
};

/// `Action`, preceded by `Before` on the same location if there is one.
template <class Action, class Before = void>
using after = std::conditional_t<std::is_void_v<Before>, Action, both<Before, Action>>;

/// An action whose result is discarded.
template <class Action>
struct ignored : Action {
  MEMBAR_CALLS_EITHER
  MEMBAR_HOST_DEVICE static nothing run(void* cell) noexcept {
    static_cast<void>(Action::run(cell));
    return {};
  }
  static constexpr auto instructions(model::variable at, model::reg) { return Action::instructions(at, unread); }
};

}  // namespace conformance
