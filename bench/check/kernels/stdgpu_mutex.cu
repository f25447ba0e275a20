// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// stdgpu: a lock from its array of mutexes.
#include <stdgpu/mutex.cuh>

__global__ void locked_count(stdgpu::mutex_array<> locks, int* count) {
  bool done = false;
  while (!done) {
    if (locks[0].try_lock()) {
      ++*count;
      locks[0].unlock();
      done = true;
    }
  }
}
