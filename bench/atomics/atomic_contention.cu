// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what do contended atomics cost, and where does aggregation pay? Threads of the whole device (or, in shared
/// memory, of each block) work on one object, one per block, one per warp, one each, at distances of 32 and 128 bytes, or on
/// skewed ones. A loop of compare-and-swap takes a time that grows with the square of its contenders: each comparison has as
/// many blocks as its slowest arm can do in a few milliseconds, and says how many.
#include "steps.cuh"

#include <bench/common/kernel_bench.hpp>

namespace {

using membar::thread_scope;
using namespace steps;

constexpr int most_blocks = 256;
constexpr int threads = 256;
constexpr std::size_t bytes = std::size_t{most_blocks} * threads * 128;

enum class pattern { one, per_block, per_warp, per_lane, stride_32, stride_128, skewed };
constexpr struct {
  pattern which;
  const char* name;
} patterns[] = {{pattern::one, "one"},           {pattern::per_block, "per_block"}, {pattern::per_warp, "per_warp"},
                {pattern::per_lane, "per_lane"}, {pattern::stride_32, "stride_32"}, {pattern::stride_128, "stride_128"},
                {pattern::skewed, "skewed"}};

/// Where a thread's object begins.
__device__ std::size_t place(pattern which, unsigned thread, std::size_t size, int turn) {
  switch (which) {
    case pattern::one:
      return 0;
    case pattern::per_block:
      return thread / threads * 128;
    case pattern::per_warp:
      return thread / 32 * 128;
    case pattern::per_lane:
      return thread * size;
    case pattern::stride_32:
      return thread * 32UL;
    case pattern::stride_128:
      return thread * 128UL;
    case pattern::skewed: {
      // Half of all accesses to one object, a quarter to the next, and so on: 16 objects.
      const unsigned scattered = (thread * 2654435761U + static_cast<unsigned>(turn) * 40503U) >> 8;
      return static_cast<std::size_t>(__clz(static_cast<int>(scattered << 8 | 0x10000U))) * 128;
    }
  }
  return 0;
}

/// The same pattern, which the compiler does not know: it would give some arms a loop of its own for each pattern, others not.
__device__ pattern hidden(pattern which) {
  int value = static_cast<int>(which);
  asm volatile("" : "+r"(value));
  return static_cast<pattern>(value);
}

/// What a thread operates with: the same each time, or ever larger values, so that a maximum changes.
template <class T, bool Rising>
__device__ T operand(unsigned thread, int turn, T value) {
  if constexpr (Rising) {
    return value + static_cast<T>(static_cast<unsigned>(turn) * 65536 + ((thread * 2654435761U) >> 16));
  }
  return value;
}

template <class Step, class T, bool Rising>
__global__ void contend(char* memory, pattern which, T value, int turns) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    static_cast<void>(Step::run(reinterpret_cast<T*>(memory + place(hidden(which), thread, sizeof(T), turn)),
                                operand<T, Rising>(thread, turn, value)));
  }
}

/// The same with the result used: summed and stored.
template <class Step, class T, bool Rising>
__global__ void contend_and_use(char* memory, pattern which, T value, int turns, T* results) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  T sum{};
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    sum = sum + Step::run(reinterpret_cast<T*>(memory + place(hidden(which), thread, sizeof(T), turn)),
                          operand<T, Rising>(thread, turn, value));
  }
  results[thread] = sum;
}

/// One object, of which the compiler sees that it is that of all lanes.
template <class Step, class T, bool Rising>
__global__ void contend_at_known(T* object, T value, int turns, T* results) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  T sum{};
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    sum = sum + Step::run(object, operand<T, Rising>(thread, turn, value));
  }
  results[thread] = sum;
}

