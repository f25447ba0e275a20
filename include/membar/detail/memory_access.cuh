// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A load or a store by one instruction: which orders and hints go together, and the instruction for each size.
#pragma once

#include <membar/cache_hint.cuh>
#include <membar/detail/access_text.cuh>
#include <membar/fence.cuh>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#include <cstddef>
#include <type_traits>

namespace membar::detail {

/// The rules of which arguments go together. `Order` is `no_order`, `mmio_t` or an order's tag.
template <access_kind Kind, class T, class Order, class... Said>
__device__ constexpr void check_access() noexcept {
  constexpr bool is_load = Kind != access_kind::store;
  constexpr bool is_mmio = std::is_same_v<Order, mmio_t>;
  constexpr bool is_ordered = !std::is_same_v<Order, no_order>;
  constexpr bool has_operator = times_said<says::cache_operator, Said...> != 0;
  constexpr bool has_hint = ((said_by<Said> != says::order) || ...);
  using given_operator = picked<says::cache_operator, Said...>;

  static_assert(
      !std::is_volatile_v<T>,
      "membar: volatile takes no order and no hint: pass a pointer without volatile, and relaxed where the access must "
      "happen");
  static_assert(std::is_trivially_copyable_v<T>, "membar: a load or a store moves the bytes of a trivially copyable type");
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16 || sizeof(T) == 32,
                "membar: one instruction moves 1, 2, 4, 8, 16 or 32 bytes: split other types");
  static_assert(alignof(T) >= sizeof(T),
                "membar: one instruction moves a type that is aligned to its size: give the type alignas of its size");
  static_assert(((said_by<Said> != says::nothing) && ...),
                "membar: what follows the pointer and the value is an order, an L1 eviction priority, a cache operator, an L2 "
                "policy, an L2 eviction priority or a prefetch size");
  static_assert(times_said<says::l1, Said...> <= 1 && times_said<says::cache_operator, Said...> <= 1 &&
                    times_said<says::l2, Said...> <= 1 && times_said<says::policy, Said...> <= 1 &&
                    times_said<says::prefetch, Said...> <= 1 && times_said<says::order, Said...> <= 1,
                "membar: an access takes each kind of hint, and an order, at most once");
  static_assert(!is_mmio || !has_hint, "membar: an mmio access takes no cache hint: it must not be cached");
  static_assert(!has_operator || !is_ordered,
                "membar: a cache operator goes with weak accesses only: beside an order use an L1 eviction priority");
  static_assert(!has_operator || times_said<says::l1, Said...> == 0,
                "membar: a cache operator and an L1 eviction priority say the same thing twice: use one");
  static_assert(times_said<says::prefetch, Said...> == 0 || is_load, "membar: a store takes no L2 prefetch size");
  if constexpr (has_operator) {
    constexpr cache_operator op = given_operator::value;
    static_assert(Kind != access_kind::load || (op != cache_operator::wb && op != cache_operator::wt),
                  "membar: a load takes the cache operators ca, cg, cs, lu, cv");
    static_assert(Kind != access_kind::store || op == cache_operator::wb || op == cache_operator::cg ||
                      op == cache_operator::cs || op == cache_operator::wt,
                  "membar: a store takes the cache operators wb, cg, cs, wt");
    static_assert(
        Kind != access_kind::read_only_load || op == cache_operator::ca || op == cache_operator::cg || op == cache_operator::cs,
        "membar: a read-only load takes the cache operators ca, cg, cs");
  }
  static_assert(!is_ordered || sizeof(T) <= 16,
                "membar: an ordered access has at most 16 bytes: a wider one would be several accesses");
  if constexpr (times_said<says::l2, Said...> != 0) {
    static_assert(sizeof(T) == 32,
                  "membar: an L2 eviction priority at the access itself needs 32-byte accesses: use a cache_policy");
    static_assert(picked<says::l2, Said...>::value != l2_priority::evict_unchanged,
                  "membar: an L2 eviction priority at the access itself is evict_first, evict_last or evict_normal");
  }
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(T) < 32 || __CUDA_ARCH__ >= 1000,
                "membar: a 32-byte access requires compute capability 10.0: compile this code for sm_100 or newer only");
  static_assert(times_said<says::policy, Said...> == 0 || __CUDA_ARCH__ >= 800,
                "membar: an L2 policy requires compute capability 8.0: compile this code for sm_80 or newer only");
  static_assert(
      !std::is_same_v<picked<says::prefetch, Said...>, prefetch_size<256>> || __CUDA_ARCH__ >= 800,
      "membar: a prefetch size of 256 bytes requires compute capability 8.0: compile this code for sm_80 or newer only");
