// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Grid barriers and the last-block reduction: writes before the barrier are visible after it, and a grid that cannot pass the
// barrier gets an error.
#include <membar/sync/grid_barrier.cuh>
#include <membar/sync/last_block.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/sync.cuh>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace membar_test {
namespace {

using device_barrier = membar::grid_barrier<thread_scope::device>;

struct outcome {
  unsigned long long stale;
  unsigned late;
};

/// In every phase, each thread writes its cell and, after the barrier, reads the cell of the corresponding thread in another
/// block.
template <thread_scope Scope, bool Split>
__global__ void meet(membar::grid_barrier<Scope>* barrier, outcome* seen, unsigned* cells, unsigned* between, unsigned phases) {
  const unsigned mine = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long stale = 0;
  for (unsigned phase = 1; phase <= phases; ++phase) {
    cells[mine] = phase;
    wait_result met = wait_result::done;
    if constexpr (Split) {
      const auto arrival = barrier->arrive(membar::release);
      ++between[mine];  // no other block reads this cell
      met = barrier->wait(arrival, membar::acquire, generous);
    } else {
      met = barrier->sync(generous);
    }
    if (met != wait_result::done) {
      seen->late = 1;
      return;
    }
    const unsigned other = (blockIdx.x + phase) % gridDim.x * blockDim.x + threadIdx.x;
    stale += checked(cells[other] != phase);
    if (barrier->sync(generous) != wait_result::done) {
      seen->late = 1;
      return;
    }
  }
  if (stale != 0) {
    membar::atomic_ref<unsigned long long, thread_scope::device>(seen->stale).add(stale, membar::relaxed);
  }
}

class grid_barrier : public gpu_test {
 protected:
  template <thread_scope Scope, bool Split>
  static void expect_phases() {
    constexpr unsigned threads = 64;
    constexpr unsigned phases = 5'000;
    const unsigned blocks = std::min(264U, membar::co_resident_blocks(meet<Scope, Split>, threads));
    const support::device_memory<unsigned> cells(blocks * threads);
    const support::device_memory<unsigned> between(blocks * threads);
    const outcome got = results_of({blocks, threads}, 1, meet<Scope, Split>, cells.get(), between.get(), phases)[0];
    EXPECT_EQ(got.late, 0U);
    EXPECT_EQ(got.stale, 0U);
  }
};

TEST_F(grid_barrier, shows_after_it_what_was_written_before) { expect_phases<thread_scope::device, false>(); }
TEST_F(grid_barrier, shows_it_with_arriving_and_waiting_apart) { expect_phases<thread_scope::device, true>(); }
TEST_F(grid_barrier, shows_it_at_system_scope) { expect_phases<thread_scope::system, true>(); }

__global__ void wait_for_one_more(device_barrier* barrier, wait_result* results) {
  const auto arrival = barrier->arrive(membar::release, gridDim.x + 1, blockIdx.x == 0);
  const wait_result result = barrier->wait(arrival, membar::acquire, short_one);
  if (threadIdx.x == 31) {
    results[blockIdx.x] = result;
  }
}

TEST_F(grid_barrier, with_a_block_missing_ends_within_the_budget) {
  EXPECT_EQ(results_of({2, 32}, 2, wait_for_one_more), std::vector(2, wait_result::timed_out));
}

__global__ void sync_with_a_block_that_left(device_barrier* barrier, wait_result* results) {
  if (blockIdx.x == 0) {
    results[threadIdx.x] = barrier->sync(short_one);
  }
}

TEST_F(grid_barrier, tells_every_thread_of_a_block_that_the_budget_is_used_up) {
  constexpr unsigned threads = 96;
  EXPECT_EQ(results_of({2, threads}, threads, sync_with_a_block_that_left), std::vector(threads, wait_result::timed_out));
}

/// Block 0 waits at its own barrier until the wait times out, and immediately afterwards both blocks pass another barrier. A
/// thread that is slow to read the first result must not read the second result instead.
__global__ void sync_after_a_barrier_that_nobody_came_to(device_barrier* together, unsigned* mistakes, device_barrier* alone,
                                                         unsigned count) {
  unsigned wrong = 0;
  for (unsigned n = 0; n != count; ++n) {
    if (blockIdx.x == 0) {
      wrong += checked(alone[n].sync(short_one) != wait_result::timed_out);
    }
    const wait_result met = together->sync(generous);
    wrong += checked(met != wait_result::done);
    if (met == wait_result::timed_out) {
      break;  // the barrier is broken
    }
  }
  if (wrong != 0) {
    membar::atomic_ref<unsigned, thread_scope::device>(*mistakes).add(wrong, membar::relaxed);
  }
}

TEST_F(grid_barrier, gives_its_own_result_after_another_one) {
  constexpr unsigned count = 50;
  const support::device_memory<device_barrier> alone(count);
  EXPECT_EQ(results_of({2, 1'024}, 1, sync_after_a_barrier_that_nobody_came_to, alone.get(), count)[0], 0U);
}

TEST_F(grid_barrier, of_a_grid_that_cannot_be_on_the_device_at_once_is_rejected_at_launch) {
  const unsigned room = membar::co_resident_blocks(wait_for_one_more, 32);
  EXPECT_THROW(static_cast<void>(results_of({room + 1, 32}, room + 1, wait_for_one_more)), membar::error);
  finish();
}

template <thread_scope Scope>
using block_partials = membar::block_partial<unsigned long long, Scope>*;

/// Each of the two sums has its own partial values.
template <thread_scope Scope>
__global__ void sum_of_blocks(block_partials<Scope> first, block_partials<Scope> second, unsigned long long* results,
                              unsigned* lasts) {
  unsigned long long total = 0;
  const auto plus = [](unsigned long long a, unsigned long long b) { return a + b; };
  const unsigned long long own = blockIdx.x + 1;
  if (membar::last_block_reduce(own, first, plus, total) && threadIdx.x == 0) {
    results[0] = total;
    ++lasts[0];
  }
  if (membar::last_block_reduce(2 * own, second, plus, total) && threadIdx.x == 0) {
    results[1] = total;
    ++lasts[1];
  }
}

TEST_F(grid_barrier, is_not_needed_where_the_last_block_finishes) {
  constexpr unsigned blocks = 2'000;
  constexpr unsigned launches = 300;
  using partial = membar::block_partial<unsigned long long, thread_scope::device>;
  const support::device_memory<partial> first(blocks);
  const support::device_memory<partial> second(blocks);
  const support::device_memory<unsigned long long> results(2);
  const support::device_memory<unsigned> lasts(2);
  constexpr unsigned long long sum = static_cast<unsigned long long>(blocks) * (blocks + 1) / 2;
  for (unsigned i = 0; i != launches; ++i) {
    membar::launch(launch_config{blocks, 64}, sum_of_blocks<thread_scope::device>, first.get(), second.get(), results.get(),
                   lasts.get());
    ASSERT_EQ(copied(results), std::vector({sum, 2 * sum}));
  }
  EXPECT_EQ(copied(lasts), std::vector(2, launches));
}

/// Blocks and grids can have any shape. Each thread passes a different value, and the reduction uses the value from the thread
/// at 0, 0, 0.
__global__ void sum_of_shaped_blocks(block_partials<thread_scope::device> partial, unsigned long long* result,
                                     unsigned* lasts) {
  unsigned long long total = 0;
  // the result depends on the order of the blocks
  const auto plus = [](unsigned long long a, unsigned long long b) { return 3 * a + b; };
  const unsigned long long block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z) + 1;
  const bool first = threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0;
  if (membar::last_block_reduce(first ? block : ~0ULL, partial, plus, total) && first) {
    *result = total;
    ++*lasts;
  }
}

TEST_F(grid_barrier, is_not_needed_where_the_last_block_of_any_shape_finishes) {
  const dim3 shapes[][2] = {{{12, 1, 1}, {8, 8, 1}}, {{3, 4, 1}, {1, 32, 1}}, {{2, 2, 3}, {4, 4, 4}}, {{1, 1, 12}, {1, 1, 32}}};
  using partial = membar::block_partial<unsigned long long, thread_scope::device>;
  const support::device_memory<partial> partials(12);
  const support::device_memory<unsigned long long> result(1);
  const support::device_memory<unsigned> lasts(1);
  unsigned long long expected = 0;
  for (unsigned long long block = 1; block <= 12; ++block) {
    expected = block == 1 ? block : 3 * expected + block;
  }
  unsigned launches = 0;
  for (const auto& [grid, block] : shapes) {
    for (int again = 0; again != 100; ++again) {
      membar::launch(launch_config{grid, block}, sum_of_shaped_blocks, partials.get(), result.get(), lasts.get());
      ASSERT_EQ(copied(result)[0], expected);
      ++launches;
    }
  }
  EXPECT_EQ(copied(lasts)[0], launches);
}

/// One of two blocks uses the partial values twice. The other block never arrives, so the first use is never complete.
__global__ void reduce_twice(block_partials<thread_scope::device> partial, unsigned long long* result) {
  const auto plus = [](unsigned long long a, unsigned long long b) { return a + b; };
  if (blockIdx.x == 0) {
    for (unsigned i = 0; i != 2; ++i) {
      if (membar::last_block_reduce(1ULL, partial, plus, *result)) {
        return;
      }
    }
  }
}

/// Ends the process, because its context cannot be used after a trap.
[[noreturn]] void reduce_twice_until_trapped() {
  std::fflush(stdout);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // kernels print to it
  const support::device_memory<membar::block_partial<unsigned long long, thread_scope::device>> partial(2);
  const support::device_memory<unsigned long long> result(1);
  membar::launch(launch_config{2, 32}, reduce_twice, partial.get(), result.get());
  const cudaError_t ended = cudaDeviceSynchronize();
  std::fflush(stdout);
  std::_Exit(ended == cudaSuccess ? 0 : 3);
}

TEST_F(grid_barrier, partial_values_of_a_use_that_has_not_ended_stop_the_kernel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // Death tests need a new process, because CUDA does not work after a fork.
  EXPECT_EXIT(reduce_twice_until_trapped(), ::testing::ExitedWithCode(3),
              "membar: last_block_reduce in block 0 received partial values that an earlier use is still reading");
}

}  // namespace
}  // namespace membar_test
