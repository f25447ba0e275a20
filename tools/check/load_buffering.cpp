// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Explores the executions with load buffering, in which program order and reads-from have a cycle, but dependencies and
// reads-from do not.
//
// A thread continues past a read whose source has not been chosen yet. Values that are computed from such a read are unknown:
// an access with an unknown address or value is omitted until it is known, and an unknown branch stops the thread. A read
// either takes its value from an existing write, or stays open for a later write. A new write may become the source of any of
// the open reads of its location. Each execution results from exactly one sequence of choices, so none is found twice.
// explore.cpp handles the executions without a cycle. The axioms are checked on the events that exist so far, because
// additional events, causality or coherence never repair a broken axiom.
//
// This exploration is much more expensive than explore.cpp and is limited to 64 events. It is used only if a cycle could not be
// ruled out.
//
// The axioms are those in model/causality.hpp and model/axioms.hpp, restricted to the generic proxy and to total coherence.
// Tests compare the two.
#include <check/data_flow.hpp>
#include <check/event_builder.hpp>
#include <check/execution_end.hpp>
#include <check/exploration_state.hpp>
#include <check/fence_order.hpp>
#include <check/graph.hpp>
#include <check/load_buffering.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <check/sync_points.hpp>
#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/relation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace membar::check::detail {
namespace {

/// The values of `placed_event::source` for a read whose source has not been chosen, and for a read of the initial value.
constexpr int open_source = -2;
constexpr int initial_source = -1;

/// One event that a thread has reached.
struct pending_event {
  std::uint64_t slot = 0;  ///< the position of the instruction in the thread's run, and of the event within the instruction
  int number = -1;         ///< the event's number in the execution; -1 if the event is not yet part of the execution
  bool known = false;      ///< whether the event's address and value are known
  bool open = false;       ///< whether it is a read whose source has not been chosen yet
  graph_event event{};
};

/// One event of the execution.
struct placed_event {
  graph_event event{};
  std::uint64_t slot = 0;
  int source = open_source;  ///< for a read: the number of the write that it reads from, or `open_source` or `initial_source`
  int partner = -1;          ///< for the write of a read-modify-write: the number of its read
};

/// Returns whether the lanes of a warp exchange values at an instruction. The exchange does not order memory and is not an
/// event of the execution: its results are computed from the values that reads have returned.
[[nodiscard]] bool exchanges_values(op code) noexcept { return code >= op::shuffle && code <= op::elect; }

/// The arrival of a lane at an exchange of values, or the lane's continuation after the exchange.
struct exchange_event {
  std::uint64_t slot = 0;
  graph_event event{};  ///< for an arrival, the value is unknown as long as it depends on open reads
};

/// The part of a thread's run that the chosen sources determine.
struct buffered_run {
  std::vector<pending_event> pending;
  std::vector<exchange_event> exchanges;
  const thread_state* end = nullptr;
  bool unsupported = false;
  bool unmet = false;  ///< whether the thread has continued after an exchange of values in which some lane's value was missing
};

/// An execution of at most 64 events, some of which may still be missing.
struct buffered_execution {
  buffered_execution(const program& checked, const model::other_readings& readings)
      : state(checked, readings), runs(checked.threads.size()) {}

  [[nodiscard]] int placed_at(int t, std::uint64_t slot) const noexcept {
    for (int n = 0; n < model::count_of(events); ++n) {
      if (model::at(events, n).event.thread == t && model::at(events, n).slot == slot) {
        return n;
      }
    }
    return -1;
  }

  [[nodiscard]] bool before_in_thread(int x, int y) const noexcept {
    const placed_event& a = model::at(events, x);
    const placed_event& b = model::at(events, y);
    return a.event.thread == b.event.thread && a.slot < b.slot;
  }

  [[nodiscard]] bool launched_before(int t, int u) const {
    const auto& before = state.checked.launches_before;
    const int mine = model::at(state.checked.threads, u).launch;
    return mine < model::count_of(before) &&
           std::find(model::at(before, mine).begin(), model::at(before, mine).end(),
                     model::at(state.checked.threads, t).launch) != model::at(before, mine).end();
  }

  /// Returns how many times the thread of event `n` reached the same sync point before event `n`.
  [[nodiscard]] int turn_of(int n) const noexcept {
    int count = 0;
    for (int k = 0; k < model::count_of(events); ++k) {
      const graph_event& e = model::at(events, k).event;
      count += e.kind == event_kind::barrier && e.releases == model::at(events, n).event.releases &&
                       e.sync_point == model::at(events, n).event.sync_point && before_in_thread(k, n)
                   ? 1
                   : 0;
    }
    return count;
  }

  /// Returns whether event `y` waits for event `x`, an arrival.
  [[nodiscard]] bool meets(int x, int y) const {
    const graph_event& a = model::at(events, x).event;
    const graph_event& b = model::at(events, y).event;
    return a.kind == event_kind::barrier && b.kind == event_kind::barrier && a.releases && !b.releases &&
           a.sync_point == arrival_of(y).sync_point && state.points.takes_part(a.thread, b.thread, a.sync_point) &&
           turn_of(x) == turn_of(index_of_arrival(y));
  }

  [[nodiscard]] int index_of_arrival(int y) const noexcept {
    return placed_at(model::at(events, y).event.thread, model::at(events, y).slot - 1);
  }
  [[nodiscard]] const graph_event& arrival_of(int y) const noexcept { return model::at(events, index_of_arrival(y)).event; }

  /// Returns the order that does not depend on the chosen sources: program order, launch order, and barriers.
  [[nodiscard]] model::relation fixed_order() const {
    model::relation r;
    const int size = model::count_of(events);
    const auto& before = state.checked.launches_before;
    const bool launches = std::any_of(before.begin(), before.end(), [](const auto& those) { return !those.empty(); });
    for (int x = 0; x < size; ++x) {
      const placed_event& a = model::at(events, x);
      for (int y = 0; y < size; ++y) {
        const placed_event& b = model::at(events, y);
        if (a.event.thread == b.event.thread ? a.slot < b.slot
                                             : (launches && launched_before(a.event.thread, b.event.thread)) || meets(x, y)) {
          r.add(x, y);
        }
      }
    }
    return r;
  }

