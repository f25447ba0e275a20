// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The types that atomics can hold: their kinds, their bits, and the instruction type of each operation on them.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/standard.hpp>

namespace membar {
inline namespace v0_3 {

/// `Size` contiguous values, for the vector forms of addition, minimum and maximum, each of which is a single instruction that
/// is atomic per element.
///
/// The vector is aligned to its whole size.
template <class T, int Size>
struct alignas(sizeof(T) * static_cast<std::size_t>(Size)) vec {
  using value_type = T;
  static constexpr int size = Size;

  T elements[static_cast<std::size_t>(Size)];

  /// Returns the element at `index`, which must be below `size`.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr T& operator[](int index) noexcept { return elements[index]; }
  /// Returns the element at `index`, which must be below `size`.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr const T& operator[](int index) const noexcept { return elements[index]; }
};

namespace detail {

// ISO C++ does not have these types, and NVRTC does not have the keyword that permits them without a warning.
#if defined(__CUDACC_RTC__)
using int128 = __int128;
using uint128 = unsigned __int128;
#else
__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;
#endif

enum class atom_op { exchange, add, bitwise_and, bitwise_or, bitwise_xor, min, max, inc, dec };

/// The category of an atomic's value type, which determines the instructions that exist for it.
enum class value_kind { other, integer, pointer, floating, half, half_pair, bfloat16, bfloat16_pair, vector };

template <class T>
inline constexpr value_kind kind_of = std::is_integral_v<T> && !std::is_same_v<T, bool>       ? value_kind::integer
                                      : std::is_pointer_v<T>                                  ? value_kind::pointer
                                      : std::is_same_v<T, float> || std::is_same_v<T, double> ? value_kind::floating
                                                                                              : value_kind::other;
template <>
inline constexpr value_kind kind_of<int128> = value_kind::integer;
template <>
inline constexpr value_kind kind_of<uint128> = value_kind::integer;
template <>
inline constexpr value_kind kind_of<__half> = value_kind::half;
template <>
inline constexpr value_kind kind_of<__half2> = value_kind::half_pair;
template <>
inline constexpr value_kind kind_of<__nv_bfloat16> = value_kind::bfloat16;
template <>
inline constexpr value_kind kind_of<__nv_bfloat162> = value_kind::bfloat16_pair;
template <class T, int Size>
inline constexpr value_kind kind_of<vec<T, Size>> = value_kind::vector;

template <class T>
inline constexpr bool is_signed = std::is_signed_v<T> || std::is_same_v<T, int128>;

/// The unsigned integer of `Bytes` bytes, which registers and compare-and-swaps use.
template <int Bytes>
struct bits_of_size;
template <>
struct bits_of_size<1> {
  using type = unsigned char;
};
template <>
struct bits_of_size<2> {
  using type = unsigned short;
};
template <>
struct bits_of_size<4> {
  using type = unsigned;
};
template <>
struct bits_of_size<8> {
  using type = unsigned long long;
};
template <>
struct bits_of_size<16> {
  using type = uint128;
};
template <class T>
using bits_of = typename bits_of_size<sizeof(T)>::type;

/// Returns the bits of a value.
template <class T>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr bits_of<T> to_bits(const T& value) noexcept {
  if constexpr (std::is_trivially_copyable_v<T>) {
    return __builtin_bit_cast(bits_of<T>, value);
  } else {  // a packed pair, which has a non-trivial assignment
    bits_of<T> bits;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
  }
}

/// Returns the value with these bits.
template <class T>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr T from_bits(bits_of<T> bits) noexcept {
  if constexpr (std::is_trivially_copyable_v<T>) {
    return __builtin_bit_cast(T, bits);
  } else {
    T value;
    __builtin_memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    return value;
  }
}

/// The type in an instruction's name.
enum class ptx_type {
  none,  ///< there is no instruction for the operation
  b32,
  b64,
  b128,
  s32,
  u32,
  s64,
  u64,
  f32,
  f64,
  f16x2,
  bf16x2,
  v2_f32,
  v4_f32,
  v2_f16,
  v4_f16,
  v8_f16,
  v2_bf16,
  v4_bf16,
  v8_bf16
};

template <int Bytes>
inline constexpr ptx_type untyped = Bytes == 4    ? ptx_type::b32
                                    : Bytes == 8  ? ptx_type::b64
                                    : Bytes == 16 ? ptx_type::b128
                                                  : ptx_type::none;

template <class T, int Size>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr ptx_type vector_ptx_type(atom_op op) noexcept {
  if (op != atom_op::add && op != atom_op::min && op != atom_op::max) {
    return ptx_type::none;
  }
  if (std::is_same_v<T, float> && op == atom_op::add) {
    return Size == 2 ? ptx_type::v2_f32 : Size == 4 ? ptx_type::v4_f32 : ptx_type::none;
  }
  if (kind_of<T> == value_kind::half) {
    return Size == 2 ? ptx_type::v2_f16 : Size == 4 ? ptx_type::v4_f16 : Size == 8 ? ptx_type::v8_f16 : ptx_type::none;
  }
  if (kind_of<T> == value_kind::bfloat16) {
    return Size == 2 ? ptx_type::v2_bf16 : Size == 4 ? ptx_type::v4_bf16 : Size == 8 ? ptx_type::v8_bf16 : ptx_type::none;
  }
  return ptx_type::none;
}

template <class T>
struct vector_traits;
template <class T, int Size>
struct vector_traits<vec<T, Size>> {
  static constexpr int size = Size;
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr ptx_type type(atom_op op) noexcept { return vector_ptx_type<T, Size>(op); }
};

/// The type that `atom` and `red` name for an operation on a `T`, or `none` if no architecture has the instruction.
///
/// The type is untyped bits if the sign does not affect the result. The exception is 64-bit addition, which uses .u64 for both
/// signs. Additions of a single half or a single bfloat16 are omitted, because ptxas (13.0) implements them as loops that
/// contain the fences of their order.
template <class T>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr ptx_type native_type(atom_op op) noexcept {
  constexpr value_kind kind = kind_of<T>;
  if constexpr (kind == value_kind::vector) {
    return op == atom_op::exchange ? untyped<sizeof(T)> : vector_traits<T>::type(op);
  } else {
    constexpr bool arithmetic_width = sizeof(T) == 4 || sizeof(T) == 8;
    switch (op) {
      case atom_op::exchange:
        return untyped<sizeof(T)>;
      case atom_op::bitwise_and:
      case atom_op::bitwise_or:
      case atom_op::bitwise_xor:
        return kind == value_kind::integer && arithmetic_width ? untyped<sizeof(T)> : ptx_type::none;
      case atom_op::inc:
      case atom_op::dec:
        return kind == value_kind::integer && sizeof(T) == 4 && !is_signed<T> ? ptx_type::u32 : ptx_type::none;
      case atom_op::min:
      case atom_op::max:
        if (kind != value_kind::integer || !arithmetic_width) {
          return ptx_type::none;
        }
        if (sizeof(T) == 8) {
          return is_signed<T> ? ptx_type::s64 : ptx_type::u64;
        }
        return is_signed<T> ? ptx_type::s32 : ptx_type::u32;
      case atom_op::add:
        switch (kind) {
          case value_kind::integer:
            if (!arithmetic_width) {
              return ptx_type::none;
            }
            if (sizeof(T) == 8) {
              return ptx_type::u64;
            }
            return is_signed<T> ? ptx_type::s32 : ptx_type::u32;
          case value_kind::floating:
            return sizeof(T) == 4 ? ptx_type::f32 : sizeof(T) == 8 ? ptx_type::f64 : ptx_type::none;
          case value_kind::half_pair:
            return ptx_type::f16x2;
          case value_kind::bfloat16_pair:
            return ptx_type::bf16x2;
          default:
            return ptx_type::none;
        }
    }
    return ptx_type::none;
  }
}

/// Whether the operation on a vector is atomic per element. An exchange is atomic for the whole vector.
template <atom_op Op, class T>
inline constexpr bool is_by_element = kind_of<T> == value_kind::vector && Op != atom_op::exchange;

/// Returns whether the instruction for a single value requires compute capability 9.0. All vector instructions require it.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool needs_hopper(ptx_type type) noexcept {
  return type == ptx_type::b128 || type == ptx_type::bf16x2;
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
