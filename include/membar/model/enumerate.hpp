// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Enumerates every execution of a program that the rules allow.
///
/// The search first chooses paths through the threads (thread_paths.hpp), then reads-from, one read at a time, then barrier
/// groups (barrier_groups.hpp) and Fence-SC orientations. Coherence comes last, and orders only those writes whose order
/// matters (coherence.hpp). If many choices of reads-from are open, the axioms are checked after each choice, because
/// additional reads never repair a violated axiom. The accesses to memory on which nothing depends are interleaved at the end
/// (private_memory.hpp).
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/async_order.hpp>
#include <membar/model/axioms.hpp>
#include <membar/model/barrier_groups.hpp>
#include <membar/model/causality.hpp>
#include <membar/model/coherence.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/private_memory.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>
#include <membar/model/search_options.hpp>
#include <membar/model/shuffles.hpp>
#include <membar/model/thread_paths.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace membar {
inline namespace v0_3 {
namespace model {

/// Enumerates the executions of a program and shows each one to a visitor. With a nonzero limit, the search throws an `error`
/// after that many steps, so that a test that would run for hours remains undecided instead of blocking the program. If several
/// executions differ only in coherence, the visitor sees one of them.
template <class Rules = every_rule>
class enumerator final : private private_memory {
 public:
  constexpr enumerator(const program_view& program, execution_visitor& visitor, Rules rules = {}, search_options options = {})
      : private_memory(program, visitor, !rules.holds(rule::failed_compare_writes_nothing),
                       !rules.holds(rule::multimem_addresses_are_aliases), options.waiting),
        rules_(rules),
        options_(options) {
    leaves_out_ = !options.every_execution && Rules::complete;
  }

  /// Runs to the end, or until `accept` returns false. Throws `error` for a program that exceeds a limit.
  constexpr statistics run() {
    check_initializations();
    walk_paths();
    statistics_.cut = cut();
    statistics_.steps = steps_;
    return statistics_;
  }

 private:
  // Checks that an mbarrier is initialized only once, by the block that waits on it. Source: PTX ISA, "mbarrier.init",
  // "mbarrier.test_wait".
  constexpr void check_initializations() const {
    const auto for_each = [&](opcode code, const auto& use) {
      for (const thread_view& t : program_.threads) {
        for (const instruction& i : t.code) {
          if (i.code == code) {
            use(t, i);
          }
        }
      }
    };
    for_each(opcode::mbarrier_init, [&](const thread_view& t, const instruction& i) {
      for_each(opcode::mbarrier_init, [&](const thread_view&, const instruction& other) {
        if (&other != &i && other.target == i.target) {
          throw error(
              "an mbarrier is initialized twice: PTX requires an mbarrier.inval in between, which a test cannot express");
        }
      });
      for_each(opcode::mbarrier_wait, [&](const thread_view& waiter, const instruction& wait) {
        if (wait.target == i.target && !same_block(t.where, waiter.where)) {
          throw error(
              "a thread waits on an mbarrier that another block initializes: a thread can wait only on mbarriers of its own "
              "block");
        }
      });
    });
  }

  // ---- reads-from

  constexpr bool path_chosen() override {
    ++statistics_.paths;
    build(facts_, rules_, program_, events());
    known_ = 0;
    candidate_ = candidate{};
    if (!join_shuffles(facts_, rules_, program_, events(), candidate_.source)) {
      count_step();
      return true;
    }
    left_out_ = leaves_out_ ? unasked_loads() : 0;
    flow_ = facts_.dependency;
    flow_.close(facts_.count);
    std::uint64_t choices = 1;
    for (event_set s = facts_.reads & ~left_out_; s != 0; s = rest(s)) {
      at(sources_, first(s)) = facts_.writes & facts_.overlap[first(s)];
      choices = times(choices, first(s));
    }
    many_ = choices > options_.few_choices;
    private_ = 0;
    set_private();
    order_reads();
    find_pairs();
    one_order_is_enough_ = leaves_out_ && final_state_is_decided();
    propagate();
    if (viable_so_far()) {
      return assign(0);
    }
    count_step();
    return true;
  }

  // Returns the weak loads whose value is not needed. An execution without these loads is still an execution. Conversely, such
  // a load can be added to any execution without it, with the last of the writes that precede it as its source, because the
  // load is in no pattern and nothing depends on it. This applies to programs where each memory location has one address,
  // without mixed sizes and without edges of the CUDA API.
  [[nodiscard]] constexpr event_set unasked_loads() const {
    event_set result = 0;
    const event_set used = asked() | deciding();
    for (event_set s = program_.api.empty() && !facts_.has_mixed_sizes ? facts_.reads & ~used : 0; s != 0; s = rest(s)) {
      const int r = first(s);
      const event& e = events_[r];
      const event_set others = facts_.overlap[r];
      if (!e.strong && e.issue < 0 && e.partner < 0 && facts_.dependency[r] == 0 &&
          (others & ~(facts_.same_address[r] & facts_.generic_memory)) == 0) {
        result |= only(r);
      }
    }
    return result;
  }

  // Returns whether the requested values follow from reads-from alone, as they do for registers and for memory that a single
  // instruction writes.
  [[nodiscard]] constexpr bool final_state_is_decided() const {
    for (event_set w = facts_.writes; w != 0; w = rest(w)) {
      const event_set others = facts_.overlap[first(w)] & facts_.writes & ~facts_.initial & ~only(first(w));
      if (others != 0 && contains(visitor_->observed_memory(), events_[first(w)].physical) &&
          !contains(facts_.initial, first(w))) {
        return false;
      }
    }
    return private_ == 0;
  }

  // Finds the pairs that must be ordered: pairs of fence.sc, and pairs of writes.
  constexpr void find_pairs() {
    sc_pairs_.shrink(0);
    write_pairs_.shrink(0);
    event_set fences = 0;
    for (int i = 0; i < facts_.count; ++i) {
      fences |= events_[i].sequential && rules_.holds(rule::fence_sc_synchronizes) ? only(i) : 0;
    }
    const bool every_fence = !rules_.holds(rule::fence_sc_relates_morally_strong_pairs_only);
    for (; fences != 0; fences = rest(fences)) {
      const int x = first(fences);
      for (event_set s = rest(fences) & (every_fence ? ~event_set{0} : facts_.morally_strong[x]); s != 0; s = rest(s)) {
        sc_pairs_.push({x, first(s)}, "an execution has more than 256 pairs of morally strong fence.sc instructions");
      }
    }
    const bool every_write = !rules_.holds(rule::coherence_is_partial);
    for (event_set writes = facts_.writes; writes != 0; writes = rest(writes)) {
      const int x = first(writes);
      event_set ordered = facts_.serial[x] | (every_write ? facts_.overlap[x] : 0);
      if (rules_.holds(rule::morally_strong_writes_are_ordered)) {
        ordered |= facts_.morally_strong[x];
      }
      for (event_set s = rest(writes) & ordered; s != 0; s = rest(s)) {
        write_pairs_.push({x, first(s)}, "an execution has more than 1024 pairs of morally strong writes");
      }
    }
  }

  // Returns `choices`, multiplied by the number of possible sources of a read.
  [[nodiscard]] constexpr std::uint64_t times(std::uint64_t choices, int read) const noexcept {
    return choices > many_choices ? choices : choices * static_cast<std::uint64_t>(std::popcount(at(sources_, read)));
  }

  // Excludes memory on which nothing else depends and whose reads have many possible sources; such memory is interleaved at the
  // end.
  constexpr void set_private() {
    if constexpr (Rules::complete) {
      if (std::is_constant_evaluated()) {
        return;
      }
      for (event_set left = facts_.reads; left != 0;) {
        const event_set memory = facts_.overlap[first(left)];
        std::uint64_t choices = 1;
        for (event_set s = memory & facts_.reads; s != 0; s = rest(s)) {
          choices = times(choices, first(s));
        }
        if (choices > options_.few_choices && is_private(memory)) {
          private_ |= memory;
        }
        left &= ~memory;
      }
    }
  }

  // Determines the order in which the reads get their sources. If there are many choices, the order advances through all
  // threads in parallel, because the earlier reads of all threads, once known, often determine the source of a read.
  constexpr void order_reads() {
    reads_.shrink(0);
    for (event_set left = facts_.reads & ~private_ & ~left_out_; left != 0;) {
      event_set now = left;
      if (many_) {
        now = 0;
        int thread = -1;
        for (event_set s = left; s != 0; s = rest(s)) {
          now |= events_[first(s)].thread != thread ? only(first(s)) : 0;
          thread = events_[first(s)].thread;
        }
      }
      left &= ~now;
      for (; now != 0; now = rest(now)) {
        reads_.push(first(now), "an execution has more than 64 events");
      }
    }
    std::uint64_t open = 1;
    for (int depth = reads_.size(); depth > 0; --depth) {
      at(open_, depth) = open;
      open = many_ ? times(open, reads_[depth - 1]) : open;
    }
  }

  // Returns whether a morally strong update already has the same source. Axiom Atomicity forbids this regardless of which of
  // the two writes comes first, if both are morally strong with the source or the source is an initial write.
  [[nodiscard]] constexpr bool rival_reads(int read, int source) const noexcept {
    // the read of an update is morally strong with the same events as the update's write
    if (write_of(read) == 0 || (!contains(facts_.initial, source) && !facts_.morally_strong.holds(source, read))) {
      return false;
    }
    const event_set rivals = contains(facts_.initial, source) ? facts_.writes : facts_.morally_strong[source];
    return (updates_[source] & facts_.morally_strong[read] & rivals) != 0;
  }

  // Returns the write of the update that contains a read, or nothing.
  [[nodiscard]] constexpr event_set write_of(int read) const noexcept {
    return events_[read].partner < 0 ? 0 : only(events_[read].partner);
  }

  constexpr void count_step() { options_.check(++steps_, remembered_); }

  // Chooses the sources of the reads starting at `depth`.
  constexpr bool assign(int depth) {
    count_step();
    if (depth == reads_.size()) {
      if constexpr (!Rules::complete) {
        if (!resolve_cycles()) {
          return true;
        }
      }
      return complete();
    }
    related_ = -1;
    return assign_one_of(depth, at(sources_, reads_[depth]), facts_.base);
  }

  // Like `assign`, but requires that the candidate's relations be the relations of the reads that already have a source.
  constexpr bool assign_related(int depth) {
    count_step();
    relation base;
    base.copy(candidate_.base, facts_.count);
    related_ = reads_[depth];
    return assign_one_of(depth, at(sources_, reads_[depth]) & ~outdated_sources(reads_[depth]), base);
  }

  constexpr bool assign_one_of(int depth, event_set sources, const relation& base) {
    const int read = reads_[depth];
    for (event_set s = sources; s != 0; s = rest(s)) {
      const int source = first(s);
      if constexpr (Rules::complete) {
        if (rival_reads(read, source)) {
          continue;
        }
      }
      // axiom No-Thin-Air: acyclic(rf ∪ dep)
      if (rules_.holds(rule::axiom_no_thin_air) && flow_.holds(read, source)) {
        continue;
      }
      const bool flows_on = flow_[read] != 0 && !flow_.holds(source, read);
      if (flows_on) {
        at(flows_, depth).copy(flow_, facts_.count);
        flow_.add_closed(facts_.count, source, read);
      }
      const bool more = assign_source(depth, read, source, base);
      if (flows_on) {
        flow_.copy(at(flows_, depth), facts_.count);
      }
      if (!more) {
        return false;
      }
    }
    return true;
  }

  constexpr bool assign_source(int depth, int read, int source, const relation& base) {
    // a read observes only a source that is morally strong with it; any other source adds nothing to the relations, and
    // `assign_related` has already left out the sources that causality forbids
    const bool unrelated = related_ == read && !facts_.morally_strong.holds(source, read);
    related_ = -1;
    const event_set known = known_;
    const event_set update = write_of(read);
    at(candidate_.source, read) = source;
    assigned_ |= only(read);
    updates_[source] |= update;
    propagate();
    bool more = true;
    if (viable_so_far()) {
      if (at(open_, depth + 1) < worth_a_check) {
        more = assign(depth + 1);
      } else if ((Rules::complete && unrelated) || promising(base)) {
        more = assign_related(depth + 1);
      }
    }
    assigned_ &= ~only(read);
    updates_[source] &= ~update;
    known_ = known;
    return more;
  }

  // Returns whether the reads that have a source violate no axiom. `base` is base causality without the last of these reads.
  [[nodiscard]] constexpr bool promising(const relation& base) {
    observe(candidate_, rules_, facts_, events(), assigned_);
    synchronize(candidate_, rules_, program_, facts_, events(), base);
    relate_causes(candidate_, rules_, program_, facts_, events());
    return reads_not_from_effects(candidate_, rules_, assigned_) && cohere(candidate_, rules_, facts_) && least_order_holds();
  }

  // Checks the axioms that involve coherence, with the pairs that are ordered so far.
  [[nodiscard]] constexpr bool least_order_holds() {
    return reads_not_from_the_past(candidate_, rules_, assigned_) &&
           updates_are_atomic(candidate_, rules_, facts_, events(), assigned_) &&
           atomics_are_serial(candidate_, facts_, events(), assigned_) &&
           sequential_per_location(candidate_, rules_, facts_, facts_.memory & ~private_, assigned_);
  }

  // Returns the writes that axiom Causality excludes as the source of a read, given the relations of the reads that have a
  // source.
  [[nodiscard]] constexpr event_set outdated_sources(int read) const noexcept {
    if constexpr (!Rules::complete) {
      return 0;
    }
    event_set before = 0;
    for (event_set w = at(sources_, read) & ~facts_.initial; w != 0; w = rest(w)) {
      before |= candidate_.cause.holds(first(w), read) ? only(first(w)) : 0;
    }
    event_set result = candidate_.cause[read];
    for (event_set w = at(sources_, read); w != 0; w = rest(w)) {
      result |= (candidate_.coherence[first(w)] & before) != 0 ? only(first(w)) : 0;
    }
    return result;
  }

  // Computes the values that follow from the reads chosen so far.
  constexpr void propagate() noexcept {
    for (bool changed = true; changed;) {
      changed = false;
      for (event_set s = (assigned_ | facts_.shuffle_reads) & ~known_; s != 0; s = rest(s)) {
        const int read = first(s);
        const memory_content seen = content_after(at(candidate_.source, read), events_[read].bytes);
        if (seen.known) {
          at(values_, read) = narrowed(read, seen.value);
          known_ |= only(read);
          changed = true;
        }
      }
    }
  }

  // Computes values that depend on themselves, if an iteration that starts from 0 finds them. This applies only to rule sets
  // without No-Thin-Air or without a dependency rule.
  constexpr bool resolve_cycles() noexcept {
    if constexpr (!Rules::complete) {
      const event_set open = (facts_.reads | facts_.shuffle_reads) & ~known_;
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
          known_ = facts_.reads | facts_.shuffle_reads;
          return viable_so_far();
        }
      }
    }
    return false;
  }

  [[nodiscard]] constexpr bool viable_so_far() const {
    for (const assumption& a : assumptions_) {
      if (resolved(a.left) && resolved(a.right) && compare(a.test, evaluate(a.left), evaluate(a.right)) != a.expected) {
        return false;
      }
    }
    const bool repeated = leaves_out_ && options_.control != nullptr && options_.control->is_repeated(*this, *visitor_);
    return !repeated && visitor_->viable(*this);
  }

  // ---- one choice of reads-from

  constexpr bool complete() {
    observe(candidate_, rules_, facts_, events(), assigned_);
    synchronize(candidate_, rules_, program_, facts_, events(), facts_.base);
    if (facts_.barriers == 0) {
      return order_fences();
    }
    struct {
      enumerator* of;
      constexpr bool operator()() const { return of->barriers_grouped(); }
      constexpr void step() const { of->count_step(); }
    } const next{this};
    return barrier_groups(*this, rules_, candidate_.barrier_sync, candidate_.uninitialized, next).choose();
  }

  // Continues after the groups of every barrier have been chosen.
  constexpr bool barriers_grouped() {
    const relation base = candidate_.base;
    for (event_set s = facts_.barriers | facts_.release_fences; s != 0; s = rest(s)) {
      for (event_set t = candidate_.barrier_sync[first(s)]; t != 0; t = rest(t)) {
        if (!candidate_.base.holds(first(s), first(t))) {
          candidate_.base.add_closed(facts_.count, first(s), first(t));
        }
      }
    }
    const bool more = order_fences();
    candidate_.base = base;
    return more;
  }

  // ---- Fence-SC

  // If there are many pairs, this function begins with the pairs for which one direction on its own violates an axiom.
  constexpr bool order_fences() {
    constexpr int few_pairs = 6;
    if (!Rules::complete || sc_pairs_.size() <= few_pairs) {
      return orient_fences(0);
    }
    const relation base = candidate_.base;
    const bool more = !force_fences() || orient_fences(0);
    candidate_.base = base;
    return more;
  }

  // Orders the pairs of fences for which one direction violates an axiom, until there are no such pairs left. Returns false if
  // both directions of some pair violate an axiom.
  constexpr bool force_fences() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [x, y] : sc_pairs_) {
        if (candidate_.base.holds(x, y) || candidate_.base.holds(y, x)) {
          continue;
        }
        const bool forth = may_precede(x, y);
        if (const bool back = may_precede(y, x); !forth && !back) {
          return false;
        } else if (forth != back) {
          candidate_.base.add_closed(facts_.count, forth ? x : y, forth ? y : x);
          changed = true;
        }
      }
    }
    return true;
  }

  // Returns whether one fence may precede another without violating an axiom, regardless of the order of the other fences.
  [[nodiscard]] constexpr bool may_precede(int from, int to) {
    count_step();
    relation base;
    base.copy(candidate_.base, facts_.count);
    candidate_.base.add_closed(facts_.count, from, to);
    relate_causes(candidate_, rules_, program_, facts_, events());
    const bool may =
        reads_not_from_effects(candidate_, rules_, assigned_) && cohere(candidate_, rules_, facts_) && least_order_holds();
    candidate_.base.copy(base, facts_.count);
    return may;
  }

  // Chooses the Fence-SC order, an acyclic order that relates every morally strong pair of fence.sc. A pair that base causality
  // orders has only one orientation, by axiom Fence-SC: irreflexive(fence_sc ; base).
  constexpr bool orient_fences(int next) {
    if (next == sc_pairs_.size()) {
      return causes();
    }
    const auto [x, y] = sc_pairs_[next];
    const bool checked = rules_.holds(rule::axiom_fence_sc);
    const std::uint64_t shown = statistics_.executions;
    for (int way = 0; way < 2 && !(one_order_is_enough_ && statistics_.executions != shown); ++way) {
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
    if (!uses_are_early(candidate_, rules_, facts_, events())) {
      return true;
    }
    relate_causes(candidate_, rules_, program_, facts_, events());
    ++statistics_.candidates;
    count_step();
    if (!reads_not_from_effects(candidate_, rules_, assigned_) || !cohere(candidate_, rules_, facts_) || !least_order_holds()) {
      return true;
    }
    decided_ = 0;
    if (!order_writes()) {
      return true;
    }
    if (private_ != 0 && !std::is_constant_evaluated()) {
      return interleave(private_);
    }
    ++statistics_.executions;
    return visitor_->accept(*this);
  }

  [[nodiscard]] constexpr coherence_orders<Rules> orders_of(candidate& c, event_set memory) noexcept {
    return {c, rules_, facts_, events(), write_pairs_.span(), memory, assigned_, statistics_.candidates, options_};
  }

  // Orders those writes of each location that must be ordered but are not ordered yet. Returns false if no order satisfies the
  // axioms.
  constexpr bool order_writes() {
    event_set open = 0;
    for (const event_pair& p : write_pairs_) {
      if (!candidate_.coherence.holds(p.first, p.second) && !candidate_.coherence.holds(p.second, p.first)) {
        open |= only(p.first);
      }
    }
    for (open &= ~private_; open != 0;) {
      const event_set memory = facts_.overlap[first(open)];
      const int physical = events_[first(open)].physical;
      open &= ~memory;
      const std::uint64_t before = statistics_.candidates;
      coherence_orders<Rules> orders = orders_of(candidate_, memory);
      if (contains(visitor_->observed_memory(), physical)) {
        at(last_, physical) = orders.last_writes();
        decided_ |= only(physical);
        if (at(last_, physical) == 0) {
          return false;
        }
      } else if (!orders.any()) {
        return false;
      }
      steps_ += statistics_.candidates - before;
    }
    return true;
  }

  // ---- private memory

  [[nodiscard]] bool interleaved() override {
    const event_set all = assigned_ | (private_ & facts_.reads & known_);
    observe(candidate_, rules_, facts_, events(), all);
    relate_causes(candidate_, rules_, program_, facts_, events());
    ++statistics_.executions;
    const bool more = visitor_->accept(*this);
    observe(candidate_, rules_, facts_, events(), assigned_);
    return more;
  }

  void count_interleaving() override {
    ++statistics_.candidates;
    count_step();
  }

  [[nodiscard]] relation coherence_that_ends_in(const std::array<int, max_events>& last) const override {
    enumerator copy = *this;
    for (event_set s = copy.decided_; s != 0; s = rest(s)) {
      const int write = at(last, first(s));
      if (write >= 0) {
        (void)copy.orders_of(copy.candidate_, facts_.overlap[write]).ends_in(write);
      }
    }
    return copy.candidate_.coherence;
  }

  static constexpr std::uint64_t many_choices = std::uint64_t{1} << 40U;
  static constexpr std::uint64_t worth_a_check = 8;

  [[no_unique_address]] Rules rules_;
  search_options options_;
  std::uint64_t steps_ = 0;

  bounded<int, max_events> reads_{};
  std::array<event_set, max_events> sources_{};
  std::array<std::uint64_t, max_events + 1> open_{};  ///< per depth: the number of open choices of reads-from
  bounded<event_pair, 256> sc_pairs_{};
  bounded<event_pair, 1024> write_pairs_{};
  relation flow_{};  ///< the closure of dependencies and of the reads-from chosen so far
  std::array<relation, max_events> flows_{};
  relation updates_{};                ///< write -> writes of the updates that read from it, as chosen so far
  event_set left_out_ = 0;            ///< loads that are left without a source
  int related_ = -1;                  ///< the read to assign next, if the candidate's relations cover exactly the reads before
                                      ///< it
  event_set private_ = 0;             ///< accesses to the memory that is interleaved at the end
  bool many_ = false;                 ///< whether the path has many choices of reads-from
  bool one_order_is_enough_ = false;  ///< whether it is sufficient to find one order of the `fence.sc`

  statistics statistics_{};
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
