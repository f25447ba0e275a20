// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Processes that are the PEs of an NVSHMEM job on one machine, without MPI: forked before any CUDA call, with the job's id in
/// a page that they share, and ended when they take too long.
#pragma once

#include <membar/symmetric/nvshmem_backend.hpp>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// Runs `body` in a process of its own; what it returns is how that ends.
template <class Body>
[[nodiscard]] pid_t forked(Body body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    throw std::runtime_error("membar: no process could be forked");
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody waits on when the process that watches the time is gone
    int status = 1;
    try {
      status = body();
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "%s\n", failure.what());
    }
    std::fflush(nullptr);
    std::_Exit(status);
  }
  return child;
}

/// The processes' exit codes; those that run at the deadline are killed, and are -1.
[[nodiscard]] inline std::vector<int> ended(const std::vector<pid_t>& children, std::chrono::seconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  std::vector<int> codes(children.size(), -1);
  std::vector<bool> over(children.size(), false);
  for (std::size_t left = children.size(); left != 0;) {
    const bool late = std::chrono::steady_clock::now() > deadline;
    for (std::size_t i = 0; i != children.size(); ++i) {
      if (over[i]) {
        continue;
      }
      if (late) {
        static_cast<void>(kill(children[i], SIGKILL));
      }
      int status = 0;
      if (waitpid(children[i], &status, late ? 0 : WNOHANG) == children[i]) {
        codes[i] = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        over[i] = true;
        --left;
        // The others would wait for one that failed until the deadline.
        if (codes[i] != 0) {
          for (std::size_t other = 0; other != children.size(); ++other) {
            if (!over[other]) {
              static_cast<void>(kill(children[other], SIGTERM));
            }
          }
        }
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return codes;
}

struct shared_page {
  std::atomic<int> ready;
  membar::symmetric::nvshmem_id id;
};

}  // namespace detail

/// How many GPUs there are, asked in a process of its own: one that has used CUDA cannot fork.
[[nodiscard]] inline int gpus_of_this_machine() {
  const pid_t child = detail::forked([] {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
  });
  const int count = detail::ended({child}, std::chrono::seconds(60))[0];
  return count < 0 ? 0 : count;
}

/// Runs `body(session)` as `count` PEs, PE i on device i, and returns the exit codes: what `body` returns, 1 for an exception,
/// -1 for a process that crashed or was late. The calling process has made no CUDA call, and makes none.
template <class Body>
[[nodiscard]] std::vector<int> run_as_pes(int count, std::chrono::seconds time, Body body) {
  // What NVSHMEM needs on one machine without a network; what the user says goes first.
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
    throw std::runtime_error("membar: no page could be shared between processes");
  }
  auto* const page = new (memory) detail::shared_page{};
  std::vector<pid_t> children;
  for (int rank = 0; rank != count; ++rank) {
    children.push_back(detail::forked([&] {
      membar::check(cudaSetDevice(rank), "there are fewer GPUs than PEs");
      if (rank == 0) {
        page->id = membar::symmetric::make_nvshmem_id();  // in the process of PE 0: it starts the thread that the others find
        page->ready.store(1, std::memory_order_release);
      }
      while (page->ready.load(std::memory_order_acquire) == 0) {
        std::this_thread::yield();  // as long as the parent lets this process live
      }
      const auto session = membar::symmetric::nvshmem_session::of_id(rank, count, page->id);
      try {
        return body(session);
      } catch (const std::exception& failure) {
        // While the session lives, whose end is collective: the others are elsewhere, and are ended by this one's exit code.
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
