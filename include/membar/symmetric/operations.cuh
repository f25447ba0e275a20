// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// One-sided operations on symmetric objects: put, get, put with signal, notifications, and what orders and completes them.
///
/// A group (`by_thread`, `by_warp`, `by_block`) does an operation together: all of it call it with the same arguments. A
/// source of a put, and what a get writes to, is any memory of the own PE that the backend reaches: with NVSHMEM over a network
/// that is symmetric memory, or what was registered with it (`nvshmemx_buffer_register`); what is put to is named by a
/// symmetric address and a PE, which may be the own one. No operation begins with a meeting of the group: where one thread
/// wrote what another one copies, they meet before.
#pragma once

#include <membar/symmetric/backend.hpp>
#include <membar/symmetric/group.cuh>
#include <membar/symmetric/object.hpp>
#include <membar/symmetric/peer_backend.cuh>
#include <membar/symmetric/word.hpp>

#include <cstddef>
#include <type_traits>

namespace membar::symmetric {

namespace detail {

template <class Group>
__device__ constexpr void require_group() noexcept {
  static_assert(is_group<Group>, "membar: an operation is done by_thread, by_warp or by_block");
}

/// A symmetric address of data, and nothing that looks like one. Returns whether it is, so that one sentence is all that is
/// printed.
template <class Address>
[[nodiscard]] __device__ constexpr bool require_symmetric() noexcept {
  static_assert(
      !is_direct<Address>,
      "membar: the result of at(pe) is the address of another PE, and no symmetric address: pass the symmetric object, "
      "and the PE beside it");
  static_assert(!std::is_pointer_v<Address> && !std::is_array_v<Address>,
                "membar: a private pointer is no symmetric address: pass an object of a symmetric heap");
  static_assert(is_symmetric<Address> || is_direct<Address> || std::is_pointer_v<Address> || std::is_array_v<Address>,
                "membar: a symmetric address is wanted: pass an object of a symmetric heap");
  return is_symmetric<Address>;
}

template <class Address>
[[nodiscard]] __device__ constexpr bool require_data() noexcept {
  constexpr bool symmetric = require_symmetric<Address>();
  if constexpr (symmetric) {
    static_assert(
        !is_counter<typename Address::element_type>,
        "membar: a counter is changed by AMOs of its own type only: a put or a get of it would not be atomic with them");
    static_assert(!is_signal<typename Address::element_type>,
                  "membar: a signal is changed by notify and put_signal only, and waited for: it is no data");
    static_assert(is_counter<typename Address::element_type> || is_signal<typename Address::element_type> ||
                      !is_word<typename Address::element_type>,
                  "membar: barrier words and packed messages have operations of their own: they are no data");
    return !is_word<typename Address::element_type>;
  } else {
    return false;
  }
}

template <class Address>
[[nodiscard]] __device__ constexpr bool require_signal() noexcept {
  constexpr bool symmetric = require_symmetric<Address>();
  if constexpr (symmetric) {
    static_assert(is_signal<typename Address::element_type>,
                  "membar: only a signal is notified, waited for and tested: data may arrive in any order and in pieces");
    return is_signal<typename Address::element_type>;
  } else {
    return false;
  }
}

/// Data, and the signal that tells of it.
template <class To, class Signal>
[[nodiscard]] __device__ constexpr bool require_one_backend() noexcept {
  constexpr bool same = std::is_same_v<typename To::backend, typename Signal::backend>;
  static_assert(same,
                "membar: a put and its signal travel by one backend: allocate both in heaps of the same backend type, or put, "
                "and notify behind a quiet");
  return same;
}

/// The rule of operations that move one object at a fixed size.
template <class T>
[[nodiscard]] __device__ constexpr bool require_fixed_size() noexcept {
  static_assert(
      has_no_padding<T>,
      "membar: an operation of fixed size moves every byte, and this type has bytes that are no value: take the "
      "padding out, or put "
      "it as a span; for a struct of floating-point members without padding specialize membar::symmetric::has_no_padding");
  constexpr bool size = sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16;
  static_assert(size && alignof(T) >= sizeof(T),
                "membar: an operation of fixed size moves 1, 2, 4, 8 or 16 bytes, aligned to their size: put others as a span");
  return has_no_padding<T> && size && alignof(T) >= sizeof(T);
}

template <class Address>
inline constexpr bool is_one = false;
template <class T, class Backend>
inline constexpr bool is_one<object<T, Backend>> = true;

template <class Address>
[[nodiscard]] __device__ constexpr bool require_one() noexcept {
  static_assert(is_one<Address>, "membar: an operation of fixed size moves one object: take one of the span by [index]");
  return is_one<Address>;
}

/// A pointer to objects of the same type as those of the symmetric address.
template <class Address, class Source>
[[nodiscard]] __device__ constexpr bool require_source() noexcept {
  using element = typename Address::element_type;
  constexpr bool matches = std::is_convertible_v<const Source&, const element*>;
  static_assert(!is_direct<Source>,
                "membar: what is copied from or to here is memory of this PE, not the result of at(pe): get it, or put it");
  static_assert(is_direct<Source> || matches,
                "membar: the own side of a copy is a pointer to objects of the symmetric object's type; of a symmetric object, "
                "its local()");
  return matches && !is_direct<Source>;
}

/// Both sides of a copy.
template <class Address, class Source>
[[nodiscard]] __device__ constexpr bool require_copy() noexcept {
  if constexpr (require_data<Address>()) {
    return require_source<Address, Source>();
  } else {
    return false;
  }
}

/// One object of data that an operation of fixed size moves.
template <class Address>
[[nodiscard]] __device__ constexpr bool require_fixed_size_object() noexcept {
  if constexpr (require_data<Address>()) {
    return require_one<Address>() && require_fixed_size<typename Address::element_type>();
  } else {
    return false;
  }
}

/// What converts from anything: the parameter of a call that is refused anyway, so that its sentence is the only error.
struct anything {
  template <class T>
  __device__ constexpr anything(const T&) noexcept {}
};

/// What a symmetric address of data is of.
template <class Address>
struct element {
  using type = anything;
};
template <class Address>
  requires(is_symmetric<Address> && !is_word<typename Address::element_type>)
struct element<Address> {
  using type = typename Address::element_type;
};
template <class Address>
using element_of = typename element<Address>::type;

template <class Source>
[[nodiscard]] __device__ constexpr const void* source_of(const Source& from) noexcept {
  return from;
}

template <class T, class Backend>
[[nodiscard]] __device__ constexpr std::size_t bytes_of(const object<T, Backend>&) noexcept {
  return sizeof(T);
}
template <class T, class Backend>
[[nodiscard]] __device__ constexpr std::size_t bytes_of(const span<T, Backend>& span) noexcept {
  return span.size() * sizeof(T);
}

}  // namespace detail

// What fence, quiet and flush leave behind, for the operation that needs it: each of its own type, and of the group that did
// it, because the order holds for the operations of the thread that the group elected.

/// Puts of the group before are ordered before what it puts and notifies later, at each PE.
template <class Group>
struct fenced {};
/// They are complete besides: visible, as far as the visibility class goes.
template <class Group>
struct quieted : fenced<Group> {};
/// Sources may be used again and results are there; nothing is said about other PEs.
template <class Group>
struct flushed {};

/// Orders the group's earlier puts, AMOs, notifications and fetches with its later ones, at each PE. It completes nothing.
///
/// Synchronizes: a release at the destination for a notification behind it, and between two `fetch`es an acquire. PTX (peer): a
/// meeting of the group, `fence.acq_rel.sys` by one thread, a meeting. NVSHMEM: `nvshmem_fence`.
template <class Group, reach Reach>
__device__ inline fenced<Group> fence(Group, const Reach& reach) noexcept {
  detail::require_group<Group>();
  Group::sync();
  if (Group::rank() == 0) {
    detail::transport<Reach>::fence(reach);
  }
  Group::sync();
  return {};
}

/// Completes all that the group has started: puts are visible at their destinations, in the class `everywhere` at every PE;
/// results of gets are there.
///
/// PTX (peer): as `fence`. NVSHMEM: `nvshmem_quiet`.
template <class Group, reach Reach>
__device__ inline quieted<Group> quiet(Group, const Reach& reach) noexcept {
  detail::require_group<Group>();
  Group::sync();
  if (Group::rank() == 0) {
    detail::transport<Reach>::quiet(reach);
  }
  Group::sync();
  return {};
}

/// Ends the use of sources and makes results of non-blocking gets available, and nothing more: no other PE has to see anything.
///
/// PTX (peer): a meeting of the group. NVSHMEM: a meeting, `nvshmem_quiet` by one thread, for it has no weaker one, a meeting.
template <class Group, reach Reach>
__device__ inline flushed<Group> flush(Group, const Reach& reach) noexcept {
  detail::require_group<Group>();
  detail::transport<Reach>::template flush<Group>(reach);
  return {};
}

/// Copies the objects at `from`, of this PE, to all of `to` at `other`; on return `from` may be used again, by the whole group.
///
/// Synchronizes with nothing: `put_signal` or a notification tells the other PE. PTX (peer): `ld.weak.v4.b32` and
/// `st.weak.v4.b32`, eight under way per thread, where both addresses and the size are multiples of 16; elsewhere four, as wide
/// as the addresses allow; a meeting of the group. NVSHMEM: `nvshmemx_putmem_*`. It takes up to 45 registers: a kernel with
/// many of its own wants `__launch_bounds__` for large blocks.
template <class Group, class To, class From>
__device__ inline void put(Group group, const To& to, const From& from, pe other) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_copy<To, From>()) {
    detail::transport<typename To::reach_type>::put(group, to.reach(), detail::access::local(to), detail::source_of(from),
                                                    detail::bytes_of(to), other);
    Group::sync();
  }
}

