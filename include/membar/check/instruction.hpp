// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// PTX instructions in a form that can be executed, and what those without an effect on memory compute.
#pragma once

#include <membar/check/ptx_module.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace membar::inline v0_2::checker {

/// What an instruction does.
enum class op : std::uint8_t {
  // registers alone
  move,
  pack,    ///< mov.b64 %rd, {%r1, %r2}
  unpack,  ///< mov.b64 {%r1, %r2}, %rd
  convert,
  to_generic,    ///< cvta.space
  from_generic,  ///< cvta.to.space
  is_space,
  add,
  subtract,
  multiply_low,
  multiply_high,
  multiply_wide,
  multiply_add_low,
  multiply_add_high,
  multiply_add_wide,
  fused_multiply_add,
  divide,
  remainder,
  negate,
  absolute,
  minimum,
  maximum,
  square_root,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  logical_not,  ///< cnot
  shift_left,
  shift_right,
  funnel_left,
  funnel_right,
  field_extract,
  field_insert,
  bit_mask,  ///< bmsk
  permute,
  count_ones,
  count_leading_zeros,
  reverse_bits,
  find_leading_one,
  three_inputs,  ///< lop3
  set_predicate,
  select,
  map_to_block,  ///< mapa: an address in another block's shared memory
  block_rank,    ///< getctarank
  load_param,    ///< a parameter of the kernel
  nothing,       ///< nanosleep, prefetch, discard of hints
  // the thread's path
  branch,
  branch_index,
  exit,
  trap,
  // other threads see these
  load,
  store,
  atomic,
  reduction,
  fence,
  block_barrier,  ///< bar.sync, bar.red: an arrival, then a wait
  block_arrive,   ///< bar.arrive: an arrival alone
  warp_barrier,
  shuffle,
  vote,
  match,
  warp_reduce,
  elect,
  active_mask,
  cluster_arrive,  ///< barrier.cluster.arrive
  cluster_wait,    ///< barrier.cluster.wait
  proxy_fence,     ///< fence.proxy.async
  async_copy,      ///< starts copies, stores or reductions that are performed later
  async_commit,    ///< the end of a group of them
  async_wait,      ///< for groups
  grid_launch,     ///< griddepcontrol.launch_dependents
  grid_wait        ///< griddepcontrol.wait
};

/// What an instruction does to an mbarrier, which is a location of 64 bits: a store, a read-modify-write or a load.
enum class mbarrier_op : std::uint8_t { none, init, invalidate, arrive, arrive_drop, expect, expect_arrival, complete, test };

/// Whether the operation is an arrival.
[[nodiscard]] constexpr bool arrives(mbarrier_op operation) noexcept {
  return operation == mbarrier_op::arrive || operation == mbarrier_op::arrive_drop;
}

/// What a proxy fence is for. Shared memory is that of the thread's own block, or of another one of its cluster.
enum class proxy_space : std::uint8_t { global, own_shared, other_shared };
inline constexpr int proxy_spaces = 3;

/// The bit of a space in `instruction::proxy_spaces`.
[[nodiscard]] constexpr std::uint8_t bit_of(proxy_space space) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(space));
}
inline constexpr std::uint8_t every_proxy_space = (1U << proxy_spaces) - 1;

/// Whether the instruction is an event of the memory model, or a meeting with other threads.
[[nodiscard]] constexpr bool is_event(op code) noexcept { return code >= op::load; }

/// A register whose value the machine gives.
enum class special : std::uint8_t {
  thread_x,
  thread_y,
  thread_z,
  threads_x,
  threads_y,
  threads_z,
  block_x,
  block_y,
  block_z,
  blocks_x,
  blocks_y,
  blocks_z,
  lane,
  warp,
  warps,
  workspace_high,  ///< of the address of what cooperative groups keep of a grid
  workspace_low,
  lanes_equal,
  lanes_less,
  lanes_less_equal,
  lanes_greater,
  lanes_greater_equal,
  cluster_rank,
  cluster_blocks,
  cluster,
  clusters,
  explicit_cluster,
  zero,
  one,
  clock,
  nanoseconds
};

