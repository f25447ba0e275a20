// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A writer of two words, and readers that must see both new values or neither.
#include <membar/sync/sequence_lock.cuh>

struct pair {
  unsigned long long first;
  unsigned long long second;
};
using sequence_lock = membar::sequence_lock<pair, membar::thread_scope::device>;

extern "C" __global__ void writer(sequence_lock* lock, unsigned rounds) {
#pragma unroll 1
  for (unsigned long long i = 1; i <= rounds; ++i) {
    lock->write({i, i});
  }
}

extern "C" __global__ void reader(const sequence_lock* lock) {
  pair seen{};
  if (lock->read(seen, membar::wait_budget::milliseconds(10'000)) == membar::wait_result::done && seen.first != seen.second) {
    __trap();
  }
}