  /// Returns `fixed_order`, with the events before an exchange of values also ordered before the events after it. An exchange
  /// does not order memory, but the exploration adds events in this order (explore.cpp).
  [[nodiscard]] model::relation order_of_steps() const {
    model::relation r = fixed_order();
    const std::vector<meeting> meetings = meetings_of_lanes();
    for (int x = 0; x < model::count_of(events) && !meetings.empty(); ++x) {
      const placed_event& a = model::at(events, x);
      const std::vector<std::uint64_t> last = last_not_after(a.event.thread, a.slot, meetings);
      for (int y = 0; y < model::count_of(events); ++y) {
        if (model::at(events, y).slot > model::at(last, model::at(events, y).event.thread)) {
          r.add(x, y);
        }
      }
    }
    return r;
  }

  /// One exchange of values between lanes: the slot at which each lane arrives, and the slot at which it continues.
  struct meeting {
    std::uint64_t sync_point = 0;
    int turn = 0;
    std::vector<std::pair<int, std::uint64_t>> arrivals{};
    std::vector<std::pair<int, std::uint64_t>> ends{};
  };
  [[nodiscard]] std::vector<meeting> meetings_of_lanes() const {
    std::vector<meeting> result;
    for (int t = 0; t < state.count(); ++t) {
      const exchange_event* arrival = nullptr;
      for (const exchange_event& x : model::at(runs, t).exchanges) {
        arrival = x.event.arrives ? &x : arrival;
        const graph_event& a = arrival->event;
        auto m = std::find_if(result.begin(), result.end(), [&](const meeting& o) {
          return o.sync_point == a.sync_point && o.turn == a.turn && state.points.same_warp(o.arrivals.front().first, t);
        });
        if (m == result.end()) {
          m = result.insert(m, meeting{a.sync_point, a.turn});
        }
        (x.event.arrives ? m->arrivals : m->ends).emplace_back(t, x.slot);
      }
    }
    return result;
  }

  /// Returns, for each thread, the last slot that need not follow slot `slot` of thread `t`; all later slots of that thread
  /// follow it.
  [[nodiscard]] std::vector<std::uint64_t> last_not_after(int t, std::uint64_t slot,
                                                          const std::vector<meeting>& meetings) const {
    std::vector<std::uint64_t> last(runs.size(), ~std::uint64_t{0});
    model::at(last, t) = slot;
    for (bool changed = true; changed;) {
      changed = false;
      for (const meeting& m : meetings) {
        const bool after = std::any_of(m.arrivals.begin(), m.arrivals.end(),
                                       [&](const auto& a) { return model::at(last, a.first) <= a.second; });
        for (const auto& [u, end] : m.ends) {
          if (after && model::at(last, u) > end) {
            model::at(last, u) = end;
            changed = true;
          }
        }
      }
    }
    return last;
  }

  [[nodiscard]] bool strong_pair(int x, int y) const noexcept {
    return state.rules.morally_strong(model::at(events, x).event, model::at(events, y).event);
  }

  /// Returns whether, for every thread that continued after a barrier, all threads that it waits for have arrived.
  [[nodiscard]] bool all_met() const {
    for (int y = 0; y < model::count_of(events); ++y) {
      if (model::at(events, y).event.kind != event_kind::barrier || model::at(events, y).event.releases) {
        continue;
      }
      for (int t = 0; t < state.count(); ++t) {
        bool met = !state.points.takes_part(t, model::at(events, y).event.thread, arrival_of(y).sync_point) ||
                   model::at(runs, t).end->status == thread_status::ended;
        for (int x = 0; x < model::count_of(events) && !met; ++x) {
          met = model::at(events, x).event.thread == t && meets(x, y);
        }
        if (!met) {
          return false;
        }
      }
    }
    return true;
  }

  /// Returns whether the events form a prefix of an execution: every read has a source, no earlier event of a thread is missing,
  /// and every thread that has continued past a barrier has all the arrivals that it waited for.
  [[nodiscard]] bool is_whole() const {
    for (const placed_event& e : events) {
      if (e.event.kind == event_kind::read && e.source == open_source) {
        return false;
      }
    }
    for (const buffered_run& run : runs) {
      bool gap = run.unmet;
      for (const pending_event& p : run.pending) {
        if (gap && p.number >= 0) {
          return false;
        }
        gap = gap || p.number < 0;
      }
    }
    return all_met();
  }

  /// Returns the number that an event has in its thread when exchanges are counted as events.
  [[nodiscard]] int in_graph(int n) const noexcept {
    return number_at(model::at(events, n).event.thread, model::at(events, n).slot);
  }
  [[nodiscard]] int number_at(int t, std::uint64_t slot) const noexcept {
    const auto& exchanges = model::at(runs, t).exchanges;
    return static_cast<int>(
        std::count_if(events.begin(), events.end(),
                      [&](const placed_event& e) { return e.event.thread == t && e.slot < slot; }) +
        std::count_if(exchanges.begin(), exchanges.end(), [&](const exchange_event& e) { return e.slot < slot; }));
  }

  /// Returns the events in an order in which every write comes before the reads of its value. A thread's events are in program
  /// order, except that some reads come after later events of their thread if there is a cycle.
  [[nodiscard]] std::vector<int> order_in_trace() const {
    std::vector<std::vector<int>> of_threads(runs.size());
    for (int n = 0; n < model::count_of(events); ++n) {
      model::at(of_threads, model::at(events, n).event.thread).push_back(n);
    }
    for (std::vector<int>& line : of_threads) {
      std::sort(line.begin(), line.end(), [&](int x, int y) { return before_in_thread(x, y); });
    }
    std::vector<int> order_found;
    std::vector<bool> listed(events.size(), false);
    const auto stamp = [&](int n) { return model::at(events, n).event.stamp; };
    const auto is_listed = [&](int n) { return n < 0 || listed[static_cast<std::size_t>(n)]; };
    // everything that an event depends on has a smaller stamp
    const auto list = [&](const auto& again, int n) -> void {
      for (const int before : model::at(of_threads, model::at(events, n).event.thread)) {
        if (before_in_thread(before, n) && stamp(before) < stamp(n) && !is_listed(before)) {
          again(again, before);
        }
      }
      if (!is_listed(model::at(events, n).source)) {
        again(again, model::at(events, n).source);
      }
      listed[static_cast<std::size_t>(n)] = true;
      order_found.push_back(n);
    };
    const auto follows_fence = [&](int n) {  // whether a fence that is not listed yet comes before the event
      const auto& line = model::at(of_threads, model::at(events, n).event.thread);
      return std::any_of(line.begin(), line.end(), [&](int f) {
        return model::at(events, f).event.kind == event_kind::fence && before_in_thread(f, n) && !is_listed(f);
      });
    };
    while (order_found.size() < events.size()) {
      int next = -1;     // the next event in program order of some thread
      int awaited = -1;  // a write that such an event reads; preferably one that no fence orders
      for (const std::vector<int>& line : of_threads) {
        const auto head = std::find_if_not(line.begin(), line.end(), is_listed);
        if (head == line.end()) {
          continue;
        }
        const int source = model::at(events, *head).source;
        if (is_listed(source)) {
          next = next < 0 || stamp(*head) < stamp(next) ? *head : next;
        } else if (awaited < 0 ||
                   std::pair(follows_fence(source), stamp(source)) < std::pair(follows_fence(awaited), stamp(awaited))) {
          awaited = source;
        }
      }
      list(list, next >= 0 ? next : awaited);
    }
    return order_found;
  }

