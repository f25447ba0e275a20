// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what do the synchronization patterns cost, compared with the alternatives that a user would write: the grid
/// barrier of cooperative groups, `cuda::barrier`, `cuda::binary_semaphore`, and hand-written flags? Each case reports the time
/// within the kernel of one barrier, one turn of a lock, or one message of a channel or work queue. libcu++ has no queue, so
/// its variant is membar's algorithm with `cuda::atomic_ref`.
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>
#include <membar/co_residency.hpp>
#include <membar/sync/grid_barrier.cuh>
#include <membar/sync/mpmc_channel.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/queue_lock.cuh>
#include <membar/sync/spsc_channel.cuh>
#include <membar/sync/ticket_lock.cuh>

#include <cooperative_groups.h>

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/semaphore>

#include <new>
#include <stdexcept>
#include <type_traits>

namespace {

using membar::thread_scope;
using membar::wait_result;

constexpr membar::wait_budget generous = membar::wait_budget::milliseconds(5'000);

using device_barrier = cuda::barrier<cuda::thread_scope_device>;
using device_semaphore = cuda::binary_semaphore<cuda::thread_scope_device>;

/// A kernel's report: the number of measured operations, and whether a wait timed out.
struct report {
  unsigned long long count;
  unsigned failures;

  __device__ void add(unsigned counted, unsigned failed) {
    membar::atomic_ref<unsigned long long, thread_scope::device>(count).add(counted, membar::relaxed);
    membar::atomic_ref<unsigned, thread_scope::device>(failures).add(failed, membar::relaxed);
  }
};

// Grid barriers. Each barrier is a type with zero-initialized state; all threads of all blocks call it.

/// A barrier with relaxed orders, which orders no memory accesses: it shows the cost of the barrier itself.
template <class... Order>
struct membar_grid {
  membar::grid_barrier<thread_scope::device> barrier;
  __device__ bool meet() { return barrier.sync(Order{}..., generous) == wait_result::done; }
};

struct cooperative_groups_grid {
  int nothing;
  __device__ bool meet() {
    cooperative_groups::this_grid().sync();
    return true;
  }
};

/// The number of polls after which a hand-written loop gives up. This many polls take seconds longer than any successful wait.
/// Counting the polls costs nothing compared with the load.
constexpr unsigned most_polls = 1U << 24;

/// The loop found in many kernels, with a counter and hand-written fences.
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

/// A device-scope `cuda::barrier`, initialized by the first launch.
struct cuda_barrier {
  alignas(device_barrier) unsigned char bytes[sizeof(device_barrier)];
  __device__ bool meet() {
    __syncthreads();
    if (threadIdx.x == 0) {
      reinterpret_cast<device_barrier*>(bytes)->arrive_and_wait();
    }
    __syncthreads();
    return true;
  }
};

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

// Locks, which one thread of each block acquires.

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
  alignas(device_semaphore) unsigned char bytes[sizeof(device_semaphore)];
  __device__ device_semaphore& of() { return *reinterpret_cast<device_semaphore*>(bytes); }
  __device__ bool lock() {
    of().acquire();
    return true;
  }
  __device__ void unlock() { of().release(); }
};

/// The lock found in many kernels: a word, compare-and-swap, and hand-written fences.
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

/// Initializes objects whose initial state is not all zeros.
template <class Object>
__global__ void prepare(Object* object, unsigned blocks) {
  if constexpr (std::is_same_v<Object, cuda_barrier>) {
    init(reinterpret_cast<device_barrier*>(object->bytes), static_cast<int>(blocks));
  } else if constexpr (std::is_same_v<Object, cuda_semaphore>) {
    new (object->bytes) device_semaphore(1);
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
  seen->add(rounds, failures);
}

// Channels: even blocks push, and odd blocks pop.

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
  }
  seen->add(blockIdx.x % 2 * count, failures);
}

/// A hand-written flag and message, with one slot and fences.
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
  seen->add(blockIdx.x % 2 * count, wrong + (polls == most_polls ? 1 : 0));
}

// Work queues: even blocks push and odd blocks pop, all on one queue.

constexpr unsigned queue_capacity = 1024;

