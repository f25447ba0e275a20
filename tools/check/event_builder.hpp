// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What an exploration asks of the execution that it grows: the next event of a thread with its clocks, the accesses it races
/// with, the bytes it reads, and what is reported.
#pragma once

#include <check/fence_order.hpp>
#include <check/graph.hpp>
#include <check/machine.hpp>
#include <check/meetings.hpp>
#include <check/program.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>
#include <membar/model/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace membar::check::detail {

/// The events of a program's threads, and what they mean to an execution.
class event_builder {
 protected:
  using event_kind = model::event_kind;
  using suspects = std::vector<std::pair<const graph_event*, const graph_event*>>;

  explicit event_builder(const program& checked)
      : program_(checked),
        locations_(checked.memory),
        rules_(checked.threads),
        machines_(made(checked, arena_)),
        meetings_(checked.threads, machines_) {}
  ~event_builder() = default;

  [[nodiscard]] static std::vector<machine> made(const program& p, stack_arena& arena) {
    std::vector<machine> result;
    for (const thread_context& c : p.threads) {
      result.emplace_back(c, arena);
    }
    return result;
  }

  [[nodiscard]] int count() const noexcept { return model::count_of(program_.threads); }
  [[nodiscard]] static const thread_state& state_of(const graph& g, int t) noexcept {
    return *model::at(g.threads, t).states.back();
  }
  [[nodiscard]] bool stopped() const noexcept { return result_.found.status != check_status::verified; }

  [[nodiscard]] static bool is_update(op code) noexcept { return code == op::atomic || code == op::reduction; }

  // ---- what is found

  void report(const graph& g, check_status status, std::string message, std::vector<const graph_event*> blamed = {}) {
    if (!stopped()) {
      result_.found = finding_of(program_, g, status, std::move(message), blamed);
    }
  }

  /// Reports what happens to a thread where it stands.
  void report_of(const graph& g, int thread, check_status status, std::string message) {
    if (!stopped()) {
      report(g, status, std::move(message));
      result_.found.thread = thread;
    }
  }

  /// Whether thread `t` can go on, or has a right to stand where it stands.
  [[nodiscard]] bool healthy(const graph& g, int t) {
    const thread_state& s = state_of(g, t);
    switch (s.status) {
      case thread_status::at_event:
      case thread_status::waiting:
      case thread_status::repeats:
      case thread_status::ended:
      case thread_status::undecided:
        return true;
      case thread_status::trapped:
        report_of(g, t, check_status::violated,
                  "thread " + std::to_string(t) +
                      (model::at(machines_, t).at(s).text == assertion_text ? ": an assertion fails" : " traps"));
        return false;
      case thread_status::endless:
        report_of(g, t, check_status::hang,
                  "thread " + std::to_string(t) + " is in a loop that accesses no memory and never ends");
        return false;
      case thread_status::waits_for_time:
        report_of(g, t, check_status::gave_up,
                  "thread " + std::to_string(t) + " waits for time to pass, and clocks stand still in this check");
        return false;
      case thread_status::too_long:
        report_of(g, t, check_status::gave_up,
                  "thread " + std::to_string(t) + " takes more than " + std::to_string(machine::most_steps) +
                      " steps between two events");
        return false;
      case thread_status::uninitialised:
        report_of(g, t, check_status::uninitialised, "thread " + std::to_string(t) + " reads local memory that it never wrote");
        return false;
      case thread_status::out_of_bounds:
        report_of(g, t, check_status::out_of_bounds,
                  "thread " + std::to_string(t) + " accesses local memory that it does not have");
        return false;
    }
    return false;
  }

  // ---- events

  /// The launches that the launch of thread `t` comes after.
  [[nodiscard]] const std::vector<int>& launches_before(int t) const {
    static const std::vector<int> none;
    const int mine = model::at(program_.threads, t).launch;
    return mine < model::count_of(program_.launches_before) ? model::at(program_.launches_before, mine) : none;
  }
  [[nodiscard]] bool is_dependent(int t) const {
    const int mine = model::at(program_.threads, t).launch;
    return mine < model::count_of(program_.dependent) && program_.dependent[static_cast<std::size_t>(mine)];
  }

