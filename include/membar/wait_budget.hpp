// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The maximum time that a synchronization pattern may wait, and the result of a wait. No wait hangs.
#pragma once

#include <membar/base/config.hpp>

namespace membar {
inline namespace v0_3 {

/// The result of a pattern's operation. Only `done` synchronizes, unless the operation's description says otherwise.
enum class [[nodiscard("only 'done' means that the awaited event happened: check the result")]] wait_result : unsigned char{
    done,        ///< the operation succeeded
    would_wait,  ///< a `try_` operation would have had to wait, and changed nothing
    timed_out,   ///< the wait budget was used up
    closed       ///< the object was closed: the operation can never succeed again
};

/// Returns the result's name: "done", "would_wait", "timed_out" or "closed".
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr const char* name(wait_result result) noexcept {
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

/// The maximum time that a wait may take. Every wait of a pattern has a budget: there is no default and no unlimited wait.
///
/// A wait polls a few dozen times before it first reads the clock, so a short wait does not pay for clock reads. The longest
/// budget is 2^64 - 1 nanoseconds, about 584 years; a larger count is reduced to that.
class wait_budget {
 public:
  /// Returns a budget of `count` nanoseconds.
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr wait_budget nanoseconds(unsigned long long count) noexcept {
    return wait_budget(count);
  }
  /// Returns a budget of `count` microseconds.
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr wait_budget microseconds(unsigned long long count) noexcept {
    return wait_budget(product(count, 1000));
  }
  /// Returns a budget of `count` milliseconds.
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr wait_budget milliseconds(unsigned long long count) noexcept {
    return wait_budget(product(count, 1'000'000));
  }

  /// Constructs a budget from a duration of `std::chrono` or `cuda::std::chrono`, rounded down to nanoseconds; a negative
  /// duration gives 0.
  MEMBAR_CALLS_EITHER
  template <class Duration>
    requires requires(const Duration& duration) {
      Duration::period::num;
      Duration::period::den;
      duration.count();
    }
  MEMBAR_HOST_DEVICE constexpr wait_budget(const Duration& duration) noexcept
      : nanoseconds_(in_nanoseconds(duration.count(), Duration::period::num, Duration::period::den)) {}

  /// Returns the budget in nanoseconds.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned long long in_nanoseconds() const noexcept { return nanoseconds_; }

 private:
  /// Returns `count` times `num / den` seconds.
  template <class Count>
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr unsigned long long in_nanoseconds(Count count, long long num,
                                                                                      long long den) noexcept {
    if (!(count > Count{0})) {
      return 0;
    }
    constexpr long long per_second = 1'000'000'000;
    const bool is_whole = static_cast<Count>(0.5) == Count{0};
    if (is_whole && per_second % den == 0) {
      return product(static_cast<unsigned long long>(count), static_cast<unsigned long long>(num * (per_second / den)));
    }
    const double unit = static_cast<double>(num) * 1e9 / static_cast<double>(den);
    const double units = static_cast<double>(count);
    return units >= 18446744073709551615.0 / unit ? ~0ULL : static_cast<unsigned long long>(units * unit);
  }
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr unsigned long long product(unsigned long long count,
                                                                               unsigned long long unit) noexcept {
    constexpr unsigned long long longest = ~0ULL;
    return count > longest / unit ? longest : count * unit;
  }

  MEMBAR_HOST_DEVICE constexpr explicit wait_budget(unsigned long long nanoseconds) noexcept : nanoseconds_(nanoseconds) {}

  unsigned long long nanoseconds_;
};

}  // namespace v0_3
}  // namespace membar
