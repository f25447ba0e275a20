// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the threads of the tests do, one type for each primitive of the headers: the call on a cell of 16 bytes, and its twin,
/// the instructions that the header says it becomes, for the model.
///
/// An action has `run(cell)`, which returns what it read; `observations`, how many digits that has (four bits each);
/// `twin(at, first)`, whose observations are in the registers from `first` on; and `text()`, its part of a test's name. What
/// runs on the host, too, is made with `atomic_ref`.
#pragma once

#include "values.cuh"

#include <membar/aggregated.cuh>
#include <membar/atomic.cuh>
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

/// The order's tag.
template <memory_order Order>
inline constexpr membar::memory_order_constant<Order> tag{};

/// @name Twins
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

/// A register that no test looks at.
inline constexpr model::reg unread{7};

/// The fence that stands for one half of an order: none for relaxed.
template <thread_scope Scope, memory_order Half>
[[nodiscard]] constexpr auto half_fence() noexcept {
  if constexpr (Half == memory_order::relaxed) {
    return steps<0>{};
  } else {
    return sequence(model::thread_fence<Scope>(tag<Half>));
  }
}

/// `make(tag)` as one instruction with its order; `seq_cst` is `fence.sc` and the instruction with order `Otherwise`.
template <thread_scope Scope, memory_order Order, memory_order Otherwise, class Make>
[[nodiscard]] constexpr auto as_instruction(Make make) noexcept {
  if constexpr (Order == memory_order::seq_cst) {
    return sequence(model::thread_fence<Scope>(membar::seq_cst), make(tag<Otherwise>));
  } else {
    return sequence(make(tag<Order>));
  }
}

/// `make(tag)` as a loop: relaxed, between the fences of the order's halves; the iteration that leaves it.
template <thread_scope Scope, memory_order Order, class Make>
[[nodiscard]] constexpr auto as_loop(Make make) noexcept {
  return joined(half_fence<Scope, membar::release_half(Order)>(), sequence(make(membar::relaxed)),
                half_fence<Scope, membar::acquire_half(Order)>());
}

/// Both halves of sixteen bytes were read by the instruction that read the first.
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

/// "fetch_add.release.device", with the type before it unless it is the usual one.
template <class T = unsigned>
[[nodiscard]] inline std::string spelled(const std::string& call, memory_order order, thread_scope scope) {
  const std::string words = call + "." + membar::name(order) + "." + membar::name(scope);
  return std::is_same_v<T, unsigned> ? words : type_name<T>() + "." + words;
}

template <class T>
[[nodiscard]] MEMBAR_HOST_DEVICE inline T& as(void* cell) noexcept {
  return *static_cast<T*>(cell);
}

/// What an action read: a value as it came, of which the digits are made once the thread has done all its actions, so that no
/// access waits for an earlier one.
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

/// @name Accesses without an order
/// On the host they are plain ones.
/// @{
template <int Value = 1, class T = unsigned>
struct store_weak {
  static constexpr int observations = 0;
  MEMBAR_CALLS_EITHER
  MEMBAR_HOST_DEVICE static nothing run(void* cell) noexcept {
#if defined(__CUDA_ARCH__)
    membar::store_weak(&as<T>(cell), number<T>::of(Value));
#else
    as<T>(cell) = number<T>::of(Value);
#endif
    return {};
  }
  static constexpr auto twin(model::variable at, model::reg) { return sequence(model::store(at, Value)); }
  static std::string text() { return std::is_same_v<T, unsigned> ? "store_weak" : type_name<T>() + ".store_weak"; }
};

template <class T = unsigned>
struct load_weak {
  static constexpr int observations = 1;
  MEMBAR_CALLS_EITHER
  MEMBAR_HOST_DEVICE static read<T> run(void* cell) noexcept {
#if defined(__CUDA_ARCH__)
    return {membar::load_weak(&as<const T>(cell))};
#else
    return {as<const T>(cell)};
#endif
  }
  static constexpr auto twin(model::variable at, model::reg first) { return sequence(model::load(first, at)); }
  static std::string text() { return std::is_same_v<T, unsigned> ? "load_weak" : type_name<T>() + ".load_weak"; }
};

