// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several producers and several consumers of a channel. Each producer's messages also signal that other memory is ready.
#include <membar/sync/mpmc_channel.cuh>

using channel = membar::mpmc_channel<unsigned, 2, membar::thread_scope::device>;
constexpr membar::wait_budget long_enough = membar::wait_budget::milliseconds(10'000);

extern "C" __global__ void producer(channel* c, unsigned* announced, unsigned messages) {
  for (unsigned i = 0; i < messages; ++i) {
    const unsigned which = blockIdx.x * messages + i;
    announced[which] = which + 1;
    if (c->push(which, long_enough) != membar::wait_result::done) {
      __trap();
    }
  }
}

extern "C" __global__ void consumer(channel* c, unsigned* announced, unsigned messages) {
  unsigned which = 0;
  for (unsigned i = 0; i < messages; ++i) {
    if (c->pop(which, long_enough) != membar::wait_result::done || announced[which] != which + 1) {
      __trap();
    }
    announced[which] = 100 + which;  // The kernel traps if a message is taken twice.
  }
}

/// Pops messages until the channel is closed; the consumer that receives the last message closes it.
extern "C" __global__ void until_closed(channel* c, unsigned* announced, unsigned last) {
  unsigned which = 0;
  for (;;) {
    const membar::wait_result result = c->pop(which, long_enough);
    if (result == membar::wait_result::closed) {
      return;
    }
    if (result != membar::wait_result::done || announced[which] != which + 1) {
      __trap();
    }
    announced[which] = 100 + which;
    if (which == last) {
      c->close();
    }
  }
}
