// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: when does limiting the registers per thread pay off? The bench runs one kernel, which keeps 96 values per
/// thread, under limits of 32 to 255 registers. With fewer registers, more threads run at once, but more values are spilled to
/// local memory.
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>

#include <membar/kernel_resources.hpp>

namespace {

constexpr int values = 96;
constexpr int threads = 256;

/// Each thread keeps `values` sums. In every turn, it adds a value to each: a computed value or, with `Loads`, a loaded one.
template <int BlocksPerSm, bool Loads>
__global__ void __launch_bounds__(threads, BlocksPerSm) keep_sums(const float* in, std::size_t mask, int turns, float* out) {
  float sums[values];
#pragma unroll
  for (int i = 0; i != values; ++i) {
    sums[i] = static_cast<float>(threadIdx.x + i);
  }
  std::size_t at = (blockIdx.x * std::size_t{threads} + threadIdx.x) * 33;
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    float value = static_cast<float>(turn);
    if constexpr (Loads) {
      // The position of the next value depends on the current one, so the thread must wait, and only other threads can hide the
      // latency.
      value = in[at & mask];
      at = at * 5 + 1 + static_cast<std::size_t>(value);
      value += in[at & mask];
      at = at * 5 + 1 + static_cast<std::size_t>(value);
    }
#pragma unroll
    for (int i = 0; i != values; ++i) {
      sums[i] = sums[i] * value + sums[(i + 1) % values];
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i != values; ++i) {
    sum += sums[i];
  }
  out[blockIdx.x * threads + threadIdx.x] = sum;
}

struct fixture {
  explicit fixture(int device)
      : blocks(static_cast<unsigned>(support::attribute(cudaDevAttrMultiProcessorCount, device)) * 16),
        out(std::size_t{blocks} * threads) {}

  static constexpr std::size_t words = std::size_t{1} << 26;  // 256 MiB: too large for any cache
  unsigned blocks;
  support::device_memory<float> in{words};
  support::device_memory<float> out;
  support::stream stream;
};

template <int BlocksPerSm, bool Loads>
void add_limit(bench::suite& cases, const bench::made_once<fixture>& shared) {
  cases.add(
      bench::case_name(std::string("register_spill/{}_blocks_per_sm/") + (Loads ? "loads" : "computes")).at(BlocksPerSm),
      [shared] {
        fixture& here = *shared;
        const auto launch = [&] {
          keep_sums<BlocksPerSm, Loads>
              <<<here.blocks, threads, 0, here.stream.get()>>>(here.in.get(), fixture::words - 1, 64, here.out.get());
        };
        launch();
        const double ns = support::nanoseconds_of(here.stream.get(), launch);
        const membar::kernel_resources used = membar::kernel_resources_of(keep_sums<BlocksPerSm, Loads>);
        int resident = 0;
        membar::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, keep_sums<BlocksPerSm, Loads>, threads, 0));
        return bench::figures(ns, {{"registers", used.registers},
                                   {"local_bytes", static_cast<double>(used.local_bytes)},
                                   {"threads_per_sm", resident * threads}});
      });
}

template <bool Loads>
void add_limits(bench::suite& cases, const bench::made_once<fixture>& shared) {
  add_limit<1, Loads>(cases, shared);
  add_limit<2, Loads>(cases, shared);
  add_limit<3, Loads>(cases, shared);
  add_limit<4, Loads>(cases, shared);
  add_limit<5, Loads>(cases, shared);
  add_limit<6, Loads>(cases, shared);
  add_limit<8, Loads>(cases, shared);
}

void add_cases(bench::suite& cases) {
  const bench::made_once<fixture> shared(cases.device());
  add_limits<true>(cases, shared);
  add_limits<false>(cases, shared);
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "When does a register limit pay off?",
          .add_cases = add_cases,
          .unit = benchmark::kMicrosecond,
          .interleaved = true};
}

}  // namespace bench
