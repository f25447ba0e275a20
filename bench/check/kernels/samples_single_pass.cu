// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// threadFenceReduction of NVIDIA's CUDA samples.
#include <threadFenceReduction_kernel.cuh>
