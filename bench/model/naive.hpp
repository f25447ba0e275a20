// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A second decision procedure, used only for comparison: it guesses the value of every read, enumerates every reads-from
/// relation, every partial coherence order and every order of the fences, and evaluates the rules as set comprehensions. This
/// procedure shares only the reader and the instruction format with the model.
#pragma once

#include <litmus/reader.hpp>
#include <membar/model/outcomes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <valarray>
#include <vector>

namespace membar_test {

namespace model = membar::model;
using membar::memory_order, membar::thread_scope;

/// A relation as a matrix of truth values.
class matrix {
 public:
  explicit matrix(std::size_t n) : n_(n), cells_(n * n) {}
  /// The relation that contains the pairs (a, b) of the `n` events for which `p` holds.
  [[nodiscard]] static matrix between(std::size_t n, const auto& p) {
    matrix r(n);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        r.set(a, b, p(a, b));
      }
    }
    return r;
  }
  [[nodiscard]] bool at(std::size_t a, std::size_t b) const { return cells_[a * n_ + b]; }
  void set(std::size_t a, std::size_t b, bool value = true) { cells_[a * n_ + b] = value; }

  [[nodiscard]] matrix operator|(const matrix& o) const { return {n_, cells_ | o.cells_}; }
  [[nodiscard]] matrix operator&(const matrix& o) const { return {n_, cells_ & o.cells_}; }
  /// The composition of two relations.
  [[nodiscard]] matrix operator*(const matrix& o) const {
    matrix r(n_);
    for (std::size_t a = 0; a < n_; ++a) {
      for (std::size_t b = 0; b < n_; ++b) {
        for (std::size_t c = 0; at(a, b) && c < n_; ++c) {
          if (o.at(b, c)) {
            r.set(a, c);
          }
        }
      }
    }
    return r;
  }
  [[nodiscard]] matrix transposed() const {
    return between(n_, [&](auto a, auto b) { return at(b, a); });
  }
  /// Returns this relation after `grow` has been applied until it adds nothing more.
  [[nodiscard]] matrix grown(const auto& grow) const {
    matrix r = *this;
    for (matrix next = grow(r); next != r; next = grow(r)) {
      r = next;
    }
    return r;
  }
  [[nodiscard]] matrix closure() const {
    return grown([](const matrix& r) { return r | (r * r); });
  }
  [[nodiscard]] bool irreflexive() const { return !cells(cells_[std::slice(0, n_, n_ + 1)]).max(); }  // the diagonal
  [[nodiscard]] bool acyclic() const { return closure().irreflexive(); }
  [[nodiscard]] bool empty() const { return !cells_.max(); }
  [[nodiscard]] bool operator==(const matrix& o) const { return cells(cells_ == o.cells_).min(); }

 private:
  using cells = std::valarray<bool>;
  matrix(std::size_t n, cells made) : n_(n), cells_(std::move(made)) {}

  std::size_t n_;
  cells cells_;
};

/// The numbers of candidates and executions that the model finds for a test.
[[nodiscard]] inline model::statistics searched(const model::litmus_test& test) {
  struct every_execution final : model::execution_visitor {
    bool accept(const model::partial_execution&) override { return true; }
  } visitor;
  const model::test_view view = test.view();
  return model::enumerator(view.program, visitor).run();
}

class naive_model {
 public:
  explicit naive_model(const model::litmus_test& test, std::size_t budget) : test_(test), budget_(budget) {}

  /// Returns the final states, as `membar::model::outcomes` prints them, or nothing if the program is too large for this
  /// procedure or contains an instruction that it does not support.
  [[nodiscard]] std::optional<std::vector<std::string>> outcomes() {
    for (const model::litmus_test::thread& t : test_.threads) {
      for (const model::instruction& i : t.code) {
        const bool asynchronous = i.code == model::opcode::async_copy || i.code == model::opcode::async_arrive ||
                                  i.code == model::opcode::async_commit || i.code == model::opcode::async_wait ||
                                  i.code == model::opcode::grid_wait || i.code == model::opcode::grid_launch ||
                                  i.code == model::opcode::mbarrier_init;
        const bool transaction = i.code == model::opcode::mbarrier_arrive && (i.arrivals != 1 || i.expected_bytes != 0);
        if (i.guard >= 0 || i.code == model::opcode::shuffle || i.via == model::proxy::read_only || asynchronous ||
            i.restricted || transaction) {
          // This procedure does not support predicates, shuffles, asynchronous copies or the read-only path.
          return std::nullopt;
        }
      }
    }
    find_values();
    std::vector<std::vector<trace>> traces;
    std::size_t product = 1;
    for (std::size_t t = 0; t < test_.threads.size(); ++t) {
      traces.push_back(traces_of(t));
      product *= traces.back().size();
      if (product > budget_) {
        return std::nullopt;
      }
    }
    combine(traces);
    if (work_ > budget_ * 40) {
      return std::nullopt;
    }
    return std::vector<std::string>(found_.begin(), found_.end());
  }

