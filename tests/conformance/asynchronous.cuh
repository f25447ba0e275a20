// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tests of cluster barriers and dependent launches, with their own kernels: a thread of the engine's kernel cannot pass a
/// barrier together with the other threads of its cluster, and the engine has only one kernel.
#pragma once

#include "holds.cuh"

#include <membar/bulk_copy.cuh>
#include <membar/cluster_barrier.cuh>
#include <membar/dependent_launch.cuh>
#include <membar/litmus/kernel.cuh>
#include <membar/mbarrier.cuh>
#include <membar/model/asynchronous.hpp>

namespace conformance {

/// @name Ways in which two blocks synchronize
/// `run` is called by all threads of both blocks; `writes` and `reads` are the instructions of a thread that passes a value
/// on, and of a thread that receives it. `turn` counts the calls.
/// @{
/// Synchronizes at the cluster's barrier, after a fence if `Fenced`.
template <memory_order Order, bool Fenced = false>
struct at_cluster_barrier {
  __device__ static void prepare(membar::mbarrier<thread_scope::cluster>&) {}
  __device__ static bool run(membar::mbarrier<thread_scope::cluster>&, unsigned) {
    if constexpr (Fenced) {
      membar::thread_fence<thread_scope::cluster>(membar::release);
    }
    membar::cluster_wait(membar::cluster_arrive(tag<Order>));
    return true;
  }
  static constexpr auto writes(model::variable) {
    if constexpr (Fenced) {
      return sequence(model::thread_fence<thread_scope::cluster>(membar::release), model::arrive_cluster(tag<Order>),
                      model::wait_cluster());
    } else {
      return sequence(model::arrive_cluster(tag<Order>), model::wait_cluster());
    }
  }
  static constexpr auto reads(model::variable at) { return writes(at); }
  static std::string text() {
    return std::string(Fenced ? "thread_fence.release.cluster-" : "") + "cluster_arrive." + membar::name(Order);
  }
};

/// Synchronizes at one mbarrier per block, at which the threads of the other block arrive.
template <memory_order Arrive, memory_order Wait>
struct at_mbarrier {
  __device__ static void prepare(membar::mbarrier<thread_scope::cluster>& own) {
    if (threadIdx.x == 0) {
      own.init(blockDim.x);
      membar::mbarrier_init_fence();
    }
  }
  __device__ static bool run(membar::mbarrier<thread_scope::cluster>& own, unsigned turn) {
    own.in_block(membar::cluster_block_rank() ^ 1U).arrive(tag<Arrive>);
    return own.wait_parity(turn % 2, tag<Wait>, membar::wait_budget::milliseconds(2'000)) == membar::wait_result::done;
  }
  static constexpr auto writes(model::variable at) { return sequence(model::arrive<thread_scope::cluster>(at, tag<Arrive>)); }
  static constexpr auto reads(model::variable at) {
    return sequence(model::wait_phase<thread_scope::cluster>(at, 0, tag<Wait>));
  }
  static std::string text() {
    return std::string("mbarrier.arrive.") + membar::name(Arrive) + "+mbarrier.wait." + membar::name(Wait);
  }
};

template <class Meeting, bool Writes>
struct meets {
  __device__ static nothing run(void*) noexcept { return {}; }  // The kernel calls `Meeting::run`.
  static constexpr auto instructions(model::variable at, model::reg) {
    if constexpr (Writes) {
      return Meeting::writes(at);
    } else {
      return Meeting::reads(at);
    }
  }
  static std::string text() { return Meeting::text(); }
};
/// @}

/// A writer stores data and synchronizes with the reader, which then reads the data. The data is in global memory, or in the
/// reader's shared memory.
template <class Meeting, bool SharedData = false>
struct met
    : shape<"MP", by<meets<Meeting, true>>, finally<>, outcome<0>, thread<at<x, store_weak<>>, at<y, meets<Meeting, true>>>,
            thread<at<y, meets<Meeting, false>>, see<x, load_weak<>>>> {
  using meeting = Meeting;
  static constexpr bool shared_data = SharedData;
  static std::string name() { return (SharedData ? "MP.shared_data+" : "MP+") + Meeting::text(); }
};
template <memory_order Arrive, memory_order Wait, bool SharedData>
struct met<at_mbarrier<Arrive, Wait>, SharedData>
    : shape<"MP", by<meets<at_mbarrier<Arrive, Wait>, true>>, finally<>, outcome<0>,
            thread<at<x, store_weak<>>, at<y, meets<at_mbarrier<Arrive, Wait>, true>>>,
            thread<at<y, meets<at_mbarrier<Arrive, Wait>, false>>, see<x, load_weak<>>>> {
  using meeting = at_mbarrier<Arrive, Wait>;
  static constexpr bool shared_data = SharedData;
  static constexpr std::size_t mbarrier_of = y;
  static std::string name() { return (SharedData ? "MP.shared_data+" : "MP+") + meeting::text(); }
};

/// The value that a thread passes on in a turn. It differs from the values of earlier turns, which may still be in memory.
[[nodiscard]] __device__ inline unsigned value_of_turn(unsigned turn) noexcept { return turn + 1; }

/// Counts the outcomes of a thread's turns, and the turns in which the thread found an old value. Must be called by whole
/// warps.
__device__ inline void count_turns(const membar::litmus::launch_view& view, unsigned turns, unsigned old) noexcept {
  const unsigned all = __reduce_add_sync(0xffffffffU, turns);
  const unsigned all_old = __reduce_add_sync(0xffffffffU, old);
  if (threadIdx.x % membar::litmus::warp_lanes == 0) {
    atomicAdd(&view.counts[1], static_cast<unsigned long long>(all - all_old));
    atomicAdd(&view.counts[0], static_cast<unsigned long long>(all_old));
  }
}

/// Runs `Test` in clusters of two blocks. In each turn, each thread passes a value to its counterpart in the other block.
/// Before a thread stores the value, it executes a random number of stores to scratch memory, which delay the store of the
/// value.
template <class Test>
__global__ void __launch_bounds__(1024, 1) run_meetings(const __grid_constant__ membar::litmus::launch_view view) {
  namespace litmus = membar::litmus;
  using meeting = typename Test::meeting;
  __shared__ membar::mbarrier<thread_scope::cluster> own;
  __shared__ unsigned received[1024];
  const unsigned long long deadline = membar::global_nanoseconds() + view.budget_ns;
  if (blockIdx.x >= view.layout.blocks) {
    litmus::detail::stress_until_done(view, deadline);
    return;
  }
  const unsigned other = blockIdx.x ^ 1U;
  auto* const words = reinterpret_cast<unsigned*>(view.cells);
  unsigned* const sent = Test::shared_data ? membar::shared_of_block(received + threadIdx.x, other % 2)
                                           : words + blockIdx.x * view.layout.width + threadIdx.x;
  const unsigned* const found = Test::shared_data ? received + threadIdx.x : words + other * view.layout.width + threadIdx.x;
  received[threadIdx.x] = 0;
  meeting::prepare(own);
  membar::cluster_sync();
  const unsigned turns = view.steps * view.layout.batch;
  const unsigned first = view.first_step * view.layout.batch;
  unsigned old = 0;
  bool late = false;
  for (unsigned turn = 0; turn != turns; ++turn) {
    const unsigned random = litmus::detail::draw(view.layout.seed, first + turn, blockIdx.x / 2);
    const unsigned warp = threadIdx.x / litmus::warp_lanes;
    const unsigned mixed = litmus::detail::mixed(random ^ (warp * 2 + blockIdx.x % 2) * 0x9e3779b9U);
    if (view.delay != 0) {
      const unsigned wait = litmus::detail::scaled(mixed, view.delay + 1);
      for (const unsigned begin = litmus::detail::clock_cycles(); litmus::detail::clock_cycles() - begin < wait;) {
      }
    }
    if (view.pre_stress != 0) {
      const unsigned stores = litmus::detail::scaled(litmus::detail::mixed(mixed), view.pre_stress + 1);
      litmus::detail::stress_line(view, litmus::stress_pattern::store_store, mixed % view.stress_lines, stores);
    }
    membar::store_weak(sent, value_of_turn(first + turn));
    late = !meeting::run(own, turn) || late;
    old += membar::load_weak(found) == value_of_turn(first + turn) ? 0 : 1;
    membar::cluster_sync();  // All threads have read the value, so the next value may follow.
  }
  if (late) {
    __trap();
  }
  count_turns(view, turns, old);
  if (threadIdx.x == 0) {
    atomicAdd(&view.block_barrier->arrived, 1 + view.steps);  // Tells the stress blocks to end.
  }
}

template <class Test>
struct own_kernels<Test, where::cluster_barrier> {
  static const void* first() { return reinterpret_cast<const void*>(&run_meetings<membar::litmus::kernel_test<Test>>); }
  static const void* dependent() { return nullptr; }
};

/// The operations of the second kernel before it reads.
template <bool Waits>
struct prerequisites {
  __device__ static nothing run(void*) noexcept {
    if constexpr (Waits) {
      membar::wait_for_prerequisites();
    }
    return {};
  }
  static constexpr auto instructions(model::variable, model::reg) {
    if constexpr (Waits) {
      return sequence(model::grid_wait());
    } else {
      return steps<0>{};
    }
  }
  static std::string text() { return Waits ? "wait_for_prerequisites" : "no-wait"; }
};

/// A kernel triggers the next kernel and then stores; the next kernel reads.
template <bool Waits>
struct launched : shape<"MP.launch", by<prerequisites<Waits>>, finally<>, outcome<0>, thread<at<x, store_weak<>>>,
                        thread<at<y, prerequisites<Waits>>, see<x, load_weak<>>>> {
  static constexpr bool waits = Waits;
};

[[nodiscard]] __device__ inline unsigned* word_of_launch(const membar::litmus::launch_view& view, unsigned round) noexcept {
  return reinterpret_cast<unsigned*>(view.cells) + (round * view.layout.blocks + blockIdx.x) * view.layout.width + threadIdx.x;
}

/// Each thread stores one value for each of its instances, after a random time.
template <class Test>
__global__ void __launch_bounds__(1024, 1) run_first_kernel(const __grid_constant__ membar::litmus::launch_view view) {
  namespace litmus = membar::litmus;
  membar::launch_dependents();
  const unsigned warp = (blockIdx.x * view.layout.width + threadIdx.x) / litmus::warp_lanes;
  const unsigned random =
      litmus::detail::mixed(litmus::detail::draw(view.layout.seed, view.first_step, 0) ^ warp * 0x9e3779b9U);
  const unsigned wait = litmus::detail::scaled(random, 2048 + view.delay);
  for (const unsigned begin = litmus::detail::clock_cycles(); litmus::detail::clock_cycles() - begin < wait;) {
  }
  for (unsigned round = 0; round != view.layout.batch; ++round) {
    membar::store_weak(word_of_launch(view, round), value_of_turn(view.first_step));
  }
}

template <class Test>
__global__ void __launch_bounds__(1024, 1) run_dependent_kernel(const __grid_constant__ membar::litmus::launch_view view) {
  static_cast<void>(prerequisites<Test::waits>::run(nullptr));
  unsigned old = 0;
  for (unsigned round = 0; round != view.layout.batch; ++round) {
    const unsigned got = membar::load_weak(static_cast<const unsigned*>(word_of_launch(view, round)));
    old += got == value_of_turn(view.first_step) ? 0 : 1;
  }
  count_turns(view, view.layout.batch, old);
  membar::wait_for_prerequisites();  // Ensures that the next pair begins after the first kernel of this pair.
}

template <class Test>
struct own_kernels<Test, where::two_kernels> {
  static const void* first() { return reinterpret_cast<const void*>(&run_first_kernel<membar::litmus::kernel_test<Test>>); }
  static const void* dependent() {
    return reinterpret_cast<const void*>(&run_dependent_kernel<membar::litmus::kernel_test<Test>>);
  }
};

/// Writes 1 to the thread's own place in shared memory and starts copying it to the cell, then writes 2, and observes which
/// value arrived.
template <class Wait>
struct overwrite_source {
  __device__ static read<unsigned long long> run(void* cell) noexcept {
    __shared__ quad places[1024];  // One place for each thread of the largest block.
    quad* const mine = &places[threadIdx.x];
    membar::store_weak(mine, number<quad>::of(1));
    membar::proxy_fence<membar::proxy::async>();
    membar::bulk_commit(membar::bulk_store(cell, mine, sizeof(quad)));
    Wait::run();
    membar::store_weak(mine, number<quad>::of(2));
    membar::bulk_wait();
    return {membar::load_weak(static_cast<const unsigned long long*>(cell))};
  }
  static constexpr auto instructions(model::variable at, model::reg first) {
    constexpr model::variable mine = model::shared(y);
    return joined(
        sequence(model::store(mine, 1), model::async_proxy_fence(), model::bulk_store(at, mine), model::bulk_commit()),
        Wait::instructions(), sequence(model::store(mine, 2), model::bulk_wait(), model::load(first, at)));
  }
  static std::string text() { return Wait::text(); }
};
struct no_read_wait {
  __device__ static void run() noexcept {}
  static constexpr steps<0> instructions() { return {}; }
  static std::string text() { return "no-wait"; }
};
template <int Pending = 0>
struct read_wait {
  __device__ static void run() noexcept { membar::bulk_wait_read<Pending>(); }
  static constexpr auto instructions() { return sequence(model::bulk_wait_read(Pending)); }
  static std::string text() { return "bulk_wait_read." + std::to_string(Pending); }
};
struct whole_wait {
  __device__ static void run() noexcept { membar::bulk_wait(); }
  static constexpr auto instructions() { return sequence(model::bulk_wait()); }
  static std::string text() { return "bulk_wait.0"; }
};

template <class Wait>
struct reused : shape<"Reuse", by<overwrite_source<Wait>>, finally<>, outcome<2>, thread<see<x, overwrite_source<Wait>>>> {};

}  // namespace conformance