struct membar_queue {
  membar::mpmc_channel<message, queue_capacity, thread_scope::device> of;
  __device__ bool push(const message& m) { return of.push(m, generous) == wait_result::done; }
  __device__ bool pop(message& m) { return of.pop(m, generous) == wait_result::done; }
};

/// The queue found in many kernels: tickets, a flag in each slot, and hand-written fences.
struct queue_by_hand {
  unsigned tail;
  unsigned head;
  struct {
    volatile unsigned turn;
    message what;
  } slots[queue_capacity];
  __device__ bool wait_for(unsigned slot, unsigned turn) {
    for (unsigned polls = 0; slots[slot].turn != turn;) {
      if (++polls == most_polls) {
        return false;
      }
    }
    __threadfence();
    return true;
  }
  __device__ void pass_on(unsigned slot, unsigned turn) {
    __threadfence();
    slots[slot].turn = turn;
  }
  __device__ bool push(const message& m) {
    const unsigned ticket = atomicAdd(&tail, 1U);
    const unsigned slot = ticket % queue_capacity;
    if (!wait_for(slot, ticket / queue_capacity * 2)) {
      return false;
    }
    slots[slot].what = m;
    pass_on(slot, ticket / queue_capacity * 2 + 1);
    return true;
  }
  __device__ bool pop(message& m) {
    const unsigned ticket = atomicAdd(&head, 1U);
    const unsigned slot = ticket % queue_capacity;
    if (!wait_for(slot, ticket / queue_capacity * 2 + 1)) {
      return false;
    }
    m = slots[slot].what;
    pass_on(slot, ticket / queue_capacity * 2 + 2);
    return true;
  }
};

/// membar's algorithm with `cuda::atomic_ref`.
struct queue_of_cuda_atomics {
  unsigned long long tail;
  alignas(128) unsigned long long head;
  struct {
    unsigned long long stamp;
    message what;
  } slots[queue_capacity];
  using word = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;
  /// Waits until the slot of `counter`'s position has the stamp for this round (plus `when`: 0 to push, 1 to pop), claims the
  /// position and calls `use`.
  template <class Use>
  __device__ bool claim(unsigned long long& counter, unsigned long long when, Use use) {
    unsigned long long place = word(counter).load(cuda::memory_order_relaxed);
    for (unsigned polls = 0; polls != most_polls; ++polls) {
      auto& slot = slots[place % queue_capacity];
      const unsigned long long ready = place / queue_capacity * 2 + when;
      const unsigned long long stamp = word(slot.stamp).load(cuda::memory_order_acquire);
      if (stamp == ready && word(counter).compare_exchange_strong(place, place + 1, cuda::memory_order_relaxed)) {
        use(slot.what);
        word(slot.stamp).store(ready + 1, cuda::memory_order_release);
        return true;
      }
      if (stamp > ready) {
        place = word(counter).load(cuda::memory_order_relaxed);
      }
    }
    return false;
  }
  __device__ bool push(const message& m) {
    return claim(tail, 0, [&](message& to) { to = m; });
  }
  __device__ bool pop(message& m) {
    return claim(head, 1, [&](const message& from) { m = from; });
  }
};

template <class Queue>
__global__ void share(Queue* queue, unsigned count, report* seen) {
  unsigned failures = 0;
  message m{{1, 2, 3}};
  for (unsigned i = 0; i != count && failures == 0; ++i) {
    if (blockIdx.x % 2 == 0) {
      failures += queue->push(m) ? 0 : 1;
    } else {
      failures += queue->pop(m) && m.words[2] == 3 ? 0 : 1;
    }
  }
  seen->add(blockIdx.x % 2 * count, failures);
}

/// Returns the time per event that a kernel with `count` such objects reports; `lanes` objects proceed concurrently.
template <class Object, class... Parameters, class... Arguments>
bench::figures measured(double lanes, unsigned count, unsigned blocks, unsigned threads, void (*kernel)(Object*, Parameters...),
                        Arguments... arguments) {
  const support::stream stream;
  const support::device_memory<Object> objects(count);
  membar::launch(membar::launch_config{1, 1}, prepare<Object>, objects.get(), blocks);
  const support::device_memory<report> seen(1);
  const double ns = support::nanoseconds_of(stream.get(), [&] {
    membar::launch_co_resident(membar::launch_config{blocks, threads, stream.get()}, kernel, objects.get(), arguments...,
                               seen.get());
  });
  report got{};
  membar::check(cudaMemcpy(&got, seen.get(), sizeof got, cudaMemcpyDefault));
  if (got.failures != 0) {
    throw std::runtime_error("a wait timed out, or a message was wrong");
  }
  const auto events = static_cast<double>(got.count);
  return {ns / events * lanes, {{"events", events}}};
}

