// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// How many instances of a litmus test run in a second, per test and placement; and what of the time is stress, counting, and
/// the one barrier per step, beside a host that resets and counts between two launches.
///
/// Every arm runs the same test threads on the same layouts. `engine` is the litmus engine; `uncounted` the same without tally
/// and reset, whose outcomes mean nothing; `host_reset` launches a kernel per step, and lets the host copy the digits, count
/// them and clear the memory.
///
/// `rate/device/<test>/tuned` runs under the parameters that a search found, which its label names. --parameters=TEXT runs
/// every case under those, but for what its name says.
#include <membar/litmus/kernel.cuh>
#include <membar/litmus/parameters.hpp>
#include <membar/litmus/placement.hpp>
#include <membar/litmus/runner.hpp>
#include <membar/litmus/test.cuh>
#include <membar/litmus/tuner.hpp>

#include <bench/common/classic_litmus_tests.cuh>
#include <bench/common/cuda_handles.hpp>
#include <bench/common/machine_context.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace classic = support::classic;
namespace litmus = membar::litmus;
namespace model = membar::model;
using membar::thread_scope;

constexpr double seconds_per_case = 0.5;
constexpr double seconds_of_search = 4;

/// What a case measured.
struct figures {
  double seconds = 0;
  double instances = 0;
  double weak = 0;    ///< instances that satisfied the condition
  std::string label;  ///< what the name does not say
};

/// Registers a case: instances per second, nanoseconds per instance, and the fraction of weak outcomes.
void add(const std::string& name, std::function<figures()> measure) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [measure = std::move(measure)](benchmark::State& state) {
                                 figures all;
                                 for (auto _ : state) {
                                   const figures one = measure();
                                   state.SetIterationTime(one.seconds);
                                   all.seconds += one.seconds;
                                   all.instances += one.instances;
                                   all.weak += one.weak;
                                   all.label = one.label;
                                 }
                                 state.counters["instances_per_second"] = all.instances / all.seconds;
                                 state.counters["weak_fraction"] = all.weak / all.instances;
                                 if (!all.label.empty()) {
                                   state.SetLabel(all.label);
                                 }
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(3)
      ->Unit(benchmark::kMillisecond);
}

figures run(litmus::engine& on, const litmus::runnable_test& test, const litmus::parameters& how) {
  litmus::run_options options;
  options.seconds = seconds_per_case;
  const litmus::run_result seen = on.run(test, how, options);
  figures f;
  f.seconds = seen.seconds;
  f.instances = static_cast<double>(seen.instances);
  const std::vector<bool> wanted = litmus::wanted_outcomes(test, litmus::objective::condition);
  for (std::size_t key = 0; key < seen.counts.size(); ++key) {
    f.weak += wanted[key] ? static_cast<double>(seen.counts[key]) : 0.0;
  }
  return f;
}

// ---- what counting and resetting cost

/// A test of which the kernel counts and resets nothing.
template <class Test>
struct uncounted : litmus::kernel_test<Test> {
  static constexpr int locations = 0;
  static constexpr int observations = 0;
};

/// This GPU thread's instance of each test thread.
template <class Test, int Thread = 0>
__device__ void run_each(const litmus::launch_view& view, const unsigned* rotations, unsigned round) {
  if constexpr (Thread < Test::threads) {
    const unsigned instance =
        litmus::instance_at(view.where, view.seats[Thread], view.first_step, {blockIdx.x, threadIdx.x, round});
    Test::template run<Thread>(litmus::cells(view.where, view.cells, rotations, instance, view.all_words, ~0ULL),
                               litmus::results<Test>(view.where, view.digits, instance));
    run_each<Test, Thread + 1>(view, rotations, round);
  }
}

/// One step as a launch of its own: the kernel's end is the barrier, and the host does the rest.
template <class Test>
__global__ void __launch_bounds__(1024, 1) run_one_step(const __grid_constant__ litmus::launch_view view) {
  __shared__ unsigned rotations[litmus::max_locations];
  if (threadIdx.x < litmus::max_locations) {
    rotations[threadIdx.x] = litmus::rotation_of(view.where, view.first_step, threadIdx.x);
  }
  __syncthreads();
#pragma unroll 1
  for (unsigned round = 0; round < view.where.batch; ++round) {
    run_each<Test>(view, rotations, round);
  }
}

