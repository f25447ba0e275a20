// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The history of a signal: whether a wait may end, which notifications must precede it, and which earlier results a later
/// notification may invalidate. Each query takes constant or logarithmic time if the notifications come from one stream or from
/// streams that are ordered.
#pragma once

#include <membar/deadlock/clock.hpp>
#include <membar/deadlock/hazard.hpp>
#include <membar/deadlock/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock::detail {

/// A suspected fault between nodes that no known order rules out.
struct suspicion {
  hazard kind;
  std::size_t first;   ///< the wait, the copy, or the first collective
  std::size_t second;  ///< the earlier wait, or the set that may end the wait; `none` for the state before the program
  std::size_t third;   ///< the notification or the other operation
};

[[nodiscard]] constexpr bool is_of_signals(hazard kind) noexcept {
  return kind == hazard::lost_signal || kind == hazard::stale_wait;
}

/// A notification or a wait that has run.
struct signal_event {
  std::size_t node;
  clocks::stamp stamp;
};

class signal_history {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  signal_history(std::uint64_t start, bool gives_order, std::optional<signal_condition> waited)
      : start_(start), total_(start), gives_order_(gives_order) {
    if (waited) {
      waited_.condition = *waited;
      waited_.kept = true;
    }
  }

  [[nodiscard]] std::uint64_t value() const noexcept { return total_; }
  /// Declares that operations add to the signal. This function must be called before the first notification.
  void counts() noexcept { adds_ = true; }
  /// Returns the strongest condition that the signal may still meet, among the conditions of the waits that have ended.
  [[nodiscard]] std::optional<signal_condition> kept() const noexcept {
    std::optional<signal_condition> result;
    const auto add = [&](const seen_wait& seen) {
      const bool holds = adds_ || !in_order_ || seen.condition.holds(total_);
      if (seen.kept && seen.replaced.empty() && holds && (!result || seen.condition.implies(*result))) {
        result = seen.condition;
      }
    };
    add(waited_);
    for (const waiter& each : waiters_) {
      add(each.last);
    }
    return result;
  }

  /// Returns whether a wait may end now. `known(stamp)` must return whether a stream, an event, the host or a collective orders
  /// that operation before the wait.
  template <class Known>
  [[nodiscard]] bool meets(const signal_condition& condition, Known known) const {
    if (adds_ || sent_.empty() || condition.holds(sent_.back().value)) {
      return condition.holds(total_);
    }
    if (rising_) {
      if (condition.at_least) {
        return false;
      }
      const std::size_t past = first_above(condition.value);
      const bool there = past == 0 ? condition.holds(start_) : condition.holds(sent_[past - 1].value);
      return there && !known(sent_[past].stamp);
    }
    for (std::size_t i = sent_.size(); i-- != 0;) {
      if (condition.holds(sent_[i].value)) {
        return true;
      }
      if (known(sent_[i].stamp)) {
        return false;
      }
    }
    return condition.holds(start_);
  }

  /// Joins the clocks of the notifications that must precede the wait into the wait's clock, which must have been begun.
  void order(const signal_condition& condition, clocks& time) {
    edges_ = 0;
    candidate_ = none;
    if (condition.holds(start_) && (adds_ || rising_ || sent_.empty())) {
      return;
    }
    if (adds_) {
      for (const sender& each : senders_) {
        // Finds the last of the sender's notifications that the signal needs to reach the value. Without this notification and
        // the sender's later ones, the signal does not reach the value.
        const std::uint64_t others = total_ - each.sum;
        const auto spare = std::partition_point(each.sent.begin(), each.sent.end(),
                                                [&](std::size_t i) { return !condition.holds(others + sent_[i].sum_before); });
        if (spare != each.sent.begin() && gives_order_ && !each.unordered) {
          time.join(sent_[*(spare - 1)].stamp);
          ++edges_;
          edge_chain_ = each.chain;
        }
      }
      return;
    }
    std::size_t first = none;  // the first set that satisfies the condition and was not replaced earlier
    if (rising_) {
      const auto found = std::partition_point(sent_.begin(), sent_.end(), [&](const notification& each) {
        return static_cast<std::int64_t>(each.value - condition.value) < 0;
      });
      first = static_cast<std::size_t>(found - sent_.begin());
    } else {
      for (std::size_t i = sent_.size(); i-- != 0;) {
        first = condition.holds(sent_[i].value) ? i : first;
        if (time.covers(sent_[i].stamp)) {
          break;
        }
        if (i == 0 && condition.holds(start_)) {
          return;
        }
      }
    }
    if (first < sent_.size()) {
      candidate_ = sent_[first].node;
      if (gives_order_ && in_order_) {
        time.join(sent_[first].stamp);
        ++edges_;
      }
    }
  }