  /// Returns whether some execution that `outcomes` found has a data race.
  [[nodiscard]] bool races() const noexcept { return races_; }

  /// Returns how many choices of reads-from and coherence were tried.
  [[nodiscard]] std::size_t tried() const noexcept { return work_; }

 private:
  using values = std::set<std::int64_t>;
  using numbers = std::vector<std::size_t>;  // the numbers of the events
  using two_events = std::vector<std::pair<std::size_t, std::size_t>>;

  struct happening {
    char kind = 'R';  // R, W, F, P (proxy fence), B
    int thread = -1;
    std::size_t at = 0;  // position in the thread
    const model::instruction* from = nullptr;
    int place = -1;  // location
    std::int64_t value = 0;
    int vector = -1;                // The index of the vector access within the thread.
    int pair = -1;                  // The position of an update's other half in the thread.
    std::set<std::size_t> depends;  // positions in the thread
    std::int64_t id = 0;
    std::int64_t resource = 0;
    std::int64_t quorum = -1;
  };

  struct trace {
    std::vector<happening> events;
    std::vector<std::int64_t> registers;
  };

  struct machine {
    std::size_t at = 0;
    bool jumped = false;
    int vector = -1;
    trace done;
    std::vector<std::set<std::size_t>> tainted;  // for each register, what its value depends on
    std::set<std::size_t> control;

    std::size_t add(happening e) {
      e.at = done.events.size();
      done.events.push_back(std::move(e));
      return done.events.size() - 1;
    }
    void put(int reg, std::int64_t v, std::set<std::size_t> by) {
      if (reg >= 0) {
        done.registers[static_cast<std::size_t>(reg)] = v;
        tainted[static_cast<std::size_t>(reg)] = std::move(by);
      }
    }
    [[nodiscard]] std::int64_t value(const model::operand& o) const {
      return o.is_register ? done.registers[static_cast<std::size_t>(o.index)] : o.value;
    }
    [[nodiscard]] std::set<std::size_t> taint(const model::operand& o) const {
      return o.is_register ? tainted[static_cast<std::size_t>(o.index)] : std::set<std::size_t>();
    }
  };

  // ---- values and traces

  void find_values() {
    known_.assign(test_.locations.size(), {});
    std::size_t rounds = 1;
    for (std::size_t l = 0; l < test_.locations.size(); ++l) {
      known_[physical(static_cast<int>(l))].insert(test_.locations[l].initial);
    }
    for (const auto& t : test_.threads) {
      rounds += t.code.size();
    }
    for (std::vector<values> before; rounds > 0 && before != known_; --rounds) {
      before = known_;
      std::vector<values> next = known_;
      for (std::size_t t = 0; t < test_.threads.size(); ++t) {
        for (const trace& one : traces_of(t)) {
          for (const happening& e : one.events) {
            if (e.kind == 'W') {
              next[physical(e.place)].insert(e.value);
            }
          }
        }
      }
      known_ = next;
    }
    finding_values_ = false;
  }

  [[nodiscard]] std::size_t physical(int l) const {
    return static_cast<std::size_t>(test_.locations[static_cast<std::size_t>(l)].physical);
  }

  [[nodiscard]] std::vector<trace> traces_of(std::size_t t) const {
    std::vector<trace> result;
    machine m;
    m.done.registers = test_.threads[t].registers;
    m.tainted.resize(m.done.registers.size());
    step(t, m, result);
    return result;
  }

