// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Processes that a test forks, and how they report errors.
#pragma once

#include <bench/common/processes.hpp>

#include <tests/common/refusal.hpp>

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace membar_test {

/// Runs `body(rank)` in `count` processes. Returns their exit codes; 0 means success.
template <class Body>
std::vector<int> processes(int count, Body body) {
  std::vector<pid_t> children;
  for (int rank = 0; rank != count; ++rank) {
    children.push_back(support::detail::forked([&body, rank] { return body(rank); }));
  }
  std::vector<int> codes;
  for (const pid_t each : children) {
    codes.push_back(support::detail::ended({each}, std::chrono::seconds(60))[0]);
  }
  return codes;
}

/// A barrier for forked processes. It must be created before they are forked.
class meeting {
 public:
  meeting() {
    void* const memory = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::runtime_error("no memory for a meeting of processes");
    }
    came_ = new (memory) std::atomic<int>(0);
  }
  meeting(const meeting&) = delete;
  meeting& operator=(const meeting&) = delete;
  ~meeting() { munmap(came_, sizeof *came_); }

  void come() noexcept { ++*came_; }
  [[nodiscard]] int came() const noexcept { return *came_; }
  /// Returns whether `count` processes have arrived within ten seconds.
  [[nodiscard]] bool wait_for(int count) const noexcept {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (came_->load() < count && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    return came_->load() >= count;
  }

 private:
  std::atomic<int>* came_;
};

/// Returns 0 if the call is rejected with these words; otherwise prints its message.
template <class Call>
int unless_refused(const char* words, Call call) {
  const std::string sentence = refusal(call);
  if (sentence.find(words) != sentence.npos) {
    return 0;
  }
  std::fprintf(stderr, "not '%s' but: %s\n", words, sentence.c_str());
  return 1;
}

}  // namespace membar_test
