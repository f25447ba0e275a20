// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Devices that communicate with NCCL, for benches that were built with it.
#pragma once

#include <membar/device_guard.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#ifdef MEMBAR_BENCH_HAS_NCCL
#include <nccl.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace support {

inline void check_nccl(ncclResult_t status, const char* call) {
  if (status != ncclSuccess) {
    throw std::runtime_error(std::string("membar: ") + call + " failed: " + ncclGetErrorString(status));
  }
}

/// Devices, each with an NCCL communicator. A device's rank is its index.
class nccl_devices {
 public:
  static constexpr const char* waiver = "";

  /// `most_blocks` limits the thread blocks that NCCL uses per device; with 0, NCCL chooses.
  explicit nccl_devices(std::vector<int> devices, int most_blocks = 0)
      : devices_(std::move(devices)), communicators_(devices_.size()) {
    ncclUniqueId id;
    check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    each([&](int rank, ncclComm_t& mine) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      if (most_blocks != 0) {
        config.minCTAs = 1;
        config.maxCTAs = most_blocks;
      }
      const int count = static_cast<int>(devices_.size());
      check_nccl(ncclCommInitRankConfig(&mine, count, id, rank, &config), "ncclCommInitRankConfig");
    });
  }
  nccl_devices(const nccl_devices&) = delete;
  nccl_devices& operator=(const nccl_devices&) = delete;
  ~nccl_devices() {
    for (const ncclComm_t each : communicators_) {
      static_cast<void>(ncclCommDestroy(each));
    }
  }

  /// Makes each device current and calls `enqueue(rank, communicator)`; all calls form one NCCL group.
  template <class Enqueue>
  void each(Enqueue enqueue) {
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t rank = 0; rank != devices_.size(); ++rank) {
      const membar::device_guard guard(devices_[rank]);
      enqueue(static_cast<int>(rank), communicators_[rank]);
    }
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
  }

  /// Enqueues one message of `bytes` from one of two devices to the other.
  void send(int from, const void* source, void* destination, std::size_t bytes, cudaStream_t from_stream,
            cudaStream_t to_stream) {
    each([&](int rank, ncclComm_t mine) {
      if (rank == from) {
        check_nccl(ncclSend(source, bytes, ncclChar, 1 - from, mine, from_stream), "ncclSend");
      } else {
        check_nccl(ncclRecv(destination, bytes, ncclChar, from, mine, to_stream), "ncclRecv");
      }
    });
  }

 private:
  std::vector<int> devices_;
  std::vector<ncclComm_t> communicators_;
};

}  // namespace support

#else

namespace support {

/// A placeholder for the devices when NCCL is not available; all its cases are waived.
struct nccl_devices {
  static constexpr const char* waiver = "membar was built without NCCL";
  explicit nccl_devices(const std::vector<int>&) {}
  void send(int, const void*, void*, std::size_t, cudaStream_t, cudaStream_t) {}
};

}  // namespace support

#endif
