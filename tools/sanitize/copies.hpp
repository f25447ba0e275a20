// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Performs asynchronous operations. Each operation is performed as a whole, at a time that the schedule chooses between the
/// start of the operation and the wait for it.
///
/// An operation has its own key in the clocks. The events that precede its start happen before it; if they use another proxy,
/// this also requires a proxy fence. Only the operation's completion orders its accesses before later events of other threads.
/// `check::copy_started` determines the accesses.
#pragma once

#include <check/async_copies.hpp>
#include <check/stack_arena.hpp>
#include <sanitize/orders.hpp>
#include <sanitize/races.hpp>
#include <sanitize/reporter.hpp>
#include <sanitize/run_state.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace membar::sanitize {

class asynchronous_operations {
 public:
  asynchronous_operations(run_state& state, reporter& out, race_detector& races, thread_order& orders,
                          check::stack_arena& arena)
      : state_(state), out_(out), races_(races), orders_(orders), arena_(arena) {
    if (state.wide) {
      code_ = std::make_unique<check::kernel_code>(check::code_of_copies(state.checked));
      unused_ = std::make_shared<check::register_use>();
      auto uses = std::make_shared<check::register_use>();
      uses->unused.assign(code_->code.size(), false);
      unused_ = std::move(uses);
      eager_ = state.schedule % 3 == 1;
      lazy_ = state.schedule % 3 == 2;
    }
  }

  /// Starts an operation of a thread. Reports an error and returns false if the operation is invalid.
  bool start(lane& l) {
    const check::instruction& i = l.home->machine_of(l).at(*l.state);
    const int starters = i.performers;
    const int first = l.local - static_cast<int>(l.local % static_cast<unsigned>(starters));
    if (first + starters > static_cast<int>(l.home->lanes.size())) {
      return fail(l, check_status::undefined,
                  "executes '" + i.text + "', which " + std::to_string(starters) +
                      " threads must execute together, but its block has only " +
                      std::to_string(static_cast<int>(l.home->lanes.size()) - first));
    }
    const std::shared_ptr<operation> one = starters == 1 ? new_operation(l, i, 1) : shared_operation(l, i, first, starters);
    if (l.local == first && !plan(l, *one)) {
      return false;
    }
    one->start = l.local == first ? l.starts : one->start;
    ++l.starts;
    knowledge mine = l.known;
    mine.base.raise(l.key, l.time);
    mine.begun.raise(l.key, l.time);
    ++l.time;
    if (!one->has_started) {
      one->known = std::move(mine);
      one->has_started = true;
    } else {
      meet(one->known, mine);
    }
    for (const started_operation& s : l.operations) {
      one->before.push_back(s.what);
    }
    l.operations.push_back({one, 0});
    if (--one->starts_missing == 0) {
      pending_.push_back(one);
      if (eager_) {
        perform_pending(pending_.size() - 1);
      }
    }
    return !state_.stopped;
  }

  void commit(lane& l, const check::instruction& i) {
    const std::uint32_t number = ++l.groups[static_cast<std::size_t>(i.group)];
    for (started_operation& s : l.operations) {
      if (s.what->group == i.group && s.group == 0) {
        s.group = number;
      }
    }
  }

  /// Waits for groups of operations. Returns false if an operation cannot be performed yet.
  bool wait(lane& l, const check::instruction& i) {
    const std::uint64_t pending =
        i.mode == check::waits_for_all ? 0 : check::truncated(l.home->machine_of(l).operand(*l.state, 0), 32);
    const std::uint64_t groups = l.groups[static_cast<std::size_t>(i.group)];
    const auto is_awaited = [&](const started_operation& s) {
      return s.what->group == i.group && (i.mode == check::waits_for_all || (s.group != 0 && s.group + pending <= groups));
    };
    for (const started_operation& s : l.operations) {
      if (is_awaited(s) && !s.what->done && (s.what->starts_missing > 0 || !perform(*s.what))) {
        return false;
      }
    }
    for (const started_operation& s : l.operations) {
      if (is_awaited(s)) {
        pass_on(l.known, *s.what, i.reads_only ? operation::reading : operation::writing);
      }
    }
    if (!i.reads_only) {
      std::erase_if(l.operations, is_awaited);
    }
    return !state_.stopped;
  }

