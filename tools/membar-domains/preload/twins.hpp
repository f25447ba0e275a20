// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Of try: executable graphs with listed kernels are instantiated twice, as the program does and moved, and launched in turn. What the program
/// changes in the one is changed in the other.
#pragma once

#include <cuda.h>

#include <functional>

#include "membar-domains/records.hpp"

namespace membar_domains {

/// Instantiates the graph once more, moved, as the twin of `exec`. Where the driver rejects that, as with nodes that allocate, the graph stays alone,
/// and is counted.
void make_twin(CUgraphExec exec, CUgraph graph, unsigned long long flags);

/// Makes the same change in the twin, if there is one; it is given up if the change fails.
void change_twin(CUgraphExec exec, const std::function<CUresult(CUgraphExec)>& change);

/// The twin is no longer the same but for its domain, or the executable graph goes.
void drop_twin(CUgraphExec exec);

struct turn_of_graph {
  CUgraphExec exec = nullptr;  ///< to launch
  mode how = mode::off;
  bool listed = false;  ///< the twin may be launched
};

/// Which of the two is launched now: in the order off, on, on, off; of run, when it has settled, the moved one, if all its kernels are listed. It waits for the launch before, as one executable graph would for itself.
[[nodiscard]] turn_of_graph begin_turn(CUgraphExec exec, CUstream stream);
/// It was launched.
void end_turn(CUgraphExec exec, CUstream stream);

}  // namespace membar_domains
