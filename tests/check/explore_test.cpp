// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the findings of explorations. Counts that follow from the number of threads check that every execution is explored
// exactly once.
#include <tests/check/ptx_programs.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace membar_test;
using check::check_status;

std::uint64_t executions_of(const std::vector<std::string>& bodies) {
  const check::check_result r = ptx_program(bodies).explore();
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
  return r.counts.executions;
}

std::vector<std::string> times(int count, const std::string& body) {
  return std::vector<std::string>(static_cast<std::size_t>(count), body);
}

const std::string add_to_x = "atom.relaxed.gpu.global.add.u32 %r0, [x], 1;";

TEST(check_counts, atomics_of_n_threads_have_n_factorial_executions) {
  EXPECT_EQ(executions_of(times(1, add_to_x)), 1U);
  EXPECT_EQ(executions_of(times(2, add_to_x)), 2U);
  EXPECT_EQ(executions_of(times(3, add_to_x)), 6U);
  EXPECT_EQ(executions_of(times(4, add_to_x)), 24U);
  EXPECT_EQ(executions_of(times(5, add_to_x)), 120U);
  EXPECT_EQ(executions_of(times(6, add_to_x)), 720U);
}

TEST(check_counts, atomics_of_two_rounds_are_merged_in_every_order) {
  EXPECT_EQ(executions_of(times(2, add_to_x + add_to_x)), 6U);   // 4! / (2! 2!)
  EXPECT_EQ(executions_of(times(3, add_to_x + add_to_x)), 90U);  // 6! / (2! 2! 2!)
}

TEST(check_counts, one_writer_and_n_readers_have_two_to_the_n_executions) {
  const std::string read = "ld.relaxed.gpu.global.u32 %r0, [x];";
  for (int n = 1; n <= 6; ++n) {
    std::vector<std::string> bodies = times(n, read);
    bodies.insert(bodies.begin(), "st.relaxed.gpu.global.u32 [x], 1;");
    EXPECT_EQ(executions_of(bodies), std::uint64_t{1} << static_cast<unsigned>(n));
    bodies.push_back(bodies.front());
    bodies.erase(bodies.begin());
    EXPECT_EQ(executions_of(bodies), std::uint64_t{1} << static_cast<unsigned>(n)) << "with the writer last";
  }
}

TEST(check_counts, writers_of_one_cell_have_n_factorial_executions) {
  EXPECT_EQ(executions_of(times(4, "st.relaxed.gpu.global.u32 [x], 1;")), 24U);
}

TEST(check_counts, store_buffering_has_four_executions_and_three_with_fences) {
  const auto side = [](const std::string& mine, const std::string& other, const std::string& fence) {
    return "st.relaxed.gpu.global.u32 [" + mine + "], 1;" + fence + "ld.relaxed.gpu.global.u32 %r0, [" + other + "];";
  };
  EXPECT_EQ(executions_of({side("x", "y", ""), side("y", "x", "")}), 4U);
  EXPECT_EQ(executions_of({side("x", "y", "fence.acq_rel.gpu;"), side("y", "x", "fence.acq_rel.gpu;")}), 4U);
  EXPECT_EQ(executions_of({side("x", "y", "fence.sc.gpu;"), side("y", "x", "fence.sc.gpu;")}), 3U);
  EXPECT_EQ(executions_of({side("x", "y", "fence.sc.cta;"), side("y", "x", "fence.sc.cta;")}), 4U);
}

TEST(check_counts, private_accesses_do_not_multiply) {
  EXPECT_EQ(executions_of({"st.global.u32 [x], 1; ld.global.u32 %r0, [x];", "st.global.u32 [y], 1; ld.global.u32 %r0, [y];"}),
            1U);
}

TEST(check_counts, failed_compare_and_swaps_do_not_multiply) {
  // A failed attempt leads to the same state as a load before the loop that reads the new value at once.
  const std::string add =
      "ld.relaxed.gpu.global.u32 %r0, [x]; L: add.u32 %r1, %r0, 1; mov.u32 %r3, %r0;"
      "atom.relaxed.gpu.global.cas.b32 %r0, [x], %r3, %r1; setp.ne.u32 %p0, %r0, %r3; @%p0 bra L;";
  EXPECT_EQ(executions_of({add, add}), 2U);
  EXPECT_EQ(executions_of({add, add, add}), 6U);
  EXPECT_EQ(executions_of({add, add, add, add}), 24U);
}

TEST(check_counts, attempts_that_change_something_else_are_all_there) {
  // The number of attempts is part of the result.
  const std::string add =
      "ld.relaxed.gpu.global.u32 %r0, [x]; L: add.u32 %r4, %r4, 1; add.u32 %r1, %r0, 1; mov.u32 %r3, %r0;"
      "atom.relaxed.gpu.global.cas.b32 %r0, [x], %r3, %r1; setp.ne.u32 %p0, %r0, %r3; @%p0 bra L; st.global.u32 [y], %r4;";
  const std::string other = "atom.relaxed.gpu.global.add.u32 %r0, [x], 1;";
  EXPECT_EQ(executions_of({add, other}), 3U);
}

// ---- load buffering

check::check_result buffered(const std::string& between_0, const std::string& between_1, const std::string& stored = "1",
                             bool explored = true) {
  check::check_options options;
  options.load_buffering = explored;
  const auto side = [&](const std::string& from, const std::string& to, const std::string& between) {
    return "ld.relaxed.gpu.global.u32 %r0, [" + from + "];" + between + "st.relaxed.gpu.global.u32 [" + to + "], " + stored +
           ";";
  };
  return ptx_program({side("x", "y", between_0), side("y", "x", between_1)}).explore({}, options);
}

TEST(check_buffers_loads, where_no_dependency_forbids_it) {
  EXPECT_EQ(buffered("", "").counts.buffered, 1U);
  EXPECT_EQ(buffered("", "").counts.executions, 4U);
  EXPECT_EQ(buffered("", "", "1", false).counts.executions, 3U);
  EXPECT_TRUE(buffered("", "", "1", false).load_buffering_is_open);
}

TEST(check_buffers_loads, not_through_dependencies) {
  const std::string branch = "setp.eq.u32 %p0, %r0, 0; @%p0 bra S; S: ";
  const std::string address =
      "and.b32 %r1, %r0, 0; cvt.u64.u32 %rd0, %r1; mov.u64 %rd1, z; add.u64 %rd1, %rd1, %rd0;"
      "ld.relaxed.gpu.global.u32 %r2, [%rd1]; add.u32 %r3, %r2, 1;";
  EXPECT_EQ(buffered(branch, branch).counts.buffered, 0U);
  EXPECT_FALSE(buffered(branch, branch, "1", false).load_buffering_is_open);
  EXPECT_EQ(buffered("add.u32 %r3, %r0, 1;", "add.u32 %r3, %r0, 1;", "%r3").counts.buffered, 0U);
  EXPECT_EQ(buffered(address, address, "%r3").counts.buffered, 0U);
  EXPECT_EQ(buffered("setp.eq.u32 %p0, %r0, 0; selp.b32 %r3, 1, 1, %p0;", branch + "mov.u32 %r3, 1;", "%r3").counts.buffered,
            0U);
  const std::string local = ".local .align 4 .b8 l[4]; st.local.u32 [l], %r0; ld.local.u32 %r3, [l];";
  EXPECT_EQ(buffered(local, local, "%r3").counts.buffered, 0U);
}

