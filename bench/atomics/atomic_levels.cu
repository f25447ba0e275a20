// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does an atomic addition cost depending on its object's location, and at what contention does a private
/// copy pay off? levels/: shared memory, the shared memory of the cluster's other block, L2, a peer GPU, and the host; the
/// latency of one thread's chain, and the throughput of all threads on their own objects or on one object. histogram/: counts
/// values into bins, with one operation per value, with one per warp and bin, and with private bins per block that are merged
/// at the end.
#include <membar/aggregated.cuh>
#include <membar/launch.hpp>

#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>
#include <bench/common/ladder_memory.hpp>

#include <algorithm>

namespace {

using membar::relaxed;
using membar::thread_scope;

constexpr int turns = 1024;
constexpr int threads = 256;

enum class level { shared, distributed_shared, l2, peer, host };

/// The narrowest scope that includes all possible users of an object at a level.
template <level Level>
inline constexpr thread_scope scope_of = Level == level::shared               ? thread_scope::block
                                         : Level == level::distributed_shared ? thread_scope::cluster
                                         : Level == level::l2                 ? thread_scope::device
                                                                              : thread_scope::system;

enum class operation { fetch_add, add, load, intrinsic };

template <level Level, operation Operation>
__device__ unsigned step(unsigned* object, unsigned value) {
  const membar::atomic_ref<unsigned, scope_of<Level>> ref(*object);
  if constexpr (Operation == operation::fetch_add) {
    return ref.fetch_add(value, relaxed);
  } else if constexpr (Operation == operation::intrinsic) {
    return atomicAdd(object, value);
  } else if constexpr (Operation == operation::load) {
    return ref.load(relaxed);
  } else {
    ref.add(value, relaxed);
    return value;
  }
}

/// The start of a level's objects: in shared memory, or in memory that the host passes.
template <level Level>
__device__ unsigned* objects_of(unsigned* staged, unsigned* given) {
  if constexpr (Level == level::shared) {
    return staged;
  } else if constexpr (Level == level::distributed_shared) {
    return static_cast<unsigned*>(__cluster_map_shared_rank(staged, 1 - blockIdx.x % 2));
  } else {
    return given;
  }
}

template <level Level>
__device__ void meet() {
  if constexpr (Level == level::distributed_shared) {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  }
  __syncthreads();
}

template <level Level, operation Operation>
__global__ void chain(unsigned* given, unsigned nothing, long long* cycles, unsigned* out) {
  __shared__ unsigned staged[32];
  if (threadIdx.x < 32) {
    staged[threadIdx.x] = 0;
  }
  meet<Level>();
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    unsigned* const object = objects_of<Level>(staged, given);
    unsigned seen = step<Level, Operation>(object, 0) & nothing;  // Loads the line into the nearest cache.
    const long long begin = clock64();
#pragma unroll 1
    for (int turn = 0; turn != turns; ++turn) {
      seen = step<Level, Operation>(object + seen, 1) & nothing;
    }
    asm volatile("" : "+r"(seen)::"memory");
    const long long end = clock64();
    *cycles = end - begin;
    *out = seen;
  }
  meet<Level>();
}

template <level Level, operation Operation>
__global__ void all_threads(unsigned* given, bool one, int times, unsigned* out) {
  __shared__ unsigned staged[threads];
  staged[threadIdx.x] = 0;
  meet<Level>();
  constexpr bool on_chip = Level == level::shared || Level == level::distributed_shared;
  const unsigned own = on_chip ? threadIdx.x : blockIdx.x * threads + threadIdx.x;
  unsigned* const object = objects_of<Level>(staged, given) + (one ? 0U : own);
  unsigned sum = 0;
#pragma unroll 1
  for (int turn = 0; turn != times; ++turn) {
    sum += step<Level, Operation>(object, 1);
  }
  meet<Level>();
  if (sum == 1) {
    *out = sum;
  }
}

/// Keys of a histogram with `bins` bins, a power of two. All keys are equally frequent and in random order.
__device__ unsigned key_of(unsigned i, unsigned bins) {
  i = (i ^ (i >> 16)) * 0x85EBCA6BU;
  i = (i ^ (i >> 13)) * 0xC2B2AE35U;
  return (i ^ (i >> 16)) & (bins - 1);
}

enum class way { direct, aggregated, privatized };

constexpr std::size_t values = std::size_t{1} << 24;

template <way Way, int Bins>
__global__ void count(unsigned bins, unsigned* target) {
  [[maybe_unused]] __shared__ membar::privatized_histogram<unsigned, Way == way::privatized ? Bins : 1> own;
  if constexpr (Way == way::privatized) {
    own.clear();
  }
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < values;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const unsigned bin = key_of(static_cast<unsigned>(i), bins);
    if constexpr (Way == way::direct) {
      membar::atomic_ref<unsigned, thread_scope::device>(target[bin]).add(1U, relaxed);
    } else if constexpr (Way == way::aggregated) {
      membar::aggregated_ref<unsigned, thread_scope::device>(target[bin]).add(1U, relaxed);
    } else {
      own.add(static_cast<int>(bin), 1U);
    }
  }
  if constexpr (Way == way::privatized) {
    own.template flush<thread_scope::device>(target, relaxed);
  }
}

struct fixture {
  explicit fixture(int index) : device(index), blocks(support::attribute(cudaDevAttrMultiProcessorCount, index) / 2 * 16) {}

