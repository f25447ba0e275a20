// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Rewrites the PTX of kernels so that chosen threads are delayed before their memory accesses, fences and barriers.
///
/// A rewritten kernel has one more parameter, `membar_witness`, a struct that launcher.hpp describes. With delays of zero it does what it did
/// before. Each delay belongs to a site, which is the beginning of the kernel or a statement, and to one of four actors, which are threads.
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

/// What is rewritten of a kernel.
struct rewrite_request {
  std::string kernel;            ///< its mangled name
  std::vector<int> preferred{};  ///< lines whose statements are sites first, if there are more statements than sites
  int watched_line = 0;          ///< a load whose value is reported; 0: none is
  int watched_actor = 0;         ///< by this thread
  bool split_warp = false;  ///< actor 0 runs a copy of the code, so that no thread of its warp waits for it where paths meet
};

struct rewritten_kernel {
  std::string text;  ///< of the whole module
  std::vector<site> sites{};
};

/// Whether the kernel has operations of a warp for which its threads have to be at one instruction: shuffles, votes and the like.
[[nodiscard]] bool has_warp_operations(std::string_view ptx, const std::string& kernel);

/// Rewrites one kernel of a module. Throws `model::error` for a kernel that is not there or that calls functions.
[[nodiscard]] rewritten_kernel rewrite(std::string_view ptx, const rewrite_request& request);

}  // namespace membar::witness
