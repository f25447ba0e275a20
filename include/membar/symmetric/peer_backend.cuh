// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The device part of the peer backend: every operation consists of loads and stores at the other PE's address.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/group_copy.cuh>
#include <membar/detail/standard.hpp>
#include <membar/fence.cuh>
#include <membar/load_store.cuh>
#include <membar/symmetric/group.cuh>
#include <membar/symmetric/reach.hpp>
#include <membar/symmetric/word.hpp>

#if !defined(__CUDACC_RTC__)
#include <membar/symmetric/peer_backend.hpp>
#endif

namespace membar {
inline namespace v0_3 {
namespace symmetric::detail {

/// All synchronization is at system scope. Addresses are the calling PE's addresses; `other` selects the PE whose object is
/// accessed.
template <>
struct transport<peer_reach> {
  template <class T>
  [[nodiscard]] __device__ static T* at(const peer_reach& reach, T* local, pe other) noexcept {
    return static_cast<T*>(reach.direct(local, other));
  }

  template <class Group>
  __device__ static void put(Group group, const peer_reach& reach, void* to, const void* from, std::size_t bytes,
                             pe other) noexcept {
    // Every PE's memory begins at a multiple of 256 bytes, so an object has the same alignment on every PE.
    membar::detail::group_copy(group, to, from, bytes, [&](void* own) { return reach.direct(own, other); });
  }

  template <class Group>
  __device__ static void put_nonblocking(Group group, const peer_reach& reach, void* to, const void* from, std::size_t bytes,
                                         pe other) noexcept {
    put(group, reach, to, from, bytes, other);
  }

  template <class Group>
  __device__ static void get(Group group, const peer_reach& reach, void* to, const void* from, std::size_t bytes,
                             pe other) noexcept {
    // The const_cast is safe, because `from` is only read; its address is computed in the same way as any object's.
    membar::detail::group_copy(group, to, reach.direct(const_cast<void*>(from), other), bytes);
  }

  template <class Group>
  __device__ static void get_nonblocking(Group group, const peer_reach& reach, void* to, const void* from, std::size_t bytes,
                                         pe other) noexcept {
    get(group, reach, to, from, bytes, other);
  }

  template <class T>
  __device__ static void put_value(const peer_reach& reach, T* to, const T& value, pe other) noexcept {
    membar::store<thread_scope::system>(at(reach, to, other), value, relaxed);
  }

  template <class T>
  [[nodiscard]] __device__ static T fetch(const peer_reach& reach, T* from, pe other) noexcept {
    return membar::load<thread_scope::system>(at(reach, from, other), relaxed);
  }

  template <class Kind, class Order>
  __device__ static void notify(const peer_reach& reach, unsigned long long* word, unsigned long long value, pe other,
                                Order order) noexcept {
    unsigned long long* const there = at(reach, word, other);
    if constexpr (std::is_same_v<Kind, set>) {
      membar::store<thread_scope::system>(there, value, order);
    } else {
      atomic_ref<unsigned long long, thread_scope::system>(*there).add(value, order);
    }
  }

  /// A heap's reach contains the locations of that heap on the other PEs. The signal has its own reach, because it may belong
  /// to a different heap from the data.
  template <class Kind, class Group>
  __device__ static void put_signal(Group group, const peer_reach& reach, void* to, const void* from, std::size_t bytes,
                                    const peer_reach& signal_reach, unsigned long long* word, unsigned long long value,
                                    pe other) noexcept {
    put(group, reach, to, from, bytes, other);
    // The barrier orders the group's stores before the release, which is cumulative. After the barrier, `from` may be reused.
    Group::sync();
    if (Group::rank() == 0) {
      notify<Kind>(signal_reach, word, value, other, release);
    }
  }

  template <class Kind, class Group>
  __device__ static void put_signal_nonblocking(Group group, const peer_reach& reach, void* to, const void* from,
                                                std::size_t bytes, const peer_reach& signal_reach, unsigned long long* word,
                                                unsigned long long value, pe other) noexcept {
    put_signal<Kind>(group, reach, to, from, bytes, signal_reach, word, value, other);
  }

  template <class Kind, class Group>
  __device__ static void notify_transitively(Group, const peer_reach& reach, unsigned long long* word, unsigned long long value,
                                             pe other) noexcept {
    Group::sync();
    if (Group::rank() == 0) {
      notify<Kind>(reach, word, value, other, release);
    }
  }

  /// Called by one thread, after a group barrier.
  __device__ static void fence(const peer_reach&) noexcept { thread_fence<thread_scope::system>(acq_rel); }
  __device__ static void quiet(const peer_reach&) noexcept { thread_fence<thread_scope::system>(acq_rel); }
  /// When an instruction is complete, its source has been read or its result is available; a barrier extends this to the group.
  template <class Group>
  __device__ static void flush(const peer_reach&) noexcept {
    Group::sync();
  }

  /// After a group barrier, stores `value` in the word of each of `others`. The stores are divided among the group's threads.
  template <class Group, class Others, class Order>
  __device__ static void arrive_everywhere(Group, const peer_reach& reach, const Others& others, unsigned long long* word,
                                           unsigned long long value, Order) noexcept {
    const int count = others.size();
    const int step = static_cast<int>(Group::size());
    // Each store is a release, and the threads' stores run in parallel. A thread with several stores is faster with a single
    // fence and relaxed stores.
    const bool fences = !std::is_same_v<Order, relaxed_t> && count > step;
    Group::sync();
    if (fences) {
      thread_fence<thread_scope::system>(release);
    }
    for (int k = static_cast<int>(Group::rank()); k < count; k += step) {
      const pe other = others[k];
      if (std::is_same_v<Order, relaxed_t> || fences) {
        notify<set>(reach, word, value, other, relaxed);
      } else {
        notify<set>(reach, word, value, other, release);
      }
    }
  }

  template <amo Operation, class T, class Order>
  __device__ static T apply(const peer_reach& reach, T* word, T value, pe other, Order order) noexcept {
    const atomic_ref<T, thread_scope::system> there(*at(reach, word, other));
    if constexpr (Operation == amo::load) {
      return there.load(order);
    } else if constexpr (Operation == amo::store) {
      there.store(value, order);
    } else if constexpr (Operation == amo::exchange) {
      return there.exchange(value, order);
    } else if constexpr (Operation == amo::add) {
      there.add(value, order);
    } else if constexpr (Operation == amo::fetch_add) {
      return there.fetch_add(value, order);
    } else if constexpr (Operation == amo::bitwise_and) {
      there.bit_and(value, order);
    } else if constexpr (Operation == amo::fetch_and) {
      return there.fetch_and(value, order);
    } else if constexpr (Operation == amo::bitwise_or) {
      there.bit_or(value, order);
    } else if constexpr (Operation == amo::fetch_or) {
      return there.fetch_or(value, order);
    } else if constexpr (Operation == amo::bitwise_xor) {
      there.bit_xor(value, order);
    } else if constexpr (Operation == amo::fetch_xor) {
      return there.fetch_xor(value, order);
    } else if constexpr (Operation == amo::min) {
      there.min(value, order);
    } else if constexpr (Operation == amo::fetch_min) {
      return there.fetch_min(value, order);
    } else if constexpr (Operation == amo::max) {
      there.max(value, order);
    } else {
      static_assert(Operation == amo::fetch_max);
      return there.fetch_max(value, order);
    }
    return value;
  }

  template <class T, class Order>
  __device__ static T compare_exchange(const peer_reach& reach, T* word, T expected, T desired, pe other,
                                       Order order) noexcept {
    static_cast<void>(atomic_ref<T, thread_scope::system>(*at(reach, word, other))
                          .compare_exchange(expected, desired, order, acquire_half(order)));
    return expected;
  }
};

}  // namespace symmetric::detail
}  // namespace v0_3
}  // namespace membar
