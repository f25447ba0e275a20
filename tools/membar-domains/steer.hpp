// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Of run: what the command decides for each process while the program runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "membar-domains/gain.hpp"
#include "membar-domains/options.hpp"
#include "membar-domains/process_state.hpp"
#include "membar-domains/report_json.hpp"

namespace membar_domains {

/// Watches each process for some seconds, moves the kernels that pass the check in turns, and keeps the move where the whole interval of the gain is above
/// 1. It says what it decided, and once a minute what was moved.
class steering {
 public:
  explicit steering(const options& asked) : asked_(asked) {}
  ~steering();
  steering(const steering&) = delete;
  steering& operator=(const steering&) = delete;

  /// Looks at the processes whose files are in the folder.
  void look(const std::filesystem::path& folder);
  /// What was decided, a line for each process.
  [[nodiscard]] std::string report() const;
  /// The same as JSON: an object for each process.
  [[nodiscard]] json processes() const;

 private:
  using clock = std::chrono::steady_clock;
  struct steered {
    process_state* state = nullptr;  ///< mapped
    std::filesystem::path path;
    clock::time_point begun, next_look, busy_until;
    std::uint64_t kernels = 0;             ///< at the last look
    std::chrono::milliseconds watched{0};  ///< while the program launched kernels
    int windows = 1;                       ///< of this many seconds
    std::string list;
    std::string outcome;  ///< empty until it is decided: kept, undone or nothing moved
    std::string reason;
    gain_report gain;
  };
  [[nodiscard]] bool has_watched(steered& of) const;
  void step(steered& of, const std::filesystem::path& folder);
  void begin_turns(steered& of, const std::filesystem::path& folder);
  void decide(steered& of, const std::filesystem::path& folder);
  void settle(steered& of, const std::filesystem::path& folder, const std::string& outcome, const std::string& reason);

  options asked_;
  std::map<std::filesystem::path, steered> processes_;
};

}  // namespace membar_domains
