// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Prints a progress line to standard error if processing a file takes longer than two seconds.
#pragma once

#include <check/program.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace membar_check {

/// After two seconds, reports what is being done with a file, for as long as the object exists. On a terminal, it rewrites one
/// line every second and removes it at the end. Elsewhere, it prints a line after 2, 8, 32... seconds, which keeps logs short.
class progress_line {
 public:
  /// `several` is true if `file` is a plural, for example "5 inputs".
  progress_line(std::string file, bool wanted, bool several = false);
  ~progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  /// Sets the current activity, for example "being compiled" or "being explored".
  void begins(const char* what) { what_ = what; }
  /// Sets the progress of an exploration.
  void is_at(const membar::check::check_statistics& counts) {
    executions_ = counts.executions;
    events_ = counts.events;
  }
  /// Sets the progress as a number of items. `of` is the plural name of the items.
  void is_at(std::uint64_t done, std::uint64_t all, const char* of = "files") {
    done_ = done;
    all_ = all;
    of_ = of;
  }
  /// Removes the line from a terminal before something else is written.
  void end();

 private:
  void run();

  std::string file_;
  std::string verb_;
  std::atomic<const char*> what_{"being read"};
  std::atomic<std::uint64_t> executions_{0};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> all_{0};
  std::atomic<const char*> of_{"files"};
  std::mutex mutex_{};
  std::condition_variable ended_{};
  bool over_ = false;
  std::thread thread_{};
};

}  // namespace membar_check