  /// Calls `use` with each thread of the launches that the launch of thread `t` comes after.
  template <class Use>
  void for_each_before(int t, const Use& use) const {
    const std::vector<int>& before = launches_before(t);
    for (int u = 0; u < count() && !before.empty(); ++u) {
      if (std::find(before.begin(), before.end(), model::at(program_.threads, u).launch) != before.end()) {
        use(u);
      }
    }
  }

  /// Where thread `t` lets the launches that depend on its own begin; null if it has not. Source: PTX ISA, "griddepcontrol".
  [[nodiscard]] const graph_event* launch_of_dependents(const graph& g, int t) const {
    for (const graph_event* e : model::at(g.threads, t).events) {
      if (instruction_of(program_, *e).code == op::grid_launch) {
        return e;
      }
    }
    return nullptr;
  }

  /// Whether the launches before that of thread `t` have ended or, if `launched` is enough, some thread of each of their blocks has
  /// launched the dependents.
  [[nodiscard]] bool are_over(const graph& g, int t, bool launched) const {
    bool result = true;
    for_each_before(t, [&](int u) {
      bool over = state_of(g, u).status == thread_status::ended;
      for (int v = 0; v < count() && launched && !over; ++v) {
        over = model::at(program_.threads, v).block_number == model::at(program_.threads, u).block_number &&
               launch_of_dependents(g, v) != nullptr;
      }
      result = result && over;
    });
    return result;
  }

  [[nodiscard]] bool may_begin(const graph& g, int t) const {
    return !model::at(g.threads, t).events.empty() || are_over(g, t, is_dependent(t));
  }

  /// Lets `e`, the first event of a dependent launch, come after what let it begin, of which it is ordered after nothing.
  void follow_begun_launches(const graph& g, graph_event& e) const {
    for_each_before(e.thread, [&](int u) {
      const auto& theirs = model::at(g.threads, u).events;
      const graph_event* const launch = launch_of_dependents(g, u);
      if (launch != nullptr || (!theirs.empty() && state_of(g, u).status == thread_status::ended)) {
        follow(e, launch != nullptr ? *launch : *theirs.back());
      }
    });
  }

  /// Lets `e` come after the launches before that of its thread, which have ended.
  void follow_launches(const graph& g, graph_event& e) const {
    for_each_before(e.thread, [&](int u) {
      const auto& theirs = model::at(g.threads, u).events;
      if (!theirs.empty()) {
        rules_.come_after(*theirs.back(), e);
        follow(e, *theirs.back());
      }
    });
    rules_.cross(e, ~0U);  // the boundary of a kernel joins the proxies
  }

  /// An event of thread `t`, with its clocks, that is part of no graph yet.
  [[nodiscard]] graph_event& make_event(const graph& g, int t, event_kind kind) {
    const std::size_t width = program_.threads.size();
    const std::size_t begun = begins_mbarriers_ ? 1 : 0;
    const std::size_t copies = copies_ ? proxy_spaces + 2 : 0;
    const std::size_t all = (begun + copies + (equal_.empty() ? 2 : 3)) * width;
    auto* const clocks = static_cast<std::uint16_t*>(arena_.take(all * sizeof(std::uint16_t)));
    auto* const e = new (arena_.take(sizeof(graph_event))) graph_event;
    const thread_line& line = model::at(g.threads, t);
    e->kind = kind;
    e->thread = t;
    e->number = model::count_of(line.events);
    e->pc = line.states.back()->pc;
    e->stamp = g.next_stamp;
    e->base = clocks;
    e->prefix = clocks + width;
    e->past = equal_.empty() ? e->prefix : clocks + all - width;
    e->begun = begins_mbarriers_ ? clocks + 2 * width : e->base;
    e->crossed = copies_ ? clocks + (2 + begun) * width : nullptr;
    e->released = copies_ ? e->crossed + proxy_spaces * width : nullptr;
    e->given = line.idle != nullptr ? e->released + width : nullptr;
    std::fill(clocks, clocks + all, std::uint16_t{0});
    if (e->number > 0) {  // all of its clocks: they stand one after the other
      std::copy(line.events.back()->base, line.events.back()->base + all, clocks);
    } else if (line.issue != nullptr) {
      rules_.come_after(*line.issue, *e);
      follow(*e, *line.issue);
    } else if (!is_dependent(t)) {
      follow_launches(g, *e);
    } else {
      follow_begun_launches(g, *e);
    }
    for (std::size_t k = 0; k < all / width; ++k) {
      const bool crossed = copies_ && k >= 2 + begun && k < 2 + begun + proxy_spaces + 1;
      if (!crossed || line.idle != nullptr) {  // what a thread did itself is before no proxy fence yet
        clocks[k * width + static_cast<std::size_t>(t)] = static_cast<std::uint16_t>(e->number + 1);
      }
    }
    return *e;
  }

