// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The resources that the litmus engine owns and starts: memory, streams with events, kernel launches, and host threads.
#pragma once

#include <membar/detail/owned_array.hpp>
#include <membar/error.hpp>
#include <membar/launch.hpp>
#include <membar/litmus/instance_layout.hpp>
#include <membar/litmus/launch_view.hpp>
#include <membar/litmus/placement.hpp>
#include <membar/litmus/run_shape.hpp>
#include <membar/litmus/runnable_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>

namespace membar {
inline namespace v0_3 {
namespace litmus {

/// Returns whether the run of a host test thread has been aborted. If it has, loops in that thread must exit. `abandoned` is
/// the counterpart of this function on the device.
[[nodiscard]] inline bool abandoned_on_host(const instance_cells& at) noexcept {
  return std::atomic_ref<unsigned>(at.run_barrier()->abandoned).load(std::memory_order_relaxed) != 0;
}

namespace detail {

/// Memory of the current device.
class device_bytes : public membar::detail::owned_array<unsigned char, &cudaFree> {
 public:
  explicit device_bytes(std::size_t size) : membar::detail::owned_array<unsigned char, &cudaFree>(allocated(size), size) {}

 private:
  [[nodiscard]] static void* allocated(std::size_t size) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, size),
          "the device has too little free memory for the test: use a smaller batch, stride or share, or fewer lines");
    return memory;
  }
};

/// Memory that is kept for the next run, and is replaced if that run needs more.
template <class Memory>
class reusable {
 public:
  [[nodiscard]] unsigned char* at_least(std::size_t bytes) {
    if (!memory_ || memory_->size() < bytes) {
      memory_.reset();
      memory_.emplace(std::max<std::size_t>(bytes, 1));
    }
    return memory_->data();
  }

 private:
  std::optional<Memory> memory_;
};

/// A non-blocking stream of the current device, with an event before and after its work.
class timed_stream {
 public:
  timed_stream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    try {
      check(cudaEventCreate(&before_));
      check(cudaEventCreate(&after_));
    } catch (...) {
      release();
      throw;
    }
  }
  timed_stream(timed_stream&& other) noexcept
      : stream_(std::exchange(other.stream_, nullptr)),
        before_(std::exchange(other.before_, nullptr)),
        after_(std::exchange(other.after_, nullptr)) {}
  timed_stream& operator=(timed_stream&&) = delete;
  ~timed_stream() { release(); }

  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }
  void begin() const { check(cudaEventRecord(before_, stream_)); }
  void end() const { check(cudaEventRecord(after_, stream_)); }
  [[nodiscard]] double seconds() const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, before_, after_));
    return static_cast<double>(milliseconds) / 1e3;
  }
  /// Returns whether all work enqueued so far has ended. Throws `error` if it failed.
  [[nodiscard]] bool idle() const {
    const cudaError_t status = cudaStreamQuery(stream_);
    if (status == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
    check(status, "the test's kernel failed, so this process can no longer use the device: run further tests in a new process");
    return true;
  }

 private:
  void release() noexcept {
    if (before_ != nullptr) {
      static_cast<void>(cudaEventDestroy(before_));
    }
    if (after_ != nullptr) {
      static_cast<void>(cudaEventDestroy(after_));
    }
    if (stream_ != nullptr) {
      static_cast<void>(cudaStreamDestroy(stream_));
    }
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t before_ = nullptr;
  cudaEvent_t after_ = nullptr;
};

/// Returns how many blocks of the kernel the current device can hold at the same time, in whole clusters. The call loads the
/// kernel.
[[nodiscard]] inline unsigned blocks_that_fit(const void* kernel, const machine::device& on, unsigned width, unsigned cluster,
                                              std::size_t shared_bytes) {
  int fitting = 0;
  if (cluster == 1) {
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fitting, kernel, static_cast<int>(width), shared_bytes),
          "compile the kernel for this device");
    return static_cast<unsigned>(fitting) * static_cast<unsigned>(on.multiprocessors);
  }
  cudaLaunchAttribute of_cluster = membar::detail::encoded(cluster_dimensions{.x = cluster});
  of_cluster.id = cudaLaunchAttributeClusterDimension;
  cudaLaunchConfig_t config{};
  config.gridDim = cluster * static_cast<unsigned>(on.multiprocessors);
  config.blockDim = width;
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &of_cluster;
  config.numAttrs = 1;
  check(cudaOccupancyMaxActiveClusters(&fitting, kernel, &config),
        "compile the kernel for this device, and use a device that supports clusters");
  return static_cast<unsigned>(fitting) * cluster;
}

