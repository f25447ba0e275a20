// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests each rule with a program that breaks it and a program that does not. Exploration must report the same findings.
#include <check/explore.hpp>
#include <check/launch.hpp>
#include <ptx/reader.hpp>
#include <sanitize/sanitize.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sanitize_test {
namespace {

namespace check = membar::check;
namespace sanitize = membar::sanitize;
using check::check_status;

/// A kernel and its launch.
struct launched {
  std::string body;
  check::launch_request request{};
};

[[nodiscard]] launched one(std::string body) { return {std::move(body), {}}; }
[[nodiscard]] launched many(std::string body, std::uint32_t blocks, std::uint32_t threads, int cluster = 0) {
  launched l{std::move(body), {}};
  l.request.grid[0] = blocks;
  l.request.block[0] = threads;
  l.request.cluster = cluster;
  return l;
}
[[nodiscard]] launched in_domain(std::string body, int domain) {
  launched l = one(std::move(body));
  l.request.domain = domain;
  return l;
}
[[nodiscard]] launched after(std::string body, std::vector<int> before, bool dependent = false) {
  launched l = one(std::move(body));
  l.request.after = std::move(before);
  l.request.dependent = dependent;
  return l;
}

/// The same launches for exploration and for the sanitizer.
struct both {
  explicit both(const std::vector<launched>& launches) {
    std::string text =
        ".version 9.0\n.target sm_90\n.address_size 64\n.global .u32 x;\n.global .u32 y;\n.global .u32 z;\n"
        ".global .align 16 .b8 wide[64];\n";
    for (std::size_t k = 0; k < launches.size(); ++k) {
      text += ".visible .entry k" + std::to_string(k) +
              "()\n{\n.reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<8>;\n"
              ".shared .align 16 .b8 s[256];\n.shared .align 8 .b64 bar;\n" +
              launches[k].body + "\nret;\n}\n";
    }
    const check::ptx_module module = check::read_ptx(text);
    layout = check::layout_of(module);
    check::add_variables(whole, module, layout);
    check::add_variables(memory, module, layout);
    int first = 0;
    for (std::size_t k = 0; k < launches.size(); ++k) {
      check::launch_request r = launches[k].request;
      r.kernel = std::make_shared<check::kernel_code>(check::decode_kernel(module, layout, module.functions[k]));
      check::add_launch(whole, r);
      plans.push_back(check::plan_launch(memory, r, first, 0));
      first += static_cast<int>(plans.back().blocks);
    }
  }

  [[nodiscard]] std::set<check_status> sanitized(std::uint64_t schedules = 200, const check::check_property& holds = {}) const {
    sanitize::sanitize_options how;
    how.schedules = schedules;
    how.most_instructions = 1'000'000;
    std::set<check_status> result;
    for (const sanitize::sanitizer_finding& f : sanitize::sanitize(memory, plans, holds, how).findings) {
      result.insert(f.found.status);
    }
    return result;
  }
  [[nodiscard]] check_status explored() const {
    check::check_options how;
    how.most_events = 2'000'000;
    return check::explore(whole, {}, how).status;
  }