/// `volatile` is relaxed, at system scope.
template <int Value = 1>
struct store_volatile {
  static constexpr int observations = 0;
  MEMBAR_HOST_DEVICE static nothing run(void* cell) noexcept {
    *static_cast<volatile unsigned*>(cell) = Value;
    return {};
  }
  static constexpr auto twin(model::variable at, model::reg) {
    return sequence(model::store<thread_scope::system>(at, Value, membar::relaxed));
  }
  static std::string text() { return "store_volatile"; }
};
struct load_volatile {
  static constexpr int observations = 1;
  MEMBAR_HOST_DEVICE static read<unsigned> run(void* cell) noexcept { return {*static_cast<const volatile unsigned*>(cell)}; }
  static constexpr auto twin(model::variable at, model::reg first) {
    return sequence(model::load<thread_scope::system>(first, at, membar::relaxed));
  }
  static std::string text() { return "load_volatile"; }
};
/// @}

/// @name fence.cuh
/// @{
template <thread_scope Scope, memory_order Order>
struct fence {
  static constexpr int observations = 0;
  __device__ static nothing run(void*) noexcept {
    membar::thread_fence<Scope>(tag<Order>);
    return {};
  }
  static constexpr auto twin(model::variable, model::reg) { return sequence(model::thread_fence<Scope>(tag<Order>)); }
  static std::string text() { return spelled("thread_fence", Order, Scope); }
};
/// @}

/// @name load_store.cuh
/// @{
template <thread_scope Scope, memory_order Order, int Value = 1, class T = unsigned, class... Hints>
struct ordered_store {
  static constexpr int observations = 0;
  __device__ static nothing run(void* cell) noexcept {
    membar::store<Scope>(&as<T>(cell), number<T>::of(Value), tag<Order>, Hints{}...);
    return {};
  }
  static constexpr auto twin(model::variable at, model::reg) {
    return as_instruction<Scope, Order, memory_order::relaxed>([=](auto o) { return model::store<Scope>(at, Value, o); });
  }
  static std::string text() { return spelled<T>(sizeof...(Hints) == 0 ? "store" : "store_hinted", Order, Scope); }
};

template <thread_scope Scope, memory_order Order, class T = unsigned, class... Hints>
struct ordered_load {
  static constexpr int observations = number<T>::parts;
  __device__ static read<T> run(void* cell) noexcept {
    return {membar::load<Scope>(&as<const T>(cell), tag<Order>, Hints{}...)};
  }
  static constexpr auto twin(model::variable at, model::reg first) {
    return joined(as_instruction<Scope, Order, memory_order::acquire>([=](auto o) { return model::load<Scope>(first, at, o); }),
                  parts_of<T>(first));
  }
  static std::string text() { return spelled<T>(sizeof...(Hints) == 0 ? "load" : "load_hinted", Order, Scope); }
};

/// Relaxed at system scope, neither merged nor repeated.
template <int Value = 1>
struct store_mmio {
  static constexpr int observations = 0;
  __device__ static nothing run(void* cell) noexcept {
    membar::store<thread_scope::system>(&as<unsigned>(cell), number<unsigned>::of(Value), membar::mmio);
    return {};
  }
  static constexpr auto twin(model::variable at, model::reg first) { return store_volatile<Value>::twin(at, first); }
  static std::string text() { return "store.mmio.system"; }
};
struct load_mmio {
  static constexpr int observations = 1;
  __device__ static read<unsigned> run(void* cell) noexcept {
    return {membar::load<thread_scope::system>(&as<const unsigned>(cell), membar::mmio)};
  }
  static constexpr auto twin(model::variable at, model::reg first) { return load_volatile::twin(at, first); }
  static std::string text() { return "load.mmio.system"; }
};
/// @}

/// @name atomic.cuh
/// @{
template <thread_scope Scope, memory_order Order, int Value = 1, class T = unsigned>
struct atomic_store {
  static constexpr int observations = 0;
  MEMBAR_HOST_DEVICE static nothing run(void* cell) noexcept {
    membar::atomic_ref<T, Scope>(as<T>(cell)).store(number<T>::of(Value), tag<Order>);
    return {};
  }
  static constexpr auto twin(model::variable at, model::reg first) {
    return ordered_store<Scope, Order, Value>::twin(at, first);
  }
  static std::string text() { return spelled<T>("atomic_ref.store", Order, Scope); }
};