TEST(check_buffers_loads, if_one_of_the_threads_has_no_dependency) {
  EXPECT_EQ(buffered("setp.eq.u32 %p0, %r0, 0; @%p0 bra S; S: ", "").counts.buffered, 1U);
  EXPECT_EQ(buffered("setp.eq.u32 %p0, %r0, 0; @%p0 add.u32 %r4, %r4, 1;", "").counts.buffered, 1U);
}

TEST(check_buffers_loads, not_past_fences) {
  EXPECT_EQ(buffered("fence.acq_rel.gpu;", "fence.acq_rel.gpu;").counts.buffered, 0U);
  EXPECT_EQ(buffered("fence.acq_rel.gpu;", "").counts.buffered, 1U);
  EXPECT_EQ(buffered("fence.acq_rel.cta;", "fence.acq_rel.cta;").counts.buffered, 1U);
}

TEST(check_buffers_loads, and_finds_faults_that_only_load_buffering_shows) {
  // An unordered store depends on a value that can occur only through a cycle of program order and reads-from.
  const std::string first = "ld.relaxed.gpu.global.u32 %r0, [x]; st.relaxed.gpu.global.u32 [y], 1;";
  const std::string second = "ld.relaxed.gpu.global.u32 %r0, [y]; st.relaxed.gpu.global.u32 [x], 1;";
  const std::string then = "setp.eq.u32 %p0, %r0, 0; @%p0 bra S; red.relaxed.gpu.global.add.u32 [z], 1; S:";
  ptx_program p({first + then, second + then});
  const check::check_result r = p.explore(
      [&](const check::final_memory& end) { return end.value(p.address("z"), 4) == 2 ? std::string("both saw") : ""; });
  EXPECT_EQ(r.status, check_status::violated);
  EXPECT_EQ(r.found.events.size(), 8U);
}

/// Two lanes of a warp each load what the other lane stores, and then exchange the loaded values.
check::check_result buffered_by_lanes(const std::string& between, const std::string& stored, const std::string& after = "") {
  ptx_program p(
      {"mov.u32 %r5, %tid.x; mov.u64 %rd0, x; mov.u64 %rd1, y; setp.ne.u32 %p0, %r5, 0; selp.b64 %rd2, %rd1, %rd0, %p0;"
       "selp.b64 %rd3, %rd0, %rd1, %p0; ld.relaxed.gpu.global.u32 %r0, [%rd2]; setp.ne.u32 %p1, %r0, 0;" +
       between + "st.relaxed.gpu.global.u32 [%rd3], " + stored + ";" + after},
      2);
  return p.explore(
      [&](const check::final_memory& end) { return end.value(p.address("z"), 4) == 2 ? std::string("both saw") : ""; });
}

TEST(check_buffers_loads, past_exchanges_of_lanes_that_no_store_depends_on) {
  const std::string shuffle = "shfl.sync.bfly.b32 %r1|%p2, %r0, 1, 31, 3;";
  const std::string vote = "vote.sync.any.pred %p2, %p1, 3;";
  for (const std::string& exchange : {shuffle, vote, std::string("match.any.sync.b32 %r1, %r0, 3;"),
                                      std::string("redux.sync.add.u32 %r1, %r0, 3;"), std::string("elect.sync %r1|%p2, 3;")}) {
    const check::check_result r = buffered_by_lanes(exchange, "1");
    EXPECT_EQ(r.status, check_status::verified) << exchange << r.found.message;
    EXPECT_EQ(r.counts.executions, 4U) << exchange;
    EXPECT_EQ(r.counts.buffered, 3U)
        << exchange
        << ": even one read of the other lane's store needs load buffering, because that store follows the exchange";
  }
  EXPECT_EQ(buffered_by_lanes("", "1", shuffle + vote + shuffle).counts.buffered, 1U);
}

TEST(check_buffers_loads, not_through_what_lanes_exchange) {
  const auto none = [](const check::check_result& r) {
    EXPECT_EQ(r.status, check_status::verified) << r.found.message;
    EXPECT_EQ(r.counts.buffered, 0U);
  };
  const std::string shuffle = "shfl.sync.bfly.b32 %r1|%p2, %r0, 1, 31, 3;";
  none(buffered_by_lanes(shuffle + "add.u32 %r3, %r1, 1;", "%r3"));
  none(buffered_by_lanes(shuffle + "setp.eq.u32 %p3, %r1, 0; @%p3 bra S; S:", "1"));
  none(buffered_by_lanes("vote.sync.any.pred %p2, %p1, 3; selp.u32 %r3, 1, 1, %p2;", "%r3"));
  // A second exchange returns each lane's own value: either store may be read early, but not both.
  const std::string twice = shuffle + "shfl.sync.bfly.b32 %r2|%p2, %r1, 1, 31, 3; or.b32 %r3, %r2, 1;";
  EXPECT_EQ(buffered_by_lanes(twice, "%r3").counts.buffered, 2U);
  EXPECT_EQ(buffered_by_lanes(shuffle + "or.b32 %r3, %r0, 1;", "%r3").counts.buffered, 2U);
}

TEST(check_buffers_loads, and_lanes_exchange_values_that_only_buffering_produces) {
  const std::string count = "setp.eq.u32 %p3, %r1, 0; @%p3 bra S; red.relaxed.gpu.global.add.u32 [z], 1; S:";
  EXPECT_EQ(buffered_by_lanes("", "1", "shfl.sync.bfly.b32 %r1|%p2, %r0, 1, 31, 3;" + count).status, check_status::violated);
  EXPECT_EQ(buffered_by_lanes("", "1", "redux.sync.min.u32 %r1, %r0, 3;" + count).status, check_status::violated);
  EXPECT_EQ(buffered_by_lanes("fence.acq_rel.gpu;", "1", "redux.sync.min.u32 %r1, %r0, 3;" + count).status,
            check_status::verified);
}

TEST(check_buffers_loads, and_gives_up_where_that_takes_too_long) {
  check::check_options options;
  options.most_buffered_steps = 3;
  const std::string side =
      "ld.relaxed.gpu.global.u32 %r0, [x]; st.relaxed.gpu.global.u32 [y], 1; st.relaxed.gpu.global.u32 [x], 1;"
      "ld.relaxed.gpu.global.u32 %r0, [y];";
  EXPECT_EQ(
      ptx_program({side, "ld.relaxed.gpu.global.u32 %r0, [y]; st.relaxed.gpu.global.u32 [x], 1;"}).explore({}, options).status,
      check_status::gave_up);
}

// ---- message passing

std::string wait_for(const std::string& how, const std::string& variable) {
  return "W: ld." + how + ".global.u32 %r0, [" + variable + "]; setp.eq.u32 %p0, %r0, 0; @%p0 bra W;";
}

check::check_result pass(const std::string& release, const std::string& acquire, const std::string& after = "") {
  return ptx_program({"st.global.u32 [x], 7; " + release,
                      wait_for(acquire, "y") + after + "ld.global.u32 %r1, [x];" + "st.global.u32 [z], %r1;"})
      .explore();
}

TEST(check_finds, nothing_in_message_passing_with_release_and_acquire) {
  ptx_program p({"st.global.u32 [x], 7; st.release.gpu.global.u32 [y], 1;",
                 wait_for("acquire.gpu", "y") + "ld.global.u32 %r1, [x]; st.global.u32 [z], %r1;"});
  const check::check_result r = p.explore(
      [&](const check::final_memory& end) { return end.value(p.address("z"), 4) == 7 ? std::string() : "z is not 7"; });
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
  EXPECT_EQ(r.counts.executions, 1U);
}

