// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/error.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/opcode.hpp>
#include <ptx/tensor_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::ptx {

using membar_tools::quote;

namespace {

/// Parses an opcode. Each member function parses a family of opcodes and removes the words that it understands. An opcode with
/// remaining words is not supported.
class opcode_reader {
 public:
  explicit opcode_reader(instruction& i) : i_(i) {
    const std::string_view text = i.text;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t dot = std::min(text.find('.', at), text.size());
      words_.push_back(text.substr(at, dot - at));
      at = dot + 1;
    }
  }

  [[nodiscard]] operand_form read();

  // ---- registers

  /// Accepts all remaining words.
  void anything() { words_.resize(1); }
  void not_modelled();
  void nothing() {}
  void with_carry();
  void by_dot_product();
  void of_low_bits();
  void class_test();
  void set_by_comparison();
  void matrix_rows();
  void matrix();
  void integer();
  void arithmetic();
  void of_floats();
  void clamped();
  void conversion();
  void address_conversion();
  void space_test();
  void block_address();
  void comparison();
  void jump() { skip({"uni"}); }

  // ---- memory

  void access();
  void read_modify_write();
  void fence();
  void initialization_fence();
  void membar();
  void proxy_fence();
  void restricted_proxy_fence();
  void other_proxy_fence();

  // ---- barriers and warps

  void barrier();
  void barrier_reduction();
  void cluster_barrier();
  void warp();
  void match();
  void warp_reduction();

  // ---- asynchronous operations

  void mbarrier();
  void mbarrier_with_bytes();
  void mbarrier_in_phase();
  void pending_count();
  void group();
  void bulk_group();
  void prefetch();
  void copy();
  void bulk_copy();
  void reducing_copy();
  void arrival_of_copies();
  void expected_arrival_of_copies();
  void value_copy();
  void tensor_copy();
  void tensor_reduction();
  void of_warpgroup();
  void product();
  void of_tensor_memory();
  void other_tensor_operation();
  void allocation();
  void tensor_fence();
  void tensor_access();
  void tensor_wait();
  void tensor_fill();
  void tensor_product();
  void tensor_commit();
  void tensor_map_fence();
  void bulk_store();
  void map_field();
  void map_copy();
  void cancellation();
  void cancelled();

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw model::error(i_.line, 1, quote(i_.text) + " " + why); }

  bool take(std::string_view word);
  void skip(std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) {
      static_cast<void>(take(word));
    }
  }
  template <class Table, class Value>
  bool take_one_of(const Table& table, Value& value);
  ptx_type take_type();
  void require_type();
  state_space take_space(bool of_several_threads = true);
  bool take_operation();
  void take_rounding();
  bool take_unfollowed();
  void become(op code, operand_form operands);
  void give_up(std::string reason);
  void elements() { i_.elements = take("v2") ? 2 : take("v4") ? 4 : take("v8") ? 8 : 1; }
  void memory();
  void piece();

  instruction& i_;
  std::vector<std::string_view> words_{};
  operand_form form_{};
};

/// Distinguishes rows with the same operation: by a mode, by how results are combined, or by the operation on an mbarrier.
struct opcode_variant {
  std::uint8_t mode = 0;
  model::operation what = model::operation::move;
  mbarrier_op mbarrier = mbarrier_op::none;

  constexpr opcode_variant() = default;
  constexpr opcode_variant(int m) : mode(static_cast<std::uint8_t>(m)) {}
  constexpr opcode_variant(model::operation w) : what(w) {}
  constexpr opcode_variant(mbarrier_op m) : mbarrier(m) {}
};

/// An opcode that the checker executes.
struct opcode_row {
  /// The opcode's name, followed by the words that distinguish it from other rows with the same name. These words may be
  /// anywhere in the opcode.
  std::string_view spelling;
  op code;
  operand_form operands;
  void (opcode_reader::*read)();  ///< parses the remaining words
  opcode_variant variant{};
};

constexpr operand_form registers_of(unsigned sources) { return {operand_shape::registers, sources, sources, 1}; }
constexpr operand_form registers_of(unsigned least, unsigned most, unsigned results) {
  return {operand_shape::registers, least, most, results};
}
constexpr operand_form sources_of(unsigned least, unsigned most) { return {operand_shape::sources, least, most, 0}; }
constexpr operand_form addresses_of(unsigned least, unsigned most, unsigned results) {
  return {operand_shape::addresses, least, most, results};
}
constexpr operand_form no_operands{};
constexpr operand_form any_operands{operand_shape::any};
constexpr operand_form results{operand_shape::results};

