// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A C++ program without CUDA code that uses the headers that call the CUDA runtime. The program also runs without a GPU.
#include <membar/launch.hpp>
#include <membar/sync_domain.hpp>

#include <cstdio>

static_assert(__cplusplus >= 202002L, "membar::membar asks for C++20");

/// A stand-in for a kernel that another library returns as a pointer.
void kernel(int) {}

int main() {
  int version = 0;
  if (cudaRuntimeGetVersion(&version) != cudaSuccess)
    return 1;
  try {
    std::printf("CUDA runtime %d, %d synchronization domains\n", version, membar::sync_domain_count(0));
  } catch (const membar::error& error) {
    std::printf("CUDA runtime %d: %s\n", version, error.what());
  }
  try {
    membar::launch(membar::launch_config{dim3(1), dim3(1)}.with(membar::sync_domain::remote), kernel, 1);
  } catch (const membar::error& error) {
    std::printf("as expected, a pointer that is not a kernel cannot be launched: %s\n", error.what());
    return 0;
  }
  return 1;
}
