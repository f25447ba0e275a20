// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A barrier of all PEs, by one group of threads of each.
#pragma once

#include <membar/detail/standard.hpp>
#include <membar/symmetric/operations.cuh>
#include <membar/symmetric/wait.cuh>
#include <membar/wait_budget.cuh>

namespace membar::inline v0_2::symmetric {

namespace detail {

template <class Words, class Order>
[[nodiscard]] __device__ constexpr bool require_barrier() noexcept {
  static_assert(order_among<Order, memory_order::relaxed, memory_order::acq_rel>,
                "membar: a barrier takes acq_rel, or relaxed to order nothing: every PE is on both sides of it");
  constexpr bool symmetric = require_symmetric<Words>();
  if constexpr (symmetric) {
    constexpr bool words = std::is_same_v<typename Words::element_type, barrier_word> && !is_one<Words>;
    static_assert(words, "membar: a barrier takes the words that a heap's allocate_barrier gave");
    return words && order_among<Order, memory_order::relaxed, memory_order::acq_rel>;
  } else {
    return false;
  }
}

/// The word that a thread of the group has waited for until its budget was used up.
struct missing_pe {
  const void* address = nullptr;
  unsigned long long expected = 0;
  unsigned long long seen = 0;
};

/// Arrives at every PE and waits for every PE, up to the last barrier of the group. Returns whether the PEs that this thread
/// waits for have arrived. The budget is for all of them together, and `stop()` gives up.
template <class Group, class Words, class Order, class Stop = never_stop>
[[nodiscard]] __device__ inline bool arrive_and_wait(Group group, const Words& words, wait_budget budget, Order,
                                                     missing_pe& missing, Stop stop = Stop()) noexcept {
  using backend_operations = transport_of<Words>;
  barrier_word* const own = local(words);
  const int count = words.count();
  const int self = words.self().index();
  // The last word counts this PE's barriers. All of the group read it before their first barrier, and one writes it after that.
  unsigned long long* const counted = word_access::raw(own + count);
  const unsigned long long phase = membar::load<thread_scope::system>(counted, relaxed) + 1;
  backend_operations::arrive_everywhere(group, words.reach(), word_access::raw(own + self), phase, Order{});
  if (Group::rank() == 0) {
    membar::store<thread_scope::system>(counted, phase, relaxed);
  }
  using load_order = std::conditional_t<std::is_same_v<Order, relaxed_t>, relaxed_t, acquire_t>;
  polling poll(budget);
  for (int k = static_cast<int>(Group::rank()); k < count - 1; k += static_cast<int>(Group::size())) {
    const int other = (self + 1 + k) % count;
    unsigned long long* const word = word_access::raw(own + other);
    unsigned long long seen = 0;
    if (!poll_signal(word, at_least(phase), poll, seen, load_order{}, stop)) {
      missing = {word, phase, seen};
      return false;
    }
    if constexpr (!std::is_same_v<Order, relaxed_t> &&
                  requires { backend_operations::arrived_from(words.reach(), word, seen, pe(other)); }) {
      backend_operations::arrived_from(words.reach(), word, seen, pe(other));
    }
  }
  return true;
}

}  // namespace detail

namespace detail {

/// As `try_barrier`, and gives up when `stop()`. `missing`: what it waited for last.
template <class Group, class Words, class Stop, class Order = acq_rel_t>
[[nodiscard]] __device__ inline bool barrier_unless(Group group, const Words& words, wait_budget budget, Stop stop,
                                                    missing_pe& missing, Order order = Order()) noexcept {
  return !Group::any(!arrive_and_wait(group, words, budget, order, missing, stop));
}

}  // namespace detail

/// Waits until every PE has called it as often as this one. Returns `done`, or `timed_out`, to all of the group. `words` are
/// from a heap's `allocate_barrier`. The budget is for the whole barrier.
///
/// Synchronizes, with `acq_rel`: what any PE's group did before, puts included, is visible to every PE's group after. With
/// `relaxed` nothing is ordered. Requires: one group of each PE at a time, and that the kernels of all PEs run at once. After
/// `timed_out` the barrier cannot be used again. PTX (peer): a barrier of the group; `st.release.sys.b64` to each other PE, or
/// by a thread that has several `fence.release.sys` and `st.relaxed.sys.b64`; `ld.acquire.sys.b64` of each other PE's word
/// until it has arrived, divided among the threads; a barrier of the group. NVSHMEM: `nvshmem_quiet` and `nvshmemx_signal_op`
/// to arrive.
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

/// Waits until every PE has called it as often as this one, as `try_barrier`. When the budget is used up it prints PE, address,
/// expected and seen value, and ends the kernel by a trap.
template <class Group, class Words, class Order = acq_rel_t>
__device__ inline void barrier(Group group, const Words& words, wait_budget budget, Order order = Order()) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_barrier<Words, Order>()) {
    detail::missing_pe missing;
    if (!detail::arrive_and_wait(group, words, budget, order, missing)) {
      detail::trap_waiting("barrier word", words.self().index(), missing.address, at_least::words, missing.expected,
                           missing.seen, budget.in_nanoseconds());
    }
    Group::sync();
  }
}

}  // namespace membar::inline v0_2::symmetric
