// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Prepares the launches that demonstrate a finding on a GPU: the rewritten kernels of a scenario, its memory, and the threads
/// to delay.
#pragma once

#include <check/program.hpp>
#include <check/scenario.hpp>
#include <witness/launcher.hpp>
#include <witness/rewrite.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace membar::witness {

/// A thread that a finding involves.
struct actor {
  int launch = 0;
  std::uint64_t block = 0;   ///< linear index
  std::uint64_t thread = 0;  ///< linear index
  std::uint64_t early = 0;   ///< the address of this thread's faulty weak load from global memory; 0 if there is none
};

/// The faulty load and the value that it should read, for scenarios without final conditions.
struct watched_read {
  int launch = -1;  ///< -1 if no load is watched
  int line = 0;
  int actor = 0;  ///< the index of the actor among the launch's actors
  int time = 0;
  int bytes = 4;
  std::uint64_t expected = 0;
};

/// Returns the threads that a finding involves, at most `actor_slots` per launch. The threads at fault come first.
[[nodiscard]] std::vector<actor> actors_of(const check::program& p, const check::finding& f);

/// For a data race between a load and a write of the same 4 or 8 bytes, returns the load and the value that it should read. If
/// the load is stale in the finding's execution, it should read the value of the write; otherwise, it should read the same
/// value as in that execution. Returns no load for other findings.
[[nodiscard]] watched_read watched_of(const check::program& p, const check::finding& f, const std::vector<actor>& actors);

/// The launches to run and the sites of their delays.
struct witness_program {
  membar_witness::program launched{};
  std::vector<std::vector<site>> sites{};  ///< the sites of each launch
  bool early = false;                      ///< whether a thread has an address that it can load too early
  bool split = false;                      ///< whether two threads of a warp run separate copies of the code
};

/// Rewrites the kernels of a scenario for these threads. The PTX lines in `preferred` take precedence as sites. Throws
/// `model::error` for scenarios that cannot be launched: those with host threads, several devices or tensor maps.
[[nodiscard]] witness_program program_of(const check::scenario& s, std::string_view ptx, const std::vector<actor>& actors,
                                         const watched_read& watched, const std::vector<int>& preferred);

/// Returns whether the launches are on several devices or in several memory synchronization domains.
[[nodiscard]] bool has_places(const check::scenario& s);

/// Returns the scenario with all launches on device 0 and in domain 0.
[[nodiscard]] check::scenario on_one_device(const check::scenario& s);

/// Returns the scenario for the rewritten kernels, which can be passed to `prepare` with the PTX from `program_of`. The plan of
/// each launch is all zeros.
[[nodiscard]] check::scenario with_empty_plans(const check::scenario& s);

/// Provides the final memory of a run to the final conditions of a scenario.
class memory_of_run final : public check::final_memory {
 public:
  explicit memory_of_run(const membar_witness::image& end) : end_(end) {}
  [[nodiscard]] std::uint64_t value(std::uint64_t address, int bytes) const override { return end_.value(address, bytes); }
  [[nodiscard]] const check::graph& execution() const noexcept override;

 private:
  const membar_witness::image& end_;
};

}  // namespace membar::witness
