// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Captures a stream's work as a graph, to show what CUDA has recorded for a launch.
#pragma once

#include <tests/common/gpu_test.hpp>

#include <array>

namespace membar_test {

/// The graph of the operations that `work` enqueues in `stream`.
class captured_graph {
 public:
  template <class Work>
  captured_graph(cudaStream_t stream, Work work) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    try {
      work();
    } catch (...) {
      static_cast<void>(cudaStreamEndCapture(stream, &graph_));
      static_cast<void>(cudaGraphDestroy(graph_));
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph_));
  }
  captured_graph(const captured_graph&) = delete;
  captured_graph& operator=(const captured_graph&) = delete;
  ~captured_graph() { static_cast<void>(cudaGraphDestroy(graph_)); }

  [[nodiscard]] cudaGraph_t get() const noexcept { return graph_; }

  /// Returns the node of the graph's only launch.
  [[nodiscard]] cudaGraphNode_t kernel_node() const {
    std::array<cudaGraphNode_t, 2> nodes{};
    std::size_t count = nodes.size();
    check(cudaGraphGetNodes(graph_, nodes.data(), &count));
    if (count != 1)
      throw std::runtime_error("the capture has " + std::to_string(count) + " nodes, not one");
    return nodes[0];
  }

  /// Instantiates the graph, launches it in `stream` and waits until it has finished.
  void run(cudaStream_t stream) const {
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph_, 0));
    const cudaError_t launched = cudaGraphLaunch(executable, stream);
    const cudaError_t ended = cudaStreamSynchronize(stream);
    check(cudaGraphExecDestroy(executable));
    check(launched);
    check(ended);
  }

 private:
  cudaGraph_t graph_ = nullptr;
};

}  // namespace membar_test
