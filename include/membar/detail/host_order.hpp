// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// How the host compiler's atomic functions spell orders, and its fence.
#pragma once

#include <membar/memory_order.hpp>

namespace membar {
inline namespace v0_2 {
namespace detail {

#if defined(__CUDACC_RTC__)  // which has no host, and no names of its orders
template <memory_order Order>
inline constexpr int host_order = 0;
#else
/// The order as an argument of `__atomic_load_n` and its like.
template <memory_order Order>
inline constexpr int host_order = Order == memory_order::relaxed   ? __ATOMIC_RELAXED
                                  : Order == memory_order::acquire ? __ATOMIC_ACQUIRE
                                  : Order == memory_order::release ? __ATOMIC_RELEASE
                                  : Order == memory_order::acq_rel ? __ATOMIC_ACQ_REL
                                                                   : __ATOMIC_SEQ_CST;
#endif

template <memory_order Order>
MEMBAR_HOST inline void host_fence() noexcept {
#if !defined(__CUDACC_RTC__)
  __atomic_thread_fence(host_order<Order>);
#endif
}

}  // namespace detail
}  // namespace v0_2
}  // namespace membar
