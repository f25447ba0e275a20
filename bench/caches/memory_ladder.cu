// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what latency and bandwidth does each kind of memory have, at each footprint? Latencies are measured by
/// pointer chasing: each load returns the address of the next load, so that only the loads are measured.
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>
#include <bench/common/ladder_memory.hpp>

#include <membar/launch.hpp>
#include <membar/load_store.cuh>

#include <algorithm>
#include <vector>

namespace {

using link = unsigned long long;  // Each element of a chain holds the address of the next.

constexpr int hops = 4096;
constexpr std::size_t line = 128;

struct chase_result {
  long long cycles;
  link at;
};

// How each kind of memory is read. The loads are written in PTX, because the compiler might change the chain otherwise.
struct by_plain_load {
  static __device__ link next(link at) {
    link value;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
  }
};
struct past_l1 {
  static __device__ link next(link at) {
    link value;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
  }
};
struct by_read_only_load {
  static __device__ link next(link at) {
    link value;
    asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
  }
};
struct in_shared {
  static __device__ unsigned next(unsigned at) {
    unsigned value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(at) : "memory");
    return value;
  }
};
struct by_generic_load {
  static __device__ link next(link at) {
    link value;
    asm volatile("ld.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
  }
};

/// One thread follows `warm` links of a chain, and then `hops` more. The result is the time that the `hops` links take.
template <class Read>
__global__ void chase(link from, int warm, chase_result* result) {
  link at = from;
#pragma unroll 1
  for (int i = 0; i != warm; ++i) {
    at = Read::next(at);
  }
  const long long begin = clock64();
#pragma unroll 16
  for (int i = 0; i != hops; ++i) {
    at = Read::next(at);
  }
  const long long end = clock64();
  *result = {end - begin, at};
}

/// A chain through the block's shared memory, with a step of 137 words.
__global__ void chase_shared(unsigned words, chase_result* result) {
  extern __shared__ link staged[];
  unsigned* const places = reinterpret_cast<unsigned*>(staged);
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(places));
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
    places[i] = base + (i + 137) % words * 4;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned at = base;
    const long long begin = clock64();
#pragma unroll 16
    for (int i = 0; i != hops; ++i) {
      at = in_shared::next(at);
    }
    const long long end = clock64();
    *result = {end - begin, at};
  }
}

/// A chain through the shared memory of the cluster's other block. The chain holds generic addresses, which such loads require.
__global__ void chase_distributed(unsigned words, chase_result* result) {
  extern __shared__ link staged[];
  const link of_second = reinterpret_cast<link>(__cluster_map_shared_rank(staged, 1));
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
    staged[i] = of_second + (i + 137) % words * sizeof(link);
  }
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    link at = of_second;
    const long long begin = clock64();
#pragma unroll 16
    for (int i = 0; i != hops; ++i) {
      at = by_generic_load::next(at);
    }
    const long long end = clock64();
    *result = {end - begin, at};
  }
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
}

/// The cost of a warp's shared-memory access in which the lanes use `ways` different words in each bank.
template <int AtOnce>
__global__ void conflict(unsigned ways, chase_result* result) {
  __shared__ unsigned places[32 * 32];
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(places));
  for (unsigned i = threadIdx.x; i < 32 * 32; i += blockDim.x) {
    places[i] = base + i * 4;
  }
  __syncthreads();
  unsigned at[AtOnce];
#pragma unroll
  for (unsigned& each : at) {
    each = base + threadIdx.x * ways * 4;
  }
  const long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i != hops; i += 16) {
#pragma unroll
    for (int j = 0; j != 16; ++j) {
      at[j % AtOnce] = in_shared::next(at[j % AtOnce]);
    }
  }
  unsigned sum = 0;
  for (const unsigned each : at) {
    sum += each;
  }
  // The kernel waits for the sum before it reads the clock.
  asm volatile("" : "+r"(sum)::"memory");
  const long long end = clock64();
  if (threadIdx.x == 0) {
    *result = {end - begin, sum};
  }
}

