// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several producers and one consumer of a channel.
#include <membar/sync/mpsc_channel.cuh>

using channel = membar::mpsc_channel<unsigned, 2, membar::thread_scope::device>;
constexpr membar::wait_budget long_enough = membar::wait_budget::milliseconds(10'000);

extern "C" __global__ void producer(channel* c, unsigned messages) {
  for (unsigned i = 1; i <= messages; ++i) {
    if (c->push(i, long_enough) != membar::wait_result::done) {
      __trap();
    }
  }
}

extern "C" __global__ void consumer(channel* c, unsigned* sum, unsigned messages) {
  channel::consumer end(*c);
  unsigned message = 0;
  for (unsigned i = 0; i < messages; ++i) {
    if (end.pop(message, long_enough) != membar::wait_result::done) {
      __trap();
    }
    *sum += message;
  }
}
