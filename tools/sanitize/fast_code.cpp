// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/machine.hpp>
#include <check/thread_context.hpp>
#include <ptx/compute.hpp>
#include <sanitize/fast_code.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace membar::sanitize {

namespace {

using check::instruction;
using check::op;
using check::ptx_type;
using check::source_operand;

/// Returns whether the operation has the same result for every type.
constexpr bool is_of_any_type(op code) noexcept {
  return code == op::bit_and || code == op::bit_or || code == op::bit_xor || code == op::select;
}

/// Returns whether `compute_float` performs the operation on floats.
constexpr bool is_of_floats(op code) noexcept {
  return code == op::add || code == op::subtract || code == op::multiply_low || code == op::multiply_add_low ||
         code == op::fused_multiply_add || code == op::minimum || code == op::maximum;
}

/// Computes the result of an instruction with this operation and type, without rounding or saturation. The C++ compiler removes
/// the cases for all other operations and types.
template <op Code, ptx_type Type>
#if defined(__GNUC__)
__attribute__((flatten))
#endif
std::uint64_t
computed(const fast_instruction& f, const std::uint64_t* words, const check::thread_context&) {
  const std::uint64_t a = f.source(words, 0);
  const std::uint64_t b = f.source(words, 1);
  if constexpr (Code == op::bit_and) {
    return a & b;
  } else if constexpr (Code == op::bit_or) {
    return a | b;
  } else if constexpr (Code == op::bit_xor) {
    return a ^ b;
  } else if constexpr (Code == op::select) {
    return (f.source(words, 2) & 1U) != 0 ? a : b;
  } else if constexpr (Code == op::shift_left) {
    return membar::ptx::detail::shifted_left(Type, a, b);
  } else if constexpr (Code == op::shift_right) {
    return membar::ptx::detail::shifted_right(Type, check::extended(a, Type), b);
  } else if constexpr (Type == ptx_type::f32) {
    return membar::ptx::detail::compute_float<float>(Code, a, b, f.source(words, 2));
  } else {
    return membar::ptx::detail::compute_integer(Code, Type, check::extended(a, Type), check::extended(b, Type),
                                                f.source(words, 2));
  }
}

/// A comparison without a third operand.
template <ptx_type Type>
std::uint64_t compared(const fast_instruction& f, const std::uint64_t* words, const check::thread_context&) {
  return membar::ptx::detail::compare(f.of->test, Type, f.source(words, 0), f.source(words, 1)) ? 1 : 0;
}

std::uint64_t computed_by_switch(const fast_instruction& f, const std::uint64_t* words, const check::thread_context&) {
  return membar::ptx::compute(*f.of, f.source(words, 0), f.source(words, 1), f.source(words, 2), f.source(words, 3));
}

std::uint64_t moved(const fast_instruction& f, const std::uint64_t* words, const check::thread_context&) {
  return f.source(words, 0);
}

std::uint64_t special(const fast_instruction& f, const std::uint64_t*, const check::thread_context& c) {
  return check::special_value(f.of->by[0].machine, c);
}

std::uint64_t from_shared(const fast_instruction& f, const std::uint64_t* words, const check::thread_context& c) {
  return c.from_shared(f.source(words, 0));
}
std::uint64_t to_shared(const fast_instruction& f, const std::uint64_t* words, const check::thread_context& c) {
  return c.to_shared(f.source(words, 0));
}

template <op Code>
[[nodiscard]] fast_instruction::computation of_type(ptx_type type) noexcept {
  if constexpr (is_of_any_type(Code)) {
    return computed<Code, ptx_type::b64>;
  } else {
    switch (type) {
      case ptx_type::b32:
      case ptx_type::u32:
        return computed<Code, ptx_type::u32>;
      case ptx_type::s32:
        return computed<Code, ptx_type::s32>;
      case ptx_type::b64:
      case ptx_type::u64:
        return computed<Code, ptx_type::u64>;
      case ptx_type::s64:
        return computed<Code, ptx_type::s64>;
      case ptx_type::f32:
        return is_of_floats(Code) ? computed<Code, ptx_type::f32> : computed_by_switch;
      default:
        return computed_by_switch;
    }
  }
}

[[nodiscard]] fast_instruction::computation comparison_of(ptx_type type) noexcept {
  switch (type) {
    case ptx_type::b32:
      return compared<ptx_type::b32>;
    case ptx_type::u32:
      return compared<ptx_type::u32>;
    case ptx_type::s32:
      return compared<ptx_type::s32>;
    case ptx_type::u64:
      return compared<ptx_type::u64>;
    case ptx_type::s64:
      return compared<ptx_type::s64>;
    case ptx_type::f32:
      return compared<ptx_type::f32>;
    default:
      return computed_by_switch;
  }
}

/// Returns the function that computes an instruction, or null if `check::machine` has to execute it.
[[nodiscard]] fast_instruction::computation computation_of(const instruction& i) noexcept {
  const bool plain = i.mode == 0;  // without rounding or saturation
  switch (i.code) {
    case op::move:
      return i.by[0].kind != source_operand::kind_t::special                                         ? moved
             : i.by[0].machine < check::special::clock && i.by[0].machine != check::special::unknown ? special
                                                                                                     : nullptr;
    case op::to_generic:
      return i.space == check::state_space::shared ? from_shared : i.space == check::state_space::global ? moved : nullptr;
    case op::from_generic:
      return i.space == check::state_space::shared ? to_shared : i.space == check::state_space::global ? moved : nullptr;
    case op::add:
      return plain ? of_type<op::add>(i.type) : computed_by_switch;
    case op::subtract:
      return plain ? of_type<op::subtract>(i.type) : computed_by_switch;
    case op::multiply_low:
      return plain ? of_type<op::multiply_low>(i.type) : computed_by_switch;
    case op::multiply_wide:
      return plain ? of_type<op::multiply_wide>(i.type) : computed_by_switch;
    case op::multiply_add_low:
      return plain ? of_type<op::multiply_add_low>(i.type) : computed_by_switch;
    case op::multiply_add_wide:
      return plain ? of_type<op::multiply_add_wide>(i.type) : computed_by_switch;
    case op::fused_multiply_add:
      return plain ? of_type<op::fused_multiply_add>(i.type) : computed_by_switch;
    case op::minimum:
      return plain ? of_type<op::minimum>(i.type) : computed_by_switch;
    case op::maximum:
      return plain ? of_type<op::maximum>(i.type) : computed_by_switch;
    case op::bit_and:
      return plain ? of_type<op::bit_and>(i.type) : computed_by_switch;
    case op::bit_or:
      return plain ? of_type<op::bit_or>(i.type) : computed_by_switch;
    case op::bit_xor:
      return plain ? of_type<op::bit_xor>(i.type) : computed_by_switch;
    case op::shift_left:
      return plain ? of_type<op::shift_left>(i.type) : computed_by_switch;
    case op::shift_right:
      return plain ? of_type<op::shift_right>(i.type) : computed_by_switch;
    case op::select:
      return plain ? of_type<op::select>(i.type) : computed_by_switch;
    case op::set_predicate:
      return i.destinations > 1 ? nullptr : i.combines ? computed_by_switch : comparison_of(i.type);
    default:
      break;
  }
  const bool is_computed = (i.code >= op::multiply_high && i.code <= op::find_leading_one) || i.code == op::convert ||
                           (i.code >= op::dot_product && i.code <= op::multiply_24);
  return is_computed ? computed_by_switch : nullptr;
}

/// Sets `value` to the parameter that an instruction loads, as a constant. Returns false unless the instruction loads a whole
/// parameter.
[[nodiscard]] bool is_parameter(const instruction& i, const std::vector<std::uint8_t>& parameters, std::uint64_t& value) {
  const std::uint64_t from = i.by[0].low + static_cast<std::uint64_t>(i.offset);
  if (i.code != op::load_param || i.elements != 1 || i.bytes > 8 || i.by[0].kind == source_operand::kind_t::reg ||
      from > parameters.size() || parameters.size() - from < i.bytes) {
    return false;
  }
  value = 0;
  std::memcpy(&value, parameters.data() + from, i.bytes);
  value = check::extended(value, i.type);
  return true;
}

[[nodiscard]] bool has_plain_operands(const instruction& i) noexcept {
  const auto is_plain = [](const source_operand& o) { return !o.negated && o.kind != source_operand::kind_t::special; };
  return std::all_of(i.by.begin(), i.by.begin() + i.sources, is_plain);
}

[[nodiscard]] fast_instruction fast(const instruction& i, const std::vector<std::uint8_t>& parameters) {
  fast_instruction f;
  f.of = &i;
  f.head = i.head;
  f.guard = i.guard;
  f.guard_negated = i.guard_negated;
  if (i.code == op::branch) {
    f.what = fast_instruction::kind::jumps;
    f.target = i.target;
    return f;
  }
  std::uint64_t parameter = 0;
  const bool is_special = i.code == op::move && i.by[0].kind == source_operand::kind_t::special && !i.by[0].negated;
  const bool takes_parameter = is_parameter(i, parameters, parameter);
  if (i.destinations != 1 || i.to[0].word < 0 || i.to[0].bits > 64 || i.sources > 4 || i.type == ptx_type::b128 ||
      (!is_special && !takes_parameter && !has_plain_operands(i))) {
    return f;
  }
  f.compute = takes_parameter ? moved : computation_of(i);
  if (f.compute == nullptr) {
    return f;
  }
  f.what = fast_instruction::kind::computes;
  f.target = i.to[0].word;
  f.kept = i.to[0].bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << i.to[0].bits) - 1;
  if (takes_parameter) {
    f.added[0] = parameter;
    return f;
  }
  for (std::size_t k = 0; k < i.sources; ++k) {
    const source_operand& o = i.by[k];
    const bool reg = o.kind == source_operand::kind_t::reg;
    f.word[k] = reg ? static_cast<std::uint32_t>(o.word) : 0;
    f.taken[k] = reg ? ~std::uint64_t{0} : 0;
    f.added[k] = o.kind == source_operand::kind_t::none || o.kind == source_operand::kind_t::special ? 0 : o.low;
  }
  return f;
}

}  // namespace

std::vector<fast_instruction> fast_code_of(const check::kernel_code& kernel, const std::vector<std::uint8_t>& parameters) {
  std::vector<fast_instruction> result;
  for (const instruction& i : kernel.code) {
    if (kernel.holds_registers || kernel.words == 0) {
      break;
    }
    result.push_back(fast(i, parameters));
  }
  return result;
}

}  // namespace membar::sanitize
