// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Enumerates all ways to group barrier events: which arrivals complete a barrier, and which threads wait for them.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/morally_strong.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>

#include <bit>
#include <cstdint>
#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

/// Chooses the groups of an execution whose values are known, one barrier at a time. Calls `next()` for each choice of groups;
/// `next()` returns false to end the enumeration. `next.step()` counts the steps of the search.
template <class Rules, class Next>
class barrier_groups {
 public:
  /// During `next()`, `synchronizes` holds the edges of the chosen groups; afterwards it is empty again. The same applies to
  /// `uninitialized`, which holds the operations on mbarriers that this choice assumes to be used before their initialization.
  constexpr barrier_groups(const partial_execution& execution, const Rules& rules, relation& synchronizes,
                           event_set& uninitialized, const Next& next) noexcept
      : execution_(execution),
        events_(execution.events()),
        facts_(execution.facts()),
        rules_(rules),
        synchronizes_(synchronizes),
        uninitialized_(uninitialized),
        next_(next) {}

  /// Returns false if `next` has ended the enumeration.
  [[nodiscard]] constexpr bool choose() {
    for (int i = 0; i < facts_.count; ++i) {
      synchronizes_[i] = 0;
    }
    return group(facts_.barriers);
  }

 private:
  /// Adds edges to `synchronizes_` and `waiting_`, and removes them again in the destructor.
  class scoped_edges {
   public:
    constexpr explicit scoped_edges(barrier_groups& of) noexcept
        : of_(of), synchronizes_(of.synchronizes_), waiting_(of.waiting_), left_(of.left_), passed_(of.passed_) {}
    scoped_edges(const scoped_edges&) = delete;
    scoped_edges& operator=(const scoped_edges&) = delete;
    constexpr ~scoped_edges() {
      of_.synchronizes_ = synchronizes_;
      of_.waiting_ = waiting_;
      of_.left_ = left_;
      of_.passed_ = passed_;
    }

   private:
    barrier_groups& of_;
    relation synchronizes_;
    relation waiting_;
    relation left_;
    event_set passed_;
  };

  // ---- a single event or barrier

  [[nodiscard]] constexpr const event& at_event(int index) const noexcept { return at(events_, index); }

  [[nodiscard]] constexpr const place& where(const event& e) const noexcept {
    return execution_.program().threads[e.thread].where;
  }

  // Returns whether two events use the same barrier.
  [[nodiscard]] constexpr bool one_barrier(int x_index, int y_index) const noexcept {
    const event& x = at_event(x_index);
    const event& y = at_event(y_index);
    if (x.location != y.location || x.barrier != y.barrier) {  // barriers other than mbarriers have location -1
      return false;
    }
    if (x.mbarrier) {
      return true;
    }
    if (x.barrier == barrier_kind::cluster) {
      return same_cluster(where(x), where(y));
    }
    const bool block = same_block(where(x), where(y)) || !rules_.holds(rule::barrier_is_of_one_block);
    return block && execution_.number_of(x.id) == execution_.number_of(y.id) &&
           execution_.number_of(x.resource) == execution_.number_of(y.resource) &&
           (x.barrier == barrier_kind::block || where(x).warp == where(y).warp);
  }

  // Returns whether the event is the last event of its thread.
  [[nodiscard]] constexpr bool is_last(const event& e) const noexcept {
    return e.instruction + 1 == count_of(execution_.program().threads[e.thread].code);
  }

  [[nodiscard]] constexpr event_set arrivals_of(event_set set) const noexcept {
    event_set result = 0;
    for (event_set s = set; s != 0; s = rest(s)) {
      result |= at_event(first(s)).arrives ? only(first(s)) : 0;
    }
    return result;
  }

  [[nodiscard]] constexpr event_set waits_of(event_set set) const noexcept {
    event_set result = 0;
    for (event_set s = set; s != 0; s = rest(s)) {
      result |= at_event(first(s)).waits ? only(first(s)) : 0;
    }
    return result;
  }

  [[nodiscard]] constexpr int threads_of(event_set set) const noexcept {
    std::uint64_t threads = 0;
    for (event_set s = set; s != 0; s = rest(s)) {
      threads |= std::uint64_t{1} << static_cast<unsigned>(at_event(first(s)).thread);
    }
    return std::popcount(threads);
  }

