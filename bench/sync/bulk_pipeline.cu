// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what bandwidth does a copy through the bulk-copy pipeline reach, depending on the size and number of its
/// stages, compared with 16-byte loads and stores and with the driver's copy?
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>

#include <membar/launch.hpp>
#include <membar/sync/bulk_pipeline.cuh>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace {

constexpr membar::wait_budget generous = membar::wait_budget::milliseconds(5'000);

/// One thread fills the stages; another copies each stage out and returns the previous one.
template <int Stages, unsigned StageBytes>
__global__ void copy_by_pipeline(const unsigned char* from, unsigned char* to, std::size_t tiles, unsigned* late) {
  using pipeline = membar::bulk_pipeline<Stages, StageBytes>;
  __shared__ pipeline ring;
  if (threadIdx.x == 0) {
    ring.init(1);
  }
  __syncthreads();
  if (threadIdx.x == 32) {
    typename pipeline::producer fills(ring);
    for (std::size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      if (fills.fill(from + tile * StageBytes, StageBytes, generous) != membar::wait_result::done) {
        *late = 1;
        return;
      }
    }
  } else if (threadIdx.x == 0) {
    typename pipeline::consumer takes(ring);
    for (std::size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const typename pipeline::tile here = takes.take(generous);
      if (here.result != membar::wait_result::done) {
        *late = 1;
        return;
      }
      membar::bulk_commit(membar::bulk_store(to + tile * StageBytes, here.memory, StageBytes));
      if (tile != blockIdx.x) {
        membar::bulk_wait_read<1>();
        takes.give_back();
      }
    }
    membar::bulk_wait();
  }
}

__global__ void copy_by_words(const uint4* from, uint4* to, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    to[i] = from[i];
  }
}

constexpr std::size_t bytes = std::size_t{1} << 30;

struct fixture {
  int multiprocessors;
  support::device_memory<uint4> from{bytes / sizeof(uint4)};
  support::device_memory<uint4> to{bytes / sizeof(uint4)};
  support::device_memory<unsigned> late{1};
  support::stream stream;

  explicit fixture(int device) : multiprocessors(support::attribute(cudaDevAttrMultiProcessorCount, device)) {}
};

template <class Copy>
void add_arm(bench::suite& cases, const bench::made_once<fixture>& shared, const std::string& arm, Copy copy) {
  cases.add("bulk_pipeline/copy/" + arm, [shared, copy] {
    fixture& here = *shared;
    const double ns = support::nanoseconds_of(here.stream.get(), [&] { copy(here); });
    unsigned late = 0;
    membar::check(cudaMemcpy(&late, here.late.get(), sizeof(late), cudaMemcpyDefault));
    if (late != 0) {
      throw std::runtime_error("a wait of the pipeline took more than 5 s");
    }
    return bench::figures(ns, {{"GB_per_s", 2.0 * static_cast<double>(bytes) / ns}});
  });
}

/// Runs `Blocks` blocks on each multiprocessor.
template <int Stages, unsigned StageBytes, int Blocks = 4>
void add_pipeline(bench::suite& cases, const bench::made_once<fixture>& shared) {
  const std::string shape = std::to_string(Stages) + "x" + std::to_string(StageBytes / 1024) + "_KiB";
  add_arm(cases, shared, "pipeline_" + shape + (Blocks == 4 ? "" : "_of_" + std::to_string(Blocks) + "_blocks"),
          [](fixture& here) {
            const auto blocks = static_cast<unsigned>(Blocks * here.multiprocessors);
            membar::launch(membar::launch_config{blocks, 64, here.stream.get()}, copy_by_pipeline<Stages, StageBytes>,
                           reinterpret_cast<const unsigned char*>(here.from.get()),
                           reinterpret_cast<unsigned char*>(here.to.get()), bytes / StageBytes, here.late.get());
          });
}

void add_cases(bench::suite& cases) {
  cases.need_compute_capability(9, "bulk copies");
  const bench::made_once<fixture> shared(cases.device());
  add_pipeline<4, 2048>(cases, shared);
  add_pipeline<4, 4096>(cases, shared);
  add_pipeline<4, 8192>(cases, shared);
  add_pipeline<2, 16384>(cases, shared);
  add_pipeline<8, 4096>(cases, shared);
  add_pipeline<4, 4096, 3>(cases, shared);
  add_pipeline<11, 4096, 1>(cases, shared);
  add_arm(cases, shared, "words_of_16_bytes", [](fixture& here) {
    membar::launch(membar::launch_config{static_cast<unsigned>(8 * here.multiprocessors), 256, here.stream.get()},
                   copy_by_words, static_cast<const uint4*>(here.from.get()), here.to.get(), here.from.size());
  });
  add_arm(cases, shared, "cudaMemcpyAsync", [](fixture& here) {
    membar::check(cudaMemcpyAsync(here.to.get(), here.from.get(), bytes, cudaMemcpyDeviceToDevice, here.stream.get()));
  });
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What bandwidth does a copy through the pipeline of bulk copies reach?",
          .add_cases = add_cases,
          .unit = benchmark::kMicrosecond,
          .interleaved = true};
}

}  // namespace bench