/// A source: nothing, a register, a constant or a special register.
struct source_operand {
  enum class kind_t : std::uint8_t { none, reg, constant, special };
  kind_t kind = kind_t::none;
  bool negated = false;  ///< `!%p`
  special machine = special::lane;
  std::int32_t word = -1;  ///< the register's first word
  std::uint64_t low = 0;   ///< of a constant; added to a register
};

/// A destination register.
struct destination_operand {
  std::int32_t word = -1;  ///< -1: thrown away
  std::uint8_t bits = 32;
};

/// A comparison of `setp`. The ordered ones of floats are false for NaN, those with `or_nan` true.
enum class ptx_comparison : std::uint8_t { eq, ne, lt, le, gt, ge, lo, ls, hi, hs, equ, neu, ltu, leu, gtu, geu, num, nan };

/// One executable instruction. Members that its operation does not use keep their defaults.
struct instruction {
  op code = op::nothing;
  ptx_type type = ptx_type::b32;
  ptx_type from = ptx_type::none;  ///< convert: the source's type
  ptx_comparison test = ptx_comparison::eq;
  model::operation what = model::operation::move;  ///< atomics; set_predicate and bar.red: how the results are combined
  bool combines = false;                           ///< set_predicate: there is a third operand
  std::uint8_t mode = 0;                           ///< shuffle and vote kinds, shf.clamp, conversions that saturate or round
  bool guard_negated = false;
  bool strong = false;
  bool non_coherent = false;  ///< a load through the proxy of read-only data
  bool aligned = false;       ///< a barrier: all threads of a warp execute the same one
  bool head = false;          ///< a jump backward leads here
  mbarrier_op mbarrier = mbarrier_op::none;
  bool transaction = false;                       ///< an arrival on an mbarrier: expects bytes
  bool parity = false;                            ///< a test of an mbarrier: names the phase by its parity
  bool keeps_phase = false;                       ///< an arrival that may not complete the phase
  bool restricted = false;                        ///< a fence for the initialization of mbarriers alone
  bool reads_only = false;                        ///< a wait for groups: for the reading of their sources
  bool multicast = false;                         ///< a copy to several blocks
  std::uint8_t proxy_spaces = 0;                  ///< a proxy fence: a bit for each `proxy_space`
  state_space from_space = state_space::generic;  ///< a copy's source
  model::completion completes = model::completion::group;
  memory_order order = memory_order::relaxed;
  thread_scope scope = thread_scope::system;
  state_space space = state_space::generic;
  std::uint8_t bytes = 0;     ///< memory: the size of one element
  std::uint8_t elements = 1;  ///< memory: of a vector
  std::uint8_t sources = 0;
  std::uint8_t destinations = 0;
  std::int32_t guard = -1;  ///< word of the predicate
  std::int32_t target = -1;
  std::int64_t offset = 0;  ///< memory: added to source 0
  std::array<destination_operand, 8> to{};
  std::array<source_operand, 9> by{};
  std::vector<std::int32_t> targets{};  ///< branch_index
  int line = 0;                         ///< in the PTX text
  int file = 0;
  int source_line = 0;
  int caller_file = 0;
  int caller_line = 0;
  std::string text{};
};

/// Whether an access of a vector acquires or releases. Elements are in no order, and so one that orders would order the others too much; for
/// relaxed ones program order says nothing that no fence or barrier says. Source: PTX ISA, "Vector Data-types" of the memory consistency model.
[[nodiscard]] constexpr bool acquires_or_releases_a_vector(const instruction& i) noexcept {
  return i.elements > 1 && i.order != memory_order::relaxed;
}

