// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Runs a litmus test on a machine: launches, host threads, deadlines, and the counts of the outcomes.
#pragma once

#include <membar/error.hpp>
#include <membar/litmus/parameters.hpp>
#include <membar/litmus/placement.hpp>
#include <membar/litmus/test.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace membar::litmus {

/// How long a run takes, and what makes it reproducible.
struct run_options {
  double seconds = 1.0;           ///< of running, at least; a slice more at most
  std::uint64_t instances = 0;    ///< stop after as many; 0: only `seconds` counts
  std::uint64_t seed = 1;         ///< of the layouts of all steps
  double slice_seconds = 0.05;    ///< between two looks of the host
  double patience_seconds = 2.0;  ///< beyond a slice's expected time, after which the run is given up
};

/// What a run counted.
struct run_result {
  std::vector<std::uint64_t> counts;  ///< per outcome
  std::uint64_t instances = 0;
  std::uint64_t steps = 0;
  double seconds = 0;  ///< in which kernels ran
  parameters used{};
  layout shape{};
  unsigned stress_blocks = 0;  ///< per launch
  std::string device;          ///< its name, or their names
};

/// Runs tests, one at a time; keeps its memory from run to run.
class engine {
 public:
  /// For all devices of `on`.
  explicit engine(machine on = this_machine());
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  [[nodiscard]] const machine& where() const noexcept;

  /// Runs `test` where its places say.
  ///
  /// Errors: `error` with one sentence if the machine lacks what the test needs, if the parameters do not fit, if a kernel
  /// fails, or if the run timed out; the engine can run the next test then.
  [[nodiscard]] run_result run(const runnable_test& test, const parameters& how, const run_options& options = {});
  /// The same with a placement made before.
  [[nodiscard]] run_result run(const runnable_test& test, const placement& where, const parameters& how,
                               const run_options& options = {});

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace membar::litmus
