// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine on a fake machine. Each launch is a host thread that performs the work of the litmus kernel.
#include <membar/litmus/engine.hpp>
#include <membar/litmus/report.hpp>
#include <membar/model/named_test.hpp>
#include <membar/model/test.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace model = membar::model;
using namespace membar::litmus;
using fake_cuda::now;
using membar_test::refusal, membar_test::says;

/// A kernel: the code of its test threads, and the radix of each observation.
struct fake_kernel {
  host_thread run;
  std::vector<unsigned> radix;
  bool never_arrives = false;  ///< The first launch ends at once, and the other launches wait for it.
};

/// Atomic access to a word of the barrier.
std::atomic_ref<unsigned> word(unsigned& of) { return std::atomic_ref<unsigned>(of); }

bool arrive_and_wait(const launch_view& v, unsigned barrier, std::chrono::steady_clock::time_point deadline) {
  word(v.run_barrier->participants[v.participant].reached) = barrier;
  for (unsigned p = 0; p < v.participants; ++p) {
    while (word(v.run_barrier->participants[p].reached) < barrier) {
      std::this_thread::yield();
      if (word(v.run_barrier->abandoned) != 0) {
        return false;
      }
      if (std::chrono::steady_clock::now() > deadline) {
        word(v.run_barrier->abandoned_at) = barrier;
        word(v.run_barrier->abandoned) = 1 + v.participant;
        return false;
      }
    }
  }
  return true;
}

/// Performs the work of `run_launch`, one GPU thread at a time.
void run_fake(const fake_kernel& kernel, const launch_view& v) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(v.budget_ns);
  const instance_layout& l = v.layout;
  const auto rotation = [&](unsigned step) {
    std::vector<unsigned> all;
    for (unsigned location = 0; location < l.locations; ++location) {
      all.push_back(rotation_of(l, step, location));
    }
    return all;
  };
  const auto count_and_reset = [&](unsigned region, unsigned step, bool counting) {
    for (unsigned instance = 0; instance < l.instances(); ++instance) {
      std::uint64_t key = 0;
      std::uint64_t weight = 1;
      for (unsigned o = 0; o < l.observations; ++o) {
        key += v.digits[region * l.digit_bytes() + digit_offset(l, o, instance)] * weight;
        weight *= kernel.radix[o];
      }
      if (counting) {
        ++v.counts[key];
      }
      for (unsigned location = 0; location < l.locations; ++location) {
        std::memset(v.cells + region * l.region_bytes() + cell_offset(l, rotation(step)[location], location, instance), 0,
                    cell_bytes);
      }
    }
  };
  if (kernel.never_arrives && v.participant == 0) {
    return;
  }
  if (v.owner) {
    count_and_reset(0, v.first_step, false);
  }
  if (!arrive_and_wait(v, 1, deadline)) {
    return;
  }
  for (unsigned k = 0; k < v.steps; ++k) {
    const unsigned step = v.first_step + k;
    const unsigned region = k & 1U;
    const std::vector<unsigned> rotations = rotation(step);
    for (unsigned i = 0; i < v.test_thread_count; ++i) {
      for (position at; at.round < l.batch; ++at.round) {
        for (at.block = 0; at.block < l.blocks; ++at.block) {
          for (at.thread = 0; at.thread < l.width; ++at.thread) {
            const unsigned instance = instance_at(l, v.seats[v.test_threads[i]], step, at);
            kernel.run(
                v.test_threads[i],
                instance_cells(l, v.cells + region * l.region_bytes(), rotations.data(), instance, v.run_barrier, v.budget_ns),
                instance_digits(l, v.digits + region * l.digit_bytes(), instance));
          }
        }
      }
    }
    if (v.owner) {
      count_and_reset(region ^ 1U, step - 1, k != 0);
    }
    if (!arrive_and_wait(v, k + 2, deadline)) {
      return;
    }
  }
  if (v.owner) {
    count_and_reset((v.steps & 1U) ^ 1U, v.first_step + v.steps - 1, true);
  }
}

