// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests values that the checker does not track. Such values propagate. If a branch depends on one, the checker explores both
// directions; if anything else does, the checker gives up.
#include <tests/check/ptx_programs.hpp>

#include <membar/model/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace {

using namespace membar_test;

/// A matrix product whose results include %r1 and %r2.
const std::string product =
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7}, {%r8, %r9, %r10, %r11};";

check::check_result run(std::vector<std::string> bodies, const check::check_property& property = {}) {
  return ptx_program(std::move(bodies)).explore(property);
}

TEST(unknown_values, flow_through_arithmetic_and_memory) {
  ptx_program p({product + "add.u32 %r1, %r1, 1; st.global.u32 [x], %r1; ld.global.u32 %r2, [x]; mov.u32 %r3, 3;"
                           "st.global.u32 [y], %r3;"});
  bool known = false;
  const check::check_result r = p.explore([&](const check::final_memory& end) {
    EXPECT_TRUE(end.is_unknown(p.address("x"), 4));
    known = !end.is_unknown(p.address("y"), 4) && end.value(p.address("y"), 4) == 3;
    return std::string();
  });
  EXPECT_EQ(r.status, check::check_status::verified) << r.found.message;
  EXPECT_TRUE(known);
}

TEST(unknown_values, are_overwritten_by_known_ones) {
  ptx_program p({product + "st.global.u32 [x], %r1; st.global.u32 [x], 4; mov.u32 %r1, 5; st.global.u32 [y], %r1;"});
  const check::check_result r = p.explore([&](const check::final_memory& end) {
    return !end.is_unknown(p.address("x"), 4) && end.value(p.address("x"), 4) == 4 && end.value(p.address("y"), 4) == 5
               ? std::string()
               : std::string("wrong");
  });
  EXPECT_EQ(r.status, check::check_status::verified) << r.found.message;
}

TEST(unknown_values, let_a_branch_go_both_ways) {
  ptx_program p({product + "setp.eq.u32 %p1, %r1, 0; @%p1 bra L; st.global.u32 [x], 1; L: st.global.u32 [y], 1;"});
  std::set<std::uint64_t> seen;
  const check::check_result r = p.explore([&](const check::final_memory& end) {
    seen.insert(end.value(p.address("x"), 4));
    return std::string();
  });
  EXPECT_EQ(r.status, check::check_status::verified) << r.found.message;
  EXPECT_EQ(r.counts.executions, 2U);
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1}));
}

TEST(unknown_values, decide_all_that_one_predicate_decides_at_once) {
  ptx_program p({product + "setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [x], 1; @%p1 bra L; st.global.u32 [y], 1; L:"
                           "@!%p1 st.global.u32 [z], 1;"});
  const check::check_result r = p.explore([&](const check::final_memory& end) {
    const std::uint64_t x = end.value(p.address("x"), 4);
    return x != end.value(p.address("y"), 4) && x != end.value(p.address("z"), 4) ? std::string() : std::string("both");
  });
  EXPECT_EQ(r.status, check::check_status::verified) << r.found.message;
  EXPECT_EQ(r.counts.executions, 2U);
  // If the predicate is recomputed, it may have a different value.
  const std::string again = "setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [x], 1;";
  EXPECT_EQ(run({product + again + again}).counts.executions, 4U);
}

TEST(unknown_values, let_a_store_be_executed_or_not) {
  const std::string unknown = product + "setp.eq.u32 %p1, %r1, 0;";
  EXPECT_EQ(run({unknown + "@%p1 st.global.u32 [x], 1;"}).counts.executions, 2U);
  EXPECT_EQ(run({unknown + "@%p1 mov.u32 %r2, 1; st.global.u32 [x], %r2;"}).counts.executions, 1U)
      << "a predicated move needs no choice";
  const check::check_result race = run({unknown + "@%p1 st.global.u32 [x], 1;", "st.global.u32 [x], 2;"});
  EXPECT_EQ(race.status, check::check_status::race);
  EXPECT_NE(race.found.message.find("only if the unknown values make"), std::string::npos) << race.found.message;
}

