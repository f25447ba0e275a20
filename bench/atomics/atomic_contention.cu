// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what do contended atomics cost, and when does aggregation pay off? All threads of the device access objects in
/// global memory, or all threads of each block access objects in its shared memory. They access one object in total, or one per
/// block, warp or thread (32 or 128 bytes apart), or objects chosen with a skewed distribution. The time of a compare-and-swap
/// loop grows with the square of the number of contending threads. Each comparison therefore has as many blocks as its slowest
/// variant can finish in a few milliseconds, and reports the number of blocks.
#include "steps.cuh"

#include <membar/launch.hpp>

#include <bench/common/comparison.hpp>
#include <bench/common/cuda_handles.hpp>

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

/// The position of a thread's object.
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
      // Half of all accesses go to one object, a quarter to the next, and so on, over 16 objects.
      const unsigned scattered = (thread * 2654435761U + static_cast<unsigned>(turn) * 40503U) >> 8;
      return static_cast<std::size_t>(__clz(static_cast<int>(scattered << 8 | 0x10000U))) * 128;
    }
  }
  return 0;
}

/// The pattern, hidden from the compiler. Otherwise only some variants would get a separate loop for each pattern.
__device__ pattern hidden(pattern which) {
  int value = static_cast<int>(which);
  asm volatile("" : "+r"(value));
  return static_cast<pattern>(value);
}

/// A thread's operand: a constant, or values that increase, so that a maximum changes. Half-precision operands have both signs,
/// because rounding soon stops a sum that only grows.
template <class T, bool Rising>
__device__ T operand(unsigned thread, int turn, T value) {
  if constexpr (Rising) {
    return value + static_cast<T>(static_cast<unsigned>(turn) * 65536 + ((thread * 2654435761U) >> 16));
  }
  if constexpr (std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>) {
    return ((thread * 2654435761U + static_cast<unsigned>(turn) * 2246822519U) >> 16 & 1) != 0 ? value : -value;
  }
  return value;
}

/// Whether the kernel sums the steps' results and stores the sum.
enum class results { unused, used };
/// Whether the compiler can see that all lanes use one object.
enum class objects { by_pattern, known };

template <class Step, class T, bool Rising, results Results, objects Objects>
__global__ void contend(char* memory, pattern which, T value, int turns, T* sums) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  T sum{};
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    const std::size_t distance = Objects == objects::known ? 0 : place(hidden(which), thread, sizeof(T), turn);
    [[maybe_unused]] const T seen = Step::run(reinterpret_cast<T*>(memory + distance), operand<T, Rising>(thread, turn, value));
    if constexpr (Results == results::used) {
      sum = sum + seen;
    }
  }
  if constexpr (Results == results::used) {
    sums[thread] = sum;
  }
}

/// The block's barrier, preceded by its cluster's barrier if `OfCluster` is true.
template <bool OfCluster>
__device__ void meet() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (OfCluster) {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  }
#endif
  __syncthreads();
}

/// One object per block in its shared memory, or one object of block 0 in a cluster of two.
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
  }
#endif
  meet<Distributed>();
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    static_cast<void>(Step::run(object, operand<T, Rising>(thread, turn, value)));
  }
  meet<Distributed>();
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    *result = mine;
  }
}

char* memory() {
  static const support::device_memory<char> objects(bytes);
  return objects.get();
}
template <class T>
T* sums() {
  static const support::device_memory<T> values(most_blocks * threads);
  return values.get();
}

using bench::workload;

double operations(workload work) { return double{threads} * work.blocks * work.turns; }
void clear(cudaStream_t on) { membar::check(cudaMemsetAsync(memory(), 0, bytes, on)); }

/// The variants for a type, one for each step.
template <class T, bool Rising = false>
struct contest {
  using arms = std::vector<bench::arm>;

