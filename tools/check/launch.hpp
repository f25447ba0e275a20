// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Builds the program that is explored: memory, and launches of kernels with their arguments.
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

/// A name in C++ without blanks, its return type and its parameters: "worker<3>" of "void worker<3>(unsigned int*)".
[[nodiscard]] std::string source_name(const std::string& mangled);

/// The most threads of a checked program.
inline constexpr int most_threads = 4096;
inline constexpr std::uint64_t most_threads_of_a_block = 1024;

/// One launch of a kernel.
struct launch_request {
  std::shared_ptr<const kernel_code> kernel;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  int cluster = 0;  ///< blocks of a cluster; 0: each block is alone
  int domain = 0;   ///< physical memory synchronization domain
  int device = 0;
  bool host = false;                      ///< not a launch, but a host thread
  std::vector<std::uint8_t> arguments{};  ///< as `kernel_code::parameter_offsets` lays them out
  std::vector<int> after{};               ///< launches that have ended before this one begins
  bool dependent = false;            ///< it begins when those have launched their dependents (programmatic dependent launch)
  std::uint64_t dynamic_shared = 0;  ///< bytes of `extern __shared__` memory
};

/// Puts memory after all that is there, or at address `at` if that is not 0, and returns its address.
std::uint64_t add_memory(program& p, std::string name, std::uint64_t bytes, std::vector<std::uint8_t> initial = {},
                         bool initialised = true, bool constant = false, std::uint64_t at = 0);

/// Puts a module's variables in global and constant memory where `layout_of` has them, the managed ones once. `suffix` follows the names of the
/// others.
void add_variables(program& p, const ptx_module& module, const module_layout& layout, const std::string& suffix = "");

/// A launch whose threads are made where they run.
struct planned_launch {
  launch_request request{};
  int number = 0;
  int first_block = 0;  ///< among all blocks of the program
  std::uint64_t blocks = 1;
  std::uint64_t block_size = 1;
  std::uint64_t workspace = 0;
  std::uint64_t parameters_at = 0;
};

/// The most threads of a launch that is planned alone.
inline constexpr std::uint64_t most_planned_threads = std::uint64_t{1} << 24U;

/// Adds a launch, its order and the memory that it needs, to a program, without its threads and its shared memory. Throws `model::error` for a
/// launch that is wrong, or that would give the program, which has `threads_before` threads, more than `most`.
[[nodiscard]] planned_launch plan_launch(program& p, const launch_request& request, int first_block,
                                         std::uint64_t threads_before, std::uint64_t most = most_planned_threads);

/// Thread `t` of block `b` of a launch. Its number in the program, and what its registers matter for, are not there yet.
[[nodiscard]] thread_context context_of(const planned_launch& launch, std::uint64_t b, std::uint64_t t);

/// The shared memory of block `number` of the program, and its tensor memory.
[[nodiscard]] std::vector<memory_object> shared_objects(const launch_request& request, int number);

/// Adds the threads of a launch and returns its number. Throws `model::error` for one that is too large.
int add_launch(program& p, const launch_request& request);

}  // namespace membar::check