  void step(std::size_t t, machine m, std::vector<trace>& out) const {
    using model::opcode;
    const auto& code = test_.threads[t].code;
    if (m.at >= code.size()) {
      out.push_back(m.done);
      return;
    }
    const model::instruction& i = code[m.at];
    happening e;
    e.thread = static_cast<int>(t);
    e.from = &i;
    e.place = i.target;
    e.depends = m.control;
    if (i.element == 0 && m.at + 1 < code.size() && code[m.at + 1].element != 0) {
      m.vector = static_cast<int>(m.done.events.size());  // the number of its first element's event
    } else if (i.element == 0) {
      m.vector = -1;
    }
    e.vector = m.vector;
    switch (i.code) {
      case opcode::jump:
      case opcode::branch: {
        const bool taken = i.code == opcode::jump || model::compare(i.test, m.value(i.a), m.value(i.b));
        if (i.code == opcode::branch) {
          m.control.merge(m.taint(i.a));
          m.control.merge(m.taint(i.b));
        }
        if (taken && static_cast<std::size_t>(i.target) <= m.at) {
          if (m.jumped) {
            if (finding_values_) {
              out.push_back(m.done);
            }
            return;
          }
          m.jumped = true;
        }
        m.at = taken ? static_cast<std::size_t>(i.target) : m.at + 1;
        step(t, m, out);
        return;
      }
      case opcode::compute: {
        auto by = m.taint(i.b);
        if (i.what != model::operation::move) {
          by.merge(m.taint(i.a));
        }
        m.put(i.destination, model::apply(i.what, m.value(i.a), m.value(i.b)), by);
        break;
      }
      case opcode::fence:
      case opcode::proxy_fence:
        e.kind = i.code == opcode::fence ? 'F' : 'P';
        m.add(e);
        break;
      case opcode::barrier:
        e.kind = 'B';
        e.id = m.value(i.a);
        e.resource = m.value(i.b);
        e.quorum = i.has_quorum ? m.value(i.c) : -1;
        m.add(e);
        break;
      case opcode::mbarrier_wait:
        if (i.destination >= 0) {  // The phase may be incomplete.
          machine next = m;
          next.put(i.destination, 0, {});
          ++next.at;
          step(t, next, out);
          m.put(i.destination, 1, {});
        }
        [[fallthrough]];
      case opcode::mbarrier_arrive:
        e.kind = 'B';
        e.id = m.value(i.a);
        m.add(e);
        break;
      case opcode::store:
        e.kind = 'W';
        e.value = m.value(i.a);
        e.depends.merge(m.taint(i.a));
        m.add(e);
        break;
      case opcode::load:
      case opcode::atomic:
      case opcode::reduction:
        for (const std::int64_t seen : known_[physical(i.target)]) {
          machine next = m;
          e.value = seen;
          const std::size_t read = next.add(e);
          const bool compares = i.what == model::operation::compare_exchange;
          if (i.code != opcode::load && (!compares || seen == m.value(i.a))) {
            happening w = e;
            w.kind = 'W';
            w.value = compares ? m.value(i.b) : model::apply(i.what, seen, m.value(i.a));
            w.depends.insert(read);
            w.depends.merge(m.taint(i.a));
            w.depends.merge(m.taint(i.b));
            w.pair = static_cast<int>(read);
            next.done.events[read].pair = static_cast<int>(next.add(w));
          }
          next.put(i.destination, seen, {read});
          ++next.at;
          step(t, next, out);
        }
        return;
      default:
        return;
    }
    ++m.at;
    step(t, m, out);
  }

  // ---- executions

  void combine(const std::vector<std::vector<trace>>& traces) {
    if (chosen_.size() == traces.size()) {
      build();
      return;
    }
    for (const trace& one : traces[chosen_.size()]) {
      chosen_.push_back(&one);
      combine(traces);
      chosen_.pop_back();
    }
  }

  void build() {
    events_.clear();
    for (std::size_t l = 0; l < test_.locations.size(); ++l) {
      if (physical(static_cast<int>(l)) == l) {
        happening w;
        w.kind = 'W';
        w.place = static_cast<int>(l);
        w.value = test_.locations[l].initial;
        events_.push_back(w);
      }
    }
    for (const trace* t : chosen_) {
      const auto base = static_cast<int>(events_.size());
      for (const happening& e : t->events) {
        events_.push_back(e);
        if (e.pair >= 0) {
          events_.back().pair = base + e.pair;
        }
      }
    }
    po_ = pairs([&](auto a, auto b) {
      return one_thread(a, b) && events_[a].at < events_[b].at &&
             (events_[a].vector < 0 || events_[a].vector != events_[b].vector);
    });
    api_ = pairs([&](auto a, auto b) {
      return std::ranges::any_of(
          test_.api, [&](const auto& edge) { return events_[a].thread == edge.before && events_[b].thread == edge.after; });
    });
    dep_ = pairs([&](auto a, auto b) { return one_thread(a, b) && events_[b].depends.contains(events_[a].at); });
    reads_ = every([&](auto e) { return is(e, 'R'); });
    choose_sources(0, matrix(events_.size()));
  }

