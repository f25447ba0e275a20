// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Processes that are forked before any CUDA call, and killed if they take too long.
#pragma once

#include <cuda_runtime_api.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

namespace support {

namespace detail {

/// Runs `body` in a new process, whose exit status is the value that `body` returns.
template <class Body>
[[nodiscard]] pid_t forked(Body body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    throw std::runtime_error("membar: cannot fork a process");
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // Without the parent, nothing would enforce the time limit.
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

/// Returns the exit codes of the processes. A process that still runs at the deadline is killed, and its code is -1.
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
        // If a process has failed, the others would otherwise wait for it until the deadline.
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

}  // namespace detail

/// Returns the number of GPUs. A child process counts them, because a process that has used CUDA must not fork.
[[nodiscard]] inline int gpus_of_this_machine() {
  const pid_t child = detail::forked([] {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
  });
  const int count = detail::ended({child}, std::chrono::seconds(60))[0];
  return count < 0 ? 0 : count;
}

}  // namespace support
