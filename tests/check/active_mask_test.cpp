// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX does not define which lanes execute an activemask together. The checker explores every possible grouping of the lanes
// that reach the instruction.
#include <tests/check/ptx_programs.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace membar_test;
using check::check_status;

/// The checker's result, and the words that the lanes store: one vector per possible outcome, with one word per lane.
struct outcomes {
  check::check_result result;
  std::set<std::vector<std::uint64_t>> words;
};

/// Explores a block of `lanes` lanes. Each lane executes `body` with its number in %r0, and then stores the word in %r2.
outcomes explore_lanes(const std::string& body, std::uint32_t lanes, const check::check_options& options = {}) {
  const ptx_program p(
      {"mov.u32 %r0, %tid.x; mov.u32 %r2, 0;" + body +
       "DONE: mul.wide.u32 %rd0, %r0, 4; mov.u64 %rd1, wide; add.u64 %rd1, %rd1, %rd0; st.global.u32 [%rd1], %r2;"},
      lanes);
  outcomes e;
  const std::uint64_t wide = p.address("wide");
  e.result = p.explore(
      [&](const check::final_memory& m) {
        std::vector<std::uint64_t> words;
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
          words.push_back(m.value(wide + 4 * lane, 4));
        }
        e.words.insert(words);
        return std::string();
      },
      options);
  return e;
}

const std::string get_mask = "activemask.b32 %r2;";

TEST(active_mask, names_every_grouping_of_the_lanes_that_execute_it) {
  const std::uint64_t divisions[] = {1, 2, 5, 15, 52};
  for (std::uint32_t lanes = 1; lanes <= 5; ++lanes) {
    const outcomes e = explore_lanes(get_mask, lanes);
    EXPECT_EQ(e.result.status, check_status::verified) << e.result.found.message;
    EXPECT_EQ(e.words.size(), divisions[lanes - 1]) << lanes;
    EXPECT_EQ(e.result.counts.executions, divisions[lanes - 1]) << lanes;
  }
  EXPECT_EQ(explore_lanes(get_mask, 2).words, (std::set<std::vector<std::uint64_t>>{{1, 2}, {3, 3}}));
}

TEST(active_mask, names_no_lane_that_has_left_or_goes_another_way) {
  const std::string first_leaves = "setp.eq.u32 %p0, %r0, 0; @%p0 bra DONE;";
  const outcomes left = explore_lanes(first_leaves + get_mask, 3);
  EXPECT_EQ(left.words, (std::set<std::vector<std::uint64_t>>{{0, 2, 4}, {0, 6, 6}}));
  const outcomes apart =
      explore_lanes("setp.eq.u32 %p0, %r0, 0; @%p0 bra OTHER;" + get_mask + "bra DONE; OTHER:" + get_mask, 2);
  EXPECT_EQ(apart.words, (std::set<std::vector<std::uint64_t>>{{1, 2}})) << "the lanes execute two different instructions";
  EXPECT_EQ(apart.result.counts.executions, 1U);
}

TEST(active_mask, names_lanes_that_can_exchange_values) {
  const outcomes up = explore_lanes(get_mask + "redux.sync.add.u32 %r2, 1, %r2;", 3);
  EXPECT_EQ(up.result.status, check_status::verified) << up.result.found.message;
  EXPECT_EQ(up.words, (std::set<std::vector<std::uint64_t>>{{1, 1, 1}, {2, 2, 1}, {2, 1, 2}, {1, 2, 2}, {3, 3, 3}}));
}

TEST(active_mask, is_separate_for_each_loop_iteration) {
  const outcomes e =
      explore_lanes("mov.u32 %r3, 0; L:" + get_mask + "add.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, 2; @%p0 bra L;", 2);
  EXPECT_EQ(e.result.status, check_status::verified) << e.result.found.message;
  EXPECT_EQ(e.result.counts.executions, 6U)
      << "the lanes are together in one of the four pairs of iterations, in both iterations, or never";
  EXPECT_EQ(e.words, (std::set<std::vector<std::uint64_t>>{{1, 2}, {3, 3}, {3, 2}, {1, 3}}));
}

