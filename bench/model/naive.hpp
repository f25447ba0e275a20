// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A second decision procedure, for comparison only: it guesses the value of every read, enumerates every reads-from, every
/// partial coherence order and every orientation of fences, and evaluates the rules as set comprehensions. It shares the
/// reader and the instruction format with the model and nothing else.
#pragma once

#include <membar/model/litmus_file.hpp>
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
#include <vector>

namespace membar_test {

namespace model = membar::model;
using membar::memory_order;
using membar::thread_scope;

/// A relation as a matrix of truth values.
class matrix {
 public:
  explicit matrix(std::size_t n) : n_(n), cells_(n * n, 0) {}
  [[nodiscard]] bool at(std::size_t a, std::size_t b) const { return cells_[a * n_ + b] != 0; }
  void set(std::size_t a, std::size_t b, bool value = true) { cells_[a * n_ + b] = value ? 1 : 0; }
  [[nodiscard]] std::size_t size() const { return n_; }

  [[nodiscard]] matrix operator|(const matrix& o) const {
    matrix r(n_);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      r.cells_[i] = static_cast<char>(cells_[i] | o.cells_[i]);
    }
    return r;
  }
  [[nodiscard]] matrix operator&(const matrix& o) const {
    matrix r(n_);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      r.cells_[i] = static_cast<char>(cells_[i] & o.cells_[i]);
    }
    return r;
  }
  /// Composition.
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
    matrix r(n_);
    for (std::size_t a = 0; a < n_; ++a) {
      for (std::size_t b = 0; b < n_; ++b) {
        r.set(b, a, at(a, b));
      }
    }
    return r;
  }
  [[nodiscard]] matrix closure() const {
    matrix r = *this;
    for (;;) {
      matrix next = r | (r * r);
      if (next.cells_ == r.cells_) {
        return r;
      }
      r = next;
    }
  }
  [[nodiscard]] bool irreflexive() const {
    for (std::size_t a = 0; a < n_; ++a) {
      if (at(a, a)) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool acyclic() const { return closure().irreflexive(); }
  [[nodiscard]] bool empty() const { return std::find(cells_.begin(), cells_.end(), 1) == cells_.end(); }
  [[nodiscard]] bool operator==(const matrix& o) const { return cells_ == o.cells_; }

 private:
  std::size_t n_;
  std::vector<char> cells_;
};

class naive_model {
 public:
  explicit naive_model(const model::litmus_test& test, std::size_t budget) : test_(test), budget_(budget) {}

  /// The final states, as `membar::model::outcomes` prints them; nothing if the program is too large for this procedure.
  [[nodiscard]] std::optional<std::vector<std::string>> outcomes() {
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
    std::vector<const trace*> chosen(traces.size());
    combine(traces, 0, chosen);
    if (work_ > budget_ * 40) {
      return std::nullopt;
    }
    return std::vector<std::string>(found_.begin(), found_.end());
  }

  /// How many choices of reads-from and of coherence were tried.
  [[nodiscard]] std::size_t tried() const noexcept { return work_; }

 private:
  using values = std::set<std::int64_t>;

  struct happening {
    char kind = 'R';  // R, W, F, P (proxy fence), B
    int thread = -1;
    std::size_t at = 0;  // position in the thread
    const model::instruction* from = nullptr;
    int place = -1;  // location
    std::int64_t value = 0;
    int pair = -1;                  // position in the thread of the other half of an update
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
    trace done;
    std::vector<std::set<std::size_t>> tainted;  // per register
    std::set<std::size_t> control;
  };

  // ---- values and traces

  void find_values() {
    known_.assign(test_.locations.size(), {});
    std::size_t writes = 0;
    for (std::size_t l = 0; l < test_.locations.size(); ++l) {
      known_[physical(static_cast<int>(l))].insert(test_.locations[l].initial);
    }
    for (const auto& t : test_.threads) {
      writes += t.code.size();
    }
    for (std::size_t round = 0; round <= writes; ++round) {
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
      if (next == known_) {
        return;
      }
      known_ = next;
    }
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
    const auto taint = [&](const model::operand& o) {
      return o.is_register ? m.tainted[static_cast<std::size_t>(o.index)] : std::set<std::size_t>();
    };
    const auto value = [&](const model::operand& o) {
      return o.is_register ? m.done.registers[static_cast<std::size_t>(o.index)] : o.value;
    };
    const auto put = [](machine& to, int reg, std::int64_t v, std::set<std::size_t> by) {
      if (reg >= 0) {
        to.done.registers[static_cast<std::size_t>(reg)] = v;
        to.tainted[static_cast<std::size_t>(reg)] = std::move(by);
      }
    };
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
    const auto add = [&](machine& to, happening h) {
      h.at = to.done.events.size();
      to.done.events.push_back(std::move(h));
      return to.done.events.size() - 1;
    };
    switch (i.code) {
      case opcode::jump:
      case opcode::branch: {
        const bool taken = i.code == opcode::jump || model::compare(i.test, value(i.a), value(i.b));
        if (i.code == opcode::branch) {
          for (const auto& by : {taint(i.a), taint(i.b)}) {
            m.control.insert(by.begin(), by.end());
          }
        }
        if (taken && static_cast<std::size_t>(i.target) <= m.at) {
          if (m.jumped) {
            return;
          }
          m.jumped = true;
        }
        m.at = taken ? static_cast<std::size_t>(i.target) : m.at + 1;
        step(t, m, out);
        return;
      }
      case opcode::compute: {
        auto by = taint(i.b);
        if (i.what != model::operation::move) {
          const auto more = taint(i.a);
          by.insert(more.begin(), more.end());
        }
        put(m, i.destination, model::apply(i.what, value(i.a), value(i.b)), by);
        break;
      }
      case opcode::fence:
        e.kind = 'F';
        add(m, e);
        break;
      case opcode::proxy_fence:
        e.kind = 'P';
        add(m, e);
        break;
      case opcode::barrier:
        e.kind = 'B';
        e.id = value(i.a);
        e.resource = value(i.b);
        e.quorum = i.has_quorum ? value(i.c) : -1;
        add(m, e);
        break;
      case opcode::store: {
        e.kind = 'W';
        e.value = value(i.a);
        for (const std::size_t by : taint(i.a)) {
          e.depends.insert(by);
        }
        add(m, e);
        break;
      }
      case opcode::load:
      case opcode::atomic:
      case opcode::reduction:
        for (const std::int64_t seen : known_[physical(i.target)]) {
          machine next = m;
          happening r = e;
          r.kind = 'R';
          r.value = seen;
          const std::size_t read = add(next, r);
          bool writes = i.code != opcode::load;
          std::int64_t stored = 0;
          std::set<std::size_t> from = e.depends;
          from.insert(read);
          if (writes) {
            for (const auto& by : {taint(i.a), taint(i.b)}) {
              from.insert(by.begin(), by.end());
            }
            if (i.what == model::operation::compare_exchange) {
              writes = seen == value(i.a);
              stored = value(i.b);
            } else {
              stored = model::apply(i.what, seen, value(i.a));
            }
          }
          if (writes) {
            happening w = e;
            w.kind = 'W';
            w.value = stored;
            w.depends = from;
            w.pair = static_cast<int>(read);
            next.done.events[read].pair = static_cast<int>(add(next, w));
          }
          put(next, i.destination, seen, {read});
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

  void combine(const std::vector<std::vector<trace>>& traces, std::size_t t, std::vector<const trace*>& chosen) {
    if (t == traces.size()) {
      build(chosen);
      return;
    }
    for (const trace& one : traces[t]) {
      chosen[t] = &one;
      combine(traces, t + 1, chosen);
    }
  }

  void build(const std::vector<const trace*>& chosen) {
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
    std::vector<std::size_t> base;
    for (const trace* t : chosen) {
      base.push_back(events_.size());
      for (const happening& e : t->events) {
        events_.push_back(e);
        if (e.pair >= 0) {
          events_.back().pair = static_cast<int>(base.back()) + e.pair;
        }
      }
    }
    chosen_ = chosen;
    const std::size_t n = events_.size();
    po_ = matrix(n);
    dep_ = matrix(n);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        if (events_[a].thread >= 0 && events_[a].thread == events_[b].thread) {
          po_.set(a, b, events_[a].at < events_[b].at);
          dep_.set(a, b, events_[b].depends.count(events_[a].at) != 0);
        }
      }
    }
    reads_.clear();
    for (std::size_t a = 0; a < n; ++a) {
      if (events_[a].kind == 'R') {
        reads_.push_back(a);
      }
    }
    choose_sources(0, matrix(n));
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
    for (std::size_t w = 0; w < events_.size(); ++w) {
      if (events_[w].kind == 'W' && physical(events_[w].place) == physical(events_[reads_[k]].place) &&
          events_[w].value == events_[reads_[k]].value) {
        matrix next = rf;
        next.set(w, reads_[k]);
        choose_sources(k + 1, next);
      }
    }
  }

  // ---- the rules, pair by pair

  [[nodiscard]] bool memory(std::size_t e) const { return events_[e].kind == 'R' || events_[e].kind == 'W'; }
  [[nodiscard]] const model::place& where(std::size_t e) const {
    return test_.threads[static_cast<std::size_t>(events_[e].thread)].where;
  }
  [[nodiscard]] bool strong(std::size_t e) const {
    return events_[e].kind == 'F' || (memory(e) && events_[e].thread >= 0 && events_[e].from->strong);
  }
  [[nodiscard]] bool ordered_as(std::size_t e, std::initializer_list<memory_order> orders) const {
    return events_[e].thread >= 0 && std::find(orders.begin(), orders.end(), events_[e].from->order) != orders.end();
  }
  [[nodiscard]] model::proxy proxy_of(std::size_t e) const {
    return events_[e].thread < 0 ? model::proxy::generic : events_[e].from->via;
  }
  [[nodiscard]] int address(std::size_t e) const { return test_.locations[static_cast<std::size_t>(events_[e].place)].address; }
  [[nodiscard]] bool one_cta(const model::place& a, const model::place& b) const {
    return !a.host && !b.host && a.gpu == b.gpu && a.block == b.block;
  }
  [[nodiscard]] bool one_cluster(const model::place& a, const model::place& b) const {
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
    if (x == y || events_[x].thread < 0 || events_[y].thread < 0) {
      return false;
    }
    const auto takes_part = [&](std::size_t e) { return memory(e) || events_[e].kind == 'F'; };
    if (!takes_part(x) || !takes_part(y) || proxy_of(x) != proxy_of(y)) {
      return false;
    }
    if (memory(x) && memory(y) && address(x) != address(y)) {
      return false;
    }
    return po_.at(x, y) || po_.at(y, x) || (strong(x) && strong(y) && incl(x, y) && incl(y, x));
  }

  template <class Predicate>
  [[nodiscard]] matrix pairs(const Predicate& p) const {
    matrix r(events_.size());
    for (std::size_t a = 0; a < events_.size(); ++a) {
      for (std::size_t b = 0; b < events_.size(); ++b) {
        r.set(a, b, p(a, b));
      }
    }
    return r;
  }

  void with_sources(const matrix& rf) {
    const matrix strongly = pairs([&](auto a, auto b) { return ms(a, b); });
    const matrix rmw = pairs([&](auto a, auto b) { return events_[a].kind == 'R' && events_[a].pair == static_cast<int>(b); });
    matrix obs = strongly & rf;
    for (;;) {
      const matrix next = obs | (obs * rmw * obs);
      if (next == obs) {
        break;
      }
      obs = next;
    }
    using o = memory_order;
    const matrix release = pairs([&](auto a, auto b) {
      if (events_[b].kind != 'W' || !strong(b)) {
        return false;
      }
      const bool by_write = events_[a].kind == 'W' && strong(a) && ordered_as(a, {o::release, o::acq_rel}) &&
                            (a == b || (po_.at(a, b) && physical(events_[a].place) == physical(events_[b].place)));
      const bool by_fence = events_[a].kind == 'F' && ordered_as(a, {o::release, o::acq_rel, o::seq_cst}) && po_.at(a, b);
      return by_write || by_fence;
    });
    const matrix acquire = pairs([&](auto a, auto b) {
      if (events_[a].kind != 'R' || !strong(a)) {
        return false;
      }
      const bool by_read = events_[b].kind == 'R' && strong(b) && ordered_as(b, {o::acquire, o::acq_rel}) &&
                           (a == b || (po_.at(a, b) && physical(events_[a].place) == physical(events_[b].place)));
      const bool by_fence = events_[a].from->code != model::opcode::reduction && events_[b].kind == 'F' &&
                            ordered_as(b, {o::acquire, o::acq_rel, o::seq_cst}) && po_.at(a, b);
      return by_read || by_fence;
    });
    const matrix sync = strongly & (release * obs * acquire);
    for_each_barriers([&](const matrix& barriers) {
      for_each_fence_order(strongly, [&](const matrix& sc) {
        const matrix base = (po_ | sync | barriers | sc).closure();
        if ((sc * base).irreflexive()) {
          with_base(rf, strongly, rmw, obs, base);
        }
      });
    });
  }

  void for_each_fence_order(const matrix& strongly, const std::function<void(const matrix&)>& use) const {
    std::vector<std::pair<std::size_t, std::size_t>> open;
    for (std::size_t a = 0; a < events_.size(); ++a) {
      for (std::size_t b = a + 1; b < events_.size(); ++b) {
        const auto sc = [&](std::size_t e) { return events_[e].kind == 'F' && ordered_as(e, {memory_order::seq_cst}); };
        if (sc(a) && sc(b) && strongly.at(a, b)) {
          open.emplace_back(a, b);
        }
      }
    }
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

  // Barriers: the number of a group is guessed for every event (0: none), and the rules of groups are checked.
  void for_each_barriers(const std::function<void(const matrix&)>& use) const {
    std::vector<std::size_t> barriers;
    for (std::size_t e = 0; e < events_.size(); ++e) {
      if (events_[e].kind == 'B') {
        barriers.push_back(e);
      }
    }
    std::vector<int> group_of(events_.size(), 0);
    std::function<void(std::size_t)> guess = [&](std::size_t k) {
      if (k == barriers.size()) {
        matrix sync(events_.size());
        if (groups_are_right(barriers, group_of, sync)) {
          use(sync);
        }
        return;
      }
      int highest = 0;
      for (std::size_t j = 0; j < k; ++j) {
        highest = std::max(highest, group_of[barriers[j]]);
      }
      // numbers in order of first use, so that renaming groups is not counted as a difference
      for (int number = 0; number <= highest + 1; ++number) {
        group_of[barriers[k]] = number;
        guess(k + 1);
      }
      group_of[barriers[k]] = 0;
    };
    guess(0);
  }

  [[nodiscard]] bool same_barrier(std::size_t a, std::size_t b) const {
    const model::instruction& x = *events_[a].from;
    const model::instruction& y = *events_[b].from;
    if (x.barrier != y.barrier) {
      return false;
    }
    if (x.barrier == model::barrier_kind::cluster) {
      return one_cluster(where(a), where(b));
    }
    return one_cta(where(a), where(b)) && events_[a].id == events_[b].id && events_[a].resource == events_[b].resource &&
           (x.barrier != model::barrier_kind::warp || where(a).warp == where(b).warp);
  }

  // How many events of the thread on the same barrier, of which `which` holds, come before `e`.
  template <class Which>
  [[nodiscard]] int turn(const std::vector<std::size_t>& barriers, std::size_t e, const Which& which) const {
    int n = 0;
    for (const std::size_t b : barriers) {
      n += po_.at(b, e) && same_barrier(b, e) && which(*events_[b].from) ? 1 : 0;
    }
    return n;
  }

  [[nodiscard]] bool groups_are_right(const std::vector<std::size_t>& barriers, const std::vector<int>& group_of,
                                      matrix& sync) const {
    const auto arrives = [](const model::instruction& i) { return i.arrives; };
    const auto waits = [](const model::instruction& i) { return i.waits; };
    const auto own_turn = [&](std::size_t e) {
      return events_[e].from->arrives ? turn(barriers, e, arrives) : turn(barriers, e, waits);
    };
    for (const std::size_t a : barriers) {
      const bool counted = std::any_of(barriers.begin(), barriers.end(), [&](std::size_t b) {
        return same_barrier(a, b) && events_[b].quorum >= 0 && events_[b].from->barrier == model::barrier_kind::block;
      });
      std::vector<std::size_t> group;
      for (const std::size_t b : barriers) {
        if (group_of[b] == group_of[a] && group_of[a] != 0) {
          if (!same_barrier(a, b)) {
            return false;
          }
          group.push_back(b);
        }
        if (!counted && same_barrier(a, b) && (group_of[a] == group_of[b]) != (own_turn(a) == own_turn(b))) {
          return false;
        }
      }
      if (!counted && group_of[a] == 0) {
        return false;
      }
      if (counted) {
        const std::int64_t count = quorum_of(barriers, a);
        std::set<int> threads;
        for (const std::size_t b : group) {
          threads.insert(events_[b].thread);
        }
        if (group_of[a] != 0 && (static_cast<std::int64_t>(group.size()) != count || threads.size() != group.size())) {
          return false;
        }
        // the ones left over: fewer threads than a group needs, never before a grouped one, and waiting only at their end and
        // beside some group
        std::set<int> left;
        bool any = false;
        for (const std::size_t b : barriers) {
          if (same_barrier(a, b)) {
            any = any || group_of[b] != 0;
            if (group_of[b] == 0) {
              left.insert(events_[b].thread);
            }
            if (group_of[a] == 0 && group_of[b] != 0 && po_.at(a, b)) {
              return false;
            }
          }
        }
        if (static_cast<std::int64_t>(left.size()) >= count ||
            (group_of[a] == 0 && events_[a].from->waits && (!any || !is_last(a)))) {
          return false;
        }
      }
      if (events_[a].from->barrier == model::barrier_kind::warp && !lanes_have_come(a, group)) {
        return false;
      }
    }
    matrix blocks(events_.size());  // a waits before b can go on
    for (const std::size_t a : barriers) {
      for (const std::size_t b : barriers) {
        if (group_of[a] == 0 || group_of[a] != group_of[b] || !events_[a].from->arrives || !events_[b].from->waits) {
          continue;
        }
        const bool releases =
            events_[a].from->barrier != model::barrier_kind::cluster || events_[a].from->order == memory_order::release;
        if (a != b && releases) {
          sync.set(a, b);
        }
        for (const std::size_t earlier : barriers) {
          if (po_.at(earlier, a) && events_[earlier].from->waits) {
            blocks.set(earlier, b);
          }
        }
      }
    }
    return blocks.acyclic();
  }

  [[nodiscard]] bool is_last(std::size_t e) const {
    return events_[e].from == &test_.threads[static_cast<std::size_t>(events_[e].thread)].code.back();
  }

  [[nodiscard]] std::int64_t quorum_of(const std::vector<std::size_t>& barriers, std::size_t a) const {
    std::int64_t count = -1;
    for (const std::size_t b : barriers) {
      if (same_barrier(a, b) && events_[b].quorum >= 0) {
        count = events_[b].quorum;
      }
    }
    return count;
  }

  [[nodiscard]] bool lanes_have_come(std::size_t a, const std::vector<std::size_t>& group) const {
    int lane = 0;
    for (std::size_t t = 0; t < test_.threads.size(); ++t) {
      const model::place& there = test_.threads[t].where;
      if (!one_cta(where(a), there) || where(a).warp != there.warp) {
        continue;
      }
      const bool named = (events_[a].id >> lane & 1) != 0;
      const bool came =
          std::any_of(group.begin(), group.end(), [&](std::size_t b) { return events_[b].thread == static_cast<int>(t); });
      if (named && !came) {
        return false;
      }
      ++lane;
    }
    return true;
  }

  void with_base(const matrix& rf, const matrix& strongly, const matrix& rmw, const matrix& obs, const matrix& base) {
    const auto same_memory = [&](std::size_t a, std::size_t b) {
      return physical(events_[a].place) == physical(events_[b].place);
    };
    const auto one_block = [&](std::size_t a, std::size_t b) {
      return events_[a].thread >= 0 && events_[b].thread >= 0 &&
             (events_[a].thread == events_[b].thread || one_cta(where(a), where(b)));
    };
    const auto generic = [&](std::size_t e) { return proxy_of(e) == model::proxy::generic; };
    const auto fence_for = [&](std::size_t f, std::size_t m) {
      return events_[f].kind == 'P' && proxy_of(f) == proxy_of(m) && one_block(f, m);
    };
    const std::size_t n = events_.size();
    const matrix ppcb = pairs([&](auto x, auto y) {
      if (!memory(x) || !memory(y) || events_[x].thread < 0 || events_[y].thread < 0 || !same_memory(x, y) || !base.at(x, y)) {
        return false;
      }
      const bool one_address = address(x) == address(y);
      if (one_address && generic(x) && generic(y)) {
        return true;
      }
      if (one_address && proxy_of(x) == proxy_of(y) && one_block(x, y)) {
        return true;
      }
      // way: x, perhaps a fence of x's proxy, perhaps an alias fence, perhaps a fence of y's proxy, y
      for (std::size_t f = 0; f < n; ++f) {
        const bool leaves = generic(x) ? f == x : fence_for(f, x) && base.at(x, f);
        for (std::size_t g = 0; leaves && g < n; ++g) {
          const bool enters = generic(y) ? g == y : fence_for(g, y) && base.at(g, y);
          if (!enters) {
            continue;
          }
          if (one_address && base.at(f, g)) {
            return true;
          }
          for (std::size_t a = 0; a < n; ++a) {
            if (events_[a].kind == 'P' && proxy_of(a) == model::proxy::alias && base.at(f, a) && base.at(a, g)) {
              return true;
            }
          }
        }
      }
      return false;
    });
    const matrix cause = ppcb | (obs * ppcb);
    if (!(rf * cause).irreflexive()) {
      return;
    }
    std::vector<std::pair<std::size_t, std::size_t>> open;
    matrix start(n);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        if (a != b && events_[a].kind == 'W' && events_[b].kind == 'W' && same_memory(a, b)) {
          if (events_[a].thread < 0) {
            start.set(a, b);
          } else if (events_[b].thread >= 0 && a < b) {
            open.emplace_back(a, b);
          }
        }
      }
    }
    choose_coherence(open, 0, start, [&](const matrix& co) {
      // co is transitive and irreflexive, contains causality between writes, and orders morally strong writes
      if (!((co * co) | co).irreflexive() || !(((co * co) | co) == co)) {
        return;
      }
      for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) {
          if (events_[a].kind == 'W' && events_[b].kind == 'W' && same_memory(a, b)) {
            if (cause.at(a, b) && !co.at(a, b)) {
              return;
            }
            if (strongly.at(a, b) && !co.at(a, b) && !co.at(b, a)) {
              return;
            }
          }
        }
      }
      const matrix fr = rf.transposed() * co;
      const matrix po_loc = pairs([&](auto a, auto b) { return po_.at(a, b) && memory(a) && memory(b) && same_memory(a, b); });
      if ((fr * cause).irreflexive() && (rmw & ((strongly & fr) * (strongly & co))).empty() &&
          ((strongly & (rf | co | fr)) | po_loc).acyclic()) {
        record(co);
      }
    });
  }

  void choose_coherence(const std::vector<std::pair<std::size_t, std::size_t>>& open, std::size_t k, const matrix& co,
                        const std::function<void(const matrix&)>& use) {
    if (k == open.size()) {
      ++work_;
      use(co);
      return;
    }
    const auto [a, b] = open[k];
    choose_coherence(open, k + 1, co, use);
    matrix forth = co;
    forth.set(a, b);
    choose_coherence(open, k + 1, forth, use);
    matrix back = co;
    back.set(b, a);
    choose_coherence(open, k + 1, back, use);
  }

  // ---- final states

  void record(const matrix& co) { append(co, 0, {}, ""); }

  void append(const matrix& co, std::size_t k, std::map<std::size_t, std::int64_t> memory_values, const std::string& line) {
    if (k == test_.observed.size()) {
      found_.insert(line);
      return;
    }
    const model::observable& o = test_.observed[k];
    const std::string head = line + (k == 0 ? "" : " ") + o.name + "=";
    if (o.what.kind == model::term::kind_t::register_value) {
      const auto& registers = chosen_[static_cast<std::size_t>(o.what.thread)]->registers;
      append(co, k + 1, memory_values, head + std::to_string(registers[static_cast<std::size_t>(o.what.index)]));
      return;
    }
    const std::size_t l = physical(o.what.index);
    if (const auto known = memory_values.find(l); known != memory_values.end()) {
      append(co, k + 1, memory_values, head + std::to_string(known->second));
      return;
    }
    for (std::size_t w = 0; w < events_.size(); ++w) {
      bool last = events_[w].kind == 'W' && physical(events_[w].place) == l;
      for (std::size_t v = 0; last && v < events_.size(); ++v) {
        last = !co.at(w, v);
      }
      if (last) {
        auto next = memory_values;
        next[l] = events_[w].value;
        append(co, k + 1, next, head + std::to_string(events_[w].value));
      }
    }
  }

  const model::litmus_test& test_;
  std::size_t budget_;
  std::size_t work_ = 0;
  std::vector<values> known_;
  std::vector<happening> events_;
  std::vector<const trace*> chosen_;
  std::vector<std::size_t> reads_;
  matrix po_{0};
  matrix dep_{0};
  std::set<std::string> found_;
};

}  // namespace membar_test
