// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that meet in a loop wait together, and only where nothing else comes of a round.
#include <tests/check/ptx_programs.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace waiting_together_test {
namespace {

using namespace membar_test;
using check::check_status;

/// A block whose threads each execute one of `bodies`, after thread 0 has set v to 0, and another block of one thread that executes `other`.
check::check_result explored(const std::vector<std::string>& bodies, const std::string& other, std::uint64_t random = 0) {
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
  check::check_options options;
  options.random_before_giving_up = random;
  options.load_buffering = false;
  return check::explore(program_of_launch(".global .u32 x;\n.global .u32 y;\n.shared .u32 v;\n", text, request), {}, options);
}

check_status status_of(const std::vector<std::string>& bodies, const std::string& other) {
  const check::check_result r = explored(bodies, other);
  return r.status;
}

const std::string raise = "st.release.gpu.global.u32 [x], 1;\n";

/// Lane `n` of two that go round: one polls x and hands on what it saw by `meet`, which sets %p1 where they go on.
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
  // the number of rounds is in shared memory, or in global memory
  for (const std::string& memory : {std::string("shared.u32 %r4, [v];\nadd.u32 %r4, %r4, 1;\nst.shared.u32 [v], %r4;\n"),
                                    std::string("global.u32 %r4, [y];\nadd.u32 %r4, %r4, 1;\nst.global.u32 [y], %r4;\n")}) {
    const std::string meet = "vote.sync.all.pred %p1, %p2, 3;\n";
    EXPECT_EQ(status_of({polls("0", meet + "ld." + memory), polls("1", meet)}, ""), check_status::gave_up) << memory;
  }
  // one of those who meet counts its rounds, and ends after three
  const std::string counts =
      "mov.u32 %r5, 0;\nL1: bar.warp.sync 3;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p3, %r5, 3;\n@%p3 bra L1;\n" + raise +
      "bar.warp.sync 3;\n";
  const std::string waits =
      "L0: bar.warp.sync 3;\nld.acquire.gpu.global.u32 %r0, [x];\nsetp.ne.u32 %p1, %r0, 0;\n@!%p1 bra L0;\n";
  EXPECT_EQ(status_of({waits, counts}, ""), check_status::verified);
}

TEST(check_waits_together, not_if_another_thread_of_the_block_may_look) {
  // lanes 0 and 1 raise and lower v in each round; thread 2 waits until it has been raised twice, which one round does not show
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

}  // namespace
}  // namespace waiting_together_test