TEST(check_finds, a_race_in_message_passing_without_an_order) {
  EXPECT_EQ(pass("st.relaxed.gpu.global.u32 [y], 1;", "acquire.gpu").status, check_status::race);
  EXPECT_EQ(pass("st.release.gpu.global.u32 [y], 1;", "relaxed.gpu").status, check_status::race);
  EXPECT_EQ(pass("st.volatile.global.u32 [y], 1;", "volatile").status, check_status::race);
  EXPECT_EQ(pass("st.release.cta.global.u32 [y], 1;", "acquire.cta").status, check_status::race);
}

TEST(check_finds, nothing_in_message_passing_with_fences) {
  EXPECT_EQ(pass("fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [y], 1;", "relaxed.gpu", "fence.acq_rel.gpu;").status,
            check_status::verified);
  EXPECT_EQ(pass("membar.gl; st.volatile.global.u32 [y], 1;", "volatile", "membar.gl;").status, check_status::verified);
  EXPECT_EQ(pass("red.release.gpu.global.add.u32 [y], 1;", "acquire.gpu").status, check_status::verified);
}

TEST(check_finds, a_race_where_an_acquire_fence_is_missing) {
  const std::string release = "st.release.gpu.global.u32 [y], 1;";
  EXPECT_EQ(pass(release, "relaxed.gpu", "fence.acquire.gpu;").status, check_status::verified);
  EXPECT_EQ(pass(release, "relaxed.gpu", "fence.release.gpu;").status, check_status::race);
}

TEST(check_finds, that_the_read_of_a_reduction_acquires_nothing_with_a_fence) {
  const auto stale = [](const std::string& rmw) {
    ptx_program p({"st.relaxed.gpu.global.u32 [x], 1; st.release.gpu.global.u32 [y], 1;",
                   rmw + "fence.acquire.gpu; ld.relaxed.gpu.global.u32 %r1, [x]; st.global.u32 [z], %r1;"});
    return p
        .explore([&](const check::final_memory& end) {
          return end.value(p.address("y"), 4) == 2 && end.value(p.address("z"), 4) == 0 ? "stale" : "";
        })
        .status;
  };
  EXPECT_EQ(stale("red.relaxed.gpu.global.add.u32 [y], 1;"), check_status::violated);
  EXPECT_EQ(stale("atom.relaxed.gpu.global.add.u32 %r0, [y], 1;"), check_status::verified);
}

TEST(check_finds, a_race_between_accesses_of_different_sizes) {
  EXPECT_EQ(ptx_program({"st.relaxed.sys.global.u32 [wide], 1;", "ld.relaxed.sys.global.u64 %rd0, [wide];"}).explore().status,
            check_status::race);
}

TEST(check_finds, both_accesses_of_a_race_whatever_their_sizes) {
  const auto blamed = [](const std::vector<std::string>& bodies) {
    std::string accesses;
    for (const check::trace_event& e : ptx_program(bodies).explore().found.events) {
      accesses += e.blamed ? (accesses.empty() ? "" : "; ") + e.what : "";
    }
    return accesses;
  };
  EXPECT_EQ(blamed({"st.global.u32 [wide+4], 1;", "ld.global.u64 %rd0, [wide];"}),
            "writes 1 to wide+4; reads an undetermined value from wide");
  EXPECT_EQ(blamed({"st.global.u64 [wide], 1;", "ld.global.u32 %r0, [wide+4];"}),
            "writes 1 to wide; reads an undetermined value from wide+4");
  EXPECT_EQ(blamed({"st.global.u64 [wide], 1;", "st.global.u32 [wide+4], 2;"}), "writes 1 to wide; writes 2 to wide+4");
  EXPECT_EQ(blamed({"st.global.u32 [x], 1;", "ld.global.nc.u32 %r0, [x];"}),
            "writes 1 to x; reads an undetermined value from x");
}

TEST(check_finds, a_value_made_of_two_writes_that_are_ordered_before) {
  ptx_program p(
      {"st.global.u32 [wide], 1; st.global.u32 [wide+4], 2; ld.global.u64 %rd0, [wide]; st.global.u64 [wide+8], %rd0;"});
  const check::check_result r = p.explore([&](const check::final_memory& end) {
    return end.value(p.address("wide") + 8, 8) == 0x200000001U ? std::string() : "wrong";
  });
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
}

// ---- waiting

TEST(check_finds, a_hang_where_nobody_writes_what_is_awaited) {
  const check::check_result r = ptx_program({"st.relaxed.gpu.global.u32 [x], 1;", wait_for("acquire.gpu", "y")}).explore();
  EXPECT_EQ(r.status, check_status::hang);
  ASSERT_EQ(r.found.waiting.size(), 2U);
  EXPECT_EQ(r.found.waiting[0], nullptr);
  EXPECT_NE(r.found.waiting[1], nullptr);
}

TEST(check_finds, that_a_word_which_was_written_in_pieces_is_awaited) {
  const auto awaited = [](const std::string& value) {
    return ptx_program({"st.global.u32 [wide], 0; st.global.u32 [wide+4], 0; st.release.gpu.global.u32 [x], 1;"
                        "W: ld.relaxed.gpu.global.u64 %rd0, [wide]; setp.eq.u64 %p0, %rd0, 0; @%p0 bra W;",
                        wait_for("acquire.gpu", "x") + "st.relaxed.gpu.global.u64 [wide], " + value + ";"})
        .explore()
        .status;
  };
  EXPECT_EQ(awaited("1"), check_status::verified);
  EXPECT_EQ(awaited("0"), check_status::hang);
}

TEST(check_finds, a_hang_of_two_locks_taken_crosswise) {
  const auto lock = [](const std::string& l, const std::string& label) {
    return label + ": atom.acquire.gpu.global.cas.b32 %r0, [" + l + "], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra " + label + ";";
  };
  const auto both = [&](const std::string& a, const std::string& b) {
    return lock(a, "A") + lock(b, "B") + "st.release.gpu.global.u32 [" + b + "], 0; st.release.gpu.global.u32 [" + a + "], 0;";
  };
  EXPECT_EQ(ptx_program({both("x", "y"), both("x", "y")}).explore().status, check_status::verified);
  EXPECT_EQ(ptx_program({both("x", "y"), both("y", "x")}).explore().status, check_status::hang);
}

TEST(check_finds, that_a_lock_by_exchange_excludes) {
  const std::string worker =
      "L: atom.acquire.gpu.global.exch.b32 %r0, [y], 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra L;"
      "ld.global.u32 %r1, [x]; add.u32 %r1, %r1, 1; st.global.u32 [x], %r1; st.release.gpu.global.u32 [y], 0;";
  ptx_program p(times(3, worker));
  const check::check_result r = p.explore([&](const check::final_memory& end) {
    return end.value(p.address("x"), 4) == 3 ? std::string() : "an increment is lost";
  });
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
  EXPECT_EQ(r.counts.executions, 6U);
}

TEST(check_finds, that_a_loop_which_counts_its_rounds_only_waits) {
  const std::string counting =
      "mov.u32 %r5, 0; mov.u64 %rd5, 0; W: ld.acquire.gpu.global.u32 %r0, [y]; setp.ne.u32 %p0, %r0, 0; @%p0 bra D;"
      "add.u32 %r5, %r5, 1; and.b32 %r6, %r5, 31; setp.ne.u32 %p1, %r6, 0; @%p1 bra W;"
      "mov.u64 %rd6, %globaltimer; setp.eq.u64 %p2, %rd5, 0; selp.b64 %rd5, %rd6, %rd5, %p2; sub.s64 %rd7, %rd6, %rd5;"
      "setp.lt.u64 %p3, %rd7, 1000; @%p3 bra W; trap; D: ld.global.u32 %r1, [x];";
  const check::check_result r = ptx_program({"st.global.u32 [x], 7; st.release.gpu.global.u32 [y], 1;", counting}).explore();
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
  EXPECT_EQ(r.counts.executions, 1U);
}

