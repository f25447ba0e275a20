// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread passes a message to another, correctly and with common mistakes.
#include <cuda/atomic>

using flag_ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

extern "C" __global__ void send(unsigned* data, unsigned* flag) {
  *data = 7;
  flag_ref(*flag).store(1, cuda::memory_order_release);
}

extern "C" __global__ void receive(unsigned* data, unsigned* flag, unsigned* result) {
  while (flag_ref(*flag).load(cuda::memory_order_acquire) == 0) {
  }
  *result = *data;
}

extern "C" __global__ void send_volatile(unsigned* data, unsigned* flag) {
  *data = 7;
  *static_cast<volatile unsigned*>(flag) = 1;
}

extern "C" __global__ void receive_volatile(unsigned* data, unsigned* flag, unsigned* result) {
  while (*static_cast<volatile unsigned*>(flag) == 0) {
  }
  *result = *data;
}

extern "C" __global__ void send_fence(unsigned* data, unsigned* flag) {
  *data = 7;
  __threadfence();
  *static_cast<volatile unsigned*>(flag) = 1;
}

extern "C" __global__ void receive_fence(unsigned* data, unsigned* flag, unsigned* result) {
  while (*static_cast<volatile unsigned*>(flag) == 0) {
  }
  __threadfence();
  *result = *data;
}

extern "C" __global__ void send_block_scope(unsigned* data, unsigned* flag) {
  *data = 7;
  __threadfence_block();
  *static_cast<volatile unsigned*>(flag) = 1;
}

extern "C" __global__ void receive_plain(unsigned* data, unsigned* flag, unsigned* result) {
  while (*flag == 0) {
  }
  *result = *data;
}
