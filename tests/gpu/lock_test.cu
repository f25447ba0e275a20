// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Locks under contention: a lock has only one holder at a time, each holder sees the writes of all earlier holders, locks are
// granted in the order of requests, and every wait ends.
#include <membar/sync/queue_lock.cuh>
#include <membar/sync/sequence_lock.cuh>
#include <membar/sync/ticket_lock.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/stress.hpp>
#include <tests/common/sync.cuh>

#include <vector>

namespace membar_test {
namespace {

constexpr unsigned blocks = 64;

unsigned long long acquisition_count() { return stress_count("MEMBAR_STRESS_ACQUISITIONS", 500'000); }

/// Wraps both locks in a common interface. Each block has one node.
template <thread_scope Scope>
struct ticket : membar::ticket_lock<Scope> {};
template <thread_scope Scope>
struct queue {
  membar::queue_lock<Scope> of;
  typename membar::queue_lock<Scope>::node nodes[blocks];
  __device__ wait_result lock(membar::wait_budget budget) { return of.lock(nodes[blockIdx.x], budget); }
  __device__ wait_result try_lock() { return of.try_lock(nodes[blockIdx.x]); }
  __device__ void unlock() { static_cast<void>(of.unlock(nodes[blockIdx.x], generous)); }
};

/// The data that the lock guards. The `holder` is accessed with relaxed operations, which impose no order. With plain accesses,
/// the compiler could assume that no other thread writes the `holder`, and remove the check for a second one.
struct guarded {
  unsigned long long count;
  unsigned holder;
  unsigned long long violations;
  unsigned failures;
};

template <class Lock>
__global__ void contend(Lock* lock, guarded* data, unsigned long long rounds) {
  const membar::atomic_ref<unsigned, thread_scope::system> holder(data->holder);
  for (unsigned long long i = 0; i != rounds; ++i) {
    wait_result taken = i % 16 == 0 ? lock->try_lock() : wait_result::would_wait;
    if (taken != wait_result::done) {
      taken = lock->lock(generous);
    }
    if (taken != wait_result::done) {
      membar::atomic_ref<unsigned, thread_scope::system>(data->failures).add(1U, membar::relaxed);
      return;
    }
    data->violations += checked(holder.load(membar::relaxed) != 0);
    holder.store(blockIdx.x + 1, membar::relaxed);
    ++data->count;
    data->violations += checked(holder.load(membar::relaxed) != blockIdx.x + 1);
    holder.store(0, membar::relaxed);
    lock->unlock();
  }
}

template <class Lock>
class fair_lock : public gpu_test {};
using locks = ::testing::Types<ticket<thread_scope::device>, ticket<thread_scope::system>, queue<thread_scope::device>,
                               queue<thread_scope::system>>;
TYPED_TEST_SUITE(fair_lock, locks);

TYPED_TEST(fair_lock, is_held_by_one_block_at_a_time) {
  const unsigned long long rounds = acquisition_count() / blocks;
  const guarded seen = results_of({blocks, 1}, 1, contend<TypeParam>, rounds)[0];
  EXPECT_EQ(seen.failures, 0U);
  EXPECT_EQ(seen.violations, 0U);
  EXPECT_EQ(seen.count, rounds * blocks);
  this->RecordProperty("acquisitions", std::to_string(seen.count));
}

/// A lock that lets every thread in.
struct open_door {
  __device__ wait_result try_lock() { return wait_result::done; }
  __device__ wait_result lock(membar::wait_budget) { return wait_result::done; }
  __device__ void unlock() {}
};

class no_lock : public gpu_test {};

TEST_F(no_lock, lets_the_lock_test_find_several_holders) {
  const guarded seen = results_of({blocks, 1}, 1, contend<open_door>, 100'000ULL)[0];
  EXPECT_EQ(seen.failures, 0U);
  EXPECT_GT(seen.violations, 0U);
}

struct order {
  unsigned asking;
  unsigned granted[blocks];
  unsigned grants;
  unsigned failures;
};

/// Block 0 holds the lock while the other blocks request it one after another, each with enough time for its request to be
/// queued.
template <class Lock>
__global__ void ask_in_turn(Lock* lock, order* seen) {
  const membar::atomic_ref<unsigned, thread_scope::device> asking(seen->asking);
  const auto my_turn = [&] { return asking.load(membar::acquire) == blockIdx.x; };
  const auto all_asked = [&] { return asking.load(membar::acquire) == blocks; };
  if (blockIdx.x == 0) {
    if (lock->lock(generous) != wait_result::done) {
      ++seen->failures;
      return;
    }
    asking.store(1, membar::release);
    wait_for(generous, all_asked);
    wait_for(short_one);
    lock->unlock();
    return;
  }
  wait_for(generous, my_turn);
  // By now the previous block has requested the lock.
  wait_for(membar::wait_budget::microseconds(100));
  asking.store(blockIdx.x + 1, membar::release);
  if (lock->lock(generous) == wait_result::done) {
    seen->granted[seen->grants++] = blockIdx.x;
    lock->unlock();
  } else {
    membar::atomic_ref<unsigned, thread_scope::device>(seen->failures).add(1U, membar::relaxed);
  }
}

TYPED_TEST(fair_lock, is_granted_in_the_order_of_asking) {
  for (int round = 0; round != 20; ++round) {
    const order got = results_of({blocks, 1}, 1, ask_in_turn<TypeParam>)[0];
    ASSERT_EQ(got.failures, 0U);
    ASSERT_EQ(got.grants, blocks - 1);
    for (unsigned i = 0; i != blocks - 1; ++i) {
      ASSERT_EQ(got.granted[i], i + 1);
    }
  }
}

template <class Lock>
__global__ void hold_for_ever(Lock* lock, wait_result* results) {
  // Block 0 requests the lock first and never unlocks it. Block 1 then times out, and block 2 requests the lock last.
  if (blockIdx.x == 0) {
    results[0] = lock->lock(generous);
  } else if (blockIdx.x == 1) {
    wait_for(short_one);
    results[1] = lock->lock(short_one);
  } else {
    wait_for(membar::wait_budget::milliseconds(20));
    results[2] = lock->lock(generous);
  }
}

TYPED_TEST(fair_lock, whose_holder_is_gone_closes_after_the_budget) {
  const auto results = results_of({3, 1}, 3, hold_for_ever<TypeParam>);
  EXPECT_EQ(results, (std::vector{wait_result::done, wait_result::timed_out, wait_result::closed}));
}

/// A 40-byte value whose words must match.
struct record {
  unsigned long long words[5];
};

struct reading {
  unsigned long long torn;
  unsigned long long backwards;
  unsigned long long done;
  unsigned failures;
};

template <thread_scope Scope>
__global__ void write_and_read(membar::sequence_lock<record, Scope>* lock, reading* seen, unsigned long long writes) {
  if (threadIdx.x != 0) {
    return;
  }
  if (blockIdx.x == 0) {
    for (unsigned long long i = 1; i <= writes; ++i) {
      lock->write(record{{i, 2 * i, 3 * i, 4 * i, 5 * i}});
      __nanosleep(2000);  // Readers make progress whenever the writer pauses.
    }
    return;
  }
  reading mine{};
  record got{};
  for (unsigned long long last = 0; last != writes;) {
    if (lock->read(got, generous) != wait_result::done) {
      ++mine.failures;
      break;
    }
    for (unsigned long long w = 0; w != 5; ++w) {
      mine.torn += checked(got.words[w] != (w + 1) * got.words[0]);
    }
    mine.backwards += checked(got.words[0] < last);
    last = got.words[0];
    ++mine.done;
  }
  seen[blockIdx.x] = mine;
}

class sequence_lock : public gpu_test {
 protected:
  template <thread_scope Scope>
  static void expect_whole_values() {
    constexpr unsigned readers = 31;
    const auto got = results_of({readers + 1, 32}, readers + 1, write_and_read<Scope>, 20'000ULL);
    for (unsigned r = 1; r != readers + 1; ++r) {
      EXPECT_EQ(got[r].failures, 0U);
      EXPECT_EQ(got[r].torn, 0U);
      EXPECT_EQ(got[r].backwards, 0U);
      EXPECT_GT(got[r].done, 0U);
    }
  }
};

TEST_F(sequence_lock, gives_whole_values_at_device_scope) { expect_whole_values<thread_scope::device>(); }
TEST_F(sequence_lock, gives_whole_values_at_system_scope) { expect_whole_values<thread_scope::system>(); }

}  // namespace
}  // namespace membar_test