constexpr model::variable x{0}, y{1};
constexpr model::reg r0{0}, r1{1};
constexpr auto scope = membar::thread_scope::system;
constexpr auto model_test =
    model::litmus(
        model::thread(model::block(0), model::store<scope>(x, 1, membar::relaxed), model::store<scope>(y, 1, membar::release)),
        model::thread(model::block(1), model::load<scope>(r0, y, membar::acquire), model::load<scope>(r1, x, membar::relaxed)))
        .when(model::in(1, r0) == 1 && model::in(1, r1) == 0);

/// Message passing between host threads.
void pass_messages(int thread, const instance_cells& at, const instance_digits& out) {
  const std::atomic_ref<int> data(*at.as<int>(0));
  const std::atomic_ref<int> flag(*at.as<int>(1));
  if (thread == 0) {
    data.store(1, std::memory_order_relaxed);
    flag.store(1, std::memory_order_release);
  } else {
    const int seen = flag.load(std::memory_order_acquire);
    out.put(1, static_cast<unsigned>(data.load(std::memory_order_relaxed)));
    out.put(0, static_cast<unsigned>(seen));
  }
}

/// The engine on a machine of two devices that each hold six blocks of a kernel at once. A launch runs its kernel on a host
/// thread.
class litmus_engine_on_a_fake_machine : public fake_cuda::test {
 protected:
  void SetUp() override {
    now().devices.resize(2);
    for (fake_cuda::device& each : now().devices) {
      each.attributes[cudaDevAttrMultiProcessorCount] = 1;
      each.blocks_per_multiprocessor = 6;
    }
    now().work_of = [this](const fake_cuda::launch& made, void** arguments) {
      const launch_view view = *static_cast<const launch_view*>(arguments[0]);
      views_.push_back(view);
      return [=] { run_fake(*static_cast<const fake_kernel*>(made.kernel), view); };
    };
  }
  void TearDown() override {
    EXPECT_EQ(now().late_calls, 0) << "something was allocated or loaded while a kernel ran";
    EXPECT_EQ(now().running, 0);
  }

  [[nodiscard]] runnable_test test(const model::place& first, const model::place& second) {
    runnable_test one;
    one.model_test = model::named_test(model_test, "MP");
    one.model_test.threads[0].where = first;
    one.model_test.threads[1].where = second;
    for (const model::observable& o : one.model_test.observed) {
      one.observed.push_back({o, {0, 1}});
    }
    one.locations = 2;
    one.kernel = &kernel_;
    one.on_host = pass_messages;
    return one;
  }

  [[nodiscard]] static machine two_devices() {
    machine m;
    for (int d = 0; d < 2; ++d) {
      m.devices.push_back({.ordinal = d,
                           .name = "device " + std::to_string(d),
                           .major = 9,
                           .multiprocessors = 1,
                           .domains = 4,
                           .maps_host_memory = true,
                           .reaches = {true, true}});
    }
    return m;
  }

  [[nodiscard]] static run_options exactly(std::uint64_t instances, double patience = 2) {
    return {.seconds = 60, .instances = instances, .patience_seconds = patience};
  }

  /// Returns the reason why the engine does not run a test.
  [[nodiscard]] std::string refusal_of(const runnable_test& one, const run_options& options) {
    return refusal([&] { static_cast<void>(engine_.run(one, small_, options)); });
  }

  void expect_sound(const runnable_test& one, const run_result& run) {
    EXPECT_EQ(std::accumulate(run.counts.begin(), run.counts.end(), std::uint64_t{0}), run.instances);
    EXPECT_EQ(run.instances, run.steps * run.layout.instances());
    const report seen = make_report(one, run);
    EXPECT_TRUE(seen.sound()) << text_of(seen);
  }

  parameters small_ = parse_parameters("width=32 batch=1");
  fake_kernel kernel_{pass_messages, {3, 3}, false};
  std::vector<launch_view> views_;  ///< the arguments of each launch
  engine engine_{two_devices()};
};