#endif
}

/// `Bytes` bytes as the registers of an instruction.
template <int Bytes>
struct registers {
  unsigned words[Bytes / 4];
};
template <>
struct registers<1> {
  unsigned char byte;
};
template <>
struct registers<2> {
  unsigned short half;
};
template <>
struct registers<8> {
  unsigned long long word;
};
/// Sixteen bytes of an ordered access.
struct quad_register {
  unsigned long long low;
  unsigned long long high;
};

/// The bytes of `from` as another type. It is a function because nvcc 13.0 fails on the built-in where it tries to evaluate it
/// for a constant initializer.
template <class To, class From>
__device__ inline To bits_as(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

template <class... Said>
__device__ constexpr unsigned long long policy_bits(const Said&... said) noexcept {
  unsigned long long bits = 0;
  const auto take = [&]<class Argument>(const Argument& argument) {
    if constexpr (said_by<Argument> == says::policy) {
      bits = argument.bits();
    }
  };
  (take(said), ...);
  return bits;
}

/// The address as the instruction takes it: in the global state space, or generic.
template <bool Global>
__device__ inline std::size_t address_of(const void* address) noexcept {
  if constexpr (Global) {
    return __cvta_generic_to_global(address);
  } else {
    return reinterpret_cast<std::size_t>(address);
  }
}

// ld{.weak,.sem.scope,.mmio.sem.scope}{.ss}{.cop}{.nc}{.level1::eviction_priority}{.level2::eviction_priority}
//   {.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{, cache-policy};
// sem: relaxed, acquire (PTX ISA 6.0, sm_70); scope: cluster (7.8, sm_90); eviction priority of L1 (7.4, sm_70), of L2 (8.8,
// sm_100, .v8.b32); cache_hint (7.4, sm_80); prefetch_size (7.4, sm_75; 256B sm_80); .b128 (8.3, sm_70); .v8.b32 (8.8, sm_100);
// .mmio (8.2, sm_70)
template <class Opcode, bool WithPolicy, bool Ordered, int Bytes>
__device__ inline auto load_registers(std::size_t address, [[maybe_unused]] unsigned long long policy) noexcept {
  if constexpr (Bytes == 1) {
    unsigned short value;
    if constexpr (WithPolicy) {
      asm volatile("ld%1.b8 %0, [%2], %3;" : "=h"(value) : "C"(Opcode::text), "l"(address), "l"(policy) : "memory");
    } else {
      asm volatile("ld%1.b8 %0, [%2];" : "=h"(value) : "C"(Opcode::text), "l"(address) : "memory");
    }
    return registers<1>{static_cast<unsigned char>(value)};
  } else if constexpr (Bytes == 2) {
    registers<2> value;
    if constexpr (WithPolicy) {
      asm volatile("ld%1.b16 %0, [%2], %3;" : "=h"(value.half) : "C"(Opcode::text), "l"(address), "l"(policy) : "memory");
    } else {
      asm volatile("ld%1.b16 %0, [%2];" : "=h"(value.half) : "C"(Opcode::text), "l"(address) : "memory");
    }
    return value;
  } else if constexpr (Bytes == 4) {
    registers<4> value;
    if constexpr (WithPolicy) {
      asm volatile("ld%1.b32 %0, [%2], %3;" : "=r"(value.words[0]) : "C"(Opcode::text), "l"(address), "l"(policy) : "memory");
    } else {
      asm volatile("ld%1.b32 %0, [%2];" : "=r"(value.words[0]) : "C"(Opcode::text), "l"(address) : "memory");
    }
    return value;
  } else if constexpr (Bytes == 8) {
    registers<8> value;
    if constexpr (WithPolicy) {
      asm volatile("ld%1.b64 %0, [%2], %3;" : "=l"(value.word) : "C"(Opcode::text), "l"(address), "l"(policy) : "memory");
    } else {
      asm volatile("ld%1.b64 %0, [%2];" : "=l"(value.word) : "C"(Opcode::text), "l"(address) : "memory");
    }
    return value;
  } else if constexpr (Bytes == 16 && Ordered) {
    // A scalar, which is one access of the memory model; a vector would be several. It has no constraint letter of its own in
    // all supported toolkits, hence the two moves between registers.
    quad_register value;
    if constexpr (WithPolicy) {
      asm volatile("{ .reg .b128 q; ld%2.b128 q, [%3], %4; mov.b128 {%0, %1}, q; }"
                   : "=l"(value.low), "=l"(value.high)
                   : "C"(Opcode::text), "l"(address), "l"(policy)
                   : "memory");
    } else {
      asm volatile("{ .reg .b128 q; ld%2.b128 q, [%3]; mov.b128 {%0, %1}, q; }"
                   : "=l"(value.low), "=l"(value.high)
                   : "C"(Opcode::text), "l"(address)
                   : "memory");
    }
    return value;
  } else if constexpr (Bytes == 16) {
    registers<16> value;
    unsigned(&w)[4] = value.words;
    if constexpr (WithPolicy) {
      asm volatile("ld%4.v4.b32 {%0, %1, %2, %3}, [%5], %6;"
                   : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                   : "C"(Opcode::text), "l"(address), "l"(policy)
                   : "memory");
    } else {
      asm volatile("ld%4.v4.b32 {%0, %1, %2, %3}, [%5];"
                   : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                   : "C"(Opcode::text), "l"(address)
                   : "memory");
    }
    return value;
  } else {
    registers<32> value;
    unsigned(&w)[8] = value.words;
    if constexpr (WithPolicy) {
      asm volatile("ld%8.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%9], %10;"
                   : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7])
                   : "C"(Opcode::text), "l"(address), "l"(policy)
                   : "memory");
    } else {
      asm volatile("ld%8.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%9];"
                   : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7])
                   : "C"(Opcode::text), "l"(address)
                   : "memory");
    }
    return value;
  }
}

