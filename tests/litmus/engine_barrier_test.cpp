// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The barrier of the litmus engine (`arrive_and_wait` in litmus/kernel.cuh and litmus/engine_resources.hpp) as a litmus test. For
/// each placement the model decides that no stale value can become an outcome, and that each weaker barrier allows one.
#include <membar/model/test.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace {

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
using model::load;
using model::store;
using model::sync_block;

constexpr model::variable cell{0}, arrived{1}, reached{2}, passed{3};
constexpr model::reg seen{0}, value{1};

/// Whether a thread can read a stale value in one launch of three blocks. A thread resets a cell, and the first thread of its block
/// arrives. A second block arrives last and releases the others. The first thread of the third block waits for that, and another
/// thread of that block reads the cell.
template <thread_scope Scope, class Arrive = membar::acq_rel_t, class Last = membar::acq_rel_t, class Pass = membar::release_t,
          class Wait = membar::acquire_t>
bool stale_within_a_launch(const model::place& near, const model::place& far, Arrive arrive = acq_rel, Last last = acq_rel,
                           Pass pass = release, Wait wait = acquire) {
  return model::allowed(
      model::litmus(model::thread(near, store(cell, 1), sync_block()),
                    model::thread(near, sync_block(), model::fetch_add<Scope>(seen, arrived, 1, arrive)),
                    model::thread(block(2), model::fetch_add<Scope>(seen, arrived, 1, last), store<Scope>(passed, 1, pass)),
                    model::thread(far, load<Scope>(seen, passed, wait), sync_block()),
                    model::thread(far, sync_block(), load(value, cell)))
          .when(in(2, seen) == 1 && in(3, seen) == 1 && in(4, value) == 0));
}

TEST(litmus_barrier_of_one_launch, hides_stale_values_from_every_thread_of_every_block) {
  EXPECT_FALSE(stale_within_a_launch<thread_scope::device>(block(0), block(1)));
}

TEST(litmus_barrier_of_one_launch, needs_each_of_its_orders) {
  constexpr auto device = thread_scope::device;
  EXPECT_TRUE(stale_within_a_launch<device>(block(0), block(1), relaxed));
  EXPECT_TRUE(stale_within_a_launch<device>(block(0), block(1), acq_rel, release));
  EXPECT_TRUE(stale_within_a_launch<device>(block(0), block(1), acq_rel, acq_rel, relaxed));
  EXPECT_TRUE(stale_within_a_launch<device>(block(0), block(1), acq_rel, acq_rel, release, relaxed));
}

/// The last block to arrive needs no other block's arrival to publish its own accesses.
TEST(litmus_barrier_of_one_launch, hides_stale_values_in_the_block_that_arrives_last) {
  const auto stale = [](auto pass) {
    return model::allowed(
        model::litmus(model::thread(block(0), store(cell, 1), sync_block()),
                      model::thread(block(0), sync_block(), model::fetch_add<thread_scope::device>(seen, arrived, 1, acq_rel),
                                    store<thread_scope::device>(passed, 1, pass)),
                      model::thread(block(1), load<thread_scope::device>(seen, passed, acquire), sync_block()),
                      model::thread(block(1), sync_block(), load(value, cell)))
            .when(in(2, seen) == 1 && in(3, value) == 0));
  };
  EXPECT_FALSE(stale(release));
  EXPECT_TRUE(stale(relaxed));
}

TEST(litmus_barrier_of_one_launch, is_too_weak_for_several_domains_devices_or_smaller_scopes) {
  EXPECT_TRUE(stale_within_a_launch<thread_scope::device>(block(0), in_domain(block(1), 1)));
  EXPECT_TRUE(stale_within_a_launch<thread_scope::device>(block(0), block(1, 1)));
  EXPECT_TRUE(stale_within_a_launch<thread_scope::block>(block(0), block(1)));
}

