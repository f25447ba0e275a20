// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A program built with nvcc: a cooperative launch, a flag without fences, pointers in a table, a graph within a graph, and a
/// box that is copied with a tensor map.
#include <cooperative_groups.h>
#include <cuda.h>

#include <cstdio>
#include <cstring>

// The kernels are not in an unnamed namespace, so that every compilation gives them the same names.

/// Each thread sums the values that its neighbours in the grid have stored.
__global__ void ring_sum(const unsigned* in, unsigned* stored, unsigned* out, int n) {
  const auto grid = cooperative_groups::this_grid();
  const unsigned me = static_cast<unsigned>(grid.thread_rank());
  stored[me] = in[me] + in[me + n / 2];
  grid.sync();
  out[me] = stored[me] + stored[(me + 1) % grid.size()];
}

/// A race: there is no fence between the data and the flag.
__global__ void flag_without_fence(unsigned* data, unsigned* flag, unsigned* out) {
  if (blockIdx.x == 0) {
    data[0] = 42;
    atomicExch(flag, 1);
  } else if (atomicAdd(flag, 0) == 1) {
    out[0] = data[0];
  }
}

struct table {
  unsigned** rows;
  int row;
};
__global__ void through_table(table t) {
  atomicAdd(&t.rows[t.row % 2][blockIdx.x], 1);
  __threadfence();
}

/// Every block of this grid increments a counter. The grid is too large to explore, unless --shrink gives it fewer blocks.
__global__ void count_ranges(const float* in, unsigned* counts) {
  if (in[blockIdx.x * blockDim.x + threadIdx.x] > 0.5F) {
    atomicAdd(&counts[threadIdx.x], 1);
  }
}

/// A box of 8 rows of 16 numbers.
__global__ void copy_box(const __grid_constant__ CUtensorMap map, unsigned short* out) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(128) unsigned short box[8][16];
  __shared__ unsigned long long barrier;
  const auto address = [](const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); };
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&barrier)) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(address(&barrier)) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2}], [%3];" ::"r"(
            address(box)),
        "l"(&map), "r"(0), "r"(address(&barrier))
        : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(address(&barrier))
                 : "memory");
  }
  for (unsigned row = 0; row < 8; ++row) {
    out[row * 16 + threadIdx.x] = box[row][threadIdx.x];
  }
#endif
}

namespace {

template <class T>
T* filled(const T* from, std::size_t count) {
  T* out = nullptr;
  cudaMalloc(&out, count * sizeof(T));
  cudaMemcpy(out, from, count * sizeof(T), cudaMemcpyHostToDevice);
  return out;
}

template <class T>
T* zeros(std::size_t count) {
  T* out = nullptr;
  cudaMalloc(&out, count * sizeof(T));
  cudaMemset(out, 0, count * sizeof(T));
  return out;
}

void launch_in_graphs(table t) {
  cudaGraph_t inner = nullptr;
  cudaGraph_t outer = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphNode_t nodes[3] = {};
  void* arguments[] = {&t};
  cudaKernelNodeParams p{};
  p.func = reinterpret_cast<void*>(&through_table);
  p.gridDim = dim3(2);
  p.blockDim = dim3(1);
  p.kernelParams = arguments;
  cudaGraphCreate(&inner, 0);
  cudaGraphAddKernelNode(&nodes[0], inner, nullptr, 0, &p);
  cudaGraphCreate(&outer, 0);
  t.row = 1;
  cudaGraphAddKernelNode(&nodes[1], outer, nullptr, 0, &p);
  cudaGraphAddChildGraphNode(&nodes[2], outer, nullptr, 0, inner);
  cudaGraphInstantiate(&exec, outer, 0);
  cudaGraphLaunch(exec, nullptr);
}

void launch_tensor_copy(unsigned short* out) {
  unsigned short numbers[16 * 16];
  for (unsigned i = 0; i < 16 * 16; ++i) {
    numbers[i] = static_cast<unsigned short>(i);
  }
  unsigned short* const matrix = filled(numbers, 16 * 16);
  void* encode = nullptr;
  cudaDriverEntryPointQueryResult found{};
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
  CUtensorMap map{};
  const cuuint64_t extents[] = {16, 16};
  const cuuint64_t strides[] = {32};
  const cuuint32_t box[] = {16, 8};
  const cuuint32_t steps[] = {1, 1};
  if (encode == nullptr ||
      reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
          &map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, matrix, extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
          CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
    std::puts("no tensor map");
    return;
  }
  copy_box<<<1, 16>>>(map, out);
}

}  // namespace

int main() {
  unsigned numbers[16];
  for (unsigned i = 0; i < 16; ++i) {
    numbers[i] = i + 1;
  }
  unsigned* in = filled(numbers, 16);
  unsigned* stored = zeros<unsigned>(16);
  unsigned* out = zeros<unsigned>(16);
  int n = 16;
  void* arguments[] = {&in, &stored, &out, &n};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(&ring_sum), dim3(2), dim3(4), arguments, 0, nullptr);
  flag_without_fence<<<2, 1>>>(zeros<unsigned>(1), zeros<unsigned>(1), zeros<unsigned>(1));
  unsigned* rows[] = {zeros<unsigned>(16), zeros<unsigned>(16)};
  const table t{filled(rows, 2), 0};
  through_table<<<2, 1>>>(t);
  launch_in_graphs(t);
  float ones[64 * 128];
  for (float& one : ones) {
    one = 1.0F;
  }
  count_ranges<<<128, 64>>>(filled(ones, 64 * 128), zeros<unsigned>(64));
  auto* const box = zeros<unsigned short>(8 * 16);
  launch_tensor_copy(box);
  unsigned short last = 0;
  cudaMemcpy(&last, box + 127, sizeof last, cudaMemcpyDeviceToHost);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s, %d\n", cudaGetErrorString(error), last);
  return error == cudaSuccess && last == 127 ? 0 : 1;
}
