// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The explorer and the model agree on recorded and on random litmus tests: they find the same final states if a test is
// race-free, and otherwise both find a race.
#include <bench/model/random_test.hpp>
#include <check/finding_text.hpp>
#include <tests/check/agreement.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace membar_test;

/// The number of tests with each result.
struct tally {
  int same = 0;
  int races = 0;
  int hangs = 0;
  int wild = 0;  ///< Tests with an access through a register that holds no address; the model omits such executions.
  int not_supported = 0;
  int undecided = 0;  ///< Tests that the model does not decide within its limits.
  std::uint64_t executions = 0;
  std::uint64_t buffered = 0;  ///< The number of executions with load buffering.
};

/// Checks the litmus test that is written for a race: the model must allow its outcome and find a race. If accesses have
/// several sizes, the writer must reject the race.
template <class Rules>
void shows_race(const explored& found, const std::string& name, const Rules& rules) {
  std::string text;
  try {
    text = check::litmus_of(found.checked, found.result.found, "found");
  } catch (const model::error& e) {
    const std::string what = e.what();
    EXPECT_TRUE(what.find("different sizes") != std::string::npos ||
                what.find("which a litmus test cannot express") != std::string::npos)
        << name << ": " << what;
    return;
  }
  const model::litmus_test shown = membar::litmus_files::read_litmus(text);
  const model::search_options options(20'000'000);
  EXPECT_TRUE(model::find_race(shown.view().program, rules, options)) << name << "\n" << text;
  EXPECT_TRUE(model::decide(shown, options, rules).holds) << name << "\n" << text;
}

/// Compares the explorer with the model on one test, and fails if they differ. `rules` are all rules, or all rules with other
/// readings.
template <class Rules = model::every_rule>
void compare(const model::litmus_test& test, const std::string& name, tally& t, const Rules& rules = {}) {
  explored found;
  try {
    if constexpr (std::is_same_v<Rules, model::every_rule>) {
      found = explore_test(test);
    } else {
      found = explore_test(test, true, rules);
    }
  } catch (const model::error&) {
    ++t.not_supported;
    return;
  }
  if (found.result.status == check::check_status::gave_up) {
    ++t.not_supported;
    return;
  }
  if (found.result.status == check::check_status::out_of_bounds) {
    ++t.wild;
    return;
  }
  EXPECT_EQ(found.repeated, 0U) << name << ": an execution was explored twice";
  t.executions += found.result.counts.executions;
  t.buffered += found.result.counts.buffered;
  try {
    if (found.result.status == check::check_status::hang) {
      ++t.hangs;  // The model does not include executions in which a thread waits forever.
      return;
    }
    const model::search_options options(20'000'000);
    const bool race = static_cast<bool>(model::find_race(test.view().program, rules, options));
    if (race || found.result.status == check::check_status::race) {
      EXPECT_TRUE(race) << name << ": " << found.result.found.message;
      EXPECT_EQ(found.result.status, check::check_status::race) << name;
      ++t.races;
      shows_race(found, name, rules);
      return;
    }
    EXPECT_EQ(found.result.status, check::check_status::verified) << name << ": " << found.result.found.message;
    const auto states = states_of_model(test, rules);
    EXPECT_EQ(found.states, states) << name << "\nexplored: " << text_of(found.states) << "\nmodel:    " << text_of(states);
    ++t.same;
  } catch (const model::error&) {
    ++t.undecided;
  }
}

void print(const char* what, const tally& t) {
  std::cout << what << ": same states " << t.same << ", races " << t.races << ", hangs " << t.hangs << ", wild " << t.wild
            << ", not supported " << t.not_supported << ", not decided by the model " << t.undecided << ", executions "
            << t.executions << ", buffered " << t.buffered << "\n";
}

