// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The arguments of atomic operations and stores, which do not truncate a value silently.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/atomic_type.hpp>
#include <membar/detail/standard.hpp>

namespace membar {
inline namespace v0_3 {
namespace detail {

/// This function cannot be used in a constant expression. Its name therefore appears in the host compiler's message.
MEMBAR_HOST_DEVICE void the_object_does_not_hold_this_constant() noexcept;
/// A template argument of the constructor for constants. Its name appears in nvcc's message about device code. With nvcc, device
/// code can use a `consteval` constructor of the host. If its evaluation fails, nvcc reports a call of a host function. If the
/// constructor had `__device__`, nvcc 13.0 would instead report that it has generated invalid code, without the line.
struct cast_this_value_unless_it_is_a_constant_that_the_object_can_hold;

template <class From>
inline constexpr bool has_fraction =
    std::is_floating_point_v<From> || kind_of<From> == value_kind::half || kind_of<From> == value_kind::bfloat16;

template <class From>
inline constexpr bool is_number =
    std::is_arithmetic_v<From> || std::is_enum_v<From> || kind_of<From> == value_kind::integer || has_fraction<From>;

/// Satisfied if a conversion to an integer type may truncate the value: from a wider integer or enumeration, or from a
/// floating-point number.
template <class From, class To>
concept may_cut = is_number<From> && std::is_convertible_v<From, To> && (sizeof(From) > sizeof(To) || has_fraction<From>);

/// An integer argument of an atomic operation or of a store. A value that the conversion may truncate is rejected, unless it is
/// a constant that fits into the object. For a value that is not a constant, such as a function's result, the compiler reports
/// that the value is not a constant expression; cast it in that case.
template <class T>
class integer_operand {
 public:
  constexpr integer_operand() noexcept = default;
  MEMBAR_HOST_DEVICE constexpr integer_operand(T value) noexcept : value_(value) {}
  template <class From, class = cast_this_value_unless_it_is_a_constant_that_the_object_can_hold>
    requires(may_cut<std::remove_cvref_t<From>, T> && !is_variable<From>)
  MEMBAR_HOST consteval integer_operand(From&& constant) noexcept : value_(static_cast<T>(constant)) {
    if (static_cast<std::remove_cvref_t<From>>(value_) != constant) {
      the_object_does_not_hold_this_constant();
    }
  }
  template <class From>
    requires(may_cut<std::remove_cvref_t<From>, T> && is_variable<From>)
  MEMBAR_HOST_DEVICE constexpr integer_operand(From&& variable) noexcept : value_(static_cast<T>(variable)) {
    static_assert(!is_variable<From>,
                  "membar: the object cannot hold every value of this argument's type, and the argument is not a constant "
                  "expression: cast it to the object's type");
  }
  template <class From>
    requires(!is_number<std::remove_cvref_t<From>> && std::is_convertible_v<From, T>)
  MEMBAR_HOST_DEVICE constexpr integer_operand(From&& value) noexcept : value_(static_cast<From&&>(value)) {}

  MEMBAR_HOST_DEVICE constexpr operator T() const noexcept { return value_; }

 private:
  T value_{};
};

template <class T>
struct operand_of {
  using type = T;
};
template <class T>
  requires(kind_of<T> == value_kind::integer)
struct operand_of<T> {
  using type = integer_operand<T>;
};
/// The argument type of an operation on a `T`.
template <class T>
using operand = typename operand_of<T>::type;

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
