// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Litmus tests, mainly of the synchronization patterns, as templates on scopes and orders. With the orders in a header, the
/// model must forbid a pattern's condition; with one of these orders weakened, it must allow the condition. `none` means that
/// there is no fence.
#pragma once

#include <membar/model/test.hpp>

#include <concepts>

namespace membar_test::sync_litmus {

namespace model = membar::model;
using membar::acq_rel, membar::acquire, membar::relaxed, membar::release, membar::seq_cst, membar::thread_scope;
using model::block, model::host, model::in, model::in_domain, model::in_memory, model::litmus, model::load, model::store,
    model::thread;

inline constexpr auto in_block = thread_scope::block;
inline constexpr auto device = thread_scope::device;
inline constexpr auto system_wide = thread_scope::system;

inline constexpr model::variable x{0}, y{1}, z{2}, w{3};
inline constexpr model::reg r0{0}, r1{1}, r2{2};

struct none_t {};
inline constexpr none_t none{};

/// A fence. With `none`, this is an instruction without effect: an assignment to a register that no test reads.
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

/// A thread sees that a word is set, but does not see what another thread wrote before setting it.
template <thread_scope Scope>
[[nodiscard]] constexpr auto stale_data(auto set, auto find, model::place writer = block(0), model::place reader = block(1)) {
  return litmus(thread(writer, store(x, 1), store<Scope>(y, 1, set)), thread(reader, load<Scope>(r0, y, find), load(r1, x)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

/// Store buffering: each of two threads stores to a location, executes a fence, and does not see the other thread's store.
template <thread_scope Scope>
[[nodiscard]] constexpr auto store_buffering(auto fence, model::place first = block(0), model::place second = block(1)) {
  return litmus(thread(first, store(x, 1), model::thread_fence<Scope>(fence), load(r0, y)),
                thread(second, store(y, 1), model::thread_fence<Scope>(fence), load(r0, x)))
      .when(in(0, r0) == 0 && in(1, r0) == 0);
}

/// Store buffering with relaxed accesses at device scope and no fence between them.
inline constexpr auto relaxed_store_buffering =
    litmus(thread(block(0), store<device>(x, 1, relaxed), load<device>(r0, y, relaxed)),
           thread(block(1), store<device>(y, 1, relaxed), load<device>(r0, x, relaxed)))
        .when(in(0, r0) == 0 && in(1, r0) == 0);

/// A reader reads a slot and then acknowledges it, but its read returns what the writer stores after the acknowledgement. As in
/// the code, the writer's store depends on a branch.
template <thread_scope Scope>
[[nodiscard]] constexpr auto overwritten_while_read(auto say, auto hear, model::place reader = block(0),
                                                    model::place writer = block(1)) {
  return litmus(thread(reader, load(r0, x), store<Scope>(y, 1, say)),
                thread(writer, load<Scope>(r0, y, hear), jump_unless(r0, 1, 3), store(x, 2)))
      .when(in(0, r0) == 2);
}

/// The publisher: a warp stores data and an entry, and releases them at block scope. The publisher stores the entry's value to
/// the signal. A consumer that acquires the signal finds old data.
template <thread_scope To>
[[nodiscard]] constexpr auto published_without_data(auto hand_over, auto take_over, auto fence,
                                                    model::place consumer = host()) {
  return litmus(thread(block(0), store(x, 1), store(w, 1), store<in_block>(y, 1, hand_over)),
                thread(block(0), load<in_block>(r0, y, take_over), load(r1, w), fence_or_nothing<To>(fence),
                       store<system_wide>(z, model::source(r1), relaxed)),
                thread(consumer, load<system_wide>(r0, z, acquire), load(r1, x)))
      .when(in(1, r0) == 1 && in(2, r0) == 1 && in(2, r1) == 0);
}

/// A source publishes two signals in succession. The second signal is visible but the first is not.
[[nodiscard]] constexpr auto signals_out_of_order(auto between) {
  return litmus(thread(block(0), model::thread_fence<system_wide>(release), store<system_wide>(x, 1, relaxed),
                       fence_or_nothing<system_wide>(between), store<system_wide>(y, 1, relaxed)),
                thread(host(), load<system_wide>(r0, y, acquire), load<system_wide>(r1, x, relaxed)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

/// A packed channel: the consumer acknowledges a word, but has read the next turn's word. With `looks_first`, the consumer
/// acknowledges only after it has read the word.
template <thread_scope Scope = device>
[[nodiscard]] constexpr auto packed_word_overtaken(bool looks_first, model::place producer = block(0),
                                                   model::place consumer = block(1)) {
  return litmus(thread(producer, store<Scope>(x, 1, relaxed), load<Scope>(r0, y, relaxed), jump_unless(r0, 1, 4),
                       store<Scope>(x, 2, relaxed)),
                thread(consumer, load<Scope>(r0, x, relaxed),
                       looks_first ? jump_unless(r0, 1, 3) : fence_or_nothing<Scope>(none), store<Scope>(y, 1, relaxed)))
      .when(in(1, r0) == 2);
}

/// A grid barrier of two blocks: after the barrier, one block does not see what the other wrote before it.
template <thread_scope Scope>
[[nodiscard]] constexpr auto stale_data_after_barrier(auto arrive, auto wait, model::place other = block(1)) {
  return litmus(thread(block(0), store(x, 1), model::fetch_add<Scope>(r0, y, 1, arrive)),
                thread(other, model::fetch_add<Scope>(r0, y, 2, arrive), load<Scope>(r1, y, wait), load(r2, x)))
      .when(in(1, r1) == 3 && in(1, r2) == 0);
}

/// A block starts a second use of `last_block_reduce` while the last block of the first use still reads the value that the
/// block left. The block's second value overwrites the first, because no block checks whether the last block has read it.
[[nodiscard]] constexpr auto overwritten_partial() {
  return litmus(thread(block(0), model::fetch_add<device>(r0, y, 1, acq_rel), load(r1, x)),
                thread(block(1), store(x, 1), model::fetch_add<device>(r0, y, 1, acq_rel), store(x, 2)))
      .when(in(0, r0) == 1 && in(0, r1) == 2);
}

}  // namespace membar_test::sync_litmus
