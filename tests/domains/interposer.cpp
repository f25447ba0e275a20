// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Another preloaded library that intercepts cuLaunchKernel. The function writes "seen" to the file FAKE_DRIVER_LOG. It then
/// calls the next function that the loader finds or, with INTERPOSER_ASKS_DRIVER, the function in libcuda.so.1.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                                                          unsigned bx, unsigned by, unsigned bz,
                                                                          unsigned shared, CUstream stream, void** parameters,
                                                                          void** extra) {
  const bool asks_driver = std::getenv("INTERPOSER_ASKS_DRIVER") != nullptr;
  void* const found = dlsym(asks_driver ? dlopen("libcuda.so.1", RTLD_NOW) : RTLD_NEXT, "cuLaunchKernel");
  const char* const path = std::getenv("FAKE_DRIVER_LOG");
  if (std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "a")) {
    std::fputs("seen\n", file);
    std::fclose(file);
  }
  auto* const next = reinterpret_cast<decltype(&cuLaunchKernel)>(found);
  return next == nullptr ? CUDA_ERROR_NOT_FOUND : next(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}
