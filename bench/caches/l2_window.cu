// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: how much does an access-policy window speed up a kernel that reads a hot region and a stream, and which window
/// is best? The bench repeats the sliding-window experiment of the CUDA C++ Programming Guide, with sizes as fractions of the
/// largest set-aside.
#include <bench/caches/window_tuner.hpp>
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>

#include <membar/launch.hpp>
#include <membar/load_store.cuh>
#include <membar/window_planning.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace {

using membar::access_policy_window;

__global__ void hot_and_stream(int* hot, std::size_t hot_count, int* stream, std::size_t stream_count) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < stream_count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    hot[i % hot_count] = 2 * hot[i % hot_count];
    stream[i] = 2 * stream[i];
  }
}

__global__ void read_hot(const int* hot, std::size_t count, int* out) {
  int sum = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    sum += membar::load_weak(hot + i, membar::cache_op::cg);
  }
  if (sum == 1) {
    *out = sum;
  }
}

/// The device, its memory, and the whole set-aside, which the bench holds while it runs.
class fixture {
 public:
  explicit fixture(int device)
      : resident_(static_cast<unsigned>(support::attribute(cudaDevAttrMultiProcessorCount, device)) * 8),
        largest_(membar::l2_facts_of(device).max_set_aside),
        hold_(std::in_place, device, largest_),
        device_(device),
        facts_(membar::l2_facts_of(device)),
        hot_(2 * largest_ / sizeof(int)),
        stream_data_((std::size_t{1} << 30) / sizeof(int)) {}

  [[nodiscard]] const membar::l2_facts& facts() const noexcept { return facts_; }
  [[nodiscard]] const void* hot() const noexcept { return hot_.get(); }
  [[nodiscard]] std::size_t region(double fraction) const {
    return static_cast<std::size_t>(fraction * static_cast<double>(largest_)) / 128 * 128;
  }

  /// One run after a warm-up run, with no lines left over from an earlier case.
  double nanoseconds(std::size_t region_bytes, const access_policy_window& window) {
    membar::reset_persisting_lines();
    launch(region_bytes, window);
    return support::nanoseconds_of(stream_.get(), [&] { launch(region_bytes, window); });
  }

  /// Returns the result of `run` with nothing set aside.
  template <class Run>
  double without_set_aside(Run run) {
    hold_.reset();
    const double ns = run();
    hold_.emplace(device_, largest_);
    return ns;
  }

  /// The same as `nanoseconds`, but written with the CUDA runtime's own calls.
  double raw_nanoseconds(std::size_t region_bytes, float ratio) {
    membar::reset_persisting_lines();
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeAccessPolicyWindow;
    attribute.val.accessPolicyWindow = {hot_.get(), std::min(region_bytes, facts_.max_window), ratio,
                                        cudaAccessPropertyPersisting, cudaAccessPropertyStreaming};
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.stream = stream_.get();
    config.attrs = &attribute;
    config.numAttrs = 1;
    const auto launch_raw = [&] {
      membar::check(cudaLaunchKernelEx(&config, hot_and_stream, hot_.get(), region_bytes / sizeof(int), stream_data_.get(),
                                       stream_data_.size()));
    };
    launch_raw();
    return support::nanoseconds_of(stream_.get(), launch_raw);
  }

  const access_policy_window& tuned(std::size_t region_bytes) {
    std::optional<access_policy_window>& best = tuned_[region_bytes];
    if (!best) {
      best = bench::tune_window(hot_.get(), region_bytes, facts_, [&](const access_policy_window& window) {
               launch(region_bytes, window);
               return support::nanoseconds_of(stream_.get(), [&] { launch(region_bytes, window); }) * 1e-9;
             }).window;
    }
    return *best;
  }

  enum class windows { none, each_whole, planned };

  /// Three concurrent kernels in three streams, each with its own stream of data and a hot region of half the set-aside.
  double nanoseconds_of_three(windows how) {
    membar::reset_persisting_lines();
    const std::size_t bytes = region(0.5);
    const std::size_t part = stream_data_.size() / 3;
    std::vector<membar::planned_kernel> kernels;
    std::vector<access_policy_window> used(3);
    for (std::size_t i = 0; i != 3; ++i) {
      const char* const hot = reinterpret_cast<const char*>(hot_.get()) + i * bytes;
      kernels.push_back({three_[i].get(), {{hot, bytes}}});
      if (how == windows::each_whole) {
        used[i] = {.start = hot, .bytes = bytes};
      }
    }
    if (how == windows::planned) {
      for (const membar::planned_window& each : membar::plan_windows(kernels, facts_)) {
        for (std::size_t i = 0; i != 3; ++i) {
          if (each.stream == three_[i].get()) {
            used[i] = each.window;
          }
        }
      }
    }
    const auto run = [&] {
      support::event begin(cudaEventDisableTiming);
      begin.record(stream_.get());
      for (std::size_t i = 0; i != 3; ++i) {
        membar::check(cudaStreamWaitEvent(three_[i].get(), begin.get(), 0));
        // A third of the blocks that can run at once, so that all three kernels run at the same time.
        membar::launch(membar::launch_config{resident_ / 3, threads, three_[i].get()}.with(used[i]), hot_and_stream,
                       hot_.get() + i * bytes / sizeof(int), bytes / sizeof(int), stream_data_.get() + i * part, part);
        support::event end(cudaEventDisableTiming);
        end.record(three_[i].get());
        membar::check(cudaStreamWaitEvent(stream_.get(), end.get(), 0));
      }
    };
    run();
    return support::nanoseconds_of(stream_.get(), run);
  }

