// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the benches of symmetric memory time, written once for every backend.
#pragma once

#include <membar/symmetric/amo.cuh>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/packed.cuh>
#include <membar/symmetric/wait.cuh>
#include <support/device_clock.cuh>

#include <cstddef>

namespace symmetric_bench {

using membar::pe;
using membar::symmetric;
using membar::symmetric_span;
using membar::wait_result;

/// Longer than anything that goes well.
inline constexpr membar::wait_budget generous = membar::wait_budget::milliseconds(5'000);

/// Rounds before the clock starts.
inline constexpr unsigned warm_up = 20;

/// What a kernel reports: the time of its rounds, and whether a wait was in vain.
struct kernel_report {
  unsigned long long nanoseconds;
  unsigned failures;
};

/// Calls `round(number)`, from 1 on, until it fails or all are done, and reports the time of those behind the warm-up.
template <class Group, class Round>
__device__ void timed_rounds(Group, unsigned rounds, kernel_report* report, Round round) {
  unsigned long long begin = 0;
  bool done = true;
  for (unsigned i = 0; i != warm_up + rounds && done; ++i) {
    if (i == warm_up) {
      begin = support::device_nanoseconds();
    }
    done = round(i + 1);
  }
  if (Group::rank() == 0) {
    *report = {support::device_nanoseconds() - begin, done ? 0U : 1U};
  }
}

/// Data and a signal to the other PE and back; `first` is what the signals hold before.
template <class Group, class Backend>
__global__ void put_signal_round_trips(symmetric_span<unsigned char, Backend> data, const unsigned char* source,
                                       symmetric_span<membar::signal<membar::set>, Backend> signals, unsigned long long first,
                                       unsigned rounds, kernel_report* report) {
  const Group group;
  const pe other = membar::ring_neighbour(data.self(), 1, data.count());
  const bool starts = data.self() == pe(0);
  timed_rounds(group, rounds, report, [&](unsigned round) {
    if (starts) {
      membar::put_signal(group, data, source, signals[0], first + round, other);
    }
    const wait_result result = membar::try_wait(group, signals[0], membar::equals(first + round), generous);
    if (!starts) {
      membar::put_signal(group, data, source, signals[0], first + round, other);
    }
    return result == wait_result::done;
  });
}

/// The same with the parts apart: a put, a fence, a relaxed notification.
template <class Group, class Backend>
__global__ void fenced_round_trips(symmetric_span<unsigned char, Backend> data, const unsigned char* source,
                                   symmetric_span<membar::signal<membar::set>, Backend> signals, unsigned long long first,
                                   unsigned rounds, kernel_report* report) {
  const Group group;
  const pe other = membar::ring_neighbour(data.self(), 1, data.count());
  const bool starts = data.self() == pe(0);
  const auto send = [&](unsigned long long value) {
    membar::put(group, data, source, other);
    membar::notify(group, signals[0], value, other, membar::fence(group, data.reach()));
  };
  timed_rounds(group, rounds, report, [&](unsigned round) {
    if (starts) {
      send(first + round);
    }
    const wait_result result = membar::try_wait(group, signals[0], membar::equals(first + round), generous);
    if (!starts) {
      send(first + round);
    }
    return result == wait_result::done;
  });
}

template <int Bytes>
struct alignas(4) payload {
  unsigned words[Bytes / 4];
};

/// A packed message there and back.
template <class Group, int Bytes, class Backend>
__global__ void packed_round_trips(symmetric_span<membar::packed<payload<Bytes>>, Backend> boxes, payload<Bytes>* memory,
                                   unsigned first, unsigned rounds, kernel_report* report) {
  const Group group;
  const pe other = membar::ring_neighbour(boxes.self(), 1, boxes.count());
  const bool starts = boxes.self() == pe(0);
  timed_rounds(group, rounds, report, [&](unsigned round) {
    if (starts) {
      membar::put_packed(group, boxes[0], memory, first + round, other);
    }
    const wait_result result = membar::try_take_packed(group, boxes[0], memory + 1, first + round, generous);
    if (!starts) {
      membar::put_packed(group, boxes[0], memory + 1, first + round, other);
    }
    return result == wait_result::done;
  });
}

/// Each block puts its part of the data, `rounds` times.
template <class Backend>
__global__ void put_parts(symmetric_span<unsigned char, Backend> data, const unsigned char* source, unsigned rounds) {
  const std::size_t part = data.size() / gridDim.x / 16 * 16;
  const std::size_t first = part * blockIdx.x;
  const std::size_t size = blockIdx.x == gridDim.x - 1 ? data.size() - first : part;
  const pe other = membar::ring_neighbour(data.self(), 1, data.count());
  for (unsigned round = 0; round != rounds; ++round) {
    membar::put_nonblocking(membar::by_block, data.subspan(first, size), source + first, other);
  }
  membar::quiet(membar::by_block, data.reach());
}

/// One AMO behind the other, each waiting for the value of the one before.
template <class Backend>
__global__ void fetch_add_chain(symmetric_span<membar::counter<unsigned long long>, Backend> counters, pe other,
                                unsigned rounds, kernel_report* report) {
  unsigned long long seen = 0;
  timed_rounds(membar::by_thread, rounds, report, [&](unsigned) {
    seen = membar::amo_fetch_add(counters[0], 1 + (seen >> 63), other);
    return true;
  });
}

template <class Backend>
__global__ void compare_exchange_chain(symmetric_span<membar::counter<unsigned long long>, Backend> counters, pe other,
                                       unsigned rounds, kernel_report* report) {
  unsigned long long seen = 0;
  timed_rounds(membar::by_thread, rounds, report, [&](unsigned) {
    seen = membar::amo_compare_exchange(counters[1], seen, seen + 1, other);
    return true;
  });
}

/// Additions that nobody waits for, and their completion at the end.
template <class Backend>
__global__ void add_stream(symmetric_span<membar::counter<unsigned long long>, Backend> counters, pe other, unsigned rounds,
                           kernel_report* report) {
  timed_rounds(membar::by_thread, rounds, report, [&](unsigned round) {
    membar::amo_add(counters[2], 1ULL, other);
    if (round == warm_up + rounds) {
      membar::quiet(membar::by_thread, counters.reach());
    }
    return true;
  });
}

template <class Group, class Order, class Backend>
__global__ void barriers(symmetric_span<membar::barrier_word, Backend> words, unsigned rounds, kernel_report* report) {
  const Group group;
  timed_rounds(group, rounds, report,
               [&](unsigned) { return membar::try_barrier(group, words, generous, Order()) == wait_result::done; });
}

}  // namespace symmetric_bench
