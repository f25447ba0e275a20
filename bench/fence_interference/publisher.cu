// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does it cost warps that compute to make their results visible to the whole system, beside traffic that is
/// not theirs, if each releases by itself, and if a publisher warp does it for all?
///
/// Names are pace/<way>/warps:<per block>/lag:<limit>/<noise> and latency/..., in the noises of fence_interference. The time of
/// a pace case is that of one iteration of a computing warp, which works, stores and publishes; that of a latency case goes
/// from the publishing to the store of the signal. Counters say how many publications and system fences there were.
#include "workshop.cuh"

#include <membar/sync/publisher.cuh>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using fence_interference::workshop;
using membar::thread_scope;
using membar::wait_result;

constexpr unsigned blocks = 32;
constexpr unsigned iterations = 500;
constexpr unsigned work_steps = 480;  // of four cycles: about 1,950 cycles an iteration
constexpr membar::wait_budget generous = membar::wait_budget::milliseconds(5'000);

/// How a warp's results are made visible.
enum class way {
  nothing,    ///< not at all: the work by itself
  release,    ///< a release store at system scope by each warp
  publisher,  ///< handed to the block's publisher warp, by the whole warp
  by_lane,    ///< the same by one lane, which the others then wait for
};

template <way Way>
constexpr bool hands_over = Way == way::publisher || Way == way::by_lane;

/// What one warp measured.
struct warp_result {
  double cycles;  ///< of an iteration
  double latency_cycles;
  unsigned failures;
};

struct block_result {
  unsigned long long fences;
  unsigned long long largest_lag;
};

/// Depends on its argument, so that it is not moved or shortened.
__device__ float work(float value) {
  for (unsigned i = 0; i != work_steps; ++i) {
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(value) : "f"(0.999F), "f"(0.001F));
  }
  return value;
}

/// Each warp works, stores 128 bytes and publishes their number, `count` times.
template <way Way, int Warps, int Lag, bool Latency>
__global__ void compute(float* data, unsigned long long* signals, unsigned count, warp_result* warps, block_result* results) {
  using publisher = membar::publisher<Warps, Lag>;
  __shared__ publisher shared;
  if (threadIdx.x == 0) {
    shared.init();
  }
  __syncthreads();
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  if (warp == Warps) {
    if constexpr (hands_over<Way>) {
      const membar::publisher_report report = shared.serve_warp(generous);
      if (lane == 0) {
        results[blockIdx.x] = {report.fences, report.largest_lag};
      }
    } else if (lane == 0) {
      results[blockIdx.x] = {Way == way::release ? static_cast<unsigned long long>(count) * Warps : 0, 0};
    }
    return;
  }
  using source_end = std::conditional_t<Way == way::by_lane, typename publisher::source, typename publisher::warp_source>;
  source_end source(shared, static_cast<int>(warp));
  const unsigned number = blockIdx.x * Warps + warp;
  unsigned long long& signal = signals[16 * number];  // a line each
  float value = static_cast<float>(lane);
  unsigned failures = 0;
  long long latency = 0;
  const long long begin = clock64();
  for (unsigned i = 1; i <= count; ++i) {
    value = work(value);
    data[32 * (number * 64 + i % 64) + lane] = value;
    __syncwarp();
    const long long before = clock64();
    if constexpr (Way == way::publisher) {
      failures += source.publish(signal, i, generous) == wait_result::done ? 0 : 1;
      if constexpr (Latency) {
        failures += source.flush(generous) == wait_result::done ? 0 : 1;
      }
    } else if (lane == 0) {
      if constexpr (Way == way::release) {
        membar::atomic_ref<unsigned long long, thread_scope::system>(signal).store(i, membar::release);
      } else if constexpr (Way == way::by_lane) {
        failures += source.publish(signal, i, generous) == wait_result::done ? 0 : 1;
      }
    }
    latency += clock64() - before;
    __syncwarp();
  }
  const long long end = clock64();
  if constexpr (Way == way::by_lane) {
    if (lane == 0) {
      source.close();
    }
  } else {
    source.close();
  }
  if (lane == 0) {
    warps[number] = {static_cast<double>(end - begin) / count, static_cast<double>(latency) / count, failures};
  }
}

struct figures {
  std::vector<double> cycles;  ///< of each warp
  double fences = 0;
  double largest_lag = 0;
  double noise_gbps = 0;
};

using kernel_type = void (*)(float*, unsigned long long*, unsigned, warp_result*, block_result*);

/// One case: a kernel, beside a noise.
struct description {
  std::string name;
  kernel_type kernel;
  unsigned warps;
  bool latency;
  std::string noise;
};

