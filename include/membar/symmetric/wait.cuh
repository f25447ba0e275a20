// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Waits for signals, with a budget, and tests of signals. Both acquire at system scope.
#pragma once

#include <membar/detail/standard.hpp>
#include <membar/load_store.cuh>
#include <membar/symmetric/operations.cuh>
#include <membar/wait_budget.cuh>

#if !defined(__CUDACC_RTC__)  // NVRTC provides printf without a header
#include <cstdio>
#endif

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// The condition that a signal equals a value. A wait misses a value that is overwritten too early, so use this condition only
/// if the sender waits for an answer before it sets the signal again.
class equals {
 public:
  MEMBAR_HOST_DEVICE constexpr explicit equals(unsigned long long value) noexcept : value_(value) {}
  static constexpr const char* words = "equal to";
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned long long value() const noexcept { return value_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool holds(unsigned long long seen) const noexcept { return seen == value_; }

 private:
  unsigned long long value_;
};

/// The condition that a signal has reached a value: `seen - value`, as a signed number, is not negative. Counts may wrap around
/// as long as the two values stay within 2^63 of each other. The condition has the same meaning on a stream and in a kernel.
class at_least {
 public:
  MEMBAR_HOST_DEVICE constexpr explicit at_least(unsigned long long value) noexcept : value_(value) {}
  static constexpr const char* words = "at least";
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned long long value() const noexcept { return value_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool holds(unsigned long long seen) const noexcept {
    return static_cast<long long>(seen - value_) >= 0;
  }

 private:
  unsigned long long value_;
};

namespace detail {

using membar::detail::polling;

template <class Signal, class Condition, class Order, thread_scope Scope>
[[nodiscard]] __device__ constexpr bool require_wait() noexcept {
  constexpr bool condition = std::is_same_v<Condition, equals> || std::is_same_v<Condition, at_least>;
  static_assert(
      Scope == thread_scope::system,
      "membar: a signal comes from another PE: wait for it at system scope, the only scope that includes that PE's threads");
  static_assert(condition, "membar: the condition of a wait must be equals(value) or at_least(value)");
  static_assert(order_among<Order, memory_order::relaxed, memory_order::acquire>,
                "membar: a wait cannot release, because it writes nothing: use acquire or relaxed");
  constexpr bool signal = require_signal<Signal>();
  if constexpr (signal) {
    constexpr bool exact =
        std::is_same_v<typename Signal::element_type, symmetric::signal<add>> && std::is_same_v<Condition, equals>;
    static_assert(!exact, "membar: a signal<add> may skip a value between two polls: wait until it is at_least(value)");
    return !exact && condition && Scope == thread_scope::system &&
           order_among<Order, memory_order::relaxed, memory_order::acquire>;
  } else {
    return false;
  }
}

/// A stop condition that never aborts a wait before its budget is used up.
struct never_stop {
  [[nodiscard]] __device__ bool operator()() const noexcept { return false; }
};

/// Informs the backend that a thread has seen a signal, if a network connects some PEs and the backend needs this information.
template <class Signal, class Order>
__device__ inline void note_arrival([[maybe_unused]] const Signal& signal, [[maybe_unused]] unsigned long long seen,
                                    Order) noexcept {
  if constexpr (Order::value != memory_order::relaxed && Signal::backend::visible == visibility::destination_only &&
                requires { transport_of<Signal>::arrived(word(signal), seen); }) {
    transport_of<Signal>::arrived(word(signal), seen);
  }
}

/// Polls until the condition holds, the budget of `poll` is used up, or `stop()` returns true. `seen` is the last value read.
/// Several waits may share one `poll` and thus one budget.
template <class Order, class Condition, class Stop = never_stop>
[[nodiscard]] __device__ inline bool poll_signal(const unsigned long long* word, Condition condition, polling& poll,
                                                 unsigned long long& seen, Order order, Stop stop = Stop()) noexcept {
  for (;;) {
    // The inner loop is as short as possible, because a signal that has arrived is not noticed until the next poll.
#pragma unroll 1
    for (unsigned polls = polling::polls_per_look; polls != 0; --polls) {
      seen = membar::load<thread_scope::system>(word, order);
      if (condition.holds(seen)) {
        return true;
      }
    }
    if (poll.time_is_up() || stop()) {
      return false;
    }
  }
}

/// Prints the awaited word with its expected and current values, and ends the kernel with a trap. This function is not inlined,
/// so that it does not cost the wait any registers.
[[noreturn]] __device__ __noinline__ inline void trap_waiting(const char* what, int self, const void* address,
                                                              const char* words, unsigned long long expected,
                                                              unsigned long long seen,
                                                              unsigned long long nanoseconds) noexcept {
  printf(
      "membar: PE %d waited %llu ns for the %s at %p to be %s %llu, but it is %llu: the sender has not run yet, has ended, or "
      "is waiting itself\n",
      self, nanoseconds, what, address, words, expected, seen);
  __trap();
  __builtin_unreachable();
}

}  // namespace detail

/// Returns the current value of the calling PE's signal. Only the calling thread executes the load. PTX:
/// `ld.{acquire,relaxed}.sys.b64`.
template <class Signal, class Order = acquire_t>
[[nodiscard]] __device__ inline unsigned long long signal_value(const Signal& signal, Order order = Order()) noexcept {
  if constexpr (detail::require_wait<Signal, at_least, Order, thread_scope::system>()) {
    return membar::load<thread_scope::system>(static_cast<const unsigned long long*>(detail::word(signal)), order);
  } else {
    return 0;
  }
}

/// Returns whether the calling PE's signal meets `condition` now. Only the calling thread executes the test, and it acquires if
/// the condition is met.
///
/// Synchronizes with the release that wrote the value read and, for a signal<add>, with the releases that wrote earlier values.
/// PTX: `ld.acquire.sys.b64`.
template <thread_scope Scope = thread_scope::system, class Signal, class Condition, class Order = acquire_t>
[[nodiscard]] __device__ inline bool test(const Signal& signal, Condition condition, Order order = Order()) noexcept {
  if constexpr (detail::require_wait<Signal, Condition, Order, Scope>()) {
    const unsigned long long seen = signal_value(signal, order);
    const bool holds = condition.holds(seen);
    if (holds) {
      detail::note_arrival(signal, seen, order);
    }
    return holds;
  } else {
    return false;
  }
}

/// Waits until the calling PE's signal meets `condition`. All threads of the group receive the result, `done` or `timed_out`.
///
/// If the result is `done`, the whole group synchronizes with the release that wrote the value. PTX: one thread executes
/// `ld.acquire.sys.b64` until the condition holds; a group barrier passes on the result.
template <thread_scope Scope = thread_scope::system, class Group, class Signal, class Condition, class Order = acquire_t>
[[nodiscard]] __device__ inline wait_result try_wait(Group, const Signal& signal, Condition condition, wait_budget budget,
                                                     Order order = Order()) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_wait<Signal, Condition, Order, Scope>()) {
    bool late = false;
    if (Group::rank() == 0) {
      unsigned long long seen = 0;
      detail::polling poll(budget);
      late = !detail::poll_signal(detail::word(signal), condition, poll, seen, order);
      if (!late) {
        detail::note_arrival(signal, seen, order);
      }
    }
    return Group::any(late) ? wait_result::timed_out : wait_result::done;
  } else {
    return wait_result::timed_out;
  }
}

/// Waits until the calling PE's signal meets `condition`. If the budget is used up first, prints the PE, the address, the
/// expected value and the current value, and ends the kernel with a trap.
///
/// Synchronizes like `try_wait`, which is cheaper for a thread or a warp: in a kernel that may print, the compiler makes the
/// lanes of a warp reconverge in every iteration of the polling loop.
template <thread_scope Scope = thread_scope::system, class Group, class Signal, class Condition, class Order = acquire_t>
__device__ inline void wait(Group, const Signal& signal, Condition condition, wait_budget budget,
                            Order order = Order()) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_wait<Signal, Condition, Order, Scope>()) {
    if (Group::rank() == 0) {
      const unsigned long long* const word = detail::word(signal);
      unsigned long long seen = 0;
      detail::polling poll(budget);
      if (!detail::poll_signal(word, condition, poll, seen, order)) {
        detail::trap_waiting("signal", signal.self().index(), word, Condition::words, condition.value(), seen,
                             budget.in_nanoseconds());
      }
      detail::note_arrival(signal, seen, order);
    }
    Group::sync();
  }
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
