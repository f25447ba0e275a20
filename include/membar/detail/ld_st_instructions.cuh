// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The ld and st instructions for each size. Every load and store that membar emits itself is one of these.
#pragma once

#include <membar/detail/ptx_spelling.cuh>
#include <membar/detail/standard.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#if defined(__CUDACC_RTC__)
#include <cuda/std/utility>
#else
#include <cstring>
#include <utility>
#endif

namespace membar {
inline namespace v0_3 {
namespace detail {

template <class Text>
inline constexpr std::size_t length_of = sizeof(Text::text) - 1;

/// Returns the character at `at` of the concatenated texts.
template <class... Texts>
[[nodiscard]] MEMBAR_HOST_DEVICE consteval char character(std::size_t at) {
  char result = '\0';
  const auto take = [&](const char* text, std::size_t length) {
    if (at < length) {
      result = text[at];
    }
    at -= length;  // wraps around after the character is found, so that no later text matches
  };
  (take(Texts::text, length_of<Texts>), ...);
  return result;
}

template <class Indices, class... Texts>
struct joined_at;
template <std::size_t... At, class... Texts>
struct joined_at<std::index_sequence<At...>, Texts...> {
  static constexpr char text[] = {character<Texts...>(At)..., '\0'};
};
/// Concatenates the texts at compile time.
template <class... Texts>
using joined = joined_at<std::make_index_sequence<(length_of<Texts> + ... + 0)>, Texts...>;

struct dot_text {
  static constexpr char text[] = ".";
};
/// An access's order and scope, as its opcode spells them.
template <memory_order Order, thread_scope Scope>
struct ptx_semantics : joined<dot_text, ptx_order<Order>, dot_text, ptx_scope<Scope>> {};

/// Holds `Bytes` bytes in the registers of an instruction.
template <std::size_t Bytes>
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
/// The sixteen bytes of one access.
struct quad_register {
  unsigned long long low;
  unsigned long long high;
};

/// Reinterprets the bytes of `from` as another type. This is a function because nvcc 13.0 fails if it has to evaluate the
/// built-in for a constant initializer.
template <class To, class From>
__device__ inline To bits_as(const From& from) noexcept {
  if constexpr (std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>) {
    return __builtin_bit_cast(To, from);
  } else {  // a packed pair, which has a non-trivial assignment
    To to;
    memcpy(static_cast<void*>(&to), static_cast<const void*>(&from), sizeof(To));
    return to;
  }
}

// `Opcode::text` is the text between `ld` or `st` and the type. With `Single`, 16 bytes are a single access (`.b128`) and not a
// vector.

/// Loads 16 bytes as a scalar, which is a single access in the memory model; a vector would be several. The type's constraint
/// letter, "q", requires a host compiler with __int128, so this code moves the value between registers instead.
template <class Opcode, bool WithPolicy>
__device__ inline quad_register load_quad_register(std::size_t address, [[maybe_unused]] unsigned long long policy) noexcept {
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
}

// ld{.weak,.sem.scope,.mmio.sem.scope}{.ss}{.cop}{.nc}{.level1::eviction_priority}{.level2::eviction_priority}
//   {.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{, cache-policy};
// sem: relaxed, acquire (PTX ISA 6.0, sm_70); scope: cluster (7.8, sm_90); eviction priority of L1 (7.4, sm_70), of L2 (8.8,
// sm_100, .v8.b32); cache_hint (7.4, sm_80); prefetch_size (7.4, sm_75; 256B sm_80); .b128 (8.3, sm_70); .v8.b32 (8.8, sm_100);
// .mmio (8.2, sm_70)
template <class Opcode, bool WithPolicy, bool Single, int Bytes>
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
  } else if constexpr (Bytes == 16 && Single) {
    return load_quad_register<Opcode, WithPolicy>(address, policy);
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
// sem: relaxed, release (PTX ISA 6.0, sm_70); hints and types have the same floors as for ld
template <class Opcode, bool WithPolicy, bool Single, int Bytes, class T>
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
  } else if constexpr (Bytes == 16 && Single) {
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

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
