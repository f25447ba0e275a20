// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Processes that act as the PEs of an NVSHMEM job on one machine, without MPI. They are forked before any CUDA call, find the
/// job's id in a page that they share, and are killed if they take too long.
#pragma once

#include <membar/symmetric/nvshmem_backend.hpp>

#include <bench/common/processes.hpp>

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace support {

namespace detail {

struct shared_page {
  std::atomic<int> ready;
  membar::symmetric::nvshmem_id id;
};

}  // namespace detail

/// Runs `body(session)` as `count` PEs, PE i on device i. Returns the exit codes: the result of `body`, 1 for an exception, -1
/// for a process that crashed or exceeded the time limit. The calling process must not have made a CUDA call, and this function
/// makes none in it.
template <class Body>
[[nodiscard]] std::vector<int> run_as_pes(int count, std::chrono::seconds time, Body body) {
  // The settings that NVSHMEM needs on one machine without a network. The user's settings take precedence.
  const char* const settings[][2] = {{"NVSHMEM_REMOTE_TRANSPORT", "none"},
                                     {"NVSHMEM_DISABLE_NVLS", "1"},
                                     {"NVSHMEM_DISABLE_NCCL", "1"},
                                     {"NVSHMEM_IB_ENABLE_IBGDA", "0"},
                                     {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo"}};
  for (const auto& [name, value] : settings) {
    setenv(name, value, 0);
  }
  void* const memory = mmap(nullptr, sizeof(detail::shared_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::runtime_error("membar: cannot map a page that is shared between processes");
  }
  auto* const page = new (memory) detail::shared_page{};
  std::vector<pid_t> children;
  for (int rank = 0; rank != count; ++rank) {
    children.push_back(detail::forked([&] {
      membar::check(cudaSetDevice(rank), "there are fewer GPUs than PEs");
      if (rank == 0) {
        // PE 0 makes the id in its own process, because this starts the thread that the other PEs connect to.
        page->id = membar::symmetric::make_nvshmem_id();
        page->ready.store(1, std::memory_order_release);
      }
      while (page->ready.load(std::memory_order_acquire) == 0) {
        std::this_thread::yield();  // The parent enforces the time limit.
      }
      const auto session = membar::symmetric::nvshmem_session::of_id(rank, count, page->id);
      try {
        return body(session);
      } catch (const std::exception& failure) {
        // Ends the process while the session is alive, because destroying the session is collective, and the other PEs have not
        // reached that call. The exit code makes the parent end the other PEs as well.
        std::fprintf(stderr, "%s\n", failure.what());
        std::fflush(nullptr);
        std::_Exit(1);
      }
    }));
  }
  std::vector<int> codes = detail::ended(children, time);
  static_cast<void>(munmap(memory, sizeof(detail::shared_page)));
  return codes;
}

}  // namespace support
