// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A barrier across all PEs or across a team. One group of threads on each PE calls it, either as a whole or in two halves:
/// `arrive` and `wait`.
#pragma once

#include <membar/detail/standard.hpp>
#include <membar/symmetric/operations.cuh>
#include <membar/symmetric/team.hpp>
#include <membar/symmetric/wait.cuh>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

namespace detail {

/// Whether `T` is the state of a barrier: words from a heap's `allocate_barrier`, for all PEs, or the words of a team.
template <class T>
inline constexpr bool is_barrier = is_team_words<T>;
template <class Backend>
inline constexpr bool is_barrier<span<barrier_word, Backend>> = true;

template <class Words>
[[nodiscard]] __device__ constexpr bool require_barrier_words() noexcept {
  if constexpr (is_team_words<Words>) {
    return true;
  } else if constexpr (require_symmetric<Words>()) {
    constexpr bool words = std::is_same_v<typename Words::element_type, barrier_word> && !is_one<Words>;
    static_assert(words, "membar: a barrier needs the words that a heap's allocate_barrier returned");
    return words;
  } else {
    return false;
  }
}
template <class Words, class Order>
[[nodiscard]] __device__ constexpr bool require_barrier() noexcept {
  constexpr bool order = order_among<Order, memory_order::relaxed, memory_order::acq_rel>;
  static_assert(
      order,
      "membar: the order of a barrier must be acq_rel, or relaxed to order nothing, because every PE both arrives and waits");
  return require_barrier_words<Words>() && order;
}

/// The set of all PEs, with the interface of a team.
class every_pe {
 public:
  __device__ explicit every_pe(int count) noexcept : count_(count) {}
  [[nodiscard]] __device__ int size() const noexcept { return count_; }
  [[nodiscard]] __device__ int rank_of(pe which) const noexcept { return which.index(); }
  [[nodiscard]] __device__ pe operator[](int rank) const noexcept { return pe(rank); }

 private:
  int count_;
};

/// Enumerates the other PEs of a barrier, starting with the next PE, so that not all PEs begin with the same PE.
template <class Members>
class others_of {
 public:
  __device__ others_of(const Members& members, pe self) noexcept : members_(members), own_(members.rank_of(self)) {}
  [[nodiscard]] __device__ int size() const noexcept { return members_.size() - 1; }
  [[nodiscard]] __device__ pe operator[](int k) const noexcept {
    const int rank = own_ + 1 + k;
    return members_[rank < members_.size() ? rank : rank - members_.size()];
  }

