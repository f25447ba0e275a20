// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A stream whose kernels run in the remote domain until the end of a scope. The program reads the domain of the stream, and of
/// a launch into it, at four points: before the scope, inside it, after it, and after an exception has left it.
#include <membar/launch.hpp>

#include <cstdio>

__global__ void communicate() {}

/// Returns the domain in which a launch into `stream` runs. Captures a launch and reads the domain from the graph node.
membar::sync_domain domain_of_a_launch(cudaStream_t stream) {
  membar::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  membar::launch(membar::launch_config{1, 1, stream}, communicate);
  cudaGraph_t graph = nullptr;
  membar::check(cudaStreamEndCapture(stream, &graph));
  cudaGraphNode_t node = nullptr;
  std::size_t count = 1;
  membar::check(cudaGraphGetNodes(graph, &node, &count));
  const membar::sync_domain domain = membar::get_attribute<membar::sync_domain>(node);
  membar::check(cudaGraphDestroy(graph));
  return domain;
}

/// Prints the domain of `stream` and of a launch into it, and counts a mistake if either is not the expected domain.
void show(const char* when, cudaStream_t stream, membar::sync_domain expected, int* mistakes) {
  const auto name = [](membar::sync_domain domain) { return domain == membar::sync_domain::remote ? "remote" : "default"; };
  const membar::sync_domain of_stream = membar::get_attribute<membar::sync_domain>(stream);
  const membar::sync_domain of_launch = domain_of_a_launch(stream);
  std::printf("%-22s stream %-8s launch %s\n", when, name(of_stream), name(of_launch));
  *mistakes += of_stream != expected || of_launch != expected ? 1 : 0;
}

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: no GPU");
    return 77;
  }
  if (membar::sync_domain_count() == 1) {
    std::puts("SKIPPED: no second synchronization domain (compute capability 9.0 has four)");
    return 77;
  }
  cudaStream_t stream = nullptr;
  membar::check(cudaStreamCreate(&stream));
  int mistakes = 0;
  show("before", stream, membar::sync_domain::default_, &mistakes);
  {
    const membar::scoped_stream_attribute restore(stream, membar::sync_domain::remote);
    show("in the scope", stream, membar::sync_domain::remote, &mistakes);
  }
  show("after the scope", stream, membar::sync_domain::default_, &mistakes);
  try {
    const membar::scoped_stream_attribute restore(stream, membar::sync_domain::remote);
    const membar::sync_domain_map impossible{.default_ = 0, .remote = 99};
    membar::set_attribute(stream, impossible);
    ++mistakes;
  } catch (const membar::error& refusal) {
    std::printf("thrown in the scope:   %s\n", refusal.what());
  }
  show("after the exception", stream, membar::sync_domain::default_, &mistakes);
  membar::check(cudaStreamDestroy(stream));
  return mistakes == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
