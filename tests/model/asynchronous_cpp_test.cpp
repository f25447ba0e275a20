// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asynchronous operations in C++, with verdicts that the compiler computes: if this file compiles, the verdicts are correct.
// Each test is a program in two forms, with and without the instruction in question. The same programs, written as litmus
// files, have the same verdicts.
#include <litmus/reader.hpp>
#include <litmus/writer.hpp>
#include <membar/model/asynchronous.hpp>
#include <membar/model/named_test.hpp>

#include <gtest/gtest.h>

namespace asynchronous_cpp_test {

namespace model = membar::model;
using membar::thread_scope;
using model::block, model::in, model::in_cluster, model::litmus, model::load, model::store, model::thread;
constexpr model::variable x{0};
constexpr model::variable stage = model::shared(1);
constexpr model::variable barrier{2};
constexpr model::reg r0{0};

/// A bulk copy of data that the thread stored.
template <class... Between>
constexpr auto copied_out(Between... between) {
  return litmus(thread(block(0), store(stage, 1), between..., model::bulk_store(x, stage), model::bulk_commit(),
                       model::bulk_wait(), load(r0, x)))
      .when(in(0, r0) == 0);
}
static_assert(model::allowed(copied_out()));
static_assert(model::forbidden(copied_out(model::async_proxy_fence())));
static_assert(model::allowed(copied_out(model::thread_fence<thread_scope::system>(membar::seq_cst))));

/// A stage that is overwritten while a copy may still read it.
template <class... Between>
constexpr auto reused(Between... between) {
  return litmus(thread(block(0), store(stage, 1), model::async_proxy_fence(), model::bulk_store(x, stage), model::bulk_commit(),
                       between..., store(stage, 2), model::bulk_wait(), load(r0, x)))
      .when(in(0, r0) == 2);
}
static_assert(model::allowed(reused()));
static_assert(model::allowed(reused(model::async_proxy_fence())));
static_assert(model::forbidden(reused(model::bulk_wait_read())));
static_assert(model::allowed(reused(model::bulk_wait_read(1))));
static_assert(model::forbidden(reused(model::bulk_wait())));

/// Data that a copy wrote, read after the wait for its group.
template <class... Wait>
constexpr auto written(Wait... wait) {
  return litmus(thread(block(0), store(stage, 1), model::async_proxy_fence(), model::bulk_add(x, stage), model::bulk_commit(),
                       wait..., load(r0, x)))
      .when(in(0, r0) == 0);
}
static_assert(model::allowed(written()));
static_assert(model::allowed(written(model::bulk_wait_read())));
static_assert(model::forbidden(written(model::bulk_wait())));

/// A bulk load, and a wait on the mbarrier that signals its completion.
template <class... Wait>
constexpr auto loaded(Wait... wait) {
  return litmus(thread(block(0), store(x, 1), model::async_proxy_fence(), model::bulk_load(stage, x, barrier),
                       model::arrive_expect(barrier, 16), wait..., load(r0, stage)))
      .with_mbarrier(barrier, 1)
      .when(in(0, r0) == 0);
}
static_assert(model::allowed(loaded()));
static_assert(model::forbidden(loaded(model::wait_phase(barrier, 0))));
static_assert(model::forbidden(loaded(model::wait_parity(barrier, 0))));
static_assert(model::allowed(loaded(model::wait_phase(barrier, 0, membar::relaxed))));
static_assert(model::allowed(loaded(model::async_proxy_fence())));

/// Each thread's small copies, which complete in a group or on an mbarrier.
template <class... End>
constexpr auto small(End... end) {
  return litmus(thread(block(0), store(x, 1), model::async_copy(stage, x), end..., load(r0, stage)))
      .with_mbarrier(barrier, 1)
      .when(in(0, r0) == 0);
}
static_assert(model::forbidden(small(model::async_arrive(barrier), model::wait_phase(barrier, 0))));
constexpr auto small_in_group = [](auto... end) {
  return litmus(thread(block(0), store(x, 1), model::async_copy(stage, x), end..., load(r0, stage))).when(in(0, r0) == 0);
};
static_assert(model::allowed(small_in_group()));
static_assert(model::allowed(small_in_group(model::async_commit())));
static_assert(model::allowed(small_in_group(model::async_commit(), model::async_wait(1))));
static_assert(model::forbidden(small_in_group(model::async_commit(), model::async_wait())));

/// An mbarrier between two blocks of a cluster.
template <thread_scope Scope, class Arrive, class Wait>
constexpr auto passed(Arrive how, Wait until) {
  return litmus(thread(in_cluster(block(0), 0), store(x, 1), model::arrive<Scope>(barrier, how)),
                thread(in_cluster(block(1), 0), model::wait_phase<Scope>(barrier, 0, until), load(r0, x)))
      .with_mbarrier(barrier, 1)
      .when(in(1, r0) == 0);
}
static_assert(model::forbidden(passed<thread_scope::cluster>(membar::release, membar::acquire)));
static_assert(model::allowed(passed<thread_scope::block>(membar::release, membar::acquire)));
static_assert(model::allowed(passed<thread_scope::cluster>(membar::relaxed, membar::acquire)));
static_assert(model::allowed(passed<thread_scope::cluster>(membar::release, membar::relaxed)));

/// A kernel and a dependent kernel.
template <class... Before>
constexpr auto launched(Before... before) {
  return litmus(thread(block(0), model::launch_dependents(), store(x, 1)), thread(block(1), before..., load(r0, x)))
      .dependent(0, 1)
      .when(in(1, r0) == 0);
}
static_assert(model::allowed(launched()));
static_assert(model::forbidden(launched(model::grid_wait())));

/// An mbarrier that the waiting thread initializes and at which a thread in another block of the cluster arrives.
template <class Order, class... Between>
constexpr auto initialized(Order arrival, Between... between) {
  return litmus(thread(in_cluster(block(0), 0), model::init(barrier, 1), between..., model::arrive_cluster(arrival),
                       model::wait_cluster(), model::wait_phase<thread_scope::cluster>(barrier, 0), load(r0, x)),
                thread(in_cluster(block(1), 0), model::arrive_cluster(membar::relaxed), model::wait_cluster(), store(x, 1),
                       model::arrive<thread_scope::cluster>(barrier)))
      .when(in(0, r0) == 0);
}
static_assert(model::allowed(initialized(membar::relaxed)));
static_assert(model::forbidden(initialized(membar::relaxed, model::mbarrier_init_fence())));
static_assert(model::forbidden(initialized(membar::release)));

/// A bulk copy of data that the thread stored, with one-directional proxy fences.
static_assert(model::allowed(copied_out(model::shared_proxy_fence(membar::release))));
static_assert(model::allowed(copied_out(model::shared_proxy_fence(membar::acquire))));
static_assert(model::forbidden(copied_out(model::shared_proxy_fence(membar::release),
                                          model::shared_proxy_fence(membar::acquire))));
static_assert(model::forbidden(copied_out(model::async_proxy_fence(model::state_space::shared))));
static_assert(model::allowed(copied_out(model::async_proxy_fence(model::state_space::global))));

/// A tensor map that the thread writes before a copy uses it.
constexpr model::variable y{3};
constexpr model::variable map{4};
template <class... Between>
constexpr auto mapped(Between... between) {
  return litmus(thread(block(0), model::sized(store(map, model::address_of(y)), 8), between...,
                       model::tensor_load(stage, map, barrier), model::arrive_expect(barrier, 16),
                       model::wait_phase(barrier, 0), load(r0, stage)))
      .with_mbarrier(barrier, 1)
      .with_initial(map, model::address_of(x))
      .with_initial(x, 1)
      .with_initial(y, 2)
      .when(in(0, r0) == 1);
}
constexpr auto map_released = model::tensor_map_fence<thread_scope::device>(membar::release);
constexpr auto map_acquired = model::tensor_map_fence<thread_scope::device>(membar::acquire, map);
static_assert(model::allowed(mapped()));
static_assert(model::allowed(mapped(map_released)));
static_assert(model::allowed(mapped(map_acquired)));
static_assert(model::forbidden(mapped(map_released, map_acquired)));

/// Another block's shared memory: loads and stores, `st.async`, `red.async`, and a bulk copy from shared memory to shared
/// memory.
template <class Send, class... Wait>
constexpr auto sent(Send send, Wait... wait) {
  return litmus(thread(in_cluster(block(0), 0), send), thread(in_cluster(block(1), 0), wait..., load(r0, stage)))
      .with_mbarrier(barrier, 1)
      .when(in(1, r0) == 0);
}
constexpr auto there = model::remote(stage, 1);
constexpr auto wait_4 = [](auto send) { return sent(send, model::arrive_expect(barrier, 4), model::wait_phase(barrier, 0)); };
static_assert(model::allowed(sent(model::async_store(there, 1, barrier), model::arrive_expect(barrier, 4))));
static_assert(model::forbidden(wait_4(model::async_store(there, 1, barrier))));
static_assert(model::allowed(sent(model::async_add(there, 1, barrier), model::arrive_expect(barrier, 4))));
static_assert(model::forbidden(wait_4(model::async_add(there, 1, barrier))));
// The phase expects more bytes than the copy delivers, so it never completes and no execution ends.
static_assert(model::forbidden(sent(model::async_store(there, 1, barrier), model::arrive_expect(barrier, 8),
                                    model::wait_phase(barrier, 0))));

/// A bulk copy from one block's shared memory to another's.
template <class... Wait>
constexpr auto sent_in_bulk(Wait... wait) {
  constexpr model::variable own = model::shared(5);
  return litmus(
             thread(in_cluster(block(0), 0), store(own, 1), model::async_proxy_fence(), model::bulk_send(there, own, barrier)),
             thread(in_cluster(block(1), 0), model::arrive_expect(barrier, 16), wait..., load(r0, stage)))
      .with_mbarrier(barrier, 1)
      .when(in(1, r0) == 0);
}
static_assert(model::allowed(sent_in_bulk()));
static_assert(model::forbidden(sent_in_bulk(model::wait_phase(barrier, 0))));

/// Message passing with a flag in the reader's shared memory. Each thread has its own variable that refers to the flag.
template <thread_scope Scope>
constexpr auto passed_there(model::variable flag_of_writer, model::variable flag_of_reader) {
  return litmus(thread(in_cluster(block(0), 0), store(x, 1), store<Scope>(flag_of_writer, 1, membar::release)),
                thread(in_cluster(block(1), 0), load<Scope>(model::reg{1}, flag_of_reader, membar::acquire), load(r0, x)))
      .when(in(1, model::reg{1}) == 1 && in(1, r0) == 0);
}
static_assert(model::forbidden(passed_there<thread_scope::cluster>(model::remote(stage, 1), stage)));
static_assert(model::allowed(passed_there<thread_scope::block>(model::remote(stage, 1), stage)));
static_assert(model::forbidden(passed_there<thread_scope::cluster>(stage, model::remote(stage, 0))));
// Here, each block has its own flag, so the reader never sees its flag set.
static_assert(model::forbidden(passed_there<thread_scope::system>(stage, stage)));

/// Another device's memory is accessed like any other global memory: the flag's scope includes both.
template <thread_scope Scope>
constexpr auto passed_to_peer() {
  return litmus(thread(block(0, 0), store(x, 1), store<Scope>(y, 1, membar::release)),
                thread(block(0, 1), load<Scope>(model::reg{1}, y, membar::acquire), load(r0, x)))
      .when(in(1, model::reg{1}) == 1 && in(1, r0) == 0);
}
static_assert(model::forbidden(passed_to_peer<thread_scope::system>()));
static_assert(model::allowed(passed_to_peer<thread_scope::device>()));

/// Several arrivals at once, and explicit transactions.
template <class... Arrivals>
constexpr auto arrived(int expected, Arrivals... arrivals) {
  return litmus(thread(block(0), store(x, 1), arrivals...), thread(block(0), model::wait_phase(barrier, 0), load(r0, x)))
      .with_mbarrier(barrier, expected)
      .when(in(1, r0) == 1);
}
static_assert(model::allowed(arrived(2, model::arrive_times(barrier, 2))));
static_assert(model::forbidden(arrived(2, model::arrive_times(barrier, 1))));
static_assert(model::forbidden(arrived(1, model::expect(barrier, 16), model::arrive(barrier))));
static_assert(model::allowed(arrived(1, model::expect(barrier, 16), model::arrive(barrier), model::complete(barrier, 16))));

template <class Test>
void expect_same(const Test& test, bool reachable) {
  const membar::model::litmus_test named = model::named_test(test, "test");
  EXPECT_EQ(model::decide(named).reachable, reachable);
  EXPECT_EQ(model::decide(membar::litmus_files::read_litmus(membar::litmus_files::write_litmus(named))).reachable, reachable)
      << membar::litmus_files::write_litmus(named);
}

TEST(asynchronous_cpp, a_program_has_the_verdict_of_its_litmus_file) {
  expect_same(copied_out(), true);
  expect_same(copied_out(model::async_proxy_fence()), false);
  expect_same(reused(), true);
  expect_same(reused(model::bulk_wait_read()), false);
  expect_same(reused(model::bulk_wait_read(1)), true);
  expect_same(written(model::bulk_wait_read()), true);
  expect_same(written(model::bulk_wait()), false);
  expect_same(loaded(), true);
  expect_same(loaded(model::wait_phase(barrier, 0)), false);
  expect_same(loaded(model::wait_parity(barrier, 0)), false);
  expect_same(small(model::async_arrive(barrier), model::wait_phase(barrier, 0)), false);
  expect_same(small_in_group(model::async_commit(), model::async_wait(1)), true);
  expect_same(small_in_group(model::async_commit(), model::async_wait()), false);
  expect_same(passed<thread_scope::cluster>(membar::release, membar::acquire), false);
  expect_same(passed<thread_scope::cluster>(membar::relaxed, membar::acquire), true);
  expect_same(initialized(membar::relaxed), true);
  expect_same(initialized(membar::relaxed, model::mbarrier_init_fence()), false);
  expect_same(copied_out(model::async_proxy_fence(model::state_space::global)), true);
  expect_same(copied_out(model::shared_proxy_fence(membar::release)), true);
  expect_same(copied_out(model::shared_proxy_fence(membar::release), model::shared_proxy_fence(membar::acquire)), false);
  expect_same(mapped(map_released), true);
  expect_same(mapped(map_released, map_acquired), false);
  expect_same(sent(model::async_store(there, 1, barrier), model::arrive_expect(barrier, 4)), true);
  expect_same(wait_4(model::async_store(there, 1, barrier)), false);
  expect_same(wait_4(model::async_add(there, 1, barrier)), false);
  expect_same(sent_in_bulk(), true);
  expect_same(sent_in_bulk(model::wait_phase(barrier, 0)), false);
  expect_same(passed_there<thread_scope::cluster>(model::remote(stage, 1), stage), false);
  expect_same(passed_there<thread_scope::block>(model::remote(stage, 1), stage), true);
  expect_same(passed_there<thread_scope::cluster>(stage, model::remote(stage, 0)), false);
  expect_same(passed_there<thread_scope::system>(stage, stage), false);
  expect_same(passed_to_peer<thread_scope::system>(), false);
  expect_same(passed_to_peer<thread_scope::device>(), true);
  expect_same(arrived(2, model::arrive_times(barrier, 2)), true);
  expect_same(arrived(1, model::expect(barrier, 16), model::arrive(barrier), model::complete(barrier, 16)), true);
  expect_same(launched(), true);
  expect_same(launched(model::grid_wait()), false);
}

TEST(asynchronous_cpp, an_mbarrier_is_a_variable_of_the_test_that_expects_arrivals) {
  const auto test = litmus(thread(block(0), model::arrive(barrier)));
  EXPECT_NO_THROW(static_cast<void>(test.with_mbarrier(barrier, 1)));
  EXPECT_THROW(static_cast<void>(test.with_mbarrier(barrier, 0)), model::error);
  EXPECT_THROW(static_cast<void>(test.with_mbarrier(model::variable{7}, 1)), model::error);
  EXPECT_THROW(static_cast<void>(test.with_mbarrier(model::shared(2), 1)), model::error);
}

TEST(asynchronous_cpp, an_mbarrier_has_one_expected_count) {
  const auto test = litmus(thread(block(0), model::init(barrier, 2)));
  EXPECT_NO_THROW(static_cast<void>(test.with_mbarrier(barrier, 2)));
  EXPECT_THROW(static_cast<void>(test.with_mbarrier(barrier, 1)), model::error);
}

TEST(asynchronous_cpp, shared_memory_of_another_block_is_in_the_cluster) {
  const auto reach = [](const model::place& where) {
    return litmus(thread(where, store(model::remote(stage, 1), 1)), thread(in_cluster(block(1), 0), load(r0, stage)));
  };
  EXPECT_NO_THROW(static_cast<void>(reach(in_cluster(block(0), 0))));
  EXPECT_THROW(static_cast<void>(reach(block(0))), model::error);
  EXPECT_THROW(static_cast<void>(litmus(thread(block(0), store(model::remote(stage, 1), 1)))), model::error);
}

TEST(asynchronous_cpp, a_first_value_is_of_a_variable_of_the_test) {
  const auto test = litmus(thread(block(0), load(r0, x)));
  EXPECT_TRUE(model::allowed(test.with_initial(x, 7).when(in(0, r0) == 7)));
  EXPECT_THROW(static_cast<void>(test.with_initial(model::variable{4}, 7)), model::error);
  EXPECT_THROW(static_cast<void>(test.with_initial(x, r0)), model::error);
  EXPECT_THROW(static_cast<void>(test.with_initial(x, model::address_of(model::variable{4}))), model::error);
}

TEST(asynchronous_cpp, a_dependent_launch_names_threads_of_the_test) {
  const auto test = litmus(thread(block(0), store(x, 1)));
  EXPECT_THROW(static_cast<void>(test.dependent(0, 1)), model::error);
  EXPECT_THROW(static_cast<void>(test.dependent(-1, 0)), model::error);
}

}  // namespace asynchronous_cpp_test
