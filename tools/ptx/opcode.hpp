// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The words of PTX's opcodes: what "atom.acq_rel.gpu.global.add.u64" asks for.
#pragma once

#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/async_opcode.hpp>
#include <ptx/instruction.hpp>
#include <ptx/module.hpp>
#include <ptx/opcode_words.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace membar::ptx::detail {

/// Cache operators and hints, which the memory model does not see. Source: PTX ISA, "Cache Operators", "Cache Eviction Priority
/// Hints".
inline void drop_hints(opcode_words& words) {
  for (const std::string_view hint : {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::evict_normal", "L1::evict_unchanged",
                                      "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B",
                                      "L2::cache_hint", "L2::evict_first", "L2::evict_last", "L2::evict_normal"}) {
    static_cast<void>(words.take(hint));
  }
}

/// The sources of an instruction that puts results into registers, or of a barrier. Source: PTX ISA, the syntax of each.
[[nodiscard]] constexpr operand_count operands_of(const instruction& i) noexcept {
  switch (i.code) {
    case op::active_mask:
      return {0, 0};
    case op::negate:
    case op::absolute:
    case op::bit_not:
    case op::logical_not:
    case op::count_ones:
    case op::count_leading_zeros:
    case op::reverse_bits:
    case op::find_leading_one:
    case op::reciprocal:
    case op::inverse_root:
    case op::power_of_two:
    case op::logarithm:
    case op::sine:
    case op::cosine:
    case op::hyperbolic:
    case op::square_root:
    case op::to_generic:
    case op::from_generic:
    case op::is_space:
    case op::warp_barrier:
    case op::block_rank:
      return {1, 1};
    case op::move:
      return i.destinations > 1 ? operand_count{1, 1, 4} : operand_count{1, 4};
    case op::set_predicate:
      return i.combines ? operand_count{3, 3, 2} : operand_count{2, 2, 2};
    case op::async_wait:
      return {i.mode == 0 ? 1U : 0U, 1, 0};
    case op::block_arrive:
      return {2, 2, 0};
    case op::block_barrier:
      return i.destinations == 0 ? operand_count{1, 2} : operand_count{2, 3};
    case op::convert:
      return {1, i.type == ptx_type::f16x2 || i.type == ptx_type::bf16x2 ? 2U : 1U};
    case op::multiply_add_low:
    case op::multiply_add_high:
    case op::multiply_add_wide:
    case op::fused_multiply_add:
    case op::field_extract:
    case op::permute:
    case op::select:
    case op::funnel_left:
    case op::funnel_right:
      return {3, 3};
    case op::three_inputs:
    case op::field_insert:
      return {4, 4};
    case op::elect:
      return {1, 1, 2};
    case op::shuffle:
      return {4, 4, 2};
    case op::match:
      return {2, 2, i.mode == 2 ? 2U : 1U};
    default:
      return {2, 2};
  }
}

/// A row of the table of instructions that compute.
struct arithmetic_row {
  std::string_view name;
  op code;
};

