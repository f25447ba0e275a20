// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The results of PTX instructions that do not access memory, and the read-modify-writes that change nothing. Floating-point operations use the host's arithmetic, and
/// approximate instructions use the host's math functions.
#pragma once

#include <membar/model/program.hpp>
#include <ptx/instruction.hpp>
#include <ptx/words.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace membar::ptx {

namespace detail {

[[nodiscard]] constexpr std::int64_t as_signed(std::uint64_t value) noexcept { return static_cast<std::int64_t>(value); }

/// Returns the upper 64 bits of the 128-bit product.
[[nodiscard]] constexpr std::uint64_t high_product(std::uint64_t a, std::uint64_t b, bool is_signed_product) noexcept {
  const std::uint64_t al = a & 0xffffffffU;
  const std::uint64_t ah = a >> 32U;
  const std::uint64_t bl = b & 0xffffffffU;
  const std::uint64_t bh = b >> 32U;
  const std::uint64_t middle = ah * bl + ((al * bl) >> 32U);
  const std::uint64_t other = al * bh + (middle & 0xffffffffU);
  std::uint64_t high = ah * bh + (middle >> 32U) + (other >> 32U);
  if (is_signed_product) {
    high -= as_signed(a) < 0 ? b : 0;
    high -= as_signed(b) < 0 ? a : 0;
  }
  return high;
}

template <class Float>
[[nodiscard]] inline Float float_of(std::uint64_t bits) noexcept {
  if constexpr (sizeof(Float) == 4) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  } else {
    return std::bit_cast<double>(bits);
  }
}

[[nodiscard]] inline std::uint64_t bits_of(float value) noexcept { return std::bit_cast<std::uint32_t>(value); }
[[nodiscard]] inline std::uint64_t bits_of(double value) noexcept { return std::bit_cast<std::uint64_t>(value); }

template <class Float>
[[nodiscard]] inline Float rounded(Float value, std::uint8_t mode) noexcept {
  switch (mode & 3U) {
    case rounds_down:
      return std::floor(value);
    case rounds_up:
      return std::ceil(value);
    case rounds_to_zero:
      return std::trunc(value);
    default:
      return std::nearbyint(value);
  }
}

/// Rounds a double to a neighbouring float in the direction of the rounding mode.
[[nodiscard]] inline float rounded_to_float(double value, std::uint8_t mode) noexcept {
  const auto nearest = static_cast<float>(value);
  const bool down = (mode & 3U) == rounds_down || ((mode & 3U) == rounds_to_zero && value > 0);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  return down ? (static_cast<double>(nearest) > value ? std::nextafter(nearest, -infinity) : nearest)
              : (static_cast<double>(nearest) < value ? std::nextafter(nearest, infinity) : nearest);
}

/// The format of a 16-bit float: one sign bit, plus the given numbers of exponent and fraction bits.
struct half_format {
  int exponent_bits;
  int fraction_bits;
  [[nodiscard]] constexpr int bias() const noexcept { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] constexpr std::uint64_t infinity() const noexcept {
    return ((std::uint64_t{1} << static_cast<unsigned>(exponent_bits)) - 1) << static_cast<unsigned>(fraction_bits);
  }
};

[[nodiscard]] constexpr half_format format_of(ptx_type type) noexcept {
  return type == ptx_type::f16 || type == ptx_type::f16x2 ? half_format{5, 10} : half_format{8, 7};
}

[[nodiscard]] inline float widened(half_format f, std::uint64_t bits) noexcept {
  const auto fraction = static_cast<int>(truncated(bits, f.fraction_bits));
  const auto exponent = static_cast<int>(truncated(bits >> static_cast<unsigned>(f.fraction_bits), f.exponent_bits));
  const bool special = exponent == (1 << f.exponent_bits) - 1;
  const double size = special && fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                      : special                ? std::numeric_limits<double>::infinity()
                      : exponent == 0          ? std::ldexp(fraction, 1 - f.bias() - f.fraction_bits)
                                      : std::ldexp(fraction + (1 << f.fraction_bits), exponent - f.bias() - f.fraction_bits);
  return static_cast<float>((bits >> 15U & 1U) != 0 ? -size : size);
}

