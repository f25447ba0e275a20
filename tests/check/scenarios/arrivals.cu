// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many arrivals at a cuda::barrier, and blocks in which every thread executes a fence and the last block sums the parts.
#include <cuda/barrier>

using block_barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void meet(unsigned* data, unsigned* out) {
  __shared__ block_barrier all;
  if (threadIdx.x == 0) {
    init(&all, blockDim.x);
  }
  __syncthreads();
  data[threadIdx.x] = threadIdx.x + 1;
  all.arrive_and_wait();
  out[threadIdx.x] = data[(threadIdx.x + 1) % blockDim.x];
}

// Thread 0 passes items to all others.
template <bool Waits>
__global__ void consume(unsigned* out) {
  __shared__ block_barrier full;
  __shared__ block_barrier empty;
  __shared__ unsigned item;
  if (threadIdx.x == 0) {
    init(&full, blockDim.x);
    init(&empty, blockDim.x);
  }
  __syncthreads();
  unsigned sum = 0;
  for (unsigned round = 0; round < 2; ++round) {
    if (threadIdx.x == 0) {
      item = round + 1;
      (void)full.arrive();
      if (Waits) {
        empty.arrive_and_wait();
      }
    } else {
      full.arrive_and_wait();
      sum += item;
      (void)empty.arrive();
    }
  }
  out[threadIdx.x] = sum;
}

template __global__ void consume<true>(unsigned*);
template __global__ void consume<false>(unsigned*);

__global__ void fence_all(unsigned* part, unsigned* count, unsigned* out) {
  __shared__ bool last;
  part[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(count, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    __threadfence();
    unsigned sum = 0;
    for (unsigned block = 0; block < gridDim.x; ++block) {
      sum += part[block * blockDim.x + threadIdx.x];
    }
    out[threadIdx.x] = sum;
  }
}
