// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each device has its own instance of a __device__ variable, and all devices share a __managed__ variable.
__device__ unsigned steps = 1;
__managed__ unsigned all_steps = 1;

extern "C" __global__ void step(unsigned* out) {
  steps += 1;
  *out = steps;
}

extern "C" __global__ void step_all(unsigned* out) {
  all_steps += 1;
  *out = all_steps;
}