/// The same, and returns at once: `from` is in use until `flush` or `quiet`.
template <class Group, class To, class From>
__device__ inline void put_nonblocking(Group group, const To& to, const From& from, pe other) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_copy<To, From>()) {
    detail::transport<typename To::reach_type>::put_nonblocking(group, to.reach(), detail::access::local(to),
                                                                detail::source_of(from), detail::bytes_of(to), other);
  }
}

/// Copies all of `from` at `other` to the objects at `to`, of this PE; on return they are there, for the whole group.
///
/// Synchronizes with nothing: wait for a signal first. Two gets are ordered by a `fence` only if they are `fetch`es. PTX
/// (peer): as `put`. NVSHMEM: `nvshmemx_getmem_*`.
template <class Group, class To, class From>
__device__ inline void get(Group group, To* to, const From& from, pe other) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_copy<From, To*>()) {
    detail::transport<typename From::reach_type>::get(group, from.reach(), to, detail::access::local(from),
                                                      detail::bytes_of(from), other);
    Group::sync();
  }
}

/// The same, and returns at once: what is at `to` is undefined until `flush` or `quiet`.
template <class Group, class To, class From>
__device__ inline void get_nonblocking(Group group, To* to, const From& from, pe other) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_copy<From, To*>()) {
    detail::transport<typename From::reach_type>::get_nonblocking(group, from.reach(), to, detail::access::local(from),
                                                                  detail::bytes_of(from), other);
  }
}

