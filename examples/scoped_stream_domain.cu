// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A stream whose kernels run in the remote domain for a scope: read back, seen by a launch, and put back at the end of the
/// scope, also when an exception leaves it.
#include <bench/common/cuda_handles.hpp>
#include <membar/launch.hpp>

#include <cstdio>

__global__ void communicate() {}

/// The domain in which a launch into `stream` runs: a captured launch shows it on its graph node.
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

/// Prints the domain of `stream` and of a launch into it; counts a mistake where one is not the expected.
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
    std::puts("skipped: no GPU");
    return 77;
  }
  if (membar::sync_domain_count() == 1) {
    std::puts("skipped: no second synchronization domain (compute capability 9.0 has four)");
    return 77;
  }
  const support::stream stream;
  int mistakes = 0;
  show("before", stream.get(), membar::sync_domain::default_, &mistakes);
  {
    const membar::scoped_stream_attribute restore(stream.get(), membar::sync_domain::remote);
    show("in the scope", stream.get(), membar::sync_domain::remote, &mistakes);
  }
  show("after the scope", stream.get(), membar::sync_domain::default_, &mistakes);
  try {
    const membar::scoped_stream_attribute restore(stream.get(), membar::sync_domain::remote);
    const membar::sync_domain_map impossible{.default_ = 0, .remote = 99};
    membar::set_attribute(stream.get(), impossible);
    ++mistakes;
  } catch (const membar::error& refusal) {
    std::printf("thrown in the scope:   %s\n", refusal.what());
  }
  show("after the exception", stream.get(), membar::sync_domain::default_, &mistakes);
  return mistakes == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