/// One object per block in its shared memory, or one of block 0 of a cluster of two.
template <class Step, class T, bool Distributed, bool Rising>
__global__ void contend_in_shared_memory(T value, int turns, T* result) {
  __shared__ T mine;
  T* object = &mine;
  if (threadIdx.x == 0) {
    mine = T{};
  }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (Distributed) {
    object = static_cast<T*>(__cluster_map_shared_rank(&mine, 0));
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  }
#endif
  __syncthreads();
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    static_cast<void>(Step::run(object, operand<T, Rising>(thread, turn, value)));
  }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (Distributed) {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  }
#endif
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    *result = mine;
  }
}

char* memory() {
  static const support::device_memory<char> objects(bytes);
  return objects.get();
}
template <class T>
T* results() {
  static const support::device_memory<T> values(most_blocks * threads);
  return values.get();
}

using support::workload;

double operations(workload work) { return double{threads} * work.blocks * work.turns; }
void clear(cudaStream_t on) { membar::check(cudaMemsetAsync(memory(), 0, bytes, on)); }

template <class T, bool Rising = false>
struct contest {
  template <class Step>
  static support::bench_arm unused(const char* name, pattern which) {
    return {name, [which](cudaStream_t on, workload work) {
              contend<Step, T, Rising><<<work.blocks, threads, 0, on>>>(memory(), which, one<T>(), work.turns);
            }};
  }
  template <class Step>
  static support::bench_arm used(const char* name, pattern which) {
    return {name, [which](cudaStream_t on, workload work) {
              contend_and_use<Step, T, Rising>
                  <<<work.blocks, threads, 0, on>>>(memory(), which, one<T>(), work.turns, results<T>());
            }};
  }
  template <class Step>
  static support::bench_arm known(const char* name) {
    return {name, [](cudaStream_t on, workload work) {
              contend_at_known<Step, T, Rising>
                  <<<work.blocks, threads, 0, on>>>(reinterpret_cast<T*>(memory()), one<T>(), work.turns, results<T>());
            }};
  }
  template <class Step>
  static support::bench_arm shared(const char* name) {
    return {name, [](cudaStream_t on, workload work) {
              contend_in_shared_memory<Step, T, false, Rising>
                  <<<work.blocks, threads, 0, on>>>(one<T>(), work.turns, results<T>());
            }};
  }
  /// Two clustered blocks for each block of the work.
  template <class Step>
  static support::bench_arm distributed(const char* name) {
    return {name, [](cudaStream_t on, workload work) {
              cudaLaunchAttribute cluster{};
              cluster.id = cudaLaunchAttributeClusterDimension;
              cluster.val.clusterDim = {2, 1, 1};
              cudaLaunchConfig_t config{};
              config.gridDim = dim3(2 * static_cast<unsigned>(work.blocks));
              config.blockDim = dim3(threads);
              config.stream = on;
              config.attrs = &cluster;
              config.numAttrs = 1;
              membar::check(cudaLaunchKernelEx(&config, contend_in_shared_memory<Step, T, true, Rising>, one<T>(), work.turns,
                                               results<T>()));
            }};
  }
};

