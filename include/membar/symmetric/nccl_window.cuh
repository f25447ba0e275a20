// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// An NCCL window as memory for `adopted_backend`. This header requires NCCL 2.28 or later, and includes NCCL's device header.
#pragma once

#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/symmetric/adopted_backend.hpp>

#include <nccl.h>

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 28, 0)
#error "membar: nccl_window.cuh needs the windows of NCCL 2.28 or newer: adopt other memory with adopted_memory"
#endif
#include <nccl_device.h>

#include <cstddef>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

namespace detail {

template <class Window>
__global__ void read_window_addresses(Window window, void** addresses, int count) {
  for (int peer = static_cast<int>(threadIdx.x); peer < count; peer += static_cast<int>(blockDim.x)) {
    addresses[peer] = ncclGetLsaPointer(window, 0, peer);
  }
}

inline void check_nccl(ncclResult_t status, const char* call) {
  if (status != ncclSuccess) {
    throw error(cudaErrorUnknown, "membar: %s failed (%s): run with NCCL_DEBUG=WARN to see NCCL's messages", call,
                ncclGetErrorString(status));
  }
}

}  // namespace detail

/// Returns the first `bytes` bytes of a window that every rank has registered with `ncclCommWindowRegister` and
/// `NCCL_WIN_COLL_SYMMETRIC`. PEs are ranks.
///
/// The call launches one kernel and waits for it. The window and its memory must outlive the backend. Requires that all ranks
/// can access each other with loads and stores (`ncclTeamLsa`). Errors: throws `error` if the window is null (because NCCL
/// could not create it), if some rank cannot be accessed with loads and stores, or if a call to NCCL fails.
[[nodiscard]] inline adopted_memory memory_of_nccl(ncclComm_t communicator, ncclWindow_t window, std::size_t bytes) {
  if (window == nullptr) {
    throw error(cudaErrorNotSupported,
                "membar: NCCL has not created a window for the memory and would copy it instead: allocate it with "
                "ncclMemAlloc, and leave NCCL_WIN_ENABLE and NCCL_CUMEM_ENABLE enabled");
  }
  adopted_memory memory;
  int count = 0;
  detail::check_nccl(ncclCommCount(communicator, &count), "ncclCommCount");
  detail::check_nccl(ncclCommUserRank(communicator, &memory.self), "ncclCommUserRank");
  detail::check_nccl(ncclCommCuDevice(communicator, &memory.device), "ncclCommCuDevice");
  if (const int near = ncclTeamLsa(communicator).nRanks; near != count) {
    throw error(cudaErrorNotSupported,
                "membar: loads and stores reach only %d of the %d ranks "
                "of an NCCL window: create a communicator from GPUs "
                "that are connected by NVLink",
                near, count);
  }
  memory.bytes = bytes;
  memory.addresses.resize(static_cast<std::size_t>(count));
  const device_guard guard(memory.device);
  const std::size_t table_bytes = memory.addresses.size() * sizeof(void*);
  void** table = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&table), table_bytes));
  cudaStream_t stream = nullptr;
  cudaError_t status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (status == cudaSuccess) {
    detail::read_window_addresses<<<1, 32, 0, stream>>>(window, table, count);
    status = cudaGetLastError();
    const cudaError_t copied = cudaMemcpyAsync(memory.addresses.data(), table, table_bytes, cudaMemcpyDeviceToHost, stream);
    const cudaError_t ended = cudaStreamSynchronize(stream);
    const cudaError_t destroyed = cudaStreamDestroy(stream);
    for (const cudaError_t each : {copied, ended, destroyed}) {
      status = status == cudaSuccess ? each : status;
    }
  }
  const cudaError_t freed = cudaFree(table);
  check(status == cudaSuccess ? freed : status, "pass a window that is registered on this communicator");
  return memory;
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
