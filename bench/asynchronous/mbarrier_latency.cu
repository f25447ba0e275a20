// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does a barrier cost, depending on its participants? The barriers are an mbarrier of a block or of a
/// cluster, the cluster barrier, `__syncthreads`, and a grid barrier. Each case reports the time per barrier that all threads
/// cross, or per round trip.
#include "by_hand.cuh"

#include <bench/common/comparison.hpp>
#include <bench/common/cuda_handles.hpp>

#include <membar/async_copy.cuh>
#include <membar/cluster_barrier.cuh>
#include <membar/fence.cuh>
#include <membar/launch.hpp>
#include <membar/mbarrier.cuh>
#include <membar/sync/grid_barrier.cuh>

#include <cooperative_groups.h>

#include <cuda/barrier>

namespace {

using membar::acquire;
using membar::release;
using membar::thread_scope;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

__device__ void require(membar::wait_result result) { by_hand::require(result == membar::wait_result::done); }

/// Calls the function through argument-dependent lookup, because members of the same name would hide it.
__device__ void make(block_barrier& barrier, unsigned expected) { init(&barrier, expected); }

// Barriers of a block: each is a type with an object in shared memory.

template <thread_scope Scope>
struct membar_mbarrier {
  membar::mbarrier<Scope> barrier;
  __device__ void init() {
    barrier.init(blockDim.x);
    membar::mbarrier_init_fence();
  }
  __device__ void meet(unsigned) { require(barrier.wait(barrier.arrive(release), acquire, by_hand::generous)); }
};
struct membar_by_parity : membar_mbarrier<thread_scope::block> {
  __device__ void meet(unsigned turn) {
    static_cast<void>(barrier.arrive(release));
    require(barrier.wait_parity(turn % 2, acquire, by_hand::generous));
  }
};
struct ptx_by_parity : membar_mbarrier<thread_scope::block> {
  __device__ void meet(unsigned turn) {
    by_hand::arrive(by_hand::shared_address(this));
    by_hand::wait_parity(by_hand::shared_address(this), turn % 2);
  }
};
struct of_cuda {
  alignas(block_barrier) unsigned char bytes[sizeof(block_barrier)];
  __device__ block_barrier& barrier() { return *reinterpret_cast<block_barrier*>(bytes); }
  __device__ void init() { make(barrier(), blockDim.x); }
  __device__ void meet(unsigned) { barrier().arrive_and_wait(); }
};
struct syncthreads {
  int nothing;
  __device__ void init() {}
  __device__ void meet(unsigned) { __syncthreads(); }
};

template <class Meeting>
__global__ void meet_in_block(int turns) {
  __shared__ Meeting here;
  if (threadIdx.x == 0) {
    here.init();
  }
  __syncthreads();
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    here.meet(static_cast<unsigned>(turn));
  }
}

// Barriers among the blocks of one cluster, which is the whole grid. The argument points to global memory, which is zero before
// the first launch.

struct membar_cluster {
  __device__ void meet() { membar::cluster_sync<membar::warp_execution::together>(); }
};
struct membar_cluster_diverged {
  __device__ void meet() { membar::cluster_sync(); }
};
struct ptx_cluster {
  __device__ void meet() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  }
};
struct cooperative_groups_cluster {
  __device__ void meet() { cooperative_groups::this_cluster().sync(); }
};
struct membar_grid {
  membar::grid_barrier<thread_scope::device> barrier;
  __device__ void meet() { require(barrier.sync(by_hand::generous)); }
};
struct cooperative_groups_grid {
  __device__ void meet() { cooperative_groups::this_grid().sync(); }
};

template <class Meeting>
__global__ void meet_in_grid(Meeting* at, int turns) {
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    at->meet();
  }
}

// Round trips between two threads: each has an mbarrier at which the other thread arrives.

template <class Way>
__global__ void there_and_back(int turns) {
  __shared__ typename Way::barrier own[2];
  __shared__ unsigned received;
  if (threadIdx.x == 0) {
    Way::init(own[0]);
    Way::init(own[1]);
    membar::mbarrier_init_fence();
  }
  __syncthreads();
  if constexpr (Way::far) {
    membar::cluster_sync();
  }
  const unsigned me = Way::far ? membar::cluster_block_rank() : threadIdx.x / 32;
  if (threadIdx.x % 32 == 0 && me < 2 && (!Way::far || threadIdx.x == 0)) {
#pragma unroll 1
    for (int turn = 0; turn != turns; ++turn) {
      if (me == 0) {
        Way::send(own, received, 1);
        Way::receive(own, 0, static_cast<unsigned>(turn) % 2);
      } else {
        Way::receive(own, 1, static_cast<unsigned>(turn) % 2);
        Way::send(own, received, 0);
      }
    }
  }
  if constexpr (Way::far) {
    membar::cluster_sync();
  }
}