/// All opcodes. If several rows match an opcode, the row with the most words applies. `spelling_of` uses the first matching
/// row.
constexpr opcode_row opcodes[] = {
    // arithmetic
    {"add", op::add, registers_of(2), &opcode_reader::arithmetic},
    {"sub", op::subtract, registers_of(2), &opcode_reader::arithmetic},
    {"mul", op::multiply_low, registers_of(2), &opcode_reader::arithmetic},
    {"mul.lo", op::multiply_low, registers_of(2), &opcode_reader::arithmetic},
    {"mul.hi", op::multiply_high, registers_of(2), &opcode_reader::arithmetic},
    {"mul.wide", op::multiply_wide, registers_of(2), &opcode_reader::arithmetic},
    {"mad", op::multiply_add_low, registers_of(3), &opcode_reader::arithmetic},
    {"mad.lo", op::multiply_add_low, registers_of(3), &opcode_reader::arithmetic},
    {"mad.hi", op::multiply_add_high, registers_of(3), &opcode_reader::arithmetic},
    {"mad.wide", op::multiply_add_wide, registers_of(3), &opcode_reader::arithmetic},
    {"fma", op::fused_multiply_add, registers_of(3), &opcode_reader::arithmetic},
    {"div", op::divide, registers_of(2), &opcode_reader::arithmetic},
    {"rem", op::remainder, registers_of(2), &opcode_reader::arithmetic},
    {"neg", op::negate, registers_of(1), &opcode_reader::arithmetic},
    {"abs", op::absolute, registers_of(1), &opcode_reader::arithmetic},
    {"min", op::minimum, registers_of(2), &opcode_reader::arithmetic},
    {"max", op::maximum, registers_of(2), &opcode_reader::arithmetic},
    {"copysign", op::copy_sign, registers_of(2), &opcode_reader::arithmetic},
    {"rcp", op::reciprocal, registers_of(1), &opcode_reader::of_floats},
    {"rsqrt", op::inverse_root, registers_of(1), &opcode_reader::of_floats},
    {"ex2", op::power_of_two, registers_of(1), &opcode_reader::of_floats},
    {"lg2", op::logarithm, registers_of(1), &opcode_reader::of_floats},
    {"sin", op::sine, registers_of(1), &opcode_reader::of_floats},
    {"cos", op::cosine, registers_of(1), &opcode_reader::of_floats},
    {"tanh", op::hyperbolic, registers_of(1), &opcode_reader::of_floats},
    {"sqrt", op::square_root, registers_of(1), &opcode_reader::of_floats},
    {"add.cc", op::add_carrying, registers_of(2), &opcode_reader::with_carry, gives_carry},
    {"addc", op::add_carrying, registers_of(2), &opcode_reader::with_carry, takes_carry},
    {"addc.cc", op::add_carrying, registers_of(2), &opcode_reader::with_carry, takes_carry | gives_carry},
    {"sub.cc", op::subtract_carrying, registers_of(2), &opcode_reader::with_carry, gives_carry},
    {"subc", op::subtract_carrying, registers_of(2), &opcode_reader::with_carry, takes_carry},
    {"subc.cc", op::subtract_carrying, registers_of(2), &opcode_reader::with_carry, takes_carry | gives_carry},
    {"mad.lo.cc", op::multiply_add_carrying, registers_of(3), &opcode_reader::with_carry, gives_carry},
    {"mad.hi.cc", op::multiply_add_carrying, registers_of(3), &opcode_reader::with_carry, of_upper_half | gives_carry},
    {"madc.lo", op::multiply_add_carrying, registers_of(3), &opcode_reader::with_carry, takes_carry},
    {"madc.hi", op::multiply_add_carrying, registers_of(3), &opcode_reader::with_carry, of_upper_half | takes_carry},
    {"madc.lo.cc", op::multiply_add_carrying, registers_of(3), &opcode_reader::with_carry, takes_carry | gives_carry},
    {"madc.hi.cc", op::multiply_add_carrying, registers_of(3), &opcode_reader::with_carry,
     of_upper_half | takes_carry | gives_carry},
    {"dp4a", op::dot_product, registers_of(3), &opcode_reader::by_dot_product},
    {"dp2a.lo", op::dot_product, registers_of(3), &opcode_reader::by_dot_product, two_products},
    {"dp2a.hi", op::dot_product, registers_of(3), &opcode_reader::by_dot_product, two_products | of_upper_products},
    {"sad", op::difference_sum, registers_of(3), &opcode_reader::integer},
    {"mul24.lo", op::multiply_24, registers_of(2), &opcode_reader::of_low_bits},
    {"mul24.hi", op::multiply_24, registers_of(2), &opcode_reader::of_low_bits, of_upper_half},
    {"mad24.lo", op::multiply_24, registers_of(3), &opcode_reader::of_low_bits},
    {"mad24.hi", op::multiply_24, registers_of(3), &opcode_reader::of_low_bits, of_upper_half},
    {"testp", op::is_class, registers_of(1), &opcode_reader::class_test},
    // bits
    {"and", op::bit_and, registers_of(2), &opcode_reader::integer},
    {"or", op::bit_or, registers_of(2), &opcode_reader::integer},
    {"xor", op::bit_xor, registers_of(2), &opcode_reader::integer},
    {"not", op::bit_not, registers_of(1), &opcode_reader::integer},
    {"cnot", op::logical_not, registers_of(1), &opcode_reader::integer},
    {"shl", op::shift_left, registers_of(2), &opcode_reader::integer},
    {"shr", op::shift_right, registers_of(2), &opcode_reader::integer},
    {"shf.l", op::funnel_left, registers_of(3), &opcode_reader::clamped},
    {"shf.r", op::funnel_right, registers_of(3), &opcode_reader::clamped},
    {"bfe", op::field_extract, registers_of(3), &opcode_reader::integer},
    {"bfi", op::field_insert, registers_of(4), &opcode_reader::integer},
    {"bmsk", op::bit_mask, registers_of(2), &opcode_reader::clamped},
    {"prmt", op::permute, registers_of(3), &opcode_reader::integer},
    {"popc", op::count_ones, registers_of(1), &opcode_reader::integer},
    {"clz", op::count_leading_zeros, registers_of(1), &opcode_reader::integer},
    {"brev", op::reverse_bits, registers_of(1), &opcode_reader::integer},
    {"bfind", op::find_leading_one, registers_of(1), &opcode_reader::integer},
    {"bfind.shiftamt", op::find_leading_one, registers_of(1), &opcode_reader::integer, 1},
    {"lop3", op::three_inputs, registers_of(4), &opcode_reader::integer},
    {"szext", op::extend_bits, registers_of(2), &opcode_reader::clamped},
    // moves and predicates
    {"mov", op::move, registers_of(1, 4, 4), &opcode_reader::integer},
    {"cvt", op::convert, registers_of(1), &opcode_reader::conversion},
    {"cvta", op::to_generic, registers_of(1), &opcode_reader::address_conversion},
    {"cvta.to", op::from_generic, registers_of(1), &opcode_reader::address_conversion},
    {"isspacep", op::is_space, registers_of(1), &opcode_reader::space_test},
    {"mapa", op::map_to_block, registers_of(2), &opcode_reader::block_address},
    {"getctarank", op::block_rank, registers_of(1), &opcode_reader::block_address},
    {"selp", op::select, registers_of(3), &opcode_reader::integer},
    {"setp", op::set_predicate, registers_of(2, 2, 2), &opcode_reader::comparison},
    {"setp.and", op::set_predicate, registers_of(3, 3, 2), &opcode_reader::comparison, model::operation::bit_and},
    {"setp.or", op::set_predicate, registers_of(3, 3, 2), &opcode_reader::comparison, model::operation::bit_or},
    {"setp.xor", op::set_predicate, registers_of(3, 3, 2), &opcode_reader::comparison, model::operation::bit_xor},
    {"set", op::set_number, registers_of(2), &opcode_reader::set_by_comparison},
    {"set.and", op::set_number, registers_of(3), &opcode_reader::set_by_comparison, model::operation::bit_and},
    {"set.or", op::set_number, registers_of(3), &opcode_reader::set_by_comparison, model::operation::bit_or},
    {"set.xor", op::set_number, registers_of(3), &opcode_reader::set_by_comparison, model::operation::bit_xor},
    {"slct", op::select_by_sign, registers_of(3), &opcode_reader::set_by_comparison},
    // instructions whose data is not tracked
    {"mma", op::unknown_result, results, &opcode_reader::anything},
    {"wmma.mma", op::unknown_result, results, &opcode_reader::anything},
    {"movmatrix", op::unknown_result, results, &opcode_reader::anything},
    {"vadd", op::unknown_result, results, &opcode_reader::anything},
    {"vsub", op::unknown_result, results, &opcode_reader::anything},
    {"vmad", op::unknown_result, results, &opcode_reader::anything},
    {"vmin", op::unknown_result, results, &opcode_reader::anything},
    {"vmax", op::unknown_result, results, &opcode_reader::anything},
    {"vshl", op::unknown_result, results, &opcode_reader::anything},
    {"vshr", op::unknown_result, results, &opcode_reader::anything},
    {"vset", op::unknown_result, results, &opcode_reader::anything},
    {"vabsdiff", op::unknown_result, results, &opcode_reader::anything},
    {"vadd2", op::unknown_result, results, &opcode_reader::anything},
    {"vsub2", op::unknown_result, results, &opcode_reader::anything},
    {"vavrg2", op::unknown_result, results, &opcode_reader::anything},
    {"vabsdiff2", op::unknown_result, results, &opcode_reader::anything},
    {"vmin2", op::unknown_result, results, &opcode_reader::anything},
    {"vmax2", op::unknown_result, results, &opcode_reader::anything},
    {"vset2", op::unknown_result, results, &opcode_reader::anything},
    {"vadd4", op::unknown_result, results, &opcode_reader::anything},
    {"vsub4", op::unknown_result, results, &opcode_reader::anything},
    {"vavrg4", op::unknown_result, results, &opcode_reader::anything},
    {"vabsdiff4", op::unknown_result, results, &opcode_reader::anything},
    {"vmin4", op::unknown_result, results, &opcode_reader::anything},
    {"vmax4", op::unknown_result, results, &opcode_reader::anything},
    {"vset4", op::unknown_result, results, &opcode_reader::anything},
    {"fns", op::unknown_result, results, &opcode_reader::anything},
    {"clmad", op::unknown_result, results, &opcode_reader::anything},
    // instructions that are accepted, but end the check when a thread reaches them
    {"tex", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"tld4", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"txq", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"istypep", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"suld", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"sust", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"sured", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"suq", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"multimem.ld_reduce", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"multimem.st", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"multimem.red", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"multimem.cp.async.bulk", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"multimem.cp.reduce.async.bulk", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"discard", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"alloca", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"stacksave", op::unsupported, any_operands, &opcode_reader::not_modelled},
    {"stackrestore", op::unsupported, any_operands, &opcode_reader::not_modelled},
    // control flow and hints
    {"bra", op::branch, {operand_shape::label, 1, 1}, &opcode_reader::jump},
    {"brx.idx", op::branch_index, {operand_shape::index, 2, 2}, &opcode_reader::jump},
    {"exit", op::exit, no_operands, &opcode_reader::jump},
    {"ret", op::exit, no_operands, &opcode_reader::jump},
    {"trap", op::trap, no_operands, &opcode_reader::nothing},
    {"nanosleep", op::nothing, any_operands, &opcode_reader::anything},
    {"prefetch", op::nothing, any_operands, &opcode_reader::anything},
    {"prefetchu", op::nothing, any_operands, &opcode_reader::anything},
    {"applypriority", op::nothing, any_operands, &opcode_reader::anything},
    {"createpolicy", op::nothing, any_operands, &opcode_reader::anything},  // only hints use the resulting register
    {"setmaxnreg", op::nothing, any_operands, &opcode_reader::anything},
    {"pmevent", op::nothing, any_operands, &opcode_reader::anything},
    {"brkpt", op::trap, no_operands, &opcode_reader::nothing},
    // memory
    {"ld", op::load, {operand_shape::load, 2, 3}, &opcode_reader::access},
    {"ldu", op::load, {operand_shape::load, 2, 2}, &opcode_reader::access},
    {"st", op::store, {operand_shape::store, 2, 3}, &opcode_reader::access},
    {"wmma.load", op::load, {operand_shape::rows_load, 2, 3}, &opcode_reader::matrix},
    {"wmma.store", op::store, {operand_shape::rows_store, 2, 3}, &opcode_reader::matrix},
    {"ldmatrix", op::load, {operand_shape::rows_load, 2, 2}, &opcode_reader::matrix_rows},
    {"stmatrix", op::store, {operand_shape::rows_store, 2, 2}, &opcode_reader::matrix_rows},
    {"atom", op::atomic, {operand_shape::atomic, 3, 5}, &opcode_reader::read_modify_write},
    {"red", op::reduction, {operand_shape::reduction, 2, 3}, &opcode_reader::read_modify_write},
    {"fence", op::fence, no_operands, &opcode_reader::fence},
    {"fence.mbarrier_init", op::fence, no_operands, &opcode_reader::initialization_fence},
    {"membar", op::fence, no_operands, &opcode_reader::membar},
    {"fence.proxy.async", op::proxy_fence, no_operands, &opcode_reader::proxy_fence},
    {"fence.proxy.async::generic", op::proxy_fence, no_operands, &opcode_reader::restricted_proxy_fence},
    {"membar.proxy.async", op::proxy_fence, no_operands, &opcode_reader::proxy_fence},
    {"fence.proxy.tensormap::generic", op::proxy_fence, {operand_shape::any}, &opcode_reader::tensor_map_fence},
    {"fence.proxy", op::proxy_fence, no_operands, &opcode_reader::other_proxy_fence},
    {"membar.proxy", op::proxy_fence, no_operands, &opcode_reader::other_proxy_fence},
    // barriers
    {"bar.sync", op::block_barrier, sources_of(1, 2), &opcode_reader::barrier},
    {"bar.arrive", op::block_arrive, sources_of(2, 2), &opcode_reader::barrier},
    {"bar.red.popc", op::block_barrier, registers_of(2, 3, 1), &opcode_reader::barrier_reduction, 1},
    {"bar.red.and", op::block_barrier, registers_of(2, 3, 1), &opcode_reader::barrier_reduction, 2},
    {"bar.red.or", op::block_barrier, registers_of(2, 3, 1), &opcode_reader::barrier_reduction, 3},
    {"bar.warp.sync", op::warp_barrier, sources_of(1, 1), &opcode_reader::barrier},
    {"barrier.sync", op::block_barrier, sources_of(1, 2), &opcode_reader::barrier},
    {"barrier.arrive", op::block_arrive, sources_of(2, 2), &opcode_reader::barrier},
    {"barrier.red.popc", op::block_barrier, registers_of(2, 3, 1), &opcode_reader::barrier_reduction, 1},
    {"barrier.red.and", op::block_barrier, registers_of(2, 3, 1), &opcode_reader::barrier_reduction, 2},
    {"barrier.red.or", op::block_barrier, registers_of(2, 3, 1), &opcode_reader::barrier_reduction, 3},
    {"barrier.cluster.arrive", op::cluster_arrive, no_operands, &opcode_reader::cluster_barrier},
    {"barrier.cluster.wait", op::cluster_wait, no_operands, &opcode_reader::cluster_barrier},
    // warps
    {"shfl.up", op::shuffle, registers_of(4, 4, 2), &opcode_reader::warp, 1},
    {"shfl.down", op::shuffle, registers_of(4, 4, 2), &opcode_reader::warp, 2},
    {"shfl.bfly", op::shuffle, registers_of(4, 4, 2), &opcode_reader::warp, 3},
    {"shfl.idx", op::shuffle, registers_of(4, 4, 2), &opcode_reader::warp, 4},
    {"vote.all", op::vote, registers_of(2), &opcode_reader::warp, 1},
    {"vote.any", op::vote, registers_of(2), &opcode_reader::warp, 2},
    {"vote.uni", op::vote, registers_of(2), &opcode_reader::warp, 3},
    {"vote.ballot", op::vote, registers_of(2), &opcode_reader::warp, 4},
    {"match.any", op::match, registers_of(2), &opcode_reader::match, 1},
    {"match.all", op::match, registers_of(2, 2, 2), &opcode_reader::match, 2},
    {"redux.add", op::warp_reduce, registers_of(2), &opcode_reader::warp_reduction, 1},
    {"redux.min", op::warp_reduce, registers_of(2), &opcode_reader::warp_reduction, 2},
    {"redux.max", op::warp_reduce, registers_of(2), &opcode_reader::warp_reduction, 3},
    {"redux.and", op::warp_reduce, registers_of(2), &opcode_reader::warp_reduction, 4},
    {"redux.or", op::warp_reduce, registers_of(2), &opcode_reader::warp_reduction, 5},
    {"redux.xor", op::warp_reduce, registers_of(2), &opcode_reader::warp_reduction, 6},
    {"elect.sync", op::elect, registers_of(1, 1, 2), &opcode_reader::nothing},
    {"activemask", op::active_mask, registers_of(0), &opcode_reader::integer},
    // mbarriers
    {"mbarrier.init", op::store, addresses_of(2, 2, 0), &opcode_reader::mbarrier, mbarrier_op::init},
    {"mbarrier.inval", op::store, addresses_of(1, 1, 0), &opcode_reader::mbarrier, mbarrier_op::invalidate},
    {"mbarrier.arrive", op::atomic, addresses_of(1, 2, 1), &opcode_reader::mbarrier, mbarrier_op::arrive},
    {"mbarrier.arrive.expect_tx", op::atomic, addresses_of(2, 2, 1), &opcode_reader::mbarrier_with_bytes, mbarrier_op::arrive},
    {"mbarrier.arrive.noComplete", op::atomic, addresses_of(2, 2, 1), &opcode_reader::mbarrier_in_phase, mbarrier_op::arrive},
    {"mbarrier.arrive_drop", op::atomic, addresses_of(1, 2, 1), &opcode_reader::mbarrier, mbarrier_op::arrive_drop},
    {"mbarrier.arrive_drop.expect_tx", op::atomic, addresses_of(2, 2, 1), &opcode_reader::mbarrier_with_bytes,
     mbarrier_op::arrive_drop},
    {"mbarrier.arrive_drop.noComplete", op::atomic, addresses_of(2, 2, 1), &opcode_reader::mbarrier_in_phase,
     mbarrier_op::arrive_drop},
    {"mbarrier.expect_tx", op::atomic, addresses_of(2, 2, 0), &opcode_reader::mbarrier, mbarrier_op::expect},
    {"mbarrier.complete_tx", op::atomic, addresses_of(2, 2, 0), &opcode_reader::mbarrier, mbarrier_op::complete},
    {"mbarrier.try_wait", op::load, addresses_of(2, 3, 1), &opcode_reader::mbarrier, mbarrier_op::test},
    {"mbarrier.test_wait", op::load, addresses_of(2, 3, 1), &opcode_reader::mbarrier, mbarrier_op::test},
    {"mbarrier.pending_count", op::field_extract, {operand_shape::pending_count, 2, 2}, &opcode_reader::pending_count},
    // copies that are performed asynchronously
    {"cp.async", op::async_copy, addresses_of(3, 4, 0), &opcode_reader::copy},
    {"cp.async.bulk", op::async_copy, addresses_of(3, 3, 0), &opcode_reader::bulk_copy},
    {"cp.reduce.async.bulk", op::async_copy, addresses_of(3, 3, 0), &opcode_reader::reducing_copy},
    {"cp.async.bulk.tensor", op::async_copy, {operand_shape::tensor, 2, 6}, &opcode_reader::tensor_copy},
    {"cp.reduce.async.bulk.tensor", op::async_copy, {operand_shape::tensor, 2, 3}, &opcode_reader::tensor_reduction},
    {"cp.async.bulk.prefetch", op::nothing, any_operands, &opcode_reader::prefetch},
    {"cp.async.bulk.prefetch.tensor", op::nothing, any_operands, &opcode_reader::anything},
    {"st.async", op::async_copy, addresses_of(2, 2, 0), &opcode_reader::value_copy},
    {"red.async", op::async_copy, addresses_of(2, 2, 0), &opcode_reader::value_copy},
    {"cp.async.mbarrier.arrive", op::async_copy, addresses_of(1, 1, 0), &opcode_reader::expected_arrival_of_copies,
     mbarrier_op::arrive},
    {"cp.async.mbarrier.arrive.noinc", op::async_copy, addresses_of(1, 1, 0), &opcode_reader::arrival_of_copies,
     mbarrier_op::arrive},
    {"st.bulk", op::store, {operand_shape::bulk_store, 3, 3}, &opcode_reader::bulk_store},
    {"tensormap.replace", op::store, {operand_shape::map_field, 2, 3}, &opcode_reader::map_field},
    {"tensormap.cp_fenceproxy", op::proxy_fence, {operand_shape::map_copy, 3, 3}, &opcode_reader::map_copy},
    {"clusterlaunchcontrol.try_cancel", op::async_copy, addresses_of(2, 2, 0), &opcode_reader::cancellation},
    {"clusterlaunchcontrol.query_cancel.is_canceled", op::set_predicate, registers_of(1), &opcode_reader::cancelled},
    {"clusterlaunchcontrol.query_cancel", op::unknown_result, results, &opcode_reader::anything},
    {"cp.async.commit_group", op::async_commit, no_operands, &opcode_reader::group},
    {"cp.async.bulk.commit_group", op::async_commit, no_operands, &opcode_reader::bulk_group},
    {"cp.async.wait_group", op::async_wait, sources_of(1, 1), &opcode_reader::group},
    {"cp.async.wait_all", op::async_wait, no_operands, &opcode_reader::group, 1},
    {"cp.async.bulk.wait_group", op::async_wait, sources_of(1, 1), &opcode_reader::bulk_group},
    {"wgmma.fence", op::register_fence, no_operands, &opcode_reader::of_warpgroup},
    {"wgmma.mma_async", op::async_copy, {operand_shape::product, 4, 9}, &opcode_reader::product},
    {"wgmma.mma_async.sp", op::async_copy, {operand_shape::product, 6, 11}, &opcode_reader::product, first_is_sparse},
    {"wgmma.commit_group", op::async_commit, no_operands, &opcode_reader::of_warpgroup},
    {"wgmma.wait_group", op::async_wait, sources_of(1, 1), &opcode_reader::of_warpgroup},
    {"tcgen05", op::unsupported, any_operands, &opcode_reader::other_tensor_operation},
    {"tcgen05.alloc", op::store, {operand_shape::allocation, 2, 2}, &opcode_reader::allocation},
    {"tcgen05.dealloc", op::free_columns, sources_of(2, 2), &opcode_reader::of_tensor_memory},
    {"tcgen05.relinquish_alloc_permit", op::nothing, any_operands, &opcode_reader::anything},
    {"tcgen05.fence::before_thread_sync", op::proxy_fence, no_operands, &opcode_reader::tensor_fence},
    {"tcgen05.fence::after_thread_sync", op::proxy_fence, no_operands, &opcode_reader::tensor_fence, 1},
    {"tcgen05.ld", op::async_copy, {operand_shape::tensor_load, 2, 3}, &opcode_reader::tensor_access},
    {"tcgen05.st", op::async_copy, {operand_shape::tensor_store, 2, 3}, &opcode_reader::tensor_access, 1},
    {"tcgen05.wait::ld", op::async_wait, no_operands, &opcode_reader::tensor_wait, waits_for_all},
    {"tcgen05.wait::st", op::async_wait, no_operands, &opcode_reader::tensor_wait, waits_for_all},
    {"tcgen05.cp", op::async_copy, addresses_of(2, 2, 0), &opcode_reader::tensor_fill},
    {"tcgen05.mma", op::async_copy, {operand_shape::tensor_product, 5, 9}, &opcode_reader::tensor_product},
    {"tcgen05.commit", op::async_copy, addresses_of(1, 2, 0), &opcode_reader::tensor_commit},
    {"griddepcontrol.wait", op::grid_wait, no_operands, &opcode_reader::nothing},
    {"griddepcontrol.launch_dependents", op::grid_launch, no_operands, &opcode_reader::nothing}};