  [[nodiscard]] static bool begins_mbarriers(const program& p) {
    return std::any_of(p.kernels.begin(), p.kernels.end(), [](const auto& k) {
      return std::any_of(k->code.begin(), k->code.end(),
                         [](const instruction& i) { return i.restricted && i.code == op::fence; });
    });
  }

  /// Lets `e` follow another event by reads-from, a meeting or the order of launches.
  void follow(graph_event& e, const graph_event& other) const noexcept {
    rules_.join(const_cast<std::uint16_t*>(e.prefix), other.prefix);
    if (e.past != e.prefix) {
      rules_.join(const_cast<std::uint16_t*>(e.past), other.past);
    }
  }

  /// The first read-modify-write of a thread; null if it had none.
  [[nodiscard]] static const graph_event* first_update(const graph& g, int t) {
    for (const graph_event* e : model::at(g.threads, t).events) {
      if (e->update) {
        return e;
      }
    }
    return nullptr;
  }

  /// Whether a thread stands at its first read-modify-write, and an equal one before it has not come to its own. Equal threads
  /// do them in the order of their numbers: in any execution they can be numbered so, as they come in any order of its events
  /// along program order and reads-from.
  [[nodiscard]] bool is_held(const graph& g, int t) const {
    const thread_state& s = state_of(g, t);
    return !equal_.empty() && model::at(equal_, t) >= 0 && s.status == thread_status::at_event && s.part == 0 &&
           is_update(model::at(machines_, t).at(s).code) && first_update(g, t) == nullptr &&
           first_update(g, model::at(equal_, t)) == nullptr;
  }

  /// Whether a thread performs a bulk copy, through the async proxy.
  [[nodiscard]] bool is_bulk(const graph& g, int t) const {
    const graph_event* const issue = model::at(g.threads, t).issue;
    if (issue == nullptr) {
      return false;
    }
    const instruction& i = instruction_of(program_, *issue);
    return i.from_space != state_space::generic && i.completes != model::completion::group;
  }

  /// Fills in what the instruction that a thread stands at says of its access of memory.
  static void describe_access(graph_event& e, const machine& m, const thread_state& s, bool bulk = false) {
    const instruction& i = m.at(s);
    e.address = e.physical = m.address(s);
    e.bytes = i.bytes;
    e.strong = i.strong;
    e.scope = i.scope;
    e.mbarrier = i.mbarrier;
    e.via = bulk && i.mbarrier == mbarrier_op::none ? model::proxy::async : model::proxy::generic;
    e.arrives = arrives(i.mbarrier);
    e.update = is_update(i.code);
    e.reduction = i.code == op::reduction;
    e.acquires = e.kind == event_kind::read && model::acquires(i.order);
    e.releases = e.kind == event_kind::write && model::releases(i.order);
  }

