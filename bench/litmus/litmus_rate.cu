// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: how many instances of a litmus test run per second for each test and placement? How much time do stress,
/// counting, and the single barrier per step take, compared with resetting and counting on the host between two launches?
///
/// Every variant runs the test threads on the same layouts. `engine` is the litmus engine. `uncounted` neither counts nor
/// resets, so its outcomes are meaningless. `host_reset` launches a kernel per step; the host copies the digits, counts them
/// and clears the memory.
///
/// `rate/device/<test>/tuned` runs with the parameters that a search found; the case's label lists them.
#include <membar/litmus/engine.hpp>
#include <membar/litmus/kernel.cuh>
#include <membar/litmus/parameters.hpp>
#include <membar/litmus/placement.hpp>
#include <membar/litmus/test.cuh>
#include <membar/litmus/tuner.hpp>

#include <bench/common/classic_litmus_tests.cuh>
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace {

namespace classic = support::classic;
namespace litmus = membar::litmus;
namespace model = membar::model;
using membar::thread_scope;

constexpr double seconds_per_case = 0.5;
constexpr double seconds_of_search = 4;

/// The measurements of a case.
struct counts {
  double seconds = 0;
  double instances = 0;
  double weak = 0;  ///< The number of instances that satisfied the condition.

  void count_weak(const litmus::runnable_test& test, const std::vector<std::uint64_t>& seen) {
    const std::vector<bool> wanted = litmus::objective_outcomes(test, litmus::objective::condition);
    for (std::size_t key = 0; key < seen.size(); ++key) {
      weak += wanted[key] ? static_cast<double>(seen[key]) : 0.0;
    }
  }

  [[nodiscard]] bench::figures as_figures(const std::string& label = "") const {
    return {seconds * 1e9, {{"instances_per_second", instances / seconds}, {"weak_fraction", weak / instances}}, label};
  }
};

counts run(litmus::engine& on, const litmus::runnable_test& test, const litmus::parameters& how) {
  litmus::run_options options;
  options.seconds = seconds_per_case;
  const litmus::run_result seen = on.run(test, how, options);
  counts f{seen.seconds, static_cast<double>(seen.instances)};
  f.count_weak(test, seen.counts);
  return f;
}

// ---- the cost of counting and resetting

/// A test whose kernel neither counts nor resets.
template <class Test>
struct uncounted : litmus::kernel_test<Test> {
  static constexpr int locations = 0;
  static constexpr int observations = 0;
};

/// Returns the instance of each test thread that this GPU thread runs.
template <class Test, int Thread = 0>
__device__ void run_each(const litmus::launch_view& view, const unsigned* rotations, unsigned round) {
  if constexpr (Thread < Test::threads) {
    const unsigned instance =
        litmus::instance_at(view.layout, view.seats[Thread], view.first_step, {blockIdx.x, threadIdx.x, round});
    Test::template run<Thread>(litmus::instance_cells(view.layout, view.cells, rotations, instance, view.run_barrier, ~0ULL),
                               litmus::results<Test>(view.layout, view.digits, instance));
    run_each<Test, Thread + 1>(view, rotations, round);
  }
}

/// One step as a separate launch: the kernel's end acts as the barrier, and the host counts and resets.
template <class Test>
__global__ void __launch_bounds__(1024, 1) run_one_step(const __grid_constant__ litmus::launch_view view) {
  __shared__ unsigned rotations[litmus::max_locations];
  if (threadIdx.x < litmus::max_locations) {
    rotations[threadIdx.x] = litmus::rotation_of(view.layout, view.first_step, threadIdx.x);
  }
  __syncthreads();
#pragma unroll 1
  for (unsigned round = 0; round < view.layout.batch; ++round) {
    run_each<Test>(view, rotations, round);
  }
}

/// Runs the engine's instances with a launch per step. The host copies the digits of the registers, counts them, and clears the
/// cells.
template <class Test>
counts run_with_host_reset(const litmus::runnable_test& test, const litmus::instance_layout& shape,
                           const litmus::placement& where) {
  const std::size_t instances = shape.instances();
  const support::device_memory<unsigned char> cells(shape.region_bytes());
  const support::device_memory<unsigned char> digits(shape.digit_bytes());
  const support::device_memory<litmus::run_barrier_words> words(1);
  const support::pinned_memory<unsigned char> seen(shape.digit_bytes());
  const support::stream on;
  litmus::launch_view view;
  view.layout = shape;
  for (std::size_t t = 0; t != where.seats.size(); ++t) {
    view.seats[t] = where.seats[t];
  }
  view.cells = cells.get();
  view.digits = digits.get();
  view.run_barrier = words.get();
  std::vector<std::uint64_t> seen_outcomes(static_cast<std::size_t>(test.outcomes()));
  counts f;
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
      ++seen_outcomes[key];
    }
    f.instances += static_cast<double>(instances);
  }
  f.seconds = elapsed();
  f.count_weak(test, seen_outcomes);
  return f;
}