/// 64 KiB of constant memory in which word i holds the offset of the next word.
__constant__ unsigned constant_chain[16384];

/// With a uniform index, the compiler uses a different load, whose destination is a register that the warp shares.
template <bool Uniform>
__global__ void chase_constant(unsigned from, int warm, chase_result* result) {
  const auto next = [](unsigned at) {
    return *reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(constant_chain) + at);
  };
  unsigned at = Uniform ? from : from + threadIdx.x;
#pragma unroll 1
  for (int i = 0; i != warm; ++i) {
    at = next(at);
  }
  const long long begin = clock64();
#pragma unroll 16
  for (int i = 0; i != hops; ++i) {
    at = next(at);
  }
  asm volatile("" : "+r"(at)::"memory");
  const long long end = clock64();
  *result = {end - begin, at};
}

__global__ void chase_texture(cudaTextureObject_t texture, unsigned from, int warm, chase_result* result) {
  unsigned at = from;
#pragma unroll 1
  for (int i = 0; i != warm; ++i) {
    at = tex1Dfetch<unsigned>(texture, static_cast<int>(at));
  }
  const long long begin = clock64();
#pragma unroll 16
  for (int i = 0; i != hops; ++i) {
    at = tex1Dfetch<unsigned>(texture, static_cast<int>(at));
  }
  asm volatile("" : "+r"(at)::"memory");
  const long long end = clock64();
  *result = {end - begin, at};
}

/// A chain through a thread's local array, whose indices the compiler cannot predict. Each word of a thread is in a separate
/// line, together with the same word of neighbouring threads.
template <int Words>
__global__ void chase_local(unsigned step, chase_result* result) {
  unsigned places[Words];
#pragma unroll 1
  for (unsigned i = 0; i != Words; ++i) {
    unsigned address;
    asm volatile("{ .reg .u64 a; cvta.to.local.u64 a, %1; cvt.u32.u64 %0, a; }"
                 : "=r"(address)
                 : "l"(places + (i + step) % Words)
                 : "memory");
    places[i] = address;
  }
  unsigned at = places[0];
  const auto next = [](unsigned from) {
    unsigned value;
    asm volatile("{ .reg .u64 a; cvt.u64.u32 a, %1; ld.local.u32 %0, [a]; }" : "=r"(value) : "r"(from) : "memory");
    return value;
  };
#pragma unroll 1
  for (int i = 0; i != Words; ++i) {
    at = next(at);
  }
  const long long begin = clock64();
#pragma unroll 16
  for (int i = 0; i != hops; ++i) {
    at = next(at);
  }
  const long long end = clock64();
  *result = {end - begin, at + (places[step] & 1)};
}

/// Chains without memory accesses: instructions that each wait for the previous instruction's register, and shuffles from a
/// given lane.
template <bool Shuffle>
__global__ void chase_register(float factor, chase_result* result) {
  int at = static_cast<int>(threadIdx.x);
  float value = factor;
  const long long begin = clock64();
#pragma unroll 16
  for (int i = 0; i != hops; ++i) {
    if constexpr (Shuffle) {
      at = __shfl_sync(0xffff'ffff, at, at);
    } else {
      asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(value) : "f"(factor));
    }
  }
  asm volatile("" : "+r"(at), "+f"(value)::"memory");
  const long long end = clock64();
  if (threadIdx.x == 0) {
    *result = {end - begin, static_cast<link>(at) + static_cast<link>(value)};
  }
}

__global__ void touch(const uint4* memory, std::size_t count, unsigned* out) {
  unsigned sum = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    sum += membar::load_weak(memory + i, membar::cache_op::cg).x;
  }
  if (sum == 1) {
    *out = sum;
  }
}