TEST(check_finds, that_a_loop_of_a_kernel_without_an_end_counts_to_a_store) {
  // No path leads to an exit, so no instruction is reached on every path after a branch.
  const std::string server =
      "mov.u32 %r5, 0; L: ld.relaxed.gpu.global.u32 %r0, [y]; add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 3;"
      "@%p0 bra L; st.relaxed.gpu.global.u32 [x], 1; M: ld.relaxed.gpu.global.u32 %r1, [y]; bra M;";
  EXPECT_EQ(ptx_program({server, wait_for("relaxed.gpu", "x") + "trap;"}).explore().status, check_status::violated);
}

TEST(check_finds, that_a_loop_which_only_reads_walks_out_of_memory) {
  // Nothing depends on the value that the loop reads from the changing address.
  const std::string walk =
      "mov.u64 %rd0, wide; L: ld.relaxed.gpu.global.u32 %r0, [%rd0]; add.u64 %rd0, %rd0, 4;"
      "ld.relaxed.gpu.global.u32 %r1, [y]; setp.eq.u32 %p0, %r1, 0; @%p0 bra L;";
  EXPECT_EQ(ptx_program({walk}).explore().status, check_status::out_of_bounds);
}

TEST(check_finds, a_fault_after_a_failed_attempt) {
  const std::string add =
      "ld.relaxed.gpu.global.u32 %r0, [x]; L: add.u32 %r1, %r0, 1; mov.u32 %r3, %r0;"
      "atom.relaxed.gpu.global.cas.b32 %r0, [x], %r3, %r1; setp.ne.u32 %p0, %r0, %r3; @%p0 bra L;";
  // The second thread reads y without an acquire, whether it has read 1 with its load or in a failed attempt.
  EXPECT_EQ(ptx_program({"st.global.u32 [y], 1;" + add, add + "setp.eq.u32 %p1, %r3, 1; @%p1 ld.global.u32 %r5, [y];"})
                .explore()
                .status,
            check_status::race);
  // The second thread waits for the count 3, but only two threads increment it, so it waits forever.
  EXPECT_EQ(
      ptx_program({add, add + "W: ld.relaxed.gpu.global.u32 %r5, [x]; setp.ne.u32 %p1, %r5, 3; @%p1 bra W;"}).explore().status,
      check_status::hang);
}

TEST(check_finds, that_a_second_attempt_does_not_acquire_what_the_load_before_the_loop_would) {
  const std::string send = "st.global.u32 [y], 1; atom.release.gpu.global.exch.b32 %r0, [x], 1;";
  const auto take = [](const std::string& order) {
    return "ld." + order + ".gpu.global.u32 %r0, [x]; L: mov.u32 %r3, %r0; atom." + order +
           ".gpu.global.cas.b32 %r0, [x], %r3, 2; setp.ne.u32 %p0, %r0, %r3; @%p0 bra L;"
           "setp.eq.u32 %p1, %r3, 1; @%p1 ld.global.u32 %r5, [y];";
  };
  const std::string second_is_relaxed =
      "ld.acquire.gpu.global.u32 %r0, [x]; L: mov.u32 %r3, %r0; atom.relaxed.gpu.global.cas.b32 %r0, [x], %r3, 2;"
      "setp.ne.u32 %p0, %r0, %r3; @%p0 bra L; setp.eq.u32 %p1, %r3, 1; @%p1 ld.global.u32 %r5, [y];";
  check::check_options options;
  options.load_buffering = false;  // Exploring load buffering would also find the race.
  EXPECT_EQ(ptx_program({send, take("acquire")}).explore({}, options).status, check_status::verified);
  EXPECT_EQ(ptx_program({send, take("relaxed")}).explore({}, options).status, check_status::race);
  EXPECT_EQ(ptx_program({send, second_is_relaxed}).explore({}, options).status, check_status::race);
}

TEST(check_gives_up, on_a_loop_whose_count_of_rounds_matters) {
  const std::string counting =
      "mov.u32 %r5, 0; W: add.u32 %r5, %r5, 1; ld.acquire.gpu.global.u32 %r0, [y];"
      "setp.eq.u32 %p0, %r0, 0; @%p0 bra W; st.global.u32 [z], %r5;";
  check::check_options options;
  options.most_events_of_one = 50;
  EXPECT_EQ(ptx_program({"st.release.gpu.global.u32 [y], 1;", counting}).explore({}, options).status, check_status::gave_up);
}

TEST(check_gives_up, where_a_loop_waits_for_time) {
  EXPECT_EQ(ptx_program({"W: mov.u64 %rd0, %globaltimer; setp.lt.u64 %p0, %rd0, 1000; @%p0 bra W;"}).explore().status,
            check_status::gave_up);
}

TEST(check_finds, a_loop_without_an_end) { EXPECT_EQ(ptx_program({"W: bra W;"}).explore().status, check_status::hang); }

// ---- memory

TEST(check_finds, an_access_outside_of_memory) {
  EXPECT_EQ(ptx_program({"mov.u64 %rd0, x; st.global.u32 [%rd0+4], 1;"}).explore().status, check_status::out_of_bounds);
  EXPECT_EQ(ptx_program({"mov.u64 %rd0, 0; ld.global.u32 %r0, [%rd0];"}).explore().status, check_status::out_of_bounds);
  EXPECT_EQ(ptx_program({"mov.u64 %rd0, wide; ld.global.u32 %r0, [%rd0+2];"}).explore().status, check_status::out_of_bounds);
}

TEST(check_finds, a_vector_that_is_not_at_a_multiple_of_its_size) {
  for (const auto& [offset, status] : {std::pair{"0", check_status::verified}, std::pair{"4", check_status::out_of_bounds}}) {
    const check::check_result r =
        ptx_program({std::string("mov.u64 %rd0, wide; st.global.v2.u32 [%rd0+") + offset + "], {1, 2};"}).explore();
    EXPECT_EQ(r.status, status) << r.found.message;
  }
}

TEST(check_finds, a_read_of_shared_memory_that_nothing_was_written_to) {
  const std::string declare = ".shared .align 4 .b8 s[4];";
  EXPECT_EQ(ptx_program({declare + "ld.shared.u32 %r0, [s];"}).explore().status, check_status::uninitialised);
  EXPECT_EQ(ptx_program({declare + "st.shared.u32 [s], 1; ld.shared.u32 %r0, [s];"}).explore().status, check_status::verified);
  const check::check_result half = ptx_program({declare + "st.shared.u16 [s], 1; ld.shared.u32 %r0, [s];"}).explore();
  EXPECT_EQ(half.status, check_status::uninitialised);
  EXPECT_EQ(half.found.message, "thread 0 may read s+2 of block 0 before anything is written to it");
}

TEST(check_finds, no_read_of_unwritten_memory_that_the_order_of_fences_rules_out) {
  const std::string own =
      "mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; mul.wide.u32 %rd0, %r0, 4; mov.u64 %rd1, wide; add.u64 %rd1, %rd1, %rd0; ";
  for (const auto& [fence, status] :
       {std::pair{"fence.sc.gpu;", check_status::verified}, std::pair{"fence.acq_rel.gpu;", check_status::race}}) {
    const ptx_program p(
        {own + "st.global.u32 [%rd1], 1; " + fence + " bar.sync 0; @%p0 bra E; st.relaxed.gpu.global.u32 [y], 1; E:",
         own + "@%p0 bra B; W: ld.relaxed.gpu.global.u32 %r1, [y]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W; " + fence +
             " B: bar.sync 0; ld.global.u32 %r2, [%rd1];  red.relaxed.gpu.global.add.u32 [x], %r2;"},
        2);
    check::program unwritten = p.get();
    for (check::memory_object& o : unwritten.memory) {
      o.initialised = o.name != "wide";
    }
    const check::check_result r = check::explore(unwritten, {}, {});
    EXPECT_EQ(r.status, status) << r.found.message;
  }
}