TEST_F(litmus_engine_on_a_fake_machine, runs_as_many_instances_as_were_asked_for_in_slices) {
  const runnable_test one = test(model::block(0), model::block(1));
  const run_result run = engine_.run(one, small_, exactly(192 * 50 - 1));
  EXPECT_EQ(run.layout.blocks, 6U);
  EXPECT_EQ(run.steps, 50U);
  expect_sound(one, run);
  ASSERT_GE(now().launches.size(), 2U);
  EXPECT_EQ(views_[0].steps, 1U);  // a run of a single step shows how long a step takes
  EXPECT_EQ(now().launches[0].grid.x, 6U);
  EXPECT_EQ(run.device, "device 0");
  EXPECT_EQ(run.slices, now().launches.size());
  for (std::size_t key = 0; key < run.counts.size(); ++key) {
    EXPECT_LE(run.slices_with[key], std::min(run.slices, run.counts[key]));
    EXPECT_EQ(run.slices_with[key] == 0, run.counts[key] == 0);
  }
}

TEST_F(litmus_engine_on_a_fake_machine, gives_a_first_step_the_time_that_its_delays_take) {
  const runnable_test one = test(model::block(0), model::block(1));
  expect_sound(one, engine_.run(one, parse_parameters("delay=1000000 batch=16", small_), exactly(1, 1)));
  // two threads, 16 instances, a delay of a million clocks of one nanosecond
  EXPECT_GE(views_[0].budget_ns, 1'032'000'000U);
}

TEST_F(litmus_engine_on_a_fake_machine, ends_a_run_when_its_time_is_over) {
  const runnable_test one = test(model::block(0), model::block(1));
  const auto begin = std::chrono::steady_clock::now();
  expect_sound(one, engine_.run(one, small_, {.seconds = 0.05, .slice_seconds = 0.002}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(litmus_engine_on_a_fake_machine, counts_the_instances_that_a_kernel_has_run_if_it_ends_early) {
  now().work_of = [this](const fake_cuda::launch& made, void** arguments) {
    launch_view view = *static_cast<const launch_view*>(arguments[0]);
    views_.push_back(view);
    view.steps = (view.steps + 1) / 2;  // the remaining steps do not begin
    return [=] { run_fake(*static_cast<const fake_kernel*>(made.kernel), view); };
  };
  const runnable_test one = test(model::block(0), model::block(1));
  const run_result run = engine_.run(one, small_, exactly(192 * 50));
  EXPECT_EQ(std::accumulate(run.counts.begin(), run.counts.end(), std::uint64_t{0}), run.instances);
  EXPECT_GE(run.instances, 192U * 50U);  // The run continues until as many instances have run as were requested.
  EXPECT_LT(run.instances, run.steps * run.layout.instances());
  EXPECT_TRUE(make_report(one, run).sound());
}

TEST_F(litmus_engine_on_a_fake_machine, launches_once_per_domain_and_divides_the_device) {
  const runnable_test one = test(model::block(0), model::in_domain(model::block(1), 3));
  const run_result run = engine_.run(one, small_, exactly(1000));
  EXPECT_EQ(run.layout.blocks, 3U);
  expect_sound(one, run);
  ASSERT_GE(now().launches.size(), 2U);
  EXPECT_EQ(now().launches[0].value(cudaLaunchAttributeMemSyncDomainMap).memSyncDomainMap.default_, 0);
  EXPECT_EQ(now().launches[1].value(cudaLaunchAttributeMemSyncDomainMap).memSyncDomainMap.default_, 3);
}

TEST_F(litmus_engine_on_a_fake_machine, launches_on_each_device_and_keeps_the_memory_on_the_home_device) {
  const runnable_test one = test(model::block(0, 0), model::block(0, 1));
  parameters how = small_;
  how.home = 1;
  const run_result run = engine_.run(one, how, exactly(1000));
  expect_sound(one, run);
  ASSERT_GE(now().launches.size(), 2U);
  EXPECT_EQ(now().launches[0].device, 0);
  EXPECT_EQ(now().launches[1].device, 1);
  EXPECT_EQ(run.device, "device 0 + device 1");
  // Counts, cells, digits, barrier and scratch memory on the home device; barrier and scratch memory on the other device.
  EXPECT_EQ(std::count(now().allocated_on.begin(), now().allocated_on.end(), 1), 5);
  EXPECT_EQ(std::count(now().allocated_on.begin(), now().allocated_on.end(), 0), 2);
}

TEST_F(litmus_engine_on_a_fake_machine, launches_clusters_whole) {
  now().devices[0].blocks_per_multiprocessor = 7;
  const runnable_test one = test(model::in_cluster(model::block(0), 0), model::in_cluster(model::block(1), 0));
  const run_result run = engine_.run(one, parse_parameters("width=32 share=60 stress=40"), exactly(1000));
  expect_sound(one, run);
  EXPECT_EQ(now().launches[0].value(cudaLaunchAttributeClusterDimension).clusterDim.x, 2U);
  EXPECT_EQ(run.layout.blocks, 2U);
  EXPECT_EQ(run.stress_blocks, 2U);
  EXPECT_EQ(now().launches[0].grid.x, 4U);
}

TEST_F(litmus_engine_on_a_fake_machine, runs_threads_of_the_host_beside_a_launch) {
  const runnable_test reads = test(model::block(0), model::host());
  expect_sound(reads, engine_.run(reads, small_, exactly(5000)));
  const runnable_test writes = test(model::host(), model::block(0));
  expect_sound(writes, engine_.run(writes, small_, exactly(5000)));
  runnable_test without = reads;
  without.on_host = {};
  EXPECT_EQ(refusal_of(without, exactly(1)),
            "membar: MP has a host thread, but no code for the host to run: set on_host, or place every thread on a GPU");
}

TEST_F(litmus_engine_on_a_fake_machine, reports_who_timed_out_and_runs_the_next_test) {
  kernel_.never_arrives = true;
  EXPECT_EQ(refusal_of(test(model::block(0), model::in_domain(model::block(1), 1)), exactly(1000, 0.05)),
            "membar: MP timed out: the launch on device 0 waited for the others for more than 0.1 s at barrier 1 of 2. A "
            "thread of the test never ends, or the launches cannot all run at the same time: check "
            "CUDA_DEVICE_MAX_CONNECTIONS, and make sure that no other program uses the GPU");
  EXPECT_TRUE(says(refusal_of(test(model::block(0), model::host()), exactly(1000, 0.05)),
                   "MP timed out: a host thread waited for the others"));
  kernel_.never_arrives = false;
  const runnable_test one = test(model::block(0), model::block(1));
  expect_sound(one, engine_.run(one, small_, exactly(1000)));
}

TEST_F(litmus_engine_on_a_fake_machine, waits_for_what_runs_before_it_reports_a_launch_that_was_rejected) {
  now().fails["cudaLaunchKernelExC"] = {1, cudaErrorInvalidConfiguration, -1, 1};
  const std::string sentence = refusal_of(test(model::block(0), model::in_domain(model::block(1), 1)), exactly(1000, 0.05));
  EXPECT_EQ(sentence.rfind(
                "membar: cudaErrorInvalidConfiguration (invalid configuration argument): check the grid, the block, shared "
                "memory ",
                0),
            0U)
      << sentence;
  EXPECT_EQ(now().running, 0);
  const runnable_test one = test(model::block(0), model::block(1));
  expect_sound(one, engine_.run(one, small_, exactly(1000)));
}

TEST_F(litmus_engine_on_a_fake_machine, reports_a_kernel_that_fails) {
  now().fails["cudaStreamQuery"] = {0, cudaErrorIllegalAddress};
  const std::string sentence = refusal_of(test(model::block(0), model::block(1)), exactly(1000));
  EXPECT_EQ(
      sentence.rfind("membar: cudaErrorIllegalAddress (an illegal memory access was encountered): the test's kernel failed", 0),
      0U)
      << sentence;
  now().fails.clear();
}

TEST_F(litmus_engine_on_a_fake_machine, launches_a_dependent_kernel_after_the_first_one_of_each_step) {
  fake_kernel ends_at_once{pass_messages, {3, 3}, true};
  runnable_test one = test(model::block(0), model::block(1));
  one.dependent_kernel = &ends_at_once;
  const run_result run = engine_.run(one, small_, exactly(96 * 5));
  EXPECT_EQ(run.layout.blocks, 3U);  // The other three blocks are for the dependent kernel.
  EXPECT_EQ(run.steps, 5U);
  expect_sound(one, run);
  ASSERT_EQ(now().launches.size(), 10U);
  for (std::size_t l = 0; l < now().launches.size(); ++l) {
    const bool dependent = l % 2 == 1;
    EXPECT_EQ(now().launches[l].kernel, dependent ? static_cast<const void*>(&ends_at_once) : &kernel_);
    EXPECT_EQ(now().launches[l].attributes.size(), dependent ? 1U : 0U);
    EXPECT_EQ(views_[l].first_step, l / 2);
    EXPECT_EQ(views_[l].steps, 1U);
  }
  EXPECT_EQ(now().launches[1].value(cudaLaunchAttributeProgrammaticStreamSerialization).programmaticStreamSerializationAllowed,
            1);
}

TEST_F(litmus_engine_on_a_fake_machine, rejects_a_dependent_kernel_elsewhere_than_on_one_device) {
  const model::place far[] = {model::host(), model::block(0, 1), model::in_domain(model::block(1), 1)};
  for (const model::place& there : far) {
    runnable_test one = test(model::block(0), there);
    one.dependent_kernel = &kernel_;
    EXPECT_TRUE(says(refusal_of(one, exactly(1)), "has a dependent kernel, but its threads are in clusters"));
  }
  runnable_test one = test(model::in_cluster(model::block(0), 0), model::in_cluster(model::block(1), 0));
  one.dependent_kernel = &kernel_;
  EXPECT_TRUE(says(refusal_of(one, exactly(1)), "has a dependent kernel, but its threads are in clusters"));
}

TEST_F(litmus_engine_on_a_fake_machine, reports_too_little_memory_and_runs_what_fits) {
  now().largest_allocation = 1U << 20;
  const runnable_test one = test(model::block(0), model::block(1));
  const std::string sentence =
      refusal([&] { static_cast<void>(engine_.run(one, parse_parameters("width=1024 stride=4096"), exactly(1000))); });
  EXPECT_TRUE(says(sentence, "use a smaller batch, stride or share, or fewer lines"));
  EXPECT_TRUE(now().launches.empty());
  expect_sound(one, engine_.run(one, small_, exactly(1000)));
}

TEST_F(litmus_engine_on_a_fake_machine, rejects_what_cannot_be_counted_or_placed) {
  runnable_test many = test(model::block(0), model::block(1));
  many.observed[0].values.resize(2000);
  EXPECT_EQ(refusal_of(many, exactly(1)),
            "membar: MP has 6003 outcomes, but at most 4096 can be counted: observe fewer locations or fewer values");
  runnable_test without = test(model::block(0), model::block(1));
  without.kernel = nullptr;
  EXPECT_EQ(refusal_of(without, exactly(1)),
            "membar: MP has no kernel, or its placement is for a different number of threads: pass the result of place_threads "
            "for this test");
  EXPECT_NE(refusal_of(test(model::block(0), model::in_domain(model::block(1), 4)), exactly(1)), "");
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(litmus_engine_on_a_fake_machine, marks_digits_that_no_thread_reported) {
  kernel_.run = [](int, const instance_cells&, const instance_digits&) {};
  kernel_.radix = {1, 1};  // The digit is passed through unchanged: 0xff twice.
  runnable_test one = test(model::block(0), model::block(1));
  one.observed.resize(1);
  one.observed[0].values.resize(1000);
  const run_result run = engine_.run(one, small_, exactly(1));
  EXPECT_EQ(run.counts[0xff], run.instances);
}

}  // namespace
