// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Litmus tests in C++ that the compiler evaluates: if this file compiles, their verdicts are correct. The same calls are
// repeated at run time.
#include "sync_litmus.hpp"

#include <membar/model/test.hpp>

#include <gtest/gtest.h>

namespace constexpr_test {

using namespace membar_test::sync_litmus;
using model::thread_fence;
constexpr auto cluster = thread_scope::cluster;

template <thread_scope Scope>
constexpr auto message_passing(model::place writer, model::place reader) {
  return stale_data<Scope>(release, acquire, writer, reader);
}

static_assert(model::forbidden(message_passing<device>(block(0), block(1))));
static_assert(model::allowed(message_passing<in_block>(block(0), block(1))));
static_assert(model::allowed(message_passing<device>(block(0), in_domain(block(1), 1))));
static_assert(model::forbidden(message_passing<system_wide>(block(0), in_domain(block(1), 1))));
static_assert(model::allowed(message_passing<device>(block(0), host())));
static_assert(model::forbidden(message_passing<system_wide>(block(0), host())));
static_assert(model::forbidden(message_passing<cluster>(model::in_cluster(block(0), 3), model::in_cluster(block(1), 3))));

static_assert(model::forbidden(store_buffering<device>(seq_cst)));
static_assert(model::allowed(store_buffering<device>(acq_rel)));
static_assert(model::allowed(store_buffering<in_block>(seq_cst)));

constexpr auto load_buffering = litmus(thread(block(0), load<device>(r0, x, relaxed), store<device>(y, 1, relaxed)),
                                       thread(block(1), load<device>(r0, y, relaxed), store<device>(x, 1, relaxed)))
                                    .when(in(0, r0) == 1 && in(1, r0) == 1);
static_assert(model::allowed(load_buffering));

// The guide's example of cumulativity with three threads: first at device scope, then at system scope with the host.
constexpr auto cumulativity = litmus(thread(block(0), store(x, 1), store<device>(y, 1, release)),
                                     thread(block(1), load<device>(r0, y, acquire), store<system_wide>(z, 1, release)),
                                     thread(host(), load<system_wide>(r0, z, acquire), load(r1, x)))
                                  .when(in(1, r0) == 1 && in(2, r0) == 1 && in(2, r1) == 0);
static_assert(model::forbidden(cumulativity));

template <thread_scope Scope>
constexpr auto independent_reads() {
  return litmus(thread(block(0), store<device>(x, 1, relaxed)),
                thread(block(1), load<device>(r0, x, relaxed), thread_fence<Scope>(seq_cst), load<device>(r1, y, relaxed)),
                thread(block(2), store<device>(y, 1, relaxed)),
                thread(block(3), load<device>(r0, y, relaxed), thread_fence<Scope>(seq_cst), load<device>(r1, x, relaxed)))
      .when(in(1, r0) == 1 && in(1, r1) == 0 && in(3, r0) == 1 && in(3, r1) == 0);
}
static_assert(model::forbidden(independent_reads<device>()));
static_assert(model::allowed(independent_reads<in_block>()));

template <thread_scope Scope>
constexpr auto two_increments(model::place other) {
  return litmus(thread(block(0), model::fetch_add<Scope>(r0, x, 1, relaxed)), thread(other, model::add<Scope>(x, 1, relaxed)))
      .when(in_memory(x) == 1);
}
static_assert(model::forbidden(two_increments<device>(block(1))));
static_assert(model::allowed(two_increments<device>(in_domain(block(1), 1))));

constexpr auto both_win = litmus(thread(block(0), model::compare_exchange<device>(r0, x, 0, 1, acquire)),
                                 thread(block(1), model::compare_exchange<device>(r0, x, 0, 2, acquire)))
                              .when(in(0, r0) == 0 && in(1, r0) == 0);
static_assert(model::forbidden(both_win));

constexpr auto barrier =
    litmus(thread(block(0), store(x, 1), model::sync_block()), thread(block(0), model::sync_block(), load(r0, x)))
        .when(in(1, r0) == 0);
static_assert(model::forbidden(barrier));
constexpr auto cluster_barrier =
    litmus(thread(model::in_cluster(block(0), 1), store(x, 1), model::arrive_cluster(relaxed), model::wait_cluster()),
           thread(model::in_cluster(block(1), 1), model::arrive_cluster(), model::wait_cluster(), load(r0, x)))
        .when(in(1, r0) == 0);
static_assert(model::allowed(cluster_barrier));

// A predicated store depends on its predicate, but the next store does not.
template <class... After>
constexpr auto predicated(const After&... after) {
  return litmus(thread(block(0), load<device>(r0, x, relaxed), model::set_if(r1, r0, model::comparison::equal, 1), after...),
                thread(block(1), load<device>(r0, y, relaxed), model::set_if(r1, r0, model::comparison::not_equal, 1),
                       model::unless(r1, store<device>(x, 1, relaxed))))
      .when(in(0, r0) == 1 && in(1, r0) == 1);
}
static_assert(model::forbidden(predicated(model::only_if(r1, store<device>(y, 1, relaxed)))));
static_assert(model::allowed(predicated(model::only_if(r1, store<device>(z, 1, relaxed)), store<device>(y, 1, relaxed))));

// A shuffle passes a value on, but does not order memory.
constexpr auto shuffled =
    litmus(thread(block(0), store(x, 1), model::shuffle(r0, 7, 1)), thread(block(0), model::shuffle(r0, 8, 0), load(r1, x)));
static_assert(model::forbidden(shuffled.when(in(0, r0) != 8 || in(1, r0) != 8)) == false);
static_assert(model::forbidden(shuffled.when(in(0, r0) != 8 || in(1, r0) != 7)));
static_assert(model::allowed(shuffled.when(in(1, r1) == 0)));

// The boundary between kernels is the only synchronization that orders loads through the read-only path.
constexpr auto read_only = litmus(thread(block(0), store(x, 1), store<device>(y, 1, release)),
                                  thread(block(1), load<device>(r0, y, acquire), model::load_read_only(r1, x)))
                               .when(in(1, r0) == 1 && in(1, r1) == 0);
static_assert(model::allowed(read_only));
static_assert(model::forbidden(read_only.ordered(0, 1)));

// Each block has its own shared memory.
constexpr model::variable own = model::shared(2);
constexpr auto two_blocks =
    litmus(thread(block(0), store(own, 1)), thread(block(0), load(r0, own)), thread(block(1), load(r0, own)));
static_assert(model::allowed(two_blocks.when(in(1, r0) == 1 && in(0, own) == 1)));
static_assert(model::forbidden(two_blocks.when(in(2, r0) == 1 || in(2, own) == 1)));

// Atomics of different sizes on one location are serialized.
constexpr auto two_sizes = litmus(thread(block(0), model::add<device>(x, 1, relaxed)),
                                  thread(block(1), model::sized(model::add<device>(x, 1, relaxed), 8)))
                               .when(in_memory(x) == 1);
static_assert(model::forbidden(two_sizes));

// An order that an instruction cannot have does not compile: a load cannot release, and a reduction cannot acquire.
template <class Order>
concept can_load = requires(Order order) { load<device>(r0, x, order); };
template <class Order>
concept can_add = requires(Order order) { model::add<device>(x, 1, order); };
static_assert(can_load<membar::acquire_t> && !can_load<membar::release_t> && !can_load<membar::seq_cst_t>);
static_assert(can_add<membar::release_t> && !can_add<membar::acquire_t>);

TEST(litmus_in_cpp, run_time_agrees_with_compile_time) {
  EXPECT_TRUE(model::forbidden(message_passing<device>(block(0), block(1))));
  EXPECT_TRUE(model::allowed(message_passing<in_block>(block(0), block(1))));
  EXPECT_TRUE(model::forbidden(store_buffering<device>(seq_cst)));
  EXPECT_TRUE(model::allowed(load_buffering));
  EXPECT_TRUE(model::forbidden(cumulativity));
  EXPECT_TRUE(model::forbidden(independent_reads<device>()));
  EXPECT_TRUE(model::allowed(independent_reads<in_block>()));
}

TEST(litmus_in_cpp, large_tests_are_decided_at_run_time) {
  const auto chain = litmus(thread(block(0), store(x, 1), model::exchange<device>(r0, y, 1, release)),
                            thread(block(1), model::fetch_add<device>(r0, y, 1, relaxed)),
                            thread(block(2), model::fetch_add<device>(r0, y, 1, relaxed)),
                            thread(block(3), model::fetch_add<device>(r0, y, 1, relaxed)),
                            thread(block(4), load<device>(r0, y, acquire), load(r1, x)))
                         .when(in(4, r0) == 4 && in(4, r1) == 0);
  EXPECT_TRUE(model::forbidden(chain));
}

TEST(litmus_in_cpp, conditions_combine_with_or_and_not) {
  const auto program = litmus(thread(block(0), store(x, 1), load(r0, x)));
  EXPECT_TRUE(model::forbidden(program.when(!(in(0, r0) == 1))));
  EXPECT_TRUE(model::allowed(program.when(in(0, r0) == 0 || in_memory(x) != 0)));
  EXPECT_THROW((void)program.when(in(3, r0) == 1), model::error);
  EXPECT_THROW((void)two_blocks.when(in_memory(own) == 1), model::error);
  EXPECT_THROW((void)two_blocks.when(in(7, own) == 1), model::error);
}

}  // namespace constexpr_test
