// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shows that every memory order in the device headers for symmetric memory is needed. The protocols between PEs are written as
// litmus tests with the orders that are currently in the headers (order_table.hpp). Further tests show what else the guarantees
// between PEs require: barriers, system scope, a sequence number in each word, and links over which a put becomes visible
// everywhere.
#include "late_network.hpp"
#include "order_table.hpp"
#include "sync_litmus.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar_test {

namespace {

// PE i is GPU i.
constexpr const char* pe_0 = "cta 0,gpu 0";
constexpr const char* pe_1 = "cta 0,gpu 1";
constexpr const char* pe_2 = "cta 0,gpu 2";

}  // namespace

const std::vector<order_site> sites = {
    {"notify", "operations.cuh", "",
     "class Order = $_t> requires memory_order_tag<Order> __device__ inline void notify(Group, const Signal& signal"},

    {"signal_value", "wait.cuh", "", "class Order = $_t> [[nodiscard]] __device__ inline unsigned long long signal_value("},
    {"test", "wait.cuh", "", "class Order = $_t> [[nodiscard]] __device__ inline bool test("},
    {"try_wait", "wait.cuh", "", "class Order = $_t> [[nodiscard]] __device__ inline wait_result try_wait("},
    {"wait", "wait.cuh", "", "class Order = $_t> __device__ inline void wait("},

    // The orders that a barrier accepts: acq_rel and relaxed.
    {"try_barrier", "barrier.cuh", "", "class Order = $_t> [[nodiscard]] __device__ inline wait_result try_barrier(",
     "acq_rel relaxed"},
    {"barrier_unless", "barrier.cuh", "", "class Order = $_t> [[nodiscard]] __device__ inline bool barrier_unless(",
     "acq_rel relaxed"},
    {"barrier", "barrier.cuh", "", "class Order = $_t> __device__ inline void barrier(", "acq_rel relaxed"},
    {"arrive", "barrier.cuh", "",
     "class Order = $_t> [[nodiscard(\"wait for this arrival before the next one\")]] __device__ inline arrival arrive(",
     "release relaxed"},
    {"try_wait_for_arrival", "barrier.cuh", "",
     "class Order = $_t> requires detail::is_barrier<Words> [[nodiscard]] __device__ inline wait_result try_wait(",
     "acquire relaxed"},
    {"wait_for_arrival", "barrier.cuh", "",
     "class Order = $_t> requires detail::is_barrier<Words> __device__ inline void wait(", "acquire relaxed"},
    {"barrier_load", "barrier.cuh", "", "relaxed_t>, relaxed_t, $_t>"},
    {"one_shot_fence", "all_reduce.cuh", "", "if (tells) { membar::thread_fence<thread_scope::system>($)"},
    {"meet_in_reduction", "all_reduce.cuh", "", "memory.budget, $, missing", "acq_rel relaxed"},

    {"peer_put_signal", "peer_backend.cuh", "", "notify<Kind>(signal_reach, word, value, other, $)"},
    {"peer_notify_transitively", "peer_backend.cuh", "", "notify<Kind>(reach, word, value, other, $)"},
    {"peer_fence", "peer_backend.cuh", "", "void fence(const peer_reach&) noexcept { thread_fence<thread_scope::system>($)"},
    {"peer_quiet", "peer_backend.cuh", "", "void quiet(const peer_reach&) noexcept { thread_fence<thread_scope::system>($)"},
    {"peer_arrive_fence", "peer_backend.cuh", "", "if (fences) { thread_fence<thread_scope::system>($)"},
    {"peer_arrive", "peer_backend.cuh", "", "} else { notify<set>(reach, word, value, other, $)"},

    {"network_notify", "nvshmem_backend.cuh", "", "if constexpr (Order::value == memory_order::$)"},
    {"network_arrive_fence", "nvshmem_backend.cuh", "if (releases && first < others.size()) {",
     "thread_fence<thread_scope::system>($)"},
    {"network_acquire", "nvshmem_backend.cuh", "static void after() noexcept {", "thread_fence<thread_scope::system>($)"},
};