[[nodiscard]] inline std::uint64_t narrowed(half_format f, float value, std::uint8_t mode = 0) noexcept {
  if (value != value) {
    return 0x7fff;
  }
  const std::uint64_t sign = std::signbit(value) ? 0x8000U : 0;
  const double size = std::fabs(static_cast<double>(value));
  if (size == 0 || std::isinf(size)) {
    return sign | (size == 0 ? 0 : f.infinity());
  }
  const int exponent = std::max(std::ilogb(size), 1 - f.bias());
  const auto steps = static_cast<std::uint64_t>(rounded(std::ldexp(size, f.fraction_bits - exponent), mode));
  const std::uint64_t bits =
      (static_cast<std::uint64_t>(exponent + f.bias() - 1) << static_cast<unsigned>(f.fraction_bits)) + steps;
  return sign | std::min(bits, f.infinity());
}

template <class Float>
[[nodiscard]] inline std::uint64_t compute_float(op code, std::uint64_t x, std::uint64_t y, std::uint64_t z) noexcept {
  const auto a = float_of<Float>(x);
  const auto b = float_of<Float>(y);
  const auto c = float_of<Float>(z);
  switch (code) {
    case op::add:
      return bits_of(static_cast<Float>(a + b));
    case op::subtract:
      return bits_of(static_cast<Float>(a - b));
    case op::multiply_low:
      return bits_of(static_cast<Float>(a * b));
    case op::divide:
      return bits_of(static_cast<Float>(a / b));
    case op::multiply_add_low:
    case op::fused_multiply_add:
      return bits_of(std::fma(a, b, c));
    case op::negate:
      return bits_of(-a);
    case op::absolute:
      return bits_of(std::fabs(a));
    case op::minimum:
      return bits_of(std::fmin(a, b));
    case op::maximum:
      return bits_of(std::fmax(a, b));
    case op::copy_sign:
      return bits_of(std::copysign(b, a));
    case op::reciprocal:
      return bits_of(1 / a);
    case op::inverse_root:
      return bits_of(1 / std::sqrt(a));
    case op::power_of_two:
      return bits_of(std::exp2(a));
    case op::logarithm:
      return bits_of(std::log2(a));
    case op::sine:
      return bits_of(std::sin(a));
    case op::cosine:
      return bits_of(std::cos(a));
    case op::hyperbolic:
      return bits_of(std::tanh(a));
    default:
      return bits_of(std::sqrt(a));
  }
}

/// Clamps a float to the range from 0 to 1. NaN becomes 0. Source: PTX ISA, "`.sat` modifier".
template <class Float>
[[nodiscard]] Float clamped(Float value) noexcept {
  return value > 0 ? std::fmin(value, Float{1}) : Float{0};
}

/// Computes an operation on floats of any type. Operations on 16-bit floats are computed in 32 bits, and the two halves of a
/// packed pair are computed separately.
[[nodiscard]] inline std::uint64_t compute_any_float(const instruction& i, std::uint64_t x, std::uint64_t y,
                                                     std::uint64_t z) noexcept {
  if (i.type == ptx_type::f64) {
    return compute_float<double>(i.code, x, y, z);
  }
  const auto ended = [&](std::uint64_t result) {
    const auto value = float_of<float>(result);
    return (i.mode & saturates) == 0 ? value : clamped(value);
  };
  if (i.type == ptx_type::f32 && (i.mode & 3U) != 0) {
    const auto wide = [](std::uint64_t bits) { return bits_of(static_cast<double>(float_of<float>(bits))); };
    return bits_of(
        ended(bits_of(rounded_to_float(float_of<double>(compute_float<double>(i.code, wide(x), wide(y), wide(z))), i.mode))));
  }
  if (i.type == ptx_type::f32) {
    return bits_of(ended(compute_float<float>(i.code, x, y, z)));
  }
  const half_format f = format_of(i.type);
  std::uint64_t result = 0;
  for (unsigned at = 0; at < 8U * static_cast<unsigned>(bytes_of(i.type)); at += 16) {
    const auto wide = [&](std::uint64_t bits) { return bits_of(widened(f, truncated(bits >> at, 16))); };
    result |= narrowed(f, ended(compute_float<float>(i.code, wide(x), wide(y), wide(z)))) << at;
  }
  return result;
}

