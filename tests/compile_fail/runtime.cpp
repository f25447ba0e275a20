// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host headers, compiled with the runtime of a toolkit that is too old.
#include "refused.hpp"

#include <cuda_runtime_api.h>

// expect: error: #error "membar: these headers need CUDA 12.8 or newer: compile with a newer toolkit"
REFUSED(host_headers_need_cuda_12_8, static_assert(true));
#if defined(RULE_host_headers_need_cuda_12_8)
#undef CUDART_VERSION
#define CUDART_VERSION 12060
#include <membar/device_guard.hpp>
#endif
