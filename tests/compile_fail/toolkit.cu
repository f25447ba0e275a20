// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled as if by a compiler that is too old to be supported.
#include "refused.hpp"

// expect: error: #error "membar: these headers need CUDA 12.8 or newer: compile with a newer toolkit"
REFUSED(device_headers_need_cuda_12_8, static_assert(true));
// expect: error: #error "membar: these headers need CUDA 12.8 or newer: compile with a newer toolkit"
REFUSED(the_vocabulary_needs_cuda_12_8, static_assert(true));
#if defined(RULE_device_headers_need_cuda_12_8) || defined(RULE_the_vocabulary_needs_cuda_12_8)
#undef __CUDACC_VER_MAJOR__
#undef __CUDACC_VER_MINOR__
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 7
#endif
#if defined(RULE_device_headers_need_cuda_12_8)
#include <membar/fence.cuh>
#endif
#if defined(RULE_the_vocabulary_needs_cuda_12_8)
#include <membar/memory_order.hpp>
#endif
