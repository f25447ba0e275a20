// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The producer's side of a ring of slots that one thread fills and another empties.
#pragma once

#include <membar/atomic.cuh>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {
namespace detail {

/// A producer's view of its ring: which slots it has filled, which slots were empty when it last checked, and whether the ring
/// is closed.
template <int Capacity>
struct ring_producer {
  unsigned long long pushed = 0;
  unsigned long long taken = 0;
  bool closed = false;

  ring_producer() = default;
  /// Continues where the previous producer stopped; `tail` is that producer's counter.
  MEMBAR_HOST_DEVICE explicit ring_producer(unsigned long long tail) noexcept {
    closed = (tail & closed_bit) != 0;
    pushed = tail & ~closed_bit;
    taken = pushed < Capacity ? 0 : pushed - Capacity;
  }

  [[nodiscard]] MEMBAR_HOST_DEVICE bool full() const noexcept { return pushed - taken == Capacity; }

  /// Returns the slot to fill next.
  [[nodiscard]] MEMBAR_HOST_DEVICE unsigned long long slot() const noexcept { return pushed % Capacity; }

  /// Updates the producer's copy of the consumer's counter.
  MEMBAR_HOST_DEVICE void note(unsigned long long head) noexcept { taken = head & ~closed_bit; }

  /// Calls `fill` if `slot()` is empty; otherwise returns the reason why it is not called. It loads the consumer's counter,
  /// with `order`, only if no slot is known to be empty.
  template <thread_scope Scope, class Order, class Fill>
  MEMBAR_HOST_DEVICE wait_result claim(const atomic<unsigned long long, Scope>& head, Order order, Fill fill) noexcept {
    if (closed) {
      return wait_result::closed;
    }
    if (full()) {
      const unsigned long long seen = head.load(order);
      note(seen);
      if ((seen & closed_bit) != 0) {
        closed = true;
        return wait_result::closed;
      }
      if (full()) {
        return wait_result::would_wait;
      }
    }
    fill();
    return wait_result::done;
  }
};

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
