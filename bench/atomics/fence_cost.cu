// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does a fence of each order and scope cost, both with nothing to wait for and after stores by the same
/// thread? The bench measures kernels with 1, 2, 4, ... 32 consecutive fences; the slope of the time is the cost of one fence.

#include <membar/fence.cuh>

#include <bench/common/comparison.hpp>
#include <bench/common/cuda_handles.hpp>

namespace {

using membar::thread_scope;

struct none {
  __device__ static void run() {}
};
template <thread_scope Scope, class Order>
struct of_membar {
  __device__ static void run() { membar::thread_fence<Scope>(Order{}); }
};
template <thread_scope Scope>
struct intrinsic {
  __device__ static void run() {
    if constexpr (Scope == thread_scope::block) {
      __threadfence_block();
    } else if constexpr (Scope == thread_scope::device) {
      __threadfence();
    } else {
      __threadfence_system();
    }
  }
};
struct ptx_sc_gpu {
  __device__ static void run() { asm volatile("fence.sc.gpu;" ::: "memory"); }
};
struct ptx_acq_rel_gpu {
  __device__ static void run() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
};

/// Executes `Count` fences, each after a store by the same thread if `Stores` is true.
template <class Fence, int Count, bool Stores>
__global__ void ladder(int* own, int turns) {
  volatile int* const mine = own + threadIdx.x * 32;
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
#pragma unroll
    for (int i = 0; i != Count; ++i) {
      if constexpr (Stores) {
        *mine = i;
      }
      Fence::run();
    }
  }
}

int* memory() {
  static const support::device_memory<int> objects(32 * 32);
  return objects.get();
}

template <class Fence, int Count, bool Stores>
bench::arm arm(const char* name) {
  return {name,
          [](cudaStream_t on, bench::workload work) { ladder<Fence, Count, Stores><<<1, 32, 0, on>>>(memory(), work.turns); }};
}

/// One comparison for each number of fences, in nanoseconds per turn. The slope over these numbers is the cost of one fence.
template <class... Fence>
void ladders(std::vector<bench::comparison>& all, const std::string& name, std::initializer_list<const char*> names) {
  const auto step = [&]<bool Stores, int Count>() {
    const char* const* each = names.begin();
    all.push_back({name + (Stores ? "/after_store/" : "/idle/") + std::to_string(Count),
                   [](bench::workload work) { return double{1} * work.turns; },
                   {arm<Fence, Count, Stores>(*each++)...}});
  };
  const auto steps = [&]<bool Stores, int... Count>(std::integer_sequence<int, Count...>) {
    (step.template operator()<Stores, Count>(), ...);
  };
  using counts = std::integer_sequence<int, 1, 2, 4, 8, 16, 32>;
  steps.template operator()<false>(counts());
  steps.template operator()<true>(counts());
}

template <thread_scope Scope>
void scope(std::vector<bench::comparison>& all) {
  const std::string name = std::string("fence/") + membar::name(Scope);
  ladders<of_membar<Scope, membar::acquire_t>>(all, name + "/acquire", {"membar"});
  ladders<of_membar<Scope, membar::release_t>>(all, name + "/release", {"membar"});
  ladders<of_membar<Scope, membar::acq_rel_t>>(all, name + "/acq_rel", {"membar"});
  if constexpr (Scope == thread_scope::cluster) {
    ladders<of_membar<Scope, membar::seq_cst_t>>(all, name + "/seq_cst", {"membar"});
  } else {
    ladders<of_membar<Scope, membar::seq_cst_t>, intrinsic<Scope>>(all, name + "/seq_cst", {"membar", "intrinsic"});
  }
}

std::vector<bench::comparison> comparisons() {
  std::vector<bench::comparison> all;
  ladders<none>(all, "nothing", {"membar"});
  scope<thread_scope::block>(all);
  scope<thread_scope::cluster>(all);
  scope<thread_scope::device>(all);
  scope<thread_scope::system>(all);
  ladders<of_membar<thread_scope::device, membar::seq_cst_t>, ptx_sc_gpu>(all, "fence_by_hand/device/seq_cst",
                                                                          {"membar", "ptx"});
  ladders<of_membar<thread_scope::device, membar::acq_rel_t>, ptx_acq_rel_gpu>(all, "fence_by_hand/device/acq_rel",
                                                                               {"membar", "ptx"});
  return all;
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What does a fence cost, by order and scope?",
          .add_cases = [](suite& cases) { add(cases, comparisons(), {.launch_ns = 5e5, .pairs = 11}); },
          .repetitions = 0};
}

}  // namespace bench
