// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The analyses of a program's code that all its schedules share.
#pragma once

#include <check/launch.hpp>
#include <check/liveness.hpp>
#include <sanitize/clock.hpp>
#include <sanitize/fast_code.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace membar::sanitize {

/// Analyses code when a schedule first needs the result. Several host threads may use this object at the same time.
class program_code {
 public:
  struct launch_code {
    std::shared_ptr<const check::register_use> registers{};  ///< of the first thread; all threads use it
    std::shared_ptr<const std::vector<fast_instruction>> fast{};
  };

  [[nodiscard]] launch_code of(const check::planned_launch& launch) {
    const std::lock_guard lock(mutex_);
    launch_code& known = launches_[&launch];
    if (known.registers == nullptr) {
      const check::thread_context c = check::context_of(launch, 0, 0);
      known.registers = check::register_use_of(c, !c.where.host);
      known.fast = std::make_shared<const std::vector<fast_instruction>>(fast_code_of(*c.kernel, c.parameters));
    }
    return known;
  }

  /// Returns the registers of one thread that matter. A thread has the same key in all schedules.
  [[nodiscard]] std::shared_ptr<const check::register_use> of(thread_key key, const check::thread_context& thread) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = threads_.find(key); known != threads_.end()) {
        return known->second;
      }
    }
    auto result = check::register_use_of(thread, !thread.where.host);
    constexpr std::size_t most = 2048;
    const std::lock_guard lock(mutex_);
    if (threads_.size() < most) {
      threads_.emplace(key, result);
    }
    return result;
  }

 private:
  std::mutex mutex_{};
  std::unordered_map<const check::planned_launch*, launch_code> launches_{};
  std::unordered_map<thread_key, std::shared_ptr<const check::register_use>> threads_{};
};

}  // namespace membar::sanitize