TEST(unknown_values, let_a_write_change_a_read_once) {
  // For each choice, the read sees the old value or the new one.
  const std::string choice = product + "setp.eq.u32 %p1, %r1, 0; @%p1 bra L; mov.u32 %r4, 1; L: ";
  EXPECT_EQ(run({"ld.relaxed.gpu.global.u32 %r12, [x];" + choice, "st.relaxed.gpu.global.u32 [x], 1;"}).counts.executions, 4U);
  EXPECT_EQ(run({choice + "ld.relaxed.gpu.global.u32 %r12, [x];", "st.relaxed.gpu.global.u32 [x], 1;"}).counts.executions, 4U);
  EXPECT_EQ(
      run({"ld.relaxed.gpu.global.u32 %r12, [x];" + choice, choice + "st.relaxed.gpu.global.u32 [x], 1;"}).counts.executions,
      8U);
}

TEST(unknown_values, come_from_lanes_that_do_not_take_part_in_a_shuffle) {
  const std::string from_lane_1 = "mov.u32 %r1, 5; shfl.sync.idx.b32 %r2|%p0, %r1, 1, 31, -1; ";
  ptx_program p({from_lane_1 + "st.global.u32 [x], %r2; st.global.u32 [y], 1;"});
  const check::check_result r = p.explore([&](const check::final_memory& end) {
    return end.is_unknown(p.address("x"), 4) && end.value(p.address("y"), 4) == 1 ? std::string() : std::string("wrong");
  });
  EXPECT_EQ(r.status, check::check_status::verified) << r.found.message;
  EXPECT_EQ(run({from_lane_1 + "setp.eq.u32 %p1, %r2, 7; @%p1 trap;"}).status, check::check_status::violated);
  EXPECT_EQ(run({from_lane_1 + "cvt.u64.u32 %rd0, %r2; ld.global.u32 %r3, [%rd0];"}).status, check::check_status::gave_up);
}

TEST(unknown_values, end_a_loop_after_any_round) {
  const check::check_result r = run({"L: " + product + "setp.eq.u32 %p1, %r1, 0; @%p1 bra L; st.global.u32 [x], 1;"});
  EXPECT_EQ(r.status, check::check_status::verified) << r.found.message;
}

TEST(unknown_values, of_an_address_or_a_comparison_are_given_up) {
  const auto gives_up = [](const std::string& body, const std::string& word) {
    const check::check_result r = run({body});
    EXPECT_EQ(r.status, check::check_status::gave_up) << body;
    EXPECT_NE(r.found.message.find("an unknown value determines what '" + word), std::string::npos) << r.found.message;
  };
  gives_up(product + "cvt.u64.u32 %rd1, %r1; ld.global.u32 %r2, [%rd1];", "ld.global.u32");
  gives_up(product + "cvt.u64.u32 %rd1, %r1; st.global.u32 [%rd1], 1;", "st.global.u32");
  gives_up(product + "cvt.u64.u32 %rd1, %r1; red.global.add.u32 [%rd1], 1;", "red.global.add.u32");
  gives_up(product + "atom.global.cas.b32 %r2, [x], %r1, 1;", "atom.global.cas.b32");
  gives_up(product + "bar.sync %r1;", "bar.sync");
  gives_up("mov.u32 %r1, %smid; bar.sync %r1;", "bar.sync");
}

/// Returns the status of a one-warp block that executes `body`, where %r1 is the address of row `lane` in 512 bytes of shared
/// memory. The warp then uses the value of each lane's %r4.
check::check_result run_warp(const std::string& body) {
  check::launch_request request;
  request.block[0] = 32;
  return check::explore(
      program_of_launch(".shared .align 16 .b8 tile[512];\n.global .align 16 .b8 out[512];\n",
                        "mov.u32 %r2, %laneid; shl.b32 %r3, %r2, 4; mov.u32 %r1, tile; add.u32 %r1, %r1, %r3;" + body +
                            "mov.u64 %rd2, out; mul.wide.u32 %rd3, %r2, 16; add.u64 %rd2, %rd2, %rd3;"
                            "st.global.u32 [%rd2], %r4;",
                        request),
      {}, {});
}