template <thread_scope Scope>
struct any_way {
  using barrier = membar::mbarrier<Scope>;
  static constexpr bool far = Scope == thread_scope::cluster;
  __device__ static void init(barrier& b) { b.init(1); }
  __device__ static void receive(barrier* own, unsigned me, unsigned parity) {
    require(own[me].wait_parity(parity, acquire, by_hand::generous));
  }
};
struct arrive_in_block : any_way<thread_scope::block> {
  __device__ static void send(barrier* own, unsigned&, unsigned to) { static_cast<void>(own[to].arrive(release)); }
};
struct ptx_in_block : any_way<thread_scope::block> {
  __device__ static void send(barrier* own, unsigned&, unsigned to) { by_hand::arrive(by_hand::shared_address(own + to)); }
  __device__ static void receive(barrier* own, unsigned me, unsigned parity) {
    by_hand::wait_parity(by_hand::shared_address(own + me), parity);
  }
};
struct cuda_in_block {
  struct barrier {
    alignas(block_barrier) unsigned char bytes[sizeof(block_barrier)];
  };
  static constexpr bool far = false;
  __device__ static block_barrier& of(barrier& b) { return *reinterpret_cast<block_barrier*>(b.bytes); }
  __device__ static void init(barrier& b) { make(of(b), 1); }
  __device__ static void send(barrier* own, unsigned&, unsigned to) { static_cast<void>(of(own[to]).arrive()); }
  __device__ static void receive(barrier* own, unsigned me, unsigned parity) { of(own[me]).wait_parity(parity != 0); }
};
struct arrive_in_cluster : any_way<thread_scope::cluster> {
  __device__ static void send(barrier* own, unsigned&, unsigned to) { own[to].in_block(to).arrive(release); }
};
struct ptx_in_cluster : any_way<thread_scope::cluster> {
  __device__ static void send(barrier* own, unsigned&, unsigned to) {
    by_hand::arrive_remote(by_hand::in_block(by_hand::shared_address(own + to), to));
  }
  __device__ static void receive(barrier* own, unsigned me, unsigned parity) {
    by_hand::wait_parity<true>(by_hand::shared_address(own + me), parity);
  }
};
/// The round trip also transfers a four-byte value. The phase expects these four bytes.
struct store_in_cluster : any_way<thread_scope::cluster> {
  __device__ static void send(barrier* own, unsigned& received, unsigned to) {
    static_cast<void>(membar::async_store(&received, to, 1U, own[to]));
  }
  __device__ static void receive(barrier* own, unsigned me, unsigned parity) {
    static_cast<void>(own[me].arrive_expect(sizeof(unsigned), membar::relaxed));
    any_way::receive(own, me, parity);
  }
};
struct ptx_store_in_cluster : any_way<thread_scope::cluster> {
  __device__ static void send(barrier* own, unsigned& received, unsigned to) {
    const unsigned there = by_hand::in_block(by_hand::shared_address(&received), to);
    const unsigned completes = by_hand::in_block(by_hand::shared_address(own + to), to);
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], 1, [%1];" ::"r"(there), "r"(completes)
                 : "memory");
  }
  __device__ static void receive(barrier* own, unsigned me, unsigned parity) {
    asm volatile(
        "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64 _, [%0], 4;" ::"r"(by_hand::shared_address(own + me))
        : "memory");
    by_hand::wait_parity<true>(by_hand::shared_address(own + me), parity);
  }
};

/// Waits for a phase that is already complete, which shows the cost of the test itself.
template <thread_scope Scope, bool Hand>
__global__ void ask(int turns) {
  __shared__ membar::mbarrier<Scope> barrier;
  if (threadIdx.x == 0) {
    barrier.init(1);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int turn = 0; turn != turns; ++turn) {
      if constexpr (Hand) {
        by_hand::wait_parity<Scope == thread_scope::cluster>(by_hand::shared_address(&barrier), 1);
      } else {
        require(barrier.wait_parity(1, acquire, by_hand::generous));
      }
    }
  }
}

double once_a_turn(bench::workload work) { return work.turns; }