template <thread_scope Scope, memory_order Order, class T = unsigned>
struct atomic_load {
  static constexpr int observations = number<T>::parts;
  MEMBAR_HOST_DEVICE static read<T> run(void* cell) noexcept {
    return {membar::atomic_ref<T, Scope>(as<T>(cell)).load(tag<Order>)};
  }
  static constexpr auto twin(model::variable at, model::reg first) { return ordered_load<Scope, Order, T>::twin(at, first); }
  static std::string text() { return spelled<T>("atomic_ref.load", Order, Scope); }
};

/// Returns at once: it is only called where the value is known to have changed, and coherence keeps it so. Else it was 0.
template <thread_scope Scope, memory_order Order>
struct atomic_wait {
  static constexpr int observations = 1;
  MEMBAR_HOST_DEVICE static read<unsigned> run(void* cell) noexcept {
    const membar::atomic_ref<unsigned, Scope> object(as<unsigned>(cell));
    const unsigned seen = object.load(membar::relaxed);
    if (seen != 0) {
      object.wait(0, tag<Order>);
    }
    return {seen};
  }
  /// The two loads as one: what the fence acquires is what either of them read, and a test's flag changes once.
  static constexpr auto twin(model::variable at, model::reg first) {
    return as_loop<Scope, Order>([=](auto o) { return model::load<Scope>(first, at, o); });
  }
  static std::string text() { return spelled("atomic_ref.wait", Order, Scope); }
};

/// The read-modify-writes that take a value.
enum class update_kind { exchange, add, sub, bit_and, bit_or, bit_xor, min, max, inc, dec };

[[nodiscard]] inline const char* name(update_kind kind) {
  constexpr const char* names[] = {"exchange", "add", "sub", "and", "or", "xor", "min", "max", "inc", "dec"};
  return names[static_cast<int>(kind)];
}

[[nodiscard]] constexpr model::operation operation_of(update_kind kind) {
  constexpr model::operation operations[] = {model::operation::move,     model::operation::add,     model::operation::subtract,
                                             model::operation::bit_and,  model::operation::bit_or,  model::operation::bit_xor,
                                             model::operation::minimum,  model::operation::maximum, model::operation::increment,
                                             model::operation::decrement};
  return operations[static_cast<int>(kind)];
}

/// Whether the header says that an update of a `T` is a loop (docs/headers/atomic.md, "Types").
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

/// The model's read-modify-write.
template <update_kind Kind, thread_scope Scope, class Order>
[[nodiscard]] constexpr model::instruction updated(model::reg old, model::variable at, int value, Order order) noexcept {
  model::instruction i = model::fetch_add<Scope>(old, at, value, order);
  i.what = operation_of(Kind);
  return i;
}