  /// Returns the execution as a graph, which other parts of the checker use. The graph's events are in the arena.
  [[nodiscard]] graph as_graph() {
    graph g;
    g.threads.resize(state.checked.threads.size());
    std::vector<graph_event*> made;
    for (int n = 0; n < model::count_of(events); ++n) {
      auto* const e = new (state.arena.take(sizeof(graph_event))) graph_event(model::at(events, n).event);
      auto* const clock = static_cast<std::uint16_t*>(state.arena.take(state.checked.threads.size() * sizeof(std::uint16_t)));
      std::fill(clock, clock + state.checked.threads.size(), std::uint16_t{0});
      e->number = in_graph(n);
      made.push_back(e);
      e->base = e->prefix = clock;
    }
    std::uint16_t rank = 0;  // a trace is sorted by these numbers
    for (const int n : order_in_trace()) {
      const_cast<std::uint16_t*>(model::at(made, n)->prefix)[0] = rank++;
    }
    for (int n = 0; n < model::count_of(events); ++n) {
      const placed_event& p = model::at(events, n);
      model::at(made, n)->source = p.source >= 0 ? model::at(made, p.source) : nullptr;
      model::at(made, n)->partner = p.partner >= 0 ? model::at(made, p.partner) : nullptr;
      auto& line_events = model::at(g.threads, p.event.thread).events;
      line_events.resize(std::max<std::size_t>(line_events.size(), static_cast<std::size_t>(in_graph(n)) + 1));
      line_events[static_cast<std::size_t>(in_graph(n))] = model::at(made, n);
    }
    for (int t = 0; t < state.count(); ++t) {
      add_exchanges(g, t);
      model::at(g.threads, t).states.push_back(model::at(runs, t).end);
    }
    g.reserve(static_cast<std::size_t>(state.locations.size()));
    for (std::size_t l = 0; l < order.size(); ++l) {
      for (const int w : order[l]) {
        g.order[l].push_back(model::at(made, w));
      }
    }
    return g;
  }

  /// Adds thread `t`'s exchanges of values to a graph.
  void add_exchanges(graph& g, int t) {
    for (const exchange_event& x : model::at(runs, t).exchanges) {
      auto* const e = new (state.arena.take(sizeof(graph_event))) graph_event(x.event);
      auto* const clock = static_cast<std::uint16_t*>(state.arena.take(state.checked.threads.size() * sizeof(std::uint16_t)));
      std::fill(clock, clock + state.checked.threads.size(), std::uint16_t{0});
      e->number = number_at(t, x.slot);
      e->base = e->prefix = clock;
      auto& line_events = model::at(g.threads, t).events;
      line_events.resize(std::max<std::size_t>(line_events.size(), static_cast<std::size_t>(e->number) + 1));
      model::at(line_events, e->number) = e;
      clock[0] = e->number > 0 ? model::at(line_events, e->number - 1)->prefix[0] : std::uint16_t{0};
    }
  }

  exploration_state state;
  std::vector<buffered_run> runs;
  std::vector<placed_event> events{};
  std::vector<std::vector<int>> order{};  ///< per location: its writes in coherence order, without the initial value
};

/// Runs a thread from its start with the chosen sources, until its next step is undetermined.
class thread_runner {
 public:
  thread_runner(buffered_execution& x, int thread)
      : x_(x),
        thread_(thread),
        machine_(model::at(x.state.machines, thread)),
        run_(model::at(x.runs, thread)),
        flow_(machine_, 1) {
    data_flow::put(open_, 0);
  }

  void run() {
    run_.pending.clear();
    run_.exchanges.clear();
    run_.end = nullptr;
    run_.unsupported = run_.unmet = false;
    const thread_state* s = machine_.begin(watch_);
    bool goes_on = true;
    while (goes_on && s->status == thread_status::at_event && run_.pending.size() <= model::max_events) {
      const instruction& i = machine_.at(*s);
      if (run_.exchanges.size() > most_exchanges) {
        reject_if(true);
        break;
      }
      if (s->choosing) {
        reject_if(true);
        break;
      }
      reject_if(i.mbarrier != mbarrier_op::none || i.restricted);
      if (exchanges_values(i.code)) {
        s = exchange(*s, i);
        continue;
      }
      pending_event& p = run_.pending.emplace_back();
      p.slot = steps_ * slots_of_a_step + s->part;
      p.event.thread = thread_;
      p.event.pc = s->pc;
      p.event.scope = i.scope;
      if (i.code == op::load) {
        s = load(p, *s, i);
      } else if (is_rmw(i.code) && s->part % 2 == 0) {
        s = read_of_rmw(p, *s, i);
      } else if (i.code == op::store || is_rmw(i.code)) {
        s = write(p, *s, i);
      } else {
        goes_on = orders(p, *s, i);
        s = goes_on ? machine_.step(*s, {}, watch_) : s;
      }
    }
    reject_if(run_.pending.size() > model::max_events);
    run_.end = s;
  }

 private:
  static constexpr std::uint64_t slots_of_a_step = 32;
  static constexpr std::size_t most_exchanges = 1024;

  [[nodiscard]] static bool unknown(const data_flow::set& s) noexcept { return s[0] != 0; }
  void reject_if(bool unsupported) noexcept { run_.unsupported = run_.unsupported || unsupported; }

