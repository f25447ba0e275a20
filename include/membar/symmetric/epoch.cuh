// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Notifications and waits that are numbered by an epoch in device memory, so that a captured graph is correct in every replay.
#pragma once

#include <membar/detail/standard.hpp>
#include <membar/symmetric/operations.cuh>
#include <membar/symmetric/wait.cuh>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

namespace detail {

template <class Epoch>
[[nodiscard]] __device__ constexpr bool require_epoch() noexcept {
  constexpr bool symmetric = require_symmetric<Epoch>();
  if constexpr (symmetric) {
    constexpr bool one = std::is_same_v<typename Epoch::element_type, epoch> && is_one<Epoch>;
    static_assert(one, "membar: a numbered operation needs one epoch of this PE: allocate epochs, and select one with [index]");
    return one;
  } else {
    return false;
  }
}

/// The next number of an epoch. `keep` makes it the current number.
template <class Group>
class next_epoch {
 public:
  template <class Epoch>
  __device__ explicit next_epoch(const Epoch& epoch, unsigned long long step = 1) noexcept
      : word_(detail::word(epoch)), number_(*word_ + step) {}

  [[nodiscard]] __device__ unsigned long long number() const noexcept { return number_; }
  /// Returns the number as the sequence number of a packed message. It is never 0 and never equal to the previous number.
  [[nodiscard]] __device__ unsigned sequence() const noexcept { return static_cast<unsigned>(number_ % 0xffffffffULL) + 1; }

  /// Makes this number the epoch's current number. The call must follow a group barrier, so that all threads have read the
  /// number. It ends with a group barrier, after which the group may use the epoch again.
  __device__ void keep() const noexcept {
    if (Group::rank() == 0) {
      *word_ = number_;
    }
    Group::sync();
  }

 private:
  unsigned long long* word_;
  unsigned long long number_;
};

}  // namespace detail

/// Notifies `other` by setting the signal to the next number of the epoch `sent`.
///
/// Synchronizes like `notify` with `release`. Requires: one epoch for each PE that is notified, and one sender for each signal.
/// PTX (peer): `notify`, a load of the epoch by each thread, a store of the epoch by one thread, and two group barriers.
template <class Group, class Signal, class Epoch>
  requires(detail::is_symmetric<Epoch>)
__device__ inline void notify(Group group, const Signal& signal, const Epoch& sent, pe other) noexcept {
  if constexpr (detail::require_group<Group>() && detail::require_signal<Signal>() && detail::require_epoch<Epoch>()) {
    static_assert(std::is_same_v<detail::kind_of<Signal>, set>,
                  "membar: notifying a signal<add> needs no epoch: add 1, which is correct in every replay");
    const detail::next_epoch<Group> next(sent);
    notify(group, signal, next.number(), other);
    Group::sync();
    next.keep();
  }
}

/// Waits until the calling PE's signal has reached the next number of the epoch `seen`: the number of the previous wait plus
/// `step`. All threads of the group receive the result, `done` or `timed_out`. After `timed_out`, the next wait is for the same
/// number.
///
/// Synchronizes like `try_wait` with a condition. `step` is the total that all senders add between two waits; it is 1 for a
/// signal<set>. With several senders, no sender may add to the signal for the next wait until this wait has returned, because
/// the addition would count toward this wait. PTX (peer): `try_wait`, a load and a store of the epoch, and a group barrier.
template <class Group, class Signal, class Epoch>
  requires(detail::is_symmetric<Epoch>)
[[nodiscard]] __device__ inline wait_result try_wait(Group group, const Signal& signal, const Epoch& seen, wait_budget budget,
                                                     unsigned long long step = 1) noexcept {
  if constexpr (detail::require_epoch<Epoch>()) {
    const detail::next_epoch<Group> next(seen, step);
    const wait_result ended = try_wait(group, signal, at_least(next.number()), budget);
    if (ended == wait_result::done) {
      next.keep();
    }
    return ended;
  } else {
    return wait_result::timed_out;
  }
}

/// Waits for the next number of the epoch `seen`, like `try_wait`. If the budget is used up first, prints the PE, the address,
/// the expected value and the current value, and ends the kernel with a trap.
template <class Group, class Signal, class Epoch>
  requires(detail::is_symmetric<Epoch>)
__device__ inline void wait(Group group, const Signal& signal, const Epoch& seen, wait_budget budget,
                            unsigned long long step = 1) noexcept {
  if constexpr (detail::require_epoch<Epoch>()) {
    const detail::next_epoch<Group> next(seen, step);
    wait(group, signal, at_least(next.number()), budget);
    next.keep();
  }
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