template <class Value>
[[nodiscard]] constexpr bool compare_values(ptx_comparison test, Value a, Value b) noexcept {
  const bool unordered = a != a || b != b;
  switch (test) {
    case ptx_comparison::eq:
      return a == b;
    case ptx_comparison::ne:
      return !unordered && a != b;
    case ptx_comparison::lt:
    case ptx_comparison::lo:
      return a < b;
    case ptx_comparison::le:
    case ptx_comparison::ls:
      return a <= b;
    case ptx_comparison::gt:
    case ptx_comparison::hi:
      return a > b;
    case ptx_comparison::ge:
    case ptx_comparison::hs:
      return a >= b;
    case ptx_comparison::equ:
      return unordered || a == b;
    case ptx_comparison::neu:
      return unordered || a != b;
    case ptx_comparison::ltu:
      return unordered || a < b;
    case ptx_comparison::leu:
      return unordered || a <= b;
    case ptx_comparison::gtu:
      return unordered || a > b;
    case ptx_comparison::geu:
      return unordered || a >= b;
    case ptx_comparison::num:
      return !unordered;
    case ptx_comparison::nan:
      return unordered;
  }
  return false;
}

[[nodiscard]] inline bool compare(ptx_comparison test, ptx_type type, std::uint64_t a, std::uint64_t b) noexcept {
  if (type == ptx_type::f32) {
    return compare_values(test, float_of<float>(a), float_of<float>(b));
  }
  if (type == ptx_type::f64) {
    return compare_values(test, float_of<double>(a), float_of<double>(b));
  }
  if (is_float(type)) {
    return compare_values(test, widened(format_of(type), truncated(a, 16)), widened(format_of(type), truncated(b, 16)));
  }
  return is_signed(type) ? compare_values(test, as_signed(extended(a, type)), as_signed(extended(b, type)))
                         : compare_values(test, extended(a, type), extended(b, type));
}

[[nodiscard]] inline std::uint64_t convert(const instruction& i, std::uint64_t value) noexcept {
  const int bits = bytes_of(i.type) * 8;
  const bool clamps = (i.mode & saturates) != 0;
  if (is_float(i.from)) {
    double from = i.from == ptx_type::f32   ? static_cast<double>(float_of<float>(value))
                  : i.from == ptx_type::f64 ? float_of<double>(value)
                                            : static_cast<double>(widened(format_of(i.from), truncated(value, 16)));
    if (clamps && is_float(i.type)) {
      from = clamped(from);
      value = i.from == ptx_type::f32 ? bits_of(static_cast<float>(from)) : bits_of(from);
    }
    if (is_half(i.type)) {
      return narrowed(format_of(i.type), static_cast<float>(from), i.mode);
    }
    if (i.type == ptx_type::f32) {
      return bits_of(i.from == ptx_type::f32 && (i.mode & 3U) != 0 ? rounded(float_of<float>(value), i.mode)
                                                                   : static_cast<float>(from));
    }
    if (i.type == ptx_type::f64) {
      return bits_of(i.from == ptx_type::f64 && (i.mode & 3U) != 0 ? rounded(from, i.mode) : from);
    }
    // conversion to an integer: the value is clamped to the integer's range, and NaN becomes 0
    const double whole = rounded(from, i.mode);
    if (whole != whole) {
      return 0;
    }
    const double top = std::ldexp(1.0, is_signed(i.type) ? bits - 1 : bits);
    const double bottom = is_signed(i.type) ? -top : 0.0;
    if (whole >= top) {
      return truncated(~std::uint64_t{0}, is_signed(i.type) ? bits - 1 : bits);
    }
    if (whole <= bottom) {
      return is_signed(i.type) ? extended(std::uint64_t{1} << static_cast<unsigned>(bits - 1), i.type) : 0;
    }
    return is_signed(i.type) ? static_cast<std::uint64_t>(static_cast<std::int64_t>(whole)) : static_cast<std::uint64_t>(whole);
  }
  const std::uint64_t wide = extended(value, i.from);
  if (is_float(i.type)) {
    if (is_half(i.type)) {
      return narrowed(format_of(i.type), is_signed(i.from) ? static_cast<float>(as_signed(wide)) : static_cast<float>(wide),
                      i.mode);
    }
    if (i.type == ptx_type::f32) {
      return bits_of(is_signed(i.from) ? static_cast<float>(as_signed(wide)) : static_cast<float>(wide));
    }
    return bits_of(is_signed(i.from) ? static_cast<double>(as_signed(wide)) : static_cast<double>(wide));
  }
  if (clamps) {
    const bool below = is_signed(i.from) && as_signed(wide) < 0;
    const std::uint64_t top = truncated(~std::uint64_t{0}, is_signed(i.type) ? bits - 1 : bits);
    const std::uint64_t bottom = is_signed(i.type) ? ~top : 0;
    return below ? (is_signed(i.type) && as_signed(wide) > as_signed(bottom) ? wide : bottom) : std::min(wide, top);
  }
  return extended(wide, i.type);
}