  template <results Results, objects Objects, class... Step>
  static arms global(pattern which) {
    return {{Step::name, [which](cudaStream_t on, workload work) {
               contend<Step, T, Rising, Results, Objects>
                   <<<work.blocks, threads, 0, on>>>(memory(), which, one<T>(), work.turns, sums<T>());
             }}...};
  }
  template <class... Step>
  static arms unused(pattern which) {
    return global<results::unused, objects::by_pattern, Step...>(which);
  }
  template <class... Step>
  static arms used(pattern which) {
    return global<results::used, objects::by_pattern, Step...>(which);
  }
  template <class... Step>
  static arms known() {
    return global<results::used, objects::known, Step...>(pattern::one);
  }
  template <class... Step>
  static arms shared() {
    return {{Step::name, [](cudaStream_t on, workload work) {
               contend_in_shared_memory<Step, T, false, Rising>
                   <<<work.blocks, threads, 0, on>>>(one<T>(), work.turns, sums<T>());
             }}...};
  }
  /// A cluster of two blocks for each block of work.
  template <class... Step>
  static arms distributed() {
    return {{Step::name, [](cudaStream_t on, workload work) {
               const auto config = membar::launch_config{2 * static_cast<unsigned>(work.blocks), threads, on}.with(
                   membar::cluster_dimensions{2, 1, 1});
               membar::launch(config, contend_in_shared_memory<Step, T, true, Rising>, one<T>(), work.turns, sums<T>());
             }}...};
  }
};

