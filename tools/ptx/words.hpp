// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The words that many PTX instructions share, and their meaning: types, state spaces, orders, scopes, operations, comparisons
/// and special registers. All code that parses or prints PTX or a litmus file uses these tables.
#pragma once

#include <membar/memory_order.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace membar::ptx {

/// A word and its meaning.
template <class Value>
struct meaning {
  std::string_view word;
  Value value;
};

/// Returns the meaning of a word, or nothing if the table does not contain the word.
template <class Value, std::size_t Count>
[[nodiscard]] constexpr std::optional<Value> find(const meaning<Value> (&table)[Count], std::string_view word) noexcept {
  for (const meaning<Value>& one : table) {
    if (one.word == word) {
      return one.value;
    }
  }
  return std::nullopt;
}

/// Returns the first word that has the given meaning, or an empty word if there is none.
template <class Value, std::size_t Count>
[[nodiscard]] constexpr std::string_view word_for(const meaning<Value> (&table)[Count], Value value) noexcept {
  for (const meaning<Value>& one : table) {
    if (one.value == value) {
      return one.word;
    }
  }
  return {};
}

// ---- types

/// A PTX type. Source: PTX ISA, "Types".
enum class ptx_type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f32,
  f64,
  f16,
  bf16,
  f16x2,
  bf16x2
};

/// A type: its name without the dot, and its size in bytes, which is 1 for a predicate.
struct type_row {
  std::string_view word;
  ptx_type type;
  std::uint8_t bytes;
};

/// All types, in the order of `ptx_type`.
inline constexpr type_row type_words[] = {
    {"", ptx_type::none, 0},        {"pred", ptx_type::pred, 1}, {"b8", ptx_type::b8, 1},      {"b16", ptx_type::b16, 2},
    {"b32", ptx_type::b32, 4},      {"b64", ptx_type::b64, 8},   {"b128", ptx_type::b128, 16}, {"u8", ptx_type::u8, 1},
    {"u16", ptx_type::u16, 2},      {"u32", ptx_type::u32, 4},   {"u64", ptx_type::u64, 8},    {"s8", ptx_type::s8, 1},
    {"s16", ptx_type::s16, 2},      {"s32", ptx_type::s32, 4},   {"s64", ptx_type::s64, 8},    {"f32", ptx_type::f32, 4},
    {"f64", ptx_type::f64, 8},      {"f16", ptx_type::f16, 2},   {"bf16", ptx_type::bf16, 2},  {"f16x2", ptx_type::f16x2, 4},
    {"bf16x2", ptx_type::bf16x2, 4}};

constexpr bool types_are_in_order() {
  for (std::size_t k = 0; k < std::size(type_words); ++k) {
    if (type_words[k].type != static_cast<ptx_type>(k)) {
      return false;
    }
  }
  return true;
}
static_assert(types_are_in_order());

/// Returns the type with the given name (without a dot), or `none` if there is no such type.
[[nodiscard]] constexpr ptx_type type_named(std::string_view name) noexcept {
  for (const type_row& row : type_words) {
    if (row.word == name) {
      return row.type;
    }
  }
  return ptx_type::none;
}

/// Returns the size of a type in bytes, which is 1 for a predicate and 0 for `none`.
[[nodiscard]] constexpr int bytes_of(ptx_type type) noexcept { return type_words[static_cast<std::size_t>(type)].bytes; }

[[nodiscard]] constexpr bool is_signed(ptx_type type) noexcept { return type >= ptx_type::s8 && type <= ptx_type::s64; }

[[nodiscard]] constexpr bool is_float(ptx_type type) noexcept { return type >= ptx_type::f32 && type <= ptx_type::bf16x2; }

/// Returns whether the type is a pair of 16-bit floats.
[[nodiscard]] constexpr bool is_packed(ptx_type type) noexcept { return type == ptx_type::f16x2 || type == ptx_type::bf16x2; }