  /// Fills in what an access of memory is. False if it is to no memory.
  [[nodiscard]] bool place_access(const graph& g, graph_event& e, const thread_state& s) {
    const machine& m = model::at(machines_, e.thread);
    const instruction& i = m.at(s);
    describe_access(e, m, s, is_bulk(g, e.thread));
    const memory_object* const object = locations_.object_of(e.address, e.bytes);
    const std::uint64_t alignment = alignment_of(i, s.part);
    if (object == nullptr || e.address % alignment != 0 || (object->constant && e.kind == event_kind::write)) {
      const std::string what = object == nullptr            ? " lies in no object"
                               : e.address % alignment != 0 ? " is not aligned"
                                                            : " writes to constant memory";
      report_of(g, e.thread, check_status::out_of_bounds,
                "an access of thread " + std::to_string(e.thread) + what + ": " + std::to_string(alignment) + " bytes at " +
                    place_text(program_, e.address) +
                    (object == nullptr && e.address >= shared_window && e.address < local_window
                         ? "; a launch has dynamic shared memory by 'shared BYTES'"
                         : ""));
      return false;
    }
    if (acquires_or_releases_a_vector(i)) {
      report_of(g, e.thread, check_status::gave_up,
                "'" + i.text + "' is an access of a vector that acquires or releases, which is not supported");
      return false;
    }
    if (i.non_coherent && !object->constant) {
      report_of(g, e.thread, check_status::gave_up,
                "'" + i.text +
                    "' reads through the non-coherent proxy, which is supported in memory that the scenario calls constant");
      return false;
    }
    if (!equal_.empty() && e.update && e.kind == event_kind::read && model::at(equal_, e.thread) >= 0 &&
        first_update(g, e.thread) == nullptr) {
      rules_.join(const_cast<std::uint16_t*>(e.past), first_update(g, model::at(equal_, e.thread))->past);
    }
    e.location = locations_.number_of(e.address, e.bytes);
    return true;
  }

  /// The accesses that conflict with `e` and are neither morally strong with it nor, as far as clocks say, ordered before it.
  [[nodiscard]] suspects races_of(const graph& g, const graph_event& e) const {
    suspects result;
    const auto look = [&](const std::vector<const graph_event*>& others) {
      for (const graph_event* o : others) {
        if (o != nullptr && o->thread != e.thread && !precedes(*o, rules_.clock_for(*o, e)) && !at_one_mbarrier(*o, e) &&
            !rules_.morally_strong(*o, e) && !rules_.causes(g, *o, rules_.clock_for(*o, e))) {
          result.emplace_back(o, &e);
        }
      }
    };
    const auto look_at = [&](int location) {
      if (location < model::count_of(g.order)) {
        look(model::at(g.order, location));
        if (e.kind == event_kind::write) {
          look(model::at(g.reads, location));
        }
      }
    };
    look_at(e.location);
    for (const int other : locations_[e.location].overlapping) {
      look_at(other);
    }
    return result;
  }

  /// Whether two operations on an mbarrier do not race: none of them initializes it or ends it, or that comes before.
  [[nodiscard]] static bool at_one_mbarrier(const graph_event& x, const graph_event& y) noexcept {
    return x.mbarrier != mbarrier_op::none && y.mbarrier != mbarrier_op::none &&
           ((x.strong && y.strong) || (x.mbarrier == mbarrier_op::init && (precedes(x, y.begun) || precedes(x, y.base))));
  }

  /// Whether the graph, whose last event brought these suspects, is consistent and free of races. Reports a race.
  [[nodiscard]] bool consistent(const graph& g, const suspects& found) {
    if (g.sequential_fences < 2) {
      if (!found.empty()) {
        report_race(g, *found.front().first, *found.front().second);
      }
      return found.empty();
    }
    if (copies_ && !found.empty()) {
      report(g, check_status::gave_up,
             "accesses that may race beside fence.sc of several threads and asynchronous copies are not supported",
             {found.front().first, found.front().second});
      return false;
    }
    fence_order order(g, rules_);
    const bool result = order.search(found);
    if (order.race() != nullptr) {
      report_race(g, *order.race()->first, *order.race()->second);
      return false;
    }
    return result;
  }

