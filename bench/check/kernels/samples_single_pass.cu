// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// threadFenceReduction from NVIDIA's CUDA samples.
#include <threadFenceReduction_kernel.cuh>
