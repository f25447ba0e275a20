// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// One-sided operations on symmetric objects: put, get, put with signal, notifications, and the operations that order and
/// complete these.
///
/// A group (`by_thread`, `by_warp`, `by_block`) executes an operation together: all its threads call it with the same
/// arguments. The remote side is a symmetric address and a PE, which may be this PE. The local side is any memory of this PE
/// that the backend can access. With NVSHMEM over a network, the local side must be symmetric memory or memory registered with
/// `nvshmemx_buffer_register`. A copy does not begin with a group barrier: if one thread wrote data that another thread copies,
/// synchronize the group first.
#pragma once

#include <membar/detail/standard.hpp>
#include <membar/symmetric/group.cuh>
#include <membar/symmetric/object.hpp>
#include <membar/symmetric/peer_backend.cuh>
#include <membar/symmetric/reach.hpp>
#include <membar/symmetric/word.hpp>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

namespace detail {

template <class Group>
__device__ constexpr bool require_group() noexcept {
  static_assert(is_group<Group>, "membar: the group of an operation must be by_thread, by_warp or by_block");
  return is_group<Group>;
}

/// Checks that the argument is a symmetric address. Returns whether it is, so that callers can avoid further error messages.
template <class Address>
[[nodiscard]] __device__ constexpr bool require_symmetric() noexcept {
  static_assert(!is_direct<Address>,
                "membar: the result of at(pe) is an address of another PE, not a symmetric address: pass the symmetric object "
                "and the PE");
  static_assert(!std::is_pointer_v<Address> && !std::is_array_v<Address>,
                "membar: a private pointer is not a symmetric address: pass an object from a symmetric heap");
  static_assert(is_symmetric<Address> || is_direct<Address> || std::is_pointer_v<Address> || std::is_array_v<Address>,
                "membar: this is not a symmetric address: pass an object from a symmetric heap");
  return is_symmetric<Address>;
}

template <class Address>
[[nodiscard]] __device__ constexpr bool require_data() noexcept {
  constexpr bool symmetric = require_symmetric<Address>();
  if constexpr (symmetric) {
    static_assert(
        !is_counter<typename Address::element_type>,
        "membar: only AMOs of its own type may change a counter: a put or a get would not be atomic with respect to them");
    static_assert(
        !is_signal<typename Address::element_type>,
        "membar: a signal is not data: only notify and put_signal may change it, and only waits and tests may read it");
    static_assert(is_counter<typename Address::element_type> || is_signal<typename Address::element_type> ||
                      !is_word<typename Address::element_type>,
                  "membar: barrier words and packed messages are not data: use their own operations");
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
                  "membar: only a signal can be notified, waited for and tested: data may arrive in any order and in pieces");
    return is_signal<typename Address::element_type>;
  } else {
    return false;
  }
}

/// Checks that data and its signal belong to the same backend.
template <class To, class Signal>
[[nodiscard]] __device__ constexpr bool require_one_backend() noexcept {
  constexpr bool same = std::is_same_v<typename To::backend, typename Signal::backend>;
  static_assert(
      same,
      "membar: a put and its signal must use the same backend: allocate both in heaps of the same backend type, or put, "
      "and notify after a quiet");
  return same;
}

/// Checks that objects of the type can be transferred as a whole.
template <class T>
[[nodiscard]] __device__ constexpr bool require_fixed_size() noexcept {
  static_assert(has_no_padding<T>,
                "membar: a fixed-size operation transfers every byte, but this type has bytes that do not belong to its value: "
                "remove the padding, or put the object as a span; for a struct of floating-point members without padding, "
                "specialize membar::symmetric::has_no_padding");
  constexpr bool size = sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16;
  static_assert(
      !has_no_padding<T> || (size && alignof(T) >= sizeof(T)),
      "membar: a fixed-size operation transfers 1, 2, 4, 8 or 16 bytes, aligned to their size: put other types as a span");
  return has_no_padding<T> && size && alignof(T) >= sizeof(T);
}

