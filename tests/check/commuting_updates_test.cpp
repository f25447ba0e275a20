// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker explores commuting updates in only one order, without changing its findings.
#include <tests/check/ptx_programs.hpp>

#include <check/graph.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace commuting_updates_test {
namespace {

using namespace membar_test;
using check::check_status;
using check::graph_event;

check::check_options merged(bool on, bool load_buffering = true) {
  check::check_options options;
  options.load_buffering = load_buffering;
  options.merge_updates = on;
  options.most_buffered_steps = 5'000;
  options.most_events = 2'000'000;
  options.random_before_giving_up = 0;
  return options;
}

/// Returns a description of an execution that does not depend on the order of commuting updates.
std::string identity(const check::graph& g) {
  const auto name = [](const graph_event& e) { return std::to_string(e.thread) + "." + std::to_string(e.number) + " "; };
  const auto up_to = [&](const graph_event* last) {
    std::vector<std::string> names;
    for (const graph_event* e = last; e != nullptr; e = e->update != 0 ? e->partner->source : nullptr) {
      names.push_back(name(*e));
      if (e->mbarrier != check::mbarrier_op::none && e->completes) {
        break;  // A test observes the phase.
      }
    }
    std::sort(names.begin(), names.end());
    std::string text = "<";
    for (const std::string& n : names) {
      text += n;
    }
    return last != nullptr && last->completes ? "<phase" + std::to_string(last->value.low) : text;
  };
  std::string text;
  for (const auto& run : g.threads) {
    for (const graph_event* e : run.events) {
      text += e->kind == membar::model::event_kind::read && e->update == 0 ? name(*e) + up_to(e->source) : "";
    }
    text += std::to_string(run.events.size()) + ";";
  }
  for (const auto& order : g.order) {
    std::vector<std::string> updates;
    text += "|";
    for (std::size_t k = 1; k <= order.size(); ++k) {
      if (k < order.size() && order[k]->update != 0) {
        updates.push_back(name(*order[k]));
        continue;
      }
      std::sort(updates.begin(), updates.end());
      for (const std::string& u : updates) {
        text += "+" + u;
      }
      updates.clear();
      text += k < order.size() ? name(*order[k]) : "";
    }
  }
  return text;
}

struct answer {
  check::check_result result{};
  std::set<std::vector<std::uint64_t>> states{};
  std::vector<std::string> executions{};
};

/// The result of exploring a program, and the program's final states: the last `cells` 32-bit words of its memory.
answer answer_of(const check::program& p, std::uint64_t from, int cells, bool merge, bool load_buffering = true,
                 bool unused_once = true) {
  answer a;
  check::check_options options = merged(merge, load_buffering);
  options.read_unused_once = unused_once;
  a.result = check::explore(
      p,
      [&](const check::final_memory& end) {
        std::vector<std::uint64_t> state;
        bool unknown = false;
        for (int n = 0; n < cells; ++n) {
          unknown = unknown || end.is_unknown(from + 4 * static_cast<std::uint64_t>(n), 4);
          state.push_back(end.value(from + 4 * static_cast<std::uint64_t>(n), 4));
        }
        if (!unknown) {  // If a value is unknown, the exploration starts over.
          a.states.insert(state);
        }
        a.executions.push_back(identity(end.execution()));
        return std::string();
      },
      options);
  // An exploration that starts over has already reported executions; only those reported after the last start count.
  a.executions.erase(a.executions.begin(), a.executions.end() - static_cast<std::ptrdiff_t>(a.result.counts.executions));
  return a;
}

struct tally {
  std::uint64_t apart = 0;
  std::uint64_t merged = 0;
  int found = 0;
  int clean = 0;
};

void compare(const check::program& p, std::uint64_t from, int cells, const std::string& text, tally& t) {
  answer with = answer_of(p, from, cells, true);
  answer without = answer_of(p, from, cells, false);
  if (with.result.status == check_status::gave_up || without.result.status == check_status::gave_up) {
    with = answer_of(p, from, cells, true, false);
    without = answer_of(p, from, cells, false, false);
  }
  EXPECT_EQ(with.result.status, without.result.status) << text << with.result.found.message << "\n"
                                                       << without.result.found.message;
  if (without.result.status != check_status::verified) {
    ++t.found;
    return;
  }
  ++t.clean;
  if (!without.result.load_buffering_is_open) {
    EXPECT_EQ(with.states, without.states) << text;
  }
  // Without load buffering, the exploration omits any order of the updates that forms a cycle. Merged updates represent all
  // orders, so an exploration with merging may find more states.
  EXPECT_TRUE(std::includes(with.states.begin(), with.states.end(), without.states.begin(), without.states.end())) << text;
  const std::set<std::string> different(with.executions.begin(), with.executions.end());
  EXPECT_EQ(different.size(), with.executions.size()) << "an execution was reported twice\n" << text;
  t.merged += with.executions.size();
  t.apart += without.executions.size();
}

/// Generates random programs.
class drawn {
 public:
  explicit drawn(std::uint32_t seed) : stream_(seed) {}
  [[nodiscard]] int below(int n) { return static_cast<int>(stream_() % static_cast<std::uint32_t>(n)); }
  [[nodiscard]] std::string pick(const std::vector<std::string>& of) {
    return of[static_cast<std::size_t>(below(static_cast<int>(of.size())))];
  }

