// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Two GPUs as PEs of the peer backend, and the cases of a bench: registered by name, waived in words where something is
/// missing.
#pragma once

#include <bench/common/cuda_handles.hpp>
#include <bench/common/failed_cases.hpp>
#include <bench/common/machine_context.hpp>
#include <membar/launch.hpp>
#include <membar/load_store.cuh>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/peer_backend.hpp>

#include "kernels.cuh"
#include "nvshmem_arms.hpp"

#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace symmetric_bench {

using membar::symmetric::pe;
using membar::symmetric::peer_backend;

/// The first two devices that have peer access to each other; fewer where there are none.
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

/// A stream of each PE's device.
class pe_streams {
 public:
  explicit pe_streams(const peer_backend& backend) {
    for (const pe each : backend.local_pes()) {
      const membar::device_guard guard(backend.device_of(each));
      streams_.push_back(std::make_unique<support::stream>());
    }
  }
  [[nodiscard]] cudaStream_t of(pe which) const { return streams_[static_cast<std::size_t>(which.index())]->get(); }
  void synchronize() const {
    for (const auto& each : streams_) {
      each->synchronize();
    }
  }

 private:
  std::vector<std::unique_ptr<support::stream>> streams_;
};

/// Loads a kernel at every PE: at its first launch it might wait for one that runs and waits for it.
template <class... Parameters>
void load_everywhere(const peer_backend& backend, void (*kernel)(Parameters...)) {
  for (const pe each : backend.local_pes()) {
    const membar::device_guard guard(backend.device_of(each));
    cudaFuncAttributes attributes{};
    membar::check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)));
  }
}

/// Polls until the host opens; never longer than its budget.
__global__ void hold_stream(const unsigned* open, unsigned* late) {
  const unsigned long long begin = support::device_nanoseconds();
  while (membar::load<membar::thread_scope::system>(open, membar::relaxed) == 0) {
    if (support::device_nanoseconds() - begin > generous.in_nanoseconds()) {
      *late = 1;
      return;
    }
  }
}

/// Holds streams until all that is timed has been enqueued behind it, so that no time is that of the host's launches.
class gate {
 public:
  explicit gate(const peer_backend& backend) { load_everywhere(backend, hold_stream); }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() { open(); }

  /// The stream's device is current.
  void hold(cudaStream_t stream) {
    membar::launch(membar::launch_config{1, 1, stream}, hold_stream, state_.get(), state_.get() + 1);
  }
  void open() noexcept { std::atomic_ref<unsigned>(state_[0]).store(1, std::memory_order_release); }
  /// When all streams have ended: throws if one was let go before.
  void require_held() const {
    if (state_[1] != 0) {
      throw std::runtime_error("the host took longer to enqueue than the streams were held: the time would be the host's");
    }
  }

 private:
  support::pinned_memory<unsigned> state_{2};  // open, late
};

/// Two PEs, a heap, and what a kernel of each reports.
class world {
 public:
  static constexpr std::size_t heap_bytes = std::size_t{640} << 20;

  explicit world(const std::vector<int>& devices)
      : backend(devices), heap(backend, heap_bytes), streams(backend), reports_(static_cast<std::size_t>(backend.count())) {
    // membar's memory needs none of this; the copies that it is compared with do.
    for (const pe from : backend.local_pes()) {
      const membar::device_guard guard(backend.device_of(from));
      const pe to = membar::symmetric::ring_neighbour(from, 1, backend.count());
      const cudaError_t status = cudaDeviceEnablePeerAccess(backend.device_of(to), 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        static_cast<void>(cudaGetLastError());
      } else {
        membar::check(status);
      }
    }
  }

  /// Launches one block of `kernel` on every PE, with what `arguments(which, launch)` passes to `launch`, the number of rounds
  /// and a report behind it; returns PE 0's nanoseconds per round. Throws if a wait was in vain.
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
        throw std::runtime_error("a wait was in vain");
      }
    }
    return static_cast<double>(reports_[0].nanoseconds) / rounds;
  }

  peer_backend backend;
  membar::symmetric::heap<peer_backend> heap;
  pe_streams streams;

 private:
  support::pinned_memory<kernel_report> reports_;
};

