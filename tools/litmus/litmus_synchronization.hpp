// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads fences, barriers and asynchronous operations of a litmus file.
#pragma once

#include <litmus/litmus_mnemonic.hpp>
#include <litmus/litmus_names.hpp>
#include <litmus/litmus_operand.hpp>
#include <litmus/litmus_tokens.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/array.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::litmus_files::detail {

using namespace model;

/// Reads the operands of fences, barriers and asynchronous operations.
class synchronization_reader : protected operand_reader {
 protected:
  using operand_reader::operand_reader;
  ~synchronization_reader() = default;

  void read_fence() {
    const std::vector<std::string> parts = split(lower(word_.text));
    if (head_ == "fence" && parts.size() >= 2 && parts[1] == "proxy") {
      i_.code = opcode::proxy_fence;
      if (parts.size() < 3) {
        fail(word_, "'fence.proxy' does not say which proxy");
      }
      static constexpr meaning<state_space> async_spaces[] = {{"global", state_space::global},
                                                              {"shared::cta", state_space::shared},
                                                              {"shared::cluster", state_space::shared_cluster}};
      static constexpr meaning<proxy> kinds[] = {{"alias", proxy::alias},
                                                 {"surface", proxy::surface},
                                                 {"texture", proxy::texture},
                                                 {"constant", proxy::constant},
                                                 {"generic", proxy::generic}};
      if (const auto kind = find(kinds, parts[2]); kind && parts.size() == 3) {
        i_.via = *kind;
      } else if (parts[2] == "async" && (parts.size() == 3 || (parts.size() == 4 && find(async_spaces, parts[3])))) {
        i_.via = proxy::async;
        i_.space = parts.size() == 3 ? state_space::generic : *find(async_spaces, parts[3]);
      } else if (starts(parts[2], "async::") || starts(parts[2], "tensormap::")) {
        read_one_way_fence(parts);
      } else {
        fail(word_, "'" + std::string(word_.text) + "': this proxy fence is not known");
      }
      return;
    }
    i_.code = opcode::fence;
    if (parts.size() >= 2 && parts[1] == "mbarrier_init") {
      if (lower(word_.text) != "fence.mbarrier_init.release.cluster") {
        fail(word_, "expected fence.mbarrier_init.release.cluster, found " + shown(word_));
      }
      i_.restricted = true;
      i_.order = memory_order::release;
      i_.scope = thread_scope::cluster;
      return;
    }
    if (head_ == "membar") {  // the older spelling: fence.sc
      static constexpr meaning<thread_scope> levels[] = {
          {"cta", thread_scope::block}, {"gl", thread_scope::device}, {"sys", thread_scope::system}};
      const auto level = parts.size() == 2 ? find(levels, parts[1]) : std::nullopt;
      if (!level) {
        fail(word_, "expected membar.cta, membar.gl or membar.sys, found " + shown(word_));
      }
      i_.order = memory_order::seq_cst;
      i_.scope = *level;
      return;
    }
    const mnemonic m = analyse(word_);
    no_others(word_, m);
    if (m.weak || m.is_volatile || m.mmio || m.what || m.bytes != 0 || m.elements > 1 ||
        (m.order && *m.order == memory_order::relaxed)) {
      fail(word_, "'" + std::string(word_.text) + "': a fence is sc, acq_rel, acquire or release");
    }
    if (!m.scope) {
      fail(word_, "'" + std::string(word_.text) + "' needs a scope: cta, cluster, gpu or sys");
    }
    i_.order = m.order.value_or(memory_order::acq_rel);
    i_.scope = *m.scope;
  }

