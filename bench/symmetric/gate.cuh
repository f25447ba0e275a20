// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Streams that are blocked until all timed work has been enqueued, so that times do not include the host's launches.
#pragma once

#include <bench/common/cuda_handles.hpp>
#include <membar/device_clock.cuh>
#include <membar/launch.hpp>
#include <membar/load_store.cuh>

#include "kernels.cuh"

#include <atomic>
#include <stdexcept>

namespace symmetric_bench {

/// Calls `use(which)` for each PE of this process, with its device current.
template <class Backend, class Use>
void at_each_pe(const Backend& backend, Use use) {
  for (const pe which : backend.local_pes()) {
    const membar::device_guard guard(backend.device_of(which));
    use(which);
  }
}

/// Loads a kernel on every PE. Otherwise, the kernel's first launch could wait for a running kernel that itself waits for this
/// kernel.
template <class Backend, class... Parameters>
void load_everywhere(const Backend& backend, void (*kernel)(Parameters...)) {
  at_each_pe(backend, [&](pe) {
    cudaFuncAttributes attributes{};
    membar::check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)));
  });
}

/// Polls until the host opens the gate, but for no longer than the budget.
__global__ void hold_stream(const unsigned* open, unsigned* late) {
  const unsigned long long begin = membar::global_nanoseconds();
  while (membar::load<membar::thread_scope::system>(open, membar::relaxed) == 0) {
    if (membar::global_nanoseconds() - begin > generous.in_nanoseconds()) {
      *late = 1;
      return;
    }
  }
}

/// Blocks streams until all timed work has been enqueued behind it, so that times do not include the host's launches.
class gate {
 public:
  template <class Backend>
  explicit gate(const Backend& backend) {
    load_everywhere(backend, hold_stream);
  }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() { open(); }

  /// The stream's device must be current.
  void hold(cudaStream_t stream) {
    membar::launch(membar::launch_config{1, 1, stream}, hold_stream, state_.get(), state_.get() + 1);
  }
  void open() noexcept { std::atomic_ref<unsigned>(state_[0]).store(1, std::memory_order_release); }
  /// Call this when all streams have finished. Throws if a stream was released too early.
  void require_held() const {
    if (state_[1] != 0) {
      throw std::runtime_error(
          "the host took longer to enqueue the work than the streams were blocked, so the measured time would include the "
          "host's launches");
    }
  }

 private:
  support::pinned_memory<unsigned> state_{2};  // open, late
};

/// Returns the time in nanoseconds per operation, averaged over the many operations that `enqueue()` puts into the streams of
/// this process's PEs, measured on the first PE's stream.
template <class Backend, class StreamOf, class Enqueue>
double nanoseconds_of_one(const Backend& backend, int rounds, StreamOf stream_of, Enqueue enqueue) {
  const auto pes = backend.local_pes();
  const auto synchronize = [&] {
    for (const pe which : pes) {
      membar::check(cudaStreamSynchronize(stream_of(which)), "a kernel failed");
    }
  };
  for (int i = 0; i != 5; ++i) {
    enqueue();  // This loads kernels and establishes connections.
  }
  synchronize();
  const support::event begin;
  const support::event end;
  gate held(backend);
  at_each_pe(backend, [&](pe which) { held.hold(stream_of(which)); });
  for (int round = -10; round != rounds; ++round) {
    if (round == 0) {
      begin.record(stream_of(pes.front()));
    }
    enqueue();
  }
  end.record(stream_of(pes.front()));
  held.open();
  synchronize();
  held.require_held();
  return end.nanoseconds_since(begin) / rounds;
}

}  // namespace symmetric_bench
