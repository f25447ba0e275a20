// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the checker on asynchronous copies: which data they deliver, which operations order them, and how missing proxy fences
// are reported.
#include <tests/check/ptx_programs.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace async_copy_tests {
namespace {

using namespace membar_test;
using check::check_status;

constexpr const char* variables =
    ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 stage[64];\n.global .align 16 .b8 from[64] = {1, 0, 0, 0, 2, 0, 0, 0, "
    "3, 0, 0, 0, 4};\n"
    ".global .align 16 .b8 to[64];\n.global .u32 flag;\n";

check::check_result explored(const std::string& body, std::uint32_t threads = 1, std::uint32_t blocks = 1) {
  check::launch_request request;
  request.block[0] = threads;
  request.grid[0] = blocks;
  request.cluster = blocks > 1 ? static_cast<int>(blocks) : 0;
  return check::explore(program_of_launch(
      variables, "mov.u32 %r15, %tid.x; mov.u32 %r14, %cluster_ctarank; mov.u32 %r13, %ctaid.x;" + body, request));
}

void expect(const std::string& body, check_status status, const std::string& words = "", std::uint32_t threads = 1,
            std::uint32_t blocks = 1) {
  const check::check_result r = explored(body, threads, blocks);
  EXPECT_EQ(r.status, status) << r.found.message;
  EXPECT_NE(r.found.message.find(words), std::string::npos) << r.found.message;
}

/// Returns code in which only the thread with this number executes `body`; `of_block` restricts it to the block with this rank.
std::string by(int thread, const std::string& body) {
  static int labels = 0;
  const std::string n = std::to_string(thread);
  const std::string label = "NOT" + std::to_string(labels++);
  return "setp.ne.u32 %p7, %r15, " + n + "; @%p7 bra " + label + ";" + body + label + ": ";
}
std::string of_block(int rank, const std::string& body) {
  static int labels = 0;
  const std::string label = "OTHER" + std::to_string(labels++);
  return "setp.ne.u32 %p7, %r14, " + std::to_string(rank) + "; @%p7 bra " + label + ";" + body + label + ": ";
}

const std::string init = "mbarrier.init.shared.b64 [bar], 1;";
const std::string wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 0; @!%p0 bra W;";
const std::string bring =
    "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32;"
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [stage], [from], 32, [bar];";
const std::string take = "cp.async.bulk.global.shared::cta.bulk_group [to], [stage], 16; cp.async.bulk.commit_group;";
const std::string done = "cp.async.bulk.wait_group 0;";
std::string holds(const std::string& place, int value) {
  return "ld." + place + "; setp.ne.u32 %p1, %r0, " + std::to_string(value) + "; @%p1 trap;";
}

TEST(check_copies, a_wait_for_its_bytes_sees_what_a_copy_brought) {
  expect(init + bring + wait + holds("shared.u32 %r0, [stage+4]", 2) + holds("shared.u32 %r0, [stage+16]", 0),
         check_status::verified);
}

TEST(check_copies, nothing_is_there_without_the_wait) {
  expect(init + bring + "ld.shared.u32 %r0, [stage];" + wait, check_status::race, "asynchronous copy");
}

TEST(check_copies, a_wait_of_another_thread_sees_them_too) {
  expect(by(0, init) + "bar.sync 0;" + by(0, bring) + by(1, wait + holds("shared.u32 %r0, [stage+8]", 3)),
         check_status::verified, "", 2);
}

TEST(check_copies, a_wait_for_bytes_that_nobody_copies_hangs) {
  expect(init + "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 48;" + bring.substr(bring.find("cp.async")) + wait,
         check_status::hang);
}

TEST(check_copies, what_was_stored_before_a_copy_needs_a_proxy_fence) {
  const std::string store = "st.global.u32 [from], 5;";
  expect(init + store + bring + wait, check_status::race, "a proxy fence is missing");
  expect(init + store + "fence.proxy.async;" + bring + wait + holds("shared.u32 %r0, [stage]", 5), check_status::verified);
  expect(init + store + "fence.proxy.async.global;" + bring + wait, check_status::verified);
  expect(init + store + "fence.proxy.async.shared::cta;" + bring + wait, check_status::race);
}

TEST(check_copies, a_fence_between_the_store_and_the_copy_orders_them) {
  expect(init + "fence.proxy.async; st.global.u32 [from], 5;" + bring + wait, check_status::race, "a proxy fence is missing");
}

TEST(check_copies, a_stage_that_was_read_is_filled_again_after_a_proxy_fence) {
  const std::string again =
      "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;"
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [stage], [from+16], 16, [bar];"
      "V: mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 1; @!%p0 bra V;";
  const std::string read = "ld.shared.u32 %r0, [stage];";
  expect(init + bring + wait + read + "fence.proxy.async.shared::cta;" + again + holds("shared.u32 %r0, [stage]", 0),
         check_status::verified);
  expect(init + bring + wait + read + again, check_status::race, "a proxy fence is missing");
  // Only copies access the data, so all accesses use the same proxy.
  expect(init + bring + wait + again, check_status::verified);
}

TEST(check_copies, a_fence_of_another_block_does_not_count) {
  const std::string store = "st.global.u32 [from], 5;";
  const std::string meet = "barrier.cluster.arrive; barrier.cluster.wait;";
  expect(of_block(0, store + "fence.proxy.async;") + meet + of_block(1, init + bring + wait), check_status::race,
         "a proxy fence is missing", 1, 2);
  expect(of_block(0, store) + meet + of_block(1, "fence.proxy.async;" + init + bring + wait), check_status::verified, "", 1, 2);
}

TEST(check_copies, a_group_is_complete_after_its_wait) {
  const std::string fill =
      "st.shared.u32 [stage], 9; st.shared.u32 [stage+4], 9; st.shared.u32 [stage+8], 9; st.shared.u32 [stage+12], 9;";
  const std::string fence = "fence.proxy.async.shared::cta;";
  expect(fill + fence + take + done + holds("global.u32 %r0, [to]", 9), check_status::verified);
  expect(fill + fence + take + "ld.global.u32 %r0, [to];" + done, check_status::race);
  expect(fill + take + done, check_status::race, "a proxy fence is missing");
}

TEST(check_copies, the_newest_groups_may_be_pending) {
  const std::string fill =
      "st.shared.u32 [stage], 9; st.shared.u32 [stage+4], 9; st.shared.u32 [stage+8], 9; st.shared.u32 [stage+12], 9;";
  const std::string two = fill + "fence.proxy.async.shared::cta;" + take +
                          "cp.async.bulk.global.shared::cta.bulk_group [to+16], [stage], 16; cp.async.bulk.commit_group;";
  expect(two + "cp.async.bulk.wait_group 1; ld.global.u32 %r0, [to]; cp.async.bulk.wait_group.read 0;", check_status::verified);
  expect(two + "cp.async.bulk.wait_group 1; ld.global.u32 %r0, [to+16];", check_status::race);
  expect(two + "cp.async.bulk.wait_group 0; ld.global.u32 %r0, [to+16];", check_status::verified);
}

TEST(check_copies, a_group_that_is_not_committed_is_waited_for_by_nobody) {
  const std::string fill =
      "st.shared.u32 [stage], 9; st.shared.u32 [stage+4], 9; st.shared.u32 [stage+8], 9; st.shared.u32 [stage+12], 9;";
  expect(fill + "fence.proxy.async; cp.async.bulk.global.shared::cta.bulk_group [to], [stage], 16;" + done +
             "ld.global.u32 %r0, [to];",
         check_status::race);
}

TEST(check_copies, a_source_is_written_again_when_it_was_read) {
  const std::string fill =
      "st.shared.u32 [stage], 9; st.shared.u32 [stage+4], 9; st.shared.u32 [stage+8], 9; st.shared.u32 [stage+12], 9;";
  const std::string start = fill + "fence.proxy.async;" + take;
  expect(start + "st.shared.u32 [stage], 1;", check_status::race);
  expect(start + "cp.async.bulk.wait_group.read 0; st.shared.u32 [stage], 1;" + done + holds("global.u32 %r0, [to]", 9),
         check_status::verified);
  expect(start + "cp.async.bulk.wait_group.read 0; ld.global.u32 %r0, [to];" + done, check_status::race);
}

TEST(check_copies, a_reduction_adds_to_the_destination) {
  const std::string fill =
      "st.shared.u32 [stage], 9; st.shared.u32 [stage+4], 1; st.shared.u32 [stage+8], 9; st.shared.u32 [stage+12], 9;";
  const std::string add =
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [to], [stage], 16; cp.async.bulk.commit_group;";
  expect(
      fill + "fence.proxy.async;" + add + add + done + holds("global.u32 %r0, [to]", 18) + holds("global.u32 %r0, [to+4]", 2),
      check_status::verified);
}

TEST(check_copies, small_copies_are_ordinary_accesses_of_their_own) {
  const std::string copy =
      "cp.async.ca.shared.global [stage], [from], 4; cp.async.cg.shared.global [stage+16], [from+16], 16; "
      "cp.async.commit_group;";
  expect("st.global.u32 [from], 5;" + copy + "cp.async.wait_group 0;" + holds("shared.u32 %r0, [stage]", 5),
         check_status::verified);
  expect("st.shared.u32 [stage], 0;" + copy + "ld.shared.u32 %r0, [stage]; cp.async.wait_all;", check_status::race);
  expect(copy.substr(0, copy.find("cp.async.commit")) + "cp.async.wait_all; ld.shared.u32 %r0, [stage];",
         check_status::verified);
}

TEST(check_copies, small_copies_arrive_at_an_mbarrier) {
  const std::string copy = "cp.async.ca.shared.global [stage], [from], 8; cp.async.mbarrier.arrive.noinc.shared.b64 [bar];";
  expect(by(0, init) + "bar.sync 0;" + by(0, copy) + by(1, wait + holds("shared.u32 %r0, [stage+4]", 2)),
         check_status::verified, "", 2);
  expect(by(0, init) + "bar.sync 0;" + by(0, "st.global.u32 [flag], 1;" + copy) + by(1, wait + "ld.global.u32 %r0, [flag];"),
         check_status::race, "flag", 2);  // The arrival does not release the thread's own store.
}

TEST(check_copies, take_a_cache_policy_after_their_other_operands) {
  const std::string policy = "createpolicy.fractional.L2::evict_first.b64 %rd9, 0f3F800000;";
  const auto hinted = [](std::string text, const std::string& after) {
    text.replace(text.find(after), after.size(), after + ".L2::cache_hint");
    return text.replace(text.find(";", text.find("[from]") + 1), 1, ", %rd9;");
  };
  const std::string brought = hinted(bring, "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes");
  expect(policy + init + brought + wait + holds("shared.u32 %r0, [stage+4]", 2), check_status::verified);
  expect(policy + init + brought + "ld.shared.u32 %r0, [stage];" + wait, check_status::race, "asynchronous copy");
  const std::string small =
      policy + "cp.async.ca.shared::cta.global.L2::cache_hint [stage], [from], 8, %rd9; cp.async.wait_all;";
  expect("st.shared.u32 [stage], 7;" + small + holds("shared.u32 %r0, [stage+4]", 2), check_status::verified);
  const std::string none =
      policy + "cp.async.ca.shared::cta.global.L2::cache_hint [stage], [from], 8, 0, %rd9; cp.async.wait_all;";
  expect("st.shared.u32 [stage], 7;" + none + holds("shared.u32 %r0, [stage]", 0), check_status::verified);
  const std::string add =
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.u32 [to], [stage], 16, %rd9; "
      "cp.async.bulk.commit_group;";
  expect(policy + "st.shared.v4.u32 [stage], {9, 9, 9, 9}; fence.proxy.async;" + add + done + holds("global.u32 %r0, [to]", 9),
         check_status::verified);
}

TEST(check_copies, that_read_no_byte_fill_with_zeros) {
  const auto copy = [](const std::string& from, const std::string& read) {
    return "st.shared.u32 [stage], 7; cp.async.ca.shared.global [stage], [" + from + "], 8, " + read + "; cp.async.wait_all;";
  };
  expect(copy("from", "0") + holds("shared.u32 %r0, [stage]", 0), check_status::verified);
  expect(copy("from+4096", "0") + holds("shared.u32 %r0, [stage+4]", 0), check_status::verified);  // nothing accesses this
                                                                                                   // place
  expect(copy("from", "8") + holds("shared.u32 %r0, [stage+4]", 2), check_status::verified);
  expect(copy("from", "4") + holds("shared.u32 %r0, [stage]", 1) + holds("shared.u32 %r0, [stage+4]", 0),
         check_status::verified);
  expect(copy("from", "7") + holds("shared.u32 %r0, [stage+4]", 2), check_status::verified);
  expect(copy("from", "9"), check_status::undefined, "copy that writes 8 bytes but reads 9");
  expect("cp.async.ca.shared.global [stage], [from], 8, 0; ld.shared.u32 %r0, [stage];", check_status::race, "stage");
}

TEST(check_copies, arrive_at_an_mbarrier_in_addition_without_noinc) {
  const auto copy = [](const std::string& noinc) {
    return by(0, init) + "bar.sync 0;" +
           by(0, "cp.async.ca.shared.global [stage], [from], 8; cp.async.mbarrier.arrive" + noinc +
                     ".shared.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];") +
           by(1, wait + holds("shared.u32 %r0, [stage+4]", 2));
  };
  expect(copy(""), check_status::verified, "", 2);
  expect(copy(".noinc"), check_status::uninitialised, "stage", 2);  // One of the two arrivals completes the phase.
  const std::string each = "mov.u32 %r1, stage; mad.lo.u32 %r1, %r15, 8, %r1; cp.async.ca.shared.global [%r1], [from], 8;";
  expect(by(0, "mbarrier.init.shared.b64 [bar], 2;") + "bar.sync 0;" + each +
             "cp.async.mbarrier.arrive.shared.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];" + wait +
             holds("shared.u32 %r0, [stage]", 1) + holds("shared.u32 %r0, [stage+12]", 2),
         check_status::verified, "", 2);  // The expected result does not depend on how the next arrival changes the phase.
}

TEST(check_copies, what_precedes_the_instruction_is_not_passed_on_by_its_completion) {
  expect(by(0, init) + "bar.sync 0;" +
             by(0, "mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [bar], 32; st.global.u32 [flag], 1;" +
                       bring.substr(bring.find("cp.async"))) +
             by(1, wait + "ld.global.u32 %r0, [flag];"),
         check_status::race, "flag", 2);
}

const std::string meet = "barrier.cluster.arrive; barrier.cluster.wait;";
const std::string remote =
    "mov.u32 %r1, stage; mapa.shared::cluster.u32 %r2, %r1, 1; mov.u32 %r3, bar; mapa.shared::cluster.u32 %r4, %r3, 1;";

TEST(check_copies, a_value_is_stored_in_another_block) {
  const std::string send = remote + "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], 7, [%r4];";
  const std::string expecting = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4;" + wait;
  expect(of_block(1, init) + meet + of_block(0, send) + of_block(1, expecting + holds("shared.u32 %r0, [stage]", 7)) + meet,
         check_status::verified, "", 1, 2);
}

TEST(check_copies, values_are_added_in_another_block) {
  const std::string send =
      remote + "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r2], 7, [%r4];";
  const std::string expecting = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8;" + wait;
  expect(of_block(1, init + "st.shared.u32 [stage], 1;") + meet + of_block(0, send + send.substr(remote.size())) +
             of_block(1, expecting + holds("shared.u32 %r0, [stage]", 15)) + meet,
         check_status::verified, "", 1, 2);
}

TEST(check_copies, a_copy_into_another_block_completes_there) {
  const std::string send =
      "st.shared.u32 [stage], 3; st.shared.u32 [stage+4], 3; st.shared.u32 [stage+8], 3; st.shared.u32 [stage+12], 3;"
      "fence.proxy.async.shared::cta;" +
      remote + "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [stage], 16, [%r4];";
  const std::string expecting = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;" + wait;
  expect(of_block(1, init) + meet + of_block(0, send) + of_block(1, expecting + holds("shared.u32 %r0, [stage+12]", 3)) + meet,
         check_status::verified, "", 1, 2);
}

TEST(check_copies, a_pair_of_proxy_fences_orders_the_stage_of_another_block) {
  // Rank 1 reads its stage and releases it; rank 0 copies into it.
  const auto given_back = [&](const std::string& release, const std::string& acquire) {
    return of_block(1, init + "st.shared.u32 [stage], 1;") + of_block(0, init) + meet +
           of_block(1, "ld.shared.u32 %r0, [stage];" + release +
                           "mov.u32 %r3, bar; mapa.shared::cluster.u32 %r4, %r3, 0; "
                           "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];"
                           "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;") +
           of_block(
               0, "V: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p0, [bar], 0; @!%p0 bra V;" + acquire + remote +
                      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [stage+16], 16, [%r4];") +
           of_block(1, wait) + meet;
  };
  const std::string filled =
      "st.shared.u32 [stage+16], 2; st.shared.u32 [stage+20], 2; st.shared.u32 [stage+24], 2; st.shared.u32 [stage+28], 2;"
      "fence.proxy.async.shared::cta;";
  const std::string release = "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;";
  const std::string acquire = "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;";
  expect(of_block(0, filled) + given_back(release, acquire), check_status::verified, "", 1, 2);
  expect(of_block(0, filled) + given_back("", acquire), check_status::race, "a proxy fence is missing", 1, 2);
  expect(of_block(0, filled) + given_back(release, ""), check_status::race, "a proxy fence is missing", 1, 2);
}

TEST(check_copies, source_destination_and_mbarrier_are_in_the_blocks_that_ptx_allows) {
  const std::string filled =
      "st.shared.u32 [stage], 2; st.shared.u32 [stage+4], 2; st.shared.u32 [stage+8], 2; st.shared.u32 [stage+12], 2;"
      "fence.proxy.async.shared::cta;";
  const auto copy = [&](const std::string& text) { return filled + init + meet + of_block(0, remote + text) + meet; };
  expect(copy("cp.async.bulk.global.shared::cta.bulk_group [to], [%r2], 16;"), check_status::undefined,
         "starts a copy from another block's shared memory", 1, 2);
  expect(copy("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [from], 16, [%r4];"),
         check_status::undefined, "uses '.shared::cta' for a copy to another block's shared memory", 1, 2);
  expect(copy("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [stage], 16, [bar];"),
         check_status::undefined, "a copy whose mbarrier is in a different block than its destination", 1, 2);
}

TEST(check_copies, a_race_names_the_reading_on_which_it_depends) {
  const auto passed_on = [](const std::string& write, const std::string& fence) {
    return of_block(0, write + "st.release.gpu.global.u32 [flag], 1;") +
           of_block(1, init + "F: ld.acquire.gpu.global.u32 %r0, [flag]; setp.eq.u32 %p0, %r0, 0; @%p0 bra F;" + fence +
                           "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;"
                           "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [stage], [to], 16, [bar];" +
                           wait);
  };
  const auto with = [](const std::string& body, membar::model::reading one) {
    check::launch_request request;
    request.grid[0] = 2;
    request.cluster = 2;
    check::check_options options;
    options.readings.take(one);
    return check::explore(program_of_launch(variables, "mov.u32 %r15, %tid.x; mov.u32 %r14, %cluster_ctarank;" + body, request),
                          {}, options)
        .status;
  };
  const std::string store = "st.global.u32 [to], 7;";
  const std::string fence = "fence.proxy.async.global;";
  expect(passed_on(store, fence), check_status::verified, "", 1, 2);
  expect(passed_on(store + fence, ""), check_status::race, "--reading=fence-of-another-block", 1, 2);
  EXPECT_EQ(with(passed_on(store + fence, ""), membar::model::reading::fence_of_another_block), check_status::verified);
  EXPECT_EQ(with(passed_on(store, ""), membar::model::reading::fence_of_another_block), check_status::race);
  EXPECT_EQ(explored(passed_on(store, ""), 1, 2).found.message.find("reading"), std::string::npos);
  const std::string copy =
      "st.shared.u32 [stage], 2; st.shared.u32 [stage+4], 2; st.shared.u32 [stage+8], 2; st.shared.u32 [stage+12], 2;"
      "fence.proxy.async.shared::cta;" +
      take + done;
  expect(passed_on(copy, ""), check_status::race, "--reading=copies-of-two-blocks", 1, 2);
  EXPECT_EQ(with(passed_on(copy, ""), membar::model::reading::copies_of_two_blocks), check_status::verified);
}

TEST(check_copies, consecutive_copies_into_another_block_need_no_proxy_fence) {
  const std::string send =
      remote + "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [stage], 16, [%r4];";
  const std::string filled =
      "st.shared.u32 [stage], 2; st.shared.u32 [stage+4], 2; st.shared.u32 [stage+8], 2; st.shared.u32 [stage+12], 2;"
      "fence.proxy.async.shared::cta;";
  const std::string expecting = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;";
  expect(of_block(0, filled) + of_block(1, init) + meet + of_block(0, send) + of_block(1, expecting + wait) + meet +
             of_block(0, send) +
             of_block(1, expecting + "V: mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 1; @!%p0 bra V;") + meet,
         check_status::verified, "", 1, 2);
}

TEST(check_copies, a_multicast_brings_the_bytes_to_each_block) {
  const std::string start =
      "mov.u16 %rs0, 3; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [stage], [from], "
      "16, [bar], %rs0;";
  expect(init + "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;" + meet + of_block(0, start) + wait +
             holds("shared.u32 %r0, [stage]", 1) + meet,
         check_status::verified, "", 1, 2);
}

TEST(check_copies, a_copy_has_a_multiple_of_sixteen_bytes) {
  expect(init + "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [stage], [from], 20, [bar];",
         check_status::undefined, "20 bytes; the size must be a multiple of 16");
  expect(init + "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [stage], [from], 65536, [bar];",
         check_status::gave_up, "65536 bytes; copies of at most 32768 bytes are supported");
}

TEST(check_copies, a_copy_that_leaves_its_object_is_found) {
  expect(init + "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [stage+48], [from], 32, [bar];",
         check_status::out_of_bounds, "is outside of every object");
}

TEST(check_copies, a_block_waits_for_the_reading_of_its_shared_memory_before_it_ends) {
  const std::string start =
      "st.shared.u32 [stage], 9; st.shared.u32 [stage+4], 9; st.shared.u32 [stage+8], 9; st.shared.u32 [stage+12], 9;"
      "fence.proxy.async;" +
      take;
  expect(start, check_status::undefined, "must wait for the copy before it exits");
  expect(start + "cp.async.bulk.wait_group.read 0;", check_status::verified);
  expect(start + "cp.async.bulk.wait_group 0;", check_status::verified);
}

/// Three kernels in one stream; the second and the third kernel may begin before their predecessors end.
check::check_result chain(const std::string& first, const std::string& second, const std::string& third,
                          bool last_dependent = true) {
  ptx_program p({first, second, third});
  for (int k = 1; k < 3; ++k) {
    p.get().launches_before[static_cast<std::size_t>(k)] = {k - 1};
    p.get().dependent[static_cast<std::size_t>(k)] = k == 1 || last_dependent;
  }
  return p.explore();
}

TEST(check_dependent_launches, a_wait_orders_what_the_kernel_before_did) {
  const std::string store = "griddepcontrol.launch_dependents; st.global.u32 [x], 7;";
  const std::string read = holds("global.u32 %r0, [x]", 7);
  EXPECT_EQ(chain(store, "griddepcontrol.wait;" + read, "").status, check_status::verified);
  EXPECT_EQ(chain(store, read, "").status, check_status::race);
  EXPECT_EQ(chain(store, read + "griddepcontrol.wait;", "").status, check_status::race);
}

TEST(check_dependent_launches, stores_before_the_launch_of_dependents_are_not_visible_either) {
  EXPECT_EQ(chain("st.global.u32 [x], 7; griddepcontrol.launch_dependents;", "ld.global.u32 %r0, [x];", "").status,
            check_status::race);
}

TEST(check_dependent_launches, a_wait_is_only_for_the_kernel_before) {
  const std::string store = "griddepcontrol.launch_dependents; st.global.u32 [x], 7;";
  const std::string launch = "griddepcontrol.launch_dependents;";
  const std::string read = "griddepcontrol.wait; ld.global.u32 %r0, [x];";
  EXPECT_EQ(chain(store, launch, read).status, check_status::race);
  EXPECT_EQ(chain(store, launch + "griddepcontrol.wait;", read).status, check_status::verified);
}

TEST(check_dependent_launches, one_thread_of_a_block_triggers_the_dependents) {
  ptx_program p({"mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra LATE; griddepcontrol.launch_dependents; LATE: "
                 "st.relaxed.gpu.u32 [x], 7;",
                 "ld.relaxed.gpu.u32 %r0, [x]; setp.eq.u32 %p0, %r0, 0; @%p0 trap;"},
                2);
  p.get().launches_before[1] = {0};
  p.get().dependent[1] = true;
  EXPECT_EQ(p.explore().status, check_status::violated) << "the second kernel may run before the stores of the first";
}

TEST(check_copies, a_kernel_follows_one_that_ends_with_any_fence) {
  for (const char* last : {"fence.proxy.async;", "fence.mbarrier_init.release.cluster;",
                           "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"}) {
    ptx_program p({std::string("st.global.u32 [x], 7;") + last, "ld.global.u32 %r0, [x];"});
    p.get().launches_before[1] = {0};
    EXPECT_EQ(p.explore().status, check_status::verified) << last;
  }
}

TEST(check_dependent_launches, a_kernel_that_is_never_triggered_begins_when_its_predecessor_ends) {
  EXPECT_EQ(chain("st.global.u32 [x], 7;", "griddepcontrol.wait; ld.global.u32 %r0, [x];", "").status, check_status::verified);
  EXPECT_EQ(chain("st.global.u32 [x], 7;", "ld.global.u32 %r0, [x];", "").status, check_status::race);
}

TEST(check_copies, a_thread_may_start_many_copies) {
  std::string many = init + "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 160;";
  for (int k = 0; k < 10; ++k) {
    many += "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [stage+" + std::to_string(16 * (k % 4)) +
            "], [from], 16, [bar];";
  }
  expect(many, check_status::race, "asynchronous copy");  // The copies overwrite each other's bytes.
  std::string four = init + "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;";
  for (int k = 0; k < 4; ++k) {
    four += "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [stage+" + std::to_string(16 * k) +
            "], [from], 16, [bar];";
  }
  expect(four + wait + holds("shared.u32 %r0, [stage+48]", 1), check_status::verified);
}

// ---- forms that need compute capability 10.0

TEST(check_copies, that_are_masked_write_some_bytes_of_each_piece) {
  const std::string fill =
      "st.shared.v4.u32 [stage], {0x01010101, 0x02020202, 0x03030303, 0x04040404}; fence.proxy.async.shared::cta;";
  const auto copy = [](const std::string& mask) {
    return "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [to], [stage], 16, " + mask + "; cp.async.bulk.commit_group;";
  };
  expect(fill + copy("0x0f06") + done + holds("global.u32 %r0, [to]", 0x00010100) +
             holds("global.u32 %r0, [to+8]", 0x03030303) + holds("global.u32 %r0, [to+4]", 0) +
             holds("global.u32 %r0, [to+12]", 0),
         check_status::verified);
  const std::string other = by(1, "st.global.u8 [to+3], 9;");
  expect(other + by(0, fill + copy("0x0007") + done), check_status::verified, "", 2);
  expect(other + by(0, fill + copy("0x000f") + done), check_status::race, "to", 2);
}

TEST(check_copies, bulk_stores_of_zeros_are_stores_of_their_thread) {
  const std::string zeros = "st.bulk.weak.shared::cta [stage+8], 16, 0;";
  expect("st.shared.u32 [stage+8], 7; st.shared.u32 [stage+24], 8; st.shared.u32 [stage+4], 6;" + zeros +
             holds("shared.u32 %r0, [stage+8]", 0) + holds("shared.u32 %r0, [stage+20]", 0) +
             holds("shared.u32 %r0, [stage+24]", 8) + holds("shared.u32 %r0, [stage+4]", 6),
         check_status::verified);
  expect(by(0, zeros) + by(1, "ld.shared.u32 %r0, [stage+16];"), check_status::race, "stage", 2);
  expect(by(0, zeros) + "bar.sync 0;" + by(1, holds("shared.u32 %r0, [stage+16]", 0)), check_status::verified, "", 2);
  expect("st.bulk.weak.shared::cta [stage+8], 16, 0; st.shared.v2.u32 [stage], {0, 0};" + take + done, check_status::race,
         "a proxy fence is missing");
  expect("st.bulk.weak.shared::cta [stage], 16, 0; fence.proxy.async.shared::cta;" + take + done, check_status::verified);
}

TEST(check_copies, asynchronous_stores_that_release_pass_on_what_came_before) {
  const auto sent = [](const std::string& store) { return by(0, "st.global.u32 [to], 7;" + store); };
  const std::string seen = "S: ld.acquire.gpu.global.u32 %r0, [flag]; setp.eq.u32 %p1, %r0, 0; @%p1 bra S;";
  const std::string read = by(1, seen + holds("global.u32 %r0, [to]", 7));
  expect(sent("st.async.release.gpu.global.b32 [flag], 1;") + read, check_status::verified, "", 2);
  expect(sent("st.async.mmio.release.sys.global.b32 [flag], 1;") + read, check_status::verified, "", 2);
  expect(sent("red.async.release.gpu.global.add.u32 [flag], 1;") + read, check_status::verified, "", 2);
  expect("st.async.release.gpu.global.b32 [flag], 1;" + by(0, "st.global.u32 [to], 7;") + read, check_status::race, "to", 2);
  expect(
      sent("st.async.release.gpu.global.b32 [flag], 1;") + by(1,
                                                              "ld.relaxed.gpu.global.u32 %r0, [flag]; setp.eq.u32 %p1, %r0, 0;"
                                                              "@%p1 bra Z;" +
                                                                  holds("global.u32 %r0, [to]", 7) + "Z:"),
      check_status::race, "to", 2);
  // Program order does not order the instruction before the instructions that follow it.
  expect(
      "st.async.release.gpu.global.b32 [flag], 1; ld.relaxed.gpu.global.u32 %r0, [flag]; setp.ne.u32 %p1, %r0, 1; @%p1 trap;",
      check_status::violated);
}

TEST(check_copies, the_answer_of_launch_control_completes_at_an_mbarrier) {
  const std::string ask =
      "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;"
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [stage], [bar];";
  const std::string query =
      "ld.shared.b128 %q0, [stage]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q0; @%p3 trap;";
  expect(init + ask + wait + query, check_status::verified);
  expect(init + ask + query + wait, check_status::race, "stage");
  const std::string again =
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [stage], [bar];"
      "V: mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 1; @!%p0 bra V;";
  const std::string expect_again = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;";
  expect(init + ask + wait + query + "fence.proxy.async.shared::cta;" + expect_again + again, check_status::verified);
  expect(init + ask + wait + query + expect_again + again, check_status::race, "a proxy fence is missing");
}

}  // namespace
}  // namespace async_copy_tests