  void read_barrier() {
    std::vector<std::string> parts = split(lower(word_.text));
    i_.code = opcode::barrier;
    if (!parts.empty() && parts.back() == "aligned") {
      parts.pop_back();
    }
    if (parts.size() >= 3 && parts[1] == "cluster") {
      i_.barrier = barrier_kind::cluster;
      const std::string form = parts.size() == 4 ? parts[3] : "";
      if (parts.size() <= 4 && parts[2] == "arrive" && (form.empty() || form == "release" || form == "relaxed")) {
        i_.arrives = true;
        i_.order = form == "relaxed" ? memory_order::relaxed : memory_order::release;
        return;
      }
      if (parts.size() <= 4 && parts[2] == "wait" && (form.empty() || form == "acquire")) {
        i_.waits = true;
        i_.order = memory_order::acquire;
        return;
      }
      fail(word_,
           "expected barrier.cluster.arrive{.release,.relaxed} or barrier.cluster.wait{.acquire}, found " + shown(word_));
    }
    if (parts.size() == 3 && parts[1] == "warp" && parts[2] == "sync") {
      i_.barrier = barrier_kind::warp;
      i_.arrives = true;
      i_.waits = true;
      i_.a = read_operand();
      i_.b = {false, 0, -1};
      return;
    }
    if (parts.size() == 3 && parts[1] == "cta") {
      parts.erase(parts.begin() + 1);
    }
    if (parts.size() != 2 || (parts[1] != "sync" && parts[1] != "red" && parts[1] != "arrive")) {
      fail(word_, "expected bar.cta.sync, .red or .arrive, bar.warp.sync or barrier.cluster.*, found " + shown(word_));
    }
    i_.arrives = true;
    i_.waits = parts[1] != "arrive";
    i_.a = read_operand();
    i_.b = {false, 0, -1};
    if (in_.accept(",")) {
      i_.b = read_operand();
      if (in_.accept(",")) {
        const token count = in_.peek();
        i_.has_quorum = true;
        i_.c = read_operand();
        if (!i_.c.is_register && i_.c.value < 1) {
          fail(count, "a barrier's count is at least 1");
        }
      }
    }
  }

  void read_mbarrier() {
    const mnemonic m = analyse(word_);
    const std::string form = m.others.empty() ? "" : m.others.front();
    if (form == "init" && m.others.size() == 1 && !m.order && !m.scope && !m.weak && !m.what) {
      read_initialization();
      return;
    }
    const bool arrives = form == "arrive";
    const bool waits = form == "test_wait" || form == "try_wait";
    const bool expects = m.others.size() == (arrives ? 2U : 1U) && m.others.back() == "expect_tx";
    const bool completes = form == "complete_tx";
    i_.parity = waits && m.others.size() == 2 && m.others.back() == "parity";
    const bool one_form = m.others.size() == 1 || (arrives && expects) || i_.parity;
    if ((!arrives && !waits && !expects && !completes) || !one_form || m.weak || m.what) {
      fail(word_,
           "expected mbarrier.init, .arrive, .arrive.expect_tx, .expect_tx, .complete_tx, .test_wait or .try_wait, also with "
           ".parity, "
           "found " +
               shown(word_));
    }
    const memory_order natural = arrives ? memory_order::release : waits ? memory_order::acquire : memory_order::relaxed;
    i_.code = waits ? opcode::mbarrier_wait : opcode::mbarrier_arrive;
    i_.arrives = !waits;
    i_.waits = waits;
    i_.order = m.order.value_or(natural);
    if (i_.order != natural && i_.order != memory_order::relaxed) {
      fail(word_, "'" + std::string(word_.text) + "': " +
                      (arrives || waits ? "an arrival is release or relaxed, a wait acquire or relaxed"
                                        : "expect_tx and complete_tx alone are relaxed"));
    }
    i_.scope = m.scope.value_or(thread_scope::block);
    if (waits && in_.peek().what == token_kind::word && in_.names_register(thread_, in_.peek().text)) {
      i_.destination = read_destination();
      need_comma();
    }
    i_.target = read_mbarrier_name();
    i_.b = {false, 0, -1};
    i_.arrivals = arrives ? 1 : 0;
    if (waits) {
      need_comma();
      const token named = in_.peek();
      i_.a = read_operand();
      if (i_.parity && !i_.a.is_register && i_.a.value != 0 && i_.a.value != 1) {
        fail(named,
             "a phase has the parity 0 or 1, and this is " + std::to_string(i_.a.value) + ": name the phase without .parity");
      }
    } else if (expects || completes) {
      need_comma();
      (expects ? i_.expected_bytes : i_.completed_bytes) =
          static_cast<int>(read_constant("the bytes of a transaction", most_transactions));
    } else if (in_.accept(",")) {
      const token count = in_.peek();
      i_.arrivals = static_cast<int>(read_constant("the number of arrivals", most_transactions));
      if (i_.arrivals < 1) {
        fail(count, "mbarrier.arrive counts at least one arrival");
      }
    }
  }

