// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Channels between blocks under load: no message is lost, duplicated, reordered or torn, and every wait ends.
#include <membar/co_residency.hpp>
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
constexpr unsigned pairs = 32;
constexpr int producers_each = 3;

/// All channels of a test together; MEMBAR_STRESS_MESSAGES asks for more.
unsigned long long message_count() { return stress_count("MEMBAR_STRESS_MESSAGES", 4'000'000); }

/// Blocks 2i and 2i + 1 are the ends of channel i.
template <class Channel>
__global__ void pass_messages(Channel* channels, unsigned count, channel_outcome* producers, channel_outcome* consumers) {
  const unsigned pair = blockIdx.x / 2;
  if (threadIdx.x != 0) {
    return;
  }
  if (blockIdx.x % 2 == 0) {
    produce(channels[pair], pair, count, producers[pair]);
  } else {
    consume(channels[pair], pair, ~0ULL, consumers[pair]);
  }
}

/// Blocks 4i to 4i + 2 produce into channel i, and block 4i + 3 consumes.
template <class Channel>
__global__ void pass_messages_of_many(Channel* channels, unsigned count, channel_outcome* producers,
                                      channel_outcome* consumers) {
  const unsigned group = blockIdx.x / (producers_each + 1);
  const unsigned place = blockIdx.x % (producers_each + 1);
  if (threadIdx.x != 0) {
    return;
  }
  if (place != producers_each) {
    const unsigned producer = group * producers_each + place;
    produce_among_many(channels[group], producer, count, producers[producer]);
  } else {
    consume<Channel, producers_each>(channels[group], group * producers_each,
                                     static_cast<unsigned long long>(count) * producers_each, consumers[group]);
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
  const unsigned count = static_cast<unsigned>(message_count() / pairs);
  const support::device_memory<TypeParam> channels(pairs);
  const support::device_memory<channel_outcome> producers(pairs);
  const support::device_memory<channel_outcome> consumers(pairs);
  membar::launch_co_resident(launch_config{2 * pairs, 32}, pass_messages<TypeParam>, channels.get(), count, producers.get(),
                             consumers.get());
  expect_all(copied(producers), count, wait_result::done);
  expect_all(copied(consumers), count, wait_result::closed);
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
  constexpr unsigned groups = pairs / 2;
  const unsigned count = static_cast<unsigned>(message_count() / groups / producers_each);
  const support::device_memory<TypeParam> channels(groups);
  const support::device_memory<channel_outcome> producers(groups * producers_each);
  const support::device_memory<channel_outcome> consumers(groups);
  membar::launch_co_resident(launch_config{groups * (producers_each + 1), 32}, pass_messages_of_many<TypeParam>, channels.get(),
                             count, producers.get(), consumers.get());
  expect_all(copied(producers), count, wait_result::done);
  expect_all(copied(consumers), static_cast<unsigned long long>(count) * producers_each, wait_result::done);
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
  const support::device_memory<TypeParam> channel(1);
  const support::device_memory<lonely> seen(1);
  membar::launch(launch_config{1, 1}, push_alone<TypeParam>, channel.get(), seen.get());
  const lonely got = copied(seen)[0];
  EXPECT_EQ(got.full_try, wait_result::would_wait);
  EXPECT_EQ(got.full, wait_result::timed_out);
  EXPECT_EQ(got.after_close, wait_result::closed);
}

}  // namespace
}  // namespace membar_test
