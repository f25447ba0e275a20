// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Memory from cudaMalloc that a test's processes share through CUDA IPC.
#pragma once

#include <membar/symmetric/adopted_backend.hpp>
#include <membar/symmetric/host_group.hpp>
#include <membar/symmetric/ipc_memory.hpp>

#include <bench/common/cuda_handles.hpp>

#include <cstddef>

namespace membar_test {

/// Runs `body(backend)` on `bytes` bytes inside an allocation, at a different offset on each PE, and returns its result.
template <class Body>
[[nodiscard]] int in_ipc_memory(membar::symmetric::host_group& group, std::size_t bytes, Body body) {
  const std::size_t offset = 512 * static_cast<std::size_t>(group.rank() + 1);
  const support::device_memory<unsigned char> whole(bytes + 4096);
  membar::symmetric::ipc_memory memory(whole.get() + offset, bytes, group.rank(), group.callback());
  int result = 0;
  {
    membar::symmetric::adopted_backend backend(memory.memory(), group.callback());
    result = body(backend);
  }
  memory.close();
  return result;
}

}  // namespace membar_test
