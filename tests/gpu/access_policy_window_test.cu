// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/access_policy_window.hpp>
#include <membar/window_planning.hpp>

#include <bench/caches/window_tuner.hpp>
#include <tests/common/captured_graph.hpp>
#include <tests/common/gpu_test.hpp>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

namespace membar_test {
namespace {

using membar::access_policy_window;
using membar::access_property;

constexpr std::size_t MiB = std::size_t{1} << 20;

__global__ void nothing() {}

/// A test on a device that can set L2 lines aside. The test fails if it does not leave the limit as it was.
class l2_on_a_gpu : public gpu_test {
 protected:
  void prepare() override {
    const membar::l2_facts facts = membar::l2_facts_of(0);
    if (facts.max_set_aside == 0 || facts.mps) {
      GTEST_SKIP() << "device 0 cannot set L2 lines aside (MIG, MPS, or a compute capability below 8.0)";
    }
    check(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, MiB));  // No test requests this value.
    found_ = limit();
    check(cudaStreamCreate(&stream));
    check(cudaMalloc(&region, bytes));
  }

  void TearDown() override {
    if (region != nullptr) {
      EXPECT_EQ(limit(), found_) << "the limit was not restored";
      check(cudaStreamDestroy(stream));
      check(cudaFree(region));
      check(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0));
    }
  }

  static std::size_t limit() {
    std::size_t value = 0;
    check(cudaDeviceGetLimit(&value, cudaLimitPersistingL2CacheSize));
    return value;
  }

  [[nodiscard]] access_policy_window window() const {
    return {region, bytes, 0.75F, access_property::persisting, access_property::streaming};
  }

  /// Returns the window on the node of a launch.
  template <class Config>
  [[nodiscard]] access_policy_window captured(const Config& config) const {
    const captured_graph graph(stream, [&] { membar::launch(config, nothing); });
    return membar::get_attribute<access_policy_window>(graph.kernel_node());
  }
  [[nodiscard]] launch_config<> plain() const { return {1, 1, stream}; }
  [[nodiscard]] access_policy_window of_stream() const { return membar::get_attribute<access_policy_window>(stream); }

  static constexpr std::size_t bytes = 4 * MiB;
  cudaStream_t stream = nullptr;
  void* region = nullptr;

 private:
  std::size_t found_ = 0;
};

TEST_F(l2_on_a_gpu, a_window_of_a_launch_is_read_back) {
  EXPECT_EQ(captured(plain().with(window())), window());
  membar::launch(plain().with(window()), nothing);
  finish();
}

TEST_F(l2_on_a_gpu, a_window_of_a_stream_is_read_back_and_put_back) {
  {
    const membar::scoped_stream_attribute restore(stream, window());
    EXPECT_EQ(of_stream(), window());
  }
  EXPECT_TRUE(of_stream().off());
}

TEST_F(l2_on_a_gpu, a_window_of_a_stream_is_put_back_after_an_exception) {
  const auto work = [&] {
    const membar::scoped_stream_attribute restore(stream, window());
    throw std::runtime_error("in the middle");
  };
  EXPECT_THROW(work(), std::runtime_error);
  EXPECT_TRUE(of_stream().off());
}

TEST_F(l2_on_a_gpu, a_window_of_a_stream_goes_through_capture) {
  const membar::scoped_stream_attribute restore(stream, window());
  EXPECT_EQ(captured(plain()), window());
}

TEST_F(l2_on_a_gpu, a_launchs_window_overrides_the_streams) {
  const membar::scoped_stream_attribute restore(stream, window());
  access_policy_window own = window();
  own.hit_ratio = 0.25F;
  EXPECT_EQ(captured(plain().with(own)), own);
}

TEST_F(l2_on_a_gpu, a_window_of_a_node_is_read_back_and_turned_off) {
  const captured_graph graph(stream, [&] { membar::launch(plain(), nothing); });
  const cudaGraphNode_t node = graph.kernel_node();
  membar::set_attribute(node, window());
  EXPECT_EQ(membar::get_attribute<access_policy_window>(node), window());
  membar::set_attribute(node, access_policy_window{});
  EXPECT_TRUE(membar::get_attribute<access_policy_window>(node).off());
}

