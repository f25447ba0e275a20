// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every memory order in the device headers of symmetric memory is needed: a table, as in sync_patterns_test.cpp. Further tests
// show what else the guarantees between PEs need: barriers, system scope, a number in each word, and links over which a put is
// visible everywhere.
#include "order_table.hpp"
#include "symmetric_litmus.hpp"

#include <gtest/gtest.h>

namespace {

using namespace membar_test;

#define VERDICTS(test, right, weak) +[] { return model::allowed(test right); }, +[] { return model::allowed(test weak); }

const order_row every_order[] = {
    {"operations.cuh", "class Signal, class Order = release_t>", "relaxed_t", "notify: the signal is there and the data is not",
     VERDICTS(signalled_without_data, (release, acquire), (relaxed, acquire))},

    {"wait.cuh", "template <class Signal, class Order = acquire_t>", "relaxed_t",
     "signal_value: the signal is there and the data is not",
     VERDICTS(stale_data<system_wide>, (release, acquire, on(0), on(1)), (release, relaxed, on(0), on(1)))},
    {"wait.cuh", "class Signal, class Condition, class Order = acquire_t>", "relaxed_t",
     "test: the signal is there and the data is not",
     VERDICTS(stale_data<system_wide>, (release, acquire, on(0), on(1)), (release, relaxed, on(0), on(1)))},
    {"wait.cuh", "class Group, class Signal, class Condition, class Order = acquire_t>", "relaxed_t",
     "try_wait and wait: the signal is there and the data is not, for any thread of the group",
     VERDICTS(signalled_without_data, (release, acquire), (release, relaxed))},
    {"wait.cuh", "class Group, class Signal, class Condition, class Order = acquire_t>", "relaxed_t",
     "two senders have added, and the data of one is not there",
     VERDICTS(counted_without_data, (release, acquire), (release, relaxed))},

    {"peer_backend.cuh", "notify<Kind>(signal_reach, word, value, other, release)", "relaxed",
     "put_signal: the signal is there and the data is not",
     VERDICTS(signalled_without_data, (release, acquire), (relaxed, acquire))},
    {"peer_backend.cuh", "notify<Kind>(signal_reach, word, value, other, release)", "relaxed",
     "put_signal to a signal that is added to: the count is there and the data is not",
     VERDICTS(counted_without_data, (release, acquire), (relaxed, acquire))},
    {"peer_backend.cuh", "notify<Kind>(reach, word, value, other, release)", "relaxed",
     "notify_transitively: a third PE sees the signal and not the data",
     VERDICTS(third_pe_told_too_early, (release, acquire, release), (release, acquire, relaxed))},
    {"peer_backend.cuh", "void fence(const peer_reach&) noexcept { thread_fence<thread_scope::system>(acq_rel)", "acquire",
     "two puts and a notification after a fence: one of the two is not there",
     VERDICTS(one_of_two_missing, (acq_rel), (acquire))},
    {"peer_backend.cuh", "void fence(const peer_reach&) noexcept { thread_fence<thread_scope::system>(acq_rel)", "release",
     "two fetches with a fence between them: the second is older", VERDICTS(fetches_out_of_order, (acq_rel), (release))},
    {"peer_backend.cuh", "void quiet(const peer_reach&) noexcept { thread_fence<thread_scope::system>(acq_rel)", "acquire",
     "two puts and a notification after a quiet: one of the two is not there",
     VERDICTS(one_of_two_missing, (acq_rel), (acquire))},
    {"peer_backend.cuh", "void quiet(const peer_reach&) noexcept { thread_fence<thread_scope::system>(acq_rel)", "release",
     "two fetches with a quiet between them: the second is older", VERDICTS(fetches_out_of_order, (acq_rel), (release))},
    {"peer_backend.cuh", "      thread_fence<thread_scope::system>(acq_rel)", "acquire",
     "a barrier of many PEs: what was written before is stale after it",
     VERDICTS(stale_after_barrier, (acq_rel, relaxed, acquire), (acquire, relaxed, acquire))},
    {"peer_backend.cuh", "notify<set>(reach, word, value, other, release)", "relaxed",
     "a barrier: what was written before is stale after it",
     VERDICTS(stale_after_barrier, (none, release, acquire), (none, relaxed, acquire))},
    {"peer_backend.cuh", "notify<set>(reach, word, value, other, release)", "relaxed",
     "a barrier: what is written after it is read before",
     VERDICTS(read_from_after_barrier, (release, acquire), (relaxed, acquire))},

    {"nvshmem_backend.cuh", "      thread_fence<thread_scope::system>(acq_rel)", "none",
     "a barrier whose threads signal: what another thread's quiet completed is stale after it",
     VERDICTS(signalled_by_another_thread, (acq_rel), (none))},
    {"nvshmem_backend.cuh", "      thread_fence<thread_scope::system>(acq_rel)", "acquire",
     "a barrier whose threads signal: what another thread's quiet completed is stale after it",
     VERDICTS(signalled_by_another_thread, (acq_rel), (acquire))},
    {"nvshmem_backend.cuh", "      thread_fence<thread_scope::system>(acq_rel)", "release",
     "an AMO that acquires: the last one to add does not see what the others have put",
     VERDICTS(last_of_counter_without_data, (acq_rel), (release))},

    {"barrier.cuh", "relaxed_t>, relaxed_t, acquire_t>", "relaxed_t", "what was written before a barrier is stale after it",
     VERDICTS(stale_after_barrier, (none, release, acquire), (none, release, relaxed))},
    {"barrier.cuh", "class Order = acq_rel_t>", "relaxed_t", "what was written before a barrier is stale after it",
     VERDICTS(stale_after_barrier, (none, release, acquire), (none, relaxed, relaxed))},
};
#undef VERDICTS

// The smallest of them, decided by the compiler.
static_assert(model::forbidden(stale_data<system_wide>(release, acquire, on(0), on(1))));
static_assert(model::allowed(stale_data<system_wide>(release, relaxed, on(0), on(1))));
static_assert(model::forbidden(one_of_two_missing(acq_rel)) && model::allowed(one_of_two_missing(none)));
static_assert(model::forbidden(fetches_out_of_order(acq_rel)) && model::allowed(fetches_out_of_order(none)));
static_assert(model::forbidden(third_pe_told_too_early(release, acquire, release)));
static_assert(model::allowed(third_pe_told_by_the_sender_over_a_network()));
static_assert(model::forbidden(lost_addition<system_wide>()) && model::allowed(lost_addition<device>()));
static_assert(model::forbidden(box_used_too_early<true>()) && model::allowed(box_used_too_early<false>()));

class every_order_of_symmetric_memory : public row_test {};
INSTANTIATE_TEST_SUITE_P(, every_order_of_symmetric_memory, ::testing::ValuesIn(every_order), name_of_row);

TEST_P(every_order_of_symmetric_memory, keeps_the_guarantee) { expect_the_guarantee(); }
TEST_P(every_order_of_symmetric_memory, is_needed) { expect_the_need(); }

TEST(symmetric_patterns, every_order_in_the_headers_is_in_the_table) {
  expect_every_order_of(MEMBAR_SYMMETRIC_HEADERS, every_order);
}

TEST(symmetric_patterns, a_group_has_a_barrier_before_its_signal_and_after_its_wait) {
  EXPECT_TRUE(model::forbidden(signalled_without_data(release, acquire)));
  EXPECT_TRUE((model::allowed(signalled_without_data<false, true>(release, acquire))));
  EXPECT_TRUE((model::allowed(signalled_without_data<true, false>(release, acquire))));
}

TEST(symmetric_patterns, no_scope_below_system_includes_another_pe) {
  EXPECT_TRUE((model::allowed(signalled_without_data<true, true, device>(release, acquire))));
  EXPECT_TRUE(model::allowed(lost_addition<device>()));
  EXPECT_TRUE(model::forbidden(lost_addition<system_wide>()));
}

TEST(symmetric_patterns, a_transitive_notification_needs_visibility_everywhere) {
  EXPECT_TRUE(model::forbidden(third_pe_told_too_early(release, acquire, release)));
  EXPECT_TRUE(model::allowed(third_pe_told_too_early(release, relaxed, release)));
  EXPECT_TRUE(model::allowed(third_pe_told_by_the_sender_over_a_network()));
  EXPECT_TRUE(model::forbidden(third_pe_told_by_the_receiver_over_a_network()));
}

TEST(symmetric_patterns, a_packed_message_needs_no_order_but_a_number_in_each_word) {
  EXPECT_TRUE(model::forbidden(box_used_too_early<true>()));
  EXPECT_TRUE(model::allowed(box_used_too_early<false>()));
  EXPECT_TRUE(model::allowed(message_with_one_number()));
}

}  // namespace