namespace {

// One thread of a block puts and another notifies; in the other block, one thread waits and another reads.
scenario signalled(const char* name, const std::string& set, const std::string& find, const std::string& fence = "relaxed") {
  return {name,
          "x=0; signal=0;",
          {{pe_0, "st.weak x, 1; bar.cta.sync 0"},
           {pe_0, "bar.cta.sync 0; fence." + fence + ".sys; st." + set + ".sys signal, 1"},
           {pe_1, "ld." + find + ".sys r0, signal; bar.cta.sync 0"},
           {pe_1, "bar.cta.sync 0; ld.weak r0, x"}},
          "P2:r0 == 1 /\\ P3:r0 == 0"};
}

// PE 0 puts to PE 1 and PE 2, executes a fence, and notifies only PE 1, which notifies PE 2.
scenario two_puts_and_one_signal(const char* name, const std::string& fence) {
  return {name,
          "x=0; w=0; signal=0; told=0;",
          {{pe_0, "st.weak x, 1; st.weak w, 1; fence." + fence + ".sys; st.relaxed.sys signal, 1"},
           {pe_1, "mov r1, 1; ld.{wait}.sys r0, signal; bne r0, 1, END; ld.weak r1, x; st.{notify}.sys told, 1; END:"},
           {pe_2, "mov r1, 1; ld.{wait}.sys r0, told; bne r0, 1, END; ld.weak r1, w; END:"}},
          "P1:r1 == 0 \\/ P2:r1 == 0"};
}

// Two fetches with a fence between them; the second returns an older value than the first.
scenario fetches(const char* name, const std::string& fence) {
  return {name,
          "x=0; y=0;",
          {{pe_0, "st.relaxed.sys x, 1; st.{notify}.sys y, 1"},
           {pe_1, "ld.relaxed.sys r0, y; fence." + fence + ".sys; ld.relaxed.sys r1, x"}},
          "P1:r0 == 1 /\\ P1:r1 == 0"};
}

// A barrier of three PEs: PE 1 waits for PE 0; PE 2 waits for PE 1 in the next phase, but does not see PE 0's flag.
scenario barrier(const char* name, const std::string& fence, const std::string& arrive, const std::string& wait) {
  const std::string arrives = "fence." + fence + ".sys; st." + arrive + ".sys ";
  return {name,
          "x=0; flag=0; later=0;",
          {{pe_0, "st.weak x, 1; " + arrives + "flag, 1"},
           {pe_1, "ld." + wait + ".sys r0, flag; bne r0, 1, END; " + arrives + "later, 2; END:"},
           {pe_2, "mov r1, 1; ld." + wait + ".sys r0, later; bne r0, 2, END; ld.weak r1, x; END:"}},
          "P2:r1 == 0"};
}
scenario early_write(const char* name, const std::string& fence, const std::string& arrive, const std::string& wait) {
  return {name,
          "x=0; flag=0;",
          {{pe_0, "ld.weak r0, x; fence." + fence + ".sys; st." + arrive + ".sys flag, 1"},
           {pe_1, "ld." + wait + ".sys r0, flag; bne r0, 1, END; st.weak x, 1; END:"}},
          "P0:r0 == 1"};
}

}  // namespace