  /// Records a wait that has ended. Call it after `order`.
  template <class Suspect>
  void waited(const signal_event& now, const signal_condition& condition, const clocks& time, Suspect suspect) {
    if (!adds_) {
      look_for_lost(now, condition, time, suspect);
    }
    std::size_t earlier = now.node;
    const auto alive = [&](const seen_wait& seen) {
      return seen.kept && std::none_of(seen.replaced.begin(), seen.replaced.end(),
                                       [&](const clocks::stamp& set) { return time.before(set, now.stamp); });
    };
    if (alive(waited_) && waited_.condition.implies(condition)) {
      earlier = none;
    }
    for (const waiter& each : waiters_) {
      for (const seen_wait* seen : {&each.older, &each.last}) {
        if (seen->condition.implies(condition) && alive(*seen)) {
          earlier = seen->wait.node;
        }
      }
    }
    waiter& own = waiter_of(now.stamp.chain);
    own.last.kept = alive(own.last);
    if (earlier != now.node) {
      own.implied = now;
      own.implied_by = earlier;
      own.implied_condition = condition;
      for (const sender& each : senders_) {
        const notification& last = sent_[each.sent.back()];
        if (!time.before(last.stamp, now.stamp) && (adds_ || condition.holds(last.value))) {
          suspect({hazard::stale_wait, now.node, earlier, last.node});
        }
      }
    }
    if (adds_) {
      if (edges_ != 0) {
        own.dependent = now;
        own.exempt = edges_ == 1 ? edge_chain_ : clocks_none;
      }
    } else {
      auto& which = condition.at_least ? own.least : own.equal;
      if (!condition.at_least && own.equal.wait.node != none && own.equal.condition.value != condition.value) {
        own.other = own.equal;
      }
      const bool weaker = condition.at_least && own.least.wait.node != none && own.least.condition.implies(condition);
      which = {now, weaker ? own.least.condition : condition, candidate_};
    }
    if (!own.last.kept || !own.last.condition.implies(condition)) {
      own.older = own.last;
      own.last = {now, condition, true, {}};
    }
  }

  /// Records a notification. Returns false if the notification invalidates an order that was derived earlier; the analysis must
  /// then be repeated without the orders derived from this signal.
  template <class Suspect>
  [[nodiscard]] bool notified(const signal_event& now, std::uint64_t value, bool unordered, const clocks& time,
                              Suspect suspect) {
    bool valid = true;
    for (waiter& each : waiters_) {
      if (each.implied.node != none && !time.before(each.implied.stamp, now.stamp) &&
          (adds_ || each.implied_condition.holds(value))) {
        suspect({hazard::stale_wait, each.implied.node, each.implied_by, now.node});
      }
      if (adds_) {
        valid = valid &&
                (each.dependent.node == none || each.exempt == now.stamp.chain || time.before(each.dependent.stamp, now.stamp));
        continue;
      }
      for (const open_wait* open : {&each.least, &each.equal, &each.other}) {
        if (open->wait.node != none && !open->condition.holds(value) && !time.before(open->wait.stamp, now.stamp)) {
          suspect({hazard::lost_signal, open->wait.node, open->candidate, now.node});
        }
      }
      each.older.note(now, value, time);
      each.last.note(now, value, time);
    }
    if (!adds_) {
      const std::uint64_t last = sent_.empty() ? start_ : sent_.back().value;
      rising_ = rising_ && static_cast<std::int64_t>(value - last) >= 0;
      if (!sent_.empty() && !time.before(sent_.back().stamp, now.stamp)) {
        valid = valid && (!gives_order_ || waiters_.empty());
        in_order_ = rising_ = false;
        look_for_replaced(now, value, time, suspect);
      }
      waited_.note(now, value, time);
    }
    sender& from = sender_of(now.stamp.chain, unordered);
    from.sent.push_back(sent_.size());
    sent_.push_back({now.node, now.stamp, value, from.sum});
    from.sum += value;
    total_ = adds_ ? total_ + value : value;
    return valid;
  }

 private:
  static constexpr std::uint32_t clocks_none = ~0U;

  struct notification {
    std::size_t node;
    clocks::stamp stamp;
    std::uint64_t value;
    std::uint64_t sum_before;  ///< the sum of the sender's earlier notifications
  };
  struct sender {
    std::uint32_t chain;
    bool unordered;
    std::uint64_t sum = 0;
    std::vector<std::size_t> sent;
  };
  struct open_wait {
    signal_event wait{none, {}};
    signal_condition condition;
    std::size_t candidate = none;
  };
  struct seen_wait {
    signal_event wait{none, {}};  ///< `none` for a wait before the program
    signal_condition condition;
    bool kept = false;                    ///< whether the signal may still have the value
    std::vector<clocks::stamp> replaced;  ///< the first set of a different value after the wait, for each chain

