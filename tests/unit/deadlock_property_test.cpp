// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the guarantees in deadlock/check.hpp on thousands of small random programs, each of which is run in every schedule.
#include <membar/deadlock/check.hpp>
#include <membar/deadlock/text.hpp>

#include "stream_simulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace membar_test {
namespace {

namespace deadlock = membar::deadlock;

using namespace membar::deadlock;
using stream_simulator::outcome;

/// The features that a random program may use.
struct ingredients {
  bool sets = false;  ///< Notifications set signals 2 and 3, and add to signals 0 and 1.
  bool events = true;
  bool teams = true;
  bool hosts = false;
  bool kernels = false;
  bool graphs = false;
  bool copies = false;
  bool nonblocking = false;  ///< Notifications that are delivered later.
  bool own_queues = false;   ///< Some streams have their own queue.
  bool halves = false;       ///< Some barriers are split into an arrival and a wait.
};

class random_program {
 public:
  random_program(unsigned seed, ingredients with) : random_(seed), with_(with) {}

  [[nodiscard]] program make() {
    program_.pes = 2 + below(2);
    program_.hosts = with_.hosts && below(2) == 0 ? callers::one_per_pe : callers::one;
    program_.teams[1] = {0, 1};
    for (int groups = 3 + below(4); groups != 0; --groups) {
      add_group();
    }
    if (with_.graphs) {
      capture();
    }
    for (int pe = 0; with_.own_queues && pe != program_.pes; ++pe) {
      program_.own_queues.insert({pe, 1 + below(2)});
    }
    // The operations are now in a correct order. Change it in a few places.
    for (int swaps = below(4); swaps != 0 && !with_.graphs; --swaps) {
      swap(static_cast<std::size_t>(below(static_cast<int>(program_.operations.size()))));
    }
    return program_;
  }

 private:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  stream_operation& push(operation_kind kind, int pe) {
    stream_operation& operation = program_.operations.emplace_back();
    operation.kind = kind;
    operation.pe = pe;
    operation.stream = 1 + below(2);
    return operation;
  }

  void notify(int from, int to, int signal, std::uint64_t value) {
    stream_operation& n = push(operation_kind::notify, from);
    n.target = to;
    n.object = signal;
    n.effect = {signal < 2, value};
    n.blocking = !with_.nonblocking || below(3) != 0;
  }
  void wait(int pe, int signal, std::uint64_t value) {
    stream_operation& w = push(operation_kind::wait, pe);
    w.object = signal;
    w.condition = {signal < 2, value};
  }

  void add_group() {
    const int pe = below(program_.pes);
    const int other = below(program_.pes);
    const int choice = below(8);
    if (choice == 0 && with_.teams) {
      const bool world = below(3) == 0;
      if (with_.halves && below(4) != 0) {
        return add_halves(world);
      }
      for (int member = 0; member != (world ? program_.pes : 2); ++member) {
        push(operation_kind::collective, member).object = world ? 0 : 1;
      }
      return;
    }
    if (choice == 1 && with_.events) {
      const int event = below(2);
      push(operation_kind::record_event, pe).object = event;
      if (below(4) == 0) {
        push(operation_kind::record_event, pe).object = event;
      }
      push(operation_kind::wait_event, program_.hosts == callers::one ? other : pe).object = event;
      return;
    }
    if (choice == 2 && with_.hosts) {
      push(below(2) == 0 ? operation_kind::host_stream : operation_kind::host_pe, pe);
      return;
    }
    if (choice == 3 && with_.kernels) {
      return kernel(pe, other);
    }
    if (choice == 4 && with_.copies) {
      push(operation_kind::host_copy, pe).early = below(3) != 0;
      push(operation_kind::access, pe).target = other;
      return;
    }
    if (choice == 5 && with_.nonblocking) {
      push(operation_kind::quiet, pe);
      return;
    }
    const int signal = below(2) + (with_.sets && below(2) == 0 ? 2 : 0);
    const std::uint64_t value = signal < 2 ? 1 : 1 + static_cast<std::uint64_t>(below(2));
    notify(pe, other, signal, value);
    std::uint64_t& sum = sums_[{other, signal}];
    sum += value;
    if (below(5) != 0) {
      const std::uint64_t set_value = below(6) == 0 ? 0 : value;  // signals initially have the value 0
      wait(other, signal, signal < 2 ? (below(3) == 0 ? 1 : sum) : set_value);
    }
    if (with_.sets && signal >= 2 && below(3) == 0) {
      notify(other, other, signal, 0);
    }
  }

