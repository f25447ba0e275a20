// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: does it matter how read-only data is loaded? The bench compares plain loads, the read-only path, cache
/// operators and hints, for data that fits into L1, into L2, or into neither, gathered at random or streamed.
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>

#include <membar/launch.hpp>
#include <membar/load_store.cuh>
#include <membar/read_only.cuh>

#include <bit>
#include <map>
#include <memory>
#include <string>

namespace {

struct plain {
  static __device__ float load(const float* p) { return *p; }
};
struct raw_ldg {
  static __device__ float load(const float* p) { return __ldg(p); }
};
struct raw_ldcg {
  static __device__ float load(const float* p) { return __ldcg(p); }
};
template <auto... Hints>
struct weak {
  static __device__ float load(const float* p) { return membar::load_weak(p, Hints...); }
};
template <auto... Hints>
struct read_only {
  static __device__ float load(const float* p) { return membar::load_read_only(p, Hints...); }
};

/// Each thread reads `accesses` words, a power of two: neighbouring words, or words that a hash selects.
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

// What the compiler can do with a load, depending on what it can assume about the pointer. In each iteration, each thread
// rereads four coefficients and then stores a value; with a plain pointer, the store might change the coefficients.
__device__ float polynomial(float a, float b, float c, float d, float x) { return ((a * x + b) * x + c) * x + d; }

template <class Coefficient>
__device__ void evaluate(Coefficient coefficient, const float* x, float* out, int turns) {
  const std::size_t thread = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
#pragma unroll 4
  for (int i = 0; i < turns; ++i) {
    const std::size_t at = thread + static_cast<std::size_t>(i) * threads;
    out[at] = polynomial(coefficient(0), coefficient(1), coefficient(2), coefficient(3), x[at]);
  }
}
__global__ void with_plain(const float* coefficients, const float* x, float* out, int turns) {
  evaluate([=](int i) { return coefficients[i]; }, x, out, turns);
}
__global__ void with_restrict(const float* __restrict__ coefficients, const float* __restrict__ x, float* __restrict__ out,
                              int turns) {
  const std::size_t thread = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
#pragma unroll 4
  for (int i = 0; i < turns; ++i) {
    const std::size_t at = thread + static_cast<std::size_t>(i) * threads;
    out[at] = polynomial(coefficients[0], coefficients[1], coefficients[2], coefficients[3], x[at]);
  }
}
__global__ void with_ldg(const float* coefficients, const float* x, float* out, int turns) {
  evaluate([=](int i) { return __ldg(coefficients + i); }, x, out, turns);
}
__global__ void with_read_only_span(membar::read_only_span<float> coefficients, const float* x, float* out, int turns) {
  evaluate([=](int i) { return coefficients[static_cast<std::size_t>(i)]; }, x, out, turns);
}
/// The code loads the coefficients into variables before the loop.
__global__ void with_variables(const float* coefficients, const float* x, float* out, int turns) {
  const float a = coefficients[0];
  const float b = coefficients[1];
  const float c = coefficients[2];
  const float d = coefficients[3];
  evaluate([=](int i) { return i == 0 ? a : i == 1 ? b : i == 2 ? c : d; }, x, out, turns);
}

struct fixture {
  unsigned blocks;
  std::map<std::string, std::size_t> words;  // The number of words for each footprint, a power of two.
  support::device_memory<float> in;
  support::device_memory<float> out;
  support::stream stream;
  std::unique_ptr<support::device_memory<float>> polynomial_out{};

  explicit fixture(int device)
      : blocks(static_cast<unsigned>(support::attribute(cudaDevAttrMultiProcessorCount, device)) * 8),
        words(footprints(static_cast<std::size_t>(support::attribute(cudaDevAttrL2CacheSize, device)))),
        in(words["fits_neither"]),
        out(std::size_t{blocks} * 256) {}

