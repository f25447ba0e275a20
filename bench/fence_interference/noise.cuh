// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The noise: traffic that is unrelated to the victim and runs for as long as the victim is measured.
#pragma once

#include "arms.hpp"

#include <bench/common/cuda_handles.hpp>
#include <membar/atomic.cuh>
#include <membar/device_clock.cuh>
#include <membar/launch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fence_interference {

/// The multiprocessors of the victim's device on which the noise runs.
struct occupied {
  /// For each multiprocessor, whether noise runs there; empty if there is no noise.
  std::vector<std::uint8_t> multiprocessors{};
  bool least_shared_memory = true;  ///< Whether the noise's kernel requests the smallest share; see `with_least_shared_memory`.

  friend bool operator==(const occupied&, const occupied&) = default;
};

/// Traffic that runs while the victim is measured. If there is a gap in the traffic between `start` and `stop`, `running`
/// returns false.
class noise {
 public:
  virtual ~noise() = default;

  /// Selects whether the noise, from the next start on, should stay on its multiprocessors for longer than a measurement, if it
  /// can.
  virtual void stay_in_place(bool wanted) { static_cast<void>(wanted); }

  /// Starts the noise in `domains`, and returns when all of it is running.
  virtual void start(const domain_choice& domains) = 0;
  /// Called between samples, so that noise that needs the host can enqueue more work.
  virtual void feed() {}
  /// Returns whether the traffic has run without a gap since `start`.
  [[nodiscard]] virtual bool running() const = 0;
  /// Stops the noise, and returns the bytes that it moved per nanosecond, which is GB/s.
  virtual double stop() = 0;
  /// Returns the multiprocessors on which the noise runs now.
  [[nodiscard]] virtual occupied place() { return {}; }
};

/// No noise: the victim runs alone.
class silence final : public noise {
 public:
  void start(const domain_choice&) override {}
  [[nodiscard]] bool running() const override { return true; }
  double stop() override { return 0; }
};

/// Stops the noise at the end of a scope, even if an exception leaves it.
struct stop_noise {
  void operator()(noise* what) const noexcept {
    try {
      static_cast<void>(what->stop());
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "membar: the noise did not stop: %s\n", failure.what());
    }
  }
};
using running_noise = std::unique_ptr<noise, stop_noise>;

[[nodiscard]] inline running_noise started(noise& what, const domain_choice& domains) {
  running_noise result(&what);  // If the noise fails to start, part of it may be running.
  what.start(domains);
  return result;
}

/// Waits until `done` returns true, for at most ten seconds, so that noise that failed to start cannot hang the bench.
template <class Condition>
void wait_until(Condition done, const char* what) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error(std::string(what) + " did not happen within 10 s");
    }
  }
}

/// Returns the configuration with the smallest share of shared memory. The victim and the noise both request this share,
/// because blocks of kernels with different shares do not run on the same multiprocessor.
template <class Config>
[[nodiscard]] auto with_least_shared_memory(const Config& config) {
  return config.with(membar::shared_memory_carveout{.percent = 0});
}

/// Shared by the host and the noise kernel, in device memory, so that polling it causes no remote traffic.
struct noise_control {
  unsigned stop;
  unsigned blocks_started;
};

/// The record of one block of the noise.
struct noise_block {
  unsigned multiprocessor;
  unsigned long long stores;  ///< The number of 16-byte stores.
  unsigned long long begin_ns;
  unsigned long long end_ns;
};

__device__ inline unsigned multiprocessor_id() {
  unsigned id = 0;
  // mov.u32 d, %smid;  (PTX ISA 1.3)
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id)::"memory");
  return id;
}

