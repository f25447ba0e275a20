// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Noise from a real library: NCCL's all-reduces over two devices, one after another.
#pragma once

#include "arms.hpp"
#include "noise.cuh"

#include <bench/common/cuda_handles.hpp>
#include <bench/common/machine_context.hpp>
#include <bench/common/nccl.hpp>
#include <membar/launch_attribute.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fence_interference {

/// The version of the running NCCL, such as "2.28.9".
[[nodiscard]] inline std::string nccl_version() {
  int version = 0;
  support::check_nccl(ncclGetVersion(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

/// Records the multiprocessors on which this kernel's blocks run, in `found[1 + id]`. Each block waits until all blocks, which
/// are counted in `found[0]`, have started, but for at most `wait_ns`. Therefore no two blocks run on a multiprocessor that has
/// space for only one, unless some blocks find no space at first.
__global__ void find_free_multiprocessors(unsigned* found, unsigned long long wait_ns) {
  using device_counter = membar::atomic_ref<unsigned, membar::thread_scope::device>;
  const unsigned long long begin = membar::global_nanoseconds();
  found[1 + multiprocessor_id()] = 1;
  device_counter(found[0]).fetch_add(1, membar::relaxed);
  while (device_counter(found[0]).load(membar::relaxed) != gridDim.x && membar::global_nanoseconds() - begin < wait_ns) {
  }
}

/// A queue of all-reduces that never runs empty as long as it is fed.
///
/// NCCL chooses the logical domain of its launches itself, so an arm chooses the physical domain with the map of NCCL's stream:
/// both logical domains map to the arm's domain.
class nccl_noise final : public noise {
 public:
  /// Whether an arm chooses NCCL's physical domain; if not, the stream keeps its initial map.
  enum class map_choice { by_arm, untouched };

  /// `most_blocks` has the same meaning as for NCCL's devices.
  nccl_noise(const bench_streams& streams, int device, int peer, int most_blocks, map_choice choice)
      : stream_(streams.noise),
        probe_stream_(streams.control),
        peer_(peer),
        map_(choice),
        devices_({device, peer}, most_blocks) {
    whole_multiprocessor_ = static_cast<std::size_t>(support::attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    membar::check(cudaFuncSetAttribute(find_free_multiprocessors, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(whole_multiprocessor_)));
    multiprocessors_ = static_cast<unsigned>(support::attribute(cudaDevAttrMultiProcessorCount, device));
    probe_.emplace(multiprocessors_ + 1);
    host_probe_.emplace(multiprocessors_ + 1);
    probe();  // This loads the kernel, which must not happen while another kernel waits.
    probe_stream_.synchronize();
    {
      const support::device_guard guard(peer_);
      peer_buffer_.emplace(floats_in_place);
      peer_stream_.emplace();
    }
    // The first all-reduce loads kernels and allocates memory, which must not happen while another kernel waits.
    enqueue();
    drain();
  }

  /// All-reduces follow one another, and each may run on different multiprocessors; a longer all-reduce stays on the same
  /// multiprocessors for longer. Programs use short all-reduces, and kernels on NCCL's hardware queue wait for each of them.
  void stay_in_place(bool wanted) override {
    floats_ = wanted ? floats_in_place : floats;
    queue_depth_ = wanted ? 3 : most_queued;
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
    while (enqueued_ < queue_depth_ || ends_[(enqueued_ - queue_depth_) % queue_depth_].reached()) {
      enqueue();
    }
  }

  [[nodiscard]] bool running() const override { return !gap_seen_ && !ends_[(enqueued_ - 1) % queue_depth_].reached(); }

  /// A kernel finds the occupied multiprocessors while the all-reduces run. Each of its blocks uses a multiprocessor's entire
  /// shared memory, so the blocks run only where NCCL has no block. All-reduces follow one another, so a second call may return
  /// a different answer.
  [[nodiscard]] occupied place() override {
    probe();
    while (!probe_stream_.idle()) {
      feed();
    }
    std::vector<std::uint8_t> busy(multiprocessors_);
    for (std::size_t i = 0; i != busy.size(); ++i) {
      busy[i] = (*host_probe_)[i + 1] == 0 ? 1 : 0;
    }
    return {std::move(busy), false};
  }

  double stop() override {
    drain();
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - began_;
    previous_map_.reset();
    return static_cast<double>(enqueued_ * floats_ * sizeof(float)) / elapsed.count();
  }

 private:
  /// An all-reduce of `floats` takes less than a millisecond at 300 GB/s. An all-reduce of `floats_in_place` takes seven
  /// milliseconds, and a measurement takes about one millisecond.
  static constexpr std::size_t floats = (std::size_t{256} << 20) / sizeof(float);
  static constexpr std::size_t floats_in_place = 8 * floats;
  static constexpr std::size_t most_queued = 8;

  void probe() {
    constexpr unsigned long long wait_ns = 200'000;
    membar::check(cudaMemsetAsync(probe_->get(), 0, probe_->size() * sizeof(unsigned), probe_stream_.get()));
    membar::launch(membar::launch_config(multiprocessors_, 1, probe_stream_.get(), whole_multiprocessor_),
                   find_free_multiprocessors, probe_->get(), wait_ns);
    membar::check(cudaMemcpyAsync(host_probe_->get(), probe_->get(), probe_->size() * sizeof(unsigned), cudaMemcpyDefault,
                                  probe_stream_.get()));
  }

  void enqueue() {
    devices_.each([this](int rank, ncclComm_t mine) {
      float* const buffer = rank == 0 ? buffer_.get() : peer_buffer_->get();
      const support::stream& on = rank == 0 ? stream_ : *peer_stream_;
      support::check_nccl(ncclAllReduce(buffer, buffer, floats_, ncclFloat, ncclSum, mine, on.get()), "ncclAllReduce");
    });
    ends_[enqueued_ % queue_depth_].record(stream_.get());
    ++enqueued_;
  }

  void drain() {
    wait_until([this] { return stream_.idle(); }, "the end of NCCL's all-reduces");
    const support::device_guard guard(peer_);
    wait_until([this] { return peer_stream_->idle(); }, "the end of NCCL's all-reduces");
  }

  const support::stream& stream_;
  const support::stream& probe_stream_;
  int peer_;
  map_choice map_;
  support::nccl_devices devices_;
  support::device_memory<float> buffer_{floats_in_place};
  std::optional<support::device_memory<float>> peer_buffer_;
  std::optional<support::stream> peer_stream_;
  support::event begin_;
  std::size_t floats_ = floats;
  std::size_t queue_depth_ = most_queued;
  std::array<support::event, most_queued> ends_;
  std::optional<membar::scoped_stream_attribute<membar::sync_domain_map>> previous_map_;
  std::size_t whole_multiprocessor_ = 0;  ///< Enough shared memory that no second block fits.
  unsigned multiprocessors_ = 0;
  std::optional<support::device_memory<unsigned>> probe_;
  std::optional<support::pinned_memory<unsigned>> host_probe_;
  std::size_t enqueued_ = 0;
  bool gap_seen_ = false;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace fence_interference
