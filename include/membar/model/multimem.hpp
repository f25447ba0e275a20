// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Operations on multimem addresses in C++ litmus tests. Each operation accesses every object once, in no particular order.
///
/// ```cpp
/// constexpr model::multimem_variable m(2, x, y);  // its number follows the numbers of x and y
/// constexpr auto stored = model::litmus(
///     model::thread(model::block(0), model::multimem_store<membar::thread_scope::system>(m, 1, membar::release)),
///     model::thread(model::block(0, 1), model::multimem_load_reduce<membar::thread_scope::system, model::operation::maximum>(
///                                           r0, m, membar::acquire, r1)))
///     .with_multimem(m.first, m.objects);
/// ```
///
/// The PTX ISA, "multimem.ld_reduce, multimem.st, multimem.red", defines the effect of each operation on each object. It does
/// not specify how the accesses of one operation are ordered relative to each other, or to accesses through other addresses.
/// membar's reading has one rule for each of these two questions: a multimem address is another virtual address of its objects
/// (`multimem_addresses_are_aliases`), and the accesses of one operation are unordered, like the elements of a vector
/// (`multimem_operations_are_in_no_order`).
#pragma once

#include <membar/memory_order.hpp>
#include <membar/model/program.hpp>
#include <membar/model/test.hpp>
#include <membar/model/test_condition.hpp>
#include <membar/thread_scope.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace membar {
inline namespace v0_3 {
namespace model {

/// A multimem address of some objects in global memory. It uses one number for each object, starting at `first`. No variable
/// may have one of these numbers.
template <std::size_t Count>
struct multimem_variable {
  int first = 0;
  std::array<variable, Count> objects{};

  template <class... Variables>
  constexpr explicit multimem_variable(int number, Variables... objects_of_it) noexcept
      : first(number), objects{objects_of_it...} {}
};
template <class... Variables>
multimem_variable(int, Variables...) -> multimem_variable<sizeof...(Variables)>;

namespace detail {
/// Returns the access to object `number` of a multimem address, given `one`, the access to object 0.
[[nodiscard]] constexpr instruction of_object(instruction one, std::size_t number) noexcept {
  one.multimem = true;
  one.element = static_cast<std::uint8_t>(number);
  one.target += static_cast<int>(number);
  return one;
}
/// Returns the accesses to all objects, given `one`, the access to the first object.
template <std::size_t Count>
[[nodiscard]] constexpr std::array<instruction, Count> of_each_object(const instruction& one) noexcept {
  return [&]<std::size_t... Number>(std::index_sequence<Number...>) {
    return std::array<instruction, Count>{of_object(one, Number)...};
  }(std::make_index_sequence<Count>{});
}
/// Returns instruction `number` of one load operation. The instructions are `Count` loads, each into its own register, followed
/// by `Count - 1` instructions that combine all values in the first load's register.
template <std::size_t Count>
[[nodiscard]] constexpr instruction of_load(const instruction& one, int scratch, std::size_t number) noexcept {
  const std::size_t object = number < Count ? number : number - Count + 1;
  instruction i = of_object(one, object);
  const int other = scratch + static_cast<int>(object) - 1;
  if (number >= Count) {
    i = instruction{};
    i.code = opcode::compute;
    i.what = one.what;
    i.multimem = true;
    i.element = static_cast<std::uint8_t>(object);
    i.destination = one.destination;
    i.a = {true, one.destination, 0};
    i.b = {true, other, 0};
  } else if (object > 0) {
    i.destination = other;
  }
  return i;
}
[[nodiscard]] constexpr bool is_multimem_operation(operation what) noexcept {
  return what == operation::add || what == operation::minimum || what == operation::maximum || what == operation::bit_and ||
         what == operation::bit_or || what == operation::bit_xor;
}
}  // namespace detail

/// @name Operations on multimem addresses, and the fence between them and accesses through the objects' own addresses
/// @{
/// `fence.proxy.alias`.
[[nodiscard]] constexpr instruction alias_proxy_fence() noexcept {
  instruction i;
  i.code = opcode::proxy_fence;
  i.via = proxy::alias;
  return i;
}
/// `multimem.st.weak`.
template <std::size_t Count>
[[nodiscard]] constexpr auto multimem_store(const multimem_variable<Count>& to, source value) noexcept {
  return detail::of_each_object<Count>(store(variable{to.first}, value));
}
/// `multimem.st.{relaxed,release}.scope`.
template <thread_scope Scope, std::size_t Count, class Order>
  requires order_among<Order, memory_order::relaxed, memory_order::release>
[[nodiscard]] constexpr auto multimem_store(const multimem_variable<Count>& to, source value, Order order) noexcept {
  return detail::of_each_object<Count>(store<Scope>(variable{to.first}, value, order));
}
/// `multimem.red.{relaxed,release}.scope.operation`: add, min, max, and, or, xor.
template <thread_scope Scope, operation What, std::size_t Count, class Order>
  requires(order_among<Order, memory_order::relaxed, memory_order::release> && detail::is_multimem_operation(What))
[[nodiscard]] constexpr auto multimem_reduce(const multimem_variable<Count>& to, source value, Order order) noexcept {
  instruction i = add<Scope>(variable{to.first}, value, order);
  i.what = What;
  return detail::of_each_object<Count>(i);
}
/// `multimem.ld_reduce.{relaxed,acquire}.scope.operation`: add, min, max, and, or, xor. `scratch` is the first of `Count - 1`
/// registers that nothing else in the thread uses.
template <thread_scope Scope, operation What, std::size_t Count, class Order>
  requires(order_among<Order, memory_order::relaxed, memory_order::acquire> && detail::is_multimem_operation(What))
[[nodiscard]] constexpr std::array<instruction, 2 * Count - 1> multimem_load_reduce(reg to,
                                                                                    const multimem_variable<Count>& from,
                                                                                    Order order, reg scratch) noexcept {
  instruction one = load<Scope>(to, variable{from.first}, order);
  one.what = What;
  return [&]<std::size_t... Number>(std::index_sequence<Number...>) {
    return std::array<instruction, 2 * Count - 1>{detail::of_load<Count>(one, scratch.index, Number)...};
  }(std::make_index_sequence<2 * Count - 1>{});
}
/// @}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