/// The same instances with a launch per step; the host copies the digits of the registers, counts them, and clears cells.
template <class Test>
figures run_with_host_reset(const litmus::runnable_test& test, const litmus::layout& shape, const litmus::placement& where) {
  const std::size_t instances = shape.instances();
  const support::device_memory<unsigned char> cells(shape.region_bytes());
  const support::device_memory<unsigned char> digits(shape.digit_bytes());
  const support::device_memory<litmus::shared_words> words(1);
  const support::pinned_memory<unsigned char> seen(shape.digit_bytes());
  const support::stream on;
  litmus::launch_view view;
  view.where = shape;
  for (std::size_t t = 0; t != where.seats.size(); ++t) {
    view.seats[t] = where.seats[t];
  }
  view.cells = cells.get();
  view.digits = digits.get();
  view.all_words = words.get();
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(test.outcomes()));
  figures f;
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  for (; elapsed() < seconds_per_case; ++view.first_step) {
    membar::check(cudaMemsetAsync(cells.get(), 0, cells.size(), on.get()));
    run_one_step<litmus::kernel_test<Test>><<<shape.blocks, shape.width, 0, on.get()>>>(view);
    membar::check(cudaMemcpyAsync(seen.get(), digits.get(), digits.size(), cudaMemcpyDeviceToHost, on.get()));
    on.synchronize();
    for (std::size_t i = 0; i != instances; ++i) {
      std::size_t key = 0;
      std::size_t weight = 1;
      for (std::size_t o = 0; o != test.observed.size(); ++o) {
        key += seen[o * instances + i] * weight;
        weight *= test.observed[o].radix();
      }
      ++counts[key];
    }
    f.instances += static_cast<double>(instances);
  }
  f.seconds = elapsed();
  const std::vector<bool> wanted = litmus::wanted_outcomes(test, litmus::objective::condition);
  for (std::size_t key = 0; key < counts.size(); ++key) {
    f.weak += wanted[key] ? static_cast<double>(counts[key]) : 0.0;
  }
  return f;
}

// ---- the cases

/// `make` is called where a case runs: a test that this machine lacks a place for is left out, with a line.
struct cases {
  litmus::engine* on;
  litmus::parameters usual;  ///< of every case, but for what its name says

  void test(const std::string& name, const litmus::runnable_test& one, const char* change = "") const {
    if (!has_places(name, one)) {
      return;
    }
    add(name, [engine = on, one, how = litmus::parse_parameters(change, usual)] { return run(*engine, one, how); });
  }

  /// A test with a weak outcome, under the usual parameters and under the best that a search of some seconds finds, which the
  /// label names. The search is no part of the time.
  void weak_test(const std::string& name, const litmus::runnable_test& one) const {
    test(name, one);
    if (!has_places(name + "/tuned", one)) {
      return;
    }
    add(name + "/tuned", [engine = on, one, first = usual, found = std::optional<litmus::parameters>()]() mutable {
      if (!found) {
        litmus::tune_options options;
        options.seconds = seconds_of_search;
        options.first = first;
        found = litmus::tune(*engine, one, options).best;
      }
      figures f = run(*engine, one, *found);
      f.label = litmus::text_of(*found);
      return f;
    });
  }

 private:
  [[nodiscard]] bool has_places(const std::string& name, const litmus::runnable_test& one) const {
    try {
      static_cast<void>(litmus::place_threads(one.twin, on->runs_on()));
    } catch (const membar::error& lacking) {
      std::printf("WAIVED: %s: %s\n", name.c_str(), lacking.what());
      return false;
    }
    return true;
  }
};

template <class Test>
litmus::runnable_test placed(const char* name, std::initializer_list<model::place> places,
                             const litmus::host_thread& on_host = {}) {
  litmus::runnable_test test = litmus::make_test<Test>(name, on_host);
  std::size_t t = 0;
  for (const model::place& where : places) {
    test.twin.threads[t++].where = where;
  }
  return test;
}

