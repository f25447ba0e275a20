// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A channel in which a message and its turn are in a single 16-byte word.
#include <membar/sync/packed_channel.cuh>

using channel = membar::packed_spsc_channel<unsigned, 2, membar::thread_scope::system>;
constexpr membar::wait_budget long_enough = membar::wait_budget::milliseconds(10'000);

extern "C" __global__ void producer(channel* c, unsigned messages) {
  channel::producer end(*c);
#pragma unroll 1
  for (unsigned i = 1; i <= messages; ++i) {
    if (end.push(i, long_enough) != membar::wait_result::done) {
      __trap();
    }
  }
  end.close();
}

extern "C" __global__ void consumer(channel* c, unsigned* sum) {
  channel::consumer end(*c);
  unsigned message = 0;
  unsigned expected = 1;
  while (end.pop(message, long_enough) == membar::wait_result::done) {
    if (message != expected++) {
      __trap();
    }
    *sum += message;
  }
}
