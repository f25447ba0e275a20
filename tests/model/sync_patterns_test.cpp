// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shows that every memory order in the synchronization patterns is needed. The algorithms are written as litmus tests with the
// orders that are currently in the headers (order_table.hpp). Further tests show what else the patterns require: scopes,
// barriers, and keeping a message and its number in a single word.
#include "order_table.hpp"
#include "sync_litmus.hpp"

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace membar_test {

namespace {

constexpr const char* block_0 = "cta 0,gpu 0";
constexpr const char* block_1 = "cta 1,gpu 0";
constexpr const char* block_2 = "cta 2,gpu 0";
constexpr const char* block_3 = "cta 3,gpu 0";
constexpr const char* on_host = "host";

}  // namespace

const std::vector<order_site> sites = {
    {"ticket_look", "ticket_lock.cuh", "wait_result try_lock(", "serving_.load($)"},
    {"ticket_turn", "ticket_lock.cuh", "wait_result lock(", "serving_.load($)"},
    {"ticket_unlock", "ticket_lock.cuh", "", "serving_.add(1, $)"},

    {"queue_try", "queue_lock.cuh", "", "tail_.compare_exchange(expected, &own, $, #)"},
    {"queue_enter", "queue_lock.cuh", "", "tail_.exchange(&own, $)"},
    {"queue_link", "queue_lock.cuh", "", "before->next_.store(&own, $)"},
    {"queue_granted", "queue_lock.cuh", "", "own.granted_.load($)"},
    {"queue_next", "queue_lock.cuh", "", "node* next = own.next_.load($)"},
    {"queue_free", "queue_lock.cuh", "", "tail_.compare_exchange(expected, nullptr, $, #)"},
    {"queue_linked", "queue_lock.cuh", "wait_result linked", "own.next_.load($)"},
    {"queue_grant", "queue_lock.cuh", "", "next->granted_.store(1, $)"},

    {"spsc_room", "spsc_channel.cuh", "", "ring_.claim(channel_->head_, $,"},
    {"spsc_push", "spsc_channel.cuh", "", "tail_.store(++ring_.pushed, $)"},
    {"spsc_close", "spsc_channel.cuh", "", "tail_.store(ring_.pushed | detail::closed_bit, $)"},
    {"spsc_pop", "spsc_channel.cuh", "", "channel_->tail_.load($)"},
    {"spsc_take", "spsc_channel.cuh", "", "head_.store(++taken_, $)"},

    {"many_room", "mpsc_channel.cuh", "", "own.stamp.load($)"},
    {"many_push", "mpsc_channel.cuh", "", "own.stamp.store(empty + 1, $)"},
    {"many_take", "mpsc_channel.cuh", "", "stamp.store(full + 1, $)"},
    {"mpsc_pop", "mpsc_channel.cuh", "", "next.stamp.load($)"},
    {"mpmc_pop", "mpmc_channel.cuh", "", "next.stamp.load($)"},

    {"packed_spsc_room", "packed_channel.cuh", "", "ring_.claim(all_->head, $,"},
    {"packed_spsc_take", "packed_channel.cuh", "class packed_spsc_channel {", "all_->take(message, taken_, $)"},
    {"packed_mpsc_room", "packed_channel.cuh", "", "all_.head.load($)"},
    {"packed_mpsc_take", "packed_channel.cuh", "class packed_mpsc_channel {", "all_->take(message, taken_, $)"},

    {"sequence_begin", "sequence_lock.cuh", "void write(", "thread_fence<Scope>($)"},
    {"sequence_end", "sequence_lock.cuh", "", "sequence_.store(sequence + 2, $)"},
    {"sequence_look", "sequence_lock.cuh", "", "before = sequence_.load($)"},
    {"sequence_check", "sequence_lock.cuh", "wait_result try_read(", "thread_fence<Scope>($)"},

    {"grid_arrive", "grid_barrier.cuh", "", "return sync($, #, budget)"},
    {"grid_wait", "grid_barrier.cuh", "", "return sync(#, $, budget)"},

    {"cross_arrive", "cross_barrier.cuh", "wait_result sync(", "arrive($);"},
    {"cross_releases", "cross_barrier.cuh", "", "releases = Order::value == memory_order::$"},
    {"cross_host_flag", "cross_barrier.cuh", "if constexpr (releases && !detail::compiling_for_device) {", ".store(phase_, $)"},
    {"cross_fence", "cross_barrier.cuh", "", "thread_fence<Scope>($)"},
    {"cross_wait", "cross_barrier.cuh", "", "return wait($, budget)"},

    {"pipeline_room", "bulk_pipeline.cuh", "", "wait_parity(at_.parity ^ 1U, $, budget)"},
    {"pipeline_full", "bulk_pipeline.cuh", "", "wait_parity(at_.parity, $, budget)"},
    {"pipeline_back", "bulk_pipeline.cuh", "", "empty_[back_.stage].arrive($)"},

    {"broadcast_room", "cluster_broadcast.cuh", "", "wait_parity(at_.parity ^ 1U, $, budget)"},
    {"broadcast_enter", "cluster_broadcast.cuh", "wait_result fill(", "shared_proxy_fence($)", "acquire"},
    {"broadcast_brought", "cluster_broadcast.cuh", "", "bulk_load(to, from, bytes, full), $)"},
    {"broadcast_relay", "cluster_broadcast.cuh", "", "in_block(full).wait_parity(at_.parity, $, budget)"},
    {"broadcast_full", "cluster_broadcast.cuh", "", "full.wait_parity(at_.parity, $, budget)"},
    {"broadcast_leave", "cluster_broadcast.cuh", "void give_back(", "shared_proxy_fence($)", "release"},
    {"broadcast_back", "cluster_broadcast.cuh", "", "in_block(0).arrive($)"},

    {"last_arrive", "last_block.cuh", "", "arrived_.fetch_inc(blocks - 1, $)"},
    {"partial_free", "last_block.cuh", "", "full_.load($)"},
    {"partial_read", "last_block.cuh", "", "thread_fence<Scope>($)"},

    {"publish_room", "publisher.cuh", "", "ring_.claim(*head_, $,"},
    {"publish", "publisher.cuh", "", "tail_->store(++ring_.pushed, $)"},
    {"flush", "publisher.cuh", "class source {", "head_->load($)"},
    {"close", "publisher.cuh", "class source {", "tail_->store(ring_.pushed | detail::closed_bit, $)"},
    {"warp_look", "publisher.cuh", "bool look()", "head_->load($)"},
    {"warp_publish", "publisher.cuh", "", "tail_->store(ring_.pushed + 1, $)"},
    {"warp_close", "publisher.cuh", "class warp_source {", "tail_->store(ring_.pushed | detail::closed_bit, $)"},
    {"serve_look", "publisher.cuh", "publisher_report serve(int lane", "tails_[index].load($)"},
    {"serve_fence", "publisher.cuh", "", "thread_fence<To>($)"},
    {"serve_taken", "publisher.cuh", "", "heads_[index].store(heads[i], $)"},
    {"serve_end", "publisher.cuh", "", "heads_[index].store(heads[i] | detail::closed_bit, $)"},
};

namespace {

// A ticket lock: each thread that holds it adds 1 to x. r1 is the served ticket, and r4 is set if the thread held the lock.
const std::string holds =
    "ld.weak r2, x; add r3, r2, 1; st.weak x, r3; red.{ticket_unlock}.gpu.add serving, 1; mov r4, 1; END:";
const std::string locks =
    "mov r4, 0; atom.relaxed.gpu.add r0, next, 1; ld.{ticket_turn}.gpu r1, serving; bne r1, r0, END; " + holds;
const std::string tries_to_lock =
    "mov r4, 0; ld.{ticket_look}.gpu r1, serving; add r5, r1, 1; atom.relaxed.gpu.cas r0, next, r1, r5; bne r0, r1, END; " +
    holds;

// A queue lock with nodes 1 and 2, whose words hold values from an earlier use. r9 is set if the thread held the lock.
const std::string locks_first =
    "mov r9, 0; st.relaxed.gpu next1, 0; st.relaxed.gpu granted1, 0; atom.{queue_enter}.gpu.exch r0, tail, 1; bne r0, 0, END; "
    "st.weak x, 1; mov r9, 1; ";
const std::string tries_first =
    "mov r9, 0; st.relaxed.gpu next1, 0; atom.{queue_try}.gpu.cas r0, tail, 0, 1; bne r0, 0, END; st.weak x, 1; mov r9, 1; ";
const std::string unlocks =
    "mov r4, 0; ld.{queue_next}.gpu r1, next1; bne r1, 0, GRANT; atom.{queue_free}.gpu.cas r2, tail, 1, 0; beq r2, 1, END; "
    "ld.{queue_linked}.gpu r1, next1; beq r1, 0, END; GRANT:; mov r4, 1; st.{queue_grant}.gpu granted2, 1; END:";
const std::string locks_second =
    "mov r9, 0; st.relaxed.gpu next2, 0; st.relaxed.gpu granted2, 0; atom.{queue_enter}.gpu.exch r0, tail, 2; beq r0, 0, IN; "
    "st.{queue_link}.gpu next1, 2; ld.{queue_granted}.gpu r1, granted2; bne r1, 1, END; IN:; ld.weak r2, x; mov r9, 1; END:";
const std::string tries_second =
    "mov r9, 0; st.relaxed.gpu next2, 0; atom.{queue_try}.gpu.cas r0, tail, 0, 2; bne r0, 0, END; ld.weak r2, x; mov r9, 1; "
    "END:";
constexpr const char* queue = "x=0; tail=0; next1=2; granted1=1; next2=1; granted2=1;";

// A pipeline with one stage, s, that is filled with x and then with y.
constexpr const char* pipeline = "x=1; y=2; s @ shared; full @ mbarrier 1; empty @ mbarrier 1;";
const std::string fills = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], ";
const std::string fills_first = fills + "[x], 16, [full]; mbarrier.arrive.expect_tx.relaxed full, 16";
const std::string fills_twice = fills_first + "; mbarrier.try_wait.{pipeline_room} empty, 0; " + fills +
                                "[y], 16, [full]; mbarrier.arrive.expect_tx.relaxed full, 16";
const std::string takes = "mbarrier.try_wait.{pipeline_full} full, 0; ld.weak.shared r0, s";
const std::string gives_back = "; fence.proxy.async.shared::cta; mbarrier.arrive.{pipeline_back} empty";

// A broadcast with one stage, s, in blocks 0 and 1 of a cluster: first of x, then of y. One thread in each block is a consumer.
constexpr const char* broadcast =
    "x=1; y=2; s @ shared; full @ mbarrier 1; there @ mbarrier 1; empty @ mbarrier 2; P0:r9=&P2:s;";
constexpr const char* relayed_broadcast =
    "x=1; y=2; s @ shared; full @ mbarrier 1; there @ mbarrier 1; empty @ mbarrier 2; P3:r9=&P2:s;";
constexpr const char* cluster_block_0 = "cta 0,cluster 0,gpu 0";
constexpr const char* cluster_block_1 = "cta 1,cluster 0,gpu 0";
const std::string copied_to_all = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
const std::string room_in_all = "mbarrier.try_wait.parity.{broadcast_room}.cluster empty, 0";
const std::string enters = "; fence.proxy.async::generic.{broadcast_enter}.sync_restrict::shared::cluster.cluster";
const std::string leaves = "; fence.proxy.async::generic.{broadcast_leave}.sync_restrict::shared::cta.cluster";
const std::string tells_all =
    "; mbarrier.arrive.expect_tx.relaxed.cluster full, 16; mbarrier.arrive.expect_tx.relaxed.cluster there, 16; ";
std::string broadcasts(const std::string& fence) {
  const auto one = [](const std::string& from) {
    return copied_to_all + "[s], [" + from + "], 16, [full]; " + copied_to_all + "[r9], [" + from + "], 16, [there]" +
           tells_all;
  };
  return one("x") + room_in_all + fence + "; " + one("y");
}
std::string brings(const std::string& fence) {
  const auto one = [](const std::string& from) {
    return fills + "[" + from + "], 16, [full]; mbarrier.arrive.expect_tx.{broadcast_brought}.cta full, 16; ";
  };
  return one("x") + room_in_all + fence + "; " + one("y");
}
const std::string passes_on =
    "mbarrier.try_wait.parity.{broadcast_relay}.cta full, 0; "
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [r9], [s], 16, [there]; "
    "mbarrier.arrive.expect_tx.relaxed.cluster there, 16; mbarrier.try_wait.parity.{broadcast_relay}.cta full, 1; "
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [r9], [s], 16, [there]; "
    "mbarrier.arrive.expect_tx.relaxed.cluster there, 16";
std::string takes_from(const std::string& full) {
  return "mbarrier.try_wait.parity.{broadcast_full}.cta " + full + ", 0; ld.weak.shared r0, s";
}
const std::string gives_back_to_all = "; mbarrier.arrive.{broadcast_back}.cluster empty";
/// Multicast: the producer, and a consumer in each block. Block 1's consumer executes `work` before it returns the stage.
std::vector<scenario_thread> multicast(const std::string& enter, const std::string& work) {
  return {{cluster_block_0, broadcasts(enter)},
          {cluster_block_0, takes_from("full") + leaves + gives_back_to_all},
          {cluster_block_1, takes_from("there") + work + gives_back_to_all}};
}
/// Relayed: an additional thread passes the tiles on.
std::vector<scenario_thread> relayed(const std::string& enter, const std::string& work) {
  return {{cluster_block_0, brings(enter)},
          {cluster_block_0, takes_from("full") + leaves + gives_back_to_all},
          {cluster_block_1, takes_from("there") + work + gives_back_to_all},
          {cluster_block_0, passes_on}};
}

// Producers of a channel with one slot. r7 is set if the thread has pushed a message.
const std::string pushes_one_of_many(const std::string& message) {
  return "mov r7, 0; ld.relaxed.gpu r0, tail; mul r2, r0, 2; ld.{many_room}.gpu r1, stamp; bne r1, r2, END; add r3, r0, 1; "
         "atom.relaxed.gpu.cas r4, tail, r0, r3; bne r4, r0, END; st.weak slot, " +
         message + "; add r5, r2, 1; st.{many_push}.gpu stamp, r5; mov r7, 1; END:";
}
// One of several consumers of such a channel. r6 is the message, or the slot's earlier value.
const std::string pops_one_of_many(const std::string& before) {
  return "mov r6, " + before +
         "; ld.relaxed.gpu r0, head; mul r2, r0, 2; add r2, r2, 1; ld.{mpmc_pop}.gpu r1, stamp; bne r1, r2, END; add r3, r0, "
         "1; "
         "atom.relaxed.gpu.cas r4, head, r0, r3; bne r4, r0, END; ld.weak r6, slot; add r5, r2, 1; "
         "st.{many_take}.gpu stamp, r5; END:";
}
// A packed word is sixteen times its turn plus the message.
const std::string pushes_packed(const std::string& message) {
  return "mov r7, 0; ld.relaxed.gpu r0, tail; ld.{packed_mpsc_room}.gpu r1, head; blt r1, r0, END; add r3, r0, 1; "
         "atom.relaxed.gpu.cas r4, tail, r0, r3; bne r4, r0, END; mul r5, r3, 16; add r5, r5, " +
         message + "; st.relaxed.gpu slot, r5; mov r7, 1; END:";
}

// A publisher's source publishes a value, and then another value when there is space. The entry, the tail and the head are in
// shared memory.
std::string publishes(const std::string& hand_over, const std::string& room) {
  return "st.weak entry, 1; st." + hand_over + ".cta tail, 1; ld." + room +
         ".cta r0, head; bne r0, 1, END; st.weak entry, 2; st." + hand_over + ".cta tail, 2; END:";
}
std::string flushes(const std::string& hand_over, const std::string& look) {
  return "st.weak entry, 1; st." + hand_over + ".cta tail, 1; ld." + look + ".cta r0, head; ld.relaxed.sys r1, signal";
}
const std::string serves =
    "ld.{serve_look}.cta r0, tail; beq r0, 0, END; ld.weak r1, entry; fence.{serve_fence}.sys; st.relaxed.sys signal, r1; "
    "st.{serve_taken}.cta head, r0; END:";
// The data reaches the publisher's source through one thread, and the consumer through another.
scenario handed_on(const char* name, const std::string& hand_over) {
  return {name,
          "x=0; ready=0; entry=0; tail=0; signal=0; told=0;",
          {{block_0, "st.weak x, 1; st.release.cta ready, 1"},
           {block_0, "ld.acquire.cta r0, ready; beq r0, 0, END; st.weak entry, 1; st." + hand_over + ".cta tail, 1; END:"},
           {block_0,
            "ld.{serve_look}.cta r0, tail; beq r0, 0, END; ld.weak r1, entry; fence.{serve_fence}.sys; "
            "st.relaxed.sys signal, r1; END:"},
           {"cta 0,gpu 1", "ld.acquire.sys r0, signal; beq r0, 0, END; st.release.sys told, 1; END:"},
           {on_host, "mov r1, 0; ld.acquire.sys r0, told; beq r0, 0, END; ld.weak r1, x; END:"}},
          "P4:r0 == 1 /\\ P4:r1 == 0"};
}
// After a barrier, another thread takes over one end of a queue; the new owner closes the queue.
scenario closed_by_the_second_owner(const char* name, const std::string& first, const std::string& second,
                                    const std::string& look) {
  return {name,
          "x=0; word=0;",
          {{block_0, "st.weak x, 1; st." + first + ".cta word, 1; bar.cta.sync 0, 0, 2"},
           {block_0, "bar.cta.sync 0, 0, 2; st." + second + ".cta word, 9"},
           {block_0, "mov r1, 0; ld." + look + ".cta r0, word; bne r0, 9, END; ld.weak r1, x; END:"}},
          "P2:r0 == 9 /\\ P2:r1 == 0"};
}

}  // namespace

