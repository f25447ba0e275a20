// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The subcommand `run`: its options, and the functions that execute it.
#pragma once

#include <litmus/compiler.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace membar::litmus_files {

/// The options of `run`.
struct run_request {
  std::vector<std::string> files;
  double seconds = 1.0;       ///< the duration of each test's run
  double tune_seconds = 0.0;  ///< the duration of tuning before each test's run
  std::uint64_t seed = 1;
  std::uint64_t limit = 300'000'000;  ///< the maximum number of steps of the model's search
  std::string parameters;             ///< in the format of `text_of(parameters)`; parameters that are not given have their
                                      ///< defaults
  bool strict = false;                ///< whether an access to an undeclared location is an error
  bool json = false;
  bool use_cache = true;
  std::optional<std::filesystem::path> cache;  ///< the cache folder to use instead of the default
  bool source = false;                         ///< whether to print the source instead of running the test
  int compile_for = 0;                         ///< if not 0: compiles for this compute capability instead of running the test
};

/// The exit statuses of `run`.
enum status : int {
  all_allowed = 0,
  forbidden_seen = 1,  ///< also returned if another test could not be run
  not_run = 2
};

/// Prints the CUDA source of each test.
[[nodiscard]] int print_sources(const run_request& request);

/// Compiles each test, and prints the size of its code and whether the cache contained it.
[[nodiscard]] int compile_only(const run_request& request);

/// Runs each test on the GPU and prints a report. In a build without a CUDA toolkit, reports that tests cannot be run.
[[nodiscard]] int run_on_gpu(const run_request& request);

/// Returns a compiler that uses the cache that the request specifies.
[[nodiscard]] compiler make_compiler(const run_request& request);

/// Returns the request to compile a source for a compute capability with the embedded headers of the kernel.
[[nodiscard]] compilation compilation_of(const std::string& source, int compute_capability);

/// Prints "FILE<TAB>error: reason" on standard error.
void print_error(const std::string& file, const char* reason);

}  // namespace membar::litmus_files
