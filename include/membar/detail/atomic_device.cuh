// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The device code of atomic operations: one instruction, the integer form of a floating-point minimum or maximum, or a
/// compare-and-swap loop.
#pragma once

#include <membar/detail/atomic_arithmetic.hpp>
#include <membar/detail/atomic_instructions.cuh>
#include <membar/detail/compilation.cuh>
#include <membar/detail/lane.cuh>

namespace membar {
inline namespace v0_3 {
namespace detail {

/// The word that a compare-and-swap operates on: the object itself or, for 8 and 16 bits, its aligned 32-bit word.
///
/// The other bits of that word keep the values that were read.
template <class Bits, bool IsWord = sizeof(Bits) >= 4>
struct cell {
  using word_type = Bits;
  Bits* word;

  __device__ explicit cell(Bits* object) noexcept : word(object) {}
  [[nodiscard]] __device__ Bits part(word_type whole) const noexcept { return whole; }
  [[nodiscard]] __device__ word_type with(word_type, Bits part) const noexcept { return part; }
};
template <class Bits>
struct cell<Bits, false> {
  using word_type = unsigned;
  unsigned* word;
  unsigned shift;

  __device__ explicit cell(Bits* object) noexcept
      : word(reinterpret_cast<unsigned*>(reinterpret_cast<unsigned long long>(object) & ~3ULL)),
        shift(static_cast<unsigned>(reinterpret_cast<unsigned long long>(object) & 3) * 8) {}
  [[nodiscard]] __device__ Bits part(word_type whole) const noexcept { return static_cast<Bits>(whole >> shift); }
  [[nodiscard]] __device__ word_type with(word_type whole, Bits part) const noexcept {
    constexpr unsigned mask = (1U << (8 * sizeof(Bits))) - 1;
    return (whole & ~(mask << shift)) | static_cast<unsigned>(part) << shift;
  }
};

/// Turns a function of a value into a function of the value's bits. This code is compiled for the device even if only the host
/// calls it.
template <class T, class Function>
struct replacement {
  Function function;

  MEMBAR_CALLS_EITHER
  template <class Bits>
  MEMBAR_HOST_DEVICE Bits operator()(Bits seen) {
    return to_bits<T>(function(from_bits<T>(seen)));
  }
};

/// Returns the highest lane of a non-empty set.
[[nodiscard]] __device__ inline int highest(unsigned lanes) noexcept { return 31 - __clz(static_cast<int>(lanes)); }

/// Returns whether the lane at distance 2 seems to change the same word. If so, more than two lanes probably change it. The
/// test is cheap, and a wrong result costs only time.
[[nodiscard]] __device__ inline bool seems_shared(const void* word) noexcept {
  const auto low = static_cast<unsigned>(reinterpret_cast<unsigned long long>(word));
  return __shfl_xor_sync(__activemask(), low, 2) == low;
}

/// Performs this lane's operation together with the operations of the warp's other lanes that change the same word, and returns
/// the object's previous bits.
///
/// If several lanes of a warp try to change one value at the same time, only one of them succeeds, and the others delay other
/// warps. Therefore the lanes that share a word apply their operations one after the other, each to the previous lane's result,
/// and a single compare-and-swap stores the final result. The last call of `next` in each lane receives the value to which the
/// lane's operation is applied. No lane sleeps.
///
/// Only one lane accesses the object. A barrier among the lanes precedes that lane's release fence, and another barrier follows
/// its acquire fence, so the lane's operation is ordered with the earlier and later accesses of every lane. A lane that shares
/// its word with no other lane needs no barriers.
///
/// A lane in this lane's `same_word` may finish and then execute this code again, for a later operation on another word, while
/// this lane is still making attempts. The other lane's new `same_word` cannot be equal to this lane's, because a set contains
/// only lanes that computed it together. Therefore only lanes with equal sets are merged.
template <thread_scope Scope, memory_order Order, class Bits, class Next>
__device__ inline Bits attempt_together(const cell<Bits>& c, typename cell<Bits>::word_type seen, Next& next) {
  const unsigned together = __activemask();
  const unsigned same_word = __match_any_sync(together, reinterpret_cast<unsigned long long>(c.word));
  const unsigned self = 1U << lane_id();
  if (__any_sync(together, same_word != self) != 0) {
    __syncwarp(together);
    half_fence<Scope, release_half(Order)>();
  }
  for (;;) {
    const unsigned present = __activemask();
    const unsigned group = same_word & __match_any_sync(present, same_word);
    const int storing = highest(group);
    seen = bits_of_lane(present, seen, storing);
    auto before = seen;
    auto value = seen;
    unsigned left = group;
    for (unsigned turns = most_of_lanes(present, static_cast<unsigned>(__popc(static_cast<int>(group)))); turns != 0; --turns) {
      const unsigned turn = left & (0U - left);
      auto now = value;
      if (turn == self) {
        before = value;
        now = c.with(value, next(c.part(value)));
      }
      const auto left_by_it = bits_of_lane(present, now, turn != 0 ? highest(turn) : 0);
      value = turn != 0 ? left_by_it : value;
      left ^= turn;
    }
    bool written = false;
    if (self == 1U << storing) {
      const auto found = ptx_compare_and_swap<Scope, memory_order::relaxed>(c.word, seen, value);
      written = found == seen;
      seen = found;
    }
    if ((__ballot_sync(present, written) & group) != 0) {
      if (group != self) {
        half_fence<Scope, acquire_half(Order)>();
        __syncwarp(group);
      }
      return c.part(before);
    }
  }
}

/// Replaces the value with `function(value)` and returns the previous value. The comparison is bitwise. The fences for the
/// order are outside the loop of attempts.
///
/// A lane first makes its own attempt, which avoids the cost of determining which lanes share its word. If more than two lanes
/// seem to change its word, it skips this attempt. Two lanes are faster if each makes its own attempts.
template <class T, thread_scope Scope, memory_order Order, class Function>
__device__ inline T update_loop(T* object, Function function) {
  const cell<bits_of<T>> c(reinterpret_cast<bits_of<T>*>(object));
  replacement<T, Function> next{function};
  half_fence<Scope, release_half(Order)>();
  auto seen = ptx_load<Scope, memory_order::relaxed>(c.word);
  const bool shared = seems_shared(c.word);
  bits_of<T> old = c.part(seen);
  const auto value = c.with(seen, next(old));
  bool done = false;
  if (!shared || value == seen) {
    const auto found = ptx_compare_and_swap<Scope, memory_order::relaxed>(c.word, seen, value);
    done = found == seen;
    seen = found;
  }
  if (!done) {
    old = attempt_together<Scope, Order>(c, seen, next);
  }
  half_fence<Scope, acquire_half(Order)>();
  return from_bits<T>(old);
}

/// In the device compilation pass, rejects types that the architecture supports neither with an instruction nor with a loop.
template <class T>
__device__ constexpr void require_compare_and_swap() noexcept {
  static_assert(
      has_hopper_instructions || sizeof(T) < 16,
      "membar: a 16-byte read-modify-write requires compute capability 9.0: compile this code only for sm_90 or newer; "
      "16-byte loads and stores also work on older architectures");
}

/// Calls `update_loop` if the architecture supports it for the type and the scope.
template <class T, thread_scope Scope, memory_order Order, class Function>
__device__ inline T device_update(T* object, Function function) {
  require_architecture_of<Scope>();
  require_compare_and_swap<T>();
  return update_loop<T, Scope, Order>(object, function);
}

/// Sleeps between polls. Does not sleep after the first poll, and then doubles the time after each poll, up to 256 ns.
class back_off {
 public:
  __device__ void operator()() noexcept {
    if (nanoseconds_ != 0) {
      // nanosleep.u32 t;  PTX ISA 6.3, sm_70
      asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds_) : "memory");
    }
    nanoseconds_ = nanoseconds_ == 0 ? 16 : nanoseconds_ < longest ? 2 * nanoseconds_ : longest;
  }

 private:
  static constexpr unsigned longest = 256;
  unsigned nanoseconds_ = 0;
};

/// Stores `desired` if the bits of an 8-bit or 16-bit object equal those of `expected`; otherwise copies the object into
/// `expected`. Returns whether it stored.
///
/// Each lane makes its own attempts, so a lane that fails has read the object itself. It tries again if only the rest of the
/// word changed. A lane whose first load finds different bits has nothing to release, so the release fence is after that load,
/// except at seq_cst, where it is before the load.
template <thread_scope Scope, memory_order Order, class Bits>
__device__ inline bool compare_exchange_in_word(Bits* object, Bits& expected, Bits desired) noexcept {
  constexpr bool look_after_fence = Order == memory_order::seq_cst;
  const cell<Bits> c(object);
  if constexpr (look_after_fence) {
    half_fence<Scope, release_half(Order)>();
  }
  unsigned seen = ptx_load<Scope, memory_order::relaxed>(c.word);
  bool exchanged = false;
  if (c.part(seen) == expected) {
    if constexpr (!look_after_fence) {
      half_fence<Scope, release_half(Order)>();
    }
    back_off wait;
    for (;;) {
      const unsigned found = ptx_compare_and_swap<Scope, memory_order::relaxed>(c.word, seen, c.with(seen, desired));
      exchanged = found == seen;
      seen = found;
      if (exchanged || c.part(seen) != expected) {
        break;
      }
      wait();
    }
  }
  half_fence<Scope, acquire_half(Order)>();
  expected = c.part(seen);
  return exchanged;
}

/// In the device compilation pass, rejects vectors on architectures without vector atomics.
template <class T>
__device__ constexpr void require_vector_instructions() noexcept {
  static_assert(has_hopper_instructions || kind_of<T> != value_kind::vector,
                "membar: vector atomics require compute capability 9.0: compile this code only for sm_90 or newer, or access "
                "the elements one at a time");
}

/// The kind of code that implements an operation.
enum class lowering {
  instruction,   ///< a single atom or red
  integer_form,  ///< the minimum or maximum of integers, signed or unsigned depending on the operand's sign
  loop           ///< a compare-and-swap loop
};

template <atom_op Op, class T>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr lowering lowering_of() noexcept {
  constexpr ptx_type type = native_type<T>(Op);
  if (type != ptx_type::none && (has_hopper_instructions || !needs_hopper(type))) {
    return lowering::instruction;
  }
  return kind_of<T> == value_kind::floating ? lowering::integer_form : lowering::loop;
}

/// Returns whether the instruction may be split into a load and a store in the shared memory of another block in the cluster.
///
/// The hardware cannot execute some instructions at some addresses. For these cases, ptxas (13.0, sm_90 to sm_120) adds code
/// after the instruction: a loop for the block's own shared memory, and plain accesses for every other address, which it
/// assumes to be local memory. An H200 cannot execute 64-bit and, or, xor, min and max in another block's shared memory. The
/// addition of pairs has the same extra code and is treated in the same way here. 64-bit add, exchange and compare-and-swap
/// also have the extra code, but an H200 executes them. Additions of float and double have a loop for that memory.
template <atom_op Op, class T>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool torn_in_other_blocks_shared_memory() noexcept {
  constexpr value_kind kind = kind_of<T>;
  if (!has_hopper_instructions) {
    return false;
  }
  if (Op == atom_op::add) {
    return kind == value_kind::half_pair || kind == value_kind::bfloat16_pair;
  }
  const bool extreme = Op == atom_op::min || Op == atom_op::max;
  const bool bitwise = Op == atom_op::bitwise_and || Op == atom_op::bitwise_or || Op == atom_op::bitwise_xor;
  return sizeof(T) == 8 && ((kind == value_kind::integer && (bitwise || extreme)) || (kind == value_kind::floating && extreme));
}

/// Performs the operation with a compare-and-swap loop. Returns the previous value.
template <atom_op Op, class T, thread_scope Scope, memory_order Order>
__device__ inline T fetch_in_loop(T* object, T value) noexcept {
  return update_loop<T, Scope, Order>(object, [=](T old) { return applied<Op>(old, value); });
}

/// Performs the same operation on the bits, out of line. This function is used for objects in another block's shared memory.
/// Such objects are rare, and if their loop were inlined, it would make up most of a kernel's code.
template <atom_op Op, class T, thread_scope Scope, memory_order Order>
__device__ __noinline__ bits_of<T> fetch_in_distant_loop(T* object, bits_of<T> value) noexcept {
  return to_bits(fetch_in_loop<Op, T, Scope, Order>(object, from_bits<T>(value)));
}

/// Performs a floating-point minimum or maximum with integer instructions.
///
/// In the total order, the minimum or maximum with a positive operand is the minimum or maximum of the bits as signed integers.
/// With a negative operand, it is the opposite operation on the bits as unsigned integers.
template <atom_op Op, class T>
struct integer_form {
  static constexpr ptx_type as_signed = sizeof(T) == 4 ? ptx_type::s32 : ptx_type::s64;
  static constexpr ptx_type as_unsigned = sizeof(T) == 4 ? ptx_type::u32 : ptx_type::u64;
  static constexpr atom_op opposite = Op == atom_op::min ? atom_op::max : atom_op::min;
  [[nodiscard]] __device__ static bool is_signed(bits_of<T> operand) noexcept { return operand >> (8 * sizeof(T) - 1) != 0; }
};

/// The bits of a vector's elements.
template <class T, int Size>
struct element_bits {
  bits_of<T> values[static_cast<std::size_t>(Size)];

