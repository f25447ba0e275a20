// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// With symmetry reduction, the checker finds the same outcomes (up to a permutation of equal threads) and explores fewer
// executions.
#include <tests/check/ptx_programs.hpp>

#include <check/graph.hpp>
#include <check/symmetry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace symmetry_test {
namespace {

using namespace membar_test;
using check::check_status;

check::check_options with_symmetry(bool on) {
  check::check_options options;
  options.symmetry = on;
  options.load_buffering = false;
  return options;
}

/// The visible result of an execution, independent of the order of threads in a launch: the launch and the values read for each
/// thread, and the final memory.
using outcome = std::pair<std::vector<std::vector<std::uint64_t>>, std::vector<std::uint64_t>>;

struct answer {
  check::check_result result{};
  std::set<outcome> outcomes{};
};

answer answer_of(const ptx_program& p, bool symmetry) {
  answer a;
  a.result = p.explore(
      [&](const check::final_memory& end) {
        outcome o;
        for (std::size_t t = 0; t < end.execution().threads.size(); ++t) {
          std::vector<std::uint64_t> seen = {static_cast<std::uint64_t>(p.get().threads[t].launch)};
          for (const check::graph_event* e : end.execution().threads[t].events) {
            if (e->kind == membar::model::event_kind::read) {
              seen.push_back(e->value.low);
            }
          }
          o.first.push_back(seen);
        }
        std::sort(o.first.begin(), o.first.end());
        for (const char* variable : {"x", "y", "z"}) {
          o.second.push_back(end.value(p.address(variable), 4));
        }
        a.outcomes.insert(o);
        return std::string();
      },
      with_symmetry(symmetry));
  return a;
}

std::uint64_t executions(const std::string& body, std::uint32_t threads) {
  const answer a = answer_of(ptx_program({body}, threads), true);
  EXPECT_EQ(a.result.status, check_status::verified) << a.result.found.message;
  return a.result.counts.executions;
}

const std::string add_to_x = "atom.relaxed.gpu.global.add.u32 %r0, [x], 1;";
const std::string ticket_lock =
    "atom.relaxed.gpu.global.add.u32 %r0, [x], 1;"
    "W: ld.acquire.gpu.global.u32 %r1, [y]; setp.ne.u32 %p0, %r0, %r1; @%p0 bra W;"
    "ld.global.u32 %r2, [z]; add.u32 %r2, %r2, 1; st.global.u32 [z], %r2; red.release.gpu.global.add.u32 [y], 1;";

TEST(check_symmetry, leaves_one_order_of_the_first_atomics) {
  for (std::uint32_t n = 1; n <= 8; ++n) {
    EXPECT_EQ(executions(add_to_x, n), 1U);
    EXPECT_EQ(executions(ticket_lock, n), 1U);
  }
  EXPECT_EQ(executions(add_to_x + add_to_x, 2), 3U);   // out of 6 = 4! / (2! 2!) without symmetry
  EXPECT_EQ(executions(add_to_x + add_to_x, 3), 15U);  // out of 90 = 6! / (2! 2! 2!) without symmetry
}

TEST(check_symmetry, is_off_unless_it_is_asked_for) { EXPECT_EQ(ptx_program({add_to_x}, 4).explore().counts.executions, 24U); }

TEST(check_symmetry, does_not_apply_to_threads_that_can_be_distinguished) {
  for (const std::string& apart :
       {std::string("mov.u32 %r3, %tid.x;"), std::string("mov.u32 %r3, %laneid;"), std::string("mov.u32 %r3, %lanemask_lt;"),
        std::string("mov.u32 %r3, %ctaid.x;"), std::string("mov.u32 %r3, %warpid;"), std::string("bar.warp.sync 7;"),
        std::string("vote.sync.ballot.b32 %r3, %p0, 7;"), std::string("match.any.sync.b32 %r3, %r3, 7;"),
        std::string("redux.sync.add.u32 %r3, %r3, 7;")}) {
    EXPECT_EQ(executions(apart + add_to_x, 3), 6U) << apart;
  }
  EXPECT_EQ(executions("mov.u32 %r3, %ntid.x; bar.sync 0;" + add_to_x, 3), 1U)
      << "the number of threads is the same for all of them";
  EXPECT_EQ(answer_of(ptx_program({add_to_x, add_to_x}), true).result.counts.executions, 2U)
      << "different launches may have different arguments";
}

TEST(check_symmetry, of_blocks_applies_to_blocks_of_one_thread_without_shared_memory) {
  const auto grid = [](const std::string& body, std::uint32_t block, int cluster) {
    check::launch_request request;
    request.grid[0] = 4;
    request.block[0] = block;
    request.cluster = cluster;
    return check::equals_before(program_of_launch(".global .u32 x;\n.shared .u32 own;\n", body, request));
  };
  EXPECT_EQ(grid(add_to_x, 1, 0), (std::vector<int>{-1, 0, 1, 2}));
  EXPECT_EQ(grid(add_to_x, 2, 0), (std::vector<int>{-1, 0, -1, 2, -1, 4, -1, 6}));
  EXPECT_EQ(grid(add_to_x, 1, 2), (std::vector<int>{-1, 0, -1, 2}));
  EXPECT_EQ(grid("st.shared.u32 [own], 1;" + add_to_x, 1, 0), (std::vector<int>{-1, -1, -1, -1}));
  EXPECT_EQ(grid("mov.u64 %rd0, own; cvta.shared.u64 %rd0, %rd0;" + add_to_x, 1, 0), (std::vector<int>{-1, -1, -1, -1}));
}

TEST(check_symmetry, finds_what_only_one_of_equal_threads_does) {
  // The last thread to add traps, the first waits forever, and the second stores without an order.
  const auto branch = [](const char* ticket, const std::string& then) {
    return add_to_x + "setp.ne.u32 %p0, %r0, " + ticket + "; @%p0 bra S;" + then + "S:";
  };
  EXPECT_EQ(answer_of(ptx_program({branch("2", "trap;")}, 3), true).result.status, check_status::violated);
  EXPECT_EQ(
      answer_of(ptx_program({branch("0", "W: ld.relaxed.gpu.global.u32 %r1, [y]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W;")}, 3),
                true)
          .result.status,
      check_status::hang);
  EXPECT_EQ(answer_of(ptx_program({branch("1", "st.global.u32 [y], 1;") + "ld.global.u32 %r2, [y];"}, 3), true).result.status,
            check_status::race);
}

TEST(check_symmetry, does_not_mistake_held_back_threads_for_a_hang) {
  // Before its first atomic, a thread waits for another thread's atomic.
  const std::string second =
      "ld.relaxed.gpu.global.u32 %r0, [y]; setp.eq.u32 %p0, %r0, 0; @%p0 bra A;"
      "W: ld.relaxed.gpu.global.u32 %r0, [x]; setp.eq.u32 %p0, %r0, 0; @%p0 bra W; A: atom.relaxed.gpu.global.add.u32 %r0, "
      "[x], 1;";
  const ptx_program p({second, "st.relaxed.gpu.global.u32 [y], 1; st.relaxed.gpu.global.u32 [x], 1;"}, 2);
  const answer on = answer_of(p, true);
  const answer off = answer_of(p, false);
  EXPECT_EQ(on.result.status, check_status::verified) << on.result.found.message;
  EXPECT_EQ(on.outcomes, off.outcomes);
}

TEST(check_symmetry, keeps_all_outcomes_of_random_programs) {
  std::mt19937_64 random(20'231);
  const auto one_of = [&](const std::vector<std::string>& words) { return words[random() % words.size()]; };
  int smaller = 0;
  int found = 0;
  for (int n = 0; n < 3'000; ++n) {
    const auto body = [&](int length) {
      std::string text;
      for (int k = 0; k < length; ++k) {
        const std::string at = ".gpu.global", where = one_of({"x", "y"}), r = "%r" + std::to_string(k);
        const std::string before = k == 0 ? "%r9" : "%r" + std::to_string(k - 1);
        switch (random() % 8) {
          case 0:
          case 1:
            text +=
                "atom." + one_of({"relaxed", "acquire", "release", "acq_rel"}) + at + ".add.u32 " + r + ", [" + where + "], 1;";
            break;
          case 2:
            text += "atom.relaxed" + at + ".cas.b32 " + r + ", [" + where + "], " + one_of({"0", "1", before}) + ", 2;";
            break;
          case 3:
            text += "st." + one_of({"relaxed", "release"}) + at + ".u32 [" + where + "], " + one_of({"1", "2", before}) + ";";
            break;
          case 4:
            text += "setp.eq.u32 %p0, " + before + ", " + one_of({"0", "1"}) + "; @%p0 st.relaxed" + at + ".u32 [z], " +
                    before + ";";
            break;
          case 5:
            text += one_of({"fence.acq_rel.gpu;", "fence.sc.gpu;", random() % 4 == 0 ? "st.global.u32 [z], 1;" : ""});
            break;
          default:
            text += "ld." + one_of({"relaxed", "acquire"}) + at + ".u32 " + r + ", [" + where + "];";
            break;
        }
      }
      return text;
    };
    const auto threads = static_cast<std::uint32_t>(2 + random() % 2);
    std::vector<std::string> bodies = {body(static_cast<int>(threads == 2 ? 2 + random() % 3 : 2 + random() % 2))};
    if (threads == 2 && random() % 3 == 0) {
      bodies.push_back(body(2));
    }
    const ptx_program p(bodies, threads);
    const answer on = answer_of(p, true);
    const answer off = answer_of(p, false);
    ASSERT_EQ(on.result.status, off.result.status) << n << ": " << bodies.front() << "\n" << bodies.back();
    found += off.result.status == check_status::verified ? 0 : 1;
    if (off.result.status == check_status::verified) {
      ASSERT_EQ(on.outcomes, off.outcomes) << n << ": " << bodies.front() << "\n" << bodies.back();
      ASSERT_LE(on.result.counts.executions, off.result.counts.executions);
      smaller += on.result.counts.executions < off.result.counts.executions ? 1 : 0;
    }
  }
  EXPECT_GT(smaller, 1'000);
  EXPECT_GT(found, 50);
}

}  // namespace
}  // namespace symmetry_test