  /// Decides how to handle an instruction that the thread reaches.
  [[nodiscard]] watched at_instruction(const thread_state& s, const instruction& i, bool runs) {
    ++steps_;
    data_flow::set guard = flow_.none();
    flow_.join_predicate(guard, i);
    const bool jumps = leaves(i.code);
    if (i.code == op::branch_index) {
      flow_.join(guard, i.by[0], false);
    }
    if (unknown(guard)) {
      if (jumps || i.code > op::fence) {
        reject_if(i.code > op::fence);
        return watched::stops;
      }
      const bool local = (i.code == op::load || i.code == op::store) && machine::is_local(machine_.base_address(s, i));
      if (local || !flow_.follow(s, i, false)) {
        run_.unsupported = true;
        return watched::stops;
      }
      if (is_event(i.code)) {
        run_.pending.emplace_back().slot = steps_ * slots_of_a_step;
      }
      return watched::skips;
    }
    if (!flow_.follow(s, i, runs)) {
      run_.unsupported = true;
      return watched::stops;
    }
    return watched::goes_on;
  }

  [[nodiscard]] bool address_is_known(const instruction& i) const {
    data_flow::set address = flow_.none();
    flow_.join(address, i.by[0], false);
    return !unknown(address);
  }

  /// Fills in the properties of a read. Returns its value if its source has been chosen.
  [[nodiscard]] wide_value read(pending_event& p, const thread_state& s, const instruction& i) {
    p.event.kind = event_kind::read;
    p.known = address_is_known(i) && describe(s, p.event);
    p.number = x_.placed_at(thread_, p.slot);
    p.open = p.number < 0 || model::at(x_.events, p.number).source == open_source;
    return p.open ? wide_value{} : model::at(x_.events, p.number).event.value;
  }

  [[nodiscard]] const thread_state* load(pending_event& p, const thread_state& s, const instruction& i) {
    const wide_value seen = read(p, s, i);
    flow_.put_result(i, i.to[s.part], p.open ? open_ : flow_.none());
    return machine_.step(s, seen, watch_);
  }

  /// Returns the origins of the operands that a read-modify-write computes its result from.
  [[nodiscard]] data_flow::set operands_of_rmw(const instruction& i) const {
    data_flow::set operands = flow_.none();
    for (unsigned k = 1; k < i.sources; ++k) {
      flow_.join(operands, i.by[k], i.type == ptx_type::b128);
    }
    return operands;
  }

  [[nodiscard]] const thread_state* read_of_rmw(pending_event& p, const thread_state& s, const instruction& i) {
    const wide_value old = read(p, s, i);
    const bool open = p.open;  // a copy, because the code below may move the pending event
    const bool undecided = i.what == model::operation::compare_exchange && (open || unknown(operands_of_rmw(i)));
    if (!undecided && machine_.writes(s, old)) {
      return machine_.step(s, old, watch_);  // the write follows
    }
    if (undecided) {  // it is unknown whether it writes; continue as if it does not
      run_.pending.emplace_back().slot = steps_ * slots_of_a_step + 1;
    }
    if (i.code == op::atomic) {
      flow_.put_result(i, i.to[0], open ? open_ : flow_.none());
    }
    // the value that was read may be known although the comparison value is unknown
    bool puts_result = undecided && i.code == op::atomic && i.to[0].word >= 0;
    const wide_value seen = undecided ? wide_value{machine_.operand(s, 1) + 1, 0} : old;
    return machine_.step(s, seen, [&](const thread_state& now, const instruction& next, bool runs) {
      if (std::exchange(puts_result, false)) {
        auto* const words = const_cast<thread_state&>(now).words();
        words[i.to[0].word] = truncated(old.low, std::min<int>(i.to[0].bits, 64));
        if (i.to[0].bits > 64) {
          words[i.to[0].word + 1] = old.high;
        }
      }
      return at_instruction(now, next, runs);
    });
  }

  [[nodiscard]] const thread_state* write(pending_event& p, const thread_state& s, const instruction& i) {
    p.event.kind = event_kind::write;
    bool read_open = false;
    data_flow::set operands = flow_.none();
    if (is_rmw(i.code)) {
      operands = operands_of_rmw(i);
      for (std::size_t read = 0; read <= s.part; read += 2) {  // the reads of this element and of the preceding elements
        read_open = read_open || run_.pending[run_.pending.size() - 2 - read].open;
      }
    } else {
      flow_.join(operands, i.by[1U + s.part], i.type == ptx_type::b128);
    }
    p.known = address_is_known(i) && !unknown(operands) && !read_open && describe(s, p.event);
    p.event.value = machine_.stored(s);
    p.number = x_.placed_at(thread_, p.slot);
    for (unsigned k = 0; i.code == op::atomic && s.part == 2 * i.elements - 1 && k < i.destinations; ++k) {
      flow_.put_result(i, i.to[k], read_open ? open_ : flow_.none());
    }
    return machine_.step(s, {}, watch_);
  }

  /// Executes one step of an exchange of values: the lane's arrival with its value, or its continuation with the value that it
  /// receives.
  [[nodiscard]] const thread_state* exchange(const thread_state& s, const instruction& i) {
    const sync_points& points = x_.state.points;
    std::string wrong;
    exchange_event& here = run_.exchanges.emplace_back();
    here.slot = steps_ * slots_of_a_step + s.part;
    here.event.thread = thread_;
    here.event.pc = s.pc;
    here.event.kind = event_kind::barrier;
    here.event.arrives = s.part == 0;
    if (s.part == 0) {
      data_flow::set brought = flow_.none();
      data_flow::set others = flow_.none();
      for (unsigned k = 0; k < i.sources; ++k) {
        flow_.join(k == 0 && i.code != op::elect ? brought : others, i.by[k], false);
      }
      graph_event& a = here.event;
      a.sync_point = points.at(thread_, s, wrong);
      a.value = points.brought(thread_, s);
      a.turn = turn_at(a.sync_point);
      reject_if(unknown(others) || a.value.unknown || !points.names_caller(thread_, s));
      a.value = unknown(brought) ? wide_value{0, 0, true} : a.value;
      return machine_.step(s, {}, watch_);
    }
    bool all = true;
    const graph_event& mine = run_.exchanges[run_.exchanges.size() - 2].event;
    std::vector<const graph_event*> arrivals;
    for (int t = 0; t < x_.state.count(); ++t) {
      if (!points.takes_part(t, thread_, mine.sync_point)) {
        continue;
      }
      const buffered_run& other = model::at(x_.runs, t);
      const auto a = std::find_if(other.exchanges.begin(), other.exchanges.end(), [&](const exchange_event& o) {
        return o.event.arrives && o.event.sync_point == mine.sync_point && o.event.turn == mine.turn;
      });
      if (a != other.exchanges.end()) {
        arrivals.push_back(&a->event);
      } else {
        all = all && other.end != nullptr && other.end->status == thread_status::ended;
      }
    }
    run_.unmet = run_.unmet || !all;
    const wide_value seen = all ? points.result(thread_, s, arrivals) : wide_value{0, 0, true};
    const bool open = std::any_of(arrivals.begin(), arrivals.end(), [](const graph_event* a) { return a->value.unknown; });
    // an unknown value that depends on no open read stays unknown, and this exploration does not try its possible values
    reject_if(!wrong.empty() || (all && seen.unknown && !open));
    for (unsigned k = 0; k < i.destinations; ++k) {
      flow_.put_result(i, i.to[k], seen.unknown ? open_ : flow_.none());
    }
    return machine_.step(s, {seen.low, seen.high}, watch_);
  }

