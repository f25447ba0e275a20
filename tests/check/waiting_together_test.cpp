// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that synchronize in a loop wait together, but only if a round has no other effect.
#include <tests/check/ptx_programs.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace waiting_together_test {
namespace {

using namespace membar_test;
using check::check_status;

/// A block whose threads each execute one of `bodies` after thread 0 has set v to 0, and another block of one thread that
/// executes `other`.
check::program program_of(const std::vector<std::string>& bodies, const std::string& other) {
  std::string text =
      "mov.u32 %r14, %tid.x;\nmov.u32 %r13, %ctaid.x;\nsetp.eq.u32 %p0, %r13, 1;\n@%p0 bra OTHER;\n"
      "setp.ne.u32 %p0, %r14, 0;\n@!%p0 st.shared.u32 [v], 0;\nbarrier.sync 0;\n";
  for (std::size_t t = 0; t < bodies.size(); ++t) {
    const std::string n = std::to_string(t);
    text += "setp.ne.u32 %p0, %r14, " + n + ";\n@%p0 bra S" + n + ";\n" + bodies[t] + "ret;\nS" + n + ":\n";
  }
  text += "ret;\nOTHER:\nsetp.ne.u32 %p0, %r14, 0;\n@%p0 ret;\n" + other;
  check::launch_request request;
  request.grid[0] = 2;
  request.block[0] = static_cast<std::uint32_t>(bodies.size());
  return program_of_launch(".global .u32 x;\n.global .u32 y;\n.global .u32 out[4];\n.shared .u32 v;\n", text, request);
}

check::check_result explored(const std::vector<std::string>& bodies, const std::string& other) {
  check::check_options options;
  options.random_before_giving_up = 0;
  options.load_buffering = false;
  return check::explore(program_of(bodies, other), {}, options);
}

check_status status_of(const std::vector<std::string>& bodies, const std::string& other) {
  const check::check_result r = explored(bodies, other);
  return r.status;
}

const std::string raise = "st.release.gpu.global.u32 [x], 1;\n";

/// Lane `n` of two lanes in a loop: one lane polls x and passes the value to the other with `meet`, which sets %p1 if both
/// continue.
std::string polls(const std::string& n, const std::string& meet) {
  return "L" + n + ": ld.acquire.gpu.global.u32 %r0, [x];\nsetp.ne.u32 %p2, %r0, 0;\n" + meet + "@!%p1 bra L" + n + ";\n";
}

TEST(check_waits_together, by_votes_barriers_and_shuffles) {
  for (const std::string& meet :
       {std::string("vote.sync.all.pred %p1, %p2, 3;\n"), std::string("barrier.red.and.pred %p1, 0, %p2;\n"),
        std::string("selp.u32 %r1, 1, 0, %p2;\nredux.sync.and.b32 %r2, %r1, 3;\nsetp.ne.u32 %p1, %r2, 0;\n"),
        std::string(
            "selp.u32 %r1, 1, 0, %p2;\nshfl.sync.idx.b32 %r2, %r1, 0, 31, 3;\nsetp.ne.u32 %p1, %r2, 0;\nbar.warp.sync 3;\n")}) {
    EXPECT_EQ(status_of({polls("0", meet), polls("1", meet)}, raise), check_status::verified) << meet;
    EXPECT_EQ(status_of({polls("0", meet), polls("1", meet)}, ""), check_status::hang) << meet;
    EXPECT_EQ(status_of({polls("0", meet), polls("1", meet)}, "st.release.gpu.global.u32 [x], 0;\n"), check_status::hang)
        << meet;
  }
}

TEST(check_waits_together, by_a_flag_in_shared_memory_that_ends_as_it_began) {
  const std::string first =
      "L0: ld.acquire.gpu.global.u32 %r0, [x];\nst.shared.u32 [v], %r0;\nbarrier.sync 0;\nsetp.ne.u32 %p1, %r0, "
      "0;\nbarrier.sync 0;\n@!%p1 bra "
      "L0;\n";
  const std::string second =
      "L1: barrier.sync 0;\nld.shared.u32 %r0, [v];\nbarrier.sync 0;\nsetp.ne.u32 %p1, %r0, 0;\n@!%p1 bra L1;\n";
  EXPECT_EQ(status_of({first, second}, raise), check_status::verified);
  EXPECT_EQ(status_of({first, second}, ""), check_status::hang);
}

TEST(check_waits_together, not_if_a_round_leaves_something_behind) {
  // The number of rounds is in shared or global memory.
  for (const std::string& memory : {std::string("shared.u32 %r4, [v];\nadd.u32 %r4, %r4, 1;\nst.shared.u32 [v], %r4;\n"),
                                    std::string("global.u32 %r4, [y];\nadd.u32 %r4, %r4, 1;\nst.global.u32 [y], %r4;\n")}) {
    const std::string meet = "vote.sync.all.pred %p1, %p2, 3;\n";
    EXPECT_EQ(status_of({polls("0", meet + "ld." + memory), polls("1", meet)}, ""), check_status::gave_up) << memory;
  }
  // One of the lanes counts its rounds and stops after three.
  const std::string counts =
      "mov.u32 %r5, 0;\nL1: bar.warp.sync 3;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p3, %r5, 3;\n@%p3 bra L1;\n" + raise +
      "bar.warp.sync 3;\n";
  const std::string waits =
      "L0: bar.warp.sync 3;\nld.acquire.gpu.global.u32 %r0, [x];\nsetp.ne.u32 %p1, %r0, 0;\n@!%p1 bra L0;\n";
  EXPECT_EQ(status_of({waits, counts}, ""), check_status::verified);
}

TEST(check_waits_together, not_if_another_thread_of_the_block_may_look) {
  // Lanes 0 and 1 raise and lower v in each round. Thread 2 waits until v has been raised twice, which takes more than one
  // round.
  const auto beats = [](const std::string& n) {
    return "L" + n + ": " + (n == "0" ? "st.relaxed.cta.shared.u32 [v], 1;\n" : "") + "bar.warp.sync 3;\n" +
           (n == "0" ? "st.relaxed.cta.shared.u32 [v], 0;\n" : "") +
           "ld.relaxed.gpu.global.u32 %r0, [x];\nsetp.ne.u32 %p2, %r0, 0;\nvote.sync.all.pred %p1, %p2, 3;\n@!%p1 bra L" + n +
           ";\n";
  };
  const auto until = [](const std::string& label, const std::string& value) {
    return label + ": ld.relaxed.cta.shared.u32 %r0, [v];\nsetp.ne.u32 %p1, %r0, " + value + ";\n@%p1 bra " + label + ";\n";
  };
  const std::string looks = until("A", "1") + until("B", "0") + until("C", "1") + "st.relaxed.gpu.global.u32 [x], 1;\n";
  EXPECT_NE(status_of({beats("0"), beats("1"), looks}, ""), check_status::hang);
}

TEST(check_waits_together, thirty_two_lanes_fail_together_as_soon_as_one_has_read_the_past) {
  for (const std::string& meet :
       {std::string("vote.sync.all.pred %p1, %p2, -1;\n"), std::string("barrier.red.and.pred %p1, 0, %p2;\n"),
        std::string("vote.sync.any.pred %p3, !%p2, -1;\nnot.pred %p1, %p3;\n"),
        std::string("barrier.red.or.pred %p3, 0, !%p2;\nnot.pred %p1, %p3;\n")}) {
    std::vector<std::string> bodies;
    for (int lane = 0; lane < 32; ++lane) {
      bodies.push_back(polls(std::to_string(lane), meet));
    }
    const check::check_result r = explored(bodies, raise);
    EXPECT_EQ(r.status, check_status::verified) << meet;
    EXPECT_EQ(r.counts.executions, 1U) << meet;
    EXPECT_EQ(r.counts.blocked, 32U) << meet;
    EXPECT_EQ(status_of(bodies, ""), check_status::hang) << meet;
  }
}

/// Draws random lanes that loop, and a thread that writes what they read.
class drawn {
 public:
  explicit drawn(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] bool likely() { return below(4) != 0; }

