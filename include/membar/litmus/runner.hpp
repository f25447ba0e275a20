// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Runs a litmus test on a machine: memory, launches, host threads and deadlines, and the counts of the outcomes.
#pragma once

#include <membar/detail/owned_array.hpp>
#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/launch_attribute.hpp>
#include <membar/litmus/instance_layout.hpp>
#include <membar/litmus/launch_view.hpp>
#include <membar/litmus/parameters.hpp>
#include <membar/litmus/placement.hpp>
#include <membar/litmus/test.hpp>
#include <membar/mapped_memory.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace membar::litmus {

/// How long a run takes, and what makes it reproducible.
struct run_options {
  double seconds = 1.0;           ///< on the wall; a slice more at most
  std::uint64_t instances = 0;    ///< the run ends when as many have run; 0: only `seconds` counts
  std::uint64_t seed = 1;         ///< of the layouts of all steps
  double slice_seconds = 0.05;    ///< between two looks of the host
  double patience_seconds = 2.0;  ///< beyond what a slice should take; then the run is given up
};

/// What a run counted.
struct run_result {
  std::vector<std::uint64_t> counts;       ///< per outcome
  std::vector<std::uint64_t> slices_with;  ///< per outcome: how many slices showed it
  std::uint64_t slices = 0;                ///< parts of the run, each a launch of its own
  std::uint64_t instances = 0;
  std::uint64_t steps = 0;
  double seconds = 0;  ///< in which kernels ran
  parameters used{};
  layout shape{};
  unsigned stress_blocks = 0;  ///< per launch
  std::string device;          ///< the names of the devices

  [[nodiscard]] double rate() const noexcept { return seconds > 0 ? static_cast<double>(instances) / seconds : 0; }
};

/// How large the launches of a run are.
struct run_shape {
  layout where{};
  unsigned stress_blocks = 0;  ///< per launch, behind the testing ones
  parameters used{};
};

/// A block's threads: the parameter, or more where threads of an instance need warps of their own.
[[nodiscard]] inline unsigned block_width(const placement& where, const parameters& how) noexcept {
  const bool warps = where.warps_differ || how.within == spread::warps;
  return std::max(static_cast<unsigned>(how.width), warps ? warp_lanes * std::bit_ceil(where.slots) : warp_lanes);
}

/// The shape of a run of which `fitting` blocks per launch are resident at once. Throws `error` if the test needs more.
[[nodiscard]] inline run_shape shape_of(const runnable_test& test, const placement& where, const parameters& how,
                                        unsigned fitting, std::uint64_t seed) {
  const unsigned needed = where.clusters * where.cluster;
  fitting = fitting / where.cluster * where.cluster;
  if (fitting < needed) {
    throw error(cudaErrorCooperativeLaunchTooLarge,
                "membar: %s needs %u blocks of %u threads at once in each launch, and the device holds %u of its kernel: use a "
                "smaller width",
                test.twin.name.c_str(), needed, block_width(where, how), fitting);
  }
  if (how.home >= static_cast<int>(where.launches.size())) {
    throw error(cudaErrorInvalidValue, "membar: the parameter home is %d, and %s has %zu launch%s: they count from 0", how.home,
                test.twin.name.c_str(), where.launches.size(), where.launches.size() == 1 ? "" : "es");
  }
  const auto part = [&](int percent) {
    return static_cast<unsigned>(1ULL * fitting * static_cast<unsigned>(percent) / 100 / where.cluster * where.cluster);
  };
  run_shape shape;
  shape.used = how;
  shape.used.within = where.warps_differ ? spread::warps : how.within;
  shape.used.width = static_cast<int>(block_width(where, how));
  shape.where.width = block_width(where, how);
  shape.where.blocks = std::max(needed, part(how.share));
  if (!where.host_threads.empty()) {
    // a host thread runs an instance in the time in which a GPU runs hundreds: few at once meet it in time
    constexpr unsigned threads_beside_a_host = 2048;
    const unsigned few = threads_beside_a_host / shape.where.width / where.cluster * where.cluster;
    shape.where.blocks = std::min(shape.where.blocks, std::max(needed, few));
  }
  shape.stress_blocks = std::min(part(how.stress), fitting - shape.where.blocks);
  shape.where.cluster = where.cluster;
  shape.where.batch = static_cast<unsigned>(how.batch);
  shape.where.locations = static_cast<unsigned>(test.cells);
  shape.where.observations = static_cast<unsigned>(test.observed.size());
  shape.where.stride = static_cast<unsigned>(how.stride);
  shape.where.together = how.together;
  shape.where.within = shape.used.within;
  shape.where.seed = seed;
  return shape;
}