    void note(const signal_event& set, std::uint64_t value, const clocks& time) {
      const bool after = wait.node == none || time.before(wait.stamp, set.stamp);
      if (kept && after && !condition.holds(value) &&
          std::none_of(replaced.begin(), replaced.end(),
                       [&](const clocks::stamp& each) { return each.chain == set.stamp.chain; })) {
        replaced.push_back(set.stamp);
      }
    }
  };
  /// The waits of one chain.
  struct waiter {
    std::uint32_t chain = 0;
    seen_wait last, older;  ///< the first wait for the strongest condition, and the one before it
    signal_event implied{none, {}};
    std::size_t implied_by = none;
    signal_condition implied_condition;
    signal_event dependent{none, {}};  ///< the last wait that led to an order
    std::uint32_t exempt = clocks_none;
    open_wait least, equal, other;  ///< the last wait of each kind, and the last wait for another value
  };

  [[nodiscard]] waiter& waiter_of(std::uint32_t chain) {
    const auto found = std::find_if(waiters_.begin(), waiters_.end(), [&](const waiter& each) { return each.chain == chain; });
    if (found != waiters_.end()) {
      return *found;
    }
    waiters_.emplace_back().chain = chain;
    return waiters_.back();
  }
  [[nodiscard]] sender& sender_of(std::uint32_t chain, bool unordered) {
    const auto found = std::find_if(senders_.begin(), senders_.end(), [&](const sender& each) { return each.chain == chain; });
    return found != senders_.end() ? *found : senders_.emplace_back(sender{chain, unordered, 0, {}});
  }
  /// Returns the index of the first notification whose value is greater than `value`. The values must be in ascending order.
  [[nodiscard]] std::size_t first_above(std::uint64_t value) const {
    const auto found = std::partition_point(sent_.begin(), sent_.end(), [&](const notification& each) {
      return static_cast<std::int64_t>(each.value - value) <= 0;
    });
    return static_cast<std::size_t>(found - sent_.begin());
  }

  /// Called when a wait ends. Searches the set operations that have run for one that sets a different value and may run after a
  /// set that satisfies the wait but before the wait itself.
  template <class Suspect>
  void look_for_lost(const signal_event& now, const signal_condition& condition, const clocks& time, Suspect suspect) {
    if (rising_ && condition.at_least) {
      return;
    }
    std::size_t other = none;
    std::size_t steps = 0;
    for (std::size_t i = sent_.size(); i-- != 0;) {
      const notification& each = sent_[i];
      if (!condition.holds(each.value)) {
        other = each.node;
        if (!in_order_) {
          suspect({hazard::lost_signal, now.node, candidate_, other});
          return;
        }
      } else if (other != none || ++steps > 64) {
        if (other != none) {
          suspect({hazard::lost_signal, now.node, each.node, other});
        }
        return;
      }
      if (each.node != candidate_ && time.before(each.stamp, now.stamp) && in_order_) {
        return;
      }
    }
    if (other != none && condition.holds(start_)) {
      suspect({hazard::lost_signal, now.node, none, other});
    }
  }

  /// Checks a new set that could have satisfied a wait that has already ended. Reports the set if an earlier set, whose value
  /// does not satisfy the wait, is not ordered before it and may therefore replace its value.
  template <class Suspect>
  void look_for_replaced(const signal_event& now, std::uint64_t value, const clocks& time, Suspect suspect) {
    for (const waiter& each : waiters_) {
      for (const open_wait* open : {&each.least, &each.equal, &each.other}) {
        if (open->wait.node == none || !open->condition.holds(value) || time.before(open->wait.stamp, now.stamp)) {
          continue;
        }
        for (std::size_t i = sent_.size(), steps = 0; i-- != 0 && steps != 64; ++steps) {
          if (!open->condition.holds(sent_[i].value) && !time.before(sent_[i].stamp, now.stamp)) {
            suspect({hazard::lost_signal, open->wait.node, now.node, sent_[i].node});
            break;
          }
        }
      }
    }
  }

  std::uint64_t start_;
  std::uint64_t total_;  ///< the sum of the additions, or the last value that was set
  bool adds_ = false;
  bool gives_order_;
  bool in_order_ = true;  ///< whether each set is ordered after the previous one
  bool rising_ = true;    ///< whether no set has a smaller value than the previous one
  seen_wait waited_;      ///< the wait before the program; its node is `none`
  std::vector<notification> sent_;
  std::vector<sender> senders_;
  std::vector<waiter> waiters_;
  int edges_ = 0;
  std::uint32_t edge_chain_ = 0;
  std::size_t candidate_ = none;
};

}  // namespace deadlock::detail
}  // namespace v0_3
}  // namespace membar
