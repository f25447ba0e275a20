// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A made-up CUDA runtime of streams and events, copies and launches: what the host does for symmetric memory is tested on
/// devices that hold any number of blocks, and on work that ends when a test says so. The linker wraps the calls listed in
/// CMakeLists.txt.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <tests/common/refusal.hpp>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace made_up_streams {

struct stream {
  bool capturing = false;
  bool busy = false;  ///< what was enqueued still runs
  std::vector<cudaEvent_t> waits_for;
  int synchronized = 0;

  [[nodiscard]] cudaStream_t handle() noexcept { return reinterpret_cast<cudaStream_t>(this); }
};

struct launch {
  int device;
  cudaStream_t stream;
  dim3 grid;
  std::vector<cudaLaunchAttribute> attributes;
};

struct machine {
  std::mutex mutex;
  int devices = 4;
  std::map<int, int> multiprocessors;   ///< by device; 10 where none is named
  std::set<int> no_cooperative_launch;  ///< devices
  std::set<int> refuses_launches;       ///< devices
  std::set<int> refuses_questions;      ///< devices
  int blocks_per_multiprocessor = 2;
  std::map<int, std::set<const void*>> loaded;  ///< kernels, by device
  std::vector<launch> launches;
  std::map<cudaEvent_t, cudaStream_t> records;  ///< the stream of each event's last record
  int events = 0;
  bool context_flag = false;
  std::set<const void*> flagged;   ///< allocations whose copies are synchronous
  std::set<const void*> mapped;    ///< by the driver: without such a flag
  std::vector<std::string> calls;  ///< of copies and waits, in order
  std::vector<std::string> failures;
};

machine& now();

class machine_test : public ::testing::Test {
 protected:
  machine_test();
  ~machine_test() override;
};

using membar_test::refusal;

}  // namespace made_up_streams
