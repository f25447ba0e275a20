// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Symmetric-memory protocols under load, for every backend. Many channels pass messages concurrently, and the contents of the
/// messages show whether any message is torn, lost or older than its signal.
#pragma once

#include <membar/atomic.cuh>
#include <membar/symmetric/amo.cuh>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/packed.cuh>
#include <membar/symmetric/wait.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/stress.hpp>
#include <tests/common/sync.cuh>

#include <type_traits>

namespace membar_test {

namespace symmetric = membar::symmetric;

using symmetric::add, symmetric::set, symmetric::signal, symmetric::packed;
using symmetric::at_least, symmetric::equals;
using symmetric::by_block, symmetric::by_block_t, symmetric::by_thread, symmetric::by_thread_t, symmetric::by_warp,
    symmetric::by_warp_t;
using symmetric::object, symmetric::pe, symmetric::span;

/// The total number of messages that a protocol passes over all channels; MEMBAR_STRESS_MESSAGES sets another number.
[[nodiscard]] inline unsigned long long symmetric_messages() { return stress_count("MEMBAR_STRESS_MESSAGES", 2'000'000); }

/// Returns the number of messages that each of `channels` channels passes in one of a protocol's `passes` passes.
[[nodiscard]] inline unsigned symmetric_rounds(unsigned channels, unsigned passes) {
  return static_cast<unsigned>(symmetric_messages() / (passes * channels)) + 1;
}

/// What both ends of all of a PE's channels have observed.
struct pe_report {
  unsigned long long messages;  ///< received, each checked
  unsigned long long stale;     ///< The number of words that differed from the words sent.
  unsigned long long late;      ///< the number of waits that timed out
};

inline constexpr unsigned most_words = 512;

struct packed_payload {
  int words[25];
};
/// A message with several words for each lane of a warp.
struct long_packed_payload {
  int words[100];
};
/// A message of a single word.
struct packed_piece {
  int words[3];
};
/// The number of lanes per warp that have a piece of the message. Their boxes share a line.
inline constexpr unsigned pieces_per_warp = 8;

/// The symmetric memory of all channels, as one PE sees it. Channel c has its own part of each array.
template <class Backend>
struct channel_memory {
  span<int, Backend> data, more;  ///< `more` is used by protocols with two puts.
  span<int, Backend> source;      ///< Private to its PE, except for gets.
  span<signal<set>, Backend> ready;
  span<signal<add>, Backend> sum;
  span<signal<set>, Backend> taken;
  span<packed<packed_payload>, Backend> boxes;
  span<packed<long_packed_payload>, Backend> long_boxes;
  span<packed<packed_piece>, Backend> pieces;  ///< `pieces_per_warp` for each channel.

  [[nodiscard]] __device__ span<int, Backend> data_of(unsigned channel, unsigned size) const {
    return data.subspan(channel * most_words, size);
  }
  [[nodiscard]] __device__ span<int, Backend> more_of(unsigned channel, unsigned size) const {
    return more.subspan(channel * most_words, size);
  }
  [[nodiscard]] __device__ int* source_of(unsigned channel) const { return source.local() + channel * most_words; }
  template <class Payload>
  [[nodiscard]] __device__ auto box_of(unsigned channel) const {
    if constexpr (std::is_same_v<Payload, packed_piece>) {
      return pieces[channel];
    } else if constexpr (std::is_same_v<Payload, long_packed_payload>) {
      return long_boxes[channel];
    } else {
      return boxes[channel];
    }
  }
};

/// The symmetric memory of all channels, allocated in a heap of at least `bytes(channels)`.
template <class Backend>
class channel_arrays {
 public:
  channel_arrays(symmetric::heap<Backend>& heap, std::size_t channels)
      : data_(heap.template allocate<int>(channels * most_words)),
        more_(heap.template allocate<int>(channels * most_words)),
        source_(heap.template allocate<int>(channels * most_words)),
        ready_(heap.template allocate<signal<set>>(channels)),
        sum_(heap.template allocate<signal<add>>(channels)),
        taken_(heap.template allocate<signal<set>>(channels)),
        boxes_(heap.template allocate<packed<packed_payload>>(channels)),
        long_boxes_(heap.template allocate<packed<long_packed_payload>>(channels)),
        pieces_(heap.template allocate<packed<packed_piece>>(channels * pieces_per_warp)) {}

