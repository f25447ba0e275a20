// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Channels between blocks under load: no message is lost, duplicated, reordered or torn, and every wait ends.
#include <membar/sync/mpsc_channel.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/spsc_channel.cuh>

#include <tests/common/gpu_test.hpp>
#include <tests/common/stress.hpp>
#include <tests/common/sync.cuh>

#include <vector>

namespace membar_test {
namespace {

constexpr int capacity = 64;

/// All channels of a test together; MEMBAR_STRESS_MESSAGES asks for more.
unsigned long long message_count() { return stress_count("MEMBAR_STRESS_MESSAGES", 4'000'000); }

/// Each channel has `Producers` blocks that produce, and after them one that consumes.
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

/// Passes messages over `number` channels; `last` is how the consumers' last calls end.
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

/// What a thread alone sees of a channel whose other end does nothing.
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
