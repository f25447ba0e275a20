// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Arm env0: the experiment in another process, in which NCCL is configured to use the default domain.
#pragma once

#include "fixture.cuh"
#include "nccl_noise.hpp"

#include <bench/common/harness.hpp>

#include <filesystem>
#include <sstream>

namespace fence_interference {

/// The child's part in arm env0: runs all repetitions in a process where NCCL itself uses the default domain, and prints the
/// measurements.
inline void measure_as_child(fixture& on, int device, int repetitions) {
  const victim_description chain = all_victims().front();
  nccl_noise noise(on.streams(), device, on.peer().value(), 0, nccl_noise::map_choice::untouched);
  on.find_queues(noise, env0);
  case_result result;
  for (int i = 0; i != repetitions; ++i) {
    measure(on, chain, noise, env0, result);
    std::printf("median %.17g rate %.17g\n", result.medians.back(), result.noise_gbps.back());
  }
  for (const double ns : result.ns) {
    std::printf("sample %.17g\n", ns);
  }
}

/// The parent's part in arm env0, with chains of `chain` kernels.
inline void measure_in_child(const bench::suite& cases, int peer, int chain, case_result& result) {
  result.chain = chain;
  std::istringstream lines(
      support::output_of("NCCL_MEM_SYNC_DOMAIN=0 timeout 120 '" + std::filesystem::read_symlink("/proc/self/exe").string() +
                         "' --as_child --device=" + std::to_string(cases.device()) + " --peer=" + std::to_string(peer) +
                         " --chain=" + std::to_string(chain) + " --repetitions=" + std::to_string(cases.repetitions())));
  for (std::string line; std::getline(lines, line);) {
    double value = 0;
    double rate = 0;
    if (std::sscanf(line.c_str(), "median %lf rate %lf", &value, &rate) == 2) {
      result.medians.push_back(value);
      result.noise_gbps.push_back(rate);
    } else if (std::sscanf(line.c_str(), "sample %lf", &value) == 1) {
      result.ns.push_back(value);
    }
  }
  if (result.medians.size() != static_cast<std::size_t>(cases.repetitions()) || result.ns.empty()) {
    throw std::runtime_error("the process with NCCL_MEM_SYNC_DOMAIN=0 ended before its measurements were complete");
  }
}
}  // namespace fence_interference
