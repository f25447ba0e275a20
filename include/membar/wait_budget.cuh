// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// How long a synchronization pattern may wait, and how a wait ends. No wait hangs.
#pragma once

#include <membar/detail/compilation.cuh>
#include <membar/detail/config.hpp>
#include <membar/device_clock.cuh>

#if !defined(__CUDACC_RTC__)
#include <sched.h>
#include <time.h>
#endif

namespace membar {

/// How an operation of a pattern ended. Only `done` synchronizes, unless the operation says otherwise.
enum class [[nodiscard("only done means that it happened: compare it")]] wait_result : unsigned char{
    done,        ///< it happened
    would_wait,  ///< a `try_` operation would have to wait, and changed nothing
    timed_out,   ///< the wait budget is used up
    closed       ///< the object was closed: no such operation will happen again
};

/// The result's name: "done", "would_wait", "timed_out" or "closed".
[[nodiscard]] constexpr const char* name(wait_result result) noexcept {
  switch (result) {
    case wait_result::done:
      return "done";
    case wait_result::would_wait:
      return "would_wait";
    case wait_result::timed_out:
      return "timed_out";
    case wait_result::closed:
      return "closed";
  }
  return "unknown wait result";
}

/// The longest time that a wait may take. Every wait of a pattern takes one: there is no default, and no wait without end.
///
/// A wait polls a few dozen times before it first reads the clock, so a short wait costs no clock. The longest budget is 2^64 - 1
/// nanoseconds, about 584 years: a count that asks for more gets that.
class wait_budget {
 public:
  /// A budget of `count` nanoseconds.
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr wait_budget nanoseconds(unsigned long long count) noexcept {
    return wait_budget(count);
  }
  /// A budget of `count` microseconds.
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr wait_budget microseconds(unsigned long long count) noexcept {
    return wait_budget(product(count, 1000));
  }
  /// A budget of `count` milliseconds.
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr wait_budget milliseconds(unsigned long long count) noexcept {
    return wait_budget(product(count, 1'000'000));
  }

  /// The budget in nanoseconds.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned long long in_nanoseconds() const noexcept { return nanoseconds_; }

 private:
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr unsigned long long product(unsigned long long count,
                                                                               unsigned long long unit) noexcept {
    constexpr unsigned long long longest = ~0ULL;
    return count > longest / unit ? longest : count * unit;
  }

  MEMBAR_HOST_DEVICE constexpr explicit wait_budget(unsigned long long nanoseconds) noexcept : nanoseconds_(nanoseconds) {}

  unsigned long long nanoseconds_;
};

namespace detail {

/// The host's clock, after other threads had their turn: the awaited one may need this processor.
[[nodiscard]] inline unsigned long long host_clock_ns() noexcept {
#if defined(__CUDACC_RTC__)
  return 0;  // there is no host
#else
  static_cast<void>(sched_yield());
  timespec now{};
  static_cast<void>(clock_gettime(CLOCK_MONOTONIC, &now));
  return static_cast<unsigned long long>(now.tv_sec) * 1'000'000'000ULL + static_cast<unsigned long long>(now.tv_nsec);
#endif
}

/// Ends a loop of polls when its budget is used up.
class polling {
 public:
  static constexpr unsigned polls_per_look = 32;

  MEMBAR_HOST_DEVICE explicit polling(wait_budget budget) noexcept : budget_(budget.in_nanoseconds()) {}

  /// Whether the budget is used up. Called after each poll in vain; it reads the clock at every `polls_per_look`-th call.
  MEMBAR_CALLS_EITHER
  template <class Tag = void>
  [[nodiscard]] MEMBAR_HOST_DEVICE bool over() noexcept {
    return ++polls_ % polls_per_look == 0 && time_is_up();
  }

  /// Whether the budget is used up, by the clock. The first call starts the time.
  MEMBAR_CALLS_EITHER
  template <class Tag = void>
  [[nodiscard]] MEMBAR_HOST_DEVICE bool time_is_up() noexcept {
    unsigned long long now = 0;
    if constexpr (compiling_for_device) {
      now = global_nanoseconds();
    } else {
      now = host_clock_ns();
    }
    if (begin_ == 0) {
      begin_ = now;
    }
    return now - begin_ >= budget_;
  }

 private:
  unsigned long long budget_;
  unsigned long long begin_ = 0;
  unsigned polls_ = 0;
};

/// Lets other warps run for about `nanoseconds`. On the host it does nothing.
MEMBAR_CALLS_EITHER
template <class Tag = void>
MEMBAR_HOST_DEVICE void pause([[maybe_unused]] unsigned nanoseconds) noexcept {
  if constexpr (compiling_for_device) {
    __nanosleep(nanoseconds);
  }
}

/// Repeats `attempt` while it would have to wait and `budget` lasts.
MEMBAR_CALLS_EITHER
template <class Attempt>
MEMBAR_HOST_DEVICE wait_result wait_until(wait_budget budget, Attempt attempt) noexcept {
  for (polling poll(budget);;) {
    const wait_result result = attempt();
    if (result != wait_result::would_wait) {
      return result;
    }
    if (poll.over()) {
      return wait_result::timed_out;
    }
  }
}

/// The bit of a counter that says that its side was closed. The other bits count, and no count reaches this one.
inline constexpr unsigned long long closed_bit = 1ULL << 63;

[[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool is_power_of_two(int value) noexcept {
  return value > 0 && (value & (value - 1)) == 0;
}

}  // namespace detail
}  // namespace membar
