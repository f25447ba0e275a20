// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The words of the opcodes of the asynchronous side: mbarriers, copies that are performed later, clusters, proxy fences.
#pragma once

#include <membar/check/instruction.hpp>
#include <membar/check/opcode_words.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace membar::inline v0_2::checker::detail {

/// Takes the first state space out of an opcode that names two.
inline state_space take_first_space(opcode_words& words) {
  for (const std::string_view word : words.left()) {
    if (word == "global" || word == "shared" || word == "shared::cta" || word == "shared::cluster") {
      const bool global = word == "global";
      static_cast<void>(words.take(word));
      return global ? state_space::global : state_space::shared;
    }
  }
  return state_space::generic;
}

/// Takes the operation of a read-modify-write out of an opcode. False if there is none.
inline bool take_operation(opcode_words& words, model::operation& what) {
  struct row {
    std::string_view name;
    model::operation what;
  };
  constexpr row rows[] = {
      {"add", model::operation::add},      {"exch", model::operation::move},   {"cas", model::operation::compare_exchange},
      {"and", model::operation::bit_and},  {"or", model::operation::bit_or},   {"xor", model::operation::bit_xor},
      {"min", model::operation::minimum},  {"max", model::operation::maximum}, {"inc", model::operation::increment},
      {"dec", model::operation::decrement}};
  for (const row& r : rows) {
    if (words.take(r.name)) {
      what = r.what;
      return true;
    }
  }
  return false;
}

/// `mbarrier`: its state is a location of 64 bits. Source: PTX ISA, "mbarrier".
template <class Refuse>
void read_mbarrier(opcode_words& words, instruction& i, const Refuse& refuse) {
  const bool waits = words.take("test_wait") || words.take("try_wait");
  const bool transfers = !waits && words.take("expect_tx");
  if (waits) {
    i.mbarrier = mbarrier_op::test;
    i.parity = words.take("parity");
  } else if (words.take("init")) {
    i.mbarrier = mbarrier_op::init;
  } else if (words.take("inval")) {
    i.mbarrier = mbarrier_op::invalidate;
  } else if (words.take("complete_tx")) {
    i.mbarrier = mbarrier_op::complete;
  } else if (words.take("arrive")) {
    i.mbarrier = mbarrier_op::arrive;
  } else if (words.take("arrive_drop")) {
    i.mbarrier = mbarrier_op::arrive_drop;
  } else if (transfers) {
    i.mbarrier = mbarrier_op::expect;
  } else {
    refuse("'" + i.text + "' is not supported");
  }
  const bool arrives = i.mbarrier == mbarrier_op::arrive || i.mbarrier == mbarrier_op::arrive_drop;
  i.transaction = arrives && transfers;
  i.keeps_phase = arrives && words.take("noComplete");
  const bool stores = i.mbarrier == mbarrier_op::init || i.mbarrier == mbarrier_op::invalidate;
  i.code = stores ? op::store : waits ? op::load : op::atomic;
  i.strong = !stores;
  i.order = waits ? memory_order::acquire : arrives ? memory_order::release : memory_order::relaxed;
  i.scope = thread_scope::block;
  static_cast<void>(take_order(words, i.order));
  static_cast<void>(take_scope(words, i.scope));
  i.space = take_first_space(words);
  static_cast<void>(words.take("b64"));
  i.type = ptx_type::b64;
  i.bytes = 8;
  const memory_order one_way = waits ? memory_order::acquire : memory_order::release;
  if (i.order != memory_order::relaxed && (i.order != one_way || (!waits && !arrives))) {
    refuse("'" + i.text + "' is no instruction of PTX: an arrival is relaxed or release, a wait relaxed or acquire");
  }
}

/// `fence.proxy`: between ordinary accesses and those of bulk copies. Source: PTX ISA, "membar/fence".
template <class Refuse>
void read_proxy_fence(opcode_words& words, instruction& i, const Refuse& refuse) {
  i.code = op::proxy_fence;
  if (!words.take("async")) {
    refuse("'" + i.text + "' is not supported: of the proxies, the generic and the async one are checked");
  }
  const auto bit = [](proxy_space space) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(space)); };
  const std::uint8_t global = bit(proxy_space::global);
  const std::uint8_t own = bit(proxy_space::own_shared);
  const std::uint8_t other = bit(proxy_space::other_shared);
  i.proxy_spaces = words.take("global")            ? global
                   : words.take("shared::cta")     ? own
                   : words.take("shared::cluster") ? static_cast<std::uint8_t>(own | other)
                                                   : static_cast<std::uint8_t>(global | own | other);
}

/// The destinations, addresses and values of an instruction of the asynchronous side. Source: PTX ISA, the syntax of each.
[[nodiscard]] constexpr operand_count async_operands_of(const instruction& i) noexcept {
  switch (i.mbarrier) {
    case mbarrier_op::init:
    case mbarrier_op::expect:
    case mbarrier_op::complete:
      return {2, 2, 0};
    case mbarrier_op::invalidate:
      return {1, 1, 0};
    case mbarrier_op::test:
      return {2, 3, 1};
    default:
      return {i.transaction || i.keeps_phase ? 2U : 1U, 2, 1};
  }
}

/// Reads an opcode of the asynchronous side into `i`. False if it is none.
template <class Refuse>
bool read_async_opcode(opcode_words& words, instruction& i, operand_shape& shape, const Refuse& refuse) {
  const std::string_view name = words.first();
  shape = operand_shape::addresses;
  if (name == "mbarrier") {
    if (words.take("pending_count")) {  // a field of what an arrival returned
      static_cast<void>(words.take("b64"));
      i.code = op::field_extract;
      i.type = ptx_type::u64;
      shape = operand_shape::pending_count;
      return true;
    }
    read_mbarrier(words, i, refuse);
    return true;
  }
  if (name == "mapa" || name == "getctarank") {
    i.code = name == "mapa" ? op::map_to_block : op::block_rank;
    i.space = take_first_space(words);
    i.type = words.take_type();
    shape = operand_shape::registers;
    return true;
  }
  return false;
}

}  // namespace membar::inline v0_2::checker::detail
