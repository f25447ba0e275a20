// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles pass through one stage in shared memory. The wait before a refill does not cover the newest copy out of the stage
// (DeepEP #657).
#include <membar/bulk_copy.cuh>
#include <membar/fence.cuh>
#include <membar/mbarrier.cuh>

template <bool Mended>
__global__ void pass_through(const uint4* from, uint4* to, unsigned tiles) {
  using membar::thread_scope;
  __shared__ uint4 stage;
  __shared__ membar::mbarrier<thread_scope::block> full;
  full.init(1);
  membar::mbarrier_init_fence();
  for (unsigned i = 0; i < tiles; ++i) {
    membar::bulk_wait_read<Mended ? 0 : 1>();
    full.arrive_expect(membar::bulk_load(&stage, from + i, sizeof stage, full), membar::relaxed);
    if (full.wait_parity(i % 2, membar::acquire, membar::wait_budget::milliseconds(10'000)) != membar::wait_result::done) {
      __trap();  // the block must not exit while the copy may still write its shared memory
    }
    membar::bulk_commit(membar::bulk_store(to + i, &stage, sizeof stage));
  }
  membar::bulk_wait();
}
template __global__ void pass_through<false>(const uint4*, uint4*, unsigned);
template __global__ void pass_through<true>(const uint4*, uint4*, unsigned);