 private:
  Members members_;
  int own_;
};

template <class Backend>
[[nodiscard]] __device__ inline auto others_at(const span<barrier_word, Backend>& words) noexcept {
  return others_of<every_pe>(every_pe(words.count()), words.self());
}
template <class Backend>
[[nodiscard]] __device__ inline auto others_at(const team_words<Backend>& words) noexcept {
  return others_of<team>(words.members(), words.self());
}

template <class Backend>
[[nodiscard]] __device__ inline const span<barrier_word, Backend>& words_at(const span<barrier_word, Backend>& words) noexcept {
  return words;
}
template <class Backend>
[[nodiscard]] __device__ inline const span<barrier_word, Backend>& words_at(const team_words<Backend>& words) noexcept {
  return words.words();
}

/// Returns the word that counts the barriers at which this PE has arrived. In memory, it follows the words of all PEs.
template <class Words>
[[nodiscard]] __device__ inline unsigned long long* arrivals_at(const Words& words) noexcept {
  const auto& all = words_at(words);
  return word_access::raw(local(all) + all.count());
}

/// The PE and the value that a thread of the group has waited for, or would have waited for.
struct missing_pe {
  const void* address = nullptr;
  unsigned long long expected = 0;
  unsigned long long seen = 0;
  int pe = -1;  ///< the PE that has not arrived, or -1
};

/// Signals this PE's arrival to every other PE. Returns the barrier's number. All threads of the group read the previous number
/// before their first group barrier, and one thread writes the new number after it.
template <class Group, class Words, class Order>
[[nodiscard]] __device__ inline unsigned long long arrive_everywhere(Group group, const Words& words, Order order) noexcept {
  const auto& all = words_at(words);
  unsigned long long* const counted = arrivals_at(words);
  const unsigned long long phase = membar::load<thread_scope::system>(counted, relaxed) + 1;
  transport_of<Words>::arrive_everywhere(group, all.reach(), others_at(words),
                                         word_access::raw(local(all) + all.self().index()), phase, order);
  if (Group::rank() == 0) {
    membar::store<thread_scope::system>(counted, phase, relaxed);
  }
  return phase;
}

/// Waits for every other PE, but does not execute the group barrier that must follow. Returns whether the PEs that this thread
/// waits for have arrived. The budget covers all PEs together, and the wait is aborted if `stop()` returns true.
template <class Group, class Words, class Order, class Stop = never_stop>
[[nodiscard]] __device__ inline bool wait_for_others(Group, const Words& words, unsigned long long phase, wait_budget budget,
                                                     Order order, missing_pe& missing, Stop stop = Stop()) noexcept {
  const auto& all = words_at(words);
  const auto others = others_at(words);
  missing = {nullptr, phase, phase, -1};
  polling poll(budget);
  for (int k = static_cast<int>(Group::rank()); k < others.size(); k += static_cast<int>(Group::size())) {
    const pe other = others[k];
    unsigned long long* const word = word_access::raw(local(all) + other.index());
    unsigned long long seen = 0;
    if (!poll_signal(word, at_least(phase), poll, seen, order, stop)) {
      missing = {word, phase, seen, other.index()};
      return false;
    }
    if constexpr (!std::is_same_v<Order, relaxed_t> &&
                  requires { transport_of<Words>::arrived_from(all.reach(), word, seen, other); }) {
      transport_of<Words>::arrived_from(all.reach(), word, seen, other);
    }
  }
  return true;
}

/// Returns the first PE that has not arrived at this PE's next barrier. Only the calling thread executes this query, which does
/// not count as an arrival.
template <class Words>
[[nodiscard]] __device__ inline missing_pe missing_at(const Words& words) noexcept {
  const auto& all = words_at(words);
  const auto others = others_at(words);
  const unsigned long long phase = membar::load<thread_scope::system>(arrivals_at(words), relaxed) + 1;
  for (int k = 0; k != others.size(); ++k) {
    unsigned long long* const word = word_access::raw(local(all) + others[k].index());
    const unsigned long long seen = membar::load<thread_scope::system>(word, relaxed);
    if (!at_least(phase).holds(seen)) {
      return {word, phase, seen, others[k].index()};
    }
  }
  return {nullptr, phase, phase, -1};
}

template <class Group, class Words, class Order, class Stop = never_stop>
[[nodiscard]] __device__ inline bool arrive_and_wait(Group group, const Words& words, wait_budget budget, Order order,
                                                     missing_pe& missing, Stop stop = Stop()) noexcept {
  using load_order = std::conditional_t<std::is_same_v<Order, relaxed_t>, relaxed_t, acquire_t>;
  const unsigned long long phase = arrive_everywhere(group, words, order);
  return wait_for_others(group, words, phase, budget, load_order{}, missing, stop);
}

/// Like `try_barrier`, but aborts when `stop()` returns true. `missing` receives the last PE and value that the thread waited
/// for.
template <class Group, class Words, class Stop, class Order = acq_rel_t>
[[nodiscard]] __device__ inline bool barrier_unless(Group group, const Words& words, wait_budget budget, Stop stop,
                                                    missing_pe& missing, Order order = Order()) noexcept {
  return !Group::any(!arrive_and_wait(group, words, budget, order, missing, stop));
}

/// Prints which PE is missing and ends the kernel with a trap. Like `trap_waiting`, it is not inlined.
[[noreturn]] __device__ __noinline__ inline void trap_at_barrier(pe self, missing_pe missing, wait_budget budget) noexcept {
  printf(
      "membar: PE %d waited %llu ns at a barrier for PE %d, whose word at %p must be at least %llu, but is %llu: PE %d has not "
      "run yet, has ended, or is waiting itself\n",
      self.index(), budget.in_nanoseconds(), missing.pe, missing.address, missing.expected, missing.seen, missing.pe);
  __trap();
  __builtin_unreachable();
}

}  // namespace detail

namespace detail {
struct arrival_access;
}

/// The result of `arrive`, which identifies the barrier to the same PE's `wait`.
class arrival {
 public:
  /// Returns the number of the barrier among all barriers that use the same words, counted from 1.
  [[nodiscard]] __device__ unsigned long long number() const noexcept { return number_; }

 private:
  friend struct detail::arrival_access;
  __device__ explicit arrival(unsigned long long number) noexcept : number_(number) {}

  unsigned long long number_;
};

namespace detail {

struct arrival_access {
  [[nodiscard]] __device__ static arrival make(unsigned long long number) noexcept { return arrival(number); }
};

}  // namespace detail

/// Waits until every PE, or every PE in the team, has called this barrier as often as this PE. All threads of the group receive
/// the result, `done` or `timed_out`. `words` come from a heap's `allocate_barrier`, for all PEs, or from a `team_barrier`. The
/// budget covers the whole barrier.
///
/// Synchronizes: with `acq_rel`, everything that any PE's group did before the barrier, including puts, is visible to every
/// PE's group after it. With `relaxed`, nothing is ordered. Requires: at most one group on each PE may call it at a time, and
/// the kernels of all PEs must run concurrently. Relaxed and ordered barriers of different kernels or groups must use different
/// words, because a relaxed arrival may end the preceding ordered barrier. After `timed_out`, the barrier cannot be used again.
/// PTX (peer): a group barrier; `st.release.sys.b64` to each other PE or, in a thread with several PEs, `fence.release.sys` and
/// `st.relaxed.sys.b64`; `ld.acquire.sys.b64` of each other PE's word, divided among the threads, until that PE has arrived; a
/// group barrier. NVSHMEM: `nvshmem_quiet` and `nvshmemx_signal_op` to arrive.
template <class Group, class Words, class Order = acq_rel_t>
[[nodiscard]] __device__ inline wait_result try_barrier(Group group, const Words& words, wait_budget budget,
                                                        Order order = Order()) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_barrier<Words, Order>()) {
    detail::missing_pe missing;
    return Group::any(!detail::arrive_and_wait(group, words, budget, order, missing)) ? wait_result::timed_out
                                                                                      : wait_result::done;
  } else {
    return wait_result::timed_out;
  }
}

