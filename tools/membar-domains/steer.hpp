// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// For `run`: makes a decision for each process while the program runs.
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

/// Watches each process for some seconds. Then the kernels that pass the check are launched in turns, moved and unmoved, and
/// the move is kept if the gain's whole interval is above 1. Prints the decisions and, once a minute, what was moved.
class steering {
 public:
  explicit steering(const options& asked) : asked_(asked) {}
  ~steering();
  steering(const steering&) = delete;
  steering& operator=(const steering&) = delete;

  /// Examines the processes that have files in the folder.
  void look(const std::filesystem::path& folder);
  /// Returns the decisions, one line for each process.
  [[nodiscard]] std::string report() const;
  /// Returns the decisions as JSON, with one object for each process.
  [[nodiscard]] json processes() const;

 private:
  using clock = std::chrono::steady_clock;
  struct steered {
    process_state* state = nullptr;  ///< the mapped state file
    std::filesystem::path path;
    clock::time_point begun, next_look, busy_until;
    std::uint64_t kernels = 0;  ///< the number of kernels at the last examination
    int watched = 0;            ///< the number of examinations at which the program was launching kernels
    int windows = 1;            ///< the number of windows, of `seconds` each, for which the process is watched
    std::string list;
    std::string outcome;  ///< empty until the decision: kept, undone or nothing moved
    std::string reason;
    gain_report gain;
  };
  /// Returns the time between two examinations of a process.
  [[nodiscard]] std::chrono::duration<double> between_looks() const;
  [[nodiscard]] bool has_watched(steered& of) const;
  void step(steered& of, const std::filesystem::path& folder);
  void begin_turns(steered& of, const std::filesystem::path& folder);
  void decide(steered& of, const std::filesystem::path& folder);
  void settle(steered& of, const std::filesystem::path& folder, const std::string& outcome, const std::string& reason);

  options asked_;
  std::map<std::filesystem::path, steered> processes_;
};

}  // namespace membar_domains