  /// A barrier in two halves with other operations in between. Both halves of a PE are in one stream.
  void add_halves(bool world) {
    std::vector<deadlock::handle> streams;
    for (int member = 0; member != (world ? program_.pes : 2); ++member) {
      stream_operation& arrival = push(operation_kind::arrive, member);
      arrival.object = world ? 0 : 1;
      streams.push_back(arrival.stream);
    }
    if (below(2) == 0) {
      const int other = below(program_.pes);
      notify(below(program_.pes), other, 0, 1);
      sums_[{other, 0}] += 1;
      wait(other, 0, sums_[{other, 0}]);
    }
    for (std::size_t member = 0; member != streams.size(); ++member) {
      if (below(12) != 0) {  // Otherwise, this is the PE's last team operation.
        stream_operation& departure = push(operation_kind::depart, static_cast<int>(member));
        departure.object = world ? 0 : 1;
        departure.stream = streams[member];
      } else {
        with_.teams = false;
      }
    }
  }

  void kernel(int pe, int other) {
    stream_operation& launch = push(operation_kind::kernel, pe);
    launch.kernel = ++kernels_;
    const deadlock::handle stream = launch.stream;
    for (unsigned role = 0; role != 2; ++role) {
      for (int steps = 1 + below(2); steps != 0; --steps) {
        if (below(2) == 0) {
          notify(pe, other, below(2), 1);
          sums_[{other, static_cast<int>(program_.operations.back().object.number())}] += 1;
        } else {
          wait(pe, below(2), 1);
        }
        stream_operation& step = program_.operations.back();
        step.kernel = kernels_;
        step.role = role;
        step.stream = stream;
      }
    }
  }

  /// Moves consecutive operations of a PE into a graph, which is launched in their place.
  void capture() {
    const int pe = below(program_.pes);
    std::vector<stream_operation> outside;
    std::vector<stream_operation> inside;
    std::size_t at = 0;
    for (const stream_operation& each : program_.operations) {
      const bool fits = each.pe == pe && each.kernel == 0 && each.kind != operation_kind::record_event &&
                        each.kind != operation_kind::wait_event && inside.size() < 4;
      if (fits) {
        at = inside.empty() ? outside.size() : at;
        inside.emplace_back(each).graph = 1;
      } else {
        outside.push_back(each);
      }
    }
    if (inside.empty()) {
      return;
    }
    if (inside.size() > 2 && below(2) == 0) {  // an edge between the graph's streams
      stream_operation record = inside[1];
      record.kind = operation_kind::record_event;
      record.object = 9;
      stream_operation wait = record;
      wait.kind = operation_kind::wait_event;
      wait.stream = 3 - static_cast<int>(record.stream.number());
      inside.insert(inside.begin() + 2, {record, wait});
    }
    stream_operation launch;
    launch.kind = operation_kind::launch_graph;
    launch.pe = pe;
    launch.stream = 1 + below(2);
    launch.object = 1;
    outside.insert(outside.begin() + static_cast<std::ptrdiff_t>(at), launch);
    if (inside.size() < 4) {
      launch.stream = 1 + below(2);
      outside.insert(outside.begin() + static_cast<std::ptrdiff_t>(at) + 1 + below(static_cast<int>(outside.size() - at)),
                     launch);
    }
    program_.operations = inside;
    program_.operations.insert(program_.operations.end(), outside.begin(), outside.end());
  }

