// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The publisher: who acquires a signal finds the data and the source's earlier signals; lag is bounded; every wait ends.
#include <membar/co_residency.hpp>
#include <membar/sync/publisher.cuh>

#include <tests/common/gpu_test.hpp>
#include <tests/common/stress.hpp>
#include <tests/common/sync.cuh>

#include <string>

namespace membar_test {
namespace {

constexpr int sources = 4;
constexpr int lag = 16;
/// Of each source; MEMBAR_STRESS_PUBLICATIONS asks for more or, under a tool that makes them slow, fewer.
unsigned rounds() { return static_cast<unsigned>(stress_count("MEMBAR_STRESS_PUBLICATIONS", 20'000)); }
constexpr unsigned words = 32;

/// One source's: data that is only ever replaced by newer, and two signals that say how new it is at least.
struct post {
  unsigned data[words];
  unsigned long long first;
  unsigned long long second;
};

struct outcome {
  unsigned long long stale;
  unsigned long long out_of_order;
  unsigned long long looks;
  unsigned late;
  unsigned failures;
};

struct served {
  membar::publisher_report report;
  unsigned long long fences;
};

/// Writes data by a warp and publishes each round as a warp, with no barrier of its own: what any lane wrote is published.
template <class Publisher>
__device__ void write_posts_as_a_warp(Publisher& publisher, int index, post& to, unsigned count, outcome& seen) {
  typename Publisher::warp_source source(publisher, index);
  unsigned failures = 0;
  for (unsigned i = 1; i <= count && failures == 0; ++i) {
    membar::atomic_ref<unsigned, thread_scope::system>(to.data[threadIdx.x % 32]).store(i, membar::relaxed);
    failures += source.publish(to.first, i, generous) == wait_result::done ? 0 : 1;
  }
  failures += source.flush(generous) == wait_result::done ? 0 : 1;
  // Every lane finds the signal, not only the one that heard of it.
  failures += membar::atomic_ref<unsigned long long, thread_scope::system>(to.first).load(membar::relaxed) == count ? 0 : 1;
  source.close();
  failures += source.publish(to.first, 0, generous) == wait_result::closed ? 0 : 1;
  if (__any_sync(0xffffffffU, failures != 0) != 0 && threadIdx.x % 32 == 0) {
    ++seen.failures;
  }
}

/// Writes data by a warp and publishes each round in both signals by one lane, then checks what closing leaves.
template <class Publisher>
__device__ void write_posts(Publisher& publisher, int index, post& to, unsigned count, outcome& seen) {
  typename Publisher::source source(publisher, index);
  for (unsigned i = 1; i <= count; ++i) {
    membar::atomic_ref<unsigned, thread_scope::system>(to.data[threadIdx.x % 32]).store(i, membar::relaxed);
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      const bool done = source.publish(to.first, i, generous) == wait_result::done &&
                        source.publish(to.second, i, generous) == wait_result::done;
      seen.failures += done ? 0 : 1;
    }
    __syncwarp();
  }
  if (threadIdx.x % 32 == 0) {
    seen.failures += source.flush(generous) == wait_result::done ? 0 : 1;
    const membar::atomic_ref<unsigned long long, thread_scope::system> first(to.first);
    seen.failures += first.load(membar::relaxed) == count ? 0 : 1;
    source.close();
    seen.failures += source.publish(to.first, 0, generous) == wait_result::closed ? 0 : 1;
  }
}

/// Acquires the signals until the last value: the data is never older, nor is the earlier signal.
MEMBAR_HOST_DEVICE void read_posts(post& from, unsigned count, outcome& seen, bool alternate) {
  const membar::atomic_ref<unsigned long long, thread_scope::system> first(from.first);
  const membar::atomic_ref<unsigned long long, thread_scope::system> second(from.second);
  unsigned long long value = 0;
  membar::detail::polling poll(generous);
  while (value != count && !poll.over()) {
    value = alternate ? second.load(membar::acquire) : first.load(membar::acquire);
    if (alternate) {
      seen.out_of_order += first.load(membar::relaxed) < value ? 1 : 0;
    }
    for (unsigned w = 0; w != words; ++w) {
      // Later rounds may be under way: what is read is as new or newer.
      seen.stale += membar::atomic_ref<unsigned, thread_scope::system>(from.data[w]).load(membar::relaxed) < value ? 1 : 0;
    }
    ++seen.looks;
  }
  seen.late += value == count ? 0 : 1;
}

/// Block 0 publishes with its last warp, block 1 reads, a thread for each source.
__global__ void publish_to_a_block(post* posts, unsigned count, outcome* writers, outcome* readers, served* result,
                                   bool alternate) {
  __shared__ membar::publisher<sources, lag> publisher;
  const int warp = static_cast<int>(threadIdx.x / 32);
  if (blockIdx.x == 1) {
    if (warp < sources && threadIdx.x % 32 == 0) {
      read_posts(posts[warp], count, readers[warp], alternate);
    }
    return;
  }
  if (threadIdx.x == 0) {
    publisher.init();
  }
  __syncthreads();
  if (warp < sources && alternate) {
    write_posts(publisher, warp, posts[warp], count, writers[warp]);
  } else if (warp < sources) {
    write_posts_as_a_warp(publisher, warp, posts[warp], count, writers[warp]);
  } else {
    const membar::publisher_report report = publisher.serve_warp(generous);
    if (threadIdx.x % 32 == 0) {
      *result = {report, publisher.fences()};
    }
  }
}

/// Blocks 0 to 3 are sources at device scope, block 4 serves, block 5 reads.
using device_publisher = membar::publisher<sources, lag, thread_scope::device, thread_scope::system>;
__global__ void publish_from_blocks(device_publisher* publisher, post* posts, unsigned count, outcome* writers,
                                    outcome* readers, served* result, bool by_thread) {
  if (blockIdx.x < sources) {
    write_posts(*publisher, static_cast<int>(blockIdx.x), posts[blockIdx.x], count, writers[blockIdx.x]);
  } else if (blockIdx.x == sources) {
    if (!by_thread || threadIdx.x == 0) {
      const membar::publisher_report report = by_thread ? publisher->serve_thread(generous) : publisher->serve_warp(generous);
      if (threadIdx.x == 0) {
        *result = {report, publisher->fences()};
      }
    }
  } else if (threadIdx.x < sources) {
    read_posts(posts[threadIdx.x], count, readers[threadIdx.x], true);
  }
}

struct everything {
  support::pinned_memory<post> posts{sources};
  support::pinned_memory<outcome> writers{sources};
  support::pinned_memory<outcome> readers{sources};
  support::pinned_memory<served> result{1};

  void publish_in_a_block(bool alternate) const {
    membar::launch_co_resident(launch_config{2, 32 * (sources + 1)}, publish_to_a_block, posts.get(), rounds(), writers.get(),
                               readers.get(), result.get(), alternate);
    finish();
  }
  void expect_good(unsigned publications) const {
    for (std::size_t s = 0; s != sources; ++s) {
      EXPECT_EQ(writers[s].failures, 0U);
      EXPECT_EQ(readers[s].stale, 0U);
      EXPECT_EQ(readers[s].out_of_order, 0U);
      EXPECT_EQ(readers[s].late, 0U);
    }
    const served& seen = result[0];
    EXPECT_EQ(seen.report.end, wait_result::closed);
    EXPECT_EQ(seen.report.fences, seen.fences);
    EXPECT_GT(seen.fences, 0U);
    EXPECT_LE(seen.fences, publications);
    EXPECT_LE(seen.report.largest_lag, static_cast<unsigned long long>(lag));
    ::testing::Test::RecordProperty("fences", std::to_string(seen.fences));
    ::testing::Test::RecordProperty("publications", std::to_string(publications));
  }
};

class publisher : public gpu_test {};

TEST_F(publisher, shows_no_signal_before_its_data) {
  const everything all;
  all.publish_in_a_block(false);
  all.expect_good(rounds() * sources);
}

TEST_F(publisher, keeps_the_order_of_a_source_over_two_signals) {
  const everything all;
  all.publish_in_a_block(true);
  all.expect_good(2 * rounds() * sources);
}

class publisher_of_a_device : public publisher, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(, publisher_of_a_device, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "served_by_a_thread" : "served_by_a_warp"; });

TEST_P(publisher_of_a_device, is_a_block_of_its_own) {
  const everything all;
  const support::device_memory<device_publisher> shared(1);
  membar::launch_co_resident(launch_config{sources + 2, 32}, publish_from_blocks, shared.get(), all.posts.get(), rounds(),
                             all.writers.get(), all.readers.get(), all.result.get(), GetParam());
  finish();
  all.expect_good(2 * rounds() * sources);
}

struct alone {
  wait_result full;
  wait_result flushed;
  wait_result full_after_stop;
  wait_result flushed_after_stop;
  wait_result after_shutdown;
  unsigned long long lag;
  wait_result served;
  unsigned disagreements;  ///< between lanes of a warp
};

/// One thread is source and, when its turn comes, server.
__global__ void publish_alone(unsigned long long* signal, alone* seen) {
  __shared__ membar::publisher<2, 4> publisher;
  publisher.init(1);
  membar::publisher<2, 4>::source source(publisher, 0);
  for (unsigned i = 1; i <= 4; ++i) {
    static_cast<void>(source.try_publish(*signal, i));
  }
  seen->lag = publisher.lag(0);
  seen->full = source.publish(*signal, 5, short_one);
  seen->flushed = source.flush(short_one);
  seen->served = publisher.serve_thread(short_one).end;  // no source closes: it stops when nothing is published
  seen->flushed_after_stop = source.flush(generous);
  for (unsigned i = 6; i <= 9; ++i) {
    static_cast<void>(source.try_publish(*signal, i));
  }
  seen->full_after_stop = source.publish(*signal, 10, generous);
  publisher.shutdown();
  seen->after_shutdown = membar::publisher<2, 4>::source(publisher, 1).publish(*signal, 11, generous);
}

/// What a warp alone sees of a publisher that does not serve: all lanes get equal results.
__global__ void publish_alone_as_a_warp(unsigned long long* signal, alone* seen) {
  __shared__ membar::publisher<2, 4> publisher;
  if (threadIdx.x == 0) {
    publisher.init(1);
  }
  __syncwarp();
  membar::publisher<2, 4>::warp_source source(publisher, 0);
  const auto record = [&](wait_result result, wait_result& to) {
    const int of_first = __shfl_sync(0xffffffffU, static_cast<int>(result), 0);
    const bool disagree = __any_sync(0xffffffffU, static_cast<int>(result) != of_first) != 0;
    if (threadIdx.x == 0) {
      to = result;
      seen->disagreements += disagree ? 1 : 0;
    }
    __syncwarp();
  };
  for (unsigned i = 1; i <= 4; ++i) {
    static_cast<void>(source.publish(*signal, i, generous));
  }
  if (threadIdx.x == 0) {
    seen->lag = publisher.lag(0);
  }
  record(source.publish(*signal, 5, short_one), seen->full);
  record(source.flush(short_one), seen->flushed);
  record(publisher.serve_warp(short_one).end, seen->served);
  record(source.flush(generous), seen->flushed_after_stop);
  record(source.publish(*signal, 6, generous), seen->full_after_stop);
  __syncwarp();
  if (threadIdx.x == 0) {
    publisher.shutdown();
  }
  __syncwarp();
  record(membar::publisher<2, 4>::warp_source(publisher, 1).publish(*signal, 11, generous), seen->after_shutdown);
}

void expect_every_wait_ends(unsigned threads, void (*publish)(unsigned long long*, alone*)) {
  const support::pinned_memory<unsigned long long> signal(1);
  const support::pinned_memory<alone> seen(1);
  membar::launch(launch_config{1, threads}, publish, signal.get(), seen.get());
  finish();
  EXPECT_EQ(seen[0].disagreements, 0U);
  EXPECT_EQ(seen[0].lag, 4U);
  EXPECT_EQ(seen[0].full, wait_result::timed_out);
  EXPECT_EQ(seen[0].flushed, wait_result::timed_out);
  EXPECT_EQ(seen[0].served, wait_result::timed_out);
  EXPECT_EQ(seen[0].flushed_after_stop, wait_result::done);
  EXPECT_EQ(seen[0].full_after_stop, wait_result::closed);
  EXPECT_EQ(seen[0].after_shutdown, wait_result::closed);
  EXPECT_EQ(signal[0], 4U);
}

TEST_F(publisher, that_nobody_serves_or_that_has_stopped_ends_every_wait_of_a_warp_alike) {
  expect_every_wait_ends(32, publish_alone_as_a_warp);
}
TEST_F(publisher, that_nobody_serves_or_that_has_stopped_ends_every_wait) { expect_every_wait_ends(1, publish_alone); }

}  // namespace
}  // namespace membar_test
