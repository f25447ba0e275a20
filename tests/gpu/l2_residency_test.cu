// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests by latency whether lines stay in L2. Each test counts the lines that answer faster than a threshold,
// which the same run calibrates on lines that were just read and on lines that a flush has evicted. All tests use the same
// set-aside, so that the cases that they compare differ only in the window.
#include <membar/access_policy_window.hpp>
#include <membar/cache_control.cuh>
#include <membar/load_store.cuh>

#include <tests/common/gpu_test.hpp>

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

namespace membar_test {
namespace {

using membar::access_policy_window;

constexpr std::size_t line_bytes = 128;
constexpr std::size_t word_stride = line_bytes / sizeof(unsigned);

/// Returns the cycles that one thread takes to read each line, bypassing L1, one line after another. The lines hold zeros, and
/// their number is a power of 2.
__global__ void time_lines(const unsigned* lines, std::size_t count, unsigned* cycles) {
  std::size_t at = 0;
  for (std::size_t i = 0; i != count; ++i) {
    const unsigned* const line = lines + at * word_stride;
    const long long begin = clock64();
    const unsigned word = membar::load_weak(line, membar::cache_op::cg);
    if (word != 0) {
      return;  // A branch on the value makes sure that the clock is not read again before the line has arrived.
    }
    const long long end = clock64();
    cycles[at] = static_cast<unsigned>(end - begin);
    at = (at + 509) & (count - 1);  // Each line is read once, in a scattered order, so that nothing is prefetched.
  }
}

/// Receives the values that are read, which are always zero. The compiler would remove a load whose value is not used.
__device__ unsigned not_zero;

__device__ void use(unsigned words) {
  if (words != 0) {
    not_zero = words;
  }
}

// Blocks spread over the whole device all execute the kernels that act on hot lines, because L2 has several parts, and a line
// may have a copy in each reader's part.

template <class... Hints>
__device__ void read_all(const unsigned* lines, std::size_t count, Hints... hints) {
  unsigned words = 0;
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) {
    words |= membar::load_weak(lines + i * word_stride, hints...);
  }
  use(words);
}
__global__ void touch(const unsigned* lines, std::size_t count) { read_all(lines, count, membar::cache_op::cg); }

__global__ void touch_with_a_policy(const unsigned* lines, std::size_t count) {
  const membar::cache_policy<membar::l2::evict_last> stay(1.0F);
  read_all(lines, count, stay, membar::l1::no_allocate);
}

__global__ void let_go(const unsigned* lines, std::size_t count) {
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) {
    membar::apply_priority(lines + i * word_stride, membar::l2::evict_normal);
  }
}

/// Reads all of `data` once.
__global__ void stream_through(const uint4* data, std::size_t count) {
  unsigned words = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const uint4 quad = membar::load_weak(data + i, membar::cache_op::cg);
    words |= quad.x | quad.y | quad.z | quad.w;
  }
  use(words);
}

class residency : public gpu_test {
 protected:
  /// The hot region counts as kept if the share that remains in L2 is above the first limit, and as lost if this share is below
  /// the second limit.
  static constexpr double kept = 0.7;
  static constexpr double lost = 0.2;

  void prepare() override {
    const membar::l2_facts facts = membar::l2_facts_of(0);
    if (facts.max_set_aside == 0 || facts.mps) {
      GTEST_SKIP() << "device 0 cannot set L2 lines aside (MIG, MPS, or a compute capability below 8.0)";
    }
    multiprocessors = attribute_of(cudaDevAttrMultiProcessorCount);
    count = std::bit_floor(std::min(facts.max_set_aside / 8, std::size_t{2} << 20) / line_bytes);
    // Several times the size of L2. This is enough to evict all normal lines. It is not much more than that, because L2 itself
    // resets persisting lines after a large amount of other data has been read (about half of them after 1 GiB on an H200).
    flush_bytes = 3 * facts.l2_bytes;
    hot_lines.emplace(count * word_stride);
    cold.emplace(flush_bytes / sizeof(uint4));
    cycles.emplace(count);
    hot = hot_lines->get();
    load(touch);
    load(touch_with_a_policy);
    load(let_go);
    load(stream_through);
    load(time_lines);
    hold.emplace(0, facts.max_set_aside);
    membar::reset_persisting_lines();
    calibrate();
  }

  void TearDown() override {
    if (hot != nullptr) {
      finish();
      membar::reset_persisting_lines();
      hold.reset();
    }
  }

  /// Enqueues `kernel` on the hot lines without waiting, because no time may pass between a touch and a flush.
  template <class Kernel>
  void run(Kernel kernel, const access_policy_window& window = {}) const {
    membar::launch(launch_config{16, 256}.with(window), kernel, hot, count);
  }