  /// The time to read a region half the size of the set-aside again, after `flushes` kernels that read 1 GiB each. With
  /// `with_window`, the first read makes the region's lines persisting.
  double nanoseconds_after(int flushes, bool with_window) {
    membar::reset_persisting_lines();
    const std::size_t bytes = region(0.5);
    const access_policy_window window{.start = hot_.get(), .bytes = bytes};
    read(with_window ? window : access_policy_window{}, hot_.get(), bytes / sizeof(int));
    for (int i = 0; i != flushes; ++i) {
      read({}, stream_data_.get(), stream_data_.size());
    }
    return support::nanoseconds_of(stream_.get(), [&] { read({}, hot_.get(), bytes / sizeof(int)); });
  }

 private:
  static constexpr unsigned blocks = 4096;
  static constexpr unsigned threads = 256;

  void launch(std::size_t region_bytes, const access_policy_window& window) {
    membar::launch(membar::launch_config{blocks, threads, stream_.get()}.with(window), hot_and_stream, hot_.get(),
                   region_bytes / sizeof(int), stream_data_.get(), stream_data_.size());
  }

  void read(const access_policy_window& window, const int* data, std::size_t count) {
    membar::launch(membar::launch_config{1024, threads, stream_.get()}.with(window), read_hot, data, count, out_.get());
  }

  unsigned resident_;
  std::size_t largest_;
  std::optional<membar::l2_set_aside> hold_;
  int device_;
  membar::l2_facts facts_;
  support::device_memory<int> hot_;
  support::device_memory<int> stream_data_;
  support::device_memory<int> out_{1};
  support::stream stream_;
  support::stream three_[3];
  std::map<std::size_t, std::optional<access_policy_window>> tuned_;
};

void add_cases(bench::suite& cases) {
  if (!cases.waived()) {
    const membar::l2_facts facts = membar::l2_facts_of(cases.device());
    if (facts.max_set_aside == 0 || facts.mps) {
      cases.waive("the device cannot set aside L2 (MIG, MPS, or a compute capability below 8.0)");
    }
  }
  const bench::made_once<fixture> shared(cases.device());
  const bench::axis<std::string> regions{"0.1", "0.25", "0.5", "0.75", "0.9", "1.0", "1.1", "1.25", "1.5", "1.75", "2.0"};
  const auto windowed = [&](const std::string& arm, auto choose, const auto&... axes) {
    cases.add(
        "l2_window/region_{}/" + arm,
        [shared, choose](const std::string& fraction, auto... values) {
          fixture& here = *shared;
          const std::size_t region = here.region(std::atof(fraction.c_str()));
          const access_policy_window window = choose(here, region, values...);
          return bench::figures(here.nanoseconds(region, window),
                                {{"region_MB", static_cast<double>(region) * 1e-6},
                                 {"window_MB", static_cast<double>(window.bytes) * 1e-6},
                                 {"hit_ratio", window.off() ? 0.0 : static_cast<double>(window.hit_ratio)}});
        },
        regions, axes...);
  };
  const auto with_ratio = [](const fixture& here, std::size_t bytes, double ratio) {
    return access_policy_window{.start = here.hot(),
                                .bytes = std::min(bytes, here.facts().max_window),
                                .hit_ratio = static_cast<float>(std::min(1.0, ratio))};
  };
  windowed("none", [](fixture&, std::size_t) { return access_policy_window{}; });
  windowed("ratio_1", [with_ratio](fixture& here, std::size_t region) { return with_ratio(here, region, 1.0); });
  windowed("guide", [with_ratio](fixture& here, std::size_t region) {
    return with_ratio(here, region, static_cast<double>(here.facts().set_aside) * 2 / 3 / static_cast<double>(region));
  });
  windowed("plan", [](fixture& here, std::size_t region) {
    return membar::l2_plan(here.facts()).window(here.hot(), std::min(region, here.facts().max_window));
  });
  windowed("tuned", [](fixture& here, std::size_t region) { return here.tuned(region); });
  cases.add(
      "l2_window/region_{}/nothing_aside",
      [shared](const std::string& fraction) {
        return shared->without_set_aside([&] { return shared->nanoseconds(shared->region(std::atof(fraction.c_str())), {}); });
      },
      regions);
  cases.add(
      "l2_window/region_{}/raw_ratio_1",
      [shared](const std::string& fraction) {
        return shared->raw_nanoseconds(shared->region(std::atof(fraction.c_str())), 1.0F);
      },
      regions);
  windowed(
      "sweep_size_{.2}_ratio_{.3}",
      [with_ratio](fixture& here, std::size_t region, double size, double ratio) {
        return with_ratio(here, static_cast<std::size_t>(static_cast<double>(region) * size), ratio);
      },
      bench::axis<double>{0.5, 0.75, 1.0}, bench::axis<double>{0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0});
  for (const auto& [name, how] :
       {std::pair{"none", fixture::windows::none}, std::pair{"each_whole", fixture::windows::each_whole},
        std::pair{"planned", fixture::windows::planned}}) {
    cases.add(std::string("l2_window/three_streams/at_once/") + name,
              [shared, how] { return shared->nanoseconds_of_three(how); });
  }
  cases.add("l2_window/three_streams/at_once/nothing_aside", [shared] {
    return shared->without_set_aside([&] { return shared->nanoseconds_of_three(fixture::windows::none); });
  });
  const bench::axis<int> flushes{0, 1, 4, 16, 64, 256};
  for (const bool with_window : {false, true}) {
    cases.add(
        std::string("l2_window/return_to_normal/{}_flushes/") + (with_window ? "window" : "none"),
        [shared, with_window](int count) { return shared->nanoseconds_after(count, with_window); }, flushes);
  }
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What does an L2 access-policy window gain, and which one is best?",
          .add_cases = add_cases,
          .unit = benchmark::kMicrosecond,
          .interleaved = true};
}

}  // namespace bench
