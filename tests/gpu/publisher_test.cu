// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The publisher: a thread that acquires a signal sees the data and the source's earlier signals; lag is bounded; and every wait
// ends.
#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/publisher.cuh>
#include <tests/common/stress.hpp>
#include <tests/common/sync.cuh>

#include <string>

namespace membar_test {
namespace {

/// The number of publications of each source. MEMBAR_STRESS_PUBLICATIONS sets a larger number or, under a tool that slows
/// publications down, a smaller one.
unsigned rounds() { return static_cast<unsigned>(stress_count("MEMBAR_STRESS_PUBLICATIONS", 20'000)); }

/// Block 0 publishes with its last warp, and block 1 reads, with a thread for each source.
__global__ void publish_to_a_block(post* posts, unsigned count, publisher_end* writers, publisher_end* readers, served* result,
                                   bool alternate) {
  const unsigned warp = threadIdx.x / 32;
  if (blockIdx.x == 0) {
    publish_by_a_block(posts, count, writers, *result, alternate);
  } else if (warp < sources && threadIdx.x % 32 == 0) {
    read_posts(posts[warp], count, readers[warp], alternate);
  }
}

/// Blocks 0 to 3 are sources at device scope, block 4 is the server, and block 5 reads.
using device_publisher = membar::publisher<sources, lag, thread_scope::device, thread_scope::system>;
__global__ void publish_from_blocks(device_publisher* publisher, post* posts, unsigned count, publisher_end* writers,
                                    publisher_end* readers, served* result, bool by_thread) {
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

/// Runs a publisher with the posts in pinned memory.
struct everything : publisher_outcome {
  support::pinned_memory<post> posts{sources};

  void publish_in_a_block(bool alternate) const {
    membar::launch_co_resident(launch_config{2, 32 * (sources + 1)}, publish_to_a_block, posts.get(), rounds(), writers.get(),
                               readers.get(), result.get(), alternate);
    finish();
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
  unsigned disagreements;  ///< the number of disagreements between lanes of a warp
};

/// A single thread is the source and also, when it is time to serve, the server.
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
  seen->served = publisher.serve_thread(short_one).end;  // No source closes, so the server stops when nothing is published.
  seen->flushed_after_stop = source.flush(generous);
  for (unsigned i = 6; i <= 9; ++i) {
    static_cast<void>(source.try_publish(*signal, i));
  }
  seen->full_after_stop = source.publish(*signal, 10, generous);
  publisher.shutdown();
  seen->after_shutdown = membar::publisher<2, 4>::source(publisher, 1).publish(*signal, 11, generous);
}

/// A warp's results at a publisher for which no thread serves. All lanes must get the same results.
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
      seen->disagreements += checked(disagree);
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