/// A number of `bits` bits, the rest 0.
[[nodiscard]] constexpr std::uint64_t truncated(std::uint64_t value, int bits) noexcept {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << static_cast<unsigned>(bits)) - 1);
}

/// The value as 64 bits: by its sign if the type is signed.
[[nodiscard]] constexpr std::uint64_t extended(std::uint64_t value, ptx_type type) noexcept {
  const int bits = bytes_of(type) * 8;
  if (bits >= 64) {
    return value;
  }
  const std::uint64_t low = truncated(value, bits);
  const std::uint64_t sign = std::uint64_t{1} << static_cast<unsigned>(bits - 1);
  return is_signed(type) ? (low ^ sign) - sign : low;
}

namespace detail {

[[nodiscard]] constexpr std::int64_t as_signed(std::uint64_t value) noexcept { return static_cast<std::int64_t>(value); }

/// The upper 64 bits of a product.
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
    default:
      return bits_of(std::sqrt(a));
  }
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
  return is_signed(type) ? compare_values(test, as_signed(extended(a, type)), as_signed(extended(b, type)))
                         : compare_values(test, extended(a, type), extended(b, type));
}

/// What a conversion rounds to, and that it saturates: bits of `instruction::mode`.
inline constexpr std::uint8_t rounds_down = 1;
inline constexpr std::uint8_t rounds_up = 2;
inline constexpr std::uint8_t rounds_to_zero = 3;
inline constexpr std::uint8_t saturates = 4;

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

