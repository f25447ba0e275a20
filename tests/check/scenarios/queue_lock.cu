// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that increment a counter under Mellor-Crummey and Scott's queue lock.
#include <membar/sync/queue_lock.cuh>

using queue_lock = membar::queue_lock<membar::thread_scope::device>;
constexpr membar::wait_budget long_enough = membar::wait_budget::milliseconds(10'000);

extern "C" __global__ void worker(queue_lock* lock, queue_lock::node* nodes, unsigned* count, unsigned rounds) {
  queue_lock::node& own = nodes[blockIdx.x];
  for (unsigned i = 0; i < rounds; ++i) {
    if (lock->lock(own, long_enough) != membar::wait_result::done) {
      __trap();
    }
    *count = *count + 1;
    if (lock->unlock(own, long_enough) != membar::wait_result::done) {
      __trap();
    }
  }
}