const std::vector<scenario> scenarios = {
    {"pipeline_takes_a_tile_before_it_is_there", pipeline, {{block_0, fills_first}, {block_0, takes}}, "P1:r0 == 0"},
    {"pipeline_fills_a_stage_that_is_still_read",
     pipeline,
     {{block_0, fills_twice}, {block_0, takes + gives_back}},
     "P1:r0 == 2"},
    {"pipeline_keeps_what_a_consumer_stored_in_a_stage",
     pipeline,
     {{block_0, fills_twice},
      {block_0, takes + "; st.weak.shared s, 3" + gives_back + "; mbarrier.try_wait.{pipeline_full} full, 1"}},
     "s == 3"},

    {"broadcast_takes_a_tile_before_it_is_there", broadcast, multicast(enters, leaves), "P1:r0 == 0 \\/ P2:r0 == 0"},
    {"broadcast_fills_a_stage_that_another_block_reads", broadcast, multicast(enters, leaves), "P1:r0 == 2 \\/ P2:r0 == 2"},
    {"broadcast_keeps_what_a_consumer_of_another_block_stored", broadcast, multicast(enters, "; st.weak.shared s, 3" + leaves),
     "P2:s == 3"},
    {"relayed_broadcast_takes_a_tile_before_it_is_there", relayed_broadcast, relayed(enters, leaves),
     "P1:r0 == 0 \\/ P2:r0 == 0"},
    {"relayed_broadcast_fills_a_stage_that_another_block_reads", relayed_broadcast, relayed(enters, leaves),
     "P1:r0 == 2 \\/ P2:r0 == 2"},
    {"relayed_broadcast_keeps_what_a_consumer_of_another_block_stored", relayed_broadcast,
     relayed(enters, "; st.weak.shared s, 3" + leaves), "P2:s == 3"},

    {"ticket_lock_loses_what_a_holder_wrote",
     "x=0; next=0; serving=0;",
     {{block_0, locks}, {block_1, locks}},
     "P0:r4 == 1 /\\ P1:r4 == 1 /\\ x == 1"},
    {"ticket_lock_that_is_tried_loses_what_a_holder_wrote",
     "x=0; next=0; serving=0;",
     {{block_0, locks}, {block_1, tries_to_lock}},
     "P0:r4 == 1 /\\ P1:r4 == 1 /\\ x == 1"},

    {"queue_lock_hides_what_the_holder_before_wrote",
     queue,
     {{block_0, locks_first + unlocks}, {block_1, locks_second}},
     "P0:r9 == 1 /\\ P1:r9 == 1 /\\ P1:r2 == 0"},
    {"queue_lock_that_is_tried_hides_what_the_holder_before_wrote",
     queue,
     {{block_0, locks_first + unlocks}, {block_1, tries_second}},
     "P0:r9 == 1 /\\ P1:r9 == 1 /\\ P1:r2 == 0"},
    {"queue_lock_loses_a_link",
     queue,
     {{block_0, locks_first + unlocks}, {block_1, locks_second}},
     "P0:r9 == 1 /\\ P1:r0 == 1 /\\ next1 != 2"},
    {"queue_lock_that_was_tried_loses_a_link",
     queue,
     {{block_0, tries_first + unlocks}, {block_1, locks_second}},
     "P0:r9 == 1 /\\ P1:r0 == 1 /\\ next1 != 2"},
    {"queue_lock_loses_a_grant",
     queue,
     {{block_0, locks_first + unlocks}, {block_1, locks_second}},
     "P0:r4 == 1 /\\ granted2 == 0"},

    {"spsc_channel_gives_a_wrong_message",
     "slot=0; tail=0; head=0;",
     {{block_0,
       "st.weak slot, 1; st.{spsc_push}.gpu tail, 1; ld.{spsc_room}.gpu r0, head; bne r0, 1, END; st.weak slot, 2; "
       "st.{spsc_push}.gpu tail, 2; END:"},
      {block_1,
       "mov r1, 1; mov r3, 2; ld.{spsc_pop}.gpu r0, tail; bne r0, 1, END; ld.weak r1, slot; st.{spsc_take}.gpu head, 1; "
       "ld.{spsc_pop}.gpu r2, tail; bne r2, 2, END; ld.weak r3, slot; END:"}},
     "P1:r1 != 1 \\/ P1:r3 != 2"},
    {"spsc_channel_hides_what_came_before_close",
     "x=0; slot=0; tail=0;",
     {{block_0, "st.weak slot, 1; st.{spsc_push}.gpu tail, 1; st.weak x, 1; st.{spsc_close}.gpu tail, 9"},
      {block_1, "mov r1, 1; ld.{spsc_pop}.gpu r0, tail; bne r0, 9, END; ld.weak r1, x; END:"}},
     "P1:r1 == 0"},

    {"mpsc_channel_gives_a_wrong_message",
     "slot=0; stamp=0; tail=0;",
     {{block_0, pushes_one_of_many("1")},
      {block_1, pushes_one_of_many("2")},
      {block_2,
       "mov r1, 7; mov r3, 8; ld.{mpsc_pop}.gpu r0, stamp; bne r0, 1, END; ld.weak r1, slot; st.{many_take}.gpu stamp, 2; "
       "ld.{mpsc_pop}.gpu r2, stamp; bne r2, 3, END; ld.weak r3, slot; END:"}},
     "P2:r1 == 0 \\/ P2:r3 == 0 \\/ P2:r1 == P2:r3"},
    {"mpmc_channel_gives_a_wrong_message",
     "slot=0; stamp=0; tail=0; head=0;",
     {{block_0, pushes_one_of_many("1")},
      {block_1, pushes_one_of_many("2")},
      {block_2, pops_one_of_many("7")},
      {block_3, pops_one_of_many("8")}},
     "P2:r6 == 0 \\/ P3:r6 == 0 \\/ P2:r6 == P3:r6"},
    {"packed_mpsc_channel_loses_a_word",
     "slot=0; tail=0; head=0;",
     {{block_0, pushes_packed("1")},
      {block_1, pushes_packed("2")},
      {block_2, "ld.relaxed.gpu r0, slot; div r1, r0, 16; bne r1, 1, END; st.{packed_mpsc_take}.gpu head, 1; END:"}},
     "P0:r7 == 1 /\\ P1:r7 == 1 /\\ slot < 32"},
    {"packed_spsc_channel_gives_a_wrong_message",
     "slot=0; head=0;",
     {{block_0, "st.relaxed.gpu slot, 17; ld.{packed_spsc_room}.gpu r0, head; bne r0, 1, END; st.relaxed.gpu slot, 34; END:"},
      {block_1,
       "mov r2, 0; ld.relaxed.gpu r0, slot; div r1, r0, 16; bne r1, 1, END; st.{packed_spsc_take}.gpu head, 1; mov r2, 1; "
       "END:"}},
     "P1:r0 == 34 /\\ P1:r2 == 1"},

    {"sequence_lock_mixes_two_writes",
     "sequence=0; a=0; b=0;",
     {{block_0,
       "st.relaxed.gpu sequence, 1; fence.{sequence_begin}.gpu; st.relaxed.gpu a, 1; st.relaxed.gpu b, 1; "
       "st.{sequence_end}.gpu sequence, 2"},
      {block_1,
       "ld.{sequence_look}.gpu r0, sequence; ld.relaxed.gpu r1, a; ld.relaxed.gpu r2, b; fence.{sequence_check}.gpu; "
       "ld.relaxed.gpu r3, sequence"}},
     "P1:r0 == P1:r3 /\\ (P1:r0 == 0 /\\ (P1:r1 == 1 \\/ P1:r2 == 1) \\/ P1:r0 == 2 /\\ (P1:r1 == 0 \\/ P1:r2 == 0))"},

    // Block 0 is the leader: in each phase, the three blocks add 16 in total; the leader adds 14.
    {"grid_barrier_hides_what_another_block_wrote_before_it",
     "x=0; arrived=0;",
     {{block_0, "st.weak x, 1; bar.cta.sync 0"},
      {block_0, "bar.cta.sync 0; atom.{grid_arrive}.gpu.add r0, arrived, 14"},
      {block_1, "atom.{grid_arrive}.gpu.add r0, arrived, 1"},
      {block_2, "atom.{grid_arrive}.gpu.add r0, arrived, 1; ld.{grid_wait}.gpu r1, arrived; bar.cta.sync 0"},
      {block_2, "bar.cta.sync 0; ld.weak r0, x"}},
     "P3:r1 == 16 /\\ P4:r0 == 0"},
    {"grid_barrier_shows_what_is_written_after_it",
     "x=0; arrived=0;",
     {{block_0, "ld.weak r0, x; atom.{grid_arrive}.gpu.add r1, arrived, 7"},
      {block_1,
       "atom.{grid_arrive}.gpu.add r0, arrived, 1; ld.{grid_wait}.gpu r1, arrived; bne r1, 8, END; st.weak x, 1; END:"}},
     "P0:r0 == 1"},

    // Rank 0 notifies rank 1, which notifies rank 2 through the barrier's next phase.
    {"cross_barrier_hides_what_a_kernel_wrote_before_it",
     "x=0; flag=0; later=0;",
     {{block_0, "st.weak x, 1; fence.{cross_fence&cross_arrive&cross_releases}.sys; st.relaxed.sys flag, 1"},
      {"cta 0,gpu 1",
       "ld.{cross_wait}.sys r0, flag; beq r0, 0, END; fence.{cross_fence&cross_arrive&cross_releases}.sys; "
       "st.relaxed.sys later, 1; END:"},
      {on_host, "mov r1, 1; ld.{cross_wait}.sys r0, later; beq r0, 0, END; ld.weak r1, x; END:"}},
     "P2:r1 == 0"},
    {"cross_barrier_hides_what_the_host_wrote_before_it",
     "x=0; flag=0;",
     {{on_host, "st.weak x, 1; st.{cross_host_flag&cross_arrive&cross_releases}.sys flag, 1"},
      {block_0, "mov r1, 1; ld.{cross_wait}.sys r0, flag; beq r0, 0, END; ld.weak r1, x; END:"}},
     "P1:r1 == 0"},

    {"last_block_takes_a_stale_partial_result",
     "x=0; y=0; arrived=0;",
     {{block_0, "st.weak x, 1; atom.{last_arrive}.gpu.inc r0, arrived, 2"},
      {block_1, "st.weak y, 1; atom.{last_arrive}.gpu.inc r0, arrived, 2"},
      {block_2,
       "mov r1, 1; mov r2, 1; atom.{last_arrive}.gpu.inc r0, arrived, 2; bne r0, 2, END; ld.weak r1, x; ld.weak r2, y; END:"}},
     "P2:r1 == 0 \\/ P2:r2 == 0"},
    // The last block reads the value that block 1 left. Block 1 leaves its next value as soon as it sees that the first one was
    // read.
    {"last_block_reduce_takes_a_value_of_the_next_use",
     "x=0; full=0; arrived=0;",
     {{block_0,
       "mov r1, 1; atom.{last_arrive}.gpu.inc r0, arrived, 1; bne r0, 1, END; ld.weak r1, x; fence.{partial_read}.gpu; "
       "st.relaxed.gpu full, 0; END:"},
      {block_1,
       "st.weak x, 1; st.relaxed.gpu full, 1; atom.{last_arrive}.gpu.inc r0, arrived, 1; ld.{partial_free}.gpu r1, full; "
       "bne r1, 0, END; st.weak x, 2; END:"}},
     "P0:r1 != 1"},

    handed_on("publisher_announces_data_that_is_not_there", "{publish}"),
    handed_on("publisher_of_a_warp_announces_data_that_is_not_there", "{warp_publish}"),
    {"publisher_reads_an_entry_that_is_overwritten",
     "entry=0; tail=0; head=0; signal=0;",
     {{block_0, publishes("{publish}", "{publish_room}")}, {block_0, serves}},
     "P1:r0 == 1 /\\ signal == 2"},
    {"publisher_of_a_warp_reads_an_entry_that_is_overwritten",
     "entry=0; tail=0; head=0; signal=0;",
     {{block_0, publishes("{warp_publish}", "{warp_look}")}, {block_0, serves}},
     "P1:r0 == 1 /\\ signal == 2"},
    {"publisher_flushes_before_the_signal_is_stored",
     "entry=0; tail=0; head=0; signal=0;",
     {{block_0, flushes("{publish}", "{flush}")}, {block_0, serves}},
     "P0:r0 == 1 /\\ P0:r1 == 0"},
    {"publisher_of_a_warp_flushes_before_the_signal_is_stored",
     "entry=0; tail=0; head=0; signal=0;",
     {{block_0, flushes("{warp_publish}", "{warp_look}")}, {block_0, serves}},
     "P0:r0 == 1 /\\ P0:r1 == 0"},
    closed_by_the_second_owner("publisher_reads_an_entry_of_the_source_before", "{publish}", "{close}", "{serve_look}"),
    closed_by_the_second_owner("publisher_reads_an_entry_of_the_warp_before", "{warp_publish}", "{warp_close}", "{serve_look}"),
    closed_by_the_second_owner("publisher_that_took_over_ends_a_flush_early", "{serve_taken}", "{serve_end}", "{flush}"),
};

}  // namespace membar_test