/// Waits until every PE has called this barrier as often as this PE, like `try_barrier`. If the budget is used up first, prints
/// which PEs are missing and ends the kernel with a trap.
template <class Group, class Words, class Order = acq_rel_t>
__device__ inline void barrier(Group group, const Words& words, wait_budget budget, Order order = Order()) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_barrier<Words, Order>()) {
    detail::missing_pe missing;
    if (!detail::arrive_and_wait(group, words, budget, order, missing)) {
      detail::trap_at_barrier(words.self(), missing, budget);
    }
    Group::sync();
  }
}

/// The first half of a barrier: signals to every other PE that this PE has arrived. The group continues and waits later.
///
/// Synchronizes: with `release`, everything that the group did before, including puts, is visible to every PE's group after
/// that group's `wait`. With `relaxed`, nothing is ordered. Requires: a group on this PE must have waited for the previous
/// arrival, and at most one group on each PE may call `arrive` at a time. PTX (peer): the same as `try_barrier` up to its
/// loads.
template <class Group, class Words, class Order = release_t>
[[nodiscard("wait for this arrival before the next one")]] __device__ inline arrival arrive(Group group, const Words& words,
                                                                                            Order order = Order()) noexcept {
  detail::require_group<Group>();
  constexpr bool right = order_among<Order, memory_order::relaxed, memory_order::release>;
  static_assert(right, "membar: an arrival cannot acquire, because it reads nothing: use release or relaxed");
  if constexpr (detail::require_barrier_words<Words>() && right) {
    return detail::arrival_access::make(detail::arrive_everywhere(group, words, order));
  } else {
    return detail::arrival_access::make(0);
  }
}

/// Returns this PE's last arrival, for callers that did not receive it because an earlier kernel or another group arrived. That
/// arrival must be ordered before this call.
template <class Words>
[[nodiscard]] __device__ inline arrival last_arrival(const Words& words) noexcept {
  if constexpr (detail::require_barrier_words<Words>()) {
    return detail::arrival_access::make(membar::load<thread_scope::system>(detail::arrivals_at(words), relaxed));
  } else {
    return detail::arrival_access::make(0);
  }
}

/// The second half of a barrier: waits until every PE has arrived as often as this PE had after the arrival `own`. All threads
/// of the group receive the result, `done` or `timed_out`. The group may differ from the group that arrived.
///
/// With `acquire`, the wait synchronizes with every PE's `arrive`. After `timed_out`, the function may be called again with the
/// same arrival. PTX (peer): `ld.acquire.sys.b64` of each other PE's word, divided among the threads, until that PE has
/// arrived; a group barrier.
template <class Group, class Words, class Order = acquire_t>
  requires detail::is_barrier<Words>
[[nodiscard]] __device__ inline wait_result try_wait(Group group, const Words& words, const arrival& own, wait_budget budget,
                                                     Order order = Order()) noexcept {
  detail::require_group<Group>();
  constexpr bool right = order_among<Order, memory_order::relaxed, memory_order::acquire>;
  static_assert(right, "membar: a wait cannot release, because it writes nothing: use acquire or relaxed");
  if constexpr (right) {
    detail::missing_pe missing;
    return Group::any(!detail::wait_for_others(group, words, own.number(), budget, order, missing)) ? wait_result::timed_out
                                                                                                    : wait_result::done;
  } else {
    return wait_result::timed_out;
  }
}

/// The second half of a barrier, like `try_wait`. If the budget is used up first, prints which PEs are missing and ends the
/// kernel with a trap.
template <class Group, class Words, class Order = acquire_t>
  requires detail::is_barrier<Words>
__device__ inline void wait(Group group, const Words& words, const arrival& own, wait_budget budget,
                            Order order = Order()) noexcept {
  detail::require_group<Group>();
  constexpr bool right = order_among<Order, memory_order::relaxed, memory_order::acquire>;
  static_assert(right, "membar: a wait cannot release, because it writes nothing: use acquire or relaxed");
  if constexpr (right) {
    detail::missing_pe missing;
    if (!detail::wait_for_others(group, words, own.number(), budget, order, missing)) {
      detail::trap_at_barrier(words.self(), missing, budget);
    }
    Group::sync();
  }
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