const std::vector<scenario> scenarios = {
    signalled("notify_comes_before_the_data", "{notify}", "{wait}"),
    signalled("notify_over_a_network_comes_before_the_data", "relaxed", "{wait}", "{network_notify&notify}"),
    signalled("put_signal_comes_before_the_data", "{peer_put_signal}", "{wait}"),
    signalled("signal_value_comes_before_the_data", "{peer_put_signal}", "{signal_value}"),
    signalled("test_holds_before_the_data_is_there", "{peer_put_signal}", "{test}"),
    signalled("try_wait_ends_before_the_data_is_there", "{peer_put_signal}", "{try_wait}"),
    {"counted_signals_come_before_the_data",
     "x=0; w=0; signal=0;",
     {{pe_0, "st.weak x, 1; red.{peer_put_signal}.sys.add signal, 1"},
      {pe_1, "st.weak w, 1; red.{peer_put_signal}.sys.add signal, 1"},
      {pe_2, "mov r1, 1; mov r2, 1; ld.{wait}.sys r0, signal; bne r0, 2, END; ld.weak r1, x; ld.weak r2, w; END:"}},
     "P2:r1 == 0 \\/ P2:r2 == 0"},
    {"transitive_notification_comes_before_the_data",
     "x=0; signal=0; told=0;",
     {{pe_0, "st.weak x, 1; st.{notify}.sys signal, 1"},
      {pe_1, "ld.{wait}.sys r0, signal; bne r0, 1, END; st.{peer_notify_transitively}.sys told, 1; END:"},
      {pe_2, "mov r1, 1; ld.{wait}.sys r0, told; bne r0, 1, END; ld.weak r1, x; END:"}},
     "P2:r1 == 0"},
    two_puts_and_one_signal("fence_loses_one_of_two_puts", "{peer_fence}"),
    two_puts_and_one_signal("quiet_loses_one_of_two_puts", "{peer_quiet}"),
    fetches("fence_lets_the_second_fetch_be_older", "{peer_fence}"),
    fetches("quiet_lets_the_second_fetch_be_older", "{peer_quiet}"),

    barrier("barrier_hides_what_was_written_before_it", "relaxed", "{peer_arrive&barrier}", "{barrier_load&barrier}"),
    barrier("try_barrier_hides_what_was_written_before_it", "relaxed", "{peer_arrive&try_barrier}",
            "{barrier_load&try_barrier}"),
    barrier("try_barrier_on_stream_hides_what_was_written_before_it", "relaxed", "{peer_arrive&barrier_unless}",
            "{barrier_load&barrier_unless}"),
    barrier("barrier_of_many_hides_what_was_written_before_it", "{peer_arrive_fence&barrier}", "relaxed",
            "{barrier_load&barrier}"),
    early_write("barrier_shows_what_is_written_after_it", "relaxed", "{peer_arrive&barrier}", "{barrier_load&barrier}"),
    early_write("barrier_of_many_shows_what_is_written_after_it", "{peer_arrive_fence&barrier}", "relaxed",
                "{barrier_load&barrier}"),
    barrier("split_barrier_hides_what_was_written_before_its_arrival", "relaxed", "{peer_arrive&arrive}", "{wait_for_arrival}"),
    barrier("split_barrier_of_many_hides_what_was_written_before_its_arrival", "{peer_arrive_fence&arrive}", "relaxed",
            "{try_wait_for_arrival}"),
    early_write("split_barrier_shows_what_is_written_after_its_wait", "relaxed", "{peer_arrive&arrive}", "{wait_for_arrival}"),
    early_write("split_barrier_of_many_shows_what_is_written_after_its_wait", "{peer_arrive_fence&arrive}", "relaxed",
                "{try_wait_for_arrival}"),
    barrier("all_reduce_in_two_shots_hides_what_was_put", "relaxed", "{peer_arrive&meet_in_reduction}",
            "{barrier_load&meet_in_reduction}"),
    early_write("all_reduce_in_two_shots_shows_what_the_next_one_puts", "relaxed", "{peer_arrive&meet_in_reduction}",
                "{barrier_load&meet_in_reduction}"),
    early_write("all_reduce_in_one_shot_fills_boxes_that_are_empty", "{one_shot_fence}", "relaxed", "acquire"),
    // One thread of a block completes its puts; after a block barrier, another thread signals.
    {"barrier_over_a_network_hides_what_was_put_before_it",
     "x=0; flag=0;",
     {{pe_0, "st.weak x, 1; fence.acq_rel.sys; bar.cta.sync 0"},
      {pe_0, "bar.cta.sync 0; fence.{network_arrive_fence}.sys; st.relaxed.sys flag, 1"},
      {pe_1, "mov r1, 1; ld.{barrier_load}.sys r0, flag; bne r0, 1, END; ld.weak r1, x; END:"}},
     "P2:r1 == 0"},
    {"barrier_over_a_network_shows_what_is_written_after_it",
     "x=0; flag=0;",
     {{pe_0, "ld.weak r0, x; bar.cta.sync 0"},
      {pe_0, "bar.cta.sync 0; fence.{network_arrive_fence}.sys; st.relaxed.sys flag, 1"},
      {pe_1, "ld.{barrier_load}.sys r0, flag; bne r0, 1, END; st.weak x, 1; END:"}},
     "P0:r0 == 1"},
    {"amo_over_a_network_does_not_acquire",
     "x=0; count=0;",
     {{pe_0, "st.weak x, 1; fence.acq_rel.sys; atom.relaxed.sys.add r0, count, 1"},
      {pe_1, "mov r1, 1; atom.relaxed.sys.add r0, count, 1; fence.{network_acquire}.sys; bne r0, 1, END; ld.weak r1, x; END:"}},
     "P1:r1 == 0"},
    {"amo_over_a_network_reads_what_is_written_after_it",
     "x=0; count=0;",
     {{pe_0, "ld.weak r1, x; fence.acq_rel.sys; atom.relaxed.sys.add r0, count, 1"},
      {pe_1, "atom.relaxed.sys.add r0, count, 1; fence.{network_acquire}.sys; bne r0, 1, END; st.weak x, 1; END:"}},
     "P0:r1 == 1"},
};

}  // namespace membar_test