  /// At random, either performs a pending operation or does nothing. Returns whether it performed one.
  bool perform_some() {
    return !lazy_ && !pending_.empty() && state_.random.below(4) == 0 && perform_pending(state_.random.below(pending_.size()));
  }
  /// Performs one pending operation. Returns false if none can be performed.
  bool perform_one() {
    for (std::size_t k = 0; k < pending_.size(); ++k) {
      if (perform_pending(k)) {
        return true;
      }
    }
    return false;
  }

  /// Called when a block ends. Performs the operations that its threads have started.
  void finish(const block& b) {
    for (std::size_t k = 0; k < pending_.size();) {
      k = pending_[k]->home == &b && perform_pending(k) ? 0 : k + 1;
    }
  }

 private:
  bool fail(const lane& l, check_status status, const std::string& message, found_memory memory = {}) {
    out_.add(status, "thread " + out_.number_of(l) + " " + message, l, memory);
    state_.stop();
    return false;
  }

  [[nodiscard]] std::shared_ptr<operation> new_operation(const lane& l, const check::instruction& i, int starters) {
    auto one = std::make_shared<operation>();
    one->key = state_.next_copy++;
    one->home = l.home;
    one->starter = l.local;
    one->number = l.home->launch->first_access + static_cast<std::uint32_t>(l.state->pc);
    one->group = i.group;
    one->starts_missing = starters;
    state_.copies.push_back({l.key});
    return one;
  }

  [[nodiscard]] std::shared_ptr<operation> shared_operation(lane& l, const check::instruction& i, int first, int starters) {
    const auto kind =
        static_cast<std::size_t>(std::find(std::begin(check::starter_counts), std::end(check::starter_counts), starters) -
                                 std::begin(check::starter_counts));
    auto& all = l.home->together[{first, static_cast<int>(kind)}];
    const std::size_t n = l.together[kind]++;
    if (n >= all.size()) {
      all.push_back(new_operation(l.home->lanes[static_cast<std::size_t>(first)], i, starters));
      all.back()->number = l.home->launch->first_access + static_cast<std::uint32_t>(l.state->pc);
    }
    return all[n];
  }

  /// Determines the accesses of an operation.
  bool plan(lane& l, operation& one) {
    const check::machine& m = l.home->machine_of(l);
    check::copy_request asked = check::copy_started(*code_, memory_for(*l.home), m, *l.state, [&](std::uint64_t address) {
      const object* const o = state_.find(address, 8);
      return o == nullptr ? check::wide_value{} : o->value(address, 8);
    });
    if (asked.wrong.empty()) {
      asked.wrong = check::misplaced(m.at(*l.state), l.home->context_of(l), asked);
    }
    one.steps = std::move(asked.steps);
    const check::copied_data data = check::data_of(one.steps, *code_);
    started_copy& known = state_.copies[one.key - state_.first_copy];
    known.bytes_read = static_cast<int>(data.bytes_read);
    known.bytes_written = static_cast<int>(data.bytes_written);
    return asked.wrong.empty() || fail(l, asked.status, asked.wrong);
  }

  /// Returns a program with the memory that a thread of a block can access, but without the memory's values.
  [[nodiscard]] const check::program& memory_for(const block& b) {
    if (visible_.memory.empty()) {
      for (const check::memory_object& o : state_.checked.memory) {
        visible_.memory.push_back({o.name, o.address, o.bytes, o.initialised, o.constant, {}, o.host, o.type});
      }
      globals_ = visible_.memory.size();
    }
    visible_.memory.resize(globals_);
    const auto& context = b.contexts.front();
    const int first = b.number - static_cast<int>(context.cluster_rank);
    for (int n = first; n < first + static_cast<int>(context.cluster_blocks); ++n) {
      const block* const other = state_.by_number.at(n);
      if (other != nullptr) {
        visible_.memory.insert(visible_.memory.end(), other->described.begin(), other->described.end());
      }
    }
    return visible_;
  }

