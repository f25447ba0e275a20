// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/co_residency.hpp>

#include <tests/fake_cuda/device.hpp>

#include <string>

namespace {

using made_up::now;

void meets(int) {}

class co_residency : public made_up::machine_test {};

TEST_F(co_residency, is_what_all_multiprocessors_hold_together) {
  now().multiprocessors = 132;
  now().blocks_per_multiprocessor = 2;
  EXPECT_EQ(membar::co_resident_blocks(meets, 256), 264U);
}

TEST_F(co_residency, of_the_largest_grid_is_a_cooperative_launch) {
  membar::launch_co_resident(membar::launch_config{dim3(5, 3, 2), 64}, meets, 1);
  ASSERT_EQ(now().launches.size(), 1U);
  ASSERT_EQ(now().launches[0].attributes.size(), 1U);
  EXPECT_EQ(now().launches[0].attributes[0].id, cudaLaunchAttributeCooperative);
  EXPECT_EQ(now().launches[0].attributes[0].val.cooperative, 1);
}

TEST_F(co_residency, of_one_block_more_is_an_error_that_says_how_many_there_may_be) {
  try {
    membar::launch_co_resident(membar::launch_config{31, 64}, meets, 1);
    FAIL() << "a grid that cannot meet was launched";
  } catch (const membar::error& error) {
    EXPECT_EQ(error.code(), cudaErrorCooperativeLaunchTooLarge);
    EXPECT_NE(std::string(error.what()).find("a grid of 31 blocks"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("holds 30 of them"), std::string::npos);
  }
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(co_residency, counts_a_grid_of_more_than_four_thousand_million_blocks_whole) {
  EXPECT_THROW(membar::launch_co_resident(membar::launch_config{dim3(65536, 32768, 2), 64}, meets, 1), membar::error);
}

TEST_F(co_residency, of_a_block_that_cannot_run_is_an_error) {
  EXPECT_THROW(static_cast<void>(membar::co_resident_blocks(meets, 2048)), membar::error);
}

TEST_F(co_residency, keeps_the_other_attributes_of_the_launch) {
  membar::launch_co_resident(membar::launch_config{1, 64}.with(membar::sync_domain::remote), meets, 1);
  ASSERT_EQ(now().launches.size(), 1U);
  EXPECT_EQ(now().launches[0].attributes.size(), 2U);
}

}  // namespace
