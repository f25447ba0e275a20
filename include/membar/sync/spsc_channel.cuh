// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A bounded queue from one producer to one consumer. The two threads may be in one block, on one device, on two devices, or on
/// the host and a device.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/ring.cuh>
#include <membar/detail/standard.hpp>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {

/// A queue of at most `Capacity` messages from one thread to another. Each message is taken exactly once, in order.
///
/// The channel must be in memory that both threads can access: memory of the device, memory of a peer device, or pinned host
/// memory. A zero-initialized channel is open and empty. The channel uses only loads and stores, so it works across every link.
///
/// Synchronizes: a `pop` that returns `done` synchronizes with the `push` of its message: everything before the push, including
/// accesses to other memory, is visible after the pop. A push into a slot is ordered after the pop that emptied the slot. A pop
/// that returns `closed` synchronizes with the producer's `close`. A push after the consumer's `close` may still succeed until
/// the channel is full. Nothing is guaranteed to other threads unless they synchronize with these two. Ends: if the channel
/// stays full (for a push) or empty (for a pop) for the whole budget, for example because there is no other side, a call
/// returns `timed_out`. If either side has closed the channel, a call returns `closed`. After the producer's `close`, the
/// remaining messages can still be taken.
///
/// PTX: push: st of the message, st.release of a counter; ld.acquire of the other counter if the channel seems full. pop: ld of
/// the message, st.release of a counter; ld.acquire of the other counter if the channel seems empty. Requires: `Message` must
/// be trivially copyable; `Capacity` must be a power of two; for device scope, both kernels must run in one physical domain,
/// which `launch` checks for a `domain_bound<channel*, N>`.
template <class Message, int Capacity, thread_scope Scope>
class spsc_channel {
  static_assert(detail::is_bytes<Message>, "membar: a channel's message type must be trivially copyable");
  static_assert(detail::is_power_of_two(Capacity), "membar: the capacity of a channel must be a power of two");

 public:
  using value_type = Message;
  static constexpr int capacity = Capacity;
  static constexpr thread_scope scope = Scope;

  /// The producer's end, which one thread at a time may use.
  class producer {
   public:
    /// Continues where the previous producer stopped.
    MEMBAR_HOST_DEVICE explicit producer(spsc_channel& channel) noexcept
        : channel_(&channel), ring_(channel.tail_.load(relaxed)) {}

    /// Appends `message`, or returns `would_wait` if the channel is full.
    MEMBAR_HOST_DEVICE wait_result try_push(const Message& message) noexcept {
      return ring_.claim(channel_->head_, acquire, [&] {
        channel_->slots_[ring_.slot()] = message;
        channel_->tail_.store(++ring_.pushed, release);
      });
    }

    /// Appends `message`. If the channel is full, waits for space.
    MEMBAR_HOST_DEVICE wait_result push(const Message& message, wait_budget budget) noexcept {
      return detail::wait_until(budget, [&] { return try_push(message); });
    }

    /// Closes the channel: the consumer can take the remaining messages and then finds the channel closed.
    MEMBAR_HOST_DEVICE void close() noexcept {
      ring_.closed = true;
      channel_->tail_.store(ring_.pushed | detail::closed_bit, release);
    }

   private:
    spsc_channel* channel_;
    detail::ring_producer<Capacity> ring_;
  };

  /// The consumer's end, which one thread at a time may use.
  class consumer {
   public:
    /// Continues where the previous consumer stopped.
    MEMBAR_HOST_DEVICE explicit consumer(spsc_channel& channel) noexcept : channel_(&channel) {
      const unsigned long long head = channel.head_.load(relaxed);
      closed_ = (head & detail::closed_bit) != 0;
      taken_ = head & ~detail::closed_bit;
      pushed_ = taken_;
    }

    /// Takes the oldest message. Returns `would_wait` if there is no message, or `closed` if there will be no more.
    MEMBAR_HOST_DEVICE wait_result try_pop(Message& message) noexcept {
      if (closed_) {
        return wait_result::closed;
      }
      if (pushed_ == taken_) {
        const unsigned long long tail = channel_->tail_.load(acquire);
        pushed_ = tail & ~detail::closed_bit;
        if (pushed_ == taken_) {
          return (tail & detail::closed_bit) != 0 ? wait_result::closed : wait_result::would_wait;
        }
      }
      message = channel_->slots_[taken_ % Capacity];
      channel_->head_.store(++taken_, release);
      return wait_result::done;
    }

    /// Takes the oldest message. If there is none, waits for a message.
    MEMBAR_HOST_DEVICE wait_result pop(Message& message, wait_budget budget) noexcept {
      return detail::wait_until(budget, [&] { return try_pop(message); });
    }

    /// Stops taking messages: the producer finds the channel closed, at the latest when the channel is full.
    MEMBAR_HOST_DEVICE void close() noexcept {
      closed_ = true;
      channel_->head_.store(taken_ | detail::closed_bit, relaxed);
    }

   private:
    spsc_channel* channel_;
    unsigned long long taken_;
    unsigned long long pushed_;
    bool closed_;
  };

 private:
  alignas(128) atomic<unsigned long long, Scope> tail_;
  alignas(128) atomic<unsigned long long, Scope> head_;
  alignas(128) Message slots_[static_cast<std::size_t>(Capacity)];
};

}  // namespace v0_3
}  // namespace membar
