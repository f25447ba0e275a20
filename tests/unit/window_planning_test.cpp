// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/window_planning.hpp>

#include <bench/caches/window_tuner.hpp>
#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace {

using fake_cuda::MiB, fake_cuda::now;
using membar::access_policy_window, membar::hot_region, membar::planned_kernel;
using membar_test::refusal, membar_test::says;

constexpr membar::l2_facts big{
    .device = 0, .l2_bytes = 60 * MiB, .max_set_aside = 40 * MiB, .max_window = 128 * MiB, .set_aside = 24 * MiB};

const void* at(std::size_t offset) { return reinterpret_cast<const void*>(std::size_t{0x7000'0000'0000} + offset); }
cudaStream_t stream(std::size_t number) { return reinterpret_cast<cudaStream_t>(number * 64); }

std::size_t persisting(const std::vector<membar::planned_window>& planned) {
  std::size_t sum = 0;
  for (const membar::planned_window& each : planned) {
    sum += each.window.persisting_bytes();
  }
  return sum;
}

/// Returns the plan for kernels on the device `big`, or on another device.
std::vector<membar::planned_window> plan(const std::vector<planned_kernel>& kernels, const membar::l2_facts& facts = big) {
  return membar::plan_windows(kernels, facts);
}

TEST(plan_windows, of_regions_that_fit_persists_all_of_them) {
  const auto planned = plan({{stream(1), {{at(0), 8 * MiB}}}, {stream(2), {{at(512 * MiB), 16 * MiB}}}});
  ASSERT_EQ(planned.size(), 2U);
  EXPECT_EQ(planned[0].window, (access_policy_window{.start = at(0), .bytes = 8 * MiB}));
  EXPECT_EQ(planned[1].window, (access_policy_window{.start = at(512 * MiB), .bytes = 16 * MiB}));
  EXPECT_EQ(planned[1].stream, stream(2));
}

TEST(plan_windows, respects_the_set_aside_over_all_streams) {
  for (std::size_t count = 1; count != 9; ++count) {
    std::vector<planned_kernel> kernels;
    for (std::size_t i = 0; i != count; ++i) {
      kernels.push_back({stream(i + 1), {{at(i << 30), (i + 1) * 5 * MiB + i * 4097, static_cast<double>(1 + i % 3)}}});
    }
    const auto planned = plan(kernels);
    EXPECT_LE(persisting(planned), big.set_aside) << count;
    const std::size_t asked = count * (count + 1) / 2 * 5 * MiB;
    EXPECT_GE(persisting(planned), std::min(asked, big.set_aside) * 99 / 100) << count << ": some of the set-aside is unused";
  }
}

TEST(plan_windows, gives_the_example_of_the_guide_half_the_ratio) {
  membar::l2_facts facts = big;
  facts.set_aside = 16 * 1024;
  const auto planned = plan({{stream(1), {{at(0), 16 * 1024}}}, {stream(2), {{at(MiB), 16 * 1024}}}}, facts);
  EXPECT_FLOAT_EQ(planned[0].window.hit_ratio, 0.5F);
  EXPECT_FLOAT_EQ(planned[1].window.hit_ratio, 0.5F);
}

TEST(plan_windows, gives_more_to_what_is_accessed_more) {
  const auto planned = plan({{stream(1), {{at(0), 32 * MiB, 3.0}}}, {stream(2), {{at(MiB << 10), 32 * MiB, 1.0}}}});
  EXPECT_EQ(planned[0].share, 18 * MiB);
  EXPECT_EQ(planned[1].share, 6 * MiB);
}

TEST(plan_windows, divides_by_weights_below_one_too) {
  const auto planned = plan({{stream(1), {{at(0), 32 * MiB, 3.0 / 128}}}, {stream(2), {{at(MiB << 10), 32 * MiB, 1.0 / 128}}}});
  EXPECT_EQ(planned[0].share, 18 * MiB);
  EXPECT_EQ(planned[1].share, 6 * MiB);
}

TEST(plan_windows, gives_what_one_does_not_need_to_the_others) {
  const auto planned = plan({{stream(1), {{at(0), 2 * MiB, 100.0}}}, {stream(2), {{at(MiB << 10), 100 * MiB, 1.0}}}});
  EXPECT_EQ(planned[0].window.hit_ratio, 1.0F);
  EXPECT_EQ(planned[1].share, 22 * MiB);
}

TEST(plan_windows, lets_kernels_of_one_stream_have_the_same_share_in_turns) {
  const auto planned = plan({{stream(1), {{at(0), 24 * MiB}}}, {stream(1), {{at(MiB << 10), 24 * MiB}}}});
  EXPECT_EQ(planned[0].window.hit_ratio, 1.0F);
  EXPECT_EQ(planned[1].window.hit_ratio, 1.0F);
}

