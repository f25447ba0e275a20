// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Two devices that send to each other by NCCL, launched by the host.
#pragma once

#include <membar/device_guard.hpp>

#include <nccl.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace symmetric_bench {

inline void check_nccl(ncclResult_t status, const char* call) {
  if (status != ncclSuccess) {
    throw std::runtime_error(std::string("membar: ") + call + " failed: " + ncclGetErrorString(status));
  }
}

class nccl_pair {
 public:
  explicit nccl_pair(const std::vector<int>& devices) : devices_(devices), communicators_(devices.size()) {
    check_nccl(ncclCommInitAll(communicators_.data(), static_cast<int>(devices.size()), devices.data()), "ncclCommInitAll");
  }
  nccl_pair(const nccl_pair&) = delete;
  nccl_pair& operator=(const nccl_pair&) = delete;
  ~nccl_pair() {
    for (const ncclComm_t each : communicators_) {
      static_cast<void>(ncclCommDestroy(each));
    }
  }

  /// Enqueues one message of `bytes` from `from` to the other device.
  void send(int from, const void* source, void* destination, std::size_t bytes, cudaStream_t from_stream,
            cudaStream_t to_stream) {
    const int to = 1 - from;
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    {
      const membar::device_guard guard(devices_[static_cast<std::size_t>(from)]);
      check_nccl(ncclSend(source, bytes, ncclChar, to, communicators_[static_cast<std::size_t>(from)], from_stream),
                 "ncclSend");
    }
    {
      const membar::device_guard guard(devices_[static_cast<std::size_t>(to)]);
      check_nccl(ncclRecv(destination, bytes, ncclChar, from, communicators_[static_cast<std::size_t>(to)], to_stream),
                 "ncclRecv");
    }
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
  }

 private:
  std::vector<int> devices_;
  std::vector<ncclComm_t> communicators_;
};

}  // namespace symmetric_bench