[[nodiscard]] inline std::uint64_t permuted(std::uint64_t a, std::uint64_t b, std::uint64_t selector) noexcept {
  const std::uint64_t bytes = (b << 32U) | (a & 0xffffffffU);
  std::uint64_t result = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const auto choice = static_cast<unsigned>(selector >> (4 * k)) & 15U;
    std::uint64_t byte = (bytes >> (8 * (choice & 7U))) & 0xffU;
    if ((choice & 8U) != 0) {
      byte = (byte & 0x80U) != 0 ? 0xffU : 0;
    }
    result |= byte << (8 * k);
  }
  return result;
}

/// Returns the quotient or the remainder of integers extended to 64 bits. PTX leaves division by zero undefined; the result
/// here is all ones.
[[nodiscard]] inline std::uint64_t divided(op code, ptx_type type, std::uint64_t x, std::uint64_t y) noexcept {
  const bool divides = code == op::divide;
  if (y == 0) {
    return divides ? ~std::uint64_t{0} : x;
  }
  if (!is_signed(type)) {
    return divides ? x / y : x % y;
  }
  if (as_signed(y) == -1) {
    return divides ? std::uint64_t{0} - x : 0;
  }
  return static_cast<std::uint64_t>(divides ? as_signed(x) / as_signed(y) : as_signed(x) % as_signed(y));
}

/// Returns the result of integer arithmetic. `x` and `y` are extended to 64 bits.
[[nodiscard]] inline std::uint64_t compute_integer(op code, ptx_type type, std::uint64_t x, std::uint64_t y,
                                                   std::uint64_t c) noexcept {
  const int bits = bytes_of(type) * 8;
  const auto high = [&] { return bits == 64 ? high_product(x, y, is_signed(type)) : (x * y) >> static_cast<unsigned>(bits); };
  switch (code) {
    case op::add:
      return x + y;
    case op::subtract:
      return x - y;
    case op::multiply_low:
    case op::multiply_wide:
      return x * y;
    case op::multiply_high:
      return high();
    case op::multiply_add_low:
    case op::multiply_add_wide:
      return x * y + c;
    case op::multiply_add_high:
      return high() + c;
    case op::divide:
    case op::remainder:
      return divided(code, type, x, y);
    case op::negate:
      return std::uint64_t{0} - x;
    case op::absolute:
      return as_signed(x) < 0 ? std::uint64_t{0} - x : x;
    case op::minimum:
      return is_signed(type) ? (as_signed(x) < as_signed(y) ? x : y) : (x < y ? x : y);
    case op::maximum:
      return is_signed(type) ? (as_signed(x) < as_signed(y) ? y : x) : (x < y ? y : x);
    default:
      return 0;
  }
}

/// Extracts a bit field. `x` is extended to 64 bits.
[[nodiscard]] inline std::uint64_t extracted_field(ptx_type type, std::uint64_t x, std::uint64_t position,
                                                   std::uint64_t length) noexcept {
  const auto width = static_cast<std::uint64_t>(bytes_of(type)) * 8;
  if (length == 0) {
    return 0;
  }
  std::uint64_t result = 0;
  const std::uint64_t last = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
  const bool sign = is_signed(type) && ((x >> last) & 1U) != 0;
  for (std::uint64_t k = 0; k < width; ++k) {
    const bool bit = k < length && position + k < width ? ((x >> (position + k)) & 1U) != 0 : sign;
    result |= (bit ? std::uint64_t{1} : 0) << k;
  }
  return result;
}

