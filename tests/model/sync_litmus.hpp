// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The litmus tests of the synchronization patterns. Each is a template on the orders of one pattern. With the orders of the
/// header the model must forbid its condition; with one of them weakened it must allow it. `none` leaves a fence out.
#pragma once

#include <membar/model/litmus_file.hpp>
#include <membar/model/test.hpp>

#include <concepts>
#include <string>

namespace membar_test {

namespace model = membar::model;
using membar::acq_rel;
using membar::acquire;
using membar::relaxed;
using membar::release;
using membar::thread_scope;
using model::block;
using model::host;
using model::in;
using model::in_domain;
using model::in_memory;
using model::litmus;
using model::load;
using model::store;
using model::thread;

inline constexpr auto in_block = thread_scope::block;
inline constexpr auto device = thread_scope::device;
inline constexpr auto system_wide = thread_scope::system;

inline constexpr model::variable x{0};
inline constexpr model::variable y{1};
inline constexpr model::variable z{2};
inline constexpr model::variable w{3};
inline constexpr model::reg r0{0};
inline constexpr model::reg r1{1};
inline constexpr model::reg r2{2};

struct none_t {};
inline constexpr none_t none{};

/// A fence, or, for `none`, nothing: an assignment to a register that no test reads.
template <thread_scope Scope, class Order>
[[nodiscard]] constexpr model::instruction fence_or_nothing(Order order) {
  if constexpr (std::same_as<Order, none_t>) {
    model::instruction nothing;
    nothing.destination = 7;
    return nothing;
  } else {
    return model::thread_fence<Scope>(order);
  }
}

/// Jumps to instruction `target` of the thread, counted from 0, unless the register has the value.
[[nodiscard]] constexpr model::instruction jump_unless(model::reg r, std::int64_t value, int target) {
  model::instruction jump;
  jump.code = model::opcode::branch;
  jump.test = model::comparison::not_equal;
  jump.a = {true, r.index, 0};
  jump.b = {false, 0, value};
  jump.target = target;
  return jump;
}

/// A thread finds a word set, and does not see what another thread wrote before it set the word.
template <thread_scope Scope, class Set, class Find>
[[nodiscard]] constexpr auto stale_data(Set set, Find find, model::place writer = block(0), model::place reader = block(1)) {
  return litmus(thread(writer, store(x, 1), store<Scope>(y, 1, set)), thread(reader, load<Scope>(r0, y, find), load(r1, x)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

/// A reader reads a slot and then acknowledges it; it reads what the writer stores after the acknowledgement. The writer's
/// store depends on a branch, as in the code.
template <thread_scope Scope, class Say, class Hear>
[[nodiscard]] constexpr auto overwritten_while_read(Say say, Hear hear, model::place reader = block(0),
                                                    model::place writer = block(1)) {
  return litmus(thread(reader, load(r0, x), store<Scope>(y, 1, say)),
                thread(writer, load<Scope>(r0, y, hear), jump_unless(r0, 1, 3), store(x, 2)))
      .when(in(0, r0) == 2);
}

/// Two threads set a word one after the other, with a barrier in between, as when an end of a queue changes hands. The second
/// store must release what came before the first.
template <class Set>
[[nodiscard]] constexpr auto stale_data_of_the_one_before(Set second) {
  return litmus(thread(block(0), store(x, 1), store<in_block>(y, 1, release), model::sync_block()),
                thread(block(0), model::sync_block(), store<in_block>(y, 2, second)),
                thread(block(0), load<in_block>(r0, y, acquire), load(r1, x)))
      .when(in(2, r0) == 2 && in(2, r1) == 0);
}

/// The publisher: a warp stores data and an entry, and releases them at block scope. The publisher stores the entry's value to
/// the signal. A consumer that acquires the signal finds old data.
template <thread_scope To, class HandOver, class TakeOver, class Fence>
[[nodiscard]] constexpr auto published_without_data(HandOver hand_over, TakeOver take_over, Fence fence,
                                                    model::place consumer = host()) {
  return litmus(thread(block(0), store(x, 1), store(w, 1), store<in_block>(y, 1, hand_over)),
                thread(block(0), load<in_block>(r0, y, take_over), load(r1, w), fence_or_nothing<To>(fence),
                       store<system_wide>(z, model::source(r1), relaxed)),
                thread(consumer, load<system_wide>(r0, z, acquire), load(r1, x)))
      .when(in(1, r0) == 1 && in(2, r0) == 1 && in(2, r1) == 0);
}

/// The publisher, where another lane of the source's warp wrote the data: with or without `bar.warp.sync` before lane 0
/// releases.
[[nodiscard]] inline bool published_without_another_lanes_data(bool synchronizes) {
  const std::string barrier = synchronizes ? "bar.warp.sync 3" : "";
  return model::decide(
             model::read_litmus("PTX published_without_another_lanes_data\n{ x=0; y=0; z=0; }\n"
                                " P0@cta 0,gpu 0,warp 0 | P1@cta 0,gpu 0,warp 0 | P2@cta 0,gpu 0,warp 1 | P3@cta 1,gpu 1 ;\n"
                                " st.weak x, 1 | " +
                                barrier + " | ld.acquire.cta r0, y | ld.acquire.sys r0, z ;\n " + barrier +
                                " | st.release.cta y, 1 | fence.release.sys | ld.weak r1, x ;\n"
                                " | | st.relaxed.sys z, r0 | ;\n"
                                "exists (P3:r0 == 1 /\\ P3:r1 == 0)\n"))
      .reachable;
}

/// A source publishes two signals one after the other: the second is seen and the first is not.
template <class FenceBetween>
[[nodiscard]] constexpr auto signals_out_of_order(FenceBetween between) {
  return litmus(thread(block(0), model::thread_fence<system_wide>(release), store<system_wide>(x, 1, relaxed),
                       fence_or_nothing<system_wide>(between), store<system_wide>(y, 1, relaxed)),
                thread(host(), load<system_wide>(r0, y, acquire), load<system_wide>(r1, x, relaxed)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

/// After a flush the source does not see the signal that the publisher stored.
template <class Say, class Hear>
[[nodiscard]] constexpr auto flushed_before_stored(Say say, Hear hear) {
  return litmus(thread(block(0), store<system_wide>(x, 1, relaxed), store<in_block>(y, 1, say)),
                thread(block(0), load<in_block>(r0, y, hear), load<system_wide>(r1, x, relaxed)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

/// A packed channel: the consumer acknowledges a word and reads the word of the next turn. `LooksFirst`: it acknowledges only
/// after it has read the word.
template <bool LooksFirst>
[[nodiscard]] constexpr auto packed_word_overtaken() {
  return litmus(thread(block(0), store<device>(x, 1, relaxed), load<device>(r0, y, relaxed), jump_unless(r0, 1, 4),
                       store<device>(x, 2, relaxed)),
                thread(block(1), load<device>(r0, x, relaxed),
                       LooksFirst ? jump_unless(r0, 1, 3) : fence_or_nothing<device>(none), store<device>(y, 1, relaxed)))
      .when(in(1, r0) == 2);
}

/// A packed channel of many producers: two fill a slot one after the other, and the first word replaces the second. The
/// consumer then waits forever.
template <class Say, class Hear>
[[nodiscard]] constexpr auto lost_word(Say say, Hear hear) {
  return litmus(thread(block(0), store<device>(x, 1, relaxed)),
                thread(block(1), load<device>(r0, x, relaxed), jump_unless(r0, 1, 3), store<device>(y, 1, say)),
                thread(block(2), load<device>(r0, y, hear), jump_unless(r0, 1, 3), store<device>(x, 2, relaxed)))
      .when(in(2, r0) == 1 && in_memory(x) == 1);
}

/// A message and its sequence number in two words, both relaxed: the number is seen and the message is not.
[[nodiscard]] constexpr auto unpacked_message() { return stale_data<device>(relaxed, relaxed); }

/// A ticket lock: a holder does not see what the previous holder wrote.
template <class Unlock, class Wait>
[[nodiscard]] constexpr auto stale_data_under_ticket_lock(Unlock unlock, Wait wait) {
  return litmus(thread(block(0), store(x, 1), model::add<device>(y, 1, unlock)),
                thread(block(1), load<device>(r0, y, wait), load(r1, x)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

/// A ticket lock: a holder reads what the next holder writes.
template <class Unlock, class Wait>
[[nodiscard]] constexpr auto early_write_under_ticket_lock(Unlock unlock, Wait wait) {
  return litmus(thread(block(0), load(r0, x), model::add<device>(y, 1, unlock)),
                thread(block(1), load<device>(r0, y, wait), jump_unless(r0, 1, 3), store(x, 2)))
      .when(in(0, r0) == 2);
}

/// A ticket lock taken by `try_lock`: a relaxed compare-and-swap takes the ticket after the counter was read.
template <class Unlock, class Look>
[[nodiscard]] constexpr auto stale_data_under_tried_ticket_lock(Unlock unlock, Look look) {
  return litmus(thread(block(0), model::fetch_add<device>(r0, z, 1, relaxed), store(x, 1), model::add<device>(y, 1, unlock)),
                thread(block(1), load<device>(r0, y, look), model::compare_exchange<device>(r1, z, 1, 2, relaxed), load(r2, x)))
      .when(in(1, r0) == 1 && in(1, r1) == 1 && in(1, r2) == 0);
}

/// A queue lock: a node's initialization (9) overwrites the link that its successor stored. The successor waits forever.
template <class First, class Second>
[[nodiscard]] constexpr auto lost_link(First first, Second second) {
  return litmus(thread(block(0), store<device>(x, 9, relaxed), model::exchange<device>(r0, y, 1, first)),
                thread(block(1), model::exchange<device>(r0, y, 2, second), store<device>(x, 2, release)))
      .when(in(1, r0) == 1 && in_memory(x) == 9);
}

/// A queue lock taken by `try_lock`: a node's initialization (9) overwrites the link that its successor stored.
template <class First>
[[nodiscard]] constexpr auto lost_link_after_try_lock(First first) {
  return litmus(thread(block(0), store<device>(x, 9, relaxed), model::compare_exchange<device>(r0, y, 0, 1, first)),
                thread(block(1), model::exchange<device>(r0, y, 2, acq_rel), store<device>(x, 2, release)))
      .when(in(1, r0) == 1 && in_memory(x) == 9);
}

/// A queue lock: a node's initialization of its grant (9) overwrites the grant. The node waits forever.
template <class Link, class Follow>
[[nodiscard]] constexpr auto lost_grant(Link link, Follow follow) {
  return litmus(thread(block(0), load<device>(r0, y, follow), store<device>(x, 1, release)),
                thread(block(1), store<device>(x, 9, relaxed), store<device>(y, 1, link)))
      .when(in(0, r0) == 1 && in_memory(x) == 9);
}

/// A queue lock that was free (5) between two holders: the second does not see what the first wrote.
template <class Free, class Take>
[[nodiscard]] constexpr auto stale_data_under_free_lock(Free free, Take take) {
  return litmus(thread(block(0), store(x, 1), model::compare_exchange<device>(r0, y, 0, 5, free)),
                thread(block(1), model::exchange<device>(r0, y, 2, take), load(r1, x)))
      .when(in(1, r0) == 5 && in(1, r1) == 0);
}

/// A queue lock that was free (5) and is taken by `try_lock`: the second holder does not see what the first wrote.
template <class Take>
[[nodiscard]] constexpr auto stale_data_under_tried_lock(Take take) {
  return litmus(thread(block(0), store(x, 1), model::compare_exchange<device>(r0, y, 0, 5, release)),
                thread(block(1), model::compare_exchange<device>(r0, y, 5, 2, take), load(r1, x)))
      .when(in(1, r0) == 5 && in(1, r1) == 0);
}

/// A sequence lock: the reader finds one even number before and after, and data of another write in between.
template <class FenceBefore, class End, class Begin, class FenceAfter>
[[nodiscard]] constexpr auto torn_read(FenceBefore fence_before, End end, Begin begin, FenceAfter fence_after) {
  return litmus(thread(block(0), store<device>(y, 1, relaxed), fence_or_nothing<device>(fence_before),
                       store<device>(x, 1, relaxed), store<device>(y, 2, end)),
                thread(block(1), load<device>(r0, y, begin), load<device>(r1, x, relaxed),
                       fence_or_nothing<device>(fence_after), load<device>(r2, y, relaxed)))
      .when((in(1, r0) == 0 && in(1, r1) == 1 && in(1, r2) == 0) || (in(1, r0) == 2 && in(1, r1) == 0 && in(1, r2) == 2));
}

/// A grid barrier of two blocks: after it one block does not see what the other wrote before it.
template <thread_scope Scope, class Arrive, class Wait>
[[nodiscard]] constexpr auto stale_data_after_barrier(Arrive arrive, Wait wait, model::place other = block(1)) {
  return litmus(thread(block(0), store(x, 1), model::fetch_add<Scope>(r0, y, 1, arrive)),
                thread(other, model::fetch_add<Scope>(r0, y, 2, arrive), load<Scope>(r1, y, wait), load(r2, x)))
      .when(in(1, r1) == 3 && in(1, r2) == 0);
}

/// A grid barrier of two blocks: before it one block reads what the other writes after it.
template <thread_scope Scope, class Arrive, class Wait>
[[nodiscard]] constexpr auto early_write_after_barrier(Arrive arrive, Wait wait) {
  return litmus(thread(block(0), load(r0, x), model::fetch_add<Scope>(r1, y, 1, arrive)),
                thread(block(1), model::fetch_add<Scope>(r0, y, 2, arrive), load<Scope>(r1, y, wait), jump_unless(r1, 3, 4),
                       store(x, 1)))
      .when(in(0, r0) == 1);
}

/// A barrier by flags, each set after one fence.
template <class Fence, class Wait>
[[nodiscard]] constexpr auto stale_data_after_flags(Fence fence, Wait wait) {
  return litmus(thread(block(0), store(x, 1), fence_or_nothing<system_wide>(fence), store<system_wide>(y, 1, relaxed)),
                thread(host(), load<system_wide>(r0, y, wait), load(r1, x)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

/// The last block to arrive does not see the partial result of another. Both add with one order.
template <class Order>
[[nodiscard]] constexpr auto stale_partial(Order order) {
  return litmus(thread(block(0), store(x, 1), model::fetch_add<device>(r0, y, 1, order)),
                thread(block(1), model::fetch_add<device>(r0, y, 1, order), load(r1, x)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

/// A block goes on to a second use of `last_block_reduce` while the last block of the first reads what it left: the block's
/// second value overwrites the first. With `Checked` the block finds its place free only if the last block has said so.
template <bool Checked, class Say, class Hear>
[[nodiscard]] constexpr auto overwritten_partial(Say say, Hear hear) {
  const auto last = [&](auto... after) {
    return thread(block(0), model::fetch_add<device>(r0, y, 1, acq_rel), load(r1, x), after...);
  };
  const auto other = [&](auto... check) {
    return thread(block(1), store(x, 1), store<device>(z, 1, relaxed), model::fetch_add<device>(r0, y, 1, acq_rel), check...,
                  store(x, 2));
  };
  if constexpr (Checked) {
    return litmus(last(fence_or_nothing<device>(say), store<device>(z, 0, relaxed)),
                  other(load<device>(r1, z, hear), jump_unless(r1, 0, 6)))
        .when(in(0, r0) == 1 && in(0, r1) == 2);
  } else {
    return litmus(last(), other()).when(in(0, r0) == 1 && in(0, r1) == 2);
  }
}

}  // namespace membar_test
