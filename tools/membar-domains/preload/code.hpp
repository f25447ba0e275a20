// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tracks modules, libraries and kernels: which handles are kernels, when handles become invalid and, with --check, the code
/// that is loaded.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "intercept/driver.hpp"
#include "membar-domains/preload/hooks.hpp"
#include "membar-domains/preload/images.hpp"
#include "membar-domains/preload/session.hpp"

namespace membar_domains {

/// Handles a function that destroys a module, library, context or device. The argument is the handle of the destroyed object.
template <hook_id Id>
CUresult on_gone(std::uintptr_t owner) {
  const CUresult result = next<Id>(owner);
  if constexpr (Id == hook_id::of_cuDevicePrimaryCtxRelease_v2) {
    unsigned flags = 0;
    int active = 0;
    if (driver::cuDevicePrimaryCtxGetState_(static_cast<CUdevice>(owner), &flags, &active) == CUDA_SUCCESS && active != 0) {
      return result;  // the context is still in use; programs may retain and release it often
    }
  }
  session::get().forget();
  return result;
}

template <hook_id Id>
CUresult on_library_get_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const CUresult result = next<Id>(kernel, library, name);
  if (result == CUDA_SUCCESS && session::get().what() != job::none) {
    session::get().is_a_kernel(*kernel);
  }
  if (result == CUDA_SUCCESS && session::get().checks()) {
    kernel_of_image(library, name);
  }
  return result;
}

/// Handles the functions that return all kernels of a library or all functions of a module.
template <hook_id Id>
CUresult on_library_enumerate(CUkernel* kernels, unsigned count, CUlibrary library) {
  const CUresult result = next<Id>(kernels, count, library);
  session& of = session::get();
  for (unsigned i = 0; i < count && result == CUDA_SUCCESS && of.what() != job::none && kernels[i] != nullptr; ++i) {
    of.is_a_kernel(kernels[i]);
    if (of.checks()) {
      kernel_of_image(library, of.name_of(reinterpret_cast<CUfunction>(kernels[i])).c_str());
    }
  }
  return result;
}

template <hook_id Id>
CUresult on_module_enumerate(CUfunction* functions, unsigned count, CUmodule module) {
  const CUresult result = next<Id>(functions, count, module);
  session& of = session::get();
  for (unsigned i = 0; i < count && result == CUDA_SUCCESS && of.checks() && functions[i] != nullptr; ++i) {
    kernel_of_image(module, of.name_of(functions[i]).c_str());
  }
  return result;
}

template <hook_id Id>
CUresult on_library_get_module(CUmodule* module, CUlibrary library) {
  const CUresult result = next<Id>(module, library);
  if (result == CUDA_SUCCESS && session::get().checks()) {
    same_image(*module, library);
  }
  return result;
}

template <hook_id Id>
CUresult on_library_load(CUlibrary* library, const void* code, CUjit_option* jit, void** jit_values, unsigned jit_count,
                         CUlibraryOption* options, void** values, unsigned count) {
  const CUresult result = next<Id>(library, code, jit, jit_values, jit_count, options, values, count);
  if (result == CUDA_SUCCESS && session::get().checks()) {
    keep_image(*library, code);
  }
  return result;
}

template <hook_id Id>
CUresult on_library_load_file(CUlibrary* library, const char* path, CUjit_option* jit, void** jit_values, unsigned jit_count,
                              CUlibraryOption* options, void** values, unsigned count) {
  const CUresult result = next<Id>(library, path, jit, jit_values, jit_count, options, values, count);
  if (result == CUDA_SUCCESS && session::get().checks()) {
    keep_image_file(*library, path);
  }
  return result;
}

template <hook_id Id>
CUresult on_module_load_file(CUmodule* module, const char* path) {
  const CUresult result = next<Id>(module, path);
  if (result == CUDA_SUCCESS && session::get().checks()) {
    keep_image_file(*module, path);
  }
  return result;
}

/// Handles cuModuleLoadData, cuModuleLoadFatBinary, and cuModuleLoadDataEx, which has three more arguments.
template <hook_id Id>
CUresult on_module_load(CUmodule* module, const void* image, std::uintptr_t third, std::uintptr_t fourth,
                        std::uintptr_t fifth) {
  const CUresult result = next<Id>(module, image, third, fourth, fifth);
  if (result == CUDA_SUCCESS && session::get().checks()) {
    keep_image(*module, image);
  }
  return result;
}

template <hook_id Id>
CUresult on_module_get_function(CUfunction* function, CUmodule module, const char* name) {
  const CUresult result = next<Id>(function, module, name);
  if (result == CUDA_SUCCESS && session::get().checks()) {
    kernel_of_image(module, name);
  }
  return result;
}

}  // namespace membar_domains