  void swap(std::size_t i) {
    std::vector<stream_operation>& all = program_.operations;
    const auto of_team = [](const stream_operation& each) {
      return each.kind == operation_kind::collective || each.kind == operation_kind::arrive ||
             each.kind == operation_kind::depart;
    };
    if (i + 1 < all.size() && with_.halves && of_team(all[i]) && of_team(all[i + 1]) && all[i].pe == all[i + 1].pe &&
        all[i].object == all[i + 1].object) {
      return;  // An arrival stays before its wait.
    }
    if (i + 1 < all.size() && all[i].kernel == 0 && all[i + 1].kernel == 0) {
      std::swap(all[i], all[i + 1]);
    }
  }

  std::mt19937 random_;
  ingredients with_;
  program program_;
  std::map<std::pair<int, int>, std::uint64_t> sums_;
  unsigned kernels_ = 0;
};

/// Formats a program for a failed test's message, with the names that reports use.
std::string text(const program& program) {
  const deadlock::detail::program_text words(program);
  std::string result = program.hosts == callers::one ? "one host\n" : "a host for each PE\n";
  for (std::size_t i = 0; i != program.operations.size(); ++i) {
    const stream_operation& each = program.operations[i];
    result += "  " + words.whole(i) + (each.kind == operation_kind::access ? " of PE " + std::to_string(each.target) : "") +
              (each.kernel != 0 ? " kernel " + std::to_string(each.kernel) + " role " + std::to_string(each.role) : "") +
              (each.graph != 0 ? " captured" : "") + (each.early ? " early" : "") + "\n";
  }
  return result;
}

constexpr int programs = 3000;  // programs of each kind

class deadlock_property : public ::testing::TestWithParam<std::pair<const char*, ingredients>> {};

INSTANTIATE_TEST_SUITE_P(
    , deadlock_property,
    ::testing::Values(std::pair("counters", ingredients{}), std::pair("sets", ingredients{.sets = true}),
                      std::pair("hosts", ingredients{.sets = true, .hosts = true}),
                      std::pair("kernels", ingredients{.kernels = true}),
                      std::pair("deliveries", ingredients{.sets = true, .nonblocking = true}),
                      std::pair("copies", ingredients{.hosts = true, .copies = true}),
                      std::pair("queues", ingredients{.sets = true, .hosts = true, .own_queues = true}),
                      std::pair("halves", ingredients{.sets = true, .hosts = true, .nonblocking = true, .halves = true}),
                      std::pair("graphs", ingredients{.events = false, .graphs = true}),
                      std::pair("launches", ingredients{.sets = true, .events = false, .graphs = true, .nonblocking = true})),
    [](const auto& each) { return std::string(each.param.first); });

/// Compares the reports on many programs with what happens in the programs' schedules.
class verdicts {
 public:
  /// If a `long_program` hangs, only the hang must be reported.
  explicit verdicts(const ingredients& with, bool long_program = false) : with_(with), long_(long_program) {}

  void add(const std::string& words, const std::vector<deadlock::report>& reports, const outcome& real) {
    std::set<hazard> kinds;
    std::string said = words;
    for (const auto& report : reports) {
      kinds.insert(report.kind);
      said += report.sentence + "\n";
    }
    const bool says_hang = std::ranges::any_of(kinds, deadlock::hangs);
    const bool says_lost = kinds.contains(hazard::lost_signal);
    hang_ += real.hangs;
    reported_to_hang_ += says_hang;
    clean_ += reports.empty();
    cautious_ += (says_hang || says_lost) && !real.hangs;

    // If a program hangs in some schedule, a hang is reported. Conversely, except with graphs, a reported hang happens in some
    // schedule.
    ASSERT_TRUE(!real.hangs || says_hang || says_lost) << "a hang is not reported, " << said;
    ASSERT_TRUE(!says_hang || real.hangs || with_.graphs) << "the reported hang does not happen, " << said;
    // Hazards are named correctly: a report says "false dependency" only if there is a false dependency.
    if (says_hang && !says_lost && !with_.graphs && !(long_ && with_.sets)) {
      ASSERT_EQ(real.hangs_with_own_queues, !kinds.contains(hazard::wait_before_notify)) << said;
    }
    // Undefined behaviour and waits that may end too early are reported.
    if (long_ && says_hang) {
      return;
    }
    ASSERT_TRUE(!real.collectives_at_once || kinds.contains(hazard::concurrent_collectives)) << said;
    ASSERT_TRUE(!real.copy_overtaken || kinds.contains(hazard::early_host_copy)) << said;
    ASSERT_TRUE(!real.stale_wait || kinds.contains(hazard::stale_wait)) << said;
    stale_ += real.stale_wait;
  }

