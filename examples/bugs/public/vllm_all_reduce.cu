// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two-stage kernel of vLLM's custom all-reduce from its own header, with two ranks and floats.
#include <array>
#include <stdexcept>
#include <string>

#include <custom_all_reduce.cuh>

#ifdef FLAGS_ARE_VOLATILE  // vLLM 0.5
using signal_pointer = volatile vllm::Signal*;
#else
using signal_pointer = vllm::Signal*;
#endif

template __global__ void vllm::cross_device_reduce_2stage<float, 2>(RankData*, RankSignals, signal_pointer, float* __restrict__,
                                                                    int, int);
