// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A kernel loaded from code that was compiled at run time.
#pragma once

#include <membar/error.hpp>

#include <string>

namespace membar::litmus_files {

/// A loaded cubin and one of its kernels, which can be launched on every device for which the code was compiled. The
/// constructor throws `membar::error` if the driver rejects the code, or if the command was built with a CUDA toolkit older
/// than 12.8.
class kernel_library {
 public:
  kernel_library(const std::string& code, const char* kernel) {
    membar::check(cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                  "the code was compiled for another device or for a newer driver");
    cudaKernel_t found = nullptr;
    const cudaError_t status = cudaLibraryGetKernel(&found, library_, kernel);
    if (status != cudaSuccess) {
      static_cast<void>(cudaLibraryUnload(library_));
      membar::check(status, "the code has no such kernel");
    }
    kernel_ = reinterpret_cast<const void*>(found);
  }
  kernel_library(const kernel_library&) = delete;
  kernel_library& operator=(const kernel_library&) = delete;
  ~kernel_library() { static_cast<void>(cudaLibraryUnload(library_)); }  // this fails only if the run has already failed

  /// Returns the kernel, for launches and for functions that take a kernel's address.
  [[nodiscard]] const void* kernel() const noexcept { return kernel_; }

 private:
  cudaLibrary_t library_ = nullptr;
  const void* kernel_ = nullptr;
};

}  // namespace membar::litmus_files