  void expect_enough_of_each() const {
    EXPECT_GT(hang_, programs / 20) << "too few of the programs hang";
    EXPECT_GT(clean_, programs / 20) << "too few of the programs are clean";
    EXPECT_LT(cautious_, programs / 20) << "too many of the programs are reported although they do not hang";
    EXPECT_TRUE(stale_ > programs / 100 || with_.graphs) << "too few of the programs have a stale wait";
    std::printf(
        "%d programs: %d hang, %d are reported to hang, %d have a stale wait, %d are clean, %d are reported although they do "
        "not hang\n",
        programs, hang_, reported_to_hang_, stale_, clean_, cautious_);
  }

 private:
  const ingredients& with_;
  bool long_;
  int hang_ = 0;
  int reported_to_hang_ = 0;
  int clean_ = 0;
  int stale_ = 0;
  int cautious_ = 0;  // The number of programs that are reported although they hang in no schedule.
};

/// Returns the reports on a program that is checked after each of its operations, as if it were too long for the exact
/// analysis.
std::vector<deadlock::report> reports_in_steps(const program& whole) {
  program grown = whole;
  grown.operations.clear();
  deadlock::detail::checker checker(grown, 0);
  for (std::size_t i = 0; i != whole.operations.size(); ++i) {
    grown.operations.push_back(whole.operations[i]);
    // A kernel is recorded together with its steps.
    if (i + 1 == whole.operations.size() || whole.operations[i + 1].kernel == 0) {
      static_cast<void>(checker.reports());
    }
  }
  return checker.reports();
}

TEST_P(deadlock_property, holds_in_every_schedule) {
  const ingredients with = GetParam().second;
  verdicts of_check(with);
  verdicts of_long_programs(with, true);  // The programs are checked as if they were too long for the exact analysis.
  verdicts of_steps(with, true);
  for (unsigned seed = 0; seed != programs; ++seed) {
    const program program = random_program(seed, with).make();
    const outcome real = stream_simulator::run(program);
    const std::string words = "seed " + std::to_string(seed) + "\n" + text(program);
    const std::vector<deadlock::report> reports = deadlock::check(program);
    of_check.add(words, reports, real);
    of_long_programs.add("as a long program, " + words, deadlock::detail::checker(program, 0).reports(), real);
    of_steps.add("in steps, " + words, reports_in_steps(program), real);
    if (HasFatalFailure()) {
      return;
    }
    // If too many operations are pending for the exact analysis, the checker analyses only some of them exactly.
    const std::vector<deadlock::report> cut = deadlock::detail::checker(program, 0, 3).reports();
    const auto says_hang = [](const deadlock::report& each) { return deadlock::hangs(each.kind); };
    const bool says_lost = std::ranges::any_of(cut, [](const auto& each) { return each.kind == hazard::lost_signal; });
    ASSERT_TRUE(!real.hangs || says_lost || std::ranges::any_of(cut, says_hang))
        << "with a limit of 3 operations, a hang is not reported, " << words;
    ASSERT_TRUE(real.hangs || with.graphs || std::ranges::none_of(cut, says_hang))
        << "with a limit of 3 operations, the reported hang does not happen, " << words;
    // The linear check finds every problem that the exact check reports.
    const std::vector<deadlock::report> exact = deadlock::detail::analysis(program).reports();
    ASSERT_TRUE(!reports.empty() || exact.empty()) << words << exact.front().sentence;
  }
  of_check.expect_enough_of_each();
  of_long_programs.expect_enough_of_each();
  of_steps.expect_enough_of_each();
}

}  // namespace
}  // namespace membar_test
