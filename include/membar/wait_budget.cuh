// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Waits in synchronization patterns, in kernels and on the host, limited by a `wait_budget`.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/compilation.cuh>
#include <membar/device_clock.cuh>
#include <membar/wait_budget.hpp>

#if !defined(__CUDACC_RTC__)
#include <sched.h>
#include <time.h>
#endif

namespace membar {
inline namespace v0_3 {
namespace detail {

/// Yields, because the awaited thread may need this processor, and then returns the time of the host's clock.
[[nodiscard]] MEMBAR_HOST inline unsigned long long host_clock_ns() noexcept {
#if defined(__CUDACC_RTC__)
  return 0;  // this compilation pass has no host code
#else
  static_cast<void>(sched_yield());
  timespec now{};
  static_cast<void>(clock_gettime(CLOCK_MONOTONIC, &now));
  return static_cast<unsigned long long>(now.tv_sec) * 1'000'000'000ULL + static_cast<unsigned long long>(now.tv_nsec);
#endif
}

/// Determines when a polling loop has used up its budget.
class polling {
 public:
  static constexpr unsigned polls_per_look = 32;

  MEMBAR_HOST_DEVICE explicit polling(wait_budget budget) noexcept : budget_(budget.in_nanoseconds()) {}

  /// Returns whether the budget is used up. Call it after each failed poll; it reads the clock in every `polls_per_look`-th
  /// call.
  MEMBAR_CALLS_EITHER
  template <class Tag = void>
  [[nodiscard]] MEMBAR_HOST_DEVICE bool over() noexcept {
    return ++polls_ % polls_per_look == 0 && time_is_up();
  }

  /// Returns whether the budget is used up, according to the clock. The first call starts the time measurement.
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

/// Lets other warps run for about `nanoseconds`. Does nothing on the host.
MEMBAR_CALLS_EITHER
template <class Tag = void>
MEMBAR_HOST_DEVICE void pause([[maybe_unused]] unsigned nanoseconds) noexcept {
  if constexpr (compiling_for_device) {
    __nanosleep(nanoseconds);
  }
}

/// Repeats `attempt` until it returns a result other than `would_wait` or the budget is used up.
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

/// The bit of a counter that marks its side as closed. The other bits are the count, which never reaches this bit.
inline constexpr unsigned long long closed_bit = 1ULL << 63;

[[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool is_power_of_two(int value) noexcept {
  return value > 0 && (value & (value - 1)) == 0;
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
