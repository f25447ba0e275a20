// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Runs a program in its worst schedule while the program grows, and uses vector clocks to track the order of the operations
/// that have run. The running time grows with the number of operations. The check proves that a program is correct, or reports
/// the faults that it could not rule out.
#pragma once

#include <membar/deadlock/graph.hpp>
#include <membar/deadlock/signal_history.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock::detail {

class watch : public graph {
 public:
  /// Waits for the signals in `without_order` provide no order, because a later notification has invalidated the order that was
  /// derived from them.
  watch(const program& program, std::shared_ptr<program_parts> parts, std::set<of_pe>& without_order)
      : graph(program, std::move(parts)), without_order_(without_order) {}

  /// Processes the operations recorded since the last call and runs the program as far as possible. Returns false if orders
  /// were invalidated; the caller must then start over. The program runs to the end in either case, so that all such orders are
  /// found in one pass. This is safe, because an order that does not hold never causes another order to be invalidated by
  /// mistake.
  [[nodiscard]] bool settle() {
    take();
    admit();
    for (bool changed = true; changed;) {
      changed = false;
      cursors_.resize(queues_.size());
      for (std::size_t queue = 0; queue != queues_.size(); ++queue) {
        changed = run_queue(queue) || changed;
      }
      for (std::size_t host = 0; host != host_nodes_.size(); ++host) {
        changed = run_host(host) || changed;
      }
    }
    return valid_;
  }

  /// Returns whether all operations have run.
  [[nodiscard]] bool ended() const noexcept { return ran_ == nodes_.size(); }
  /// Returns whether all nodes of the operation have run. The operation must be the program's last.
  [[nodiscard]] bool last_has_ended(std::size_t operation) const {
    for (std::size_t n = nodes_.size(); n-- != 0 && nodes_[n].operation == operation;) {
      if (!done_[n]) {
        return false;
      }
    }
    return true;
  }
  /// Returns whether everything that the host enqueues from now on is ordered after everything recorded so far.
  [[nodiscard]] bool host_is_after_all() const {
    return ended() && host_last_.size() == 1 && host_last_[0] != none && clocks_.all_before(stamps_[host_last_[0]]);
  }

  [[nodiscard]] const std::vector<suspicion>& suspicions() const noexcept { return suspicions_; }
  /// Returns the number of suspected faults that make a host wait an error. Lost signals and stale waits are not counted,
  /// because later operations may still order the values.
  [[nodiscard]] std::size_t suspicions_for_the_host() const noexcept { return of_others_; }
  [[nodiscard]] const std::vector<std::size_t>& unrecorded_events() const noexcept { return unrecorded_; }
  struct differing {
    std::size_t first, second, number;
  };
  [[nodiscard]] std::vector<differing> differing_collectives() const {
    std::vector<differing> all;
    for (const difference& each : different_) {
      all.push_back({each.first, each.second, each.number});
    }
    return all;
  }
  [[nodiscard]] const std::set<std::size_t>& large_grids() const noexcept { return large_grids_; }
  [[nodiscard]] std::size_t operation_at(std::size_t n) const noexcept { return n == none ? none : nodes_[n].operation; }
  [[nodiscard]] bool is_clean() const noexcept {
    return ended() && suspicions_.empty() && unrecorded_.empty() && different_.empty() && large_grids_.empty();
  }

  /// Sets the initial state of `next`: the current values of signals and epochs, and the conditions of earlier waits that
  /// signals may still meet.
  void leave_signals(program& next) const {
    for (std::size_t i = 0; i != histories_.size(); ++i) {
      const of_pe key{signals_[i].pe, signals_[i].signal};
      next.signals[key] = histories_[i].value();
      if (const std::optional<signal_condition> kept = histories_[i].kept()) {
        next.waited[key] = *kept;
      } else {
        next.waited.erase(key);
      }
    }
    for (const auto& [epoch, number] : epochs_) {
      next.epochs[epoch] = number;
    }
  }

