// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// FlashInfer's version of vLLM's custom all-reduce.
#include <flashinfer/comm/vllm_custom_all_reduce.cuh>

template __global__ void vllm::cross_device_reduce_1stage<float, 2>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, float*,
                                                                    int, int);
template __global__ void vllm::cross_device_reduce_2stage<float, 2>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, float*,
                                                                    int, int);
