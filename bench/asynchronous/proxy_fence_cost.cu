// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does a proxy fence cost by itself, after stores by the same thread, and during copies by the same block?
/// Each case reports the time of one fence together with the preceding store; the variant `no_fence` executes only the store.
#include "by_hand.cuh"

#include <bench/common/comparison.hpp>
#include <bench/common/cuda_handles.hpp>

#include <membar/fence.cuh>

namespace {

using membar::proxy;
using membar::thread_scope;

struct no_fence {
  __device__ static void run() {}
};
template <proxy Proxy>
struct of_membar {
  __device__ static void run() { membar::proxy_fence<Proxy>(); }
};
template <proxy Proxy>
struct by_ptx {
  __device__ static void run() {
    if constexpr (Proxy == proxy::async) {
      asm volatile("fence.proxy.async;" ::: "memory");
    } else if constexpr (Proxy == proxy::async_global) {
      asm volatile("fence.proxy.async.global;" ::: "memory");
    } else if constexpr (Proxy == proxy::async_shared_block) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    } else {
      asm volatile("fence.proxy.async.shared::cluster;" ::: "memory");
    }
  }
};
/// For comparison, a generic-proxy fence in the same place.
template <thread_scope Scope>
struct ordinary_fence {
  __device__ static void run() { membar::thread_fence<Scope>(membar::acq_rel); }
};

enum class situation { alone, after_shared_store, after_global_store, beside_loads, beside_stores };
constexpr const char* names[] = {"alone", "after_shared_store", "after_global_store", "beside_bulk_loads",
                                 "beside_bulk_stores"};

constexpr int in_a_row = 16;
constexpr unsigned tile = 8192;

/// The first warp executes the fences. In the cases with copies, the second warp keeps copying between its part of shared
/// memory and `tiles` until the first warp has finished.
template <class Fence, situation Where>
__global__ void fences(unsigned char* tiles, volatile int* own, int turns) {
  __shared__ alignas(128) unsigned char stage[tile];
  __shared__ unsigned long long barrier;
  __shared__ int word[32];
  __shared__ int over;
  const unsigned loaded = by_hand::shared_address(&barrier);
  if (threadIdx.x == 0) {
    over = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(loaded) : "memory");
    membar::mbarrier_init_fence();
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    volatile int* const mine = Where == situation::after_global_store ? own + threadIdx.x : word + threadIdx.x;
#pragma unroll 1
    for (int turn = 0; turn != turns; ++turn) {
#pragma unroll
      for (int i = 0; i != in_a_row; ++i) {
        if constexpr (Where == situation::after_shared_store || Where == situation::after_global_store) {
          *mine = i;
        }
        Fence::run();
      }
    }
    if (threadIdx.x == 0) {
      *static_cast<volatile int*>(&over) = 1;
    }
  } else if (threadIdx.x == 32 && (Where == situation::beside_loads || Where == situation::beside_stores)) {
    // A copy takes hundreds of nanoseconds, so this many copies last longer than any launch.
    for (unsigned n = 0; n != 1U << 20 && *static_cast<volatile int*>(&over) == 0; ++n) {
      unsigned char* const at = tiles + n % 64 * tile;
      if constexpr (Where == situation::beside_loads) {
        by_hand::arrive_expect(loaded, tile);
        by_hand::bulk_load(by_hand::shared_address(stage), at, tile, loaded);
        by_hand::wait_parity(loaded, n % 2);
      } else {
        by_hand::bulk_store(at, by_hand::shared_address(stage), tile);
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
      }
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

// All variants use the same memory: a multiprocessor is closer to one half of L2 than to the other, so a fence's time depends on
// the half to which the preceding stores went.
struct memory {
  support::device_memory<unsigned char> tiles{64 * tile};
  support::device_memory<int> words{32};
};
const memory& of_all_arms() {
  static const memory here;
  return here;
}

template <class Fence, situation Where>
bench::arm arm(const char* name) {
  return {name, [](cudaStream_t on, bench::workload work) {
            fences<Fence, Where><<<1, 64, 0, on>>>(of_all_arms().tiles.get(), of_all_arms().words.get(), work.turns);
          }};
}

template <situation Where>
void in_situation(std::vector<bench::comparison>& all) {
  const std::string name = std::string("proxy_fence_cost/") + names[static_cast<int>(Where)];
  const auto of = [&]<proxy Proxy>(const char* space) {
    all.push_back(
        {name + "/" + space,
         [](bench::workload work) { return double{in_a_row} * work.turns; },
         {arm<of_membar<Proxy>, Where>("membar"), arm<by_ptx<Proxy>, Where>("ptx"), arm<no_fence, Where>("no_fence")}});
  };
  of.template operator()<proxy::async>("async");
  of.template operator()<proxy::async_global>("async_global");
  of.template operator()<proxy::async_shared_block>("async_shared_block");
  of.template operator()<proxy::async_shared_cluster>("async_shared_cluster");
  all.push_back(
      {name + "/thread_fence",
       [](bench::workload work) { return double{in_a_row} * work.turns; },
       {arm<ordinary_fence<thread_scope::block>, Where>("block"), arm<ordinary_fence<thread_scope::cluster>, Where>("cluster"),
        arm<ordinary_fence<thread_scope::device>, Where>("device"), arm<no_fence, Where>("no_fence")}});
}

std::vector<bench::comparison> comparisons() {
  std::vector<bench::comparison> all;
  in_situation<situation::alone>(all);
  in_situation<situation::after_shared_store>(all);
  in_situation<situation::after_global_store>(all);
  in_situation<situation::beside_loads>(all);
  in_situation<situation::beside_stores>(all);
  return all;
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What does a proxy fence cost, alone and during traffic?",
          .add_cases =
              [](suite& cases) {
                cases.need_compute_capability(9, "fences of the async proxy");
                add(cases, comparisons(), {.launch_ns = 2e5, .pairs = 11, .most_ns = 3e7});
              },
          .repetitions = 0};
}

}  // namespace bench
