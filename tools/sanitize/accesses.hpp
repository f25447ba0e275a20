// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Performs the loads, stores and read-modify-writes of a run, one at a time.
#pragma once

#include <check/machine.hpp>
#include <sanitize/orders.hpp>
#include <sanitize/races.hpp>
#include <sanitize/reporter.hpp>
#include <sanitize/run_state.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

namespace membar::sanitize {

class memory_events {
 public:
  memory_events(run_state& state, reporter& out, race_detector& races, thread_order& orders)
      : state_(state), out_(out), races_(races), orders_(orders) {}

  /// Performs a thread's next access. A read-modify-write is performed as a whole. `watch` then runs the thread up to its next
  /// event.
  template <class Watch>
  void perform(lane& l, Watch& watch) {
    const check::machine& m = l.home->machine_of(l);
    const check::instruction& i = m.at(*l.state);
    access a = described(l, i);
    a.address = m.address(*l.state);
    object* const o = placed(l, i, a);
    if (o == nullptr) {
      return;
    }
    if (i.code == check::op::store) {
      store(*o, l, a, m.stored(*l.state));
      m.step_in_place(*l.state, {}, watch);
      return;
    }
    const check::wide_value seen = o->value(a.address, a.bytes);
    if (o->is_uninitialised(a.address, a.bytes) && !is_discarded(l, a)) {
      out_.add(check_status::uninitialised,
               "thread " + out_.number_of(l) + " may read " + out_.place(l, a.address) + " before anything is written to it", l,
               {&l, a.address});
    }
    const bool chained = load(*o, l, a, i, seen);
    const bool rmw = i.code != check::op::load;
    const int events = l.state->events;
    m.step_in_place(*l.state, seen, watch);
    if (rmw && l.state->status == check::thread_status::at_event && l.state->events == events + 1 && m.is_amid_rmw(*l.state)) {
      update(*o, l, a, i, chained);
      if (l.where != stand::stalled) {
        m.step_in_place(*l.state, {}, watch);
      }
    }
  }

  [[nodiscard]] accessor accessor_of(const lane& l) const noexcept {
    const block& b = *l.home;
    return {l.key, l.time, b.first_key, b.first_key + b.launch->keys_of_block - 1, l.of_block, &l.known, &b.context_of(l)};
  }

 private:
  [[nodiscard]] access described(const lane& l, const check::instruction& i) const {
    access a;
    a.by = &i;
    a.number = l.home->launch->first_access + static_cast<std::uint32_t>(l.state->pc);
    a.bytes = i.bytes;
    a.strong = i.strong;
    a.scope = check::scope_of(i, state_.how.readings);
    a.via = i.via;
    a.rmw = i.code == check::op::atomic || i.code == check::op::reduction;
    return a;
  }

  /// Returns the object of an access. Returns null if there is no object or the access is not allowed; in this case, the error
  /// is reported and the thread stalls.
  [[nodiscard]] object* placed(lane& l, const check::instruction& i, access& a) {
    object* const o = check::machine::is_shared(a.address) && check::thread_context::block_of(a.address) == l.home->number
                          ? l.home->find(a.address, a.bytes)
                          : state_.find(a.address, a.bytes);
    const std::uint64_t alignment = check::alignment_of(i, l.state->part);
    const bool writes = i.code != check::op::load;
    if (o == nullptr || a.address % alignment != 0 || (o->constant && writes)) {
      const std::string what = o == nullptr                 ? " is outside of every object"
                               : a.address % alignment != 0 ? " is not aligned"
                                                            : " writes to constant memory";
      fail(l, check_status::out_of_bounds,
           "an access by thread " + out_.number_of(l) + what + ": " + std::to_string(alignment) + " bytes at " +
               out_.place(l, a.address),
           {&l, a.address});
      return nullptr;
    }
    hear(l, *o, a.address, i.code != check::op::store);
    if (check::machine::is_shared(a.address)) {
      const check::thread_context& c = l.home->context_of(l);
      const bool other = c.block_of(a.address) != c.block_number;
      if (c.is_in_cluster(a.address) && other && !is_alive(l, *o, c.block_of(a.address))) {
        return nullptr;
      }
      if (!c.is_in_cluster(a.address) || (i.own_block && other)) {
        fail(l, check_status::undefined,
             other && i.own_block
                 ? "'" + i.text + "' of thread " + out_.number_of(l) + " can access only its own block's shared memory, not " +
                       out_.place(l, a.address)
                 : "thread " + out_.number_of(l) +
                       " accesses the shared memory of a block outside its cluster: " + out_.place(l, a.address),
             {&l, a.address});
        return nullptr;
      }
    }
    if (check::acquires_or_releases_a_vector(i)) {
      fail(l, check_status::gave_up,
           "'" + i.text +
               "' is a vector access that acquires or releases, which is not supported: use a 16-byte scalar (.b128), or a "
               "relaxed access and a fence");
      return nullptr;
    }
    if (i.mbarrier == check::mbarrier_op::none && !state_.checked.assumed.accepted_races.empty() &&
        state_.checked.assumed.accepts(a.address)) {
      a.strong = true;
      a.scope = thread_scope::system;
    }
    return o;
  }

