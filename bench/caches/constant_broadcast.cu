// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does a warp's access to k different constant-memory addresses cost, compared with the read-only path,
/// shared memory and global memory? One warp walks through a table; the result is in cycles per warp access. Each word of the
/// table holds the position of the next access, so that only the access is measured. `indexed` accesses constant memory by
/// index, and includes the index arithmetic.
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>

#include <membar/constant.cuh>
#include <membar/launch.hpp>

#include <vector>

namespace {

constexpr std::size_t most_words = 16384;  // 64 KiB, the limit for a program
constexpr int accesses = 32768;            // With 16 concurrent accesses, each chain walks through the largest table twice.
constexpr unsigned step = 16;              // The number of words from one access to the next: 64 bytes.

__constant__ membar::constant_table<unsigned, most_words> table;

enum class source { constant, indexed, read_only, shared, global };

/// Reads the word at `at`, which is a byte offset in constant memory (for `indexed`, a word offset) or an address in other
/// memory. For global memory, `at` is the lower half of an address whose upper half is `high`.
template <source Source>
__device__ unsigned next(unsigned at, unsigned high) {
  unsigned value = 0;
  if constexpr (Source == source::constant) {
    return *reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(&table) + at);
  } else if constexpr (Source == source::indexed) {
    return table[at];
  } else if constexpr (Source == source::shared) {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(at) : "memory");
  } else if constexpr (Source == source::read_only) {
    asm volatile("{ .reg .u64 a; mov.b64 a, {%1, %2}; ld.global.nc.u32 %0, [a]; }"
                 : "=r"(value)
                 : "r"(at), "r"(high)
                 : "memory");
  } else {
    asm volatile("{ .reg .u64 a; mov.b64 a, {%1, %2}; ld.global.u32 %0, [a]; }" : "=r"(value) : "r"(at), "r"(high) : "memory");
  }
  return value;
}

template <source Source, unsigned AtOnce>
__global__ void read_table(const unsigned* memory, unsigned words, unsigned different, unsigned stride, long long* cycles,
                           unsigned* out) {
  extern __shared__ unsigned staged[];
  unsigned base = 0;
  const auto address = reinterpret_cast<unsigned long long>(memory);
  const auto high = static_cast<unsigned>(address >> 32);
  if constexpr (Source == source::read_only || Source == source::global) {
    base = static_cast<unsigned>(address);
  }
  if constexpr (Source == source::shared) {
    base = static_cast<unsigned>(__cvta_generic_to_shared(staged));
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
      staged[i] = memory[i] + base;
    }
    __syncthreads();
  }
  constexpr unsigned unit = Source == source::indexed ? 1 : 4;
  // Concurrent accesses start in different parts of the table.
  unsigned at[AtOnce];
#pragma unroll
  for (unsigned j = 0; j != AtOnce; ++j) {
    at[j] = (threadIdx.x % different * stride + j * (words / AtOnce)) % words * unit + base;
  }
  long long begin = 0;
#pragma unroll 1
  for (int pass = 0; pass != 2; ++pass) {  // The first pass loads the table into the cache.
    begin = clock64();
#pragma unroll 1
    for (unsigned i = 0; i != accesses; i += 16) {
#pragma unroll
      for (unsigned j = 0; j != 16; ++j) {
        at[j % AtOnce] = next<Source>(at[j % AtOnce], high);
      }
    }
#pragma unroll
    for (unsigned& each : at) {
      asm volatile("" : "+r"(each)::"memory");
    }
  }
  unsigned sum = 0;
  for (const unsigned each : at) {
    sum += each;
  }
  asm volatile("" : "+r"(sum)::"memory");
  const long long end = clock64();
  if (threadIdx.x == 0) {
    *cycles = end - begin;
  }
  out[threadIdx.x] = sum;
}

struct fixture {
  support::device_memory<unsigned> memory{most_words};
  support::device_memory<unsigned> out{32};
  support::device_memory<long long> cycles{1};
  support::stream stream;

  /// A table of `words` words. Each word holds the offset of the word that is `step` words further on or, in global memory,
  /// that word's address.
  void walk(unsigned words, unsigned unit, bool addresses) {
    std::vector<unsigned> next(most_words);
    for (unsigned i = 0; i != most_words; ++i) {
      next[i] = (i + step) % words * unit;
    }
    membar::upload(table, next, stream.get());
    for (unsigned& each : next) {
      each += addresses ? static_cast<unsigned>(reinterpret_cast<unsigned long long>(memory.get())) : 0;
    }
    membar::check(cudaMemcpyAsync(memory.get(), next.data(), most_words * 4, cudaMemcpyHostToDevice, stream.get()));
    stream.synchronize();
  }
};

template <source Source, unsigned AtOnce>
bench::figures measure(fixture& here, unsigned kib, unsigned stride, unsigned different) {
  const unsigned words = kib * 256;
  const unsigned staged = Source == source::shared ? kib * 1024 : 0;
  here.walk(words, Source == source::indexed ? 1 : 4, Source == source::read_only || Source == source::global);
  membar::check(cudaFuncSetAttribute(read_table<Source, AtOnce>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  const double ns = support::nanoseconds_of(here.stream.get(), [&] {
    membar::launch(membar::launch_config(1, 32, here.stream.get(), staged), read_table<Source, AtOnce>,
                   static_cast<const unsigned*>(here.memory.get()), words, different, stride, here.cycles.get(),
                   here.out.get());
  });
  long long cycles = 0;
  membar::check(cudaMemcpy(&cycles, here.cycles.get(), sizeof cycles, cudaMemcpyDefault));
  return {ns, {{"cycles_per_access", static_cast<double>(cycles) / accesses}}};
}

template <source Source, unsigned AtOnce = 1>
void add_source(bench::suite& cases, const bench::made_once<fixture>& shared, const std::string& arm) {
  using numbers = bench::axis<unsigned>;
  const numbers every{1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32};
  const numbers ends{1, 2, 32};
  const auto at = [&](unsigned kib, unsigned stride, const numbers& addresses) {
    cases.add(
        bench::case_name("constant_broadcast/{02}_addresses/stride_" + std::to_string(stride) + "/" + std::to_string(kib) +
                         "_KiB/" + arm),
        [shared, kib, stride](unsigned different) { return measure<Source, AtOnce>(*shared, kib, stride, different); },
        addresses);
  };
  for (const unsigned stride : {1U, 16U}) {
    at(2, stride, every);  // The table fits into the innermost cache.
  }
  for (const unsigned stride : {2U, 4U, 8U}) {
    at(2, stride, {32});
  }
  for (const unsigned kib : {1U, 4U, 8U, 16U, 32U, 64U}) {
    at(kib, 1, ends);
  }
}

void add_cases(bench::suite& cases) {
  const bench::made_once<fixture> shared;
  add_source<source::constant>(cases, shared, "constant");
  add_source<source::indexed>(cases, shared, "indexed");
  add_source<source::read_only>(cases, shared, "read_only");
  add_source<source::shared>(cases, shared, "shared");
  add_source<source::global>(cases, shared, "global");
  add_source<source::constant, 16>(cases, shared, "constant_16_at_once");
  add_source<source::read_only, 16>(cases, shared, "read_only_16_at_once");
  add_source<source::shared, 16>(cases, shared, "shared_16_at_once");
  add_source<source::global, 16>(cases, shared, "global_16_at_once");
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What do k different addresses in a warp cost in constant memory, by stride and size of the table?",
          .add_cases = add_cases,
          .unit = benchmark::kMicrosecond,
          .repetitions = 5};
}

}  // namespace bench
