// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: do memory fences in a process wait for traffic that is not theirs, and what do memory synchronization domains
/// give back? Every case times one victim beside one noise in one arm; `--help` lists the options.

#include "arms.hpp"
#include "cases.cuh"
#include "figures.hpp"
#include "workshop.cuh"
#ifdef MEMBAR_BENCH_HAS_NCCL
#include "nccl_cross_check.cuh"
#endif

#include <membar/error.hpp>
#include <membar/sync_domain.hpp>
#include <bench/common/machine_context.hpp>

#include <benchmark/benchmark.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fence_interference {
namespace {

struct options {
  int device = 0;
  std::optional<int> peer;
  bool all = false;
  bool as_child = false;
  int repetitions = 9;
  int pace = default_pace;
  std::string csv;
};

/// Whether Google Benchmark's filter selects a case.
bool selected(const std::string& name) {
  const std::string filter = benchmark::GetBenchmarkFilter();
  const bool inverted = starts_with(filter, "-");
  if (filter.empty() || filter == "all") {
    return true;
  }
  try {
    return std::regex_search(name, std::regex(filter.substr(inverted ? 1 : 0))) != inverted;
  } catch (const std::regex_error& failure) {
    throw std::runtime_error("membar: --benchmark_filter=" + filter + " is not a regular expression: " + failure.what());
  }
}

/// Whether it selects any case beside NCCL, whose set-up takes a while.
[[maybe_unused]] bool selects_nccl(const std::vector<victim_description>& victims) {
  for (const victim_description& victim : victims) {
    for (const std::string_view noise_name : all_noises) {
      for (const arm& arm : {same, separate, swapped, alias, map, env0}) {
        if (starts_with(noise_name, "nccl") &&
            selected(case_name{victim.name, std::string(noise_name), std::string(arm.name)}.text())) {
          return true;
        }
      }
    }
  }
  return false;
}

/// How much is done, on the terminal's last line; nothing where standard error is not a terminal.
class progress {
 public:
  void expect(const std::string& name, int sets) { expected_ += selected(name) ? sets : 0; }

  void done(const std::string& name) {
    ++done_;
    if (isatty(STDERR_FILENO) != 0) {
      std::fprintf(stderr, "\r\033[K%3d %%  %s%s", 100 * done_ / std::max(expected_, done_), name.c_str(),
                   done_ == expected_ ? "\r\033[K" : "");
    }
  }

 private:
  int expected_ = 0;
  int done_ = 0;
};

void print_help() {
  std::printf(
      "fence_interference: do memory fences wait for traffic that is not theirs, and what do synchronization domains give "
      "back?\n"
      "  --all                    every victim beside every noise in every arm (default: the decisive 250 or so)\n"
      "  --device=N               the GPU to measure (default: 0)\n"
      "  --peer=N                 the GPU that NVLink stores and NCCL's all-reduce go to (default: the first on NVLink)\n"
      "  --csv=FILE               also write comma-separated values\n"
      "  --benchmark_out=FILE     also write JSON\n"
      "  --benchmark_filter=REGEX only cases victim/noise/arm that match, such as 'kernel_boundary.*/nccl'\n"
      "  --benchmark_list_tests=true and the other options of Google Benchmark\n"
      "  --pace=N                 paced stores are N %% of what saturates; NCCL's are two blocks (default: 75)\n"
      "  --repetitions=N          sample sets of a case, spread over the run (default: 9)\n");
}

/// An integer option's value, or an error that says what was wrong with it.
int to_number(const char* option, const char* text, int least, int most = 1000) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < least || value > most) {
    throw std::runtime_error(std::string("membar: ") + option + "=" + text + " is not a number from " + std::to_string(least) +
                             " to " + std::to_string(most));
  }
  return static_cast<int>(value);
}

