// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Builds the program to explore: its memory, and the launches of kernels with their arguments.
#pragma once

#include <check/program.hpp>
#include <ptx/decode.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Returns a C++ name without spaces, return type and parameters: "worker<3>" for "void worker<3>(unsigned int*)".
[[nodiscard]] std::string source_name(const std::string& mangled);

/// The maximum number of threads in a checked program.
inline constexpr int most_threads = 4096;
inline constexpr std::uint64_t most_threads_of_a_block = 1024;

/// One launch of a kernel.
struct launch_request {
  std::shared_ptr<const kernel_code> kernel;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  int cluster = 0;  ///< blocks per cluster; 0 if each block has its own cluster
  int domain = 0;   ///< physical memory synchronization domain
  int device = 0;
  bool host = false;                      ///< whether this is a host thread instead of a launch
  std::vector<std::uint8_t> arguments{};  ///< in the layout of `kernel_code::parameter_offsets`
  std::vector<int> after{};               ///< the launches that end before this launch begins
  /// whether the launch begins when the launches in `after` allow their dependents to begin (programmatic dependent launch)
  bool dependent = false;
  std::uint64_t dynamic_shared = 0;  ///< bytes of `extern __shared__` memory
};

/// Allocates memory after all other memory, or at address `at` if that is not 0. Returns its address.
std::uint64_t add_memory(program& p, std::string name, std::uint64_t bytes, std::vector<std::uint8_t> initial = {},
                         bool initialised = true, bool constant = false, std::uint64_t at = 0);

/// Allocates a module's variables in global and constant memory, using the layout that `layout_of` returned. Managed variables
/// are allocated only once. `suffix` is appended to the names of all other variables.
void add_variables(program& p, const ptx_module& module, const module_layout& layout, const std::string& suffix = "");

/// A launch whose threads are created when they run.
struct planned_launch {
  launch_request request{};
  int number = 0;
  int first_block = 0;  ///< the number of its first block among all blocks of the program
  std::uint64_t blocks = 1;
  std::uint64_t block_size = 1;
  std::uint64_t workspace = 0;
  std::uint64_t parameters_at = 0;
};

/// The maximum number of threads in a launch that is planned without creating its threads.
inline constexpr std::uint64_t most_planned_threads = std::uint64_t{1} << 24U;

/// Adds a launch to a program, together with its order and the memory that it needs, but without its threads and its shared
/// memory. `threads_before` is the number of threads that the program already has. Throws `model::error` if the launch is
/// invalid, or if the program would have more than `most` threads.
[[nodiscard]] planned_launch plan_launch(program& p, const launch_request& request, int first_block,
                                         std::uint64_t threads_before, std::uint64_t most = most_planned_threads);

/// Returns the context of thread `t` in block `b` of a launch, except for its number in the program and the liveness of its
/// registers.
[[nodiscard]] thread_context context_of(const planned_launch& launch, std::uint64_t b, std::uint64_t t);

/// Returns the shared memory and the tensor memory of block `number` of the program.
[[nodiscard]] std::vector<memory_object> shared_objects(const launch_request& request, int number);

/// Adds the threads of a launch, and returns the launch's number. Throws `model::error` if the launch is too large.
int add_launch(program& p, const launch_request& request);

}  // namespace membar::check
