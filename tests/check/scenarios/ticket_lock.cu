// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that increment a counter under the ticket lock.
#include <membar/sync/ticket_lock.cuh>

using ticket_lock = membar::ticket_lock<membar::thread_scope::device>;

extern "C" __global__ void worker(ticket_lock* lock, unsigned* count, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) {
    if (lock->lock(membar::wait_budget::milliseconds(10'000)) != membar::wait_result::done) {
      return;
    }
    *count = *count + 1;
    lock->unlock();
  }
}

extern "C" __global__ void worker_once(ticket_lock* lock, unsigned* count) {
  if (lock->try_lock() == membar::wait_result::done) {
    *count = *count + 1;
    lock->unlock();
  }
}
