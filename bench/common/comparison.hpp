// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Cases that compare kernels: the arms of a comparison are timed in turn, there and back, in one run and with the same work.
/// Each is reported beside the first.
#pragma once

#include <bench/common/harness.hpp>

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// How much a launch does: so many blocks, each of whose threads does its step so many times.
struct workload {
  int blocks = 1;
  int turns = 1;
};

/// One way to do something: its name, and the launch of a kernel that does it.
struct arm {
  std::string name;
  std::function<void(cudaStream_t, workload)> launch;
};

/// Ways to do the same thing. The first is membar's; each other's ratio is that of membar's time to its own.
struct comparison {
  std::string name;
  std::function<double(workload)> operations;  ///< of one launch, along one thread's chain or over all threads
  std::vector<arm> arms;
  int most_blocks = 1;
  std::function<void(cudaStream_t)> reset = [](cudaStream_t) {};  ///< before each launch, not timed
  double bytes = 0;  ///< that one operation moves: then GB_per_s is among the figures
};

/// How well comparisons are measured. A launch of the slowest arm takes at least `launch_ns`, and less than four times that where
/// the time grows with the square of the blocks. Each arm is launched `pairs` times on the way there and as often on the way back.
/// A comparison in which a ratio is near 1 and uncertain goes on for as long as its kernels take `most_ns`.
struct effort {
  double launch_ns;
  int pairs;
  double most_ns = 0;
};

/// Adds a case for each arm, `<comparison>/<arm>`, with its nanoseconds per operation and its ratio to the first.
void add(suite& cases, const std::vector<comparison>& all, effort how);

}  // namespace bench
