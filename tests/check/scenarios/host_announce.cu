// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel signals to a host thread that data is ready, once at system scope, which is required, and once at device scope,
// which does not include the host.
#include <cuda/atomic>

extern "C" __global__ void announce(unsigned* data, unsigned* flag) {
  *data = 42;
  cuda::atomic_ref<unsigned, cuda::thread_scope_system>(*flag).store(1, cuda::memory_order_release);
}

extern "C" __global__ void announce_to_device(unsigned* data, unsigned* flag) {
  *data = 42;
  cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*flag).store(1, cuda::memory_order_release);
}

/// Waits for the host's request and answers it.
extern "C" __global__ void answer(unsigned* data, unsigned* flag) {
  const cuda::atomic_ref<unsigned, cuda::thread_scope_system> turn(*flag);
  while (turn.load(cuda::memory_order_acquire) != 1) {
  }
  *data += 1;
  turn.store(2, cuda::memory_order_release);
}
