// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// For watch: CUPTI's records of kernels, and the kind of memory that kernels have pointers to.
#pragma once

#include <cuda.h>

#include <atomic>
#include <shared_mutex>

namespace membar_domains {

/// Starts recording, once. If CUPTI is missing or in use, it records a complaint. Must be called before anything has run: when
/// CUPTI 13.0 with driver 580.159.04 was attached later, while graphs already existed, kernels failed.
void watch_start();

/// Ends recording and writes the remaining records.
void watch_finish();

/// For run: detaches CUPTI from the process, because a program runs slower with it even if nothing is recorded. CUPTI must not
/// be detached while a kernel runs, so launches are delayed, for at most a tenth of a second. Returns false if the device was
/// busy throughout. The caller should then try again.
[[nodiscard]] bool watch_detach();

/// For run: marks that something is being launched into the stream, for the lifetime of the object.
class recorded_work {
 public:
  explicit recorded_work(CUstream stream);

 private:
  std::shared_lock<std::shared_timed_mutex> launching_;
};

/// The stream was destroyed.
void watch_destroyed(CUstream stream);

/// Records a launch while it is made: whether its arguments contain pointers to a peer's or the host's memory, and whether the
/// launch or its stream requests another domain. `parameters` and `extra` are those of cuLaunchKernel, and may be null.
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
  std::atomic<int>* of_ = nullptr;  ///< the number of launches of the name in progress
};

/// Handles a kernel node of a graph that is instantiated, or that is used to update an executable graph.
void watch_node(CUgraphNode node, CUfunction kernel, void** parameters, void** extra);

}  // namespace membar_domains
