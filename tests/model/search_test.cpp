// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far the search goes: programs of many equal accesses, loops that only wait, loops that are cut.
#include <bench/model/naive.hpp>

#include <membar/model/litmus_file.hpp>
#include <membar/model/outcomes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace {

using namespace membar::model;

using code = std::vector<std::string>;

/// A test of these threads, each in its own block of one GPU.
litmus_test made_of(const std::vector<code>& threads, const std::string& state, const std::string& question) {
  std::string text = "PTX t\n{ " + state + " }\n";
  std::size_t rows = 0;
  for (std::size_t t = 0; t < threads.size(); ++t) {
    text += (t == 0 ? " P" : " | P") + std::to_string(t) + "@cta " + std::to_string(t) + ",gpu 0";
    rows = std::max(rows, threads[t].size());
  }
  text += ";\n";
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t t = 0; t < threads.size(); ++t) {
      text += (t == 0 ? " " : " | ") + (row < threads[t].size() ? threads[t][row] : "");
    }
    text += ";\n";
  }
  return read_litmus(text + question);
}

code repeated(const std::string& instruction, int times) { return code(static_cast<std::size_t>(times), instruction); }

std::string number(int n) { return std::to_string(n); }

// ---- programs whose executions are many

/// A search of a million steps takes less than a second.
bool holds_soon(const litmus_test& test) { return decide(test, 1'000'000).holds; }

TEST(search, ticket_lock_of_four_threads) {
  const code holder = {"atom.relaxed.gpu.add r0, in, 1",
                       "LOOP:",
                       "ld.acquire.gpu r1, out",
                       "bne r0, r1, LOOP",
                       "ld.weak r2, x",
                       "add r2, r2, 1",
                       "st.weak x, r2",
                       "add r3, r0, 1",
                       "st.release.gpu out, r3"};
  const std::string state = "in=0; out=0; x=0;";
  EXPECT_TRUE(holds_soon(made_of({holder, holder, holder, holder}, state, "forall (x == 4)")));
  EXPECT_TRUE(holds_soon(made_of({holder, holder, holder, holder}, state, "~exists (P0:r2 == 1 /\\ P1:r2 == 1)")));
  code hasty = holder;
  hasty[2] = "ld.relaxed.gpu r1, out";
  EXPECT_TRUE(holds_soon(made_of({hasty, hasty, hasty, hasty}, state, "exists (x == 1)")));
}

TEST(search, channel_of_eight_messages) {
  for (const int slots : {1, 2, 4, 8}) {
    code sender;
    code receiver;
    std::string state = "head=0; tail=0;";
    std::string wrong;
    for (int i = 0; i < 8; ++i) {
      const std::string slot = "d" + number(i % slots);
      const std::string label = "L" + number(i);
      state += i < slots ? slot + "=0;" : "";
      if (i >= slots) {
        sender.insert(sender.end(),
                      {label + ":", "ld.acquire.gpu r0, tail", "blt r0, " + number(i + 1 - slots) + ", " + label});
      }
      sender.insert(sender.end(), {"st.weak " + slot + ", " + number(i + 1), "st.release.gpu head, " + number(i + 1)});
      receiver.insert(receiver.end(), {label + ":", "ld.acquire.gpu r0, head", "blt r0, " + number(i + 1) + ", " + label,
                                       "ld.weak r" + number(i + 1) + ", " + slot, "st.release.gpu tail, " + number(i + 1)});
      wrong += (i == 0 ? "" : " \\/ ") + ("P1:r" + number(i + 1) + " != " + number(i + 1));
    }
    EXPECT_TRUE(holds_soon(made_of({sender, receiver}, state, "~exists (" + wrong + ")"))) << slots;
  }
}