TEST(check_buffers_loads, and_lets_no_thread_pass_a_barrier_before_the_others_arrive) {
  const auto block = [](const std::string& a, const std::string& b) {
    return ".shared .align 4 .b8 s[4]; mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra B;\n"
           "ld.volatile.global.u32 %r1, [" +
           a + "]; st.shared.u32 [s], %r1; st.volatile.global.u32 [" + b +
           "], 1;\n"
           "B: bar.sync 0; ld.shared.u32 %r2, [s]; setp.eq.u32 %p1, %r2, 0; @!%p1 red.relaxed.gpu.global.add.u32 [z], 1;\n"
           "bar.sync 0; @!%p0 st.shared.u32 [s], 2;";
  };
  const check::check_result r = ptx_program({block("x", "y"), block("y", "x")}, 2).explore();
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
}

TEST(check_finds, that_a_strong_vector_may_be_torn) {
  const auto pass = [](const std::string& store, const std::string& load) {
    return ptx_program({store, "mov.u64 %rd0, wide; W: " + load + " setp.eq.u32 %p0, %r1, 0; @%p0 bra W;" +
                                   "setp.ne.u32 %p1, %r0, 1; @%p1 trap;"})
        .explore()
        .status;
  };
  const std::string pair = "mov.u64 %rd0, wide; st.volatile.global.v2.u32 [%rd0], {1, 1};";
  const std::string word = "mov.u64 %rd0, wide; st.volatile.global.u64 [%rd0], 0x100000001;";
  const std::string data_first =
      "mov.u64 %rd0, wide; st.relaxed.gpu.global.u32 [%rd0], 1; st.release.gpu.global.u32 [%rd0+4], 1;";
  EXPECT_EQ(pass(pair, "ld.volatile.global.v2.u32 {%r0, %r1}, [%rd0];"), check_status::violated);
  EXPECT_EQ(pass(word, "ld.volatile.global.u64 %rd1, [%rd0]; mov.b64 {%r0, %r1}, %rd1;"), check_status::verified);
  EXPECT_EQ(pass(data_first, "ld.relaxed.gpu.global.v2.u32 {%r0, %r1}, [%rd0];"), check_status::violated);
  EXPECT_EQ(pass(pair, "ld.acquire.gpu.global.v2.u32 {%r0, %r1}, [%rd0];"), check_status::gave_up) << "not supported";
}

TEST(check_finds, nothing_where_a_fence_follows_a_strong_vector_of_flags) {
  const std::string send =
      "mov.u64 %rd0, wide; st.global.u32 [x], 1; fence.release.gpu; st.relaxed.gpu.global.v2.u32 [%rd0], {1, 1};";
  const auto receive = [&](const std::string& fence) {
    return ptx_program({send,
                        "mov.u64 %rd0, wide; W: ld.relaxed.gpu.global.v2.u32 {%r0, %r1}, [%rd0];"
                        "setp.eq.u32 %p0, %r1, 0; @%p0 bra W;" +
                            fence + "ld.global.u32 %r2, [x];" + "setp.ne.u32 %p1, %r2, 1; @%p1 trap;"})
        .explore()
        .status;
  };
  EXPECT_EQ(receive("fence.acquire.gpu;"), check_status::verified);
  EXPECT_EQ(receive(""), check_status::race);
}

TEST(check_finds, a_trap) {
  EXPECT_EQ(ptx_program({"ld.relaxed.gpu.global.u32 %r0, [x]; setp.eq.u32 %p0, %r0, 0; @%p0 trap;"}).explore().status,
            check_status::violated);
}

// ---- blocks

const std::string exchange =
    ".shared .align 4 .b8 s[8]; mov.u32 %r0, %tid.x; mov.u32 %r1, s; shl.b32 %r2, %r0, 2;"
    "add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0;";
const std::string take = "xor.b32 %r4, %r2, 4; add.u32 %r3, %r1, %r4; ld.shared.u32 %r5, [%r3];";

TEST(check_finds, nothing_where_a_barrier_orders_a_block) {
  const check::check_result r = ptx_program({exchange + "bar.sync 0;" + take}, 2).explore();
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
  EXPECT_EQ(r.counts.executions, 1U);
}

TEST(check_finds, a_race_where_a_barrier_is_missing) {
  EXPECT_EQ(ptx_program({exchange + take}, 2).explore().status, check_status::race);
  EXPECT_EQ(ptx_program({exchange + "shfl.sync.idx.b32 %r6|%p0, %r0, 0, 31, 3;" + take}, 2).explore().status,
            check_status::race)
      << "a shuffle orders no memory";
}

TEST(check_finds, nothing_where_a_warp_barrier_orders_its_lanes) {
  EXPECT_EQ(ptx_program({exchange + "bar.warp.sync 3;" + take}, 2).explore().status, check_status::verified);
}

TEST(check_finds, nothing_where_one_lane_is_elected) {
  const std::string one =
      "elect.sync %r6|%p0, 3; @!%p0 bra D; atom.relaxed.cta.global.add.u32 %r0, [x], 1; setp.ne.u32 %p1, %r0, 0; @%p1 trap; D:";
  EXPECT_EQ(ptx_program({one}, 2).explore().status, check_status::verified);
  EXPECT_EQ(ptx_program({"elect.sync _|%p0, 3; @!%p0 trap;"}, 2).explore().status, check_status::violated);
}

TEST(check_finds, that_threads_met_at_different_barriers) {
  const auto met = [](const std::string& barrier, std::uint32_t threads) {
    const std::string apart = "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32; @%p1 bra E; setp.ge.u32 %p1, %r1, 1; @%p1 bra E;";
    return ptx_program({apart + barrier + "; bra D; E: " + barrier + "; D:"}, threads).explore();
  };
  const check::check_result warp = met("bar.sync 0", 2);
  EXPECT_EQ(warp.status, check_status::undefined);
  EXPECT_NE(warp.found.message.find("which CUDA and PTX leave undefined"), std::string::npos) << warp.found.message;
  EXPECT_EQ(met("barrier.sync.aligned 0", 2).status, check_status::undefined);
  EXPECT_EQ(met("barrier.sync 0", 2).status, check_status::verified) << "not aligned";
  EXPECT_EQ(met("bar.sync 0", 1).status, check_status::verified);
}

TEST(check_finds, that_a_thread_passes_by_an_aligned_barrier) {
  const auto some = [](const std::string& barrier, const std::string& before, const std::string& after) {
    return ptx_program({"mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 1; " + before + barrier + "; D: " + after}, 2)
        .explore()
        .status;
  };
  const std::string skip = "@%p1 bra D; ";
  const std::string go_on = "red.relaxed.gpu.global.add.u32 [x], 1;";
  EXPECT_EQ(some("bar.sync 0", skip, go_on), check_status::undefined) << "a conditional that the other thread does not take";
  EXPECT_EQ(some("barrier.sync.aligned 0", skip, go_on), check_status::undefined);
  EXPECT_EQ(some("@!%p1 bar.sync 0", "", go_on), check_status::undefined) << "the barrier has a predicate";
  EXPECT_EQ(some("barrier.sync 0", skip, go_on), check_status::verified) << "not aligned";
  EXPECT_EQ(some("bar.sync 0", "@%p1 exit; ", go_on), check_status::verified) << "an early return";
  EXPECT_EQ(some("bar.sync 0", "@%p1 red.relaxed.gpu.global.add.u32 [x], 1; @%p1 exit; ", go_on), check_status::verified)
      << "an early return after an access";
  EXPECT_EQ(some("bar.sync 0", "", go_on), check_status::verified);
}