[[nodiscard]] inline std::uint64_t convert(const instruction& i, std::uint64_t value) noexcept {
  const int bits = bytes_of(i.type) * 8;
  if (is_float(i.from)) {
    const double from = i.from == ptx_type::f32 ? static_cast<double>(float_of<float>(value)) : float_of<double>(value);
    if (i.type == ptx_type::f32) {
      return bits_of(i.from == ptx_type::f32 && (i.mode & 3U) != 0 ? rounded(float_of<float>(value), i.mode)
                                                                   : static_cast<float>(from));
    }
    if (i.type == ptx_type::f64) {
      return bits_of(i.from == ptx_type::f64 && (i.mode & 3U) != 0 ? rounded(from, i.mode) : from);
    }
    // to an integer: clamped to its range, NaN becomes 0
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
    if (i.type == ptx_type::f32) {
      return bits_of(is_signed(i.from) ? static_cast<float>(as_signed(wide)) : static_cast<float>(wide));
    }
    return bits_of(is_signed(i.from) ? static_cast<double>(as_signed(wide)) : static_cast<double>(wide));
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

}  // namespace detail

/// What an instruction of registers alone computes of its sources. Values are 64 bits wide; the caller truncates the result to
/// the register. Division by zero gives all ones: PTX leaves it open.
[[nodiscard]] inline std::uint64_t compute(const instruction& i, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                           std::uint64_t d = 0) noexcept {
  using detail::as_signed;
  const ptx_type type = i.type;
  const int bits = bytes_of(type) * 8;
  const auto width = static_cast<unsigned>(bits);
  if (is_float(type) &&
      ((i.code >= op::add && i.code <= op::multiply_low) || i.code == op::multiply_add_low ||
       i.code == op::fused_multiply_add || i.code == op::divide || (i.code >= op::negate && i.code <= op::square_root))) {
    return type == ptx_type::f32 ? detail::compute_float<float>(i.code, a, b, c)
                                 : detail::compute_float<double>(i.code, a, b, c);
  }
  const std::uint64_t x = extended(a, type);
  const std::uint64_t y = extended(b, type);
  switch (i.code) {
    case op::move:
      return a;
    case op::convert:
      return detail::convert(i, a);
    case op::add:
      return x + y;
    case op::subtract:
      return x - y;
    case op::multiply_low:
    case op::multiply_wide:
      return x * y;
    case op::multiply_high:
      return bits == 64 ? detail::high_product(x, y, is_signed(type)) : (x * y) >> width;
    case op::multiply_add_low:
    case op::multiply_add_wide:
      return x * y + c;
    case op::multiply_add_high:
      return (bits == 64 ? detail::high_product(x, y, is_signed(type)) : (x * y) >> width) + c;
    case op::divide:
    case op::remainder: {
      const bool divides = i.code == op::divide;
      if (truncated(b, bits) == 0) {
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
    case op::negate:
      return std::uint64_t{0} - x;
    case op::absolute:
      return as_signed(x) < 0 ? std::uint64_t{0} - x : x;
    case op::minimum:
      return is_signed(type) ? (as_signed(x) < as_signed(y) ? x : y) : (x < y ? x : y);
    case op::maximum:
      return is_signed(type) ? (as_signed(x) < as_signed(y) ? y : x) : (x < y ? y : x);
    case op::bit_and:
      return a & b;
    case op::bit_or:
      return a | b;
    case op::bit_xor:
      return a ^ b;
    case op::bit_not:
      return type == ptx_type::pred ? (a ^ 1U) & 1U : ~a;
    case op::logical_not:
      return truncated(a, bits) == 0 ? 1 : 0;
    case op::shift_left: {
      const std::uint64_t by = truncated(b, 32);
      return by >= width ? 0 : a << by;
    }
    case op::shift_right: {
      const std::uint64_t by = truncated(b, 32);
      if (is_signed(type)) {
        return static_cast<std::uint64_t>(as_signed(x) >> (by >= width ? width - 1 : by));
      }
      return by >= width ? 0 : x >> by;
    }
    case op::funnel_left:
    case op::funnel_right: {
      const std::uint64_t both = (truncated(b, 32) << 32U) | truncated(a, 32);
      const std::uint64_t asked = truncated(c, 32);
      const std::uint64_t by = i.mode != 0 ? (asked < 32 ? asked : 32) : asked & 31U;
      return i.code == op::funnel_left ? (both << by) >> 32U : both >> by;
    }
    case op::field_extract: {
      const std::uint64_t position = b & 0xffU;
      const std::uint64_t length = c & 0xffU;
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
    case op::bit_mask: {
      const std::uint64_t position = i.mode != 0 ? truncated(a, 32) : a & 31U;
      const std::uint64_t length = i.mode != 0 ? truncated(b, 32) : b & 31U;
      const std::uint64_t ones = length >= 32 ? 0xffffffffU : (std::uint64_t{1} << length) - 1;
      return position >= 32 ? 0 : ones << position;
    }
    case op::field_insert: {
      const std::uint64_t position = c & 0xffU;
      const std::uint64_t length = d & 0xffU;
      std::uint64_t result = b;
      for (std::uint64_t k = 0; k < length && position + k < width; ++k) {
        const std::uint64_t bit = std::uint64_t{1} << (position + k);
        result = ((a >> k) & 1U) != 0 ? result | bit : result & ~bit;
      }
      return result;
    }
    case op::permute:
      return detail::permuted(a, truncated(b, 32), c);
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
    case op::three_inputs: {
      std::uint64_t result = 0;
      for (unsigned k = 0; k < 32; ++k) {
        const auto row = static_cast<unsigned>(((a >> k) & 1U) << 2U | ((b >> k) & 1U) << 1U | ((c >> k) & 1U));
        result |= static_cast<std::uint64_t>((static_cast<unsigned>(i.mode) >> row) & 1U) << k;
      }
      return result;
    }
    case op::select:
      return (c & 1U) != 0 ? a : b;
    case op::set_predicate: {
      const std::uint64_t holds = detail::compare(i.test, type, a, b) ? 1 : 0;
      return i.combines ? static_cast<std::uint64_t>(model::apply(i.what, as_signed(holds), as_signed(c & 1U))) & 1U : holds;
    }
    default:
      return 0;
  }
}

}  // namespace membar::inline v0_2::checker
