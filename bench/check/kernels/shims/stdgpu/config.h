// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// stdgpu's build generates this file.
#pragma once
#define STDGPU_BACKEND STDGPU_BACKEND_CUDA
#define STDGPU_BACKEND_DIRECTORY cuda
#define STDGPU_BACKEND_NAMESPACE cuda
#define STDGPU_BACKEND_MACRO_NAMESPACE CUDA
#define STDGPU_ENABLE_CONTRACT_CHECKS 0
#define STDGPU_USE_32_BIT_INDEX 1