  /// The location of an mbarrier.
  [[nodiscard]] int read_mbarrier_name() {
    const bool bracketed = in_.accept("[");
    const token word = in_.expect_word("an mbarrier");
    const int named = in_.find_location(word.text);
    if (named < 0 || at(in_.test.locations, named).arrivals == 0) {
      const std::string name(word.text);
      fail(word, "'" + name + "' is no mbarrier: declare it as '" + name + " @ mbarrier 2;'");
    }
    if (bracketed) {
      in_.expect("]", "after an address");
    }
    return named;
  }

  /// Whether the mnemonic starts or waits for asynchronous operations.
  [[nodiscard]] bool is_asynchronous() const {
    const std::vector<std::string> parts = split(lower(word_.text));
    return head_ == "cp" || head_ == "griddepcontrol" ||
           ((head_ == "st" || head_ == "red") && parts.size() > 1 && parts[1] == "async");
  }

  void read_asynchronous() {
    const std::string name = lower(word_.text);
    if (head_ == "griddepcontrol") {
      if (name != "griddepcontrol.wait" && name != "griddepcontrol.launch_dependents") {
        fail(word_, "expected griddepcontrol.wait or griddepcontrol.launch_dependents, found " + shown(word_));
      }
      i_.code = name == "griddepcontrol.wait" ? opcode::grid_wait : opcode::grid_launch;
      return;
    }
    const bool bulk = starts(name, "cp.async.bulk.") || starts(name, "cp.reduce.async.bulk.");
    i_.completes = bulk ? completion::bulk_group : completion::group;
    if (name == "cp.async.commit_group" || name == "cp.async.bulk.commit_group") {
      i_.code = opcode::async_commit;
      return;
    }
    if (name == "cp.async.wait_group" || name == "cp.async.bulk.wait_group" || name == "cp.async.bulk.wait_group.read") {
      i_.code = opcode::async_wait;
      i_.reads_only = starts(name, "cp.async.bulk.wait_group.read");
      i_.pending_groups = static_cast<int>(read_constant("the number of groups that may be pending", max_events));
      return;
    }
    if (starts(name, "cp.async.mbarrier.arrive")) {
      i_.code = opcode::async_arrive;
      i_.arrivals = starts(name, "cp.async.mbarrier.arrive.noinc") ? 1 : 0;
      i_.barrier_at = read_mbarrier_name();
      return;
    }
    if (starts(name, "cp.async.bulk.tensor.")) {
      read_tensor_copy();
      return;
    }
    read_copy(bulk);
  }

 private:
  // fence.proxy.async::generic.sem.sync_restrict.cluster;  fence.proxy.tensormap::generic.{release.scope,acquire.scope [map], 128}
  void read_one_way_fence(const std::vector<std::string>& parts) {
    static constexpr meaning<thread_scope> scopes[] = {{"cta", thread_scope::block},
                                                       {"cluster", thread_scope::cluster},
                                                       {"gpu", thread_scope::device},
                                                       {"sys", thread_scope::system}};
    const bool releases = parts.size() > 3 && parts[3] == "release";
    const bool acquires = parts.size() > 3 && parts[3] == "acquire";
    const auto scope = find(scopes, parts.back());
    const bool async = parts[2] == "async::generic" && parts.size() == 6 && scope == thread_scope::cluster &&
                       parts[4] == (releases ? "sync_restrict::shared::cta" : "sync_restrict::shared::cluster");
    if ((!releases && !acquires) || !scope || (!async && (parts[2] != "tensormap::generic" || parts.size() != 5))) {
      fail(word_,
           "expected fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster, "
           "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster, fence.proxy.tensormap::generic.release with "
           "a "
           "scope, or fence.proxy.tensormap::generic.acquire with a scope and '[map], 128', found " +
               shown(word_));
    }
    i_.restricted = true;
    i_.via = async ? proxy::async : proxy::tensor_map;
    i_.space = !async ? state_space::generic : releases ? state_space::shared : state_space::shared_cluster;
    i_.order = releases ? memory_order::release : memory_order::acquire;
    i_.scope = *scope;
    if (!async && acquires) {
      read_address();
      need_comma();
      const token size = in_.peek();
      if (in_.expect_number("a size") != 128) {
        fail(size, "the fence of a tensor map is of its 128 bytes, found " + shown(size));
      }
    }
  }

