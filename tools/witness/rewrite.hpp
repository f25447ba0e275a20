// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Rewrites the PTX of kernels so that chosen threads are delayed before their memory accesses, fences and barriers.
///
/// A rewritten kernel has one more parameter, `membar_witness`, a struct that launcher.hpp describes. With delays of zero, the
/// kernel behaves as before. Each delay belongs to a site, which is the beginning of the kernel or a statement, and to one of
/// four actors, which are threads.
///
/// One launch of a rewritten kernel may run many copies of the grid, one after the other in the z dimension, each with its own
/// memory: addresses among the parameters are shifted by the number of the copy times the distance between the memories of two
/// copies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace membar::witness {

/// A statement before which actors are delayed. The first site is the beginning of the kernel.
struct site {
  int line = 0;          ///< the line in the original PTX text
  std::string opcode{};  ///< "begin" for the first site
};

/// A parameter of a kernel, in the buffer of arguments.
struct parameter {
  std::string name{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Delays that are constants of the module, for kernels that other programs launch.
struct constant_delays {
  std::uint64_t limit = 0;                           ///< the number of cycles after which a thread ends at the head of a loop
  std::vector<std::uint64_t> actors{};               ///< the block in the upper half, the thread in the lower half
  std::vector<std::vector<std::uint32_t>> cycles{};  ///< for each actor, before each site
};

/// How to rewrite a kernel.
struct rewrite_request {
  std::string kernel;  ///< its mangled name
  /// lines whose statements become sites first, if there are more statements than sites
  std::vector<int> preferred{};
  int watched_line = 0;                       ///< the line of a load whose value is reported; 0: none
  int watched_actor = 0;                      ///< the actor whose load is reported
  std::vector<parameter> parameters{};        ///< the parameters that contain addresses
  std::vector<std::uint64_t> pointers{};      ///< the offsets of these addresses in the buffer of arguments
  const constant_delays* constant = nullptr;  ///< null: a launch passes the delays in an additional parameter
  /// actor 0 runs a separate copy of the code, so that no thread of its warp waits for it where their paths join
  bool split_warp = false;
};

struct rewritten_kernel {
  std::string text;  ///< the text of the whole module
  std::vector<site> sites{};
  std::string one_copy{};  ///< why a launch cannot run several copies of the grid; empty: it can
};

/// Returns whether the kernel has warp operations whose threads must be at the same instruction: shuffles, votes and the like.
[[nodiscard]] bool has_warp_operations(std::string_view ptx, const std::string& kernel);

/// Returns whether a kernel of the module has constant delays already.
[[nodiscard]] bool has_constant_delays(std::string_view ptx, const std::string& kernel);

/// Rewrites one kernel of a module. Throws `model::error` if the module has no such kernel, or if the kernel calls functions.
[[nodiscard]] rewritten_kernel rewrite(std::string_view ptx, const rewrite_request& request);

}  // namespace membar::witness
