// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Apex: the barrier between several blocks in its group norm, with and without a cluster.
#include <gn_cuda_kernel.cuh>

template <bool Cluster>
__global__ void exchange(unsigned* barrier, int* data, int* out) {
  const unsigned n = blockIdx.x * blockDim.x + threadIdx.x;
  data[n] = static_cast<int>(n);
  group_norm_v2::virtual_cluster_sync<2, true, Cluster>(barrier);
  out[n] = data[(n + blockDim.x) % (2 * blockDim.x)];
}
template __global__ void exchange<true>(unsigned*, int*, int*);
template __global__ void exchange<false>(unsigned*, int*, int*);