  /// Reads several times the size of L2, without a window.
  void flush() const {
    membar::launch(launch_config{8 * static_cast<unsigned>(multiprocessors), 256}, stream_through, cold->get(), cold->size());
  }

  [[nodiscard]] std::vector<unsigned> latencies() const {
    check(cudaMemset(cycles->get(), 0, count * sizeof(unsigned)));
    membar::launch(launch_config{1, 1}, time_lines, hot, count, cycles->get());
    std::vector<unsigned> result = copied(*cycles);
    if (std::count(result.begin(), result.end(), 0U) != 0) {
      throw std::runtime_error("the traversal of the hot lines ended early, because they do not hold zeros");
    }
    return result;
  }

  /// Returns the share of the hot lines that are in L2 now. The measurement itself loads the other lines into L2.
  [[nodiscard]] double resident() const { return share_below(threshold, latencies()); }

  /// Returns the share of the hot lines that remain after a flush.
  void expect_kept() const {
    flush();
    EXPECT_GT(resident(), kept);
  }
  void expect_lost() const {
    flush();
    EXPECT_LT(resident(), lost);
  }

  [[nodiscard]] access_policy_window window() const { return {.start = hot, .bytes = count * line_bytes, .hit_ratio = 1.0F}; }

 private:
  [[nodiscard]] static double share_below(unsigned limit, const std::vector<unsigned>& all) {
    const auto fast = std::count_if(all.begin(), all.end(), [&](unsigned each) { return each < limit; });
    return static_cast<double>(fast) / static_cast<double>(all.size());
  }

  /// The threshold is a latency that nearly all misses reach. A hit in the far part of L2 takes longer than the hits used for
  /// calibration, which have a copy in the near part, but is still a hit. The few lines that survive the flush respond as fast
  /// as hits, and do not count as misses.
  void calibrate() {
    const auto at = [](std::vector<unsigned> all, double quantile) {
      std::sort(all.begin(), all.end());
      return all[static_cast<std::size_t>(quantile * static_cast<double>(all.size() - 1))];
    };
    run(touch);
    static_cast<void>(latencies());
    const std::vector<unsigned> hits = latencies();
    flush();
    flush();
    std::vector<unsigned> misses = latencies();
    std::erase_if(misses, [slowest_hit = at(hits, 0.95)](unsigned each) { return each <= slowest_hit; });
    ASSERT_GT(static_cast<double>(misses.size()), (1.0 - lost) * static_cast<double>(count))
        << "after a flush that reads " << 2 * flush_bytes << " bytes lines answer as fast as hits, whose median is "
        << at(hits, 0.5) << " cycles: they are not evicted, or hits and misses of L2 take the same time here";
    threshold = at(misses, 0.05);
    RecordProperty("median_hit_cycles", static_cast<int>(at(hits, 0.5)));
    RecordProperty("median_miss_cycles", static_cast<int>(at(misses, 0.5)));
  }

 protected:
  std::optional<membar::l2_set_aside> hold;
  std::optional<support::device_memory<unsigned>> hot_lines;
  std::optional<support::device_memory<uint4>> cold;
  std::optional<support::device_memory<unsigned>> cycles;
  unsigned* hot = nullptr;
  std::size_t count = 0;
  std::size_t flush_bytes = 0;
  int multiprocessors = 0;
  unsigned threshold = 0;
};

TEST_F(residency, without_a_window_a_flush_evicts_the_hot_region) {
  run(touch);
  expect_lost();
}

TEST_F(residency, with_a_window_the_hot_region_survives_a_flush) {
  run(touch, window());
  expect_kept();
}

TEST_F(residency, with_a_policy_of_the_kernel_the_hot_region_survives_a_flush) {
  run(touch_with_a_policy);
  expect_kept();
}

TEST_F(residency, ends_with_a_reset_of_all_persisting_lines) {
  run(touch, window());
  finish();  // The reset is a host call.
  membar::reset_persisting_lines();
  expect_lost();
}

TEST_F(residency, ends_with_the_normal_property_over_the_window) {
  run(touch, window());
  run(touch, membar::back_to_normal(window()));
  expect_lost();
}

TEST_F(residency, ends_with_the_normal_priority_line_by_line) {
  run(touch_with_a_policy);
  run(let_go);
  expect_lost();
}

TEST_F(residency, outlives_a_window_that_is_turned_off) {
  run(touch, window());
  run(touch, access_policy_window{});
  expect_kept();
}

}  // namespace
}  // namespace membar_test
