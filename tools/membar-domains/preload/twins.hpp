// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// For `try` and `run`: executable graphs with listed kernels are instantiated twice, once as in the program and once with the
/// kernels moved. The two graphs are launched in turn. Changes that the program makes to one graph are also made to the other.
#pragma once

#include <cuda.h>

#include <functional>

#include "membar-domains/records.hpp"

namespace membar_domains {

/// Instantiates the graph a second time with its kernels moved. The result is the twin of `exec`. If the driver rejects this,
/// for example because of nodes that allocate memory, the graph has no twin, and `graphs_alone` counts it.
void make_twin(CUgraphExec exec, CUgraph graph, unsigned long long flags);

/// Makes the same change to the twin, if there is one. If the change fails, the twin is dropped.
void change_twin(CUgraphExec exec, const std::function<CUresult(CUgraphExec)>& change);

/// Drops the twin, because it differs from the original in more than the domain, or because the executable graph is destroyed.
void drop_twin(CUgraphExec exec);

struct turn_of_graph {
  CUgraphExec exec = nullptr;  ///< the executable graph to launch
  mode how = mode::off;
  bool listed = false;  ///< whether the graph has a twin that may be launched
};

/// Chooses which of the two graphs is launched, in the order unmoved, moved, moved, unmoved. Under `run`, after the decision,
/// the moved graph is chosen if all its kernels are listed. The launch waits for the previous one, like two launches of a
/// single executable graph.
[[nodiscard]] turn_of_graph begin_turn(CUgraphExec exec, CUstream stream);
/// Must be called after the launch.
void end_turn(CUgraphExec exec, CUstream stream);

}  // namespace membar_domains
