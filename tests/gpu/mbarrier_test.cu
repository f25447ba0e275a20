// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mbarriers: writes before an arrival are visible after the wait, phases complete after the expected arrivals, and waits end.
#include <membar/fence.cuh>
#include <membar/mbarrier.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/sync.cuh>

#include <cuda/barrier>

#include <new>

namespace membar_test {
namespace {

using block_mbarrier = membar::mbarrier<thread_scope::block>;
using cluster_mbarrier = membar::mbarrier<thread_scope::cluster>;

struct outcome {
  unsigned long long stale;
  unsigned late;
};

/// In every phase, each thread writes its cell, passes the barrier, and reads another thread's cell. With `Parity`, a thread
/// identifies the phase by its parity; otherwise, by the token from its arrival. `Fences` selects relaxed operations with
/// fences around them.
template <bool Parity, bool Fences>
__global__ void meet(outcome* seen, unsigned phases) {
  __shared__ block_mbarrier barrier;
  __shared__ unsigned cells[256];
  if (threadIdx.x == 0) {
    barrier.init(blockDim.x);
  }
  __syncthreads();
  unsigned long long stale = 0;
  for (unsigned phase = 0; phase < 2 * phases; ++phase) {
    if (phase % 2 == 0) {
      cells[threadIdx.x] = phase;
    }
    wait_result met = wait_result::done;
    if constexpr (Fences) {
      membar::thread_fence<thread_scope::block>(membar::release);
      const auto arrival = barrier.arrive(membar::relaxed);
      met = barrier.wait(arrival, membar::relaxed, generous);
      membar::thread_fence<thread_scope::block>(membar::acquire);
    } else {
      const auto arrival = barrier.arrive(membar::release);
      met =
          Parity ? barrier.wait_parity(phase % 2, membar::acquire, generous) : barrier.wait(arrival, membar::acquire, generous);
    }
    if (met != wait_result::done) {
      seen->late = 1;
      return;
    }
    if (phase % 2 == 0) {
      stale += checked(cells[(threadIdx.x + phase / 2) % blockDim.x] != phase);
    }
  }
  if (stale != 0) {
    atomicAdd(&seen->stale, stale);
  }
}

/// Block 1 writes a cell and arrives at block 0's mbarrier. Block 0 reads the cell and arrives at block 1's mbarrier.
__global__ void pass_between_blocks(outcome* seen, unsigned* cell, unsigned phases) {
  __shared__ cluster_mbarrier barrier;
  const unsigned rank = blockIdx.x % 2;
  if (threadIdx.x == 0) {
    barrier.init(1);
    membar::mbarrier_init_fence();
  }
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (threadIdx.x == 0) {
    const auto other = barrier.in_block(1 - rank);
    unsigned long long stale = 0;
    for (unsigned phase = 0; phase < phases; ++phase) {
      if (rank == 1) {
        *cell = phase + 1;
        other.arrive(membar::release);
      }
      if (barrier.wait_parity(phase % 2, membar::acquire, generous) != wait_result::done) {
        seen->late = 1;
        break;
      }
      if (rank == 0) {
        stale += checked(*cell != phase + 1);
        other.arrive(membar::release);
      }
    }
    if (rank == 0) {
      seen->stale = stale;
    }
  }
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// What one thread observes at its mbarrier, step by step.
__global__ void step(unsigned char* results) {
  __shared__ block_mbarrier barrier;
  unsigned char* next = results;
  barrier.init(2);
  const auto first = barrier.arrive(membar::release);
  *next++ = barrier.test_wait(first, membar::acquire);                                     // 0: one arrival is missing
  *next++ = barrier.wait(first, membar::acquire, short_one) == wait_result::timed_out;     // 1
  *next++ = barrier.wait_parity(0, membar::acquire, short_one) == wait_result::timed_out;  // 2
  *next++ = barrier.test_wait_parity(1, membar::acquire);                                  // 3: the phase before the first one
  barrier.expect(64);
  barrier.arrive(membar::release);
  *next++ = barrier.test_wait(first, membar::acquire);  // 4: 64 bytes are missing
  barrier.complete(48);
  *next++ = barrier.try_wait(first, membar::acquire, 100);  // 5: 16 bytes are missing
  barrier.complete(16);
  *next++ = barrier.test_wait(first, membar::acquire);     // 6: complete
  *next++ = barrier.test_wait_parity(0, membar::relaxed);  // 7: complete
  const bool early = barrier.try_wait_parity(1, membar::acquire);
  *next++ = early;  // 8: the second phase is not complete
  if (early) {      // Otherwise, the next arrival might satisfy the earlier wait.
    return;
  }
  const auto second = barrier.arrive(membar::relaxed, 2);
  *next++ = barrier.test_wait(second, membar::relaxed);  // 9: both arrivals at once
  barrier.arrive_drop(membar::release);
  const auto third = barrier.arrive_expect(16, membar::release);
  *next++ = barrier.test_wait(third, membar::acquire);  // 10: bytes are missing
  barrier.complete(16);
  *next++ = barrier.test_wait(third, membar::acquire);  // 11: complete
  const auto fourth = barrier.arrive(membar::release);
  *next++ = barrier.test_wait(fourth, membar::acquire);  // 12: one arrival is enough now
  barrier.invalidate();
  barrier.init(3);
  const auto fifth = barrier.arrive_no_complete(2);
  *next++ = barrier.test_wait(fifth, membar::acquire);  // 13: one arrival is missing
  barrier.arrive(membar::release);
  *next++ = barrier.test_wait(fifth, membar::acquire);  // 14: complete
}

/// Half of the threads use a cuda::barrier's mbarrier through membar, and the other half use it through libcu++.
__global__ void share_with_libcu(outcome* seen, unsigned phases) {
  using cuda_barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(cuda_barrier) unsigned char memory[sizeof(cuda_barrier)];
  __shared__ unsigned cells[64];
  auto* const theirs = reinterpret_cast<cuda_barrier*>(memory);
  if (threadIdx.x == 0) {
    init(theirs, blockDim.x);
  }
  __syncthreads();
  block_mbarrier& ours = block_mbarrier::of(cuda::device::barrier_native_handle(*theirs));
  unsigned long long stale = 0;
  for (unsigned phase = 0; phase < 2 * phases; ++phase) {
    if (phase % 2 == 0) {
      cells[threadIdx.x] = phase;
    }
    if (threadIdx.x % 2 == 0) {
      if (ours.wait(ours.arrive(membar::release), membar::acquire, generous) != wait_result::done) {
        seen->late = 1;
        return;
      }
    } else {
      theirs->arrive_and_wait();
    }
    stale += checked(phase % 2 == 0 && cells[(threadIdx.x + 1) % blockDim.x] != phase);
  }
  if (stale != 0) {
    atomicAdd(&seen->stale, stale);
  }
}

class mbarrier : public gpu_test {
 protected:
  void prepare() override { need_compute_capability(9, "the mbarrier instructions of Hopper"); }

  static void expect_fresh(const support::device_memory<outcome>& seen) {
    const outcome got = copied(seen)[0];
    EXPECT_EQ(got.late, 0U);
    EXPECT_EQ(got.stale, 0U);
  }
  static constexpr unsigned phases = 20'000;
};

TEST_F(mbarrier, shows_after_a_wait_what_was_written_before_the_arrivals) {
  const support::device_memory<outcome> seen(1);
  membar::launch({64, 256}, meet<false, false>, seen.get(), phases);
  expect_fresh(seen);
}

TEST_F(mbarrier, shows_it_to_waits_by_parity) {
  const support::device_memory<outcome> seen(1);
  membar::launch({64, 256}, meet<true, false>, seen.get(), phases);
  expect_fresh(seen);
}

TEST_F(mbarrier, shows_it_by_fences_around_relaxed_operations) {
  const support::device_memory<outcome> seen(1);
  membar::launch({64, 256}, meet<false, true>, seen.get(), phases);
  expect_fresh(seen);
}

TEST_F(mbarrier, shows_it_across_the_blocks_of_a_cluster) {
  const support::device_memory<outcome> seen(1);
  const support::device_memory<unsigned> cell(1);
  membar::launch(launch_config{2, 32}.with(membar::cluster_dimensions{2, 1, 1}), pass_between_blocks, seen.get(), cell.get(),
                 phases);
  expect_fresh(seen);
}

TEST_F(mbarrier, is_complete_when_no_arrival_and_no_byte_is_missing) {
  const support::device_memory<unsigned char> results(15);
  membar::launch({1, 1}, step, results.get());
  const std::vector<bool> expected = {false, true, true,  true, false, false, true, true,
                                      false, true, false, true, true,  false, true};
  const auto got = copied(results);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(got[i] != 0, static_cast<bool>(expected[i])) << "step " << i;
  }
}

TEST_F(mbarrier, is_shared_with_a_barrier_of_libcu) {
  const support::device_memory<outcome> seen(1);
  membar::launch({16, 64}, share_with_libcu, seen.get(), 2'000U);
  expect_fresh(seen);
}

}  // namespace
}  // namespace membar_test
