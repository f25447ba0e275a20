// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: do memory fences in a process wait for unrelated traffic, and how much of this wait do memory synchronization
/// domains remove? Every case times one victim (an operation that may wait) during one noise (background load) in one arm (a
/// choice of the domains of both); `--help` lists the options.

#include "fixture.cuh"
#ifdef MEMBAR_BENCH_HAS_NCCL
#include "nccl_cross_check.cuh"
#endif

#include <bench/common/harness.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <utility>
#include <vector>

namespace fence_interference {
namespace {

/// Returns whether the filter selects any NCCL case; setting up NCCL takes a while.
[[maybe_unused]] bool selects_nccl(const bench::suite& cases, const std::vector<victim_description>& victims) {
  for (const victim_description& victim : victims) {
    for (const std::string_view noise_name : all_noises) {
      for (const arm& arm : {same, separate, swapped, alias, map, env0}) {
        if (starts_with(noise_name, "nccl") &&
            cases.selects(case_name{victim.name, std::string(noise_name), std::string(arm.name)}.text())) {
          return true;
        }
      }
    }
  }
  return false;
}

/// The progress on the terminal's last line; it prints nothing if standard error is not a terminal.
class progress {
 public:
  void expect(int sets) { expected_ += sets; }

  void done(const std::string& name) {
    ++done_;
    const auto elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    const int left = static_cast<int>(elapsed / done_ * std::max(expected_ - done_, 0));
    say(done_ == expected_
            ? ""
            : std::to_string(100 * done_ / std::max(expected_, done_)) + " %, " + std::to_string(left) + " s left  " + name);
  }

  /// Writes `text` on the line; an empty text clears it.
  static void say(const std::string& text) {
    if (isatty(STDERR_FILENO) != 0) {
      std::fprintf(stderr, "\r\033[K%s", text.c_str());
    }
  }

 private:
  int expected_ = 0;
  int done_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// The program: its options, the devices, and its measurements.
struct program {
  std::optional<int> peer;
  bool all = false;
  bool as_child = false;
  int pace = default_pace;
  int chain = 0;
  int settle_seconds = 60;
  std::string csv;

  std::unique_ptr<fixture> on;
  std::vector<victim_description> victims = all_victims();
  result_table table;
  progress shown;

  /// A case that is the basis of findings.
  struct used_case {
    const victim_description* victim;
    const arm* under;
    case_name name;
    case_result* result;
  };
  std::vector<used_case> used;

