// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: does it matter how read-only data is loaded? Plain, through the read-only path, with cache operators and
/// hints; data that fits into L1, into L2, or into neither; gathered at random or streamed.
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>

#include <membar/launch.hpp>
#include <membar/load_store.cuh>
#include <membar/read_only.cuh>

#include <map>

namespace {

struct plain {
  static __device__ float load(const float* p) { return *p; }
};
struct raw_ldg {
  static __device__ float load(const float* p) { return __ldg(p); }
};
struct read_only {
  static __device__ float load(const float* p) { return membar::load_read_only(p); }
};
struct operator_ca {
  static __device__ float load(const float* p) { return membar::load_weak(p, membar::cache_op::ca); }
};
struct operator_cg {
  static __device__ float load(const float* p) { return membar::load_weak(p, membar::cache_op::cg); }
};
struct raw_ldcg {
  static __device__ float load(const float* p) { return __ldcg(p); }
};
struct operator_cs {
  static __device__ float load(const float* p) { return membar::load_weak(p, membar::cache_op::cs); }
};
struct no_allocate {
  static __device__ float load(const float* p) { return membar::load_read_only(p, membar::l1::no_allocate); }
};
struct evict_last {
  static __device__ float load(const float* p) { return membar::load_read_only(p, membar::l1::evict_last); }
};

/// Each thread reads `accesses` words of a power of two: neighbouring ones, or words that a hash picks.
template <class Load, bool Gather>
__global__ void read_words(const float* in, std::size_t mask, int accesses, float* out) {
  const std::size_t thread = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  float sum = 0.0F;
#pragma unroll 8
  for (int i = 0; i < accesses; ++i) {
    std::size_t index = thread + static_cast<std::size_t>(i) * threads;
    if constexpr (Gather) {
      index = index * 0x9E3779B97F4A7C15ULL >> 20;  // Fibonacci hashing
    }
    sum += Load::load(in + (index & mask));
  }
  out[thread] = sum;
}

struct fixture {
  unsigned blocks;
  std::map<std::string, std::size_t> words;  // of each footprint, a power of two
  std::unique_ptr<support::device_memory<float>> in;
  std::unique_ptr<support::device_memory<float>> out;
  support::stream stream;

  explicit fixture(int device) {
    blocks = static_cast<unsigned>(support::attribute(cudaDevAttrMultiProcessorCount, device)) * 8;
    const auto l2 = static_cast<std::size_t>(support::attribute(cudaDevAttrL2CacheSize, device));
    const auto at_most = [](std::size_t bytes) {
      std::size_t power = 1024;
      while (2 * power * sizeof(float) <= bytes) {
        power *= 2;
      }
      return power;
    };
    words = {{"fits_l1", at_most(std::size_t{64} << 10)}, {"fits_l2", at_most(l2 / 2)}, {"fits_neither", at_most(16 * l2)}};
    in = std::make_unique<support::device_memory<float>>(words["fits_neither"]);
    out = std::make_unique<support::device_memory<float>>(std::size_t{blocks} * 256);
  }
};

template <class Load, bool Gather>
void add_case(bench::suite& cases, const bench::made_once<fixture>& shared, const std::string& arm) {
  cases.add(
      std::string("read_only_load/{}/") + (Gather ? "gather/" : "stream/") + arm,
      [shared](const std::string& footprint) {
        fixture& here = *shared;
        constexpr int accesses = 256;
        const auto launch = [&] {
          membar::launch(membar::launch_config{here.blocks, 256, here.stream.get()}, read_words<Load, Gather>, here.in->get(),
                         here.words[footprint] - 1, accesses, here.out->get());
        };
        launch();
        const double ns = support::nanoseconds_of(here.stream.get(), launch);
        return bench::figures(ns, {{"GB_per_s", static_cast<double>(here.blocks) * 256 * accesses * sizeof(float) / ns}});
      },
      bench::axis<std::string>{"fits_l1", "fits_l2", "fits_neither"});
}

template <class Load>
void add_arm(bench::suite& cases, const bench::made_once<fixture>& shared, const std::string& arm) {
  add_case<Load, true>(cases, shared, arm);
  add_case<Load, false>(cases, shared, arm);
}

void add_cases(bench::suite& cases) {
  const bench::made_once<fixture> shared(cases.device());
  add_arm<plain>(cases, shared, "plain");
  add_arm<raw_ldg>(cases, shared, "raw_ldg");
  add_arm<read_only>(cases, shared, "read_only");
  add_arm<operator_ca>(cases, shared, "ca");
  add_arm<operator_cg>(cases, shared, "cg");
  add_arm<raw_ldcg>(cases, shared, "raw_ldcg");
  add_arm<operator_cs>(cases, shared, "cs");
  add_arm<no_allocate>(cases, shared, "read_only_no_allocate");
  add_arm<evict_last>(cases, shared, "read_only_evict_last");
}

}  // namespace

bench::description bench::describe() {
  return {.question = "Does it matter how read-only data is loaded?",
          .add_cases = add_cases,
          .unit = benchmark::kMicrosecond,
          .interleaved = true};
}
