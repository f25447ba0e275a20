// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every memory order in the device headers of symmetric memory is needed: a table, as in sync_patterns_test.cpp. Further tests
// show what else the guarantees between PEs need: barriers, system scope, a number in each word, and links over which a put is
// visible everywhere.
#include "late_network.hpp"
#include "order_table.hpp"
#include "sync_litmus.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace {

using namespace membar_test;

// The litmus tests, as templates on the orders. PE i is GPU i. The catalogue has them as files, Put.*.

/// A thread of the block that acts for a PE.
constexpr model::place on(int pe) noexcept { return block(0, pe); }
/// The card of a network, which stores for other threads: only system scope includes it.
constexpr model::place network() noexcept { return host(); }

/// A barrier of a PE's block, or nothing.
constexpr model::instruction block_barrier(bool present) {
  return present ? model::sync_block() : fence_or_nothing<in_block>(none);
}

/// A put with signal, or a notification, by a block: one thread stores data and another the signal; one thread waits and
/// another reads. The signal is there and the data is not.
template <thread_scope Scope = system_wide>
constexpr auto signalled_without_data(auto set, auto find, bool barrier_before = true, bool barrier_after = true) {
  return litmus(thread(on(0), store(x, 1), block_barrier(barrier_before)),
                thread(on(0), block_barrier(barrier_before), store<Scope>(y, 1, set)),
                thread(on(1), load<Scope>(r0, y, find), block_barrier(barrier_after)),
                thread(on(1), block_barrier(barrier_after), load(r1, x)))
      .when(in(2, r0) == 1 && in(3, r1) == 0);
}

/// Two puts, a fence and one relaxed notification: the signal is there and one of the puts is not.
constexpr auto one_of_two_missing(auto fence) {
  return litmus(
             thread(on(0), store(x, 1), store(w, 1), fence_or_nothing<system_wide>(fence), store<system_wide>(y, 1, relaxed)),
             thread(on(1), load<system_wide>(r0, y, acquire), load(r1, x), load(r2, w)))
      .when(in(1, r0) == 1 && (in(1, r1) == 0 || in(1, r2) == 0));
}