TEST(check_agrees, on_every_recorded_test_of_the_generic_and_the_async_proxy) {
  tally t;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(MEMBAR_LITMUS_CATALOGUE)) {
    if (entry.path().extension() != ".litmus") {
      continue;
    }
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const model::litmus_test test = membar::litmus_files::read_litmus(text);
    if (!test.filter.empty()) {
      ++t.not_supported;
      continue;
    }
    compare(test, entry.path().filename().string(), t);
  }
  print("catalogue", t);
  EXPECT_GE(t.same, 190);
  EXPECT_GE(t.races, 355);
  EXPECT_LE(t.wild, 6);
  EXPECT_EQ(t.undecided, 0);
  EXPECT_GT(t.buffered, 10U);
}

/// Determines the accesses in random tests: as generated, all strong, or all strong at system scope so that there is no race.
enum class accesses { any, strong, strong_system };

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// Returns the next test in a stream.
std::string drawn(random_tests& stream, accesses how) {
  random_program p = stream.next();
  for (auto& thread : p.code) {
    for (std::string& line : thread) {
      if (how != accesses::any) {
        replace_all(line, ".weak", ".relaxed.sys");
      }
      if (how == accesses::strong_system && line.rfind("fence", 0) != 0) {
        replace_all(line, ".cta", ".sys");
        replace_all(line, ".cluster", ".sys");
        replace_all(line, ".gpu", ".sys");
      }
    }
  }
  return p.text(p.own_order(), {"x", "y", "z"}, p.everything());
}