std::vector<bench::comparison> comparisons(const bench::suite& cases) {
  using membar::aggregation;
  using r = membar::relaxed_t;
  using ar = membar::acq_rel_t;
  using word = unsigned;
  using long_word = unsigned long long;
  using byte = unsigned char;
  using half_word = unsigned short;
  using u32 = contest<word>;
  using u64 = contest<long_word>;
  using f32 = contest<float>;
  using f64 = contest<double>;
  using u8 = contest<byte>;
  using u16 = contest<half_word>;
  using w = contest<wide>;
  using u32_rising = contest<word, true>;
  using f32_rising = contest<float, true>;
  constexpr auto any = aggregation::any_address;
  constexpr auto one_address = aggregation::one_address;
  std::vector<bench::comparison> all;
  const auto compare = [&all](const std::string& name, std::vector<bench::arm> arms) {
    all.push_back({name, operations, std::move(arms), most_blocks, clear});
  };
  for (const auto& [which, name] : patterns) {
    const std::string suffix = std::string("/") + name;
    // One instruction per thread, compared with one per warp and address.
    compare("fetch_add/u32/relaxed/global/used" + suffix,
            u32::used<in_membar<fetch_add, word, r>, in_cuda<fetch_add, word, r>, intrinsic_add<word>, ptx_add_relaxed,
                      aggregated_add<word, any>>(which));
    compare("add/u32/relaxed/global/unused" + suffix,
            u32::unused<membar_reduce<word, r>, ptx_reduce, intrinsic_reduce<word>, aggregated_reduce<word>>(which));
    compare("fetch_add/u32/acq_rel/global/unused" + suffix,
            u32::unused<in_membar<fetch_add, word, ar>, in_cuda<fetch_add, word, ar>, ptx_add_acq_rel>(which));
    compare("fetch_add/f32/relaxed/global/used" + suffix,
            f32::used<in_membar<fetch_add, float, r>, in_cuda<fetch_add, float, r>, aggregated_add<float, any>>(which));
    compare(
        "fetch_add/u64/relaxed/global/used" + suffix,
        u64::used<in_membar<fetch_add, long_word, r>, in_cuda<fetch_add, long_word, r>, aggregated_add<long_word, any>>(which));
    compare("fetch_add/f64/relaxed/global/used" + suffix,
            f64::used<in_membar<fetch_add, double, r>, in_cuda<fetch_add, double, r>, aggregated_add<double, any>>(which));
    compare("fetch_max/u32/relaxed/global/used" + suffix,
            u32_rising::used<in_membar<fetch_max, word, r>, in_cuda<fetch_max, word, r>, aggregated_max<word>>(which));
    compare("fetch_max/f32/relaxed/global/used" + suffix,
            f32_rising::used<in_membar<fetch_max, float, r>, aggregated_max<float>>(which));
    // One instruction, where the alternatives use a loop.
    compare("fetch_max_beside_loops/f32/relaxed/global/used" + suffix,
            f32_rising::used<in_membar<fetch_max, float, r>, in_cuda<fetch_max, float, r>, loop_max>(which));
    // membar's loops: one per lane, and one per warp and address.
    compare("loop/f32_max/relaxed/global/used" + suffix,
            f32_rising::used<membar_loop<float, larger>, aggregated_loop<float, larger>>(which));
    compare("loop/u64_user_function/relaxed/global/used" + suffix,
            u64::used<membar_loop<long_word, mixed>, aggregated_loop<long_word, mixed>>(which));
    compare("loop/128_user_function/relaxed/global/unused" + suffix,
            w::unused<membar_loop<wide, larger_sum>, aggregated_loop<wide, larger_sum>>(which));
    compare("fetch_add/u8/acq_rel/global/unused" + suffix,
            u8::unused<in_membar<fetch_add, byte, ar>, in_cuda<fetch_add, byte, ar>, aggregated_add<byte, any, ar>>(which));
    compare(
        "fetch_add/u16/acq_rel/global/unused" + suffix,
        u16::unused<in_membar<fetch_add, half_word, ar>, in_cuda<fetch_add, half_word, ar>, aggregated_add<half_word, any, ar>>(
            which));
    // Half-precision operations, whose instruction ptxas expands into a loop.
    compare(
        "fetch_add/f16/acq_rel/global/unused" + suffix,
        contest<__half>::unused<in_membar<fetch_add, __half, ar>, ptx_add_half<__half>, ptx_add_half_between_fences<__half>>(
            which));
    compare("fetch_add/bf16/acq_rel/global/unused" + suffix,
            contest<__nv_bfloat16>::unused<in_membar<fetch_add, __nv_bfloat16, ar>, ptx_add_half<__nv_bfloat16>,
                                           ptx_add_half_between_fences<__nv_bfloat16>>(which));
  }
  // The compiler merges the lanes' operations where it can.
  compare("fetch_add/u32/relaxed/global/used/known", u32::known<in_membar<fetch_add, word, r>, in_cuda<fetch_add, word, r>,
                                                                intrinsic_add<word>, aggregated_add<word, one_address>>());
  compare("add/u32/relaxed/global/unused/known",
          u32::known<membar_reduce<word, r>, intrinsic_reduce<word>, aggregated_reduce<word>>());
  compare("fetch_add/f32/relaxed/global/used/known",
          f32::known<in_membar<fetch_add, float, r>, in_cuda<fetch_add, float, r>, aggregated_add<float, one_address>>());
  compare("fetch_max/u32/relaxed/global/used/known",
          u32_rising::known<in_membar<fetch_max, word, r>, in_cuda<fetch_max, word, r>, aggregated_max<word>>());
  // The same kernel twice, to show how far a ratio deviates from 1 by chance.
  for (const pattern which : {pattern::one, pattern::per_block, pattern::per_warp, pattern::per_lane}) {
    std::vector<bench::arm> arms = u32::used<in_membar<fetch_add, word, r>, in_membar<fetch_add, word, r>>(which);
    arms[1].name = "membar_again";
    compare(std::string("control/fetch_add/u32/relaxed/global/used/") + patterns[static_cast<int>(which)].name,
            std::move(arms));
  }
  constexpr auto block = thread_scope::block;
  compare("add/u32/relaxed/shared", u32::shared<membar_reduce<word, r>, intrinsic_reduce<word>, aggregated_reduce<word>>());
  compare("fetch_add/u32/relaxed/shared", u32::shared<in_membar<fetch_add, word, r, block>, in_cuda<fetch_add, word, r, block>,
                                                      intrinsic_add<word>, aggregated_add<word, one_address>>());
  compare("fetch_max/f32/relaxed/shared",
          f32_rising::shared<in_membar<fetch_max, float, r>, in_cuda<fetch_max, float, r>, aggregated_max<float>>());
  if (cases.waived() || support::attribute(cudaDevAttrComputeCapabilityMajor, cases.device()) >= 9) {
    const auto of_both_blocks = [](workload work) { return 2 * operations(work); };
    all.push_back({"fetch_add/u32/relaxed/distributed_shared", of_both_blocks,
                   u32::distributed<in_membar<fetch_add, word, r>, in_cuda<fetch_add, word, r>, intrinsic_add<word>>(),
                   most_blocks});
    // membar uses a loop here, because the instruction that cuda::atomic_ref emits loses updates.
    all.push_back({"fetch_max/u64/relaxed/distributed_shared", of_both_blocks,
                   contest<long_word, true>::distributed<in_membar<fetch_max, long_word, r>>(), most_blocks});
  }
  return all;
}

}  // namespace

namespace bench {

bench::description describe() {
  return {
      .question = "What do contended atomics cost, and when does aggregation pay off?",
      .add_cases = [](suite& cases) { bench::add(cases, comparisons(cases), {.launch_ns = 5e5, .pairs = 9, .most_ns = 3e9}); },
      .repetitions = 0};
}

}  // namespace bench
