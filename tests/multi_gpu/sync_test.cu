// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The synchronization patterns between two devices: channels, a barrier with flags in each device's own memory, and a publisher
// whose signals are in the peer's memory.
#include <membar/sync/cross_barrier.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/spsc_channel.cuh>

#include <tests/common/gpu_test.hpp>
#include <tests/common/publisher.cuh>
#include <tests/common/sync.cuh>

#include <optional>

namespace membar_test {
namespace {

constexpr unsigned messages = 1'000'000;
constexpr int capacity = 256;

template <class Channel>
__global__ void produce_all(Channel* to, channel_outcome* outcome) {
  produce(*to, 0, messages, *outcome);
}
template <class Channel>
__global__ void consume_all(Channel* from, channel_outcome* outcome) {
  consume(*from, 0, ~0ULL, *outcome);
}

template <class Channel>
class channel_between_devices : public multi_gpu_test {};
using channels = ::testing::Types<membar::spsc_channel<message, capacity, thread_scope::system>,
                                  membar::packed_spsc_channel<message, capacity, thread_scope::system>>;
TYPED_TEST_SUITE(channel_between_devices, channels);

TYPED_TEST(channel_between_devices, loses_duplicates_reorders_and_tears_nothing) {
  const support::pinned_memory<channel_outcome> outcomes(2);
  std::optional<support::device_memory<TypeParam>> channel;
  {
    const support::device_guard guard(this->second);  // The memory is on the consumer's device, because the consumer polls it.
    channel.emplace(1);
    load(consume_all<TypeParam>);
  }
  load(produce_all<TypeParam>);
  membar::launch(launch_config{1, 1}, produce_all<TypeParam>, channel->get(), outcomes.get());
  {
    const support::device_guard guard(this->second);
    membar::launch(launch_config{1, 1}, consume_all<TypeParam>, channel->get(), outcomes.get() + 1);
    finish();
  }
  finish();
  expect_all(outcomes[0], messages, wait_result::done);
  expect_all(outcomes[1], messages, wait_result::closed);
}

using barrier = membar::cross_barrier<2>;
constexpr int phases = 20'000;

struct flags_and_side {
  barrier::flags flags;
  barrier_side side;
};

__global__ void meet(flags_and_side* first, flags_and_side* second, int rank) {
  barrier::flags* const flags[2] = {&first->flags, &second->flags};
  barrier_side* const sides[2] = {&first->side, &second->side};
  barrier mine(flags, rank);
  run_phases(mine, sides, rank, phases);
}

class sync_between_devices : public multi_gpu_test {};

TEST_F(sync_between_devices, barrier_shows_after_it_what_was_written_before) {
  const support::device_memory<flags_and_side> near(1);
  std::optional<support::device_memory<flags_and_side>> far;
  load(meet);
  {
    const support::device_guard guard(second);
    far.emplace(1);
    load(meet);
    membar::launch(launch_config{1, 1}, meet, near.get(), far->get(), 1);
  }
  membar::launch(launch_config{1, 1}, meet, near.get(), far->get(), 0);
  finish();
  finish_on(second);
  expect_passed(copied(near)[0].side, phases);
  expect_passed(copied(*far)[0].side, phases);
}

__global__ void publish_to_the_peer(post* posts, unsigned count, publisher_end* writers, served* result) {
  publish_by_a_block(posts, count, writers, *result, true);
}
__global__ void read_on_the_peer(post* posts, unsigned count, publisher_end* readers) {
  read_posts(posts[threadIdx.x], count, readers[threadIdx.x], true);
}

TEST_F(sync_between_devices, publisher_shows_no_signal_before_its_data) {
  constexpr unsigned rounds = 20'000;
  const publisher_outcome seen;
  std::optional<support::device_memory<post>> posts;
  load(publish_to_the_peer);
  {
    const support::device_guard guard(second);
    posts.emplace(sources);
    load(read_on_the_peer);
    membar::launch(launch_config{1, sources}, read_on_the_peer, posts->get(), rounds, seen.readers.get());
  }
  membar::launch(launch_config{1, 32 * (sources + 1)}, publish_to_the_peer, posts->get(), rounds, seen.writers.get(),
                 seen.result.get());
  finish();
  finish_on(second);
  seen.expect_good(2 * rounds * sources);
}

}  // namespace
}  // namespace membar_test
