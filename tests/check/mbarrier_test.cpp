// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests mbarriers, cluster barriers and a cluster's shared memory in the checker: which accesses they order, and which uses are
// faults.
#include <tests/check/ptx_programs.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mbarrier_tests {
namespace {

using namespace membar_test;
using check::check_status;

/// A launch in which the n-th thread of each block executes the n-th code string after thread 0 has executed `begin`.
struct block_of_threads {
  std::string begin;
  std::vector<std::string> bodies;
  std::uint32_t blocks = 1;
  std::string all_begin = "bar.sync 0;";

  [[nodiscard]] check::check_result explore(const check::check_options& options = {}) const {
    std::string text = "mov.u32 %r15, %tid.x; mov.u32 %r14, %cluster_ctarank; setp.ne.u32 %p7, %r15, 0; @%p7 bra BEGUN;" +
                       begin + "BEGUN: " + all_begin;
    for (std::size_t t = 0; t < bodies.size(); ++t) {
      const std::string n = std::to_string(t);
      text += "setp.ne.u32 %p7, %r15, " + n + "; @%p7 bra NEXT" + n + ";" + bodies[t] + " bra END; NEXT" + n + ": ";
    }
    check::launch_request request;
    request.block[0] = static_cast<std::uint32_t>(bodies.size());
    request.grid[0] = blocks;
    request.cluster = blocks > 1 ? static_cast<int>(blocks) : 0;
    return check::explore(
        program_of_launch(".shared .align 8 .b64 bar;\n.shared .align 16 .u32 data;\n.shared .align 16 .u32 more;\n"
                          ".global .u32 x;\n",
                          text + "END: ", request),
        {}, options);
  }
};

void expect(const block_of_threads& launch, check_status status, const std::string& words = "") {
  const check::check_result r = launch.explore();
  EXPECT_EQ(r.status, status) << r.found.message;
  EXPECT_NE(r.found.message.find(words), std::string::npos) << r.found.message;
}

std::string init(int count) { return "mbarrier.init.shared.b64 [bar], " + std::to_string(count) + ";"; }
const std::string store = "st.shared.u32 [data], 7;";
const std::string load = "ld.shared.u32 %r0, [data];";
std::string wait(const std::string& parity, const std::string& label, const std::string& order = "") {
  return label + ": mbarrier.try_wait.parity" + order + ".shared::cta.b64 %p0, [bar], " + parity + "; @!%p0 bra " + label + ";";
}
const std::string arrive = "mbarrier.arrive.shared.b64 %rd0, [bar];";

TEST(check_mbarrier, a_wait_sees_what_an_arrival_released) {
  expect({init(1), {store + arrive, wait("0", "W") + load}}, check_status::verified);
}

TEST(check_mbarrier, a_wait_sees_what_every_arrival_of_its_phase_released) {
  expect({init(2), {store + arrive, "st.shared.u32 [more], 1;" + arrive, wait("0", "W") + load + "ld.shared.u32 %r1, [more];"}},
         check_status::verified);
}

TEST(check_mbarrier, a_relaxed_arrival_releases_nothing) {
  expect({init(1), {store + "mbarrier.arrive.relaxed.cta.shared::cta.b64 %rd0, [bar];", wait("0", "W") + load}},
         check_status::race);
}

TEST(check_mbarrier, a_relaxed_wait_acquires_nothing) {
  expect({init(1), {store + arrive, wait("0", "W", ".relaxed.cta") + load}}, check_status::race);
}

TEST(check_mbarrier, fences_synchronize_through_relaxed_operations) {
  expect({init(1),
          {store + "fence.acq_rel.cta; mbarrier.arrive.relaxed.cta.shared::cta.b64 %rd0, [bar];",
           wait("0", "W", ".relaxed.cta") + "fence.acq_rel.cta;" + load}},
         check_status::verified);
}

TEST(check_mbarrier, a_failed_test_acquires_nothing) {
  expect({init(2), {store + arrive, "mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0;" + load}}, check_status::race);
}

TEST(check_mbarrier, a_wait_for_the_phase_before_the_first_passes_at_once) {
  expect({init(1), {store + arrive, "mbarrier.test_wait.parity.shared.b64 %p0, [bar], 1; @%p0 " + load}}, check_status::race);
}

TEST(check_mbarrier, phases_follow_each_other) {
  expect({init(2),
          {store + arrive + wait("0", "A") + "st.shared.u32 [more], 1;" + arrive,
           arrive + wait("0", "B") + arrive + wait("1", "C") + load + "ld.shared.u32 %r1, [more];"}},
         check_status::verified);
}

TEST(check_mbarrier, a_wait_for_a_phase_that_ended_twice_hangs) {
  const std::string two = arrive + wait("0", "V") + arrive;
  expect({init(1), {two, wait("0", "W")}}, check_status::hang);
}

TEST(check_mbarrier, a_phase_is_waited_for_before_an_arrival_at_the_next_one) {
  expect({init(1), {arrive + arrive}}, check_status::undefined, "without a preceding successful wait for the previous phase");
  expect({init(1), {arrive + wait("0", "W") + arrive}}, check_status::verified);
}

TEST(check_mbarrier, it_is_initialized_by_a_count_and_once) {
  expect({init(0), {""}}, check_status::undefined, "a count of 0");
  expect({init(1) + init(1), {""}}, check_status::undefined, "a valid mbarrier");
  expect({init(1) + "mbarrier.inval.shared.b64 [bar];" + init(1), {arrive}}, check_status::verified);
}

TEST(check_mbarrier, the_release_chain_continues_through_later_phases) {
  const std::string relaxed = wait("0", "V", ".relaxed.cta") + "mbarrier.arrive.relaxed.cta.shared::cta.b64 %rd0, [bar];";
  expect({init(1), {store + arrive, relaxed + wait("1", "W") + load}}, check_status::verified);
  expect({init(1), {store + arrive, relaxed + wait("1", "W", ".relaxed.cta") + load}}, check_status::race);
}

TEST(check_mbarrier, an_arrival_returns_the_phase_that_a_test_asks_for) {
  const std::string meet = arrive + "W: mbarrier.test_wait.shared.b64 %p0, [bar], %rd0; @!%p0 bra W;";
  const std::string other = arrive + "V: mbarrier.test_wait.shared.b64 %p0, [bar], %rd0; @!%p0 bra V;";
  expect({init(2), {store + meet, other + load}}, check_status::verified);
  expect({init(3), {store + meet, other + load}}, check_status::hang);
}

TEST(check_mbarrier, a_phase_that_lacks_an_arrival_hangs) {
  expect({init(2), {arrive, wait("0", "W")}}, check_status::hang, "threads wait");
}

TEST(check_mbarrier, bytes_that_are_expected_hold_the_phase_open) {
  const std::string expects = store + "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd0, [bar], 16;";
  const std::string complete = "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;";
  expect({init(1), {expects + complete, wait("0", "W") + load}}, check_status::verified);
  expect({init(1), {expects, wait("0", "W") + load}}, check_status::hang);
}

TEST(check_mbarrier, bytes_may_be_completed_before_they_are_expected) {
  expect({init(1),
          {"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;" + store + arrive,
           "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;", wait("0", "W") + load}},
         check_status::verified);
}

TEST(check_mbarrier, an_arrival_that_drops_out_is_no_longer_expected) {
  expect({init(2),
          {store + "mbarrier.arrive_drop.shared.b64 %rd0, [bar];", arrive + wait("0", "V") + arrive + wait("1", "W") + load}},
         check_status::verified);
}

TEST(check_mbarrier, an_arrival_that_drops_out_may_expect_bytes_before) {
  const std::string drops = store + "mbarrier.arrive_drop.expect_tx.release.cta.shared::cta.b64 %rd0, [bar], 16;";
  const std::string brings = "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;";
  const std::string other = arrive + wait("0", "V") + load + arrive + wait("1", "W");
  expect({init(2), {drops + brings, other}}, check_status::verified);
  expect({init(2), {drops, other}}, check_status::hang);
}

TEST(check_mbarrier, more_arrivals_than_a_phase_expects_are_a_fault) {
  expect({init(1), {"mbarrier.arrive.release.cta.shared::cta.b64 %rd0, [bar], 2;"}}, check_status::undefined, "more often");
}

TEST(check_mbarrier, an_arrival_that_keeps_the_phase_must_not_complete_it) {
  const std::string keeps = "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %rd0, [bar], 1;";
  expect({init(2), {store + keeps, wait("0", "W") + load}}, check_status::hang);
  expect({init(1), {keeps}}, check_status::undefined, ".noComplete");
}

TEST(check_mbarrier, the_arrivals_that_are_pending_are_counted) {
  const std::string count =
      arrive + "mbarrier.pending_count.b64 %r0, %rd0; setp.eq.u32 %p0, %r0, 3; @%p0 bra FINE; trap; FINE:";
  expect({init(3), {count}}, check_status::verified);
  expect({init(2), {count}}, check_status::violated, "traps");
}

TEST(check_mbarrier, an_uninitialized_mbarrier_is_found) {
  expect({"", {arrive}}, check_status::uninitialised);
  expect({init(1) + "mbarrier.inval.shared.b64 [bar];", {arrive}}, check_status::undefined, "not initialized");
}

TEST(check_mbarrier, its_initialization_comes_before_its_use) {
  block_of_threads launch{"", {init(1) + arrive, wait("0", "W")}, 1, ""};
  expect(launch, check_status::race, "bar");
}

TEST(check_mbarrier, a_value_that_is_written_in_its_place_is_seen_by_nobody_without_order) {
  expect({init(1), {"st.shared.u64 [bar], 0;", arrive}}, check_status::race);
}

// ---- clusters: both blocks execute the same code, and %r14 is the block's rank

std::string of_rank(int rank, const std::string& body, const std::string& label) {
  return "setp.ne.u32 %p6, %r14, " + std::to_string(rank) + "; @%p6 bra " + label + ";" + body + label + ": ";
}
const std::string cluster_sync = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";

/// Rank 1 stores to global memory and arrives at rank 0's mbarrier. Rank 0 waits for the phase and then
/// reads.
block_of_threads remote_arrival(const std::string& arrival, const std::string& waiting_order, const std::string& begin_order) {
  return {
      init(1) + "fence.mbarrier_init.release.cluster;",
      {of_rank(1, "st.global.u32 [x], 1; mov.u32 %r1, bar; mapa.shared::cluster.u32 %r2, %r1, 0;" + arrival + "[%r2];", "A") +
       of_rank(0, wait("0", "W", waiting_order) + "ld.global.u32 %r0, [x];", "B") + cluster_sync},
      2,
      begin_order};
}

TEST(check_cluster, a_remote_arrival_releases_at_cluster_scope) {
  expect(remote_arrival("mbarrier.arrive.release.cluster.shared::cluster.b64 _, ", ".acquire.cluster", cluster_sync),
         check_status::verified);
  expect(remote_arrival("mbarrier.arrive.release.cta.shared::cluster.b64 _, ", ".acquire.cluster", cluster_sync),
         check_status::race);
  expect(remote_arrival("mbarrier.arrive.release.cluster.shared::cluster.b64 _, ", ".acquire.cta", cluster_sync),
         check_status::race);
  expect(remote_arrival("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, ", ".acquire.cluster", cluster_sync),
         check_status::race);
}

TEST(check_cluster, a_fence_for_initializations_is_enough_before_a_relaxed_arrival) {
  const std::string relaxed = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;";
  const std::string arrival = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, ";
  expect(remote_arrival(arrival, ".acquire.cluster", relaxed), check_status::verified);
  block_of_threads without = remote_arrival(arrival, ".acquire.cluster", relaxed);
  without.begin = init(1);
  expect(without, check_status::race, "bar of block 0");
}

/// Each block stores to its own shared memory, passes a cluster barrier, and reads what the other block has stored.
block_of_threads swapped_after(const std::string& sync_point) {
  return {
      "",
      {"st.shared.u32 [data], %r14; " + sync_point +
       " xor.b32 %r1, %r14, 1; mov.u32 %r2, data; mapa.shared::cluster.u32 %r3, %r2, %r1; ld.shared::cluster.u32 %r4, [%r3];"
       "setp.eq.u32 %p0, %r4, %r1; @%p0 bra FINE; trap; FINE: " +
       cluster_sync},
      2,
      ""};
}

TEST(check_cluster, its_barrier_orders_the_shared_memory_of_its_blocks) {
  expect(swapped_after(cluster_sync), check_status::verified);
  expect(swapped_after("barrier.cluster.arrive.relaxed; barrier.cluster.wait;"), check_status::race);
  expect(swapped_after("fence.acq_rel.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait;"), check_status::verified);
  expect(swapped_after("fence.acq_rel.cta; barrier.cluster.arrive.relaxed; barrier.cluster.wait;"), check_status::race);
  expect(swapped_after("fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait;"),
         check_status::race);
}

TEST(check_cluster, what_is_between_its_arrival_and_its_wait_is_not_ordered) {
  block_of_threads late = swapped_after("");
  late.bodies[0] = "barrier.cluster.arrive;" + late.bodies[0];
  late.bodies[0].replace(late.bodies[0].find(" xor"), 1, " barrier.cluster.wait; ");
  expect(late, check_status::race);
}

TEST(check_cluster, its_barrier_takes_an_arrival_and_a_wait_in_turn) {
  expect({"", {"barrier.cluster.arrive; barrier.cluster.arrive;"}, 2, ""}, check_status::undefined, "twice");
  expect({"", {"barrier.cluster.wait;"}, 2, ""}, check_status::undefined, "without an arrival");
}

TEST(check_cluster, a_block_must_not_exit_while_others_access_its_memory) {
  const std::string meet = "barrier.cluster.arrive; barrier.cluster.wait;";
  const std::string there = "xor.b32 %r13, %r14, 1; mov.u32 %r12, data; mapa.shared::cluster.u32 %r10, %r12, %r13;";
  const auto two = [&](const std::string& body) { return block_of_threads{"", {there + body}, 2, ""}; };
  const std::string own = "st.shared.u32 [data], 1;";
  for (const std::string access :
       {"ld.shared::cluster.u32 %r0, [%r10];", "st.shared::cluster.u32 [%r10], 2;", "red.shared::cluster.add.u32 [%r10], 1;",
        "atom.relaxed.cluster.shared::cluster.add.u32 %r0, [%r10], 1;"}) {
    const std::string begin = access.starts_with("st") ? "" : own;
    expect(two(begin + meet + access + meet), check_status::verified);
    expect(two(begin + meet + access), check_status::undefined, "before the end of block");
  }
  expect(two("st.shared::cluster.u32 [%r10], 2;" + meet), check_status::undefined, "after the start of block");
  expect({"", {there + meet + "ld.shared::cluster.u32 %r0, [%r10];" + meet}, 2, ""}, check_status::uninitialised);
  // A relaxed cluster barrier does not order the access.
  const std::string relaxed = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;";
  expect(two(own + meet + "ld.shared::cluster.u32 %r0, [%r10];" + relaxed), check_status::undefined, "before the end of block");
}

TEST(check_cluster, a_block_may_exit_after_it_acquires_a_flag_that_follows_the_access) {
  // Block 1 waits for a flag that block 0 raises after its access.
  const std::string there =
      "xor.b32 %r13, %r14, 1; mov.u32 %r12, data; mapa.shared::cluster.u32 %r10, %r12, %r13;"
      "barrier.cluster.arrive; barrier.cluster.wait; setp.ne.u32 %p1, %r14, 0; @%p1 bra ONE;";
  const auto flagged = [&](const std::string& raise) {
    return block_of_threads{"",
                            {there + "st.shared::cluster.u32 [%r10], 2;" + raise +
                             "bra END; ONE: ld.acquire.gpu.global.u32 %r0, [x];"
                             "setp.eq.u32 %p0, %r0, 0; @%p0 bra ONE;"},
                            2,
                            ""};
  };
  expect(flagged("st.release.gpu.global.u32 [x], 1;"), check_status::verified);
  expect(flagged("st.relaxed.gpu.global.u32 [x], 1;"), check_status::undefined, "before the end of block 1");
}

TEST(check_cluster, the_window_of_a_block_is_its_own) {
  const std::string meet = "barrier.cluster.arrive; barrier.cluster.wait;";
  const auto of_other = [&](const std::string& begin, const std::string& access) {
    return block_of_threads{begin,
                            {meet +
                             "xor.b32 %r13, %r14, 1; mov.u32 %r12, bar; mapa.shared::cluster.u32 %r11, %r12, %r13;"
                             "mov.u32 %r12, data; mapa.shared::cluster.u32 %r10, %r12, %r13;" +
                             access + meet},
                            2,
                            ""};
  };
  expect(of_other("", "st.shared::cluster.u32 [%r10], 1;"), check_status::verified);
  expect(of_other("", "st.shared::cta.u32 [%r10], 1;"), check_status::undefined,
         "can access only its own block's shared memory");
  expect(of_other("", "st.shared.u32 [%r10], 1;"), check_status::undefined, "can access only its own block's shared memory");
  expect(of_other("", "red.shared.add.u32 [%r10], 1;"), check_status::undefined);
  expect(of_other(init(2), "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];"), check_status::verified);
  expect(of_other(init(1), "mbarrier.arrive.shared.b64 %rd0, [%r11];"), check_status::undefined);
  expect(of_other(init(1), "mbarrier.test_wait.parity.shared.b64 %p0, [%r11], 1;"), check_status::undefined);
  expect(of_other("", "mbarrier.init.shared.b64 [%r11], 1;"), check_status::undefined);
  expect(of_other("", "cvta.shared.u64 %rd1, %r11; mbarrier.init.b64 [%rd1], 1;"), check_status::undefined);
}

TEST(check_cluster, addresses_lead_to_the_memory_of_a_block) {
  const std::string check_ranks =
      "mov.u32 %r2, data; mapa.shared::cluster.u32 %r3, %r2, 1; getctarank.shared::cluster.u32 %r4, %r3;"
      "cvta.shared.u64 %rd0, %rd1; cvt.u64.u32 %rd1, %r3; cvta.shared.u64 %rd0, %rd1; getctarank.u32 %r5, %rd0;"
      "cvta.to.shared.u64 %rd2, %rd0; cvt.u32.u64 %r6, %rd2; getctarank.shared::cluster.u32 %r7, %r6;"
      "cvt.u64.u32 %rd3, %r2; cvta.shared.u64 %rd3, %rd3; mapa.u64 %rd4, %rd3, 1; mov.u32 %r8, %cluster_nctarank;"
      "setp.eq.u64 %p0, %rd4, %rd0; setp.eq.and.u32 %p0, %r4, 1, %p0; setp.eq.and.u32 %p0, %r5, 1, %p0;"
      "setp.eq.and.u32 %p0, %r7, 1, %p0; setp.eq.and.u32 %p0, %r8, 2, %p0; @%p0 bra FINE; trap; FINE: ";
  expect({"", {check_ranks}, 2, ""}, check_status::verified);
}

TEST(check_cluster, a_block_outside_of_it_has_no_memory_in_it) {
  expect({"", {"mov.u32 %r2, data; mapa.shared::cluster.u32 %r3, %r2, 2; ld.shared::cluster.u32 %r4, [%r3];"}, 2, ""},
         check_status::out_of_bounds);
}

}  // namespace
}  // namespace mbarrier_tests