/// Returns `into` with the low bits of `field` inserted at `position`.
[[nodiscard]] inline std::uint64_t with_field(ptx_type type, std::uint64_t field, std::uint64_t into, std::uint64_t position,
                                              std::uint64_t length) noexcept {
  const auto width = static_cast<std::uint64_t>(bytes_of(type)) * 8;
  for (std::uint64_t k = 0; k < length && position + k < width; ++k) {
    const std::uint64_t bit = std::uint64_t{1} << (position + k);
    into = ((field >> k) & 1U) != 0 ? into | bit : into & ~bit;
  }
  return into;
}

/// `lop3`: bit k of the result is the bit of `table` that is selected by bit k of each of the three sources.
[[nodiscard]] inline std::uint64_t looked_up(unsigned table, std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
  std::uint64_t result = 0;
  for (unsigned k = 0; k < 32; ++k) {
    const auto row = static_cast<unsigned>(((a >> k) & 1U) << 2U | ((b >> k) & 1U) << 1U | ((c >> k) & 1U));
    result |= static_cast<std::uint64_t>((table >> row) & 1U) << k;
  }
  return result;
}

[[nodiscard]] constexpr std::uint64_t sign_extended(std::uint64_t value, int bits) noexcept {
  const std::uint64_t sign = std::uint64_t{1} << static_cast<unsigned>(bits - 1);
  return (truncated(value, bits) ^ sign) - sign;
}

/// `dp4a` and `dp2a`: adds products to `c`. `dp4a` multiplies bytes by bytes, and `dp2a` multiplies 16-bit halves by bytes.
[[nodiscard]] inline std::uint64_t dot_product(const instruction& i, std::uint64_t a, std::uint64_t b,
                                               std::uint64_t c) noexcept {
  const auto part = [](std::uint64_t v, unsigned at, int bits, bool is_signed_part) {
    const std::uint64_t low = truncated(v >> at, bits);
    return is_signed_part ? sign_extended(low, bits) : low;
  };
  const bool two = (i.mode & two_products) != 0;
  const unsigned upper = (i.mode & of_upper_products) != 0 ? 16 : 0;
  for (unsigned k = 0; k < (two ? 2U : 4U); ++k) {
    c += part(a, (two ? 16U : 8U) * k, two ? 16 : 8, (i.mode & first_is_signed) != 0) *
         part(b, upper + 8U * k, 8, (i.mode & second_is_signed) != 0);
  }
  return c;
}

/// `testp`: tests whether a value belongs to a given class of floats, such as NaN. Source: PTX ISA, "testp".
template <class Float>
[[nodiscard]] inline std::uint64_t is_of_class(std::uint8_t which, Float value) noexcept {
  const bool results[] = {std::isfinite(value), std::isinf(value),    !std::isnan(value),
                          std::isnan(value),    std::isnormal(value), std::fpclassify(value) == FP_SUBNORMAL};
  return results[which] ? 1 : 0;
}

/// The result of an addition, and its carry-out.
struct carried {
  std::uint64_t value = 0;
  std::uint64_t carry = 0;
};
[[nodiscard]] inline carried compute_with_carry(const instruction& i, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                                std::uint64_t d) noexcept {
  const int bits = bytes_of(i.type) * 8;
  const auto sum = [&](std::uint64_t x, std::uint64_t y, std::uint64_t carry) {
    const std::uint64_t low = truncated(x, bits);
    const std::uint64_t value = truncated(low + y + carry, bits);
    return carried{value, value < low || (carry != 0 && value == low) ? 1U : 0U};
  };
  switch (i.code) {
    case op::add_carrying:
      return sum(a, b, c & 1U);
    case op::subtract_carrying: {
      const std::uint64_t x = truncated(a, bits);
      const std::uint64_t y = truncated(b, bits);
      return {truncated(x - y - (c & 1U), bits), x < y || (x == y && (c & 1U) != 0) ? 1U : 0U};
    }
    default: {
      const std::uint64_t x = extended(a, i.type);
      const std::uint64_t y = extended(b, i.type);
      const bool upper = (i.mode & of_upper_half) != 0;
      return sum(!upper       ? x * y
                 : bits == 64 ? high_product(x, y, is_signed(i.type))
                              : (x * y) >> static_cast<unsigned>(bits),
                 c, d & 1U);
    }
  }
}

