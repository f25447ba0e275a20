// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The patterns between two devices: channels, a barrier by flags near to each, and a publisher whose signals are on the peer.
#include <membar/sync/cross_barrier.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/publisher.cuh>
#include <membar/sync/spsc_channel.cuh>

#include <tests/common/gpu_test.hpp>
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
    const support::device_guard guard(this->second);  // near to the consumer, which polls
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

struct side {
  barrier::flags flags;
  int written;
  unsigned stale;
  unsigned late;
};

__global__ void meet(side* first, side* second, int rank) {
  barrier::flags* const flags[2] = {&first->flags, &second->flags};
  side& own = rank == 0 ? *first : *second;
  const side& other = rank == 0 ? *second : *first;
  barrier mine(flags, rank);
  for (int phase = 1; phase <= phases; ++phase) {
    own.written = phase;
    own.late |= mine.sync(generous) == wait_result::done ? 0U : 1U;
    own.stale += other.written == phase ? 0U : 1U;
    own.late |= mine.sync(generous) == wait_result::done ? 0U : 1U;
    if (own.late != 0) {
      return;
    }
  }
}

class sync_between_devices : public multi_gpu_test {};

TEST_F(sync_between_devices, barrier_shows_after_it_what_was_written_before) {
  const support::device_memory<side> near(1);
  std::optional<support::device_memory<side>> far;
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
  for (side* const memory : {near.get(), far->get()}) {
    const auto seen = copied(memory, 1);
    const side& each = seen[0];
    EXPECT_EQ(each.written, phases);
    EXPECT_EQ(each.late, 0U);
    EXPECT_EQ(each.stale, 0U);
  }
}

constexpr int sources = 4;
constexpr unsigned rounds = 20'000;

struct post {
  unsigned data;
  unsigned long long signal;
};

struct outcome {
  unsigned long long stale;
  unsigned late;
  unsigned failures;
  unsigned long long fences;
};

__global__ void publish_to_the_peer(post* posts, outcome* seen) {
  __shared__ membar::publisher<sources, 16> publisher;
  const int warp = static_cast<int>(threadIdx.x / 32);
  if (threadIdx.x == 0) {
    publisher.init();
  }
  __syncthreads();
  if (warp == sources) {
    const membar::publisher_report report = publisher.serve_warp(generous);
    if (threadIdx.x % 32 == 0) {
      seen->fences = report.fences;
    }
  } else if (threadIdx.x % 32 == 0) {
    membar::publisher<sources, 16>::source source(publisher, warp);
    unsigned failures = 0;
    for (unsigned i = 1; i <= rounds; ++i) {
      membar::atomic_ref<unsigned, thread_scope::system>(posts[warp].data).store(i, membar::relaxed);
      failures += source.publish(posts[warp].signal, i, generous) == wait_result::done ? 0 : 1;
    }
    source.close();
    membar::atomic_ref<unsigned, thread_scope::system>(seen->failures).add(failures, membar::relaxed);
  }
}

__global__ void read_on_the_peer(post* posts, outcome* seen) {
  post& from = posts[threadIdx.x];
  const membar::atomic_ref<unsigned long long, thread_scope::system> signal(from.signal);
  const membar::atomic_ref<unsigned, thread_scope::system> data(from.data);
  unsigned long long value = 0;
  membar::detail::polling poll(generous);
  while (value != rounds && !poll.over()) {
    value = signal.load(membar::acquire);
    seen[threadIdx.x].stale += data.load(membar::relaxed) < value ? 1 : 0;
  }
  seen[threadIdx.x].late = value == rounds ? 0 : 1;
}

TEST_F(sync_between_devices, publisher_shows_no_signal_before_its_data) {
  const support::pinned_memory<outcome> writer(1);
  const support::pinned_memory<outcome> readers(sources);
  std::optional<support::device_memory<post>> posts;
  load(publish_to_the_peer);
  {
    const support::device_guard guard(second);
    posts.emplace(sources);
    load(read_on_the_peer);
    membar::launch(launch_config{1, sources}, read_on_the_peer, posts->get(), readers.get());
  }
  membar::launch(launch_config{1, 32 * (sources + 1)}, publish_to_the_peer, posts->get(), writer.get());
  finish();
  finish_on(second);
  EXPECT_EQ(writer[0].failures, 0U);
  EXPECT_LE(writer[0].fences, static_cast<unsigned long long>(rounds) * sources);
  for (std::size_t s = 0; s != sources; ++s) {
    EXPECT_EQ(readers[s].stale, 0U);
    EXPECT_EQ(readers[s].late, 0U);
  }
}

}  // namespace
}  // namespace membar_test