/// Stores one object, whole, at `other`. By the calling thread.
///
/// Relaxed: it orders nothing, and is no way to tell anybody. PTX (peer): `st.relaxed.sys`. NVSHMEM: `nvshmem_*_p`. Requires:
/// 1, 2, 4, 8 or 16 bytes without padding; with NVSHMEM 8 at most.
template <class To>
__device__ inline void put_value(const To& to, const detail::element_of<To>& value, pe other) noexcept {
  if constexpr (detail::require_fixed_size_object<To>()) {
    detail::transport<typename To::reach_type>::put_value(to.reach(), detail::access::local(to), value, other);
  }
}

/// Reads one object, whole, at `other`. By the calling thread.
///
/// Two fetches by a thread are ordered by a `fence` between them, and by nothing else. PTX (peer): `ld.relaxed.sys`. NVSHMEM:
/// `nvshmem_*_g`. Requires: 1, 2, 4, 8 or 16 bytes without padding; with NVSHMEM 8 at most.
template <class From>
[[nodiscard]] __device__ inline detail::element_of<From> fetch(const From& from, pe other) noexcept {
  if constexpr (detail::require_fixed_size_object<From>()) {
    return detail::transport<typename From::reach_type>::fetch(from.reach(), detail::access::local(from), other);
  }
}

/// `put`, and then tells `other`: sets the signal to `value`, or adds `value` to it.
///
/// Synchronizes: its data is released to the wait or test there that acquires the signal's new value. Of other puts it says
/// nothing that holds on every backend: two of them with one signal behind take a `fence` and `notify`. On return `from` may
/// be used again. The signal may be of another heap than the data, of the same backend type. PTX (peer): `put`; a meeting of
/// the group; by one thread `st.release.sys.b64`, of a signal that is added to `red.release.sys.add.u64`. NVSHMEM:
/// `nvshmemx_putmem_signal_*`.
template <class Group, class To, class From, class Signal>
__device__ inline void put_signal(Group group, const To& to, const From& from, const Signal& signal, unsigned long long value,
                                  pe other) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_copy<To, From>() && detail::require_signal<Signal>()) {
    if constexpr (detail::require_one_backend<To, Signal>()) {
      detail::transport<typename To::reach_type>::template put_signal<typename Signal::element_type::kind>(
          group, to.reach(), detail::access::local(to), detail::source_of(from), detail::bytes_of(to), signal.reach(),
          detail::word_access::raw(detail::access::local(signal)), value, other);
    }
  }
}

