// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// For try: executable graphs with listed kernels are instantiated twice, once as in the program and once moved, and launched
/// in turn. Changes that the program makes in one of them are also made in the other.
#pragma once

#include <cuda.h>

#include <functional>

#include "membar-domains/records.hpp"

namespace membar_domains {

/// Instantiates the graph a second time, with its kernels moved, as the twin of `exec`. If the driver rejects that, as it does
/// for nodes that allocate, the graph has no twin, and is counted.
void make_twin(CUgraphExec exec, CUgraph graph, unsigned long long flags);

/// Makes the same change in the twin, if there is one. The twin is dropped if the change fails.
void change_twin(CUgraphExec exec, const std::function<CUresult(CUgraphExec)>& change);

/// Drops the twin, because it no longer differs only in its domain or because the executable graph is destroyed.
void drop_twin(CUgraphExec exec);

struct turn_of_graph {
  CUgraphExec exec = nullptr;  ///< the executable graph to launch
  mode how = mode::off;
  bool listed = false;  ///< whether the twin may be launched
};

/// Chooses which of the two is launched: in the order off, on, on, off. For run, once it has decided, it is the moved one if
/// all its kernels are listed. It waits for the previous launch, as a single executable graph would wait for itself.
[[nodiscard]] turn_of_graph begin_turn(CUgraphExec exec, CUstream stream);
/// Called after the launch.
void end_turn(CUgraphExec exec, CUstream stream);

}  // namespace membar_domains
