// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Packed messages: small payloads in 16-byte words that each contain a sequence number. Such messages need neither a fence nor
/// a signal.
#pragma once

#include <membar/detail/packed_word.cuh>
#include <membar/detail/standard.hpp>
#include <membar/symmetric/epoch.cuh>
#include <membar/symmetric/operations.cuh>
#include <membar/symmetric/wait.cuh>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

namespace detail {

using membar::detail::packed_piece;
using membar::detail::packed_word;
using membar::detail::packed_words;
using membar::detail::unpack_piece;

template <class Box, class Value>
[[nodiscard]] __device__ constexpr bool require_packed() noexcept {
  constexpr bool symmetric = require_symmetric<Box>();
  if constexpr (symmetric) {
    using element = typename Box::element_type;
    static_assert(is_packed<element>,
                  "membar: a packed message must be sent to a symmetric object of type packed<T>, because its operations read "
                  "only that type");
    static_assert(is_one<Box> || !is_packed<element>,
                  "membar: a packed message must be sent to a single box: select one element of the span with [index]");
    constexpr bool everywhere = Box::backend::visible == visibility::everywhere;
    static_assert(everywhere,
                  "membar: packed messages need the visibility class 'everywhere', because a network may split the 16-byte "
                  "stores of their words: use put_signal");
    if constexpr (is_packed<element> && is_one<Box>) {
      constexpr bool same = std::is_same_v<typename element::value_type, std::remove_const_t<Value>>;
      static_assert(same,
                    "membar: a packed message must have the same type as its box, but the pointer points to a different type");
      return same && everywhere;
    } else {
      return false;
    }
  } else {
    return false;
  }
}

/// Returns the number of words in a message. The limit ensures that 32 bits are enough for an index, even for the indices past
/// the end that a thread computes in a batch.
template <class Message>
[[nodiscard]] MEMBAR_HOST_DEVICE consteval unsigned word_count() noexcept {
  static_assert(packed_words(sizeof(Message)) < (1U << 28), "membar: a packed message must be smaller than 3 GiB");
  return static_cast<unsigned>(packed_words(sizeof(Message)));
}

/// Whether a warp's lanes poll together until all of them have their words. They do so if each lane has a word and some lanes
/// have more than one. A warp that votes is faster than a warp whose lanes diverge and reconverge.
template <class Group, unsigned Count, unsigned Batch>
inline constexpr bool together = std::is_same_v<Group, by_warp_t> && Count > 32 && Count <= 32 * Batch;

/// Reads the words `first`, `first + step` and so on of a message of `Count` words into `batch`. Returns whether all words have
/// the number `sequence`. All loads are in flight before the first result is examined.
template <class Group, unsigned Count, unsigned Batch>
[[nodiscard]] __device__ inline bool read_batch(const packed_word* words, unsigned first, unsigned step, unsigned sequence,
                                                packed_word (&batch)[Batch]) noexcept {
  constexpr bool whole_warp = together<Group, Count, Batch>;
  // The last word is loaded first. Not every thread has a last word, and in this order, only loads follow the branch that skips
  // it. Lanes that poll together need no branch: past the end, they read the message's last word again.
#pragma unroll
  for (unsigned k = Batch; k-- != 0;) {
    const unsigned i = first + k * step;
    batch[k].sequence = sequence;
    if (whole_warp || k == 0 || i < Count) {
      batch[k] = membar::load<thread_scope::system>(words + (whole_warp && i >= Count ? Count - 1 : i), relaxed);
    }
  }
  bool all = true;
#pragma unroll
  for (unsigned k = 0; k != Batch; ++k) {
    all = all && batch[k].sequence == sequence;
  }
  if constexpr (whole_warp) {
    all = __all_sync(0xffffffffU, all ? 1 : 0) != 0;
  }
  return all;
}

/// Copies the parts in the words of `batch` to their places in the message at `to`.
template <unsigned Batch, class To>
__device__ inline void unpack_batch(To* to, unsigned first, unsigned step, const packed_word (&batch)[Batch]) noexcept {
#pragma unroll
  for (unsigned k = 0; k != Batch; ++k) {
    const unsigned i = first + k * step;
    if (k == 0 || i < word_count<To>()) {
      unpack_piece(to, i, batch[k]);
    }
  }
}

/// Stores the words `first`, `first + step` and so on of the message at `from` in the box on `other` that corresponds to `box`
/// on this PE. Reads all of these words before computing the box's address, so that the reads do not wait for the address.
template <unsigned Batch, class Reach, class From>
__device__ inline void put_batch(const Reach& reach, void* box, pe other, unsigned first, unsigned step, const From* from,
                                 unsigned sequence) noexcept {
  constexpr unsigned count = word_count<From>();
  packed_word batch[Batch];
#pragma unroll
  for (unsigned k = 0; k != Batch; ++k) {
    const unsigned i = first + k * step;
    if (k == 0 || i < count) {
      batch[k] = packed_piece(from, i, sequence);
    }
  }
  auto* const words = static_cast<packed_word*>(reach.direct(box, other));
#pragma unroll
  for (unsigned k = 0; k != Batch; ++k) {
    const unsigned i = first + k * step;
    if (k == 0 || i < count) {
      membar::store<thread_scope::system>(words + i, batch[k], relaxed);
    }
  }
}

/// Calls `each(batch, first, step)` for the words of the calling thread as long as `each` returns true. `batch`, a compile-time
/// constant, is the number of words that one call handles. Returns whether all calls returned true.
template <class Group, class Message, class Each>
__device__ inline bool for_pieces(Each each) noexcept {
  constexpr unsigned count = word_count<Message>();
  constexpr unsigned most = 4;
  const unsigned rank = Group::rank();
  const unsigned size = Group::size();
  const auto in_batches = [&](auto batch) {
#pragma unroll 1
    for (unsigned first = rank; first < count; first += decltype(batch)::value * size) {
      if (!each(batch, first, size)) {
        return false;
      }
    }
    return true;
  };
  if constexpr (std::is_same_v<Group, by_block_t>) {
    // Each thread handles at most one word.
    if (size >= count) {
      return rank >= count || each(std::integral_constant<unsigned, 1>{}, rank, size);
    }
    constexpr unsigned at_once = count < most ? count : most;
    return in_batches(std::integral_constant<unsigned, at_once>{});
  } else {
    constexpr unsigned threads = std::is_same_v<Group, by_thread_t> ? 1 : 32;
    constexpr unsigned share = (count + threads - 1) / threads;
    if constexpr (share <= most) {
      return rank >= count || each(std::integral_constant<unsigned, share>{}, rank, size);
    } else {
      return in_batches(std::integral_constant<unsigned, most>{});
    }
  }
}

/// Waits for the calling thread's parts of the message, or for the whole warp's parts if its lanes poll together, and copies
/// the thread's parts to `to`. Returns whether the awaited parts have arrived. If not, `seen` is the number in a word that has
/// not arrived, or `sequence` if that word belongs to another lane.
template <class Group, class Box, class To>
[[nodiscard]] __device__ inline bool take_pieces(const Box& box, To* to, unsigned sequence, wait_budget budget,
                                                 unsigned& seen) noexcept {
  const auto* const words = reinterpret_cast<const packed_word*>(word(box));
  polling poll(budget);
  return for_pieces<Group, To>([&](auto batch, unsigned first, unsigned step) {
    packed_word came[decltype(batch)::value];
    // The inner loop is as short as possible, because a message that has arrived is not noticed until the next poll.
    const auto poll_for_a_while = [&] {
#pragma unroll 1
      for (unsigned polls = polling::polls_per_look; polls != 0; --polls) {
        if (read_batch<Group, word_count<To>()>(words, first, step, sequence, came)) {
          return true;
        }
      }
      return false;
    };
    while (!poll_for_a_while()) {
      bool late = poll.time_is_up();
      if constexpr (together<Group, word_count<To>(), decltype(batch)::value>) {
        late = Group::any(late);
      }
      if (late) {
        seen = sequence;
        for (const packed_word& each : came) {
          seen = each.sequence != sequence ? each.sequence : seen;
        }
        return false;
      }
    }
    unpack_batch(to, first, step, came);
    return true;
  });
}

}  // namespace detail

