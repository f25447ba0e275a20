// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that do not communicate run in parts. A schedule's findings do not depend on how many host threads run the parts.
#include <check/launch.hpp>
#include <ptx/reader.hpp>
#include <sanitize/sanitize.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace parts_test {
namespace {

namespace check = membar::check;
namespace sanitize = membar::sanitize;
using check::check_status;

constexpr std::uint32_t blocks = 256;
constexpr std::uint32_t threads = 256;

/// Consecutive launches of one shape. In each launch, %r0 is the number of the thread in its block, %r1 is the number of the
/// block, %rd0 is the address of the thread's cell, and %r5 is the address of its word in shared memory.
struct large_launches {
  explicit large_launches(const std::vector<std::string>& bodies) {
    std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n.global .u32 x;\n.global .align 16 .b8 cells[" +
                       std::to_string(4 * blocks * threads) + "];\n";
    for (std::size_t k = 0; k < bodies.size(); ++k) {
      text += ".visible .entry k" + std::to_string(k) +
              "()\n{\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.shared .align 16 .b8 s[1024];\n"
              "mov.u32 %r0, %tid.x;mov.u32 %r1, %ctaid.x;mad.lo.u32 %r2, %r1, 256, %r0;mul.wide.u32 %rd1, %r2, 4;"
              "mov.u64 %rd0, cells;add.u64 %rd0, %rd0, %rd1;shl.b32 %r4, %r0, 2;mov.u32 %r5, s;add.u32 %r5, %r5, %r4;" +
              bodies[k] + "ret;\n}\n";
    }
    const check::ptx_module module = check::read_ptx(text);
    layout = check::layout_of(module);
    check::add_variables(memory, module, layout);
    for (std::size_t k = 0; k < bodies.size(); ++k) {
      check::launch_request r;
      r.kernel = std::make_shared<check::kernel_code>(check::decode_kernel(module, layout, module.functions[k]));
      r.grid[0] = blocks;
      r.block[0] = threads;
      if (k > 0) {
        r.after = {static_cast<int>(k) - 1};
      }
      plans.push_back(check::plan_launch(memory, r, static_cast<int>(k * blocks), 0));
    }
  }

  [[nodiscard]] sanitize::sanitize_result run(int jobs, const check::check_property& holds = {},
                                              std::uint64_t schedules = 4) const {
    sanitize::sanitize_options how;
    how.schedules = schedules;
    how.jobs = jobs;
    return sanitize::sanitize(memory, plans, holds, how);
  }
  [[nodiscard]] std::uint64_t cell(const check::final_memory& end, std::uint32_t number) const {
    return end.value(layout.globals.at("cells") + std::uint64_t{4} * number, 4);
  }

  check::module_layout layout{};
  check::program memory{};
  std::vector<check::planned_launch> plans{};
};

[[nodiscard]] std::map<check_status, std::uint64_t> counts_of(const sanitize::sanitize_result& r) {
  std::map<check_status, std::uint64_t> result;
  for (const sanitize::sanitizer_finding& f : r.findings) {
    result[f.found.status] += f.count;
  }
  return result;
}

/// Expects the same counts and findings with three host threads as with one.
void expect_same(const large_launches& p, const sanitize::sanitize_result& one) {
  const sanitize::sanitize_result several = p.run(3);
  EXPECT_EQ(several.counts.instructions, one.counts.instructions);
  EXPECT_EQ(several.counts.accesses, one.counts.accesses);
  EXPECT_EQ(several.counts.parts, one.counts.parts);
  ASSERT_EQ(several.findings.size(), one.findings.size());
  for (std::size_t k = 0; k < one.findings.size(); ++k) {
    EXPECT_EQ(several.findings[k].found.message, one.findings[k].found.message);
    EXPECT_EQ(several.findings[k].count, one.findings[k].count);
    EXPECT_EQ(several.findings[k].seed, one.findings[k].seed);
  }
}

/// Each thread passes a number to its neighbour in the block, and keeps the number that it receives.
const std::string exchange =
    "st.shared.u32 [%r5], %r2;bar.sync 0;xor.b32 %r6, %r4, 4;mov.u32 %r7, s;add.u32 %r7, %r7, %r6;ld.shared.u32 %r8, [%r7];"
    "ld.global.u32 %r9, [%rd0];add.u32 %r8, %r8, %r9;st.global.u32 [%rd0], %r8;";

TEST(parts, leave_what_one_schedule_leaves) {
  const large_launches p({exchange, exchange});
  const check::check_property holds = [&](const check::final_memory& end) -> std::string {
    for (std::uint32_t n = 0; n < blocks * threads; ++n) {
      if (p.cell(end, n) != 2 * (n ^ 1U)) {
        return "cell " + std::to_string(n) + " is " + std::to_string(p.cell(end, n));
      }
    }
    return {};
  };
  const sanitize::sanitize_result one = p.run(1, holds);
  for (const sanitize::sanitizer_finding& f : one.findings) {
    ADD_FAILURE() << f.found.message;
  }
  EXPECT_EQ(one.counts.parts, 4 * 2 * blocks / 4);
  EXPECT_TRUE(p.run(3, holds).findings.empty());
  expect_same(p, one);
}

TEST(parts, count_the_races_in_each_block) {
  const large_launches p(
      {"shl.b32 %r6, %r1, 2;cvt.u64.u32 %rd2, %r6;mov.u64 %rd3, cells;add.u64 %rd3, %rd3, %rd2;"
       "setp.gt.u32 %p0, %r0, 1;@%p0 bra D;st.global.u32 [%rd3], %r0;D:"});
  const sanitize::sanitize_result one = p.run(1);
  EXPECT_EQ(counts_of(one), (std::map<check_status, std::uint64_t>{{check_status::race, 4 * blocks}}));
  EXPECT_EQ(one.counts.parts, 4 * blocks / 4);
  expect_same(p, one);
}

TEST(parts, find_that_a_later_block_writes_what_earlier_ones_have_read) {
  const large_launches p(
      {"setp.gt.u32 %p0, %r1, 31;@%p0 bra W;ld.global.u32 %r6, [x];st.global.u32 [%rd0], %r6;bra D;"
       "W:setp.ne.u32 %p1, %r1, 255;@%p1 bra D;setp.ne.u32 %p1, %r0, 0;@%p1 bra D;st.global.u32 [x], 1;D:"});
  const sanitize::sanitize_result one = p.run(1);
  EXPECT_EQ(counts_of(one),
            (std::map<check_status, std::uint64_t>{{check_status::race, 4 * 3}}));  // 4 schedules, 3 remembered reads
  EXPECT_EQ(one.counts.parts, 4 * blocks / 4);
  expect_same(p, one);
}

TEST(parts, are_not_used_once_blocks_race) {
  const large_launches p({"setp.ne.u32 %p0, %r0, 0;@%p0 bra D;setp.lt.u32 %p0, %r1, 8;@%p0 bra D;st.global.u32 [x], %r1;D:"});
  const sanitize::sanitize_result one = p.run(1);
  EXPECT_EQ(counts_of(one).count(check_status::race), 1U);
  EXPECT_EQ(one.counts.parts, 4 * 2);  // the first batch, in which no thread writes
  expect_same(p, one);
}

TEST(parts, are_not_used_where_a_block_reads_what_another_one_writes) {
  const large_launches p(
      {"xor.b32 %r6, %r2, 1024;mul.wide.u32 %rd2, %r6, 4;mov.u64 %rd3, cells;add.u64 %rd3, %rd3, %rd2;"
       "setp.ne.u32 %p0, %r0, 0;@%p0 bra D;ld.global.u32 %r7, [%rd3];st.global.u32 [%rd0], %r7;D:"});
  const sanitize::sanitize_result one = p.run(1);
  EXPECT_EQ(counts_of(one).count(check_status::race), 1U);
  EXPECT_EQ(one.counts.parts, 0U);
  expect_same(p, one);
}

TEST(parts, are_not_used_where_blocks_use_atomics) {
  const large_launches p({"atom.relaxed.gpu.global.add.u32 %r6, [x], 1;st.global.u32 [%rd0], %r6;"});
  const sanitize::sanitize_result one = p.run(1);
  EXPECT_TRUE(one.findings.empty());
  EXPECT_EQ(one.counts.parts, 0U);
  expect_same(p, one);
}

TEST(parts, are_given_up_where_a_thread_stops) {
  const large_launches p({"setp.lt.u32 %p0, %r2, 65535;@%p0 bra D;add.u64 %rd0, %rd0, 4096;D:st.global.u32 [%rd0], %r0;"});
  const sanitize::sanitize_result one = p.run(1);
  EXPECT_EQ(counts_of(one), (std::map<check_status, std::uint64_t>{{check_status::out_of_bounds, 4}}));
  expect_same(p, one);
}

TEST(parts, see_what_strong_writes_of_an_earlier_launch_have_left) {
  const large_launches p({"setp.ne.u32 %p0, %r0, 0;@%p0 bra D;st.release.gpu.global.u32 [%rd0], %r2;D:",
                          "ld.global.u32 %r6, [%rd0];add.u32 %r6, %r6, 1;st.global.u32 [%rd0], %r6;",
                          "ld.acquire.gpu.global.u32 %r6, [%rd0];setp.ne.u32 %p0, %r0, 0;@%p0 bra D;setp.ne.u32 %p0, %r6, 0;"
                          "add.u32 %r7, %r2, 1;setp.eq.u32 %p0, %r6, %r7;@%p0 bra D;trap;D:"});
  const sanitize::sanitize_result one = p.run(1);
  for (const sanitize::sanitizer_finding& f : one.findings) {
    ADD_FAILURE() << f.found.message;
  }
  EXPECT_EQ(one.counts.parts, 4 * blocks / 4);
  expect_same(p, one);
}

}  // namespace
}  // namespace parts_test