/// The same, and returns at once: `from` is in use until `flush` or `quiet`. Two of them are not ordered with each other.
template <class Group, class To, class From, class Signal>
__device__ inline void put_signal_nonblocking(Group group, const To& to, const From& from, const Signal& signal,
                                              unsigned long long value, pe other) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_copy<To, From>() && detail::require_signal<Signal>()) {
    if constexpr (detail::require_one_backend<To, Signal>()) {
      detail::transport<typename To::reach_type>::template put_signal_nonblocking<typename Signal::element_type::kind>(
          group, to.reach(), detail::access::local(to), detail::source_of(from), detail::bytes_of(to), signal.reach(),
          detail::word_access::raw(detail::access::local(signal)), value, other);
    }
  }
}

/// Tells `other`: sets the signal to `value`, or adds `value` to it.
///
/// Synchronizes, with `release`: what the group has put to `other` before, by blocking operations, is released to whoever
/// acquires the new value there; what it put to other PEs, only by `notify_transitively`. With `relaxed`: nothing. PTX (peer):
/// a meeting of the group; by one thread `st.{release,relaxed}.sys.b64` or `red.{release,relaxed}.sys.add.u64`. NVSHMEM:
/// `nvshmem_fence` for `release`, and `nvshmemx_signal_op`.
template <class Group, class Signal, class Order = release_t>
  requires memory_order_tag<Order>
__device__ inline void notify(Group, const Signal& signal, unsigned long long value, pe other, Order order = Order()) noexcept {
  detail::require_group<Group>();
  static_assert(order_among<Order, memory_order::relaxed, memory_order::release>,
                "membar: a notification takes relaxed or release: it reads nothing that could be acquired");
  if constexpr (detail::require_signal<Signal>()) {
    Group::sync();
    if (Group::rank() == 0) {
      detail::transport<typename Signal::reach_type>::template notify<typename Signal::element_type::kind>(
          signal.reach(), detail::word_access::raw(detail::access::local(signal)), value, other, order);
    }
  }
}

/// The same behind a `fence` or `quiet` of the same group, which released already: only the missing part is done, by the
/// thread that fenced.
template <class Group, class Signal, class FencedGroup>
__device__ inline void notify(Group group, const Signal& signal, unsigned long long value, pe other,
                              fenced<FencedGroup>) noexcept {
  static_assert(std::is_same_v<Group, FencedGroup>,
                "membar: a fence orders the notification of the thread that fenced: fence and notify by the same group");
  static_cast<void>(group);
  if constexpr (detail::require_signal<Signal>()) {
    if (Group::rank() == 0) {
      detail::transport<typename Signal::reach_type>::template notify<typename Signal::element_type::kind>(
          signal.reach(), detail::word_access::raw(detail::access::local(signal)), value, other, relaxed);
    }
  }
}

/// A flush says nothing about other PEs.
template <class Group, class Signal, class FlushedGroup>
__device__ inline void notify(Group, const Signal&, unsigned long long, pe, flushed<FlushedGroup>) noexcept {
  static_assert(!std::is_same_v<FlushedGroup, FlushedGroup>,
                "membar: a flush completes nothing at another PE: take fence or quiet before a notification");
}

/// Tells `other` of what this PE has put to any PE, and of what it has been told: a transitive notification.
///
/// Synchronizes: all that the group has put anywhere, and has observed, is released to whoever acquires the new value.
/// Requires the visibility class `everywhere`: across a network data is visible at its destination only, and a third PE may be
/// told of it too early. PTX (peer): as `notify` with `release`, which is cumulative at system scope. NVSHMEM:
/// `nvshmem_quiet`, `nvshmemx_signal_op`.
template <class Group, class Signal>
__device__ inline void notify_transitively(Group group, const Signal& signal, unsigned long long value, pe other) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_signal<Signal>()) {
    constexpr bool everywhere = Signal::backend::visible == visibility::everywhere;
    static_assert(
        everywhere,
        "membar: a transitive notification needs the visibility class everywhere: with destination_only a third PE may be "
        "told before it sees the data; let the receiver notify it");
    if constexpr (everywhere) {
      detail::transport<typename Signal::reach_type>::template notify_transitively<typename Signal::element_type::kind>(
          group, signal.reach(), detail::word_access::raw(detail::access::local(signal)), value, other);
    }
  }
}

}  // namespace membar::symmetric
