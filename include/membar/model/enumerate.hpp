// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Every execution of a program that the rules allow, one after the other.
///
/// Paths through the threads come first (thread_paths.hpp), then reads-from, one read at a time, then barrier groups
/// (barrier_groups.hpp), Fence-SC orientations and, last, the least coherence orders: causality does not depend on coherence,
/// and every axiom that holds for a coherence order holds for a smaller one, so extensions of the least orders are never
/// enumerated.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/axioms.hpp>
#include <membar/model/barrier_groups.hpp>
#include <membar/model/causality.hpp>
#include <membar/model/error.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>
#include <membar/model/thread_paths.hpp>

#include <array>
#include <cstdint>

namespace membar::inline v0_2::model {

/// What an enumeration went through.
struct statistics {
  std::uint64_t paths = 0;       ///< choices of one path through every thread
  std::uint64_t candidates = 0;  ///< complete choices that were checked
  std::uint64_t executions = 0;  ///< those of them that the rules allow
  bool cut = false;              ///< a thread reached a second jump backwards; that run was left out
};

/// Enumerates the executions of a program and shows each to a visitor. With a `limit` other than 0 it ends with an `error`
/// after that many steps (partial choices of reads-from and candidates), so that a test that would run for hours is undecided
/// and not a hang.
template <class Rules = every_rule>
class enumerator final : private thread_paths {
 public:
  constexpr enumerator(const program_view& program, execution_visitor& visitor, Rules rules = {}, std::uint64_t limit = 0)
      : thread_paths(program, !rules.holds(rule::failed_compare_writes_nothing)),
        visitor_(&visitor),
        rules_(rules),
        limit_(limit) {}

  /// Runs to the end, or to the first `accept` that returns false. Throws `error` for a program that exceeds a limit.
  constexpr statistics run() {
    walk_paths();
    statistics_.cut = cut();
    return statistics_;
  }

 private:
  // ---- reads-from

  constexpr bool path_chosen() override {
    ++statistics_.paths;
    build(facts_, rules_, program_, events());
    known_ = 0;
    if (facts_.has_dependencies) {
      flow_ = facts_.dependency;
      flow_.close(facts_.count);
    }
    reads_.shrink(0);
    for (event_set s = facts_.reads; s != 0; s = rest(s)) {
      const int read = first(s);
      event_set sources = facts_.writes & facts_.overlap[read];
      if constexpr (Rules::complete) {
        sources &= ~hopeless_sources(read);
      }
      at(sources_, read) = sources;
      reads_.push(read, "an execution has more than 64 events");
    }
    find_rivals();
    for (int i = 0; i < facts_.count; ++i) {
      candidate_.observation[i] = 0;
      candidate_.cause[i] = 0;
      candidate_.coherence[i] = 0;
      candidate_.barrier_sync[i] = 0;
      candidate_.fence_sc[i] = 0;
    }
    sc_pairs_.shrink(0);
    write_pairs_.shrink(0);
    for (int i = 0; i < facts_.count; ++i) {
      for (int j = i + 1; j < facts_.count; ++j) {
        const event& x = events_[i];
        const event& y = events_[j];
        if (x.sequential && y.sequential && x.kind == event_kind::fence && y.kind == event_kind::fence &&
            (facts_.morally_strong.holds(i, j) || !rules_.holds(rule::fence_sc_relates_morally_strong_pairs_only)) &&
            rules_.holds(rule::fence_sc_synchronizes)) {
          sc_pairs_.push({i, j}, "an execution has more than 256 pairs of morally strong fence.sc");
        }
        const bool ordered = facts_.morally_strong.holds(i, j) && rules_.holds(rule::morally_strong_writes_are_ordered);
        const bool racing = facts_.overlap.holds(i, j) && !rules_.holds(rule::coherence_is_partial);
        if (contains(facts_.writes, i) && contains(facts_.writes, j) && x.thread >= 0 && (ordered || racing)) {
          write_pairs_.push({i, j}, "an execution has more than 1024 pairs of morally strong writes");
        }
      }
    }
    return viable_so_far() ? assign(0) : true;
  }

  // Writes that axiom Causality keeps a read from, whatever else is chosen: later ones of its own thread, and those that an
  // access of its own thread to the same address overwrites in between.
  [[nodiscard]] constexpr event_set hopeless_sources(int read) const noexcept {
    event_set result = 0;
    event_set before = 0;
    const event_set mine = facts_.same_address[read] & facts_.writes & ~facts_.initial;
    for (event_set w = mine; w != 0; w = rest(w)) {
      const bool related = events_[first(w)].via == events_[read].via;
      if (related && facts_.po.holds(read, first(w))) {
        result |= only(first(w));
      }
      if (related && facts_.po.holds(first(w), read)) {
        before |= only(first(w));
      }
    }
    if (before != 0) {
      result |= facts_.initial;
      for (event_set w = before; w != 0; w = rest(w)) {
        if ((facts_.po[first(w)] & before) != 0) {
          result |= only(first(w));
        }
      }
    }
    return result;
  }

