// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RAFT: means and variances, which blocks sum under a lock.
#include <raft/stats/detail/meanvar.cuh>

template __global__ void raft::stats::detail::meanvar_kernel_rowmajor<float, int, 32>(
    const float*, volatile raft::stats::detail::mean_var<float>*, int*, int, int);