TEST(check_finds, that_threads_of_unequal_trip_counts_meet_at_a_barrier_in_a_loop) {
  const auto loop = [](const std::string& count, const std::string& end) {
    return ptx_program({"mov.u32 %r1, %tid.x; " + count +
                        "mov.u32 %r0, 0; L: bar.sync 0; add.u32 %r0, %r0, 1; "
                        "setp.lt.u32 %p1, %r0, %r1; @%p1 bra L;" +
                        end},
                       2)
        .explore()
        .status;
  };
  const std::string uneven = "add.u32 %r1, %r1, 1; ";
  EXPECT_EQ(loop(uneven, "red.relaxed.gpu.global.add.u32 [x], 1;"), check_status::undefined);
  EXPECT_EQ(loop("mov.u32 %r1, 2; ", "red.relaxed.gpu.global.add.u32 [x], 1;"), check_status::verified);
  EXPECT_EQ(loop(uneven, ""), check_status::verified)
      << "the thread does nothing after the loop, so leaving the loop counts as an early return";
}

TEST(check_finds, that_a_reduction_barrier_and_a_plain_one_meet) {
  const auto two = [](const std::string& first) {
    return ptx_program(
               {"mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 1; @%p1 bra E; " + first + "; bra D; E: barrier.sync 0; D:"}, 2)
        .explore()
        .status;
  };
  EXPECT_EQ(two("barrier.red.popc.u32 %r2, 0, %p1"), check_status::undefined);
  EXPECT_EQ(two("barrier.sync 0"), check_status::verified);
}

TEST(check_finds, that_a_mask_does_not_contain_the_caller) {
  for (const std::string call :
       {"shfl.sync.idx.b32 %r6|%p0, %r0, 0, 31, ", "bar.warp.sync ", "vote.sync.any.pred %p0, %p1, "}) {
    EXPECT_EQ(ptx_program({call + "1;"}, 2).explore().status, check_status::undefined) << call;
    EXPECT_EQ(ptx_program({call + "3;"}, 2).explore().status, check_status::verified) << call;
  }
}

TEST(check_finds, that_a_packed_operation_is_one_of_each_element) {
  const auto both = [](const std::string& first, const std::string& second) {
    return ptx_program({"mov.b32 %r1, 0x3c003c00; " + first, "mov.b32 %r1, 0; " + second}).explore().status;
  };
  const std::string add = "atom.relaxed.gpu.global.add.noftz.f16x2 %r2, [x], %r1;";
  EXPECT_EQ(both(add, "atom.relaxed.gpu.global.exch.b32 %r2, [x], %r1;"), check_status::race);
  EXPECT_EQ(both("red.relaxed.gpu.global.add.noftz.bf16x2 [x], %r1;", "ld.relaxed.gpu.global.u32 %r2, [x];"),
            check_status::race);
  EXPECT_EQ(both(add, "red.relaxed.gpu.global.add.noftz.f16x2 [x], %r1;"), check_status::verified);
  EXPECT_EQ(both(add, "ld.relaxed.gpu.global.u16 %r2, [x+2];"), check_status::verified) << "the load reads only one element";
  EXPECT_EQ(both("red.relaxed.gpu.global.add.v2.f32 [wide], {%r1, %r1};", "ld.relaxed.gpu.global.u64 %rd2, [wide];"),
            check_status::race);
}

TEST(check_finds, what_packed_operations_return_and_leave) {
  // A single word holds 1.0 and 2.0. Each addition adds 1.0 to the low half and 2.0 to the high half.
  const std::string one_two = "mov.b32 %r1, 0x40003c00; ";
  const auto holds = [](const std::string& value) { return "setp.ne.u32 %p0, %r2, " + value + "; @%p0 trap;"; };
  EXPECT_EQ(ptx_program({one_two + "atom.relaxed.gpu.global.add.noftz.f16x2 %r2, [x], %r1;" + holds("0") +
                         "atom.relaxed.gpu.global.add.noftz.f16x2 %r1, [x], %r1; mov.b32 %r2, %r1;" + holds("0x40003c00") +
                         "ld.global.u32 %r2, [x];" + holds("0x44004000")})
                .explore()
                .status,
            check_status::verified);
  // Memory is first written in words, and read in words after a barrier.
  const std::string add = one_two + "red.relaxed.gpu.global.add.noftz.f16x2 [x], %r1;";
  const check::check_result r =
      ptx_program({"mov.u32 %r3, %tid.x; setp.ne.u32 %p1, %r3, 0; @%p1 bra L; st.global.u32 [x], 0; L: bar.sync 0;" + add +
                   "bar.sync 0; ld.global.u32 %r2, [x];" + holds("0x44004000")},
                  2)
          .explore();
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
  EXPECT_EQ(r.counts.executions, 4U) << "each half has two orders";
}

TEST(check_finds, that_read_only_memory_is_written) {
  const std::string read = "ld.global.nc.u32 %r0, [x];";
  EXPECT_EQ(ptx_program({read, "st.global.u32 [x], 1;"}).explore().status, check_status::undefined);
  EXPECT_EQ(ptx_program({"st.global.u32 [x], 1;" + read}).explore().status, check_status::verified)
      << "the thread's own store comes before the load";
  EXPECT_EQ(ptx_program({read, "st.global.u32 [y], 1;"}).explore().status, check_status::verified);
  const std::string ordered = "mov.u32 %r3, %tid.x; setp.ne.u32 %p1, %r3, 0; @%p1 bra L; st.global.u32 [x], 1; L: bar.sync 0;";
  EXPECT_EQ(ptx_program({ordered + read}, 2).explore().status, check_status::undefined) << "a barrier does not order the load";
}

TEST(check_finds, that_a_thread_accesses_the_local_memory_of_another) {
  const std::string mine = ".local .u32 own; st.local.u32 [own], 7; mov.u64 %rd0, own; cvta.local.u64 %rd1, %rd0;";
  EXPECT_EQ(ptx_program({mine + "ld.u32 %r0, [%rd1];"}).explore().status, check_status::verified);
  const std::string passed =
      "mov.u32 %r3, %tid.x; setp.ne.u32 %p1, %r3, 0; @%p1 bra L; st.global.u64 [wide], %rd1; L: bar.sync 0;";
  EXPECT_EQ(ptx_program({mine + passed + "ld.global.u64 %rd2, [wide]; ld.u32 %r0, [%rd2];"}, 2).explore().status,
            check_status::undefined);
}

TEST(check_finds, no_race_of_a_load_whose_value_is_thrown_away) {
  const auto first_lane = [](const std::string& use) {
    return ptx_program(
               {"mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; ld.global.u32 %r2, [x]; @%p1 st.global.u32 [x], 1;" + use}, 2)
        .explore()
        .status;
  };
  EXPECT_EQ(first_lane("selp.u32 %r3, %r2, 0, %p1; @%p1 st.global.u32 [y], %r3;"), check_status::verified);
  EXPECT_EQ(first_lane("@%p1 st.global.u32 [y], %r2;"), check_status::verified);
  EXPECT_EQ(first_lane("red.relaxed.gpu.global.add.u32 [y], %r2;"), check_status::race) << "every lane uses the value";
  EXPECT_EQ(first_lane("selp.u32 %r3, %r2, 0, %p1; red.relaxed.gpu.global.add.u32 [y], %r3;"), check_status::verified);
  EXPECT_EQ(first_lane("selp.u32 %r3, 0, %r2, %p1; red.relaxed.gpu.global.add.u32 [y], %r3;"), check_status::race);
}

