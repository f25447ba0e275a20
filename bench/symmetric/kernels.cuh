// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The kernels that the symmetric-memory benches time, common to all backends.
#pragma once

#include <membar/device_clock.cuh>
#include <membar/symmetric/amo.cuh>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/packed.cuh>
#include <membar/symmetric/wait.cuh>

#include <cstddef>
#include <type_traits>

namespace symmetric_bench {

namespace symmetric = membar::symmetric;
using membar::wait_result;
using symmetric::by_block, symmetric::by_block_t, symmetric::by_thread, symmetric::by_thread_t, symmetric::by_warp,
    symmetric::by_warp_t;
using symmetric::counter, symmetric::packed, symmetric::pe, symmetric::ring_neighbour, symmetric::scoped_array, symmetric::span;
using set_signal = symmetric::signal<symmetric::set>;

/// A budget that is longer than any successful wait.
inline constexpr membar::wait_budget generous = membar::wait_budget::milliseconds(5'000);

/// The number of rounds before the clock starts.
inline constexpr unsigned warm_up = 20;

/// A kernel's report: the time of its rounds, and whether a wait timed out.
struct kernel_report {
  unsigned long long nanoseconds;
  unsigned failures;
};

/// Calls `round(number)`, starting from 1, until a call fails or all rounds are done. Reports the time of the rounds after the
/// warm-up, until the last thread of the block has finished.
template <class Group, class Round>
__device__ void timed_rounds(Group, unsigned rounds, kernel_report* report, Round round) {
  unsigned long long begin = 0;
  bool done = true;
#pragma unroll 1
  for (unsigned i = 0; i != warm_up + rounds && done; ++i) {
    if (i == warm_up) {
      begin = membar::global_nanoseconds();
    }
    done = round(i + 1);
  }
  if constexpr (std::is_same_v<Group, by_block_t>) {
    done = !Group::any(!done);
  }
  if (Group::rank() == 0) {
    *report = {membar::global_nanoseconds() - begin, done ? 0U : 1U};
  }
}

/// Round trips of messages: one PE sends the first message, and then each PE answers every message that it receives. The kernel
/// contains one call to `send(number)` and one to `receive(number)`, so both PEs execute the same few instructions.
template <class Group, class Send, class Receive>
__device__ void round_trips(Group group, bool starts, unsigned rounds, kernel_report* report, Send send, Receive receive) {
  const unsigned ahead = starts ? 1 : 0;
  if (starts) {
    send(1U);
  }
  timed_rounds(group, rounds, report, [&](unsigned round) {
    const bool done = receive(round);
    if (round + ahead <= warm_up + rounds) {
      send(round + ahead);
    }
    return done;
  });
}

/// How a kernel waits.
enum class wait_form {
  returning,  ///< With the functions whose names begin with `try_`.
  trapping
};

/// Round trips of messages that end with a signal: `send(value, other)` sets it at the other PE; `first` is its value before the first message.
template <wait_form Form = wait_form::returning, class Group, class Backend, class Send>
__device__ void signalled_round_trips(Group group, span<set_signal, Backend> signals, unsigned long long first, unsigned rounds,
                                      kernel_report* report, Send send) {
  const pe other = ring_neighbour(signals.self(), 1, signals.count());
  round_trips(
      group, signals.self() == pe(0), rounds, report, [&](unsigned number) { send(first + number, other); },
      [&](unsigned number) {
        if constexpr (Form == wait_form::trapping) {
          symmetric::wait(group, signals[0], symmetric::equals(first + number), generous);
          return true;
        }
        return symmetric::try_wait(group, signals[0], symmetric::equals(first + number), generous) == wait_result::done;
      });
}

/// Sends data and a signal to the other PE and back.
template <class Group, class Backend, wait_form Form = wait_form::returning>
__global__ void __launch_bounds__(1024, 1)
    put_signal_round_trips(span<unsigned char, Backend> data, const unsigned char* source, span<set_signal, Backend> signals,
                           unsigned long long first, unsigned rounds, kernel_report* report) {
  signalled_round_trips<Form>(Group(), signals, first, rounds, report, [&](unsigned long long value, pe other) {
    symmetric::put_signal(Group(), data, source, signals[0], value, other);
  });
}

/// Like `put_signal`, but with a put, a fence and a relaxed notification.
template <class Group, class Backend>
__global__ void __launch_bounds__(1024, 1)
    fenced_round_trips(span<unsigned char, Backend> data, const unsigned char* source, span<set_signal, Backend> signals,
                       unsigned long long first, unsigned rounds, kernel_report* report) {
  signalled_round_trips(Group(), signals, first, rounds, report, [&](unsigned long long value, pe other) {
    symmetric::put(Group(), data, source, other);
    symmetric::notify(Group(), signals[0], value, other, symmetric::fence(Group(), data.reach()));
  });
}

template <int Bytes>
struct alignas(4) payload {
  unsigned words[Bytes / 4];
};

/// The source and the destination of a message.
enum class message_in {
  global_memory,
  group  ///< The registers of a thread, or the shared memory of a warp or block.
};

template <wait_form Form, class Group, class Box, class Message>
__device__ void packed_between(Group group, const Box& box, const Message* sent, Message* received, unsigned first,
                               unsigned rounds, kernel_report* report) {
  const pe other = ring_neighbour(box.self(), 1, box.count());
  round_trips(
      group, box.self() == pe(0), rounds, report,
      [&](unsigned number) { symmetric::put_packed(group, box, sent, first + number, other); },
      [&](unsigned number) {
        if constexpr (Form == wait_form::trapping) {
          symmetric::take_packed(group, box, received, first + number, generous);
          return true;
        }
        return symmetric::try_take_packed(group, box, received, first + number, generous) == wait_result::done;
      });
}

/// Round trips of a packed message: PE 1 returns the message of PE 0 unchanged. `memory` has space for two messages.
template <class Group, int Bytes, message_in Where, class Backend, wait_form Form = wait_form::returning>
__global__ void __launch_bounds__(1024, 1)
    packed_round_trips(span<packed<payload<Bytes>>, Backend> boxes, payload<Bytes>* memory, unsigned first, unsigned rounds,
                       kernel_report* report) {
  const Group group;
  const std::size_t sent = boxes.self() == pe(0) ? 0 : 1;
  if constexpr (Where == message_in::global_memory) {
    packed_between<Form>(group, boxes[0], memory + sent, memory + 1, first, rounds, report);
  } else if constexpr (std::is_same_v<Group, by_thread_t>) {
    payload<Bytes> message = memory[sent];
    packed_between<Form>(group, boxes[0], &message, &message, first, rounds, report);
    memory[1] = message;
  } else {
    __shared__ payload<Bytes> messages[2];
    const auto copy = [](payload<Bytes>& to, const payload<Bytes>& from) {
      for (unsigned i = Group::rank(); i < Bytes / 4; i += Group::size()) {
        to.words[i] = from.words[i];
      }
    };
    copy(messages[sent], memory[sent]);
    Group::sync();
    packed_between<Form>(group, boxes[0], messages + sent, messages + 1, first, rounds, report);
    copy(memory[1], messages[1]);
  }
}

/// Round trips of a message of `boxes.size()` pieces, each in the registers of a thread. A thread receives its own piece and
/// returns it, without waiting for other threads' pieces. In each warp, `Lanes` lanes have a piece.
template <unsigned Lanes, class Backend>
__global__ void __launch_bounds__(1024, 1)
    packed_pieces_round_trips(span<packed<payload<12>>, Backend> boxes, payload<12>* memory, unsigned rounds,
                              kernel_report* report) {
  const pe other = ring_neighbour(boxes.self(), 1, boxes.count());
  const unsigned piece = threadIdx.x / 32 * Lanes + threadIdx.x % 32;
  const bool has_one = threadIdx.x % 32 < Lanes && piece < boxes.size();
  payload<12> message{};
  if (has_one) {
    message = memory[piece];
  }
  round_trips(
      by_block, boxes.self() == pe(0), rounds, report,
      [&](unsigned number) {
        if (has_one) {
          symmetric::put_packed(by_thread, boxes[piece], &message, number, other);
        }
      },
      [&](unsigned number) {
        return !has_one || symmetric::try_take_packed(by_thread, boxes[piece], &message, number, generous) == wait_result::done;
      });
  if (has_one) {
    memory[piece] = message;
  }
}

/// Each block puts its part of the data `rounds` times.
template <class Backend>
__global__ void __launch_bounds__(1024, 1)
    put_parts(span<unsigned char, Backend> data, const unsigned char* source, unsigned rounds) {
  const std::size_t part = data.size() / gridDim.x / 16 * 16;
  const std::size_t first = part * blockIdx.x;
  const std::size_t size = blockIdx.x == gridDim.x - 1 ? data.size() - first : part;
  const pe other = ring_neighbour(data.self(), 1, data.count());
#pragma unroll 1
  for (unsigned round = 0; round != rounds; ++round) {
    symmetric::put_nonblocking(by_block, data.subspan(first, size), source + first, other);
  }
  symmetric::quiet(by_block, data.reach());
}

/// A sequence of dependent AMOs: `next(seen)` takes the previous AMO's result.
template <class Next>
__device__ void amo_chain(unsigned rounds, kernel_report* report, Next next) {
  unsigned long long seen = 0;
  timed_rounds(by_thread, rounds, report, [&](unsigned) {
    seen = next(seen);
    return true;
  });
}

template <class Backend>
using amo_counters = span<counter<unsigned long long>, Backend>;

template <class Backend>
__global__ void fetch_add_chain(amo_counters<Backend> counters, pe other, unsigned rounds, kernel_report* report) {
  amo_chain(rounds, report, [&](auto seen) { return symmetric::amo_fetch_add(counters[0], 1 + (seen >> 63), other); });
}

template <class Backend>
__global__ void compare_exchange_chain(amo_counters<Backend> counters, pe other, unsigned rounds, kernel_report* report) {
  amo_chain(rounds, report, [&](auto seen) { return symmetric::amo_compare_exchange(counters[1], seen, seen + 1, other); });
}

/// Additions that do not wait for each other, followed by one wait for all of them.
template <class Backend>
__global__ void add_stream(amo_counters<Backend> counters, pe other, unsigned rounds, kernel_report* report) {
  timed_rounds(by_thread, rounds, report, [&](unsigned round) {
    symmetric::amo_add(counters[2], 1ULL, other);
    if (round == warm_up + rounds) {
      symmetric::quiet(by_thread, counters.reach());
    }
    return true;
  });
}

template <class Group, class Order, class Backend>
__global__ void __launch_bounds__(1024, 1)
    barriers(span<symmetric::barrier_word, Backend> words, unsigned rounds, kernel_report* report) {
  const Group group;
  timed_rounds(group, rounds, report,
               [&](unsigned) { return symmetric::try_barrier(group, words, generous, Order()) == wait_result::done; });
}

}  // namespace symmetric_bench
