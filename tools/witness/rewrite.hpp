// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Rewrites the PTX of kernels so that chosen threads are delayed before their memory accesses, fences and barriers.
///
/// A rewritten kernel has one more parameter, `membar_witness`, a struct that launcher.hpp describes. With delays of zero it does what it did
/// before. Each delay belongs to a site, which is the beginning of the kernel or a statement, and to one of four actors, which are threads.
///
/// One launch of a rewritten kernel may run many copies of the grid, one behind the other in the z dimension, each in its own memory: addresses
/// among the parameters are shifted by the number of the copy times the distance between the memories of two copies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace membar::witness {

/// A statement before which actors are delayed; the first site is the begin of the kernel.
struct site {
  int line = 0;          ///< in the PTX text that was rewritten
  std::string opcode{};  ///< "begin" of the first one
};

/// A parameter of a kernel, in the buffer of arguments.
struct parameter {
  std::string name{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Delays that are constants of the module, for kernels that others launch.
struct constant_delays {
  std::uint64_t limit = 0;                           ///< cycles after which a thread ends at the head of a loop
  std::vector<std::uint64_t> actors{};               ///< block in the upper half, thread in the lower half
  std::vector<std::vector<std::uint32_t>> cycles{};  ///< of each actor, before each site
};

/// What is rewritten of a kernel.
struct rewrite_request {
  std::string kernel;                     ///< its mangled name
  std::vector<int> preferred{};           ///< lines whose statements are sites first, if there are more statements than sites
  int watched_line = 0;                   ///< a load whose value is reported; 0: none is
  int watched_actor = 0;                  ///< by this thread
  std::vector<parameter> parameters{};    ///< those that hold addresses
  std::vector<std::uint64_t> pointers{};  ///< places of these addresses in the buffer of arguments
  const constant_delays* constant = nullptr;  ///< null: a launch passes the delays by one more parameter
  bool split_warp = false;  ///< actor 0 runs a copy of the code, so that no thread of its warp waits for it where paths meet
};

struct rewritten_kernel {
  std::string text;  ///< of the whole module
  std::vector<site> sites{};
  std::string one_copy{};  ///< why a launch cannot run several copies of the grid; empty: it can
};

/// Whether the kernel has operations of a warp for which its threads have to be at one instruction: shuffles, votes and the like.
[[nodiscard]] bool has_warp_operations(std::string_view ptx, const std::string& kernel);

/// Whether a kernel of the module has constant delays already.
[[nodiscard]] bool has_constant_delays(std::string_view ptx, const std::string& kernel);

/// Rewrites one kernel of a module. Throws `model::error` for a kernel that is not there or that calls functions.
[[nodiscard]] rewritten_kernel rewrite(std::string_view ptx, const rewrite_request& request);

}  // namespace membar::witness
