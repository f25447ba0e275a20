// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libcu++: synchronization between the blocks of a device, and pipelines and barriers of a block.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

#pragma nv_diag_suppress static_var_with_dynamic_init

constexpr auto device = cuda::thread_scope_device;

__global__ void begin(cuda::barrier<device>* barrier, cuda::latch<device>* latch,
                      cuda::counting_semaphore<device, 2>* semaphore, int count) {
  new (barrier) cuda::barrier<device>(count);
  new (latch) cuda::latch<device>(count);
  new (semaphore) cuda::counting_semaphore<device, 2>(1);
}

__global__ void by_barrier(cuda::barrier<device>* barrier, int* data, int* out) {
  data[blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
  barrier->arrive_and_wait();
  out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];
}

__global__ void by_latch(cuda::latch<device>* latch, int* data, int* out) {
  data[blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
  if (blockIdx.x == 0) {
    latch->arrive_and_wait();
    for (unsigned k = 0; k < gridDim.x; ++k) {
      *out += data[k];
    }
  } else {
    latch->count_down();
  }
}

__global__ void by_semaphore(cuda::counting_semaphore<device, 2>* semaphore, int* count) {
  semaphore->acquire();
  ++*count;
  semaphore->release();
}

__global__ void by_wait(int* flag, int* data, int* out) {
  cuda::atomic_ref<int, device> ref(*flag);
  if (blockIdx.x == 0) {
    *data = 7;
    ref.store(1, cuda::memory_order_release);
    ref.notify_all();
  } else {
    ref.wait(0, cuda::memory_order_acquire);
    out[blockIdx.x] = *data;
  }
}

// Warp 0 fills stages, and warp 1 uses them.
__global__ void by_stages(const int* from, int* out, int count) {
  __shared__ cuda::barrier<cuda::thread_scope_block> full[2];
  __shared__ cuda::barrier<cuda::thread_scope_block> empty[2];
  __shared__ int stage[2][32];
  if (threadIdx.x < 2) {
    init(&full[threadIdx.x], 64);
    init(&empty[threadIdx.x], 64);
  }
  __syncthreads();
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int k = 0; k < count; ++k) {
      empty[k % 2].arrive_and_wait();
      stage[k % 2][lane] = from[32 * k + lane];
      (void)full[k % 2].arrive();
    }
  } else {
    (void)empty[0].arrive();
    (void)empty[1].arrive();
    for (int k = 0; k < count; ++k) {
      full[k % 2].arrive_and_wait();
      out[32 * k + lane] = stage[k % 2][31 - lane];
      (void)empty[k % 2].arrive();
    }
  }
}

__global__ void by_pipeline(const int* from, int* out, int count) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int stage[2][4];
  const auto block = cooperative_groups::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  for (int k = 0; k < count; ++k) {
    pipeline.producer_acquire();
    cuda::memcpy_async(block, stage[k % 2], from + 4 * k, cuda::aligned_size_t<16>(16), pipeline);
    pipeline.producer_commit();
    pipeline.consumer_wait();
    out[4 * k + threadIdx.x] = stage[k % 2][3 - threadIdx.x];
    pipeline.consumer_release();
  }
  block.sync();
}
