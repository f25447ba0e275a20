// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tracks the code that the program loads, and the kernels in it.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "membar-check/recorder/delays.hpp"
#include "membar-check/recorder/hooks.hpp"
#include "membar-check/recorder/session.hpp"

namespace membar_record {

/// The recorder's information about a kernel. Objects of this type are never freed.
struct kernel {
  std::string name;
  bool selected = false;
  int ptx = -1;              ///< the number of the file with the kernel's PTX; -1 if there is no PTX
  unsigned ptx_choices = 1;  ///< how many PTX texts may belong to the kernel; the file contains the most likely one
  int registers = 0;
  int static_shared = 0;
  struct parameter {
    std::size_t offset, bytes;
  };
  std::vector<parameter> parameters{};
  struct variable {
    std::string name;
    CUdeviceptr address;
    std::size_t bytes;
  };
  std::vector<variable> variables{};  ///< the variables in the kernel's module that the driver can find
};

/// Returns the kernel that a handle refers to. Each handle is examined only once.
[[nodiscard]] const kernel* kernel_of(CUfunction handle);

/// Returns the PTX in an image that defines the kernel, for the newest architecture that the device can run. Returns an empty
/// string if there is none.
[[nodiscard]] std::string ptx_with_kernel(const void* given, const std::string& name);
/// Returns the contents of a file, or an empty string if it cannot be read.
[[nodiscard]] std::string text_of_file(const std::filesystem::path& path);
/// Returns the contents of a file, followed by zeros.
[[nodiscard]] std::string image_of_file(const char* path);

/// Handles an image that was loaded from memory or from a file.
void keep_image(const void* owner, const void* image);
void keep_image_file(const void* owner, const char* path);
/// Handles PTX that a compiler has produced or a linker has received.
void keep_text(std::string_view text);
/// Handles a kernel that was looked up in a module or library, or through another handle to the kernel.
void keep_owner(const void* kernel, const void* owner, bool is_kernel_handle);
/// Discards the information about handles, because they may refer to other objects from now on.
void forget_handles();

/// Returns whether cuInit has been called.
[[nodiscard]] bool cuda_begun() noexcept;
void cuda_begins() noexcept;

/// Loads code with delays. If the driver rejects that code, loads the program's own code.
template <class Code, class Load>
CUresult load_delayed(Code own, Code delayed, const Load& load, void (*not_loaded)(Code delayed, int error) noexcept) {
  const CUresult result = load(delayed);
  if (result == CUDA_SUCCESS || delayed == own) {
    return result;
  }
  const CUresult result_of_own = load(own);
  if (result_of_own == CUDA_SUCCESS) {
    not_loaded(delayed, static_cast<int>(result));
  }
  return result_of_own;
}

template <hook_id Id>
CUresult on_gone(std::uintptr_t owner) {
  const CUresult result = next<Id>(owner);
  if (session::get().watches()) {
    quietly(forget_handles);
  }
  return result;
}

template <hook_id Id>
CUresult on_library_get_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const CUresult result = next<Id>(kernel, library, name);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_owner(*kernel, library, true); });
  }
  return result;
}

template <hook_id Id>
CUresult on_library_enumerate(CUkernel* kernels, unsigned count, CUlibrary library) {
  const CUresult result = next<Id>(kernels, count, library);
  for (unsigned i = 0; i < count && result == CUDA_SUCCESS && session::get().watches() && kernels[i] != nullptr; ++i) {
    quietly([&] { keep_owner(kernels[i], library, true); });
  }
  return result;
}

template <hook_id Id>
CUresult on_kernel_get_function(CUfunction* function, CUkernel kernel) {
  const CUresult result = next<Id>(function, kernel);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_owner(*function, kernel, false); });
  }
  return result;
}

template <hook_id Id>
CUresult on_module_get_function(CUfunction* function, CUmodule module, const char* name) {
  const CUresult result = next<Id>(function, module, name);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_owner(*function, module, false); });
  }
  return result;
}

template <hook_id Id>
CUresult on_module_enumerate(CUfunction* functions, unsigned count, CUmodule module) {
  const CUresult result = next<Id>(functions, count, module);
  for (unsigned i = 0; i < count && result == CUDA_SUCCESS && session::get().watches() && functions[i] != nullptr; ++i) {
    quietly([&] { keep_owner(functions[i], module, false); });
  }
  return result;
}

template <hook_id Id>
CUresult on_library_load(CUlibrary* library, const void* code, CUjit_option* jit, void** jit_values, unsigned jit_count,
                         CUlibraryOption* options, void** values, unsigned count) {
  const CUresult result = load_delayed(
      code, with_delays(code),
      [&](const void* image) { return next<Id>(library, image, jit, jit_values, jit_count, options, values, count); },
      image_not_loaded);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_image(*library, code); });
  }
  return result;
}

template <hook_id Id>
CUresult on_library_load_file(CUlibrary* library, const char* path, CUjit_option* jit, void** jit_values, unsigned jit_count,
                              CUlibraryOption* options, void** values, unsigned count) {
  const CUresult result = load_delayed(
      path, file_with_delays(path),
      [&](const char* file) { return next<Id>(library, file, jit, jit_values, jit_count, options, values, count); },
      file_not_loaded);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_image_file(*library, path); });
  }
  return result;
}

template <hook_id Id>
CUresult on_module_load_file(CUmodule* module, const char* path) {
  const CUresult result =
      load_delayed(path, file_with_delays(path), [&](const char* file) { return next<Id>(module, file); }, file_not_loaded);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_image_file(*module, path); });
  }
  return result;
}

/// Handles cuModuleLoadData, cuModuleLoadFatBinary, and cuModuleLoadDataEx, which has three more arguments.
template <hook_id Id>
CUresult on_module_load(CUmodule* module, const void* image, std::uintptr_t third, std::uintptr_t fourth,
                        std::uintptr_t fifth) {
  const CUresult result = load_delayed(
      image, with_delays(image), [&](const void* code) { return next<Id>(module, code, third, fourth, fifth); },
      image_not_loaded);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_image(*module, image); });
  }
  return result;
}

/// Handles cuLinkAddData, whose input may be PTX.
template <hook_id Id>
CUresult on_link(CUlinkState state, CUjitInputType type, void* data, std::size_t bytes, const char* name, unsigned count,
                 CUjit_option* options, void** values) {
  if (type == CU_JIT_INPUT_PTX && data != nullptr && session::get().watches()) {
    quietly([&] { keep_text({static_cast<const char*>(data), bytes}); });
  }
  return next<Id>(state, type, data, bytes, name, count, options, values);
}

/// Handles nvJitLinkAddData. Its result type has the same size as CUresult.
template <hook_id Id>
CUresult on_nvjitlink(void* link, int type, const void* data, std::size_t bytes, const char* name) {
  constexpr int ptx = 2;
  if (type == ptx && data != nullptr && session::get().watches()) {
    quietly([&] { keep_text({static_cast<const char*>(data), bytes}); });
  }
  return next<Id>(link, type, data, bytes, name);
}

/// Obtains the PTX of a program from NVRTC when the caller requests the cubin.
void keep_ptx_of_program(void* program, void* next_function);

template <hook_id Id>
CUresult on_nvrtc_cubin(void* program, char* cubin) {
  const CUresult result = next<Id>(program, cubin);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_ptx_of_program(program, hook_of(Id).next.load(std::memory_order_acquire)); });
  }
  return result;
}

}  // namespace membar_record