  static void meet(knowledge& to, const knowledge& from) {
    to.base.meet(from.base);
    to.begun.meet(from.begun);
    for (std::size_t k = 0; k < ptx::proxy_spaces; ++k) {
      to.more->crossed[k].meet(from.more->crossed[k]);
    }
    for (std::size_t k = 0; k < ptx::one_ways; ++k) {
      to.more->released[k].meet(from.more->released[k]);
    }
  }

  /// Makes all later events follow the accesses that the operation has completed, through all proxies.
  static void pass_on(knowledge& to, const operation& one, thread_time time) {
    const auto give = [&](knowledge& k) {
      k.base.raise(one.key, time);
      for (clock& c : k.more->crossed) {
        c.raise(one.key, time);
      }
    };
    if (time == operation::writing) {
      to.join(one.given, true);
    }
    give(to);
    to.more->released[static_cast<std::size_t>(ptx::one_way::tensor_memory)].raise(one.key, time);
  }

  bool perform_pending(std::size_t at) {
    const std::shared_ptr<operation> one = pending_[at];
    if (!one->done && !perform(*one)) {
      return false;
    }
    pending_.erase(std::find(pending_.begin(), pending_.end(), one));
    ++state_.writes;
    return true;
  }

  /// Performs an operation. Returns false if the operation has to wait for other operations that cannot be performed yet.
  bool perform(operation& one) {
    if (one.done || one.starts_missing > 0) {
      return one.done;
    }
    if (one.given.more == nullptr) {
      one.given.more = std::make_unique<knowledge::proxies>();
    }
    if (!perform_those_before(one)) {
      return false;
    }
    one.done = true;
    state_.note(one.home->lanes[one.starter], 0, one.start);
    if (one.steps.empty()) {
      return true;
    }
    const check::stack_arena::mark mark = arena_.here();
    check::thread_context context = one.home->contexts[one.starter];
    context.kernel = code_.get();
    context.copies_of = one.starter;
    context.registers = unused_;
    context.parameters.clear();
    const check::machine m(context, arena_);
    std::array<std::uint64_t, check::copy_registers::count> words{};
    words[check::copy_registers::next] = ~std::uint64_t{0};
    words[check::copy_registers::steps] = reinterpret_cast<std::uint64_t>(one.steps.data());
    words[check::copy_registers::end] = one.steps.size();
    const check::thread_state* s = m.begin(check::nobody{}, words);
    while (s->status == check::thread_status::at_event && !state_.stopped) {
      s = step(one, context, m, *s);
    }
    arena_.release(mark);
    return true;
  }

  /// Performs the thread's earlier operations that this operation has to follow. Returns false if one of them cannot be
  /// performed yet.
  bool perform_those_before(operation& one) {
    bool waits = false;
    ptx::async_group group = ptx::async_group::none;
    for (const check::copy_step& s : one.steps) {
      const check::instruction& i = model::at(code_->code, s.instruction);
      if (i.code == check::op::async_wait && i.mode == check::waits_for_all) {
        waits = true;
        group = i.group;
      }
    }
    for (const std::shared_ptr<operation>& o : one.before) {
      if (!waits || o->group != group) {
        continue;
      }
      if (!o->done && !perform(*o)) {
        return false;
      }
      pass_on(one.known, *o, operation::writing);
      pass_on(one.given, *o, operation::writing);
    }
    one.before.clear();
    return true;
  }

