// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests where the model's threads run on fake machines, and how large the launches are.
#include <membar/litmus/placement.hpp>
#include <membar/litmus/run_shape.hpp>
#include <membar/model/test.hpp>

#include <tests/common/refusal.hpp>

#include <string>
#include <vector>

namespace {

using namespace membar::litmus;
using membar::model::block, membar::model::host, membar::model::in_cluster, membar::model::in_domain;
using places = std::vector<membar::model::place>;

machine::device hopper(int ordinal) {
  return {.ordinal = ordinal,
          .name = "Hopper",
          .major = 9,
          .multiprocessors = 132,
          .domains = 4,
          .maps_host_memory = true,
          .reaches = {}};
}

/// Returns `count` devices that can all access each other's memory.
machine hoppers(int count) {
  machine m;
  for (int d = 0; d < count; ++d) {
    m.devices.push_back(hopper(d));
    m.devices.back().reaches.assign(static_cast<std::size_t>(count), true);
  }
  return m;
}

machine ampere() {
  machine m = hoppers(1);
  m.devices[0].name = "Ampere";
  m.devices[0].major = 8;
  m.devices[0].domains = 1;
  return m;
}

placement placed(const places& where, const machine& on) { return place_threads(where, on); }

std::string refusal(const places& where, const machine& on) {
  return membar_test::refusal([&] { static_cast<void>(place_threads(where, on)); });
}

TEST(litmus_placement, gives_blocks_of_one_domain_one_launch) {
  const placement p = placed({block(0), block(1), block(1)}, hoppers(1));
  ASSERT_EQ(p.launches.size(), 1U);
  EXPECT_EQ(p.launches[0].threads, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(p.participants(), 1U);
  EXPECT_EQ(p.cluster, 1U);
  EXPECT_EQ(p.clusters, 2U);
  EXPECT_EQ(p.slots, 2U);
  EXPECT_NE(p.seats[0].group, p.seats[1].group);
  EXPECT_EQ(p.seats[1].group, p.seats[2].group);
  EXPECT_NE(p.seats[1].slot, p.seats[2].slot);
  EXPECT_EQ(p.seats[1].slots, 2);
  EXPECT_EQ(p.seats[0].cluster_groups, 2);
  EXPECT_FALSE(p.warps_differ);
}

TEST(litmus_placement, asks_for_clusters_only_where_blocks_share_one) {
  EXPECT_EQ(placed({in_cluster(block(0), 0), in_cluster(block(1), 1)}, hoppers(1)).cluster, 1U);
  EXPECT_EQ(placed({in_cluster(block(0), 0), in_cluster(block(1), 1)}, ampere()).cluster, 1U);
  const placement p = placed({in_cluster(block(0), 3), in_cluster(block(1), 3), in_cluster(block(2), 3), block(4)}, hoppers(1));
  EXPECT_EQ(p.cluster, 4U);
  EXPECT_EQ(p.clusters, 2U);
  EXPECT_EQ(p.seats[0].cluster_group, p.seats[2].cluster_group);
  EXPECT_NE(p.seats[0].rank, p.seats[1].rank);
  EXPECT_NE(p.seats[0].cluster_group, p.seats[3].cluster_group);
  EXPECT_EQ(refusal({in_cluster(block(0), 0), in_cluster(block(1), 0)}, ampere()),
            "membar: the test needs a thread block cluster, which requires compute capability 9.0, but Ampere has 8.0: run it "
            "on a newer device");
  places nine;
  for (int b = 0; b < 9; ++b) {
    nine.push_back(in_cluster(block(b), 0));
  }
  EXPECT_EQ(refusal(nine, hoppers(1)),
            "membar: the test needs a cluster of 9 blocks, but only clusters of up to 8 blocks work on every device: use fewer "
            "blocks");
}

TEST(litmus_placement, gives_every_domain_a_launch_of_its_own) {
  const placement p = placed({block(0), in_domain(block(1), 2), in_domain(block(2), 2)}, hoppers(1));
  ASSERT_EQ(p.launches.size(), 2U);
  EXPECT_EQ(p.launches[0].domain, 0);
  EXPECT_EQ(p.launches[1].domain, 2);
  EXPECT_EQ(p.launches[0].device, p.launches[1].device);
  EXPECT_EQ(p.launches[1].threads, (std::vector<int>{1, 2}));
  EXPECT_EQ(p.seats[0].cluster_groups, 1);
  EXPECT_EQ(p.seats[2].cluster_groups, 2);
  EXPECT_EQ(p.participants(), 2U);
  EXPECT_EQ(refusal({block(0), in_domain(block(1), 1)}, ampere()),
            "membar: the test needs memory synchronization domain 1, but the number of domains on Ampere is 1; domains require "
            "compute capability 9.0: run the test on such a device, or use a smaller domain number");
  EXPECT_NE(refusal({block(0), in_domain(block(1), 4)}, hoppers(1)), "");
}

TEST(litmus_placement, picks_devices_that_reach_each_other) {
  machine three = hoppers(3);
  three.devices[0].reaches = {true, false, true};
  three.devices[1].reaches = {true, true, true};  // access in one direction is not enough
  three.devices[2].reaches = {true, true, true};
  const placement p = placed({block(0, 0), block(0, 1)}, three);
  ASSERT_EQ(p.launches.size(), 2U);
  EXPECT_EQ(p.launches[0].device, 0);
  EXPECT_EQ(p.launches[1].device, 2);
  // Equal block numbers on two devices identify two different blocks.
  EXPECT_NE(p.seats[0].group, p.seats[1].group);
  EXPECT_EQ(refusal({block(0, 0), block(0, 1)}, hoppers(1)),
            "membar: the test needs 2 GPUs that can access each other's memory, but no 2 of this machine's 1 GPUs can: check "
            "that CUDA_VISIBLE_DEVICES does not hide any");
  EXPECT_NE(refusal({block(0, 0), block(0, 1), block(0, 2)}, three), "");
}

TEST(litmus_placement, gives_every_thread_of_the_host_a_host_thread) {
  const placement p = placed({host(), block(0), host()}, hoppers(1));
  EXPECT_EQ(p.threads_on_host, (std::vector<int>{0, 2}));
  EXPECT_EQ(p.launches.size(), 1U);
  EXPECT_EQ(p.participants(), 3U);
  EXPECT_EQ(p.seats[0].launch, 1);
  EXPECT_EQ(p.seats[2].launch, 2);
  machine unmapped = hoppers(1);
  unmapped.devices[0].maps_host_memory = false;
  EXPECT_EQ(refusal({host(), block(0)}, unmapped),
            "membar: the test needs memory that the host and Hopper access at the same address, but that device cannot map "
            "such memory: place no thread on the host");
  EXPECT_EQ(refusal({host(), host()}, hoppers(1)),
            "membar: every thread of the test is on the host: place at least one on a GPU");
}

TEST(litmus_placement, keeps_warps_apart_that_differ) {
  places two = {block(0), block(0)};
  EXPECT_FALSE(placed(two, hoppers(1)).warps_differ);
  two[1].warp = 3;
  EXPECT_TRUE(placed(two, hoppers(1)).warps_differ);
}

TEST(litmus_placement, says_what_a_machine_or_a_test_has_too_few_or_too_many_of) {
  EXPECT_EQ(refusal({block(0)}, machine{}),
            "membar: the test needs a GPU, but CUDA finds none on this machine: check CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(refusal(places(17, block(0)), hoppers(1)), "membar: the test has 17 threads: write a test with 1 to 16 threads");
  EXPECT_EQ(refusal({}, hoppers(1)), "membar: the test has 0 threads: write a test with 1 to 16 threads");
}

/// Returns a test with only the fields that determine the shape filled in.
runnable_test a_test() {
  runnable_test test;
  test.model_test.name = "T";
  test.locations = 2;
  test.observed.resize(1);
  return test;
}

TEST(litmus_shape, divides_the_blocks_that_fit) {
  const parameters how{.share = 50, .stress = 25};
  const run_shape s = shape_of(a_test(), placed({block(0), block(1)}, hoppers(1)), how, 264, 9);
  EXPECT_EQ(s.layout.blocks, 132U);
  EXPECT_EQ(s.stress_blocks, 66U);
  EXPECT_EQ(s.layout.width, 256U);
  EXPECT_EQ(s.layout.locations, 2U);
  EXPECT_EQ(s.layout.seed, 9U);
}

TEST(litmus_shape, is_whole_clusters_and_at_least_what_an_instance_needs) {
  const placement p = placed({in_cluster(block(0), 0), in_cluster(block(1), 0), block(2)}, hoppers(1));
  EXPECT_EQ(shape_of(a_test(), p, {.share = 1}, 264, 1).layout.blocks, 4U);  // two clusters of two
  EXPECT_EQ(shape_of(a_test(), p, {.share = 33}, 265, 1).layout.blocks, 86U);
  EXPECT_EQ(membar_test::refusal([&] { static_cast<void>(shape_of(a_test(), p, {.share = 33}, 3, 1)); }),
            "membar: T needs 4 blocks of 256 threads at the same time in each launch, but the device can hold only 2 of them: "
            "use a smaller width");
}

TEST(litmus_shape, has_warps_enough_for_threads_that_need_their_own) {
  places four(4, block(0));
  for (int t = 0; t < 4; ++t) {
    four[static_cast<std::size_t>(t)].warp = t;
  }
  const run_shape s = shape_of(a_test(), placed(four, hoppers(1)), {.width = 32}, 100, 1);
  EXPECT_EQ(s.layout.width, 128U);
  EXPECT_EQ(s.used.width, 128);
  EXPECT_EQ(s.layout.within, spread::warps);
}

TEST(litmus_shape, is_small_beside_host_threads) {
  const run_shape s = shape_of(a_test(), placed({host(), block(0)}, hoppers(1)), parameters{}, 1056, 1);
  EXPECT_EQ(s.layout.blocks * s.layout.width, 2048U);
}

TEST(litmus_shape, rejects_a_home_that_is_no_launch) {
  const auto shaped = [] { static_cast<void>(shape_of(a_test(), placed({block(0)}, hoppers(1)), {.home = 1}, 100, 1)); };
  EXPECT_EQ(membar_test::refusal(shaped), "membar: the parameter home is 1, but T has 1 launch, numbered from 0");
}

}  // namespace
