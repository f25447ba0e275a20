// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: how much does an L2 set-aside slow down accesses that do not use it, and what do persisting accesses gain
/// without a set-aside? reread/: the device reads a region repeatedly, with nothing set aside, with the largest set-aside idle,
/// and with the largest set-aside full of another region's persisting lines. reads_a_stream/, changes_a_stream/: the device
/// reads a hot region together with a stream, with and without a window, for different set-asides. copies/: there is no hot
/// region.
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>

#include <membar/launch.hpp>
#include <membar/load_store.cuh>
#include <membar/window_planning.hpp>

#include <optional>

namespace {

using membar::access_policy_window;

constexpr std::size_t mib = std::size_t{1} << 20;

__global__ void read_again(const uint4* data, std::size_t count, int turns, unsigned* out) {
  unsigned sum = 0;
  for (int turn = 0; turn != turns; ++turn) {
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
         i += std::size_t{gridDim.x} * blockDim.x) {
      const uint4 value = membar::load_weak(data + i, membar::cache_op::cg);
      sum += value.x ^ value.y ^ value.z ^ value.w;
    }
  }
  if (sum == 1) {
    *out = sum;
  }
}

/// A pass that reads or modifies a stream. For each word of the stream, a thread reads one word of the hot region.
template <bool Writes>
__global__ void hot_and_stream(const uint4* hot, std::size_t hot_count, uint4* stream, std::size_t count, unsigned* out) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t first = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  std::size_t at = first % hot_count;
  const std::size_t hot_step = step % hot_count;
  unsigned sum = 0;
  for (std::size_t i = first; i < count; i += step) {
    const uint4 value = membar::load_weak(hot + at, membar::cache_op::cg);
    at += hot_step;
    at -= at >= hot_count ? hot_count : 0;
    const uint4 old = membar::load_weak(stream + i, membar::cache_op::cg);
    if constexpr (Writes) {
      stream[i] = {old.x + value.x, old.y + value.y, old.z + value.z, old.w + value.w};
    } else {
      sum += old.x ^ value.y ^ old.z ^ value.w;
    }
  }
  if (sum == 1) {
    *out = sum;
  }
}

__global__ void copy_stream(const uint4* from, uint4* to, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    to[i] = from[i];
  }
}

struct fixture {
  explicit fixture(int index)
      : device(index),
        blocks(static_cast<unsigned>(support::attribute(cudaDevAttrMultiProcessorCount, index)) * 8),
        largest(membar::l2_facts_of(index).max_set_aside) {}

  int device;
  unsigned blocks;
  std::size_t largest;
  support::device_memory<uint4> data{128 * mib / sizeof(uint4)};
  support::device_memory<uint4> other{64 * mib / sizeof(uint4)};
  support::device_memory<uint4> stream_data{512 * mib / sizeof(uint4)};
  support::device_memory<unsigned> out{1};
  support::stream stream;

  void read(const access_policy_window& window, const uint4* from, std::size_t bytes, int turns) const {
    membar::launch(membar::launch_config(blocks, 256, stream.get()).with(window), read_again, from, bytes / sizeof(uint4),
                   turns, out.get());
  }

  /// The rate of repeated reads of a region, in GB/s.
  [[nodiscard]] bench::figures reread(std::size_t bytes, bool aside, bool filled) const {
    membar::reset_persisting_lines();
    std::optional<membar::l2_set_aside> hold;
    if (aside) {
      hold.emplace(device, largest);
    }
    if (filled) {
      read({.start = other.get(), .bytes = largest}, other.get(), largest, 4);
    }
    constexpr int turns = 64;
    read({}, data.get(), bytes, 4);
    const double ns = support::nanoseconds_of(stream.get(), [&] { read({}, data.get(), bytes, turns); });
    membar::reset_persisting_lines();
    return {ns, {{"GB_per_s", static_cast<double>(bytes) * turns / ns}}};
  }