/// Takes the bench's own options out of the command line and leaves the rest to Google Benchmark.
options parse(int& argc, char** argv) {
  options parsed;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value = [&](std::string_view name) -> const char* {
      return starts_with(argument, name) ? argv[i] + name.size() : nullptr;
    };
    if (argument == "--all") {
      parsed.all = true;
    } else if (argument == "--as_child") {
      parsed.as_child = true;
    } else if (const char* device = value("--device=")) {
      parsed.device = to_number("--device", device, 0);
    } else if (const char* peer = value("--peer=")) {
      parsed.peer = to_number("--peer", peer, 0);
    } else if (const char* repetitions = value("--repetitions=")) {
      parsed.repetitions = to_number("--repetitions", repetitions, 1);
    } else if (const char* pace = value("--pace=")) {
      parsed.pace = to_number("--pace", pace, 1, 99);
    } else if (const char* csv = value("--csv=")) {
      parsed.csv = csv;
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return parsed;
}

/// Refuses an output path before minutes are spent on measuring.
void require_writable(const std::string& path) {
  if (!path.empty() && !std::ofstream(path, std::ios::app)) {
    throw std::runtime_error("membar: cannot write to " + path + ": name a file in a folder that exists and is writable");
  }
}

/// Registers one case. `run` measures one sample set; a case with a note measures nothing.
template <class Run>
void register_case(const case_name& name, case_result& result, progress& progress, int sets, Run run) {
  benchmark::internal::Benchmark* const registered =
      benchmark::RegisterBenchmark(name.text().c_str(), [&result, &progress, run, text = name.text()](benchmark::State& state) {
        for (auto _ : state) {
          if (result.note.empty()) {
            try {
              run();
            } catch (const std::exception& failure) {
              result.note = std::string("failed: ") + failure.what();
            }
          }
          state.SetIterationTime(result.medians.empty() ? 0 : result.medians.back() * 1e-9);
        }
        progress.done(text);
        if (starts_with(result.note, "failed: ")) {
          result.ns.clear();
          state.SkipWithError(result.note.c_str());
        } else {
          state.SetLabel(result.note);
        }
      });
  registered->Iterations(1)->UseManualTime()->Unit(benchmark::kNanosecond)->Repetitions(sets);
  progress.expect(name.text(), sets);
}

int run(int argc, char** argv) {
  std::string command = "fence_interference";
  for (int i = 1; i != argc; ++i) {
    // Where the results go does not belong to what was measured.
    const bool output = starts_with(argv[i], "--csv=") || starts_with(argv[i], "--benchmark_out");
    command += output ? std::string() : std::string(" ") + argv[i];
  }
  options options = parse(argc, argv);
  // The cases' sample sets are interleaved, so that a drift of the machine falls on all arms alike.
  char interleave[] = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> arguments{argv[0], interleave};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  int argument_count = static_cast<int>(arguments.size());
  std::string json;
  for (const char* argument : arguments) {
    json = starts_with(argument, "--benchmark_out=") ? argument + std::strlen("--benchmark_out=") : json;
  }
  benchmark::Initialize(&argument_count, arguments.data(), print_help);
  if (benchmark::ReportUnrecognizedArguments(argument_count, arguments.data())) {
    std::fprintf(stderr, "membar: --help lists the options\n");
    return 1;
  }
  static_cast<void>(selected(""));  // refuses a filter that is no regular expression, before any file is made
  require_writable(json);
  require_writable(options.csv);

  support::context_entries context;
  std::unique_ptr<workshop> bench;
  std::string no_device;
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    no_device = std::string("no CUDA device (") + cudaGetErrorString(status) + ")";
    std::printf("membar: %s: every case is waived\n", no_device.c_str());
  } else {
    static_cast<void>(membar::sync_domain_count(options.device));  // says which devices there are, if not this one
    bench = std::make_unique<workshop>(options.device, options.peer, options.pace);
    if (options.as_child) {
#ifdef MEMBAR_BENCH_HAS_NCCL
      measure_as_child(*bench, options.device, options.repetitions);
#endif
      return 0;
    }
    context = support::machine_context(options.device);
    char mhz[16] = {};
    std::snprintf(mhz, sizeof mhz, "%.0f", bench->ghz() * 1e3);
    context.emplace_back("sm_clock_mhz", mhz);
    context.emplace_back("pace_percent", std::to_string(options.pace));
    context.emplace_back("link", bench->peer() ? support::link_between(options.device, *bench->peer()) : "no peer");
#ifdef MEMBAR_BENCH_HAS_NCCL
    context.emplace_back("nccl_version", nccl_version());
#endif
    context.emplace_back("command", command);
  }

  const std::vector<victim_description> victims = all_victims();
#ifdef MEMBAR_BENCH_HAS_NCCL
  if (bench != nullptr && bench->peer() && selects_nccl(victims)) {
    bench->find_queues();
  }
#endif
  result_table table;
  progress progress;
  const auto add = [&](const victim_description& victim, std::string_view noise_name, const arm& arm) {
    const case_name name{victim.name, std::string(noise_name), std::string(arm.name)};
    case_result& result = table.add(name);
    if (noise_name != "none") {
      result.required = requirement_of(victim.name, arm);
    }
    const std::string reason = bench == nullptr ? no_device : bench->waiver(victim, noise_name, arm);
    result.note = reason.empty() ? "" : "waived: " + reason;
    const int sets = reason.empty() ? options.repetitions : 1;
    if (arm.name == env0.name) {
      register_case(name, result, progress, 1, [&bench, &options, &result] {
#ifdef MEMBAR_BENCH_HAS_NCCL
        measure_in_child(options.device, bench->peer().value(), options.repetitions, result);
#endif
      });
    } else {
      register_case(name, result, progress, sets, [&bench, &victim, &arm, &result, noise_text = name.noise] {
        measure(*bench, victim, bench->noise_called(noise_text), arm, result);
      });
    }
  };
  for (const victim_description& victim : victims) {
    add(victim, "none", alone);
    for (const std::string_view noise_name : all_noises) {
      if (victim.chain_queue == queue::shared && !starts_with(noise_name, "nccl")) {
        continue;
      }
      for (const arm& arm : domain_arms) {
        if (options.all || in_default_set(victim, noise_name, arm.name, bench != nullptr && bench->peer())) {
          add(victim, noise_name, arm);
        }
      }
      if (victim.name == victims.front().name && noise_name == "nccl.saturating") {
        add(victim, noise_name, env0);
      }
    }
  }

  const double ghz = bench != nullptr ? bench->ghz() : 0;
  table_reporter display(table, context, ghz);
  json_file_reporter file(table, context, ghz);
  const std::size_t matched =
      json.empty() ? benchmark::RunSpecifiedBenchmarks(&display) : benchmark::RunSpecifiedBenchmarks(&display, &file);
  if (matched == 0) {
    std::fprintf(stderr, "membar: no case matches --benchmark_filter=%s: --benchmark_list_tests=true prints their names\n",
                 benchmark::GetBenchmarkFilter().c_str());
    return 1;
  }
  if (!options.csv.empty()) {
    std::ofstream csv(options.csv);
    write_csv(csv, table, ghz);
    if (!csv.flush()) {
      throw std::runtime_error("membar: writing " + options.csv + " failed: is the disk full?");
    }
  }
  return 0;
}

}  // namespace
}  // namespace fence_interference

int main(int argc, char** argv) {
  try {
    return fence_interference::run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