/// All threads read: each block reads the whole footprint (`Each`), or the footprint is divided among the blocks.
template <bool Each>
__global__ void read_all(const uint4* memory, std::size_t mask, int turns, unsigned* out) {
  std::size_t at = Each ? threadIdx.x : blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  const std::size_t step = Each ? blockDim.x : std::size_t{gridDim.x} * blockDim.x;
  uint4 sum{};
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
#pragma unroll
    for (int i = 0; i != 8; ++i) {
      // Each block's own copy is in L1; loads from memory that all blocks share bypass L1.
      const uint4 value =
          Each ? membar::load_weak(memory + (at & mask)) : membar::load_weak(memory + (at & mask), membar::cache_op::cg);
      sum.x ^= value.x;
      sum.y ^= value.y;
      sum.z ^= value.z;
      sum.w ^= value.w;
      at += step;
    }
  }
  if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 1) {
    *out = 1;
  }
}

/// All threads read the shared memory of their own block or of the cluster's other block.
template <bool Distributed>
__global__ void read_shared(int turns, unsigned* out) {
  __shared__ uint4 places[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) {
    places[i] = {i, i, i, i};
  }
  unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(places));
  if constexpr (Distributed) {
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(base) : "r"(base), "r"(1 - blockIdx.x % 2));
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  }
  __syncthreads();
  unsigned sum = 0;
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
#pragma unroll
    for (unsigned i = 0; i != 8; ++i) {
      uint4 value;
      const unsigned at = base + ((threadIdx.x + i * 128 + static_cast<unsigned>(turn) * 8) & 1023U) * 16;
      if constexpr (Distributed) {
        asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                     : "r"(at)
                     : "memory");
      } else {
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                     : "r"(at)
                     : "memory");
      }
      sum ^= value.x ^ value.y ^ value.z ^ value.w;
    }
  }
  if constexpr (Distributed) {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  }
  if (sum == 1) {
    *out = 1;
  }
}

/// Each lane reads one word; neighbouring lanes are `stride` words apart.
__global__ void read_strided(const unsigned* memory, std::size_t mask, unsigned stride, int turns, unsigned* out) {
  std::size_t at = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) * stride;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x * stride;
  unsigned sum = 0;
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
#pragma unroll
    for (int i = 0; i != 8; ++i) {
      sum += membar::load_weak(memory + (at & mask), membar::cache_op::cg);
      at += step;
    }
  }
  if (sum == 1) {
    *out = 1;
  }
}

constexpr std::size_t kib = 1024;

struct fixture {
  explicit fixture(int index) : device(index), sms(support::attribute(cudaDevAttrMultiProcessorCount, index)) {}

  int device;
  int sms;
  support::stream stream;
  support::pinned_memory<chase_result> result{1};
  support::device_memory<unsigned> out{1};
  bench::chained_memory memory{};  // The memory for the most recent kind and footprint.

  void wait() const { stream.synchronize(); }

  [[nodiscard]] bench::figures chased(double ns) const {
    const double cycles = static_cast<double>(result[0].cycles) / hops;
    return {ns, {{"cycles", cycles}, {"ns", cycles * 1e6 / support::attribute(cudaDevAttrClockRate, device)}}};
  }

  template <class Launch>
  [[nodiscard]] bench::figures chased_by(Launch launch) const {
    launch();
    wait();
    const double ns = support::nanoseconds_of(stream.get(), launch);
    return chased(ns);
  }

  /// All threads load the lines of a chain into a nearby cache; then one thread fills its L1 with as many lines as fit.
  [[nodiscard]] bench::figures follow(bench::place where, std::size_t bytes, void (*kernel)(link, int, chase_result*)) {
    memory.become(where, bytes, device, bench::content::chain, line);
    touch<<<static_cast<unsigned>(sms * 8), 256, 0, stream.get()>>>(memory.as<uint4>(), bytes / sizeof(uint4), out.get());
    const int warm = static_cast<int>(std::min<std::size_t>(bytes / line, 8192));
    const auto from = reinterpret_cast<link>(memory.as<char>() + memory.next_begin());
    const double ns =
        support::nanoseconds_of(stream.get(), [&] { kernel<<<1, 1, 0, stream.get()>>>(from, warm, result.get()); });
    wait();
    memory.keep(result[0].at - reinterpret_cast<link>(memory.as<char>()));
    return chased(ns);
  }