  void choose_sources(std::size_t k, const matrix& rf) {
    if (work_ > budget_ * 40) {
      return;
    }
    if (k == reads_.size()) {
      if ((rf | dep_).acyclic()) {
        ++work_;
        with_sources(rf);
      }
      return;
    }
    const std::size_t r = reads_[k];
    for (const std::size_t w :
         every([&](auto e) { return is(e, 'W') && same_memory(e, r) && events_[e].value == events_[r].value; })) {
      matrix next = rf;
      next.set(w, r);
      choose_sources(k + 1, next);
    }
  }

  // ---- the rules, pair by pair

  [[nodiscard]] bool is(std::size_t e, char kind) const { return events_[e].kind == kind; }
  [[nodiscard]] bool memory(std::size_t e) const { return is(e, 'R') || is(e, 'W'); }
  [[nodiscard]] bool initial(std::size_t e) const { return events_[e].thread < 0; }
  [[nodiscard]] bool same_memory(std::size_t a, std::size_t b) const {
    return physical(events_[a].place) == physical(events_[b].place);
  }
  [[nodiscard]] bool one_thread(std::size_t a, std::size_t b) const {
    return !initial(a) && events_[a].thread == events_[b].thread;
  }
  [[nodiscard]] const model::place& where(std::size_t e) const {
    return test_.threads[static_cast<std::size_t>(events_[e].thread)].where;
  }
  [[nodiscard]] bool strong(std::size_t e) const { return is(e, 'F') || (memory(e) && !initial(e) && events_[e].from->strong); }
  [[nodiscard]] bool ordered_as(std::size_t e, std::initializer_list<memory_order> orders) const {
    return !initial(e) && std::ranges::find(orders, events_[e].from->order) != orders.end();
  }
  [[nodiscard]] model::proxy proxy_of(std::size_t e) const { return initial(e) ? model::proxy::generic : events_[e].from->via; }
  [[nodiscard]] int address(std::size_t e) const { return test_.locations[static_cast<std::size_t>(events_[e].place)].address; }
  [[nodiscard]] static bool one_cta(const model::place& a, const model::place& b) {
    return !a.host && !b.host && a.gpu == b.gpu && a.block == b.block;
  }
  [[nodiscard]] static bool one_cluster(const model::place& a, const model::place& b) {
    return one_cta(a, b) || (!a.host && !b.host && a.gpu == b.gpu && a.cluster != -1 && a.cluster == b.cluster);
  }
  [[nodiscard]] bool incl(std::size_t x, std::size_t y) const {
    const model::place& a = where(x);
    const model::place& b = where(y);
    switch (events_[x].from->scope) {
      case thread_scope::system:
        return true;
      case thread_scope::device:
        return !a.host && !b.host && a.gpu == b.gpu && a.domain == b.domain;
      case thread_scope::cluster:
        return one_cluster(a, b);
      case thread_scope::block:
        return one_cta(a, b);
    }
    return false;
  }
  [[nodiscard]] bool ms(std::size_t x, std::size_t y) const {
    const auto takes_part = [&](std::size_t e) { return !initial(e) && (memory(e) || is(e, 'F')); };
    if (x == y || !takes_part(x) || !takes_part(y) || proxy_of(x) != proxy_of(y) ||
        (memory(x) && memory(y) && address(x) != address(y))) {
      return false;
    }
    return po_.at(x, y) || po_.at(y, x) || (strong(x) && strong(y) && incl(x, y) && incl(y, x));
  }