TEST(litmus_barrier_of_one_launch, needs_the_barriers_of_the_blocks) {
  EXPECT_TRUE(
      model::allowed(model::litmus(model::thread(block(0), store(cell, 1)),
                                   model::thread(block(0), model::fetch_add<thread_scope::device>(seen, arrived, 1, acq_rel),
                                                 store<thread_scope::device>(passed, 1, release)),
                                   model::thread(block(1), load<thread_scope::device>(seen, passed, acquire), sync_block()),
                                   model::thread(block(1), sync_block(), load(value, cell)))
                         .when(in(2, seen) == 1 && in(3, value) == 0)));
}

/// Two blocks arrive before the last one, which reads the later arrival only; it still publishes the accesses of the earlier block.
/// A block that waits polls with relaxed loads, and acquires with one more load.
TEST(litmus_barrier_of_one_launch, publishes_what_every_block_did_whichever_arrives_last) {
  const auto thrice = [](auto first, auto second) {
    return model::allowed(
        model::litmus(model::thread(block(0), store(cell, 1), model::fetch_add<thread_scope::device>(seen, arrived, 1, first)),
                      model::thread(block(1), model::fetch_add<thread_scope::device>(seen, arrived, 1, second)),
                      model::thread(block(2), model::fetch_add<thread_scope::device>(seen, arrived, 1, acq_rel),
                                    store<thread_scope::device>(passed, 1, release)),
                      model::thread(block(3), load<thread_scope::device>(seen, passed, relaxed),
                                    load<thread_scope::device>(seen, passed, acquire), load(value, cell)))
            .when(in(1, seen) == 1 && in(2, seen) == 2 && in(3, seen) == 1 && in(3, value) == 0));
  };
  EXPECT_FALSE(thrice(acq_rel, acq_rel));
  EXPECT_FALSE(thrice(acq_rel, relaxed));  // an arrival that reads another one continues its release
  EXPECT_TRUE(thrice(relaxed, acq_rel));
}

/// The final value of a cell is the last one that the test stored, and not the reset before it.
TEST(litmus_barrier_of_one_launch, orders_a_reset_before_the_stores_of_the_next_step) {
  const auto lost = [](auto order) {
    return model::allowed(
        model::litmus(model::thread(block(0), store(cell, 1), model::fetch_add<thread_scope::device>(seen, arrived, 1, order)),
                      model::thread(block(1), model::fetch_add<thread_scope::device>(seen, arrived, 1, acq_rel),
                                    store<thread_scope::device>(passed, 1, release)),
                      model::thread(block(2), load<thread_scope::device>(seen, passed, acquire), store(cell, 2)))
            .when(in(1, seen) == 1 && in(2, seen) == 1 && model::in_memory(cell) == 1));
  };
  EXPECT_FALSE(lost(acq_rel));
  EXPECT_TRUE(lost(relaxed));
}

/// Where the two launches of a run are: one resets, the other one reads.
struct two_launches {
  const char* name;
  model::place resets;       ///< a block of the launch that resets
  model::place resets_last;  ///< its block that arrives last
  model::place reads_last;   ///< the block of the other launch that arrives last
  model::place reads;        ///< another block there
};

std::ostream& operator<<(std::ostream& out, const two_launches& p) { return out << p.name; }

class litmus_barrier_of_two_launches : public ::testing::TestWithParam<two_launches> {};
INSTANTIATE_TEST_SUITE_P(, litmus_barrier_of_two_launches,
                         ::testing::Values(two_launches{"two_domains", block(0), block(1), in_domain(block(2), 1),
                                                        in_domain(block(3), 1)},
                                           two_launches{"two_devices", block(0), block(1), block(0, 1), block(1, 1)}),
                         [](const auto& each) { return each.param.name; });

/// The chain from a block of one launch, through the last blocks of both launches, to a block of the other. Each hop has its own
/// scope.
template <thread_scope Arrive, thread_scope Across, thread_scope Pass, class ArriveOrder = membar::acq_rel_t,
          class AcrossOrder = membar::release_t>
