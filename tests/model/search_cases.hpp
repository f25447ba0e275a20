// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Larger litmus tests for the search: programs with many equal accesses, loops that only wait, loops that are cut off, and
/// data races. The model's tests and the program that tries mutants of the model both use them.
#pragma once

#include <litmus/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace membar_test {

using membar::model::litmus_test, membar::litmus_files::read_litmus;

using column = std::vector<std::string>;

/// A test with these threads on one GPU, each in its own block. The second thread is in block `second`.
inline litmus_test made_of(const std::vector<column>& threads, const std::string& state, const std::string& question,
                           const std::string& second = "1") {
  std::string text = "PTX t\n{ " + state + " }\n";
  std::size_t rows = 0;
  for (std::size_t t = 0; t < threads.size(); ++t) {
    text += (t == 0 ? " P" : " | P") + std::to_string(t) + "@cta " + (t == 1 ? second : std::to_string(t)) + ",gpu 0";
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

inline column repeated(const std::string& instruction, int times) {
  return column(static_cast<std::size_t>(times), instruction);
}

inline std::string number(int n) { return std::to_string(n); }

// ---- programs with many executions

/// A test whose verdict is known, and a number of search steps that is enough to reach the verdict.
struct large_test {
  std::string name;
  litmus_test test;
  bool holds;
  std::uint64_t steps;
};

/// Collects the variants of one program.
class variants {
 public:
  variants(std::vector<large_test>& all, const char* name) : all_(all), name_(name) {}
  void operator()(std::uint64_t steps, litmus_test test, bool holds = true) {
    all_.push_back({name_ + "_" + std::to_string(++count_), std::move(test), holds, steps});
  }

 private:
  std::vector<large_test>& all_;
  std::string name_;
  int count_ = 0;
};

inline void add_ticket_lock_of_four_threads(variants add) {
  const column holder = {"atom.relaxed.gpu.add r0, in, 1",
                         "LOOP:",
                         "ld.acquire.gpu r1, out",
                         "bne r0, r1, LOOP",
                         "ld.weak r2, x",
                         "add r2, r2, 1",
                         "st.weak x, r2",
                         "add r3, r0, 1",
                         "st.release.gpu out, r3"};
  const std::string state = "in=0; out=0; x=0;";
  add(400, made_of({holder, holder, holder, holder}, state, "forall (x == 4)"));
  add(250, made_of({holder, holder, holder, holder}, state, "~exists (P0:r2 == 1 /\\ P1:r2 == 1)"));
  column hasty = holder;
  hasty[2] = "ld.relaxed.gpu r1, out";
  add(20, made_of({hasty, hasty, hasty, hasty}, state, "exists (x == 1)"));
}

inline void add_channel_of_eight_messages(variants add) {
  const std::uint64_t steps[] = {0, 1200, 45'000, 0, 520'000, 0, 0, 0, 13'000};
  for (const int slots : {1, 2, 4, 8}) {
    column sender;
    column receiver;
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
    add(steps[slots], made_of({sender, receiver}, state, "~exists (" + wrong + ")"));
  }
}

inline void add_grid_barrier_of_six_blocks(variants add) {
  const auto barrier_of = [](const column& arrive_and_wait) {
    std::vector<column> threads;
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
  add(17'000, barrier_of({"atom.acq_rel.gpu.add r0, count, 1", "L:", "ld.acquire.gpu r1, count", "bne r1, 6, L"}));
  add(17'000, barrier_of({"fence.acq_rel.gpu", "red.relaxed.gpu.add count, 1", "L:", "ld.relaxed.gpu r1, count", "blt r1, 6, L",
                          "fence.acq_rel.gpu"}));
  add(130'000, barrier_of({"atom.acq_rel.gpu.add r0, count, 1", "bne r0, 5, L", "st.weak count, 0", "st.release.gpu gen, 1",
                           "L:", "ld.acquire.gpu r1, gen", "bne r1, 1, L"}));
  add(30, barrier_of({"atom.relaxed.gpu.add r0, count, 1", "L:", "ld.acquire.gpu r1, count", "bne r1, 6, L"}), false);
}

inline void add_four_threads_of_four_relaxed_stores(variants add) {
  std::vector<column> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back();
    for (int k = 1; k <= 4; ++k) {
      writers.back().push_back("st.relaxed.gpu x, " + number(4 * t + k));
    }
  }
  add(120, made_of(writers, "x=0;", "forall (x == 4 \\/ x == 8 \\/ x == 12 \\/ x == 16)"));
  add(120, made_of(writers, "x=0;", "exists (x == 12)"));
  writers.push_back({"ld.relaxed.gpu r0, x", "ld.relaxed.gpu r1, x"});
  add(600'000, made_of(writers, "x=0;", "~exists (P4:r0 == 2 /\\ P4:r1 == 1)"));
}

inline void add_relaxed_additions_of_equal_threads(variants add) {
  const column eight = repeated("atom.relaxed.gpu.add r0, x, 1", 8);
  add(300, made_of({eight, eight}, "x=0;", "forall (x == 16)"));
  add(350, made_of({eight, eight}, "x=0;", "~exists (P0:r0 == P1:r0)"));
  const column four = repeated("red.relaxed.gpu.add x, 1", 4);
  add(7000, made_of({four, four, four, four}, "x=0;", "forall (x == 16)"));
  const column block = repeated("atom.relaxed.cta.add r0, x, 1", 3);
  add(10, made_of({block, block}, "x=0;", "exists (x == 3)"));
}

inline std::vector<large_test> large_tests() {
  std::vector<large_test> all;
  add_ticket_lock_of_four_threads({all, "ticket_lock_of_four_threads"});
  add_channel_of_eight_messages({all, "channel_of_eight_messages"});
  add_grid_barrier_of_six_blocks({all, "grid_barrier_of_six_blocks"});
  add_four_threads_of_four_relaxed_stores({all, "four_threads_of_four_relaxed_stores"});
  add_relaxed_additions_of_equal_threads({all, "relaxed_additions_of_equal_threads"});
  return all;
}

// ---- loops

/// Two threads on x and y, with every register and location observed.
inline litmus_test looping(const column& first, const column& second, const std::string& state = "x=0; y=0;",
                           const std::string& second_block = "1") {
  return made_of({first, second}, state + " P0:r0=0; P0:r1=0; P1:r0=0; P1:r1=0;",
                 "exists (P0:r0 == 0 /\\ P0:r1 == 0 /\\ P1:r0 == 0 /\\ P1:r1 == 0 /\\ x == 0 /\\ y == 0)", second_block);
}

struct loop {
  const char* why;
  litmus_test test;
};

/// Loops that only wait.
inline std::vector<loop> waiting_loops() {
  return {
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
      {"an addition of 0",
       looping({"st.relaxed.gpu x, 1"}, {"L:", "atom.relaxed.gpu.add r0, x, 0", "beq r0, 0, L", "ld.relaxed.gpu r1, x"})},
      {"a branch to itself", looping({"st.relaxed.gpu x, 1"}, {"ld.relaxed.gpu r0, x", "L:", "beq r0, 0, L"})},
      {"a branch within the loop",
       looping({"st.relaxed.gpu x, 2", "st.relaxed.gpu x, 1"},
               {"L:", "ld.relaxed.gpu r0, x", "beq r0, 2, M", "fence.sc.gpu", "M:", "bne r0, 1, L"})},
      {"a compare-and-swap of a value with itself",
       looping({"st.relaxed.gpu x, 0", "st.relaxed.gpu x, 2"}, {"L:", "atom.relaxed.gpu.cas r0, x, 1, 1", "ble r0, 1, L"},
               "x=1; y=0;")},
      {"a load in each iteration of a loop that works",
       looping({"st.relaxed.gpu x, 1"},
               {"L:", "ld.relaxed.gpu r1, x", "bne r1, 1, L", "st.relaxed.gpu y, 1", "add r0, r0, 1", "blt r0, 2, L"})},
      {"an exchange, compared the other way round",
       looping({"st.relaxed.gpu x, 0"}, {"L:", "atom.relaxed.gpu.exch r0, x, 1", "bne 0, r0, L"}, "x=1; y=0;")},
      {"an exchange next to a store of a register that nothing sets",
       looping({"st.relaxed.gpu x, r7", "ld.relaxed.gpu r0, y"}, {"L:", "atom.relaxed.gpu.exch r0, x, 1", "bne r0, 0, L"},
               "x=1; y=0; P0:r7=0;")},
  };
}

/// Loops that do more than wait.
inline std::vector<loop> working_loops() {
  const column other = {"st.relaxed.gpu x, 0"};
  return {
      {"a counter", looping({"L:", "add r0, r0, 1", "bne r0, 3, L"}, other)},
      {"an addition", looping({"L:", "atom.relaxed.gpu.add r1, x, 1", "bne r1, 2, L"}, other)},
      {"a store", looping({"L:", "st.relaxed.gpu y, 1", "ld.relaxed.gpu r1, x", "bne r1, 1, L"}, other)},
      {"iterations that are counted", looping({"L:", "add r0, r0, 1", "ld.relaxed.gpu r1, x", "bne r1, 1, L"}, other)},
      {"a register that an iteration leaves behind",
       looping({"L:", "ld.relaxed.gpu r0, x", "beq r0, 1, END", "ld.relaxed.gpu r1, y", "beq r1, 0, L", "END:"}, other)},
      {"an exchange of another value", looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bne r0, 0, L"}, other, "x=2; y=0;")},
      {"an exchange next to a weak store",
       looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bne r0, 0, L"}, {"st.weak x, 0"}, "x=1; y=0;")},
      {"a jump into the loop",
       looping({"goto M", "L:", "ld.relaxed.gpu r0, y", "M:", "ld.relaxed.gpu r0, x", "bne r0, 1, L"}, other)},
      {"a jump to the branch that jumps back", looping({"goto M", "L:", "ld.relaxed.gpu r0, x", "M:", "bne r0, 1, L"}, other)},
      {"a loop around a loop that works",
       looping({"L:", "ld.relaxed.gpu r1, y", "M:", "add r0, r0, 1", "blt r0, 2, M", "ld.relaxed.gpu r1, x", "bne r1, 1, L"},
               other)},
      {"a store of what memory holds", looping({"L:", "st.relaxed.gpu y, 0", "ld.relaxed.gpu r1, x", "bne r1, 1, L"}, other)},
      {"a compare-and-swap that expects what was read",
       looping({"L:", "ld.relaxed.gpu r1, y", "atom.relaxed.gpu.cas r0, x, r1, 0", "bne r0, 0, L"}, other, "x=1; y=1;")},
      {"an exchange that undoes a store",
       looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bge r0, 1, L"}, {"st.relaxed.gpu x, 2"}, "x=1; y=0;")},
      {"an exchange that undoes a store of a register",
       looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bge r0, 1, L"}, {"st.relaxed.gpu x, r7"}, "x=1; y=0; P1:r7=2;")},
      {"an exchange that undoes an addition",
       looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bge r0, 1, L"}, {"atom.relaxed.gpu.add r0, x, 1"}, "x=1; y=0;")},
      {"an exchange that undoes a store of what was read",
       looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bge r0, 1, L"},
               {"ld.relaxed.gpu r0, y", "st.relaxed.gpu x, r0", "st.relaxed.gpu x, 1"}, "x=1; y=2;")},
      {"an exchange through an alias",
       looping({"L:", "atom.relaxed.gpu.exch r0, a, 1", "bne r0, 0, L"}, other, "x=1; y=0; a @ generic aliases x;")},
      {"an exchange next to a store through a register",
       looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bne r0, 0, L"}, {"st.relaxed.gpu [r7], 0"}, "x=1; y=0; P1:r7=x;")},
      {"a weak store next to an exchange",
       looping({"st.weak x, 0"}, {"L:", "atom.relaxed.gpu.exch r0, x, 1", "bne r0, 0, L"}, "x=1; y=0;")},
      {"an address that an iteration leaves behind",
       looping({"L:", "ld.relaxed.gpu r0, [r7]", "ld.relaxed.gpu r7, z", "bne r0, 1, L"}, {"st.relaxed.gpu x, 1"},
               "x=0; y=0; z=x; P0:r7=x;")},
      {"a barrier", looping({"L:", "bar.cta.sync 0", "ld.relaxed.gpu r0, x", "bne r0, 1, L"}, other)},
      {"two loops that work",
       looping({"L:", "add r0, r0, 1", "bne r0, 3, L"}, {"M:", "add r0, r0, 1", "add r1, r0, 1", "bne r0, 3, M"})},
  };
}

/// Loops with other effects, with instructions that the second decision procedure does not support.
inline std::vector<loop> other_working_loops() {
  const column other = {"st.relaxed.gpu x, 0"};
  return {
      {"a shuffle", looping({"L:", "shfl.sync.idx.b32 r1, 5, 0, 31, 0x1", "ld.relaxed.gpu r0, x", "bne r0, 1, L"}, other)},
      {"a predicate that an iteration leaves behind",
       looping({"L:", "ld.relaxed.gpu r0, x", "@p fence.sc.gpu", "setp.eq.s32 p, r0, 1", "bne r0, 2, L"}, other,
               "P0:p=0; x=0; y=0;")},
      {"a register that an iteration may leave behind",
       looping({"L:", "ld.relaxed.gpu r0, x", "setp.eq.s32 p, r0, 1", "@p mov r1, 5", "bne r0, 2, L"}, other,
               "P0:p=0; x=0; y=0;")},
      {"an exchange that undoes a store of a predicate",
       looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bge r0, 1, L"},
               {"ld.relaxed.gpu r0, y", "setp.eq.s32 p, r0, 0", "add r1, p, 1", "st.relaxed.gpu x, p"}, "x=1; y=0;")},
      {"the end of a group of copies", looping({"L:", "cp.async.commit_group", "ld.relaxed.gpu r0, x", "bne r0, 1, L"}, other)},
      {"a wait for groups of copies", looping({"L:", "cp.async.wait_group 0", "ld.relaxed.gpu r0, x", "bne r0, 1, L"}, other)},
      {"an exchange of another value, both through an alias",
       looping({"L:", "atom.relaxed.gpu.exch r0, a, 1", "bne r0, 0, L"}, {"st.relaxed.gpu a, 2"},
               "x=1; y=0; a @ generic aliases x;")},
      {"an exchange next to a weak store of the same block",
       looping({"L:", "atom.relaxed.cta.exch r0, x, 1", "bne r0, 0, L"}, {"st.weak x, 0"}, "x=1; y=0;", "0")},
      {"an exchange of a surface", looping({"L:", "suatom.relaxed.gpu.exch r0, s, 1", "bne r0, 0, L"},
                                           {"suatom.relaxed.gpu.exch r0, s, 0"}, "x=1; y=0; s @ surface aliases x;")},
      {"an exchange next to a wider one", looping({"L:", "atom.relaxed.gpu.exch.b32 r0, x, 1", "bne r0, 0, L"},
                                                  {"atom.relaxed.gpu.exch.b64 r0, x, 0"}, "x=1; y=0;")},
      {"an exchange next to a store of a shuffle's predicate",
       looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bne r0, 0, L"},
               {"shfl.sync.idx.b32 r1|q, 5, 0, 31, 0x1", "st.relaxed.gpu x, q"}, "x=1; y=0; P1:q=0;")},
      {"a shuffle's predicate that an iteration may leave behind",
       looping({"L:", "ld.relaxed.gpu r0, x", "beq r0, 1, END", "bne r0, 2, M", "shfl.sync.idx.b32 r1|q, 5, 0, 31, 0x1",
                "goto END", "M:", "goto L", "END:", "mov r1, 0"},
               other, "x=0; y=0; P0:q=0;")},
      {"the address of a copy that an iteration may leave behind",
       looping({"L:", "ld.relaxed.gpu r0, x", "bne r0, 2, M", "mov r7, r6", "M:", "bne r0, 1, L",
                "cp.async.ca.shared.global [s], [r7], 4", "mov r7, 0"},
               other, "x=0; y=0; s @ shared; P0:r7=&y; P0:r6=&y;")},
      {"an exchange next to a store through the first register",
       looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bne r0, 0, L"}, {"st.relaxed.gpu [r7], 0"}, "P1:r7=&x; y=0; x=1;")},
      {"an exchange next to a copy",
       looping({"L:", "atom.relaxed.gpu.exch r0, x, 1", "bne r0, 0, L"},
               {"cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16"}, "x=1; y=0; s @ shared;")},
      {"a loop that works from its second instruction on",
       looping({"L:", "mov r0, 0", "M:", "bne r0, 0, N", "red.relaxed.gpu.add y, 1", "N:", "add r0, r0, 1", "blt r0, 2, M",
                "ld.relaxed.gpu r1, x", "bne r1, 1, L"},
               other)},
      {"two loops of one thread", looping({"L:", "red.relaxed.gpu.add y, 1", "ld.relaxed.gpu r0, x", "bne r0, 1, L",
                                           "M:", "red.relaxed.gpu.add y, 1", "ld.relaxed.gpu r1, x", "bne r1, 1, M"},
                                          other)},
  };
}

// ---- data races

/// A program of two threads in two blocks.
struct racing_program {
  const char* rows;
  const char* race;  ///< The accesses that race; empty if there is no race.
  const char* state = "x=0; y=0;";

  [[nodiscard]] litmus_test test() const {
    return read_litmus("PTX t\n{ " + std::string(state) + " }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n " + rows +
                       " ;\nexists (true)\n");
  }
};

inline const racing_program racing_programs[] = {
    // Message passing in which the reader waits or does not wait, and in which the flag is weak.
    {"st.weak x, 1 | L: ;\n st.release.gpu y, 1 | ld.acquire.gpu r0, y ;\n | bne r0, 1, L ;\n | ld.weak r1, x", ""},
    {"st.weak x, 1 | ld.acquire.gpu r0, y ;\n st.release.gpu y, 1 | bne r0, 1, END ;\n | ld.weak r1, x ;\n | END:", ""},
    {"st.weak x, 1 | ld.acquire.gpu r0, y ;\n st.release.gpu y, 1 | ld.weak r1, x",
     "P0 'st.weak x, 1' and P1 'ld.weak r1, x', where P1 'ld.acquire.gpu r0, y' reads 0"},
    {"st.weak x, 1 | L: ;\n st.weak y, 1 | ld.weak r0, y ;\n | bne r0, 1, L", "P0 'st.weak y, 1' and P1 'ld.weak r0, y'"},
    {"st.weak x, 1 | L: ;\n st.release.cta y, 1 | ld.acquire.gpu r0, y ;\n | bne r0, 1, L",
     "P0 'st.release.cta y, 1' and P1 'ld.acquire.gpu r0, y'"},
    // The data is read in an iteration that still waits.
    {"st.weak x, 1 | L: ;\n st.release.gpu y, 1 | ld.weak r1, x ;\n | ld.acquire.gpu r0, y ;\n | bne r0, 1, L",
     "P0 'st.weak x, 1' and P1 'ld.weak r1, x'"},
    // The data is read only in the iterations that still wait.
    {" | L: ;\n st.weak x, 1 | ld.acquire.gpu r0, y ;\n st.release.gpu y, 1 | beq r0, 1, END ;\n | ld.weak r0, x ;\n | goto L "
     ";\n | END:",
     "P0 'st.weak x, 1' and P1 'ld.weak r0, x', where P1 'ld.acquire.gpu r0, y' reads 0"},
    // A race after an earlier loop that was cut off.
    {" | L: ;\n st.weak x, 1 | add r0, r0, 1 ;\n st.relaxed.gpu y, 1 | ld.relaxed.gpu r1, y ;\n | beq r1, 1, END ;\n | goto L "
     ";\n"
     " | END: ;\n | ld.weak r1, x",
     "P0 'st.weak x, 1' and P1 'ld.weak r1, x', where P1 'ld.relaxed.gpu r1, y' reads 0 and P1 'ld.relaxed.gpu r1, y' reads 1"},
    {"st.weak x, 1 | L: ;\n st.release.gpu y, 1 | ld.acquire.gpu r0, y ;\n | ld.weak r1, x ;\n | bne r0, 1, L",
     "P0 'st.weak x, 1' and P1 'ld.weak r1, x', where P1 'ld.acquire.gpu r0, y' reads 0"},
    // a lock
    {"L: | L: ;\n atom.acquire.gpu.cas r0, y, 0, 1 | atom.acquire.gpu.cas r0, y, 0, 1 ;\n bne r0, 0, L | bne r0, 0, L ;\n"
     " ld.weak r1, x | ld.weak r1, x ;\n add r1, r1, 1 | add r1, r1, 1 ;\n st.weak x, r1 | st.weak x, r1 ;\n"
     " st.release.gpu y, 0 | st.release.gpu y, 0",
     ""},
    {"L: | L: ;\n atom.relaxed.gpu.cas r0, y, 0, 1 | atom.relaxed.gpu.cas r0, y, 0, 1 ;\n bne r0, 0, L | bne r0, 0, L ;\n"
     " st.weak x, 1 | st.weak x, 2 ;\n st.release.gpu y, 0 | st.release.gpu y, 0",
     "P0 'st.weak x, 1' and P1 'st.weak x, 2', where P0 'atom.relaxed.gpu.cas r0, y, 0, 1' reads 1 and "
     "P0 'atom.relaxed.gpu.cas r0, y, 0, 1' reads 0 and P1 'atom.relaxed.gpu.cas r0, y, 0, 1' reads 0"},
    // A report names at most four strong reads before an access.
    {"st.weak x, 1 | ld.relaxed.gpu r0, y ;\n | ld.relaxed.gpu r0, y ;\n | ld.relaxed.gpu r0, y ;\n | ld.relaxed.gpu r0, y ;\n"
     " | ld.relaxed.gpu r0, z ;\n | ld.weak r1, x",
     "P0 'st.weak x, 1' and P1 'ld.weak r1, x', where P1 'ld.relaxed.gpu r0, y' reads 0 and P1 'ld.relaxed.gpu r0, y' reads 0 "
     "and "
     "P1 'ld.relaxed.gpu r0, y' reads 0 and P1 'ld.relaxed.gpu r0, y' reads 0",
     "x=0; y=0; z=0;"},
    // Store buffering with and without fences, and with atomics.
    {"st.weak x, 1 | st.weak y, 1 ;\n fence.sc.gpu | fence.sc.gpu ;\n ld.weak r0, y | ld.weak r0, x",
     "P0 'ld.weak r0, y' and P1 'st.weak y, 1'"},
    {"st.relaxed.gpu x, 1 | st.relaxed.gpu y, 1 ;\n ld.relaxed.gpu r0, y | ld.relaxed.gpu r0, x", ""},
    // An update that is concurrent with another thread's update or with a weak store.
    {"atom.relaxed.gpu.add r0, x, 1 | atom.relaxed.gpu.add r0, x, 1", ""},
    {"atom.relaxed.gpu.add r0, x, 1 | st.weak x, 1", "P0 'atom.relaxed.gpu.add r0, x, 1' and P1 'st.weak x, 1'"},
    // A copy, where the thread that starts it does or does not wait for it.
    {"cp.async.ca.shared.global [s], [x], 4 | ;\n ld.weak.shared r0, s |",
     "P0 'cp.async.ca.shared.global [s], [x], 4' and P0 'ld.weak.shared r0, s'", "x=0; y=0; s @ shared;"},
    {"cp.async.ca.shared.global [s], [x], 4 | ;\n cp.async.commit_group | ;\n cp.async.wait_group 0 | ;\n ld.weak.shared r0, s "
     "|",
     "", "x=0; y=0; s @ shared;"},
};

}  // namespace membar_test
