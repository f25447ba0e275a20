// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The settings of a recording, and the files that the process writes.
#pragma once

#include <cuda.h>
#include <regex.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "membar-check/recorder/records.hpp"

namespace membar_record {

class session {
 public:
  [[nodiscard]] static session& get();
  /// Returns the session, or null if it has not been requested yet.
  [[nodiscard, gnu::always_inline]] static session* if_made() noexcept { return made_.load(std::memory_order_acquire); }

  /// Returns whether launches are being recorded.
  [[nodiscard]] bool on() const noexcept { return on_.load(std::memory_order_acquire); }
  /// Returns whether launches are being recorded or may be recorded later. In both cases, code must be kept.
  [[nodiscard]] bool watches() const noexcept { return watches_; }
  /// Returns whether the attribute for programmatic dependent launch is removed from launches.
  [[nodiscard]] bool strips() const noexcept { return strips_; }
  [[nodiscard]] const options& asked() const noexcept { return options_; }
  /// Returns a number that changes whenever cached information about kernels may have become invalid.
  [[nodiscard, gnu::always_inline]] unsigned generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  void forget() noexcept { generation_.fetch_add(1, std::memory_order_release); }

  /// Starts or ends a recording into a folder.
  bool begin(const options& asked);
  void end();

  /// Returns whether the kernel matches --kernels. Always returns true without --kernels.
  [[nodiscard]] bool is_named(const std::string& name) const;

  /// Appends a line to the records. `line` contains no line break.
  void write(const std::string& line);
  /// Like `write`, but the line is repeated at the beginning of each later recording. Used for facts that remain true.
  void keep(const std::string& line);
  /// Returns the time in nanoseconds, from a clock that all processes on the machine share.
  [[nodiscard]] static std::uint64_t time() noexcept;
  /// Records a sentence that the command prints. Each sentence is recorded once.
  void complain(const std::string& sentence);
  /// Returns the path of a file that belongs to this process.
  [[nodiscard]] std::string path_of(const std::string& name) const;
  /// Writes a file. Returns false if the size limit has been reached or the disk is full.
  bool write_file(const std::string& name, const char* bytes, std::size_t count);

  /// Returns the number of the next launch.
  [[nodiscard]] unsigned next_launch() noexcept { return launches_.fetch_add(1) + 1; }
  /// Returns whether a launch has been recorded. From then on, events and waits must also be recorded.
  [[nodiscard]] bool has_launches() const noexcept { return on() && launches_.load(std::memory_order_relaxed) != 0; }

 private:
  session();
  void begin_in_child();

  static inline std::atomic<session*> made_{nullptr};
  options options_;
  bool watches_ = false;
  bool strips_ = false;
  bool has_pattern_ = false;
  regex_t pattern_{};
  std::atomic<bool> on_{false};
  std::atomic<unsigned> generation_{1};
  std::atomic<unsigned> launches_{0};
  std::mutex mutex_;
  std::FILE* file_ = nullptr;
  std::uint64_t written_ = 0;
  std::set<std::string> complaints_;
  std::vector<std::string> kept_;
  bool is_kept_in_part_ = false;
};

/// Calls a function and discards its exceptions, because errors in the recorder must not reach the program.
template <class Function>
void quietly(const Function& function) noexcept {
  try {
    function();
  } catch (...) {
    // The function fails only if memory is exhausted. The recording is then incomplete.
  }
}

}  // namespace membar_record