  // Two morally strong updates of one value: axiom Atomicity forbids them whichever of the writes comes first. Says for each
  // update which others that goes for, if both read the same write and are morally strong with it.
  constexpr void find_rivals() noexcept {
    for (event_set s = facts_.reads; s != 0; s = rest(s)) {
      const int read = first(s);
      const int write = events_[read].partner;
      event_set rivals = 0;
      for (event_set t = write < 0 ? 0 : facts_.reads & facts_.overlap[read] & ~only(read); t != 0; t = rest(t)) {
        const int other = first(t);
        const int other_write = events_[other].partner;
        if (other_write >= 0 && facts_.morally_strong.holds(write, other_write) &&
            facts_.morally_strong.holds(read, other_write) && facts_.morally_strong.holds(other, write) &&
            facts_.same_address.holds(read, write) && facts_.same_address.holds(other, other_write)) {
          rivals |= only(other);
        }
      }
      at(rivals_, read) = rivals;
    }
    for (event_set s = facts_.writes; s != 0; s = rest(s)) {
      readers_[first(s)] = 0;
    }
  }

  [[nodiscard]] constexpr bool rival_reads(int read, int source) const noexcept {
    event_set others = readers_[source] & at(rivals_, read);
    if (others != 0 && !contains(facts_.initial, source)) {
      others = facts_.morally_strong.holds(source, read) ? others & facts_.morally_strong[source] : 0;
    }
    return others != 0;
  }

  constexpr void count_step() {
    ++steps_;
    if (limit_ != 0 && steps_ > limit_) {
      throw error("undecided: the search was given up after its limit of steps");
    }
  }

  constexpr bool assign(int depth) {
    count_step();
    if (depth == reads_.size()) {
      return known_ == facts_.reads || resolve_cycles() ? complete() : true;
    }
    const int read = reads_[depth];
    for (event_set s = at(sources_, read); s != 0; s = rest(s)) {
      const int source = first(s);
      if constexpr (Rules::complete) {
        if (rival_reads(read, source)) {
          continue;
        }
      }
      if (!facts_.has_dependencies) {
        if (!assign_source(depth, read, source)) {
          return false;
        }
        continue;
      }
      // axiom No-Thin-Air: acyclic(rf ∪ dep)
      if (rules_.holds(rule::axiom_no_thin_air) && flow_.holds(read, source)) {
        continue;
      }
      if (flow_[read] == 0 || flow_.holds(source, read)) {  // no path goes on from the read, or the edge adds none
        if (!assign_source(depth, read, source)) {
          return false;
        }
        continue;
      }
      relation& before = at(flows_, depth);
      before.copy(flow_, facts_.count);
      flow_.add_closed(facts_.count, source, read);
      const bool more = assign_source(depth, read, source);
      flow_.copy(before, facts_.count);
      if (!more) {
        return false;
      }
    }
    return true;
  }

  constexpr bool assign_source(int depth, int read, int source) {
    const event_set known = known_;
    at(candidate_.source, read) = source;
    assigned_ |= only(read);
    readers_.add(source, read);
    propagate();
    const bool more = viable_so_far() ? assign(depth + 1) : true;
    assigned_ &= ~only(read);
    readers_[source] &= ~only(read);
    known_ = known;
    return more;
  }

  // Finds the values that follow from the reads chosen so far.
  constexpr void propagate() noexcept {
    for (bool changed = true; changed;) {
      changed = false;
      for (event_set s = assigned_ & ~known_; s != 0; s = rest(s)) {
        const int read = first(s);
        const int stored = events_[at(candidate_.source, read)].value;
        if (resolved(stored)) {
          at(values_, read) = narrowed(read, evaluate(stored));
          known_ |= only(read);
          changed = true;
        }
      }
    }
  }

  // A read that is narrower than the write sees its low bytes.
  [[nodiscard]] constexpr std::int64_t narrowed(int read, std::int64_t stored) const noexcept {
    const int bytes = events_[read].bytes;
    if (bytes >= 8 || bytes >= events_[at(candidate_.source, read)].bytes) {
      return stored;
    }
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(stored) &
                                     ((std::uint64_t{1} << (8 * static_cast<unsigned>(bytes))) - 1));
  }

  // Only for rule sets without No-Thin-Air or a dependency: values that depend on themselves, if iteration from 0 finds them.
  constexpr bool resolve_cycles() noexcept {
    if constexpr (Rules::complete) {
      return false;
    } else {
      const event_set open = facts_.reads & ~known_;
      for (event_set s = open; s != 0; s = rest(s)) {
        at(values_, first(s)) = 0;
      }
      for (int round = 0; round < max_events; ++round) {
        bool changed = false;
        for (event_set s = open; s != 0; s = rest(s)) {
          const int read = first(s);
          const std::int64_t next = narrowed(read, evaluate(events_[at(candidate_.source, read)].value));
          changed = changed || next != at(values_, read);
          at(values_, read) = next;
        }
        if (!changed) {
          known_ = facts_.reads;
          return viable_so_far();
        }
      }
      return false;
    }
  }

