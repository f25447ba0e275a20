// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A source writes data and passes its signal to the publishing thread in its block; a reader on another device waits for the
// signal.
#include <membar/sync/publisher.cuh>

using publisher = membar::publisher<1, 2>;
constexpr membar::wait_budget long_enough = membar::wait_budget::milliseconds(10'000);

extern "C" __global__ void publish(unsigned* data, unsigned long long* signal, unsigned rounds) {
  __shared__ publisher p;
  if (threadIdx.x == 0) {
    p.init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    static_cast<void>(p.serve_thread(long_enough));
  } else {
    publisher::source source(p, 0);
#pragma unroll 1
    for (unsigned i = 1; i <= rounds; ++i) {
      data[i] = 7 * i;
      if (source.publish(*signal, i, long_enough) != membar::wait_result::done) {
        __trap();
      }
    }
    source.close();
  }
}

extern "C" __global__ void read(const unsigned* data, unsigned long long* signal, unsigned* result, unsigned rounds) {
  const membar::atomic_ref<unsigned long long, membar::thread_scope::system> flag(*signal);
  while (flag.load(membar::acquire) != rounds) {
  }
  *result = data[1] + data[rounds];
}
