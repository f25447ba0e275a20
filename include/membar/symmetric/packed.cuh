// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Packed messages: small payloads whose sequence number travels in the same 16-byte words, so that neither a fence nor a
/// signal is needed.
#pragma once

#include <membar/detail/packed_word.cuh>
#include <membar/symmetric/operations.cuh>
#include <membar/symmetric/wait.cuh>
#include <membar/wait_budget.cuh>

#include <cstddef>
#include <type_traits>

namespace membar::symmetric {

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
    static_assert(
        is_packed<element>,
        "membar: a packed message goes to a symmetric object of type packed<T>: nothing else is read by its operations");
    static_assert(is_one<Box> || !is_packed<element>,
                  "membar: a packed message goes to one box: take one of the span by [index]");
    constexpr bool everywhere = Box::backend::visible == visibility::everywhere;
    static_assert(everywhere,
                  "membar: packed messages need the visibility class everywhere: their words are stores of 16 bytes, which a "
                  "network does "
                  "not keep whole; use put_signal");
    if constexpr (is_packed<element> && is_one<Box>) {
      constexpr bool same = std::is_same_v<typename element::value_type, std::remove_const_t<Value>>;
      static_assert(same, "membar: a packed message has the type of its box: the pointer is to another type");
      static_assert(
          has_no_padding<typename element::value_type>,
          "membar: a packed message moves every byte, and this type has bytes that are no value: take the padding out; "
          "for a struct of floating-point members without padding specialize membar::symmetric::has_no_padding");
      return same && everywhere && has_no_padding<typename element::value_type>;
    } else {
      return false;
    }
  } else {
    return false;
  }
}

/// The words of a message. Indices are of 32 bits, also beyond the last of four that a thread does at once.
template <class Message>
inline constexpr unsigned word_count = [] {
  static_assert(packed_words(sizeof(Message)) < (1U << 28), "membar: a packed message is smaller than 3 GiB");
  return static_cast<unsigned>(packed_words(sizeof(Message)));
}();

/// Whether the lanes of a warp look at their words together until the last has its own: where each has one, and some have more.
/// A warp whose lanes may go apart and meet again takes longer than one that votes.
template <class Group, unsigned Count, unsigned Batch>
inline constexpr bool together = std::is_same_v<Group, by_warp_t> && Count > 32 && Count <= 32 * Batch;