template <class Barrier>
void add_barrier(bench::suite& cases, const std::string& arm) {
  const auto measure = [device = cases.device()](const std::pair<int, unsigned>& grid) {
    constexpr unsigned rounds = 2'000;
    const auto blocks = static_cast<unsigned>(grid.first * support::attribute(cudaDevAttrMultiProcessorCount, device));
    bench::figures seen = measured(1, 1, blocks, grid.second, &meet<Barrier>, rounds);
    seen.counters.emplace_back("blocks", blocks);
    return seen;
  };
  cases.add("grid_barrier/" + arm + "/blocks_per_sm:{}/threads:{}", measure,
            bench::axis<std::pair<int, unsigned>>{{1, 32}, {1, 256}, {1, 1024}, {2, 256}});
}

template <class Lock>
void add_lock(bench::suite& cases, const std::string& arm) {
  const auto measure = [](unsigned blocks) {
    const support::device_memory<unsigned long long> guarded(1);
    return measured(1, 1, blocks, 1, &take_turns<Lock>, guarded.get(), 20'000 / blocks);
  };
  cases.add("lock/" + arm + "/blocks:{}", measure, bench::axis<unsigned>{1, 8, 64});
}

/// Pairs of blocks pass messages through `Channel`s with `kernel`.
template <class Channel>
void add_channel(bench::suite& cases, const std::string& arm, void (*kernel)(Channel*, unsigned, report*)) {
  const auto measure = [kernel](unsigned pairs) { return measured(pairs, pairs, 2 * pairs, 1, kernel, 20'000U); };
  cases.add("channel/" + arm + "/pairs:{}", measure, bench::axis<unsigned>{1, 32});
}

/// Pairs of blocks push into one queue and pop from it.
template <class Queue>
void add_queue(bench::suite& cases, const std::string& arm) {
  const auto measure = [](unsigned pairs) { return measured(1, 1, 2 * pairs, 1, &share<Queue>, 64'000U / pairs); };
  cases.add("work_queue/" + arm + "/pairs:{}", measure, bench::axis<unsigned>{1, 8, 64});
}

void add_cases(bench::suite& cases) {
  add_barrier<membar_grid<>>(cases, "membar");
  add_barrier<membar_grid<membar::relaxed_t, membar::relaxed_t>>(cases, "membar_relaxed");
  add_barrier<cooperative_groups_grid>(cases, "cooperative_groups");
  add_barrier<cuda_barrier>(cases, "cuda_barrier");
  add_barrier<flags_by_hand>(cases, "by_hand");
  add_lock<membar_ticket_lock>(cases, "membar_ticket");
  add_lock<membar_queue_lock>(cases, "membar_queue");
  add_lock<cuda_semaphore>(cases, "cuda_binary_semaphore");
  add_lock<lock_by_hand>(cases, "by_hand");
  constexpr auto device = thread_scope::device;
  constexpr auto system = thread_scope::system;
  add_channel(cases, "spsc", &pass<membar::spsc_channel<message, 64, device>>);
  add_channel(cases, "spsc_system", &pass<membar::spsc_channel<message, 64, system>>);
  add_channel(cases, "packed", &pass<membar::packed_spsc_channel<message, 64, device>>);
  add_channel(cases, "packed_system", &pass<membar::packed_spsc_channel<message, 64, system>>);
  add_channel(cases, "by_hand", &pass_by_hand);
  add_queue<membar_queue>(cases, "membar");
  add_queue<queue_of_cuda_atomics>(cases, "cuda_atomic_ref");
  add_queue<queue_by_hand>(cases, "by_hand");
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What do the synchronization patterns cost, compared with what a user would write?",
          .add_cases = add_cases};
}

}  // namespace bench
