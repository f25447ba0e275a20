// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Noise from a real library: all-reduces of NCCL over two devices, one after the other.
#pragma once

#include "arms.hpp"
#include "noise.cuh"

#include <bench/common/cuda_handles.hpp>
#include <membar/launch_attribute.hpp>

#include <nccl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace fence_interference {

inline void check_nccl(ncclResult_t status, const char* call) {
  if (status != ncclSuccess) {
    throw std::runtime_error(std::string("membar: ") + call + " failed: " + ncclGetErrorString(status));
  }
}

/// The version of the NCCL that runs, as "2.28.9".
[[nodiscard]] inline std::string nccl_version() {
  int version = 0;
  check_nccl(ncclGetVersion(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

/// A queue of all-reduces that never runs dry while it is fed.
///
/// NCCL decides the logical domain of its launches itself, so an arm chooses the physical one with the map of NCCL's stream:
/// both logical domains lead to the arm's.
class nccl_noise final : public noise {
 public:
  /// Whether an arm chooses NCCL's physical domain, or the stream keeps the map it was made with.
  enum class map_choice { by_arm, untouched };

  /// `most_blocks` limits the thread blocks that NCCL uses per device; 0 leaves it the choice.
  nccl_noise(const bench_streams& streams, int device, int peer, int most_blocks, map_choice choice)
      : stream_(streams.noise), devices_{device, peer}, map_(choice) {
    ncclUniqueId id;
    check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (int rank = 0; rank != 2; ++rank) {
      const support::device_guard guard(devices_[rank]);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      if (most_blocks != 0) {
        config.minCTAs = 1;
        config.maxCTAs = most_blocks;
      }
      check_nccl(ncclCommInitRankConfig(&communicators_[rank], 2, id, rank, &config), "ncclCommInitRankConfig");
    }
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
    for (int rank = 0; rank != 2; ++rank) {
      const support::device_guard guard(devices_[rank]);
      buffers_[rank].emplace(bytes / sizeof(float));
      if (rank == 1) {
        peer_stream_.emplace();
      }
    }
    // The first all-reduce loads kernels and allocates, which must not happen beside a kernel that waits.
    enqueue();
    drain();
  }

  nccl_noise(const nccl_noise&) = delete;
  nccl_noise& operator=(const nccl_noise&) = delete;

  ~nccl_noise() override {
    for (ncclComm_t communicator : communicators_) {
      static_cast<void>(ncclCommDestroy(communicator));
    }
  }

  void start(const domain_choice& domains) override {
    if (map_ == map_choice::by_arm) {
      const int physical = domains.physical();
      previous_map_.emplace(stream_.get(), membar::sync_domain_map{.default_ = physical, .remote = physical});
    }
    enqueued_ = 0;
    gap_seen_ = false;
    began_ = std::chrono::steady_clock::now();
    begin_.record(stream_.get());
    feed();
    wait_until([this] { return begin_.reached(); }, "the start of NCCL's all-reduce");
  }

  void feed() override {
    gap_seen_ = gap_seen_ || (enqueued_ != 0 && !running());
    while (enqueued_ < queue_depth || ends_[(enqueued_ - queue_depth) % queue_depth].reached()) {
      enqueue();
    }
  }

  [[nodiscard]] bool running() const override { return !gap_seen_ && !ends_[(enqueued_ - 1) % queue_depth].reached(); }

  double stop() override {
    drain();
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - began_;
    previous_map_.reset();
    return static_cast<double>(enqueued_) * bytes / elapsed.count();
  }

 private:
  static constexpr std::size_t bytes = std::size_t{256} << 20;
  static constexpr std::size_t queue_depth = 8;

  [[nodiscard]] const support::stream& stream_of(int rank) const { return rank == 0 ? stream_ : *peer_stream_; }

  void enqueue() {
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (int rank = 0; rank != 2; ++rank) {
      float* const buffer = buffers_[rank]->get();
      check_nccl(
          ncclAllReduce(buffer, buffer, bytes / sizeof(float), ncclFloat, ncclSum, communicators_[rank], stream_of(rank).get()),
          "ncclAllReduce");
    }
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
    ends_[enqueued_ % queue_depth].record(stream_.get());
    ++enqueued_;
  }

  void drain() {
    for (int rank = 0; rank != 2; ++rank) {
      const support::device_guard guard(devices_[rank]);
      wait_until([&] { return stream_of(rank).idle(); }, "the end of NCCL's all-reduces");
    }
  }

  const support::stream& stream_;
  int devices_[2];
  map_choice map_;
  ncclComm_t communicators_[2] = {};
  std::optional<support::device_memory<float>> buffers_[2];
  std::optional<support::stream> peer_stream_;
  support::event begin_;
  std::array<support::event, queue_depth> ends_;
  std::optional<membar::scoped_stream_attribute<membar::sync_domain_map>> previous_map_;
  std::size_t enqueued_ = 0;
  bool gap_seen_ = false;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace fence_interference