  /// Returns how many times the thread has arrived at a sync point so far.
  [[nodiscard]] int turn_at(std::uint64_t sync_point) const {
    return static_cast<int>(std::count_if(run_.exchanges.begin(), run_.exchanges.end(), [&](const exchange_event& x) {
      return x.event.arrives && x.event.sync_point == sync_point;
    }));
  }

  /// Fills in the properties of a fence or a barrier. Returns false if the run is not supported and the thread stops here.
  [[nodiscard]] bool orders(pending_event& p, const thread_state& s, const instruction& i) {
    p.known = true;
    p.number = x_.placed_at(thread_, p.slot);
    if (i.code == op::fence) {
      p.event.kind = event_kind::fence;
      p.event.strong = true;
      p.event.acquires = model::acquires(i.order);
      p.event.releases = model::releases(i.order);
      p.event.sequential = i.order == memory_order::seq_cst;
      return true;
    }
    p.event.kind = event_kind::barrier;
    data_flow::set operands = flow_.none();
    for (const source_operand& o : i.by) {
      flow_.join(operands, o, false);
    }
    if (i.destinations > 0 || !sync_points::orders(i.code) || unknown(operands)) {
      run_.unsupported = true;  // a barrier that exchanges values creates dependencies between threads
      return false;
    }
    std::string wrong;
    p.event.releases = s.part == 0;
    p.event.sync_point = x_.state.points.at(thread_, s, wrong);
    reject_if(!wrong.empty() || i.code == op::block_arrive || sync_points::warps_of(p.event.sync_point) != 0);
    return true;
  }

  /// Fills in the properties of a memory access. Returns false, and marks the run as unsupported, if the access is not valid.
  [[nodiscard]] bool describe(const thread_state& s, graph_event& e) {
    const instruction& i = machine_.at(s);
    describe_access(e, machine_, s, {});
    accept_race(x_.state.checked, e);
    const memory_object* const object = x_.state.locations.object_of(e.address, e.bytes);
    const bool wrong = object == nullptr || e.address % alignment_of(i, s.part) != 0 ||
                       (object->constant && e.kind == event_kind::write) || acquires_or_releases_a_vector(i);
    if (!wrong) {
      e.location = x_.state.locations.number_of(e.address, e.bytes);
      x_.order.resize(static_cast<std::size_t>(x_.state.locations.size()));
    }
    reject_if(wrong);
    return !wrong;
  }

  struct watcher {
    thread_runner* by;
    [[nodiscard]] watched operator()(const thread_state& s, const instruction& i, bool runs) const {
      return by->at_instruction(s, i, runs);
    }
  };

  buffered_execution& x_;
  int thread_;
  const machine& machine_;
  buffered_run& run_;
  data_flow flow_;
  data_flow::set open_ = flow_.none();  ///< the origin of the values of open reads
  std::uint64_t steps_ = 0;
  watcher watch_{this};
};

/// Checks the axioms of the memory model.
class axiom_check {
 public:
  explicit axiom_check(buffered_execution& x) : x_(x) {}

  /// Returns whether some order of the `fence.sc` operations makes the execution consistent. If the events form a prefix of an
  /// execution, also reports races.
  [[nodiscard]] bool consistent_here() {
    const int size = model::count_of(x_.events);
    observed_.assign(static_cast<std::size_t>(size), 0);
    model::relation base = x_.fixed_order();
    base.close(size);
    for (int reader = 0; reader < size; ++reader) {
      if (model::at(x_.events, reader).event.kind != event_kind::read) {
        continue;
      }
      // the read's source, and the writes that lead to this source through read-modify-writes
      for (int r = reader; r >= 0;) {
        const int w = model::at(x_.events, r).source;
        if (w < 0 || !x_.strong_pair(w, r) || model::contains(model::at(observed_, w), reader)) {
          break;
        }
        model::at(observed_, w) |= model::only(reader);
        r = model::at(x_.events, w).partner;
      }
    }
    for (int start = 0; start < size; ++start) {
      const graph_event& head = model::at(x_.events, start).event;
      if (!head.releases || head.kind == event_kind::barrier) {
        continue;
      }
      for (int w = 0; w < size; ++w) {
        const graph_event& write = model::at(x_.events, w).event;
        if (write.kind == event_kind::write && write.strong &&
            (w == start ||
             (x_.before_in_thread(start, w) && (head.kind == event_kind::fence || head.location == write.location)))) {
          for (model::event_set s = model::at(observed_, w); s != 0; s = model::rest(s)) {
            synchronize(base, start, model::first(s));
          }
        }
      }
    }
    return has_fence_order(base);
  }

 private:
  /// Adds synchronizes-with from `start` to the ends of the acquire patterns that begin with read `r`.
  void synchronize(model::relation& base, int start, int r) const {
    const graph_event& read = model::at(x_.events, r).event;
    if (!read.strong) {
      return;
    }
    for (int end = 0; end < model::count_of(x_.events); ++end) {
      const graph_event& e = model::at(x_.events, end).event;
      const bool ends =
          e.acquires &&
          ((e.kind == event_kind::read && (end == r || (x_.before_in_thread(r, end) && e.location == read.location))) ||
           (e.kind == event_kind::fence && x_.before_in_thread(r, end) && !read.reduction));
      if (ends && start != end && x_.strong_pair(start, end)) {
        base.add_closed(model::count_of(x_.events), start, end);
      }
    }
  }