template <class Address>
inline constexpr bool is_one = false;
template <class T, class Backend>
inline constexpr bool is_one<object<T, Backend>> = true;

template <class Address>
[[nodiscard]] __device__ constexpr bool require_one() noexcept {
  static_assert(is_one<Address>,
                "membar: a fixed-size operation transfers one object: select one element of the span with [index]");
  return is_one<Address>;
}

/// Checks that the local side is a pointer to objects of the symmetric address's type.
template <class Address, class Source>
[[nodiscard]] __device__ constexpr bool require_source() noexcept {
  using element = typename Address::element_type;
  constexpr bool matches = std::is_convertible_v<const Source&, const element*>;
  static_assert(!is_direct<Source>,
                "membar: the local side of a copy must be memory of this PE, not the result of at(pe): use get or put");
  static_assert(is_direct<Source> || matches,
                "membar: the local side of a copy must be a pointer to objects of the symmetric object's type: for a symmetric "
                "object, pass "
                "its local()");
  return matches && !is_direct<Source>;
}

/// Checks both sides of a copy.
template <class Address, class Source>
[[nodiscard]] __device__ constexpr bool require_copy() noexcept {
  if constexpr (require_data<Address>()) {
    return require_source<Address, Source>();
  } else {
    return false;
  }
}

/// Checks that the address belongs to a single data object that can be transferred as a whole.
template <class Address>
[[nodiscard]] __device__ constexpr bool require_fixed_size_object() noexcept {
  if constexpr (require_data<Address>()) {
    return require_one<Address>() && require_fixed_size<typename Address::element_type>();
  } else {
    return false;
  }
}

/// A type to which everything converts. Rejected calls use it as their parameter type, so that the compiler reports only the
/// rejection.
struct anything {
  template <class T>
  __device__ constexpr anything(const T&) noexcept {}
};

/// The type of the objects at a symmetric data address.
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

/// The kind of a signal: `set` or `add`.
template <class Signal>
using kind_of = typename Signal::element_type::kind;

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

/// Sets the signal on `other` or adds to it. Only the calling thread executes the operation.
template <class Signal, class Order>
__device__ inline void store_notification(const Signal& signal, unsigned long long value, pe other, Order order) noexcept {
  transport_of<Signal>::template notify<kind_of<Signal>>(signal.reach(), word(signal), value, other, order);
}

}  // namespace detail

// The results of fence, quiet and flush. A notification accepts the results of a fence or a quiet, and rejects the result of a
// flush. The type of a result names the operation and the group that executed it, because the order holds only for the thread
// that executed the fence for the group. A result cannot be copied, because a put between the fence and the notification would
// not be ordered.

/// The result of a fence: the group's earlier puts are ordered before its later puts and notifications, on each PE.
template <class Group>
struct fenced {
  fenced() = default;
  fenced(const fenced&) = delete;
  fenced& operator=(const fenced&) = delete;
};
/// The result of a quiet: the group's earlier puts are also complete, that is, visible according to the visibility class.
template <class Group>
struct quieted : fenced<Group> {};
/// The result of a flush: the sources of earlier puts may be reused, and the results of earlier gets are available. Nothing is
/// guaranteed about other PEs.
template <class Group>
struct flushed {
  flushed() = default;
  flushed(const flushed&) = delete;
  flushed& operator=(const flushed&) = delete;
};

namespace detail {

/// The group type that is part of a fence's or a quiet's result type.
template <class Token>
struct group_of_fence {
  static constexpr bool is_fence = false;
};
template <class Group>
struct group_of_fence<fenced<Group>> {
  static constexpr bool is_fence = true;
  using type = Group;
};
template <class Group>
struct group_of_fence<quieted<Group>> : group_of_fence<fenced<Group>> {};

}  // namespace detail