  /// Returns the events for which `p` holds.
  [[nodiscard]] numbers every(const auto& p) const {
    numbers found;
    for (std::size_t e = 0; e < events_.size(); ++e) {
      if (p(e)) {
        found.push_back(e);
      }
    }
    return found;
  }
  [[nodiscard]] matrix pairs(const auto& p) const { return matrix::between(events_.size(), p); }
  /// Returns the pairs of related events as (earlier, later).
  [[nodiscard]] static two_events each_two(const numbers& events, const matrix& related) {
    two_events found;
    for (const std::size_t a : events) {
      for (const std::size_t b : events) {
        if (a < b && related.at(a, b)) {
          found.emplace_back(a, b);
        }
      }
    }
    return found;
  }

  void with_sources(const matrix& rf) {
    using o = memory_order;
    const matrix strongly = pairs([&](auto a, auto b) { return ms(a, b); });
    const matrix rmw = pairs([&](auto a, auto b) { return is(a, 'R') && events_[a].pair == static_cast<int>(b); });
    const matrix obs = (strongly & rf).grown([&](const matrix& r) { return r | (r * rmw * r); });
    const auto or_before = [&](std::size_t a, std::size_t b) { return a == b || (po_.at(a, b) && same_memory(a, b)); };
    const matrix release = pairs([&](auto a, auto b) {
      if (!is(b, 'W') || !strong(b)) {
        return false;
      }
      const bool by_write = is(a, 'W') && strong(a) && ordered_as(a, {o::release, o::acq_rel}) && or_before(a, b);
      const bool by_fence = is(a, 'F') && ordered_as(a, {o::release, o::acq_rel, o::seq_cst}) && po_.at(a, b);
      return by_write || by_fence;
    });
    const matrix acquire = pairs([&](auto a, auto b) {
      if (!is(a, 'R') || !strong(a)) {
        return false;
      }
      const bool by_read = is(b, 'R') && strong(b) && ordered_as(b, {o::acquire, o::acq_rel}) && or_before(a, b);
      const bool by_fence = is(b, 'F') && ordered_as(b, {o::acquire, o::acq_rel, o::seq_cst}) && po_.at(a, b);
      return (by_read || by_fence) && (a == b || events_[a].from->code != model::opcode::reduction);
    });
    const matrix sync = strongly & (release * obs * acquire);
    for_each_barriers(rf, [&](const matrix& barriers) {
      for_each_fence_order(strongly, [&](const matrix& sc) {
        const matrix base = (po_ | api_ | sync | barriers | sc).closure();
        if ((sc * base).irreflexive()) {
          with_base(rf, strongly, rmw, obs, base);
        }
      });
    });
  }

  void for_each_fence_order(const matrix& strongly, const std::function<void(const matrix&)>& use) const {
    const auto open = each_two(every([&](auto e) { return is(e, 'F') && ordered_as(e, {memory_order::seq_cst}); }), strongly);
    for (std::size_t bits = 0; bits < (std::size_t{1} << open.size()); ++bits) {
      matrix order(events_.size());
      for (std::size_t k = 0; k < open.size(); ++k) {
        const auto [a, b] = open[k];
        (bits >> k & 1) != 0 ? order.set(a, b) : order.set(b, a);
      }
      if (order.acyclic()) {
        use(order);
      }
    }
  }

  // Barriers: a group number is guessed for every event (0: no group), and the rules for groups are checked.
  void for_each_barriers(const matrix& rf, const std::function<void(const matrix&)>& use) {
    const numbers barriers = every([&](auto e) { return is(e, 'B'); });
    std::vector<int> group_of(events_.size(), 0);
    // numbers the groups in order of first use, so that guesses that differ only in the groups' names count as the same
    const std::function<void(std::size_t, int)> guess = [&](std::size_t k, int highest) {
      if (work_ > budget_ * 40) {
        return;
      }
      if (k == barriers.size()) {
        ++work_;
        matrix sync(events_.size());
        if (groups_are_right(barriers, group_of, rf, sync)) {
          use(sync);
        }
        return;
      }
      for (int number = 0; number <= highest + 1; ++number) {
        group_of[barriers[k]] = number;
        guess(k + 1, std::max(highest, number));
      }
    };
    guess(0, 0);
  }

