// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Both ends of a publisher under load. They check that data is at least as new as its signal, and that signals arrive in
/// order.
#pragma once

#include <membar/sync/publisher.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/sync.cuh>

#include <cstddef>
#include <string>

namespace membar_test {

inline constexpr int sources = 4;
inline constexpr int lag = 16;
inline constexpr unsigned words = 32;

/// One source's objects: data that is replaced only by newer data, and two signals that bound the age of the
/// data.
struct post {
  unsigned data[words];
  unsigned long long first;
  unsigned long long second;
};

/// What a source or a reader has observed.
struct publisher_end {
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

/// Writes data with a warp and publishes each round as a warp, without an additional barrier: everything that any lane has
/// written is published.
template <class Publisher>
__device__ void write_posts_as_a_warp(Publisher& publisher, int index, post& to, unsigned count, publisher_end& seen) {
  typename Publisher::warp_source source(publisher, index);
  unsigned failures = 0;
  for (unsigned i = 1; i <= count && failures == 0; ++i) {
    membar::atomic_ref<unsigned, thread_scope::system>(to.data[threadIdx.x % 32]).store(i, membar::relaxed);
    failures += checked(source.publish(to.first, i, generous) != wait_result::done);
  }
  failures += checked(source.flush(generous) != wait_result::done);
  // Every lane sees the signal, not only the lane that received it.
  failures += checked(membar::atomic_ref<unsigned long long, thread_scope::system>(to.first).load(membar::relaxed) != count);
  source.close();
  // The compiler can infer this result, because the source was closed by this thread.
  if (source.publish(to.first, 0, generous) != wait_result::closed) {
    ++failures;
  }
  if (__any_sync(0xffffffffU, failures != 0) != 0 && threadIdx.x % 32 == 0) {
    ++seen.failures;
  }
}

/// Writes data with a warp and publishes each round in both signals with one lane, then checks the state after closing.
template <class Publisher>
__device__ void write_posts(Publisher& publisher, int index, post& to, unsigned count, publisher_end& seen) {
  typename Publisher::source source(publisher, index);
  for (unsigned i = 1; i <= count; ++i) {
    membar::atomic_ref<unsigned, thread_scope::system>(to.data[threadIdx.x % 32]).store(i, membar::relaxed);
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      const bool done = source.publish(to.first, i, generous) == wait_result::done &&
                        source.publish(to.second, i, generous) == wait_result::done;
      seen.failures += checked(!done);
    }
    __syncwarp();
  }
  if (threadIdx.x % 32 == 0) {
    seen.failures += checked(source.flush(generous) != wait_result::done);
    const membar::atomic_ref<unsigned long long, thread_scope::system> first(to.first);
    seen.failures += checked(first.load(membar::relaxed) != count);
    source.close();
    if (source.publish(to.first, 0, generous) != wait_result::closed) {  // The compiler can also infer this.
      ++seen.failures;
    }
  }
}

/// Acquires the signals until the last value has arrived. Neither the data nor the earlier signal may be older than the
/// acquired signal.
MEMBAR_HOST_DEVICE inline void read_posts(post& from, unsigned count, publisher_end& seen, bool alternate) {
  const membar::atomic_ref<unsigned long long, thread_scope::system> first(from.first);
  const membar::atomic_ref<unsigned long long, thread_scope::system> second(from.second);
  publisher_end mine{};
  unsigned long long value = 0;
  membar::detail::polling poll(generous);
  while (value != count && !poll.over()) {
    value = alternate ? second.load(membar::acquire) : first.load(membar::acquire);
    if (alternate) {
      mine.out_of_order += checked(first.load(membar::relaxed) < value);
    }
    for (unsigned w = 0; w != words; ++w) {
      // Later rounds may be in progress, so the value read is as new as the signal or newer.
      mine.stale += checked(membar::atomic_ref<unsigned, thread_scope::system>(from.data[w]).load(membar::relaxed) < value);
    }
    ++mine.looks;
  }
  mine.late = value == count ? 0 : 1;
  seen = mine;
}

/// The first warps of a block are sources, and the next warp serves them.
__device__ inline void publish_by_a_block(post* posts, unsigned count, publisher_end* writers, served& result, bool alternate) {
  __shared__ membar::publisher<sources, lag> publisher;
  const int warp = static_cast<int>(threadIdx.x / 32);
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
      result = {report, publisher.fences()};
    }
  }
}

/// What all ends have observed.
struct publisher_outcome {
  support::pinned_memory<publisher_end> writers{sources};
  support::pinned_memory<publisher_end> readers{sources};
  support::pinned_memory<served> result{1};

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

}  // namespace membar_test