// st{.weak,.sem.scope,.mmio.sem.scope}{.ss}{.cop}{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}
//   {.vec}.type [a], b{, cache-policy};
// sem: relaxed, release (PTX ISA 6.0, sm_70); the floors of hints and types are those of ld
template <class Opcode, bool WithPolicy, bool Ordered, int Bytes, class T>
__device__ inline void store_registers(std::size_t address, const T& object,
                                       [[maybe_unused]] unsigned long long policy) noexcept {
  if constexpr (Bytes == 1) {
    const unsigned short value = bits_as<registers<1>>(object).byte;
    if constexpr (WithPolicy) {
      asm volatile("st%0.b8 [%1], %2, %3;" ::"C"(Opcode::text), "l"(address), "h"(value), "l"(policy) : "memory");
    } else {
      asm volatile("st%0.b8 [%1], %2;" ::"C"(Opcode::text), "l"(address), "h"(value) : "memory");
    }
  } else if constexpr (Bytes == 2) {
    const auto value = bits_as<registers<2>>(object).half;
    if constexpr (WithPolicy) {
      asm volatile("st%0.b16 [%1], %2, %3;" ::"C"(Opcode::text), "l"(address), "h"(value), "l"(policy) : "memory");
    } else {
      asm volatile("st%0.b16 [%1], %2;" ::"C"(Opcode::text), "l"(address), "h"(value) : "memory");
    }
  } else if constexpr (Bytes == 4) {
    const auto value = bits_as<registers<4>>(object).words[0];
    if constexpr (WithPolicy) {
      asm volatile("st%0.b32 [%1], %2, %3;" ::"C"(Opcode::text), "l"(address), "r"(value), "l"(policy) : "memory");
    } else {
      asm volatile("st%0.b32 [%1], %2;" ::"C"(Opcode::text), "l"(address), "r"(value) : "memory");
    }
  } else if constexpr (Bytes == 8) {
    const auto value = bits_as<registers<8>>(object).word;
    if constexpr (WithPolicy) {
      asm volatile("st%0.b64 [%1], %2, %3;" ::"C"(Opcode::text), "l"(address), "l"(value), "l"(policy) : "memory");
    } else {
      asm volatile("st%0.b64 [%1], %2;" ::"C"(Opcode::text), "l"(address), "l"(value) : "memory");
    }
  } else if constexpr (Bytes == 16 && Ordered) {
    const auto value = bits_as<quad_register>(object);
    if constexpr (WithPolicy) {
      asm volatile("{ .reg .b128 q; mov.b128 q, {%2, %3}; st%0.b128 [%1], q, %4; }" ::"C"(Opcode::text), "l"(address),
                   "l"(value.low), "l"(value.high), "l"(policy)
                   : "memory");
    } else {
      asm volatile("{ .reg .b128 q; mov.b128 q, {%2, %3}; st%0.b128 [%1], q; }" ::"C"(Opcode::text), "l"(address),
                   "l"(value.low), "l"(value.high)
                   : "memory");
    }
  } else if constexpr (Bytes == 16) {
    const auto value = bits_as<registers<16>>(object);
    const unsigned(&w)[4] = value.words;
    if constexpr (WithPolicy) {
      asm volatile("st%0.v4.b32 [%1], {%2, %3, %4, %5}, %6;" ::"C"(Opcode::text), "l"(address), "r"(w[0]), "r"(w[1]), "r"(w[2]),
                   "r"(w[3]), "l"(policy)
                   : "memory");
    } else {
      asm volatile("st%0.v4.b32 [%1], {%2, %3, %4, %5};" ::"C"(Opcode::text), "l"(address), "r"(w[0]), "r"(w[1]), "r"(w[2]),
                   "r"(w[3])
                   : "memory");
    }
  } else {
    const auto value = bits_as<registers<32>>(object);
    const unsigned(&w)[8] = value.words;
    if constexpr (WithPolicy) {
      asm volatile("st%0.v8.b32 [%1], {%2, %3, %4, %5, %6, %7, %8, %9}, %10;" ::"C"(Opcode::text), "l"(address), "r"(w[0]),
                   "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7]), "l"(policy)
                   : "memory");
    } else {
      asm volatile("st%0.v8.b32 [%1], {%2, %3, %4, %5, %6, %7, %8, %9};" ::"C"(Opcode::text), "l"(address), "r"(w[0]),
                   "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
                   : "memory");
    }
  }
}

