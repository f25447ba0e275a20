// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A kernel loaded from code that was compiled at run time.
#pragma once

#include <membar/error.hpp>

#include <string>

namespace membar::litmus {

/// A loaded cubin, and a kernel of it, which works on every device that the code is for. Errors: `error` if the driver does not
/// take the code, or if membar was built with a CUDA toolkit older than 12.8.
class kernel_library {
 public:
  kernel_library(const std::string& code, const char* kernel) {
#if CUDART_VERSION >= 12080
    check(cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "the code was compiled for another device, or is newer than the driver");
    cudaKernel_t found = nullptr;
    const cudaError_t status = cudaLibraryGetKernel(&found, library_, kernel);
    if (status != cudaSuccess) {
      static_cast<void>(cudaLibraryUnload(library_));
      check(status, "the code has no such kernel");
    }
    kernel_ = reinterpret_cast<const void*>(found);
#else
    static_cast<void>(code);
    static_cast<void>(kernel);
    throw error(
        cudaErrorNotSupported,
        "membar: this executable was built with CUDA %d.%d, whose runtime cannot load code that was compiled at run time: "
        "build it with CUDA 12.8 or newer",
        CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
#endif
  }
  kernel_library(const kernel_library&) = delete;
  kernel_library& operator=(const kernel_library&) = delete;
#if CUDART_VERSION >= 12080
  ~kernel_library() { static_cast<void>(cudaLibraryUnload(library_)); }  // fails only where the run has failed already
#endif

  /// For launches and for the functions that take a kernel's address.
  [[nodiscard]] const void* kernel() const noexcept { return kernel_; }

 private:
#if CUDART_VERSION >= 12080
  cudaLibrary_t library_ = nullptr;
#endif
  const void* kernel_ = nullptr;
};

}  // namespace membar::litmus