  [[nodiscard]] bench::figures texture(std::size_t bytes) {
    memory.become(bench::place::device, bytes, device, bench::content::indices, line);
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory.as<unsigned>();
    resource.res.linear.desc = cudaCreateChannelDesc<unsigned>();
    resource.res.linear.sizeInBytes = bytes;
    cudaTextureDesc how{};
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t object = 0;
    membar::check(cudaCreateTextureObject(&object, &resource, &how, nullptr));
    touch<<<static_cast<unsigned>(sms * 8), 256, 0, stream.get()>>>(memory.as<uint4>(), bytes / sizeof(uint4), out.get());
    const int warm = static_cast<int>(std::min<std::size_t>(bytes / line, 8192));
    const double ns = support::nanoseconds_of(stream.get(), [&] {
      chase_texture<<<1, 1, 0, stream.get()>>>(object, static_cast<unsigned>(memory.next_begin()), warm, result.get());
    });
    wait();
    membar::check(cudaDestroyTextureObject(object));
    memory.keep(result[0].at);
    return chased(ns);
  }

  [[nodiscard]] bench::figures constant(std::size_t bytes, bool uniform) const {
    // If the number of lines is a power of two, a stride of 17 lines of 64 bytes visits each line once.
    std::vector<unsigned> next(16384);
    for (std::size_t i = 0; i != next.size(); ++i) {
      next[i] = static_cast<unsigned>((i * 4 + std::size_t{17} * 64) % bytes);
    }
    membar::check(cudaMemcpyToSymbol(constant_chain, next.data(), sizeof constant_chain));
    return chased_by([&] {
      (uniform ? chase_constant<true> : chase_constant<false>)<<<1, 1, 0, stream.get()>>>(0U, static_cast<int>(bytes / 64),
                                                                                          result.get());
    });
  }

  template <bool Distributed>
  [[nodiscard]] bench::figures shared(std::size_t bytes) const {
    const auto kernel = Distributed ? chase_distributed : chase_shared;
    membar::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    return chased_by([&] {
      const membar::launch_config config(Distributed ? 2U : 1U, 128, stream.get(), bytes);
      if constexpr (Distributed) {
        membar::launch(config.with(membar::cluster_dimensions{2, 1, 1}), kernel, static_cast<unsigned>(bytes / sizeof(link)),
                       result.get());
      } else {
        membar::launch(config, kernel, static_cast<unsigned>(bytes / sizeof(unsigned)), result.get());
      }
    });
  }

  [[nodiscard]] bench::figures bandwidth(bench::place where, std::size_t bytes, bool each) {
    memory.become(where, bytes, device, bench::content::words, line);
    const int blocks = sms * 8;
    // The number of bytes that a launch reads. It is larger for faster memory, so that no launch is too short to time.
    const double moved = where == bench::place::device ? (each ? 8e9 : 2e9) : 2e8;
    const int turns = std::max(1, static_cast<int>(moved / (blocks * 256.0 * 8 * sizeof(uint4))));
    const auto launch = [&] {
      if (each) {
        read_all<true><<<blocks, 256, 0, stream.get()>>>(memory.as<uint4>(), bytes / sizeof(uint4) - 1, turns, out.get());
      } else {
        read_all<false><<<blocks, 256, 0, stream.get()>>>(memory.as<uint4>(), bytes / sizeof(uint4) - 1, turns, out.get());
      }
    };
    launch();
    const double ns = support::nanoseconds_of(stream.get(), launch);
    return {ns, {{"GB_per_s", static_cast<double>(turns) * blocks * 256 * 8 * sizeof(uint4) / ns}}};
  }

