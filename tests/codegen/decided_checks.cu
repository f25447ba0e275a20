// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks that cannot fail, which kernel_checks.py must find, and checks that can fail.
#include <tests/common/checked.cuh>

namespace membar_test {

struct guarded {
  unsigned holder;
  unsigned long long violations;
};

/// Calls a function that orders memory, as a lock's functions do.
__device__ inline void order() { asm volatile("" ::: "memory"); }

__global__ void find_a_second_holder(guarded* data) {
  order();
  data->violations += checked(data->holder != 0);
  data->holder = threadIdx.x + 1;
  data->violations += checked(data->holder != threadIdx.x + 1);  // expect: the compiler has decided this check
  data->holder = 0;
  order();
  data->violations += data->holder == 0 ? 0 : 1;  // expect: counts findings without `checked`
}

__global__ void find_a_second_holder_if_the_compiler_lets_it(guarded* data) {
  volatile unsigned& holder = data->holder;
  data->violations += checked(holder != 0);
  holder = threadIdx.x + 1;
  data->violations += checked(holder != threadIdx.x + 1);
  holder = 0;
}

/// The compiler knows the only value that any thread stores, regardless of the order in which the threads run.
__global__ void publish_a_constant(unsigned* results) {
  __shared__ unsigned value;
  if (threadIdx.x == 0) {
    value = 7;
  }
  __syncthreads();
  results[threadIdx.x] = value;  // expect: a constant is stored
}

__global__ void publish(unsigned* results, unsigned number) {
  __shared__ unsigned value;
  if (threadIdx.x == 0) {
    value = number;
  }
  __syncthreads();
  results[threadIdx.x] = value;
}

__global__ void check_nothing(unsigned* result) {
  *result += checked(threadIdx.x > blockDim.x / 2);  // expect: this check depends on no memory
}

__device__ inline bool nobody_calls(const unsigned* word) {
  return checked(*word != 0);  // expect: this check is in no kernel
}

}  // namespace membar_test