  static std::map<std::string, std::size_t> footprints(std::size_t l2) {
    const auto at_most = [](std::size_t bytes) { return std::bit_floor(bytes / sizeof(float)); };
    return {{"fits_l1", at_most(std::size_t{64} << 10)}, {"fits_l2", at_most(l2 / 2)}, {"fits_neither", at_most(16 * l2)}};
  }
};

template <class Load, bool Gather>
double nanoseconds(fixture& here, const std::string& footprint, int accesses) {
  const auto launch = [&] {
    membar::launch(membar::launch_config{here.blocks, 256, here.stream.get()}, read_words<Load, Gather>, here.in.get(),
                   here.words[footprint] - 1, accesses, here.out.get());
  };
  launch();
  return support::nanoseconds_of(here.stream.get(), launch);
}

template <class Load>
void add_arm(bench::suite& cases, const bench::made_once<fixture>& shared, const std::string& arm) {
  for (const bool gathers : {true, false}) {
    const auto measure = [shared, gathers](const std::string& footprint) {
      constexpr int accesses = 256;
      const auto timed = gathers ? nanoseconds<Load, true> : nanoseconds<Load, false>;
      const double ns = timed(*shared, footprint, accesses);
      return bench::figures(ns, {{"GB_per_s", static_cast<double>(shared->blocks) * 256 * accesses * sizeof(float) / ns}});
    };
    cases.add(std::string("read_only_load/{}/") + (gathers ? "gather/" : "stream/") + arm, measure,
              bench::axis<std::string>{"fits_l1", "fits_l2", "fits_neither"});
  }
}

void add_cases(bench::suite& cases) {
  const bench::made_once<fixture> shared(cases.device());
  const auto restricted = [&](const char* arm, auto kernel, auto coefficients) {
    cases.add(std::string("read_only_load/fits_l2/polynomial/") + arm, [shared, kernel, coefficients] {
      constexpr int turns = 16;
      fixture& here = *shared;
      const std::size_t words = std::size_t{here.blocks} * 256 * turns;
      if (here.polynomial_out == nullptr) {
        here.polynomial_out = std::make_unique<support::device_memory<float>>(words);
      }
      const auto launch = [&] {
        kernel<<<here.blocks, 256, 0, here.stream.get()>>>(coefficients(here.in.get()), here.in.get() + 4,
                                                           here.polynomial_out->get(), turns);
      };
      launch();
      const double ns = support::nanoseconds_of(here.stream.get(), [&] {
        for (int i = 0; i != 32; ++i) {
          launch();
        }
      });
      cudaFuncAttributes attributes{};
      membar::check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)));
      return bench::figures(
          ns, {{"GB_per_s", 32.0 * 2 * static_cast<double>(words) * sizeof(float) / ns}, {"registers", attributes.numRegs}});
    });
  };
  const auto pointer = [](const float* in) { return in; };
  restricted("plain", with_plain, pointer);
  restricted("restrict", with_restrict, pointer);
  restricted("raw_ldg", with_ldg, pointer);
  restricted("read_only", with_read_only_span, [](const float* in) { return membar::read_only_span<float>(in, 4); });
  restricted("variables", with_variables, pointer);
  add_arm<plain>(cases, shared, "plain");
  add_arm<raw_ldg>(cases, shared, "raw_ldg");
  add_arm<read_only<>>(cases, shared, "read_only");
  add_arm<weak<membar::cache_op::ca>>(cases, shared, "ca");
  add_arm<weak<membar::cache_op::cg>>(cases, shared, "cg");
  add_arm<raw_ldcg>(cases, shared, "raw_ldcg");
  add_arm<weak<membar::cache_op::cs>>(cases, shared, "cs");
  add_arm<read_only<membar::l1::no_allocate>>(cases, shared, "read_only_no_allocate");
  add_arm<read_only<membar::l1::evict_last>>(cases, shared, "read_only_evict_last");
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "Does it matter how read-only data is loaded?",
          .add_cases = add_cases,
          .unit = benchmark::kMicrosecond,
          .interleaved = true};
}

}  // namespace bench
