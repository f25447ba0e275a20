// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what do the synchronization patterns cost beside what a user would write: the grid barrier of cooperative
/// groups, `cuda::barrier`, `cuda::binary_semaphore`, flags by hand? The time of a case is that of one barrier, one turn of a
/// lock, one message of a channel, in the kernel.
#include <bench/common/cuda_handles.hpp>
#include <bench/common/machine_context.hpp>
#include <membar/co_residency.hpp>
#include <membar/sync/grid_barrier.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/queue_lock.cuh>
#include <membar/sync/spsc_channel.cuh>
#include <membar/sync/ticket_lock.cuh>

#include <benchmark/benchmark.h>
#include <cooperative_groups.h>

#include <cuda/barrier>
#include <cuda/semaphore>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using membar::thread_scope;
using membar::wait_result;

constexpr membar::wait_budget generous = membar::wait_budget::milliseconds(5'000);

/// What a kernel reports: how often what was measured happened, and whether a wait was in vain.
struct report {
  unsigned long long count;
  unsigned failures;
};

// Barriers of a grid. Each is a type with zero-initialized state, called by all threads of all blocks.

struct membar_grid {
  membar::grid_barrier<thread_scope::device> barrier;
  __device__ bool meet() { return barrier.sync(generous) == wait_result::done; }
};

/// With nothing ordered: what meeting alone costs.
struct membar_grid_relaxed {
  membar::grid_barrier<thread_scope::device> barrier;
  __device__ bool meet() { return barrier.sync(membar::relaxed, membar::relaxed, generous) == wait_result::done; }
};

struct cooperative_groups_grid {
  int nothing;
  __device__ bool meet() {
    cooperative_groups::this_grid().sync();
    return true;
  }
};

/// Polls after which a loop by hand gives up, seconds later than any that goes well; counting them costs it nothing beside the
/// load.
constexpr unsigned most_polls = 1U << 24;

/// The loop that is found in many kernels: a counter, fences by hand.
struct flags_by_hand {
  unsigned count;
  volatile unsigned phase;
  __device__ bool meet() {
    __syncthreads();
    unsigned polls = 0;
    if (threadIdx.x == 0) {
      const unsigned seen = phase;
      __threadfence();
      if (atomicAdd(&count, 1U) == gridDim.x - 1) {
        count = 0;
        __threadfence();
        phase = seen + 1;
      } else {
        while (phase == seen && ++polls != most_polls) {
        }
      }
      __threadfence();
    }
    __syncthreads();
    return polls != most_polls;
  }
};

/// `cuda::barrier` of device scope, initialized by the first launch.
struct cuda_barrier {
  alignas(cuda::barrier<cuda::thread_scope_device>) unsigned char bytes[sizeof(cuda::barrier<cuda::thread_scope_device>)];
  __device__ bool meet() {
    __syncthreads();
    if (threadIdx.x == 0) {
      reinterpret_cast<cuda::barrier<cuda::thread_scope_device>*>(bytes)->arrive_and_wait();
    }
    __syncthreads();
    return true;
  }
};

template <class Barrier>
__global__ void prepare(Barrier* barrier, unsigned blocks) {
  if constexpr (std::is_same_v<Barrier, cuda_barrier>) {
    init(reinterpret_cast<cuda::barrier<cuda::thread_scope_device>*>(barrier->bytes), static_cast<int>(blocks));
  }
}

template <class Barrier>
__global__ void meet(Barrier* barrier, unsigned rounds, report* seen) {
  unsigned failures = 0;
  for (unsigned i = 0; i != rounds && failures == 0; ++i) {
    failures += barrier->meet() ? 0 : 1;
  }
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    *seen = {rounds, failures};
  }
}

// Locks, with one thread of each block asking.

constexpr unsigned most_blocks = 256;

struct membar_ticket_lock {
  membar::ticket_lock<thread_scope::device> of;
  __device__ bool lock() { return of.lock(generous) == wait_result::done; }
  __device__ void unlock() { of.unlock(); }
};

struct membar_queue_lock {
  membar::queue_lock<thread_scope::device> of;
  membar::queue_lock<thread_scope::device>::node nodes[most_blocks];
  __device__ bool lock() { return of.lock(nodes[blockIdx.x], generous) == wait_result::done; }
  __device__ void unlock() { static_cast<void>(of.unlock(nodes[blockIdx.x], generous)); }
};

struct cuda_semaphore {
  alignas(cuda::binary_semaphore<cuda::thread_scope_device>) unsigned char bytes[sizeof(
      cuda::binary_semaphore<cuda::thread_scope_device>)];
  __device__ cuda::binary_semaphore<cuda::thread_scope_device>& of() {
    return *reinterpret_cast<cuda::binary_semaphore<cuda::thread_scope_device>*>(bytes);
  }
  __device__ bool lock() {
    of().acquire();
    return true;
  }
  __device__ void unlock() { of().release(); }
};

