// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does it cost computing warps to make their results visible system-wide while unrelated traffic runs?
/// Either each warp executes its own release, or a publisher warp releases for all of them.
///
/// Case names are pace/<way>/warps:<per block>/lag:<limit>/<noise> and latency/..., with the noises of fence_interference. A
/// pace case reports the time of a computing warp's iteration, in which the warp works, stores and publishes. A latency case
/// reports the time from publishing to the store of the signal. Counters give the numbers of publications and system fences.
#include "fixture.cuh"

#include <bench/common/harness.hpp>
#include <membar/sync/publisher.cuh>

#include <type_traits>

namespace {

using fence_interference::fixture;
using membar::thread_scope;
using membar::wait_result;

constexpr unsigned blocks = 32;
constexpr unsigned iterations = 500;
constexpr unsigned work_steps = 480;  // The number of four-cycle instructions: about 1,950 cycles per iteration.
constexpr membar::wait_budget generous = membar::wait_budget::milliseconds(5'000);

/// The ways to make a warp's results visible.
enum class way {
  nothing,    ///< The results are not published; only the work is timed.
  release,    ///< A release store at system scope by each warp.
  publisher,  ///< The whole warp passes its results to the block's publisher warp.
  by_lane,    ///< One lane passes the results to the publisher, and the other lanes then wait for it.
};

template <way Way>
constexpr bool hands_over = Way == way::publisher || Way == way::by_lane;

/// The measurements of one warp.
struct warp_result {
  double cycles;  ///< The time of an iteration.
  double latency_cycles;
  unsigned failures;
};

struct block_result {
  unsigned long long fences;
  unsigned long long largest_lag;
};

/// The result depends on the argument, so that the compiler neither moves nor shortens the work.
__device__ float work(float value) {
  for (unsigned i = 0; i != work_steps; ++i) {
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(value) : "f"(0.999F), "f"(0.001F));
  }
  return value;
}

/// Each warp works, stores 128 bytes and publishes the iteration's number, `count` times.
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
  unsigned long long& signal = signals[16 * number];  // One 128-byte line each.
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

using kernel_type = void (*)(float*, unsigned long long*, unsigned, warp_result*, block_result*);

/// A case's kernel, which runs during one kind of noise. A latency case reports the latency; any other case reports the time of
/// an iteration.
struct description {
  kernel_type kernel;
  unsigned warps;
  bool latency;
};

bench::figures measure(fixture& on, const description& what, const std::string& noise_name) {
  const std::size_t warp_count = static_cast<std::size_t>(blocks) * what.warps;
  const support::device_memory<float> data(warp_count * 64 * 32);
  const support::pinned_memory<unsigned long long> signals(warp_count * 16);
  const support::pinned_memory<warp_result> warps(warp_count);
  const support::pinned_memory<block_result> results(blocks);
  const membar::launch_config config{blocks, 32 * (what.warps + 1), on.streams().operation.get()};
  const auto run = [&](unsigned count) {
    membar::launch(config, what.kernel, data.get(), signals.get(), count, warps.get(), results.get());
    on.streams().operation.synchronize();
  };
  fence_interference::noise& noise = on.noise_called(noise_name);
  run(1);  // This loads the kernel before there is any noise that it could wait for.
  fence_interference::running_noise beside = started(noise, fence_interference::separate.noise);
  run(iterations);
  if (!beside->running()) {
    throw std::runtime_error("the noise ended before the kernel, so their overlap was not measured");
  }
  const double noise_gbps = beside.release()->stop();
  std::vector<double> cycles;
  for (std::size_t w = 0; w != warp_count; ++w) {
    if (warps[w].failures != 0) {
      throw std::runtime_error("a publication timed out");
    }
    cycles.push_back(what.latency ? warps[w].latency_cycles : warps[w].cycles);
  }
  std::sort(cycles.begin(), cycles.end());
  double fences = 0;
  double largest_lag = 0;
  for (std::size_t b = 0; b != blocks; ++b) {
    fences += static_cast<double>(results[b].fences);
    largest_lag = std::max(largest_lag, static_cast<double>(results[b].largest_lag));
  }
  const double p50 = support::quantile(cycles, 0.5);
  return {p50 / on.ghz(),
          {{"p50_cycles", p50},
           {"p90_cycles", support::quantile(cycles, 0.9)},
           {"publications", static_cast<double>(blocks) * what.warps * iterations},
           {"fences", fences},
           {"largest_lag", largest_lag},
           {"noise_gbps", noise_gbps}}};
}

void add_cases(bench::suite& cases) {
  const bench::made_once<fixture> shared(cases.device(), std::optional<int>());
  bool has_peer = true;
  if (!cases.waived()) {
    has_peer = shared->peer().has_value();
    cases.context("link", has_peer ? support::link_between(cases.device(), *shared->peer()) : "no peer");
    cases.context("sm_clock_mhz", std::to_string(static_cast<int>(shared->ghz() * 1e3)));
  }
  const auto add = [&](const std::string& name, const description& what) {
    const auto measured = [shared, what](const std::string& noise) { return measure(*shared, what, noise); };
    cases.add(name + "/{}", measured,
              bench::axis<std::string>{"none", "spin", "local.saturating", "host.paced", "host.saturating"});
    cases.add({name + "/{}", has_peer ? "" : "needs a second GPU that this one can access over NVLink"}, measured,
              bench::axis<std::string>{"nvlink.paced", "nvlink.saturating"});
  };
  const auto of = [&]<way Way, int Warps, int Lag>(const char* way_name) {
    const std::string rest = std::string(way_name) + "/warps:" + std::to_string(Warps) +
                             (hands_over<Way> ? "/lag:" + std::to_string(Lag) : std::string());
    add("pace/" + rest, {compute<Way, Warps, Lag, false>, Warps, false});
    if constexpr (Way == way::release || Way == way::publisher) {
      add("latency/" + rest, {compute<Way, Warps, Lag, true>, Warps, true});
    }
  };
  const auto of_warps = [&]<int Warps>() {
    of.operator()<way::nothing, Warps, 16>("nothing");
    of.operator()<way::release, Warps, 16>("release");
    of.operator()<way::publisher, Warps, 16>("publisher");
  };
  of_warps.operator()<1>();
  of_warps.operator()<2>();
  of_warps.operator()<4>();
  of_warps.operator()<16>();
  of.operator()<way::by_lane, 4, 16>("by_lane");
  of.operator()<way::publisher, 4, 4>("publisher");
  of.operator()<way::publisher, 4, 64>("publisher");
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What does it cost computing warps to publish to the whole system, with and without a publisher warp?",
          .add_cases = add_cases,
          .fails_with_cases = false};
}

}  // namespace bench