/// Whether the run of a test thread on the host has been given up: a loop in it leaves then. `abandoned` is the device's.
[[nodiscard]] inline bool abandoned_on_host(const cells& at) noexcept {
  return std::atomic_ref<unsigned>(at.words()->abandoned).load(std::memory_order_relaxed) != 0;
}

namespace detail {

/// Memory of the current device.
class device_bytes : public membar::detail::owned_array<unsigned char, &cudaFree> {
 public:
  explicit device_bytes(std::size_t size) : membar::detail::owned_array<unsigned char, &cudaFree>(allocated(size), size) {}

 private:
  [[nodiscard]] static void* allocated(std::size_t size) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, size),
          "the device has too little free memory for the test: use a smaller batch, stride, share or number of lines");
    return memory;
  }
};

/// Memory that is kept for the next run, and replaced by more where that needs more.
template <class Memory>
class kept {
 public:
  [[nodiscard]] unsigned char* at_least(std::size_t bytes) {
    if (!memory_ || memory_->size() < bytes) {
      memory_.reset();
      memory_.emplace(std::max<std::size_t>(bytes, 1));
    }
    return memory_->data();
  }

 private:
  std::optional<Memory> memory_;
};

/// A stream of the current device that waits for no other, and events around what runs there.
class timed_stream {
 public:
  timed_stream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    try {
      check(cudaEventCreate(&before_));
      check(cudaEventCreate(&after_));
    } catch (...) {
      release();
      throw;
    }
  }
  timed_stream(timed_stream&& other) noexcept
      : stream_(std::exchange(other.stream_, nullptr)),
        before_(std::exchange(other.before_, nullptr)),
        after_(std::exchange(other.after_, nullptr)) {}
  timed_stream& operator=(timed_stream&&) = delete;
  ~timed_stream() { release(); }

  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }
  void begin() const { check(cudaEventRecord(before_, stream_)); }
  void end() const { check(cudaEventRecord(after_, stream_)); }
  [[nodiscard]] double seconds() const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, before_, after_));
    return static_cast<double>(milliseconds) / 1e3;
  }
  /// Whether everything enqueued so far has ended. Throws `error` if it failed.
  [[nodiscard]] bool idle() const {
    const cudaError_t status = cudaStreamQuery(stream_);
    if (status == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
    check(status, "the test's kernel failed, and this process cannot use the device any more");
    return true;
  }

 private:
  void release() noexcept {
    if (before_ != nullptr) {
      static_cast<void>(cudaEventDestroy(before_));
    }
    if (after_ != nullptr) {
      static_cast<void>(cudaEventDestroy(after_));
    }
    if (stream_ != nullptr) {
      static_cast<void>(cudaStreamDestroy(stream_));
    }
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t before_ = nullptr;
  cudaEvent_t after_ = nullptr;
};

/// The attributes of a launch: its clusters and its domain.
struct launch_attributes {
  cudaLaunchAttribute list[3] = {};
  unsigned count = 0;

  launch_attributes(unsigned cluster, int domain, int domains) {
    if (cluster > 1) {
      add(cluster_dimensions{.x = cluster});
    }
    // where there is one domain, it is the launch's
    if (domains > 1) {
      add(sync_domain(sync_domain::default_));
      add(sync_domain_map{.default_ = domain, .remote = domain});
    }
  }

 private:
  template <class Attribute>
  void add(const Attribute& value) {
    list[count] = membar::detail::encoded(value);
    list[count++].id = attribute_traits<Attribute>::ids[0];
  }
};

/// How many blocks of the kernel the current device holds at once, in whole clusters. Loads the kernel.
[[nodiscard]] inline unsigned blocks_that_fit(const void* kernel, const machine::device& on, unsigned width, unsigned cluster,
                                              std::size_t shared_bytes) {
  int fitting = 0;
  if (cluster == 1) {
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fitting, kernel, static_cast<int>(width), shared_bytes),
          "the kernel must be compiled for the device");
    return static_cast<unsigned>(fitting) * static_cast<unsigned>(on.multiprocessors);
  }
  launch_attributes attributes(cluster, 0, 1);
  cudaLaunchConfig_t config{};
  config.gridDim = cluster * static_cast<unsigned>(on.multiprocessors);
  config.blockDim = width;
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = attributes.list;
  config.numAttrs = attributes.count;
  check(cudaOccupancyMaxActiveClusters(&fitting, kernel, &config),
        "the kernel must be compiled for the device, and the device must have clusters");
  return static_cast<unsigned>(fitting) * cluster;
}