namespace {

using namespace membar_test;
using namespace membar_test::sync_litmus;

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

/// The publisher, with data written by another lane in the source's warp, with or without a `bar.warp.sync` before publishing.
bool published_without_another_lanes_data(bool synchronizes) {
  const std::string barrier = synchronizes ? "bar.warp.sync 3" : "";
  return model::decide(membar::litmus_files::read_litmus(
                           "PTX published_without_another_lanes_data\n{ x=0; y=0; z=0; }\n"
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
  EXPECT_TRUE(model::allowed(overwritten_partial())) << "without a flag the last block may read the next use's value";
}

TEST(sync_patterns, a_stage_of_a_pipeline_is_given_back_after_a_proxy_fence) {
  const scenario without = {"no_proxy_fence",
                            pipeline,
                            {{block_0, fills_twice}, {block_0, takes + "; mbarrier.arrive.{pipeline_back} empty"}},
                            "P1:r0 == 2"};
  EXPECT_TRUE(table().violated(without));
}

TEST(sync_patterns, a_stage_of_a_broadcast_is_given_back_between_two_proxy_fences) {
  const auto filled_early = [](const char* start, std::vector<scenario_thread> threads) {
    return table().violated({"filled_early", start, std::move(threads), "P2:r0 == 2"});
  };
  EXPECT_TRUE(filled_early(broadcast, multicast("", leaves))) << "the producer acquires for its copies";
  EXPECT_TRUE(filled_early(broadcast, multicast(enters, ""))) << "a consumer releases its accesses";
  EXPECT_TRUE(filled_early(relayed_broadcast, relayed("", leaves)));
  EXPECT_TRUE(filled_early(relayed_broadcast, relayed(enters, "")));
}

TEST(sync_patterns, a_consumer_of_a_broadcast_only_reads_a_stage_that_is_relayed_from) {
  const auto reaches_the_other_block = [](const char* start, std::vector<scenario_thread> threads) {
    threads[1].code = takes_from("full") + "; st.weak.shared s, 3" + leaves + gives_back_to_all;
    return table().violated({"reaches_the_other_block", start, std::move(threads), "P2:r0 == 3"});
  };
  EXPECT_TRUE(reaches_the_other_block(relayed_broadcast, relayed(enters, leaves)));
  EXPECT_FALSE(reaches_the_other_block(broadcast, multicast(enters, leaves)));
}

TEST(sync_patterns, a_consumer_of_a_broadcast_copies_a_stage_out_between_a_proxy_fence_and_a_read_wait) {
  const auto copied = [](const std::string& fence, const std::string& wait) {
    const std::string copies_out = "mbarrier.try_wait.parity.{broadcast_full}.cta there, 0; " + fence +
                                   "cp.async.bulk.global.shared::cta.bulk_group [z], [s], 16; cp.async.bulk.commit_group" +
                                   wait;
    const std::string start = std::string(broadcast) + " z=0;";
    return table().violated({"copied_out",
                             start.c_str(),
                             {{cluster_block_0, broadcasts(enters)},
                              {cluster_block_0, takes_from("full") + leaves + gives_back_to_all},
                              {cluster_block_1, copies_out + leaves + gives_back_to_all}},
                             "z != 1"});
  };
  const std::string fence = "fence.proxy.async.shared::cta; ";
  const std::string wait = "; cp.async.bulk.wait_group.read 0";
  EXPECT_FALSE(copied(fence, wait));
  EXPECT_TRUE(copied("", wait)) << "another block started the copy that brought the tile";
  EXPECT_TRUE(copied(fence, "")) << "the copy may still read the stage";
}

TEST(sync_patterns, a_lane_takes_tiles_of_a_broadcast_for_its_warp) {
  const auto filled_early = [](const std::string& barrier) {
    std::vector<scenario_thread> threads = {
        {cluster_block_0, broadcasts(enters)},
        {cluster_block_0, takes_from("full") + leaves + gives_back_to_all},
        {"cta 1,cluster 0,gpu 0,warp 0", "bar.warp.sync 3; ld.weak.shared r0, s; " + barrier},
        {"cta 1,cluster 0,gpu 0,warp 0", takes_from("there") + "; bar.warp.sync 3; " + barrier + leaves + gives_back_to_all}};
    return table().violated({"a_lane_for_its_warp", broadcast, std::move(threads), "P2:r0 != 1"});
  };
  EXPECT_FALSE(filled_early("bar.warp.sync 3"));
  EXPECT_TRUE(filled_early(""));
}

TEST(sync_patterns, a_pipeline_is_used_after_a_barrier_that_follows_its_initialization) {
  const std::string inits = "mbarrier.init full, 1; mbarrier.init empty, 1; fence.mbarrier_init.release.cluster; ";
  const std::string meets = "bar.cta.sync 0; ";
  const auto used = [&](const std::string& barrier) {
    return scenario{
        "initialized", pipeline, {{block_0, inits + barrier + fills_first}, {block_0, barrier + takes}}, "P1:r0 == 0"};
  };
  EXPECT_FALSE(table().violated(used(meets)));
  EXPECT_TRUE(table().violated(used("")));
}

/// Three overlapping kernels: the first writes x, the second reads x and writes y, and the third reads y and writes x again.
/// Returns whether they may end as in `violation`, with these instructions in the second and the third kernel.
bool mixed_up(const std::string& second, const std::string& third, const std::string& violation) {
  const scenario chain = {"chain",
                          "P0 launches P1; P1 launches P2; x=0; y=0;",
                          {{block_0, "griddepcontrol.launch_dependents; griddepcontrol.wait; st.weak x, 1"},
                           {block_1, "griddepcontrol.launch_dependents; " + second},
                           {block_2, "griddepcontrol.launch_dependents; " + third}},
                          violation.c_str()};
  return table().violated(chain);
}
constexpr const char* wrong_value = "P1:r0 != 1 \\/ P2:r0 != 2";

TEST(sync_patterns, a_chain_of_kernels_passes_its_memory_on) {
  EXPECT_FALSE(mixed_up("griddepcontrol.wait; ld.weak r0, x; st.weak y, 2", "griddepcontrol.wait; ld.weak r0, y; st.weak x, 3",
                        wrong_value));
}

TEST(sync_patterns, a_kernel_of_a_chain_reads_after_its_wait) {
  EXPECT_TRUE(mixed_up("ld.weak r0, x; griddepcontrol.wait; st.weak y, 2", "griddepcontrol.wait; ld.weak r0, y; st.weak x, 3",
                       wrong_value));
  EXPECT_TRUE(mixed_up("griddepcontrol.wait; ld.weak r0, x; st.weak y, 2", "ld.weak r0, y; griddepcontrol.wait; st.weak x, 3",
                       wrong_value));
}

TEST(sync_patterns, a_kernel_of_a_chain_overwrites_after_its_wait) {
  EXPECT_TRUE(mixed_up("griddepcontrol.wait; ld.weak r0, x; st.weak y, 2", "st.weak x, 3; griddepcontrol.wait; ld.weak r0, y",
                       "P1:r0 == 3"));
  EXPECT_FALSE(mixed_up("griddepcontrol.wait; ld.weak r0, x; st.weak y, 2", "griddepcontrol.wait; st.weak x, 3; ld.weak r0, y",
                        "P1:r0 == 3"));
}

TEST(sync_patterns, a_kernel_of_a_chain_that_has_nothing_to_read_waits_all_the_same) {
  EXPECT_TRUE(mixed_up("mov r0, 1", "griddepcontrol.wait; ld.weak r0, x", "P2:r0 == 0"));
  EXPECT_FALSE(mixed_up("griddepcontrol.wait; mov r0, 1", "griddepcontrol.wait; ld.weak r0, x", "P2:r0 == 0"))
      << "the destructor of chain_link waits";
}

TEST(sync_patterns, letting_the_next_kernel_begin_orders_nothing) {
  EXPECT_TRUE(mixed_up("griddepcontrol.wait; st.weak y, 2; griddepcontrol.launch_dependents", "ld.weak r0, y", "P2:r0 == 0"));
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

/// Two threads in each of two blocks: one thread stores or reads data, and the first thread arrives and waits on behalf of the
/// block.
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