template <class Test>
void costs(const cases& all, const std::string& name) {
  const litmus::runnable_test test = litmus::make_test<Test>(name);
  const litmus::parameters plain = all.usual;
  all.test("cost/" + name + "/engine", test);
  litmus::runnable_test without = test;
  without.kernel = reinterpret_cast<const void*>(&litmus::run_instances<uncounted<Test>>);
  all.test("cost/" + name + "/uncounted", without);
  const litmus::placement where = litmus::place_threads(test.twin, all.on->runs_on());
  add("cost/" + name + "/host_reset", [engine = all.on, test, where, plain] {
    // the layout that the engine has for the test: as many blocks, and no stress beside them
    litmus::run_options shortly;
    shortly.instances = 1;
    return run_with_host_reset<Test>(test, engine->run(test, where, plain, shortly).shape, where);
  });
  for (const char* stress :
       {"share=75 stress=25 pattern=st/st", "share=75 stress=25 pattern=ld/st", "share=50 stress=50", "prestress=16", "align=1",
        "order=fixed", "order=lane", "within=lanes", "tally=after", "stride=128", "batch=1", "batch=4", "width=1024"}) {
    all.test("cost/" + name + "/" + stress, test, stress);
  }
}

void add_all(const cases& all) {
  constexpr auto device = thread_scope::device;
  constexpr auto system = thread_scope::system;
  all.weak_test("rate/device/MP", litmus::make_test<classic::mp<device>>("MP"));
  all.weak_test("rate/device/SB", litmus::make_test<classic::sb<device>>("SB"));
  all.weak_test("rate/device/LB", litmus::make_test<classic::lb<device>>("LB"));
  all.weak_test("rate/device/IRIW", litmus::make_test<classic::iriw<device>>("IRIW"));
  all.weak_test("rate/device/ISA2", litmus::make_test<classic::isa2<device>>("ISA2"));
  all.weak_test("rate/device/WRC", litmus::make_test<classic::wrc<device>>("WRC"));
  all.weak_test("rate/device/RWC", litmus::make_test<classic::rwc<device>>("RWC"));
  all.weak_test("rate/device/2+2W", litmus::make_test<classic::two_plus_two_w<device>>("2+2W"));
  all.test("rate/device/CoRR", litmus::make_test<classic::corr<device>>("CoRR"));
  all.test("rate/device/MP.release.acquire",
           litmus::make_test<classic::mp<device, membar::release_t, membar::acquire_t>>("MP.release.acquire"));
  all.test("rate/device/SB.fence.sc", litmus::make_test<classic::sb_fenced<device>>("SB.fence.sc"));

  using passed_on = classic::mp<system>;
  const model::place here = model::block(0);
  const model::place there = model::block(1);
  all.test("rate/lanes/MP", placed<passed_on>("MP", {here, here}), "within=lanes");
  all.test("rate/warps/MP", placed<passed_on>("MP", {here, here}), "within=warps");
  all.test("rate/block/MP", placed<passed_on>("MP", {here, here}));
  all.test("rate/cluster/MP", placed<passed_on>("MP", {model::in_cluster(here, 0), model::in_cluster(there, 0)}));
  all.test("rate/domains/MP", placed<passed_on>("MP", {here, model::in_domain(there, 1)}));
  all.test("rate/devices/MP", placed<passed_on>("MP", {here, model::block(0, 1)}));
  all.test("rate/host_reads/MP", placed<passed_on>("MP", {here, model::host()}, classic::mp_on_host));
  all.test("rate/host_writes/MP", placed<passed_on>("MP", {model::host(), here}, classic::mp_on_host));

  costs<classic::mp<device>>(all, "MP");
  costs<classic::iriw<device>>(all, "IRIW");
}

/// Takes --parameters=TEXT out of the command line: what every case runs under.
litmus::parameters taken_parameters(int& argc, char** argv) {
  constexpr std::string_view option = "--parameters=";
  litmus::parameters usual;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.substr(0, option.size()) == option) {
      usual = litmus::parse_parameters(word.substr(option.size()), usual);
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  argv[argc] = nullptr;
  return usual;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const litmus::parameters usual = taken_parameters(argc, argv);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
      return 1;
    }
    litmus::engine on;
    if (on.runs_on().devices.empty()) {
      std::printf("WAIVED: this benchmark needs a GPU, and the CUDA runtime finds none\n");
      return 0;
    }
    for (const auto& [key, value] : support::machine_context(0)) {
      benchmark::AddCustomContext(key, value);
    }
    benchmark::AddCustomContext("time", "kernels' time; instances_per_second over all of it; host_reset: wall time");
    benchmark::AddCustomContext("parameters", litmus::text_of(usual) + ", unless the name says otherwise");
    add_all({&on, usual});
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