using wall_clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(wall_clock::time_point begin) noexcept {
  return std::chrono::duration<double>(wall_clock::now() - begin).count();
}

/// A host thread's part of a slice: what `run_launch` is to a launch.
class host_party {
 public:
  host_party(const launch_view& view, unsigned party, int thread, const host_thread& code, wall_clock::time_point deadline)
      : view_(view), party_(party), thread_(thread), code_(&code), deadline_(deadline) {}

  void operator()() const {
    const seat& own = view_.seats[thread_];
    if (!meet(1)) {
      return;
    }
    for (unsigned k = 0; k < view_.steps; ++k) {
      const unsigned step = view_.first_step + k;
      const unsigned region = k & 1U;
      unsigned rotations[max_locations] = {};
      for (unsigned location = 0; location < view_.where.locations; ++location) {
        rotations[location] = rotation_of(view_.where, step, location);
      }
      for (unsigned turn = 0; turn < view_.where.instances(); ++turn) {
        const unsigned instance = host_instance(view_.where, own, step, turn);
        (*code_)(thread_,
                 cells(view_.where, view_.cells + region * view_.where.region_bytes(), rotations, instance, view_.all_words, 0),
                 digits(view_.where, view_.digits + region * view_.where.digit_bytes(), instance));
      }
      if (!meet(k + 2)) {
        return;
      }
    }
  }

 private:
  /// The barrier of all parties: see `meet` of kernel.cuh, whose system-scope side this is the other of.
  [[nodiscard]] bool meet(unsigned barrier) const {
    shared_words& all = *view_.all_words;
    std::atomic_ref<unsigned>(all.parties[party_].reached).store(barrier, std::memory_order_release);
    for (unsigned p = 0; p < view_.parties; ++p) {
      const std::atomic_ref<unsigned> reached(all.parties[p].reached);
      for (unsigned polls = 1; static_cast<int>(reached.load(std::memory_order_acquire) - barrier) < 0; ++polls) {
        constexpr unsigned polls_per_look = 1024;
        if (polls % polls_per_look != 0) {
          continue;
        }
        std::this_thread::yield();
        const std::atomic_ref<unsigned> abandoned(all.abandoned);
        if (abandoned.load(std::memory_order_relaxed) != 0) {
          return false;
        }
        if (wall_clock::now() > deadline_) {
          std::atomic_ref<unsigned>(all.abandoned_at).store(barrier, std::memory_order_relaxed);
          abandoned.store(1 + party_, std::memory_order_relaxed);
          return false;
        }
      }
    }
    return true;
  }

  launch_view view_;
  unsigned party_;
  int thread_;
  const host_thread* code_;
  wall_clock::time_point deadline_;
};

}  // namespace detail

/// Runs tests, one after the other, and keeps its memory from run to run. Not for several threads at once.
class engine {
 public:
  explicit engine(machine on = this_machine()) : on_(std::move(on)), memory_(on_.devices.size()) {}
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  ~engine() {
    if (hung_) {
      // to free memory would wait for a kernel that does not end
      static_cast<void>(new std::vector<device_memory>(std::move(memory_)));
      static_cast<void>(new host_memory(std::move(shared_)));
    }
  }

  /// The machine it runs tests on.
  [[nodiscard]] const machine& runs_on() const noexcept { return on_; }

  /// Runs `test` where the places of its twin say.
  ///
  /// Everything is allocated and loaded before the first kernel starts. The run is cut into slices; each is a launch per device
  /// and domain, and a host thread per test thread of the host, that meet at every step's end.
  /// Errors: `error` with one sentence if the machine lacks what the places ask for, if the parameters do not fit, if a kernel
  /// fails, or if the run timed out. The engine runs the next test then, unless that kernel's failure took the device with it.
  [[nodiscard]] run_result run(const runnable_test& test, const parameters& how = {}, const run_options& options = {}) {
    return run(test, place_threads(test.twin, on_), how, options);
  }