  // Returns the number of events in `set` that precede `index` in the same thread.
  [[nodiscard]] constexpr int generation(event_set set, int index) const noexcept {
    int result = 0;
    for (event_set s = set; s != 0; s = rest(s)) {
      result += first(s) < index && at_event(first(s)).thread == at_event(index).thread ? 1 : 0;
    }
    return result;
  }

  // ---- one group

  // Returns whether arrivals at this kind of barrier synchronize with the threads that wait for them.
  [[nodiscard]] constexpr bool synchronizes(const event& arrival) const noexcept {
    if (arrival.arrivals == 0 && arrival.issue < 0) {
      return rules_.takes(reading::fence_before_complete_tx);  // expect_tx and complete_tx on their own are relaxed
    }
    return rules_.holds(arrival.issue >= 0                       ? rule::completion_on_an_mbarrier_synchronizes
                        : arrival.mbarrier                       ? rule::mbarrier_synchronizes
                        : arrival.barrier == barrier_kind::block ? rule::block_barrier_synchronizes
                        : arrival.barrier == barrier_kind::warp  ? rule::warp_barrier_synchronizes
                                                                 : rule::cluster_barrier_synchronizes);
  }

  // Returns whether the scopes of two events include each other's thread. A cluster barrier has cluster scope. The completion
  // of an asynchronous operation is performed at the mbarrier, which is in the same block as the threads that wait for it, so
  // every scope includes it.
  [[nodiscard]] constexpr bool include_each_other(const event& x, const event& y) const noexcept {
    const auto reaches = [&](const event& from, const event& to) {
      const bool cluster = from.kind == event_kind::barrier && !from.mbarrier;
      return includes(rules_, cluster ? thread_scope::cluster : from.scope, where(from), where(to));
    };
    return x.issue >= 0 || (reaches(x, y) && reaches(y, x));
  }

  // An arrival on an mbarrier or on a cluster barrier is a strong write to it, and a wait is a strong read. As in the patterns
  // of memory operations, the arrival may itself release, or a fence before it may release through it; the wait may itself
  // acquire, or a fence after it may acquire through it. The scopes of both ends must include each other's thread.
  constexpr void synchronize_patterns(int arrival, int wait) noexcept {
    const event& a = at_event(arrival);
    const event& w = at_event(wait);
    if (!include_each_other(a, w)) {
      return;
    }
    const bool fences = rules_.holds(rule::fence_synchronizes_through_barrier);
    if (fences) {
      synchronize_restricted_through(arrival, wait);
    }
    event_set starts = a.releases || !rules_.holds(rule::relaxed_arrival_releases_nothing) ? only(arrival) : 0;
    for (event_set s = fences ? facts_.release_fences : 0; s != 0; s = rest(s)) {
      starts |= facts_.po.holds(first(s), arrival) ? only(first(s)) : 0;
    }
    const event_set ends = (w.acquires ? only(wait) : 0) | (fences ? facts_.po[wait] & facts_.acquire_fences : 0);
    for (; starts != 0; starts = rest(starts)) {
      for (event_set e = ends; e != 0; e = rest(e)) {
        if (include_each_other(at_event(first(starts)), at_event(first(e)))) {
          synchronizes_.add(first(starts), first(e));
        }
      }
    }
  }

  // Adds the edges from fences that release only some accesses to the operations that acquire them. These edges are not in base
  // causality.
  constexpr void synchronize_restricted_through(int arrival, int wait) noexcept {
    for (event_set s = facts_.initialization_fences | facts_.one_way_releases; s != 0; s = rest(s)) {
      const bool one_way = contains(facts_.one_way_releases, first(s));
      if (!facts_.po.holds(first(s), arrival) || (one_way && !rules_.holds(rule::one_way_proxy_fences_synchronize))) {
        continue;
      }
      const event_set after = facts_.po[wait] & (one_way ? facts_.one_way_acquires : facts_.acquire_fences);
      for (event_set e = after | (!one_way && at_event(wait).acquires ? only(wait) : 0); e != 0; e = rest(e)) {
        if (include_each_other(at_event(first(s)), at_event(first(e)))) {
          synchronizes_.add(first(s), first(e));
        }
      }
    }
  }

