// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Chooses the next thread to run, depending on the schedule's seed.
#pragma once

#include <sanitize/run_state.hpp>
#include <sanitize/threads.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>
#include <vector>

namespace membar::sanitize {

/// The threads that can continue. A schedule is of one of these kinds:
///  * in turn: a thread continues until it waits or has performed a fixed number of events;
///  * at random: any of the threads continues, for a random number of events;
///  * by priorities, some of which change at random events. Source: Burckhardt et al., "A Randomized Scheduler with
///    Probabilistic Guarantees of Finding Bugs", ASPLOS 2010.
class thread_queue {
 public:
  enum class kind : std::uint8_t { in_turn, at_random, by_priority };

  thread_queue(random_source& random, std::uint64_t schedule, std::uint64_t threads) : random_(random) {
    constexpr std::uint64_t few = 4096;
    constexpr kind kinds[] = {kind::in_turn, kind::by_priority, kind::at_random, kind::by_priority};
    kind_ = kinds[(schedule + 3) % 4];
    constexpr std::uint64_t turns[] = {~std::uint64_t{0}, 1, 16, 256};
    turn_ = schedule <= 1 ? turns[0] : turns[random_.below(4)];
    mean_ = std::uint64_t{1} << random_.below(threads > few ? 10 : 5);
    backward_ = schedule > 1 && random_.below(2) == 1;
    stops_after_fences_ = schedule > 1;
    stops_after_all_fences_ = schedule % 4 == 2;
    for (std::uint64_t k = random_.below(4); k > 0; --k) {
      changes_.push_back(random_.below(threads <= 8 ? 32 : 8 * threads));
    }
    std::ranges::sort(changes_, std::greater<>());
  }

  void add(lane& l) {
    l.where = stand::queued;
    if (kind_ == kind::by_priority && l.priority == 0) {
      l.priority = static_cast<std::uint32_t>(random_.next() | (std::uint64_t{1} << 31U));
    }
    if (kind_ == kind::by_priority) {
      l.place = left_ + threads_.size();
      by_priority_.emplace(l);
    }
    threads_.push_back(&l);
    ++arrived_;
  }
  [[nodiscard]] bool empty() const noexcept { return threads_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return threads_.size(); }

  /// Removes the thread to run next from the queue, and sets `events` to the maximum number of its events.
  [[nodiscard]] lane* take(std::uint64_t& events) {
    constexpr std::uint64_t turns_of_the_first =
        64;  // after this many turns, the first thread in the queue runs, so threads that only poll cannot delay others forever
    const bool oldest = ++taken_ % turns_of_the_first == 0;
    if (kind_ == kind::in_turn || oldest) {
      const bool last = backward_ && !oldest;
      lane* const l = last ? threads_.back() : threads_.front();
      last ? threads_.pop_back() : threads_.pop_front();
      left_ += last ? 0 : 1;
      if (kind_ == kind::by_priority) {
        by_priority_.erase(ranked(*l));
      }
      events = turn_;
      return l;
    }
    std::size_t at = 0;
    if (kind_ == kind::at_random) {
      at = static_cast<std::size_t>(random_.below(threads_.size()));
      events = 1 + random_.below(2 * mean_);
    } else {
      at = static_cast<std::size_t>(by_priority_.begin()->who->place - left_);
      by_priority_.erase(by_priority_.begin());
      events = ~std::uint64_t{0};
    }
    std::swap(threads_[at], threads_.back());
    threads_[at]->place = left_ + at;
    lane* const l = threads_.back();
    threads_.pop_back();
    arrived_ = 0;
    return l;
  }

  /// Returns whether the running thread has to stop after this event. In one schedule in four, a thread stops after every
  /// `fence.sc` (`after_fence`); in the other schedules except the first, it stops after some of these fences. The order of
  /// these fences orders accesses, so some races are found only if a thread that performs its fence early continues late.
  [[nodiscard]] bool changes(lane& l, bool after_fence) {
    if (after_fence && (stops_after_all_fences_ || (stops_after_fences_ && random_.below(2) == 1))) {
      lower(l);
      return true;
    }
    if (kind_ != kind::by_priority) {
      return false;
    }
    ++events_;
    if (!changes_.empty() && events_ >= changes_.back()) {
      changes_.pop_back();
      l.priority = ++lowest_;
      return true;
    }
    return std::exchange(arrived_, 0) != 0;  // newly queued threads may have a higher priority
  }
  /// Gives a waiting thread the lowest priority.
  void lower(lane& l) noexcept { l.priority = kind_ == kind::by_priority ? ++lowest_ : l.priority; }

  [[nodiscard]] bool backward() const noexcept { return backward_; }
  [[nodiscard]] kind how() const noexcept { return kind_; }

 private:
  random_source& random_;
  kind kind_ = kind::in_turn;
  std::uint64_t turn_ = 1;
  std::uint64_t mean_ = 1;
  bool backward_ = false;
  bool stops_after_fences_ = false;
  bool stops_after_all_fences_ = false;
  std::uint64_t events_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint32_t lowest_ = 0;
  std::vector<std::uint64_t> changes_{};  ///< the last entry takes effect first
  std::deque<lane*> threads_{};
  std::uint64_t left_ = 0;  ///< the number of threads taken from the front so far; `place - left_` is a lane's index in
                            ///< `threads_`

  /// An entry in the order of priorities, highest first.
  struct ranked {
    explicit ranked(lane& l) noexcept : rank(std::uint64_t{~l.priority} << 32U | l.key), who(&l) {}
    [[nodiscard]] bool operator<(const ranked& o) const noexcept { return rank < o.rank; }
    std::uint64_t rank;
    lane* who;
  };
  std::set<ranked> by_priority_{};
};

}  // namespace membar::sanitize