/// Computes the result of an instruction that compilers rarely emit. `x` is `a`, extended to 64 bits.
[[nodiscard]] inline std::uint64_t compute_rare(const instruction& i, std::uint64_t x, std::uint64_t a, std::uint64_t b,
                                                std::uint64_t c) noexcept {
  const ptx_type type = i.type;
  switch (i.code) {
    case op::extend_bits: {
      const std::uint64_t asked = truncated(b, 32);
      const std::uint64_t length = i.mode != 0 ? std::min<std::uint64_t>(asked, 32) : asked & 31U;
      return extracted_field(type, x, 0, length);
    }
    case op::dot_product:
      return dot_product(i, a, b, c);
    case op::difference_sum: {
      const std::uint64_t y = extended(b, type);
      const bool below = is_signed(type) ? as_signed(x) < as_signed(y) : x < y;
      return c + (below ? y - x : x - y);
    }
    case op::multiply_24: {
      const auto low = [&](std::uint64_t v) { return is_signed(type) ? sign_extended(v, 24) : truncated(v, 24); };
      const std::uint64_t product = low(a) * low(b);
      return ((i.mode & of_upper_half) != 0 ? product >> 16U : product) + (i.sources == 3 ? c : 0);
    }
    case op::is_class:
      return type == ptx_type::f64 ? is_of_class(i.mode, float_of<double>(a)) : is_of_class(i.mode, float_of<float>(a));
    case op::set_number: {
      const bool holds = compare(i.test, i.from, a, b);
      const bool all = i.combines ? (model::apply(i.what, holds ? 1 : 0, as_signed(c & 1U)) & 1) != 0 : holds;
      return !all ? 0 : type == ptx_type::f32 ? bits_of(1.0F) : ~std::uint64_t{0};
    }
    case op::select_by_sign: {
      const bool first = i.from == ptx_type::f32 ? float_of<float>(c) >= 0 : as_signed(extended(c, ptx_type::s32)) >= 0;
      return first ? a : b;
    }
    default:
      return 0;
  }
}

/// `shl` and `shr`. The shift count is the low 32 bits of `b`.
[[nodiscard]] inline std::uint64_t shifted_left(ptx_type type, std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t by = truncated(b, 32);
  return by >= static_cast<unsigned>(bytes_of(type) * 8) ? 0 : a << by;
}
[[nodiscard]] inline std::uint64_t shifted_right(ptx_type type, std::uint64_t x, std::uint64_t b) noexcept {
  const auto width = static_cast<unsigned>(bytes_of(type) * 8);
  const std::uint64_t by = truncated(b, 32);
  if (is_signed(type)) {
    return static_cast<std::uint64_t>(as_signed(x) >> (by >= width ? width - 1 : by));
  }
  return by >= width ? 0 : x >> by;
}

/// Computes the result of a shift, a bit-field instruction or a bit count. `x` is `a`, extended to 64 bits.
[[nodiscard]] inline std::uint64_t compute_bits(const instruction& i, std::uint64_t x, std::uint64_t a, std::uint64_t b,
                                                std::uint64_t c, std::uint64_t d) noexcept {
  const ptx_type type = i.type;
  const int bits = bytes_of(type) * 8;
  const auto width = static_cast<unsigned>(bits);
  switch (i.code) {
    case op::shift_left:
      return shifted_left(type, a, b);
    case op::shift_right:
      return shifted_right(type, x, b);
    case op::funnel_left:
    case op::funnel_right: {
      const std::uint64_t both = (truncated(b, 32) << 32U) | truncated(a, 32);
      const std::uint64_t asked = truncated(c, 32);
      const std::uint64_t by = i.mode != 0 ? (asked < 32 ? asked : 32) : asked & 31U;
      return i.code == op::funnel_left ? (both << by) >> 32U : both >> by;
    }
    case op::field_extract:
      return extracted_field(type, x, b & 0xffU, c & 0xffU);
    case op::bit_mask: {
      const std::uint64_t position = i.mode != 0 ? truncated(a, 32) : a & 31U;
      const std::uint64_t length = i.mode != 0 ? truncated(b, 32) : b & 31U;
      const std::uint64_t ones = length >= 32 ? 0xffffffffU : (std::uint64_t{1} << length) - 1;
      return position >= 32 ? 0 : ones << position;
    }
    case op::field_insert:
      return with_field(type, a, b, c & 0xffU, d & 0xffU);
    case op::permute:
      return permuted(a, truncated(b, 32), c);
    case op::count_ones:
      return static_cast<std::uint64_t>(std::popcount(truncated(a, bits)));
    case op::count_leading_zeros:
      return static_cast<std::uint64_t>(std::countl_zero(truncated(a, bits)) - (64 - bits));
    case op::reverse_bits: {
      std::uint64_t result = 0;
      for (unsigned k = 0; k < width; ++k) {
        result |= ((a >> k) & 1U) << (width - 1 - k);
      }
      return result;
    }
    case op::find_leading_one: {
      const std::uint64_t value = truncated(is_signed(type) && as_signed(x) < 0 ? ~x : x, bits);
      const int position = 63 - std::countl_zero(value);
      return value == 0 ? 0xffffffffU : static_cast<std::uint64_t>(i.mode != 0 ? bits - 1 - position : position);
    }
    case op::three_inputs:
      return looked_up(i.mode, a, b, c);
    default:
      return compute_rare(i, x, a, b, c);
  }
}

}  // namespace detail

