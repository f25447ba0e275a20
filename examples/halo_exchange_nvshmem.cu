// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The halo exchange of halo_exchange.cuh over NVSHMEM, with one process for each of two GPUs. MPI is not needed: this program
/// forks before any CUDA call, and PE 0 creates the job's id in a page that the processes share.
#include <membar/symmetric/nvshmem_backend.cuh>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "halo_exchange.cuh"

constexpr int pes = 2;
struct shared_page {
  std::atomic<bool> ready{false};
  symmetric::nvshmem_id id;
};

/// Runs the process of PE `rank`. Returns its exit status.
int run(int rank, shared_page& page) try {
  alarm(120);  // Ends this process if its partner has failed.
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < pes) {
    std::puts("SKIPPED: a halo exchange needs two GPUs");
    return 77;
  }
  membar::check(cudaSetDevice(rank));
  if (rank == 0) {
    page.id = symmetric::make_nvshmem_id();
    page.ready.store(true, std::memory_order_release);
  }
  while (!page.ready.load(std::memory_order_acquire)) {
  }
  const auto session = symmetric::nvshmem_session::of_id(rank, pes, page.id);
  symmetric::nvshmem_backend gpus(session);
  return exchange_halos(gpus) == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}

int main() {
  // Settings for one machine without a network; the environment takes precedence.
  const char* const settings[][2] = {{"NVSHMEM_REMOTE_TRANSPORT", "none"},
                                     {"NVSHMEM_DISABLE_NVLS", "1"},
                                     {"NVSHMEM_DISABLE_NCCL", "1"},
                                     {"NVSHMEM_IB_ENABLE_IBGDA", "0"},
                                     {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo"}};
  for (const auto& [name, value] : settings) {
    setenv(name, value, 0);
  }
  void* const memory = mmap(nullptr, sizeof(shared_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return 1;
  }
  auto* const page = new (memory) shared_page;
  for (int rank = 0; rank != pes; ++rank) {
    if (const pid_t child = fork(); child == 0) {
      const int status = run(rank, *page);
      std::fflush(nullptr);
      std::_Exit(status);
    } else if (child < 0) {
      return 1;
    }
  }
  int worst = 0;
  for (int status = 0; wait(&status) > 0;) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    worst = code != 0 && (worst == 0 || worst == 77) ? code : worst;  // A failure takes precedence over a skipped run.
  }
  return worst;
}