TEST(active_mask, excludes_a_lane_whose_earlier_read_depends_on_it) {
  const std::string reads = "ld.relaxed.gpu.global.u32 %r5, [x];";
  const std::string first = "setp.ne.u32 %p1, %r0, 0; @%p1 bra SECOND;" + reads + "SECOND:" + get_mask;
  const std::string second = "setp.ne.u32 %p2, %r2, 2; @%p2 bra DONE; st.relaxed.gpu.global.u32 [x], 1;";
  const outcomes e = explore_lanes(first + second + "bra DONE;", 2);
  EXPECT_EQ(e.result.status, check_status::verified) << e.result.found.message;
  EXPECT_EQ(e.result.counts.executions, 3U)
      << "either the lanes are together, or they are apart and the first lane does or does not read the second lane's value";
  const std::string one_reads_one = "setp.ne.u32 %p3, %r5, 1; @%p3 bra DONE;";
  const outcomes guarded =
      explore_lanes("setp.ne.u32 %p1, %r0, 0; @%p1 bra SECOND;" + reads + one_reads_one + "SECOND:" + get_mask + second, 2);
  EXPECT_EQ(guarded.result.status, check_status::verified) << guarded.result.found.message;
  EXPECT_EQ(guarded.words, (std::set<std::vector<std::uint64_t>>{{0, 2}, {1, 2}}))
      << "a lane that arrives later is not in the mask";
}

TEST(active_mask, is_explored_alike_whichever_kernel_comes_first) {
  const std::string kernel =
      "ld.relaxed.gpu.global.u32 %r1, [x]; setp.eq.u32 %p0, %r1, 0; @%p0 bra END; activemask.b32 %r2; END:";
  const auto executions = [&](bool first) {
    const std::string writer =
        "mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra END; st.relaxed.gpu.global.u32 [x], 1; END:";
    const check::check_result r =
        ptx_program(first ? std::vector<std::string>{writer, kernel} : std::vector<std::string>{kernel, writer}, 2).explore();
    EXPECT_EQ(r.status, check_status::verified) << r.found.message;
    return r.counts.executions;
  };
  EXPECT_EQ(executions(true), 5U)
      << "neither lane reaches the instruction, only one of the two lanes does, or both do, apart or together";
  EXPECT_EQ(executions(false), 5U);
}

TEST(active_mask, that_is_impossible_is_not_a_hang_and_hides_no_hang) {
  const std::string waits = "L: ld.relaxed.gpu.global.u32 %r3, [y]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L;";
  EXPECT_EQ(explore_lanes("setp.ne.u32 %p0, %r0, 0; @%p0 bra SECOND; bra.uni MASK; SECOND:" + waits + "MASK:" + get_mask, 2)
                .result.status,
            check_status::hang);
  const std::string let_go = "st.relaxed.gpu.global.u32 [y], 1;";
  const outcomes e = explore_lanes("setp.eq.u32 %p0, %r0, 0; @%p0 bra MASK;" + waits + "MASK:" + get_mask +
                                       "setp.ne.u32 %p2, %r0, 0; @%p2 bra DONE;" + let_go,
                                   2);
  EXPECT_EQ(e.result.status, check_status::verified) << e.result.found.message;
  EXPECT_EQ(e.words, (std::set<std::vector<std::uint64_t>>{{1, 2}})) << "the second lane arrives after the first has continued";
}

TEST(active_mask, of_too_many_lanes_is_rejected_except_in_random_exploration) {
  const outcomes e = explore_lanes(get_mask, 7);
  EXPECT_EQ(e.result.status, check_status::gave_up);
  EXPECT_NE(e.result.found.message.find("6 other lanes of the warp may execute 'activemask' at the same time; at most 5"),
            std::string::npos)
      << e.result.found.message;
  check::check_options options;
  options.random_executions = 50;
  EXPECT_GE(explore_lanes(get_mask, 7, options).words.size(), 2U);
  EXPECT_EQ(explore_lanes(get_mask + "setp.eq.u32 %p0, %r2, 127; @%p0 trap;", 7, options).result.status,
            check_status::violated);
}

}  // namespace