/// Returns whether the type is a 16-bit float or a pair of them.
[[nodiscard]] constexpr bool is_half(ptx_type type) noexcept { return type >= ptx_type::f16 && type <= ptx_type::bf16x2; }

// ---- state spaces

/// The state space of a variable or of an access.
enum class state_space : std::uint8_t { generic, global, shared, local, param, constant };

/// A word that names a state space in an instruction. The memory model contains only the state spaces that several threads
/// share.
struct space_row {
  std::string_view word;
  state_space space;
  std::optional<model::state_space> for_model;
};

/// All words for state spaces. Declarations use the first word of each space. The word "generic" exists only in litmus files;
/// in PTX, an opcode without a state space is generic.
inline constexpr space_row space_words[] = {{"generic", state_space::generic, model::state_space::generic},
                                            {"global", state_space::global, model::state_space::global},
                                            {"shared", state_space::shared, model::state_space::shared},
                                            {"shared::cta", state_space::shared, model::state_space::shared},
                                            {"shared::cluster", state_space::shared, model::state_space::shared_cluster},
                                            {"local", state_space::local, {}},
                                            {"param", state_space::param, {}},
                                            {"param::entry", state_space::param, {}},
                                            {"param::func", state_space::param, {}},
                                            {"const", state_space::constant, {}}};

/// Returns the row for a word, or null if the word does not name a state space.
[[nodiscard]] constexpr const space_row* space_named(std::string_view word) noexcept {
  for (const space_row& row : space_words) {
    if (row.word == word) {
      return &row;
    }
  }
  return nullptr;
}

// ---- memory

inline constexpr meaning<memory_order> order_words[] = {{"relaxed", memory_order::relaxed},
                                                        {"acquire", memory_order::acquire},
                                                        {"release", memory_order::release},
                                                        {"acq_rel", memory_order::acq_rel},
                                                        {"sc", memory_order::seq_cst}};

inline constexpr meaning<thread_scope> scope_words[] = {{"cta", thread_scope::block},
                                                        {"cluster", thread_scope::cluster},
                                                        {"gpu", thread_scope::device},
                                                        {"sys", thread_scope::system}};

/// Returns whether the opcode of an instruction specifies block or cluster scope. The instruction's text must be in lower case.
[[nodiscard]] constexpr bool names_block_or_cluster(std::string_view text) noexcept {
  std::string_view opcode = text.substr(0, text.find_first_of(" \t"));
  while (!opcode.empty()) {
    const std::size_t end = std::min(opcode.find('.'), opcode.size());
    const std::string_view word = opcode.substr(0, end);
    if (word == "cta" || word == "cluster") {
      return true;
    }
    opcode.remove_prefix(std::min(end + 1, opcode.size()));
  }
  return false;
}

/// Operations on memory and registers.
inline constexpr meaning<model::operation> operation_words[] = {
    {"exch", model::operation::move},           {"add", model::operation::add},       {"sub", model::operation::subtract},
    {"mul", model::operation::multiply},        {"div", model::operation::divide},    {"and", model::operation::bit_and},
    {"or", model::operation::bit_or},           {"xor", model::operation::bit_xor},   {"min", model::operation::minimum},
    {"max", model::operation::maximum},         {"inc", model::operation::increment}, {"dec", model::operation::decrement},
    {"cas", model::operation::compare_exchange}};

/// Returns whether `atom` and `red` support the operation. Source: PTX ISA, "atom", "red".
[[nodiscard]] constexpr bool is_atomic_operation(model::operation what) noexcept {
  return what <= model::operation::compare_exchange && what != model::operation::subtract &&
         what != model::operation::multiply && what != model::operation::divide;
}

// ---- registers

/// A comparison for `setp`. If an operand is NaN, ordered comparisons of floats are false, and comparisons whose names end in
/// `u` are true.
enum class ptx_comparison : std::uint8_t { eq, ne, lt, le, gt, ge, lo, ls, hi, hs, equ, neu, ltu, leu, gtu, geu, num, nan };