TEST(check_finds, what_a_random_execution_shows_before_it_gives_up) {
  const std::string race = "st.global.u32 [x], 1;";
  check::check_options few;
  few.most_events = 1;
  EXPECT_EQ(ptx_program({race, race}).explore({}, few).status, check_status::race);
  EXPECT_EQ(ptx_program({race, "ld.global.u32 %r0, [y];"}).explore({}, few).status, check_status::gave_up);
  few.random_before_giving_up = 0;
  EXPECT_EQ(ptx_program({race, race}).explore({}, few).status, check_status::gave_up);
}

TEST(check_finds, nothing_in_an_incomplete_execution) {
  // The load of y may be buffered, and the store to z comes after the barrier that orders the load of z.
  const std::string first = "ld.relaxed.gpu.global.u32 %r0, [x]; st.relaxed.gpu.global.u32 [y], 1;";
  const std::string second = "ld.relaxed.gpu.global.u32 %r0, [y]; st.relaxed.gpu.global.u32 [x], 1;";
  const std::string apart = "mov.u32 %r3, %tid.x; setp.ne.u32 %p1, %r3, 0; @%p1 bra E;";
  check::launch_request request;
  request.block[0] = 2;
  const auto explored = [&](const std::string& between) {
    return check::explore(program_of_launch(
        ".global .u32 x;\n.global .u32 y;\n.shared .u32 s;\n",
        apart + first + "st.shared.u32 [s], 1; bra D; E: " + second + "D: " + between + "ld.shared.u32 %r1, [s];", request));
  };
  const check::check_result ordered = explored("bar.sync 0;");
  EXPECT_EQ(ordered.status, check_status::verified) << ordered.found.message;
  EXPECT_GT(ordered.counts.buffered, 0U);
  EXPECT_EQ(explored("").status, check_status::race);
}

TEST(check_finds, nothing_in_a_counted_loop_without_accesses) {
  const std::string delay = "mov.u32 %r0, 0; L: add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 5; @%p0 bra L;";
  EXPECT_EQ(ptx_program({delay + "st.global.u32 [x], 1;"}).explore().status, check_status::verified);
  EXPECT_EQ(ptx_program({delay}).explore().status, check_status::verified);
  EXPECT_EQ(ptx_program({"L: bra L;"}).explore().status, check_status::hang);
  EXPECT_EQ(ptx_program({"mov.u32 %r0, 0; L: xor.b32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 5; @%p0 bra L;"}).explore().status,
            check_status::hang);
}

TEST(check_finds, a_hang_at_a_barrier_that_a_thread_never_reaches) {
  const std::string some =
      "mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @%p0 bra W; bar.sync 0; ret;" + wait_for("acquire.gpu", "y");
  EXPECT_EQ(ptx_program({some}, 2).explore().status, check_status::hang);
}

TEST(check_finds, that_lanes_exchange_values) {
  ptx_program p(
      {"mov.u32 %r0, %tid.x; add.u32 %r1, %r0, 10; shfl.sync.bfly.b32 %r2|%p0, %r1, 1, 31, 3;"
       "vote.sync.ballot.b32 %r3, 1, 3; setp.ne.u32 %p1, %r0, 0; @%p1 ret; st.global.u32 [x], %r2; st.global.u32 [y], %r3;"},
      2);
  const check::check_result r = p.explore([&](const check::final_memory& end) {
    return end.value(p.address("x"), 4) == 11 && end.value(p.address("y"), 4) == 3 ? std::string() : "wrong";
  });
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
}

/// Returns the results of an instruction, %r2 and the predicate %p1, in the middle one of three lanes. `values` sets %r1 in
/// each lane.
std::pair<std::uint64_t, std::uint64_t> of_three_lanes(const std::string& instruction, const std::string& values) {
  ptx_program p(
      {"mov.u32 %r0, %tid.x; " + values + " setp.eq.u32 %p1, 0, 1; " + instruction +
       " setp.ne.u32 %p0, %r0, 1; @%p0 ret; st.global.u32 [x], %r2; selp.u32 %r3, 1, 0, %p1; st.global.u32 [y], %r3;"},
      3);
  std::pair<std::uint64_t, std::uint64_t> got{~0ULL, ~0ULL};
  const check::check_result r = p.explore([&](const check::final_memory& end) {
    got = {end.value(p.address("x"), 4), end.value(p.address("y"), 4)};
    return std::string();
  });
  EXPECT_EQ(r.status, check_status::verified) << instruction << r.found.message;
  return got;
}

TEST(check_finds, which_lanes_have_the_same_value) {
  using result = std::pair<std::uint64_t, std::uint64_t>;
  const std::string apart = "and.b32 %r1, %r0, 1;";  // 0, 1, 0
  const std::string same = "mov.u32 %r1, 5;";
  EXPECT_EQ(of_three_lanes("match.any.sync.b32 %r2, %r1, 7;", apart), (result{2, 0}));
  EXPECT_EQ(of_three_lanes("match.any.sync.b32 %r2, %r1, 7;", "setp.gt.u32 %p0, %r0, 0; selp.u32 %r1, 3, 4, %p0;"),
            (result{6, 0}));
  EXPECT_EQ(of_three_lanes("match.all.sync.b32 %r2|%p1, %r1, 7;", apart), (result{0, 0}));
  EXPECT_EQ(of_three_lanes("match.all.sync.b32 %r2|%p1, %r1, 7;", same), (result{7, 1}));
  EXPECT_EQ(of_three_lanes("mov.b64 %rd0, {%r1, %r0}; match.all.sync.b64 %r2|%p1, %rd0, 7;", same), (result{0, 0}))
      << "the upper halves differ";
}

TEST(check_finds, what_lanes_reduce_their_values_to) {
  const std::string values = "mul.lo.u32 %r1, %r0, 16; sub.u32 %r1, 9, %r1;";  // 9, -7, -23
  const auto reduced = [&](const std::string& how) {
    return of_three_lanes("redux.sync." + how + " %r2, %r1, 7;", values).first;
  };
  EXPECT_EQ(reduced("add.u32"), 0xffffffebU);
  EXPECT_EQ(reduced("min.s32"), 0xffffffe9U);
  EXPECT_EQ(reduced("max.s32"), 9U);
  EXPECT_EQ(reduced("min.u32"), 9U);
  EXPECT_EQ(reduced("max.u32"), 0xfffffff9U);
  EXPECT_EQ(reduced("and.b32"), 9U & 0xfffffff9U & 0xffffffe9U);
  EXPECT_EQ(reduced("or.b32"), 9U | 0xfffffff9U | 0xffffffe9U);
  EXPECT_EQ(reduced("xor.b32"), 9U ^ 0xfffffff9U ^ 0xffffffe9U);
}