void random(std::uint64_t seed, int count, const random_shape& shape, accesses how) {
  tally t;
  random_tests stream(seed, shape);
  for (int i = 0; i < count; ++i) {
    const std::string text = drawn(stream, how);
    compare(membar::litmus_files::read_litmus(text), text, t);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  print("random", t);
  EXPECT_GE(t.same + t.races, count * 9 / 10);
  EXPECT_GT(how == accesses::any ? t.races : t.same, count / 10);
}

TEST(check_agrees, on_random_programs_of_two_threads) {
  random_shape shape;
  random(1, 1500, shape, accesses::any);
  random(2, 1500, shape, accesses::strong);
  random(3, 1500, shape, accesses::strong_system);
}

TEST(check_agrees, on_random_programs_of_three_threads) {
  random_shape shape;
  shape.threads = 3;
  random(4, 600, shape, accesses::any);
  random(5, 600, shape, accesses::strong);
  random(6, 600, shape, accesses::strong_system);
}

TEST(check_agrees, on_random_programs_with_long_threads_and_fences) {
  random_shape shape;
  shape.instructions = 6;
  shape.places = false;
  random(7, 600, shape, accesses::strong);
  random(8, 300, shape, accesses::strong_system);
}

TEST(check_agrees, on_random_programs_of_four_threads) {
  random_shape shape;
  shape.threads = 4;
  shape.instructions = 2;
  random(9, 400, shape, accesses::strong);
  random(10, 300, shape, accesses::strong_system);
}

TEST(check_agrees, on_random_programs_of_three_locations) {
  random_shape shape;
  shape.threads = 3;
  shape.locations = 3;
  random(11, 300, shape, accesses::any);
  random(12, 300, shape, accesses::strong_system);
}

TEST(check_agrees, on_random_programs_of_one_location) {
  random_shape shape;
  shape.locations = 1;
  shape.instructions = 4;
  shape.fences = false;
  random(14, 200, shape, accesses::strong);
  random(15, 200, shape, accesses::strong_system);
  shape.threads = 3;
  shape.instructions = 2;
  random(16, 200, shape, accesses::any);
  random(17, 200, shape, accesses::strong_system);
}

#if defined(MEMBAR_TEST_FULL)
constexpr int waiting_programs = 500;
#else
constexpr int waiting_programs = 150;
#endif

/// Random tests in which thread 0 writes y, and each of the other threads waits for y at some point. The waiting loop only
/// loads y, also reads another location, uses a compare-and-swap that fails, or adds 0, which writes back the old value.
TEST(check_agrees, on_random_programs_that_wait) {
  tally t;
  for (int n = 2; n <= 3; ++n) {
    random_shape shape;
    shape.threads = n;
    shape.instructions = n == 2 ? 4 : 3;
    shape.places = false;
    shape.control = false;
    random_tests stream(static_cast<std::uint64_t>(20 + n), shape);
    for (int i = 0; i < waiting_programs; ++i) {
      random_program p = stream.next();
      const auto insert = [&](std::size_t thread, const std::vector<std::string>& lines) {
        auto& code = p.code[thread];
        code.insert(code.begin() + stream.below(static_cast<int>(code.size()) + 1), lines.begin(), lines.end());
      };
      const std::string order = stream.below(2) == 0 ? ".acquire" : ".relaxed";
      insert(0, {"st.release.sys <1>, 1"});
      for (std::size_t thread = 1; thread < p.code.size(); ++thread) {
        switch (stream.below(4)) {
          case 0:
            insert(thread, {"W:", "ld" + order + ".sys r8, <1>", "beq r8, 0, W"});
            break;
          case 1:
            insert(thread, {"W:", "ld.relaxed.sys r9, <0>", "ld" + order + ".sys r8, <1>", "beq r8, 0, W"});
            break;
          case 2:
            insert(thread, {"W:", "atom" + order + ".sys.cas r8, <1>, 7, 7", "beq r8, 0, W"});
            break;
          default:
            insert(thread, {"W:", "atom" + order + ".sys.add r8, <1>, 0", "beq r8, 0, W"});
            break;
        }
      }
      for (auto& thread : p.code) {
        for (std::string& line : thread) {
          for (const char* scope : {".cta", ".cluster", ".gpu"}) {
            replace_all(line, scope, ".sys");
          }
          if (i % 4 != 0) {
            replace_all(line, ".weak", ".relaxed.sys");
          }
        }
      }
      const std::string text = p.text(p.own_order(), {"x", "y", "z"}, p.everything());
      compare(membar::litmus_files::read_litmus(text), text, t);
      if (testing::Test::HasFailure()) {
        return;
      }
    }
  }
  print("waiting", t);
  EXPECT_GT(t.same, 6 * waiting_programs / 10);
}

/// A thread that loads and then stores, in one of many ways. The store may depend on the loaded value directly or through an
/// addition, a branch, a predicate or an update, or the two accesses may be ordered.
std::vector<std::string> buffering_thread(random_tests& stream, int from, int to, bool orders) {
  const auto place = [](int n) { return "<" + std::to_string(n) + ">"; };
  const auto pick = [&](std::vector<std::string> of) {
    return of[static_cast<std::size_t>(stream.below(static_cast<int>(of.size())))];
  };
  const std::string load_order = orders ? pick({"relaxed", "relaxed", "acquire"}) : "relaxed";
  const std::string store_order = orders ? pick({"relaxed", "relaxed", "release"}) : "relaxed";
  std::vector<std::string> code;
  if (stream.below(4) == 0) {
    code.push_back(
        "atom." + load_order + ".sys." +
        pick({"add r0, " + place(from) + ", 1", "exch r0, " + place(from) + ", 2", "cas r0, " + place(from) + ", 0, 2"}));
  } else {
    code.push_back("ld." + load_order + ".sys r0, " + place(from));
  }
  if (stream.below(4) == 0) {
    code.push_back("ld.relaxed.sys r1, " + place(stream.below(3)));
  }
  if (orders && stream.below(4) == 0) {
    code.push_back(pick({"fence.acq_rel.sys", "fence.sc.sys", "fence.release.sys", "fence.acquire.sys"}));
  }
  const std::string store = "st." + store_order + ".sys " + place(to);
  switch (stream.below(8)) {
    case 0:
      code.push_back(store + ", r0");
      break;
    case 1:
      code.insert(code.end(), {"add r2, r0, 1", store + ", r2"});
      break;
    case 2:
      code.insert(code.end(), {"beq r0, 0, DONE", store + ", 1"});
      break;
    case 3:
      code.push_back("@r0 " + store + ", 1");
      break;
    case 4:
      code.push_back("atom." + pick({"relaxed", "acq_rel"}) + ".sys." +
                     pick({"add r3, " + place(to) + ", 1", "exch r3, " + place(to) + ", r0", "cas r3, " + place(to) + ", 0, 1",
                           "cas r3, " + place(to) + ", r0, 1"}));
      break;
    default:
      code.push_back(store + ", 1");
      break;
  }
  if (stream.below(3) == 0) {
    code.push_back(pick({"st.relaxed.sys ", "st.release.sys "}) + place(stream.below(3)) + ", " + pick({"1", "2", "r0"}));
  }
  code.push_back("DONE:");
  return code;
}

TEST(check_agrees, on_random_programs_that_buffer_loads) {
  for (const bool orders : {false, true}) {
    tally t;
    random_shape shape;
    random_tests stream(orders ? 31 : 30, shape);
    for (int i = 0; i < 1200; ++i) {
      random_program p;
      p.locations = 3;
      const int threads = 2 + stream.below(2);
      for (int n = 0; n < threads; ++n) {
        p.places.push_back("cta " + std::to_string(n) + ",gpu 0");
        p.code.push_back(buffering_thread(stream, n, (n + 1) % threads, orders));
      }
      std::string condition = "exists (x == 0 /\\ y == 0 /\\ z == 0";
      for (int n = 0; n < threads; ++n) {
        condition += " /\\ P" + std::to_string(n) + ":r0 == 0";
      }
      const std::string text = p.text(p.own_order(), {"x", "y", "z"}, condition + ")");
      compare(membar::litmus_files::read_litmus(text), text, t);
      if (testing::Test::HasFailure()) {
        return;
      }
    }
    print("buffering", t);
    EXPECT_EQ(t.same, 1200);
    EXPECT_GT(t.buffered, 300U);
  }
}

/// Two threads with possible load buffering also increment a counter, and the thread that is last resets it with a weak store.
/// Whether this is a race depends on a reading.
TEST(check_agrees, on_random_programs_that_buffer_loads_and_reset_a_counter_under_another_reading) {
  model::other_readings whole;
  whole.take(model::reading::whole_updates_are_observed);
  tally strict;
  tally lenient;
  random_shape shape;
  random_tests stream(32, shape);
  for (int i = 0; i < 300; ++i) {
    random_program p;
    p.locations = 3;
    for (int n = 0; n < 2; ++n) {
      p.places.push_back("cta " + std::to_string(n) + ",gpu 0");
      std::vector<std::string> code = buffering_thread(stream, n, 1 - n, true);
      const std::vector<std::string> counts = {"atom.relaxed.sys.add r4, <2>, 1", "beq r4, 0, LAST", "fence.acq_rel.sys",
                                               "st.weak <2>, 5", "LAST:"};
      code.insert(stream.below(2) == 0 ? code.begin() : code.end(), counts.begin(), counts.end());
      p.code.push_back(std::move(code));
    }
    const std::string text = p.text(p.own_order(), {"x", "y", "z"}, "exists (x == 0 /\\ P0:r0 == 0 /\\ P1:r0 == 0)");
    compare(membar::litmus_files::read_litmus(text), text, strict);
    compare(membar::litmus_files::read_litmus(text), text, lenient, whole);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  print("strict", strict);
  print("lenient", lenient);
  EXPECT_GT(strict.races, lenient.races);
  EXPECT_GT(lenient.buffered, 10U);
}

/// In the only execution with load buffering, P0's update reads 5 and therefore does not acquire P1's store to z, so P2 can read
/// z == 0. Without load buffering, either P0's update acquires that store, or P1 does not store to w; in both cases, P3 does not
/// store 5.
const std::vector<std::vector<std::string>> late_acquire = {
    {"atom.acq_rel.sys.add r0, <0>, 1", "st.release.sys <1>, 1"},
    {"st.relaxed.sys <2>, 1", "atom.acq_rel.sys.add r0, <0>, 1", "bne r0, 0, DONE", "st.relaxed.sys <3>, 1"},
    {"ld.acquire.sys r0, <1>", "ld.relaxed.sys r1, <2>", "ld.relaxed.sys r2, <3>", "bne r0, 1, DONE", "bne r1, 0, DONE",
     "bne r2, 1, DONE", "st.relaxed.sys <4>, 1"},
    {"ld.relaxed.sys r0, <4>", "bne r0, 1, DONE", "st.relaxed.sys <0>, 5"}};

/// Replaces, inserts or removes a random line of a program.
void change_a_line(random_tests& stream, std::vector<std::vector<std::string>>& program) {
  const auto pick = [&](std::vector<std::string> of) {
    return of[static_cast<std::size_t>(stream.below(static_cast<int>(of.size())))];
  };
  const std::string place = "<" + std::to_string(stream.below(5)) + ">";
  const std::string line =
      pick({"ld.relaxed.sys r0, " + place, "ld.acquire.sys r1, " + place, "st.relaxed.sys " + place + ", 1",
            "st.release.sys " + place + ", 2", "st.relaxed.sys " + place + ", r0", "atom.relaxed.sys.add r0, " + place + ", 1",
            "atom.acq_rel.sys.exch r1, " + place + ", 3", "fence.acq_rel.sys", "fence.sc.sys", "bne r0, 0, DONE"});
  auto& code = program[static_cast<std::size_t>(stream.below(static_cast<int>(program.size())))];
  const auto at = code.begin() + stream.below(static_cast<int>(code.size()));
  switch (stream.below(3)) {
    case 0:
      *at = line;
      break;
    case 1:
      code.insert(at, line);
      break;
    default:
      if (code.size() > 1) {
        code.erase(at);
      }
      break;
  }
}

TEST(check_agrees, on_random_programs_whose_updates_acquire_late) {
  tally t;
  random_shape shape;
  random_tests stream(33, shape);
  for (int i = 0; i < 600; ++i) {
    random_program p;
    p.locations = 5;
    p.code = late_acquire;
    for (int k = i == 0 ? 0 : 1 + stream.below(4); k > 0; --k) {
      change_a_line(stream, p.code);
    }
    std::string condition = "exists (x == 0";
    for (int n = 0; n < 4; ++n) {
      p.places.push_back("cta " + std::to_string(n) + ",gpu 0");
      p.code[static_cast<std::size_t>(n)].push_back("DONE:");
      for (const char* name : {":r0", ":r1"}) {
        const std::string in_thread = "P" + std::to_string(n) + name;
        p.edges += in_thread + "=0; ";
        condition += " /\\ " + in_thread + " == 0";
      }
    }
    const std::string text = p.text(p.own_order(), {"x", "y", "z", "w", "u"}, condition + ")");
    compare(membar::litmus_files::read_litmus(text), text, t);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  print("late acquires", t);
  EXPECT_EQ(t.same, 600);
}

TEST(check_explores, no_execution_of_a_larger_program_twice) {
  random_shape shape;
  shape.threads = 4;
  shape.instructions = 4;
  shape.places = false;
  shape.fences = false;
  random_tests stream(13, shape);
  std::uint64_t executions = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string text = drawn(stream, accesses::strong_system);
    // Tests with load buffering are compared on smaller programs, because larger ones could have millions of executions.
    const explored found = explore_test(membar::litmus_files::read_litmus(text), false);
    EXPECT_EQ(found.result.status, check::check_status::verified) << text;
    EXPECT_EQ(found.repeated, 0U) << text;
    executions += found.result.counts.executions;
  }
  EXPECT_GT(executions, 50'000U);
  std::cout << "executions " << executions << "\n";
}

}  // namespace
