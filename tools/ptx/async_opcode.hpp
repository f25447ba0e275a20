// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The words of the opcodes of the asynchronous side: mbarriers, copies that are performed later, clusters, proxy fences.
#pragma once

#include <membar/memory_order.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/instruction.hpp>
#include <ptx/opcode_words.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace membar::ptx::detail {

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
  const bool arrival = arrives(i.mbarrier);
  i.transaction = arrival && transfers;
  i.keeps_phase = arrival && words.take("noComplete");
  const bool stores = i.mbarrier == mbarrier_op::init || i.mbarrier == mbarrier_op::invalidate;
  i.code = stores ? op::store : waits ? op::load : op::atomic;
  i.strong = !stores;
  i.order = waits ? memory_order::acquire : arrival ? memory_order::release : memory_order::relaxed;
  i.scope = thread_scope::block;
  static_cast<void>(take_order(words, i.order));
  static_cast<void>(take_scope(words, i.scope));
  i.space = take_first_space(words);
  static_cast<void>(words.take("b64"));
  i.type = ptx_type::b64;
  i.bytes = 8;
  const memory_order one_way = waits ? memory_order::acquire : memory_order::release;
  if (i.order != memory_order::relaxed && (i.order != one_way || (!waits && !arrival))) {
    refuse("'" + i.text + "' is no instruction of PTX: an arrival is relaxed or release, a wait relaxed or acquire");
  }
}

/// `fence.proxy`: between ordinary accesses and those of bulk copies. Source: PTX ISA, "membar/fence".
template <class Refuse>
void read_proxy_fence(opcode_words& words, instruction& i, const Refuse& refuse) {
  i.code = op::proxy_fence;
  if (words.take("async::generic")) {  // what a release is before, then what an acquire is after, both in shared memory
    i.restricted = true;
    if (!take_order(words, i.order) || !take_scope(words, i.scope) ||
        !words.take(i.order == memory_order::release ? "sync_restrict::shared::cta" : "sync_restrict::shared::cluster")) {
      refuse("'" + i.text + "' is no fence of PTX");
    }
    return;
  }
  if (!words.take("async")) {
    refuse("'" + i.text + "' is not supported: of the proxies, the generic and the async one are checked");
  }
  const auto shared = static_cast<std::uint8_t>(bit_of(proxy_space::own_shared) | bit_of(proxy_space::other_shared));
  i.proxy_spaces = words.take("global")            ? bit_of(proxy_space::global)
                   : words.take("shared::cta")     ? bit_of(proxy_space::own_shared)
                   : words.take("shared::cluster") ? shared
                                                   : every_proxy_space;
}

/// The type of what a copy writes or reduces in one access.
template <class Refuse>
void read_piece(opcode_words& words, instruction& i, const Refuse& refuse) {
  i.type = words.take_type();
  i.bytes = static_cast<std::uint8_t>(bytes_of(i.type));
  if (i.bytes != 4 && i.bytes != 8) {
    refuse("'" + i.text + "' is not supported: copies that reduce or store are, in 32 and 64 bits");
  }
}

/// `cp.async`, `cp.async.bulk`, `cp.reduce.async.bulk`, and their groups. Source: PTX ISA, "Data Movement and Conversion
/// Instructions: Asynchronous copy".
template <class Refuse>
bool read_copy(opcode_words& words, instruction& i, operand_shape& shape, const Refuse& refuse) {
  i.combines = words.take("reduce");
  static_cast<void>(words.take("async"));
  const bool bulk = words.take("bulk");
  i.completes = bulk ? model::completion::bulk_group : model::completion::group;
  if (words.take("tensor") || words.take("ignore-src")) {
    refuse("'" + i.text + "' is not supported: of the copies, those without a tensor map are checked");
  }
  if (words.take("prefetch")) {
    static_cast<void>(words.take("L2") && words.take("global") && words.take("L2::cache_hint"));
    i.code = op::nothing;
    shape = operand_shape::any;
    return true;
  }
  if (words.take("commit_group")) {
    i.code = op::async_commit;
    shape = operand_shape::none;
    return true;
  }
  if (const bool all = words.take("wait_all"); all || words.take("wait_group")) {
    i.code = op::async_wait;
    i.mode = all ? 1 : 0;
    i.reads_only = words.take("read");
    shape = all ? operand_shape::none : operand_shape::sources;
    return true;
  }
  i.code = op::async_copy;
  if (words.take("mbarrier")) {
    i.mbarrier = mbarrier_op::arrive;
    if (!words.take("arrive")) {
      refuse("'" + i.text + "' is not supported");
    }
    i.is_expected = !words.take("noinc");
    i.completes = model::completion::mbarrier;
    i.space = take_first_space(words);
    static_cast<void>(words.take("b64"));
    return true;
  }
  static_cast<void>(words.take("ca") || words.take("cg"));
  static_cast<void>(words.take("L2::64B") || words.take("L2::128B") || words.take("L2::256B"));
  if (words.take("L2::cache_hint")) {
    refuse("'" + i.text + "' has a cache hint, which is not supported");
  }
  i.space = take_first_space(words);
  i.from_space = take_first_space(words);
  i.multicast = words.take("multicast::cluster");
  if (words.take("mbarrier::complete_tx::bytes")) {
    i.completes = model::completion::mbarrier;
  }
  static_cast<void>(words.take("bulk_group"));
  if (i.space == state_space::generic || i.from_space == state_space::generic) {
    refuse("'" + i.text + "' does not name its state spaces");
  }
  i.type = ptx_type::b128;
  i.bytes = 16;
  if (i.combines) {
    static_cast<void>(words.take("noftz"));
    if (!take_operation(words, i.what)) {
      refuse("'" + i.text + "' is no reduction that is supported");
    }
    read_piece(words, i, refuse);
  }
  return true;
}

/// The destinations, addresses and values of an instruction of the asynchronous side. Source: PTX ISA, the syntax of each.
[[nodiscard]] constexpr operand_count async_operands_of(const instruction& i) noexcept {
  if (i.code == op::async_copy) {
    const bool memory = i.from_space != state_space::generic;
    return i.mbarrier != mbarrier_op::none                ? operand_count{1, 1, 0}
           : !memory                                      ? operand_count{2U + i.elements, 2U + i.elements, 0}
           : i.completes == model::completion::mbarrier   ? operand_count{i.multicast ? 5U : 4U, i.multicast ? 5U : 4U, 0}
           : i.completes == model::completion::bulk_group ? operand_count{3, 3, 0}
                                                          : operand_count{3, 4, 0};
  }
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
  if (name == "griddepcontrol") {
    i.code = words.take("wait") ? op::grid_wait : op::grid_launch;
    static_cast<void>(words.take("launch_dependents"));
    shape = operand_shape::none;
    return true;
  }
  if (name == "cp") {
    return read_copy(words, i, shape, refuse);
  }
  if ((name == "st" || name == "red") && words.take("async")) {
    i.code = op::async_copy;
    i.completes = model::completion::mbarrier;
    i.combines = name == "red";
    static_cast<void>(words.take("weak") || words.take("relaxed"));
    static_cast<void>(words.take("cluster") || words.take("mbarrier::complete_tx::bytes"));
    static_cast<void>(words.take("mbarrier::complete_tx::bytes"));
    i.space = take_first_space(words);
    i.elements = words.take("v2") ? 2 : words.take("v4") ? 4 : 1;
    if (i.combines && !take_operation(words, i.what)) {
      refuse("'" + i.text + "' is no read-modify-write that is supported");
    }
    read_piece(words, i, refuse);
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

}  // namespace membar::ptx::detail