inline constexpr meaning<ptx_comparison> comparison_words[] = {
    {"eq", ptx_comparison::eq},   {"ne", ptx_comparison::ne},   {"lt", ptx_comparison::lt},   {"le", ptx_comparison::le},
    {"gt", ptx_comparison::gt},   {"ge", ptx_comparison::ge},   {"lo", ptx_comparison::lo},   {"ls", ptx_comparison::ls},
    {"hi", ptx_comparison::hi},   {"hs", ptx_comparison::hs},   {"equ", ptx_comparison::equ}, {"neu", ptx_comparison::neu},
    {"ltu", ptx_comparison::ltu}, {"leu", ptx_comparison::leu}, {"gtu", ptx_comparison::gtu}, {"geu", ptx_comparison::geu},
    {"num", ptx_comparison::num}, {"nan", ptx_comparison::nan}};

/// A special register, whose value the hardware provides.
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
  workspace_high,  ///< the upper half of the address of the cooperative groups' grid workspace
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
  dynamic_shared,  ///< the number of bytes of the launch's dynamic shared memory
  unknown,         ///< a property of the hardware that is not modelled, such as the number of a multiprocessor or a grid
  zero,
  one,
  clock,
  nanoseconds
};

inline constexpr meaning<special> special_registers[] = {{"%tid.x", special::thread_x},
                                                         {"%tid.y", special::thread_y},
                                                         {"%tid.z", special::thread_z},
                                                         {"%ntid.x", special::threads_x},
                                                         {"%ntid.y", special::threads_y},
                                                         {"%ntid.z", special::threads_z},
                                                         {"%ctaid.x", special::block_x},
                                                         {"%ctaid.y", special::block_y},
                                                         {"%ctaid.z", special::block_z},
                                                         {"%nctaid.x", special::blocks_x},
                                                         {"%nctaid.y", special::blocks_y},
                                                         {"%nctaid.z", special::blocks_z},
                                                         {"%laneid", special::lane},
                                                         {"%warpid", special::warp},
                                                         {"%nwarpid", special::warps},
                                                         {"%envreg1", special::workspace_high},
                                                         {"%envreg2", special::workspace_low},
                                                         {"%lanemask_eq", special::lanes_equal},
                                                         {"%lanemask_lt", special::lanes_less},
                                                         {"%lanemask_le", special::lanes_less_equal},
                                                         {"%lanemask_gt", special::lanes_greater},
                                                         {"%lanemask_ge", special::lanes_greater_equal},
                                                         {"%cluster_ctarank", special::cluster_rank},
                                                         {"%cluster_nctarank", special::cluster_blocks},
                                                         {"%cluster_ctaid.x", special::cluster_rank},
                                                         {"%cluster_ctaid.y", special::zero},
                                                         {"%cluster_ctaid.z", special::zero},
                                                         {"%cluster_nctaid.x", special::cluster_blocks},
                                                         {"%cluster_nctaid.y", special::one},
                                                         {"%cluster_nctaid.z", special::one},
                                                         {"%clusterid.x", special::cluster},
                                                         {"%clusterid.y", special::zero},
                                                         {"%clusterid.z", special::zero},
                                                         {"%nclusterid.x", special::clusters},
                                                         {"%nclusterid.y", special::one},
                                                         {"%nclusterid.z", special::one},
                                                         {"%is_explicit_cluster", special::explicit_cluster},
                                                         {"%dynamic_smem_size", special::dynamic_shared},
                                                         {"%smid", special::unknown},
                                                         {"%nsmid", special::unknown},
                                                         {"%gridid", special::unknown},
                                                         {"%total_smem_size", special::unknown},
                                                         {"%aggr_smem_size", special::unknown},
                                                         {"%current_graph_exec", special::unknown},
                                                         {"%clock", special::clock},
                                                         {"%clock64", special::clock},
                                                         {"%clock_hi", special::clock},
                                                         {"%globaltimer", special::nanoseconds},
                                                         {"%globaltimer_lo", special::nanoseconds},
                                                         {"%globaltimer_hi", special::zero}};

}  // namespace membar::ptx
