// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sanitize/run.hpp>
#include <sanitize/sanitize.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace membar::sanitize {

namespace {

/// Gathers what schedules find, in the order of their seeds.
class gathering {
 public:
  void add(std::vector<sanitizer_finding> found, const sanitize_statistics& counts) {
    const std::lock_guard lock(mutex_);
    for (sanitizer_finding& f : found) {
      const auto [at, is_new] = found_.try_emplace(f.key, f);
      if (!is_new) {
        const std::uint64_t count = at->second.count + f.count;
        if (f.seed < at->second.seed) {
          at->second = std::move(f);
        }
        at->second.count = count;
      }
    }
    counts_.schedules += counts.schedules;
    counts_.instructions += counts.instructions;
    counts_.accesses += counts.accesses;
    counts_.parts += counts.parts;
    counts_.clock_bytes = std::max(counts_.clock_bytes, counts.clock_bytes);
  }
  [[nodiscard]] bool has_found() {
    const std::lock_guard lock(mutex_);
    return !found_.empty();
  }
  [[nodiscard]] sanitize_result result() {
    sanitize_result all;
    for (auto& [key, f] : found_) {
      all.findings.push_back(std::move(f));
    }
    std::ranges::stable_sort(all.findings, {}, [](const sanitizer_finding& f) { return f.seed; });
    all.counts = counts_;
    return all;
  }

 private:
  std::mutex mutex_{};
  std::map<std::uint64_t, sanitizer_finding> found_{};
  sanitize_statistics counts_{};
};

}  // namespace

sanitize_result sanitize(const check::program& p, const std::vector<check::planned_launch>& launches,
                         const check::check_property& property, const sanitize_options& options) {
  gathering all;
  std::atomic<std::uint64_t> next = 0;
  const int busy = std::max(options.jobs, 1);
  crew helpers(busy);
  std::exception_ptr failed;
  std::mutex failing;
  const auto work = [&] {
    try {
      for (std::uint64_t k = next++; k < options.schedules; k = next++) {
        if (options.stop_at_first && all.has_found()) {
          break;
        }
        sanitize_statistics counts;
        std::vector<sanitizer_finding> found = run_schedule(p, launches, property, options.seed + k, options, helpers, counts);
        all.add(std::move(found), counts);
      }
    } catch (...) {
      const std::lock_guard lock(failing);
      failed = std::current_exception();
      next = options.schedules;
    }
    helpers.help();
  };
  std::vector<std::thread> others;
  for (int k = 1; k < busy; ++k) {
    others.emplace_back(work);
  }
  work();
  for (std::thread& t : others) {
    t.join();
  }
  if (failed) {
    std::rethrow_exception(failed);
  }
  return all.result();
}

}  // namespace membar::sanitize