constexpr bool spellings_differ() {
  for (const opcode_row& row : opcodes) {
    for (const opcode_row* other = &row + 1; other != std::end(opcodes); ++other) {
      if (row.spelling == other->spelling) {
        return false;
      }
    }
  }
  return true;
}
static_assert(spellings_differ());

/// Calls `each` with the words of a spelling that follow its name, until `each` returns false.
template <class Each>
bool all_words(std::string_view spelling, const Each& each) {
  std::size_t dot = spelling.find('.');
  while (dot != std::string_view::npos) {
    const std::size_t end = std::min(spelling.find('.', dot + 1), spelling.size());
    if (!each(spelling.substr(dot + 1, end - dot - 1))) {
      return false;
    }
    dot = end < spelling.size() ? end : std::string_view::npos;
  }
  return true;
}

operand_form opcode_reader::read() {
  const auto has = [&](std::string_view word) { return std::find(words_.begin() + 1, words_.end(), word) != words_.end(); };
  const auto words_of = [](const opcode_row& row) { return std::count(row.spelling.begin(), row.spelling.end(), '.'); };
  const opcode_row* found = nullptr;
  std::string others;
  for (const opcode_row& row : opcodes) {
    if (name_of(row.spelling) != words_.front()) {
      continue;
    }
    others += (others.empty() ? "" : ", ") + std::string(row.spelling);
    if (all_words(row.spelling, has) && (found == nullptr || words_of(row) > words_of(*found))) {
      found = &row;
    }
  }
  if (found == nullptr) {
    if (others.empty()) {
      throw model::error(i_.line, 1, "the instruction " + quote(i_.text) + " is not known");
    }
    refuse("is not supported; the supported ones are " + others);
  }
  all_words(found->spelling, [&](std::string_view word) { return take(word); });
  i_.code = found->code;
  i_.mode = found->variant.mode;
  i_.what = found->variant.what;
  i_.mbarrier = found->variant.mbarrier;
  form_ = found->operands;
  (this->*found->read)();
  form_.least += i_.hinted ? 1 : 0;
  form_.most += i_.hinted ? 1 : 0;
  if (words_.size() > 1) {
    throw model::error(i_.line, 1, quote("." + std::string(words_[1])) + " of " + quote(i_.text) + " is not supported");
  }
  return form_;
}

