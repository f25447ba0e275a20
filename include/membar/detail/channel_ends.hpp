// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Base classes of channels. They declare the operations that only a channel's producer or consumer has, so that the compiler's
/// message about a call on the channel itself explains how to make the call.
#pragma once

#include <membar/base/config.hpp>
#include <membar/wait_budget.hpp>

namespace membar {
inline namespace v0_3 {
namespace detail {

template <class... Arguments>
inline constexpr bool is_end = sizeof...(Arguments) == static_cast<unsigned>(-1);

/// The base class of a channel whose messages are pushed by an object of its class `producer`.
struct pushed_by_producer {
  template <class... Arguments>
  MEMBAR_HOST_DEVICE wait_result push(const Arguments&...) noexcept {
    static_assert(is_end<Arguments...>,
                  "membar: this channel has one producer, which pushes: construct the channel's producer from the channel, and "
                  "call its push or try_push");
    return wait_result::closed;
  }
  template <class... Arguments>
  MEMBAR_HOST_DEVICE wait_result try_push(const Arguments&... arguments) noexcept {
    return push(arguments...);
  }
};

/// The base class of a channel whose messages are popped by an object of its class `consumer`.
struct popped_by_consumer {
  template <class... Arguments>
  MEMBAR_HOST_DEVICE wait_result pop(const Arguments&...) noexcept {
    static_assert(is_end<Arguments...>,
                  "membar: this channel has one consumer, which pops: construct the channel's consumer from the channel, and "
                  "call its pop or try_pop");
    return wait_result::closed;
  }
  template <class... Arguments>
  MEMBAR_HOST_DEVICE wait_result try_pop(const Arguments&... arguments) noexcept {
    return pop(arguments...);
  }
};

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