  // mbarrier.init b, count
  void read_initialization() {
    i_.code = opcode::mbarrier_init;
    i_.target = read_mbarrier_name();
    need_comma();
    const token count = in_.peek();
    i_.arrivals = static_cast<int>(read_constant("the expected count", most_transactions));
    const int declared = at(in_.test.locations, i_.target).arrivals;
    if (i_.arrivals != declared) {
      fail(count, "'" + at(in_.test.location_names, i_.target) + "' is declared as an mbarrier that expects " +
                      std::to_string(declared) + " arrivals, and is initialized with " + std::to_string(i_.arrivals));
    }
  }

  // cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [to], [map, {0}], [mbarrier]
  void read_tensor_copy() {
    read_spaces(false);
    bool on_mbarrier = false;
    for (const std::string& part : split(lower(word_.text))) {
      on_mbarrier = on_mbarrier || part == "mbarrier::complete_tx::bytes";
      static constexpr std::string_view known[] = {
          "cp", "async", "bulk", "tensor", "1d", "tile", "mbarrier::complete_tx::bytes"};
      if (!find(spaces, part) && std::find(std::begin(known), std::end(known), part) == std::end(known)) {
        fail(word_, "'" + std::string(word_.text) + "': '" + part + "' is not known here: a tensor copy is 1d and of a tile");
      }
    }
    if (!on_mbarrier || i_.space == state_space::global || i_.source_space != state_space::global) {
      fail(word_, "'" + std::string(word_.text) +
                      "': a tensor copy is of global memory into shared memory here, and completes on an mbarrier: "
                      "mbarrier::complete_tx::bytes");
    }
    i_.code = opcode::async_copy;
    i_.via = proxy::async;
    i_.completes = completion::mbarrier;
    i_.order = memory_order::relaxed;
    i_.scope = thread_scope::device;
    read_address();
    need_comma();
    in_.expect("[", "before a tensor map");
    const token map = in_.expect_word("a tensor map");
    i_.tensor_map = in_.accessed_location(map, in_.location_name(map));
    if (at(in_.test.locations, i_.tensor_map).arrivals != 0) {
      fail(map, "'" + std::string(map.text) + "' is an mbarrier");
    }
    need_comma();
    in_.expect("{", "before the coordinates of a tile");
    const token coordinate = in_.peek();
    if (read_constant("the coordinate of a tile", most_transactions) != 0) {
      fail(coordinate, "a tensor is one tile of 16 bytes here, whose coordinate is 0");
    }
    in_.expect("}", "after the coordinates of a tile");
    in_.expect("]", "after the coordinates of a tile");
    need_comma();
    i_.barrier_at = read_mbarrier_name();
    i_.completed_bytes = 16;
  }