// ---- words

/// Removes `word`, and returns whether it was present.
bool opcode_reader::take(std::string_view word) {
  const auto at = std::find(words_.begin() + 1, words_.end(), word);
  if (at == words_.end()) {
    return false;
  }
  words_.erase(at);
  return true;
}

/// Removes the first word that is in a table, and sets `value` to its meaning. Returns false if there is no such word.
template <class Table, class Value>
bool opcode_reader::take_one_of(const Table& table, Value& value) {
  for (const auto& row : table) {
    if (take(row.word)) {
      value = row.value;
      return true;
    }
  }
  return false;
}

/// Removes the last word that is a type, and returns the type.
ptx_type opcode_reader::take_type() {
  for (std::size_t k = words_.size(); k > 1; --k) {
    if (const ptx_type type = type_named(words_[k - 1]); type != ptx_type::none) {
      words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(k - 1));
      return type;
    }
  }
  return ptx_type::none;
}

void opcode_reader::require_type() {
  i_.type = take_type();
  if (i_.type == ptx_type::none) {
    refuse("does not have a supported type");
  }
}

/// Removes the first word that is a state space, and returns it. If an opcode has two state spaces, the first one is the
/// destination's.
state_space opcode_reader::take_space(bool of_several_threads) {
  for (std::size_t k = 1; k < words_.size(); ++k) {
    const space_row* const row = space_named(words_[k]);
    if (row != nullptr && row->space != state_space::generic && (row->for_model || !of_several_threads)) {
      words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(k));
      i_.own_block = row->for_model == model::state_space::shared;  // `.shared` means `.shared::cta`
      return row->space;
    }
  }
  return state_space::generic;
}