  /// The same with a placement made before.
  [[nodiscard]] run_result run(const runnable_test& test, const placement& where, const parameters& how,
                               const run_options& options) {
    check_test(test, where);
    validate(how);
    const run_shape shape = shape_of(test, where, how, fitting_blocks(test, where, how), options.seed);
    std::vector<launch_view> views = views_of(where, shape);
    std::vector<detail::timed_stream> streams;
    for (const placement::launch& launch : where.launches) {
      const device_guard current(device_of(launch).ordinal);
      streams.emplace_back();
    }
    run_result result;
    result.used = shape.used;
    result.shape = shape.where;
    result.stress_blocks = shape.stress_blocks;
    result.device = names_of(where);
    result.counts.resize(test.outcomes());
    result.slices_with.resize(test.outcomes());
    prepare(where, views[home_of(shape)], shape, test);

    const auto begin = detail::wall_clock::now();
    const std::uint64_t per_step = shape.where.instances();
    // A slice's counters have 32 bits: arrivals at the barrier, and instances of a block.
    const std::uint64_t most_steps = std::min<std::uint64_t>((1ULL << 30) / (shape.where.blocks + 1ULL),
                                                             (1ULL << 32) / (1ULL * shape.where.width * shape.where.batch) - 1);
    double step_seconds = seconds_at_most(test, where, shape);
    std::uint64_t steps = 1;
    while (true) {
      if (options.instances != 0) {
        steps = std::min(steps, (options.instances - result.instances + per_step - 1) / per_step);
      }
      steps = std::clamp<std::uint64_t>(steps, 1, most_steps);
      const double expected = static_cast<double>(steps) * step_seconds;
      const double seconds = slice(test, where, shape, views, streams, static_cast<unsigned>(result.steps),
                                   static_cast<unsigned>(steps), 4 * expected + options.patience_seconds);
      result.seconds += seconds;
      result.steps += steps;
      result.instances += steps * per_step;
      count_slice(where, views[home_of(shape)], shape, result);
      if (detail::seconds_since(begin) >= options.seconds ||
          (options.instances != 0 && result.instances >= options.instances)) {
        break;
      }
      step_seconds = seconds / static_cast<double>(steps);
      const double fit = options.slice_seconds / std::max(step_seconds, 1e-9);
      // what a short slice says of a long one is not worth much
      steps = static_cast<std::uint64_t>(std::min(fit, 16.0 * static_cast<double>(steps)));
    }
    return result;
  }

 private:
  /// What is kept per device.
  struct device_memory {
    detail::kept<detail::device_bytes> cells;
    detail::kept<detail::device_bytes> digits;
    detail::kept<detail::device_bytes> counts;
    detail::kept<detail::device_bytes> words;
    detail::kept<detail::device_bytes> scratch;
  };
  /// What is kept in mapped memory, for tests with threads on the host.
  struct host_memory {
    detail::kept<mapped_memory<unsigned char>> cells;
    detail::kept<mapped_memory<unsigned char>> digits;
    detail::kept<mapped_memory<unsigned char>> words;
  };

  static_assert(sizeof(std::uint64_t) == sizeof(unsigned long long));

  /// What is known of a step before one has run: how long it may be by the parameters alone. A clock is a nanosecond at most,
  /// and a host thread runs an instance in less than a microsecond.
  [[nodiscard]] static double seconds_at_most(const runnable_test& test, const placement& where, const run_shape& shape) {
    const double waits = 1e-9 * shape.used.delay * shape.used.batch * static_cast<double>(test.twin.threads.size());
    const double on_host = where.host_threads.empty() ? 0.0 : 1e-6 * static_cast<double>(shape.where.instances());
    return waits + on_host;
  }

  static constexpr std::size_t words_bytes = sizeof(shared_words) + max_parties * sizeof(launch_words);

