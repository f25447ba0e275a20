// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <membar-check/progress.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <mutex>
#include <string>
#include <utility>

namespace membar_check {

progress_line::progress_line(std::string file, bool wanted, bool several)
    : file_(std::move(file)), verb_(several ? " are " : " is ") {
  if (wanted) {
    thread_ = std::thread([this] { run(); });
  }
}

progress_line::~progress_line() { end(); }

void progress_line::end() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void progress_line::run() {
  using seconds = std::chrono::seconds;
  constexpr int first = 2;
  constexpr int longest = 512;
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const auto begin = std::chrono::steady_clock::now();
  std::size_t width = 0;
  std::unique_lock lock(mutex_);
  for (int at = first; !ended_.wait_until(lock, begin + seconds(at), [this] { return over_; });
       at = terminal ? at + 1 : at + 3 * std::min(at, longest)) {
    std::string line = "membar-check: " + membar_tools::shortened(file_, 80) + verb_ + what_.load();
    if (events_ != 0) {
      line += ": " + std::to_string(executions_) + " executions, " + std::to_string(events_) + " events";
    }
    if (all_ > 1) {
      line += ": " + std::to_string(done_) + " of " + std::to_string(all_) + " " + of_.load();
    }
    line += ", " + std::to_string(at) + " s so far";
    const std::size_t old = std::exchange(width, line.size());
    line.resize(terminal ? std::max(old, line.size()) : line.size(), ' ');
    std::cerr << (terminal ? "\r" : "") << line << (terminal ? "" : "\n") << std::flush;
  }
  if (terminal && width != 0) {
    std::cerr << "\r" << std::string(width, ' ') << "\r" << std::flush;
  }
}

}  // namespace membar_check
