// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does a warp pay in constant memory for k different addresses, beside the read-only path, shared and
/// global memory? One warp, a table that every cache holds, cycles per access of the warp.
#include "cache_bench.hpp"

#include <membar/constant.cuh>
#include <membar/launch.hpp>
#include <membar/load_store.cuh>
#include <membar/read_only.cuh>

#include <memory>

namespace {

constexpr std::size_t table_size = 512;
constexpr int accesses = 4096;

__constant__ membar::constant_table<int, table_size> table;
__constant__ int raw_table[table_size];

enum class source { constant, raw_constant, read_only, shared, global };

template <source Source, unsigned AtOnce>
__global__ void read_table(membar::read_only_span<int> in, unsigned different, long long* cycles, int* out) {
  __shared__ int staged[table_size];
  for (std::size_t i = threadIdx.x; i < table_size; i += blockDim.x) {
    staged[i] = in[i];
  }
  __syncthreads();
  const unsigned first = threadIdx.x % different * 16;
  int sums[AtOnce] = {};
  long long begin = 0;
  for (int pass = 0; pass != 2; ++pass) {  // the first one brings the table in
    begin = clock64();
#pragma unroll(16 / AtOnce)
    for (unsigned i = 0; i != accesses; i += AtOnce) {
#pragma unroll
      for (unsigned j = 0; j != AtOnce; ++j) {
        // The table holds zeros: each access waits for the one that was AtOnce before.
        const unsigned index = first + ((i + j + static_cast<unsigned>(sums[j])) & 15U);
        if constexpr (Source == source::constant) {
          sums[j] += table[index];
        } else if constexpr (Source == source::raw_constant) {
          sums[j] += raw_table[index];
        } else if constexpr (Source == source::read_only) {
          sums[j] += in[index];
        } else if constexpr (Source == source::shared) {
          sums[j] += staged[index];
        } else {
          sums[j] += membar::load_weak(in.data() + index);
        }
      }
    }
  }
  int sum = 0;
  for (const int each : sums) {
    sum += each;
  }
  const long long end = clock64();
  if (threadIdx.x == 0) {
    *cycles = end - begin;
  }
  out[threadIdx.x] = sum;
}

struct workshop {
  support::device_memory<int> in{table_size};
  support::device_memory<int> out{32};
  support::device_memory<long long> cycles{1};
  support::stream stream;

  workshop() {
    const int zeros[table_size] = {};
    membar::upload(table, zeros, stream.get());
    membar::check(cudaMemcpyToSymbolAsync(raw_table, zeros, sizeof zeros, 0, cudaMemcpyHostToDevice, stream.get()));
    stream.synchronize();
  }
};

template <source Source, unsigned AtOnce = 1>
void add_source(const cache_bench::suite& cases, const std::shared_ptr<std::unique_ptr<workshop>>& bench, const char* arm) {
  for (unsigned different = 1; different <= 32; ++different) {
    char name[64];
    std::snprintf(name, sizeof name, "constant_broadcast/%02u_addresses/%s", different, arm);
    cases.add(name, [bench, different] {
      if (*bench == nullptr) {
        *bench = std::make_unique<workshop>();
      }
      workshop& here = **bench;
      const double seconds = cache_bench::seconds_of(here.stream, [&] {
        membar::launch(membar::launch_config{1, 32, here.stream.get()}, read_table<Source, AtOnce>,
                       membar::read_only_span<int>(here.in.get(), table_size), different, here.cycles.get(), here.out.get());
      });
      long long cycles = 0;
      membar::check(cudaMemcpy(&cycles, here.cycles.get(), sizeof cycles, cudaMemcpyDefault));
      return cache_bench::figure{seconds, {{"cycles_per_access", static_cast<double>(cycles) / accesses}}};
    });
  }
}

void add_cases(cache_bench::suite& cases) {
  const auto bench = std::make_shared<std::unique_ptr<workshop>>();
  add_source<source::constant>(cases, bench, "constant");
  add_source<source::raw_constant>(cases, bench, "raw_constant");
  add_source<source::read_only>(cases, bench, "read_only");
  add_source<source::shared>(cases, bench, "shared");
  add_source<source::global>(cases, bench, "global");
  add_source<source::constant, 16>(cases, bench, "constant_16_at_once");
  add_source<source::raw_constant, 16>(cases, bench, "raw_constant_16_at_once");
  add_source<source::read_only, 16>(cases, bench, "read_only_16_at_once");
  add_source<source::shared, 16>(cases, bench, "shared_16_at_once");
  add_source<source::global, 16>(cases, bench, "global_16_at_once");
}

}  // namespace

int main(int argc, char** argv) {
  return cache_bench::run(argc, argv, "What do k different addresses in a warp cost in constant memory?", add_cases);
}
