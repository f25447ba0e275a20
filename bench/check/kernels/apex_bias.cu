// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Apex: the bias gradient, summed by the last block.
#include <mlp_cuda.cu>

template __global__ void biasAdd_bprop<float, 4>(float*, int, int, volatile float*, int*, float*);
