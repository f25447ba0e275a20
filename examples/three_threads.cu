// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Three threads: thread 1, in a kernel, writes x and releases a. Thread 2, in another kernel, acquires a and releases b.
/// Thread 3, on the host, acquires b and must see the new x, which thread 2 never wrote. If both kernels are in one
/// synchronization domain, device scope is enough for a. If each is in its own domain, a needs system scope. With --managed,
/// the words are in managed memory.
#include "three_threads.cuh"

#include <membar/managed_memory.hpp>
#include <membar/mapped_memory.hpp>

#include <string_view>

int main(int argc, char** argv) try {
  const bool managed = argc > 1 && std::string_view(argv[1]) == "--managed";
  if (argc > 2 || (argc == 2 && !managed)) {
    std::fprintf(stderr, "three_threads: unknown option '%s'; the only one is --managed\n", argv[argc - 1]);
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: no GPU");
    return 77;
  }
  if (managed && !membar::managed_facts_of(0).concurrent_access) {
    std::puts("SKIPPED: on this machine, the host and kernels cannot use managed memory at the same time");
    return 77;
  }
  const membar::mapped_memory<words> on_host(1);
  const membar::managed_memory<words> moving(1);
  words* const shared = managed ? moving.data() : on_host.data();
  if (managed) {  // The page stays on the host and the device maps it. Otherwise it would migrate back and forth.
    membar::advise_preferred_location(shared, sizeof(words), membar::memory_location::host());
    membar::advise_accessed_by(shared, sizeof(words), membar::memory_location::device(0));
  }
  cudaStream_t streams[2] = {};
  for (cudaStream_t& stream : streams) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  std::printf("%s memory\n", managed ? "managed" : "mapped");
  int wrong = play<membar::thread_scope::device>("one domain, a at device scope", shared, sync_domain::default_, streams);
  if (membar::sync_domain_count() > 1) {
    wrong += play<membar::thread_scope::system>("two domains, a at system scope", shared, sync_domain::remote, streams);
  }
  return wrong == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