  [[nodiscard]] bool same_barrier(std::size_t a, std::size_t b) const {
    const model::instruction& x = *events_[a].from;
    const model::instruction& y = *events_[b].from;
    if (x.code != y.code && (x.code == model::opcode::barrier || y.code == model::opcode::barrier)) {
      return false;
    }
    if (x.code != model::opcode::barrier) {
      return same_memory(a, b);
    }
    if (x.barrier != y.barrier) {
      return false;
    }
    if (x.barrier == model::barrier_kind::cluster) {
      return one_cluster(where(a), where(b));
    }
    return one_cta(where(a), where(b)) && events_[a].id == events_[b].id && events_[a].resource == events_[b].resource &&
           (x.barrier != model::barrier_kind::warp || where(a).warp == where(b).warp);
  }

  [[nodiscard]] bool groups_are_right(const numbers& barriers, const std::vector<int>& group_of, const matrix& rf,
                                      matrix& sync) const {
    // Returns the number of the thread's earlier events on the same barrier: arrivals if this event is an arrival, otherwise
    // waits.
    const auto own_turn = [&](std::size_t e) {
      const auto which = events_[e].from->arrives ? &model::instruction::arrives : &model::instruction::waits;
      return std::ranges::count_if(barriers,
                                   [&](auto b) { return po_.at(b, e) && same_barrier(b, e) && events_[b].from->*which; });
    };
    for (const std::size_t a : barriers) {
      const numbers same = every([&](auto b) { return is(b, 'B') && same_barrier(a, b); });
      std::int64_t count = -1;
      for (const std::size_t b : same) {
        count = events_[b].quorum >= 0 ? events_[b].quorum : count;
      }
      if (events_[a].from->code != model::opcode::barrier) {
        if (!phases_are_right(same, group_of)) {
          return false;
        }
        continue;
      }
      const bool grouped = group_of[a] != 0;
      const bool counted = count >= 0 && events_[a].from->barrier == model::barrier_kind::block;
      const numbers group = every([&](auto b) { return is(b, 'B') && grouped && group_of[b] == group_of[a]; });
      if (!std::ranges::all_of(group, [&](auto b) { return same_barrier(a, b); }) ||
          (counted
               ? !counted_is_right(a, same, group, group_of, count)
               : !grouped || std::ranges::any_of(
                                 same, [&](auto b) { return (group_of[a] == group_of[b]) != (own_turn(a) == own_turn(b)); })) ||
          (events_[a].from->barrier == model::barrier_kind::warp && !lanes_have_come(a, group))) {
        return false;
      }
    }
    matrix blocks(events_.size());  // Pairs (a, b) in which a must have arrived before b can continue.
    // Pairs (a, b) in which a's thread does not reach the turn that b waits for, because it has ended.
    const matrix ends = pairs([&](auto a, auto b) {
      return !initial(a) && is(b, 'B') && events_[b].from->code == model::opcode::barrier && events_[b].from->waits &&
             events_[b].from->barrier == model::barrier_kind::block && one_cta(where(a), where(b)) &&
             std::ranges::none_of(barriers, [&](auto c) {
               return same_barrier(b, c) && (events_[c].quorum >= 0 || (one_thread(a, c) && group_of[b] == group_of[c]));
             });
    });
    for (const std::size_t a : barriers) {
      for (const std::size_t b : barriers) {
        const model::instruction& from = *events_[a].from;
        if (group_of[a] == 0 || group_of[a] != group_of[b] || !from.arrives || !events_[b].from->waits) {
          continue;
        }
        const bool mbarrier = from.code != model::opcode::barrier;
        const bool heard =
            !mbarrier || one_thread(a, b) || (events_[b].from->order == memory_order::acquire && incl(a, b) && incl(b, a));
        if (a != b && heard &&
            ((from.barrier != model::barrier_kind::cluster && !mbarrier) || from.order == memory_order::release)) {
          sync.set(a, b);
        }
        for (const std::size_t earlier : barriers) {
          if (po_.at(earlier, a) && events_[earlier].from->waits) {
            blocks.set(earlier, b);
          }
        }
      }
    }
    return blocks.acyclic() && (ends * (blocks | ends | po_ | rf).closure()).irreflexive();
  }