  // Forms a group: `arrivals` synchronize with `waits`, which must not continue before all of these arrivals.
  constexpr void join(event_set arrivals, event_set waits) noexcept {
    for (event_set a = arrivals; a != 0; a = rest(a)) {
      const int arrival = first(a);
      const event& e = at_event(arrival);
      event_set receivers = waits & ~only(arrival);
      if (!rules_.holds(rule::arrival_receives_nothing) && e.barrier == barrier_kind::block && !e.mbarrier) {
        receivers |= arrivals & ~only(arrival);
      }
      for (event_set w = synchronizes(e) ? receivers : 0; w != 0; w = rest(w)) {
        if (e.mbarrier || e.barrier == barrier_kind::cluster) {
          synchronize_patterns(arrival, first(w));
        } else {
          synchronizes_.add(arrival, first(w));
        }
      }
      for (event_set earlier = facts_.barriers; earlier != 0; earlier = rest(earlier)) {
        if (facts_.po.holds(first(earlier), start_of(arrival))) {
          waiting_[first(earlier)] |= waits;
        }
      }
    }
  }

  // ---- all barriers, one at a time

  // Groups the barrier events in `open`, in every possible way.
  constexpr bool group(event_set open) {
    next_.step();
    if (open == 0) {
      // if threads wait for each other in a cycle, the choice is not an execution
      return rules_.holds(rule::waiting_ends) && (!waiting_.acyclic(facts_.barriers) || ends_too_late()) ? true : next_();
    }
    event_set same = only(first(open));
    for (event_set s = open; s != 0; s = rest(s)) {
      same |= one_barrier(first(open), first(s)) ? only(first(s)) : 0;
    }
    const event& e = at_event(first(open));
    if (e.mbarrier) {
      return start_phases(open & ~same, same, by_parity(same, -1), 0) &&
             (!has_initialization(e) || use_early(open & ~same, same));
    }
    for (event_set s = e.barrier == barrier_kind::block ? same : 0; s != 0; s = rest(s)) {
      if (at_event(first(s)).quorum >= 0) {
        return group_counted(open & ~same, same, 0, quorum_of(same), false);
      }
    }
    return group_everybody(open & ~same, same);
  }

  // Threads of the block that do not take part in a phase of a barrier have exited before the barrier lets the others continue.
  // Source: PTX ISA, "bar, barrier", "exit".
  constexpr void leave(event_set arrivals, event_set waits) noexcept {
    const event& one = at_event(first(arrivals));
    for (int i = 0; i < facts_.count && one.barrier == barrier_kind::block; ++i) {
      const event& e = at_event(i);
      if (e.thread >= 0 && e.issue < 0 && same_block(where(e), where(one)) &&
          threads_of(arrivals | only(i)) > threads_of(arrivals)) {
        left_[i] |= waits;
      }
    }
  }

  // Returns whether a thread that a barrier counts as exited exits only after that barrier has let other threads continue.
  [[nodiscard]] constexpr bool ends_too_late() const noexcept {
    event_set left = 0;
    relation later;
    for (int i = 0; i < facts_.count; ++i) {
      left |= left_[i] != 0 ? only(i) : 0;
      later[i] = waiting_[i] | left_[i] | facts_.po[i];
    }
    for (event_set r = left == 0 ? 0 : facts_.reads; r != 0; r = rest(r)) {
      if (execution_.known(first(r))) {
        later.add(at(execution_.choice().source, first(r)), first(r));
      }
    }
    later.close(left == 0 ? 0 : facts_.count);
    for (; left != 0 && !contains(later.image(left_[first(left)]), first(left)); left = rest(left)) {
    }
    return left != 0;
  }

