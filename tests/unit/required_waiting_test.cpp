// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests what, according to the fence report, a victim must wait for.
#include <bench/fence_interference/required.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using fence_interference::arm, fence_interference::requirement, fence_interference::requirement_of;

const char* const publishers[] = {"kernel_boundary.stream",      "kernel_boundary.graph",
                                  "fence.block.acq_rel.own_sm",  "fence.cluster.seq_cst.own_sm",
                                  "fence.device.acq_rel.own_sm", "fence.device.seq_cst.shared_sm",
                                  "fence.system.acq_rel.own_sm", "fence.system.seq_cst.shared_sm",
                                  "release_store.device.own_sm", "release_store.system.shared_sm"};

/// Calls `expect` with every arm and, for each publishing victim, the victim's requirement in that arm.
void of_every_publisher(auto expect) {
  for (const arm& each : fence_interference::domain_arms) {
    for (const char* victim : publishers) {
      SCOPED_TRACE(std::string(victim).append(" ").append(each.name));
      expect(each, requirement_of(victim, each));
    }
  }
}

TEST(required_waiting, a_victim_does_not_wait_for_noise_that_it_has_not_read) {
  of_every_publisher([](const arm&, const requirement& found) { EXPECT_FALSE(found.noise); });
}

TEST(required_waiting, what_publishes_waits_for_its_stores) {
  of_every_publisher([](const arm&, const requirement& found) { EXPECT_TRUE(found.own); });
}

TEST(required_waiting, device_scope_passes_on_what_was_read_in_its_domain_only) {
  of_every_publisher([](const arm& each, const requirement& found) {
    EXPECT_EQ(found.noise_seen_at_device_scope, each.victim.physical() == each.noise.physical());
  });
}

TEST(required_waiting, system_scope_passes_on_what_was_read_in_any_domain) {
  of_every_publisher([](const arm&, const requirement& found) { EXPECT_TRUE(found.noise_seen_at_system_scope); });
}

TEST(required_waiting, an_acquire_load_publishes_nothing) {
  for (const char* victim : {"acquire_load.device.own_sm", "acquire_load.system.shared_sm"}) {
    const requirement found = requirement_of(victim, fence_interference::same);
    EXPECT_FALSE(found.own || found.noise || found.noise_seen_at_device_scope || found.noise_seen_at_system_scope) << victim;
  }
}

TEST(required_waiting, a_victim_without_a_scope_is_rejected) {
  EXPECT_ANY_THROW(static_cast<void>(requirement_of("fence.galaxy.acq_rel.own_sm", fence_interference::same)));
}

}  // namespace