  /// Returns whether some order of the `fence.sc` operations makes the execution consistent, given base causality without that
  /// order. If the events form a prefix of an execution, reports the accesses that race under one of these orders.
  [[nodiscard]] bool has_fence_order(const model::relation& base) {
    const int size = model::count_of(x_.events);
    ordered_events order;
    order.width = 1;
    order.never_after.resize(x_.events.size());
    if (!add_axioms(order.never_after)) {
      return false;
    }
    for (int n = 0; n < size; ++n) {
      order.base.push_back(base[n]);
      if (!model::at(x_.events, n).event.sequential) {
        continue;
      }
      for (std::size_t f = 0; f < order.fences.size(); ++f) {
        const int other = static_cast<int>(order.fences[f]);
        if (!x_.strong_pair(other, n)) {
          continue;
        }
        if (base.holds(other, n) && base.holds(n, other)) {
          return false;
        }
        order.related.emplace_back(f, order.fences.size());
      }
      order.fences.push_back(static_cast<std::size_t>(n));
    }
    if (!can_order_fences(order)) {
      return false;
    }
    if (x_.is_whole()) {
      look_for_race(order);
    }
    return true;
  }

  /// Returns the events such that event `x` causally precedes whatever one of them precedes in base causality. Under an
  /// alternative reading, the read of an update precedes everything that the update's write precedes.
  [[nodiscard]] model::event_set causes_through(int x) const noexcept {
    const graph_event& e = model::at(x_.events, x).event;
    model::event_set result = model::only(x);
    if (e.kind == event_kind::write) {
      return result | model::at(observed_, x);
    }
    const bool whole = e.rmw && x_.state.rules.readings().takes(model::reading::whole_updates_are_observed);
    for (int w = 0; w < model::count_of(x_.events) && whole; ++w) {
      if (model::at(x_.events, w).partner == x) {
        result |= model::at(observed_, w);
      }
    }
    return result;
  }

  /// Requires that event `x` does not causally precede event `y`.
  void keep_from(std::vector<model::event_set>& never_after, int x, int y) const {
    for (model::event_set s = causes_through(x); s != 0; s = model::rest(s)) {
      model::at(never_after, model::first(s)) |= model::only(y);
    }
  }

  [[nodiscard]] static int place_of(const std::vector<int>& order, int w) noexcept {
    return static_cast<int>(std::find(order.begin(), order.end(), w) - order.begin());
  }

  /// Adds what the axioms Coherence and Causality require of causality to `never`. Returns whether the axioms on which
  /// causality has no influence hold.
  [[nodiscard]] bool add_axioms(std::vector<model::event_set>& never_after) const {
    const int size = model::count_of(x_.events);
    model::relation local;  // SC-per-Location
    for (int x = 0; x < size; ++x) {
      const placed_event& e = model::at(x_.events, x);
      if (e.event.location < 0) {
        continue;
      }
      const std::vector<int>& order = model::at(x_.order, e.event.location);
      for (int y = 0; y < size; ++y) {
        if (model::at(x_.events, y).event.location == e.event.location && x_.before_in_thread(x, y)) {
          local.add(x, y);
        }
      }
      if (e.event.kind == event_kind::write) {
        for (int k = place_of(order, x) + 1; k < model::count_of(order); ++k) {
          keep_from(never_after, model::at(order, k), x);
          if (x_.strong_pair(x, model::at(order, k))) {
            local.add(x, model::at(order, k));
          }
        }
        const int r = e.partner;
        if (r >= 0) {
          const int source = model::at(x_.events, r).source;
          for (int k = source < 0 ? 0 : place_of(order, source) + 1; k < place_of(order, x); ++k) {
            if (x_.strong_pair(model::at(order, k), r) && x_.strong_pair(model::at(order, k), x)) {
              return false;  // Atomicity
            }
          }
          if (source >= 0 && place_of(order, source) > place_of(order, x)) {
            return false;
          }
        }
      } else if (e.event.kind == event_kind::read && e.source != open_source) {
        if (e.source >= 0) {
          keep_from(never_after, x, e.source);
          if (x_.strong_pair(e.source, x)) {
            local.add(e.source, x);
          }
        }
        for (int k = e.source < 0 ? 0 : place_of(order, e.source) + 1; k < model::count_of(order); ++k) {
          keep_from(never_after, model::at(order, k), x);
          if (x_.strong_pair(x, model::at(order, k))) {
            local.add(x, model::at(order, k));
          }
        }
      }
    }
    return local.acyclic(size == 64 ? ~model::event_set{0} : model::only(size) - 1);
  }

  /// Returns whether neither event causally precedes the other under some order of the fences.
  [[nodiscard]] bool may_be_unordered(ordered_events order, int x, int y) const {
    keep_from(order.never_after, x, y);
    keep_from(order.never_after, y, x);
    return can_order_fences(order);
  }

  void look_for_race(const ordered_events& order) {
    const int size = model::count_of(x_.events);
    for (int x = 0; x < size && !x_.state.stopped(); ++x) {
      for (int y = x + 1; y < size; ++y) {
        const graph_event& a = model::at(x_.events, x).event;
        const graph_event& b = model::at(x_.events, y).event;
        if (a.location >= 0 && a.location == b.location && (a.kind == event_kind::write || b.kind == event_kind::write) &&
            a.thread != b.thread && !a.discarded && !b.discarded) {
          const bool read_only = x_.state.changes_what_is_read_only(a, b);
          if (!read_only && (x_.strong_pair(x, y) || !may_be_unordered(order, x, y))) {
            continue;
          }
          const graph g = x_.as_graph();
          x_.state.report(g, read_only ? check_status::undefined : check_status::race,
                          read_only ? read_only_text(x_.state.checked, a, b) : race_text(x_.state.checked, g, a, b),
                          {&*model::at(model::at(g.threads, a.thread).events, x_.in_graph(x)),
                           &*model::at(model::at(g.threads, b.thread).events, x_.in_graph(y))});
          return;
        }
      }
    }
  }

  buffered_execution& x_;
  std::vector<model::event_set> observed_{};  ///< per write: the reads that observe it
};

/// One exploration of the executions with load buffering.
class load_buffering_explorer {
 public:
  load_buffering_explorer(const program& checked, const check_property& property, const check_options& options,
                          check_result so_far)
      : options_(options), x_(checked, options.readings), end_(x_.state, property) {
    x_.state.result = std::move(so_far);
  }

  [[nodiscard]] check_result run() {
    for (int t = 0; t < x_.state.count(); ++t) {
      const auto& code = model::at(x_.state.checked.threads, t).kernel->code;
      const bool exchanges =
          std::any_of(code.begin(), code.end(), [](const instruction& i) { return exchanges_values(i.code); });
      std::vector<int>& together = together_.emplace_back(1, t);
      for (int u = 0; u < x_.state.count() && exchanges; ++u) {
        if (u != t && x_.state.points.same_warp(t, u)) {
          together.push_back(u);
        }
      }
      thread_runner(x_, t).run();
    }
    for (int t = 0; t < x_.state.count(); ++t) {
      run_together(t);
    }
    visit();
    x_.state.result.status = x_.state.result.found.status;
    return std::move(x_.state.result);
  }