bool opcode_reader::take_operation() {
  model::operation what{};
  const bool found = take_one_of(operation_words, what);
  i_.what = what;
  return found && is_atomic_operation(what);
}

void opcode_reader::take_rounding() {
  const int mode = take("rmi") || take("rm")   ? rounds_down
                   : take("rpi") || take("rp") ? rounds_up
                   : take("rzi") || take("rz") ? rounds_to_zero
                                               : 0;
  i_.mode = static_cast<std::uint8_t>(i_.mode | mode);
}

// ---- registers

void opcode_reader::integer() { require_type(); }

/// Replaces the operation and the operands that the opcode's row specifies, because the remaining words require different ones.
void opcode_reader::become(op code, operand_form operands) {
  i_.code = code;
  form_ = operands;
  words_.resize(1);
}

/// Marks the instruction as accepted but not executed. `reason` says why it is not executed and what to do about it.
void opcode_reader::give_up(std::string reason) {
  become(op::unsupported, any_operands);
  i_.reason = std::move(reason);
}

/// The reasons why instructions are not executed, by name prefix.
constexpr meaning<std::string_view> reasons[] = {
    {"t", "textures are not modelled: read the same memory with loads"},
    {"istypep", "textures and surfaces are not modelled: read the same memory with loads"},
    {"su", "surfaces are not modelled: access the same memory with loads and stores"},
    {"multimem",
     "multimem addresses are not modelled: check the kernel with one device, or write its accesses as a litmus test"},
    {"discard", "discarding the contents of memory is not modelled: leave the instruction out"},
    {"", "stack memory of unknown size is not modelled: use an array of a fixed size"}};

void opcode_reader::not_modelled() {
  const auto reason =
      std::find_if(std::begin(reasons), std::end(reasons), [&](const auto& r) { return words_.front().starts_with(r.word); });
  give_up(std::string(reason->value));
}

/// Returns whether the opcode has words for arithmetic whose results are not tracked. If so, makes the results unknown.
bool opcode_reader::take_unfollowed() {
  constexpr std::string_view unfollowed[] = {"relu", "satfinite", "NaN",  "xorsign", "abs",   "oob",   "f32x2", "rs",
                                             "rna",  "tf32",      "pack", "b64x2",   "u16x2", "s16x2", "u8x4",  "s8x4"};
  const bool found = std::any_of(words_.begin() + 1, words_.end(), [&](std::string_view word) {
    const auto is_small = [&] {  // float types with fewer than 16 bits, and vectors of them
      return word.size() > 3 && (word[0] == 'e' || word.starts_with("ue") || word.starts_with("s2f")) && word[1] != 'q' &&
             word.find_first_of("0123456789") != std::string_view::npos;
    };
    return std::find(std::begin(unfollowed), std::end(unfollowed), word) != std::end(unfollowed) || is_small();
  });
  if (found) {
    become(op::unknown_result, results);
  }
  return found;
}

/// Source: PTX ISA, "Extended-Precision Integer Arithmetic Instructions".
void opcode_reader::with_carry() { require_type(); }

void opcode_reader::by_dot_product() {
  const ptx_type second = take_type();
  const ptx_type first = take_type();
  i_.mode = static_cast<std::uint8_t>(i_.mode | (is_signed(first) ? first_is_signed : 0) |
                                      (is_signed(second) ? second_is_signed : 0));
  i_.type = is_signed(first) || is_signed(second) ? ptx_type::s32 : ptx_type::u32;
  if (bytes_of(first) != 4 || bytes_of(second) != 4) {
    refuse("supports only .u32 and .s32");
  }
}

void opcode_reader::of_low_bits() {
  skip({"sat"});
  require_type();
}

void opcode_reader::class_test() {
  constexpr meaning<std::uint8_t> classes[] = {{"finite", 0},     {"infinite", 1}, {"number", 2},
                                               {"notanumber", 3}, {"normal", 4},   {"subnormal", 5}};
  if (!take_one_of(classes, i_.mode)) {
    refuse("does not name a known class of floats");
  }
  require_type();
}

/// `set` and `slct`: the type of the result comes first, and the type of the compared values second.
void opcode_reader::set_by_comparison() {
  skip({"ftz"});
  if (i_.code == op::set_number && !take_one_of(comparison_words, i_.test)) {
    refuse("has no comparison");
  }
  i_.combines = form_.most == 3;
  i_.from = take_type();
  require_type();
  if (is_half(i_.from) || is_half(i_.type)) {
    become(op::unknown_result, results);
  }
}

/// Arithmetic. Float results are computed with the host's precision, even if the opcode requests an approximation.
void opcode_reader::arithmetic() {
  if (take_unfollowed()) {
    return;
  }
  require_type();
  if (is_float(i_.type) && type_named(words_.back()) != ptx_type::none) {  // the opcode has two types
    become(op::unknown_result, results);
    return;
  }
  if (is_float(i_.type)) {
    skip({"rn", "approx", "full", "ftz"});
    i_.mode = take("sat") ? saturates : std::uint8_t{0};
    if (i_.type == ptx_type::f32) {
      take_rounding();
    } else if (take("rz") || take("rm") || take("rp")) {
      become(op::unknown_result, results);
    }
  } else if (take("sat")) {
    become(op::unknown_result, results);
  }
}

void opcode_reader::of_floats() {
  arithmetic();
  if (i_.code != op::unknown_result && !is_float(i_.type)) {
    refuse("supports only floats");
  }
}

void opcode_reader::clamped() {
  i_.mode = take("clamp") ? 1 : 0;
  skip({"wrap"});
  require_type();
}

void opcode_reader::conversion() {
  if (take_unfollowed()) {
    return;
  }
  i_.from = take_type();
  i_.type = take_type();
  if (i_.type == ptx_type::none || i_.from == ptx_type::none) {
    refuse("converts between types that are not supported");
  }
  take_rounding();
  static_cast<void>(take("rni") || take("rn"));
  skip({"ftz"});
  i_.mode = static_cast<std::uint8_t>(i_.mode | (take("sat") ? saturates : 0));
  form_.most = i_.type == ptx_type::f16x2 || i_.type == ptx_type::bf16x2 ? 2 : 1;
}

void opcode_reader::address_conversion() {
  i_.space = take_space(false);
  if (i_.space == state_space::generic) {
    refuse("is not supported");
  }
  require_type();
}

void opcode_reader::space_test() { i_.space = take_space(false); }

void opcode_reader::block_address() {
  i_.space = take_space();
  i_.type = take_type();
}

void opcode_reader::comparison() {
  if (!take_one_of(comparison_words, i_.test)) {
    refuse("has no comparison");
  }
  i_.combines = form_.most == 3;
  require_type();
}

// ---- memory

/// Parses the state space, type, vector size and hints of an access. Hints do not affect the memory model. Source: PTX ISA,
/// "Cache Operators", "Cache Eviction Priority Hints".
void opcode_reader::memory() {
  i_.space = take_space(false);
  require_type();
  if (i_.type == ptx_type::pred) {
    refuse("does not have a type that can be stored in memory");
  }
  i_.bytes = static_cast<std::uint8_t>(bytes_of(i_.type));
  elements();
  skip({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
        "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B", "L2::cache_hint", "L2::evict_first",
        "L2::evict_last", "L2::evict_normal"});
}

void opcode_reader::access() {
  const bool loads = i_.code == op::load;
  i_.non_coherent = loads && take("nc");
  const bool is_volatile = take("volatile");
  const bool mmio = take("mmio");
  i_.strong = take_one_of(order_words, i_.order) || is_volatile || mmio;
  static_cast<void>(take_one_of(scope_words, i_.scope));
  skip({"weak"});
  memory();
  if (i_.order != memory_order::relaxed && i_.order != (loads ? memory_order::acquire : memory_order::release)) {
    refuse(loads ? "is not a PTX load: a load is weak, relaxed or acquire"
                 : "is not a PTX store: a store is weak, relaxed or release");
  }
}