  /// If another block last wrote the word, records that the thread's block has read a value from another block.
  static void hear(lane& l, const object& o, std::uint64_t address, bool reads) {
    if (!reads || o.constant || l.home->context_of(l).cluster_blocks == 1 || l.home->has_heard) {
      return;
    }
    const thread_key first = l.home->first_key;
    const cell& word = o.cell_at(address);
    l.home->has_heard = std::any_of(std::begin(word.last), std::end(word.last), [&](const stamp& s) {
      return s.key != 0 && s.is_write() && (s.key < first || s.key >= first + l.home->launch->keys_of_block);
    });
  }

  /// Returns whether another block of the cluster is alive, that is, known to have started and not yet ended. The block is
  /// known to have started if one of its events happens before the access, if this thread has waited at the cluster's barrier,
  /// or if any thread of this thread's block has read a value that another block has written. Reports an error if the other
  /// block is not alive.
  [[nodiscard]] bool is_alive(lane& l, const object& o, int number) {
    const block& other = *state_.by_number.at(number);
    const bool begun = l.home->has_heard ||
                       l.known.base.has_some(other.first_key, other.first_key + other.launch->keys_of_block - 1) ||
                       l.cluster_waits > 0;
    if (begun && other.alive > 0) {
      return true;
    }
    fail(l, check_status::undefined,
         "thread " + out_.number_of(l) + " accesses " + out_.place(*other.lanes.data(), o.address) +
             ", and nothing orders this access " +
             (begun
                  ? "before the end of block " + std::to_string(number) + ": a cluster barrier is missing before the block ends"
                  : "after the start of block " + std::to_string(number) + ": a cluster barrier is missing before the access"),
         {other.lanes.data(), o.address});
    return false;
  }

  void fail(lane& l, check_status status, const std::string& message, found_memory memory = {}) {
    out_.add(status, message, l, memory);
    state_.stall(l);
  }

  [[nodiscard]] bool is_discarded(const lane& l, const access& a) const {
    shown_access s{l.key, a.number, {}};
    s.event.kind = model::event_kind::read;
    s.event.strong = a.strong;
    s.event.rmw = a.rmw;
    return out_.is_discarded(s);
  }

  /// Performs the read of a load or of a read-modify-write. Returns whether the read is morally strong with the last strong
  /// write of the same bytes.
  bool load(object& o, lane& l, access& a, const check::instruction& i, check::wide_value seen) {
    const cell* const word = o.constant ? nullptr : &o.cell_at(a.address);
    bool chained = false;
    if (a.strong && word != nullptr) {
      a.observes = observes(*word, l, a);
      chained = a.observes;
    }
    if (a.strong && word != nullptr && (word->last[0].what & stamp::synchronizes) != 0) {
      const bool test = i.mbarrier == check::mbarrier_op::test;
      orders_.read(l, a, i.order, i.code == check::op::reduction, test && l.home->machine_of(l).passes(*l.state, seen));
      const auto c = state_.cells.find(a.address);
      chained = c != state_.cells.end() && race_detector::reads_strongly(c->second, l.home->context_of(l), a);
    }
    races_.touch(o, accessor_of(l), a);  // after `orders_.read`, so that the read's own acquire is taken into account
    return chained;
  }

  /// Returns whether the strong read `a` is morally strong with the last write of a word.
  [[nodiscard]] bool observes(const cell& c, const lane& l, const access& a) const {
    for (unsigned k = 4; k-- > 1;) {
      const stamp& o = c.last[k];
      if (o.key == 0 || !o.is_write()) {
        continue;
      }
      constexpr model::every_rule rules{};
      const model::place there = state_.place_of(o.key);
      const model::place& here = l.home->context_of(l).where;
      return o.is_strong() && state_.numbered->all[o.number()]->bytes == a.bytes &&
             model::includes(rules, a.scope, here, there) && model::includes(rules, o.scope(), there, here);
    }
    return false;
  }

  void store(object& o, lane& l, access& a, check::wide_value v) {
    a.writes = true;
    a.changes = !(o.value(a.address, a.bytes) == v);
    races_.touch(o, accessor_of(l), a);
    if (a.strong) {
      orders_.write(o, l, a, a.by->order, false, false);
    } else {
      orders_.weak_write(o, a.address);
    }
    o.write(a.address, a.bytes, v);
    ++state_.writes;
    state_.last_change = a.changes ? state_.instructions : state_.last_change;
  }

  /// Performs the write of a read-modify-write.
  void update(object& o, lane& l, access& a, const check::instruction& i, bool chained) {
    const check::machine& m = l.home->machine_of(l);
    bool completes = false;
    if (i.mbarrier != check::mbarrier_op::none && i.code != check::op::store) {
      const check::mbarrier_outcome outcome = m.updated_mbarrier_at(*l.state);
      completes = outcome.completes;
      if (outcome.wrong != nullptr) {
        fail(l, check_status::undefined, "thread " + out_.number_of(l) + " " + outcome.wrong + ": " + out_.place(l, a.address),
             {&l, a.address});
        return;
      }
    }
    const check::wide_value v = m.stored(*l.state);
    a.writes = true;
    a.changes = !(o.value(a.address, a.bytes) == v);
    races_.touch(o, accessor_of(l), a);
    if (a.strong) {
      orders_.write(o, l, a, i.order, chained, completes);
    } else {
      orders_.weak_write(o, a.address);
    }
    o.write(a.address, a.bytes, v);
    state_.writes += a.changes ? 1 : 0;
    state_.last_change = a.changes ? state_.instructions : state_.last_change;
  }

  run_state& state_;
  reporter& out_;
  race_detector& races_;
  thread_order& orders_;
};

}  // namespace membar::sanitize