 private:
  // ---- growth

  void give_up(const std::string& why) {
    x_.state.result.load_buffering_is_open = true;
    x_.state.give_up(
        "executions with load buffering, in which a read takes its value from a write that comes after it in program "
        "order, could not all be explored: " +
        why +
        ". The other executions do not violate any rule. Use fewer threads or iterations, or --without-load-buffering, "
        "which omits these executions and says so in the result line");
  }

  /// Returns whether the event is a read that would return an undefined value if it read the location's initial value.
  [[nodiscard]] bool reads_nothing(const graph_event& e) const {
    return e.kind == event_kind::read && !e.discarded && !x_.state.locations[e.location].initialised;
  }

  /// Returns the next event to add to the execution, or null if there is none. Writes, fences and barriers come before reads.
  /// Reads of memory without an initial value come last, so that the writes that are ordered before them already exist.
  [[nodiscard]] pending_event* next_event() {
    pending_event* first = nullptr;
    for (buffered_run& run : x_.runs) {
      for (pending_event& p : run.pending) {
        if (p.known && p.number < 0) {
          if (p.event.kind != event_kind::read) {
            return &p;
          }
          first = first == nullptr || (reads_nothing(first->event) && !reads_nothing(p.event)) ? &p : first;
        }
      }
    }
    return first;
  }

  /// Returns whether another write to a location may follow, even if all known writes to it are already part of the execution.
  [[nodiscard]] bool may_be_written(int location) const {
    return std::any_of(x_.runs.begin(), x_.runs.end(), [&](const buffered_run& run) {
      return run.end->status == thread_status::undecided ||
             std::any_of(run.pending.begin(), run.pending.end(), [&](const pending_event& p) {
               return p.number < 0 && (!p.known || (p.event.kind == event_kind::write && p.event.location == location));
             });
    });
  }

  /// Returns whether some choice of sources for the open reads may create a cycle. If there is no such choice, the execution is
  /// left to explore.cpp.
  [[nodiscard]] bool may_have_cycle() const {
    model::relation r = x_.order_of_steps();
    const std::vector<buffered_execution::meeting> meetings = x_.meetings_of_lanes();
    const auto add = [&](const std::vector<int>& writes, int to) {
      for (const int w : writes) {
        r.add(w, to);
      }
    };
    const int size = model::count_of(x_.events);
    for (int n = 0; n < size; ++n) {
      const placed_event& e = model::at(x_.events, n);
      if (e.event.kind == event_kind::read && e.source >= 0) {
        r.add(e.source, n);
      } else if (e.event.kind == event_kind::read && e.source == open_source) {
        add(model::at(x_.order, e.event.location), n);
      }
    }
    for (const buffered_run& run : x_.runs) {
      if (run.end->status == thread_status::undecided) {
        return true;
      }
      for (const pending_event& p : run.pending) {
        if (p.number >= 0) {
          continue;
        }
        if (!p.known || p.event.kind != event_kind::read) {
          return true;
        }
        const std::vector<std::uint64_t> last = x_.last_not_after(p.event.thread, p.slot, meetings);
        for (int n = 0; n < size; ++n) {  // the events after the read follow the read's source
          if (model::at(x_.events, n).slot > model::at(last, model::at(x_.events, n).event.thread)) {
            add(model::at(x_.order, p.event.location), n);
          }
        }
      }
    }
    return !r.acyclic(size == 64 ? ~model::event_set{0} : model::only(size) - 1);
  }

  /// Runs thread `t` again, calls `use`, and then restores the thread's previous run.
  template <class Use>
  void with_new_run(int t, const Use& use) {
    const std::vector<int>& together = model::at(together_, t);
    steps_ += together.size() - 1;
    std::vector<buffered_run> kept;
    for (const int u : together) {
      if (spare_.empty()) {
        spare_.emplace_back();
      }
      buffered_run& run = model::at(x_.runs, u);
      kept.push_back(std::move(run));
      run = std::move(spare_.back());
      spare_.pop_back();
      thread_runner(x_, u).run();
    }
    run_together(t);
    use();
    for (std::size_t k = 0; k < together.size(); ++k) {
      buffered_run& run = model::at(x_.runs, together[k]);
      spare_.push_back(std::move(run));
      run = std::move(kept[k]);
    }
  }

  /// Runs thread `t` and the lanes that exchange values with it until the exchanged values no longer change.
  void run_together(int t) {
    const std::vector<int>& together = model::at(together_, t);
    for (bool changed = together.size() > 1; changed;) {
      changed = false;
      for (const int u : together) {
        const std::vector<exchange_event> before = model::at(x_.runs, u).exchanges;
        const thread_status status = model::at(x_.runs, u).end->status;
        thread_runner(x_, u).run();
        const buffered_run& now = model::at(x_.runs, u);
        changed = changed || now.end->status != status ||
                  !std::equal(before.begin(), before.end(), now.exchanges.begin(), now.exchanges.end(),
                              [](const exchange_event& a, const exchange_event& b) {
                                return a.event.sync_point == b.event.sync_point && a.event.value == b.event.value;
                              });
      }
    }
  }

  void visit() {
    if (x_.state.stopped()) {
      return;
    }
    constexpr std::uint64_t between_reports = 256;
    if (++steps_ >= next_report_) {
      next_report_ = steps_ + between_reports;
      if (options_.progress) {
        options_.progress(x_.state.result.counts);
      }
      if (options_.time.is_reached()) {
        give_up("the exploration took more than " + options_.time.text() +
                " of processor time, the limit that --time=SECONDS sets");
        return;
      }
    }
    if (steps_ > options_.most_buffered_steps) {
      give_up("exploring those executions takes more than " + std::to_string(options_.most_buffered_steps) + " steps");
      return;
    }
    for (const buffered_run& run : x_.runs) {
      if (run.unsupported) {
        give_up(
            "one of those executions contains something that is not supported: a barrier with a vote, an access to local "
            "memory or a sync point with an unknown address or predicate, a thread with more than 64 events, or an "
            "out-of-bounds access");
        return;
      }
    }
    pending_event* const p = next_event();
    if (p == nullptr) {
      complete();
      return;
    }
    if (p->event.kind == event_kind::read && !may_have_cycle()) {
      return;
    }
    if (x_.events.size() == model::max_events) {
      give_up("one of those executions has more than " + std::to_string(model::max_events) + " events");
      return;
    }
    const stack_arena::mark mark = x_.state.arena.here();
    placed_event e;
    e.event = p->event;
    e.slot = p->slot;
    e.event.stamp = ++stamp_;
    if (e.event.kind == event_kind::read) {
      add_read(e);
    } else {
      add_other(e);
    }
    x_.state.arena.release(mark);
  }