  /// Returns an access to x or y. No instruction uses register %r15, and %r0 to %r3 are stored at the end.
  [[nodiscard]] std::string access(bool fences) {
    const std::string at = "[" + pick({"x", "x", "y"}) + "]";
    const std::string result = "%r" + std::to_string(below(4));
    switch (below(fences ? 14 : 12)) {
      case 0:
      case 1:
      case 2:
        return "red." + pick({"relaxed", "relaxed", "release"}) + ".gpu.global.add.u32 " + at + ", " +
               pick({"1", "2", "4", "0"}) + ";\n";
      case 3:
        return "atom." + pick({"relaxed", "release", "acq_rel"}) + ".gpu.global.add.u32 %r15, " + at + ", 1;\n";
      case 4:
        return pick({"red.relaxed.gpu.global.or.b32 ", "red.relaxed.gpu.global.max.u32 ", "red.relaxed.gpu.global.min.s32 "}) +
               at + ", " + pick({"1", "2", "3"}) + ";\n";
      case 5:
        return "atom.relaxed.gpu.global." + pick({"add.u32 ", "or.b32 ", "exch.b32 "}) + result + ", " + at + ", " +
               pick({"0", "8"}) + ";\n";
      case 6:
      case 7:
        return "ld." + pick({"relaxed", "acquire"}) + ".gpu.global.u32 " + result + ", " + at + ";\n";
      case 8:
        return "st." + pick({"relaxed", "release"}) + ".gpu.global.u32 " + at + ", " + pick({"16", "32"}) + ";\n";
      case 9:
        return "atom." + pick({"relaxed", "release"}) + ".gpu.global.add.u32 " + result + ", " + at + ", " + pick({"1", "2"}) +
               ";\n" +
               pick({"", "st.relaxed.gpu.global.u32 [y], " + result + ";\n",
                     "setp.eq.u32 %p3, " + result + ", 1;\n@%p3 red.relaxed.gpu.global.add.u32 [y], 4;\n"});
      case 10:
        return "red.relaxed.gpu.global.add.f32 " + at + ", " + pick({"0f3f800000", "0f33800000", "0fbf800000"}) + ";\n";
      case 11:
        return "atom.relaxed.gpu.global.add.f32 " + pick({result, "%r15"}) + ", " + at + ", 0f4b800000;\n";
      case 12:
        return "fence.sc.gpu;\n";
      default:
        return "fence.acq_rel.gpu;\n";
    }
  }

  [[nodiscard]] static std::string result(int thread) {
    std::string text;
    for (int n = 0; n < 4; ++n) {
      text += "st.global.u32 [wide+" + std::to_string(16 * thread + 4 * n) + "], %r" + std::to_string(n) + ";\n";
    }
    return text;
  }

