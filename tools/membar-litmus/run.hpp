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
  double seconds = 1.0;       ///< per test
  double tune_seconds = 0.0;  ///< per test, before it runs
  std::uint64_t seed = 1;
  std::uint64_t limit = 300'000'000;  ///< the maximum number of steps of the model's search
  std::string parameters;             ///< as written by `text_of(parameters)`; omitted parameters keep their defaults
  bool strict = false;                ///< an access to an undeclared location is an error
  bool json = false;
  bool use_cache = true;
  std::optional<std::filesystem::path> cache;  ///< replaces the default folder
  bool source = false;                         ///< print the source instead of running the test
  int compile_for = 0;                         ///< compile for this compute capability instead of running the test; 0: run it
};

/// The exit statuses of `run`.
enum status : int {
  all_allowed = 0,
  forbidden_seen = 1,  ///< also if another test could not run
  not_run = 2
};

/// Prints the CUDA source of each test.
[[nodiscard]] int print_sources(const run_request& request);

/// Compiles each test, and prints the size of its code and whether the code was in the cache.
[[nodiscard]] int compile_only(const run_request& request);

/// Runs each test on the GPU and prints its report. A build without a CUDA toolkit reports that it cannot.
[[nodiscard]] int run_on_gpu(const run_request& request);

/// Returns the compiler, with the cache that the request names.
[[nodiscard]] compiler make_compiler(const run_request& request);

/// Returns the request to compile a source for a compute capability, with the kernel's embedded headers.
[[nodiscard]] compilation compilation_of(const std::string& source, int compute_capability);

/// Prints "FILE<TAB>error: reason" on standard error.
void print_error(const std::string& file, const char* reason);

}  // namespace membar::litmus_files
