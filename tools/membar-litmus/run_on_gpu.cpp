// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// `membar-litmus run`: each test compiled for this machine's GPUs, run under stress, and its outcomes held against the model.
#include "files.hpp"
#include "run.hpp"

#include <membar/error.hpp>
#include <membar/litmus/histogram.hpp>
#include <membar/litmus/parameters.hpp>
#include <membar/litmus/placement.hpp>
#include <membar/litmus/runner.hpp>
#include <membar/litmus/test.hpp>
#include <membar/litmus/tuner.hpp>
#include <membar/model/litmus_file.hpp>
#include "host_threads.hpp"
#include "kernel_library.hpp"
#include "run_plan.hpp"
#include "source.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace litmus_command {

namespace litmus = membar::litmus;
namespace model = membar::model;

namespace {

/// Why there is no GPU, in one sentence.
[[nodiscard]] std::string no_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  static_cast<void>(cudaGetLastError());
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    static_cast<void>(cudaDriverGetVersion(&driver));
    return driver == 0
               ? "run needs a GPU, and no NVIDIA driver is installed here"
               : "run needs a driver for CUDA " + litmus::cuda_version_text(CUDART_VERSION) +
                     ", and the one installed is for CUDA " + litmus::cuda_version_text(driver) + ": install a newer one";
  }
  return "run needs a GPU, and the CUDA runtime finds none" +
         (status == cudaSuccess ? std::string() : std::string(": ") + cudaGetErrorString(status));
}

/// The compute capability to compile for: code for a device runs on later ones of the same major number.
[[nodiscard]] int capability_of(const litmus::placement& where, const litmus::machine& machine) {
  int least = 0;
  for (const litmus::placement::launch& launch : where.launches) {
    const litmus::machine::device& device = machine.devices[static_cast<std::size_t>(launch.device)];
    const int own = 10 * device.major + device.minor;
    if (least != 0 && least / 10 != own / 10) {
      throw model::error("the test's GPUs have compute capabilities " + std::to_string(least / 10) + ".x and " +
                         std::to_string(own / 10) + ".x, and a test is compiled for one of them");
    }
    least = least == 0 || own < least ? own : least;
  }
  return least;
}

void require_native_atomics(const litmus::run_plan& plan, const litmus::placement& where, const litmus::machine& machine) {
  const std::string update = plan.update_shared_with_host();
  if (update.empty()) {
    return;
  }
  for (const litmus::placement::launch& launch : where.launches) {
    const litmus::machine::device& device = machine.devices[static_cast<std::size_t>(launch.device)];
    int native = 0;
    membar::check(cudaDeviceGetAttribute(&native, cudaDevAttrHostNativeAtomicSupported, device.ordinal));
    if (native == 0) {
      throw model::error(update + " updates what a host thread writes, and the link from " + device.name +
                         " to the host makes no update one access: what is lost then says nothing about memory order");
    }
  }
}

/// A test with all of its digits, as the kernel counts it, and with the observed values only, as it is reported.
struct test_pair {
  litmus::runnable_test counted;
  litmus::runnable_test reported;
};

[[nodiscard]] test_pair make_tests(const litmus::run_plan& plan, const litmus::host_threads& on_host, const void* kernel) {
  test_pair made;
  made.reported.twin = made.counted.twin = plan.test();
  made.reported.cells = made.counted.cells = plan.cells();
  made.counted.kernel = kernel;
  if (on_host.any()) {
    made.counted.on_host = [&on_host](int thread, const litmus::cells& at, const litmus::digits& out) {
      on_host(thread, at, out);
    };
  }
  for (std::size_t d = 0; d < plan.digits().size(); ++d) {
    const litmus::outcome_digit& one = plan.digits()[d];
    const litmus::observed_value observed{{one.name, one.what}, one.values};
    made.counted.observed.push_back(observed);
    if (one.end_of < 0) {
      made.reported.observed.push_back(observed);
    }
  }
  return made;
}

/// In a fixed order GPU threads run then first what waits for nothing, so that what the others wait for has begun everywhere;
/// those that wait keep the file's order. Without that, warps that begin with a waiting thread wait for each other until they
/// leave their loops. Returns whether a thread on a GPU waits.
[[nodiscard]] bool let_waiting_threads_be_last(const litmus::run_plan& plan, litmus::placement& where) {
  bool any = false;
  for (litmus::placement::launch& launch : where.launches) {
    const auto first_waiting = std::stable_partition(launch.threads.begin(), launch.threads.end(),
                                                     [&plan](int thread) { return !plan.waits(thread); });
    any = any || first_waiting != launch.threads.end();
  }
  return any;
}

