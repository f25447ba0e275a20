// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Code shared by the stress tests for the synchronization patterns: messages whose contents show whether they are torn, lost
/// or out of order, and the two ends of a channel, which check the messages.
#pragma once

#include <membar/co_residency.hpp>
#include <membar/wait_budget.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>

#include <cstddef>
#include <vector>

namespace membar_test {

using membar::wait_budget;
using membar::wait_result;

/// A budget that is longer than any successful wait.
inline constexpr wait_budget generous = wait_budget::milliseconds(10'000);
inline constexpr wait_budget short_one = wait_budget::milliseconds(2);

/// Waits until `condition()` is true, or for `budget`. Returns whether the condition became true.
MEMBAR_CALLS_EITHER
template <class Condition>
MEMBAR_HOST_DEVICE bool wait_for(wait_budget budget, Condition condition) {
  for (membar::detail::polling poll(budget); !condition();) {
    if (poll.over()) {
      return false;
    }
  }
  return true;
}

/// Waits for `time`.
MEMBAR_HOST_DEVICE inline void wait_for(wait_budget time) {
  wait_for(time, [] { return false; });
}

/// Returns the `count` results that `kernel(shared, results, arguments...)` writes, with all its blocks co-resident and one
/// zeroed `shared`.
template <class Shared, class Result, class... Parameters>
[[nodiscard]] std::vector<Result> results_of(const launch_config<>& config, std::size_t count,
                                             void (*kernel)(Shared*, Result*, Parameters...), auto... arguments) {
  const support::device_memory<Shared> shared(1);
  const support::device_memory<Result> results(count);
  membar::launch_co_resident(config, kernel, shared.get(), results.get(), arguments...);
  return copied(results);
}

/// A message whose contents show whether it is torn.
struct message {
  unsigned producer;
  unsigned number;
  unsigned check;
};

[[nodiscard]] MEMBAR_HOST_DEVICE inline unsigned check_of(unsigned producer, unsigned number) {
  return producer * 2654435761U + number * 40503U + 1;
}

/// What one end of a channel has observed.
struct channel_outcome {
  unsigned long long messages = 0;
  unsigned long long torn = 0;
  unsigned long long out_of_order = 0;  ///< The number of lost, duplicated or reordered messages.
  unsigned ended = 0;                   ///< The `wait_result` of the last call.
};

/// Expects that an end has received this many messages, whole and in order, and that its last call returned this result.
inline void expect_all(const channel_outcome& end, unsigned long long messages, wait_result last) {
  EXPECT_EQ(end.messages, messages);
  EXPECT_EQ(end.torn, 0U);
  EXPECT_EQ(end.out_of_order, 0U);
  EXPECT_EQ(end.ended, static_cast<unsigned>(last));
}

/// Pushes `count` messages through a channel's end, or into a channel that other producers may still use.
template <class Channel>
MEMBAR_HOST_DEVICE void produce_among_many(Channel& channel, unsigned producer, unsigned count, channel_outcome& outcome) {
  wait_result result = wait_result::done;
  unsigned i = 0;
  while (i != count && (result = channel.push(message{producer, i, check_of(producer, i)}, generous)) == wait_result::done) {
    ++i;
  }
  outcome.messages = i;
  outcome.ended = static_cast<unsigned>(result);
}

/// Pushes `count` messages and then closes the channel.
template <class Channel>
MEMBAR_HOST_DEVICE void produce(Channel& channel, unsigned producer, unsigned count, channel_outcome& outcome) {
  typename Channel::producer end(channel);
  produce_among_many(end, producer, count, outcome);
  end.close();
}

/// Pops messages from the producers `first`, `first + 1`, ... until the channel is closed or `count` messages have been taken.
template <class Channel, int Producers = 1>
MEMBAR_HOST_DEVICE void consume(Channel& channel, unsigned first, unsigned long long count, channel_outcome& outcome) {
  typename Channel::consumer end(channel);
  unsigned next[Producers] = {};
  channel_outcome seen;
  wait_result result = wait_result::done;
  message got{};
  while (seen.messages != count && (result = end.pop(got, generous)) == wait_result::done) {
    ++seen.messages;
    const unsigned p = got.producer - first;
    if (checked(p >= Producers || got.check != check_of(got.producer, got.number))) {
      ++seen.torn;
      continue;
    }
    seen.out_of_order += checked(got.number != next[p]);
    next[p] = got.number + 1;
  }
  seen.ended = static_cast<unsigned>(result);
  outcome = seen;
}

/// The values that one side writes before a barrier, and how that side checks the other side's values after the barrier.
struct barrier_side {
  int written = 0;
  unsigned stale = 0;
  unsigned late = 0;
};

/// There are two barriers per phase, so that no side writes while another side reads.
template <class Barrier, int Sides>
MEMBAR_HOST_DEVICE void run_phases(Barrier& barrier, barrier_side* const (&sides)[Sides], int own, int phases) {
  barrier_side& mine = *sides[own];
  for (int phase = 1; phase <= phases && mine.late == 0; ++phase) {
    mine.written = phase;
    mine.late |= checked(barrier.sync(generous) != wait_result::done);
    for (const barrier_side* side : sides) {
      mine.stale += checked(side->written != phase);
    }
    mine.late |= checked(barrier.sync(generous) != wait_result::done);
  }
}

inline void expect_passed(const barrier_side& side, int phases) {
  EXPECT_EQ(side.written, phases);
  EXPECT_EQ(side.late, 0U);
  EXPECT_EQ(side.stale, 0U);
}

}  // namespace membar_test