TEST(plan_windows, counts_a_region_that_streams_share_once) {
  const auto planned = plan({{stream(1), {{at(0), 24 * MiB}}}, {stream(2), {{at(0), 24 * MiB}}}});
  EXPECT_EQ(planned[0].window.hit_ratio, 1.0F);
  EXPECT_EQ(planned[1].window.hit_ratio, 1.0F);
}

TEST(plan_windows, does_not_take_a_shared_region_for_one_of_a_stream) {
  // While the second stream reads the shared region, the first stream may already run its other kernel.
  const auto planned =
      plan({{stream(1), {{at(0), 24 * MiB}}}, {stream(2), {{at(0), 24 * MiB}}}, {stream(1), {{at(MiB << 10), 24 * MiB}}}});
  EXPECT_LE(planned[1].window.persisting_bytes() + planned[2].window.persisting_bytes(), big.set_aside);
}

TEST(plan_windows, covers_neighbouring_regions_by_one_window) {
  const auto planned = plan({{stream(1), {{at(5 * MiB), 4 * MiB}, {at(0), 5 * MiB}}}});
  EXPECT_EQ(planned[0].window.start, at(0));
  EXPECT_EQ(planned[0].window.bytes, 9 * MiB);
}

TEST(plan_windows, chooses_the_part_with_the_most_accesses) {
  const auto planned = plan({{stream(1), {{at(0), 8 * MiB, 1.0}, {at(100 * MiB), 4 * MiB, 10.0}}}});
  EXPECT_EQ(planned[0].window.start, at(100 * MiB));
  EXPECT_EQ(planned[0].window.bytes, 4 * MiB);
}

TEST(plan_windows, cuts_a_region_to_the_largest_window) {
  const auto planned = plan({{stream(1), {{at(0), 500 * MiB}}}});
  EXPECT_EQ(planned[0].window.bytes, big.max_window);
  EXPECT_LE(planned[0].window.persisting_bytes(), big.set_aside);
}

TEST(plan_windows, leaves_a_kernel_without_a_hot_region_alone) {
  const auto planned = plan({{stream(1), {}}, {stream(2), {{at(0), 24 * MiB}}}, {stream(3), {{at(9), 0}}}});
  ASSERT_EQ(planned.size(), 3U);
  EXPECT_TRUE(planned[0].window.off());
  EXPECT_EQ(planned[1].window.hit_ratio, 1.0F);
  EXPECT_TRUE(planned[2].window.off());
}

TEST(plan_windows, without_a_set_aside_says_so) {
  const std::vector<planned_kernel> kernels = {{stream(1), {{at(0), 8 * MiB}}}};
  membar::l2_facts facts = big;
  facts.set_aside = 0;
  EXPECT_TRUE(says(refusal([&] { return plan(kernels, facts); }), "no part of the L2 cache is set aside"));
  const membar::l2_facts mig{.device = 0, .max_window = 128 * MiB, .mig = true};
  EXPECT_TRUE(says(refusal([&] { return plan(kernels, mig); }), "MIG"));
}

TEST(plan_windows, rejects_an_invalid_weight) {
  for (const double weight : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(
        says(refusal([&] { return plan({{stream(1), {{at(0), 8 * MiB, weight}}}}); }), "the weight of a hot region is"));
  }
}

/// A fake kernel that reads the persisting part of its region at L2 speed, until the lines evict each other.
class fake_kernel {
 public:
  fake_kernel(std::size_t region, double capacity) : region_(static_cast<double>(region)), capacity_(capacity) {}

  double operator()(const access_policy_window& window) {
    ++runs;
    if (window.off()) {
      return 1.0;
    }
    const auto asked = static_cast<double>(window.persisting_bytes());
    const double kept = asked <= capacity_ ? asked : std::max(0.0, 2.0 * capacity_ - asked);
    return 1.0 - 0.45 * kept / std::max(region_, capacity_);
  }

  int runs = 0;

 private:
  double region_;
  double capacity_;
};

bench::tuning_options quiet() {
  bench::tuning_options options;
  options.reset = [] {};
  return options;
}

class tune_window : public fake_cuda::test {
 protected:
  template <class Kernel>
  static bench::tuned_window tuned_by(std::size_t bytes, Kernel&& kernel, const bench::tuning_options& options = quiet()) {
    return bench::tune_window(at(0), bytes, big, kernel, options);
  }
};

TEST_F(tune_window, comes_close_to_an_exhaustive_search) {
  for (const double of_set_aside : {0.1, 0.3, 0.5, 0.8, 1.0, 1.2, 1.5, 1.8, 2.0}) {
    for (const double real_capacity : {0.7, 0.85, 1.0, 1.1}) {
      const auto region = static_cast<std::size_t>(of_set_aside * static_cast<double>(big.set_aside));
      fake_kernel kernel(region, real_capacity * static_cast<double>(big.set_aside));
      double best = 1.0;
      for (int size = 1; size <= 50; ++size) {
        for (int ratio = 1; ratio <= 50; ++ratio) {
          best = std::min(best, kernel({.start = at(0),
                                        .bytes = region / 50 * static_cast<std::size_t>(size),
                                        .hit_ratio = static_cast<float>(ratio) / 50.0F}));
        }
      }
      const auto tuned = tuned_by(region, kernel);
      EXPECT_GE(best / tuned.seconds, 0.95) << of_set_aside << " of the set-aside, " << real_capacity;
      EXPECT_LE(tuned.seconds, tuned.seconds_without);
    }
  }
}

