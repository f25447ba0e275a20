// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An all-reduce whose data also serves as flags, issued from two streams at once on one communicator (sglang #31117).
#include "spin.cuh"

#include <membar/load_store.cuh>

/// One GPU's part of a communicator. A slot is zero until a value arrives.
struct push_communicator {
  unsigned slots[2];  ///< consecutive all-reduces alternate between the slots
  unsigned epoch;     ///< The number of completed all-reduces.
};

/// Sends `value` to the peer, and waits for the peer's value. Then clears the slot for the all-reduce after the next one.
extern "C" __global__ void push_and_add(push_communicator* communicators, int self, unsigned value, unsigned* sum,
                                        unsigned* late) {
  using membar::relaxed, membar::thread_scope;
  push_communicator& mine = communicators[self];
  const unsigned epoch = membar::load<thread_scope::system>(&mine.epoch, relaxed);
  unsigned* const slot = &mine.slots[epoch % 2];
  membar::store<thread_scope::system>(&communicators[1 - self].slots[epoch % 2], value, relaxed);
  unsigned other = 0;
  if (!spin(late, [&] { return (other = membar::load<thread_scope::system>(slot, relaxed)) != 0; })) {
    return;
  }
  membar::store<thread_scope::system>(slot, 0U, relaxed);
  membar::store<thread_scope::system>(&mine.epoch, epoch + 1, relaxed);
  *sum = value + other;
}