  /// Returns a random instruction that synchronizes the lanes of a program. The instruction sets %p1 if the lanes continue.
  [[nodiscard]] std::string meet(std::size_t lanes) {
    const std::string mask = std::to_string((1U << lanes) - 1);
    const std::string all[] = {"vote.sync.all.pred %p1, %p2, " + mask + ";\n", "vote.sync.any.pred %p1, %p2, " + mask + ";\n",
                               "vote.sync.any.pred %p3, !%p2, " + mask + ";\nnot.pred %p1, %p3;\n",
                               "barrier.red.and.pred %p1, 0, %p2;\n",
                               "barrier.red.or.pred %p3, 0, !%p2;\nnot.pred %p1, %p3;\n"};
    return all[below(5)];
  }

  [[nodiscard]] std::string lane(const std::string& n, const std::string& meet) {
    const auto load = [&](const std::string& to) {
      return std::string(below(2) == 0 ? "ld.acquire.gpu" : "ld.relaxed.gpu") + ".global.u32 " + to + ", [" +
             (below(3) == 0 ? "y" : "x") + "];\n";
    };
    std::string text = likely() ? "" : load("%r1");
    text += "L" + n + ": " + (likely() ? "" : load("%r2")) + load("%r0") + (likely() ? "" : "fence.acq_rel.gpu;\n");
    text += "setp." + std::string(below(3) == 0 ? "eq" : "ge") + ".u32 %p2, %r0, " + std::to_string(1 + below(2)) + ";\n";
    // What the lane does with the value that it has read, before the other lanes get the value.
    text += likely() ? "" : likely() ? "@%p2 add.u32 %r3, %r3, 1;\n" : "@%p2 st.relaxed.gpu.global.u32 [y], 2;\n";
    text += meet + (likely() ? "" : load("%r2")) + "@!%p1 bra L" + n + ";\n";
    text += "add.u32 %r4, %r0, " + std::string(likely() ? "0" : "%r3") + ";\n";
    return text + "st.global.u32 [out+" + std::to_string(4 * std::stoi(n)) + "], %r4;\n";
  }

