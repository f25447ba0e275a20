// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The words in symmetric memory that are not data: signals, counters, barrier words, epochs and packed words. Only a word's
/// own operations may read or change it, because only these operations are guaranteed to be single accesses on every backend.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/standard.hpp>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// The kind of signal that senders set. Only the newest value matters.
struct set {};
/// The kind of signal to which senders add. Such a signal is a count, and a receiver may miss intermediate values.
struct add {};

namespace detail {

struct word_access;

/// A 64-bit word that is initially 0 and that only its own operations read and write.
class word_of_64 {
 public:
  word_of_64() = delete;
  word_of_64(const word_of_64&) = delete;
  word_of_64& operator=(const word_of_64&) = delete;

 private:
  friend struct word_access;
  alignas(8) unsigned long long value_;
};

}  // namespace detail

/// A 64-bit word through which other PEs notify the PE that owns it: `notify` and `put_signal` change the word, and its owner
/// waits for it or tests it.
///
/// `signal<set>` and `signal<add>` are different types, because they allow different waits: a wait for a `signal<add>` can
/// require only that the signal has reached a value. A signal is initially 0.
template <class Kind>
class signal : public detail::word_of_64 {
  static_assert(std::is_same_v<Kind, set> || std::is_same_v<Kind, add>, "membar: a signal must be signal<set> or signal<add>");

 public:
  using kind = Kind;
};

/// Atomic operations on any PE's counters. A counter's type lists the operations that the program uses, because not every link
/// supports all of them.
enum class amo : unsigned {
  none = 0,
  load = 1U << 0,
  store = 1U << 1,
  exchange = 1U << 2,
  compare_exchange = 1U << 3,
  add = 1U << 4,        ///< an addition without a result
  fetch_add = 1U << 5,  ///< an addition that returns the previous value
  bitwise_and = 1U << 6,
  fetch_and = 1U << 7,
  bitwise_or = 1U << 8,
  fetch_or = 1U << 9,
  bitwise_xor = 1U << 10,
  fetch_xor = 1U << 11,
  min = 1U << 12,
  fetch_min = 1U << 13,
  max = 1U << 14,
  fetch_max = 1U << 15,
};

[[nodiscard]] MEMBAR_HOST_DEVICE constexpr amo operator|(amo a, amo b) noexcept {
  return static_cast<amo>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr amo operator&(amo a, amo b) noexcept {
  return static_cast<amo>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}

/// The operations that both backends support for every counter type.
inline constexpr amo every_type_amos = amo::load | amo::store | amo::exchange;
/// The operations that both backends support for integers: those supported for every type, additions, compare-and-swap and
/// bitwise operations.
inline constexpr amo integer_amos = every_type_amos | amo::compare_exchange | amo::add | amo::fetch_add | amo::bitwise_and |
                                    amo::fetch_and | amo::bitwise_or | amo::fetch_or | amo::bitwise_xor | amo::fetch_xor;

/// The default operations of a `counter<T>`, for counters whose type does not list any.
template <class T>
inline constexpr amo default_amos = std::is_integral_v<T> ? integer_amos : every_type_amos;

/// A word that PEs change with atomic operations (AMOs) of one type, `T`, and only with those that `Amos` lists.
///
/// AMOs are atomic only with respect to each other. A put to a counter, a plain access to it or an AMO of another type on it
/// does not compile. When the heap allocates a counter, it checks the list against the links between the devices. A counter is
/// initially 0.
template <class T, amo Amos = default_amos<T>>
class counter {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && (sizeof(T) == 4 || sizeof(T) == 8),
                "membar: a counter must be a number of 4 or 8 bytes, the sizes that atomic operations between PEs support");
  static_assert(std::is_integral_v<T> || Amos == (Amos & (every_type_amos | amo::add | amo::fetch_add)),
                "membar: a floating-point counter supports only load, store, exchange and add, because links support no other "
                "floating-point atomics");

 public:
  using value_type = T;
  static constexpr amo amos = Amos;
  counter() = delete;
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;

 private:
  friend struct detail::word_access;
  alignas(sizeof(T)) T value_;
};

/// A word of a barrier across all PEs (barrier.cuh). Each PE has one such word for every PE, and another word that counts its
/// own barriers.
class barrier_word : public detail::word_of_64 {};

/// A number in a PE's own device memory that grows with each use. An epoch provides the numbers of the PE's messages, waits or
/// barriers (epoch.cuh). In a captured graph, operations that use an epoch get the next number in each replay, whereas a number
/// passed as an argument would be the same in all replays. Only one group at a time may use an epoch, and only on its own PE.
/// An epoch is initially 0.
class epoch : public detail::word_of_64 {};

/// A flag that any PE can set to end the waits of all PEs (recoverable.cuh). Once set, it stays set: free it together with the
/// words that were waited for, and allocate new ones. The flag is initially 0.
class abort_flag : public detail::word_of_64 {};

/// Space for a packed message of type `T` (packed.cuh), which may be any trivially copyable type, `half2` or `__nv_bfloat162`.
/// The space consists of 16-byte words, each with 12 bytes of the message and a sequence number. Padding bytes arrive
/// unchanged.
template <class T>
class packed {
  static_assert(membar::detail::is_bytes<T>, "membar: a packed message must be trivially copyable");

 public:
  using value_type = T;
  packed() = delete;
  packed(const packed&) = delete;
  packed& operator=(const packed&) = delete;

 private:
  friend struct detail::word_access;
  // The message must be divided in the same way as in packed_word.cuh.
  alignas(16) unsigned words_[4 * ((sizeof(T) + 11) / 12)];
};

namespace detail {

template <class T>
inline constexpr bool is_signal = false;
template <class Kind>
inline constexpr bool is_signal<signal<Kind>> = true;

template <class T>
inline constexpr bool is_counter = false;
template <class T, amo Amos>
inline constexpr bool is_counter<counter<T, Amos>> = true;

template <class T>
inline constexpr bool is_packed = false;
template <class T>
inline constexpr bool is_packed<packed<T>> = true;

/// Provides operations with the address of a word's value, without accessing the value.
struct word_access {
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr unsigned long long* raw(word_of_64* word) noexcept { return &word->value_; }
  template <class T, amo Amos>
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr T* raw(counter<T, Amos>* word) noexcept {
    return &word->value_;
  }
  template <class T>
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr unsigned* raw(packed<T>* word) noexcept {
    return word->words_;
  }
};

}  // namespace detail

/// Whether `T` is a word with operations of its own, rather than data.
template <class T>
inline constexpr bool is_word = std::is_base_of_v<detail::word_of_64, T> || detail::is_counter<T> || detail::is_packed<T>;

/// Whether all bytes of a `T` belong to its value. Fixed-size operations transfer every byte, although nothing writes the
/// padding. For a struct with floating-point members, the compiler cannot determine whether it has padding: if it has none,
/// specialize this variable for it.
template <class T>
inline constexpr bool has_no_padding =
    std::has_unique_object_representations_v<T> || std::is_same_v<T, float> || std::is_same_v<T, double> ||
    (membar::detail::is_bytes<T> && !std::is_trivially_copyable_v<T>);  // `T` is a packed pair

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
