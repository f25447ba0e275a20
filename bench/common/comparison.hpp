// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Cases that compare kernels: the variants of a comparison are timed in turn, forwards and backwards, in one run and with the
/// same work. Each variant is compared with the first.
#pragma once

#include <bench/common/harness.hpp>

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// The size of a launch: the number of blocks, and the number of steps that each of their threads executes.
struct workload {
  int blocks = 1;
  int turns = 1;
};

/// A variant: its name, and the launch of its kernel.
struct arm {
  std::string name;
  std::function<void(cudaStream_t, workload)> launch;
};

/// Variants that perform the same task. The first is membar's; the ratio of each other variant is membar's time divided by that
/// variant's time.
struct comparison {
  std::string name;
  /// The number of operations in one launch: the operations in one thread's chain, or the operations of all threads.
  std::function<double(workload)> operations;
  std::vector<arm> arms;
  int most_blocks = 1;
  std::function<void(cudaStream_t)> reset = [](cudaStream_t) {};  ///< Called before each launch, outside the timed part.
  double bytes = 0;  ///< The bytes that one operation moves; if given, the figures include GB_per_s.
};

/// The precision of comparisons. A launch of the slowest variant takes at least `launch_ns`, and less than four times
/// `launch_ns` even if the time grows with the square of the number of blocks. Each variant is launched `pairs` times in
/// forward order and equally often in reverse order. A comparison in which a ratio is near 1 and uncertain continues until its
/// kernels have taken `most_ns`.
struct effort {
  double launch_ns;
  int pairs;
  double most_ns = 0;
};

/// Adds a case for each variant, `<comparison>/<variant>`, with its nanoseconds per operation and its ratio to the first
/// variant.
void add(suite& cases, const std::vector<comparison>& all, effort how);

}  // namespace bench