figures measure(workshop& shop, const description& what) {
  const std::size_t warp_count = static_cast<std::size_t>(blocks) * what.warps;
  const support::device_memory<float> data(warp_count * 64 * 32);
  const support::pinned_memory<unsigned long long> signals(warp_count * 16);
  const support::pinned_memory<warp_result> warps(warp_count);
  const support::pinned_memory<block_result> results(blocks);
  const membar::launch_config config{blocks, 32 * (what.warps + 1), shop.streams().operation.get()};
  const auto run = [&](unsigned count) {
    membar::launch(config, what.kernel, data.get(), signals.get(), count, warps.get(), results.get());
    shop.streams().operation.synchronize();
  };
  fence_interference::noise* const noise = shop.noise_called(what.noise);
  run(1);  // loads the kernel before there is a noise that it could wait for
  fence_interference::running_noise beside(noise, fence_interference::separate.noise);
  run(iterations);
  if (!beside.running()) {
    throw std::runtime_error("the noise did not run for as long as the kernel: nothing is known about the two together");
  }
  figures seen;
  seen.noise_gbps = beside.stop().value_or(0);
  for (std::size_t w = 0; w != warp_count; ++w) {
    if (warps[w].failures != 0) {
      throw std::runtime_error("a publication waited in vain");
    }
    seen.cycles.push_back(what.latency ? warps[w].latency_cycles : warps[w].cycles);
  }
  for (std::size_t b = 0; b != blocks; ++b) {
    seen.fences += static_cast<double>(results[b].fences);
    seen.largest_lag = std::max(seen.largest_lag, static_cast<double>(results[b].largest_lag));
  }
  return seen;
}

template <way Way, int Warps, int Lag>
void add(std::vector<description>& cases, const char* way_name, const std::string& noise) {
  const std::string rest = std::string(way_name) + "/warps:" + std::to_string(Warps) +
                           (hands_over<Way> ? "/lag:" + std::to_string(Lag) : std::string()) + "/" + noise;
  cases.push_back({"pace/" + rest, compute<Way, Warps, Lag, false>, Warps, false, noise});
  if constexpr (Way == way::release || Way == way::publisher) {
    cases.push_back({"latency/" + rest, compute<Way, Warps, Lag, true>, Warps, true, noise});
  }
}

std::vector<description> all_cases() {
  std::vector<description> cases;
  for (const char* noise :
       {"none", "spin", "local.saturating", "host.paced", "host.saturating", "nvlink.paced", "nvlink.saturating"}) {
    const auto of_warps = [&]<int Warps>() {
      add<way::nothing, Warps, 16>(cases, "nothing", noise);
      add<way::release, Warps, 16>(cases, "release", noise);
      add<way::publisher, Warps, 16>(cases, "publisher", noise);
    };
    of_warps.operator()<1>();
    of_warps.operator()<2>();
    of_warps.operator()<4>();
    of_warps.operator()<16>();
    add<way::by_lane, 4, 16>(cases, "by_lane", noise);
    add<way::publisher, 4, 4>(cases, "publisher", noise);
    add<way::publisher, 4, 64>(cases, "publisher", noise);
  }
  return cases;
}

/// Why this machine cannot run a case; empty if it can.
std::string waiver(const workshop* shop, const std::string& no_device, const std::string& noise) {
  if (shop == nullptr) {
    return "waived: " + no_device;
  }
  if (fence_interference::starts_with(noise, "nvlink") && !shop->peer()) {
    return "waived: needs a second GPU that this one reaches over NVLink";
  }
  return "";
}

void run_case(benchmark::State& state, workshop* shop, const description& what, const std::string& waived) {
  figures seen;
  for (auto _ : state) {
    if (!waived.empty()) {
      state.SetIterationTime(0);
      continue;
    }
    try {
      seen = measure(*shop, what);
      state.SetIterationTime(support::median(seen.cycles) / shop->ghz() * 1e-9);
    } catch (const std::exception& failure) {
      state.SkipWithError(failure.what());
      return;
    }
  }
  state.SetLabel(waived);
  if (waived.empty()) {
    std::sort(seen.cycles.begin(), seen.cycles.end());
    state.counters["p50_cycles"] = support::quantile(seen.cycles, 0.5);
    state.counters["p90_cycles"] = support::quantile(seen.cycles, 0.9);
    state.counters["publications"] = static_cast<double>(blocks) * what.warps * iterations;
    state.counters["fences"] = seen.fences;
    state.counters["largest_lag"] = seen.largest_lag;
    state.counters["noise_gbps"] = seen.noise_gbps;
  }
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  std::unique_ptr<workshop> shop;
  std::string no_device;
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    no_device = std::string("no CUDA device (") + cudaGetErrorString(status) + ")";
  } else {
    shop = std::make_unique<workshop>(0, std::nullopt);
    for (const auto& [key, value] : support::machine_context(0)) {
      benchmark::AddCustomContext(key, value);
    }
    benchmark::AddCustomContext("link", shop->peer() ? support::link_between(0, *shop->peer()) : "no peer");
    benchmark::AddCustomContext("sm_clock_mhz", std::to_string(static_cast<int>(shop->ghz() * 1e3)));
  }
  const std::vector<description> cases = all_cases();
  for (const description& what : cases) {
    const std::string waived = waiver(shop.get(), no_device, what.noise);
    benchmark::RegisterBenchmark(what.name.c_str(),
                                 [&, waived](benchmark::State& state) { run_case(state, shop.get(), what, waived); })
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kNanosecond)
        ->Repetitions(waived.empty() ? 9 : 1);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
