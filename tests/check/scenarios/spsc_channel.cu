// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A producer and a consumer of a channel, each in its own kernel.
#include <membar/sync/spsc_channel.cuh>

using channel = membar::spsc_channel<unsigned, 2, membar::thread_scope::device>;
constexpr membar::wait_budget long_enough = membar::wait_budget::milliseconds(10'000);

extern "C" __global__ void producer(channel* c, unsigned* note, unsigned messages) {
  channel::producer end(*c);
  for (unsigned i = 1; i <= messages; ++i) {
    if (end.push(i, long_enough) != membar::wait_result::done) {
      __trap();
    }
  }
  *note = 5;  // After the last message, before the channel ends.
  end.close();
}

extern "C" __global__ void consumer(channel* c, const unsigned* note, unsigned* sum, unsigned* last) {
  channel::consumer end(*c);
  unsigned message = 0;
  unsigned expected = 1;
  while (end.pop(message, long_enough) == membar::wait_result::done) {
    if (message != expected++) {
      __trap();
    }
    *sum += message;
  }
  *last = message + *note;
}
