// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The litmus tests of symmetric memory, as templates on the orders. PE i is GPU i. The catalogue has them as files, Put.*.
#pragma once

#include "sync_litmus.hpp"

namespace membar_test {

/// A thread of the block that acts for a PE.
[[nodiscard]] constexpr model::place on(int pe) noexcept { return block(0, pe); }
/// The card of a network, which stores for other threads: only system scope includes it.
[[nodiscard]] constexpr model::place network() noexcept { return host(); }

/// A barrier of a PE's block, or nothing.
template <bool Present>
[[nodiscard]] constexpr model::instruction block_barrier() {
  if constexpr (Present) {
    return model::sync_block();
  } else {
    return fence_or_nothing<in_block>(none);
  }
}

/// A put with signal, or a notification, by a block: one thread stores data and another the signal; one thread waits and
/// another reads. The signal is there and the data is not.
template <bool BarrierBefore = true, bool BarrierAfter = true, thread_scope Scope = system_wide, class Set, class Find>
[[nodiscard]] constexpr auto signalled_without_data(Set set, Find find) {
  return litmus(thread(on(0), store(x, 1), block_barrier<BarrierBefore>()),
                thread(on(0), block_barrier<BarrierBefore>(), store<Scope>(y, 1, set)),
                thread(on(1), load<Scope>(r0, y, find), block_barrier<BarrierAfter>()),
                thread(on(1), block_barrier<BarrierAfter>(), load(r1, x)))
      .when(in(2, r0) == 1 && in(3, r1) == 0);
}

/// Two puts, a fence and one relaxed notification: the signal is there and one of the puts is not.
template <class Fence>
[[nodiscard]] constexpr auto one_of_two_missing(Fence fence) {
  return litmus(
             thread(on(0), store(x, 1), store(w, 1), fence_or_nothing<system_wide>(fence), store<system_wide>(y, 1, relaxed)),
             thread(on(1), load<system_wide>(r0, y, acquire), load(r1, x), load(r2, w)))
      .when(in(1, r0) == 1 && (in(1, r1) == 0 || in(1, r2) == 0));
}

/// Two fetches with a fence between them: the second returns older data than the first.
template <class Fence>
[[nodiscard]] constexpr auto fetches_out_of_order(Fence fence) {
  return litmus(thread(on(0), store<system_wide>(x, 1, relaxed), store<system_wide>(y, 1, release)),
                thread(on(1), load<system_wide>(r0, y, relaxed), fence_or_nothing<system_wide>(fence),
                       load<system_wide>(r1, x, relaxed)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

/// A transitive notification: PE 0 signals PE 1, which signals PE 2, which does not see what PE 0 put.
template <class Tell, class Hear, class TellOn>
[[nodiscard]] constexpr auto third_pe_told_too_early(Tell tell, Hear hear, TellOn tell_on) {
  return litmus(thread(on(0), store(x, 1), store<system_wide>(y, 1, tell)),
                thread(on(1), load<system_wide>(r0, y, hear), store<system_wide>(z, 1, tell_on)),
                thread(on(2), load<system_wide>(r0, z, acquire), load(r1, x)))
      .when(in(1, r0) == 1 && in(2, r0) == 1 && in(2, r1) == 0);
}

/// Over a network the card stores what PE 0 puts to PE 1, and reports completion, in an order that holds at PE 1 only. PE 0
/// then signals PE 2, which does not see the data.
[[nodiscard]] constexpr auto third_pe_told_by_the_sender_over_a_network() {
  return litmus(thread(network(), store<system_wide>(x, 1, relaxed), store<system_wide>(w, 1, relaxed)),
                thread(on(0), load<system_wide>(r0, w, acquire), store<system_wide>(z, 1, release)),
                thread(on(2), load<system_wide>(r0, z, acquire), load(r1, x)))
      .when(in(1, r0) == 1 && in(2, r0) == 1 && in(2, r1) == 0);
}

/// Over a network the card stores data and a signal to PE 1. PE 1 signals PE 2, which does not see the data.
[[nodiscard]] constexpr auto third_pe_told_by_the_receiver_over_a_network() {
  return litmus(thread(network(), store(x, 1), store<system_wide>(y, 1, release)),
                thread(on(1), load<system_wide>(r0, y, acquire), store<system_wide>(z, 1, release)),
                thread(on(2), load<system_wide>(r0, z, acquire), load(r1, x)))
      .when(in(1, r0) == 1 && in(2, r0) == 1 && in(2, r1) == 0);
}

/// Two senders add to a signal: both additions are there, and the data of one sender is not.
template <class Add, class Find>
[[nodiscard]] constexpr auto counted_without_data(Add add, Find find) {
  return litmus(thread(on(0), store(x, 1), model::add<system_wide>(y, 1, add)),
                thread(on(1), store(w, 1), model::add<system_wide>(y, 1, add)),
                thread(on(2), load<system_wide>(r0, y, find), load(r1, x), load(r2, w)))
      .when(in(2, r0) == 2 && (in(2, r1) == 0 || in(2, r2) == 0));
}

/// Two additions to a counter, of which one is lost.
template <thread_scope Scope>
[[nodiscard]] constexpr auto lost_addition() {
  return litmus(thread(on(0), model::fetch_add<Scope>(r0, x, 1, relaxed)),
                thread(on(1), model::fetch_add<Scope>(r0, x, 1, relaxed)))
      .when(in_memory(x) == 1);
}

/// A barrier of two PEs by flags: both have passed, and one does not see what the other wrote before.
template <class Fence, class Arrive, class Wait>
[[nodiscard]] constexpr auto stale_after_barrier(Fence fence, Arrive arrive, Wait wait) {
  return litmus(thread(on(0), store(x, 1), fence_or_nothing<system_wide>(fence), store<system_wide>(w, 1, arrive),
                       load<system_wide>(r0, y, wait), load(r1, z)),
                thread(on(1), store(z, 1), fence_or_nothing<system_wide>(fence), store<system_wide>(y, 1, arrive),
                       load<system_wide>(r0, w, wait), load(r1, x)))
      .when(in(0, r0) == 1 && in(1, r0) == 1 && (in(0, r1) == 0 || in(1, r1) == 0));
}

/// One thread of a block completes the puts by a fence. After a barrier another thread stores the signal, with or without a
/// fence before it.
template <class Fence>
[[nodiscard]] constexpr auto signalled_by_another_thread(Fence fence) {
  return litmus(thread(on(0), store(x, 1), model::thread_fence<system_wide>(acq_rel), model::sync_block()),
                thread(on(0), model::sync_block(), fence_or_nothing<system_wide>(fence), store<system_wide>(y, 1, relaxed)),
                thread(on(1), load<system_wide>(r0, y, acquire), load(r1, x)))
      .when(in(2, r0) == 1 && in(2, r1) == 0);
}

/// The last PE to add to a counter does not see what another PE put before it added.
template <class Fence>
[[nodiscard]] constexpr auto last_of_counter_without_data(Fence fence) {
  return litmus(
             thread(on(0), store(x, 1), model::thread_fence<system_wide>(acq_rel),
                    model::fetch_add<system_wide>(r0, y, 1, relaxed)),
             thread(on(1), model::fetch_add<system_wide>(r0, y, 1, relaxed), fence_or_nothing<system_wide>(fence), load(r1, x)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

/// A barrier of two PEs by flags: before it a PE reads what another writes after it.
template <class Arrive, class Wait>
[[nodiscard]] constexpr auto read_from_after_barrier(Arrive arrive, Wait wait) {
  return litmus(thread(on(0), load(r1, x), store<system_wide>(w, 1, arrive), load<system_wide>(r0, y, wait)),
                thread(on(1), store<system_wide>(y, 1, arrive), load<system_wide>(r0, w, wait), jump_unless(r0, 1, 4),
                       store(x, 1)))
      .when(in(0, r1) == 1);
}

/// A packed message: the sender uses its box again after the receiver's answer. `LooksFirst`: the receiver answers only after
/// it has read the message.
template <bool LooksFirst>
[[nodiscard]] constexpr auto box_used_too_early() {
  return litmus(
             thread(on(0), store<system_wide>(x, 1, relaxed), load<system_wide>(r0, y, relaxed), jump_unless(r0, 1, 4),
                    store<system_wide>(x, 2, relaxed)),
             thread(on(1), load<system_wide>(r0, x, relaxed),
                    LooksFirst ? jump_unless(r0, 1, 3) : fence_or_nothing<in_block>(none), store<system_wide>(y, 1, relaxed)))
      .when(in(1, r0) == 2);
}

/// A message of two words with its number in the second word only.
[[nodiscard]] constexpr auto message_with_one_number() {
  return litmus(thread(on(0), store<system_wide>(x, 1, relaxed), store<system_wide>(y, 1, relaxed)),
                thread(on(1), load<system_wide>(r0, y, relaxed), load<system_wide>(r1, x, relaxed)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

}  // namespace membar_test