/// Two fetches with a fence between them: the second returns older data than the first.
constexpr auto fetches_out_of_order(auto fence) {
  return litmus(thread(on(0), store<system_wide>(x, 1, relaxed), store<system_wide>(y, 1, release)),
                thread(on(1), load<system_wide>(r0, y, relaxed), fence_or_nothing<system_wide>(fence),
                       load<system_wide>(r1, x, relaxed)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

/// A transitive notification: PE 0, or the card of its network, signals PE 1, which signals PE 2, which does not see what was put.
constexpr auto third_pe_told_too_early(auto tell, auto hear, auto tell_on, model::place first = on(0)) {
  return litmus(thread(first, store(x, 1), store<system_wide>(y, 1, tell)),
                thread(on(1), load<system_wide>(r0, y, hear), store<system_wide>(z, 1, tell_on)),
                thread(on(2), load<system_wide>(r0, z, acquire), load(r1, x)))
      .when(in(1, r0) == 1 && in(2, r0) == 1 && in(2, r1) == 0);
}

/// Over a network the card stores what PE 0 puts to PE 1, and reports completion, in an order that holds at PE 1 only. PE 0
/// then signals PE 2, which does not see the data.
constexpr auto third_pe_told_by_the_sender_over_a_network() {
  return litmus(thread(network(), store<system_wide>(x, 1, relaxed), store<system_wide>(w, 1, relaxed)),
                thread(on(0), load<system_wide>(r0, w, acquire), store<system_wide>(z, 1, release)),
                thread(on(2), load<system_wide>(r0, z, acquire), load(r1, x)))
      .when(in(1, r0) == 1 && in(2, r0) == 1 && in(2, r1) == 0);
}

/// Two senders add to a signal: both additions are there, and the data of one sender is not.
constexpr auto counted_without_data(auto add, auto find) {
  return litmus(thread(on(0), store(x, 1), model::add<system_wide>(y, 1, add)),
                thread(on(1), store(w, 1), model::add<system_wide>(y, 1, add)),
                thread(on(2), load<system_wide>(r0, y, find), load(r1, x), load(r2, w)))
      .when(in(2, r0) == 2 && (in(2, r1) == 0 || in(2, r2) == 0));
}

/// Two additions to a counter, of which one is lost.
template <thread_scope Scope>
constexpr auto lost_addition() {
  return litmus(thread(on(0), model::fetch_add<Scope>(r0, x, 1, relaxed)),
                thread(on(1), model::fetch_add<Scope>(r0, x, 1, relaxed)))
      .when(in_memory(x) == 1);
}

/// A barrier of two PEs by flags: both have passed, and one does not see what the other wrote before.
constexpr auto stale_after_barrier(auto fence, auto arrive, auto wait) {
  return litmus(thread(on(0), store(x, 1), fence_or_nothing<system_wide>(fence), store<system_wide>(w, 1, arrive),
                       load<system_wide>(r0, y, wait), load(r1, z)),
                thread(on(1), store(z, 1), fence_or_nothing<system_wide>(fence), store<system_wide>(y, 1, arrive),
                       load<system_wide>(r0, w, wait), load(r1, x)))
      .when(in(0, r0) == 1 && in(1, r0) == 1 && (in(0, r1) == 0 || in(1, r1) == 0));
}

/// One thread of a block completes the puts by a fence. After a barrier another thread stores the signal, with or without a
/// fence before it.
constexpr auto signalled_by_another_thread(auto fence) {
  return litmus(thread(on(0), store(x, 1), model::thread_fence<system_wide>(acq_rel), model::sync_block()),
                thread(on(0), model::sync_block(), fence_or_nothing<system_wide>(fence), store<system_wide>(y, 1, relaxed)),
                thread(on(1), load<system_wide>(r0, y, acquire), load(r1, x)))
      .when(in(2, r0) == 1 && in(2, r1) == 0);
}

/// The last PE to add to a counter does not see what another PE put before it added.
constexpr auto last_of_counter_without_data(auto fence) {
  return litmus(
             thread(on(0), store(x, 1), model::thread_fence<system_wide>(acq_rel),
                    model::fetch_add<system_wide>(r0, y, 1, relaxed)),
             thread(on(1), model::fetch_add<system_wide>(r0, y, 1, relaxed), fence_or_nothing<system_wide>(fence), load(r1, x)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

/// A barrier of two PEs by flags: before it a PE reads what another writes after it.
constexpr auto read_from_after_barrier(auto arrive, auto wait) {
  return litmus(thread(on(0), load(r1, x), store<system_wide>(w, 1, arrive), load<system_wide>(r0, y, wait)),
                thread(on(1), store<system_wide>(y, 1, arrive), load<system_wide>(r0, w, wait), jump_unless(r0, 1, 4),
                       store(x, 1)))
      .when(in(0, r1) == 1);
}

/// A packed message: the sender uses its box again after the receiver's answer, which may come before it has looked.
constexpr auto box_used_too_early(bool looks_first) { return packed_word_overtaken<system_wide>(looks_first, on(0), on(1)); }

/// A packed message whose answer is taken by another thread of the sender's block than the one that sends the next: the box may be
/// overwritten before its owner has read it. `tell` and `hear`: the orders of the answer.
constexpr auto box_used_by_another_thread(auto tell, auto hear) {
  return litmus(thread(on(0), load<system_wide>(r0, y, hear), model::sync_block()),
                thread(on(0), model::sync_block(), store<system_wide>(x, 2, relaxed)),
                thread(on(1), load<system_wide>(r0, x, relaxed), store<system_wide>(y, 1, tell)))
      .when(in(0, r0) == 1 && in(2, r0) == 2);
}

/// Two fetches of one object, and two relaxed fetch-adds on one counter, of which the second returns something older.
constexpr auto fetches_of_one_object() {
  return litmus(thread(on(0), store<system_wide>(x, 1, relaxed)),
                thread(on(1), load<system_wide>(r0, x, relaxed), load<system_wide>(r1, x, relaxed)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}
constexpr auto fetch_adds_on_one_counter() {
  return litmus(
             thread(on(0), model::fetch_add<system_wide>(r0, x, 1, relaxed)),
             thread(on(1), model::fetch_add<system_wide>(r0, x, 1, relaxed), model::fetch_add<system_wide>(r1, x, 1, relaxed)))
      .when(in(1, r0) == 2 || in(1, r1) == 0);
}

/// A message of two words with its number in the second word only.
constexpr auto message_with_one_number() {
  return litmus(thread(on(0), store<system_wide>(x, 1, relaxed), store<system_wide>(y, 1, relaxed)),
                thread(on(1), load<system_wide>(r0, y, relaxed), load<system_wide>(r1, x, relaxed)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

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
static_assert(model::forbidden(box_used_too_early(true)) && model::allowed(box_used_too_early(false)));

class every_order_of_symmetric_memory : public row_test {};
INSTANTIATE_TEST_SUITE_P(, every_order_of_symmetric_memory, ::testing::ValuesIn(every_order), name_of_row);

TEST_P(every_order_of_symmetric_memory, keeps_the_guarantee) { expect_the_guarantee(); }
TEST_P(every_order_of_symmetric_memory, is_needed) { expect_the_need(); }

TEST(symmetric_patterns, every_order_in_the_headers_is_in_the_table) { expect_every_order_of(MEMBAR_HEADERS, every_order); }

TEST(symmetric_patterns, a_group_has_a_barrier_before_its_signal_and_after_its_wait) {
  EXPECT_TRUE(model::forbidden(signalled_without_data(release, acquire)));
  EXPECT_TRUE(model::allowed(signalled_without_data(release, acquire, false, true)));
  EXPECT_TRUE(model::allowed(signalled_without_data(release, acquire, true, false)));
}

TEST(symmetric_patterns, no_scope_below_system_includes_another_pe) {
  EXPECT_TRUE(model::allowed(signalled_without_data<device>(release, acquire)));
  EXPECT_TRUE(model::allowed(lost_addition<device>()));
  EXPECT_TRUE(model::forbidden(lost_addition<system_wide>()));
}

TEST(symmetric_patterns, a_transitive_notification_needs_visibility_everywhere) {
  EXPECT_TRUE(model::forbidden(third_pe_told_too_early(release, acquire, release)));
  EXPECT_TRUE(model::allowed(third_pe_told_too_early(release, relaxed, release)));
  EXPECT_TRUE(model::allowed(third_pe_told_by_the_sender_over_a_network()));
  EXPECT_TRUE(model::forbidden(third_pe_told_too_early(release, acquire, release, network())));
}

TEST(symmetric_patterns, a_packed_message_needs_no_order_but_a_number_in_each_word) {
  EXPECT_TRUE(model::forbidden(box_used_too_early(true)));
  EXPECT_TRUE(model::allowed(box_used_too_early(false)));
  EXPECT_TRUE(model::allowed(message_with_one_number()));
}

TEST(symmetric_patterns, the_thread_that_sends_a_packed_word_has_taken_the_answer_itself) {
  EXPECT_TRUE(model::forbidden(box_used_too_early(true)));
  EXPECT_TRUE(model::allowed(box_used_by_another_thread(relaxed, relaxed)));
  EXPECT_TRUE(model::forbidden(box_used_by_another_thread(release, acquire)));
}

TEST(symmetric_patterns, coherence_orders_fetches_of_one_object) {
  EXPECT_TRUE(model::forbidden(fetches_of_one_object()));
  EXPECT_TRUE(model::forbidden(fetch_adds_on_one_counter()));
  EXPECT_TRUE(model::allowed(fetches_out_of_order(none))) << "of two objects only a fence does";
}

// What orders what over a network that delays and reorders deliveries, each with what goes wrong without it, and with the
// model's verdict about the same between PEs that loads and stores reach.

namespace net = membar_test::late_network;

/// Whether PE `reader` may read a 0 where all was put, over a network.
bool may_miss(std::vector<std::vector<net::step>> programs, std::size_t reader) {
  const std::set<net::readings> all = net::network(std::move(programs)).run();
  EXPECT_FALSE(all.empty()) << "no schedule ends";
  return std::any_of(all.begin(), all.end(), [&](const net::readings& each) {
    return std::find(each[reader].begin(), each[reader].end(), 0) != each[reader].end();
  });
}

TEST(late_network, a_put_with_signal_is_there_with_its_signal) {
  EXPECT_FALSE(may_miss({{net::put_signal(1, 0, 1, 0)}, {net::wait(0), net::read(1, 0)}}, 1));
  EXPECT_TRUE(may_miss({{net::put(1, 0, 1), net::notify(1, 0)}, {net::wait(0), net::read(1, 0)}}, 1));
  EXPECT_TRUE(model::forbidden(signalled_without_data(release, acquire)));
  EXPECT_TRUE(model::allowed(signalled_without_data(relaxed, acquire)));
}

TEST(late_network, a_put_with_signal_covers_no_other_put) {
  EXPECT_TRUE(may_miss({{net::put(1, 1, 1), net::put_signal(1, 0, 1, 0)}, {net::wait(0), net::read(1, 1)}}, 1));
  EXPECT_FALSE(may_miss({{net::put(1, 1, 1), net::fence(), net::put_signal(1, 0, 1, 0)}, {net::wait(0), net::read(1, 1)}}, 1));
}

TEST(late_network, a_fence_puts_two_puts_before_one_notification) {
  for (const bool fences : {true, false}) {
    std::vector<net::step> sender{net::put(1, 0, 1), net::put(1, 1, 1)};
    if (fences) {
      sender.push_back(net::fence());
    }
    sender.push_back(net::notify(1, 0));
    EXPECT_EQ(may_miss({sender, {net::wait(0), net::read(1, 0), net::read(1, 1)}}, 1), !fences);
  }
  EXPECT_TRUE(model::forbidden(one_of_two_missing(acq_rel)));
  EXPECT_TRUE(model::allowed(one_of_two_missing(none)));
}

TEST(late_network, a_put_after_the_fence_is_not_covered_by_its_notification) {
  EXPECT_TRUE(may_miss({{net::fence(), net::put(1, 0, 1), net::notify(1, 0)}, {net::wait(0), net::read(1, 0)}}, 1));
}

TEST(late_network, a_fence_holds_for_each_destination_alone_and_a_quiet_for_all) {
  const std::vector<net::step> third{net::wait(0), net::read(1, 0)};
  EXPECT_TRUE(may_miss({{net::put(1, 0, 1), net::fence(), net::notify(2, 0)}, {}, third}, 2));
  EXPECT_FALSE(may_miss({{net::put(1, 0, 1), net::quiet(), net::notify(2, 0)}, {}, third}, 2))
      << "as the peer backend; over a network it is visible at its destination only";
  EXPECT_TRUE(model::allowed(third_pe_told_by_the_sender_over_a_network()));
}

TEST(late_network, a_barrier_completes_first_and_then_signals) {
  for (const bool completes : {true, false}) {
    std::vector<std::vector<net::step>> all(2);
    for (const int pe : {0, 1}) {
      std::vector<net::step>& own = all[static_cast<std::size_t>(pe)];
      own.push_back(net::put(1 - pe, 0, 1));
      if (completes) {
        own.push_back(net::quiet());
      }
      own.insert(own.end(), {net::notify(1 - pe, 0), net::wait(0), net::read(pe, 0)});
    }
    EXPECT_EQ(may_miss(all, 0), !completes);
    EXPECT_EQ(may_miss(all, 1), !completes);
  }
  EXPECT_TRUE(model::forbidden(stale_after_barrier(none, release, acquire)));
  EXPECT_TRUE(model::allowed(stale_after_barrier(none, relaxed, acquire)));
}

TEST(late_network, a_free_completes_before_the_memory_is_used_again) {
  // PE 0 puts; both agree to free; PE 1 allocates and zeroes again, and finds 0.
  for (const bool completes : {true, false}) {
    std::vector<net::step> sender{net::put(1, 0, 7)};
    if (completes) {
      sender.push_back(net::quiet());
    }
    sender.push_back(net::notify(1, 0));
    const auto all = net::network({sender, {net::wait(0), net::free_and_allocate(0), net::read(1, 0)}}).run();
    EXPECT_EQ(all.contains(net::readings{{}, {7}}), !completes) << "what was put to memory that was freed";
    EXPECT_TRUE(all.contains(net::readings({{}, {0}})));
  }
}

}  // namespace