/// Each block repeatedly executes coalesced stores to its own slice of `target`, until the host stops it or `deadline_ns` have
/// passed since its start.
///
/// `quads_per_block` is a multiple of `blockDim.x * stores_per_batch`. After a batch, the block waits until `batch_cycles`
/// after the start of the previous one, and reads the control block. Without a target, the block only spins.
__global__ void store_noise(uint4* target, unsigned long long quads_per_block, unsigned stores_per_batch,
                            long long batch_cycles, noise_control* control, noise_block* blocks,
                            unsigned long long deadline_ns) {
  using membar::thread_scope;
  __shared__ membar::atomic<unsigned, thread_scope::block> stop;
  if (threadIdx.x == 0) {
    stop.store(0, membar::relaxed);
  }
  __syncthreads();
  noise_block& mine = blocks[blockIdx.x];
  uint4* const slice = target == nullptr ? nullptr : target + blockIdx.x * quads_per_block;
  const unsigned long long begin = membar::global_nanoseconds();
  unsigned long long position = threadIdx.x;
  unsigned long long stores = 0;
  // The warps' starts are spread evenly over the interval, so that paced traffic is a steady stream instead of a burst per
  // interval.
  const unsigned warps = blockDim.x / 32;
  long long next = clock64() + batch_cycles * (threadIdx.x / 32 + 1) / warps;
  unsigned batch = 0;
  do {
    if (slice != nullptr) {
      for (unsigned i = 0; i != stores_per_batch; ++i) {
        slice[position] = make_uint4(batch, i, blockIdx.x, threadIdx.x);
        position += blockDim.x;
      }
      position = position >= quads_per_block ? position - quads_per_block : position;
      stores += stores_per_batch;
    }
    if (batch++ == 0 && threadIdx.x == 0) {
      mine.multiprocessor = multiprocessor_id();
      mine.begin_ns = begin;
      membar::atomic_ref<unsigned, thread_scope::system>(control->blocks_started).fetch_add(1, membar::release);
    }
    for (long long left = 1; batch_cycles != 0 && left > 0; left = next - clock64()) {
      if (slice != nullptr) {
        __nanosleep(static_cast<unsigned>(left / 4));  // A warp that waits for its turn must not use up the victim's issue
                                                       // slots.
      }
    }
    next += batch_cycles;
    if (threadIdx.x == 0 && (membar::atomic_ref<unsigned, thread_scope::system>(control->stop).load(membar::relaxed) != 0 ||
                             membar::global_nanoseconds() - begin >= deadline_ns)) {
      stop.store(1, membar::relaxed);
    }
  } while (stop.load(membar::relaxed) == 0);
  membar::atomic_ref<unsigned long long, thread_scope::block>(mine.stores).fetch_add(stores, membar::relaxed);
  membar::atomic_ref<unsigned long long, thread_scope::block>(mine.end_ns)
      .fetch_max(membar::global_nanoseconds(), membar::relaxed);
}

/// The streams of the experiment. There are few streams, all created before any measurement, because creating a stream later
/// can move the others to different hardware queues.
struct bench_streams {
  support::stream chain[2];
  support::stream operation;
  support::stream noise;
  support::stream control;
};

/// Noise from a persistent kernel that stores to one memory region, or does not store at all.
class kernel_noise final : public noise {
 public:
  struct extent {
    unsigned blocks;
    unsigned threads;
  };

  /// `target` is memory of `bytes` bytes that the current device can access, or null for a kernel that only spins, in rounds of
  /// a few microseconds.
  kernel_noise(const bench_streams& streams, uint4* target, std::size_t bytes, extent shape)
      : stream_(streams.noise),
        control_stream_(streams.control),
        target_(target),
        shape_(shape),
        blocks_(shape.blocks),
        host_blocks_(shape.blocks) {
    const std::size_t unit = static_cast<std::size_t>(shape.threads) * saturating_batch;
    quads_per_block_ = bytes / sizeof(uint4) / shape.blocks / unit * unit;
    batch_cycles_ = target == nullptr ? 10'000 : 0;
  }

  /// Limits the stores to `gigabytes_per_second` in total, on a clock of `ghz`. Each warp stores 2 KiB at a time, like a warp
  /// that sends a tile and returns to its work.
  void pace(double gigabytes_per_second, double ghz) {
    stores_per_batch_ = 4;
    const double bytes_per_batch = 16.0 * stores_per_batch_ * shape_.blocks * shape_.threads;
    batch_cycles_ = static_cast<long long>(bytes_per_batch / gigabytes_per_second * ghz);
  }

