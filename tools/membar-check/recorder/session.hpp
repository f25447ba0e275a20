// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What is recorded, and the files into which the process writes it.
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
  /// The session, or null before anything asked for it.
  [[nodiscard, gnu::always_inline]] static session* if_made() noexcept { return made_.load(std::memory_order_acquire); }

  /// Whether launches are recorded now.
  [[nodiscard]] bool on() const noexcept { return on_.load(std::memory_order_acquire); }
  /// Whether launches are recorded now or may be later, for which code must be kept.
  [[nodiscard]] bool watches() const noexcept { return watches_; }
  /// Whether launches lose the attribute of programmatic dependents.
  [[nodiscard]] bool strips() const noexcept { return strips_; }
  [[nodiscard]] const options& asked() const noexcept { return options_; }
  /// Changes when what is known of kernels may be wrong.
  [[nodiscard, gnu::always_inline]] unsigned generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  void forget() noexcept { generation_.fetch_add(1, std::memory_order_release); }

  /// Begins to record into a folder, or ends.
  bool begin(const options& asked);
  void end();

  /// Whether --kernels names the kernel; true where there is no --kernels.
  [[nodiscard]] bool is_named(const std::string& name) const;

  /// Appends a line to the records. `line` has no line break.
  void write(const std::string& line);
  /// Like `write`, and again at the beginning of each later recording: what is true from now on.
  void keep(const std::string& line);
  /// Nanoseconds of a clock that all processes of the machine have.
  [[nodiscard]] static std::uint64_t time() noexcept;
  /// A sentence for the command to say, once.
  void complain(const std::string& sentence);
  /// The path of a file of this process.
  [[nodiscard]] std::string path_of(const std::string& name) const;
  /// Writes a file; false where the limit on bytes is reached or the disk is full.
  bool write_file(const std::string& name, const char* bytes, std::size_t count);

  /// The number of the next launch.
  [[nodiscard]] unsigned next_launch() noexcept { return launches_.fetch_add(1) + 1; }
  /// Whether a launch was recorded, so that events and waits must be recorded as well.
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

/// Calls the function, and swallows what it throws: nothing that the recorder does may reach the program.
template <class Function>
void quietly(const Function& function) noexcept {
  try {
    function();
  } catch (...) {
    // Only memory can be missing here, and then the recording is.
  }
}

}  // namespace membar_record
