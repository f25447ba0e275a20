// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// One process for each GPU, using only membar: the processes find each other, share memory, and perform an all-reduce in
/// it. Without arguments, the program starts one process for each GPU, or two that take turns on a single GPU. Your own
/// launcher can pass rank, count, directory and token instead.
#include <membar/symmetric/all_reduce.cuh>
#include <membar/symmetric/process_memory.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace symmetric = membar::symmetric;
using symmetric::pe;

constexpr std::size_t size = 1000;

int work(int rank, int count, const symmetric::rendezvous& where) {
  int devices = 0;
  membar::check(cudaGetDeviceCount(&devices));
  membar::check(cudaSetDevice(rank % devices));
  auto group = symmetric::host_group::join(where, rank, count, std::chrono::seconds(60));
  const symmetric::process_memory memory(group, std::size_t{16} << 20);
  symmetric::adopted_backend gpus(memory.memory(), group.callback());
  symmetric::heap heap(gpus, std::size_t{16} << 20);
  const membar::all_reduce<float, membar::sum, symmetric::adopted_backend> sums(heap, size);
  const symmetric::scoped_array values(heap.allocate<float>(size));
  std::vector<float> own(size, static_cast<float>(rank + 1)), sum(size);
  float* const here = values.on(pe(rank)).local();
  membar::check(cudaMemcpy(here, own.data(), size * sizeof(float), cudaMemcpyHostToDevice));
  sums.enqueue(pe(rank), here, here, size, nullptr);
  group.synchronize(nullptr);  // Each process notices within a second if another one ends.
  sums.check();
  membar::check(cudaMemcpy(sum.data(), here, size * sizeof(float), cudaMemcpyDeviceToHost));
  std::size_t wrong = 0;
  for (const float each : sum) {
    wrong += each == static_cast<float>(count * (count + 1) / 2) ? 0 : 1;
  }
  std::printf("process %d of %d: %zu of %zu sums are wrong\n", rank, count, wrong, size);
  return wrong == 0 ? 0 : 1;
}

/// Starts this program once for each GPU, in a new rendezvous. Returns the number of processes that failed.
int launch_all(const char* program, int count) {
  const symmetric::rendezvous where = symmetric::make_rendezvous();
  const std::string of = std::to_string(count);
  for (int rank = 0; rank != count; ++rank) {
    if (fork() == 0) {
      execl(program, program, std::to_string(rank).c_str(), of.c_str(), where.directory.c_str(), where.token.c_str(), nullptr);
      std::_Exit(1);
    }
  }
  int failed = 0, status = 0;
  while (wait(&status) > 0) {
    failed += status == 0 ? 0 : 1;
  }
  return failed;
}

int main(int count, char** arguments) try {
  if (count == 5) {
    return work(std::atoi(arguments[1]), std::atoi(arguments[2]), {arguments[3], arguments[4]});
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: processes that share memory need a GPU");
    return 77;
  }
  return launch_all("/proc/self/exe", std::clamp(devices, 2, 8)) == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::puts(failure.what());
  return failure.code() == cudaErrorPeerAccessUnsupported ? 77 : 1;
}