/// `fetch_add(Value)` and its kin, and `exchange`.
template <update_kind Kind, thread_scope Scope, memory_order Order, int Value = 1, class T = unsigned>
struct update {
  static constexpr int observations = number<T>::parts;
  MEMBAR_HOST_DEVICE static read<T> run(void* cell) noexcept {
    return {update_by<Kind>(membar::atomic_ref<T, Scope>(as<T>(cell)), number<T>::of(Value), tag<Order>)};
  }
  static constexpr auto twin(model::variable at, model::reg first) {
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

/// `add(Value)` and its kin.
template <update_kind Kind, thread_scope Scope, memory_order Order, int Value = 1, class T = unsigned>
struct reduction {
  static constexpr int observations = 0;
  __device__ static nothing run(void* cell) noexcept {
    reduce_by<Kind>(membar::atomic_ref<T, Scope>(as<T>(cell)), number<T>::of(Value), tag<Order>);
    return {};
  }
  static constexpr auto twin(model::variable at, model::reg) {
    const auto make = [=](auto o) {
      if constexpr (is_loop<Kind, T>) {
        return updated<Kind, Scope>(unread, at, Value, o);
      } else {
        model::instruction i = model::add<Scope>(at, Value, o);
        i.what = operation_of(Kind);
        return i;
      }
    };
    if constexpr (is_loop<Kind, T>) {
      return as_loop<Scope, Order>(make);
    } else {
      return sequence(make(tag<Order>));
    }
  }
  static std::string text() { return spelled<T>(std::string("reduce_") + name(Kind), Order, Scope); }
};

/// The order of a compare-and-swap that covers both of its orders.
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

/// `compare_exchange` from `Expected` to `Desired`. It observes the value before.
template <thread_scope Scope, memory_order Success, memory_order Failure, int Expected = 0, int Desired = 1, class T = unsigned>
struct compare_exchange {
  static constexpr int observations = number<T>::parts;
  MEMBAR_HOST_DEVICE static read<T> run(void* cell) noexcept {
    T expected = number<T>::of(Expected);
    membar::atomic_ref<T, Scope>(as<T>(cell)).compare_exchange(expected, number<T>::of(Desired), tag<Success>, tag<Failure>);
    // where it failed, `expected` is the value it found
    return {expected};
  }
  static constexpr auto twin(model::variable at, model::reg first) {
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

/// `fetch_update` by a function that makes `Value` the value.
template <thread_scope Scope, memory_order Order, int Value = 1, class T = unsigned>
struct fetch_update {
  static constexpr int observations = number<T>::parts;
  __device__ static read<T> run(void* cell) noexcept {
    const T old = membar::atomic_ref<T, Scope>(as<T>(cell)).fetch_update([](T) { return number<T>::of(Value); }, tag<Order>);
    return {old};
  }
  static constexpr auto twin(model::variable at, model::reg first) {
    return joined(as_loop<Scope, Order>([=](auto o) { return model::exchange<Scope>(first, at, Value, o); }),
                  parts_of<T>(first));
  }
  static std::string text() { return spelled<T>("fetch_update", Order, Scope); }
};
/// @}

/// @name aggregated.cuh
/// Groups of one lane: the lanes of a warp run different instances, and so refer to different cells.
/// @{
template <thread_scope Scope, memory_order Order, int Value = 1>
struct aggregated_fetch_add {
  static constexpr int observations = 1;
  __device__ static read<unsigned> run(void* cell) noexcept {
    return {membar::aggregated_ref<unsigned, Scope>(as<unsigned>(cell)).fetch_add(number<unsigned>::of(Value), tag<Order>)};
  }
  static constexpr auto twin(model::variable at, model::reg first) {
    return update<update_kind::add, Scope, Order, Value>::twin(at, first);
  }
  static std::string text() { return spelled("aggregated.fetch_add", Order, Scope); }
};
template <thread_scope Scope, memory_order Order, int Value = 1>
struct aggregated_add {
  static constexpr int observations = 0;
  __device__ static nothing run(void* cell) noexcept {
    membar::aggregated_ref<unsigned, Scope>(as<unsigned>(cell)).add(number<unsigned>::of(Value), tag<Order>);
    return {};
  }
  static constexpr auto twin(model::variable at, model::reg first) {
    return reduction<update_kind::add, Scope, Order, Value>::twin(at, first);
  }
  static std::string text() { return spelled("aggregated.add", Order, Scope); }
};
/// @}

/// @name What atomicity is told apart from
/// @{

/// An increment by a load and a store: what comes between them is lost.
template <thread_scope Scope, int Value = 1, class T = unsigned>
struct split_add {
  static constexpr int observations = 1;
  MEMBAR_HOST_DEVICE static read<T> run(void* cell) noexcept {
    const membar::atomic_ref<T, Scope> object(as<T>(cell));
    const T old = object.load(membar::relaxed);
    object.store(static_cast<T>(old + number<T>::of(Value)), membar::relaxed);
    return {old};
  }
  static constexpr auto twin(model::variable at, model::reg first) {
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

/// `fetch_add(1)` of one of the bytes of a word, in which the others must keep their values.
template <thread_scope Scope, int Byte>
struct add_to_byte {
  static constexpr int observations = 0;
  __device__ static nothing run(void* cell) noexcept {
    membar::atomic_ref<unsigned char, Scope>(static_cast<unsigned char*>(cell)[Byte]).fetch_add(1, membar::relaxed);
    return {};
  }
  /// The word around it is what the loop compares and swaps.
  static constexpr auto twin(model::variable at, model::reg) {
    return sequence(model::fetch_add<Scope>(unread, at, 1 << (8 * Byte), membar::relaxed));
  }
  static std::string text() {
    return spelled<unsigned char>(std::string("fetch_add_byte") + std::to_string(Byte), memory_order::relaxed, Scope);
  }
};

/// Sixteen bytes by two stores of eight. In the twin the upper half is the next location.
template <thread_scope Scope>
struct store_halves {
  static constexpr int observations = 0;
  __device__ static nothing run(void* cell) noexcept {
    auto* const half = static_cast<unsigned long long*>(cell);
    membar::store<Scope>(half, 1ULL, membar::relaxed);
    membar::store<Scope>(half + 1, 1ULL, membar::relaxed);
    return {};
  }
  static constexpr auto twin(model::variable at, model::reg) {
    return sequence(model::store<Scope>(at, 1, membar::relaxed),
                    model::store<Scope>(model::variable{at.index + 1}, 1, membar::relaxed));
  }
  static std::string text() { return spelled("store-two-halves", memory_order::relaxed, Scope); }
};
template <thread_scope Scope>
struct load_halves {
  static constexpr int observations = 2;
  __device__ static read<quad> run(void* cell) noexcept {
    const auto* const half = static_cast<const unsigned long long*>(cell);
    const unsigned long long low = membar::load<Scope>(half, membar::relaxed);
    return {{low, membar::load<Scope>(half + 1, membar::relaxed)}};
  }
  static constexpr auto twin(model::variable at, model::reg first) {
    return sequence(model::load<Scope>(first, at, membar::relaxed),
                    model::load<Scope>(model::reg{first.index + 1}, model::variable{at.index + 1}, membar::relaxed));
  }
  static std::string text() { return spelled("load-two-halves", memory_order::relaxed, Scope); }
};

/// Sixteen bytes without an order: a vector of four words, which is four accesses. The twin tells two of them apart.
struct store_vector {
  static constexpr int observations = 0;
  __device__ static nothing run(void* cell) noexcept {
    membar::store_weak(&as<quad>(cell), number<quad>::of(1));
    return {};
  }
  static constexpr auto twin(model::variable at, model::reg) {
    return sequence(model::store(at, 1), model::store(model::variable{at.index + 1}, 1));
  }
  static std::string text() { return "quad.store_weak"; }
};
struct load_vector {
  static constexpr int observations = 2;
  __device__ static read<quad> run(void* cell) noexcept { return {membar::load_weak(&as<const quad>(cell))}; }
  static constexpr auto twin(model::variable at, model::reg first) {
    return sequence(model::load(first, at), model::load(model::reg{first.index + 1}, model::variable{at.index + 1}));
  }
  static std::string text() { return "quad.load_weak"; }
};
/// @}

/// What two actions read.
template <class First, class Second>
struct both_read {
  First first;
  Second second;
  static constexpr int parts = First::parts + Second::parts;
  [[nodiscard]] MEMBAR_HOST_DEVICE unsigned digits() const noexcept {
    return first.digits() | second.digits() << (4 * First::parts);
  }
};

/// Two actions on one location, one after the other.
template <class First, class Second>
struct both {
  static constexpr int observations = First::observations + Second::observations;
  MEMBAR_CALLS_EITHER
  MEMBAR_HOST_DEVICE static auto run(void* cell) noexcept {
    const auto first = First::run(cell);
    return both_read{first, Second::run(cell)};
  }
  static constexpr auto twin(model::variable at, model::reg first) {
    return joined(First::twin(at, first), Second::twin(at, model::reg{first.index + First::observations}));
  }
  static std::string text() { return First::text() + "-" + Second::text(); }
};

/// Actions on one location, as many as there are.
template <class... Actions>
struct chain_of;
template <class Only>
struct chain_of<Only> {
  using type = Only;
};
template <class First, class... Rest>
struct chain_of<First, Rest...> {
  using type = both<First, typename chain_of<Rest...>::type>;
};
template <class... Actions>
using chain = typename chain_of<Actions...>::type;

/// An action whose result is thrown away.
template <class Action>
struct ignored : Action {
  static constexpr int observations = 0;
  MEMBAR_CALLS_EITHER
  MEMBAR_HOST_DEVICE static nothing run(void* cell) noexcept {
    static_cast<void>(Action::run(cell));
    return {};
  }
  static constexpr auto twin(model::variable at, model::reg) { return Action::twin(at, unread); }
};

}  // namespace conformance
