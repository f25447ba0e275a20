// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The engine, which runs a litmus test on a machine with launches and host threads, and counts the test's outcomes.
#pragma once

#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/litmus/engine_resources.hpp>
#include <membar/litmus/instance_layout.hpp>
#include <membar/litmus/launch_view.hpp>
#include <membar/litmus/parameters.hpp>
#include <membar/litmus/placement.hpp>
#include <membar/litmus/run_shape.hpp>
#include <membar/litmus/runnable_test.hpp>
#include <membar/mapped_memory.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace litmus {

/// The duration and the seed of a run. The seed makes the run reproducible.
struct run_options {
  double seconds = 1.0;           ///< wall-clock time; the last slice may exceed it
  std::uint64_t instances = 0;    ///< the run ends after this many instances; with 0, only `seconds` limits the run
  std::uint64_t seed = 1;         ///< the seed of all steps' layouts
  double slice_seconds = 0.05;    ///< duration of a slice, after which the host checks the time
  double patience_seconds = 2.0;  ///< how much longer than expected a slice may take before the engine aborts the run
};

/// The counts of a run.
struct run_result {
  std::vector<std::uint64_t> counts;       ///< the number of instances with each outcome
  std::vector<std::uint64_t> slices_with;  ///< per outcome: the number of slices in which it was observed
  std::uint64_t slices = 0;                ///< the number of slices; each slice is a part of the run with its own launches
  std::uint64_t instances = 0;
  std::uint64_t steps = 0;
  double seconds = 0;  ///< the time during which the kernels ran
  parameters used{};
  instance_layout layout{};
  unsigned stress_blocks = 0;  ///< stress blocks per launch
  std::string device;          ///< the names of all devices

  [[nodiscard]] double rate() const noexcept { return seconds > 0 ? static_cast<double>(instances) / seconds : 0; }
};

/// Runs tests one after the other and reuses its memory. The class is not thread-safe.
class engine {
 public:
  explicit engine(machine on = this_machine()) : on_(std::move(on)), memory_(on_.devices.size()) {}
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  ~engine() {
    if (hung_) {
      // freeing the memory would wait for a kernel that never ends
      static_cast<void>(new std::vector<device_memory>(std::move(memory_)));
      static_cast<void>(new host_memory(std::move(host_memory_)));
    }
  }

  /// Returns the machine that the engine runs tests on.
  [[nodiscard]] const machine& runs_on() const noexcept { return on_; }

  /// Runs `test`, with its threads placed as in its model test.
  ///
  /// Everything is allocated and loaded before the first kernel starts. The run is divided into slices. A slice consists of one
  /// launch per device and domain, and one host thread per test thread on the host; a barrier across all of them ends each
  /// step. Errors: throws `error` if the machine does not support the places, if the parameters do not fit, if a kernel fails,
  /// or if the run times out. Afterwards the engine can run the next test, unless the failed kernel made the device unusable.
  [[nodiscard]] run_result run(const runnable_test& test, const parameters& how = {}, const run_options& options = {}) {
    return run(test, place_threads(test.model_test, on_), how, options);
  }

  /// Runs `test` with the placement `where`.
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
    result.layout = shape.layout;
    result.stress_blocks = shape.stress_blocks;
    result.device = names_of(where);
    result.counts.resize(test.outcomes());
    result.slices_with.resize(test.outcomes());
    clear_counts(where, views[owner_of(shape)], shape, test);