/// Sends the object at `from`, on this PE, to the box on `other`, with the number `sequence`. On return, the whole group may
/// reuse `from`.
///
/// The put does not synchronize: it transfers only the message itself. The box must be free: its owner must have taken the
/// previous message and confirmed this to the sender with an answer. This applies to each thread: a thread that stores a word
/// must itself have taken a word of the answer, and that word must come from the thread that took the previous word. This is
/// the case if request and answer are messages of the same type, sent by groups of the same kind and size. Otherwise, answer
/// with a signal, which releases and acquires: after a relaxed answer, a group barrier is not sufficient to order the threads.
/// `sequence` must be neither 0 nor the previous message's number. PTX: `st.relaxed.sys.b128` for each 12 bytes, each word
/// stored by one thread; then a group barrier. Requires: the visibility class `everywhere`.
template <class Group, class Box, class From>
__device__ inline void put_packed(Group, const Box& box, const From* from, unsigned sequence, pe other) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_packed<Box, From>()) {
    void* const own = detail::word(box);
    detail::for_pieces<Group, From>([&](auto batch, unsigned first, unsigned step) {
      detail::put_batch<decltype(batch)::value>(box.reach(), own, other, first, step, from, sequence);
      return true;
    });
    Group::sync();
  }
}

/// Returns whether the message with the number `sequence` is in the calling PE's box. If so, it copies the message to `to`;
/// otherwise `to` may contain a part of it. Only the calling thread executes the test.
template <class Box, class To>
[[nodiscard]] __device__ inline bool test_packed(const Box& box, To* to, unsigned sequence) noexcept {
  if constexpr (detail::require_packed<Box, To>()) {
    const auto* const words = reinterpret_cast<const detail::packed_word*>(detail::word(box));
    return detail::for_pieces<by_thread_t, To>([&](auto batch, unsigned first, unsigned step) {
      detail::packed_word came[decltype(batch)::value];
      const bool all = detail::read_batch<by_thread_t, detail::word_count<To>()>(words, first, step, sequence, came);
      if (all) {
        detail::unpack_batch(to, first, step, came);
      }
      return all;
    });
  } else {
    return false;
  }
}

