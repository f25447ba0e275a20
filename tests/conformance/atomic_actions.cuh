// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Actions of test threads: the operations of atomic.cuh and aggregated.cuh. See actions.cuh.
#pragma once

#include "actions.cuh"

#include <membar/aggregated.cuh>
#include <membar/atomic.cuh>

#include <string>
#include <type_traits>

namespace conformance {

/// @name atomic.cuh
/// @{
template <thread_scope Scope, memory_order Order, int Value = 1, class T = unsigned>
struct atomic_store : ordered_store<Scope, Order, Value> {
  MEMBAR_HOST_DEVICE static nothing run(void* cell) noexcept {
    membar::atomic_ref<T, Scope>(as<T>(cell)).store(number<T>::of(Value), tag<Order>);
    return {};
  }
  static std::string text() { return spelled<T>("atomic_ref.store", Order, Scope); }
};

template <thread_scope Scope, memory_order Order, class T = unsigned>
struct atomic_load : ordered_load<Scope, Order, T> {
  MEMBAR_HOST_DEVICE static read<T> run(void* cell) noexcept {
    return {membar::atomic_ref<T, Scope>(as<T>(cell)).load(tag<Order>)};
  }
  static std::string text() { return spelled<T>("atomic_ref.load", Order, Scope); }
};

/// Waits for a value other than 0. It is called only after a load has read such a value, so by coherence it returns
/// immediately.
template <thread_scope Scope, memory_order Order>
struct atomic_wait {
  MEMBAR_HOST_DEVICE static read<unsigned> run(void* cell) noexcept {
    const membar::atomic_ref<unsigned, Scope> object(as<unsigned>(cell));
    const unsigned seen = object.load(membar::relaxed);
    if (seen != 0) {
      object.wait(0, tag<Order>);
    }
    return {seen};
  }
  /// Two loads as one action. The fence acquires what either load has read. In a test, the flag changes only once.
  static constexpr auto instructions(model::variable at, model::reg first) {
    return as_loop<Scope, Order>([=](auto o) { return model::load<Scope>(first, at, o); });
  }
  static std::string text() { return spelled("atomic_ref.wait", Order, Scope); }
};

/// The read-modify-writes with one operand.
enum class update_kind { exchange, add, sub, bit_and, bit_or, bit_xor, min, max, inc, dec };

[[nodiscard]] inline const char* name(update_kind kind) {
  constexpr const char* names[] = {"exchange", "add", "sub", "and", "or", "xor", "min", "max", "inc", "dec"};
  return names[static_cast<int>(kind)];
}

[[nodiscard]] constexpr model::operation operation_of(update_kind kind) {
  using enum model::operation;
  constexpr model::operation operations[] = {move,    add,     subtract, bit_and,   bit_or,
                                             bit_xor, minimum, maximum,  increment, decrement};
  return operations[static_cast<int>(kind)];
}

/// Whether an update of a `T` compiles to a loop (docs/headers/atomic.md, "Types").
template <update_kind Kind, class T>
inline constexpr bool is_loop = (sizeof(T) < 4 && (std::is_integral_v<T> || Kind != update_kind::add)) ||
                                (sizeof(T) == 16 && Kind != update_kind::exchange) ||
                                (sizeof(T) == 8 && (Kind == update_kind::inc || Kind == update_kind::dec));

template <update_kind Kind, class Ref, class T, class Order>
MEMBAR_HOST_DEVICE inline T update_by(const Ref& object, T value, Order order) noexcept {
  if constexpr (Kind == update_kind::exchange) {
    return object.exchange(value, order);
  } else if constexpr (Kind == update_kind::add) {
    return object.fetch_add(value, order);
  } else if constexpr (Kind == update_kind::sub) {
    return object.fetch_sub(value, order);
  } else if constexpr (Kind == update_kind::bit_and) {
    return object.fetch_and(value, order);
  } else if constexpr (Kind == update_kind::bit_or) {
    return object.fetch_or(value, order);
  } else if constexpr (Kind == update_kind::bit_xor) {
    return object.fetch_xor(value, order);
  } else if constexpr (Kind == update_kind::min) {
    return object.fetch_min(value, order);
  } else if constexpr (Kind == update_kind::max) {
    return object.fetch_max(value, order);
  } else if constexpr (Kind == update_kind::inc) {
    return object.fetch_inc(value, order);
  } else {
    return object.fetch_dec(value, order);
  }
}

template <update_kind Kind, class Ref, class T, class Order>
__device__ inline void reduce_by(const Ref& object, T value, Order order) noexcept {
  if constexpr (Kind == update_kind::add) {
    object.add(value, order);
  } else if constexpr (Kind == update_kind::sub) {
    object.sub(value, order);
  } else if constexpr (Kind == update_kind::bit_and) {
    object.bit_and(value, order);
  } else if constexpr (Kind == update_kind::bit_or) {
    object.bit_or(value, order);
  } else if constexpr (Kind == update_kind::bit_xor) {
    object.bit_xor(value, order);
  } else if constexpr (Kind == update_kind::min) {
    object.min(value, order);
  } else if constexpr (Kind == update_kind::max) {
    object.max(value, order);
  } else if constexpr (Kind == update_kind::inc) {
    object.inc(value, order);
  } else {
    static_assert(Kind == update_kind::dec);
    object.dec(value, order);
  }
}

/// The read-modify-write as the model's instruction.
template <update_kind Kind, thread_scope Scope, class Order>
[[nodiscard]] constexpr model::instruction updated(model::reg old, model::variable at, int value, Order order) noexcept {
  model::instruction i = model::fetch_add<Scope>(old, at, value, order);
  i.what = operation_of(Kind);
  return i;
}

/// `fetch_add(Value)`, the other fetching operations, and `exchange`.
template <update_kind Kind, thread_scope Scope, memory_order Order, int Value = 1, class T = unsigned>
struct update {
  MEMBAR_HOST_DEVICE static read<T> run(void* cell) noexcept {
    return {update_by<Kind>(membar::atomic_ref<T, Scope>(as<T>(cell)), number<T>::of(Value), tag<Order>)};
  }
  static constexpr auto instructions(model::variable at, model::reg first) {
    const auto make = [=](auto o) { return updated<Kind, Scope>(first, at, Value, o); };
    if constexpr (is_loop<Kind, T>) {
      return joined(as_loop<Scope, Order>(make), parts_of<T>(first));
    } else {
      return joined(as_instruction<Scope, Order, memory_order::acquire>(make), parts_of<T>(first));
    }
  }
  static std::string text() {
    const std::string call = Kind == update_kind::exchange ? "exchange" : std::string("fetch_") + name(Kind);
    return spelled<T>(call, Order, Scope);
  }
};

/// `add(Value)` and the other operations without a result.
template <update_kind Kind, thread_scope Scope, memory_order Order, int Value = 1, class T = unsigned>
struct reduction {
  __device__ static nothing run(void* cell) noexcept {
    reduce_by<Kind>(membar::atomic_ref<T, Scope>(as<T>(cell)), number<T>::of(Value), tag<Order>);
    return {};
  }
  static constexpr auto instructions(model::variable at, model::reg) {
    if constexpr (is_loop<Kind, T>) {
      return update<Kind, Scope, Order, Value, T>::instructions(at, unread);
    } else {
      model::instruction i = model::add<Scope>(at, Value, tag<Order>);
      i.what = operation_of(Kind);
      return sequence(i);
    }
  }
  static std::string text() { return spelled<T>(std::string("reduce_") + name(Kind), Order, Scope); }
};

/// The weakest order that includes both the success order and the failure order of a compare-and-swap.
[[nodiscard]] constexpr memory_order covering(memory_order success, memory_order failure) noexcept {
  if (success == memory_order::seq_cst || failure == memory_order::seq_cst) {
    return memory_order::seq_cst;
  }
  const bool releases = success == memory_order::release || success == memory_order::acq_rel;
  const bool acquires =
      success == memory_order::acquire || success == memory_order::acq_rel || failure == memory_order::acquire;
  return releases ? (acquires ? memory_order::acq_rel : memory_order::release)
                  : (acquires ? memory_order::acquire : memory_order::relaxed);
}

/// `compare_exchange` from `Expected` to `Desired`. It observes the old value.
template <thread_scope Scope, memory_order Success, memory_order Failure, int Expected = 0, int Desired = 1, class T = unsigned>
struct compare_exchange {
  MEMBAR_HOST_DEVICE static read<T> run(void* cell) noexcept {
    T expected = number<T>::of(Expected);
    membar::atomic_ref<T, Scope>(as<T>(cell)).compare_exchange(expected, number<T>::of(Desired), tag<Success>, tag<Failure>);
    // After a failure, `expected` is the value that was read.
    return {expected};
  }
  static constexpr auto instructions(model::variable at, model::reg first) {
    const auto make = [=](auto o) { return model::compare_exchange<Scope>(first, at, Expected, Desired, o); };
    constexpr memory_order order = covering(Success, Failure);
    if constexpr (sizeof(T) == 1) {
      return as_loop<Scope, order>(make);
    } else {
      return joined(as_instruction<Scope, order, memory_order::acquire>(make), parts_of<T>(first));
    }
  }
  static std::string text() { return spelled<T>(std::string("compare_exchange.") + membar::name(Success), Failure, Scope); }
};

/// `fetch_update` with a function that returns `Value`.
template <thread_scope Scope, memory_order Order, int Value = 1, class T = unsigned>
struct fetch_update {
  __device__ static read<T> run(void* cell) noexcept {
    return {membar::atomic_ref<T, Scope>(as<T>(cell)).fetch_update([](T) { return number<T>::of(Value); }, tag<Order>)};
  }
  static constexpr auto instructions(model::variable at, model::reg first) {
    return joined(as_loop<Scope, Order>([=](auto o) { return model::exchange<Scope>(first, at, Value, o); }),
                  parts_of<T>(first));
  }
  static std::string text() { return spelled<T>("fetch_update", Order, Scope); }
};
/// @}

/// @name aggregated.cuh
/// The groups have one lane: the lanes of a warp run different instances, with different cells.
/// @{
template <thread_scope Scope, memory_order Order, int Value = 1>
struct aggregated_fetch_add : update<update_kind::add, Scope, Order, Value> {
  __device__ static read<unsigned> run(void* cell) noexcept {
    return {membar::aggregated_ref<unsigned, Scope>(as<unsigned>(cell)).fetch_add(number<unsigned>::of(Value), tag<Order>)};
  }
  static std::string text() { return spelled("aggregated.fetch_add", Order, Scope); }
};
template <thread_scope Scope, memory_order Order, int Value = 1>
struct aggregated_add : reduction<update_kind::add, Scope, Order, Value> {
  __device__ static nothing run(void* cell) noexcept {
    membar::aggregated_ref<unsigned, Scope>(as<unsigned>(cell)).add(number<unsigned>::of(Value), tag<Order>);
    return {};
  }
  static std::string text() { return spelled("aggregated.add", Order, Scope); }
};
/// @}

/// @name Updates of part of a word, and updates that are split
/// @{

/// An increment by a load and a store: a write between the two is lost.
template <thread_scope Scope, int Value = 1, class T = unsigned>
struct split_add {
  MEMBAR_HOST_DEVICE static read<T> run(void* cell) noexcept {
    const membar::atomic_ref<T, Scope> object(as<T>(cell));
    const T old = object.load(membar::relaxed);
    object.store(static_cast<T>(old + number<T>::of(Value)), membar::relaxed);
    return {old};
  }
  static constexpr auto instructions(model::variable at, model::reg first) {
    model::instruction sum;
    sum.what = model::operation::add;
    sum.destination = unread.index + 1;
    sum.a = {false, 0, Value};
    sum.b = {true, first.index, 0};
    return sequence(model::load<Scope>(first, at, membar::relaxed), sum,
                    model::store<Scope>(at, model::source(model::reg{unread.index + 1}), membar::relaxed));
  }
  static std::string text() { return spelled<T>("load-add-store", memory_order::relaxed, Scope); }
};

/// `fetch_add(1)` of one byte of a word. The other bytes must keep their values.
template <thread_scope Scope, int Byte>
struct add_to_byte {
  __device__ static nothing run(void* cell) noexcept {
    membar::atomic_ref<unsigned char, Scope>(static_cast<unsigned char*>(cell)[Byte]).fetch_add(1, membar::relaxed);
    return {};
  }
  /// The loop compares and swaps the word around the byte.
  static constexpr auto instructions(model::variable at, model::reg) {
    return sequence(model::fetch_add<Scope>(unread, at, 1 << (8 * Byte), membar::relaxed));
  }
  static std::string text() {
    return spelled<unsigned char>(std::string("fetch_add_byte") + std::to_string(Byte), memory_order::relaxed, Scope);
  }
};
/// @}

}  // namespace conformance