  // A barrier without a count includes all threads of the block that have not exited: their n-th arrivals form the n-th group.
  constexpr bool group_everybody(event_set open, event_set same) {
    const scoped_edges restored(*this);
    const bool is_warp = at_event(first(same)).barrier == barrier_kind::warp;
    bool everybody = true;
    const event_set arrivals = arrivals_of(same);
    const event_set waits = waits_of(same);
    for (int n = 0; n < max_events; ++n) {
      event_set now_arrive = 0;
      event_set now_wait = 0;
      for (event_set s = arrivals; s != 0; s = rest(s)) {
        now_arrive |= generation(arrivals, first(s)) == n ? only(first(s)) : 0;
      }
      for (event_set s = waits; s != 0; s = rest(s)) {
        // bar.sync both arrives and waits: it belongs to the generation of its arrival
        const int own = at_event(first(s)).arrives ? generation(arrivals, first(s)) : generation(waits, first(s));
        now_wait |= own == n ? only(first(s)) : 0;
      }
      if ((now_arrive | now_wait) == 0) {
        break;
      }
      everybody = everybody && (!is_warp || all_lanes(now_arrive));
      join(now_arrive, now_wait);
      leave(now_arrive, now_wait);
    }
    return everybody || !rules_.holds(rule::waiting_ends) ? group(open) : true;
  }

  // Returns whether every thread of the warp whose lane is in the mask has arrived. The lanes of a warp are its threads in the
  // order of the test.
  [[nodiscard]] constexpr bool all_lanes(event_set arrivals) const noexcept {
    const event& e = at_event(first(arrivals));
    const auto mask = static_cast<std::uint64_t>(execution_.number_of(e.id));
    const bounded<thread_view, max_threads>& threads = execution_.program().threads;
    int lane = 0;
    for (int t = 0; t < threads.size(); ++t) {
      if (same_block(where(e), threads[t].where) && where(e).warp == threads[t].where.warp) {
        bool arrived = false;
        for (event_set s = arrivals; s != 0; s = rest(s)) {
          arrived = arrived || at_event(first(s)).thread == t;
        }
        if (((mask >> static_cast<unsigned>(lane)) & 1U) != 0 && !arrived) {
          return false;
        }
        ++lane;
      }
    }
    return true;
  }

  // ---- a barrier with a count

  [[nodiscard]] constexpr int quorum_of(event_set same) const noexcept {
    int quorum = 0;
    for (event_set s = same; s != 0; s = rest(s)) {
      if (at_event(first(s)).quorum >= 0) {
        quorum = static_cast<int>(execution_.number_of(at_event(first(s)).quorum));
      }
    }
    return quorum;
  }

  // Every choice of `quorum` arrivals from different threads is a group. A thread that is not in a full group stays at the
  // barrier. It waits forever if it has further events after the barrier, or if no group is full.
  constexpr bool group_counted(event_set open, event_set left, event_set spare, int quorum, bool any) {
    if (left == 0) {
      bool stuck = threads_of(spare) >= quorum;
      for (event_set s = spare; s != 0; s = rest(s)) {
        stuck = stuck || (at_event(first(s)).waits && (!any || !is_last(at_event(first(s)))));
      }
      return stuck && rules_.holds(rule::waiting_ends) ? true : group(open);
    }
    const int one = first(left);
    if (!fill_group(open, rest(left), spare, quorum, only(one), left & ~only(one))) {
      return false;
    }
    return group_counted(open, rest(left), spare | only(one), quorum, any);
  }

  // Adds events from `from` to `members` until there are `quorum` members.
  constexpr bool fill_group(event_set open, event_set from, event_set spare, int quorum, event_set members, event_set left) {
    next_.step();
    if (std::popcount(members) == quorum) {
      if ((facts_.po.image(spare) & members) != 0) {
        return true;  // the remaining threads have not continued to a later group
      }
      const scoped_edges restored(*this);
      join(members, waits_of(members));
      return group_counted(open, left, spare, quorum, true);
    }
    for (event_set s = from; s != 0; s = rest(s)) {
      const int next = first(s);
      bool fresh = true;
      for (event_set m = members; m != 0; m = rest(m)) {
        fresh = fresh && at_event(first(m)).thread != at_event(next).thread;
      }
      if (fresh && !fill_group(open, rest(s), spare, quorum, members | only(next), left & ~only(next))) {
        return false;
      }
    }
    return true;
  }