  const check::thread_state* step(operation& one, const check::thread_context& context, const check::machine& m,
                                  const check::thread_state& s) {
    const check::instruction& i = m.at(s);
    if (i.code == check::op::async_wait) {
      return m.step(s, {});
    }
    access a;
    a.by = &i;
    a.number = one.number;
    a.address = m.address(s);
    a.bytes = i.bytes;
    a.strong = i.strong;
    a.scope = i.scope;
    a.via = i.via;
    a.rmw = i.code == check::op::atomic || i.code == check::op::reduction;
    lane& l = one.home->lanes[one.starter];
    object* const o = state_.find(a.address, a.bytes);
    if (o == nullptr || a.address % a.bytes != 0 || (o->constant && i.code != check::op::load)) {
      fail(l, check_status::out_of_bounds,
           "starts an asynchronous operation that accesses " + std::to_string(a.bytes) + " bytes at " +
               out_.place(l, a.address) +
               (o == nullptr               ? ", which are outside of every object"
                : a.address % a.bytes != 0 ? ", which are not aligned"
                                           : ", which are in constant memory"),
           {&l, a.address});
      return &s;
    }
    if (i.mbarrier != check::mbarrier_op::none) {
      return complete(one, *o, l, a, m, s);
    }
    if (i.code == check::op::load) {
      if (o->is_uninitialised(a.address, a.bytes)) {
        out_.add(check_status::uninitialised,
                 "an asynchronous operation of thread " + out_.number_of(l) + " may read " + out_.place(l, a.address) +
                     " before anything is written to it",
                 l, {&l, a.address});
      }
      touch(one, *o, context, a);
      return m.step(s, o->value(a.address, a.bytes));
    }
    const check::thread_state* now = &s;
    if (a.rmw) {
      now = m.step(s, o->value(a.address, a.bytes));
      if (!m.is_amid_rmw(*now)) {
        return now;
      }
    }
    a.writes = true;
    const check::wide_value v = m.stored(*now);
    a.changes = !(o->value(a.address, a.bytes) == v);
    touch(one, *o, context, a);
    if (model::releases(i.order)) {
      release(one, *o, context, a);
    }
    o->write(a.address, a.bytes, v);
    ++state_.writes;
    return m.step(*now, {});
  }

  void touch(const operation& one, object& o, const check::thread_context& context, const access& a) {
    const thread_time time = a.writes ? operation::writing : operation::reading;
    races_.touch(o, {one.key, time, 1, 0, 0, &one.known, &context}, a);
  }

  [[nodiscard]] release_head head_of(const operation& one, const knowledge& known, thread_scope scope) {
    release_head h;
    h.scope = scope;
    h.where = one.home->contexts[one.starter].where;
    h.serial = ++state_.serials;
    h.known = std::make_shared<knowledge>(known);
    pass_on(*h.known, one, operation::writing);
    return h;
  }

  /// Performs a store that releases the operation's earlier accesses.
  void release(const operation& one, object& o, const check::thread_context& context, const access& a) {
    o.cell_at(a.address).last[0].what |= stamp::synchronizes;
    sync_cell& c = state_.cells[a.address];
    if (!a.rmw) {
      c.heads.clear();
    }
    c.writer = context.where;
    c.scope = a.scope;
    c.bytes = a.bytes;
    c.heads.add(head_of(one, one.known, a.scope));
  }

  /// Updates the mbarrier on which the operation completes.
  const check::thread_state* complete(operation& one, object& o, lane& l, const access& a, const check::machine& m,
                                      const check::thread_state& s) {
    const check::thread_state* const now = m.step(s, o.value(a.address, a.bytes));
    const check::mbarrier_outcome outcome = m.updated_mbarrier_at(*now);
    if (outcome.wrong != nullptr) {
      fail(l, check_status::undefined,
           std::string("starts an operation that ") + outcome.wrong + ": " + out_.place(l, a.address), {&l, a.address});
      return now;
    }
    o.write(a.address, a.bytes, m.stored(*now));
    ++state_.writes;
    o.cell_at(a.address).last[0].what |= stamp::synchronizes;
    sync_cell& c = state_.cells[a.address];
    c.bytes = a.bytes;
    release_head h = head_of(one, one.given, a.scope);
    h.copy = true;
    c.heads.add(h);
    if (outcome.completes) {
      c.phase = c.heads;
    }
    return m.step(*now, {});
  }

  run_state& state_;
  reporter& out_;
  race_detector& races_;
  thread_order& orders_;
  check::stack_arena& arena_;
  std::unique_ptr<check::kernel_code> code_{};
  std::shared_ptr<const check::register_use> unused_{};
  std::vector<std::shared_ptr<operation>> pending_{};
  check::program visible_{};  ///< used by `memory_for`
  std::size_t globals_ = 0;
  bool eager_ = false;
  bool lazy_ = false;
};

}  // namespace membar::sanitize