TEST(check_finds, a_race_that_one_order_of_many_sequential_fences_shows) {
  // Every thread stores and executes a fence, and the first thread increments the counter. The last block reads what the other
  // blocks have stored, without a fence after the increment.
  const std::string publish =
      ".shared .align 4 .u32 last; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mov.u64 %rd0, wide; mul.wide.u32 %rd1, %r0, 32;"
      "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd0, %rd1; add.u64 %rd3, %rd3, %rd2; st.global.u32 [%rd3], 1; bar.sync 0;"
      "fence.sc.gpu; setp.ne.u32 %p0, %r1, 0; @%p0 bra M; atom.global.add.u32 %r2, [x], 1; st.shared.u32 [last], %r2; M: "
      "bar.sync 0;"
      "ld.shared.u32 %r3, [last];";
  const std::string gather =
      "setp.eq.u32 %p1, %r3, 0; @%p1 ret; xor.b32 %r4, %r0, 1; mul.wide.u32 %rd1, %r4, 32;"
      "add.u64 %rd3, %rd0, %rd1; add.u64 %rd3, %rd3, %rd2; ld.global.u32 %r5, [%rd3];";
  const auto status = [&](const std::string& between, std::uint32_t threads) {
    check::launch_request request;
    request.grid[0] = 2;
    request.block[0] = threads;
    const check::program p =
        program_of_launch(".global .u32 x;\n.global .align 16 .b8 wide[64];\n", publish + between + gather, request);
    check::check_options options;
    options.most_events = 100'000;
    return check::explore(p, {}, options).status;
  };
  EXPECT_EQ(status("", 8), check_status::race);
  EXPECT_EQ(status("fence.sc.gpu;", 2), check_status::verified);
}

TEST(check_explores, no_load_buffering_where_one_location_rules_it_out) {
  const std::string add = "atom.relaxed.gpu.global.add.u32 %r0, [x], 1;";
  check::check_options options;
  options.most_buffered_steps = 1;
  const check::check_result r = ptx_program({add + add + add, add + add + add}).explore({}, options);
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
  EXPECT_EQ(r.counts.executions, 20U);
  const auto add_to = [](const char* where) { return std::string("atom.relaxed.gpu.global.add.u32 %r0, [") + where + "], 1;"; };
  EXPECT_EQ(ptx_program({add_to("x") + add_to("y"), add_to("y") + add_to("x")}).explore({}, options).status,
            check_status::gave_up)
      << "each thread may read what the other thread adds later";
}

TEST(check_explores, load_buffering_without_steps_that_lead_to_no_execution) {
  const auto side = [](const std::string& own, const std::string& other) {
    std::string text;
    for (int n = 0; n < 4; ++n) {
      text += "st.relaxed.gpu.global.u32 [" + own + "], 1; ld.relaxed.gpu.global.u32 %r0, [" + other + "];";
    }
    return text;
  };
  check::check_options options;
  options.most_buffered_steps = 10'000;
  const check::check_result r = ptx_program({side("x", "y"), side("y", "x")}).explore({}, options);
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
  EXPECT_EQ(r.counts.executions, 4'900U);  // Each thread reads four values, in non-decreasing order, out of five: 70 * 70
  EXPECT_EQ(r.counts.buffered, 784U);
}

TEST(check_explores, load_buffering_with_many_sequential_fences) {
  // The fences of the last twelve threads can be ordered in 12! ways, none of which makes a difference.
  std::vector<std::string> bodies = {"ld.relaxed.gpu.global.u32 %r0, [x]; st.relaxed.gpu.global.u32 [y], 1;",
                                     "ld.relaxed.gpu.global.u32 %r0, [y]; st.relaxed.gpu.global.u32 [x], 1;"};
  bodies.insert(bodies.end(), 12, "fence.sc.gpu;");
  const check::check_result r = ptx_program(bodies).explore();
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
  EXPECT_EQ(r.counts.buffered, 1U);
}

TEST(check_explores, updates_that_are_ordered_before_a_write_by_two_pairs_of_fences) {
  const std::string leave_if = " %p1, %r1, 0; @%p1 exit; ";
  const ptx_program p(
      {"atom.relaxed.gpu.global.add.u32 %r0, [x], 1;",
       "W: ld.relaxed.gpu.global.u32 %r0, [x]; setp.eq.u32 %p0, %r0, 0; @%p0 bra W; fence.sc.gpu;"
       "ld.relaxed.gpu.global.u32 %r1, [y]; setp.ne.u32" +
           leave_if + "st.relaxed.gpu.global.u32 [z], 1;",
       "st.relaxed.gpu.global.u32 [y], 1; fence.sc.gpu; ld.relaxed.gpu.global.u32 %r1, [z]; setp.eq.u32" + leave_if +
           "ld.relaxed.gpu.global.u32 %r1, [wide]; setp.ne.u32" + leave_if + "st.relaxed.gpu.global.u32 [wide+8], 1;",
       "st.relaxed.gpu.global.u32 [wide], 1; fence.sc.gpu; ld.relaxed.gpu.global.u32 %r1, [wide+8]; setp.eq.u32" + leave_if +
           "st.global.u32 [x], 0;"});
  check::check_options options;
  options.load_buffering = false;
  EXPECT_EQ(p.explore({}, options).status, check_status::race);
  options.readings.take(membar::model::reading::whole_updates_are_observed);
  const check::check_result r = p.explore({}, options);
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
}

TEST(check_explores, past_a_race_that_depends_on_a_reading) {
  const auto last_resets = [](const std::string& then) {
    return "atom.relaxed.gpu.global.add.u32 %r0, [x], 1;"
           "setp.ne.u32 %p0, %r0, 1; @%p0 bra S; st.global.u32 [x], 0; S:" +
           then;
  };
  const auto message = [&](const std::string& then) {
    const check::check_result r = ptx_program({last_resets(then), last_resets(then)}).explore();
    EXPECT_EQ(r.status, check_status::race);
    return r.found.message;
  };
  const std::string reading = " depends on a reading of the PTX ISA: --reading=whole-updates-are-observed";
  const std::string alone = message("");
  EXPECT_EQ(alone.find("data race on x:"), 0U) << alone;
  EXPECT_NE(alone.find("; this" + reading), std::string::npos) << alone;
  const std::string both = message("st.global.u32 [y], 1;");
  EXPECT_EQ(both.find("data race on y:"), 0U) << both;
  EXPECT_NE(both.find("; there is also a data race on x: "), std::string::npos) << both;
  EXPECT_NE(both.find(", which" + reading), std::string::npos) << both;
}

TEST(check_orders, a_launch_after_another) {
  ptx_program p({"st.global.u32 [x], 7;", "ld.global.u32 %r0, [x]; st.global.u32 [y], %r0;"});
  EXPECT_EQ(p.explore().status, check_status::race);
  p.get().launches_before[1] = {0};
  const check::check_result r = p.explore(
      [&](const check::final_memory& end) { return end.value(p.address("y"), 4) == 7 ? std::string() : "y is not 7"; });
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
}

TEST(check_limits, long_executions_do_not_exhaust_the_stack) {
  std::string stores;
  for (int i = 0; i < 1900; ++i) {
    stores += "st.global.u32 [%rd0], 1; ";
  }
  std::vector<std::string> bodies;
  for (int t = 0; t < 6; ++t) {
    bodies.push_back("mov.u64 %rd0, wide; add.u64 %rd0, %rd0, " + std::to_string(8 * t) + ";" + stores);
  }
  EXPECT_EQ(ptx_program(bodies).explore().status, check_status::verified);
  check::check_options options;
  options.most_stack = std::uint64_t{3} << 20U;
  EXPECT_EQ(ptx_program(bodies).explore({}, options).status, check_status::gave_up);
  bodies.resize(1);
  EXPECT_EQ(ptx_program(bodies).explore({}, options).status, check_status::verified);
}

TEST(check_limits, many_events_end_in_giving_up) {
  check::check_options options;
  options.most_events = 100;
  EXPECT_EQ(ptx_program(times(6, add_to_x)).explore({}, options).status, check_status::gave_up);
}

}  // namespace
