// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A made-up CUDA runtime and driver for what symmetric memory decides on the host: devices and links that a test sets, memory
/// that is the host's, and calls that fail at will. The linker wraps the calls listed in CMakeLists.txt.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <tests/common/refusal.hpp>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace made_up_peers {

struct machine {
  int devices = 4;
  int current = 0;
  std::set<std::pair<int, int>> no_access;          ///< pairs (from, to) without peer access
  std::set<int> no_virtual_memory;                  ///< devices
  std::set<std::pair<int, int>> no_native_atomics;  ///< links
  std::map<std::pair<int, int>, unsigned> partial;  ///< links with some atomics: their capabilities
  /// The code that a call of this name answers, after as many successes.
  std::map<std::string, std::pair<int, cudaError_t>> fails;

  // What happened.
  std::map<void*, int> allocations;           ///< of cudaMalloc, with its device
  std::map<unsigned long long, int> created;  ///< memory that the driver made and nobody released, with its device
  std::map<unsigned long long, std::size_t> reserved;
  std::map<unsigned long long, std::size_t> mapped;
  std::vector<int> accessible_to;  ///< the devices of the last cuMemSetAccess
  int streams = 0;
  std::vector<std::pair<int, std::size_t>> zeroed;  ///< device, bytes
  std::vector<int> waited_for;                      ///< devices
  std::vector<std::string> failures;                ///< what the handler for failed restores was told

  /// Whether everything was given back.
  [[nodiscard]] bool clean() const {
    return allocations.empty() && created.empty() && reserved.empty() && mapped.empty() && streams == 0;
  }
};

machine& now();

/// A test on a machine with four devices that all reach each other, until the test changes it.
class machine_test : public ::testing::Test {
 protected:
  machine_test();
  ~machine_test() override;
};

using membar_test::refusal;

}  // namespace made_up_peers