const std::string fills = "st.shared.v4.u32 [%r1], {%r2, %r2, %r2, %r2};";
const std::string loads_four = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r1];";

TEST(matrix_rows, are_read_by_the_lanes_that_name_them) {
  EXPECT_EQ(run_warp(fills + "bar.warp.sync -1;" + loads_four).status, check::check_status::verified);
  EXPECT_EQ(run_warp(loads_four).status, check::check_status::uninitialised);
  // For a single matrix, lanes 8 to 31 provide no row address.
  EXPECT_EQ(
      run_warp("setp.lt.u32 %p1, %r2, 8; @%p1 " + fills + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r1];").status,
      check::check_status::verified);
  EXPECT_EQ(
      run_warp("setp.lt.u32 %p1, %r2, 8; @%p1 " + fills + "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4, %r5}, [%r1];").status,
      check::check_status::uninitialised);
  // These rows were written by other lanes.
  const std::string turned = "xor.b32 %r3, %r3, 496; mov.u32 %r1, tile; add.u32 %r1, %r1, %r3;";
  EXPECT_EQ(run_warp(fills + turned + loads_four).status, check::check_status::race);
  EXPECT_EQ(run_warp(fills + turned + "bar.warp.sync -1;" + loads_four).status, check::check_status::verified);
  EXPECT_EQ(run_warp(fills + "add.u32 %r1, %r1, 8;" + loads_four).status, check::check_status::out_of_bounds);
}

TEST(matrix_rows, are_written_by_the_lanes_that_name_them) {
  const std::string stores = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%r4, %r5, %r6, %r7};";
  const std::string turned = "xor.b32 %r3, %r3, 496; mov.u32 %r1, tile; add.u32 %r1, %r1, %r3;";
  EXPECT_EQ(run_warp(stores + "ld.shared.u32 %r4, [%r1];").status, check::check_status::verified);
  EXPECT_EQ(run_warp(stores + turned + "ld.shared.u32 %r4, [%r1];").status, check::check_status::race);
  EXPECT_EQ(run_warp(stores + "ld.shared.u32 %r4, [%r1]; cvt.u64.u32 %rd1, %r4; ld.global.u32 %r5, [%rd1];").status,
            check::check_status::gave_up)
      << "what was stored is unknown";
}

TEST(matrices, are_read_and_written_row_by_row) {
  // A matrix of 16 rows of 16 half-precision numbers, 32 bytes apart: lanes 2 r and 2 r + 1 have written row r.
  const std::string load =
      "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11}, [tile], 16;";
  const std::string store = "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [tile], {%r4, %r5, %r6, %r7}, 16;";
  EXPECT_EQ(run_warp(fills + "bar.warp.sync -1;" + load).status, check::check_status::verified);
  EXPECT_EQ(run_warp(fills + load).status, check::check_status::race);
  EXPECT_EQ(run_warp("setp.ne.u32 %p1, %r2, 31; @%p1 " + fills + "bar.warp.sync -1;" + load).status,
            check::check_status::uninitialised)
      << "the matrix needs the end of the last row";
  EXPECT_EQ(run_warp(store + "bar.warp.sync -1; ld.shared.u32 %r4, [%r1];").status, check::check_status::verified);
  EXPECT_EQ(run_warp(store + "ld.shared.u32 %r4, [%r1];").status, check::check_status::race);
  const std::string wide =
      "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11}, [tile], 17;";
  EXPECT_EQ(run_warp(fills + "bar.warp.sync -1;" + wide).status, check::check_status::out_of_bounds);
}

TEST(unknown_values, are_added_and_exchanged) {
  ptx_program p({product + "red.global.add.u32 [x], %r1; atom.global.exch.b32 %r2, [x], 7; st.global.u32 [y], %r2;"});
  const check::check_result r = p.explore([&](const check::final_memory& end) {
    return !end.is_unknown(p.address("x"), 4) && end.is_unknown(p.address("y"), 4) ? std::string() : std::string("wrong");
  });
  EXPECT_EQ(r.status, check::check_status::verified) << r.found.message;
}

}  // namespace
