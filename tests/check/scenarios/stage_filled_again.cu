// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stage is filled, read and refilled. Only the fixed kernel has a proxy fence between the read and the second copy.
#include <membar/bulk_copy.cuh>
#include <membar/fence.cuh>
#include <membar/mbarrier.cuh>

using membar::acquire, membar::proxy, membar::relaxed, membar::thread_scope, membar::wait_result;
constexpr membar::wait_budget long_enough = membar::wait_budget::milliseconds(10'000);

template <bool Mended>
__global__ void fill_again(const unsigned* from, unsigned* sum) {
  __shared__ alignas(16) unsigned stage[4];
  __shared__ membar::mbarrier<thread_scope::block> full;
  full.init(1);
  for (unsigned phase = 0; phase < 2; ++phase) {
    full.arrive_expect(membar::bulk_load(stage, from + 4 * phase, 16, full), relaxed);
    if (full.wait_parity(phase, acquire, long_enough) != wait_result::done) {
      __trap();  // the copy may still write to the stage
    }
    *sum += stage[0];
    if constexpr (Mended) {
      membar::proxy_fence<proxy::async_shared_block>();
    }
  }
}
template __global__ void fill_again<false>(const unsigned*, unsigned*);
template __global__ void fill_again<true>(const unsigned*, unsigned*);