namespace {

using namespace membar_test;
using namespace membar_test::sync_litmus;

// The litmus tests, as templates on the orders. PE i is GPU i. The catalogue contains the same tests as files, Put.*.

/// A thread in a PE's block.
constexpr model::place on(int pe) noexcept { return block(0, pe); }
/// A network card, which stores on behalf of other threads: only system scope includes it.
constexpr model::place network() noexcept { return host(); }

/// Returns a barrier of a PE's block, or nothing.
constexpr model::instruction block_barrier(bool present) {
  return present ? model::sync_block() : fence_or_nothing<in_block>(none);
}

/// A put with a signal, or a notification, by a block. In the sending block, one thread stores the data and another stores the
/// signal; in the receiving block, one thread waits and another reads. The signal has arrived, but the data has not.
template <thread_scope Scope = system_wide>
constexpr auto signalled_without_data(auto set, auto find, bool barrier_before = true, bool barrier_after = true) {
  return litmus(thread(on(0), store(x, 1), block_barrier(barrier_before)),
                thread(on(0), block_barrier(barrier_before), store<Scope>(y, 1, set)),
                thread(on(1), load<Scope>(r0, y, find), block_barrier(barrier_after)),
                thread(on(1), block_barrier(barrier_after), load(r1, x)))
      .when(in(2, r0) == 1 && in(3, r1) == 0);
}

/// A transitive notification: PE 0, or its network card, signals PE 1, and PE 1 signals PE 2, which does not see the put data.
constexpr auto third_pe_told_too_early(auto tell, auto hear, auto tell_on, model::place first = on(0)) {
  return litmus(thread(first, store(x, 1), store<system_wide>(y, 1, tell)),
                thread(on(1), load<system_wide>(r0, y, hear), store<system_wide>(z, 1, tell_on)),
                thread(on(2), load<system_wide>(r0, z, acquire), load(r1, x)))
      .when(in(1, r0) == 1 && in(2, r0) == 1 && in(2, r1) == 0);
}

/// Over a network, the card stores what PE 0 puts to PE 1, and reports the completion in an order that holds only at PE 1. PE 0
/// then signals PE 2, which does not see the data.
constexpr auto third_pe_told_by_the_sender_over_a_network() {
  return litmus(thread(network(), store<system_wide>(x, 1, relaxed), store<system_wide>(w, 1, relaxed)),
                thread(on(0), load<system_wide>(r0, w, acquire), store<system_wide>(z, 1, release)),
                thread(on(2), load<system_wide>(r0, z, acquire), load(r1, x)))
      .when(in(1, r0) == 1 && in(2, r0) == 1 && in(2, r1) == 0);
}

/// Two additions to a counter; one of them is lost.
template <thread_scope Scope>
constexpr auto lost_addition() {
  return litmus(thread(on(0), model::fetch_add<Scope>(r0, x, 1, relaxed)),
                thread(on(1), model::fetch_add<Scope>(r0, x, 1, relaxed)))
      .when(in_memory(x) == 1);
}

/// A packed message: the sender reuses the message's slot after the receiver's answer, which may come before the receiver has
/// read the slot.
constexpr auto box_used_too_early(bool looks_first) { return packed_word_overtaken<system_wide>(looks_first, on(0), on(1)); }

/// A packed message: one thread of the sender's block receives the answer, and another sends the next message. The slot may
/// then be overwritten before its owner has read it. `tell` and `hear` are the orders with which the answer is sent and
/// received.
constexpr auto box_used_by_another_thread(auto tell, auto hear) {
  return litmus(thread(on(0), load<system_wide>(r0, y, hear), model::sync_block()),
                thread(on(0), model::sync_block(), store<system_wide>(x, 2, relaxed)),
                thread(on(1), load<system_wide>(r0, x, relaxed), store<system_wide>(y, 1, tell)))
      .when(in(0, r0) == 1 && in(2, r0) == 2);
}

/// Two fetches of one object, and two relaxed fetch-adds on one counter. In each case, the second operation returns an older
/// value.
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

/// Two puts, a fence and one relaxed notification: the signal has arrived, but one of the puts has not.
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

/// A barrier of two PEs with flags: both PEs have passed it, but one does not see what the other wrote before the barrier.
constexpr auto stale_after_barrier(auto fence, auto arrive, auto wait) {
  return litmus(thread(on(0), store(x, 1), fence_or_nothing<system_wide>(fence), store<system_wide>(w, 1, arrive),
                       load<system_wide>(r0, y, wait), load(r1, z)),
                thread(on(1), store(z, 1), fence_or_nothing<system_wide>(fence), store<system_wide>(y, 1, arrive),
                       load<system_wide>(r0, w, wait), load(r1, x)))
      .when(in(0, r0) == 1 && in(1, r0) == 1 && (in(0, r1) == 0 || in(1, r1) == 0));
}

/// A message of two words that has its sequence number only in the second word.
constexpr auto message_with_one_number() {
  return litmus(thread(on(0), store<system_wide>(x, 1, relaxed), store<system_wide>(y, 1, relaxed)),
                thread(on(1), load<system_wide>(r0, y, relaxed), load<system_wide>(r1, x, relaxed)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}

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
  EXPECT_TRUE(model::allowed(fetches_out_of_order(none))) << "only a fence orders fetches of two objects";
}

// Tests the operations that impose an order, over a network that delays and reorders deliveries. Each case also shows what
// fails without such an operation, and checks the model's verdict on the same program between PEs that can use loads and
// stores.

namespace net = membar_test::late_network;

/// Returns whether PE `reader` may read a 0 over a network although all values were put.
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
  // PE 0 puts to PE 1 and notifies PE 2, which notifies PE 1.
  for (const bool completes : {true, false}) {
    const std::vector<net::step> first{net::put(1, 0, 1), completes ? net::quiet() : net::fence(), net::notify(2, 0)};
    EXPECT_EQ(may_miss({first, {net::wait(0), net::read(1, 0)}, {net::wait(0), net::notify(1, 0)}}, 1), !completes);
    EXPECT_TRUE(may_miss({first, {}, {net::wait(0), net::read(1, 0)}}, 2)) << "the put is visible only at its destination";
  }
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

TEST(late_network, a_barrier_makes_the_memory_consistent_for_which_its_signal_came) {
  // A network card may write the signal before the earlier data, over another path. NVSHMEM's own wait handles this case, and a
  // barrier that polls the word itself must handle it as well.
  for (const bool takes_care : {true, false}) {
    std::vector<std::vector<net::step>> all(2);
    for (const int pe : {0, 1}) {
      std::vector<net::step>& own = all[static_cast<std::size_t>(pe)];
      own = {net::put(1 - pe, 0, 1), net::quiet(), net::notify(1 - pe, 0), net::poll(0)};
      if (takes_care) {
        own.push_back(net::wait(0));  // This wait ends at once; see arrived_from in nvshmem_backend.cuh.
      }
      own.push_back(net::read(pe, 0));
    }
    EXPECT_EQ(may_miss(all, 0), !takes_care);
    EXPECT_EQ(may_miss(all, 1), !takes_care);
  }
  EXPECT_TRUE(may_miss({{net::put_signal(1, 0, 1, 0)}, {net::poll(0), net::read(1, 0)}}, 1))
      << "a poll without a barrier does not make the memory consistent either";
}

TEST(late_network, a_split_barrier_completes_before_its_arrival_and_takes_care_after_its_wait) {
  // PE 0 puts again between the two halves: this put belongs to the next barrier.
  std::vector<net::step> first{net::put(1, 0, 1), net::quiet(), net::notify(1, 0),
                               net::put(1, 1, 1), net::poll(0), net::wait(0)};
  std::vector<net::step> second{net::quiet(), net::notify(0, 0), net::poll(0), net::wait(0), net::read(1, 0)};
  EXPECT_FALSE(may_miss({first, second}, 1));
  second.back() = net::read(1, 1);
  EXPECT_TRUE(may_miss({first, second}, 1));
}

TEST(late_network, a_free_completes_before_the_memory_is_used_again) {
  // PE 0 puts; both PEs agree to free the memory; PE 1 allocates and zeroes it again, and reads 0.
  for (const bool completes : {true, false}) {
    std::vector<net::step> sender{net::put(1, 0, 7)};
    if (completes) {
      sender.push_back(net::quiet());
    }
    sender.push_back(net::notify(1, 0));
    const auto all = net::network({sender, {net::wait(0), net::free_and_allocate(0), net::read(1, 0)}}).run();
    EXPECT_EQ(all.contains(net::readings{{}, {7}}), !completes) << "the reallocated memory received an earlier put";
    EXPECT_TRUE(all.contains(net::readings({{}, {0}})));
  }
}

}  // namespace
