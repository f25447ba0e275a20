// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every memory order in the synchronization patterns is needed. Each row of the table has the line of the header, what goes
// wrong with a weaker order, and the model's verdicts on a litmus test with both orders. A line with an order and no row is a
// failure.
#include "order_table.hpp"
#include "sync_litmus.hpp"

#include <membar/model/litmus_file.hpp>

#include <string>
#include <type_traits>

namespace {

using namespace membar_test;

// The two columns of verdicts: the litmus test with the orders of the header, and with one of them weakened.
#define VERDICTS(test, right, weak) +[] { return model::allowed(test right); }, +[] { return model::allowed(test weak); }

const order_row every_order[] = {
    // The publisher, from a warp by way of the publisher's to the host.
    {"publisher.cuh", "tail_->store(++ring_.pushed, release)", "relaxed", "the signal is there and the data is not",
     VERDICTS(published_without_data<system_wide>, (release, acquire, release), (relaxed, acquire, release))},
    {"publisher.cuh", "tail_->store(ring_.pushed + 1, release)", "relaxed", "the signal is there and the data is not",
     VERDICTS(published_without_data<system_wide>, (release, acquire, release), (relaxed, acquire, release))},
    {"publisher.cuh", "tails_[index].load(acquire)", "relaxed", "the signal is there and the data is not",
     VERDICTS(published_without_data<system_wide>, (release, acquire, release), (release, relaxed, release))},
    {"publisher.cuh", "thread_fence<To>(release)", "none", "the signal is there and the data is not",
     VERDICTS(published_without_data<system_wide>, (release, acquire, release), (release, acquire, none))},
    {"publisher.cuh", "heads_[index].store(heads[i], release)", "relaxed", "an entry is overwritten while it is read",
     VERDICTS(overwritten_while_read<in_block>, (release, acquire, block(0), block(0)),
              (relaxed, acquire, block(0), block(0)))},
    {"publisher.cuh", "ring_.claim(*head_, acquire", "relaxed", "an entry is overwritten while it is read",
     VERDICTS(overwritten_while_read<in_block>, (release, acquire, block(0), block(0)),
              (release, relaxed, block(0), block(0)))},
    {"publisher.cuh", "head_->load(acquire)", "relaxed", "an entry is overwritten while it is read",
     VERDICTS(overwritten_while_read<in_block>, (release, acquire, block(0), block(0)),
              (release, relaxed, block(0), block(0)))},
    {"publisher.cuh", "heads_[index].store(heads[i], release)", "relaxed", "flush returns before the signal is stored",
     VERDICTS(flushed_before_stored, (release, acquire), (relaxed, acquire))},
    {"publisher.cuh", "head_->load(acquire)", "relaxed", "flush returns before the signal is stored",
     VERDICTS(flushed_before_stored, (release, acquire), (release, relaxed))},
    {"publisher.cuh", "tail_->store(ring_.pushed | detail::closed_bit, release)", "relaxed",
     "the source changed hands before it was closed: an entry is stale",
     VERDICTS(stale_data_of_the_one_before, (release), (relaxed))},
    {"publisher.cuh", "heads_[index].store(heads[i] | detail::closed_bit, release)", "relaxed",
     "serving changed hands before it ended: flush returns before the signal is stored",
     VERDICTS(stale_data_of_the_one_before, (release), (relaxed))},

    {"spsc_channel.cuh", "channel_->tail_.store(++ring_.pushed, release)", "relaxed", "a message is stale",
     VERDICTS(stale_data<device>, (release, acquire), (relaxed, acquire))},
    {"spsc_channel.cuh", "channel_->tail_.load(acquire)", "relaxed", "a message is stale",
     VERDICTS(stale_data<device>, (release, acquire), (release, relaxed))},
    {"spsc_channel.cuh", "channel_->head_.store(++taken_, release)", "relaxed", "a message is overwritten while it is read",
     VERDICTS(overwritten_while_read<device>, (release, acquire), (relaxed, acquire))},
    {"spsc_channel.cuh", "ring_.claim(channel_->head_, acquire", "relaxed", "a message is overwritten while it is read",
     VERDICTS(overwritten_while_read<device>, (release, acquire), (release, relaxed))},
    {"spsc_channel.cuh", "channel_->tail_.store(ring_.pushed | detail::closed_bit, release)", "relaxed",
     "what happened before close is not seen after a pop that returns closed",
     VERDICTS(stale_data<device>, (release, acquire), (relaxed, acquire))},

    {"mpsc_channel.cuh", "own.stamp.store(empty + 1, release)", "relaxed", "a message is stale",
     VERDICTS(stale_data<device>, (release, acquire), (relaxed, acquire))},
    {"mpsc_channel.cuh", "next.stamp.load(acquire)", "relaxed", "a message is stale",
     VERDICTS(stale_data<device>, (release, acquire), (release, relaxed))},
    {"mpsc_channel.cuh", "next.stamp.store(full + 1, release)", "relaxed", "a message is overwritten while it is read",
     VERDICTS(overwritten_while_read<device>, (release, acquire), (relaxed, acquire))},
    {"mpsc_channel.cuh", "own.stamp.load(acquire)", "relaxed", "a message is overwritten while it is read",
     VERDICTS(overwritten_while_read<device>, (release, acquire), (release, relaxed))},

    {"packed_channel.cuh", "all_->take(message, taken_, release)", "relaxed",
     "of many producers: an earlier word replaces a later one", VERDICTS(lost_word, (release, acquire), (relaxed, acquire))},
    {"packed_channel.cuh", "all_.head.load(acquire)", "relaxed", "of many producers: an earlier word replaces a later one",
     VERDICTS(lost_word, (release, acquire), (release, relaxed))},

    {"ticket_lock.cuh", "serving_.add(1, release)", "relaxed", "a holder does not see what the previous holder wrote",
     VERDICTS(stale_data_under_ticket_lock, (release, acquire), (relaxed, acquire))},
    {"ticket_lock.cuh", "serving_.load(acquire)", "relaxed", "a holder does not see what the previous holder wrote",
     VERDICTS(stale_data_under_ticket_lock, (release, acquire), (release, relaxed))},
    {"ticket_lock.cuh", "serving_.add(1, release)", "relaxed", "a holder reads what the next holder writes",
     VERDICTS(early_write_under_ticket_lock, (release, acquire), (relaxed, acquire))},
    {"ticket_lock.cuh", "serving_.load(acquire)", "relaxed", "a holder by try_lock does not see what the previous holder wrote",
     VERDICTS(stale_data_under_tried_ticket_lock, (release, acquire), (release, relaxed))},

    {"queue_lock.cuh", "tail_.exchange(&own, acq_rel)", "acquire", "a node's link is lost",
     VERDICTS(lost_link, (acq_rel, acq_rel), (acquire, acq_rel))},
    {"queue_lock.cuh", "tail_.exchange(&own, acq_rel)", "release", "a node's link is lost",
     VERDICTS(lost_link, (acq_rel, acq_rel), (acq_rel, release))},
    {"queue_lock.cuh", "tail_.exchange(&own, acq_rel)", "release", "a holder does not see what the previous holder wrote",
     VERDICTS(stale_data_under_free_lock, (release, acq_rel), (release, release))},
    {"queue_lock.cuh", "tail_.compare_exchange(expected, nullptr, release, relaxed)", "relaxed",
     "a holder does not see what the previous holder wrote",
     VERDICTS(stale_data_under_free_lock, (release, acq_rel), (relaxed, acq_rel))},
    {"queue_lock.cuh", "tail_.compare_exchange(expected, &own, acq_rel, relaxed)", "acquire", "a node's link is lost",
     VERDICTS(lost_link_after_try_lock, (acq_rel), (acquire))},
    {"queue_lock.cuh", "tail_.compare_exchange(expected, &own, acq_rel, relaxed)", "release",
     "a holder does not see what the previous holder wrote", VERDICTS(stale_data_under_tried_lock, (acq_rel), (release))},
    {"queue_lock.cuh", "before->next_.store(&own, release)", "relaxed", "a node's grant is lost",
     VERDICTS(lost_grant, (release, acquire), (relaxed, acquire))},
    {"queue_lock.cuh", "own.next_.load(acquire)", "relaxed", "a node's grant is lost",
     VERDICTS(lost_grant, (release, acquire), (release, relaxed))},
    {"queue_lock.cuh", "next->granted_.store(1, release)", "relaxed", "a holder does not see what the previous holder wrote",
     VERDICTS(stale_data<device>, (release, acquire), (relaxed, acquire))},
    {"queue_lock.cuh", "own.granted_.load(acquire)", "relaxed", "a holder does not see what the previous holder wrote",
     VERDICTS(stale_data<device>, (release, acquire), (release, relaxed))},

    {"sequence_lock.cuh", "thread_fence<Scope>(release)", "none", "a read mixes two writes",
     VERDICTS(torn_read, (release, release, acquire, acquire), (none, release, acquire, acquire))},
    {"sequence_lock.cuh", "sequence_.store(sequence + 2, release)", "relaxed", "a read takes bytes older than its number",
     VERDICTS(torn_read, (release, release, acquire, acquire), (release, relaxed, acquire, acquire))},
    {"sequence_lock.cuh", "sequence_.load(acquire)", "relaxed", "a read takes bytes older than its number",
     VERDICTS(torn_read, (release, release, acquire, acquire), (release, release, relaxed, acquire))},
    {"sequence_lock.cuh", "thread_fence<Scope>(acquire)", "none", "a read mixes two writes",
     VERDICTS(torn_read, (release, release, acquire, acquire), (release, release, acquire, none))},

    {"grid_barrier.cuh", "sync(release, acquire, budget)", "relaxed, acquire", "data from before the barrier is stale after it",
     VERDICTS(stale_data_after_barrier<device>, (release, acquire), (relaxed, acquire))},
    {"grid_barrier.cuh", "sync(release, acquire, budget)", "release, relaxed", "data from before the barrier is stale after it",
     VERDICTS(stale_data_after_barrier<device>, (release, acquire), (release, relaxed))},
    {"grid_barrier.cuh", "sync(release, acquire, budget)", "relaxed, acquire", "a write after the barrier is read before it",
     VERDICTS(early_write_after_barrier<device>, (release, acquire), (relaxed, acquire))},

    {"cross_barrier.cuh", "phase_of_[self_].store(phase_, release)", "relaxed",
     "data from before the barrier is stale after it",
     VERDICTS(stale_data<system_wide>, (release, acquire, host(), block(0)), (relaxed, acquire, host(), block(0)))},
    {"cross_barrier.cuh", "thread_fence<Scope>(release)", "none", "data from before the barrier is stale after it",
     VERDICTS(stale_data_after_flags, (release, acquire), (none, acquire))},
    {"cross_barrier.cuh", "arrive(release)", "relaxed", "data from before the barrier is stale after it",
     VERDICTS(stale_data_after_flags, (release, acquire), (none, acquire))},
    {"cross_barrier.cuh", "wait(acquire, budget)", "relaxed", "data from before the barrier is stale after it",
     VERDICTS(stale_data_after_flags, (release, acquire), (release, relaxed))},

    {"last_block.cuh", "arrived_.fetch_inc(blocks - 1, acq_rel)", "acquire", "the last block takes a stale partial result",
     VERDICTS(stale_partial, (acq_rel), (acquire))},
    {"last_block.cuh", "arrived_.fetch_inc(blocks - 1, acq_rel)", "release", "the last block takes a stale partial result",
     VERDICTS(stale_partial, (acq_rel), (release))},
    {"last_block.cuh", "full_.load(acquire)", "relaxed", "the next use overwrites a partial result before it is read",
     VERDICTS(overwritten_partial<true>, (release, acquire), (release, relaxed))},
    {"last_block.cuh", "thread_fence<Scope>(release)", "none", "the next use overwrites a partial result before it is read",
     VERDICTS(overwritten_partial<true>, (release, acquire), (none, acquire))},
};
#undef VERDICTS

// The smallest of them, decided by the compiler.
static_assert(model::forbidden(stale_data<device>(release, acquire)));
static_assert(model::allowed(stale_data<device>(relaxed, acquire)) && model::allowed(stale_data<device>(release, relaxed)));
static_assert(model::forbidden(overwritten_while_read<device>(release, acquire)));
static_assert(model::allowed(overwritten_while_read<device>(relaxed, acquire)));
static_assert(model::allowed(overwritten_while_read<device>(release, relaxed)));
static_assert(model::forbidden(published_without_data<system_wide>(release, acquire, release)));
static_assert(model::allowed(published_without_data<system_wide>(release, acquire, none)));
static_assert(model::forbidden(packed_word_overtaken(true)) && model::allowed(packed_word_overtaken(false)));
static_assert(model::forbidden(stale_partial(acq_rel)));

class every_order_of_the_patterns : public row_test {};
INSTANTIATE_TEST_SUITE_P(, every_order_of_the_patterns, ::testing::ValuesIn(every_order), name_of_row);

TEST_P(every_order_of_the_patterns, keeps_the_guarantee) { expect_the_guarantee(); }
TEST_P(every_order_of_the_patterns, is_needed) { expect_the_need(); }

TEST(sync_patterns, every_order_in_the_headers_is_in_the_table) { expect_every_order_of(MEMBAR_HEADERS, every_order); }

TEST(sync_patterns, a_publisher_covers_consumers_on_the_host_on_a_peer_and_in_another_domain) {
  EXPECT_TRUE(model::forbidden(published_without_data<system_wide>(release, acquire, release, host())));
  EXPECT_TRUE(model::forbidden(published_without_data<system_wide>(release, acquire, release, block(0, 1))));
  EXPECT_TRUE(model::forbidden(published_without_data<system_wide>(release, acquire, release, in_domain(block(1), 1))));
}

TEST(sync_patterns, a_publisher_at_device_scope_covers_its_own_domain_only) {
  EXPECT_TRUE(model::forbidden(published_without_data<device>(release, acquire, release, block(1))));
  EXPECT_TRUE(model::allowed(published_without_data<device>(release, acquire, release, in_domain(block(1), 1))));
  EXPECT_TRUE(model::allowed(published_without_data<device>(release, acquire, release, block(0, 1))));
  EXPECT_TRUE(model::allowed(published_without_data<device>(release, acquire, release, host())));
}

/// The publisher, where another lane of the source's warp wrote the data: with or without a `bar.warp.sync` before.
bool published_without_another_lanes_data(bool synchronizes) {
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

TEST(sync_patterns, a_warp_has_a_barrier_before_its_first_lane_hands_over) {
  EXPECT_FALSE(published_without_another_lanes_data(true));
  EXPECT_TRUE(published_without_another_lanes_data(false));
}

TEST(sync_patterns, a_batch_has_one_signal_of_a_source_because_one_fence_does_not_order_two) {
  EXPECT_TRUE(model::allowed(signals_out_of_order(none)));
  EXPECT_TRUE(model::forbidden(signals_out_of_order(release)));
}

TEST(sync_patterns, partial_results_of_one_use_are_not_those_of_the_next) {
  EXPECT_TRUE(model::allowed(overwritten_partial<false>(release, acquire))) << "the last block may read the next use's value";
  EXPECT_TRUE(model::forbidden(overwritten_partial<true>(release, acquire)));
}

TEST(sync_patterns, a_packed_message_of_one_producer_needs_no_order_but_one_word) {
  EXPECT_TRUE(model::forbidden(packed_word_overtaken(true)));
  EXPECT_TRUE(model::allowed(packed_word_overtaken(false))) << "a word must be read before it is acknowledged";
  EXPECT_TRUE(model::allowed(stale_data<device>(relaxed, relaxed))) << "a message and its number in two words";
}

TEST(sync_patterns, a_scope_that_does_not_reach_the_other_thread_orders_nothing) {
  EXPECT_TRUE(model::allowed(stale_data<device>(release, acquire, block(0), in_domain(block(1), 1))));
  EXPECT_TRUE(model::forbidden(stale_data<system_wide>(release, acquire, block(0), in_domain(block(1), 1))));
  EXPECT_TRUE(model::allowed(stale_data<device>(release, acquire, block(0), block(0, 1))));
  EXPECT_TRUE(model::forbidden(stale_data<system_wide>(release, acquire, block(0), block(0, 1))));
  EXPECT_TRUE(model::allowed(overwritten_while_read<in_block>(release, acquire)));
  EXPECT_TRUE(model::allowed(stale_data_after_barrier<device>(release, acquire, in_domain(block(1), 1))));
  EXPECT_TRUE(model::forbidden(stale_data_after_barrier<system_wide>(release, acquire, in_domain(block(1), 1))));
}

/// Two threads of each of two blocks: one that has data, and the first thread, which arrives and waits for all.
TEST(sync_patterns, a_grid_barrier_covers_every_thread_of_the_blocks) {
  const auto barrier = [](auto arrive, auto wait) {
    return model::allowed(
        litmus(thread(block(0), store(x, 1), model::sync_block(0)),
               thread(block(0), model::sync_block(0), model::fetch_add<device>(r0, y, 1, arrive)),
               thread(block(1), model::fetch_add<device>(r0, y, 2, arrive), load<device>(r1, y, wait), model::sync_block(0)),
               thread(block(1), model::sync_block(0), load(r0, x)))
            .when(in(2, r1) == 3 && in(3, r0) == 0));
  };
  EXPECT_FALSE(barrier(release, acquire));
  EXPECT_TRUE(barrier(relaxed, acquire));
  EXPECT_TRUE(barrier(release, relaxed));
}

TEST(sync_patterns, a_grid_barrier_of_three_blocks_keeps_the_chain_through_the_one_in_between) {
  const auto barrier =
      litmus(thread(block(0), store(x, 1), model::fetch_add<device>(r0, y, 1, release)),
             thread(block(1), model::fetch_add<device>(r0, y, 2, relaxed)),
             thread(block(2), model::fetch_add<device>(r0, y, 4, release), load<device>(r1, y, acquire), load(r2, x)))
          .when(in(2, r1) == 7 && in(2, r2) == 0);
  EXPECT_TRUE(model::forbidden(barrier));
}

TEST(sync_patterns, claims_of_slots_and_tickets_are_never_given_twice) {
  const auto claims = [](auto scope, model::place other) {
    constexpr thread_scope Scope = decltype(scope)::value;
    return model::allowed(litmus(thread(block(0), model::compare_exchange<Scope>(r0, x, 0, 1, relaxed)),
                                 thread(other, model::compare_exchange<Scope>(r0, x, 0, 1, relaxed)))
                              .when(in(0, r0) == 0 && in(1, r0) == 0));
  };
  EXPECT_FALSE(claims(std::integral_constant<thread_scope, device>{}, block(1)));
  EXPECT_TRUE(claims(std::integral_constant<thread_scope, device>{}, in_domain(block(1), 1)));
  EXPECT_FALSE(claims(std::integral_constant<thread_scope, system_wide>{}, in_domain(block(1), 1)));
}

}  // namespace