  /// The groups of an mbarrier are its phases, in some order. Each phase has the expected arrivals and the waits for it, and no
  /// arrival comes before an arrival of an earlier phase. The remaining arrivals are too few for a phase, and come after all
  /// others.
  [[nodiscard]] bool phases_are_right(const numbers& same, const std::vector<int>& group_of) const {
    const int expected = test_.locations[static_cast<std::size_t>(events_[same.front()].place)].arrivals;
    std::vector<int> order;
    int left = 0;
    for (const std::size_t b : same) {
      if (group_of[b] == 0) {
        if (events_[b].from->waits) {
          return false;
        }
        ++left;
      } else if (std::ranges::find(order, group_of[b]) == order.end()) {
        order.push_back(group_of[b]);
      }
    }
    if (left >= expected) {
      return false;
    }
    std::ranges::sort(order);
    const auto phase_of = [&](std::size_t b) {
      return group_of[b] == 0 ? std::ssize(order) : std::ranges::find(order, group_of[b]) - order.begin();
    };
    do {
      bool right = true;
      std::vector<int> arrivals(order.size() + 1);
      for (const std::size_t b : same) {
        if (events_[b].from->waits) {
          right = right && phase_of(b) == events_[b].id;
          continue;
        }
        ++arrivals[static_cast<std::size_t>(phase_of(b))];
        for (const std::size_t c : same) {
          right = right && (events_[c].from->waits || !po_.at(b, c) || phase_of(b) <= phase_of(c));
        }
      }
      for (std::size_t k = 0; k < order.size(); ++k) {
        right = right && arrivals[k] == expected;
      }
      if (right) {
        return true;
      }
    } while (std::ranges::next_permutation(order).found);
    return false;
  }

  /// If a barrier has a count, each of its groups has that many threads. The remaining events belong to fewer threads than a
  /// group requires. No grouped event follows them in their thread, and such an event may wait only if some group exists and it
  /// is its thread's last instruction.
  [[nodiscard]] bool counted_is_right(std::size_t a, const numbers& same, const numbers& group,
                                      const std::vector<int>& group_of, std::int64_t count) const {
    const auto threads = [&](const numbers& of) {
      std::set<int> found;
      for (const std::size_t e : of) {
        found.insert(events_[e].thread);
      }
      return static_cast<std::int64_t>(found.size());
    };
    numbers left;
    numbers grouped;
    for (const std::size_t b : same) {
      (group_of[b] == 0 ? left : grouped).push_back(b);
    }
    if (threads(left) >= count) {
      return false;
    }
    if (group_of[a] != 0) {
      return static_cast<std::int64_t>(group.size()) == count && threads(group) == count;
    }
    const bool last = events_[a].from == &test_.threads[static_cast<std::size_t>(events_[a].thread)].code.back();
    return std::ranges::none_of(grouped, [&](auto b) { return po_.at(a, b); }) &&
           (!events_[a].from->waits || (!grouped.empty() && last));
  }

  [[nodiscard]] bool lanes_have_come(std::size_t a, const numbers& group) const {
    int lane = 0;
    for (std::size_t t = 0; t < test_.threads.size(); ++t) {
      const model::place& there = test_.threads[t].where;
      if (!one_cta(where(a), there) || where(a).warp != there.warp) {
        continue;
      }
      const bool named = (events_[a].id >> lane++ & 1) != 0;
      if (named && std::ranges::none_of(group, [&](auto b) { return events_[b].thread == static_cast<int>(t); })) {
        return false;
      }
    }
    return true;
  }

