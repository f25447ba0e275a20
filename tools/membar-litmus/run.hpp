// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// `membar-litmus run`: what was asked for, and what answers it.
#pragma once

#include "compile.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace litmus_command {

/// The options of `run`.
struct run_request {
  std::vector<std::string> files;
  double seconds = 1.0;       ///< per test
  double tune_seconds = 0.0;  ///< per test, before it runs
  std::uint64_t seed = 1;
  std::uint64_t limit = 300'000'000;  ///< steps of the model's search
  std::string parameters;             ///< as `text_of(parameters)` writes them; what is not named keeps its usual value
  bool json = false;
  bool use_cache = true;
  std::optional<std::filesystem::path> cache;  ///< instead of the usual folder
  bool source = false;                         ///< print the source, and run nothing
  int compile_for = 0;                         ///< compile for this compute capability, and run nothing; 0: run
};

/// What the statuses of the command mean.
enum status : int {
  all_allowed = 0,
  forbidden_seen = 1,  ///< also if another test could not run
  not_run = 2
};

/// Prints the CUDA source of each test.
[[nodiscard]] int print_sources(const run_request& request);

/// Compiles each test, and says how much code it became and whether that was kept from before.
[[nodiscard]] int compile_only(const run_request& request);

/// Runs each test on the GPU and prints what was seen. In a build without a CUDA toolkit it says so.
[[nodiscard]] int run_on_gpu(const run_request& request);

/// The compiler, with the cache that was asked for.
[[nodiscard]] membar::litmus::compiler make_compiler(const run_request& request);

/// The request to compile a source for a compute capability: with the texts of the kernel's headers that this executable
/// carries.
[[nodiscard]] membar::litmus::compilation compilation_of(const std::string& source, int compute_capability);

/// Prints "FILE<TAB>error: reason" on the error stream.
void complain_about(const std::string& file, const char* reason);

}  // namespace litmus_command
