// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The orders as the host compiler's atomic functions spell them, and the host's fence.
#pragma once

#include <membar/memory_order.hpp>

#if !defined(__CUDACC_RTC__)
#include <sched.h>
#endif

namespace membar {
inline namespace v0_3 {
namespace detail {

/// Returns the order as an argument of `__atomic_load_n` and similar functions. The enumerators have the same values.
template <memory_order Order>
inline constexpr int host_order = static_cast<int>(Order);

/// Waits between polls on the host. Executes pause instructions, doubling their number each time, and eventually yields the
/// processor.
class host_back_off {
 public:
  MEMBAR_HOST void operator()() noexcept {
#if !defined(__CUDACC_RTC__)
    for (int i = 0; i != pauses_; ++i) {
#if defined(__x86_64__)
      __asm__ volatile("pause" ::: "memory");
#elif defined(__aarch64__)
      __asm__ volatile("yield" ::: "memory");
#endif
    }
    if (pauses_ == 64) {
      static_cast<void>(sched_yield());
    } else {
      pauses_ *= 2;
    }
#endif
  }

 private:
  int pauses_ = 1;
};

template <memory_order Order>
MEMBAR_HOST inline void host_fence() noexcept {
#if !defined(__CUDACC_RTC__)
  __atomic_thread_fence(host_order<Order>);
#endif
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