  void add_read(const placed_event& e) {
    for (const int other : x_.state.locations[e.event.location].overlapping) {
      if (other < model::count_of(x_.order) && !model::at(x_.order, other).empty()) {
        give_up("one of those executions contains accesses of different sizes");
        return;
      }
    }
    const int number = model::count_of(x_.events);
    x_.events.push_back(e);
    const std::vector<int> sources = model::at(x_.order, e.event.location);
    for (int k = -1; k < model::count_of(sources) && !x_.state.stopped(); ++k) {
      choose(number, k < 0 ? initial_source : model::at(sources, k), [&] { visit_if_consistent(); });
    }
    if (!x_.state.stopped() && may_be_written(e.event.location)) {  // the read stays open
      with_new_run(e.event.thread, [&] { visit_if_consistent(); });
    }
    x_.events.pop_back();
  }

  void add_other(placed_event e) {
    if (e.event.kind == event_kind::write && e.event.rmw) {
      e.partner = x_.placed_at(e.event.thread, e.slot - 1);
    }
    for (const int other : e.event.location < 0 ? std::vector<int>{} : x_.state.locations[e.event.location].overlapping) {
      if (std::any_of(x_.events.begin(), x_.events.end(), [&](const placed_event& o) { return o.event.location == other; })) {
        give_up("one of those executions contains accesses of different sizes");
        return;
      }
    }
    const int number = model::count_of(x_.events);
    x_.events.push_back(e);
    with_new_run(e.event.thread, [&] {
      if (e.event.kind != event_kind::write) {
        visit_if_consistent();
        return;
      }
      for (int at = 0; at <= model::count_of(model::at(x_.order, e.event.location)) && !x_.state.stopped(); ++at) {
        auto& order = model::at(x_.order, e.event.location);
        order.insert(order.begin() + at, number);
        offer(number, 0);
        auto& after = model::at(x_.order, e.event.location);
        after.erase(after.begin() + at);
      }
    });
    x_.events.pop_back();
  }

  /// For each open read that may read from write `w`, starting with read `first`, explores both choices: the read takes its
  /// value from `w`, or it stays open.
  void offer(int w, int first) {
    int r = first;
    const graph_event& write = model::at(x_.events, w).event;
    while (r < w && (model::at(x_.events, r).source != open_source || model::at(x_.events, r).event.kind != event_kind::read ||
                     model::at(x_.events, r).event.location != write.location || x_.before_in_thread(r, w))) {
      ++r;
    }
    if (r >= w) {
      visit_if_consistent();
      return;
    }
    choose(r, w, [&] { offer(w, r + 1); });
    if (!x_.state.stopped()) {
      offer(w, r + 1);
    }
  }

  /// Makes `r` read from `w` while `use` runs.
  template <class Use>
  void choose(int r, int w, const Use& use) {
    placed_event& read = model::at(x_.events, r);
    const int t = read.event.thread;
    const std::uint32_t stamp = read.event.stamp;
    read.source = w;
    read.event.stamp = ++stamp_;
    if (w == initial_source) {
      read.event.value = x_.state.locations[read.event.location].initial;
    } else {
      read.event.value = model::at(x_.events, w).event.value;
    }
    with_new_run(t, use);
    placed_event& again = model::at(x_.events, r);
    again.source = open_source;
    again.event.stamp = stamp;
  }

  void visit_if_consistent() {
    if (!x_.state.stopped() && axioms_.consistent_here()) {
      visit();
    }
  }

  // ---- the end

  /// Returns whether there is a cycle of program order, barriers, exchanges between lanes, and reads-from.
  [[nodiscard]] bool has_cycle() const {
    model::relation r = x_.order_of_steps();
    const int size = model::count_of(x_.events);
    for (int n = 0; n < size; ++n) {
      if (model::at(x_.events, n).event.kind == event_kind::read && model::at(x_.events, n).source >= 0) {
        r.add(model::at(x_.events, n).source, n);
      }
    }
    return !r.acyclic(size == 64 ? ~model::event_set{0} : model::only(size) - 1);
  }

  void complete() {
    for (const placed_event& e : x_.events) {
      if (e.event.kind == event_kind::read && e.source == open_source) {
        return;
      }
    }
    if (!has_cycle() || !x_.all_met()) {
      return;
    }
    bool ended = true;
    bool stuck = true;
    graph g = x_.as_graph();
    for (const placed_event& e : x_.events) {
      if (reads_nothing(e.event) && e.source == initial_source) {
        x_.state.report(g, check_status::uninitialised,
                        "thread " + std::to_string(e.event.thread) + " may read " +
                            place_text(x_.state.checked, e.event.address) + " before anything is written to it");
        return;
      }
    }
    for (int t = 0; t < x_.state.count(); ++t) {
      if (!x_.state.healthy(g, t)) {
        return;
      }
      const thread_state& s = *model::at(x_.runs, t).end;
      ended = ended && s.status == thread_status::ended;
      stuck = stuck && (s.status != thread_status::waiting || end_.waits_for_ever(g, t));
    }
    ended = ended && std::none_of(x_.runs.begin(), x_.runs.end(), [](const buffered_run& r) { return r.unmet; });
    if (ended) {
      ++x_.state.result.counts.buffered;
      x_.state.result.counts.longest = std::max(x_.state.result.counts.longest, model::count_of(x_.events));
    }
    end_.finish(g, ended, stuck);
  }

  check_options options_;
  buffered_execution x_;
  axiom_check axioms_{x_};
  execution_end end_;
  std::vector<buffered_run> spare_{};         ///< previous runs, whose memory is reused
  std::vector<std::vector<int>> together_{};  ///< per thread: the thread itself and, if it exchanges values, the other lanes of
                                              ///< its warp
  std::uint32_t stamp_ = 0;
  std::uint64_t steps_ = 0;  ///< the number of steps, including those of other lanes' runs
  std::uint64_t next_report_ = 0;
};

}  // namespace

check_result explore_load_buffering(const program& checked, const check_property& property, const check_options& options,
                                    check_result so_far) {
  return load_buffering_explorer(checked, property, options, std::move(so_far)).run();
}

}  // namespace membar::check::detail