  void add(bench::suite& cases, const victim_description& victim, std::string_view noise_name, const arm& arm);
  void add_cases(bench::suite& cases);
  void repeat_what_is_used();
  std::size_t run(const bench::suite& cases);
};

/// Returns whether a case is the basis of findings, and not only of controls.
bool is_used(const case_name& name) {
  return (name.arm == alone.name || name.arm == same.name || name.arm == separate.name) && !starts_with(name.noise, "spin") &&
         !starts_with(name.noise, "local");
}

void program::add(bench::suite& cases, const victim_description& victim, std::string_view noise_name, const arm& arm) {
  const case_name name{victim.name, std::string(noise_name), std::string(arm.name)};
  case_result& result = table.add(name);
  if (noise_name != "none") {
    result.required = requirement_of(victim.name, arm);
  }
  const std::string reason = on == nullptr ? cases.waiver() : on->waiver(victim, noise_name, arm);
  result.note = reason.empty() ? "" : "waived: " + reason;
  // A child process measures arm env0, including all repetitions.
  const bool in_child = arm.name == env0.name;
  const int sets = in_child ? 1 : cases.repetitions();
  if (reason.empty() && cases.selects(name.text())) {
    shown.expect(sets);
  }
  cases.add({name.text(), reason, sets}, [this, &cases, &victim, &arm, &result, in_child, name]() -> bench::figures {
    try {
      if (in_child) {
#ifdef MEMBAR_BENCH_HAS_NCCL
        measure_in_child(cases, on->peer().value(), on->victim_called(victim).chain_length(), result);
#endif
      } else {
        measure(*on, victim, on->noise_called(name.noise), arm, result);
      }
    } catch (const std::exception& failure) {
      result.note = std::string("failed: ") + failure.what();
      result.ns.clear();
      throw std::runtime_error(result.note);
    }
    shown.done(name.text());
    if (result.medians.size() == static_cast<std::size_t>(cases.repetitions()) && is_used(name)) {
      used.push_back({&victim, &arm, name, &result});
    }
    return result.medians.back();
  });
}

void program::add_cases(bench::suite& cases) {
  if (!cases.waived()) {
    on = std::make_unique<fixture>(cases.device(), peer, pace, chain);
    if (as_child) {
      return;
    }
    cases.context("sm_clock_mhz", std::to_string(std::lround(on->ghz() * 1e3)));
    cases.context("pace_percent", std::to_string(pace));
    cases.context("link", on->peer() ? support::link_between(cases.device(), *on->peer()) : "no peer");
#ifdef MEMBAR_BENCH_HAS_NCCL
    cases.context("nccl_version", nccl_version());
    if (on->peer() && selects_nccl(cases, victims)) {
      on->find_queues();
    }
#endif
    cases.context("command", cases.command());
  }
  for (const victim_description& victim : victims) {
    add(cases, victim, "none", alone);
    for (const std::string_view noise_name : all_noises) {
      if (victim.chain_queue == queue::shared && !starts_with(noise_name, "nccl")) {
        continue;
      }
      for (const arm& arm : domain_arms) {
        if (all || in_default_set(victim, noise_name, arm.name, on != nullptr && on->peer())) {
          add(cases, victim, noise_name, arm);
        }
      }
      if (victim.name == victims.front().name && noise_name == "nccl.saturating") {
        add(cases, victim, noise_name, env0);
      }
    }
  }
}

/// Repeats the cases on which findings are based until all of their ratios are known or the time is up; a second call does
/// nothing.
void program::repeat_what_is_used() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(settle_seconds);
  const auto medians_of = [](const used_case& each) -> const std::vector<double>& { return each.result->medians; };
  const auto again = [this](const used_case& each, std::size_t left) {
    progress::say(std::to_string(left) + " cases have too large a spread; repeating " + each.name.text());
    try {
      measure(*on, *each.victim, on->noise_called(each.name.noise), *each.under, *each.result);
      return true;
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "membar: %s is not repeated further: %s\n", each.name.text().c_str(), failure.what());
      return false;
    }
  };
  settle(std::exchange(used, {}), medians_of, again, [&] { return std::chrono::steady_clock::now() >= deadline; });
  progress::say("");
}

std::size_t program::run(const bench::suite& cases) {
  if (as_child) {
#ifdef MEMBAR_BENCH_HAS_NCCL
    if (on != nullptr) {
      measure_as_child(*on, cases.device(), cases.repetitions());
    }
#endif
    on.reset();
    return 1;
  }
  std::ofstream table_file;
  if (!csv.empty()) {
    table_file.open(csv);
    if (!table_file) {
      throw std::runtime_error("membar: cannot write to " + csv + "; name a file in an existing, writable folder");
    }
  }
  const run_results results{table, on != nullptr ? on->ghz() : 0, [this] { repeat_what_is_used(); }};
  table_reporter display(results);
  json_file_reporter file(results);
  const std::size_t matched = cases.has_output_file() ? benchmark::RunSpecifiedBenchmarks(&display, &file)
                                                      : benchmark::RunSpecifiedBenchmarks(&display);
  if (matched != 0 && !csv.empty()) {
    write_csv(table_file, results);
    if (!table_file.flush()) {
      throw std::runtime_error("membar: writing " + csv + " failed: is the disk full?");
    }
  }
  on.reset();
  return matched;
}

program the_program;

}  // namespace
}  // namespace fence_interference

namespace bench {

bench::description describe() {
  using fence_interference::the_program;
  return {.question = "Do memory fences wait for other kernels' traffic, and how much do synchronization domains recover?",
          .add_cases = [](suite& cases) { the_program.add_cases(cases); },
          .interleaved = true,
          .keeps_repetitions = true,
          .fails_with_cases = false,
          .options = {{"--all", "every victim under every kind of noise in every arm (default: the decisive combinations)",
                       [](const char*) { the_program.all = true; }},
                      {"--as_child", "", [](const char*) { the_program.as_child = true; }},
                      {"--peer=", "the GPU that NVLink stores and NCCL's all-reduce go to (default: the first on NVLink)",
                       [](const char* value) { the_program.peer = to_number("--peer=", value, 0); }},
                      {"--pace=", "paced stores use this percentage of the saturating rate; NCCL uses two blocks (default: 75)",
                       [](const char* value) { the_program.pace = to_number("--pace=", value, 1, 99); }},
                      {"--chain=", "kernels in a chain (default: 32 to 256, as needed for a steady time alone)",
                       [](const char* value) { the_program.chain = to_number("--chain=", value, 1); }},
                      {"--settle=", "seconds for repeating cases whose spread is too large for the report (default: 60)",
                       [](const char* value) { the_program.settle_seconds = to_number("--settle=", value, 0, 3600); }},
                      {"--csv=", "a file for comma-separated values", [](const char* value) { the_program.csv = value; }}},
          .run = [](const suite& cases) { return the_program.run(cases); }};
}

}  // namespace bench
