// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The arithmetic that atomic operations apply to values, for host and device.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/atomic_type.hpp>

namespace membar {
inline namespace v0_3 {
namespace detail {

/// Returns the value to add in order to subtract `value`.
///
/// Half and bfloat16 are negated and added with CUDA's functions, because programs may be compiled without the operators of
/// these types.
template <class T>
MEMBAR_HOST_DEVICE constexpr T negated(T value) noexcept {
  if constexpr (kind_of<T> == value_kind::integer) {
    return static_cast<T>(bits_of<T>{0} - static_cast<bits_of<T>>(value));
  } else if constexpr (kind_of<T> == value_kind::half || kind_of<T> == value_kind::bfloat16) {
    return __hneg(value);
  } else if constexpr (kind_of<T> == value_kind::half_pair || kind_of<T> == value_kind::bfloat16_pair) {
    return __hneg2(value);
  } else if constexpr (kind_of<T> == value_kind::vector) {
    for (auto& element : value.elements) {
      element = negated(element);
    }
    return value;
  } else {
    return -value;
  }
}

/// Returns the bits of a floating-point value as an unsigned integer in IEEE 754's total order: -NaN < -inf < ... < -0 < +0 <
/// ... < +inf < +NaN.
template <class Bits>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr Bits total_order(Bits bits) noexcept {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  return static_cast<Bits>((bits & sign) != 0 ? ~bits : bits | sign);
}

/// Returns the smaller or the larger of two floating-point values, given as bits.
template <atom_op Op, class Bits>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr Bits extreme_of_bits(Bits old, Bits value) noexcept {
  const bool smaller = total_order(value) < total_order(old);
  return smaller == (Op == atom_op::min) ? value : old;
}

/// Returns the smaller or the larger of two floating-point numbers, given as bits, like the vector forms in PTX: a single NaN
/// is ignored, two NaNs give the canonical NaN, and -0 is smaller than +0.
template <atom_op Op, class T>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr bits_of<T> extreme_number(bits_of<T> old, bits_of<T> value) noexcept {
  static_assert(kind_of<T> == value_kind::half || kind_of<T> == value_kind::bfloat16 || kind_of<T> == value_kind::floating);
  constexpr auto all_but_sign = static_cast<bits_of<T>>(static_cast<bits_of<T>>(~bits_of<T>{0}) >> 1);
  constexpr int mantissa = kind_of<T> == value_kind::half       ? 10
                           : kind_of<T> == value_kind::bfloat16 ? 7
                           : sizeof(T) == 4                     ? 23
                                                                : 52;
  constexpr auto infinity = static_cast<bits_of<T>>(all_but_sign >> mantissa << mantissa);
  const bool old_is_nan = (old & all_but_sign) > infinity;
  const bool value_is_nan = (value & all_but_sign) > infinity;
  if (old_is_nan || value_is_nan) {
    return !old_is_nan ? old : !value_is_nan ? value : all_but_sign;
  }
  return extreme_of_bits<Op>(old, value);
}

/// Returns the identity element of the operation.
template <atom_op Op, class T>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr T identity_of() noexcept {
  using bits = bits_of<T>;
  constexpr bool paired = kind_of<T> == value_kind::half_pair || kind_of<T> == value_kind::bfloat16_pair;
  constexpr auto ones = static_cast<bits>(~bits{0});
  constexpr auto all_but_sign = static_cast<bits>(paired ? 0x7fff7fffU : ones >> 1);
  // In the total order, the greatest value is the NaN with all bits set except the sign.
  constexpr bool total = kind_of<T> != value_kind::integer;
  if constexpr (Op == atom_op::bitwise_and || (Op == atom_op::max && total) ||
                (Op == atom_op::min && !total && !is_signed<T>)) {
    return from_bits<T>(ones);
  } else if constexpr (Op == atom_op::min) {
    return from_bits<T>(all_but_sign);
  } else if constexpr (Op == atom_op::max && is_signed<T>) {
    return from_bits<T>(static_cast<bits>(~all_but_sign));
  } else {
    return from_bits<T>(bits{0});
  }
}

/// Returns the value that an operation's instruction would store, given `old` and `value`. The host code and the loops use this
/// function.
template <atom_op Op, class T>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr T applied(T old, T value) noexcept {
  constexpr value_kind kind = kind_of<T>;
  using bits = bits_of<T>;
  if constexpr (Op == atom_op::exchange) {
    return value;
  } else if constexpr (Op == atom_op::add) {
    if constexpr (kind == value_kind::integer) {
      return static_cast<T>(static_cast<bits>(static_cast<bits>(old) + static_cast<bits>(value)));
    } else if constexpr (kind == value_kind::half || kind == value_kind::bfloat16) {
      return __hadd(old, value);
    } else if constexpr (kind == value_kind::half_pair || kind == value_kind::bfloat16_pair) {
      return __hadd2(old, value);
    } else {
      return old + value;
    }
  } else if constexpr (Op == atom_op::bitwise_and) {
    return static_cast<T>(old & value);
  } else if constexpr (Op == atom_op::bitwise_or) {
    return static_cast<T>(old | value);
  } else if constexpr (Op == atom_op::bitwise_xor) {
    return static_cast<T>(old ^ value);
  } else if constexpr (Op == atom_op::inc) {
    return old >= value ? T{0} : static_cast<T>(old + 1);
  } else if constexpr (Op == atom_op::dec) {
    return old == 0 || old > value ? value : static_cast<T>(old - 1);
  } else if constexpr (kind == value_kind::integer) {
    return (value < old) == (Op == atom_op::min) ? value : old;
  } else if constexpr (kind == value_kind::half_pair || kind == value_kind::bfloat16_pair) {
    const bits low =
        extreme_of_bits<Op>(static_cast<unsigned short>(to_bits(old)), static_cast<unsigned short>(to_bits(value)));
    const bits high =
        extreme_of_bits<Op>(static_cast<unsigned short>(to_bits(old) >> 16), static_cast<unsigned short>(to_bits(value) >> 16));
    return from_bits<T>(high << 16 | low);
  } else {
    return from_bits<T>(extreme_of_bits<Op>(to_bits(old), to_bits(value)));
  }
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