/// The order of the instruction itself. For seq_cst a `fence.sc` stands before it, and the instruction has `Otherwise`.
template <class Order, memory_order Otherwise>
struct own_order {
  using type = Order;
};
template <memory_order Otherwise>
struct own_order<seq_cst_t, Otherwise> {
  using type = memory_order_constant<Otherwise>;
};

template <access_kind Kind, thread_scope Scope, class Order, class T, class... Said>
__device__ inline T load_with(const T* address, const Said&... said) noexcept {
  check_access<Kind, T, Order, Said...>();
  constexpr bool ordered = !std::is_same_v<Order, no_order>;
  constexpr bool global = Kind == access_kind::read_only_load || ((said_by<Said> != says::order) || ...);
  if constexpr (std::is_same_v<Order, seq_cst_t>) {
    thread_fence<Scope>(seq_cst);
  }
  using own = typename own_order<Order, memory_order::acquire>::type;
  return bits_as<T>(
      load_registers<opcode<Kind, own, Scope, global, Said...>, times_said<says::policy, Said...> != 0, ordered, sizeof(T)>(
          address_of<global>(address), policy_bits(said...)));
}

template <thread_scope Scope, class Order, class T, class... Said>
__device__ inline void store_with(T* address, const std::remove_cv_t<T>& value, const Said&... said) noexcept {
  check_access<access_kind::store, T, Order, Said...>();
  constexpr bool ordered = !std::is_same_v<Order, no_order>;
  constexpr bool global = ((said_by<Said> != says::order) || ...);
  if constexpr (std::is_same_v<Order, seq_cst_t>) {
    thread_fence<Scope>(seq_cst);
  }
  using own = typename own_order<Order, memory_order::relaxed>::type;
  store_registers<opcode<access_kind::store, own, Scope, global, Said...>, times_said<says::policy, Said...> != 0, ordered,
                  sizeof(T)>(address_of<global>(address), value, policy_bits(said...));
}

}  // namespace membar::detail