/// The order and scope default to relaxed and .gpu, as in PTX.
void opcode_reader::read_modify_write() {
  i_.strong = true;
  i_.scope = thread_scope::device;
  static_cast<void>(take_one_of(order_words, i_.order));
  static_cast<void>(take_one_of(scope_words, i_.scope));
  if (!take_operation()) {
    refuse("is not a supported read-modify-write");
  }
  skip({"noftz"});
  memory();
  if (is_packed(i_.type)) {
    i_.type = i_.type == ptx_type::f16x2 ? ptx_type::f16 : ptx_type::bf16;
    i_.bytes = 2;
    i_.packed = 2;
    i_.elements = static_cast<std::uint8_t>(2 * i_.elements);
  }
  if (i_.bytes * i_.elements > 16) {
    refuse("accesses more than 16 bytes");
  }
  if (i_.code == op::atomic && i_.what == model::operation::compare_exchange) {
    form_.least = form_.most = 4;
  }
}

/// Loads and stores of matrices with 8 rows of 16 bytes, or with 16 rows if the elements have at most 8 bits. Each lane whose
/// number is less than the number of rows provides the address of one row. Source: PTX ISA, "ldmatrix", "stmatrix".
void opcode_reader::matrix_rows() {
  const bool tall = take("m16n16") || take("m16n8");
  static_cast<void>(take("m8n8") || take("m8n16"));
  const int count = take("x4") ? 4 : take("x2") ? 2 : 1;
  skip({"sync", "aligned", "x1", "trans", "b16", "b8", "b8x16.b6x16_p32", "b8x16", "b6x16_p32", "b4x16_p64"});
  i_.space = take_space();
  i_.own_block = i_.own_block || i_.space == state_space::generic;
  i_.type = ptx_type::b128;
  i_.bytes = 16;
  i_.rows = static_cast<std::uint8_t>(std::min(count * (tall ? 16 : 8), 32));
}

/// Loads and stores of matrices with a given distance between rows or columns. PTX does not define which lane accesses which
/// element. In the checker, each row belongs to one lane. Source: PTX ISA, "wmma.load", "wmma.store".
void opcode_reader::matrix() {
  struct shape_row {
    std::string_view word;
    int m, n, k;
  };
  constexpr shape_row shapes[] = {{"m16n16k16", 16, 16, 16}, {"m8n32k16", 8, 32, 16}, {"m32n8k16", 32, 8, 16},
                                  {"m16n16k8", 16, 16, 8},   {"m8n8k4", 8, 8, 4},     {"m8n8k32", 8, 8, 32},
                                  {"m8n8k128", 8, 8, 128}};
  const auto shape = std::find_if(std::begin(shapes), std::end(shapes), [&](const shape_row& s) { return take(s.word); });
  if (shape == std::end(shapes)) {
    refuse("does not have a known shape");
  }
  const bool a = take("a");
  const bool b = take("b");
  skip({"sync", "aligned", "c", "d"});
  const bool by_rows = !take("col");
  skip({"row"});
  i_.space = take_space();
  const int bits = take("b1") ? 1 : take("s4") || take("u4") ? 4 : take("tf32") ? 32 : 8 * bytes_of(take_type());
  const int height = b ? shape->k : shape->m;
  const int width = a ? shape->k : shape->n;
  i_.rows = static_cast<std::uint8_t>(by_rows ? height : width);
  i_.row_bytes = static_cast<std::uint16_t>((by_rows ? width : height) * bits / 8);
  i_.row_element = static_cast<std::uint8_t>(std::max(bits / 8, 1));
  i_.type = ptx_type::b64;
  i_.bytes = 8;
  if (bits == 0 || i_.row_bytes % 8 != 0 || i_.rows > 32) {
    give_up("matrices of this shape and type are not modelled: use rows whose size is a multiple of 8 bytes");
    i_.rows = 0;
  }
}

void opcode_reader::fence() {
  if (take("sync_restrict::shared::cta") || take("sync_restrict::shared::cluster")) {
    give_up("fences restricted to shared memory are modelled only as proxy fences: use a fence without .sync_restrict");
    return;
  }
  i_.strong = true;
  i_.order = memory_order::acq_rel;
  static_cast<void>(take_one_of(order_words, i_.order));
  if (!take_one_of(scope_words, i_.scope)) {
    refuse("does not name a scope");
  }
}

void opcode_reader::initialization_fence() {
  i_.restricted = true;
  fence();
}

void opcode_reader::membar() {
  i_.strong = true;
  i_.order = memory_order::seq_cst;
  if (take("gl")) {
    i_.scope = thread_scope::device;
  } else if (!take_one_of(scope_words, i_.scope)) {
    refuse("does not name a scope");
  }
}

/// A fence between accesses through the generic proxy and accesses through the async proxy. Source: PTX ISA, "membar/fence".
void opcode_reader::proxy_fence() {
  i_.strong = true;
  i_.proxy_spaces = every_proxy_space;
  static_cast<void>(take_one_of(proxy_space_words, i_.proxy_spaces));
}

/// A releasing or acquiring fence with `.sync_restrict`, which is followed by `::shared::cta` in a release and by
/// `::shared::cluster` in an acquire.
void opcode_reader::restricted_proxy_fence() {
  i_.strong = true;
  i_.restricted = true;
  if (!take_one_of(order_words, i_.order) || !take_one_of(scope_words, i_.scope) ||
      !take(i_.order == memory_order::release ? "sync_restrict::shared::cta" : "sync_restrict::shared::cluster")) {
    refuse("is not a PTX fence");
  }
}

/// A fence for a proxy that the checker does not model.
void opcode_reader::other_proxy_fence() {
  give_up(
      "only the generic, async and tensormap proxies are modelled: leave out accesses through aliases, textures and "
      "surfaces");
}

// ---- barriers and warps

void opcode_reader::barrier() {
  skip({"cta", "sync"});
  i_.aligned = take("aligned") || words_.front() == "bar";  // bar is an abbreviation of barrier.cta.aligned
}

void opcode_reader::barrier_reduction() {
  barrier();
  require_type();
}

void opcode_reader::cluster_barrier() {
  i_.aligned = take("aligned");
  i_.scope = thread_scope::cluster;
  i_.strong = true;
  i_.order = i_.code == op::cluster_arrive ? memory_order::release : memory_order::acquire;
  static_cast<void>(take_one_of(order_words, i_.order));
}

void opcode_reader::warp() {
  skip({"sync"});
  require_type();
}

void opcode_reader::match() {
  warp();
  if (i_.type != ptx_type::b32 && i_.type != ptx_type::b64) {
    refuse("supports only .b32 and .b64");
  }
}

void opcode_reader::warp_reduction() {
  if ((i_.mode == 2 || i_.mode == 3) && words_.back() == "f32") {  // floats support only these operations
    give_up("reductions of floats in a warp are not modelled: reduce with shuffles");
    return;
  }
  warp();
  if (i_.type != ptx_type::u32 && i_.type != ptx_type::s32 && i_.type != ptx_type::b32) {
    refuse("is not supported: the operands of redux.sync must be integers");
  }
}

// ---- asynchronous operations

/// An instruction on an mbarrier, whose state is a 64-bit location. Source: PTX ISA, "mbarrier".
void opcode_reader::mbarrier() {
  const bool waits = i_.mbarrier == mbarrier_op::test;
  const bool arrival = arrives(i_.mbarrier);
  i_.parity = waits && take("parity");
  i_.strong = i_.code != op::store;
  const memory_order one_way = waits ? memory_order::acquire : memory_order::release;
  i_.order = waits || arrival ? one_way : memory_order::relaxed;
  i_.scope = thread_scope::block;
  static_cast<void>(take_one_of(order_words, i_.order));
  static_cast<void>(take_one_of(scope_words, i_.scope));
  i_.space = take_space();
  // only `.shared::cluster` can refer to another block's mbarrier
  i_.own_block = i_.own_block || i_.space == state_space::generic;
  skip({"b64"});
  i_.type = ptx_type::b64;
  i_.bytes = 8;
  if (i_.order != memory_order::relaxed && (i_.order != one_way || (!waits && !arrival))) {
    refuse("is not a PTX instruction: an arrival is relaxed or release, a wait relaxed or acquire");
  }
}

void opcode_reader::mbarrier_with_bytes() {
  i_.transaction = true;
  mbarrier();
}

void opcode_reader::mbarrier_in_phase() {
  i_.keeps_phase = true;
  mbarrier();
}

/// Extracts a field from the result of an arrival.
void opcode_reader::pending_count() {
  skip({"b64"});
  i_.type = ptx_type::u64;
}

