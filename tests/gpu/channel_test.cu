// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Channels between blocks under load: no message is lost, duplicated, reordered or torn, and every wait ends.
#include <membar/sync/mpmc_channel.cuh>
#include <membar/sync/mpsc_channel.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/spsc_channel.cuh>

#include <tests/common/gpu_test.hpp>
#include <tests/common/stress.hpp>
#include <tests/common/sync.cuh>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace membar_test {
namespace {

constexpr int capacity = 64;

/// The number of messages that a test passes over all its channels; MEMBAR_STRESS_MESSAGES sets a larger number.
unsigned long long message_count() { return stress_count("MEMBAR_STRESS_MESSAGES", 4'000'000); }

/// Each channel has `Producers` producing blocks, followed by one consuming block.
template <int Producers, class Channel>
__global__ void pass_messages(Channel* channels, unsigned count, channel_outcome* producers, channel_outcome* consumers) {
  const unsigned channel = blockIdx.x / (Producers + 1);
  const unsigned place = blockIdx.x % (Producers + 1);
  const unsigned first = channel * Producers;
  if (threadIdx.x != 0) {
    return;
  }
  if (place == Producers) {
    const unsigned long long all = Producers == 1 ? ~0ULL : static_cast<unsigned long long>(count) * Producers;
    consume<Channel, Producers>(channels[channel], first, all, consumers[channel]);
  } else if constexpr (Producers == 1) {
    produce(channels[channel], first, count, producers[first]);
  } else {
    produce_among_many(channels[channel], first + place, count, producers[first + place]);
  }
}

void expect_all(const std::vector<channel_outcome>& ends, unsigned long long each, wait_result last) {
  unsigned long long sum = 0;
  for (const channel_outcome& end : ends) {
    expect_all(end, each, last);
    sum += end.messages;
  }
  ::testing::Test::RecordProperty("messages", std::to_string(sum));
}

/// Passes messages over `number` channels. `last` is the result of each consumer's last call.
template <int Producers, class Channel>
void expect_all_passed(unsigned number, wait_result last) {
  const unsigned count = static_cast<unsigned>(message_count() / (number * Producers));
  const support::device_memory<Channel> channels(number);
  const support::device_memory<channel_outcome> producers(number * Producers);
  const support::device_memory<channel_outcome> consumers(number);
  membar::launch_co_resident(launch_config{number * (Producers + 1), 32}, pass_messages<Producers, Channel>, channels.get(),
                             count, producers.get(), consumers.get());
  expect_all(copied(producers), count, wait_result::done);
  expect_all(copied(consumers), static_cast<unsigned long long>(count) * Producers, last);
}

template <class Channel>
class channel_of_one_producer : public gpu_test {};
using channels_of_one = ::testing::Types<membar::spsc_channel<message, capacity, thread_scope::device>,
                                         membar::spsc_channel<message, capacity, thread_scope::system>,
                                         membar::spsc_channel<message, 1, thread_scope::device>,
                                         membar::packed_spsc_channel<message, capacity, thread_scope::device>,
                                         membar::packed_spsc_channel<message, capacity, thread_scope::system>,
                                         membar::packed_spsc_channel<message, 1, thread_scope::device>>;
TYPED_TEST_SUITE(channel_of_one_producer, channels_of_one);

TYPED_TEST(channel_of_one_producer, loses_duplicates_reorders_and_tears_nothing) {
  expect_all_passed<1, TypeParam>(32, wait_result::closed);
}

template <class Channel>
class channel_of_many_producers : public gpu_test {};
using channels_of_many = ::testing::Types<membar::mpsc_channel<message, capacity, thread_scope::device>,
                                          membar::mpsc_channel<message, capacity, thread_scope::system>,
                                          membar::mpsc_channel<message, 2, thread_scope::device>,
                                          membar::packed_mpsc_channel<message, capacity, thread_scope::device>,
                                          membar::packed_mpsc_channel<message, capacity, thread_scope::system>,
                                          membar::packed_mpsc_channel<message, 2, thread_scope::device>>;
TYPED_TEST_SUITE(channel_of_many_producers, channels_of_many);

TYPED_TEST(channel_of_many_producers, loses_duplicates_reorders_and_tears_nothing) {
  expect_all_passed<3, TypeParam>(16, wait_result::done);
}

/// A work queue shared by all blocks: even blocks push numbers; odd blocks take numbers until the queue is closed, and count
/// how often they take each number. The last producer to finish closes the queue. A message refers to other memory that the
/// producer has written.
template <class Queue>
__global__ void share_work(Queue* queue, unsigned each, unsigned* producing, unsigned* announced, unsigned* taken,
                           channel_outcome* outcomes) {
  if (threadIdx.x != 0) {
    return;
  }
  channel_outcome seen;
  wait_result result = wait_result::done;
  if (blockIdx.x % 2 == 0) {
    const unsigned first = blockIdx.x / 2 * each;
    while (seen.messages != each) {
      const unsigned number = first + static_cast<unsigned>(seen.messages);
      announced[number] = number + 1;  // A plain store, which the push releases.
      if ((result = queue->push(number, generous)) != wait_result::done) {
        break;
      }
      ++seen.messages;
    }
    if (membar::atomic_ref<unsigned, thread_scope::device>(*producing).fetch_sub(1, membar::relaxed) == 1) {
      queue->close();
    }
  } else {
    unsigned number = 0;
    while ((result = queue->pop(number, generous)) == wait_result::done) {
      ++seen.messages;
      if (checked(number >= gridDim.x / 2 * each)) {
        ++seen.torn;
        continue;
      }
      seen.out_of_order += checked(announced[number] != number + 1);
      membar::atomic_ref<unsigned, thread_scope::device>(taken[number]).add(1, membar::relaxed);
    }
  }
  seen.ended = static_cast<unsigned>(result);
  outcomes[blockIdx.x] = seen;
}

template <class Queue>
class queue_of_many_consumers : public gpu_test {};
using queues = ::testing::Types<
    membar::mpmc_channel<unsigned, 1024, thread_scope::device>, membar::mpmc_channel<unsigned, capacity, thread_scope::device>,
    membar::mpmc_channel<unsigned, capacity, thread_scope::system>, membar::mpmc_channel<unsigned, 2, thread_scope::device>>;
TYPED_TEST_SUITE(queue_of_many_consumers, queues);

TYPED_TEST(queue_of_many_consumers, gives_each_message_to_one_consumer_with_what_it_announces) {
  constexpr unsigned blocks = 64;
  const unsigned each = static_cast<unsigned>(message_count() / 8 / (blocks / 2));
  const support::device_memory<TypeParam> queue(1);
  const support::device_memory<unsigned> producing(1);
  const support::device_memory<unsigned> announced(each * blocks / 2);
  const support::device_memory<unsigned> taken(each * blocks / 2);
  const support::device_memory<channel_outcome> outcomes(blocks);
  constexpr unsigned producers = blocks / 2;
  ASSERT_EQ(cudaMemcpy(producing.get(), &producers, sizeof producers, cudaMemcpyDefault), cudaSuccess);
  membar::launch_co_resident(launch_config{blocks, 32}, share_work<TypeParam>, queue.get(), each, producing.get(),
                             announced.get(), taken.get(), outcomes.get());
  const std::vector<channel_outcome> ends = copied(outcomes);
  unsigned long long consumed = 0;
  for (unsigned b = 0; b != blocks; ++b) {
    EXPECT_EQ(ends[b].torn, 0U);
    EXPECT_EQ(ends[b].out_of_order, 0U);
    EXPECT_EQ(ends[b].ended, static_cast<unsigned>(b % 2 == 0 ? wait_result::done : wait_result::closed));
    if (b % 2 == 1) {
      consumed += ends[b].messages;
    }
  }
  EXPECT_EQ(consumed, static_cast<unsigned long long>(each) * producers);
  const std::vector<unsigned> times = copied(taken);
  EXPECT_EQ(std::count(times.begin(), times.end(), 1U), static_cast<std::ptrdiff_t>(times.size()));
}

/// The results that a thread gets from a channel whose other end does nothing.
struct lonely {
  wait_result full_try;
  wait_result full;
  wait_result after_close;
};

template <class Channel>
__global__ void push_alone(Channel* channel, lonely* seen) {
  typename Channel::producer end(*channel);
  for (int i = 0; i != Channel::capacity; ++i) {
    static_cast<void>(end.try_push(message{}));
  }
  seen->full_try = end.try_push(message{});
  seen->full = end.push(message{}, short_one);
  end.close();
  seen->after_close = end.push(message{}, generous);
}

TYPED_TEST(channel_of_one_producer, with_a_dead_consumer_ends_within_the_budget) {
  const lonely got = results_of({1, 1}, 1, push_alone<TypeParam>)[0];
  EXPECT_EQ(got.full_try, wait_result::would_wait);
  EXPECT_EQ(got.full, wait_result::timed_out);
  EXPECT_EQ(got.after_close, wait_result::closed);
}

}  // namespace
}  // namespace membar_test