/// The lock that most kernels have: a word, compare-and-swap, fences by hand.
struct lock_by_hand {
  int word;
  __device__ bool lock() {
    for (unsigned polls = 0; atomicCAS(&word, 0, 1) != 0;) {
      if (++polls == most_polls) {
        return false;
      }
    }
    __threadfence();
    return true;
  }
  __device__ void unlock() {
    __threadfence();
    atomicExch(&word, 0);
  }
};

template <class Lock>
__global__ void prepare_lock(Lock* lock) {
  if constexpr (std::is_same_v<Lock, cuda_semaphore>) {
    new (lock->bytes) cuda::binary_semaphore<cuda::thread_scope_device>(1);
  }
}

template <class Lock>
__global__ void take_turns(Lock* lock, unsigned long long* guarded, unsigned rounds, report* seen) {
  unsigned failures = 0;
  for (unsigned i = 0; i != rounds && failures == 0; ++i) {
    if (lock->lock()) {
      ++*guarded;
      lock->unlock();
    } else {
      ++failures;
    }
  }
  membar::atomic_ref<unsigned long long, thread_scope::device>(seen->count).add(rounds, membar::relaxed);
  membar::atomic_ref<unsigned, thread_scope::device>(seen->failures).add(failures, membar::relaxed);
}

// Channels: even blocks push, odd blocks pop.

struct message {
  unsigned words[3];
};

template <class Channel>
__global__ void pass(Channel* channels, unsigned count, report* seen) {
  Channel& channel = channels[blockIdx.x / 2];
  unsigned failures = 0;
  message m{};
  if (blockIdx.x % 2 == 0) {
    typename Channel::producer end(channel);
    for (unsigned i = 0; i != count && failures == 0; ++i) {
      m.words[0] = i;
      failures += end.push(m, generous) == wait_result::done ? 0 : 1;
    }
  } else {
    typename Channel::consumer end(channel);
    for (unsigned i = 0; i != count && failures == 0; ++i) {
      failures += end.pop(m, generous) == wait_result::done && m.words[0] == i ? 0 : 1;
    }
    membar::atomic_ref<unsigned long long, thread_scope::device>(seen->count).add(count, membar::relaxed);
  }
  membar::atomic_ref<unsigned, thread_scope::device>(seen->failures).add(failures, membar::relaxed);
}

/// A flag and a message by hand: one slot, fences.
struct slot_by_hand {
  volatile unsigned full;
  message what;
};
__global__ void pass_by_hand(slot_by_hand* slots, unsigned count, report* seen) {
  slot_by_hand& slot = slots[blockIdx.x / 2];
  unsigned wrong = 0;
  unsigned polls = 0;
  for (unsigned i = 0; i != count && polls < most_polls; ++i) {
    polls = 0;
    if (blockIdx.x % 2 == 0) {
      while (slot.full != 0 && ++polls != most_polls) {
      }
      __threadfence();
      slot.what.words[0] = i;
      __threadfence();
      slot.full = 1;
    } else {
      while (slot.full == 0 && ++polls != most_polls) {
      }
      __threadfence();
      wrong += slot.what.words[0] == i ? 0 : 1;
      __threadfence();
      slot.full = 0;
    }
  }
  if (blockIdx.x % 2 == 1) {
    membar::atomic_ref<unsigned long long, thread_scope::device>(seen->count).add(count, membar::relaxed);
  }
  wrong += polls == most_polls ? 1 : 0;
  membar::atomic_ref<unsigned, thread_scope::device>(seen->failures).add(wrong, membar::relaxed);
}

/// Each case runs once per repetition, on new objects. Times what `enqueue` launches on `stream`, per event that it reports;
/// `lanes` of them go on at once.
template <class Enqueue>
void measure(benchmark::State& state, double lanes, Enqueue enqueue) {
  const support::stream stream;
  const support::event begin;
  const support::event end;
  const support::device_memory<report> seen(1);
  for (auto _ : state) {
    membar::check(cudaMemsetAsync(seen.get(), 0, sizeof(report), stream.get()));
    begin.record(stream.get());
    enqueue(stream.get(), seen.get());
    end.record(stream.get());
    end.synchronize();
    report got{};
    membar::check(cudaMemcpy(&got, seen.get(), sizeof got, cudaMemcpyDefault));
    if (got.failures != 0) {
      state.SkipWithError("a wait was in vain, or a message was wrong");
      return;
    }
    state.SetIterationTime(end.nanoseconds_since(begin) * 1e-9 / static_cast<double>(got.count) * lanes);
    state.counters["events"] = static_cast<double>(got.count);
  }
}

template <class Barrier>
void barrier_case(benchmark::State& state) {
  constexpr unsigned rounds = 2'000;
  const unsigned threads = static_cast<unsigned>(state.range(1));
  const unsigned blocks =
      static_cast<unsigned>(state.range(0)) * static_cast<unsigned>(support::attribute(cudaDevAttrMultiProcessorCount, 0));
  const support::device_memory<Barrier> barrier(1);
  membar::launch(membar::launch_config{1, 1}, prepare<Barrier>, barrier.get(), blocks);
  measure(state, 1, [&](cudaStream_t stream, report* seen) {
    membar::launch_co_resident(membar::launch_config{blocks, threads, stream}, meet<Barrier>, barrier.get(), rounds, seen);
  });
  state.counters["blocks"] = blocks;
}