  void report_race(const graph& g, const graph_event& x, const graph_event& y) {
    report(g, check_status::race, race_text(program_, x, y), {&x, &y});
  }

  /// The bytes that a read takes from writes of other sizes. False if they are not decided.
  [[nodiscard]] bool mixed_value(const graph& g, graph_event& e) {
    const location_info& here = locations_[e.location];
    e.mixed = true;
    e.value = {};
    for (int b = 0; b < e.bytes; ++b) {
      const std::uint64_t at = e.address + static_cast<std::uint64_t>(b);
      const graph_event* latest = latest_of_byte(g, at, e.location, [&](const graph_event& w) {
        if (!rules_.causes(g, w, rules_.clock_for(w, e))) {
          report(g, check_status::gave_up,
                 "a read of thread " + std::to_string(e.thread) +
                     " may take its bytes from writes of several sizes that are not all ordered before it",
                 {&w});
        }
      });
      if (stopped()) {
        return false;
      }
      std::uint64_t byte = 0;
      if (latest != nullptr) {
        byte = byte_of(latest->value, static_cast<int>(at - latest->address));
        follow(e, *latest);
      } else if (!here.initialised) {
        report_of(g, e.thread, check_status::uninitialised,
                  "thread " + std::to_string(e.thread) + " reads memory that nothing was written to");
        return false;
      } else {
        byte = byte_of(here.initial, b);
      }
      (b < 8 ? e.value.low : e.value.high) |= byte << (8 * static_cast<unsigned>(b % 8));
    }
    return true;
  }

  [[nodiscard]] static std::uint64_t byte_of(wide_value v, int n) noexcept {
    return ((n < 8 ? v.low : v.high) >> (8 * static_cast<unsigned>(n % 8))) & 0xffU;
  }

  /// The last write that covers a byte of a location, in the order that coherence and causality give; null: none.
  template <class Look>
  [[nodiscard]] const graph_event* latest_of_byte(const graph& g, std::uint64_t address, int location, const Look& look) const {
    const graph_event* latest = nullptr;
    const auto consider = [&](int l) {
      if (l >= model::count_of(g.order)) {
        return;
      }
      for (const graph_event* w : model::at(g.order, l)) {
        if (w == nullptr || address < w->address || address >= w->address + static_cast<std::uint64_t>(w->bytes)) {
          continue;
        }
        look(*w);
        // of one location they come in coherence order; of two, causality has ordered them
        if (latest == nullptr || latest->location == w->location || rules_.causes(g, *latest, w->base)) {
          latest = w;
        }
      }
    };
    consider(location);
    for (const int other : locations_[location].overlapping) {
      consider(other);
    }
    return latest;
  }

  [[nodiscard]] bool has_other_sizes(const graph& g, int location) const {
    for (const int other : locations_[location].overlapping) {
      if (other < model::count_of(g.order) && model::at(g.order, other).size() > 1) {
        return true;
      }
    }
    return false;
  }

  /// The place in the location's order of the last write that `e` may not miss.
  [[nodiscard]] int oldest_source(const graph& g, const graph_event& e, int location) const noexcept {
    int oldest = rules_.oldest_source(g, location, e.base);
    const auto& order = model::at(g.order, location);
    for (int i = oldest + 1; e.begun != e.base && i < model::count_of(order); ++i) {
      const graph_event& w = *model::at(order, i);
      oldest = w.mbarrier == mbarrier_op::init && precedes(w, e.begun) ? i : oldest;
    }
    return oldest;
  }