  [[nodiscard]] static constexpr std::size_t bytes(std::size_t channels) noexcept {
    return channels * (3 * most_words * sizeof(int) + 1024) + (1 << 20);
  }
  [[nodiscard]] channel_memory<Backend> on(pe which) const {
    return {data_.on(which),  more_.on(which),  source_.on(which),     ready_.on(which), sum_.on(which),
            taken_.on(which), boxes_.on(which), long_boxes_.on(which), pieces_.on(which)};
  }
  /// Frees the memory in a different order from its allocation. Collective: every PE's kernels must have ended.
  void free(symmetric::heap<Backend>& heap) const {
    const auto free = [&](const auto&... arrays) { (heap.free(arrays), ...); };
    free(boxes_, pieces_, data_, long_boxes_, taken_, more_, sum_, source_, ready_);
  }

 private:
  symmetric::array<int, Backend> data_, more_, source_;
  symmetric::array<signal<set>, Backend> ready_;
  symmetric::array<signal<add>, Backend> sum_;
  symmetric::array<signal<set>, Backend> taken_;
  symmetric::array<packed<packed_payload>, Backend> boxes_;
  symmetric::array<packed<long_packed_payload>, Backend> long_boxes_;
  symmetric::array<packed<packed_piece>, Backend> pieces_;
};

[[nodiscard]] __device__ inline int word_of(unsigned channel, unsigned round, unsigned index) {
  return static_cast<int>(channel * 2654435761U + round * 40503U + index);
}

template <class Group>
__device__ void fill(Group, int* to, unsigned size, unsigned channel, unsigned round) {
  for (unsigned i = Group::rank(); i < size; i += Group::size()) {
    to[i] = word_of(channel, round, i);
  }
  Group::sync();
}

/// Returns how many of this thread's words differ from the words sent.
template <class Group>
[[nodiscard]] __device__ unsigned wrong_words(Group, const int* from, unsigned size, unsigned channel, unsigned round) {
  unsigned wrong = 0;
  for (unsigned i = Group::rank(); i < size; i += Group::size()) {
    wrong += checked(from[i] != word_of(channel, round, i));
  }
  return wrong;
}

// The protocols: the sender's actions in a round, and the receiver's actions until it may read the data. `source` holds the
// message, and may be written again after `send`.

/// A receiver that waits for the sender's latest round.
struct notified_by_ready {
  static __device__ wait_result receive(auto group, const auto& all, unsigned channel, unsigned, unsigned round, pe) {
    return try_wait(group, all.ready[channel], equals(round), generous);
  }
};

struct by_put_signal : notified_by_ready {
  static __device__ void send(auto group, const auto& all, unsigned channel, unsigned size, unsigned round, pe other) {
    put_signal(group, all.data_of(channel, size), all.source_of(channel), all.ready[channel], round, other);
  }
};

struct by_put_signal_added {
  static __device__ void send(auto group, const auto& all, unsigned channel, unsigned size, unsigned, pe other) {
    put_signal_nonblocking(group, all.data_of(channel, size), all.source_of(channel), all.sum[channel], 1, other);
    flush(group, all.data.reach());
  }
  static __device__ wait_result receive(auto group, const auto& all, unsigned channel, unsigned, unsigned round, pe) {
    return try_wait(group, all.sum[channel], at_least(round), generous);
  }
};

/// Puts to two arrays, a fence, and then one signal.
struct by_two_puts_and_a_fence {
  static __device__ void send(auto group, const auto& all, unsigned channel, unsigned size, unsigned round, pe other) {
    put(group, all.data_of(channel, size), all.source_of(channel), other);
    put(group, all.more_of(channel, size), all.source_of(channel), other);
    notify(group, all.ready[channel], round, other, fence(group, all.data.reach()));
  }
  static __device__ wait_result receive(auto group, const auto& all, unsigned channel, unsigned, unsigned round, pe) {
    return try_wait(group, all.ready[channel], at_least(round), generous);
  }
};

struct by_put_and_notify : notified_by_ready {
  static __device__ void send(auto group, const auto& all, unsigned channel, unsigned size, unsigned round, pe other) {
    put(group, all.data_of(channel, size), all.source_of(channel), other);
    notify(group, all.ready[channel], round, other);
  }
};

struct by_nonblocking_put_and_quiet : notified_by_ready {
  static __device__ void send(auto group, const auto& all, unsigned channel, unsigned size, unsigned round, pe other) {
    put_nonblocking(group, all.data_of(channel, size), all.source_of(channel), other);
    notify(group, all.ready[channel], round, other, quiet(group, all.data.reach()));
  }
};

/// The receiver fetches data from the sender's own memory.
struct by_get {
  static constexpr bool source_is_read_by_the_receiver = true;
  static __device__ void send(auto group, const auto& all, unsigned channel, unsigned, unsigned round, pe other) {
    notify(group, all.ready[channel], round, other);
  }
  static __device__ wait_result receive(auto group, const auto& all, unsigned channel, unsigned size, unsigned round,
                                        pe other) {
    const wait_result result = try_wait(group, all.ready[channel], equals(round), generous);
    get(group, all.data.local() + channel * most_words, all.source.subspan(channel * most_words, size), other);
    return result;
  }
};

template <class Protocol>
inline constexpr bool source_is_read_by_the_receiver = requires { Protocol::source_is_read_by_the_receiver; };
template <class Protocol>
inline constexpr bool has_more = std::is_same_v<Protocol, by_two_puts_and_a_fence>;

/// The calling group's channel, the properties of the local end of this channel, and whether the calling thread takes part.
struct place {
  unsigned channel;
  unsigned side;
  bool takes_part;