  // ---- an mbarrier

  // Returns whether an instruction of the program initializes the mbarrier. An mbarrier that no instruction initializes is
  // initialized from the beginning.
  [[nodiscard]] constexpr bool has_initialization(const event& operation) const noexcept {
    for (const thread_view& t : execution_.program().threads) {
      for (const instruction& i : t.code) {
        if (i.code == opcode::mbarrier_init && i.target == operation.location) {
          return rules_.holds(rule::use_before_initialization_is_undefined);
        }
      }
    }
    return false;
  }

  // An operation that precedes the initialization makes the mbarrier undefined: no thread waits at it, and it orders nothing.
  // Whether there is such an operation can be determined only after base causality is known.
  constexpr bool use_early(event_set open, event_set same) {
    uninitialized_ |= same;
    const bool more = group(open);
    uninitialized_ &= ~same;
    return more;
  }

  // Returns the event at the position of `index` in program order: for an asynchronous operation, this is the instruction that
  // starts it.
  [[nodiscard]] constexpr int start_of(int index) const noexcept {
    return at_event(index).issue < 0 ? index : at_event(index).issue;
  }

  // Returns how much an update adds to its phase's transaction count.
  [[nodiscard]] constexpr int transaction(const event& e) const noexcept {
    return rules_.holds(rule::transactions_hold_a_phase_open) ? e.expected_bytes - e.completed_bytes : 0;
  }

  // Returns whether the events in `left` can happen in an order in which only the last event completes the phase or, if
  // `completes` is false, no event completes it. A phase is complete when no arrival and no transaction is pending. Source: PTX
  // ISA, "Phase Completion of the mbarrier object".
  [[nodiscard]] constexpr bool can_come(event_set left, int pending, int transactions, bool completes) const {
    next_.step();
    const event_set later = facts_.po.image(left);
    for (event_set s = left; s != 0; s = rest(s)) {
      const int next = first(s);
      const int arrivals = pending - at_event(next).arrivals;
      const int bytes = transactions + transaction(at_event(next));
      if (contains(later, start_of(next)) || arrivals < 0) {
        continue;
      }
      const event_set others = left & ~only(next);
      const bool complete = arrivals == 0 && bytes == 0;
      if (complete ? completes && others == 0 : (others == 0 ? !completes : can_come(others, arrivals, bytes, completes))) {
        return true;
      }
    }
    return left == 0;
  }

  [[nodiscard]] constexpr bool names_parity(const event& wait) const noexcept {
    return wait.parity && rules_.holds(rule::parity_is_of_every_second_phase);
  }

  // Returns the waits in `left` that identify the phase by its parity.
  [[nodiscard]] constexpr event_set by_parity(event_set left, int phase) const noexcept {
    event_set found = 0;
    for (event_set s = left; s != 0; s = rest(s)) {
      const bool even = (phase & 1) == 0;
      found |=
          names_parity(at_event(first(s))) && (execution_.number_of(at_event(first(s)).id) == 0) == even ? only(first(s)) : 0;
    }
    return found;
  }

  // A wait by parity ends while the phase with that parity is the last complete one. It therefore ends after the earlier waits
  // of its thread and before every wait for the next phase.
  constexpr void pass(event_set waits) noexcept {
    for (event_set w = waits; w != 0; w = rest(w)) {
      for (event_set earlier = names_parity(at_event(first(w))) ? facts_.barriers : 0; earlier != 0; earlier = rest(earlier)) {
        if (facts_.po.holds(first(earlier), first(w))) {
          waiting_.add(first(earlier), first(w));
        }
      }
      passed_ |= names_parity(at_event(first(w))) ? only(first(w)) : 0;
    }
  }

  // Returns whether the waits by parity that have ended on an mbarrier could have ended before `members` completed its next
  // phase; waits for that phase come later.
  [[nodiscard]] constexpr bool have_passed(event_set members, event_set waits) noexcept {
    for (event_set p = passed_; p != 0; p = rest(p)) {
      if (at_event(first(p)).location != at_event(first(members)).location) {
        continue;
      }
      bool open = false;
      for (event_set m = members; m != 0; m = rest(m)) {
        open = open || !facts_.po.holds(first(m), first(p));
      }
      if (!open) {
        return false;
      }
      waiting_[first(p)] |= waits;
    }
    return true;
  }