/// Reads the words `first`, `first + step` and so on, those of a message of `Count` words, into `batch`: whether all have the
/// number `sequence`. All loads are under way before the first is looked at.
template <class Group, unsigned Count, unsigned Batch>
[[nodiscard]] __device__ inline bool look_at_batch(const packed_word* words, unsigned first, unsigned step, unsigned sequence,
                                                   packed_word (&batch)[Batch]) noexcept {
  constexpr bool whole_warp = together<Group, Count, Batch>;
  // The last word first, which not every thread has: behind the branch around it nothing but loads is left to come. Lanes that
  // stay together have no branch: behind the last word it is that one again.
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

/// Puts the pieces of such words where they belong in the message at `to`.
template <unsigned Batch, class To>
__device__ inline void unpack_batch(To* to, unsigned first, unsigned step, const packed_word (&batch)[Batch]) noexcept {
#pragma unroll
  for (unsigned k = 0; k != Batch; ++k) {
    const unsigned i = first + k * step;
    if (k == 0 || i < word_count<To>) {
      unpack_piece(to, i, batch[k]);
    }
  }
}

/// Puts those words of the message at `from` to the box of `other` whose counterpart here is at `box`: all of them are read
/// before the first is stored. Where the box is comes last, so that the reading does not wait for that.
template <unsigned Batch, class Reach, class From>
__device__ inline void put_batch(const Reach& reach, void* box, pe other, unsigned first, unsigned step, const From* from,
                                 unsigned sequence) noexcept {
  constexpr unsigned count = word_count<From>;
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

/// Calls `each(batch, first, step)` for the words that fall to the calling thread, as long as it returns true; `batch`, a
/// constant, is how many of them it does at once. Returns whether it did to the end.
template <class Group, class Message, class Each>
__device__ inline bool for_pieces(Each each) noexcept {
  constexpr unsigned count = word_count<Message>;
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
    // The block that a message is for has a thread for each word.
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

/// The pieces that fall to the calling thread, or to all of its warp where they look together: whether all of them came. Else
/// `seen` is the number in a word of the thread that did not, or `sequence`.
template <class Group, class Box, class To>
[[nodiscard]] __device__ inline bool take_pieces(const Box& box, To* to, unsigned sequence, wait_budget budget,
                                                 unsigned& seen) noexcept {
  const auto* const words = reinterpret_cast<const packed_word*>(word_access::raw(access::local(box)));
  polling poll(budget);
  return for_pieces<Group, To>([&](auto batch, unsigned first, unsigned step) {
    packed_word came[decltype(batch)::value];
    // The looks are a loop of their own, as short as it can be: a message waits for the look that follows it.
    const auto look_for_a_while = [&] {
#pragma unroll 1
      for (unsigned looks = polling::polls_per_look; looks != 0; --looks) {
        if (look_at_batch<Group, word_count<To>>(words, first, step, sequence, came)) {
          return true;
        }
      }
      return false;
    };
    while (!look_for_a_while()) {
      bool late = poll.time_is_up();
      if constexpr (together<Group, word_count<To>, decltype(batch)::value>) {
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

/// Sends the object at `from`, of this PE, to the box of `other`, under the number `sequence`. On return `from` may be used
/// again, by the whole group.
///
/// Synchronizes with nothing: the message is all that is passed. The box must be free: whoever owns it has taken the message
/// before, and has said so by any message of its own behind that. `sequence` is not 0 and not that of the message before. PTX:
/// `st.relaxed.sys.b128` for each 12 bytes, each word by one thread; a meeting of the group. Requires: the visibility class
/// `everywhere`.
template <class Group, class Box, class From>
__device__ inline void put_packed(Group, const Box& box, const From* from, unsigned sequence, pe other) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_packed<Box, From>()) {
    void* const own = detail::word_access::raw(detail::access::local(box));
    detail::for_pieces<Group, From>([&](auto batch, unsigned first, unsigned step) {
      detail::put_batch<decltype(batch)::value>(box.reach(), own, other, first, step, from, sequence);
      return true;
    });
    Group::sync();
  }
}

/// Whether the message `sequence` is in the calling PE's own box; if so it is at `to`. By the calling thread.
template <class Box, class To>
[[nodiscard]] __device__ inline bool test_packed(const Box& box, To* to, unsigned sequence) noexcept {
  if constexpr (detail::require_packed<Box, To>()) {
    const auto* const words =
        reinterpret_cast<const detail::packed_word*>(detail::word_access::raw(detail::access::local(box)));
    return detail::for_pieces<by_thread_t, To>([&](auto batch, unsigned first, unsigned step) {
      detail::packed_word came[decltype(batch)::value];
      const bool all = detail::look_at_batch<by_thread_t, detail::word_count<To>>(words, first, step, sequence, came);
      if (all) {
        detail::unpack_batch(to, first, step, came);
      }
      return all;
    });
  } else {
    return false;
  }
}

/// Waits for the message `sequence` in the calling PE's own box, and puts it at `to`, which the whole group may read on
/// return. `timed_out`, to all of the group, leaves `to` partly written.
///
/// Synchronizes with nothing. PTX: `ld.relaxed.sys.b128` of each word until its number is there, and `vote.sync.all` behind
/// each look of a warp at a message of 33 to 128 words; a meeting of the group.
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

/// The same, and where the budget is used up it prints PE, address, expected and seen number, and ends the kernel by a trap.
template <class Group, class Box, class To>
__device__ inline void take_packed(Group, const Box& box, To* to, unsigned sequence, wait_budget budget) noexcept {
  detail::require_group<Group>();
  if constexpr (detail::require_packed<Box, To>()) {
    unsigned seen = 0;
    if (!detail::take_pieces<Group>(box, to, sequence, budget, seen) && seen != sequence) {
      detail::trap_waiting("packed message", box.self().index(), detail::access::local(box), "equal to", sequence, seen,
                           budget.in_nanoseconds());
    }
    Group::sync();
  }
}

}  // namespace membar::symmetric
