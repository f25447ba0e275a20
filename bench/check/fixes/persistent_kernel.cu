// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scheduler and the workers of Mirage's persistent kernel, with a task that accesses memory.
#include <persistent_kernel.cuh>
__device__ __forceinline__ void _execute_task(TaskDesc const& task, RuntimeConfig const&) {
  float* const out = static_cast<float*>(task.outputs[0].base_ptr);
  float const* const in = static_cast<float const*>(task.inputs[0].base_ptr);
  out[threadIdx.x] = in[threadIdx.x];
}