  [[nodiscard]] static std::size_t home_of(const run_shape& shape) noexcept {
    return static_cast<std::size_t>(shape.used.home);
  }
  [[nodiscard]] const machine::device& device_of(const placement::launch& launch) const {
    return on_.devices[static_cast<std::size_t>(launch.device)];
  }
  [[nodiscard]] device_memory& memory_of(const placement::launch& launch) {
    return memory_[static_cast<std::size_t>(launch.device)];
  }
  [[nodiscard]] static std::size_t shared_bytes(const runnable_test& test) {
    return static_cast<std::size_t>(test.outcomes()) * sizeof(unsigned);
  }
  [[nodiscard]] static std::ptrdiff_t launches_on(const placement& where, int device) {
    return std::count_if(where.launches.begin(), where.launches.end(), [&](const auto& l) { return l.device == device; });
  }

  [[nodiscard]] std::string names_of(const placement& where) const {
    std::vector<int> seen;
    std::string names;
    for (const placement::launch& launch : where.launches) {
      if (std::find(seen.begin(), seen.end(), launch.device) == seen.end()) {
        seen.push_back(launch.device);
        names += (names.empty() ? "" : " + ") + device_of(launch).name;
      }
    }
    return names + (where.host_threads.empty() ? "" : " + host");
  }

  void check_test(const runnable_test& test, const placement& where) const {
    if (hung_) {
      throw error(cudaErrorLaunchTimeout,
                  "membar: an earlier test's kernel has not ended, because a loop in it does not look at abandoned(): end this "
                  "process to run further tests");
    }
    if (test.outcomes() > max_outcomes) {
      throw error(cudaErrorInvalidValue, "membar: %s has %llu outcomes, and %u can be counted: observe less, or fewer values",
                  test.twin.name.c_str(), static_cast<unsigned long long>(test.outcomes()), max_outcomes);
    }
    if (test.cells < 1 || test.cells > max_locations || test.observed.size() > static_cast<std::size_t>(max_observations)) {
      throw error(cudaErrorInvalidValue, "membar: %s has %d locations and %zu observations: there can be 1 to %d and up to %d",
                  test.twin.name.c_str(), test.cells, test.observed.size(), max_locations, max_observations);
    }
    if (test.kernel == nullptr || where.seats.size() != test.twin.threads.size()) {
      throw error(cudaErrorInvalidValue, "membar: %s has no kernel, or a placement of another test", test.twin.name.c_str());
    }
    if (!where.host_threads.empty() && !test.on_host) {
      throw error(cudaErrorNotSupported, "membar: %s has a thread on the host, and no code that the host can run for it",
                  test.twin.name.c_str());
    }
  }

  /// How many blocks of each launch are resident at once; launches on one device share it. Loads the kernel everywhere, and
  /// lets devices access each other.
  [[nodiscard]] unsigned fitting_blocks(const runnable_test& test, const placement& where, const parameters& how) {
    unsigned fitting = std::numeric_limits<unsigned>::max();
    for (const placement::launch& launch : where.launches) {
      const device_guard current(device_of(launch).ordinal);
      const unsigned here =
          detail::blocks_that_fit(test.kernel, device_of(launch), block_width(where, how), where.cluster, shared_bytes(test));
      fitting = std::min(fitting, here / static_cast<unsigned>(launches_on(where, launch.device)));
      for (const placement::launch& other : where.launches) {
        if (other.device != launch.device) {
          const cudaError_t status = cudaDeviceEnablePeerAccess(device_of(other).ordinal, 0);
          if (status == cudaErrorPeerAccessAlreadyEnabled) {
            static_cast<void>(cudaGetLastError());
          } else {
            check(status, "the devices must be able to access each other's memory");
          }
        }
      }
    }
    return fitting;
  }