  /// Reads a hot region together with the stream. `fraction` is the region's size and `aside` the set-aside, both as shares of
  /// the largest set-aside. The result is the combined rate in GB/s.
  template <bool Writes>
  [[nodiscard]] bench::figures hot(double fraction, double aside, bool windowed) const {
    membar::reset_persisting_lines();
    std::optional<membar::l2_set_aside> hold;
    if (aside != 0) {
      hold.emplace(device, static_cast<std::size_t>(aside * static_cast<double>(largest)));
    }
    const std::size_t bytes = static_cast<std::size_t>(fraction * static_cast<double>(largest)) / 128 * 128;
    const access_policy_window window =
        windowed ? access_policy_window{.start = data.get(), .bytes = bytes} : access_policy_window{};
    const auto launch = [&] {
      membar::launch(membar::launch_config(blocks, 256, stream.get()).with(window), hot_and_stream<Writes>,
                     static_cast<const uint4*>(data.get()), bytes / sizeof(uint4), stream_data.get(), stream_data.size(),
                     out.get());
    };
    launch();
    const double ns = support::nanoseconds_of(stream.get(), launch);
    membar::reset_persisting_lines();
    return {ns, {{"GB_per_s", (Writes ? 3.0 : 2.0) * static_cast<double>(stream_data.size() * sizeof(uint4)) / ns}}};
  }

  /// Copies one half of the stream to the other half, with no hot region. The result counts the bytes read and written, in
  /// GB/s.
  [[nodiscard]] bench::figures copy(double aside) const {
    membar::reset_persisting_lines();
    std::optional<membar::l2_set_aside> hold;
    if (aside != 0) {
      hold.emplace(device, static_cast<std::size_t>(aside * static_cast<double>(largest)));
    }
    const std::size_t half = stream_data.size() / 2;
    const auto launch = [&] {
      membar::launch(membar::launch_config(blocks, 256, stream.get()), copy_stream,
                     static_cast<const uint4*>(stream_data.get()), stream_data.get() + half, half);
    };
    launch();
    const double ns = support::nanoseconds_of(stream.get(), launch);
    return {ns, {{"GB_per_s", 2.0 * static_cast<double>(half * sizeof(uint4)) / ns}}};
  }
};

void add_cases(bench::suite& cases) {
  if (!cases.waived()) {
    const membar::l2_facts facts = membar::l2_facts_of(cases.device());
    if (facts.max_set_aside == 0 || facts.mps) {
      cases.waive("the device cannot set aside L2 (MIG, MPS, or a compute capability below 8.0)");
    }
  }
  const bench::made_once<fixture> shared(cases.device());
  const struct {
    const char* name;
    bool aside, filled;
  } states[] = {{"nothing_aside", false, false}, {"aside_idle", true, false}, {"aside_full", true, true}};
  for (const auto& state : states) {
    cases.add(
        std::string("set_aside/reread/{}_MiB/") + state.name,
        [shared, state](std::size_t size) { return shared->reread(size * mib, state.aside, state.filled); },
        bench::axis<std::size_t>{8, 16, 24, 32, 36, 40, 44, 48, 52, 56, 64, 96});
  }
  for (const bool writes : {false, true}) {
    for (const bool windowed : {false, true}) {
      cases.add(
          std::string(writes ? "set_aside/changes_a_stream" : "set_aside/reads_a_stream") + "/region_{.2}/aside_{.3}/" +
              (windowed ? "window" : "none"),
          [shared, writes, windowed](double fraction, double aside) {
            return writes ? shared->hot<true>(fraction, aside, windowed) : shared->hot<false>(fraction, aside, windowed);
          },
          bench::axis<double>{0.25, 0.5, 1.0}, bench::axis<double>{0, 0.125, 0.25, 0.5, 0.75, 1.0});
    }
  }
  cases.add(
      "set_aside/copies/aside_{.3}", [shared](double aside) { return shared->copy(aside); },
      bench::axis<double>{0, 0.125, 0.25, 0.5, 0.75, 1.0});
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What does an L2 set-aside cost other accesses, and what do persisting accesses gain without one?",
          .add_cases = add_cases,
          .unit = benchmark::kMicrosecond,
          .interleaved = true};
}

}  // namespace bench
