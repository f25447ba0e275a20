// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does an access to the shared memory of another block in the cluster cost, compared with the block's own
/// shared memory and with global memory? Loads form a chain in which each address comes from the previous load; for atomics,
/// each operand depends on the previous result. One thread in the cluster's first block executes the accesses. The time of a
/// case is the time per access.
#include "by_hand.cuh"

#include <bench/common/comparison.hpp>
#include <bench/common/cuda_handles.hpp>

#include <membar/atomic.cuh>
#include <membar/cluster_barrier.cuh>
#include <membar/launch.hpp>
#include <membar/load_store.cuh>

#include <cooperative_groups.h>

namespace {

using membar::relaxed;
using membar::thread_scope;

constexpr unsigned cells = 64;

enum class home { own, other, global };

/// An access. The argument is the previous access's result, which is always 0.
struct membar_load {
  __device__ static unsigned run(unsigned* at, unsigned before) {
    return membar::load<thread_scope::cluster>(at + before, relaxed);
  }
};
struct plain_load {
  __device__ static unsigned run(unsigned* at, unsigned before) { return *static_cast<volatile unsigned*>(at + before); }
};
struct membar_add {
  __device__ static unsigned run(unsigned* at, unsigned before) {
    return membar::atomic_ref<unsigned, thread_scope::cluster>(*at).fetch_add(before, relaxed);
  }
};
struct intrinsic_add {
  __device__ static unsigned run(unsigned* at, unsigned before) { return atomicAdd(at, before); }
};
struct membar_exchange {
  __device__ static unsigned run(unsigned* at, unsigned before) {
    unsigned expected = before;
    static_cast<void>(membar::atomic_ref<unsigned, thread_scope::cluster>(*at).compare_exchange(expected, 0, relaxed, relaxed));
    return expected;
  }
};
struct intrinsic_exchange {
  __device__ static unsigned run(unsigned* at, unsigned before) { return atomicCAS(at, before, 0U); }
};
// A hand-written access that uses an address in the given state space.
struct ptx_load {
  __device__ static unsigned run(unsigned at, unsigned before) {
    unsigned value;
    asm volatile("ld.relaxed.cluster.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(at + 4 * before) : "memory");
    return value;
  }
};
struct ptx_add {
  __device__ static unsigned run(unsigned at, unsigned before) {
    unsigned value;
    asm volatile("atom.relaxed.cluster.shared::cluster.add.u32 %0, [%1], %2;" : "=r"(value) : "r"(at), "r"(before) : "memory");
    return value;
  }
};
struct ptx_exchange {
  __device__ static unsigned run(unsigned at, unsigned before) {
    unsigned value;
    asm volatile("atom.relaxed.cluster.shared::cluster.cas.b32 %0, [%1], %2, 0;"
                 : "=r"(value)
                 : "r"(at), "r"(before)
                 : "memory");
    return value;
  }
};

template <class Access, home Home, bool Hand>
__global__ void chain(unsigned* global, unsigned rank, int turns) {
  __shared__ unsigned here[cells];
  if (threadIdx.x < cells) {
    here[threadIdx.x] = 0;
  }
  membar::cluster_sync();
  if (membar::cluster_block_rank() == 0 && threadIdx.x == 0) {
    unsigned value = 0;
    if constexpr (Hand) {
      const unsigned at = by_hand::in_block(by_hand::shared_address(here), Home == home::other ? rank : 0);
#pragma unroll 8
      for (int turn = 0; turn != turns; ++turn) {
        value = Access::run(at, value);
      }
    } else {
      unsigned* at = Home == home::other ? membar::shared_of_block(here, rank) : Home == home::own ? here : global;
#pragma unroll 8
      for (int turn = 0; turn != turns; ++turn) {
        value = Access::run(at, value);
      }
    }
    if (value != 0) {
      __trap();
    }
  }
  membar::cluster_sync();
}

// Global memory from which chains of accesses read zeros, and to which sums are added. All variants use the same memory,
// because a multiprocessor is closer to one half of L2 than to the other.
unsigned* zeros_in_global_memory() {
  static const support::device_memory<unsigned> words(cells);
  return words.get();
}
unsigned* sums_in_global_memory() {
  static const support::device_memory<unsigned> words(2 * 1024);
  return words.get();
}

template <class Access, home Home, bool Hand = false>
bench::arm arm(const char* name, unsigned blocks) {
  return {name, [blocks](cudaStream_t on, bench::workload work) {
            membar::launch(membar::launch_config{blocks, 64, on}.with(membar::cluster_dimensions{blocks, 1, 1}),
                           chain<Access, Home, Hand>, zeros_in_global_memory(), blocks - 1, work.turns);
          }};
}

template <class Membar, class Plain, class Ptx>
void accesses(std::vector<bench::comparison>& all, const char* what, const char* plain) {
  const auto once_a_turn = [](bench::workload work) { return static_cast<double>(work.turns); };
  const std::string name = std::string("distributed_shared_memory/") + what + "/";
  for (const unsigned blocks : {2U, 8U}) {
    all.push_back({name + "other_of_" + std::to_string(blocks),
                   once_a_turn,
                   {arm<Membar, home::other>("membar", blocks), arm<Ptx, home::other, true>("ptx", blocks),
                    arm<Plain, home::other>(plain, blocks)}});
  }
  all.push_back({name + "own",
                 once_a_turn,
                 {arm<Membar, home::own>("membar", 2), arm<Ptx, home::own, true>("ptx_cluster_address", 2),
                  arm<Plain, home::own>(plain, 2)}});
  all.push_back({name + "global", once_a_turn, {arm<Membar, home::global>("membar", 2), arm<Plain, home::global>(plain, 2)}});
}

// Throughput: all threads of all blocks except the first, or all threads of the first two blocks, add to the same block's
// memory.

/// Each thread of each block adds to its own word in block 0, or all threads add to the same word.
template <bool Same, home Home>
__global__ void add_together(unsigned* global, int turns) {
  __shared__ unsigned here[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) {
    here[i] = 0;
  }
  membar::cluster_sync();
  unsigned* const at = (Home == home::other ? membar::shared_of_block(here, membar::cluster_block_rank() ^ 1U)
                        : Home == home::own ? here
                                            : global + 1024 * blockIdx.x) +
                       (Same ? 0 : threadIdx.x);
#pragma unroll 4
  for (int turn = 0; turn != turns; ++turn) {
    membar::atomic_ref<unsigned, thread_scope::cluster>(*at).add(1, relaxed);
  }
  membar::cluster_sync();
}

template <bool Same, home Home>
bench::arm together(const char* name) {
  return {name, [](cudaStream_t on, bench::workload work) {
            membar::launch(membar::launch_config{2, 256, on}.with(membar::cluster_dimensions{2, 1, 1}),
                           add_together<Same, Home>, sums_in_global_memory(), work.turns);
          }};
}

std::vector<bench::comparison> comparisons() {
  std::vector<bench::comparison> all;
  accesses<membar_load, plain_load, ptx_load>(all, "load", "volatile");
  accesses<membar_add, intrinsic_add, ptx_add>(all, "fetch_add", "atomicAdd");
  accesses<membar_exchange, intrinsic_exchange, ptx_exchange>(all, "compare_exchange", "atomicCAS");
  const auto a_block_s = [](bench::workload work) { return 256.0 * work.turns; };
  all.push_back(
      {"distributed_shared_memory/add_of_256_threads/a_word_each",
       a_block_s,
       {together<false, home::other>("other"), together<false, home::own>("own"), together<false, home::global>("global")}});
  all.push_back(
      {"distributed_shared_memory/add_of_256_threads/one_word",
       a_block_s,
       {together<true, home::other>("other"), together<true, home::own>("own"), together<true, home::global>("global")}});
  return all;
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What does an access to the shared memory of another block cost?",
          .add_cases =
              [](suite& cases) {
                cases.need_compute_capability(9, "clusters");
                add(cases, comparisons(), {.launch_ns = 3e5, .pairs = 11, .most_ns = 5e7});
              },
          .repetitions = 0};
}

}  // namespace bench