  [[nodiscard]] constexpr bool viable_so_far() const {
    for (const assumption& a : assumptions_) {
      if (resolved(a.left) && resolved(a.right) && compare(a.test, evaluate(a.left), evaluate(a.right)) != a.expected) {
        return false;
      }
    }
    return visitor_->viable(*this);
  }

  // ---- one choice of reads-from

  constexpr bool complete() {
    observe(candidate_, rules_, facts_, events());
    synchronize(candidate_, rules_, facts_);
    if (facts_.barriers == 0) {
      return orient_fences(0);
    }
    const auto next = [this] { return barriers_grouped(); };
    return barrier_groups(*this, rules_, candidate_.barrier_sync, next).choose();
  }

  // Every barrier has its groups.
  constexpr bool barriers_grouped() {
    const relation base = candidate_.base;
    for (event_set s = facts_.barriers; s != 0; s = rest(s)) {
      for (event_set t = candidate_.barrier_sync[first(s)]; t != 0; t = rest(t)) {
        if (!candidate_.base.holds(first(s), first(t))) {
          candidate_.base.add_closed(facts_.count, first(s), first(t));
        }
      }
    }
    const bool more = orient_fences(0);
    candidate_.base = base;
    return more;
  }

  // ---- Fence-SC

  // Fence-SC order: an acyclic order that relates every morally strong pair of fence.sc. A pair that base causality orders
  // has one orientation, by axiom Fence-SC: irreflexive(fence_sc ; base).
  constexpr bool orient_fences(int next) {
    if (next == sc_pairs_.size()) {
      return causes();
    }
    const auto [x, y] = sc_pairs_[next];
    const bool checked = rules_.holds(rule::axiom_fence_sc);
    for (int way = 0; way < 2; ++way) {
      const int from = way == 0 ? x : y;
      const int to = way == 0 ? y : x;
      if (checked && candidate_.base.holds(to, from)) {
        continue;
      }
      bool more = true;
      candidate_.fence_sc.add(from, to);
      if (candidate_.base.holds(from, to)) {
        more = orient_fences(next + 1);
      } else {
        relation base;
        base.copy(candidate_.base, facts_.count);
        candidate_.base.add_closed(facts_.count, from, to);
        more = orient_fences(next + 1);
        candidate_.base.copy(base, facts_.count);
      }
      candidate_.fence_sc[from] &= ~only(to);
      if (!more) {
        return false;
      }
    }
    return true;
  }

  // ---- causality and coherence

  constexpr bool causes() {
    relate_causes(candidate_, rules_, facts_, events());
    if (!reads_not_from_effects(candidate_, rules_, facts_) || !cohere(candidate_, rules_, facts_)) {
      ++statistics_.candidates;
      return true;
    }
    return orient_writes(0);
  }

  constexpr bool orient_writes(int next) {
    while (next < write_pairs_.size()) {
      const auto [a, b] = write_pairs_[next];
      if (!candidate_.coherence.holds(a, b) && !candidate_.coherence.holds(b, a)) {
        break;
      }
      ++next;
    }
    if (next == write_pairs_.size()) {
      return check();
    }
    const auto [x, y] = write_pairs_[next];
    relation coherence;
    coherence.copy(candidate_.coherence, facts_.count);
    for (int way = 0; way < 2; ++way) {
      if (rules_.holds(rule::coherence_is_transitive)) {
        candidate_.coherence.add_closed(facts_.count, way == 0 ? x : y, way == 0 ? y : x);
      } else {
        candidate_.coherence.add(way == 0 ? x : y, way == 0 ? y : x);
      }
      const bool more = orient_writes(next + 1);
      candidate_.coherence.copy(coherence, facts_.count);
      if (!more) {
        return false;
      }
    }
    return true;
  }

  constexpr bool check() {
    ++statistics_.candidates;
    count_step();
    if (!reads_not_from_the_past(candidate_, rules_, facts_) || !updates_are_atomic(candidate_, rules_, facts_, events()) ||
        !sequential_per_location(candidate_, rules_, facts_)) {
      return true;
    }
    ++statistics_.executions;
    return visitor_->accept(*this);
  }

  struct pair {
    int first = 0;
    int second = 0;
  };

  execution_visitor* visitor_;
  [[no_unique_address]] Rules rules_;
  std::uint64_t limit_ = 0;
  std::uint64_t steps_ = 0;

  bounded<int, max_events> reads_{};
  std::array<event_set, max_events> sources_{};
  bounded<pair, 256> sc_pairs_{};
  bounded<pair, 1024> write_pairs_{};
  relation flow_{};  ///< closure of dependencies and the reads-from chosen so far
  std::array<relation, max_events> flows_{};
  std::array<event_set, max_events> rivals_{};
  relation readers_{};  ///< write -> reads that take their value from it so far
  event_set assigned_ = 0;

  statistics statistics_{};
};

}  // namespace membar::inline v0_2::model
