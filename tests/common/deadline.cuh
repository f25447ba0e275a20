// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Deadlines: no test hangs. What would wait too long fails and says so.
#pragma once

#include <membar/device_clock.cuh>

#include <chrono>

namespace membar_test {

/// For kernels: passed two seconds, or `nanoseconds`, after it was made or renewed.
class device_deadline {
 public:
  __device__ explicit device_deadline(unsigned long long nanoseconds = 2'000'000'000) : nanoseconds_(nanoseconds) { renew(); }

  __device__ void renew() { end_ = membar::global_nanoseconds() + nanoseconds_; }
  [[nodiscard]] __device__ bool passed() const { return membar::global_nanoseconds() > end_; }

 private:
  unsigned long long nanoseconds_;
  unsigned long long end_;
};

/// For the host: longer than a kernel's, so that the kernel reports first.
class host_deadline {
 public:
  explicit host_deadline(std::chrono::milliseconds time = std::chrono::seconds(4)) : time_(time) { renew(); }

  void renew() { end_ = std::chrono::steady_clock::now() + time_; }
  [[nodiscard]] bool passed() const { return std::chrono::steady_clock::now() > end_; }

 private:
  std::chrono::milliseconds time_;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace membar_test
