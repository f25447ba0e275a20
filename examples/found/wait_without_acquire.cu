// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A GPU signals another GPU with a release reduction. The other GPU waits with relaxed loads, and reads the data.

__global__ void send(int* data, int* signal) {
  *data = 7;
  asm volatile("red.release.sys.global.add.s32 [%0], 1;" ::"l"(signal) : "memory");
}

template <bool Fixed>
__global__ void receive(const int* data, const int* signal, int* out) {
  int seen;
  do {
    if constexpr (Fixed) {
      asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(seen) : "l"(signal) : "memory");
    } else {
      asm volatile("ld.relaxed.sys.global.s32 %0, [%1];" : "=r"(seen) : "l"(signal) : "memory");
    }
  } while (seen != 1);
  *out = *data;
}
template __global__ void receive<false>(const int*, const int*, int*);
template __global__ void receive<true>(const int*, const int*, int*);
