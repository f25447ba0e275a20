// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Kernels that synchronize with libcu++ and cooperative groups; readable_kernels.py counts them.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

#include <cstdio>

namespace cg = cooperative_groups;

template <class Value, cuda::thread_scope Scope>
__global__ void atomics(Value* data) {
  cuda::atomic_ref<Value, Scope> cell(*data);
  const Value old = cell.load(cuda::memory_order_acquire);
  cell.store(old + Value(1), cuda::memory_order_release);
  cell.fetch_add(Value(2), cuda::memory_order_acq_rel);
  Value expected = old;
  cell.compare_exchange_strong(expected, Value(3));
  cell.exchange(expected);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, Scope);
  data[1] = expected;
}
template __global__ void atomics<int, cuda::thread_scope_block>(int*);
template __global__ void atomics<unsigned, cuda::thread_scope_device>(unsigned*);
template __global__ void atomics<unsigned long long, cuda::thread_scope_system>(unsigned long long*);
template __global__ void atomics<float, cuda::thread_scope_device>(float*);
template __global__ void atomics<double, cuda::thread_scope_device>(double*);
template __global__ void atomics<short, cuda::thread_scope_device>(short*);
template __global__ void atomics<unsigned char, cuda::thread_scope_device>(unsigned char*);

__global__ void barriers(int* data) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
  }
  __syncthreads();
  auto token = barrier.arrive();
  data[threadIdx.x] = 1;
  barrier.wait(std::move(token));
  barrier.arrive_and_wait();
  barrier.arrive_and_drop();
}

__global__ void device_wide(cuda::barrier<cuda::thread_scope_device>* barrier, cuda::latch<cuda::thread_scope_device>* latch,
                            cuda::counting_semaphore<cuda::thread_scope_device, 4>* semaphore) {
  barrier->arrive_and_wait();
  latch->arrive_and_wait();
  semaphore->acquire();
  semaphore->release();
}

__global__ void pipelined(const int* in, int* out, int n) {
  __shared__ int stage[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int k = 0; k < n; ++k) {
    pipe.producer_acquire();
    cuda::memcpy_async(block, stage[k % 2], in + 128 * k, cuda::aligned_size_t<16>(512), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    out[128 * k + threadIdx.x] = stage[k % 2][threadIdx.x];
    pipe.consumer_release();
  }
}

__global__ void groups(const int* in, int* out) {
  __shared__ int stage[128];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, stage, in, sizeof(stage));
  cg::wait(block);
  auto warp = cg::tiled_partition<32>(block);
  auto few = cg::tiled_partition<4>(block);
  int value = cg::reduce(warp, stage[threadIdx.x], cg::plus<int>());
  value += cg::inclusive_scan(few, value);
  auto active = cg::coalesced_threads();
  value += active.shfl(value, 0);
  auto halves = cg::binary_partition(active, value > 3);
  out[threadIdx.x] = value + static_cast<int>(halves.size());
  cg::this_grid().sync();
}

__global__ void allocates(int** out) {
  auto* const p = static_cast<int*>(malloc(16));
  auto* const q = new int(3);
  *out = p != nullptr ? p : q;
  free(p);
  delete q;
  printf("%d\n", 1);
}