  /// Returns whether the group sends first. On each PE, a different half of the groups sends first.
  [[nodiscard]] __device__ bool begins(pe self) const { return (side + static_cast<unsigned>(self.index())) % 2 == 0; }
};
/// With `Lanes`, each of several lanes of a warp has a channel.
template <bool Lanes = false, class Group>
[[nodiscard]] __device__ place place_of(Group) {
  const unsigned warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  if constexpr (Lanes) {
    return {warp * pieces_per_warp + lane, warp, lane < pieces_per_warp};
  } else if constexpr (std::is_same_v<Group, by_block_t>) {
    return {blockIdx.x, blockIdx.x, true};
  } else {
    // One thread per warp, because threads of one warp must not wait for each other.
    return {warp, warp, !std::is_same_v<Group, by_thread_t> || lane == 0};
  }
}

__device__ inline void add_to(unsigned long long& sum, unsigned long long value) {
  if (value != 0) {
    membar::atomic_ref<unsigned long long, membar::thread_scope::device>(sum).add(value, membar::relaxed);
  }
}

/// Adds a thread's observations of its words, and its group's waits and messages.
template <class Group>
__device__ void add_to(pe_report& report, Group, unsigned long long stale, bool late, unsigned long long messages) {
  add_to(report.stale, stale);
  if (Group::rank() == 0) {
    add_to(report.late, late ? 1 : 0);
    add_to(report.messages, late ? 0 : messages);
  }
}

/// Half of the channels send, and the other half receive. The receiver answers each message before the sender sends the next.
template <class Protocol, class Group, class Backend>
__global__ void pass_messages(channel_memory<Backend> all, unsigned rounds, unsigned size, pe other, pe_report* report) {
  const Group group;
  const place here = place_of(group);
  if (!here.takes_part) {
    return;
  }
  const unsigned channel = here.channel;
  const bool sends = here.begins(all.data.self());
  unsigned long long stale = 0;
  bool late = false;
  for (unsigned round = 1; round <= rounds && !late; ++round) {
    if (sends) {
      fill(group, all.source_of(channel), size, channel, round);
      Protocol::send(group, all, channel, size, round, other);
      if constexpr (!source_is_read_by_the_receiver<Protocol>) {
        fill(group, all.source_of(channel), size, channel, 0);  // seen by the receiver if the source is still in use
      }
      late = try_wait(group, all.taken[channel], equals(round), generous) != wait_result::done;
    } else {
      late = Protocol::receive(group, all, channel, size, round, other) != wait_result::done;
      stale += wrong_words(group, all.data.local() + channel * most_words, size, channel, round);
      if constexpr (has_more<Protocol>) {
        stale += wrong_words(group, all.more.local() + channel * most_words, size, channel, round);
      }
      notify(group, all.taken[channel], round, other);
    }
  }
  add_to(*report, group, stale, late, sends ? 0 : rounds);
}

/// Packed messages in both directions; after the answer, the sender may reuse the box. Pieces are sent from registers and
/// received into registers.
template <class Group, class Payload, class Backend>
__global__ void pass_packed(channel_memory<Backend> all, unsigned rounds, unsigned, pe other, pe_report* report) {
  constexpr unsigned size = sizeof(Payload) / sizeof(int);
  constexpr bool are_pieces = std::is_same_v<Payload, packed_piece>;
  const Group group;
  const place here = place_of<are_pieces>(group);
  if (!here.takes_part) {
    return;
  }
  const unsigned channel = here.channel;
  const bool first = here.begins(all.data.self());
  const auto box = all.template box_of<Payload>(channel);
  Payload in_registers{};
  Payload* out = &in_registers;
  Payload* in = &in_registers;
  if constexpr (!are_pieces) {
    out = reinterpret_cast<Payload*>(all.source_of(channel));
    in = reinterpret_cast<Payload*>(all.data.local() + channel * most_words);
  }
  unsigned long long stale = 0;
  bool late = false;
  for (unsigned round = 1; round <= rounds && !late; ++round) {
    if (first) {
      fill(group, out->words, size, channel, round);
      put_packed(group, box, out, round, other);
      fill(group, out->words, size, channel, 0);
    }
    late = try_take_packed(group, box, in, round, generous) != wait_result::done;
    stale += wrong_words(group, in->words, size, channel, round);
    if (!first) {
      Group::sync();
      put_packed(group, box, in, round, other);
    }
  }
  add_to(*report, group, stale, late, rounds);
}

// Barriers: every PE writes to a slot of every PE, passes a barrier, finds all slots written, and passes a second barrier
// before the next write.

template <class Group, class Backend>
__global__ void pass_barriers(span<int, Backend> slots, span<symmetric::barrier_word, Backend> words, unsigned rounds,
                              pe_report* report) {
  const Group group;
  const int count = slots.count();
  const int self = slots.self().index();
  const int threads = static_cast<int>(Group::size());
  const int rank = static_cast<int>(Group::rank());
  unsigned long long stale = 0;
  bool late = false;
  for (unsigned round = 1; round <= rounds && !late; ++round) {
    // Each thread of the group puts, so the barrier must release all of the puts.
    for (int i = rank; i < count * 32; i += threads) {
      const pe to(i / 32);
      put_value(slots[static_cast<std::size_t>(self * 32 + i % 32)], static_cast<int>(round), to);
    }
    late = try_barrier(group, words, generous) != wait_result::done;
    for (int i = rank; i < count * 32; i += threads) {
      stale += checked(slots.local()[i] != static_cast<int>(round));
    }
    late |= checked(try_barrier(group, words, generous) != wait_result::done);
  }
  add_to(*report, group, stale, late, 0);
}

}  // namespace membar_test
