// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Rewrites the PTX of kernels so that selected threads are delayed before their memory accesses, fences and barriers.
///
/// A rewritten kernel has one additional parameter, `membar_witness`, a struct that launcher.hpp describes. With delays of
/// zero, the kernel behaves like the original. Each delay belongs to a site and to an actor. A site is the beginning of the
/// kernel or a statement. An actor is a thread; there are at most four.
///
/// One launch of a rewritten kernel may run many copies of the grid in the z dimension, each with its own memory. Addresses in
/// the parameters are shifted by the copy's number times the distance between the memory regions of consecutive copies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace membar::witness {

/// A statement before which actors are delayed. Site 0 is the beginning of the kernel.
struct site {
  int line = 0;          ///< the line in the original PTX text
  std::string opcode{};  ///< "begin" for the first site
};

/// A kernel parameter in the argument buffer.
struct parameter {
  std::string name{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Delays that are compiled into the module as constants, for kernels that other programs launch.
struct constant_delays {
  std::uint64_t limit = 0;  ///< a thread that has run for this many cycles exits at the next loop head
  /// the thread of each actor: the block in the upper half and the thread in the lower half
  std::vector<std::uint64_t> actors{};
  std::vector<std::vector<std::uint32_t>> cycles{};  ///< for each actor, the delay before each site
};

/// Describes how to rewrite a kernel.
struct rewrite_request {
  std::string kernel;  ///< the kernel's mangled name
  /// the lines whose statements take precedence as sites if there are more statements than sites
  std::vector<int> preferred{};
  int watched_line = 0;                       ///< the line of the load whose value is reported; 0 if there is none
  int watched_actor = 0;                      ///< the actor whose execution of this load is reported
  std::vector<parameter> parameters{};        ///< the parameters that contain addresses
  std::vector<std::uint64_t> pointers{};      ///< the offsets of these addresses in the argument buffer
  const constant_delays* constant = nullptr;  ///< if null, the delays are passed in the additional parameter
  /// whether actor 0 runs a separate copy of the code, so that the other threads of its warp do not wait for it where their
  /// paths join
  bool split_warp = false;
};

struct rewritten_kernel {
  std::string text;  ///< the text of the whole rewritten module
  std::vector<site> sites{};
  std::string one_copy{};  ///< why a launch cannot run several copies of the grid; empty if it can
};

/// Returns whether the kernel has warp operations, such as shuffles and votes, whose threads must be at the same instruction.
[[nodiscard]] bool has_warp_operations(std::string_view ptx, const std::string& kernel);

/// Returns whether a kernel of the module already has constant delays.
[[nodiscard]] bool has_constant_delays(std::string_view ptx, const std::string& kernel);

/// Rewrites one kernel of a module. Throws `model::error` if the module has no such kernel, or if the kernel calls functions.
[[nodiscard]] rewritten_kernel rewrite(std::string_view ptx, const rewrite_request& request);

}  // namespace membar::witness
