// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A made-up CUDA runtime for what the host headers on L2 and on kinds of memory decide: devices whose L2, limits, links and
/// failures a test sets. The linker wraps the calls listed in CMakeLists.txt.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <tests/common/refusal.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace made_up_l2 {

inline constexpr std::size_t MiB = std::size_t{1} << 20;

struct device {
  std::map<cudaDeviceAttr, int> attributes = {
      {cudaDevAttrL2CacheSize, static_cast<int>(60 * MiB)},
      {cudaDevAttrMaxPersistingL2CacheSize, static_cast<int>(40 * MiB)},
      {cudaDevAttrMaxAccessPolicyWindowSize, static_cast<int>(128 * MiB)},
      {cudaDevAttrMpsEnabled, 0},
      {cudaDevAttrCanMapHostMemory, 1},
      {cudaDevAttrUnifiedAddressing, 1},
      {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
      {cudaDevAttrManagedMemory, 1},
      {cudaDevAttrConcurrentManagedAccess, 1},
      {cudaDevAttrPageableMemoryAccess, 0},
      {cudaDevAttrHostNativeAtomicSupported, 0},
      {cudaDevAttrOnlyPartialHostNativeAtomicSupported, 0},
  };
  std::string name = "Made-up GPU";
  std::size_t limit = 0;
  /// Every value that the limit was set to.
  std::vector<std::size_t> limits_set;
  cudaError_t refuses_limits = cudaSuccess;
  unsigned host_capabilities = 0;
};

struct machine {
  std::vector<device> devices = std::vector<device>(2);
  int current = 0;
  int resets = 0;
  cudaLaunchAttributeValue stream_attribute{};
  cudaLaunchAttributeValue node_attribute{};
  cudaLaunchAttributeValue launch_attribute{};
  unsigned launch_attributes = 0;
  cudaPointerAttributes pointer{};
  std::map<std::pair<int, int>, int> peer_native_atomics;
  std::vector<std::string> failures;  ///< what the handler for failed restores was told
};

machine& now();

/// A test on a machine with two devices, until the test changes it.
class machine_test : public ::testing::Test {
 protected:
  machine_test();
  ~machine_test() override;
};

using membar_test::refusal;

}  // namespace made_up_l2
