// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The device part of the NVSHMEM backend, which adds the ordering that NVSHMEM's calls lack.
#pragma once

#include <membar/fence.cuh>
#include <membar/load_store.cuh>
#include <membar/symmetric/group.cuh>
#include <membar/symmetric/nvshmem_backend.hpp>
#include <membar/symmetric/on_stream.cuh>
#include <membar/symmetric/word.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace membar {
inline namespace v0_3 {
namespace symmetric::detail {

/// NVSHMEM orders operations with system-scope fences by the calling thread and has no acquire. An operation that must acquire
/// therefore executes a fence after NVSHMEM's call.
template <>
struct transport<nvshmem_reach> {
  template <class Group>
  __device__ static void put(Group, const nvshmem_reach&, void* to, const void* from, std::size_t bytes, pe other) noexcept {
    if constexpr (std::is_same_v<Group, by_block_t>) {
      nvshmemx_putmem_block(to, from, bytes, other.index());
    } else if constexpr (std::is_same_v<Group, by_warp_t>) {
      nvshmemx_putmem_warp(to, from, bytes, other.index());
    } else {
      nvshmem_putmem(to, from, bytes, other.index());
    }
  }

  template <class Group>
  __device__ static void put_nonblocking(Group, const nvshmem_reach&, void* to, const void* from, std::size_t bytes,
                                         pe other) noexcept {
    if constexpr (std::is_same_v<Group, by_block_t>) {
      nvshmemx_putmem_nbi_block(to, from, bytes, other.index());
    } else if constexpr (std::is_same_v<Group, by_warp_t>) {
      nvshmemx_putmem_nbi_warp(to, from, bytes, other.index());
    } else {
      nvshmem_putmem_nbi(to, from, bytes, other.index());
    }
  }

  template <class Group>
  __device__ static void get(Group, const nvshmem_reach&, void* to, const void* from, std::size_t bytes, pe other) noexcept {
    if constexpr (std::is_same_v<Group, by_block_t>) {
      nvshmemx_getmem_block(to, from, bytes, other.index());
    } else if constexpr (std::is_same_v<Group, by_warp_t>) {
      nvshmemx_getmem_warp(to, from, bytes, other.index());
    } else {
      nvshmem_getmem(to, from, bytes, other.index());
    }
  }

  template <class Group>
  __device__ static void get_nonblocking(Group, const nvshmem_reach&, void* to, const void* from, std::size_t bytes,
                                         pe other) noexcept {
    if constexpr (std::is_same_v<Group, by_block_t>) {
      nvshmemx_getmem_nbi_block(to, from, bytes, other.index());
    } else if constexpr (std::is_same_v<Group, by_warp_t>) {
      nvshmemx_getmem_nbi_warp(to, from, bytes, other.index());
    } else {
      nvshmem_getmem_nbi(to, from, bytes, other.index());
    }
  }

  /// If loads and stores reach the PE, this is a single relaxed access, because NVSHMEM's accesses would be weak.
  template <class T>
  __device__ static void put_value(const nvshmem_reach& reach, T* to, const T& value, pe other) noexcept {
    require_whole<T>();
    if (void* const there = reach.direct(to, other); there != nullptr) {
      membar::store<thread_scope::system>(static_cast<T*>(there), value, relaxed);
      return;
    }
    if constexpr (sizeof(T) == 1) {
      nvshmem_uint8_p(reinterpret_cast<std::uint8_t*>(to), __builtin_bit_cast(std::uint8_t, value), other.index());
    } else if constexpr (sizeof(T) == 2) {
      nvshmem_uint16_p(reinterpret_cast<std::uint16_t*>(to), __builtin_bit_cast(std::uint16_t, value), other.index());
    } else if constexpr (sizeof(T) == 4) {
      nvshmem_uint32_p(reinterpret_cast<std::uint32_t*>(to), __builtin_bit_cast(std::uint32_t, value), other.index());
    } else if constexpr (sizeof(T) == 8) {
      nvshmem_uint64_p(reinterpret_cast<std::uint64_t*>(to), __builtin_bit_cast(std::uint64_t, value), other.index());
    }
  }

  template <class T>
  [[nodiscard]] __device__ static T fetch(const nvshmem_reach& reach, T* from, pe other) noexcept {
    require_whole<T>();
    if (void* const there = reach.direct(from, other); there != nullptr) {
      return membar::load<thread_scope::system>(static_cast<T*>(there), relaxed);
    }
    if constexpr (sizeof(T) == 1) {
      return __builtin_bit_cast(T, nvshmem_uint8_g(reinterpret_cast<std::uint8_t*>(from), other.index()));
    } else if constexpr (sizeof(T) == 2) {
      return __builtin_bit_cast(T, nvshmem_uint16_g(reinterpret_cast<std::uint16_t*>(from), other.index()));
    } else if constexpr (sizeof(T) == 4) {
      return __builtin_bit_cast(T, nvshmem_uint32_g(reinterpret_cast<std::uint32_t*>(from), other.index()));
    } else if constexpr (sizeof(T) == 8) {
      return __builtin_bit_cast(T, nvshmem_uint64_g(reinterpret_cast<std::uint64_t*>(from), other.index()));
    } else {
      return *from;  // this case is rejected above
    }
  }

  /// A release executes a fence first, so that the group's puts to `other` arrive before the signal.
  template <class Kind, class Order>
  __device__ static void notify(const nvshmem_reach&, unsigned long long* word, unsigned long long value, pe other,
                                Order) noexcept {
    if constexpr (Order::value == memory_order::release) {
      nvshmem_fence();
    }
    nvshmemx_signal_op(reinterpret_cast<std::uint64_t*>(word), value, signal_operation<Kind>, other.index());
  }

  template <class Kind, class Group>
  __device__ static void notify_transitively(Group, const nvshmem_reach& reach, unsigned long long* word,
                                             unsigned long long value, pe other) noexcept {
    Group::sync();
    if (Group::rank() == 0) {
      nvshmem_quiet();
      notify<Kind>(reach, word, value, other, relaxed);
    }
  }

  template <class Kind, class Group>
  __device__ static void put_signal(Group, const nvshmem_reach&, void* to, const void* from, std::size_t bytes,
                                    const nvshmem_reach&, unsigned long long* word, unsigned long long value,
                                    pe other) noexcept {
    auto* const signal = reinterpret_cast<std::uint64_t*>(word);
    if constexpr (std::is_same_v<Group, by_block_t>) {
      nvshmemx_putmem_signal_block(to, from, bytes, signal, value, signal_operation<Kind>, other.index());
    } else if constexpr (std::is_same_v<Group, by_warp_t>) {
      nvshmemx_putmem_signal_warp(to, from, bytes, signal, value, signal_operation<Kind>, other.index());
    } else {
      nvshmem_putmem_signal(to, from, bytes, signal, value, signal_operation<Kind>, other.index());
    }
  }

  template <class Kind, class Group>
  __device__ static void put_signal_nonblocking(Group, const nvshmem_reach&, void* to, const void* from, std::size_t bytes,
                                                const nvshmem_reach&, unsigned long long* word, unsigned long long value,
                                                pe other) noexcept {
    auto* const signal = reinterpret_cast<std::uint64_t*>(word);
    if constexpr (std::is_same_v<Group, by_block_t>) {
      nvshmemx_putmem_signal_nbi_block(to, from, bytes, signal, value, signal_operation<Kind>, other.index());
    } else if constexpr (std::is_same_v<Group, by_warp_t>) {
      nvshmemx_putmem_signal_nbi_warp(to, from, bytes, signal, value, signal_operation<Kind>, other.index());
    } else {
      nvshmem_putmem_signal_nbi(to, from, bytes, signal, value, signal_operation<Kind>, other.index());
    }
  }

  /// Called by one thread, after a group barrier.
  __device__ static void fence(const nvshmem_reach&) noexcept { nvshmem_fence(); }
  __device__ static void quiet(const nvshmem_reach&) noexcept { nvshmem_quiet(); }
  /// NVSHMEM cannot complete the local side separately, so this completes everything. The first barrier is needed because some
  /// threads may not have started their parts yet.
  template <class Group>
  __device__ static void flush(const nvshmem_reach&) noexcept {
    Group::sync();
    if (Group::rank() == 0) {
      nvshmem_quiet();
    }
    Group::sync();
  }

  /// Called by the thread that has seen a signal, before its group reads data: only NVSHMEM's own wait guarantees that the data
  /// has arrived with the signal. The condition of this wait holds for every value that the signal can have at this point.
  __device__ static void arrived(unsigned long long* word, unsigned long long seen) noexcept {
    nvshmem_signal_wait_until(reinterpret_cast<std::uint64_t*>(word), NVSHMEM_CMP_NE, seen ^ (1ULL << 63));
  }
  /// Called by the thread that has seen the barrier word of PE `other`. A network card may write the word before the data,
  /// because the data takes another path. NVSHMEM's own barrier and wait make this PE's memory consistent before they return.
  __device__ static void arrived_from(const nvshmem_reach& reach, unsigned long long* word, unsigned long long seen,
                                      pe other) noexcept {
    if (reach.direct(word, other) == nullptr) {
      arrived(word, seen);
    }
  }

  /// One thread completes the group's puts. Each thread that signals executes a fence, because only a thread's own fence makes
  /// its store a release.
  template <class Group, class Others, class Order>
  __device__ static void arrive_everywhere(Group, const nvshmem_reach& reach, const Others& others, unsigned long long* word,
                                           unsigned long long value, Order) noexcept {
    constexpr bool releases = !std::is_same_v<Order, relaxed_t>;
    Group::sync();
    if constexpr (releases) {
      if (Group::rank() == 0) {
        nvshmem_quiet();
      }
      Group::sync();
    }
    const int first = static_cast<int>(Group::rank());
    if (releases && first < others.size()) {
      thread_fence<thread_scope::system>(release);
    }
    for (int k = first; k < others.size(); k += static_cast<int>(Group::size())) {
      notify<set>(reach, word, value, others[k], relaxed);
    }
  }

  /// All types are handled as unsigned integers of their size: sums wrap around in the same way, and NVSHMEM lacks some
  /// operations for the other types.
  template <amo Operation, class T, class Order>
  __device__ static T apply(const nvshmem_reach&, T* word, T value, pe other, Order) noexcept {
    static_assert((Operation & (every_type_amos | integer_amos)) != amo::none,
                  "membar: NVSHMEM supports neither minimum nor maximum between PEs: use amo_compare_exchange");
    static_assert(std::is_integral_v<T> || (Operation & every_type_amos) != amo::none,
                  "membar: NVSHMEM cannot add to floating-point counters of other PEs: use amo_compare_exchange on their bits");
    before<Order>();
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const bits operand = __builtin_bit_cast(bits, value);
    const T result = __builtin_bit_cast(T, applied<Operation>(reinterpret_cast<bits*>(word), operand, other.index()));
    after<Order>();
    return result;
  }

  template <class T, class Order>
  __device__ static T compare_exchange(const nvshmem_reach&, T* word, T expected, T desired, pe other, Order) noexcept {
    before<Order>();
    T result;
    if constexpr (sizeof(T) == 4) {
      result = __builtin_bit_cast(T, nvshmem_uint32_atomic_compare_swap(
                                         reinterpret_cast<std::uint32_t*>(word), __builtin_bit_cast(std::uint32_t, expected),
                                         __builtin_bit_cast(std::uint32_t, desired), other.index()));
    } else {
      result = __builtin_bit_cast(T, nvshmem_uint64_atomic_compare_swap(
                                         reinterpret_cast<std::uint64_t*>(word), __builtin_bit_cast(std::uint64_t, expected),
                                         __builtin_bit_cast(std::uint64_t, desired), other.index()));
    }
    after<Order>();
    return result;
  }

 private:
  template <class T>
  __device__ static constexpr void require_whole() noexcept {
    static_assert(sizeof(T) <= 8,
                  "membar: NVSHMEM transfers at most 8 bytes in one piece: use put_signal for larger types, or use put and "
                  "get, which may transfer them in pieces");
  }

  template <class Kind>
  static constexpr int signal_operation = std::is_same_v<Kind, set> ? NVSHMEM_SIGNAL_SET : NVSHMEM_SIGNAL_ADD;

  template <class Order>
  __device__ static void before() noexcept {
    if constexpr (release_half(Order::value) != memory_order::relaxed) {
      nvshmem_fence();
    }
  }
  template <class Order>
  __device__ static void after() noexcept {
    if constexpr (acquire_half(Order::value) != memory_order::relaxed) {
      thread_fence<thread_scope::system>(acquire);
    }
  }

  template <amo Operation>
  __device__ static std::uint32_t applied(std::uint32_t* word, std::uint32_t value, int other) noexcept {
    if constexpr (Operation == amo::load) {
      return nvshmem_uint32_atomic_fetch(word, other);
    } else if constexpr (Operation == amo::store) {
      nvshmem_uint32_atomic_set(word, value, other);
    } else if constexpr (Operation == amo::exchange) {
      return nvshmem_uint32_atomic_swap(word, value, other);
    } else if constexpr (Operation == amo::add) {
      nvshmem_uint32_atomic_add(word, value, other);
    } else if constexpr (Operation == amo::fetch_add) {
      return nvshmem_uint32_atomic_fetch_add(word, value, other);
    } else if constexpr (Operation == amo::bitwise_and) {
      nvshmem_uint32_atomic_and(word, value, other);
    } else if constexpr (Operation == amo::fetch_and) {
      return nvshmem_uint32_atomic_fetch_and(word, value, other);
    } else if constexpr (Operation == amo::bitwise_or) {
      nvshmem_uint32_atomic_or(word, value, other);
    } else if constexpr (Operation == amo::fetch_or) {
      return nvshmem_uint32_atomic_fetch_or(word, value, other);
    } else if constexpr (Operation == amo::bitwise_xor) {
      nvshmem_uint32_atomic_xor(word, value, other);
    } else if constexpr (Operation == amo::fetch_xor) {
      return nvshmem_uint32_atomic_fetch_xor(word, value, other);
    }
    return value;
  }

  template <amo Operation>
  __device__ static std::uint64_t applied(std::uint64_t* word, std::uint64_t value, int other) noexcept {
    if constexpr (Operation == amo::load) {
      return nvshmem_uint64_atomic_fetch(word, other);
    } else if constexpr (Operation == amo::store) {
      nvshmem_uint64_atomic_set(word, value, other);
    } else if constexpr (Operation == amo::exchange) {
      return nvshmem_uint64_atomic_swap(word, value, other);
    } else if constexpr (Operation == amo::add) {
      nvshmem_uint64_atomic_add(word, value, other);
    } else if constexpr (Operation == amo::fetch_add) {
      return nvshmem_uint64_atomic_fetch_add(word, value, other);
    } else if constexpr (Operation == amo::bitwise_and) {
      nvshmem_uint64_atomic_and(word, value, other);
    } else if constexpr (Operation == amo::fetch_and) {
      return nvshmem_uint64_atomic_fetch_and(word, value, other);
    } else if constexpr (Operation == amo::bitwise_or) {
      nvshmem_uint64_atomic_or(word, value, other);
    } else if constexpr (Operation == amo::fetch_or) {
      return nvshmem_uint64_atomic_fetch_or(word, value, other);
    } else if constexpr (Operation == amo::bitwise_xor) {
      nvshmem_uint64_atomic_xor(word, value, other);
    } else if constexpr (Operation == amo::fetch_xor) {
      return nvshmem_uint64_atomic_fetch_xor(word, value, other);
    }
    return value;
  }
};

template <visibility Visible>
struct stream_transport<basic_nvshmem_backend<Visible>> {
  using backend = basic_nvshmem_backend<Visible>;

  template <class T>
  static void put(const heap<backend>&, const span<T, backend>& to, const T* from, pe other, cudaStream_t stream) {
    nvshmemx_putmem_on_stream(local(to), from, to.size() * sizeof(T), other.index(), stream);
  }
};

}  // namespace symmetric::detail
}  // namespace v0_3
}  // namespace membar