/// Launches `kernel` in the physical domain `domain` of device `on`, which must be the current device.
inline void launch_kernel(const void* kernel, const machine::device& on, int domain, const run_shape& shape,
                          std::size_t shared_bytes, const launch_view& view, cudaStream_t stream) {
  // The runtime accepts either the address of a function or a cudaKernel_t.
  const auto function = reinterpret_cast<void (*)(launch_view)>(const_cast<void*>(kernel));
  const auto in_domain = [&](const auto& config) {
    // a device with a single domain offers no choice
    if (on.domains > 1) {
      membar::launch(config.with(sync_domain::default_).with(sync_domain_map{.default_ = domain, .remote = domain}), function,
                     view);
    } else {
      membar::launch(config, function, view);
    }
  };
  const launch_config config{shape.layout.blocks + shape.stress_blocks, shape.layout.width, stream, shared_bytes};
  if (shape.layout.cluster > 1) {
    in_domain(config.with(cluster_dimensions{.x = shape.layout.cluster}));
  } else {
    in_domain(config);
  }
}

using wall_clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(wall_clock::time_point begin) noexcept {
  return std::chrono::duration<double>(wall_clock::now() - begin).count();
}

/// Runs a host thread's part of a slice, as `run_launch` does for a launch.
class host_participant {
 public:
  host_participant(const launch_view& view, unsigned participant, int thread, const host_thread& code,
                   wall_clock::time_point deadline)
      : view_(view), participant_(participant), thread_(thread), code_(&code), deadline_(deadline) {}

  void operator()() const {
    if (!arrive_and_wait(1)) {
      return;
    }
    const instance_layout& layout = view_.layout;
    for (unsigned k = 0; k < view_.steps; ++k) {
      const unsigned step = view_.first_step + k;
      const unsigned region = k & 1U;
      unsigned rotations[max_locations] = {};
      for (unsigned location = 0; location < layout.locations; ++location) {
        rotations[location] = rotation_of(layout, step, location);
      }
      for (unsigned turn = 0; turn < layout.instances(); ++turn) {
        const unsigned instance = host_instance(layout, view_.seats[thread_], step, turn);
        (*code_)(
            thread_,
            instance_cells(layout, view_.cells + region * layout.region_bytes(), rotations, instance, view_.run_barrier, 0),
            instance_digits(layout, view_.digits + region * layout.digit_bytes(), instance));
      }
      if (!arrive_and_wait(k + 2)) {
        return;
      }
    }
  }

 private:
  /// The host's part of the barrier among all participants. It corresponds to the system-scope part of `arrive_and_wait` in
  /// kernel.cuh.
  [[nodiscard]] bool arrive_and_wait(unsigned barrier) const {
    run_barrier_words& all = *view_.run_barrier;
    std::atomic_ref<unsigned>(all.participants[participant_].reached).store(barrier, std::memory_order_release);
    for (unsigned p = 0; p < view_.participants; ++p) {
      const std::atomic_ref<unsigned> reached(all.participants[p].reached);
      for (unsigned polls = 1; static_cast<int>(reached.load(std::memory_order_acquire) - barrier) < 0; ++polls) {
        constexpr unsigned polls_per_check = 1024;
        if (polls % polls_per_check != 0) {
          continue;
        }
        std::this_thread::yield();
        const std::atomic_ref<unsigned> abandoned(all.abandoned);
        if (abandoned.load(std::memory_order_relaxed) != 0) {
          return false;
        }
        if (wall_clock::now() > deadline_) {
          std::atomic_ref<unsigned>(all.abandoned_at).store(barrier, std::memory_order_relaxed);
          abandoned.store(1 + participant_, std::memory_order_relaxed);
          return false;
        }
      }
    }
    return true;
  }

  launch_view view_;
  unsigned participant_;
  int thread_;
  const host_thread* code_;
  wall_clock::time_point deadline_;
};

}  // namespace detail

}  // namespace litmus
}  // namespace v0_3
}  // namespace membar
