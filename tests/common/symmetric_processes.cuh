// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The symmetric-memory protocols between processes with one PE each: the code that each process runs, and its exit code.
#pragma once

#include <membar/symmetric/host_group.hpp>
#include <membar/symmetric/on_stream.cuh>
#include <membar/symmetric/process_memory.hpp>

#include <bench/common/cuda_handles.hpp>
#include <bench/common/processes.hpp>

#include <tests/common/forked_processes.hpp>
#include <tests/common/gpu_test.hpp>
#include <tests/common/symmetric_protocols.cuh>

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <vector>

namespace membar_test {

/// Starting processes takes time, and the processes pass messages at a hundredth of the usual rate.
[[nodiscard]] inline std::chrono::seconds processes_deadline() {
  return std::chrono::seconds(240 + symmetric_messages() / 100'000);
}

/// Base class of tests with processes on `Gpus` GPUs. The test's own process makes no CUDA call, because it forks.
template <int Gpus>
class processes_on_gpus : public ::testing::Test {
 protected:
  static constexpr int pes = 2;

  void SetUp() override {
    if (support::gpus_of_this_machine() >= Gpus) {
      return;
    }
    constexpr auto missing = Gpus == 1 ? "this test needs a GPU, but the CUDA runtime finds none"
                                       : "this test needs two GPUs, but the CUDA runtime finds fewer";
    if (demanded("MEMBAR_REQUIRE_MULTI_GPU") || (Gpus == 1 && demanded("MEMBAR_REQUIRE_GPU"))) {
      FAIL() << missing;
    }
    GTEST_SKIP() << missing;
  }

  /// Runs `body(group)` in a process for each PE, assigned to the GPUs in turn. Returns the exit codes.
  template <class Body>
  static std::vector<int> in_a_group(Body body) {
    const symmetric::rendezvous where = symmetric::make_rendezvous();
    std::vector<pid_t> children;
    for (int rank = 0; rank != pes; ++rank) {
      children.push_back(support::detail::forked([&] {
        membar::check(cudaSetDevice(rank % Gpus));
        auto group = symmetric::host_group::join(where, rank, pes, processes_deadline());
        return body(group);
      }));
    }
    return support::detail::ended(children, processes_deadline());
  }
  /// Does the same, and expects `body(group)` to return 0 in every process.
  template <class Body>
  static void expect_success_in_a_group(Body body) {
    for (const int code : in_a_group(body)) {
      EXPECT_EQ(code, 0) << "-1: crashed or timed out; standard error has the details";
    }
  }
};

/// Each process has its own GPU.
using gpu_processes = processes_on_gpus<2>;

/// Prints to standard error the errors that the kernels have reported so far. Returns the exit code for the process.
[[nodiscard]] inline int verdict(const support::device_memory<pe_report>& report) {
  membar::check(cudaDeviceSynchronize(), "a kernel failed");
  pe_report got{};
  membar::check(cudaMemcpy(&got, report.get(), sizeof got, cudaMemcpyDefault));
  if (got.stale != 0 || got.late != 0) {
    std::fprintf(stderr, "%llu words differed from those sent, %llu waits timed out, %llu messages were received\n", got.stale,
                 got.late, got.messages);
    return 1;
  }
  return 0;
}

/// Passes messages to and from the next PE with `kernel`, with one channel for each group.
template <class Backend, class Group, class Kernel>
[[nodiscard]] int pass_by(Backend& backend, Group, Kernel kernel, unsigned size, unsigned passes = 3) {
  constexpr bool a_block = std::is_same_v<Group, by_block_t>;
  constexpr unsigned warps = 8, blocks = 32;
  constexpr unsigned channels = a_block ? blocks : blocks * warps;
  symmetric::heap<Backend> heap(backend, channel_arrays<Backend>::bytes(channels));
  const pe self = backend.local_pes().front();
  const channel_arrays<Backend> all(heap, channels);
  const support::device_memory<pe_report> report(1);
  const unsigned rounds = symmetric_rounds(channels, passes);
  membar::launch(launch_config{blocks, warps * 32}, kernel, all.on(self), rounds, size,
                 ring_neighbour(self, 1, backend.count()), report.get());
  const int result = verdict(report);
  all.free(heap);  // Collective: all processes have finished before anything is freed.
  return result;
}

/// A protocol that threads, warps and blocks execute.
template <class Protocol, class Backend>
[[nodiscard]] int pass_protocol(Backend& backend) {
  return pass_by(backend, by_thread, pass_messages<Protocol, by_thread_t, Backend>, 5) |
         pass_by(backend, by_warp, pass_messages<Protocol, by_warp_t, Backend>, 64) |
         pass_by(backend, by_block, pass_messages<Protocol, by_block_t, Backend>, 511);
}

/// Packed messages of every shape.
template <class Backend>
[[nodiscard]] int pass_all_packed(Backend& backend) {
  return pass_by(backend, by_warp, pass_packed<by_warp_t, packed_payload, Backend>, 0, 1) |
         pass_by(backend, by_warp, pass_packed<by_warp_t, long_packed_payload, Backend>, 0, 1) |
         pass_by(backend, by_warp, pass_packed<by_thread_t, packed_piece, Backend>, 0, 1);
}

template <class Backend>
[[nodiscard]] int pass_barriers_in_rounds(Backend& backend, unsigned rounds) {
  symmetric::heap<Backend> heap(backend, 1 << 20);
  const pe self = backend.local_pes().front();
  const auto slots = heap.template allocate<int>(static_cast<std::size_t>(backend.count()) * 32);
  const auto words = heap.allocate_barrier();
  const support::device_memory<pe_report> report(1);
  membar::launch(launch_config{1, 256}, pass_barriers<by_block_t, Backend>, slots.on(self), words.on(self), rounds,
                 report.get());
  const int result = verdict(report);
  heap.free(slots);
  heap.free(words);
  return result;
}

template <class Backend>
[[nodiscard]] int pass_barriers_of(Backend& backend) {
  return pass_barriers_in_rounds(backend, 5'000);
}

/// Copies to the next PE in a stream and notifies it; the next PE waits and reads the data.
template <class Backend>
[[nodiscard]] int pass_by_copies_of_streams(Backend& backend) {
  symmetric::heap<Backend> heap(backend, 1 << 20);
  const pe self = backend.local_pes().front(), other = ring_neighbour(self, 1, backend.count());
  const auto values = heap.template allocate<int>(1000);
  const auto ready = heap.template allocate<signal<add>>(1);
  load_stream_operations(heap);
  const std::vector<int> mine(1000, 100 + self.index());
  std::vector<int> got(1000);
  const support::stream stream;
  put_on_stream(heap, values.on(self), mine.data(), other, stream.get());
  notify_on_stream(ready.on(self)[0], 1, other, stream.get());
  wait_on_stream(ready.on(self)[0], at_least(1), membar::wait_budget::milliseconds(20'000), stream.get());
  membar::check(cudaMemcpyAsync(got.data(), values.on(self).local(), 4000, cudaMemcpyDefault, stream.get()));
  membar::check(cudaStreamSynchronize(stream.get()), "a kernel failed");
  heap.free(values);
  heap.free(ready);
  return got == std::vector<int>(1000, 100 + other.index()) ? 0 : 2;
}

template <class Backend>
__global__ void wait_in_vain(object<signal<set>, Backend> ready, pe_report* report) {
  const bool late = try_wait(by_block, ready, equals(1), membar::wait_budget::milliseconds(200)) != wait_result::done;
  add_to(*report, by_block, 0, late, 1);
}

/// Kills one of two processes that share memory on `gpus` GPUs. Expects the other process's wait to end, and its next
/// collective call to name the killed process.
inline void expect_waits_to_end_and_to_name_the_killed(int gpus) {
  using backend = symmetric::adopted_backend;
  constexpr std::size_t shared_bytes = std::size_t{16} << 20;
  const symmetric::rendezvous where = symmetric::make_rendezvous();
  const auto codes = processes(2, [&](int rank) {
    membar::check(cudaSetDevice(rank % gpus));
    auto group = symmetric::host_group::join(where, rank, 2, std::chrono::seconds(30));
    const symmetric::process_memory memory(group, shared_bytes);
    auto* const of = new backend(memory.memory(), group.callback());  // The destructor would be collective.
    auto* const heap = new symmetric::heap<backend>(*of, shared_bytes);
    const auto ready = heap->allocate<signal<set>>(1);
    if (rank == 1) {
      ::raise(SIGKILL);
    }
    const support::device_memory<pe_report> report(1);
    membar::launch(launch_config{1, 64}, wait_in_vain<backend>, ready.on(pe(0))[0], report.get());
    membar::check(cudaDeviceSynchronize());
    pe_report got{};
    membar::check(cudaMemcpy(&got, report.get(), sizeof got, cudaMemcpyDefault));
    return (got.late == 1 ? 0 : 2) +
           unless_refused("PE 1 of the group has ended", [&] { static_cast<void>(heap->allocate<int>(1)); });
  });
  EXPECT_EQ(codes, (std::vector<int>{0, -1}));
}

}  // namespace membar_test
