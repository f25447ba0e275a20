// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programmatic dependent launches, which lint_test.py compiles to machine code without PTX.
#include <cstdint>

__device__ void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ void let_next_kernel_begin() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// The index is computed from two further parameters.
__global__ void early_write(float* out, const float* in, long long stride, int first) {
  out[threadIdx.x * stride + first] = 0;
  wait_for_kernel_before();
  out[threadIdx.x] += in[threadIdx.x];
}
__global__ void early_atomic(int* count, float* out, const float* in) {
  if (threadIdx.x == 0) {
    atomicAdd(count, 1);
  }
  wait_for_kernel_before();
  out[threadIdx.x] = in[threadIdx.x];
}
struct pointers {
  int size;
  float *in, *weights;
};
__global__ void early_read_of_a_structure(pointers p, float* out) {
  const float weight = p.weights[threadIdx.x];
  wait_for_kernel_before();
  out[threadIdx.x] = weight * p.in[threadIdx.x];
}
__global__ void early_read_of_a_table(float* const* table, float* out, const float* in) {
  const float weight = table[blockIdx.x][threadIdx.x];
  wait_for_kernel_before();
  out[threadIdx.x] = weight * in[threadIdx.x];
}
__global__ void write_of_other_warps(float* out, const float* in) {
  if (threadIdx.x < 32) {
    wait_for_kernel_before();
  } else {
    out[threadIdx.x] = 1;
  }
  __syncthreads();
  out[threadIdx.x + 1024] = in[threadIdx.x];
}

__device__ void begin_copy(std::uint64_t* barrier) {
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;" ::"r"(shared_address(barrier)) : "memory");
}
__device__ void end_copy(std::uint64_t* barrier) {
  for (int done = 0; done == 0;) {
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n\tselp.s32 %0, 1, 0, p;\n\t}"
                 : "=r"(done)
                 : "r"(shared_address(barrier))
                 : "memory");
  }
}
__global__ void early_bulk_copy(float* out, const float* in) {
  __shared__ alignas(128) float stage[128];
  __shared__ std::uint64_t barrier;
  if (threadIdx.x == 0) {
    begin_copy(&barrier);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(shared_address(stage)),
        "l"(__cvta_generic_to_global(in)), "r"(shared_address(&barrier))
        : "memory");
  }
  __syncthreads();
  end_copy(&barrier);
  wait_for_kernel_before();
  out[threadIdx.x] = stage[threadIdx.x];
}
struct alignas(64) tensor_map {
  char bytes[128];
};
__global__ void early_tensor_copy(const __grid_constant__ tensor_map other, float* out, const __grid_constant__ tensor_map in) {
  __shared__ alignas(128) float stage[128];
  __shared__ std::uint64_t barrier;
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&other) : "memory");
    begin_copy(&barrier);
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(
                     shared_address(stage)),
                 "l"(&in), "r"(shared_address(&barrier)), "r"(0)
                 : "memory");
  }
  __syncthreads();
  end_copy(&barrier);
  wait_for_kernel_before();
  out[threadIdx.x] = stage[threadIdx.x];
}
__global__ void early_tensor_store(float* out, const __grid_constant__ tensor_map to) {
  __shared__ alignas(128) float stage[128];
  stage[threadIdx.x] = 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];" ::"l"(&to),
                 "r"(shared_address(stage)), "r"(0)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
  }
  wait_for_kernel_before();
  out[threadIdx.x] = 1;
}
__global__ void early_bulk_store(float* to, float* out) {
  __shared__ alignas(128) float stage[128];
  stage[threadIdx.x] = 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" ::"l"(__cvta_generic_to_global(to)),
                 "r"(shared_address(stage))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
  }
  wait_for_kernel_before();
  out[threadIdx.x] = 1;
}
__global__ void launch_without_wait(float* out, const float* in) {
  let_next_kernel_begin();
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void never_waits(float* out) { out[threadIdx.x] = 1; }

__global__ void right_kernel(float* out, const float* in) {
  extern __shared__ float stage[];
  stage[threadIdx.x] = 1;
  wait_for_kernel_before();
  let_next_kernel_begin();
  out[threadIdx.x] = in[threadIdx.x] + stage[threadIdx.x ^ 1];
}
__global__ void right_wait_of_one_warp(float* out, const float* in) {
  if (threadIdx.x < 32) {
    wait_for_kernel_before();
  }
  __syncthreads();
  out[threadIdx.x] = in[threadIdx.x];
}
// The launch's arguments determine whether there is a kernel to wait for.
__global__ void right_wait_if_asked(float* out, const float* in, int dependent) {
  if (dependent != 0) {
    wait_for_kernel_before();
  }
  out[threadIdx.x] = in[threadIdx.x];
}
