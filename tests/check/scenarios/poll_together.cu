// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks and warps whose threads wait for a flag together: through a barrier that votes, a warp vote, a shuffle, or a flag in
// shared memory.
__device__ unsigned poll(const unsigned* flag) {
  unsigned seen;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  return seen;
}

__device__ void raise(unsigned* flag, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__global__ void put(unsigned* data, unsigned* flag) {
  *data = 7;
  raise(flag, 1);
}

__global__ void by_barrier(unsigned* data, unsigned* flag, unsigned* out) {
  unsigned seen = 0;
  while (__syncthreads_or(seen) == 0) {
    if (threadIdx.x == 0) {
      seen = poll(flag);
    }
  }
  out[threadIdx.x] = *data;
}

__global__ void by_vote(unsigned* data, unsigned* flag, unsigned* out) {
  while (!__all_sync(15, poll(flag) != 0)) {
  }
  out[threadIdx.x] = *data;
}

__global__ void by_shuffle(unsigned* data, unsigned* flag, unsigned* out) {
  unsigned seen = 0;
  do {
    seen = threadIdx.x == 0 ? poll(flag) : 0;
    seen = __shfl_sync(~0U, seen, 0);
  } while (seen == 0);
  __syncwarp();
  out[threadIdx.x] = *data;
}

__global__ void by_shared(unsigned* data, unsigned* flag, unsigned* out) {
  __shared__ unsigned seen;
  do {
    __syncthreads();
    if (threadIdx.x == 0) {
      seen = poll(flag);
    }
    __syncthreads();
  } while (seen == 0);
  out[threadIdx.x] = *data;
}

// Blocks take turns, as in CUTLASS's Semaphore.
__global__ void by_turns(unsigned* lock, unsigned* sum) {
  const bool waits = threadIdx.x == 0;
  unsigned seen = waits ? poll(lock) : 0;
  while (__syncthreads_and(waits ? seen != blockIdx.x : 1) != 0) {
    if (waits) {
      seen = poll(lock);
    }
  }
  __syncthreads();
  sum[threadIdx.x] += blockIdx.x + 1;
  __syncthreads();
  if (waits) {
    raise(lock, blockIdx.x + 1);
  }
}

// A scan over blocks, like CUB's, in which each block's first warp looks back. A single word holds each previous block's status
// and value: status 1 means the block's own sum, and status 2 means the sum up to and including that block.
constexpr unsigned partial = 1U << 30U;
constexpr unsigned inclusive = 2U << 30U;
constexpr unsigned value_bits = partial - 1;

__global__ void look_back(unsigned* status, unsigned* out) {
  __shared__ unsigned before;
  __shared__ unsigned of_warp[32];
  const unsigned sum_of_warp = __reduce_add_sync(~0U, threadIdx.x + 1);
  if (threadIdx.x % 32 == 0) {
    of_warp[threadIdx.x / 32] = sum_of_warp;
  }
  __syncthreads();
  unsigned own = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) {
    own += of_warp[warp];
  }
  if (threadIdx.x == 0) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(status + blockIdx.x),
                 "r"((blockIdx.x == 0 ? inclusive : partial) | own));
  }
  if (threadIdx.x < 32 && blockIdx.x != 0) {
    unsigned sum = 0;
    int window = static_cast<int>(blockIdx.x) - 1 - static_cast<int>(threadIdx.x);
    while (true) {
      unsigned seen = inclusive;
      do {
        if (window >= 0) {
          asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(status + window) : "memory");
        }
      } while (__any_sync(~0U, seen < partial));
      const unsigned ends = __ballot_sync(~0U, seen >= inclusive);
      const unsigned last = __ffs(static_cast<int>(ends)) - 1;
      sum += __reduce_add_sync(~0U, ends == 0 || threadIdx.x <= last ? seen & value_bits : 0);
      if (ends != 0) {
        break;
      }
      window -= 32;
    }
    if (threadIdx.x == 0) {
      asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(status + blockIdx.x), "r"(inclusive | (sum + own)));
      before = sum;
    }
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = own + (blockIdx.x == 0 ? 0 : before);
}
