// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The subcommand `run`: compiles each test for the GPUs of this machine, runs it under stress, and compares its outcomes with
/// the model.
#include <litmus/files.hpp>
#include <litmus/host_interpreter.hpp>
#include <litmus/json_document.hpp>
#include <litmus/run_plan.hpp>
#include <litmus/source.hpp>
#include <membar-litmus/kernel_library.hpp>
#include <membar-litmus/run.hpp>

#include <membar/error.hpp>
#include <membar/litmus/engine.hpp>
#include <membar/litmus/parameters.hpp>
#include <membar/litmus/placement.hpp>
#include <membar/litmus/report.hpp>
#include <membar/litmus/runnable_test.hpp>
#include <membar/litmus/tuner.hpp>
#include <membar/model/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace membar::litmus_files {

namespace {

/// Returns a sentence that explains why no GPU is available.
[[nodiscard]] std::string no_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  static_cast<void>(cudaGetLastError());
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    static_cast<void>(cudaDriverGetVersion(&driver));
    return driver == 0
               ? "run needs a GPU, but no NVIDIA driver is installed: install one"
               : "run needs a driver for CUDA " + cuda_version_text(CUDART_VERSION) +
                     ", but the installed driver supports only CUDA " + cuda_version_text(driver) + ": install a newer driver";
  }
  return "run needs a GPU, but the CUDA runtime found none" +
         (status == cudaSuccess ? std::string() : std::string(": ") + cudaGetErrorString(status));
}

/// Returns the compute capability to compile for. Code for one device also runs on newer devices with the same major number.
[[nodiscard]] int capability_of(const litmus::placement& where, const litmus::machine& machine) {
  int least = 0;
  for (const litmus::placement::launch& launch : where.launches) {
    const litmus::machine::device& device = machine.devices[static_cast<std::size_t>(launch.device)];
    const int here = 10 * device.major + device.minor;
    if (least != 0 && least / 10 != here / 10) {
      throw model::error("the test's GPUs have compute capabilities " + std::to_string(least / 10) + ".x and " +
                         std::to_string(here / 10) +
                         ".x, but a test is compiled for only one: run it on GPUs with the same major compute capability");
    }
    least = least == 0 || here < least ? here : least;
  }
  return least;
}

void require_native_atomics(const run_plan& plan, const litmus::placement& where, const litmus::machine& machine) {
  const std::string update = plan.update_shared_with_host();
  if (update.empty()) {
    return;
  }
  for (const litmus::placement::launch& launch : where.launches) {
    const litmus::machine::device& device = machine.devices[static_cast<std::size_t>(launch.device)];
    int native = 0;
    membar::check(cudaDeviceGetAttribute(&native, cudaDevAttrHostNativeAtomicSupported, device.ordinal));
    if (native == 0) {
      throw model::error(update + " atomically updates a location that a host thread writes, but " + device.name +
                         " does not support native atomics on host memory: outcomes with lost updates would reveal nothing "
                         "about memory order");
    }
  }
}

/// A test in two forms. The kernel counts the outcomes of `counted`, which has all of the plan's digits. The report uses
/// `reported`, which has only the observed values.
struct test_pair {
  litmus::runnable_test counted;
  litmus::runnable_test reported;
};

[[nodiscard]] test_pair make_tests(const run_plan& plan, const host_interpreter& on_host, const void* kernel) {
  test_pair made;
  made.reported.model_test = made.counted.model_test = plan.test();
  made.reported.locations = made.counted.locations = plan.cells();
  made.counted.kernel = kernel;
  if (on_host.any()) {
    made.counted.on_host = [&on_host](int thread, const litmus::instance_cells& at, const litmus::instance_digits& out) {
      on_host(thread, at, out);
    };
  }
  for (std::size_t d = 0; d < plan.digits().size(); ++d) {
    const outcome_digit& one = plan.digits()[d];
    const litmus::observed_value observed{{one.name, one.what}, one.values};
    made.counted.observed.push_back(observed);
    if (one.end_of < 0) {
      made.reported.observed.push_back(observed);
    }
  }
  return made;
}

/// Moves waiting threads to the end of each launch. All other threads keep the file's order. With a fixed run order, the
/// threads that a waiting thread waits for have then already begun. In the file's order, warps that begin with a waiting thread
/// could wait for each other until they leave their loops. Returns whether any thread on a GPU waits.
[[nodiscard]] bool move_waiting_threads_last(const run_plan& plan, litmus::placement& where) {
  bool any = false;
  for (litmus::placement::launch& launch : where.launches) {
    const auto first_waiting = std::stable_partition(launch.threads.begin(), launch.threads.end(),
                                                     [&plan](int thread) { return !plan.waits(thread); });
    any = any || first_waiting != launch.threads.end();
  }
  return any;
}