template <class Meeting>
bench::arm in_block(const char* name, unsigned threads) {
  return {name,
          [threads](cudaStream_t on, bench::workload work) { meet_in_block<Meeting><<<1, threads, 0, on>>>(work.turns); }};
}

template <class Meeting>
bench::arm in_cluster(const char* name, unsigned blocks) {
  return {name, [blocks](cudaStream_t on, bench::workload work) {
            static const support::device_memory<Meeting> at(1);
            const membar::launch_config config{blocks, 128, on};
            if constexpr (std::is_same_v<Meeting, cooperative_groups_grid>) {
              membar::launch(config.with(membar::cooperative{}), meet_in_grid<Meeting>, at.get(), work.turns);
            } else if constexpr (std::is_same_v<Meeting, membar_grid>) {
              // A number of blocks that can all run at once.
              membar::launch(config, meet_in_grid<Meeting>, at.get(), work.turns);
            } else {
              membar::launch(config.with(membar::cluster_dimensions{blocks, 1, 1}), meet_in_grid<Meeting>, at.get(),
                             work.turns);
            }
          }};
}

template <class Way>
bench::arm two(const char* name) {
  return {name, [](cudaStream_t on, bench::workload work) {
            if constexpr (Way::far) {
              membar::launch(membar::launch_config{2, 32, on}.with(membar::cluster_dimensions{2, 1, 1}), there_and_back<Way>,
                             work.turns);
            } else {
              there_and_back<Way><<<1, 64, 0, on>>>(work.turns);
            }
          }};
}

template <thread_scope Scope, bool Hand>
bench::arm question(const char* name) {
  return {name, [](cudaStream_t on, bench::workload work) { ask<Scope, Hand><<<1, 32, 0, on>>>(work.turns); }};
}

std::vector<bench::comparison> comparisons() {
  std::vector<bench::comparison> all;
  for (const unsigned threads : {32U, 128U, 512U, 1024U}) {
    all.push_back({"mbarrier_latency/block/" + std::to_string(threads) + "_threads",
                   once_a_turn,
                   {in_block<membar_by_parity>("membar", threads), in_block<ptx_by_parity>("ptx", threads),
                    in_block<membar_mbarrier<thread_scope::block>>("membar_by_token", threads),
                    in_block<membar_mbarrier<thread_scope::cluster>>("membar_cluster_scope", threads),
                    in_block<of_cuda>("cuda_barrier", threads), in_block<syncthreads>("syncthreads", threads)}});
  }
  for (const unsigned blocks : {2U, 4U, 8U}) {
    all.push_back({"mbarrier_latency/cluster/" + std::to_string(blocks) + "_blocks",
                   once_a_turn,
                   {in_cluster<membar_cluster>("membar", blocks), in_cluster<ptx_cluster>("ptx", blocks),
                    in_cluster<membar_cluster_diverged>("membar_diverged", blocks),
                    in_cluster<cooperative_groups_cluster>("cooperative_groups", blocks),
                    in_cluster<membar_grid>("membar_grid_barrier", blocks),
                    in_cluster<cooperative_groups_grid>("cooperative_groups_grid", blocks)}});
  }
  all.push_back({"mbarrier_latency/there_and_back/block",
                 once_a_turn,
                 {two<arrive_in_block>("membar"), two<ptx_in_block>("ptx"), two<cuda_in_block>("cuda_barrier")}});
  all.push_back(
      {"mbarrier_latency/there_and_back/cluster", once_a_turn, {two<arrive_in_cluster>("membar"), two<ptx_in_cluster>("ptx")}});
  all.push_back({"mbarrier_latency/there_and_back/cluster_with_value",
                 once_a_turn,
                 {two<store_in_cluster>("membar"), two<ptx_store_in_cluster>("ptx")}});
  all.push_back({"mbarrier_latency/complete_phase/block",
                 once_a_turn,
                 {question<thread_scope::block, false>("membar"), question<thread_scope::block, true>("ptx")}});
  all.push_back({"mbarrier_latency/complete_phase/cluster",
                 once_a_turn,
                 {question<thread_scope::cluster, false>("membar"), question<thread_scope::cluster, true>("ptx")}});
  return all;
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What does a barrier cost, depending on its participants?",
          .add_cases =
              [](suite& cases) {
                cases.need_compute_capability(9, "clusters");
                add(cases, comparisons(), {.launch_ns = 3e5, .pairs = 11, .most_ns = 5e7});
              },
          .repetitions = 0};
}

}  // namespace bench
