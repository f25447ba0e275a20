// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two GPUs copy inputs into memory that the other GPU reads; threads raise flags without waiting for other threads' copies.

__device__ void raise(unsigned* flag, unsigned step) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(step) : "memory");
}
__device__ unsigned look(const unsigned* flag) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

/// Thread t raises the flag that rank t waits for, and waits for the flag that rank t raises.
template <bool Fixed>
__global__ void copy_and_add(const int* input, int* shared0, int* shared1, unsigned* flags0, unsigned* flags1, int* sum,
                             unsigned rank) {
  const unsigned t = threadIdx.x;
  int* const mine = rank == 0 ? shared0 : shared1;
  mine[t] = input[t];
  if constexpr (Fixed) {
    __syncthreads();
  }
  if (t < 2) {
    raise((t == 0 ? flags0 : flags1) + rank, 1);
    while (look((rank == 0 ? flags0 : flags1) + t) != 1) {
    }
  }
  __syncthreads();
  sum[t] = shared0[t] + shared1[t];
}
template __global__ void copy_and_add<false>(const int*, int*, int*, unsigned*, unsigned*, int*, unsigned);
template __global__ void copy_and_add<true>(const int*, int*, int*, unsigned*, unsigned*, int*, unsigned);