  // cp.async, cp.async.bulk, cp.reduce.async.bulk: [to], [from], bytes{, [mbarrier]};  st.async, red.async: [to], value, [mbarrier]
  void read_copy(bool bulk) {
    const bool of_value = head_ == "st" || head_ == "red";
    read_spaces(of_value);
    std::string without_spaces;
    for (const std::string& part : split(lower(word_.text))) {
      without_spaces += find(spaces, part) ? "" : (without_spaces.empty() ? "" : ".") + part;
    }
    token word = word_;
    word.text = without_spaces;
    const mnemonic m = analyse(word);
    i_.code = opcode::async_copy;
    i_.via = bulk ? proxy::async : proxy::generic;
    i_.reduces = m.parts[1] == "reduce" || head_ == "red";
    if (i_.reduces != m.what.has_value() || m.what == operation::move || m.what == operation::compare_exchange) {
      fail(word_, "'" + std::string(word_.text) + "': a reduction says what it does, such as add, and nothing else does");
    }
    i_.what = m.what.value_or(operation::move);
    i_.order = memory_order::relaxed;
    i_.scope = m.scope.value_or(head_ == "red" ? thread_scope::cluster : thread_scope::device);
    bool on_mbarrier = false;
    bool complete = !bulk && !of_value;
    for (const std::string& part : m.others) {
      on_mbarrier = on_mbarrier || part == "mbarrier::complete_tx::bytes";
      complete = complete || part == "mbarrier::complete_tx::bytes" || (bulk && part == "bulk_group");
      static constexpr std::string_view known[] = {"async",      "bulk", "reduce", "mbarrier::complete_tx::bytes",
                                                   "bulk_group", "ca",   "cg"};
      if (std::find(std::begin(known), std::end(known), part) == std::end(known)) {
        fail(word_, "'" + std::string(word_.text) + "': '" + part + "' is not known here");
      }
    }
    if (!complete) {
      fail(word_, "'" + std::string(word_.text) + "' does not say how its end is known: " +
                      (of_value ? "mbarrier::complete_tx::bytes" : "mbarrier::complete_tx::bytes or bulk_group"));
    }
    i_.completes = on_mbarrier ? completion::mbarrier : bulk ? completion::bulk_group : completion::group;
    read_address();
    need_comma();
    int bytes = m.bytes == 0 ? 4 : m.bytes;
    if (of_value) {
      i_.bytes = static_cast<std::uint8_t>(bytes);
      i_.a = read_operand();
    } else {
      instruction destination = i_;
      i_.indirect = false;
      read_address();
      std::swap(i_.indirect, i_.source_indirect);
      i_.source = i_.target;
      i_.target = destination.target;
      i_.indirect = destination.indirect;
      need_comma();
      const token size = in_.peek();
      bytes = static_cast<int>(read_constant("the bytes of a copy", most_transactions));
      if (bulk ? bytes == 0 || bytes % 16 != 0 : bytes != 4 && bytes != 8 && bytes != 16) {
        fail(size, bulk ? "a bulk copy has a multiple of 16 bytes" : "cp.async copies 4, 8 or 16 bytes");
      }
      if (bulk) {
        read_elements(size, bytes / 16);
      }
    }
    if (on_mbarrier) {
      need_comma();
      instruction& last = more_.empty() ? i_ : more_.back();
      last.barrier_at = read_mbarrier_name();
      last.completed_bytes = bytes;
    }
  }

  // The state spaces of the destination and of the source.
  void read_spaces(bool of_value) {
    std::vector<state_space> found;
    for (const std::string& part : split(lower(word_.text))) {
      if (const auto space = find(spaces, part)) {
        found.push_back(*space);
      }
    }
    if (found.size() != (of_value ? 1U : 2U) && !(of_value && found.empty())) {
      fail(word_, "'" + std::string(word_.text) + "': a copy names the state spaces of its destination and of its source");
    }
    i_.space = found.empty() ? state_space::shared_cluster : found.front();
    i_.source_space = of_value ? state_space::generic : found.back();
  }

  // Each 16 bytes of a bulk copy are one element of an array.
  void read_elements(const token& size, int count) {
    if (count > 1 && (i_.indirect || i_.source_indirect)) {
      fail(size, "a bulk copy of more than 16 bytes is between locations here, without addresses in registers");
    }
    for (int k = 1; k < count; ++k) {
      instruction element = i_;
      element.element = static_cast<std::uint8_t>(k);
      element.target = in_.location_for(size, at(in_.test.location_names, i_.target) + "[" + std::to_string(k) + "]");
      element.source = in_.location_for(size, at(in_.test.location_names, i_.source) + "[" + std::to_string(k) + "]");
      more_.push_back(element);
    }
  }

  static constexpr meaning<state_space> spaces[] = {{"global", state_space::global},
                                                    {"shared", state_space::shared},
                                                    {"shared::cta", state_space::shared},
                                                    {"shared::cluster", state_space::shared_cluster}};
  static constexpr std::int64_t most_transactions = (1 << 20) - 1;  // PTX ISA, "Tx-count operation of mbarrier object"
};

}  // namespace membar::litmus_files::detail