template <class Lock>
void lock_case(benchmark::State& state) {
  const unsigned blocks = static_cast<unsigned>(state.range(0));
  const unsigned rounds = 20'000 / blocks;
  const support::device_memory<Lock> lock(1);
  const support::device_memory<unsigned long long> guarded(1);
  membar::launch(membar::launch_config{1, 1}, prepare_lock<Lock>, lock.get());
  measure(state, 1, [&](cudaStream_t stream, report* seen) {
    membar::launch_co_resident(membar::launch_config{blocks, 1, stream}, take_turns<Lock>, lock.get(), guarded.get(), rounds,
                               seen);
  });
}

template <class Channel>
void channel_case(benchmark::State& state) {
  const unsigned pairs = static_cast<unsigned>(state.range(0));
  constexpr unsigned count = 20'000;
  const support::device_memory<Channel> channels(pairs);
  measure(state, pairs, [&](cudaStream_t stream, report* seen) {
    membar::launch_co_resident(membar::launch_config{2 * pairs, 1, stream}, pass<Channel>, channels.get(), count, seen);
  });
}

void channel_by_hand_case(benchmark::State& state) {
  const unsigned pairs = static_cast<unsigned>(state.range(0));
  constexpr unsigned count = 20'000;
  const support::device_memory<slot_by_hand> slots(pairs);
  measure(state, pairs, [&](cudaStream_t stream, report* seen) {
    membar::launch_co_resident(membar::launch_config{2 * pairs, 1, stream}, pass_by_hand, slots.get(), count, seen);
  });
}

void register_case(const char* name, void (*run)(benchmark::State&), const std::vector<std::vector<std::int64_t>>& arguments,
                   const std::vector<std::string>& argument_names, const std::string& waived) {
  for (const std::vector<std::int64_t>& each : arguments) {
    benchmark::RegisterBenchmark(name,
                                 [run, waived](benchmark::State& state) {
                                   if (waived.empty()) {
                                     try {
                                       run(state);
                                     } catch (const std::exception& failure) {
                                       state.SkipWithError(failure.what());
                                     }
                                     return;
                                   }
                                   for (auto _ : state) {
                                     state.SetIterationTime(0);
                                   }
                                   state.SetLabel(waived);
                                 })
        ->Args(each)
        ->ArgNames(argument_names)
        ->Iterations(1)
        ->Repetitions(waived.empty() ? 9 : 1)
        ->UseManualTime()
        ->Unit(benchmark::kNanosecond);
  }
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  std::string waived;
  if (status != cudaSuccess || devices == 0) {
    waived = std::string("waived: no CUDA device (") + cudaGetErrorString(status) + ")";
  } else {
    for (const auto& [key, value] : support::machine_context(0)) {
      benchmark::AddCustomContext(key, value);
    }
  }
  const std::vector<std::vector<std::int64_t>> grids{{1, 32}, {1, 256}, {1, 1024}, {2, 256}};
  const std::vector<std::string> grid_names{"blocks_per_sm", "threads"};
  register_case("grid_barrier/membar", barrier_case<membar_grid>, grids, grid_names, waived);
  register_case("grid_barrier/membar_relaxed", barrier_case<membar_grid_relaxed>, grids, grid_names, waived);
  register_case("grid_barrier/cooperative_groups", barrier_case<cooperative_groups_grid>, grids, grid_names, waived);
  register_case("grid_barrier/cuda_barrier", barrier_case<cuda_barrier>, grids, grid_names, waived);
  register_case("grid_barrier/by_hand", barrier_case<flags_by_hand>, grids, grid_names, waived);
  const std::vector<std::vector<std::int64_t>> askers{{1}, {8}, {64}};
  register_case("lock/membar_ticket", lock_case<membar_ticket_lock>, askers, {"blocks"}, waived);
  register_case("lock/membar_queue", lock_case<membar_queue_lock>, askers, {"blocks"}, waived);
  register_case("lock/cuda_binary_semaphore", lock_case<cuda_semaphore>, askers, {"blocks"}, waived);
  register_case("lock/by_hand", lock_case<lock_by_hand>, askers, {"blocks"}, waived);
  const std::vector<std::vector<std::int64_t>> pairs{{1}, {32}};
  constexpr auto device = thread_scope::device;
  constexpr auto system_wide = thread_scope::system;
  register_case("channel/spsc", channel_case<membar::spsc_channel<message, 64, device>>, pairs, {"pairs"}, waived);
  register_case("channel/spsc_system", channel_case<membar::spsc_channel<message, 64, system_wide>>, pairs, {"pairs"}, waived);
  register_case("channel/packed", channel_case<membar::packed_spsc_channel<message, 64, device>>, pairs, {"pairs"}, waived);
  register_case("channel/packed_system", channel_case<membar::packed_spsc_channel<message, 64, system_wide>>, pairs, {"pairs"},
                waived);
  register_case("channel/by_hand", channel_by_hand_case, pairs, {"pairs"}, waived);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
