// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Two GPUs as PEs of the peer backend.
#pragma once

#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>
#include <membar/launch.hpp>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/peer_backend.hpp>

#include "gate.cuh"
#include "kernels.cuh"
#include "nvshmem_arms.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace symmetric_bench {

using symmetric::peer_backend;

/// Returns the first two devices that have peer access to each other, or fewer devices if there is no such pair.
[[nodiscard]] inline std::vector<int> two_peers() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  for (int a = 0; a < count; ++a) {
    for (int b = a + 1; b < count; ++b) {
      int forth = 0;
      int back = 0;
      membar::check(cudaDeviceCanAccessPeer(&forth, a, b));
      membar::check(cudaDeviceCanAccessPeer(&back, b, a));
      if (forth != 0 && back != 0) {
        return {a, b};
      }
    }
  }
  return {};
}

/// A stream on each PE's device.
class pe_streams {
 public:
  explicit pe_streams(const peer_backend& backend) {
    at_each_pe(backend, [&](pe) { streams_.push_back(std::make_unique<support::stream>()); });
  }
  [[nodiscard]] cudaStream_t of(pe which) const { return stream_of(which).get(); }
  [[nodiscard]] bool idle(pe which) const { return stream_of(which).idle(); }
  void synchronize() const {
    for (const auto& each : streams_) {
      each->synchronize();
    }
  }

 private:
  [[nodiscard]] const support::stream& stream_of(pe which) const { return *streams_[static_cast<std::size_t>(which.index())]; }

  std::vector<std::unique_ptr<support::stream>> streams_;
};

/// Two PEs, a heap, and the report of each PE's kernel.
class world {
 public:
  static constexpr std::size_t heap_bytes = std::size_t{640} << 20;

  explicit world(const std::vector<int>& devices)
      : backend(devices), heap(backend, heap_bytes), streams(backend), reports_(static_cast<std::size_t>(backend.count())) {
    // membar's memory does not require this, but the copies with which membar is compared do.
    for (const pe from : backend.local_pes()) {
      const membar::device_guard guard(backend.device_of(from));
      const pe to = ring_neighbour(from, 1, backend.count());
      const cudaError_t status = cudaDeviceEnablePeerAccess(backend.device_of(to), 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        static_cast<void>(cudaGetLastError());
      } else {
        membar::check(status);
      }
    }
  }

  /// Launches one block of `kernel` on every PE. The kernel receives the arguments that `arguments(which, launch)` passes to
  /// `launch`, followed by the number of rounds and a report. Returns the nanoseconds per round on PE 0. Throws if a wait timed
  /// out.
  template <class... Parameters, class Arguments>
  double round_nanoseconds(unsigned threads, unsigned rounds, void (*kernel)(Parameters...), Arguments arguments) {
    load_everywhere(backend, kernel);
    for (const pe which : backend.local_pes()) {
      const membar::device_guard guard(backend.device_of(which));
      kernel_report* const report = reports_.get() + which.index();
      *report = {0, 1};
      arguments(which, [&](auto... values) {
        membar::launch(membar::launch_config{1, threads, streams.of(which)}, kernel, values..., rounds, report);
      });
    }
    streams.synchronize();
    for (const pe which : backend.local_pes()) {
      if (reports_[static_cast<std::size_t>(which.index())].failures != 0) {
        throw std::runtime_error("a wait timed out");
      }
    }
    return static_cast<double>(reports_[0].nanoseconds) / rounds;
  }

  peer_backend backend;
  symmetric::heap<peer_backend> heap;
  pe_streams streams;

 private:
  support::pinned_memory<kernel_report> reports_;
};

/// The two GPUs of a bench. The first case that runs creates a `world` on them. If there are not two GPUs, all cases are
/// waived.
struct peers {
  explicit peers(bench::suite& cases) : devices(two_peers()), two(devices) {
    if (devices.empty()) {
      cases.waive("no two devices with peer access to each other");
      return;
    }
    membar::check(cudaSetDevice(devices[0]));  // The device whose events are recorded.
    for (const auto& [key, value] : support::machine_context(devices[0])) {
      cases.context(key, value);
    }
    cases.context("link", support::link_between(devices[0], devices[1]));
  }

  std::vector<int> devices;
  bench::made_once<world> two;
};

}  // namespace symmetric_bench
