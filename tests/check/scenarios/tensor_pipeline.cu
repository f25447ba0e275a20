// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matrix product, pipelined as in CUTLASS and ThunderKittens on compute capability 9.0. A warp loads tiles with tensor
// copies, a warpgroup multiplies them with wgmma, and mbarriers signal which stages are full and which are empty. Each faulty
// version omits one step.
#include <cstdint>

enum class fault { none, full, products, registers, empty, expected };

struct alignas(64) tensor_map {
  unsigned char bytes[128];
};

constexpr int stages = 2;
constexpr int rounds = 3;
constexpr unsigned a_bytes = 64 * 64 * 2;
constexpr unsigned b_bytes = 8 * 64 * 2;

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ void init(std::uint64_t* barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
__device__ void wait(std::uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(
          shared_address(barrier)),
      "r"(parity)
      : "memory");
}
__device__ void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ void expect(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ void load(void* to, const tensor_map* map, int x, int y, std::uint64_t* barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
                   shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y)
               : "memory");
}

/// Swizzled rows of 128 bytes; 8 rows have 1024 bytes.
__device__ std::uint64_t descriptor(const void* tile) {
  return ((shared_address(tile) & 0x3ffffULL) >> 4) | (1ULL << 16) | (64ULL << 32) | (1ULL << 62);
}
__device__ void multiply(float (&d)[4], std::uint64_t a, std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "l"(a), "l"(b));
}

template <fault Fault>
__global__ void product(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, float* out) {
  extern __shared__ __align__(1024) unsigned char tiles[];
  __shared__ std::uint64_t full[stages];
  __shared__ std::uint64_t empty[stages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      init(&full[s], 1);
      init(&empty[s], 1);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      for (int k = 0; k < rounds; ++k) {
        const int s = k % stages;
        unsigned char* const stage = tiles + s * (a_bytes + b_bytes);
        if (k >= stages && Fault != fault::empty) {
          wait(&empty[s], (k / stages - 1) & 1);
        }
        expect(&full[s], Fault == fault::expected ? a_bytes : a_bytes + b_bytes);
        load(stage, &a_map, 64 * k, 0, &full[s]);
        load(stage + a_bytes, &b_map, 64 * k, 0, &full[s]);
      }
    }
    return;
  }
  float d[4] = {};
  for (int k = 0; k < rounds; ++k) {
    const int s = k % stages;
    const unsigned char* const stage = tiles + s * (a_bytes + b_bytes);
    if (Fault != fault::full) {
      wait(&full[s], (k / stages) & 1);
    }
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    const std::uint64_t a = descriptor(stage);
    const std::uint64_t b = descriptor(stage + a_bytes);
    for (int n = 0; n < 4; ++n) {
      multiply(d, a + 2 * n, b + 2 * n);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (Fault != fault::products && Fault != fault::registers) {
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    if (Fault == fault::registers) {
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    if (threadIdx.x == 0 && (Fault != fault::registers || k > 0)) {
      arrive(&empty[Fault == fault::registers ? (k - 1) % stages : s]);
    }
  }
  if (Fault != fault::registers) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  for (int n = 0; n < 4; ++n) {
    out[4 * threadIdx.x + n] = d[n];
  }
}
template __global__ void product<fault::none>(const __grid_constant__ tensor_map, const __grid_constant__ tensor_map, float*);
template __global__ void product<fault::full>(const __grid_constant__ tensor_map, const __grid_constant__ tensor_map, float*);
template __global__ void product<fault::products>(const __grid_constant__ tensor_map, const __grid_constant__ tensor_map,
                                                  float*);
template __global__ void product<fault::registers>(const __grid_constant__ tensor_map, const __grid_constant__ tensor_map,
                                                   float*);
template __global__ void product<fault::empty>(const __grid_constant__ tensor_map, const __grid_constant__ tensor_map, float*);
template __global__ void product<fault::expected>(const __grid_constant__ tensor_map, const __grid_constant__ tensor_map,
                                                  float*);
