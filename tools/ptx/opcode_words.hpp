// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// An opcode as words, and those that many opcodes have: orders, scopes, state spaces. The names of special registers.
#pragma once

#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/instruction.hpp>
#include <ptx/module.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace membar::ptx::detail {

/// An opcode divided at its dots. Words are taken out as they are understood; what is left at the end is not.
class opcode_words {
 public:
  explicit opcode_words(std::string_view text) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t dot = std::min(text.find('.', at), text.size());
      words_.push_back(text.substr(at, dot - at));
      at = dot + 1;
    }
    first_ = words_.front();
    words_.erase(words_.begin());
  }

  [[nodiscard]] std::string_view first() const noexcept { return first_; }

  /// Takes `word` out, if it is there.
  bool take(std::string_view word) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] == word) {
        words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      }
    }
    return false;
  }

  /// Takes out the last word that is a type.
  ptx_type take_type() {
    for (std::size_t i = words_.size(); i > 0; --i) {
      if (const ptx_type type = type_named(words_[i - 1]); type != ptx_type::none) {
        words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(i - 1));
        return type;
      }
    }
    return ptx_type::none;
  }

  [[nodiscard]] const std::vector<std::string_view>& left() const noexcept { return words_; }

 private:
  std::string_view first_;
  std::vector<std::string_view> words_;
};

/// Which operands an instruction has. `addresses`: at most a destination, then an address, then addresses and values.
enum class operand_shape : unsigned char {
  none,
  any,
  label,
  index,
  registers,
  sources,
  load,
  store,
  atomic,
  reduction,
  addresses,
  pending_count
};

/// How many operands an instruction has, each register of a list counted.
struct operand_count {
  unsigned least = 0;
  unsigned most = 0;
  unsigned results = 1;  ///< at most
};

[[nodiscard]] inline bool special_register(std::string_view name, special& result) noexcept {
  struct row {
    std::string_view name;
    special machine;
  };
  constexpr row rows[] = {{"%tid.x", special::thread_x},
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
                          {"%clock", special::clock},
                          {"%clock64", special::clock},
                          {"%clock_hi", special::clock},
                          {"%globaltimer", special::nanoseconds},
                          {"%globaltimer_lo", special::nanoseconds}};
  for (const row& r : rows) {
    if (r.name == name) {
      result = r.machine;
      return true;
    }
  }
  return false;
}

/// Takes the scope out of an opcode. The default is that of PTX: `gpu` for read-modify-writes.
inline bool take_scope(opcode_words& words, thread_scope& scope) {
  struct row {
    std::string_view word;
    thread_scope scope;
  };
  constexpr row rows[] = {{"cta", thread_scope::block},
                          {"cluster", thread_scope::cluster},
                          {"gpu", thread_scope::device},
                          {"sys", thread_scope::system}};
  for (const row& r : rows) {
    if (words.take(r.word)) {
      scope = r.scope;
      return true;
    }
  }
  return false;
}

inline bool take_order(opcode_words& words, memory_order& order) {
  struct row {
    std::string_view word;
    memory_order order;
  };
  constexpr row rows[] = {{"relaxed", memory_order::relaxed},
                          {"acquire", memory_order::acquire},
                          {"release", memory_order::release},
                          {"acq_rel", memory_order::acq_rel},
                          {"sc", memory_order::seq_cst}};
  for (const row& r : rows) {
    if (words.take(r.word)) {
      order = r.order;
      return true;
    }
  }
  return false;
}

inline state_space take_space(opcode_words& words) {
  if (words.take("global")) {
    return state_space::global;
  }
  if (words.take("shared") || words.take("shared::cta") || words.take("shared::cluster")) {
    return state_space::shared;
  }
  if (words.take("local")) {
    return state_space::local;
  }
  if (words.take("param") || words.take("param::entry") || words.take("param::func")) {
    return state_space::param;
  }
  return words.take("const") ? state_space::constant : state_space::generic;
}

}  // namespace membar::ptx::detail
