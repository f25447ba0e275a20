// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The barrier of the litmus engine (`arrive_and_wait` in litmus/kernel.cuh and litmus/engine_resources.hpp) as a litmus test.
// For each placement, the model shows that no stale value can become an outcome, and that each weaker barrier allows a stale
// value.
#include <membar/model/test.hpp>

#include <gtest/gtest.h>

#include <ostream>

namespace {

using namespace membar::model;
using membar::acq_rel, membar::acquire, membar::relaxed, membar::release, membar::thread_scope;

constexpr auto device = thread_scope::device;
constexpr auto system = thread_scope::system;
constexpr variable cell{0}, arrived{1}, reached{2}, passed{3};
constexpr reg seen{0}, value{1};

/// Counts an arrival. Returns the number of earlier arrivals.
template <thread_scope Scope>
constexpr auto arrival(auto order) {
  return fetch_add<Scope>(seen, arrived, 1, order);
}

/// Returns a test that asks whether a thread can read a stale value in a launch of three blocks. A thread resets a cell, and
/// the first thread of its block arrives. A second block arrives last and releases the others. The first thread of the third
/// block waits for the release, and another thread of that block reads the cell.
template <thread_scope Scope, class Arrive = membar::acq_rel_t, class Last = membar::acq_rel_t, class Pass = membar::release_t,
          class Wait = membar::acquire_t>
bool stale_within_a_launch(const place& near, const place& far, Arrive arrive = acq_rel, Last last = acq_rel,
                           Pass pass = release, Wait wait = acquire) {
  return allowed(litmus(thread(near, store(cell, 1), sync_block()), thread(near, sync_block(), arrival<Scope>(arrive)),
                        thread(block(2), arrival<Scope>(last), store<Scope>(passed, 1, pass)),
                        thread(far, load<Scope>(seen, passed, wait), sync_block()),
                        thread(far, sync_block(), load(value, cell)))
                     .when(in(2, seen) == 1 && in(3, seen) == 1 && in(4, value) == 0));
}

TEST(litmus_barrier_of_one_launch, hides_stale_values_from_every_thread_of_every_block) {
  EXPECT_FALSE(stale_within_a_launch<device>(block(0), block(1)));
}

TEST(litmus_barrier_of_one_launch, needs_each_of_its_orders) {
  EXPECT_TRUE(stale_within_a_launch<device>(block(0), block(1), relaxed));
  EXPECT_TRUE(stale_within_a_launch<device>(block(0), block(1), acq_rel, release));
  EXPECT_TRUE(stale_within_a_launch<device>(block(0), block(1), acq_rel, acq_rel, relaxed));
  EXPECT_TRUE(stale_within_a_launch<device>(block(0), block(1), acq_rel, acq_rel, release, relaxed));
}

/// The last block to arrive publishes its own accesses, even if no other block arrives.
TEST(litmus_barrier_of_one_launch, hides_stale_values_in_the_block_that_arrives_last) {
  const auto stale = [](auto pass) {
    return allowed(litmus(thread(block(0), store(cell, 1), sync_block()),
                          thread(block(0), sync_block(), arrival<device>(acq_rel), store<device>(passed, 1, pass)),
                          thread(block(1), load<device>(seen, passed, acquire), sync_block()),
                          thread(block(1), sync_block(), load(value, cell)))
                       .when(in(2, seen) == 1 && in(3, value) == 0));
  };
  EXPECT_FALSE(stale(release));
  EXPECT_TRUE(stale(relaxed));
}

TEST(litmus_barrier_of_one_launch, is_too_weak_for_several_domains_devices_or_smaller_scopes) {
  EXPECT_TRUE(stale_within_a_launch<device>(block(0), in_domain(block(1), 1)));
  EXPECT_TRUE(stale_within_a_launch<device>(block(0), block(1, 1)));
  EXPECT_TRUE(stale_within_a_launch<thread_scope::block>(block(0), block(1)));
}

TEST(litmus_barrier_of_one_launch, needs_the_barriers_of_the_blocks) {
  EXPECT_TRUE(allowed(litmus(thread(block(0), store(cell, 1)),
                             thread(block(0), arrival<device>(acq_rel), store<device>(passed, 1, release)),
                             thread(block(1), load<device>(seen, passed, acquire), sync_block()),
                             thread(block(1), sync_block(), load(value, cell)))
                          .when(in(2, seen) == 1 && in(3, value) == 0)));
}

/// Two blocks arrive before the last block. The last block reads only the later of the two arrivals, but also publishes the
/// accesses of the block that arrived earlier. A waiting block polls with relaxed loads, and then acquires with one more load.
TEST(litmus_barrier_of_one_launch, publishes_what_every_block_did_whichever_arrives_last) {
  const auto thrice = [](auto first, auto second) {
    return allowed(
        litmus(thread(block(0), store(cell, 1), arrival<device>(first)), thread(block(1), arrival<device>(second)),
               thread(block(2), arrival<device>(acq_rel), store<device>(passed, 1, release)),
               thread(block(3), load<device>(seen, passed, relaxed), load<device>(seen, passed, acquire), load(value, cell)))
            .when(in(1, seen) == 1 && in(2, seen) == 2 && in(3, seen) == 1 && in(3, value) == 0));
  };
  EXPECT_FALSE(thrice(acq_rel, acq_rel));
  EXPECT_FALSE(thrice(acq_rel, relaxed));  // An arrival that reads another arrival continues its release sequence.
  EXPECT_TRUE(thrice(relaxed, acq_rel));
}

/// The final value of a cell is the last value that the test has stored, not the value from the preceding reset.
TEST(litmus_barrier_of_one_launch, orders_a_reset_before_the_stores_of_the_next_step) {
  const auto lost = [](auto order) {
    return allowed(litmus(thread(block(0), store(cell, 1), arrival<device>(order)),
                          thread(block(1), arrival<device>(acq_rel), store<device>(passed, 1, release)),
                          thread(block(2), load<device>(seen, passed, acquire), store(cell, 2)))
                       .when(in(1, seen) == 1 && in(2, seen) == 1 && in_memory(cell) == 1));
  };
  EXPECT_FALSE(lost(acq_rel));
  EXPECT_TRUE(lost(relaxed));
}

/// The places in the two launches of a run: one launch resets, and the other reads.
struct two_launches {
  const char* name;
  place resets;       ///< A block of the launch that resets.
  place resets_last;  ///< The block of that launch that arrives last.
  place reads_last;   ///< The block of the other launch that arrives last.
  place reads;        ///< Another block of the other launch.
};

std::ostream& operator<<(std::ostream& out, const two_launches& p) { return out << p.name; }

class litmus_barrier_of_two_launches : public ::testing::TestWithParam<two_launches> {};
INSTANTIATE_TEST_SUITE_P(, litmus_barrier_of_two_launches,
                         ::testing::Values(two_launches{"two_domains", block(0), block(1), in_domain(block(2), 1),
                                                        in_domain(block(3), 1)},
                                           two_launches{"two_devices", block(0), block(1), block(0, 1), block(1, 1)}),
                         [](const auto& each) { return each.param.name; });

/// The chain from a block of one launch, through the last blocks of both launches, to a block of the other launch. Each hop has
/// its own scope.
template <thread_scope Arrive, thread_scope Across, thread_scope Pass, class ArriveOrder = membar::acq_rel_t,
          class AcrossOrder = membar::release_t>
bool stale_between_launches(const two_launches& p, ArriveOrder arrive = acq_rel, AcrossOrder across = release) {
  return allowed(litmus(thread(p.resets, store(cell, 1), arrival<Arrive>(acq_rel)),
                        thread(p.resets_last, arrival<Arrive>(arrive), store<Across>(reached, 1, across)),
                        thread(p.reads_last, load<Across>(seen, reached, acquire), store<Pass>(passed, 1, release)),
                        thread(p.reads, load<Pass>(seen, passed, acquire), load(value, cell)))
                     .when(in(1, seen) == 1 && in(2, seen) == 1 && in(3, seen) == 1 && in(3, value) == 0));
}

TEST_P(litmus_barrier_of_two_launches, hides_stale_values) {
  EXPECT_FALSE((stale_between_launches<system, system, system>(GetParam())));
}

TEST_P(litmus_barrier_of_two_launches, needs_system_scope_between_the_launches) {
  EXPECT_TRUE((stale_between_launches<device, device, device>(GetParam())));
  EXPECT_TRUE((stale_between_launches<system, device, system>(GetParam())));
}

/// According to the model, device scope would be sufficient inside a launch, because of cumulativity. The engine uses system
/// scope there as well, because cumulativity across domains is one of the properties that the engine tests.
TEST_P(litmus_barrier_of_two_launches, relies_on_no_cumulativity_between_scopes) {
  EXPECT_FALSE((stale_between_launches<device, system, device>(GetParam())));
}

TEST_P(litmus_barrier_of_two_launches, needs_each_of_its_orders) {
  EXPECT_TRUE((stale_between_launches<system, system, system>(GetParam(), release)));
  EXPECT_TRUE((stale_between_launches<system, system, system>(GetParam(), acq_rel, relaxed)));
}

template <thread_scope Scope>
bool stale_on_the_host() {
  return allowed(litmus(thread(block(0), store(cell, 1), arrival<Scope>(acq_rel)),
                        thread(block(1), arrival<Scope>(acq_rel), store<Scope>(reached, 1, release)),
                        thread(host(), load<system>(seen, reached, acquire), load(value, cell)))
                     .when(in(1, seen) == 1 && in(2, seen) == 1 && in(2, value) == 0));
}

TEST(litmus_barrier_with_the_host, hides_stale_values_from_the_host) {
  EXPECT_FALSE(stale_on_the_host<system>());
  EXPECT_TRUE(stale_on_the_host<device>());
}

template <thread_scope Scope>
bool stale_on_the_device() {
  return allowed(litmus(thread(host(), store(cell, 1), store<system>(reached, 1, release)),
                        thread(block(0), load<Scope>(seen, reached, acquire), store<Scope>(passed, 1, release)),
                        thread(block(1), load<Scope>(seen, passed, acquire), load(value, cell)))
                     .when(in(1, seen) == 1 && in(2, seen) == 1 && in(2, value) == 0));
}

TEST(litmus_barrier_with_the_host, hides_values_that_the_host_replaced_from_the_device) {
  EXPECT_FALSE(stale_on_the_device<system>());
  EXPECT_TRUE(stale_on_the_device<device>());
}

}  // namespace