/// Orders the group's earlier puts, AMOs, notifications and fetches, on each PE, before the notification that receives this
/// result and before later operations of the group's first thread. The fence does not complete the earlier operations. If
/// another thread of the group then executes puts or fetches of its own that must be ordered, that thread must call `fence`
/// with `by_thread`.
///
/// Synchronizes: the fence makes a later notification a release at its destination, and acts as an acquire between two
/// `fetch`es by one thread. PTX (peer): a group barrier, `fence.acq_rel.sys` by one thread, and another group barrier. NVSHMEM:
/// `nvshmem_fence`.
template <class Group, reach Reach>
__device__ inline fenced<Group> fence(Group, const Reach& reach) noexcept {
  if constexpr (detail::require_group<Group>()) {
    Group::sync();
    if (Group::rank() == 0) {
      detail::transport<Reach>::fence(reach);
    }
    Group::sync();
  }
  return {};
}

/// Completes everything that the group has started: puts are visible at their destinations, or on every PE with the visibility
/// class `everywhere`, and the results of gets are available.
///
/// PTX (peer): the same as `fence`. NVSHMEM: `nvshmem_quiet`.
template <class Group, reach Reach>
__device__ inline quieted<Group> quiet(Group, const Reach& reach) noexcept {
  if constexpr (detail::require_group<Group>()) {
    Group::sync();
    if (Group::rank() == 0) {
      detail::transport<Reach>::quiet(reach);
    }
    Group::sync();
  }
  return {};
}

/// Waits until the sources of earlier puts may be reused and the results of earlier gets are available. The flush does not make
/// anything visible to another PE.
///
/// PTX (peer): a group barrier. NVSHMEM, which has no weaker operation: a group barrier, `nvshmem_quiet` by one thread,
/// and another group barrier.
template <class Group, reach Reach>
__device__ inline flushed<Group> flush(Group, const Reach& reach) noexcept {
  if constexpr (detail::require_group<Group>()) {
    detail::transport<Reach>::template flush<Group>(reach);
  }
  return {};
}

/// Copies the objects at `from`, on this PE, to all objects of `to` on `other`. On return, the whole group may reuse `from`.
///
/// The put does not synchronize: use `put_signal` or a notification to inform the other PE. PTX (peer): `ld.weak.v4.b32` and
/// `st.weak.v4.b32`, eight in flight per thread, if both addresses and the size are multiples of 16; otherwise four in flight,
/// as wide as the addresses allow; then a group barrier. NVSHMEM: `nvshmemx_putmem_*`. A put uses up to 45 registers, so a
/// kernel that itself uses many registers needs `__launch_bounds__` for large blocks.
template <class Group, class To, class From>
__device__ inline void put(Group group, const To& to, const From& from, pe other) noexcept {
  if constexpr (detail::require_group<Group>() && detail::require_copy<To, From>()) {
    detail::transport_of<To>::put(group, to.reach(), detail::local(to), detail::source_of(from), detail::bytes_of(to), other);
    Group::sync();
  }
}

/// Starts a `put` and returns immediately. `from` must not be changed before a `flush` or `quiet`.
template <class Group, class To, class From>
__device__ inline void put_nonblocking(Group group, const To& to, const From& from, pe other) noexcept {
  if constexpr (detail::require_group<Group>() && detail::require_copy<To, From>()) {
    detail::transport_of<To>::put_nonblocking(group, to.reach(), detail::local(to), detail::source_of(from),
                                              detail::bytes_of(to), other);
  }
}

/// Copies all objects of `from` on `other` to the objects at `to`, on this PE. On return, the whole group may read the objects
/// at `to`.
///
/// The get does not synchronize: wait for a signal first. A `fence` orders two `fetch`es, but not two gets. PTX (peer): the
/// same as `put`. NVSHMEM: `nvshmemx_getmem_*`.
template <class Group, class To, class From>
__device__ inline void get(Group group, To* to, const From& from, pe other) noexcept {
  if constexpr (detail::require_group<Group>() && detail::require_copy<From, To*>()) {
    detail::transport_of<From>::get(group, from.reach(), to, detail::local(from), detail::bytes_of(from), other);
    Group::sync();
  }
}