void opcode_reader::group() {
  i_.completes = model::completion::group;
  i_.group = async_group::copies;
  i_.reads_only = i_.code == op::async_wait && take("read");
}

void opcode_reader::bulk_group() {
  group();
  i_.completes = model::completion::bulk_group;
  i_.group = async_group::bulk;
}

void opcode_reader::prefetch() {
  i_.completes = model::completion::bulk_group;
  skip({"L2", "global", "L2::cache_hint"});
}

/// `cp.async`, `cp.async.bulk` and `cp.reduce.async.bulk`. Source: PTX ISA, "Data Movement and Conversion Instructions:
/// Asynchronous copy".
void opcode_reader::copy() {
  static_cast<void>(take("ca") || take("cg"));
  static_cast<void>(take("L2::64B") || take("L2::128B") || take("L2::256B"));
  i_.hinted = take("L2::cache_hint");
  i_.space = take_space();
  const bool to_own_block = i_.own_block;
  i_.from_space = take_space();
  i_.own_block = to_own_block;
  if (i_.space == state_space::generic || i_.from_space == state_space::generic) {
    refuse("does not name its state spaces");
  }
  i_.type = ptx_type::b128;
  i_.bytes = 16;
  i_.group = async_group::copies;
}

void opcode_reader::bulk_copy() {
  copy();
  i_.via = model::proxy::async;
  if (take("ignore_oob")) {
    give_up("copies that omit bytes at both ends are not modelled: copy whole units of 16 bytes");
    return;
  }
  i_.masked = take("cp_mask");
  i_.multicast = take("multicast::cluster");
  i_.completes = take("mbarrier::complete_tx::bytes") ? model::completion::mbarrier : model::completion::bulk_group;
  i_.group = i_.completes == model::completion::mbarrier ? async_group::none : async_group::bulk;
  skip({"bulk_group"});
  if (i_.completes == model::completion::mbarrier) {
    form_.least = form_.most = i_.multicast ? 5 : 4;
  } else if (i_.masked) {
    form_.least = form_.most = 4;
  }
}

void opcode_reader::reducing_copy() {
  bulk_copy();
  i_.combines = true;
  skip({"noftz"});
  if (!take_operation()) {
    refuse("is not a supported reduction");
  }
  i_.type = take_type();
  i_.bytes = static_cast<std::uint8_t>(bytes_of(i_.type));
  if (i_.bytes != 2 && i_.bytes != 4 && i_.bytes != 8) {
    refuse("is not supported: the type of a reduction must be 16, 32 or 64 bits wide");
  }
}

/// Parses the type that a copy writes or reduces in one access.
void opcode_reader::piece() {
  i_.type = take_type();
  i_.bytes = static_cast<std::uint8_t>(bytes_of(i_.type));
  if (i_.bytes != 4 && i_.bytes != 8) {
    refuse("is not supported: a reduction or store must have 32 or 64 bits");
  }
}

/// A copy of a box between a tensor and shared memory. Source: PTX ISA, "cp.async.bulk.tensor".
void opcode_reader::tensor_copy() {
  constexpr meaning<std::uint8_t> ranks[] = {{"1d", 1}, {"2d", 2}, {"3d", 3}, {"4d", 4}, {"5d", 5}};
  if (!take_one_of(ranks, i_.dimensions)) {
    refuse("does not specify the number of dimensions, .1d to .5d");
  }
  for (const std::string_view word : {"im2col", "im2col::w", "im2col::w::128", "im2col_no_offs"}) {
    if (take(word)) {
      give_up("tensor copies in " + std::string(word) + " mode are not modelled: check the kernel with copies of tiles");
      return;
    }
  }
  i_.of_rows = take("tile::gather4") || take("tile::scatter4");
  skip({"tile", "bulk_group"});
  i_.copies = copy_kind::tensor;
  i_.via = model::proxy::async;
  i_.hinted = take("L2::cache_hint");
  i_.of_pair = take("cta_group::2");
  skip({"cta_group::1"});
  i_.multicast = take("multicast::cluster");
  const state_space to = take_space();
  const bool to_own_block = i_.own_block;
  i_.from_space = take_space();
  i_.own_block = to == state_space::shared ? to_own_block : i_.own_block;
  i_.space = state_space::shared;
  const bool loads = i_.from_space == state_space::global;
  i_.completes = take("mbarrier::complete_tx::bytes") ? model::completion::mbarrier : model::completion::bulk_group;
  i_.group = loads ? async_group::none : async_group::bulk;
  if ((to == state_space::shared) != loads || loads != (i_.completes == model::completion::mbarrier)) {
    refuse(
        "is not a PTX tensor copy: a copy to shared memory completes on an mbarrier, and a copy from shared memory completes "
        "in a bulk group");
  }
}

void opcode_reader::tensor_reduction() {
  i_.combines = true;
  if (!take_operation()) {
    refuse("is not a supported reduction");
  }
  tensor_copy();
}

// ---- tensor memory. Source: PTX ISA, "TensorCore 5th Generation Instructions"

void opcode_reader::of_tensor_memory() {
  skip({"cta_group::1", "sync", "aligned", "b32"});
  i_.of_pair = take("cta_group::2");
  i_.type = ptx_type::b32;
}

void opcode_reader::other_tensor_operation() {
  give_up(
      "only these tcgen05 instructions are modelled: alloc, dealloc, relinquish_alloc_permit, fence, ld, st, wait, cp, mma and "
      "commit; check the kernel without this instruction");
}

void opcode_reader::allocation() {
  of_tensor_memory();
  i_.space = take_space();
  i_.allocates = true;
  i_.bytes = 4;
}

void opcode_reader::tensor_fence() {
  i_.strong = true;
  i_.restricted = true;
  i_.fenced = one_way::tensor_memory;
  i_.order = i_.mode == 1 ? memory_order::acquire : memory_order::release;
}

/// Determines the lanes and columns that a warp accesses. With `.16x32bx2`, the warp accesses both halves of its lanes, and an
/// immediate operand gives the distance between the columns of the two halves.
void opcode_reader::tensor_access() {
  struct shape_row {
    std::string_view word;
    std::uint16_t lanes, columns;
  };
  constexpr shape_row shapes[] = {
      {"32x32b", 32, 1}, {"16x64b", 16, 2}, {"16x128b", 16, 4}, {"16x256b", 16, 8}, {"16x32bx2", 16, 1}};
  const bool stores = i_.mode == 1;
  if (take("red")) {
    give_up("reducing loads from tensor memory are not modelled: load the values, and then reduce them");
    return;
  }
  const auto shape = std::find_if(std::begin(shapes), std::end(shapes), [&](const shape_row& s) { return take(s.word); });
  constexpr meaning<std::uint16_t> counts[] = {{"x1", 1},   {"x2", 2},   {"x4", 4},   {"x8", 8},
                                               {"x16", 16}, {"x32", 32}, {"x64", 64}, {"x128", 128}};
  std::uint16_t count = 0;
  if (shape == std::end(shapes) || !take_one_of(counts, count)) {
    refuse("does not have a known shape");
  }
  const bool packs = take("pack::16b") || take("unpack::16b");
  of_tensor_memory();
  i_.matrix_rows = shape->lanes;
  i_.matrix_columns = static_cast<std::uint16_t>(shape->columns * count * (packs ? 2 : 1));
  i_.copies = stores ? copy_kind::tensor_store : copy_kind::tensor_load;
  i_.group = stores ? async_group::tensor_stores : async_group::tensor_loads;
  i_.via = model::proxy::async;
  i_.performers = 32;
}

void opcode_reader::tensor_wait() {
  i_.group = i_.text.find("wait::ld") != std::string::npos ? async_group::tensor_loads : async_group::tensor_stores;
  skip({"sync", "aligned"});
}