  // Before the first phase is complete, a wait for the parity of the second phase ends immediately, so each wait in `choice`
  // may do so. Source: PTX ISA, "mbarrier.test_wait/mbarrier.try_wait", `phaseParity`.
  constexpr bool start_phases(event_set open, event_set left, event_set choice, event_set early) {
    if (choice != 0) {
      return start_phases(open, left, rest(choice), early) &&
             start_phases(open, left, rest(choice), early | only(first(choice)));
    }
    const scoped_edges restored(*this);
    pass(early);
    const event_set remaining = left & ~early;
    return remaining == 0 ? group(open) : group_phases(open, remaining, 0);
  }

  // Enumerates phases with the expected number of arrivals and a final transaction count of 0, in every order that program
  // order allows.
  constexpr bool group_phases(event_set open, event_set left, int phase) {
    const event_set updates = arrivals_of(left);
    event_set waits = 0;
    for (event_set s = waits_of(left); s != 0; s = rest(s)) {
      waits |= !names_parity(at_event(first(s))) && execution_.number_of(at_event(first(s)).id) == phase ? only(first(s)) : 0;
    }
    const int expected = at(execution_.program().locations, at_event(first(left)).location).arrivals;
    const bool stuck = (left & ~updates) != 0 && rules_.holds(rule::waiting_ends);
    if (!stuck && can_come(updates, expected, 0, false) && !group(open)) {
      return false;
    }
    return fill_phase(open, left, phase, updates, 0, waits, expected);
  }

  // Adds updates from `from` to `members`, and ends the phase when the members complete it.
  constexpr bool fill_phase(event_set open, event_set left, int phase, event_set from, event_set members, event_set waits,
                            int expected) {
    next_.step();
    int arrivals = 0;
    for (event_set s = members; s != 0; s = rest(s)) {
      arrivals += at_event(first(s)).arrivals;
    }
    int fewer = arrivals;
    for (event_set s = from; s != 0; s = rest(s)) {
      fewer -= at_event(first(s)).arrivals < 0 ? 1 : 0;
    }
    if (fewer > expected) {
      return true;
    }
    if (arrivals == expected && can_come(members, expected, 0, true) &&
        !end_phase(open, left, phase, members, waits, by_parity(left, phase))) {
      return false;
    }
    for (event_set s = from; s != 0; s = rest(s)) {
      if (!fill_phase(open, left, phase, rest(s), members | only(first(s)), waits, expected)) {
        return false;
      }
    }
    return true;
  }

  // `members` complete the phase. `waits` wait for this phase, and any of the waits in `choice` may also do so.
  constexpr bool end_phase(event_set open, event_set left, int phase, event_set members, event_set waits, event_set choice) {
    if (choice != 0) {
      return end_phase(open, left, phase, members, waits, rest(choice)) &&
             end_phase(open, left, phase, members, waits | only(first(choice)), rest(choice));
    }
    const event_set later = facts_.po.image(left & ~members);
    for (event_set m = members; m != 0; m = rest(m)) {
      if (contains(later, start_of(first(m)))) {
        // an earlier update of the same thread cannot belong to a later phase, and an earlier wait cannot be for this phase
        return true;
      }
    }
    const scoped_edges restored(*this);
    if (!have_passed(members, waits) && rules_.holds(rule::waiting_ends)) {
      return true;
    }
    join(members, waits);
    pass(waits);
    const event_set remaining = left & ~members & ~waits;
    return remaining == 0 ? group(open) : group_phases(open, remaining, phase + 1);
  }

  const partial_execution& execution_;
  std::span<const event> events_;
  const event_structure& facts_;
  const Rules& rules_;
  relation& synchronizes_;
  event_set& uninitialized_;
  const Next& next_;
  relation waiting_{};  ///< barrier event -> waits that cannot continue before this event
  /// last event of a thread that does not arrive -> waits that cannot continue until the thread has exited
  relation left_{};
  event_set passed_ = 0;  ///< the waits by parity that have ended
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
