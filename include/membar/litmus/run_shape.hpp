// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The size of a run's launches: the number of blocks that run tests, the number that generate stress, and the layout of the
/// instances.
#pragma once

#include <membar/error.hpp>
#include <membar/litmus/instance_layout.hpp>
#include <membar/litmus/parameters.hpp>
#include <membar/litmus/placement.hpp>
#include <membar/litmus/runnable_test.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace membar {
inline namespace v0_3 {
namespace litmus {

/// The size of a run's launches. All launches of a run have the same size.
struct run_shape {
  instance_layout layout{};
  unsigned stress_blocks = 0;  ///< stress blocks per launch, which follow the testing blocks
  parameters used{};           ///< the parameters, adjusted to the test's requirements
};

/// Returns the number of threads per block: the parameter `width`, or more if an instance's threads must be in different warps.
[[nodiscard]] inline unsigned block_width(const placement& where, const parameters& how) noexcept {
  const bool warps = where.warps_differ || how.within == spread::warps;
  return std::max(static_cast<unsigned>(how.width), warps ? warp_lanes * std::bit_ceil(where.slots) : warp_lanes);
}

/// Returns the shape of a run in which `fitting` blocks per launch are resident at the same time. Throws `error` if the test
/// requires more blocks.
[[nodiscard]] inline run_shape shape_of(const runnable_test& test, const placement& where, const parameters& how,
                                        unsigned fitting, std::uint64_t seed) {
  const unsigned needed = where.clusters * where.cluster;
  fitting = fitting / where.cluster * where.cluster;
  if (fitting < needed) {
    throw error(cudaErrorCooperativeLaunchTooLarge,
                "membar: %s needs %u blocks of %u threads at the same time in each launch, but the device can hold only %u of "
                "them: use a "
                "smaller width",
                test.model_test.name.c_str(), needed, block_width(where, how), fitting);
  }
  if (how.home >= static_cast<int>(where.launches.size())) {
    throw error(cudaErrorInvalidValue, "membar: the parameter home is %d, but %s has %zu launch%s, numbered from 0", how.home,
                test.model_test.name.c_str(), where.launches.size(), where.launches.size() == 1 ? "" : "es");
  }
  const auto part = [&](int percent) {
    return static_cast<unsigned>(1ULL * fitting * static_cast<unsigned>(percent) / 100 / where.cluster * where.cluster);
  };
  run_shape shape;
  shape.used = how;
  shape.used.within = where.warps_differ ? spread::warps : how.within;
  shape.used.width = static_cast<int>(block_width(where, how));
  shape.layout.width = block_width(where, how);
  shape.layout.blocks = std::max(needed, part(how.share));
  if (!where.threads_on_host.empty()) {
    // In the time that a host thread needs for one instance, a GPU runs hundreds, so the two overlap only if a step has few
    // instances.
    constexpr unsigned threads_beside_a_host = 2048;
    const unsigned few = threads_beside_a_host / shape.layout.width / where.cluster * where.cluster;
    shape.layout.blocks = std::min(shape.layout.blocks, std::max(needed, few));
  }
  shape.stress_blocks = std::min(part(how.stress), fitting - shape.layout.blocks);
  shape.layout.cluster = where.cluster;
  shape.layout.batch = static_cast<unsigned>(how.batch);
  shape.layout.locations = static_cast<unsigned>(test.locations);
  shape.layout.observations = static_cast<unsigned>(test.observed.size());
  shape.layout.stride = static_cast<unsigned>(how.stride);
  shape.layout.together = how.together;
  shape.layout.within = shape.used.within;
  shape.layout.seed = seed;
  return shape;
}

}  // namespace litmus
}  // namespace v0_3
}  // namespace membar
