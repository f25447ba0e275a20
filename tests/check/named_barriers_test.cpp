// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests block barriers in which only some warps take part, and arrivals that do not wait.
#include <tests/check/ptx_programs.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace membar_test;
using check::check_status;

/// A block in which warp 0, the warps in the middle, and the last warp execute different code. `s` and `t` are shared arrays
/// with one word per lane.
check::check_result explore(const std::string& first, const std::string& last, std::uint32_t warps = 2,
                            const std::string& between = "") {
  const std::string roles =
      ".shared .align 4 .b8 s[128]; .shared .align 4 .b8 t[128];"
      "mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; and.b32 %r2, %r0, 31; shl.b32 %r3, %r2, 2;"
      "mov.u32 %r4, s; add.u32 %r4, %r4, %r3; mov.u32 %r5, t; add.u32 %r5, %r5, %r3;"
      "setp.eq.u32 %p0, %r1, 0; @%p0 bra FIRST;"
      "setp.eq.u32 %p0, %r1, " +
      std::to_string(warps - 1) + "; @%p0 bra LAST;";
  return ptx_program({roles + between + " ret; FIRST: " + first + " ret; LAST: " + last}, 32 * warps).explore();
}

/// Expects the checker to give up with this message.
void expect_refusal(const check::check_result& r, const std::string& words) {
  EXPECT_EQ(r.status, check_status::gave_up);
  EXPECT_NE(r.found.message.find(words), std::string::npos) << r.found.message;
}

const std::string give_word = "st.shared.u32 [%r4], %r0;";
const std::string take_word = "ld.shared.u32 %r6, [%r4];";

TEST(named_barriers, order_what_precedes_an_arrival_before_what_follows_the_wait) {
  const check::check_result r = explore("bar.sync 1, 64;" + take_word, give_word + "bar.arrive 1, 64;");
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
  EXPECT_EQ(r.counts.executions, 1U);
  EXPECT_EQ(explore("bar.sync 1, 64;" + take_word, "bar.arrive 1, 64;" + give_word).status, check_status::race);
}

TEST(named_barriers, order_nothing_for_a_thread_that_does_not_wait) {
  EXPECT_EQ(explore(give_word + "bar.sync 1, 64;", "bar.arrive 1, 64;" + take_word).status, check_status::race);
  EXPECT_EQ(explore(give_word + "bar.sync 1, 64;", "bar.sync 1, 64;" + take_word).status, check_status::verified);
}

TEST(named_barriers, are_distinguished_by_their_numbers) {
  EXPECT_EQ(explore("bar.sync 2, 64;" + take_word, give_word + "bar.arrive 1, 64;").status, check_status::hang);
}

TEST(named_barriers, do_not_wait_for_warps_that_do_not_take_part) {
  const std::string within =
      give_word + "bar.sync 1, 32; xor.b32 %r7, %r3, 4; mov.u32 %r8, s; add.u32 %r8, %r8, %r7; ld.shared.u32 %r6, [%r8];";
  EXPECT_EQ(explore(within, "").status, check_status::verified);
  const check::check_result two = explore("bar.sync 1, 64;" + take_word, give_word + "bar.sync 1, 64;", 3, "bar.sync 2, 32;");
  EXPECT_EQ(two.status, check_status::verified) << two.found.message;
}

TEST(named_barriers, wait_for_warps_that_have_exited_without_arriving) {
  EXPECT_EQ(explore("bar.sync 1, 64;", "").status, check_status::hang);
}

TEST(named_barriers, at_which_too_many_warps_arrive_are_rejected) {
  expect_refusal(explore("bar.sync 1, 32;", "bar.sync 1, 32;"),
                 "more warps of the block arrive at barrier 1 than the 1 that it expects");
}

TEST(named_barriers, with_different_thread_counts_are_rejected) {
  expect_refusal(explore("bar.sync 1, 32; bar.sync 1, 64;", "bar.sync 1, 64;"),
                 "barrier 1 is used with different thread counts");
}

TEST(named_barriers, whose_thread_count_is_not_whole_warps_are_rejected) {
  expect_refusal(
      explore("bar.sync 1, 40;", "bar.sync 1, 40;"),
      "'bar.sync' is a barrier for 40 threads; in a block of 64 threads, this number must be a multiple of 32 and at most");
}

/// A stage that is filled twice: barrier 1 signals `full`, and barrier 2 signals `empty`.
TEST(named_barriers, keep_the_turns_of_arrivals_apart) {
  const std::string fill = give_word + "bar.arrive 1, 64;";
  const std::string use = "bar.sync 1, 64;" + take_word;
  const check::check_result r = explore(use + "bar.arrive 2, 64;" + use, fill + "bar.sync 2, 64;" + fill);
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
  EXPECT_EQ(explore(use + use, fill + "bar.arrive 1, 64;").status, check_status::undefined);
  const std::string twice = "bar.arrive 1, 64; bar.warp.sync 0xffffffff; bar.arrive 1, 64;";
  EXPECT_EQ(explore("bar.arrive 1, 64;", twice).status, check_status::undefined)
      << "the other warp's arrival may come in between";
}

TEST(named_barriers, are_passed_by_no_part_of_a_warp) {
  const std::string some = "and.b32 %r2, %r1, 31; setp.ge.u32 %p2, %r2, 16;";
  const std::string after = "ld.global.u32 %r0, [x];";
  const auto first = [&](const std::string& skip, const std::string& barrier) {
    return explore("mov.u32 %r1, %tid.x;" + some + skip + barrier + "PASSED: " + after, "bar.sync 1, 64;").status;
  };
  EXPECT_EQ(first("@%p2 bra PASSED;", "bar.arrive 1, 64;"), check_status::undefined);
  EXPECT_EQ(first("@%p2 bra PASSED;", "bar.sync 1, 64;"), check_status::undefined);
  EXPECT_EQ(first("@%p2 bra PASSED;", "barrier.arrive 1, 64;"), check_status::verified) << "not aligned";
  EXPECT_EQ(first("", "bar.arrive 1, 64;"), check_status::verified);
  EXPECT_EQ(first("@%p2 exit;", "bar.arrive 1, 64;"), check_status::verified) << "an early return";
}

TEST(named_barriers, of_warps_on_different_paths_are_one_barrier) {
  EXPECT_EQ(explore("bar.sync 1, 64;", "bar.sync 1, 64;").status, check_status::verified);
  EXPECT_EQ(explore("bar.sync 0;", "bar.sync 0;").status, check_status::undefined);
}

}  // namespace