    const auto begin = detail::wall_clock::now();
    const std::uint64_t per_step = shape.layout.instances();
    // A slice's counters of barrier arrivals and of a block's instances are 32 bits wide.
    const std::uint64_t most_steps = std::min<std::uint64_t>(
        (1ULL << 30) / (shape.layout.blocks + 1ULL), (1ULL << 32) / (1ULL * shape.layout.width * shape.layout.batch) - 1);
    double step_seconds = seconds_at_most(test, where, shape);
    std::uint64_t steps = 1;
    while (true) {
      if (options.instances != 0) {
        steps = std::min(steps, (options.instances - result.instances + per_step - 1) / per_step);
      }
      steps = std::clamp<std::uint64_t>(steps, 1, most_steps);
      const double expected = static_cast<double>(steps) * step_seconds;
      const double seconds = run_slice(test, where, shape, views, streams, static_cast<unsigned>(result.steps),
                                       static_cast<unsigned>(steps), 4 * expected + options.patience_seconds);
      const std::uint64_t before = result.instances;
      result.seconds += seconds;
      result.steps += steps;
      count_slice(where, views[owner_of(shape)], shape, result);
      if (detail::seconds_since(begin) >= options.seconds ||
          (options.instances != 0 && result.instances >= options.instances)) {
        break;
      }
      // The time of a step that runs all its instances; a kernel may skip some instances when its time ends.
      step_seconds =
          seconds * static_cast<double>(per_step) / static_cast<double>(std::max<std::uint64_t>(1, result.instances - before));
      const double fit = options.slice_seconds / std::max(step_seconds, 1e-9);
      // the duration of a short slice does not predict the duration of a long slice well
      steps = static_cast<std::uint64_t>(std::min(fit, 16.0 * static_cast<double>(steps)));
    }
    return result;
  }

 private:
  /// The memory of one device.
  struct device_memory {
    detail::reusable<detail::device_bytes> cells;
    detail::reusable<detail::device_bytes> digits;
    detail::reusable<detail::device_bytes> counts;
    detail::reusable<detail::device_bytes> barriers;
    detail::reusable<detail::device_bytes> scratch;
  };
  /// Mapped memory, for tests with host threads.
  struct host_memory {
    detail::reusable<mapped_memory<unsigned char>> cells;
    detail::reusable<mapped_memory<unsigned char>> digits;
    detail::reusable<mapped_memory<unsigned char>> barriers;
  };

  static_assert(sizeof(std::uint64_t) == sizeof(unsigned long long));

  /// Returns an upper estimate of a step's time. The estimate uses only the parameters, because no step has run yet. It assumes
  /// that a clock cycle takes at most a nanosecond, and that a host thread runs an instance in less than a microsecond.
  [[nodiscard]] static double seconds_at_most(const runnable_test& test, const placement& where, const run_shape& shape) {
    const double waits = 1e-9 * shape.used.delay * shape.used.batch * static_cast<double>(test.model_test.threads.size());
    const double on_host = where.threads_on_host.empty() ? 0.0 : 1e-6 * static_cast<double>(shape.layout.instances());
    return waits + on_host;
  }

  static constexpr std::size_t barrier_bytes = sizeof(run_barrier_words) + max_participants * sizeof(block_barrier_words);

  [[nodiscard]] static std::size_t owner_of(const run_shape& shape) noexcept {
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
    return names + (where.threads_on_host.empty() ? "" : " + host");
  }

  void check_test(const runnable_test& test, const placement& where) const {
    if (hung_) {
      throw error(cudaErrorLaunchTimeout,
                  "membar: the kernel of an earlier test is still running, because one of its loops does not check "
                  "abandoned(): run further "
                  "tests in a new process");
    }
    if (test.outcomes() > max_outcomes) {
      throw error(cudaErrorInvalidValue,
                  "membar: %s has %llu outcomes, but at most %u can be counted: observe fewer locations or fewer values",
                  test.model_test.name.c_str(), static_cast<unsigned long long>(test.outcomes()), max_outcomes);
    }
    if (test.locations < 1 || test.locations > max_locations ||
        test.observed.size() > static_cast<std::size_t>(max_observations)) {
      throw error(cudaErrorInvalidValue,
                  "membar: %s has %d locations and %zu observations: use 1 to %d locations and at most %d observations",
                  test.model_test.name.c_str(), test.locations, test.observed.size(), max_locations, max_observations);
    }
    if (test.kernel == nullptr || where.seats.size() != test.model_test.threads.size()) {
      throw error(cudaErrorInvalidValue,
                  "membar: %s has no kernel, or its placement is for a different number of threads: pass the result of "
                  "place_threads for this test",
                  test.model_test.name.c_str());
    }
    if (test.dependent_kernel != nullptr &&
        (where.launches.size() != 1 || where.launches[0].domain != 0 || where.cluster != 1 || !where.threads_on_host.empty())) {
      throw error(cudaErrorNotSupported,
                  "membar: %s has a dependent kernel, but its threads are in clusters, in several launches, in another domain "
                  "or on the host: place them in blocks of one device and in domain 0",
                  test.model_test.name.c_str());
    }
    if (!where.threads_on_host.empty() && !test.on_host) {
      throw error(cudaErrorNotSupported,
                  "membar: %s has a host thread, but no code for the host to run: set on_host, or place every thread on a GPU",
                  test.model_test.name.c_str());
    }
  }

  /// Returns the number of blocks of each launch that can be resident at the same time, given that launches on one device share
  /// that device. The function loads the kernel on every device and enables peer access between the devices.
  [[nodiscard]] unsigned fitting_blocks(const runnable_test& test, const placement& where, const parameters& how) {
    unsigned fitting = std::numeric_limits<unsigned>::max();
    for (const placement::launch& launch : where.launches) {
      const device_guard current(device_of(launch).ordinal);
      const unsigned here =
          detail::blocks_that_fit(test.kernel, device_of(launch), block_width(where, how), where.cluster, shared_bytes(test));
      const unsigned at_once = test.dependent_kernel == nullptr ? 1 : 2;
      fitting = std::min(fitting, here / static_cast<unsigned>(launches_on(where, launch.device)) / at_once);
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

  /// Returns the argument of each launch, with all memory allocated.
  [[nodiscard]] std::vector<launch_view> views_of(const placement& where, const run_shape& shape) {
    launch_view common;
    common.layout = shape.layout;
    std::copy(where.seats.begin(), where.seats.end(), std::begin(common.seats));
    common.participants = static_cast<unsigned>(where.participants());
    common.system_wide = common.participants > 1;
    common.align = shape.used.align;
    common.order = shape.used.order;
    common.tally = shape.used.tally;
    common.pattern = shape.used.pattern;
    common.pre_pattern = shape.used.pre_pattern;
    common.delay = static_cast<unsigned>(shape.used.delay);
    common.pre_stress = static_cast<unsigned>(shape.used.pre_stress);
    common.stress_lines = static_cast<unsigned>(shape.used.stress_lines);
    common.stress_line_bytes = static_cast<unsigned>(shape.used.stress_line_bytes);

    const std::size_t cell_bytes_needed = 2 * shape.layout.region_bytes();
    const std::size_t digit_bytes_needed = 2 * shape.layout.digit_bytes();
    const placement::launch& owner = where.launches[owner_of(shape)];
    {
      const device_guard current(device_of(owner).ordinal);
      device_memory& memory = memory_of(owner);
      common.counts = reinterpret_cast<unsigned long long*>(memory.counts.at_least(max_outcomes * sizeof(std::uint64_t)));
      if (where.threads_on_host.empty()) {
        common.cells = memory.cells.at_least(cell_bytes_needed);
        common.digits = memory.digits.at_least(digit_bytes_needed);
        common.run_barrier = reinterpret_cast<run_barrier_words*>(memory.barriers.at_least(barrier_bytes));
      } else {
        common.cells = host_memory_.cells.at_least(cell_bytes_needed);
        common.digits = host_memory_.digits.at_least(digit_bytes_needed);
        common.run_barrier = reinterpret_cast<run_barrier_words*>(host_memory_.barriers.at_least(barrier_bytes));
      }
    }
    std::vector<launch_view> views;
    for (std::size_t l = 0; l < where.launches.size(); ++l) {
      const placement::launch& launch = where.launches[l];
      const device_guard current(device_of(launch).ordinal);
      device_memory& memory = memory_of(launch);
      launch_view view = common;
      view.participant = static_cast<unsigned>(l);
      view.owner = l == owner_of(shape);
      view.test_thread_count = static_cast<unsigned>(launch.threads.size());
      for (std::size_t t = 0; t < launch.threads.size(); ++t) {
        view.test_threads[t] = static_cast<unsigned char>(launch.threads[t]);
      }
      auto* const barriers = memory.barriers.at_least(barrier_bytes) + sizeof(run_barrier_words);
      view.block_barrier = reinterpret_cast<block_barrier_words*>(barriers) + l;
      // all launches on a device stress the same lines
      view.scratch = memory.scratch.at_least(1ULL * view.stress_lines * view.stress_line_bytes);
      views.push_back(view);
    }
    return views;
  }

  /// Fills the memory that the views point to while no kernel is running. The memory is mapped memory if a test thread is on
  /// the host, and device memory otherwise.
  static void fill(const placement& where, void* memory, int value, std::size_t bytes) {
    if (where.threads_on_host.empty()) {
      check(cudaMemset(memory, value, bytes));
    } else {
      std::memset(memory, value, bytes);
    }
  }

  /// Sets all counts to 0, and all observation digits to a value that no test reports.
  void clear_counts(const placement& where, const launch_view& owner, const run_shape& shape, const runnable_test& test) const {
    const device_guard current(device_of(where.launches[owner_of(shape)]).ordinal);
    check(cudaMemset(owner.counts, 0, static_cast<std::size_t>(test.outcomes()) * sizeof(std::uint64_t)));
    fill(where, owner.digits, 0xff, 2 * shape.layout.digit_bytes());
    check(cudaDeviceSynchronize(), "a kernel failed");
  }

  /// Reads the counts so far, which give the number of instances that ran, and finds the outcomes that the last slice observed.
  void count_slice(const placement& where, const launch_view& owner, const run_shape& shape, run_result& result) const {
    const device_guard current(device_of(where.launches[owner_of(shape)]).ordinal);
    std::vector<std::uint64_t> now(result.counts.size());
    check(cudaMemcpy(now.data(), owner.counts, now.size() * sizeof(std::uint64_t), cudaMemcpyDeviceToHost));
    for (std::size_t key = 0; key < now.size(); ++key) {
      result.slices_with[key] += now[key] != result.counts[key] ? 1U : 0U;
    }
    result.instances = std::accumulate(now.begin(), now.end(), std::uint64_t{0});
    result.counts = std::move(now);
    ++result.slices;
  }

  /// Runs `steps` steps and returns the kernel time in seconds. Throws `error` if a participant did not reach a barrier.
  double run_slice(const runnable_test& test, const placement& where, const run_shape& shape, std::vector<launch_view>& views,
                   const std::vector<detail::timed_stream>& streams, unsigned first_step, unsigned steps,
                   double budget_seconds) {
    for (std::size_t l = 0; l < views.size(); ++l) {
      views[l].first_step = first_step;
      views[l].steps = steps;
      views[l].budget_ns = static_cast<unsigned long long>(budget_seconds * 1e9);
      const device_guard current(device_of(where.launches[l]).ordinal);
      check(cudaMemset(views[l].block_barrier, 0, sizeof(block_barrier_words)));
      if (views[l].owner) {
        fill(where, views[l].run_barrier, 0, sizeof(run_barrier_words));
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
        const machine::device& device = device_of(where.launches[l]);
        const device_guard current(device.ordinal);
        streams[l].begin();
        if (test.dependent_kernel == nullptr) {
          detail::launch_kernel(test.kernel, device, where.launches[l].domain, shape, shared_bytes(test), views[l],
                                streams[l].get());
        } else {
          launch_pairs(test, shape, views[l], streams[l].get());
        }
        streams[l].end();
      }
      for (const int t : where.threads_on_host) {
        hosts.emplace_back(detail::host_participant(views.front(), where.seats[static_cast<std::size_t>(t)].launch, t,
                                                    test.on_host, deadline));
      }
    } catch (...) {
      // launches that have already started abort when their time is over
      failure = std::current_exception();
    }
    // A kernel checks its own deadline. If it is still running long after the deadline, it will never end.
    constexpr double grace_seconds = 10;
    try {
      for (const detail::timed_stream& stream : streams) {
        while (!stream.idle()) {
          std::this_thread::yield();
          if (detail::seconds_since(begin) > budget_seconds + grace_seconds) {
            hung_ = true;
            throw error(
                cudaErrorLaunchTimeout,
                "membar: the kernel of %s is still running %.0f s after its time limit: every loop in the test must check "
                "abandoned()",
                test.model_test.name.c_str(), grace_seconds);
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

  /// Launches both kernels of a test for each step of the slice. The first kernel waits for all earlier work, like any launch
  /// in a stream.
  static void launch_pairs(const runnable_test& test, const run_shape& shape, launch_view view, cudaStream_t stream) {
    const auto kernel = [](const void* address) { return reinterpret_cast<void (*)(launch_view)>(const_cast<void*>(address)); };
    const launch_config config{shape.layout.blocks, shape.layout.width, stream};
    const unsigned steps = view.steps;
    view.steps = 1;
    for (unsigned step = 0; step < steps; ++step) {
      membar::launch(config, kernel(test.kernel), view);
      membar::launch(config.with(programmatic_stream_serialization{}), kernel(test.dependent_kernel), view);
      ++view.first_step;
    }
  }

  /// Throws `error` if a participant aborted the slice.
  void require_all_arrived(const runnable_test& test, const placement& where, const launch_view& view,
                           double budget_seconds) const {
    run_barrier_words words{};
    check(cudaMemcpy(&words, view.run_barrier, sizeof words, cudaMemcpyDefault));
    if (words.abandoned == 0) {
      return;
    }
    const unsigned by = words.abandoned - 1;
    const bool in_a_loop = by >= view.participants;
    const std::string who = in_a_loop ? "a thread of the test waited in a loop"
                            : by >= where.launches.size()
                                ? "a host thread waited for the others"
                                : "the launch on " + device_of(where.launches[by]).name + " waited for the others";
    const std::string at =
        in_a_loop ? "" : " at barrier " + std::to_string(words.abandoned_at) + " of " + std::to_string(view.steps + 1);
    throw error(cudaErrorLaunchTimeout,
                "membar: %s timed out: %s for more than %.1f s%s. A thread of the test never ends, or the launches cannot all "
                "run at the same time%s",
                test.model_test.name.c_str(), who.c_str(), budget_seconds, at.c_str(),
                where.launches.size() > 1
                    ? ": check CUDA_DEVICE_MAX_CONNECTIONS, and make sure that no other program uses the GPU"
                    : "");
  }

  machine on_;
  std::vector<device_memory> memory_;
  host_memory host_memory_;
  bool hung_ = false;
};

}  // namespace litmus
}  // namespace v0_3
}  // namespace membar
