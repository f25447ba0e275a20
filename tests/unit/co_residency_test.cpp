// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/co_residency.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

namespace {

using fake_cuda::now;
using membar_test::says;

void waits_for_all(int) {}

/// A device with 10 multiprocessors that can each hold 3 blocks.
class co_residency : public fake_cuda::test {
 protected:
  co_residency() { now().devices[0].blocks_per_multiprocessor = 3; }
};

TEST_F(co_residency, is_what_all_multiprocessors_hold_together) {
  now().attribute(cudaDevAttrMultiProcessorCount) = 132;
  now().devices[0].blocks_per_multiprocessor = 2;
  EXPECT_EQ(membar::co_resident_blocks(waits_for_all, 256), 264U);
}

TEST_F(co_residency, of_clusters_counts_whole_clusters) {
  // 30 blocks fit at once; with clusters of 8, only 24 of them do.
  EXPECT_EQ(membar::co_resident_blocks(waits_for_all, 64, 0, {8, 1, 1}), 24U);
  now().kernels[reinterpret_cast<const void*>(waits_for_all)].compiled_cluster = 4;
  EXPECT_EQ(membar::co_resident_blocks(waits_for_all, 64), 28U);
}

TEST_F(co_residency, is_of_the_shape_that_is_launched) {
  static_cast<void>(membar::co_resident_blocks(waits_for_all, dim3(16, 2, 3), 1024));
  EXPECT_EQ(now().occupancy_of.block.x, 96U);
  EXPECT_EQ(now().occupancy_of.dynamic_shared_bytes, 1024U);
  static_cast<void>(membar::co_resident_blocks(waits_for_all, dim3(32, 2, 4), 2048, {4, 2, 1}));
  EXPECT_TRUE(now().occupancy_of.grid.x == 4 && now().occupancy_of.grid.y == 2 && now().occupancy_of.grid.z == 1);
  EXPECT_TRUE(now().occupancy_of.block.x == 32 && now().occupancy_of.block.y == 2 && now().occupancy_of.block.z == 4);
  EXPECT_EQ(now().occupancy_of.dynamic_shared_bytes, 2048U);
}

TEST_F(co_residency, of_a_grid_of_clusters_that_do_not_fit_is_an_error) {
  EXPECT_THROW(
      membar::launch_co_resident(membar::launch_config{28, 64}.with(membar::cluster_dimensions{4, 2, 1}), waits_for_all, 1),
      membar::error);
  EXPECT_TRUE(now().launches.empty());
  membar::launch_co_resident(membar::launch_config{24, 64}.with(membar::cluster_dimensions{4, 2, 1}), waits_for_all, 1);
  EXPECT_EQ(now().launches.size(), 1U);
}

TEST_F(co_residency, of_the_largest_grid_is_a_cooperative_launch) {
  membar::launch_co_resident(membar::launch_config{dim3(5, 3, 2), 64}, waits_for_all, 1);
  ASSERT_EQ(now().launches.size(), 1U);
  ASSERT_EQ(now().launches[0].attributes.size(), 1U);
  EXPECT_EQ(now().launches[0].value(cudaLaunchAttributeCooperative).cooperative, 1);
}

TEST_F(co_residency, of_one_block_more_is_an_error_that_says_how_many_there_may_be) {
  try {
    membar::launch_co_resident(membar::launch_config{31, 64}, waits_for_all, 1);
    FAIL() << "a grid that does not fit was launched";
  } catch (const membar::error& failure) {
    EXPECT_EQ(failure.code(), cudaErrorCooperativeLaunchTooLarge);
    EXPECT_TRUE(says(failure.what(), "the 31 blocks of this grid wait for each other"));
    EXPECT_TRUE(says(failure.what(), "can hold only 30 of them"));
  }
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(co_residency, counts_a_grid_of_more_than_four_thousand_million_blocks_whole) {
  EXPECT_THROW(membar::launch_co_resident(membar::launch_config{dim3(65536, 32768, 2), 64}, waits_for_all, 1), membar::error);
}

TEST_F(co_residency, of_a_block_that_cannot_run_is_an_error) {
  EXPECT_THROW(static_cast<void>(membar::co_resident_blocks(waits_for_all, 2048)), membar::error);
}

TEST_F(co_residency, is_asked_for_after_the_kernel_was_allowed_its_shared_memory) {
  const void* const kernel = reinterpret_cast<const void*>(waits_for_all);
  int allowed = 0;
  now().on_call = [&](std::string_view call) {
    if (call == "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags") {
      allowed = now().kernels[kernel].max_dynamic_shared_bytes;
    }
  };
  membar::launch_co_resident(membar::launch_config{1, 64, nullptr, 100 * 1024}.with(membar::shared_memory_opt_in{}),
                             waits_for_all, 1);
  EXPECT_EQ(allowed, 227 * 1024);
  EXPECT_EQ(now().launches.size(), 1U);
}

TEST_F(co_residency, keeps_the_other_attributes_of_the_launch) {
  membar::launch_co_resident(membar::launch_config{1, 64}.with(membar::sync_domain::remote), waits_for_all, 1);
  ASSERT_EQ(now().launches.size(), 1U);
  EXPECT_EQ(now().launches[0].attributes.size(), 2U);
}

}  // namespace