  using graph::condition_of, graph::effect_of;
  /// Returns the nodes that have not run, from all queues and hosts, in recording order.
  [[nodiscard]] std::vector<std::size_t> left() const {
    std::vector<std::size_t> all;
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (!done_[n]) {
        all.push_back(n);
      }
    }
    return all;
  }
  [[nodiscard]] const node& node_at(std::size_t n) const noexcept { return nodes_[n]; }
  /// Returns the operation that enqueued the node: the launch of the node's graph, the node's kernel, or the node's own
  /// operation.
  [[nodiscard]] std::size_t enqueued_by(std::size_t n) const noexcept {
    return nodes_[n].unit < 0 ? nodes_[n].operation : nodes_[unit_of(n).first].operation;
  }
  /// Returns a value that identifies the call that enqueued a node. Nodes that the same call enqueued in a queue have the same
  /// value.
  [[nodiscard]] std::pair<std::size_t, std::size_t> call_of(std::size_t n) const noexcept {
    const node& each = nodes_[n];
    return each.unit < 0 ? std::pair(none, each.operation)
                         : std::pair(std::size_t{each.queue}, static_cast<std::size_t>(each.unit));
  }
  [[nodiscard]] std::size_t queues() const noexcept { return queues_.size() + host_nodes_.size(); }
  /// Returns whether an event wait is waiting for a record that has not run.
  [[nodiscard]] bool waits_for_record(std::size_t n) const {
    const auto before = after(n);
    return std::any_of(before.begin(), before.end(), [&](std::size_t other) {
      return !done_[other] && operation_of(other).kind == operation_kind::record_event;
    });
  }
  /// Returns the value that a wait's signal has after all recorded notifications, or nothing if no operation adds to the
  /// signal.
  [[nodiscard]] std::optional<std::uint64_t> most_of(std::size_t wait) const {
    const signal_nodes& signal = signals_[nodes_[wait].link];
    if (signal.notifications.empty() || !operation_of(signal.notifications.front()).effect.adds) {
      return std::nullopt;
    }
    std::uint64_t sum = at_start(signal.pe, signal.signal);
    for (const std::size_t each : signal.notifications) {
      sum += effect_of(each).value;
    }
    return sum;
  }
  /// Returns whether a notification that has not run meets the condition of a wait for a value that is set.
  [[nodiscard]] bool may_be_set(std::size_t wait) const {
    const auto& all = notifications_of(wait);
    return std::any_of(all.begin(), all.end(),
                       [&](std::size_t each) { return !done_[each] && condition_of(wait).holds(effect_of(each).value); });
  }
  /// Returns, as operations, the arrivals that have run at barriers where other members have not arrived yet.
  [[nodiscard]] std::vector<std::size_t> open_arrivals() const {
    std::vector<std::size_t> result;
    for (const call& each : calls_) {
      if (done_[each.arrival] != 0 && operation_of(each.arrival).kind == operation_kind::arrive && !is_complete(each)) {
        result.push_back(nodes_[each.arrival].operation);
      }
    }
    return result;
  }
  /// Returns the members that never call a departure's collective.
  [[nodiscard]] std::vector<int> missing_of(std::size_t departure) const {
    const call& own = calls_[nodes_[departure].link];
    std::vector<int> result;
    for (const int member : members(own.team)) {
      const auto* const theirs = calls_of(own.team, member);
      if (theirs == nullptr || theirs->size() <= own.number) {
        result.push_back(member);
      }
    }
    return result;
  }

 private:
  /// A graph in which one branch may block another. It consists of the orders that the graph's edges impose, as rows of bits,
  /// and of the nodes that run in every order.
  struct branches {
    std::vector<std::size_t> nodes;
    std::size_t first = 0;
    std::size_t words = 0;
    std::vector<std::uint64_t> before;
    std::vector<char> ready;

    [[nodiscard]] bool puts(std::size_t a, std::size_t b) const noexcept {
      return (before[(b - first) * words + (a - first) / 64] >> ((a - first) % 64) & 1U) != 0;
    }
  };
  struct round {
    std::size_t arrived = 0;
    std::vector<std::size_t> arrivals;
  };
  struct team_state {
    std::vector<int> members;
    std::vector<round> rounds;
  };
  struct cursor {
    std::size_t unit = 0;
    std::size_t node = 0;
    bool begun = false;
    bool in_order = true;
    branches inner;
  };

  /// Prepares for the new nodes.
  void admit() {
    for (std::size_t n = done_.size(); n != nodes_.size(); ++n) {
      const stream_operation& operation = operation_of(n);
      if (operation.kind == operation_kind::host_copy && operation.early) {
        copies_[{operation.pe, nodes_[n].chain}].push_back(n);
      }
      if (operation.kind == operation_kind::kernel && too_large(nodes_[n].operation)) {
        large_grids_.insert(nodes_[n].operation);
      }
    }
    done_.resize(nodes_.size());
    stamps_.resize(nodes_.size());
    for (std::size_t i = histories_.size(); i != signals_.size(); ++i) {
      const of_pe key{signals_[i].pe, signals_[i].signal};
      const auto waited = program_.waited.find(key);
      histories_.emplace_back(at_start(key.first, key.second), !without_order_.contains(key),
                              waited == program_.waited.end() ? std::nullopt : std::optional(waited->second));
    }
    for (; counted_ != signals_.size(); ++counted_) {
      const auto& all = signals_[counted_].notifications;
      if (all.empty()) {
        uncounted_.insert(counted_);
      } else if (operation_of(all.front()).effect.adds) {
        histories_[counted_].counts();
      }
    }
    std::erase_if(uncounted_, [&](std::size_t i) {
      const auto& all = signals_[i].notifications;
      if (!all.empty() && operation_of(all.front()).effect.adds) {
        histories_[i].counts();
      }
      return !all.empty();
    });
  }

  [[nodiscard]] bool is_complete(const call& of) const {
    const auto found = teams_.find({0, of.team});
    return found != teams_.end() && found->second.rounds.size() > of.number &&
           found->second.rounds[of.number].arrived == found->second.members.size();
  }
  [[nodiscard]] team_state& team_of(handle team) {
    const auto [found, is_new] = teams_.try_emplace({0, team});
    if (is_new) {
      found->second.members = members(team);
    }
    return found->second;
  }

  [[nodiscard]] bool reached(std::size_t n) const {
    const auto before = after(n);
    return std::all_of(before.begin(), before.end(), [&](std::size_t other) { return done_[other] != 0; });
  }
  /// Returns whether everything that the node waits for has happened.
  [[nodiscard]] bool may_run(std::size_t n) {
    if (nodes_[n].kind == kind_t::waits) {
      return histories_[nodes_[n].link].meets(condition_of(n), [&](const clocks::stamp& stamp) {
        const auto before = after(n);
        return std::any_of(before.begin(), before.end(), [&](std::size_t other) {
          return clocks_.before(stamp, stamps_[other]) ||
                 (stamp.chain == stamps_[other].chain && stamp.position == stamps_[other].position);
        });
      });
    }
    if (nodes_[n].kind == kind_t::departs) {
      return is_complete(calls_[nodes_[n].link]);
    }
    return true;
  }

  /// Returns whether the node may run in every order of its graph, once the graph's nodes that `ran` accepts have run.
  template <class Ran>
  [[nodiscard]] bool may_run_in(const branches& within, std::size_t n, Ran ran) {
    bool result = may_run(n);
    const bool waits = nodes_[n].kind == kind_t::waits;
    std::uint64_t sum = waits ? histories_[nodes_[n].link].value() : 0;
    for (std::size_t other = within.first; other != within.first + within.ready.size(); ++other) {
      if (done_[other] || nodes_[other].link != nodes_[n].link) {
        continue;
      }
      if (waits && nodes_[other].kind == kind_t::notifies) {
        const signal_effect effect = effect_of(other);
        sum += effect.adds && ran(other) ? effect.value : 0;
        const bool kept = effect.adds || !within.puts(other, n);  // otherwise the set replaces the current value
        result = (result && kept) || (ran(other) && condition_of(n).holds(effect.adds ? sum : effect.value));
      } else if (nodes_[n].kind == kind_t::departs && nodes_[other].kind == kind_t::arrives && ran(other)) {
        const call& own = calls_[nodes_[n].link];
        const team_state& team = team_of(own.team);
        const std::size_t arrived = team.rounds.size() > own.number ? team.rounds[own.number].arrived : 0;
        result = arrived + 1 == team.members.size();
      }
    }
    return result;
  }

  void run(std::size_t n) {
    const node& each = nodes_[n];
    clocks_.begin(each.chain);
    for (const std::size_t before : after(n)) {
      clocks_.join(stamps_[before]);
    }
    if (each.kind == kind_t::waits) {
      histories_[each.link].order(condition_of(n), clocks_);
    } else if (each.kind == kind_t::departs) {
      const call& own = calls_[each.link];
      for (const std::size_t arrival : team_of(own.team).rounds[own.number].arrivals) {
        clocks_.join(stamps_[arrival]);
      }
    }
    stamps_[n] = clocks_.end();
    done_[n] = 1;
    ++ran_;
    const auto suspect = [&](const suspicion& found) {
      if (suspected_.insert({found.kind, found.first}).second) {
        suspicions_.push_back(found);
        of_others_ += is_of_signals(found.kind) ? 0U : 1U;
      }
    };
    const signal_event now{n, stamps_[n]};
    if (each.kind == kind_t::waits) {
      histories_[each.link].waited(now, condition_of(n), clocks_, suspect);
    } else if (each.kind == kind_t::notifies) {
      const bool delivered = each.unit < 0;
      if (!histories_[each.link].notified(now, effect_of(n).value, delivered, clocks_, suspect)) {
        without_order_.insert({signals_[each.link].pe, signals_[each.link].signal});
        valid_ = false;
      }
    } else if (each.kind == kind_t::arrives) {
      arrive(n, suspect);
    }
    if (!copies_.empty()) {
      look_for_early_copies(n, suspect);
    }
    // A notification that does not block may be delivered immediately.
    if (n + 1 != nodes_.size() && nodes_[n + 1].kind == kind_t::notifies && nodes_[n + 1].unit < 0 &&
        nodes_[n + 1].operation == each.operation && !done_[n + 1] && each.kind == kind_t::passes) {
      run(n + 1);
    }
  }

  template <class Suspect>
  void arrive(std::size_t n, Suspect suspect) {
    const call& own = calls_[nodes_[n].link];
    team_state& team = team_of(own.team);
    if (team.rounds.size() <= own.number) {
      team.rounds.resize(own.number + 1);
    }
    round& now = team.rounds[own.number];
    if (std::find(team.members.begin(), team.members.end(), nodes_[n].pe) != team.members.end()) {
      ++now.arrived;
      now.arrivals.push_back(n);
    }
    if (own.previous != none && !clocks_.before(stamps_[own.previous], stamps_[n])) {
      suspect({hazard::concurrent_collectives, own.previous, none, n});
    }
  }

  template <class Suspect>
  void look_for_early_copies(std::size_t n, Suspect suspect) {
    for (const auto& [of, all] : copies_) {
      if (!uses_heap_of(operation_of(n), of.first)) {
        continue;
      }
      const auto past = std::lower_bound(all.begin(), all.end(), n);
      if (past != all.begin() && !clocks_.before(stamps_[*(past - 1)], stamps_[n])) {
        suspect({hazard::early_host_copy, *(past - 1), none, n});
      }
    }
  }

  bool run_host(std::size_t host) {
    bool any = false;
    host_cursors_.resize(host_nodes_.size());
    std::size_t& next = host_cursors_[host];
    for (; next != host_nodes_[host].size(); ++next) {
      const std::size_t n = host_nodes_[host][next];
      if (!reached(n) || !may_run(n)) {
        break;
      }
      run(n);
      any = true;
    }
    return any;
  }

  /// Runs a queue as far as possible. Returns whether any node ran.
  bool run_queue(std::size_t queue) {
    bool any = false;
    for (; cursors_[queue].unit != queues_[queue].size(); ++cursors_[queue].unit, cursors_[queue].begun = false) {
      const queue_unit& unit = queues_[queue][cursors_[queue].unit];
      cursor& at = cursors_[queue];
      if (!at.begun) {
        begin(at, unit);
      }
      any = (at.in_order ? run_in_order(at, unit) : run_branches(at)) || any;
      while (at.node != unit.end && (done_[at.node] || nodes_[at.node].unit < 0)) {
        ++at.node;
      }
      if (at.node != unit.end) {
        break;
      }
    }
    return any;
  }

  bool run_in_order(const cursor& at, const queue_unit& unit) {
    bool any = false;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t n = at.node; n != unit.end; ++n) {
        if (!done_[n] && nodes_[n].unit >= 0 && reached(n) && may_run(n)) {
          run(n);
          changed = any = true;
        }
      }
      changed = changed && unit.end - at.node > 1;
    }
    return any;
  }

  /// Starts a unit at the head of a queue, and determines whether its nodes can run one after another.
  void begin(cursor& at, const queue_unit& unit) {
    at.begun = true;
    at.node = unit.first;
    at.in_order = true;
    if (!unit.any_order) {
      return;
    }
    at.inner = {};
    bool blocks = false;
    bool in_a_row = true;
    for (std::size_t n = unit.first; n != unit.end; ++n) {
      if (nodes_[n].unit < 0) {
        continue;
      }
      const auto before = after(n);
      in_a_row = in_a_row &&
                 (at.inner.nodes.empty() || std::find(before.begin(), before.end(), at.inner.nodes.back()) != before.end());
      blocks = blocks || nodes_[n].blocks;
      at.inner.nodes.push_back(n);
    }
    if (in_a_row || !blocks) {
      return;
    }
    at.in_order = false;
    branches& inner = at.inner;
    const std::size_t count = unit.end - unit.first;
    inner.first = unit.first;
    inner.words = (count + 63) / 64;
    inner.before.assign(count * inner.words, 0);
    inner.ready.assign(count, 0);
    for (std::size_t n = unit.first; n != unit.end; ++n) {
      std::uint64_t* const row = inner.before.data() + (n - unit.first) * inner.words;
      for (const std::size_t other : after(n)) {
        if (other >= unit.first) {
          const std::uint64_t* const theirs = inner.before.data() + (other - unit.first) * inner.words;
          for (std::size_t i = 0; i != inner.words; ++i) {
            row[i] |= theirs[i];
          }
          row[(other - unit.first) / 64] |= std::uint64_t{1} << ((other - unit.first) % 64);
        }
      }
    }
  }

  bool run_branches(cursor& at) {
    branches& inner = at.inner;
    const auto ready = [&](std::size_t n) -> char& { return inner.ready[n - inner.first]; };
    bool any = make_ready(
        inner.nodes, ready, [&](std::size_t n) { return done_[n] != 0; },
        [&](std::size_t a, std::size_t b) { return inner.puts(a, b) || same_kernel(a, b); },
        [&](std::size_t n, auto ran) { return may_run_in(inner, n, ran); }, [&](std::size_t n) { return after(n); });
    for (const std::size_t n : inner.nodes) {
      const bool held_up = std::any_of(inner.nodes.begin(), inner.nodes.end(), [&](std::size_t other) {
        return nodes_[other].blocks && !ready(other) && !inner.puts(n, other) && !(other != n && same_kernel(other, n));
      });
      if (!done_[n] && !held_up && reached(n) && may_run(n)) {
        run(n);
        any = true;
      }
    }
    return any;
  }

  std::set<of_pe>& without_order_;
  std::vector<char> done_;
  std::vector<clocks::stamp> stamps_;
  std::vector<signal_history> histories_;
  std::size_t counted_ = 0;
  std::set<std::size_t> uncounted_;
  std::map<of_pe, team_state> teams_;
  std::map<std::pair<int, std::uint32_t>, std::vector<std::size_t>> copies_;  ///< copies that may return early, by PE and chain
  std::set<std::size_t> large_grids_;
  std::vector<suspicion> suspicions_;  ///< at most one per hazard for each wait, copy or collective
  std::set<std::pair<hazard, std::size_t>> suspected_;
  std::size_t of_others_ = 0;
  std::vector<cursor> cursors_;
  std::vector<std::size_t> host_cursors_;
  std::size_t ran_ = 0;
  bool valid_ = true;
};

}  // namespace deadlock::detail
}  // namespace v0_3
}  // namespace membar