/// Starts a `get` and returns immediately: the contents of `to` are undefined until a `flush` or `quiet`.
template <class Group, class To, class From>
__device__ inline void get_nonblocking(Group group, To* to, const From& from, pe other) noexcept {
  if constexpr (detail::require_group<Group>() && detail::require_copy<From, To*>()) {
    detail::transport_of<From>::get_nonblocking(group, from.reach(), to, detail::local(from), detail::bytes_of(from), other);
  }
}

/// Stores one object on `other` with a single access. Only the calling thread executes the store.
///
/// The store is relaxed and orders nothing, so it is not a notification. PTX (peer): `st.relaxed.sys`. NVSHMEM: the same if
/// stores reach the PE, otherwise `nvshmem_*_p`. Requires: 1, 2, 4, 8 or 16 bytes without padding; at most 8 bytes with
/// NVSHMEM.
template <class To>
__device__ inline void put_value(const To& to, const detail::element_of<To>& value, pe other) noexcept {
  if constexpr (detail::require_fixed_size_object<To>()) {
    detail::transport_of<To>::put_value(to.reach(), detail::local(to), value, other);
  }
}

/// Reads one object on `other` with a single access. Only the calling thread executes the load.
///
/// A `fence` between two fetches by a thread orders them. Without a fence, coherence orders two fetches of the same object if
/// loads and stores reach the PE: the second fetch does not return an older value than the first. Fetches of different objects,
/// and fetches over a network, are not ordered. PTX (peer): `ld.relaxed.sys`. NVSHMEM: the same if loads reach the PE,
/// otherwise `nvshmem_*_g`. Requires: 1, 2, 4, 8 or 16 bytes without padding; at most 8 bytes with NVSHMEM.
template <class From>
[[nodiscard]] __device__ inline detail::element_of<From> fetch(const From& from, pe other) noexcept {
  if constexpr (detail::require_fixed_size_object<From>()) {
    return detail::transport_of<From>::fetch(from.reach(), detail::local(from), other);
  } else {
    __builtin_unreachable();
  }
}

/// Executes a `put` and then notifies `other`, by setting the signal to `value` or adding `value` to it.
///
/// Synchronizes: the put's data is released to the wait or test on `other` that acquires the signal's new value. On some
/// backends, the release does not cover earlier puts: for two puts and one signal, use `fence` and `notify`. On return, `from`
/// may be reused. The signal may belong to another heap of the same backend type. PTX (peer): `put`; a group barrier; by one
/// thread `st.release.sys.b64` or, for a signal<add>, `red.release.sys.add.u64`. NVSHMEM: `nvshmemx_putmem_signal_*`.
template <class Group, class To, class From, class Signal>
__device__ inline void put_signal(Group group, const To& to, const From& from, const Signal& signal, unsigned long long value,
                                  pe other) noexcept {
  if constexpr (detail::require_group<Group>() && detail::require_copy<To, From>() && detail::require_signal<Signal>()) {
    if constexpr (detail::require_one_backend<To, Signal>()) {
      detail::transport_of<To>::template put_signal<detail::kind_of<Signal>>(
          group, to.reach(), detail::local(to), detail::source_of(from), detail::bytes_of(to), signal.reach(),
          detail::word(signal), value, other);
    }
  }
}

/// Starts a `put_signal` and returns immediately. `from` must not be changed before a `flush` or `quiet`. Two such operations
/// are not ordered with respect to each other.
template <class Group, class To, class From, class Signal>
__device__ inline void put_signal_nonblocking(Group group, const To& to, const From& from, const Signal& signal,
                                              unsigned long long value, pe other) noexcept {
  if constexpr (detail::require_group<Group>() && detail::require_copy<To, From>() && detail::require_signal<Signal>()) {
    if constexpr (detail::require_one_backend<To, Signal>()) {
      detail::transport_of<To>::template put_signal_nonblocking<detail::kind_of<Signal>>(
          group, to.reach(), detail::local(to), detail::source_of(from), detail::bytes_of(to), signal.reach(),
          detail::word(signal), value, other);
    }
  }
}

