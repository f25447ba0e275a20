// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether lines stay in L2, seen by their latency. Each test counts the lines that answer faster than a threshold, which the
// same run calibrates: half-way between lines that were just read and lines that a flush has evicted.
#include <membar/access_policy_window.hpp>
#include <membar/cache_control.cuh>
#include <membar/launch.hpp>
#include <membar/load_store.cuh>

#include "support/gpu_test.hpp"

#include <algorithm>
#include <vector>

namespace {

using membar::access_policy_window;
using membar_test::check;

constexpr std::size_t line_bytes = 128;
constexpr std::size_t word_stride = line_bytes / sizeof(unsigned);

/// The cycles that each line takes to be read past L1, one after the other.
__global__ void time_lines(const unsigned* lines, std::size_t count, unsigned* cycles) {
  unsigned previous = 0;
  for (std::size_t i = 0; i != count; ++i) {
    const std::size_t shuffled = i * 2654435761U % count;  // not in order, so that nothing is brought in ahead
    const long long begin = clock64();
    const unsigned word =
        membar::load<membar::thread_scope::device>(lines + shuffled * word_stride + (previous & 1U), membar::relaxed);
    previous = word;
    const long long end = clock64() + (word & 1U);  // depends on the load
    cycles[i] = static_cast<unsigned>(end - begin);
  }
}

__global__ void touch(const unsigned* lines, std::size_t count) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    static_cast<void>(membar::load<membar::thread_scope::device>(lines + i * word_stride, membar::relaxed));
  }
}

__global__ void touch_with_a_policy(const unsigned* lines, std::size_t count) {
  const membar::cache_policy<membar::l2::evict_last> stay(1.0F);
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    static_cast<void>(membar::load_weak(lines + i * word_stride, stay, membar::l1::no_allocate));
  }
}

__global__ void let_go(const unsigned* lines, std::size_t count) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    membar::apply_priority(lines + i * word_stride, membar::l2::evict_normal);
  }
}

class residency : public membar_test::gpu_test {
 protected:
  void SetUp() override {
    gpu_test::SetUp();
    if (IsSkipped() || HasFatalFailure()) {
      return;
    }
    facts = membar::l2_facts_of(0);
    if (facts.max_set_aside == 0 || facts.mps) {
      GTEST_SKIP() << "device 0 sets no lines of L2 aside (MIG, MPS, or a compute capability below 8.0)";
    }
    count = std::min(facts.max_set_aside / 8, std::size_t{2} << 20) / line_bytes;
    flush_bytes = 6 * facts.l2_bytes;
    check(cudaMalloc(&hot, count * line_bytes));
    check(cudaMalloc(&cold, flush_bytes));
    check(cudaMalloc(&cycles, count * sizeof(unsigned)));
    check(cudaMemset(hot, 0, count * line_bytes));
    check(cudaMemset(cold, 0, flush_bytes));
    membar::reset_persisting_lines();
    calibrate();
  }

  void TearDown() override {
    if (hot != nullptr) {
      membar::reset_persisting_lines();
      check(cudaFree(hot));
      check(cudaFree(cold));
      check(cudaFree(cycles));
    }
  }

  template <class Kernel>
  void run(Kernel kernel, const access_policy_window& window = {}) const {
    membar::launch(membar::launch_config{64, 256}.with(window), kernel, hot, count);
    membar_test::finish();
  }

  /// Reads several times the L2, without a window.
  void flush() const {
    membar::launch(membar::launch_config{1024, 256}, touch, cold, flush_bytes / line_bytes);
    membar_test::finish();
  }

  [[nodiscard]] std::vector<unsigned> latencies() const {
    membar::launch(membar::launch_config{1, 1}, time_lines, hot, count, cycles);
    membar_test::finish();
    std::vector<unsigned> result(count);
    check(cudaMemcpy(result.data(), cycles, count * sizeof(unsigned), cudaMemcpyDefault));
    return result;
  }

  /// The share of the hot lines that are in L2 now. Asking brings the others in.
  [[nodiscard]] double resident() const {
    const std::vector<unsigned> all = latencies();
    const auto fast = std::count_if(all.begin(), all.end(), [&](unsigned each) { return each < threshold; });
    return static_cast<double>(fast) / static_cast<double>(all.size());
  }

  [[nodiscard]] access_policy_window window() const { return {.start = hot, .bytes = count * line_bytes, .hit_ratio = 1.0F}; }

  membar::l2_facts facts;
  unsigned* hot = nullptr;
  unsigned* cold = nullptr;
  unsigned* cycles = nullptr;
  std::size_t count = 0;
  std::size_t flush_bytes = 0;
  unsigned threshold = 0;

 private:
  void calibrate() {
    const auto at = [](std::vector<unsigned> all, double quantile) {
      std::sort(all.begin(), all.end());
      return all[static_cast<std::size_t>(quantile * static_cast<double>(all.size() - 1))];
    };
    run(touch);
    static_cast<void>(latencies());
    const std::vector<unsigned> hits = latencies();
    flush();
    const std::vector<unsigned> misses = latencies();
    ASSERT_LT(at(hits, 0.95), at(misses, 0.5)) << "hits and misses of L2 cannot be told apart by their latency here";
    threshold = (at(hits, 0.95) + at(misses, 0.5)) / 2;
  }
};

TEST_F(residency, without_a_window_a_flush_evicts_the_hot_region) {
  run(touch);
  flush();
  EXPECT_LT(resident(), 0.2);
}

TEST_F(residency, with_a_window_the_hot_region_survives_a_flush) {
  const membar::l2_set_aside hold(0, 2 * count * line_bytes);
  run(touch, window());
  flush();
  EXPECT_GT(resident(), 0.8);
}

TEST_F(residency, with_a_policy_of_the_kernel_the_hot_region_survives_a_flush) {
  const membar::l2_set_aside hold(0, 2 * count * line_bytes);
  run(touch_with_a_policy);
  flush();
  EXPECT_GT(resident(), 0.8);
}

TEST_F(residency, ends_with_a_reset_of_all_persisting_lines) {
  const membar::l2_set_aside hold(0, 2 * count * line_bytes);
  run(touch, window());
  membar::reset_persisting_lines();
  flush();
  EXPECT_LT(resident(), 0.2);
}

TEST_F(residency, ends_with_the_normal_property_over_the_window) {
  const membar::l2_set_aside hold(0, 2 * count * line_bytes);
  run(touch, window());
  run(touch, membar::back_to_normal(window()));
  flush();
  EXPECT_LT(resident(), 0.2);
}

TEST_F(residency, ends_with_the_normal_priority_line_by_line) {
  const membar::l2_set_aside hold(0, 2 * count * line_bytes);
  run(touch, window());
  run(let_go);
  flush();
  EXPECT_LT(resident(), 0.2);
}

TEST_F(residency, outlives_a_window_that_is_turned_off) {
  const membar::l2_set_aside hold(0, 2 * count * line_bytes);
  run(touch, window());
  run(touch, access_policy_window{});
  flush();
  EXPECT_GT(resident(), 0.8);
}

}  // namespace
