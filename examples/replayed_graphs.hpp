// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A graph on each GPU, captured once and replayed.
#pragma once

#include <membar/device_guard.hpp>
#include <membar/error.hpp>

#include <vector>

class replayed_graphs {
 public:
  replayed_graphs() = default;
  replayed_graphs(const replayed_graphs&) = delete;
  replayed_graphs& operator=(const replayed_graphs&) = delete;
  ~replayed_graphs() {
    for (const of_gpu& each : all_) {
      static_cast<void>(cudaGraphExecDestroy(each.graph));
      static_cast<void>(cudaStreamDestroy(each.stream));
    }
  }

  /// Captures the work that `enqueue(stream)` enqueues, using a new stream on the device.
  template <class Enqueue>
  void capture(int device, Enqueue enqueue) {
    const membar::device_guard there(device);
    of_gpu& made = all_.emplace_back();
    made.device = device;
    membar::check(cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking));
    membar::check(cudaStreamBeginCapture(made.stream, cudaStreamCaptureModeThreadLocal));
    enqueue(made.stream);
    cudaGraph_t graph = nullptr;
    membar::check(cudaStreamEndCapture(made.stream, &graph));
    membar::check(cudaGraphInstantiate(&made.graph, graph, 0));
    membar::check(cudaGraphDestroy(graph));
    membar::check(cudaGraphUpload(made.graph, made.stream));  // This must precede every launch, because a running graph may
                                                              // wait for another.
    membar::check(cudaStreamSynchronize(made.stream));
  }

  /// Replays all graphs this many times, and waits until they have finished.
  void replay(unsigned times) const {
    for (unsigned i = 0; i != times; ++i) {
      for (const of_gpu& each : all_) {
        const membar::device_guard there(each.device);
        membar::check(cudaGraphLaunch(each.graph, each.stream));
      }
    }
    for (const of_gpu& each : all_) {
      membar::check(cudaStreamSynchronize(each.stream));
    }
  }

 private:
  struct of_gpu {
    int device = 0;
    cudaStream_t stream = nullptr;
    cudaGraphExec_t graph = nullptr;
  };
  std::vector<of_gpu> all_;
};