// ---- the cases

litmus::parameters usual;  ///< The parameters of every case whose name does not say otherwise.

/// The engine, and the cases that it runs. Without a GPU, the engine is null, and all cases are waived.
struct cases {
  bench::suite* into;
  std::shared_ptr<litmus::engine> on;

  void test(const std::string& name, const litmus::runnable_test& one, const char* change = "") const {
    into->add({name, waiver(one)}, [engine = on, one, how = litmus::parse_parameters(change, usual)] {
      return run(*engine, one, how).as_figures();
    });
  }

  /// Adds a test with a weak outcome twice: once with the usual parameters, and once with the best parameters that a search of
  /// a few seconds finds. The label lists the parameters found. The time does not include the search.
  void weak_test(const std::string& name, const litmus::runnable_test& one) const {
    test(name, one);
    into->add({name + "/tuned", waiver(one)}, [engine = on, one, found = std::optional<litmus::parameters>()]() mutable {
      if (!found) {
        litmus::tune_options options;
        options.seconds = seconds_of_search;
        options.first = usual;
        found = litmus::tune(*engine, one, options).best;
      }
      return run(*engine, one, *found).as_figures(litmus::text_of(*found));
    });
  }

 private:
  /// Returns the reason why this machine cannot place the test's threads, or an empty string if it can.
  [[nodiscard]] std::string waiver(const litmus::runnable_test& one) const {
    if (on != nullptr) {
      try {
        static_cast<void>(litmus::place_threads(one.model_test, on->runs_on()));
      } catch (const membar::error& lacking) {
        return lacking.what();
      }
    }
    return "";
  }
};

template <class Test>
litmus::runnable_test placed(const char* name, std::initializer_list<model::place> places,
                             const litmus::host_thread& on_host = {}) {
  litmus::runnable_test test = litmus::make_test<Test>(name, on_host);
  std::size_t t = 0;
  for (const model::place& where : places) {
    test.model_test.threads[t++].where = where;
  }
  return test;
}

template <class Test>
void costs(const cases& all, const std::string& name) {
  const litmus::runnable_test test = litmus::make_test<Test>(name);
  all.test("cost/" + name + "/engine", test);
  litmus::runnable_test without = test;
  without.kernel = reinterpret_cast<const void*>(&litmus::run_instances<uncounted<Test>>);
  all.test("cost/" + name + "/uncounted", without);
  all.into->add("cost/" + name + "/host_reset", [engine = all.on, test] {
    // The engine's layout for the test, with the same number of blocks but without stress blocks.
    const litmus::placement where = litmus::place_threads(test.model_test, engine->runs_on());
    litmus::run_options shortly;
    shortly.instances = 1;
    return run_with_host_reset<Test>(test, engine->run(test, where, usual, shortly).layout, where).as_figures();
  });
  for (const char* stress :
       {"share=75 stress=25 pattern=st/st", "share=75 stress=25 pattern=ld/st", "share=50 stress=50", "prestress=16", "align=1",
        "order=fixed", "order=lane", "within=lanes", "tally=after", "stride=128", "batch=1", "batch=4", "width=1024"}) {
    all.test("cost/" + name + "/" + stress, test, stress);
  }
}

void add_cases(bench::suite& into) {
  const cases all{&into, into.waived() ? nullptr : std::make_shared<litmus::engine>()};
  if (all.on != nullptr) {
    for (const auto& [key, value] : support::machine_context(0)) {
      into.context(key, value);
    }
  }
  into.context("time", "time of the kernels; instances_per_second is over all of it; host_reset is wall time");
  into.context("parameters", litmus::text_of(usual) + ", unless the name says otherwise");
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

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "How many litmus test instances run per second, and how much time does each part of the engine take?",
          .add_cases = add_cases,
          .unit = benchmark::kMillisecond,
          .repetitions = 3,
          .takes_device = false,
          .options = {{"--parameters=", "parameters for every case whose name specifies none",
                       [](const char* text) { usual = litmus::parse_parameters(text, usual); }}}};
}

}  // namespace bench