 private:
  std::mt19937 stream_;
};

const std::string variables =
    ".global .align 64 .b8 wide[64];\n.global .u32 x;\n.global .u32 y;\n.shared .align 8 .b64 barrier;\n";

/// Returns a program of one block, in which each thread executes one of `bodies`.
check::program block_of(const std::vector<std::string>& bodies, const std::string& before = "") {
  std::string text = before + "mov.u32 %r14, %tid.x;\n";
  for (std::size_t t = 0; t < bodies.size(); ++t) {
    const std::string n = std::to_string(t);
    text += "setp.ne.u32 %p0, %r14, " + n + ";\n@%p0 bra S" + n + ";\n" + bodies[t] + "ret;\nS" + n + ":\n";
  }
  check::launch_request request;
  request.block[0] = static_cast<std::uint32_t>(bodies.size());
  return program_of_launch(variables, text, request);
}

std::uint64_t executions_of(const check::program& p) {
  const check::check_result r = check::explore(p, {}, merged(true));
  EXPECT_EQ(r.status, check_status::verified) << r.found.message;
  return r.counts.executions;
}

std::vector<std::string> times(int count, const std::string& body) {
  return std::vector<std::string>(static_cast<std::size_t>(count), body);
}

TEST(check_merges_updates, including_those_that_change_nothing) {
  for (const char* const update : {"add.u32 [x], %r1;", "or.b32 [x], %r1;", "max.u32 [x], %r1;"}) {
    std::vector<std::string> bodies;
    for (int t = 0; t < 7; ++t) {
      bodies.push_back("mov.u32 %r1, " + std::to_string(t / 2) + "; red.relaxed.gpu.global." + update);
    }
    EXPECT_EQ(executions_of(ptx_program(bodies).get()), 1U) << update;
  }
  const std::string looks = "atom.relaxed.gpu.global.add.u32 %r0, [x], 0; setp.eq.u32 %p1, %r0, 1; @%p1 trap;";
  EXPECT_EQ(ptx_program({"red.relaxed.gpu.global.add.u32 [x], 1;", looks}).explore({}, merged(true)).status,
            check_status::violated)
      << "an update whose old value is used counts as a read";
}

TEST(check_merges_updates, that_nobody_looks_at_in_between) {
  EXPECT_EQ(executions_of(ptx_program(times(7, "red.relaxed.gpu.global.add.u32 [x], 1;")).get()), 1U);
  EXPECT_EQ(executions_of(ptx_program(times(7, "atom.relaxed.gpu.global.add.u32 %r0, [x], 1;")).get()), 1U);
  EXPECT_EQ(
      executions_of(ptx_program(times(4, "red.relaxed.gpu.global.add.u32 [x], 1;red.relaxed.gpu.global.or.b32 [y], 1;")).get()),
      1U);
  EXPECT_EQ(executions_of(block_of(times(5, "red.relaxed.gpu.global.add.u32 [x], 1; barrier.sync 0; ld.global.u32 %r0, [x];"))),
            1U);
  EXPECT_EQ(executions_of(block_of(times(5, "membar.gl; red.relaxed.gpu.global.add.u32 [x], 1;"))), 120U)
      << "fences may order the updates";
}

const std::string counts = "atom.relaxed.gpu.global.add.u32 %r0, [x], 1;";
const std::string adds_float = "red.relaxed.gpu.global.add.f32 [x], 0f3f800000;";
const std::string adds_little = "red.relaxed.gpu.global.add.f32 [x], 0f33800000;";
const std::string checks_sum = "ld.global.u32 %r0, [x]; setp.eq.u32 %p1, %r0, 1; @%p1 trap;";

/// Each thread increments a counter three times, and stores a value computed from each increment's result.
std::vector<std::string> keep_tickets(int threads) {
  std::vector<std::string> bodies;
  for (int t = 0; t < threads; ++t) {
    const std::string store = "add.u32 %r1, %r0, 1; st.global.u32 [wide+" + std::to_string(4 * t) + "], %r1;";
    bodies.push_back(counts + store + counts + store + counts + store);
  }
  return bodies;
}

TEST(check_merges_updates, whose_result_decides_nothing) {
  EXPECT_EQ(executions_of(ptx_program(keep_tickets(4)).get()), 1U);
  EXPECT_EQ(executions_of(ptx_program(times(3, counts + "st.relaxed.gpu.global.u32 [y], %r0;")).get()), 6U)
      << "only the order of the stores matters";
  EXPECT_EQ(executions_of(ptx_program(times(4, adds_float + adds_float + adds_float)).get()), 1U);
  EXPECT_EQ(executions_of(block_of(times(4, adds_float + "barrier.sync 0; ld.global.f32 %r0, [x];"))), 1U);
}

TEST(check_merges_updates, not_if_the_result_decides_something) {
  EXPECT_EQ(executions_of(ptx_program(times(3, counts + "setp.eq.u32 %p1, %r0, 7; @%p1 st.global.u32 [y], 1;")).get()), 6U);
  const std::string index = "mov.u64 %rd0, wide; mad.wide.u32 %rd0, %r0, 4, %rd0; st.global.u32 [%rd0], 1;";
  EXPECT_EQ(executions_of(ptx_program(times(3, counts + index)).get()), 6U);
  EXPECT_EQ(executions_of(block_of(times(3, adds_float + adds_little + "barrier.sync 0;" + checks_sum))), 90U)
      << "6! / (2! 2! 2!)";
}

TEST(check_merges_updates, of_floats_whose_sum_no_order_rounds) {
  EXPECT_EQ(executions_of(block_of(times(3, adds_float + "barrier.sync 0;" + checks_sum))), 1U);
  ptx_program exact(
      {adds_float, "red.relaxed.gpu.global.add.f32 [x], 0f3f000000;", "red.relaxed.gpu.global.add.f32 [x], 0fc0200000;"});
  const answer known = answer_of(exact.get(), exact.address("x"), 1, true);
  EXPECT_EQ(known.executions.size(), 1U);
  EXPECT_EQ(known.states, (std::set<std::vector<std::uint64_t>>{{0xbf800000}})) << "1 + 0.5 - 2.5";
  // The last sum is never too large, but the previous sum is too large in some orders: a 1 is lost if it is added to 2^24.
  ptx_program rounds(
      {adds_float, "red.relaxed.gpu.global.add.f32 [x], 0f4b800000;", "red.relaxed.gpu.global.add.f32 [x], 0fcb800000;"});
  EXPECT_EQ(answer_of(rounds.get(), rounds.address("x"), 1, true).states,
            (std::set<std::vector<std::uint64_t>>{{0}, {0x3f800000}}));
  // Values below the smallest normal float are flushed to 0.
  ptx_program flushes({"red.relaxed.gpu.global.add.f32 [x], 0f00c00000;", "red.relaxed.gpu.global.add.f32 [x], 0f80800000;",
                       "red.relaxed.gpu.global.add.f32 [x], 0f00800000;"});
  EXPECT_EQ(answer_of(flushes.get(), flushes.address("x"), 1, true).states,
            answer_of(flushes.get(), flushes.address("x"), 1, false).states);
  ptx_program overflows(
      times(2, "red.relaxed.gpu.global.add.f32 [x], 0f7f000000; red.relaxed.gpu.global.add.f32 [x], 0fff000000;"));
  EXPECT_EQ(answer_of(overflows.get(), overflows.address("x"), 1, true).states,
            answer_of(overflows.get(), overflows.address("x"), 1, false).states);
}

TEST(check_merges_updates, not_if_a_branch_on_the_result_shows_more_states) {
  const auto stores_if = [](const std::string& word) {
    return counts + "setp.eq.u32 %p1, %r0, 7; @!%p1 bra L; st.global.u32 [wide+" + word + "], 1; L:";
  };
  ptx_program p({stores_if("0"), stores_if("4")});
  EXPECT_EQ(answer_of(p.get(), p.address("wide"), 2, true).states, (std::set<std::vector<std::uint64_t>>{{0, 0}}));
}

TEST(check_merges_updates, not_if_the_property_asks_for_a_value_that_their_order_decides) {
  ptx_program tickets(keep_tickets(2));
  EXPECT_EQ(answer_of(tickets.get(), tickets.address("x"), 1, true).executions.size(), 1U);
  const answer given = answer_of(tickets.get(), tickets.address("wide"), 2, true);
  EXPECT_EQ(given.executions.size(), 20U) << "6! / (3! 3!)";
  EXPECT_EQ(given.states, (std::set<std::vector<std::uint64_t>>{{3, 6}, {4, 6}, {5, 6}, {6, 3}, {6, 4}, {6, 5}}));
  // A 1 is lost if it is added to 2^24, but not if it is first added to another 1.
  ptx_program sum({adds_float + adds_float, "red.relaxed.gpu.global.add.f32 [x], 0f4b800000;"});
  EXPECT_EQ(answer_of(sum.get(), sum.address("x"), 1, true).states,
            (std::set<std::vector<std::uint64_t>>{{0x4b800000}, {0x4b800001}}));
}

TEST(check_merges_updates, and_reports_known_values_in_a_finding) {
  ptx_program p({counts + "st.global.u32 [y], %r0;", counts + "st.global.u32 [y], %r0;"});
  const check::check_result r = p.explore({}, merged(true));
  ASSERT_EQ(r.status, check_status::race);
  EXPECT_TRUE(std::none_of(r.found.events.begin(), r.found.events.end(),
                           [](const check::trace_event& e) { return e.event.value.unknown; }));
}

TEST(check_merges_updates, not_of_different_operations) {
  EXPECT_EQ(executions_of(ptx_program(times(3, "red.relaxed.gpu.global.inc.u32 [x], 1;")).get()), 6U);
  EXPECT_EQ(
      executions_of(ptx_program({"red.relaxed.gpu.global.add.u32 [x], 1;", "red.relaxed.gpu.global.or.b32 [x], 1;"}).get()),
      2U);
}

TEST(check_merges_updates, not_around_a_read) {
  EXPECT_EQ(executions_of(ptx_program({"red.relaxed.gpu.global.add.u32 [x], 1;", "red.relaxed.gpu.global.add.u32 [x], 1;",
                                       "ld.relaxed.gpu.global.u32 %r0, [x]; st.global.u32 [y], %r0;"})
                              .get()),
            6U);
}

TEST(check_merges_updates, that_change_nothing_with_reads) {
  for (const std::string& same :
       {std::string("add.u32 %r0, [x], 0"), std::string("or.b32 %r0, [x], 0"), std::string("and.b32 %r0, [x], -1"),
        std::string("max.u32 %r0, [x], 0"), std::string("min.u32 %r0, [x], 0xffffffff"),
        std::string("max.s32 %r0, [x], 0x80000000"), std::string("cas.b32 %r0, [x], 0, 0")}) {
    EXPECT_EQ(executions_of(ptx_program(times(4, "atom.relaxed.gpu.global." + same + ";")).get()), 1U) << same;
    ptx_program race({"atom.relaxed.gpu.global." + same + ";", "ld.global.u32 %r0, [x];"});
    EXPECT_EQ(race.explore({}, merged(true)).status, check_status::race) << same;
    ptx_program other({"ld.global.u32 %r0, [x];", "atom.relaxed.gpu.global." + same + ";"});
    EXPECT_EQ(other.explore({}, merged(true)).status, check_status::race) << same;
  }
}

TEST(check_merges_updates, around_a_read_that_has_the_same_effect_for_each_value) {
  const auto readers_of = [](const std::string& load, const std::string& use, const std::string& before = "") {
    const std::string adds = before + "atom.relaxed.gpu.global.add.u32 %r0, [x], 1; setp.eq.u32 %p1, %r0, 7; @%p1 trap;";
    return std::vector<std::string>{load + "%r0, [x];" + use + "st.global.u32 [y], %r1;", adds, adds};
  };
  const std::string top = "shr.u32 %r1, %r0, 31;";
  const std::string load = "ld.relaxed.gpu.global.u32 ";
  EXPECT_EQ(executions_of(ptx_program(readers_of(load, "mov.u32 %r1, %r0;")).get()), 6U);
  EXPECT_EQ(executions_of(ptx_program(readers_of(load, top)).get()), 2U) << "only the order of the updates matters";
  EXPECT_EQ(executions_of(ptx_program(readers_of("ld.acquire.gpu.global.u32 ", top)).get()), 2U);
  EXPECT_EQ(executions_of(ptx_program(readers_of(load, top, "fence.sc.gpu;")).get()), 6U) << "fences may order the read";
  EXPECT_EQ(executions_of(ptx_program(readers_of(load, "and.b32 %r1, %r0, 1;")).get()), 6U) << "1 is between 0 and 2";
  EXPECT_EQ(executions_of(ptx_program(readers_of(load, "and.b32 %r1, %r0, 2;")).get()), 4U);
  const std::string ends = "setp.ge.s32 %p1, %r0, 0; @%p1 ret; mov.u32 %r1, 1;";
  EXPECT_EQ(executions_of(ptx_program(readers_of(load, ends)).get()), 2U) << "the thread ends regardless of what it reads";
}

TEST(check_merges_updates, and_stores_of_one_thread_around_a_read_that_has_the_same_effect_for_each_value) {
  const std::string reads = "ld.relaxed.gpu.global.u32 %r0, [x]; and.b32 %r1, %r0, 1; st.global.u32 [y], %r1;";
  const std::string stores = "st.relaxed.gpu.global.u32 [x], 1; st.relaxed.gpu.global.u32 [x], 3;";
  EXPECT_EQ(executions_of(ptx_program({reads, stores}).get()), 2U) << "the read returns 0 or 1";
  EXPECT_EQ(executions_of(ptx_program({reads, "st.relaxed.gpu.global.u32 [x], 1; st.relaxed.gpu.global.u32 [x], 2;"}).get()),
            3U);
  const std::string other = "st.relaxed.gpu.global.u32 [x], 4;";
  EXPECT_EQ(executions_of(ptx_program({reads, stores, other}).get()), 12U)
      << "the other store may come between: 3 orders, 4 values";
}

TEST(check_merges_updates, and_sees_that_a_wait_for_another_bit_never_ends) {
  const std::string waits = "W: ld.acquire.gpu.global.u32 %r0, [x]; setp.ge.s32 %p1, %r0, 0; @%p1 bra W;";
  const auto adds = [](const std::string& what) {
    return "atom.release.gpu.global.add.u32 %r0, [x], " + what + "; st.global.u32 [y], %r0;";
  };
  const auto status_of = [&](const std::string& what) {
    return check::explore(ptx_program({waits, adds("1") + adds(what)}).get(), {}, merged(true)).status;
  };
  EXPECT_EQ(status_of("0x80000000"), check_status::verified);
  EXPECT_EQ(status_of("0x40000000"), check_status::hang);
}

TEST(check_merges_updates, and_compares_no_states_before_a_branch_on_a_hidden_result) {
  const std::string announces = "red.release.gpu.global.add.u32 [x], 1;\n";
  const std::string waits =
      "atom.add.relaxed.gpu.global.u32 %r1, [y], 1;\nadd.s32 %r1, %r1, 1;\n"
      "L: ld.acquire.gpu.global.u32 %r2, [x];\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra L;\nst.global.u32 [z], %r2;\n";
  EXPECT_EQ(ptx_program({announces, waits}).explore().status, check_status::verified);
  EXPECT_EQ(ptx_program({waits}).explore().status, check_status::hang);
}

/// Explores `count` random programs of three threads with and without merging, and stops at the first difference. `body_of`
/// generates the body of one thread of program `n`.
template <class BodyOf>
void compare_random(const char* what, int count, tally& t, const BodyOf& body_of) {
  for (int n = 0; n < count; ++n) {
    std::vector<std::string> bodies;
    std::string text;
    for (int thread = 0; thread < 3; ++thread) {
      bodies.push_back(body_of(n, thread) + drawn::result(thread));
      text += bodies.back() + "--\n";
    }
    ptx_program p(bodies);
    check::program whole = p.get();
    compare(whole, p.address("wide"), 12, text, t);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  std::cout << what << ": executions " << t.apart << ", merged " << t.merged << ", clean " << t.clean << ", found " << t.found
            << "\n";
}

TEST(check_merges_updates, which_reads_pass_over_on_random_programs) {
  drawn stream(4);
  tally t;
  compare_random("reads", 200, t, [&](int n, int thread) {
    std::string body;
    for (int k = thread == 0 ? 2 : 1; k > 0; --k) {
      const std::string r = "%r" + std::to_string(stream.below(4));
      body += stream.access(n % 8 == 0) + "ld." + stream.pick({"relaxed", "acquire"}) + ".gpu.global.u32 " + r + ", [x];\n" +
              stream.pick({"and.b32 ", "and.b32 ", "or.b32 "}) + r + ", " + r + ", " + stream.pick({"4", "8", "24"}) + ";\n";
    }
    return body;
  });
  EXPECT_GT(t.clean, 50);
  EXPECT_LT(t.merged, t.apart * 9 / 10);
}

TEST(check_merges_updates, of_blocks_on_random_programs) {
  drawn stream(1);
  tally t;
  for (int n = 0; n < 300; ++n) {
    std::vector<std::string> bodies;
    std::string text;
    for (int thread = 0; thread < 3; ++thread) {
      std::string body;
      for (int k = 1 + stream.below(2); k > 0; --k) {
        body += stream.access(n % 2 == 0);
      }
      bodies.push_back(body + drawn::result(thread));
      text += body + "--\n";
    }
    ptx_program p(bodies);
    check::program whole = p.get();
    compare(whole, p.address("wide"), 12, text, t);
    compare(whole, p.address("x"), 2, text, t);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  std::cout << "blocks: executions " << t.apart << ", merged " << t.merged << ", clean " << t.clean << ", found " << t.found
            << "\n";
  EXPECT_GT(t.clean, 350);
  EXPECT_GT(t.apart, t.merged);
}

/// A thread's wait for a bit of x or y, or for a value that is at least as large as the value in a register, which may come
/// from an update.
std::string wait_of(drawn& stream, int number) {
  const std::string label = "L" + std::to_string(number);
  const std::string bound = "%r" + std::to_string(stream.below(4));
  return label + ": ld." + stream.pick({"relaxed", "acquire"}) + ".gpu.global.u32 %r4, [" + stream.pick({"x", "y"}) + "];\n" +
         stream.pick({"and.b32 %r5, %r4, 1;\nsetp.ne.u32 %p4, %r5, 0;\n", "and.b32 %r5, %r4, 6;\nsetp.ne.u32 %p4, %r5, 0;\n",
                      "setp.gt.u32 %p4, %r4, " + bound + ";\n", "setp.ge.u32 %p4, %r4, " + bound + ";\n"}) +
         "@!%p4 bra " + label + ";\n";
}

/// A weak load of x or y whose value is not used.
std::string unused_load(drawn& stream) {
  return "setp.eq.u32 %p5, 1, 2;\nld.global.u32 %r8, [" + stream.pick({"x", "y"}) +
         "];\nselp.u32 %r9, %r8, 7, %p5;\nst.global.u32 [z], %r9;\n";
}

TEST(check_reads_unused_values_once, unless_there_is_a_sequential_fence) {
  const std::string load = "setp.eq.u32 %p5, 1, 2; ld.global.u32 %r8, [x]; selp.u32 %r9, %r8, 7, %p5; st.global.u32 [z], %r9;";
  const std::string stores = "st.relaxed.gpu.global.u32 [x], 1; st.relaxed.gpu.global.u32 [x], 2;";
  EXPECT_EQ(executions_of(ptx_program({load, stores}).get()), 1U);
  EXPECT_EQ(executions_of(ptx_program({load, "fence.sc.gpu;" + stores}).get()), 3U);
}

TEST(check_reads_unused_values_once, and_finds_the_same_states) {
  drawn stream(6);
  std::size_t once = 0;
  std::size_t each = 0;
  int clean = 0;
  for (int n = 0; n < 200; ++n) {
    std::vector<std::string> bodies;
    std::string text;
    for (int thread = 0; thread < 3; ++thread) {
      std::string body = stream.access(n % 8 == 0);
      body += thread == 0 ? unused_load(stream) : "";
      body += thread == 1 && n % 3 == 0 ? wait_of(stream, thread) : stream.access(n % 8 == 0);
      bodies.push_back(body + drawn::result(thread));
      text += body + "--\n";
    }
    ptx_program p(bodies);
    const answer with = answer_of(p.get(), p.address("wide"), 12, n % 2 == 0, false);
    const answer without = answer_of(p.get(), p.address("wide"), 12, n % 2 == 0, false, false);
    ASSERT_EQ(with.result.status, without.result.status) << text << with.result.found.message;
    ASSERT_TRUE(with.result.status != check_status::verified || with.states == without.states) << text;
    const std::set<std::string> different(with.executions.begin(), with.executions.end());
    ASSERT_EQ(different.size(), with.executions.size()) << "an execution was reported twice\n" << text;
    ASSERT_LE(with.executions.size(), without.executions.size()) << text;
    once += with.executions.size();
    each += without.executions.size();
    clean += with.result.status == check_status::verified ? 1 : 0;
  }
  std::cout << "unused reads: executions " << each << ", with one source each " << once << ", clean " << clean << "\n";
  EXPECT_GT(clean, 100);
  EXPECT_LT(4 * once, 3 * each);
}

TEST(check_merges_updates, around_waits_on_random_programs) {
  drawn stream(5);
  tally t;
  compare_random("waits", 300, t, [&](int n, int thread) {
    const std::string first = stream.access(n % 8 == 0);
    return first + (thread == 0 ? stream.access(false) : wait_of(stream, thread));
  });
  EXPECT_GT(t.clean, 50);
  EXPECT_GT(t.found, 50);
  EXPECT_GT(t.apart, t.merged);
}

TEST(check_merges_updates, of_threads_that_meet_on_random_programs) {
  drawn stream(2);
  tally t;
  for (int n = 0; n < 200; ++n) {
    std::vector<std::string> bodies;
    std::string text;
    for (int thread = 0; thread < 3; ++thread) {
      std::string body;
      for (int round = 0; round < 2; ++round) {
        for (int k = stream.below(3); k > 0; --k) {
          body += stream.access(n % 4 == 0);
        }
        body += "barrier.sync 0;\n";
      }
      bodies.push_back(body + drawn::result(thread));
      text += body + "--\n";
    }
    const check::program p = block_of(bodies);
    compare(p, p.memory.front().address, 18, text, t);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  std::cout << "threads: executions " << t.apart << ", merged " << t.merged << ", clean " << t.clean << ", found " << t.found
            << "\n";
  EXPECT_GT(t.clean, 100);
  EXPECT_GT(t.apart, t.merged);
}

const std::string wait_for_phase = ": mbarrier.try_wait.shared.b64 %p1, [barrier], %rd1;\n@!%p1 bra ";

/// One of several threads that use an mbarrier: the thread arrives and waits, or only tests the phase, and accesses memory in
/// between.
std::string barrier_thread(drawn& stream, int rounds) {
  std::string body;
  for (int round = 0; round < rounds; ++round) {
    const std::string label = "W" + std::to_string(stream.below(1'000'000'000));
    body += stream.below(2) == 0 ? stream.access(false) : "";
    body += "mbarrier.arrive.shared.b64 %rd1, [barrier];\n";
    body += stream.below(3) == 0 ? stream.access(false) : "";
    body += stream.below(3) == 0 ? "mbarrier.test_wait.shared.b64 %p2, [barrier], %rd1;\nselp.u32 %r3, 1, 2, %p2;\n" : "";
    body += label + wait_for_phase + label + ";\n";
  }
  return body;
}

TEST(check_merges_updates, that_are_arrivals_at_an_mbarrier_on_random_programs) {
  drawn stream(3);
  tally t;
  for (int n = 0; n < 300; ++n) {
    const int threads = 2 + stream.below(2);
    // Sometimes the phase expects more or fewer arrivals than the threads perform.
    const std::string expected = std::to_string(stream.below(8) == 0 ? threads + stream.below(3) - 1 : threads);
    const std::string before = "mov.u32 %r13, %tid.x;\nsetp.ne.u32 %p0, %r13, 0;\n@!%p0 mbarrier.init.shared.b64 [barrier], " +
                               expected + ";\nbar.sync 0;\n";
    std::vector<std::string> bodies;
    std::string text = expected + "\n";
    for (int thread = 0; thread < threads; ++thread) {
      const std::string body = barrier_thread(stream, threads == 2 ? 2 : 1);
      bodies.push_back(body + drawn::result(thread));
      text += body + "--\n";
    }
    const check::program p = block_of(bodies, before);
    compare(p, p.memory.front().address, 18, text, t);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  std::cout << "arrivals: executions " << t.apart << ", merged " << t.merged << ", clean " << t.clean << ", found " << t.found
            << "\n";
  EXPECT_GT(t.clean, 200);
  EXPECT_GT(t.found, 10);
  EXPECT_GT(t.apart, 2 * t.merged);
}

TEST(check_merges_updates, that_are_arrivals_of_many_threads) {
  const std::string before =
      "mov.u32 %r13, %tid.x;\nsetp.ne.u32 %p0, %r13, 0;\n@!%p0 mbarrier.init.shared.b64 [barrier], 12;\nbarrier.sync 0;\n";
  std::vector<std::string> bodies;
  for (int t = 0; t < 12; ++t) {
    const std::string label = "W" + std::to_string(t);
    bodies.push_back("mbarrier.arrive.shared.b64 %rd1, [barrier];\n" + label + wait_for_phase + label + ";\n");
  }
  EXPECT_EQ(executions_of(block_of(bodies, before)), 1U);
}

}  // namespace
}  // namespace commuting_updates_test