/// A copy to tensor memory from rows in shared memory that a descriptor specifies.
void opcode_reader::tensor_fill() {
  struct shape_row {
    std::string_view word;
    std::uint16_t rows, columns;
  };
  constexpr shape_row shapes[] = {
      {"128x256b", 128, 8}, {"4x256b", 4, 8}, {"128x128b", 128, 4}, {"64x128b", 64, 4}, {"32x128b", 32, 4}};
  const auto shape = std::find_if(std::begin(shapes), std::end(shapes), [&](const shape_row& s) { return take(s.word); });
  of_tensor_memory();
  if (shape == std::end(shapes)) {
    refuse("does not have a known shape");
  }
  if (words_.size() > 1 && std::any_of(words_.begin() + 1, words_.end(), [](auto w) {
        return w.find("b6x16") == 0 || w.find("b4x16") == 0 || w.find("b8x16") == 0;
      })) {
    give_up("copies to tensor memory that expand numbers to 8 bits are not modelled: copy 8-bit numbers");
    return;
  }
  skip({"warpx2::02_13", "warpx2::01_23", "warpx4"});
  i_.matrix_rows = shape->rows;
  i_.matrix_columns = shape->columns;
  i_.copies = copy_kind::tensor_fill;
  i_.group = async_group::tensor_operations;
  i_.via = model::proxy::async;
  i_.type = ptx_type::b64;
}

void opcode_reader::tensor_product() {
  if (take("ws")) {
    give_up("products with stationary weights (.ws) are not modelled: check the kernel without .ws");
    return;
  }
  of_tensor_memory();
  i_.copies = copy_kind::tensor_product;
  i_.group = async_group::tensor_operations;
  i_.via = model::proxy::async;
  i_.mode = static_cast<std::uint8_t>((take("block_scale") ? is_block_scaled : 0) | (take("sp") ? first_is_sparse : 0));
  i_.type = ptx_type::b64;
  words_.resize(1);  // removes the types of the computation, and hints
}

void opcode_reader::tensor_commit() {
  of_tensor_memory();
  skip({"mbarrier::arrive::one", "b64"});
  i_.multicast = take("multicast::cluster");
  i_.space = take_space();
  i_.space = state_space::shared;
  i_.copies = copy_kind::tensor_commit;
  i_.completes = model::completion::mbarrier;
  i_.type = ptx_type::b64;
  form_.least = form_.most = i_.multicast ? 2 : 1;
}

/// A fence between changes to a tensor map and the tensor copies that read it. The operand after the address is the size of the
/// map. Source: PTX ISA, "membar/fence".
void opcode_reader::tensor_map_fence() {
  i_.strong = true;
  i_.restricted = true;
  i_.fenced = one_way::tensor_maps;
  if (!take_one_of(order_words, i_.order) || !take_one_of(scope_words, i_.scope) ||
      (i_.order != memory_order::release && i_.order != memory_order::acquire)) {
    refuse("is not a PTX fence");
  }
}

/// The executing thread writes zeros with ordinary stores. Source: PTX ISA, "st.bulk".
void opcode_reader::bulk_store() {
  skip({"weak"});
  i_.space = take_space();
  i_.own_block = i_.own_block || i_.space == state_space::generic;
  i_.type = ptx_type::b64;
  i_.bytes = 8;
}

/// A weak read and a weak write of the whole tensor map. Source: PTX ISA, "tensormap.replace".
void opcode_reader::map_field() {
  const auto is_field = [](std::string_view word) {
    return std::any_of(std::begin(tensor_map_fields), std::end(tensor_map_fields),
                       [&](const auto& f) { return f.word == word; });
  };
  const auto field = std::find_if(words_.begin() + 1, words_.end(), is_field);
  if (field == words_.end()) {
    refuse("does not name a known field of a tensor map");
  }
  i_.map_field = static_cast<std::uint8_t>(std::find_if(std::begin(tensor_map_fields), std::end(tensor_map_fields),
                                                        [&](const auto& f) { return f.word == *field; }) -
                                           std::begin(tensor_map_fields));
  words_.erase(field);
  skip({"tile", "b1024", "b32", "b64"});
  i_.space = take_space();
  i_.type = ptx_type::b128;
  i_.bytes = 16;
}

/// The first lane copies a tensor map, and a fence executed by all lanes releases it. Source: PTX ISA,
/// "tensormap.cp_fenceproxy".
void opcode_reader::map_copy() {
  skip({"global", "shared::cta", "tensormap::generic", "sync", "aligned"});
  tensor_map_fence();
}

/// A request to cancel a launch. The response consists of 16 zero bytes, which mean that no launch was cancelled. Source: PTX
/// ISA, "clusterlaunchcontrol.try_cancel".
void opcode_reader::cancellation() {
  if (take("multicast::cluster::all")) {
    give_up(
        "a response that is multicast to all blocks of a cluster is not modelled: check the kernel with clusters of one block");
    return;
  }
  skip({"async", "mbarrier::complete_tx::bytes", "b128"});
  i_.space = take_space();
  i_.own_block = true;
  if (i_.space == state_space::generic) {
    i_.space = state_space::shared;
  }
  i_.copies = copy_kind::answer;
  i_.completes = model::completion::mbarrier;
  i_.via = model::proxy::async;
  i_.type = ptx_type::b64;
}

void opcode_reader::cancelled() {
  skip({"pred", "b128"});
  i_.type = ptx_type::b64;
  i_.test = ptx_comparison::ne;
}

void opcode_reader::of_warpgroup() {
  i_.group = async_group::products;
  skip({"sync", "aligned"});
}

/// A matrix product that the 128 threads of a warpgroup compute together. A row of an operand has 32 bytes along the summation
/// index. Source: PTX ISA, "wgmma.mma_async".
void opcode_reader::product() {
  of_warpgroup();
  i_.copies = copy_kind::product;
  i_.via = model::proxy::async;
  i_.performers = 128;
  i_.space = state_space::shared;
  i_.type = ptx_type::b64;
  const auto shape = std::find_if(words_.begin() + 1, words_.end(), [](std::string_view w) { return w.starts_with("m64n"); });
  if (shape == words_.end()) {
    refuse("does not have a known shape");
  }
  i_.matrix_rows = 64;
  for (std::size_t k = 4; k < shape->size() && (*shape)[k] >= '0' && (*shape)[k] <= '9'; ++k) {
    i_.matrix_columns = static_cast<std::uint16_t>(10 * i_.matrix_columns + ((*shape)[k] - '0'));
  }
  if (i_.matrix_columns == 0 || i_.matrix_columns > 256 || i_.matrix_columns % 8 != 0) {
    refuse("does not have a known shape");
  }
  words_.resize(1);  // removes the types of the computation
}

void opcode_reader::arrival_of_copies() {
  i_.copies = copy_kind::arrival;
  i_.completes = model::completion::mbarrier;
  i_.space = take_space();
  skip({"b64"});
}

void opcode_reader::expected_arrival_of_copies() {
  i_.is_expected = true;
  arrival_of_copies();
}

/// `st.async` and `red.async`, which store or reduce register values.
void opcode_reader::value_copy() {
  i_.copies = copy_kind::values;
  i_.completes = model::completion::mbarrier;
  i_.combines = words_.front() == "red";
  static_cast<void>(take("mmio"));
  if (take("release")) {
    i_.order = memory_order::release;
    i_.strong = true;
    i_.completes = model::completion::group;  // no instruction waits for it
    if (!take_one_of(scope_words, i_.scope)) {
      refuse("does not name a scope");
    }
    i_.space = take_space();
    i_.space = i_.space == state_space::generic ? state_space::global : i_.space;
    form_.least = form_.most = 2;
    if (i_.combines && !take_operation()) {
      refuse("is not a supported read-modify-write");
    }
    i_.type = take_type();
    i_.bytes = static_cast<std::uint8_t>(bytes_of(i_.type));
    return;
  }
  static_cast<void>(take("weak") || take("relaxed"));
  i_.scope = thread_scope::cluster;
  skip({"cluster", "mbarrier::complete_tx::bytes"});
  i_.space = take_space();
  elements();
  form_.least = form_.most = 2U + i_.elements;
  if (i_.combines && !take_operation()) {
    refuse("is not a supported read-modify-write");
  }
  piece();
}

}  // namespace

operand_form read_opcode(instruction& i) { return opcode_reader(i).read(); }

std::string_view spelling_of(op code, mbarrier_op mbarrier) noexcept {
  for (const opcode_row& row : opcodes) {
    if (row.code == code && row.variant.mbarrier == mbarrier) {
      return row.spelling;
    }
  }
  return mbarrier == mbarrier_op::none ? std::string_view{} : spelling_of(code);
}

}  // namespace membar::ptx
