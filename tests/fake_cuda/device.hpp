// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A made-up CUDA runtime: the calls membar makes, answered from values that a test sets. So what the headers decide is tested
/// on any number of devices and domains, with failures at will, and with no GPU. The real runtime is linked too; the linker
/// wraps the calls listed in CMakeLists.txt.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace made_up {

/// A stream, or a graph kernel node: attributes, those that the driver does not take there, and whether CUDA accepts it.
struct attributed {
  std::map<cudaLaunchAttributeID, cudaLaunchAttributeValue> attributes;
  std::set<cudaLaunchAttributeID> not_taken;
  bool valid = true;
  /// Fails the calls that set an attribute, and not those that read one.
  bool read_only = false;
};

struct stream : attributed {
  stream();
  [[nodiscard]] cudaStream_t handle() noexcept { return reinterpret_cast<cudaStream_t>(this); }
};

struct node : attributed {
  [[nodiscard]] cudaGraphNode_t handle() noexcept { return reinterpret_cast<cudaGraphNode_t>(this); }
};

struct launch {
  dim3 grid;
  dim3 block;
  cudaStream_t stream;
  std::size_t dynamic_shared_bytes;
  std::vector<cudaLaunchAttribute> attributes;
  const void* kernel;
};

struct machine {
  int devices = 1;
  int domain_count = 4;
  int multiprocessors = 10;
  int blocks_per_multiprocessor = 3;
  int compute_capability_major = 10;
  bool driver = true;
  bool refuses_launches = false;
  stream null_stream;
  std::vector<launch> launches;
  /// Reads the arguments of a launch while they live.
  std::function<void(void**)> on_launch;
  /// What `cudaGetLastError` would answer.
  cudaError_t last_error = cudaSuccess;
};

/// The machine of the running test.
machine& now();

/// A test on a machine with one device of four domains, until the test changes it.
class machine_test : public ::testing::Test {
 protected:
  machine_test();
};

}  // namespace made_up