  template <bool Distributed>
  [[nodiscard]] bench::figures shared_bandwidth() const {
    const int blocks = sms / 2 * 16;
    constexpr int turns = 4096;
    const auto launch = [&] {
      const membar::launch_config config(static_cast<unsigned>(blocks), 256, stream.get());
      if constexpr (Distributed) {
        membar::launch(config.with(membar::cluster_dimensions{2, 1, 1}), read_shared<true>, turns, out.get());
      } else {
        membar::launch(config, read_shared<false>, turns, out.get());
      }
    };
    launch();
    const double ns = support::nanoseconds_of(stream.get(), launch);
    return {ns, {{"GB_per_s", static_cast<double>(turns) * blocks * 256 * 8 * sizeof(uint4) / ns}}};
  }

  [[nodiscard]] bench::figures strided(unsigned stride_bytes, std::size_t bytes) {
    memory.become(bench::place::device, bytes, device, bench::content::words, line);
    const int blocks = sms * 8;
    constexpr int turns = 32;
    const auto launch = [&] {
      read_strided<<<blocks, 256, 0, stream.get()>>>(memory.as<unsigned>(), bytes / 4 - 1, stride_bytes / 4, turns, out.get());
    };
    launch();
    const double ns = support::nanoseconds_of(stream.get(), launch);
    return {ns, {{"useful_GB_per_s", static_cast<double>(turns) * blocks * 256 * 8 * 4 / ns}}};
  }
};

