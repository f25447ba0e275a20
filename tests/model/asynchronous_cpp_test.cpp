// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The asynchronous side in C++, decided by the compiler: if this file compiles, the verdicts hold. Each test is one program in two
// forms, with and without the instruction in question. Written as litmus files, the programs have the same verdicts.
#include <membar/model/asynchronous.hpp>
#include <membar/model/litmus_file.hpp>
#include <membar/model/named_test.hpp>
#include <membar/model/write_litmus.hpp>

#include <gtest/gtest.h>

namespace asynchronous_cpp_test {

namespace model = membar::model;
using membar::thread_scope;
using model::block, model::in, model::in_cluster, model::litmus, model::load, model::store, model::thread;
constexpr model::variable x{0};
constexpr model::variable stage = model::shared(1);
constexpr model::variable barrier{2};
constexpr model::reg r0{0};

/// A bulk copy of what the thread stored.
template <class... Between>
constexpr auto copied_out(Between... between) {
  return litmus(thread(block(0), store(stage, 1), between..., model::bulk_store(x, stage), model::bulk_commit(),
                       model::bulk_wait(), load(r0, x)))
      .when(in(0, r0) == 0);
}
static_assert(model::allowed(copied_out()));
static_assert(model::forbidden(copied_out(model::async_proxy_fence())));
static_assert(model::allowed(copied_out(model::thread_fence<thread_scope::system>(membar::seq_cst))));

/// A stage that is written again while a copy may read it.
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

/// What a copy wrote, after the wait for its group.
template <class... Wait>
constexpr auto written(Wait... wait) {
  return litmus(thread(block(0), store(stage, 1), model::async_proxy_fence(), model::bulk_add(x, stage), model::bulk_commit(),
                       wait..., load(r0, x)))
      .when(in(0, r0) == 0);
}
static_assert(model::allowed(written()));
static_assert(model::allowed(written(model::bulk_wait_read())));
static_assert(model::forbidden(written(model::bulk_wait())));

/// A bulk load, and a wait on the mbarrier that it completes on.
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

/// The small copies of each thread, in a group and on an mbarrier.
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

/// A kernel, and one that depends on it.
template <class... Before>
constexpr auto launched(Before... before) {
  return litmus(thread(block(0), model::launch_dependents(), store(x, 1)), thread(block(1), before..., load(r0, x)))
      .dependent(0, 1)
      .when(in(1, r0) == 0);
}
static_assert(model::allowed(launched()));
static_assert(model::forbidden(launched(model::grid_wait())));

template <class Test>
void expect_same(const Test& test, bool reachable) {
  const membar::model::litmus_test named = model::named_test(test, "test");
  EXPECT_EQ(model::decide(named).reachable, reachable);
  EXPECT_EQ(model::decide(model::read_litmus(model::write_litmus(named))).reachable, reachable) << model::write_litmus(named);
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

TEST(asynchronous_cpp, a_dependent_launch_names_threads_of_the_test) {
  const auto test = litmus(thread(block(0), store(x, 1)));
  EXPECT_THROW(static_cast<void>(test.dependent(0, 1)), model::error);
  EXPECT_THROW(static_cast<void>(test.dependent(-1, 0)), model::error);
}

}  // namespace asynchronous_cpp_test