/// Reads an opcode into `i` and says which operands follow. Calls `refuse` with a sentence, which must throw, for what is not
/// known.
template <class Refuse>
operand_shape read_opcode(opcode_words& words, instruction& i, const Refuse& refuse) {
  const std::string_view name = words.first();
  const auto finish = [&](operand_shape shape) {
    if (!words.left().empty()) {
      refuse("'." + std::string(words.left().front()) + "' of '" + i.text + "' is not supported");
    }
    return shape;
  };
  const auto typed = [&] {
    i.type = words.take_type();
    if (i.type == ptx_type::none) {
      refuse("'" + i.text + "' has no type that is supported");
    }
  };
  const auto with_mode = [&] {
    if (i.mode == 0) {
      refuse("'" + i.text + "' does not say what it does with the values of the threads");
    }
  };
  const auto memory = [&] {
    i.space = take_space(words);
    typed();
    if (bytes_of(i.type) == 0 || i.type == ptx_type::pred) {
      refuse("'" + i.text + "' has no type that memory holds");
    }
    i.bytes = static_cast<std::uint8_t>(bytes_of(i.type));
    i.elements = words.take("v2") ? 2 : words.take("v4") ? 4 : words.take("v8") ? 8 : 1;
    drop_hints(words);
  };
  const auto either = [&](op low, op high, op wide) {
    static_cast<void>(words.take("lo"));
    i.code = words.take("hi") ? high : words.take("wide") ? wide : low;
  };

  if (operand_shape shape{}; read_async_opcode(words, i, shape, refuse)) {
    return finish(shape);
  }
  const auto take_rounding = [&] {
    const int mode = words.take("rmi") || words.take("rm")   ? rounds_down
                     : words.take("rpi") || words.take("rp") ? rounds_up
                     : words.take("rzi") || words.take("rz") ? rounds_to_zero
                                                             : 0;
    i.mode = static_cast<std::uint8_t>(i.mode | mode);
  };
  const auto floating = [&] {  // results are those of the host, whatever the approximation
    if (is_float(i.type)) {
      for (const std::string_view word : {"rn", "approx", "full", "ftz"}) {
        static_cast<void>(words.take(word));
      }
      i.mode = words.take("sat") ? saturates : std::uint8_t{0};
      if (i.type == ptx_type::f32) {
        take_rounding();
      }
    }
  };
  constexpr arithmetic_row ops[] = {{"mov", op::move},
                                    {"add", op::add},
                                    {"sub", op::subtract},
                                    {"div", op::divide},
                                    {"rem", op::remainder},
                                    {"neg", op::negate},
                                    {"abs", op::absolute},
                                    {"min", op::minimum},
                                    {"max", op::maximum},
                                    {"and", op::bit_and},
                                    {"or", op::bit_or},
                                    {"xor", op::bit_xor},
                                    {"not", op::bit_not},
                                    {"cnot", op::logical_not},
                                    {"shl", op::shift_left},
                                    {"shr", op::shift_right},
                                    {"bfe", op::field_extract},
                                    {"bfi", op::field_insert},
                                    {"prmt", op::permute},
                                    {"popc", op::count_ones},
                                    {"clz", op::count_leading_zeros},
                                    {"brev", op::reverse_bits},
                                    {"selp", op::select},
                                    {"fma", op::fused_multiply_add},
                                    {"sqrt", op::square_root},
                                    {"copysign", op::copy_sign},
                                    {"rcp", op::reciprocal},
                                    {"rsqrt", op::inverse_root},
                                    {"ex2", op::power_of_two},
                                    {"lg2", op::logarithm},
                                    {"sin", op::sine},
                                    {"cos", op::cosine},
                                    {"tanh", op::hyperbolic}};
  const auto* const known =
      std::find_if(std::begin(ops), std::end(ops), [&](const arithmetic_row& r) { return r.name == name; });
  if (known != std::end(ops)) {
    i.code = known->code;
    typed();
    floating();
    if (i.code >= op::reciprocal && i.code <= op::square_root && !is_float(i.type)) {
      refuse("'" + i.text + "' is of floats");
    }
    return finish(operand_shape::registers);
  }
  if (name == "mul" || name == "mad") {
    if (name == "mul") {
      either(op::multiply_low, op::multiply_high, op::multiply_wide);
    } else {
      either(op::multiply_add_low, op::multiply_add_high, op::multiply_add_wide);
    }
    typed();
    floating();
    return finish(operand_shape::registers);
  }
  if (name == "bfind") {
    i.code = op::find_leading_one;
    i.mode = words.take("shiftamt") ? 1 : 0;
    typed();
    return finish(operand_shape::registers);
  }
  if (name == "bmsk") {
    i.code = op::bit_mask;
    i.mode = words.take("clamp") ? 1 : 0;
    static_cast<void>(words.take("wrap"));
    typed();
    return finish(operand_shape::registers);
  }
  if (name == "lop3") {
    i.code = op::three_inputs;
    typed();
    return finish(operand_shape::registers);
  }
  if (name == "shf") {
    i.code = words.take("l") ? op::funnel_left : op::funnel_right;
    static_cast<void>(words.take("r"));
    i.mode = words.take("clamp") ? 1 : 0;
    static_cast<void>(words.take("wrap"));
    typed();
    return finish(operand_shape::registers);
  }
  if (name == "cvt") {
    i.code = op::convert;
    i.from = words.take_type();
    i.type = words.take_type();
    if (i.type == ptx_type::none || i.from == ptx_type::none) {
      refuse("'" + i.text + "' converts between types that are not supported");
    }
    take_rounding();
    static_cast<void>(words.take("rni") || words.take("rn"));
    static_cast<void>(words.take("ftz"));
    i.mode = static_cast<std::uint8_t>(i.mode | (words.take("sat") ? saturates : 0));
    return finish(operand_shape::registers);
  }
  if (name == "cvta") {
    i.code = words.take("to") ? op::from_generic : op::to_generic;
    i.space = take_space(words);
    if (i.space == state_space::param || i.space == state_space::generic) {
      refuse("'" + i.text + "' is not supported");
    }
    typed();
    return finish(operand_shape::registers);
  }
  if (name == "isspacep") {
    i.code = op::is_space;
    i.space = take_space(words);
    return finish(operand_shape::registers);
  }
  if (name == "setp") {
    i.code = op::set_predicate;
    struct row {
      std::string_view name;
      ptx_comparison test;
    };
    constexpr row rows[] = {{"eq", ptx_comparison::eq},   {"ne", ptx_comparison::ne},   {"lt", ptx_comparison::lt},
                            {"le", ptx_comparison::le},   {"gt", ptx_comparison::gt},   {"ge", ptx_comparison::ge},
                            {"lo", ptx_comparison::lo},   {"ls", ptx_comparison::ls},   {"hi", ptx_comparison::hi},
                            {"hs", ptx_comparison::hs},   {"equ", ptx_comparison::equ}, {"neu", ptx_comparison::neu},
                            {"ltu", ptx_comparison::ltu}, {"leu", ptx_comparison::leu}, {"gtu", ptx_comparison::gtu},
                            {"geu", ptx_comparison::geu}, {"num", ptx_comparison::num}, {"nan", ptx_comparison::nan}};
    bool found = false;
    for (const row& r : rows) {
      if (!found && words.take(r.name)) {
        i.test = r.test;
        found = true;
      }
    }
    if (!found) {
      refuse("'" + i.text + "' has no comparison");
    }
    i.combines = true;
    if (words.take("and")) {
      i.what = model::operation::bit_and;
    } else if (words.take("or")) {
      i.what = model::operation::bit_or;
    } else if (words.take("xor")) {
      i.what = model::operation::bit_xor;
    } else {
      i.combines = false;
    }
    typed();
    return finish(operand_shape::registers);
  }
  if (name == "bra") {
    i.code = op::branch;
    static_cast<void>(words.take("uni"));
    return finish(operand_shape::label);
  }
  if (name == "brx") {
    i.code = op::branch_index;
    static_cast<void>(words.take("idx") && words.take("uni"));
    return finish(operand_shape::index);
  }
  if (name == "ret" || name == "exit") {
    i.code = op::exit;
    static_cast<void>(words.take("uni"));
    return finish(operand_shape::none);
  }
  if (name == "trap") {
    i.code = op::trap;
    return finish(operand_shape::none);
  }
  if (name == "nanosleep" || name == "prefetch" || name == "prefetchu" || name == "applypriority") {
    i.code = op::nothing;
    return operand_shape::any;
  }
  if (name == "ld") {
    i.code = op::load;
    i.non_coherent = words.take("nc");
    const bool is_volatile = words.take("volatile");
    const bool mmio = words.take("mmio");
    i.strong = take_order(words, i.order) || is_volatile || mmio;
    static_cast<void>(take_scope(words, i.scope));
    static_cast<void>(words.take("weak"));
    memory();
    if (i.order != memory_order::relaxed && i.order != memory_order::acquire) {
      refuse("'" + i.text + "' is no load of PTX: a load is weak, relaxed or acquire");
    }
    return finish(operand_shape::load);
  }
  if (name == "st") {
    i.code = op::store;
    const bool is_volatile = words.take("volatile");
    const bool mmio = words.take("mmio");
    i.strong = take_order(words, i.order) || is_volatile || mmio;
    static_cast<void>(take_scope(words, i.scope));
    static_cast<void>(words.take("weak"));
    memory();
    if (i.order != memory_order::relaxed && i.order != memory_order::release) {
      refuse("'" + i.text + "' is no store of PTX: a store is weak, relaxed or release");
    }
    return finish(operand_shape::store);
  }
  if (name == "atom" || name == "red") {
    i.code = name == "atom" ? op::atomic : op::reduction;
    i.strong = true;
    static_cast<void>(take_order(words, i.order));
    i.scope = thread_scope::device;
    static_cast<void>(take_scope(words, i.scope));
    if (!take_operation(words, i.what)) {
      refuse("'" + i.text + "' is no read-modify-write that is supported");
    }
    static_cast<void>(words.take("noftz"));
    memory();
    if (i.elements != 1) {
      refuse("'" + i.text + "' on a vector is not supported");
    }
    return finish(i.code == op::atomic ? operand_shape::atomic : operand_shape::reduction);
  }
  if (name == "fence" || name == "membar") {
    i.code = op::fence;
    i.strong = true;
    if (words.take("proxy")) {
      read_proxy_fence(words, i, refuse);
      return finish(operand_shape::none);
    }
    i.restricted = words.take("mbarrier_init");
    i.order = name == "membar" ? memory_order::seq_cst : memory_order::acq_rel;
    static_cast<void>(name == "fence" && take_order(words, i.order));
    if (name == "membar" && words.take("gl")) {
      i.scope = thread_scope::device;
    } else if (!take_scope(words, i.scope)) {
      refuse("'" + i.text + "' names no scope");
    }
    return finish(operand_shape::none);
  }
  if (name == "bar" || name == "barrier") {
    static_cast<void>(words.take("cta"));
    i.aligned = words.take("aligned") || name == "bar";  // bar is barrier.cta.aligned
    if (words.take("cluster")) {
      const bool arrives = words.take("arrive");
      i.code = arrives ? op::cluster_arrive : op::cluster_wait;
      i.scope = thread_scope::cluster;
      i.strong = true;
      i.order = arrives ? memory_order::release : memory_order::acquire;
      if (!arrives && !words.take("wait")) {
        refuse("'" + i.text + "' neither arrives nor waits");
      }
      static_cast<void>(take_order(words, i.order));
      return finish(operand_shape::none);
    }
    if (words.take("warp")) {
      i.code = op::warp_barrier;
      static_cast<void>(words.take("sync"));
      return finish(operand_shape::sources);
    }
    i.code = words.take("arrive") ? op::block_arrive : op::block_barrier;
    if (i.code == op::block_arrive || words.take("sync")) {
      return finish(operand_shape::sources);
    }
    if (words.take("red")) {
      i.mode = words.take("popc") ? 1 : words.take("and") ? 2 : words.take("or") ? 3 : 0;
      typed();
      with_mode();
      return finish(operand_shape::registers);
    }
    refuse("'" + i.text + "' is not supported: of the barriers, bar.sync, bar.red, bar.arrive and bar.warp.sync are");
  }
  if (name == "shfl") {
    i.code = op::shuffle;
    static_cast<void>(words.take("sync"));
    i.mode = words.take("up") ? 1 : words.take("down") ? 2 : words.take("bfly") ? 3 : words.take("idx") ? 4 : 0;
    typed();
    with_mode();
    return finish(operand_shape::registers);
  }
  if (name == "vote") {
    i.code = op::vote;
    static_cast<void>(words.take("sync"));
    i.mode = words.take("all") ? 1 : words.take("any") ? 2 : words.take("uni") ? 3 : words.take("ballot") ? 4 : 0;
    typed();
    with_mode();
    return finish(operand_shape::registers);
  }
  if (name == "match") {
    i.code = op::match;
    i.mode = words.take("any") ? 1 : words.take("all") ? 2 : 0;
    static_cast<void>(words.take("sync"));
    typed();
    with_mode();
    if (i.type != ptx_type::b32 && i.type != ptx_type::b64) {
      refuse("'" + i.text + "' compares .b32 or .b64");
    }
    return finish(operand_shape::registers);
  }
  if (name == "redux") {
    i.code = op::warp_reduce;
    static_cast<void>(words.take("sync"));
    i.mode = words.take("add")   ? 1
             : words.take("min") ? 2
             : words.take("max") ? 3
             : words.take("and") ? 4
             : words.take("or")  ? 5
             : words.take("xor") ? 6
                                 : 0;
    typed();
    with_mode();
    if (i.type != ptx_type::u32 && i.type != ptx_type::s32 && i.type != ptx_type::b32) {
      refuse("'" + i.text + "' is not supported: redux.sync of integers is");
    }
    return finish(operand_shape::registers);
  }
  if (name == "elect") {
    i.code = op::elect;
    static_cast<void>(words.take("sync"));
    return finish(operand_shape::registers);
  }
  if (name == "activemask") {
    i.code = op::active_mask;
    typed();
    return finish(operand_shape::registers);
  }
  refuse("the instruction '" + i.text + "' is not known");
  return operand_shape::none;
}

}  // namespace membar::ptx::detail