/// Returns the result of an instruction that uses only registers. All values are 64 bits wide; the caller truncates the result
/// to the register's size.
[[nodiscard]] inline std::uint64_t compute(const instruction& i, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                           std::uint64_t d = 0) noexcept {
  using detail::as_signed;
  const ptx_type type = i.type;
  if (is_float(type) &&
      ((i.code >= op::add && i.code <= op::multiply_low) || i.code == op::multiply_add_low ||
       i.code == op::fused_multiply_add || i.code == op::divide || (i.code >= op::negate && i.code <= op::square_root))) {
    return detail::compute_any_float(i, a, b, c);
  }
  if (i.code >= op::add && i.code <= op::maximum) {
    return detail::compute_integer(i.code, type, extended(a, type), extended(b, type), c);
  }
  switch (i.code) {
    case op::move:
      return a;
    case op::convert:
      return i.sources == 2 ? detail::convert(i, a) << 16U | detail::convert(i, b) : detail::convert(i, a);
    case op::bit_and:
      return a & b;
    case op::bit_or:
      return a | b;
    case op::bit_xor:
      return a ^ b;
    case op::bit_not:
      return type == ptx_type::pred ? (a ^ 1U) & 1U : ~a;
    case op::logical_not:
      return truncated(a, bytes_of(type) * 8) == 0 ? 1 : 0;
    case op::select:
      return (c & 1U) != 0 ? a : b;
    case op::set_predicate: {
      const std::uint64_t holds = detail::compare(i.test, type, a, b) ? 1 : 0;
      return i.combines ? static_cast<std::uint64_t>(model::apply(i.what, as_signed(holds), as_signed(c & 1U))) & 1U : holds;
    }
    default:
      return detail::compute_bits(i, extended(a, type), a, b, c, d);
  }
}

/// Returns whether an integer read-modify-write with these operands leaves every old value unchanged. `second` is the new value of
/// a compare-and-swap.
[[nodiscard]] inline bool is_neutral(const instruction& i, std::uint64_t first, std::uint64_t second) noexcept {
  if (i.mbarrier != mbarrier_op::none || i.packed > 1 || i.elements > 1 || i.bytes > 8 || is_float(i.type)) {
    return false;
  }
  const int bits = 8 * i.bytes;
  const std::uint64_t by = truncated(first, bits);
  const std::uint64_t ones = truncated(~std::uint64_t{0}, bits);
  const std::uint64_t sign = is_signed(i.type) ? std::uint64_t{1} << static_cast<unsigned>(bits - 1) : 0;
  switch (i.what) {
    case model::operation::add:
    case model::operation::bit_or:
    case model::operation::bit_xor:
      return by == 0;
    case model::operation::bit_and:
      return by == ones;
    case model::operation::maximum:
      return by == sign;
    case model::operation::minimum:
      return by == (sign ^ ones);
    case model::operation::compare_exchange:
      return by == truncated(second, bits);
    default:
      return false;
  }
}

}  // namespace membar::ptx
