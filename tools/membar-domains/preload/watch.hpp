// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Of watch: CUPTI's records of kernels, and what kind of memory kernels get pointers to.
#pragma once

#include <cuda.h>

#include <atomic>
#include <shared_mutex>

namespace membar_domains {

/// Starts recording, once. A CUPTI that is missing or busy is a complaint in a sentence. Before anything ran: attached later, beside graphs that exist
/// already, CUPTI 13.0 with driver 580.159.04 let kernels fail.
void watch_start();

/// Ends recording and writes what is left.
void watch_finish();

/// Of run: takes CUPTI out of the process, beside which a program is slower even where nothing is recorded. That must not happen while a kernel
/// runs, so launches are held back, for a tenth of a second at most. False if the device was busy for so long: try again.
[[nodiscard]] bool watch_detach();

/// Of run: something is launched into the stream, while this lives.
class recorded_work {
 public:
  explicit recorded_work(CUstream stream);

 private:
  std::shared_lock<std::shared_timed_mutex> launching_;
};

/// The stream's handle has no meaning any more.
void watch_destroyed(CUstream stream);

/// A launch, while it is made: keeps whether its arguments have pointers to a peer's or the host's memory, and whether it or its stream asks for
/// another domain. `parameters` and `extra` are cuLaunchKernel's; may be null.
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
  std::atomic<int>* of_ = nullptr;  ///< launches of the name that are being made
};

/// A kernel node of a graph that is instantiated, or with which an executable graph is updated.
void watch_node(CUgraphNode node, CUfunction kernel, void** parameters, void** extra);

}  // namespace membar_domains