  void with_base(const matrix& rf, const matrix& strongly, const matrix& rmw, const matrix& obs, const matrix& base) {
    const auto one_block = [&](std::size_t a, std::size_t b) {
      return !initial(a) && !initial(b) && (one_thread(a, b) || one_cta(where(a), where(b)));
    };
    const auto generic = [&](std::size_t e) { return proxy_of(e) == model::proxy::generic; };
    const numbers alias_fences = every([&](auto e) { return is(e, 'P') && proxy_of(e) == model::proxy::alias; });
    // The event itself, or fences of the event's proxy in the event's block.
    const auto fences_of = [&](std::size_t m) {
      return every([&](auto f) { return generic(m) ? f == m : is(f, 'P') && proxy_of(f) == proxy_of(m) && one_block(f, m); });
    };
    const matrix ppcb = pairs([&](auto x, auto y) {
      if (!memory(x) || !memory(y) || initial(x) || initial(y) || !same_memory(x, y) || !base.at(x, y)) {
        return false;
      }
      const bool one_address = address(x) == address(y);
      if (one_address && ((generic(x) && generic(y)) || (proxy_of(x) == proxy_of(y) && one_block(x, y)))) {
        return true;
      }
      // the path: x, possibly a fence of x's proxy, possibly an alias fence, possibly a fence of y's proxy, y
      for (const std::size_t f : fences_of(x)) {
        for (const std::size_t g : fences_of(y)) {
          const bool reaches = (generic(x) || base.at(x, f)) && (generic(y) || base.at(g, y));
          const auto between = [&](std::size_t a) { return base.at(f, a) && base.at(a, g); };
          if (reaches && ((one_address && base.at(f, g)) || std::ranges::any_of(alias_fences, between))) {
            return true;
          }
        }
      }
      return false;
    });
    const matrix cause = ppcb | (obs * ppcb);
    if (!(rf * cause).irreflexive()) {
      return;
    }
    const matrix apart = pairs([&](auto a, auto b) {
      return memory(a) && memory(b) && !initial(a) && !initial(b) && same_memory(a, b) && (is(a, 'W') || is(b, 'W')) &&
             a != b && !strongly.at(a, b) && !cause.at(a, b) && !cause.at(b, a);
    });
    const matrix writes = pairs([&](auto a, auto b) { return is(a, 'W') && is(b, 'W') && same_memory(a, b); });
    const matrix start = pairs([&](auto a, auto b) { return a != b && initial(a) && writes.at(a, b); });
    const auto open = each_two(every([&](auto e) { return !initial(e); }), writes);
    choose_coherence(open, 0, start, [&](const matrix& co) {
      // co is transitive and irreflexive, contains causality between writes, and orders morally strong writes.
      const matrix either_way = co | co.transposed();
      if (!co.irreflexive() || ((co * co) | co) != co || ((cause & writes) | co) != co ||
          ((strongly & writes) | either_way) != either_way) {
        return;
      }
      const matrix fr = rf.transposed() * co;
      const matrix po_loc = pairs([&](auto a, auto b) { return po_.at(a, b) && memory(a) && memory(b) && same_memory(a, b); });
      if ((fr * cause).irreflexive() && (rmw & ((strongly & fr) * (strongly & co))).empty() &&
          ((strongly & (rf | co | fr)) | po_loc).acyclic()) {
        record(co, 0, {}, "");
        races_ = races_ || !apart.empty();
      }
    });
  }

  void choose_coherence(const two_events& open, std::size_t k, const matrix& co,
                        const std::function<void(const matrix&)>& use) {
    if (k == open.size()) {
      ++work_;
      use(co);
      return;
    }
    const auto [a, b] = open[k];
    choose_coherence(open, k + 1, co, use);
    for (const auto& [first, second] : {std::pair(a, b), std::pair(b, a)}) {
      matrix next = co;
      next.set(first, second);
      choose_coherence(open, k + 1, next, use);
    }
  }

  // ---- final states

  void record(const matrix& co, std::size_t k, const std::map<std::size_t, std::int64_t>& in_memory, const std::string& line) {
    if (k == test_.observed.size()) {
      found_.insert(line);
      return;
    }
    const model::observable& o = test_.observed[k];
    const std::string head = line + (k == 0 ? "" : " ") + o.name + "=";
    if (o.what.kind == model::term::kind_t::register_value) {
      const auto& registers = chosen_[static_cast<std::size_t>(o.what.thread)]->registers;
      record(co, k + 1, in_memory, head + std::to_string(registers[static_cast<std::size_t>(o.what.index)]));
      return;
    }
    const std::size_t l = physical(o.what.index);
    if (const auto known = in_memory.find(l); known != in_memory.end()) {
      record(co, k + 1, in_memory, head + std::to_string(known->second));
      return;
    }
    for (const std::size_t w : every([&](auto e) { return is(e, 'W') && physical(events_[e].place) == l; })) {
      if (every([&](auto v) { return co.at(w, v); }).empty()) {
        auto next = in_memory;
        next[l] = events_[w].value;
        record(co, k + 1, next, head + std::to_string(events_[w].value));
      }
    }
  }

  const model::litmus_test& test_;
  std::size_t budget_;
  std::size_t work_ = 0;
  bool finding_values_ = true;  ///< If true, values stored by a run that was cut off also count as known.
  std::vector<values> known_;
  std::vector<happening> events_;
  std::vector<const trace*> chosen_;
  numbers reads_;
  matrix po_{0};
  matrix api_{0};
  matrix dep_{0};
  std::set<std::string> found_;
  bool races_ = false;
};

}  // namespace membar_test