/// The best parameters of a search for what the test's condition asks for; without one, for what no interleaving gives.
[[nodiscard]] litmus::parameters tuned(litmus::engine& engine, const litmus::run_plan& plan, const test_pair& test,
                                       const litmus::placement& where, const run_request& request,
                                       const litmus::parameters& first) {
  litmus::tune_options options;
  options.seconds = request.tune_seconds;
  options.seed = request.seed;
  options.homes = static_cast<int>(where.launches.size());
  options.first = first;
  options.wanted = plan.test().has_condition ? litmus::objective::condition : litmus::objective::not_sequentially_consistent;
  const std::vector<bool> wanted = litmus::wanted_outcomes(test.reported, options.wanted);
  std::string failure;
  bool ran = false;
  const auto try_out = [&](const litmus::parameters& how) {
    litmus::trial one;
    try {
      litmus::run_options run;
      run.seconds = options.trial_seconds;
      run.seed = request.seed;
      const litmus::run_result seen = engine.run(test.counted, where, how, run);
      const litmus::folded_counts folded = plan.fold(seen.counts);
      for (std::size_t o = 0; o < folded.counts.size(); ++o) {
        one.wanted += wanted[o] ? folded.counts[o] : 0;
      }
      one.instances = seen.instances;
      one.seconds = seen.seconds;
      ran = true;
    } catch (const membar::error& e) {
      failure = one.failure = e.what();
    }
    return one;
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const litmus::parameters best = litmus::tune(try_out, elapsed, options).best;
  if (!ran) {
    throw model::error(failure);
  }
  return best;
}

/// What a report does not show: instances that have no outcome.
[[nodiscard]] std::string remainder_text(const litmus::folded_counts& folded) {
  std::string out;
  const auto line = [&out](std::uint64_t count, const std::string& what) {
    if (count != 0) {
      out += std::to_string(count) + " instances " + what + "\n";
    }
  };
  line(folded.unfinished, "left a loop after " + std::to_string(litmus::jump_limit) + " turns: they have no outcome");
  line(folded.unknown, "did not report how a thread ended: the engine or the machine failed");
  line(folded.strayed, "accessed an address that is no location's: forbidden by the model");
  return out;
}

/// Runs one test and prints its report. Whether every outcome was allowed.
[[nodiscard]] bool run_one(const std::string& file, const run_request& request, litmus::engine& engine,
                           litmus::compiler& compile) {
  const litmus::run_plan plan(model::read_litmus(text_of(file)), request.limit);
  const litmus::host_threads on_host(plan);
  const litmus::test_source source = litmus::write_source(plan);
  litmus::placement where = litmus::place_threads(plan.test(), engine.runs_on());
  litmus::parameters usual;
  if (let_waiting_threads_be_last(plan, where)) {
    usual.order = litmus::run_order::fixed;
  }
  usual = litmus::parse_parameters(request.parameters, usual);
  require_native_atomics(plan, where, engine.runs_on());
  const int capability = capability_of(where, engine.runs_on());
  const int version = compile.library().version();
  litmus::require_compilable(source, capability, version);
  if (!compile.library().knows(capability)) {
    throw model::error("NVRTC " + litmus::cuda_version_text(version) + " makes no code for compute capability " +
                       std::to_string(capability / 10) + "." + std::to_string(capability % 10) + ": install a newer one");
  }
  const litmus::kernel_library library(compile(compilation_of(source.text, capability)), "membar_litmus_kernel");
  const test_pair test = make_tests(plan, on_host, library.kernel());

  const litmus::parameters how = request.tune_seconds > 0 ? tuned(engine, plan, test, where, request, usual) : usual;
  litmus::run_options options;
  options.seconds = request.seconds;
  options.seed = request.seed;
  litmus::run_result result = engine.run(test.counted, where, how, options);
  litmus::folded_counts folded = plan.fold(result.counts, result.slices_with);
  result.counts = std::move(folded.counts);
  result.slices_with = std::move(folded.slices_with);
  litmus::report seen = litmus::make_report(test.reported, result, litmus::allowed_outcomes(test.reported, request.limit));
  seen.tuned = request.tune_seconds > 0;
  if (request.json) {
    const auto number = [](const char* name, std::uint64_t value) {
      return std::string("\"") + name + "\": " + std::to_string(value) + ", ";
    };
    std::cout << "{" << number("unfinished", folded.unfinished) << number("strayed", folded.strayed)
              << number("unknown", folded.unknown) << litmus::json_of(seen).substr(1);
  } else {
    std::cout << litmus::text_of(seen) << remainder_text(folded);
  }
  std::cout << '\n' << std::flush;
  for (const litmus::outcome& one : seen.outcomes) {
    if (one.count != 0 && !one.allowed) {
      std::cerr << file << (one.corrupt() ? "\tcorrupt: " : "\tforbidden: ") << one.text << " was seen " << one.count
                << " times\n";
    }
  }
  if (folded.strayed != 0) {
    std::cerr << file << "\tforbidden: " << folded.strayed << " instances accessed an address that is no location's\n";
  }
  if (folded.unknown != 0) {
    std::cerr << file << "\tcorrupt: " << folded.unknown << " instances did not report how a thread ended\n";
  }
  return seen.sound() && folded.strayed == 0 && folded.unknown == 0;
}

}  // namespace

int run_on_gpu(const run_request& request) {
  litmus::compiler compile = make_compiler(request);
  litmus::machine machine;
  try {
    static_cast<void>(litmus::parse_parameters(request.parameters));
    machine = litmus::this_machine();
    if (machine.devices.empty()) {
      throw model::error(no_gpu());
    }
    static_cast<void>(compile.library());
  } catch (const std::exception& e) {
    std::cerr << "membar-litmus: " << e.what() << '\n';
    return not_run;
  }
  int result = all_allowed;
  litmus::engine engine(std::move(machine));
  for (const std::string& file : request.files) {
    try {
      if (!run_one(file, request, engine, compile)) {
        result = forbidden_seen;
      }
    } catch (const std::exception& e) {
      complain_about(file, e.what());
      result = result == all_allowed ? not_run : result;
    }
  }
  if (!compile.trouble().empty()) {
    std::cerr << "membar-litmus: " << compile.trouble() << '\n';
  }
  return result;
}

}  // namespace litmus_command
