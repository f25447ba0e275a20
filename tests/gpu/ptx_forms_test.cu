// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Individual instructions on which patterns are based: numbered block barriers, the election of a thread, copies with a cache
// policy, and the new instructions in compute capability 10.0. Each instruction moves or orders data as its documentation page
// describes.
#include <membar/async_copy.cuh>
#include <membar/atomic.cuh>
#include <membar/block_barrier.cuh>
#include <membar/bulk_copy.cuh>
#include <membar/cache_control.cuh>
#include <membar/cluster_launch.cuh>
#include <membar/fence.cuh>
#include <membar/mbarrier.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/sync.cuh>

#include <vector>

namespace membar_test {
namespace {

using membar::acquire, membar::proxy, membar::release;
using block_mbarrier = membar::mbarrier<thread_scope::block>;

/// Warp 0 fills two stages in turn and continues; warps 1 and 2 use them. Barriers 1 and 2 signal that a stage is full;
/// barriers 3 and 4 signal that it is empty.
template <membar::warp_execution Execution>
__global__ void pass_in_stages(unsigned* stale, unsigned rounds) {
  __shared__ unsigned stages[2][32];
  const unsigned lane = threadIdx.x % 32;
  unsigned wrong = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned stage = round % 2;
    const membar::named_barrier full(1 + stage, 96);
    const membar::named_barrier empty(3 + stage, 96);
    if (threadIdx.x < 32) {
      if (round > 1) {
        empty.sync<Execution>();
      }
      stages[stage][lane] = round * 32 + lane;
      full.arrive<Execution>();
    } else {
      full.sync<Execution>();
      wrong += checked(stages[stage][31 - lane] != round * 32 + 31 - lane);
      if (round + 2 < rounds) {
        empty.arrive<Execution>();
      }
    }
  }
  atomicAdd(stale, wrong);
}

class ptx_forms : public gpu_test {
 protected:
  void prepare() override { need_compute_capability(9, "elect.sync and bulk copies"); }
};

TEST_F(ptx_forms, barriers_by_number_show_what_was_stored_before_an_arrival) {
  const support::device_memory<unsigned> stale(1);
  membar::launch({64, 96}, pass_in_stages<membar::warp_execution::together>, stale.get(), 20'000U);
  membar::launch({64, 96}, pass_in_stages<membar::warp_execution::diverged>, stale.get(), 20'000U);
  EXPECT_EQ(copied(stale)[0], 0U);
}

__global__ void elect(unsigned* elected) {
  const unsigned lane = threadIdx.x % 32;
  atomicAdd(&elected[0], membar::elect_one() ? 1U : 0U);
  if (lane % 2 == 1) {
    atomicAdd(&elected[1], membar::elect_one(0xAAAAAAAAU) ? 1U : 0U);
  }
}

TEST_F(ptx_forms, one_thread_of_those_that_ask_is_elected) {
  const support::device_memory<unsigned> elected(2);
  membar::launch({3, 128}, elect, elected.get());
  EXPECT_EQ(copied(elected)[0], 12U);
  EXPECT_EQ(copied(elected)[1], 12U);
}

/// Copies data into shared memory with cp.async and a bulk copy, and out with a bulk store and a bulk reduction, all with a
/// cache policy.
__global__ void copy_with_policies(const unsigned* from, unsigned* to, unsigned* sums, unsigned* wrong) {
  __shared__ alignas(16) unsigned stage[64];
  __shared__ alignas(16) unsigned small[64];
  __shared__ block_mbarrier full;
  const membar::cache_policy<membar::l2::evict_first> once(1);
  const membar::l2_policy again = membar::converted_policy(once.bits());
  membar::async_commit(membar::async_copy(&small[threadIdx.x], from + threadIdx.x, once) +
                       membar::async_copy_first(&stage[threadIdx.x], from, 0, once));
  membar::async_wait();
  atomicAdd(wrong, checked(small[threadIdx.x] != from[threadIdx.x] || stage[threadIdx.x] != 0));
  if (threadIdx.x == 0) {
    full.init(1);
    membar::mbarrier_init_fence();
  }
  membar::proxy_fence<proxy::async_shared_block>();
  __syncthreads();
  if (threadIdx.x == 0) {
    full.arrive_drop_expect(membar::bulk_load(stage, from, sizeof(stage), full, once), release);
  }
  if (full.wait_parity(0, acquire, generous) != wait_result::done) {
    atomicAdd(wrong, 1U);
    return;
  }
  atomicAdd(wrong, checked(stage[threadIdx.x] != from[threadIdx.x]));
  if (threadIdx.x == 0) {
    membar::bulk_commit(membar::bulk_store(to, stage, sizeof(stage), once) +
                        membar::bulk_reduce<membar::async_operation::add>(sums, stage, sizeof(stage), again));
    membar::bulk_wait();
  }
}

TEST_F(ptx_forms, copies_with_a_policy_move_what_those_without_do) {
  std::vector<unsigned> values(64);
  for (unsigned i = 0; i < values.size(); ++i) {
    values[i] = i * 7 + 1;
  }
  const device_copy<unsigned> from(values);
  const support::device_memory<unsigned> to(64);
  const support::device_memory<unsigned> sums(64);
  const support::device_memory<unsigned> wrong(1);
  for (int times = 0; times != 2; ++times) {
    membar::launch({1, 64}, copy_with_policies, static_cast<const unsigned*>(from.get()), to.get(), sums.get(), wrong.get());
  }
  EXPECT_EQ(copied(wrong)[0], 0U);
  EXPECT_EQ(copied(to), values);
  const std::vector<unsigned> twice = copied(sums);
  for (unsigned i = 0; i < values.size(); ++i) {
    EXPECT_EQ(twice[i], 2 * values[i]) << i;
  }
}

__global__ void count_pending(unsigned* counts) {
  __shared__ block_mbarrier barrier;
  barrier.init(5);
  counts[0] = barrier.arrive_no_complete(1).pending_count();
  counts[1] = barrier.arrive_no_complete(2).pending_count();
  counts[2] = barrier.arrive_no_complete(1).pending_count();
}

TEST_F(ptx_forms, a_token_says_how_many_arrivals_its_phase_expected_before_it) {
  const support::device_memory<unsigned> counts(3);
  membar::launch({1, 1}, count_pending, counts.get());
  EXPECT_EQ(copied(counts), (std::vector<unsigned>{5, 4, 2}));
}

class ptx_forms_of_blackwell : public gpu_test {
 protected:
  void prepare() override {
    need_compute_capability(10, "st.bulk, masked copies, st.async to global memory, cluster launch control");
  }
};

// If the architecture lacks an instruction, the kernels do not contain it; their tests are skipped there.

__global__ void store_masked_zeros([[maybe_unused]] unsigned* to, [[maybe_unused]] unsigned bytes) {
#if __CUDA_ARCH__ >= 1000
  __shared__ alignas(16) unsigned stage[64];
  stage[threadIdx.x] = ~0U;
  __syncthreads();
  if (threadIdx.x == 0) {
    membar::bulk_zero(stage, bytes);
    membar::proxy_fence<proxy::async_shared_block>();
    membar::bulk_commit(membar::bulk_store_masked(to, stage, sizeof(stage), 0x00F1));
    membar::bulk_wait();
  }
  __syncthreads();
#endif
}

TEST_F(ptx_forms_of_blackwell, zeros_and_masked_copies_leave_the_other_bytes) {
  const device_copy<unsigned> to(std::vector<unsigned>(64, 0x12345678U));
  membar::launch({1, 64}, store_masked_zeros, to.get(), 128U);
  std::vector<unsigned> seen(64);
  ASSERT_EQ(cudaMemcpy(seen.data(), to.get(), 256, cudaMemcpyDefault), cudaSuccess);
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned stored = i < 32 ? 0U : ~0U;
    const unsigned mask = i % 4 == 0 ? 0xFFU : i % 4 == 1 ? ~0U : 0U;
    EXPECT_EQ(seen[i], (stored & mask) | (0x12345678U & ~mask)) << i;
  }
}

/// Block 0 stores data and releases a flag without waiting; block 1 acquires it. Before compute capability 10.0, where the test
/// is skipped, the code has an ordinary release instead.
__global__ void release_without_waiting(unsigned* data, unsigned* flag, unsigned* back, unsigned* stale, unsigned rounds) {
  const membar::atomic_ref<unsigned, thread_scope::device> turn(*back);
  const membar::atomic_ref<unsigned, thread_scope::device> up(*flag);
  for (unsigned round = 1; round <= rounds; ++round) {
    if (blockIdx.x == 0) {
      *data = round;
#if __CUDA_ARCH__ >= 1000
      if (round % 2 == 0) {
        membar::async_store_release<thread_scope::device>(flag, round, release);
      } else {
        membar::async_reduce_release<membar::async_operation::add, thread_scope::device>(flag, 1U, release);
      }
#else
      up.store(round, release);
#endif
      static_cast<void>(wait_for(generous, [&] { return turn.load(acquire) == round; }));
    } else {
      atomicAdd(stale, checked(!wait_for(generous, [&] { return up.load(acquire) == round; }) || *data != round));
      turn.store(round, release);
    }
  }
}

TEST_F(ptx_forms_of_blackwell, a_release_that_nobody_waits_for_shows_what_was_stored_before) {
  const support::device_memory<unsigned> words(4 * 64);
  unsigned* const w = words.get();
  membar::launch_co_resident(launch_config{2, 1}, release_without_waiting, w, w + 64, w + 128, w + 192, 20'000U);
  EXPECT_EQ(copied(words)[192], 0U);
}

/// Each block processes its own tile and the tiles of the blocks that it cancels, and counts them.
__global__ void count_tiles([[maybe_unused]] unsigned* tiles) {
#if __CUDA_ARCH__ >= 1000
  __shared__ membar::cancelled_launch next;
  __shared__ block_mbarrier answered;
  answered.init(1);
  membar::mbarrier_init_fence();
  unsigned tile = blockIdx.x;
  for (unsigned phase = 0;; phase ^= 1) {
    static_cast<void>(answered.arrive_expect(membar::cancel_launch(next, answered), membar::relaxed));
    atomicAdd(&tiles[tile], 1U);
    if (answered.wait_parity(phase, acquire, generous) != wait_result::done || !next.succeeded()) {
      return;
    }
    tile = next.first_block().x;
    membar::proxy_fence<proxy::async_shared_block>();
  }
#endif
}

TEST_F(ptx_forms_of_blackwell, each_tile_is_done_once_by_its_block_or_by_one_that_cancelled_it) {
  constexpr unsigned count = 20'000;
  const support::device_memory<unsigned> tiles(count);
  membar::launch({count, 1}, count_tiles, tiles.get());
  EXPECT_EQ(copied(tiles), std::vector<unsigned>(count, 1U));
}

}  // namespace
}  // namespace membar_test