  int device;
  int blocks;
  support::stream stream;
  support::device_memory<long long> cycles{1};
  support::device_memory<unsigned> out{1};
  support::device_memory<unsigned> bins{4096};
  bench::chained_memory memory{};

  unsigned* given(level where) {
    memory.become(where == level::peer   ? bench::place::peer
                  : where == level::host ? bench::place::mapped
                                         : bench::place::device,
                  std::size_t{4} * threads * static_cast<std::size_t>(blocks), device, bench::content::words, 128);
    return memory.as<unsigned>();
  }

  template <level Level, class Kernel, class... Arguments>
  [[nodiscard]] double timed(int grid, Kernel kernel, Arguments... arguments) const {
    const auto launch = [&] {
      const membar::launch_config config(static_cast<unsigned>(grid), threads, stream.get());
      if constexpr (Level == level::distributed_shared) {
        membar::launch(config.with(membar::cluster_dimensions{2, 1, 1}), kernel, arguments...);
      } else {
        membar::launch(config, kernel, arguments...);
      }
    };
    launch();
    return support::nanoseconds_of(stream.get(), launch);
  }
};

template <level Level, operation Operation>
void add_operation(bench::suite& cases, const bench::made_once<fixture>& shared, const std::string& name,
                   const std::string& waived) {
  if constexpr (Operation != operation::add) {
    cases.add(bench::case_name("levels/latency/" + name, waived), [shared] {
      fixture& here = *shared;
      const double ns = here.timed<Level>(2, chain<Level, Operation>, here.given(Level), 0U, here.cycles.get(), here.out.get());
      long long cycles = 0;
      membar::check(cudaMemcpy(&cycles, here.cycles.get(), sizeof cycles, cudaMemcpyDefault));
      return bench::figures(
          ns, {{"cycles", static_cast<double>(cycles) / turns},
               {"ns", static_cast<double>(cycles) / turns * 1e6 / support::attribute(cudaDevAttrClockRate, here.device)}});
    });
  }
  for (const bool one : {false, true}) {
    cases.add(bench::case_name("levels/throughput/" + std::string(one ? "one_object/" : "own_objects/") + name, waived),
              [shared, one] {
                fixture& here = *shared;
                constexpr bool on_chip = Level == level::shared || Level == level::distributed_shared;
                const int times = on_chip ? 512 : Level == level::l2 ? 64 : Level == level::host ? 4 : one ? 2 : 16;
                const int grid = Level == level::host ? std::min(here.blocks, 32) : here.blocks;
                const double ns =
                    here.timed<Level>(grid, all_threads<Level, Operation>, here.given(Level), one, times, here.out.get());
                return bench::figures(ns, {{"operations_per_ns", static_cast<double>(grid) * threads * times / ns}});
              });
  }
}

template <level Level>
void add_level(bench::suite& cases, const bench::made_once<fixture>& shared, const std::string& name,
               const std::string& waived = "") {
  add_operation<Level, operation::load>(cases, shared, "load/" + name, waived);
  add_operation<Level, operation::fetch_add>(cases, shared, "fetch_add/" + name, waived);
  add_operation<Level, operation::add>(cases, shared, "add/" + name, waived);
}

template <int Bins>
void add_bins(bench::suite& cases, const bench::made_once<fixture>& shared) {
  const auto add = [&](const char* arm, auto kernel) {
    cases.add("histogram/" + std::to_string(Bins) + "_bins/" + arm, [shared, kernel] {
      fixture& here = *shared;
      // The number of bins is also passed as an argument, so that no variant can assume that all lanes have the same address.
      const double ns = here.timed<level::l2>(here.blocks / 2, kernel, static_cast<unsigned>(Bins), here.bins.get());
      return bench::figures(ns, {{"values_per_ns", static_cast<double>(values) / ns}});
    });
  };
  add("direct", count<way::direct, Bins>);
  add("aggregated", count<way::aggregated, Bins>);
  add("privatized", count<way::privatized, Bins>);
}

void add_cases(bench::suite& cases) {
  const bench::made_once<fixture> shared(cases.device());
  const std::string no_peer =
      cases.waived() || bench::peer_of(cases.device()) >= 0 ? "" : "no second GPU that this one can access";
  if (!cases.waived()) {
    cases.context("host_link", bench::host_link(cases.device()));
  }
  add_level<level::shared>(cases, shared, "shared");
  // The compiler's built-in function uses the shared-memory instruction; the other variants use the generic instruction.
  add_operation<level::shared, operation::intrinsic>(cases, shared, "intrinsic/shared", "");
  add_level<level::distributed_shared>(cases, shared, "distributed_shared");
  add_level<level::l2>(cases, shared, "l2");
  add_level<level::peer>(cases, shared, "peer", no_peer);
  add_level<level::host>(cases, shared, "host");
  add_bins<1>(cases, shared);
  add_bins<4>(cases, shared);
  add_bins<16>(cases, shared);
  add_bins<64>(cases, shared);
  add_bins<256>(cases, shared);
  add_bins<1024>(cases, shared);
  add_bins<4096>(cases, shared);
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question =
              "What does an atomic addition cost depending on its object's location, and at what contention does a "
              "private copy pay off?",
          .add_cases = add_cases,
          .unit = benchmark::kMicrosecond,
          .repetitions = 7};
}

}  // namespace bench