TEST(search, grid_barrier_of_six_blocks) {
  const auto barrier_of = [](const code& arrive_and_wait) {
    std::vector<code> threads;
    std::string state = "count=0; gen=0;";
    std::string missed;
    for (int i = 0; i < 6; ++i) {
      threads.push_back({"st.weak x" + number(i) + ", 1"});
      threads.back().insert(threads.back().end(), arrive_and_wait.begin(), arrive_and_wait.end());
      threads.back().push_back("ld.weak r2, x" + number((i + 1) % 6));
      state += "x" + number(i) + "=0;";
      missed += (i == 0 ? "P" : " \\/ P") + number(i) + ":r2 == 0";
    }
    return made_of(threads, state, "~exists (" + missed + ")");
  };
  EXPECT_TRUE(holds_soon(barrier_of({"atom.acq_rel.gpu.add r0, count, 1", "L:", "ld.acquire.gpu r1, count", "bne r1, 6, L"})));
  EXPECT_TRUE(holds_soon(barrier_of({"fence.acq_rel.gpu", "red.relaxed.gpu.add count, 1", "L:", "ld.relaxed.gpu r1, count",
                                     "blt r1, 6, L", "fence.acq_rel.gpu"})));
  EXPECT_TRUE(holds_soon(barrier_of({"atom.acq_rel.gpu.add r0, count, 1", "bne r0, 5, L", "st.weak count, 0",
                                     "st.release.gpu gen, 1", "L:", "ld.acquire.gpu r1, gen", "bne r1, 1, L"})));
  EXPECT_FALSE(holds_soon(barrier_of({"atom.relaxed.gpu.add r0, count, 1", "L:", "ld.acquire.gpu r1, count", "bne r1, 6, L"})));
}

TEST(search, four_threads_of_four_relaxed_stores) {
  std::vector<code> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back();
    for (int k = 1; k <= 4; ++k) {
      writers.back().push_back("st.relaxed.gpu x, " + number(4 * t + k));
    }
  }
  EXPECT_TRUE(holds_soon(made_of(writers, "x=0;", "forall (x == 4 \\/ x == 8 \\/ x == 12 \\/ x == 16)")));
  EXPECT_TRUE(holds_soon(made_of(writers, "x=0;", "exists (x == 12)")));
  writers.push_back({"ld.relaxed.gpu r0, x", "ld.relaxed.gpu r1, x"});
  EXPECT_TRUE(holds_soon(made_of(writers, "x=0;", "~exists (P4:r0 == 2 /\\ P4:r1 == 1)")));
}

TEST(search, relaxed_additions_of_equal_threads) {
  const code eight = repeated("atom.relaxed.gpu.add r0, x, 1", 8);
  EXPECT_TRUE(holds_soon(made_of({eight, eight}, "x=0;", "forall (x == 16)")));
  EXPECT_TRUE(holds_soon(made_of({eight, eight}, "x=0;", "~exists (P0:r0 == P1:r0)")));
  const code four = repeated("red.relaxed.gpu.add x, 1", 4);
  EXPECT_TRUE(holds_soon(made_of({four, four, four, four}, "x=0;", "forall (x == 16)")));
  const code block = repeated("atom.relaxed.cta.add r0, x, 1", 3);
  EXPECT_TRUE(holds_soon(made_of({block, block}, "x=0;", "exists (x == 3)")));
}

// ---- loops

/// Two threads on x and y, with every register and location observed.
litmus_test looping(const code& first, const code& second, const std::string& state = "x=0; y=0;") {
  return made_of({first, second}, state + " P0:r0=0; P0:r1=0; P1:r0=0; P1:r1=0;",
                 "exists (P0:r0 == 0 /\\ P0:r1 == 0 /\\ P1:r0 == 0 /\\ P1:r1 == 0 /\\ x == 0 /\\ y == 0)");
}

struct loop {
  const char* why;
  litmus_test test;
};

