// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// For `watch`: records kernels with CUPTI, and determines which kinds of memory the kernels have pointers to.
#pragma once

#include <cuda.h>

#include <atomic>
#include <shared_mutex>

namespace membar_domains {

/// Starts recording. Further calls do nothing. If CUPTI is missing or in use, a complaint is recorded. This function must be
/// called before any work has run: when CUPTI 13.0 with driver 580.159.04 was attached while graphs already existed, kernels
/// failed.
void watch_start();

/// Ends the recording and writes the remaining records.
void watch_finish();

/// For `run`: detaches CUPTI from the process, because a program runs slower with CUPTI even if nothing is recorded. CUPTI must
/// not be detached while a kernel runs, so launches are delayed for at most a tenth of a second. Returns false if the device
/// was busy the whole time; the caller should then try again later.
[[nodiscard]] bool watch_detach();

/// For `run`: while this object exists, work is being launched into the stream.
class recorded_work {
 public:
  explicit recorded_work(CUstream stream);

 private:
  std::shared_lock<std::shared_timed_mutex> launching_;
};

/// Called when a stream has been destroyed.
void watch_destroyed(CUstream stream);

/// Records a launch: whether its arguments contain pointers to peer or host memory, and whether the launch or its stream
/// requests another domain. `parameters` and `extra` are the arguments of cuLaunchKernel and may be null. The object must exist
/// during the launch.
class watched_launch {
 public:
  watched_launch(const CUlaunchConfig& config, CUstream stream, CUfunction kernel, void** parameters, void** extra,
                 bool captured);
  ~watched_launch() {
    if (of_ != nullptr) {
      of_->fetch_sub(1, std::memory_order_acq_rel);
    }
  }
  watched_launch(const watched_launch&) = delete;
  watched_launch& operator=(const watched_launch&) = delete;

 private:
  recorded_work work_;
  std::atomic<int>* of_ = nullptr;  ///< the number of launches in progress with the same kernel name
};

/// Handles a kernel node of a graph that is instantiated or used to update an executable graph.
void watch_node(CUgraphNode node, CUfunction kernel, void** parameters, void** extra);

}  // namespace membar_domains