  check::module_layout layout{};
  check::program whole{};
  check::program memory{};
  std::vector<check::planned_launch> plans{};
};

/// Expects exploration and the sanitizer to report `status` and no other fault. `clean` stands for no fault.
void expect(check_status status, const std::vector<launched>& launches) {
  const both p(launches);
  EXPECT_EQ(p.explored(), status);
  const std::set<check_status> found = p.sanitized();
  EXPECT_EQ(found, status == check_status::verified ? std::set<check_status>{} : std::set<check_status>{status});
}
constexpr auto clean = check_status::verified;
constexpr auto race = check_status::race;

const std::string write_x = "st.global.u32 [x], 1;\n";
const std::string read_x = "ld.global.u32 %r1, [x];\nst.global.u32 [z], %r1;\n";
[[nodiscard]] std::string wait(const std::string& load) {
  return "again:\n" + load + " %r0, [y];\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 bra again;\n";
}

TEST(sanitizer, orders_by_release_and_acquire) {
  expect(clean, {one(write_x + "st.release.gpu.global.u32 [y], 1;\n"), one(wait("ld.acquire.gpu.global.u32") + read_x)});
  expect(race, {one(write_x + "st.relaxed.gpu.global.u32 [y], 1;\n"), one(wait("ld.acquire.gpu.global.u32") + read_x)});
  expect(race, {one(write_x + "st.release.gpu.global.u32 [y], 1;\n"), one(wait("ld.relaxed.gpu.global.u32") + read_x)});
}

TEST(sanitizer, requires_that_scopes_include_each_other) {
  expect(race, {one(write_x + "st.release.cta.global.u32 [y], 1;\n"), one(wait("ld.acquire.gpu.global.u32") + read_x)});
  expect(race, {one(write_x + "st.release.gpu.global.u32 [y], 1;\n"), one(wait("ld.acquire.cta.global.u32") + read_x)});
  const std::string in_block = "mov.u32 %r2, %tid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra second;\n" + write_x +
                               "st.release.cta.global.u32 [y], 1;\nret;\nsecond:\n" + wait("ld.acquire.cta.global.u32") +
                               read_x;
  expect(clean, {many(in_block, 1, 2)});
}

TEST(sanitizer, ends_device_scope_at_its_domain) {
  const std::string writer = write_x + "st.release.gpu.global.u32 [y], 1;\n";
  const std::string reader = wait("ld.acquire.gpu.global.u32") + read_x;
  expect(clean, {in_domain(writer, 1), in_domain(reader, 1)});
  expect(race, {in_domain(writer, 0), in_domain(reader, 1)});
  const std::string wide_writer = write_x + "st.release.sys.global.u32 [y], 1;\n";
  expect(clean, {in_domain(wide_writer, 0), in_domain(wait("ld.acquire.sys.global.u32") + read_x, 1)});
}

TEST(sanitizer, orders_by_fences) {
  const std::string writer = write_x + "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [y], 1;\n";
  const std::string reader = wait("ld.relaxed.gpu.global.u32") + "fence.acq_rel.gpu;\n" + read_x;
  expect(clean, {one(writer), one(reader)});
  expect(race, {one(write_x + "st.relaxed.gpu.global.u32 [y], 1;\nfence.acq_rel.gpu;\n"), one(reader)});
  expect(race, {one(writer), one(wait("ld.relaxed.gpu.global.u32") + read_x)});
}

TEST(sanitizer, takes_part_in_the_order_of_sequential_fences) {
  const std::string left = "st.relaxed.gpu.global.u32 [y], 1;\nfence.sc.gpu;\nld.relaxed.gpu.global.u32 %r0, [z];\n";
  const std::string right = "st.relaxed.gpu.global.u32 [z], 1;\nfence.sc.gpu;\nld.relaxed.gpu.global.u32 %r0, [y];\n";
  const std::string enter = "setp.ne.u32 %p0, %r0, 0;\n@%p0 ret;\nst.global.u32 [x], 1;\n";
  expect(clean, {one(left + enter), one(right + enter)});
  const std::string weaker = "st.relaxed.gpu.global.u32 [z], 1;\nld.relaxed.gpu.global.u32 %r0, [y];\n" + enter;
  EXPECT_EQ(both({one(left + enter), one(weaker)}).explored(), race);
}

/// The last of two blocks reads what both blocks have written. Each block executes a fence before it increments the count, but
/// not after.
TEST(sanitizer, finds_in_ten_schedules_that_the_last_block_acquires_nothing) {
  const both p(
      {many("mov.u32 %r0, %ctaid.x;\nmul.wide.u32 %rd0, %r0, 4;\nmov.u64 %rd1, wide;\nadd.u64 %rd0, %rd0, %rd1;\n"
            "st.global.u32 [%rd0], 1;\nfence.sc.gpu;\natom.relaxed.gpu.global.add.u32 %r1, [y], 1;\n"
            "setp.ne.u32 %p0, %r1, 1;\n@%p0 bra over;\nld.global.u32 %r2, [wide];\nld.global.u32 %r3, [wide+4];\n"
            "add.u32 %r2, %r2, %r3;\nst.global.u32 [z], %r2;\nover:\n",
            2, 1)});
  EXPECT_EQ(p.explored(), race);
  for (std::uint64_t seed = 1; seed <= 400; seed += 20) {
    sanitize::sanitize_options how;
    how.seed = seed;
    EXPECT_FALSE(sanitize::sanitize(p.memory, p.plans, {}, how).findings.empty()) << "seed " << seed;
  }
}

TEST(sanitizer, follows_release_sequences) {
  const std::string writer = write_x + "st.release.gpu.global.u32 [y], 1;\n";
  const std::string link = wait("ld.relaxed.gpu.global.u32");
  const std::string reader =
      "again:\nld.acquire.gpu.global.u32 %r0, [y];\nsetp.lt.u32 %p0, %r0, 2;\n@%p0 bra again;\n" + read_x;
  expect(clean, {one(writer), one(link + "atom.relaxed.gpu.global.add.u32 %r1, [y], 1;\n"), one(reader)});
  expect(race, {one(writer), one(link + "atom.relaxed.cta.global.add.u32 %r1, [y], 1;\n"), one(reader)});
  expect(race, {one(writer), one(link + "st.relaxed.gpu.global.u32 [y], 2;\n"), one(reader)});
}

TEST(sanitizer, leaves_out_reductions_as_acquire_patterns) {
  const std::string writer = write_x + "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [y], 1;\n";
  const std::string check_it = "fence.acq_rel.gpu;\nld.relaxed.gpu.global.u32 %r0, [y];\nsetp.ne.u32 %p0, %r0, 3;\n@%p0 ret;\n";
  expect(race, {one(writer), one("red.relaxed.gpu.global.add.u32 [y], 2;\n" + check_it + read_x)});
  expect(clean,
         {one(writer), one("atom.relaxed.gpu.global.add.u32 %r0, [y], 2;\nfence.acq_rel.gpu;\nsetp.ne.u32 %p0, %r0, 1;\n@%p0 "
                           "ret;\n" +
                           read_x)});
}

TEST(sanitizer, reports_no_race_of_morally_strong_accesses) {
  expect(clean, {one("atom.relaxed.gpu.global.add.u32 %r0, [x], 1;\n"), one("atom.relaxed.gpu.global.add.u32 %r0, [x], 1;\n")});
  expect(race,
         {one("atom.relaxed.gpu.global.add.u32 %r0, [x], 1;\n"), one("ld.global.u32 %r0, [x];\nst.global.u32 [z], %r0;\n")});
  expect(race, {one("atom.relaxed.cta.global.add.u32 %r0, [x], 1;\n"), one("atom.relaxed.gpu.global.add.u32 %r0, [x], 1;\n")});
  expect(race, {one("st.relaxed.gpu.global.u32 [wide], 1;\n"), one("st.relaxed.gpu.global.u64 [wide], 1;\n")});
  expect(clean, {one("st.global.u8 [wide], 1;\n"), one("st.global.u8 [wide+1], 1;\n")});
}

TEST(sanitizer, orders_what_a_strong_read_has_observed) {
  const std::string reader = wait("ld.relaxed.gpu.global.u32") + "ld.global.u32 %r1, [y];\nst.global.u32 [z], %r1;\n";
  expect(clean, {one("st.relaxed.gpu.global.u32 [y], 1;\n"), one(reader)});
  expect(race, {one("st.relaxed.gpu.global.u32 [y], 1;\nst.relaxed.gpu.global.u32 [y], 2;\n"), one(reader)});
}

const std::string neighbours =
    "mov.u32 %r0, %tid.x;\nshl.b32 %r1, %r0, 2;\nmov.u32 %r2, s;\nadd.u32 %r3, %r2, %r1;\nst.shared.u32 [%r3], %r0;\n";
const std::string read_neighbour =
    "xor.b32 %r4, %r1, 4;\nadd.u32 %r5, %r2, %r4;\nld.shared.u32 %r6, [%r5];\nst.shared.u32 [%r3+64], %r6;\n";

TEST(sanitizer, orders_by_barriers_of_a_block) {
  expect(clean, {many(neighbours + "bar.sync 0;\n" + read_neighbour, 1, 4)});
  EXPECT_TRUE(both({many(neighbours + read_neighbour, 1, 2)}).sanitized().contains(race));
  expect(clean, {many(neighbours + "bar.warp.sync 0xffffffff;\n" + read_neighbour, 1, 2)});
  EXPECT_TRUE(
      both({many(neighbours + "shfl.sync.idx.b32 %r7, %r0, 0, 31, 3;\n" + read_neighbour, 1, 2)}).sanitized().contains(race));
}

TEST(sanitizer, orders_an_arrival_before_the_end_of_the_wait) {
  const std::string choose = "mov.u32 %r0, %tid.x;\nsetp.ge.u32 %p0, %r0, 32;\n@%p0 bra second;\n";
  const std::string first = "setp.eq.u32 %p1, %r0, 0;\n@%p1 st.global.u32 [x], 1;\nbar.arrive 1, 64;\n";
  const std::string second = "second:\nbar.sync 1, 64;\nsetp.eq.u32 %p1, %r0, 32;\n@%p1 ld.global.u32 %r1, [x];\n";
  EXPECT_EQ(both({many(choose + first + "ret;\n" + second, 1, 64)}).sanitized(10), std::set<check_status>{});
  const std::string late = "bar.arrive 1, 64;\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 st.global.u32 [x], 1;\n";
  EXPECT_EQ(both({many(choose + late + "ret;\n" + second, 1, 64)}).sanitized(10), std::set<check_status>{race});
}

TEST(sanitizer, lets_a_thread_arrive_at_several_barriers_before_others_wait) {
  const std::string choose = "mov.u32 %r0, %tid.x;\nsetp.ge.u32 %p0, %r0, 32;\n@%p0 bra second;\nsetp.eq.u32 %p1, %r0, 0;\n";
  const std::string first =
      "@%p1 st.global.u32 [x], 1;\nbar.arrive 1, 64;\n@%p1 st.global.u32 [y], 1;\nbar.arrive 2, 64;\nret;\n";
  const std::string second =
      "second:\nbar.sync 1, 64;\nsetp.eq.u32 %p1, %r0, 32;\n@%p1 ld.global.u32 %r1, [x];\nbar.sync 2, 64;\n";
  EXPECT_EQ(both({many(choose + first + second + "@%p1 ld.global.u32 %r1, [y];\n", 1, 64)}).sanitized(),
            std::set<check_status>{});
  const std::string early =
      "second:\nbar.sync 1, 64;\nsetp.eq.u32 %p1, %r0, 32;\n@%p1 ld.global.u32 %r1, [y];\nbar.sync 2, 64;\n";
  EXPECT_EQ(both({many(choose + first + early, 1, 64)}).sanitized(), std::set<check_status>{race});
}

TEST(sanitizer, does_not_let_threads_that_poll_together_hold_up_others) {
  const std::string polls =
      "again:\nld.relaxed.gpu.global.u32 %r0, [y];\nbar.sync 0;\nsetp.eq.u32 %p0, %r0, 0;\nvote.sync.any.pred %p1, %p0, "
      "3;\n@%p1 bra again;\n";
  EXPECT_EQ(both({many(polls, 1, 2), one("st.relaxed.gpu.global.u32 [y], 1;\n")}).sanitized(20), std::set<check_status>{});
}

// Without writing, each thread executes far more instructions than the limit for threads that only poll. The launches have no
// fault.
TEST(sanitizer, lets_threads_only_read) {
  const std::string body =
      "mov.u32 %r0, 0;\nL: ld.global.u32 %r1, [x];\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r0, %r0, 1;\n"
      "setp.lt.u32 %p0, %r0, N;\n@%p0 bra L;\n@%p1 st.global.u32 [y], %r2;\n";
  const auto rounds = [&](int n) { return std::string(body).replace(body.find('N'), 1, std::to_string(n)); };
  sanitize::sanitize_options how;
  how.schedules = 4;
  for (const launched& l : {many(rounds(1'000), 32, 64), one(rounds(1'000'000))}) {
    const both p({l});
    EXPECT_TRUE(sanitize::sanitize(p.memory, p.plans, {}, how).findings.empty());
  }
}

TEST(sanitizer, orders_by_barriers_of_a_cluster) {
  const std::string writes = "mov.u32 %r0, %cluster_ctarank;\nsetp.ne.u32 %p0, %r0, 0;\n@!%p0 st.global.u32 [x], 1;\n";
  const std::string reads = "@%p0 ld.global.u32 %r1, [x];\n@%p0 st.global.u32 [z], %r1;\n";
  const std::string meets = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  expect(clean, {many(writes + meets + reads, 2, 1, 2)});
  expect(race, {many(writes + "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n" + reads, 2, 1, 2)});
  expect(check_status::undefined, {many("barrier.cluster.wait.aligned;\n", 2, 1, 2)});
}

TEST(sanitizer, orders_by_phases_of_an_mbarrier) {
  const std::string begin =
      "mov.u32 %r0, %tid.x;\nsetp.ne.u32 %p0, %r0, 0;\n@%p0 bra begun;\nmbarrier.init.shared.b64 [bar], 1;\nbegun:\nbar.sync "
      "0;\n@%p0 "
      "bra second;\n";
  const std::string first = write_x + "mbarrier.arrive.shared.b64 %rd0, [bar];\nret;\n";
  const std::string second = "second:\nmbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;\n@!%p1 bra second;\n" + read_x;
  expect(clean, {many(begin + first + second, 1, 2)});
  const std::string late = "mbarrier.arrive.shared.b64 %rd0, [bar];\n" + write_x + "ret;\n";
  expect(race, {many(begin + late + second, 1, 2)});
  expect(check_status::undefined,
         {many("mbarrier.init.shared.b64 [bar], 1;\nmbarrier.arrive.shared.b64 %rd0, [bar], 2;\n", 1, 1)});
}

/// Block 1 of a cluster writes x and arrives at an mbarrier of block 0, which waits for the arrival and reads x.
[[nodiscard]] launched arrival_at_another_block(const std::string& scope) {
  const std::string meets = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  return many("mov.u32 %r0, %cluster_ctarank;\nsetp.ne.u32 %p0, %r0, 0;\n@!%p0 mbarrier.init.shared.b64 [bar], 1;\n" + meets +
                  "@%p0 bra sends;\nagain:\nmbarrier.try_wait.parity" + (scope.empty() ? "" : ".acquire" + scope) +
                  ".shared.b64 %p1, [bar], 0;\n@!%p1 bra again;\n" + read_x + "bra over;\nsends:\n" + write_x +
                  "mov.u32 %r2, bar;\nmapa.shared::cluster.u32 %r3, %r2, 0;\nmbarrier.arrive" +
                  (scope.empty() ? "" : ".release" + scope) + ".shared::cluster.b64 _, [%r3];\nover:\n" + meets,
              2, 1, 2);
}

TEST(sanitizer, names_the_reading_that_a_finding_depends_on) {
  expect(clean, {arrival_at_another_block(".cluster")});
  expect(race, {arrival_at_another_block("")});
  const both p({arrival_at_another_block("")});
  sanitize::sanitize_options how;
  const auto found = sanitize::sanitize(p.memory, p.plans, {}, how).findings;
  ASSERT_EQ(found.size(), 1U);
  const std::string names = "--reading=cluster-scope-of-mbarriers";
  EXPECT_NE(found.front().found.message.find(names), std::string::npos) << found.front().found.message;
  const check::check_result explored = check::explore(p.whole, {}, {});
  EXPECT_NE(explored.found.message.find(names), std::string::npos) << explored.found.message;
  how.readings.take(membar::model::reading::cluster_scope_of_mbarriers);
  EXPECT_TRUE(sanitize::sanitize(p.memory, p.plans, {}, how).findings.empty());
  check::check_options options;
  options.readings = how.readings;
  EXPECT_EQ(check::explore(p.whole, {}, options).status, clean);
}

TEST(sanitizer, says_nothing_of_readings_where_none_matters) {
  const both p({one(write_x), one(read_x)});
  for (const auto& f : sanitize::sanitize(p.memory, p.plans, {}, {}).findings) {
    EXPECT_EQ(f.found.message.find("reading"), std::string::npos) << f.found.message;
  }
}

TEST(sanitizer, orders_launches) {
  expect(clean, {one(write_x), after(read_x, {0})});
  expect(race, {one(write_x), one(read_x)});
  expect(clean, {one("griddepcontrol.launch_dependents;\n" + write_x), after("griddepcontrol.wait;\n" + read_x, {0}, true)});
  expect(race, {one("griddepcontrol.launch_dependents;\n" + write_x), after(read_x, {0}, true)});
}

TEST(sanitizer, requires_proxy_fences) {
  const std::string store =
      "mov.u32 %r0, 7;\nst.shared.u32 [s], %r0;\nst.shared.u32 [s+4], %r0;\nst.shared.u32 [s+8], "
      "%r0;\nst.shared.u32 [s+12], %r0;\n";
  const std::string copy =
      "cp.async.bulk.global.shared::cta.bulk_group [wide], [s], 16;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group "
      "0;\n";
  expect(clean, {one(store + "fence.proxy.async.shared::cta;\n" + copy)});
  expect(race, {one(store + copy)});
  const std::string no_wait =
      "cp.async.bulk.global.shared::cta.bulk_group [wide], [s], 16;\ncp.async.bulk.commit_group;\nst.shared.u32 "
      "[s], 1;\ncp.async.bulk.wait_group 0;\n";
  expect(race, {one(store + "fence.proxy.async.shared::cta;\n" + no_wait)});
}

TEST(sanitizer, reports_memory_that_nothing_was_written_to) {
  expect(check_status::uninitialised, {one("ld.shared.u32 %r0, [s];\nst.global.u32 [z], %r0;\n")});
  expect(clean, {one("st.shared.u32 [s], 1;\nld.shared.u32 %r0, [s];\nst.global.u32 [z], %r0;\n")});
}

/// Returns the body of a kernel that loads a value early: block 0 uses the value that `load` reads into %r1, and block 1 never
/// does.
[[nodiscard]] std::string only_block_0_uses(const std::string& load) {
  return "mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 0;\n" + load + "@%p1 st.global.u32 [y], %r1;\n";
}
const std::string load_x = "ld.global.u32 %r1, [x];\n";
/// Adds more registers and instructions than the sanitizer can handle when it keeps track of the register values before each
/// instruction.
[[nodiscard]] std::string in_a_large_kernel(const std::string& body) {
  std::string text = ".reg .b32 %many<2100>;\nmov.u32 %many0, 1;\n";
  for (int k = 1; k < 2100; ++k) {
    text += "add.u32 %many" + std::to_string(k) + ", %many" + std::to_string(k - 1) + ", 1;\n";
  }
  return text + "mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 st.global.u32 [wide], %many2099;\n" + body;
}
/// Returns the body of a kernel in which block 0 loads the value for the next round in each of `rounds` rounds, as a pipeline
/// does. Block 0 never uses the last value. The other block writes x at the same time.
[[nodiscard]] std::string pipeline(const std::string& rounds) {
  return "mov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra other;\nmov.u32 %r3, " + rounds + ";\nmov.u32 %r1, 0;\n" +
         "round:\nst.global.u32 [y], %r1;\nld.global.u32 %r1, [x];\nsub.u32 %r3, %r3, 1;\nsetp.ne.u32 %p2, %r3, 0;\n" +
         "@%p2 bra round;\nret;\nother:\n" + write_x + "ret;\n";
}

TEST(sanitizer, passes_over_loads_whose_value_their_thread_never_uses) {
  const std::string write_after = "@!%p1 bra done;\n" + write_x + "done:\n";
  expect(clean, {many(only_block_0_uses(load_x) + write_after, 2, 1)});
  expect(race, {many(only_block_0_uses(load_x) + "@!%p1 st.global.u32 [z], %r1;\n" + write_after, 2, 1)});
  expect(clean, {many(pipeline("1"), 2, 1)});
  expect(race, {many(pipeline("2"), 2, 1)});
}

TEST(sanitizer, asks_each_thread_whether_it_uses_what_another_one_does_not) {
  const std::string last_uses =
      "mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 0;\nsetp.eq.u32 %p2, %r2, 2;\n@%p1 bra first;\n" + load_x +
      "@%p2 st.global.u32 [y], %r1;\nret;\nfirst:\n" + write_x;
  const both p({many(last_uses, 3, 1)});
  EXPECT_EQ(p.explored(), race);
  EXPECT_EQ(p.sanitized(1), (std::set<check_status>{race}));
  expect(clean, {many(last_uses, 2, 1)});
}

TEST(sanitizer, passes_over_unused_loads_in_large_kernels) {
  const std::string write_after = "@!%p1 bra done;\n" + write_x + "done:\n";
  expect(clean, {many(in_a_large_kernel(only_block_0_uses(load_x) + write_after), 2, 1)});
  expect(race, {many(in_a_large_kernel(only_block_0_uses(load_x) + "@!%p1 st.global.u32 [z], %r1;\n" + write_after), 2, 1)});
  expect(clean, {many(in_a_large_kernel(pipeline("1")), 2, 1)});
  expect(race, {many(in_a_large_kernel(pipeline("2")), 2, 1)});
}

TEST(sanitizer, asks_each_thread_whether_it_uses_what_nothing_was_written_to) {
  const std::string write_first = "@!%p1 bra loads;\nst.shared.u32 [s], 1;\nloads:\n";
  const std::string load = "ld.shared.u32 %r1, [s];\n";
  expect(clean, {many(only_block_0_uses(write_first + load), 2, 1)});
  expect(check_status::uninitialised, {many(only_block_0_uses(load), 2, 1)});
}

TEST(sanitizer, reports_accesses_out_of_bounds) {
  expect(check_status::out_of_bounds, {one("ld.global.u32 %r0, [wide+64];\nst.global.u32 [z], %r0;\n")});
  expect(check_status::out_of_bounds, {one("ld.global.u32 %r0, [wide+2];\nst.global.u32 [z], %r0;\n")});
  expect(clean, {one("ld.global.u32 %r0, [wide+60];\nst.global.u32 [z], %r0;\n")});
}

TEST(sanitizer, reports_masks_without_the_caller) {
  expect(check_status::undefined, {many("bar.warp.sync 1;\n", 1, 2)});
  expect(clean, {many("bar.warp.sync 3;\n", 1, 2)});
}

TEST(sanitizer, reports_barriers_of_different_places) {
  const std::string divides =
      "mov.u32 %r0, %tid.x;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 bra other;\nbar.sync 0;\nst.global.u32 [x], 1;\nret;\nother:\n";
  expect(check_status::undefined, {many(divides + "bar.sync 0;\n", 1, 2)});
}

TEST(sanitizer, reports_threads_that_wait_for_ever) {
  expect(check_status::hang, {one(wait("ld.acquire.gpu.global.u32"))});
  expect(clean, {one(wait("ld.acquire.gpu.global.u32")), one("st.release.gpu.global.u32 [y], 1;\n")});
  expect(check_status::hang, {one("again:\nbra again;\n")});
}

TEST(sanitizer, reports_blocks_that_the_device_does_not_hold_together) {
  const std::string meets =
      "atom.add.release.gpu.global.u32 %r0, [x], 1;\nmov.u32 %r2, %nctaid.x;\nagain:\nld.acquire.gpu.global.u32 %r1, "
      "[x];\nsetp.lt.u32 %p0, %r1, %r2;\n@%p0 bra again;\n";
  const both p({many(meets, 8, 1)});
  sanitize::sanitize_options how;
  EXPECT_TRUE(sanitize::sanitize(p.memory, p.plans, {}, how).findings.empty());
  how.device = {2, 2048, 3, 228 * 1024};
  const auto found = sanitize::sanitize(p.memory, p.plans, {}, how).findings;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].found.status, check_status::hang);
  EXPECT_NE(found[0].found.message.find("can hold only 6 of the 8 blocks"), std::string::npos) << found[0].found.message;
}

TEST(sanitizer, checks_final_conditions) {
  const both p({one("st.global.u32 [x], 3;\n")});
  const std::uint64_t x = p.layout.globals.at("x");
  const auto is = [&](std::uint64_t value) {
    return p.sanitized(
        3, [=](const check::final_memory& end) { return end.value(x, 4) == value ? std::string() : std::string("it is not"); });
  };
  EXPECT_EQ(is(3), std::set<check_status>{});
  EXPECT_EQ(is(4), std::set<check_status>{check_status::violated});
}

TEST(sanitizer, counts_a_pair_of_places_once) {
  const both p({many("mov.u32 %r0, %tid.x;\nst.global.u32 [x], %r0;\n", 4, 64)});
  sanitize::sanitize_options how;
  how.schedules = 3;
  const auto r = sanitize::sanitize(p.memory, p.plans, {}, how);
  ASSERT_EQ(r.findings.size(), 1U);
  EXPECT_GT(r.findings[0].count, 3U * 200U);
  EXPECT_EQ(r.findings[0].seed, 1U);
  EXPECT_EQ(r.counts.schedules, 3U);
}

TEST(sanitizer, shows_the_same_with_several_jobs) {
  const both p({many("mov.u32 %r0, %tid.x;\nst.global.u32 [x], %r0;\n", 2, 32), one(write_x)});
  sanitize::sanitize_options how;
  how.schedules = 40;
  const auto told = [&](int jobs) {
    how.jobs = jobs;
    std::vector<std::string> all;
    for (const auto& f : sanitize::sanitize(p.memory, p.plans, {}, how).findings) {
      all.push_back(std::to_string(f.seed) + " " + std::to_string(f.count) + " " + f.found.message);
    }
    return all;
  };
  EXPECT_EQ(told(1), told(4));
}

/// Random register instructions whose results are stored.
[[nodiscard]] std::string random_arithmetic(std::mt19937& random) {
  const std::array<std::string, 26> forms = {"add.u32 %d, %a, %b",       "sub.s32 %d, %a, %b",
                                             "mul.lo.u32 %d, %a, %b",    "mad.lo.s32 %d, %a, %b, %c",
                                             "min.s32 %d, %a, %b",       "max.u32 %d, %a, %b",
                                             "and.b32 %d, %a, %b",       "or.b32 %d, %a, %b",
                                             "xor.b32 %d, %a, %b",       "not.b32 %d, %a",
                                             "shl.b32 %d, %a, %b",       "shr.s32 %d, %a, %b",
                                             "shr.u32 %d, %a, %b",       "mul.hi.u32 %d, %a, %b",
                                             "div.u32 %d, %a, %b",       "rem.s32 %d, %a, %b",
                                             "neg.s32 %d, %a",           "abs.s32 %d, %a",
                                             "popc.b32 %d, %a",          "clz.b32 %d, %a",
                                             "bfe.u32 %d, %a, %b, %c",   "prmt.b32 %d, %a, %b, %c",
                                             "selp.b32 %d, %a, %b, %p1", "mov.u32 %d, %a",
                                             "setp.lt.s32 %p1, %a, %b",  "lop3.b32 %d, %a, %b, %c, 0x96"};
  std::string text;
  for (int k = 0; k < 8; ++k) {
    text += "mov.u32 %r" + std::to_string(k) + ", " + std::to_string(random() % 3 == 0 ? random() % 40 : random()) + ";\n";
  }
  text += "setp.eq.u32 %p1, %r0, %r1;\n";
  for (int n = 0; n < 60; ++n) {
    std::string form = forms[random() % forms.size()];
    for (std::size_t at = form.find('%'); at != std::string::npos; at = form.find('%', at + 1)) {
      if (form[at + 1] != 'p') {
        form.replace(at, 2,
                     random() % 6 == 0 && form[at + 1] != 'd' && form.substr(0, 4) != "prmt"
                         ? std::to_string(random() % 1000)
                         : "%r" + std::to_string(random() % 8));
      }
    }
    text += (random() % 8 == 0 ? "@%p1 " : "") + form + ";\n";
  }
  for (int k = 0; k < 8; ++k) {
    text += "st.global.u32 [wide+" + std::to_string(4 * k) + "], %r" + std::to_string(k) + ";\n";
  }
  return text;
}

TEST(sanitizer, computes_what_exploration_computes) {
  std::mt19937 random(5);
  for (int n = 0; n < 60; ++n) {
    const std::string body = random_arithmetic(random);
    const both p({one(body)});
    const std::uint64_t from = p.layout.globals.at("wide");
    std::vector<std::uint64_t> values[2];
    const auto keep = [&](std::size_t which) {
      return [&values, which, from](const check::final_memory& end) {
        for (std::uint64_t k = 0; k < 8; ++k) {
          values[which].push_back(end.value(from + 4 * k, 4));
        }
        return std::string();
      };
    };
    EXPECT_EQ(check::explore(p.whole, keep(0), {}).status, clean);
    EXPECT_EQ(p.sanitized(1, keep(1)), std::set<check_status>{});
    EXPECT_EQ(values[0], values[1]) << body;
  }
}

}  // namespace
}  // namespace sanitize_test