/// Searches for parameters with which the test produces outcomes that satisfy the condition or, if there is no condition,
/// outcomes that no interleaving allows. Returns the best parameters found.
[[nodiscard]] litmus::parameters tuned(litmus::engine& engine, const run_plan& plan, const test_pair& test,
                                       const litmus::placement& where, const run_request& request,
                                       const litmus::parameters& first) {
  litmus::tune_options options;
  options.seconds = request.tune_seconds;
  options.seed = request.seed;
  options.homes = static_cast<int>(where.launches.size());
  options.first = first;
  options.goal = plan.test().has_condition ? litmus::objective::condition : litmus::objective::not_sequentially_consistent;
  const std::vector<bool> counted = litmus::objective_outcomes(test.reported, options.goal);
  std::string failure;
  bool ran = false;
  const auto try_out = [&](const litmus::parameters& how) {
    litmus::trial one;
    try {
      litmus::run_options run;
      run.seconds = options.trial_seconds;
      run.seed = request.seed;
      const litmus::run_result seen = engine.run(test.counted, where, how, run);
      const folded_counts folded = plan.fold(seen.counts);
      for (std::size_t o = 0; o < folded.counts.size(); ++o) {
        one.hits += counted[o] ? folded.counts[o] : 0;
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

/// Returns the report's lines about instances without an outcome.
[[nodiscard]] std::string remainder_text(const folded_counts& folded) {
  std::string out;
  const auto line = [&out](std::uint64_t count, const std::string& what) {
    if (count != 0) {
      out += std::to_string(count) + " instances " + what + "\n";
    }
  };
  line(folded.unfinished, "left a loop after " + std::to_string(jump_limit) + " iterations and produced no outcome");
  line(folded.unknown, "did not report how a thread ended: the engine or the hardware failed");
  line(folded.strayed, "accessed an address outside every location, which the model forbids");
  return out;
}

/// Runs one test and prints its report. Returns whether all outcomes were allowed.
[[nodiscard]] bool run_one(const std::string& file, const run_request& request, litmus::engine& engine, compiler& compile) {
  const model::litmus_test read = read_test(file, request.strict);
  std::cerr << warnings_of(file, read);
  const run_plan plan(read, request.limit);
  const host_interpreter on_host(plan);
  const test_source source = write_source(plan);
  litmus::placement where = litmus::place_threads(plan.test(), engine.runs_on());
  litmus::parameters usual;
  if (move_waiting_threads_last(plan, where)) {
    usual.order = litmus::run_order::fixed;
  }
  usual = litmus::parse_parameters(request.parameters, usual);
  require_native_atomics(plan, where, engine.runs_on());
  const int capability = capability_of(where, engine.runs_on());
  const int version = compile.library().version();
  require_compilable(source.needs, capability, version);
  if (!compile.library().supports(capability)) {
    throw model::error("NVRTC " + cuda_version_text(version) + " does not support compute capability " +
                       std::to_string(capability / 10) + "." + std::to_string(capability % 10) + ": install a newer NVRTC");
  }
  const kernel_library library(compile(compilation_of(source.text, capability)), "membar_litmus_kernel");
  const test_pair test = make_tests(plan, on_host, library.kernel());

  const litmus::parameters how = request.tune_seconds > 0 ? tuned(engine, plan, test, where, request, usual) : usual;
  litmus::run_options options;
  options.seconds = request.seconds;
  options.seed = request.seed;
  litmus::run_result result = engine.run(test.counted, where, how, options);
  folded_counts folded = plan.fold(result.counts, result.slices_with);
  result.counts = std::move(folded.counts);
  result.slices_with = std::move(folded.slices_with);
  litmus::report seen = litmus::make_report(test.reported, result, litmus::allowed_outcomes(test.reported, request.limit));
  seen.tuned = request.tune_seconds > 0;
  if (request.json) {
    nlohmann::ordered_json out = document("run");
    out["file"] = file;
    out["unfinished"] = folded.unfinished;
    out["strayed"] = folded.strayed;
    out["unknown"] = folded.unknown;
    out.update(nlohmann::ordered_json::parse(litmus::json_of(seen)));
    std::cout << text_of(out);
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
    std::cerr << file << "\tforbidden: " << folded.strayed << " instances accessed an address outside every location\n";
  }
  if (folded.unknown != 0) {
    std::cerr << file << "\tcorrupt: " << folded.unknown << " instances did not report how a thread ended\n";
  }
  return seen.sound() && folded.strayed == 0 && folded.unknown == 0;
}

}  // namespace

int run_on_gpu(const run_request& request) {
  compiler compile = make_compiler(request);
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
      print_error(file, e.what());
      result = result == all_allowed ? not_run : result;
    }
  }
  if (!compile.warning().empty()) {
    std::cerr << "membar-litmus: " << compile.warning() << '\n';
  }
  return result;
}

}  // namespace membar::litmus_files