bool stale_between_launches(const two_launches& p, ArriveOrder arrive = acq_rel, AcrossOrder across = release) {
  return model::allowed(
      model::litmus(
          model::thread(p.resets, store(cell, 1), model::fetch_add<Arrive>(seen, arrived, 1, acq_rel)),
          model::thread(p.resets_last, model::fetch_add<Arrive>(seen, arrived, 1, arrive), store<Across>(reached, 1, across)),
          model::thread(p.reads_last, load<Across>(seen, reached, acquire), store<Pass>(passed, 1, release)),
          model::thread(p.reads, load<Pass>(seen, passed, acquire), load(value, cell)))
          .when(in(1, seen) == 1 && in(2, seen) == 1 && in(3, seen) == 1 && in(3, value) == 0));
}

TEST_P(litmus_barrier_of_two_launches, hides_stale_values) {
  EXPECT_FALSE((stale_between_launches<thread_scope::system, thread_scope::system, thread_scope::system>(GetParam())));
}

TEST_P(litmus_barrier_of_two_launches, needs_system_scope_between_the_launches) {
  EXPECT_TRUE((stale_between_launches<thread_scope::device, thread_scope::device, thread_scope::device>(GetParam())));
  EXPECT_TRUE((stale_between_launches<thread_scope::system, thread_scope::device, thread_scope::system>(GetParam())));
}

/// By cumulativity the model would allow device scope inside a launch. The engine uses system scope there too, because cumulativity
/// across domains is one of the things that it tests.
TEST_P(litmus_barrier_of_two_launches, relies_on_no_cumulativity_between_scopes) {
  EXPECT_FALSE((stale_between_launches<thread_scope::device, thread_scope::system, thread_scope::device>(GetParam())));
}

TEST_P(litmus_barrier_of_two_launches, needs_each_of_its_orders) {
  EXPECT_TRUE((stale_between_launches<thread_scope::system, thread_scope::system, thread_scope::system>(GetParam(), release)));
  EXPECT_TRUE(
      (stale_between_launches<thread_scope::system, thread_scope::system, thread_scope::system>(GetParam(), acq_rel, relaxed)));
}

template <thread_scope Scope>
bool stale_on_the_host() {
  return model::allowed(
      model::litmus(
          model::thread(block(0), store(cell, 1), model::fetch_add<Scope>(seen, arrived, 1, acq_rel)),
          model::thread(block(1), model::fetch_add<Scope>(seen, arrived, 1, acq_rel), store<Scope>(reached, 1, release)),
          model::thread(host(), load<thread_scope::system>(seen, reached, acquire), load(value, cell)))
          .when(in(1, seen) == 1 && in(2, seen) == 1 && in(2, value) == 0));
}

TEST(litmus_barrier_with_the_host, hides_stale_values_from_the_host) {
  EXPECT_FALSE(stale_on_the_host<thread_scope::system>());
  EXPECT_TRUE(stale_on_the_host<thread_scope::device>());
}

template <thread_scope Scope>
bool stale_on_the_device() {
  return model::allowed(
      model::litmus(model::thread(host(), store(cell, 1), store<thread_scope::system>(reached, 1, release)),
                    model::thread(block(0), load<Scope>(seen, reached, acquire), store<Scope>(passed, 1, release)),
                    model::thread(block(1), load<Scope>(seen, passed, acquire), load(value, cell)))
          .when(in(1, seen) == 1 && in(2, seen) == 1 && in(2, value) == 0));
}

TEST(litmus_barrier_with_the_host, hides_values_that_the_host_replaced_from_the_device) {
  EXPECT_FALSE(stale_on_the_device<thread_scope::system>());
  EXPECT_TRUE(stale_on_the_device<thread_scope::device>());
}

}  // namespace