TEST_F(l2_on_a_gpu, every_legal_pair_of_properties_is_taken) {
  for (const access_property hit : {access_property::normal, access_property::streaming, access_property::persisting}) {
    for (const access_property miss : {access_property::normal, access_property::streaming}) {
      const access_policy_window each{region, bytes, 0.5F, hit, miss};
      membar::set_attribute(stream, each);
      EXPECT_EQ(of_stream(), each);
      membar::launch(plain(), nothing);
    }
  }
  finish();
}

TEST_F(l2_on_a_gpu, a_window_that_is_rejected_changes_nothing) {
  membar::set_attribute(stream, window());
  const membar::l2_facts facts = membar::l2_facts_of(0);
  access_policy_window wrong[5] = {window(), window(), window(), window(), window()};
  wrong[0].bytes = facts.max_window + 1;
  wrong[1].hit_ratio = std::numeric_limits<float>::quiet_NaN();
  wrong[2].hit_ratio = 1.5F;
  wrong[3].start = nullptr;
  wrong[4].miss = access_property::persisting;
  for (const access_policy_window& each : wrong) {
    EXPECT_THROW(membar::set_attribute(stream, each), membar::error);
    EXPECT_THROW(membar::launch(plain().with(each), nothing), membar::error);
    EXPECT_EQ(of_stream(), window());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
}

TEST_F(l2_on_a_gpu, the_set_aside_is_held_and_put_back) {
  const std::size_t most = membar::l2_facts_of(0).max_set_aside;
  {
    const membar::l2_set_aside first(0, most / 4);
    const std::size_t of_one = limit();
    EXPECT_GE(of_one, most / 4);
    {
      const membar::l2_set_aside second(0, most / 4);
      EXPECT_GE(limit(), most / 4 * 2);
      const membar::l2_set_aside third(0, most);
      EXPECT_EQ(limit(), most);
    }
    EXPECT_EQ(limit(), of_one);
  }
}

TEST_F(l2_on_a_gpu, the_set_aside_is_put_back_in_any_order_and_after_an_exception) {
  auto first = std::make_unique<membar::l2_set_aside>(0, 2 * MiB);
  auto second = std::make_unique<membar::l2_set_aside>(0, 4 * MiB);
  first.reset();
  EXPECT_GE(limit(), 4 * MiB);
  second.reset();
  const auto work = [] {
    const membar::l2_set_aside outer(0, 2 * MiB);
    const membar::l2_set_aside inner(0, 2 * MiB);
    throw std::runtime_error("in the middle");
  };
  EXPECT_THROW(work(), std::runtime_error);
}

TEST_F(l2_on_a_gpu, a_plan_fits_into_what_is_held) {
  const membar::l2_set_aside hold(0, 2 * MiB);
  const access_policy_window planned = membar::l2_plan(0).window(region, bytes);
  EXPECT_LE(planned.persisting_bytes(), limit());
  EXPECT_LT(planned.hit_ratio, 1.0F);
  membar::set_attribute(stream, planned);
  EXPECT_EQ(of_stream(), planned);
}

TEST_F(l2_on_a_gpu, the_tuner_runs_the_kernel_and_leaves_no_window) {
  const membar::l2_set_aside hold(0, 2 * MiB);
  bench::tuning_options options;
  options.repetitions = 1;
  int runs = 0;
  const bench::tuned_window tuned = bench::tune_window(
      region, bytes, membar::l2_facts_of(0),
      [&](const access_policy_window& each) {
        ++runs;
        membar::launch(plain().with(each), nothing);
        check(cudaStreamSynchronize(stream));
        return 1.0;
      },
      options);
  EXPECT_GT(runs, 4);
  EXPECT_TRUE(tuned.window.off());
}

TEST_F(l2_on_a_gpu, the_limits_of_two_devices_are_kept_apart) {
  if (device_count() < 2) {
    GTEST_SKIP() << "this test needs a second GPU";
  }
  const membar::l2_facts before = membar::l2_facts_of(1);
  {
    const membar::l2_set_aside first(0, 2 * MiB);
    const membar::l2_set_aside second(1, 3 * MiB);
    EXPECT_GE(limit(), 2 * MiB);
    EXPECT_GE(membar::l2_facts_of(1).set_aside, 3 * MiB);
    int current = -1;
    check(cudaGetDevice(&current));
    EXPECT_EQ(current, 0);
  }
  EXPECT_EQ(membar::l2_facts_of(1).set_aside, before.set_aside);
}

}  // namespace
}  // namespace membar_test