  [[nodiscard]] __device__ static element_bits of(const vec<T, Size>& from) noexcept {
    element_bits result;
    for (int i = 0; i != Size; ++i) {
      result.values[i] = to_bits(from.elements[i]);
    }
    return result;
  }
  [[nodiscard]] __device__ vec<T, Size> get() const noexcept {
    vec<T, Size> result;
    for (int i = 0; i != Size; ++i) {
      result.elements[i] = from_bits<T>(values[i]);
    }
    return result;
  }
};

/// Returns whether the address is in the shared memory of another block in the cluster.
///
/// If the compiler knows the state space, as for a kernel parameter or a variable, no code remains.
[[nodiscard]] __device__ inline bool in_other_blocks_shared_memory(const void* address) noexcept {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  return __isClusterShared(address) != 0 && __isShared(address) == 0;
#else
  static_cast<void>(address);
  return false;
#endif
}

/// Returns whether ptxas adds loops for shared memory after the instruction; these loops read the object.
///
/// These loops follow the acquire that the instruction's own order implies (13.0, sm_90 to sm_120). Therefore an operation that
/// acquires is implemented as an instruction without the acquire half, followed by a fence.
template <atom_op Op, class T>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool reads_again_in_shared_memory() noexcept {
  return Op != atom_op::exchange && (sizeof(T) == 8 || (Op == atom_op::add && kind_of<T> != value_kind::integer));
}

/// Returns the order of the instruction if a fence of `acquire_half(Order)` follows it.
template <memory_order Order>
inline constexpr memory_order order_before_acquire =
    release_half(Order) == memory_order::release ? memory_order::release : memory_order::relaxed;

/// Performs a read-modify-write with one instruction. Returns the previous value.
template <atom_op Op, class T, thread_scope Scope, memory_order Order, state_space Space>
__device__ inline T fetch_by_instruction(T* object, bits_of<T> operand) noexcept {
  if constexpr (lowering_of<Op, T>() == lowering::instruction) {
    return from_bits<T>(ptx_atom<Op, native_type<T>(Op), Scope, Order, Space>(object, operand));
  } else {
    using form = integer_form<Op, T>;
    return from_bits<T>(form::is_signed(operand)
                            ? ptx_atom<form::opposite, form::as_unsigned, Scope, Order, Space>(object, operand)
                            : ptx_atom<Op, form::as_signed, Scope, Order, Space>(object, operand));
  }
}

/// Performs a read-modify-write and returns the previous value.
template <atom_op Op, class T, thread_scope Scope, memory_order Order>
__device__ inline T device_fetch(T* object, T value) noexcept {
  require_architecture_of<Scope>();
  if constexpr (is_by_element<Op, T>) {
    require_vector_instructions<T>();
    const auto operand = element_bits<typename T::value_type, T::size>::of(value);
    auto old = operand;
    fence_if_sequentially_consistent<Scope, Order>();
    ptx_atom<Op, native_type<T>(Op), Scope, order_after_fence<Order, memory_order::acquire>>(object, operand.values,
                                                                                             old.values);
    return old.get();
  } else if constexpr (lowering_of<Op, T>() == lowering::loop) {
    require_compare_and_swap<T>();
    return fetch_in_loop<Op, T, Scope, Order>(object, value);
  } else {
    const bits_of<T> operand = to_bits(value);
    if constexpr (Order == memory_order::relaxed && Op != atom_op::exchange) {
      // If the result is unused, ptxas turns an instruction that names the state space into a reduction.
      if (__isGlobal(object) != 0) {
        return fetch_by_instruction<Op, T, Scope, Order, state_space::global>(object, operand);
      }
      // In shared memory, the shared instruction is faster than the generic one, and ptxas adds no loop for 32-bit integers. At
      // wider scopes the object may be in another block's shared memory, and testing for that would cost time.
      if constexpr (Scope == thread_scope::block && sizeof(T) == 4 && kind_of<T> == value_kind::integer) {
        if (__isShared(object) != 0) {
          return fetch_by_instruction<Op, T, Scope, Order, state_space::shared>(object, operand);
        }
      }
    }
    if constexpr (torn_in_other_blocks_shared_memory<Op, T>()) {
      if (in_other_blocks_shared_memory(object)) {
        return from_bits<T>(fetch_in_distant_loop<Op, T, Scope, Order>(object, operand));
      }
    }
    fence_if_sequentially_consistent<Scope, Order>();
    if constexpr (Scope != thread_scope::block && acquire_half(Order) == memory_order::acquire &&
                  reads_again_in_shared_memory<Op, T>()) {
      if constexpr (!has_hopper_instructions) {
        // In this case, the fence would be a second MEMBAR. In global memory, where ptxas adds no loop, the instruction's own
        // acquire is sufficient.
        if (__isGlobal(object) != 0) {
          constexpr memory_order own = order_after_fence<Order, memory_order::acquire>;
          return fetch_by_instruction<Op, T, Scope, own, state_space::global>(object, operand);
        }
      }
      const T old = fetch_by_instruction<Op, T, Scope, order_before_acquire<Order>, state_space::generic>(object, operand);
      half_fence<Scope, memory_order::acquire>();
      return old;
    } else {
      return fetch_by_instruction<Op, T, Scope, order_after_fence<Order, memory_order::acquire>, state_space::generic>(object,
                                                                                                                       operand);
    }
  }
}

/// Performs a reduction with one instruction that names the state space.
template <atom_op Op, class T, thread_scope Scope, memory_order Order, state_space Space>
__device__ inline void reduce_by_instruction(T* object, bits_of<T> operand) noexcept {
  if constexpr (lowering_of<Op, T>() == lowering::instruction) {
    ptx_red<Op, native_type<T>(Op), Scope, Order, Space>(object, operand);
  } else {
    using form = integer_form<Op, T>;
    if (form::is_signed(operand)) {
      ptx_red<form::opposite, form::as_unsigned, Scope, Order, Space>(object, operand);
    } else {
      ptx_red<Op, form::as_signed, Scope, Order, Space>(object, operand);
    }
  }
}

/// Performs a read-modify-write and returns nothing. `Order` is relaxed or release.
template <atom_op Op, class T, thread_scope Scope, memory_order Order>
__device__ inline void device_reduce(T* object, T value) noexcept {
  require_architecture_of<Scope>();
  if constexpr (kind_of<T> == value_kind::vector) {
    require_vector_instructions<T>();
    const auto operand = element_bits<typename T::value_type, T::size>::of(value);
    ptx_red<Op, native_type<T>(Op), Scope, Order>(object, operand.values);
  } else if constexpr (lowering_of<Op, T>() == lowering::loop) {
    require_compare_and_swap<T>();
    fetch_in_loop<Op, T, Scope, Order>(object, value);
  } else {
    // ptxas creates a reduction only from an instruction that names the state space. It compiles any other instruction to an
    // operation whose result is unused.
    const bits_of<T> operand = to_bits(value);
    if (__isGlobal(object) != 0) {
      reduce_by_instruction<Op, T, Scope, Order, state_space::global>(object, operand);
      return;
    }
    if (__isShared(object) != 0) {
      // ptxas 13.0 drops the fence of a red.release.shared that becomes a loop, so the fence is emitted separately.
      half_fence<Scope, release_half(Order)>();
      reduce_by_instruction<Op, T, Scope, memory_order::relaxed, state_space::shared>(object, operand);
      return;
    }
    if constexpr (torn_in_other_blocks_shared_memory<Op, T>()) {
      fetch_in_distant_loop<Op, T, Scope, Order>(object, operand);
    } else {
      reduce_by_instruction<Op, T, Scope, Order, state_space::generic>(object, operand);
    }
  }
}

template <class T, thread_scope Scope, memory_order Order>
__device__ inline T device_load(const T* object) noexcept {
  require_architecture_of<Scope>();
  fence_if_sequentially_consistent<Scope, Order>();
  return from_bits<T>(
      ptx_load<Scope, order_after_fence<Order, memory_order::acquire>>(reinterpret_cast<const bits_of<T>*>(object)));
}

template <class T, thread_scope Scope, memory_order Order>
__device__ inline void device_store(T* object, const T& value) noexcept {
  require_architecture_of<Scope>();
  const bits_of<T> bits = to_bits(value);
  fence_if_sequentially_consistent<Scope, Order>();
  ptx_store<Scope, order_after_fence<Order, memory_order::relaxed>>(reinterpret_cast<bits_of<T>*>(object), bits);
}

template <class T, thread_scope Scope, memory_order Order>
__device__ inline bool device_compare_exchange(T* object, T& expected, const T& desired) noexcept {
  using bits = bits_of<T>;
  require_architecture_of<Scope>();
  require_compare_and_swap<T>();
  bits* const address = reinterpret_cast<bits*>(object);
  const bits before = to_bits(expected);
  const bits replacing = to_bits(desired);
  bits seen = before;
  bool exchanged = false;
  if constexpr (sizeof(T) < 4) {
    exchanged = compare_exchange_in_word<Scope, Order>(address, seen, replacing);
  } else {
    fence_if_sequentially_consistent<Scope, Order>();
    seen = ptx_compare_and_swap<Scope, order_after_fence<Order, memory_order::acquire>>(address, before, replacing);
    exchanged = seen == before;
  }
  expected = from_bits<T>(seen);
  return exchanged;
}

/// Blocks until the object's bits differ from those of `old`.
template <class T, thread_scope Scope, memory_order Order>
__device__ inline void device_wait(const T* object, const T& old) noexcept {
  require_architecture_of<Scope>();
  half_fence<Scope, release_half(Order)>();
  const bits_of<T>* const address = reinterpret_cast<const bits_of<T>*>(object);
  back_off wait;
  while (ptx_load<Scope, memory_order::relaxed>(address) == to_bits(old)) {
    wait();
  }
  half_fence<Scope, acquire_half(Order)>();
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