  void start(const domain_choice& domains) override {
    const cudaStream_t stream = stream_.get();
    membar::check(cudaMemsetAsync(control_.get(), 0, sizeof(noise_control), stream));
    membar::check(cudaMemsetAsync(blocks_.get(), 0, blocks_.size() * sizeof(noise_block), stream));
    membar::launch(with_least_shared_memory(
                       membar::launch_config{shape_.blocks, shape_.threads, stream}.with(domains.domain).with(domains.map)),
                   store_noise, target_, quads_per_block_, stores_per_batch_, batch_cycles_, control_.get(), blocks_.get(),
                   deadline_ns);
    const auto started = [this] {
      copy(host_control_.get(), control_.get(), sizeof(noise_control));
      return host_control_[0].blocks_started == shape_.blocks;
    };
    wait_until(started, "the start of every block of the noise kernel");
    copy(host_blocks_.get(), blocks_.get(), blocks_.size() * sizeof(noise_block));
  }

  [[nodiscard]] bool running() const override { return !stream_.idle(); }

  double stop() override {
    host_control_[0] = {.stop = 1, .blocks_started = shape_.blocks};
    copy(control_.get(), host_control_.get(), sizeof(noise_control));
    stream_.synchronize();
    copy(host_blocks_.get(), blocks_.get(), blocks_.size() * sizeof(noise_block));
    unsigned long long begin = ~0ULL;
    unsigned long long end = 0;
    unsigned long long stores = 0;
    for (std::size_t i = 0; i != host_blocks_.size(); ++i) {
      begin = std::min(begin, host_blocks_[i].begin_ns);
      end = std::max(end, host_blocks_[i].end_ns);
      stores += host_blocks_[i].stores;
    }
    return static_cast<double>(stores) * sizeof(uint4) / static_cast<double>(end - begin);
  }

  [[nodiscard]] occupied place() override {
    std::vector<std::uint8_t> busy;
    for (std::size_t i = 0; i != host_blocks_.size(); ++i) {
      const std::size_t id = host_blocks_[i].multiprocessor;
      busy.resize(std::max(busy.size(), id + 1));
      busy[id] = 1;
    }
    return {std::move(busy)};
  }

 private:
  static constexpr unsigned saturating_batch = 32;
  static constexpr unsigned long long deadline_ns = 20'000'000'000;

  /// The copy uses a copy engine, on its own stream, because the noise kernel occupies the other stream.
  void copy(void* to, const void* from, std::size_t bytes) const {
    membar::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, control_stream_.get()));
    control_stream_.synchronize();
  }

  const support::stream& stream_;
  const support::stream& control_stream_;
  uint4* target_;
  extent shape_;
  unsigned long long quads_per_block_ = 0;
  unsigned stores_per_batch_ = saturating_batch;
  long long batch_cycles_ = 0;
  support::device_memory<noise_control> control_{1};
  support::device_memory<noise_block> blocks_;
  support::pinned_memory<noise_control> host_control_{1};
  support::pinned_memory<noise_block> host_blocks_;
};

/// Concurrent stores from the victim's device to a peer, and from the peer to the victim's device.
class two_way_noise final : public noise {
 public:
  /// `back` runs on `peer`, on streams of that device.
  two_way_noise(std::unique_ptr<kernel_noise> there, std::unique_ptr<kernel_noise> back, int peer)
      : there_(std::move(there)), back_(std::move(back)), peer_(peer) {
    // Loading a kernel while another one waits can deadlock, so the peer's kernel runs once by itself.
    const support::device_guard guard(peer_);
    static_cast<void>(started(*back_, alone.noise));
  }

  /// Limits the sum of both directions to `gigabytes_per_second`.
  void pace(double gigabytes_per_second, double ghz) {
    there_->pace(gigabytes_per_second / 2, ghz);
    back_->pace(gigabytes_per_second / 2, ghz);
  }

  void start(const domain_choice& domains) override {
    there_->start(domains);
    const support::device_guard guard(peer_);
    back_->start(domains);
  }

  [[nodiscard]] bool running() const override { return there_->running() && back_->running(); }

  /// Returns the combined rate of both directions.
  double stop() override {
    const double there = there_->stop();
    const support::device_guard guard(peer_);
    return there + back_->stop();
  }

  [[nodiscard]] occupied place() override { return there_->place(); }

 private:
  std::unique_ptr<kernel_noise> there_;
  std::unique_ptr<kernel_noise> back_;
  int peer_;
};

}  // namespace fence_interference