  /// Gives a read its source. False if nothing was ever written there.
  [[nodiscard]] bool read_from(const graph& g, graph_event& e, const graph_event* source) {
    e.source = source;
    if (source != nullptr) {
      e.value = source->value;
      follow(e, *source);
    } else {
      e.value = locations_[e.location].initial;
      if (!locations_[e.location].initialised) {
        report_of(g, e.thread, check_status::uninitialised,
                  "thread " + std::to_string(e.thread) + " may read " + place_text(program_, e.address) +
                      " before anything is written to it");
        return false;
      }
    }
    if (e.mbarrier == mbarrier_op::test) {
      e.passes = model::at(machines_, e.thread).passes(state_of(g, e.thread), e.value);
    }
    if (e.acquires) {
      rules_.acquire(g, e);
    }
    return true;
  }

  // ---- the end

  /// Whether the last round of the loop in which `t` waits has read the latest values.
  [[nodiscard]] bool waits_for_ever(const graph& g, int t) const {
    const auto& events = model::at(g.threads, t).events;
    for (int n = state_of(g, t).waits_from; n < model::count_of(events); ++n) {
      const graph_event& e = *model::at(events, n);
      if (e.kind != event_kind::read || e.mixed) {
        continue;
      }
      const auto& order = model::at(g.order, e.location);
      for (int i = event_rules::place_in(order, e.source) + 1; i < model::count_of(order); ++i) {
        const graph_event& w = *model::at(order, i);
        if (!w.update || w.value != w.partner->value) {
          return false;
        }
      }
    }
    return true;
  }

  /// The bytes of memory at the end of an execution.
  [[nodiscard]] std::uint64_t final_value(const graph& g, std::uint64_t address, int bytes) const {
    std::uint64_t result = 0;
    for (int b = 0; b < bytes; ++b) {
      const std::uint64_t at = address + static_cast<std::uint64_t>(b);
      const graph_event* latest = nullptr;
      for (int l = 0; l < locations_.size(); ++l) {
        const location_info& info = locations_[l];
        if (latest == nullptr && l < model::count_of(g.order) && at >= info.address &&
            at < info.address + static_cast<std::uint64_t>(info.bytes)) {
          latest = latest_of_byte(g, at, l, [](const graph_event&) {});
        }
      }
      std::uint64_t byte = 0;
      if (latest != nullptr) {
        byte = byte_of(latest->value, static_cast<int>(at - latest->address));
      } else if (const memory_object* o = locations_.object_of(at, 1); o != nullptr) {
        byte = at - o->address < o->initial.size() ? o->initial[static_cast<std::size_t>(at - o->address)] : 0;
      }
      result |= byte << (8 * static_cast<unsigned>(b));
    }
    return result;
  }

  /// Counts an execution that does not go on, and asks the property of one whose threads have all ended. `stuck`: none of those
  /// that have not ended ever will.
  void finish(const graph& g, bool ended, bool stuck, const check_property& property) {
    if (!ended) {
      if (stuck) {
        report(g, check_status::hang, "threads wait, and no other thread can end that");
      } else {
        ++result_.counts.blocked;
      }
      return;
    }
    ++result_.counts.executions;
    if (property) {
      std::string broken = property(memory_at_end(*this, g));
      if (!broken.empty()) {
        report(g, check_status::violated, std::move(broken));
      }
    }
  }

  const program& program_;
  stack_arena arena_{};
  location_table locations_;
  event_rules rules_;
  std::vector<machine> machines_;
  meetings meetings_;
  bool copies_ = program_.copies_of_each != 0;          ///< some threads perform asynchronous copies
  bool begins_mbarriers_ = begins_mbarriers(program_);  ///< some fence is for initializations alone
  std::vector<int> equal_{};  ///< per thread: the equal one before it, or -1; empty: none are looked for
  check_result result_{};

 private:
  class memory_at_end final : public final_memory {
   public:
    memory_at_end(const event_builder& by, const graph& g) : by_(by), graph_(g) {}
    [[nodiscard]] std::uint64_t value(std::uint64_t address, int bytes) const override {
      return by_.final_value(graph_, address, bytes);
    }
    [[nodiscard]] const graph& execution() const noexcept override { return graph_; }

   private:
    const event_builder& by_;
    const graph& graph_;
  };
};

}  // namespace membar::check::detail