TEST(loops, that_only_wait_end_as_the_naive_procedure_says) {
  const std::vector<loop> all = {
      {"a load",
       looping({"st.weak x, 1", "st.release.gpu y, 1"}, {"L:", "ld.acquire.gpu r0, y", "bne r0, 1, L", "ld.weak r1, x"})},
      {"a weak load and a fence",
       looping({"st.weak x, 1", "st.weak y, 1"}, {"L:", "ld.weak r0, y", "fence.sc.gpu", "beq r0, 0, L", "ld.weak r1, x"})},
      {"two loads", looping({"st.relaxed.gpu x, 1", "st.relaxed.gpu y, 1"},
                            {"L:", "ld.relaxed.gpu r0, x", "ld.relaxed.gpu r1, y", "bne r0, r1, L"})},
      {"arithmetic on what was read",
       looping({"st.relaxed.gpu x, 2"}, {"L:", "ld.relaxed.gpu r0, x", "sub r1, r0, 1", "bne r1, 1, L"})},
      {"a compare-and-swap that fails",
       looping({"st.weak y, 1", "st.release.gpu x, 0"},
               {"L:", "atom.acquire.gpu.cas r0, x, 0, 1", "bne r0, 0, L", "ld.weak r1, y"}, "x=1; y=0;")},
      {"an update by compare-and-swap",
       looping({"st.relaxed.gpu x, 5"},
               {"L:", "ld.relaxed.gpu r0, x", "add r1, r0, 1", "atom.relaxed.gpu.cas r1, x, r0, r1", "bne r1, r0, L"})},
      {"an exchange of the same value",
       looping({"st.weak y, 1", "st.release.gpu x, 0"},
               {"L:", "atom.acq_rel.gpu.exch r0, x, 1", "bne r0, 0, L", "ld.weak r1, y"}, "x=1; y=0;")},
      {"an addition of nothing",
       looping({"st.relaxed.gpu x, 1"}, {"L:", "atom.relaxed.gpu.add r0, x, 0", "beq r0, 0, L", "ld.relaxed.gpu r1, x"})},
  };
  for (const loop& l : all) {
    membar_test::naive_model naive(l.test, 5000);
    auto found = naive.outcomes();
    ASSERT_TRUE(found.has_value()) << l.why;
    std::sort(found->begin(), found->end());
    EXPECT_EQ(outcomes(l.test), *found) << l.why;
    EXPECT_FALSE(found->empty()) << l.why;
  }
}

TEST(loops, that_do_more_than_wait_are_cut_and_have_no_verdict) {
  const code other = {"st.relaxed.gpu x, 0"};
  const std::vector<loop> all = {
      {"a counter", looping({"L:", "add r0, r0, 1", "bne r0, 3, L"}, other)},
      {"an addition", looping({"L:", "atom.relaxed.gpu.add r1, x, 1", "bne r1, 2, L"}, other)},
      {"a store", looping({"L:", "st.relaxed.gpu y, 1", "ld.relaxed.gpu r1, x", "bne r1, 1, L"}, other)},
      {"iterations that are counted", looping({"L:", "add r0, r0, 1", "ld.relaxed.gpu r1, x", "bne r1, 1, L"}, other)},
      {"a register that an iteration leaves behind",
       looping({"L:", "ld.relaxed.gpu r0, x", "beq r0, 1, END", "ld.relaxed.gpu r1, y", "beq r1, 0, L", "END:"}, other)},
      {"an exchange of another value", looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bne r0, 0, L"}, other, "x=2; y=0;")},
      {"an exchange beside a weak store",
       looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bne r0, 0, L"}, {"st.weak x, 0"}, "x=1; y=0;")},
      {"a jump into the loop",
       looping({"goto M", "L:", "ld.relaxed.gpu r0, y", "M:", "ld.relaxed.gpu r0, x", "bne r0, 1, L"}, other)},
  };
  for (const loop& l : all) {
    try {
      (void)outcomes(l.test);
      ADD_FAILURE() << l.why << " has outcomes";
    } catch (const error& e) {
      EXPECT_NE(e.message().find("--bounded"), std::string::npos) << l.why << ": " << e.message();
      EXPECT_NE(e.message().find("at line"), std::string::npos) << l.why << ": " << e.message();
    }
    membar_test::naive_model naive(l.test, 5000);
    auto found = naive.outcomes();
    ASSERT_TRUE(found.has_value()) << l.why;
    std::sort(found->begin(), found->end());
    EXPECT_EQ(outcomes(l.test, search_options(0, true)), *found) << l.why;
  }
}

TEST(loops, a_state_that_is_found_needs_no_longer_runs) {
  const litmus_test test = made_of({{"L:", "add r0, r0, 1", "bne r0, 3, L"}, {"ld.relaxed.gpu r0, x", "st.relaxed.gpu x, 1"}},
                                   "x=0;", "exists (x == 1)");
  EXPECT_THROW((void)decide(test), error);  // no run without a third iteration ends
  const litmus_test found = made_of({{"L:", "ld.relaxed.gpu r1, x", "add r0, r0, 1", "bne r1, 1, L"}, {"st.relaxed.gpu x, 1"}},
                                    "x=0;", "exists (P0:r0 == 2)");
  EXPECT_TRUE(decide(found).holds);
}

}  // namespace