  /// What each launch is given, with all memory allocated.
  [[nodiscard]] std::vector<launch_view> views_of(const placement& where, const run_shape& shape) {
    launch_view common;
    common.where = shape.where;
    std::copy(where.seats.begin(), where.seats.end(), std::begin(common.seats));
    common.parties = static_cast<unsigned>(where.parties());
    common.system_wide = common.parties > 1;
    common.align = shape.used.align;
    common.order = shape.used.order;
    common.tally = shape.used.tally;
    common.pattern = shape.used.pattern;
    common.pre_pattern = shape.used.pre_pattern;
    common.delay = static_cast<unsigned>(shape.used.delay);
    common.pre_stress = static_cast<unsigned>(shape.used.pre_stress);
    common.stress_lines = static_cast<unsigned>(shape.used.stress_lines);
    common.stress_line_bytes = static_cast<unsigned>(shape.used.stress_line_bytes);

    const std::size_t cell_bytes_needed = 2 * shape.where.region_bytes();
    const std::size_t digit_bytes_needed = 2 * shape.where.digit_bytes();
    const placement::launch& keeper = where.launches[home_of(shape)];
    {
      const device_guard current(device_of(keeper).ordinal);
      device_memory& home = memory_of(keeper);
      common.counts = reinterpret_cast<unsigned long long*>(home.counts.at_least(max_outcomes * sizeof(std::uint64_t)));
      if (where.host_threads.empty()) {
        common.cells = home.cells.at_least(cell_bytes_needed);
        common.digits = home.digits.at_least(digit_bytes_needed);
        common.all_words = reinterpret_cast<shared_words*>(home.words.at_least(words_bytes));
      } else {
        common.cells = shared_.cells.at_least(cell_bytes_needed);
        common.digits = shared_.digits.at_least(digit_bytes_needed);
        common.all_words = reinterpret_cast<shared_words*>(shared_.words.at_least(words_bytes));
      }
    }
    std::vector<launch_view> views;
    for (std::size_t l = 0; l < where.launches.size(); ++l) {
      const placement::launch& launch = where.launches[l];
      const device_guard current(device_of(launch).ordinal);
      device_memory& own = memory_of(launch);
      launch_view view = common;
      view.party = static_cast<unsigned>(l);
      view.keeper = l == home_of(shape);
      view.own_count = static_cast<unsigned>(launch.threads.size());
      for (std::size_t t = 0; t < launch.threads.size(); ++t) {
        view.own[t] = static_cast<unsigned char>(launch.threads[t]);
      }
      auto* const words = own.words.at_least(words_bytes) + sizeof(shared_words);
      view.own_words = reinterpret_cast<launch_words*>(words) + l;
      // launches of one device stress the same lines
      view.scratch = own.scratch.at_least(1ULL * view.stress_lines * view.stress_line_bytes);
      views.push_back(view);
    }
    return views;
  }

  /// Fills what the views of a run point to: device memory, or mapped memory where threads are on the host. No kernel runs
  /// then.
  static void fill(const placement& where, void* memory, int value, std::size_t bytes) {
    if (where.host_threads.empty()) {
      check(cudaMemset(memory, value, bytes));
    } else {
      std::memset(memory, value, bytes);
    }
  }

  /// No outcome is counted yet, and every digit is one that no test reports.
  void prepare(const placement& where, const launch_view& home, const run_shape& shape, const runnable_test& test) const {
    const device_guard current(device_of(where.launches[home_of(shape)]).ordinal);
    check(cudaMemset(home.counts, 0, static_cast<std::size_t>(test.outcomes()) * sizeof(std::uint64_t)));
    fill(where, home.digits, 0xff, 2 * shape.where.digit_bytes());
    check(cudaDeviceSynchronize(), "a kernel failed");
  }

  /// Reads what the run has counted so far, and which outcomes its last slice showed.
  void count_slice(const placement& where, const launch_view& home, const run_shape& shape, run_result& result) const {
    const device_guard current(device_of(where.launches[home_of(shape)]).ordinal);
    std::vector<std::uint64_t> now(result.counts.size());
    check(cudaMemcpy(now.data(), home.counts, now.size() * sizeof(std::uint64_t), cudaMemcpyDeviceToHost));
    for (std::size_t key = 0; key < now.size(); ++key) {
      result.slices_with[key] += now[key] != result.counts[key] ? 1 : 0;
    }
    result.counts = std::move(now);
    ++result.slices;
  }