std::vector<support::comparison> comparisons() {
  using membar::aggregation;
  using r = membar::relaxed_t;
  using ar = membar::acq_rel_t;
  using u32 = contest<unsigned>;
  using u64 = contest<unsigned long long>;
  using f32 = contest<float>;
  using f64 = contest<double>;
  using u32_rising = contest<unsigned, true>;
  using f32_rising = contest<float, true>;
  constexpr thread_scope device = thread_scope::device;
  std::vector<support::comparison> all;
  const auto compare = [&all](const std::string& name, std::vector<support::bench_arm> arms) {
    all.push_back({name, operations, std::move(arms), most_blocks, clear});
  };
  for (const auto& [which, name] : patterns) {
    const std::string suffix = std::string("/") + name;
    // One instruction, and the same once per warp and address.
    compare("fetch_add/u32/relaxed/global/used" + suffix,
            {u32::used<membar_add<unsigned, device, r>>("membar", which),
             u32::used<cuda_add<unsigned, device, r>>("cuda_atomic_ref", which),
             u32::used<intrinsic_add<unsigned>>("intrinsic", which), u32::used<ptx_add_relaxed>("ptx", which),
             u32::used<aggregated_add<unsigned, aggregation::any_address>>("aggregated", which)});
    compare("add/u32/relaxed/global/unused" + suffix,
            {u32::unused<membar_reduce<unsigned, r>>("membar", which), u32::unused<ptx_reduce>("ptx", which),
             u32::unused<intrinsic_reduce<unsigned>>("intrinsic", which),
             u32::unused<aggregated_reduce<unsigned>>("aggregated", which)});
    compare(
        "fetch_add/u32/acq_rel/global/unused" + suffix,
        {u32::unused<membar_add<unsigned, device, ar>>("membar", which),
         u32::unused<cuda_add<unsigned, device, ar>>("cuda_atomic_ref", which), u32::unused<ptx_add_acq_rel>("ptx", which)});
    compare("fetch_add/f32/relaxed/global/used" + suffix,
            {f32::used<membar_add<float, device, r>>("membar", which),
             f32::used<cuda_add<float, device, r>>("cuda_atomic_ref", which),
             f32::used<aggregated_add<float, aggregation::any_address>>("aggregated", which)});
    compare("fetch_add/u64/relaxed/global/used" + suffix,
            {u64::used<membar_add<unsigned long long, device, r>>("membar", which),
             u64::used<cuda_add<unsigned long long, device, r>>("cuda_atomic_ref", which),
             u64::used<aggregated_add<unsigned long long, aggregation::any_address>>("aggregated", which)});
    compare("fetch_add/f64/relaxed/global/used" + suffix,
            {f64::used<membar_add<double, device, r>>("membar", which),
             f64::used<cuda_add<double, device, r>>("cuda_atomic_ref", which),
             f64::used<aggregated_add<double, aggregation::any_address>>("aggregated", which)});
    compare("fetch_max/u32/relaxed/global/used" + suffix, {u32_rising::used<membar_max<unsigned, r>>("membar", which),
                                                           u32_rising::used<cuda_max<unsigned, r>>("cuda_atomic_ref", which),
                                                           u32_rising::used<aggregated_max<unsigned>>("aggregated", which)});
    compare("fetch_max/f32/relaxed/global/used" + suffix, {f32_rising::used<membar_max<float, r>>("membar", which),
                                                           f32_rising::used<aggregated_max<float>>("aggregated", which)});
    // One instruction, where others have a loop.
    compare("fetch_max_beside_loops/f32/relaxed/global/used" + suffix,
            {f32_rising::used<membar_max<float, r>>("membar", which),
             f32_rising::used<cuda_max<float, r>>("cuda_atomic_ref", which), f32_rising::used<loop_max>("loop", which)});
    // Loops: membar's for one lane, and once per warp and address.
    compare("loop/f32_max/relaxed/global/used" + suffix,
            {f32_rising::used<membar_loop<float, larger>>("membar", which),
             f32_rising::used<aggregated_loop<float, larger>>("aggregated", which)});
    compare("loop/u64_user_function/relaxed/global/used" + suffix,
            {u64::used<membar_loop<unsigned long long, mixed>>("membar", which),
             u64::used<aggregated_loop<unsigned long long, mixed>>("aggregated", which)});
    using w = contest<wide>;
    compare("loop/128_user_function/relaxed/global/unused" + suffix,
            {w::unused<membar_loop<wide, larger_sum>>("membar", which),
             w::unused<aggregated_loop<wide, larger_sum>>("aggregated", which)});
    using u8 = contest<unsigned char>;
    compare("fetch_add/u8/acq_rel/global/unused" + suffix,
            {u8::unused<membar_add<unsigned char, device, ar>>("membar", which),
             u8::unused<cuda_add<unsigned char, device, ar>>("cuda_atomic_ref", which),
             u8::unused<aggregated_add<unsigned char, aggregation::any_address, ar>>("aggregated", which)});
    using u16 = contest<unsigned short>;
    compare("fetch_add/u16/acq_rel/global/unused" + suffix,
            {u16::unused<membar_add<unsigned short, device, ar>>("membar", which),
             u16::unused<cuda_add<unsigned short, device, ar>>("cuda_atomic_ref", which),
             u16::unused<aggregated_add<unsigned short, aggregation::any_address, ar>>("aggregated", which)});
  }
  // The compiler merges the lanes' operations by itself where it can.
  compare("fetch_add/u32/relaxed/global/used/known",
          {u32::known<membar_add<unsigned, device, r>>("membar"), u32::known<cuda_add<unsigned, device, r>>("cuda_atomic_ref"),
           u32::known<intrinsic_add<unsigned>>("intrinsic"),
           u32::known<aggregated_add<unsigned, aggregation::one_address>>("aggregated")});
  compare("add/u32/relaxed/global/unused/known",
          {u32::known<membar_reduce<unsigned, r>>("membar"), u32::known<intrinsic_reduce<unsigned>>("intrinsic"),
           u32::known<aggregated_reduce<unsigned>>("aggregated")});
  compare("fetch_add/f32/relaxed/global/used/known",
          {f32::known<membar_add<float, device, r>>("membar"), f32::known<cuda_add<float, device, r>>("cuda_atomic_ref"),
           f32::known<aggregated_add<float, aggregation::one_address>>("aggregated")});
  compare("fetch_max/u32/relaxed/global/used/known",
          {u32_rising::known<membar_max<unsigned, r>>("membar"), u32_rising::known<cuda_max<unsigned, r>>("cuda_atomic_ref"),
           u32_rising::known<aggregated_max<unsigned>>("aggregated")});
  // The same kernel twice: how far a ratio is from 1 by chance.
  for (const pattern which : {pattern::one, pattern::per_block, pattern::per_warp, pattern::per_lane}) {
    compare(std::string("control/fetch_add/u32/relaxed/global/used/") + patterns[static_cast<int>(which)].name,
            {u32::used<membar_add<unsigned, device, r>>("membar", which),
             u32::used<membar_add<unsigned, device, r>>("membar_again", which)});
  }
  compare("add/u32/relaxed/shared",
          {u32::shared<membar_reduce<unsigned, r>>("membar"), u32::shared<intrinsic_reduce<unsigned>>("intrinsic"),
           u32::shared<aggregated_reduce<unsigned>>("aggregated")});
  compare("fetch_add/u32/relaxed/shared", {u32::shared<membar_add<unsigned, thread_scope::block, r>>("membar"),
                                           u32::shared<cuda_add<unsigned, thread_scope::block, r>>("cuda_atomic_ref"),
                                           u32::shared<intrinsic_add<unsigned>>("intrinsic"),
                                           u32::shared<aggregated_add<unsigned, aggregation::one_address>>("aggregated")});
  compare("fetch_max/f32/relaxed/shared",
          {f32_rising::shared<membar_max<float, r>>("membar"), f32_rising::shared<cuda_max<float, r>>("cuda_atomic_ref"),
           f32_rising::shared<aggregated_max<float>>("aggregated")});
  int major = 0;
  membar::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major >= 9) {
    all.push_back({"fetch_add/u32/relaxed/distributed_shared",
                   [](workload work) { return 2 * operations(work); },
                   {u32::distributed<membar_add<unsigned, device, r>>("membar"),
                    u32::distributed<cuda_add<unsigned, device, r>>("cuda_atomic_ref"),
                    u32::distributed<intrinsic_add<unsigned>>("intrinsic")},
                   most_blocks});
    // The loop that stands in for the instruction there; cuda::atomic_ref's instruction loses updates.
    using u64_rising = contest<unsigned long long, true>;
    all.push_back({"fetch_max/u64/relaxed/distributed_shared",
                   [](workload work) { return 2 * operations(work); },
                   {u64_rising::distributed<membar_max<unsigned long long, r>>("membar")},
                   most_blocks});
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  return support::run_comparisons(argc, argv, {.launch_ns = 5e5, .pairs = 9, .most_ns = 3e9}, comparisons);
}