  [[nodiscard]] std::string writes() {
    std::string text;
    for (int k = 1 + below(3); k > 0; --k) {
      text += std::string(below(2) == 0 ? "st.release.gpu" : "st.relaxed.gpu") + ".global.u32 [" + (below(3) == 0 ? "y" : "x") +
              "], " + std::to_string(1 + below(2)) + ";\n";
    }
    return text;
  }

  [[nodiscard]] int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

 private:
  std::mt19937_64 random_;
};

TEST(check_waits_together, rounds_that_are_cut_once_decided_hide_nothing) {
  drawn stream(1);
  std::uint64_t blocked[2] = {};
  int clean = 0;
  int found = 0;
  for (int n = 0; n < 300; ++n) {
    const std::size_t lanes = 2 + static_cast<std::size_t>(stream.below(2));
    const std::string meet = stream.meet(lanes);
    std::vector<std::string> bodies;
    std::string text;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      bodies.push_back(stream.lane(std::to_string(lane), meet));
      text += bodies.back() + "--\n";
    }
    const std::string other = stream.writes();
    const check::program p = program_of(bodies, other);
    check::check_result results[2];
    std::set<std::vector<std::uint64_t>> states[2];
    for (int cut = 0; cut < 2; ++cut) {
      check::check_options options;
      options.load_buffering = false;
      options.random_before_giving_up = 0;
      options.most_events = 10'000;
      options.most_events_of_one = 60;
      options.cut_decided_rounds = cut == 1;
      results[cut] = check::explore(
          p,
          [&](const check::final_memory& m) {
            std::vector<std::uint64_t> values;
            for (const check::memory_object& o : p.memory) {
              for (std::uint64_t at = 0; at < o.bytes && o.address < check::shared_window; at += 4) {
                values.push_back(m.value(o.address + at, 4));
              }
            }
            states[cut].insert(values);
            return std::string();
          },
          options);
      blocked[cut] += results[cut].counts.blocked;
    }
    if (results[0].status != check_status::gave_up) {
      ASSERT_EQ(results[0].status, results[1].status) << text << other;
    }
    if (results[0].status == check_status::verified) {
      ASSERT_EQ(states[0], states[1]) << text << other;
      ASSERT_EQ(results[0].counts.executions, results[1].counts.executions) << text << other;
      ++clean;
    } else if (results[0].status != check_status::gave_up) {
      ++found;
    }
  }
  EXPECT_GT(clean, 60);
  EXPECT_GT(found, 30);
  EXPECT_GT(blocked[0], blocked[1]);
}

}  // namespace
}  // namespace waiting_together_test