/// What a case measures: nanoseconds, once for each repetition, and counters that it adds.
using measurement = std::function<double(benchmark::State&)>;

/// Registers a case that is repeated nine times, or waived with the reason.
inline void add_case(const std::string& name, const std::string& waived, measurement measure) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [name, waived, measure = std::move(measure),
                                failed = std::make_shared<support::case_failure>()](benchmark::State& state) {
                                 if (failed->before(state)) {
                                   return;
                                 }
                                 for (auto _ : state) {
                                   double ns = 0;
                                   if (waived.empty()) {
                                     try {
                                       ns = measure(state);
                                     } catch (const std::exception& failure) {
                                       failed->now(state, name, failure.what());
                                       break;
                                     }
                                   }
                                   state.SetIterationTime(ns * 1e-9);
                                 }
                                 if (!waived.empty()) {
                                   state.SetLabel("waived: " + waived);
                                 }
                               })
      ->Iterations(1)
      ->Repetitions(waived.empty() ? 9 : 1)
      ->UseManualTime()
      ->Unit(benchmark::kNanosecond);
}

/// Whether a filter of Google Benchmark can match an arm of NVSHMEM. All of them have "nvshmem" in their names, which are known
/// in full only when they were measured: one that names another arm outright does not match, any other may.
[[nodiscard]] inline bool may_want_nvshmem(const std::string& filter) {
  if (filter == "-nvshmem") {
    return false;
  }
  if (filter.find_first_of("|-") != std::string::npos) {
    return true;
  }
  for (const char* const arm :
       {"membar_peer", "atomicAdd", "cudaMemcpy", "nccl", "cross_barrier", "by_hand", "copy_past_l1", "bulk_copy"}) {
    if (filter.find(arm) != std::string::npos) {
      return false;
    }
  }
  return true;
}

/// Adds the arms of NVSHMEM for `question`: measured once, by a program of their own in processes of their own; where that
/// failed the case is an error.
inline void add_nvshmem_cases(const std::string& question) {
  for (const nvshmem_result& each : nvshmem_results(question)) {
    add_case(each.name, each.waived, [each, next = std::size_t{0}](benchmark::State& state) mutable {
      if (!each.failed.empty()) {
        throw std::runtime_error(each.failed);
      }
      const double ns = each.nanoseconds[next++ % each.nanoseconds.size()];
      if (const double bytes = bytes_of_case(each.name); bytes != 0) {
        state.counters["GB/s"] = bytes / ns;
      }
      return ns;
    });
  }
}

/// Runs a bench. `add(world, reason)` registers the cases: `world` is null where `reason` says what is missing.
template <class Add>
int run_bench(int argc, char** argv, const char* question, Add add) {
  try {
    // Behind the program's name, so that what the user says holds. Of each case the aggregates are kept: what a report needs.
    static char aggregates[] = "--benchmark_report_aggregates_only=true";
    std::vector<char*> arguments(argv, argv + argc);
    arguments.insert(arguments.begin() + 1, aggregates);
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) {
      return 1;
    }
    // Before this process uses CUDA: both need the GPUs to themselves.
    if (question != nullptr && may_want_nvshmem(benchmark::GetBenchmarkFilter())) {
      add_nvshmem_cases(question);
    }
    const std::vector<int> devices = two_peers();
    std::unique_ptr<world> two;
    std::string missing = "no two devices with peer access to each other";
    if (!devices.empty()) {
      missing.clear();
      membar::check(cudaSetDevice(devices[0]));  // whose events are recorded
      two = std::make_unique<world>(devices);
      for (const auto& [key, value] : support::machine_context(devices[0])) {
        benchmark::AddCustomContext(key, value);
      }
      benchmark::AddCustomContext("link", support::link_between(devices[0], devices[1]));
    }
    add(two.get(), missing);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return support::failed_repetitions == 0 ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}

}  // namespace symmetric_bench
