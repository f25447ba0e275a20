// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread waits for a flag and then, without a proxy fence, bulk-copies the data that the flag announces (DeepEP #621).
#include "spin.cuh"

#include <membar/bulk_copy.cuh>
#include <membar/fence.cuh>
#include <membar/load_store.cuh>
#include <membar/mbarrier.cuh>

template <bool Mended>
__global__ void fetch_after_flag(uint4* data, unsigned* flag, unsigned* wrong, unsigned* late) {
  using membar::proxy, membar::thread_scope;
  __shared__ uint4 stage;
  __shared__ membar::mbarrier<thread_scope::block> full;
  if (blockIdx.x == 0) {
    *data = {1, 1, 1, 1};
    membar::store<thread_scope::device>(flag, 1U, membar::release);
    return;
  }
  full.init(1);
  membar::mbarrier_init_fence();
  if (!spin(late, [&] { return membar::load<thread_scope::device>(flag, membar::acquire) != 0; })) {
    return;
  }
  if constexpr (Mended) {
    membar::proxy_fence<proxy::async_global>();
  }
  full.arrive_expect(membar::bulk_load(&stage, data, sizeof stage, full), membar::relaxed);
  if (full.wait_parity(0, membar::acquire, membar::wait_budget::milliseconds(10'000)) != membar::wait_result::done) {
    __trap();  // the block must not exit while the copy may still write its shared memory
  }
  *wrong += stage.x != 1 ? 1 : 0;
}
template __global__ void fetch_after_flag<false>(uint4*, unsigned*, unsigned*, unsigned*);
template __global__ void fetch_after_flag<true>(uint4*, unsigned*, unsigned*, unsigned*);