/// Notifies `other`, by setting the signal to `value` or adding `value` to it.
///
/// Synchronizes: with `release`, the group's blocking puts to `other` are released to an acquire of the new value there. To
/// release puts to other PEs as well, use `notify_transitively`. With `relaxed`, nothing is released. PTX (peer): a group
/// barrier; by one thread `st.{release,relaxed}.sys.b64` or `red.{release,relaxed}.sys.add.u64`. NVSHMEM: `nvshmem_fence` for
/// `release`, and `nvshmemx_signal_op`.
template <class Group, class Signal, class Order = release_t>
  requires memory_order_tag<Order>
__device__ inline void notify(Group, const Signal& signal, unsigned long long value, pe other, Order order = Order()) noexcept {
  constexpr bool has_order = order_among<Order, memory_order::relaxed, memory_order::release>;
  static_assert(has_order, "membar: a notification cannot acquire, because it reads nothing: use relaxed or release");
  if constexpr (detail::require_group<Group>() && has_order && detail::require_signal<Signal>()) {
    Group::sync();
    if (Group::rank() == 0) {
      detail::store_notification(signal, value, other, order);
    }
  }
}

/// Notifies `other` after a `fence` or `quiet`, which the same group must call in the argument list: `notify(group, signal,
/// value, other, fence(group, reach))`. The fence is the release: the thread that executed it then notifies with relaxed order.
template <class Group, class Signal, class Token>
  requires(detail::group_of_fence<std::remove_cvref_t<Token>>::is_fence)
__device__ inline void notify(Group, const Signal& signal, unsigned long long value, pe other, Token&&) noexcept {
  static_assert(!std::is_lvalue_reference_v<Token>,
                "membar: call the fence in the notification's argument list: otherwise, a put between the fence and the "
                "notification would not be ordered before the notification");
  static_assert(
      std::is_same_v<Group, typename detail::group_of_fence<std::remove_cvref_t<Token>>::type>,
      "membar: a fence orders only notifications of the threads that execute it: fence and notify with the same group");
  if constexpr (detail::require_signal<Signal>()) {
    if (Group::rank() == 0) {
      detail::store_notification(signal, value, other, relaxed);
    }
  }
}

/// Rejects a notification after a `flush`, which guarantees nothing about other PEs.
template <class Group, class Signal, class FlushedGroup>
__device__ inline void notify(Group, const Signal&, unsigned long long, pe, const flushed<FlushedGroup>&) noexcept {
  static_assert(!std::is_same_v<FlushedGroup, FlushedGroup>,
                "membar: a flush does not complete operations at another PE: use fence or quiet before a notification");
}

/// A transitive notification: notifies `other` of everything that the group has put to any PE or has observed.
///
/// Synchronizes: all of this is released to an acquire of the new value. Requires the visibility class `everywhere`: across a
/// network, data is visible only at its destination, and a third PE could be notified too early. PTX (peer): the same as
/// `notify` with `release`, which is cumulative at system scope. NVSHMEM: `nvshmem_quiet`, `nvshmemx_signal_op`.
template <class Group, class Signal>
__device__ inline void notify_transitively(Group group, const Signal& signal, unsigned long long value, pe other) noexcept {
  if constexpr (detail::require_group<Group>() && detail::require_signal<Signal>()) {
    constexpr bool everywhere = Signal::backend::visible == visibility::everywhere;
    static_assert(
        everywhere,
        "membar: a transitive notification needs the visibility class 'everywhere': with destination_only, a third PE may be "
        "notified before it sees the data; let the receiver notify it");
    if constexpr (everywhere) {
      detail::transport_of<Signal>::template notify_transitively<detail::kind_of<Signal>>(group, signal.reach(),
                                                                                          detail::word(signal), value, other);
    }
  }
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