  /// Runs `steps` steps and returns the seconds that the kernels took. Throws `error` if not all parties came to a barrier.
  double slice(const runnable_test& test, const placement& where, const run_shape& shape, std::vector<launch_view>& views,
               const std::vector<detail::timed_stream>& streams, unsigned first_step, unsigned steps, double budget_seconds) {
    for (std::size_t l = 0; l < views.size(); ++l) {
      views[l].first_step = first_step;
      views[l].steps = steps;
      views[l].budget_ns = static_cast<unsigned long long>(budget_seconds * 1e9);
      const device_guard current(device_of(where.launches[l]).ordinal);
      check(cudaMemset(views[l].own_words, 0, sizeof(launch_words)));
      if (views[l].keeper) {
        fill(where, views[l].all_words, 0, sizeof(shared_words));
      }
      check(cudaDeviceSynchronize(), "a kernel failed");
    }
    const auto begin = detail::wall_clock::now();
    const auto deadline =
        begin + std::chrono::duration_cast<detail::wall_clock::duration>(std::chrono::duration<double>(budget_seconds));
    std::vector<std::thread> hosts;
    std::exception_ptr failure;
    try {
      for (std::size_t l = 0; l < views.size(); ++l) {
        launch(test, where.launches[l], shape, views[l], streams[l]);
      }
      for (const int t : where.host_threads) {
        hosts.emplace_back(
            detail::host_party(views.front(), where.seats[static_cast<std::size_t>(t)].launch, t, test.on_host, deadline));
      }
    } catch (...) {
      // what has been launched gives up when its time is over
      failure = std::current_exception();
    }
    // A kernel looks at its own deadline; one that has not ended long after it never will.
    constexpr double grace_seconds = 10;
    try {
      for (const detail::timed_stream& stream : streams) {
        while (!stream.idle()) {
          std::this_thread::yield();
          if (detail::seconds_since(begin) > budget_seconds + grace_seconds) {
            hung_ = true;
            throw error(
                cudaErrorLaunchTimeout,
                "membar: the kernel of %s has not ended %.0f s after its time was over: a loop in the test must look at "
                "abandoned()",
                test.twin.name.c_str(), grace_seconds);
          }
        }
      }
    } catch (...) {
      failure = failure != nullptr ? failure : std::current_exception();
    }
    for (std::thread& host : hosts) {
      host.join();
    }
    if (failure != nullptr) {
      std::rethrow_exception(failure);
    }
    require_all_arrived(test, where, views.front(), budget_seconds);
    double seconds = 0;
    for (const detail::timed_stream& stream : streams) {
      seconds = std::max(seconds, stream.seconds());
    }
    return seconds;
  }

  void launch(const runnable_test& test, const placement::launch& launch, const run_shape& shape, launch_view& view,
              const detail::timed_stream& stream) const {
    const machine::device& device = device_of(launch);
    const device_guard current(device.ordinal);
    detail::launch_attributes attributes(shape.where.cluster, launch.domain, device.domains);
    cudaLaunchConfig_t config{};
    config.gridDim = shape.where.blocks + shape.stress_blocks;
    config.blockDim = shape.where.width;
    config.dynamicSmemBytes = shared_bytes(test);
    config.stream = stream.get();
    config.attrs = attributes.list;
    config.numAttrs = attributes.count;
    void* arguments[] = {&view};
    stream.begin();
    check(cudaLaunchKernelExC(&config, test.kernel, arguments),
          "the kernel must be compiled for the device, and take one launch_view");
    stream.end();
  }

  /// Throws `error` if a party gave the slice up.
  void require_all_arrived(const runnable_test& test, const placement& where, const launch_view& view,
                           double budget_seconds) const {
    shared_words words{};
    check(cudaMemcpy(&words, view.all_words, sizeof words, cudaMemcpyDefault));
    if (words.abandoned == 0) {
      return;
    }
    const unsigned by = words.abandoned - 1;
    const bool in_a_loop = by >= view.parties;
    const std::string who = in_a_loop ? "a thread of the test waited in a loop"
                            : by >= where.launches.size()
                                ? "a host thread waited for the others"
                                : "the launch on " + device_of(where.launches[by]).name + " waited for the others";
    const std::string at =
        in_a_loop ? "" : " at barrier " + std::to_string(words.abandoned_at) + " of " + std::to_string(view.steps + 1);
    throw error(
        cudaErrorLaunchTimeout,
        "membar: %s timed out: %s longer than %.1f s%s. Some thread of the test does not end, or not all launches can run "
        "at once%s",
        test.twin.name.c_str(), who.c_str(), budget_seconds, at.c_str(),
        where.launches.size() > 1 ? ": check that no other program uses the GPU and CUDA_DEVICE_MAX_CONNECTIONS" : "");
  }

  machine on_;
  std::vector<device_memory> memory_;
  host_memory shared_;
  bool hung_ = false;
};

}  // namespace membar::litmus