void add_cases(bench::suite& cases) {
  const bench::made_once<fixture> shared(cases.device());
  if (!cases.waived()) {
    cases.context("host_link", bench::host_link(cases.device()));
    cases.context("peer_link", bench::peer_of(cases.device()) < 0
                                   ? "no peer"
                                   : support::link_between(cases.device(), bench::peer_of(cases.device())));
    cases.context("clock_MHz", std::to_string(support::attribute(cudaDevAttrClockRate, cases.device()) / 1000));
  }
  const std::string no_peer =
      cases.waived() || bench::peer_of(cases.device()) >= 0 ? "" : "no second GPU that this one can access";
  using sizes = bench::axis<std::size_t>;
  const sizes all{4,        16,       64,       128,      192,      256,      512,       1 * kib,   4 * kib,   8 * kib,
                  16 * kib, 24 * kib, 32 * kib, 40 * kib, 48 * kib, 64 * kib, 128 * kib, 512 * kib, 2048 * kib};
  const sizes far{4, 256, 4 * kib, 64 * kib, 256 * kib};

  // Chains through a register, and chains through a value from another lane.
  for (const bool shuffle : {false, true}) {
    cases.add(std::string("memory_ladder/latency/") + (shuffle ? "shuffle" : "register") + "/0", [shared, shuffle] {
      return shared->chased_by([&] {
        if (shuffle) {
          chase_register<true><<<1, 32, 0, shared->stream.get()>>>(0.5F, shared->result.get());
        } else {
          chase_register<false><<<1, 32, 0, shared->stream.get()>>>(0.5F, shared->result.get());
        }
      });
    });
  }
  const auto local = [&]<int Words>() {
    cases.add(bench::case_name("memory_ladder/latency/local/{.3}").at(Words * 4 / 1024.0), [shared] {
      return shared->chased_by([&] { chase_local<Words><<<1, 32, 0, shared->stream.get()>>>(17U, shared->result.get()); });
    });
  };
  local.template operator()<64>();
  local.template operator()<512>();
  local.template operator()<1024>();
  local.template operator()<4096>();
  cases.add(
      "memory_ladder/latency/shared/{}", [shared](std::size_t size) { return shared->shared<false>(size * kib); },
      sizes{1, 4, 16, 64, 128, 224});
  cases.add(
      "memory_ladder/latency/distributed_shared/{}", [shared](std::size_t size) { return shared->shared<true>(size * kib); },
      sizes{1, 4, 16, 64, 128, 224});
  for (const bool uniform : {false, true}) {
    cases.add(
        std::string("memory_ladder/latency/constant") + (uniform ? "_uniform/{}" : "/{}"),
        [shared, uniform](std::size_t size) { return shared->constant(size * kib, uniform); }, sizes{1, 2, 4, 8, 16, 32, 64});
  }
  cases.add(
      "memory_ladder/latency/texture/{}", [shared](std::size_t size) { return shared->texture(size * kib); },
      sizes{4, 16, 64, 128, 256, 1 * kib, 16 * kib, 32 * kib, 64 * kib, 256 * kib});
  const auto follow = [&](const char* name, bench::place where, void (*kernel)(link, int, chase_result*), const sizes& of,
                          const std::string& waived = "") {
    cases.add(
        bench::case_name(std::string("memory_ladder/latency/") + name + "/{}", waived),
        [shared, where, kernel](std::size_t size) { return shared->follow(where, size * kib, kernel); }, of);
  };
  follow("global", bench::place::device, chase<by_plain_load>, all);
  follow("global_past_l1", bench::place::device, chase<past_l1>,
         {4, 64, 256, 1 * kib, 4 * kib, 16 * kib, 32 * kib, 64 * kib, 512 * kib});
  follow("read_only", bench::place::device, chase<by_read_only_load>, {4, 64, 256, 16 * kib, 64 * kib, 512 * kib});
  follow("managed_on_device", bench::place::managed, chase<by_plain_load>,
         {4, 64, 256, 4 * kib, 16 * kib, 64 * kib, 256 * kib});
  follow("mapped", bench::place::mapped, chase<by_plain_load>, far);
  follow("mapped_past_l1", bench::place::mapped, chase<past_l1>, far);
  follow("peer", bench::place::peer, chase<by_plain_load>, far, no_peer);
  follow("peer_past_l1", bench::place::peer, chase<past_l1>, far, no_peer);

  const auto bandwidth = [&](const char* name, bench::place where, bool each, const sizes& of, const std::string& waived = "") {
    cases.add(
        bench::case_name(std::string("memory_ladder/bandwidth/") + name + "/{}", waived),
        [shared, where, each](std::size_t size) { return shared->bandwidth(where, size * kib, each); }, of);
  };
  cases.add("memory_ladder/bandwidth/shared/16", [shared] { return shared->shared_bandwidth<false>(); });
  cases.add("memory_ladder/bandwidth/distributed_shared/16", [shared] { return shared->shared_bandwidth<true>(); });
  bandwidth("each_block_all", bench::place::device, true, {16, 64, 128, 256, 512});
  bandwidth("global", bench::place::device, false,
            {1 * kib, 4 * kib, 8 * kib, 16 * kib, 32 * kib, 64 * kib, 128 * kib, 512 * kib, 2048 * kib});
  bandwidth("managed_on_device", bench::place::managed, false, {4 * kib, 16 * kib, 64 * kib, 256 * kib});
  bandwidth("mapped", bench::place::mapped, false, {64 * kib, 256 * kib});
  bandwidth("peer", bench::place::peer, false, {4 * kib, 64 * kib, 256 * kib}, no_peer);

  const bench::axis<unsigned> strides{4, 8, 16, 32, 64, 128, 256};
  cases.add(
      "memory_ladder/stride/l2/{}", [shared](unsigned stride) { return shared->strided(stride, 16 * kib * kib); }, strides);
  cases.add(
      "memory_ladder/stride/global/{}", [shared](unsigned stride) { return shared->strided(stride, 2048 * kib * kib); },
      strides);

  const bench::axis<unsigned> ways{1, 2, 4, 8, 16, 32};
  const auto conflicts = [&](const char* name, auto kernel) {
    cases.add(
        std::string("memory_ladder/bank_conflict/") + name + "/{}",
        [shared, kernel](unsigned number) {
          return shared->chased_by([&] { kernel<<<1, 32, 0, shared->stream.get()>>>(number, shared->result.get()); });
        },
        ways);
  };
  conflicts("in_turn", conflict<1>);
  conflicts("16_at_once", conflict<16>);
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What are the latency and the bandwidth of each kind of memory, by footprint?",
          .add_cases = add_cases,
          .unit = benchmark::kMicrosecond,
          .repetitions = 5};
}

}  // namespace bench