/// Waits for the message with the number `sequence` in the calling PE's box and copies it to `to`. On return, the whole group
/// may read `to`. All threads of the group receive the result, `done` or `timed_out`; after `timed_out`, `to` may be partly
/// written.
///
/// The call does not synchronize. PTX: `ld.relaxed.sys.b128` of each word until its number has arrived; `vote.sync.all` after
/// each poll if a warp takes a message of 33 to 128 words; then a group barrier.
template <class Group, class Box, class To>
[[nodiscard]] __device__ inline wait_result try_take_packed(Group, const Box& box, To* to, unsigned sequence,
                                                            wait_budget budget) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_packed<Box, To>()) {
    unsigned seen = 0;
    return Group::any(!detail::take_pieces<Group>(box, to, sequence, budget, seen)) ? wait_result::timed_out
                                                                                    : wait_result::done;
  } else {
    return wait_result::timed_out;
  }
}

/// Waits for the message with the number `sequence` in the calling PE's box and copies it to `to`, like `try_take_packed`. If
/// the budget is used up first, prints the PE, the address, the expected number and the current number, and ends the kernel
/// with a trap.
template <class Group, class Box, class To>
__device__ inline void take_packed(Group, const Box& box, To* to, unsigned sequence, wait_budget budget) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_packed<Box, To>()) {
    unsigned seen = 0;
    if (!detail::take_pieces<Group>(box, to, sequence, budget, seen) && seen != sequence) {
      detail::trap_waiting("packed message", box.self().index(), detail::local(box), "equal to", sequence, seen,
                           budget.in_nanoseconds());
    }
    Group::sync();
  }
}

/// Sends the object at `from` to the box on `other` with the next number of the epoch `sent`, like `put_packed` with a number.
/// Use it in kernels of a captured graph, where a number passed as an argument would be the same in every replay.
template <class Group, class Box, class From, class Epoch>
  requires(detail::is_symmetric<Epoch>)
__device__ inline void put_packed(Group group, const Box& box, const From* from, const Epoch& sent, pe other) noexcept {
  if constexpr (detail::require_epoch<Epoch>()) {
    const detail::next_epoch<Group> next(sent);
    put_packed(group, box, from, next.sequence(), other);  // this call ends with a group barrier
    next.keep();
  }
}

/// Waits for the message with the next number of the epoch `taken`, like `try_take_packed` with a number. After `timed_out`,
/// the next call waits for the same message.
template <class Group, class Box, class To, class Epoch>
  requires(detail::is_symmetric<Epoch>)
[[nodiscard]] __device__ inline wait_result try_take_packed(Group group, const Box& box, To* to, const Epoch& taken,
                                                            wait_budget budget) noexcept {
  if constexpr (detail::require_epoch<Epoch>()) {
    const detail::next_epoch<Group> next(taken);
    const wait_result ended = try_take_packed(group, box, to, next.sequence(), budget);
    if (ended == wait_result::done) {
      next.keep();
    }
    return ended;
  } else {
    return wait_result::timed_out;
  }
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