TEST_F(tune_window, chooses_no_window_where_none_pays) {
  const auto tuned = tuned_by(8 * MiB, [](const access_policy_window& window) { return window.off() ? 1.0 : 1.02; });
  EXPECT_TRUE(tuned.window.off());
  EXPECT_EQ(tuned.seconds, tuned.seconds_without);
  EXPECT_EQ(tuned.speedup(), 1.0);
}

TEST_F(tune_window, does_not_take_noise_for_a_gain) {
  const auto tuned = tuned_by(8 * MiB, [](const access_policy_window& window) { return window.off() ? 1.0 : 0.995; });
  EXPECT_TRUE(tuned.window.off());
}

TEST_F(tune_window, stays_within_region_and_largest_window) {
  std::size_t largest = 0;
  const auto tuned = tuned_by(500 * MiB, [&](const access_policy_window& window) {
    largest = std::max(largest, window.bytes);
    membar::validate(window, big);
    return 1.0;
  });
  EXPECT_EQ(largest, big.max_window);
  EXPECT_GT(tuned.trials.size(), 8U);
}

TEST_F(tune_window, measures_candidates_in_turns) {
  std::vector<std::size_t> order;
  auto options = quiet();
  options.repetitions = 3;
  static_cast<void>(tuned_by(
      8 * MiB,
      [&](const access_policy_window& window) {
        order.push_back(window.bytes);
        return window.off() ? 1.0 : 2.0;
      },
      options));
  ASSERT_EQ(order.size() % 3, 0U);
  const auto turn = static_cast<std::ptrdiff_t>(order.size() / 3);
  EXPECT_TRUE(std::equal(order.begin(), order.begin() + turn, order.begin() + turn));
}

TEST_F(tune_window, resets_the_lines_before_each_run_and_at_the_end) {
  int runs = 0;
  static_cast<void>(bench::tune_window(at(0), 8 * MiB, big, [&](const access_policy_window&) {
    ++runs;
    EXPECT_EQ(now().resets, runs);
    return 1.0;
  }));
  EXPECT_EQ(now().resets, runs + 1);
}

TEST_F(tune_window, rejects_what_cannot_be_tuned) {
  const auto timed = [](const access_policy_window&) { return 1.0; };
  membar::l2_facts none = big;
  none.set_aside = 0;
  EXPECT_NE(refusal([&] { return bench::tune_window(at(0), MiB, none, timed, quiet()); }), "");
  EXPECT_NE(refusal([&] { return bench::tune_window(nullptr, MiB, big, timed, quiet()); }), "");
  auto options = quiet();
  options.repetitions = 0;
  EXPECT_TRUE(says(refusal([&] { return bench::tune_window(at(0), MiB, big, timed, options); }), "0 repetitions"));
  const auto broken = [](const access_policy_window&) { return 0.0; };
  EXPECT_TRUE(says(refusal([&] { return bench::tune_window(at(0), MiB, big, broken, quiet()); }), "returned 0 seconds"));
}

TEST(sliding_window, covers_a_region_larger_than_the_largest_window) {
  const std::size_t bytes = 300 * MiB + 5;
  const bench::sliding_window windows(membar::l2_plan(big), at(0), bytes, 64 * MiB);
  ASSERT_EQ(windows.size(), 5U);
  std::size_t covered = 0;
  for (std::size_t i = 0; i != windows.size(); ++i) {
    EXPECT_EQ(windows[i].start, at(covered));
    EXPECT_LE(windows[i].persisting_bytes(), big.set_aside);
    covered += windows[i].bytes;
  }
  EXPECT_EQ(covered, bytes);
}

TEST(sliding_window, steps_by_what_persists_at_once_unless_told) {
  const bench::sliding_window windows(membar::l2_plan(big).with_share(10 * MiB), at(0), 25 * MiB);
  ASSERT_EQ(windows.size(), 3U);
  EXPECT_EQ(windows[0].bytes, 10 * MiB);
  EXPECT_EQ(windows[0].hit_ratio, 1.0F);
  EXPECT_EQ(windows[2].bytes, 5 * MiB);
}

TEST(sliding_window, of_nothing_has_no_part) {
  EXPECT_EQ(bench::sliding_window(membar::l2_plan(big), nullptr, 0, MiB).size(), 0U);
}

TEST(sliding_window, with_an_impossible_step_is_rejected) {
  for (const std::size_t step : {std::size_t{0}, 129 * MiB}) {
    EXPECT_TRUE(
        says(refusal([&] { bench::sliding_window(membar::l2_plan(big), at(0), MiB, step); }), "the step of a sliding window"));
  }
}

}  // namespace
