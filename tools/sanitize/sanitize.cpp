// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/async_copies.hpp>
#include <litmus/readings.hpp>
#include <sanitize/program_code.hpp>
#include <sanitize/run.hpp>
#include <sanitize/sanitize.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace membar::sanitize {

namespace {

/// Collects the findings of schedules, in seed order.
class gathering {
 public:
  void add(std::vector<sanitizer_finding> found, const sanitize_statistics& counts) {
    const std::lock_guard lock(mutex_);
    for (sanitizer_finding& f : found) {
      const auto [at, is_new] = found_.try_emplace(f.key, f);
      if (!is_new) {
        const std::uint64_t count = at->second.count + f.count;
        const bool after_another = at->second.after_another && f.after_another;
        if (f.seed < at->second.seed) {
          at->second = std::move(f);
        }
        at->second.count = count;
        at->second.after_another = after_another;
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

/// Runs each schedule that the options request once.
[[nodiscard]] sanitize_result run_all(const check::program& p, const std::vector<check::planned_launch>& launches,
                                      program_code& code, const check::check_property& property,
                                      const sanitize_options& options) {
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
        std::vector<sanitizer_finding> found =
            run_schedule(p, launches, code, property, options.seed + k, options, helpers, counts);
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

/// If a finding depends on one of the alternative readings of the PTX ISA, adds this reading to its message.
void name_readings(const check::program& p, const std::vector<check::planned_launch>& launches, program_code& code,
                   const check::check_property& property, const sanitize_options& options,
                   std::vector<sanitizer_finding>& findings) {
  sanitize_options others = options;
  if (others.observe) {  // observed launches do not run in parts
    others.observe = [](const observed_event&) {};
  }
  crew alone;
  std::map<std::uint64_t, std::set<std::uint64_t>> shown;  // for each seed, the keys of the findings that remain
  const auto is_gone = [&](const sanitizer_finding& f) {
    const auto [at, is_new] = shown.try_emplace(f.seed);
    if (is_new) {
      sanitize_statistics counts;
      for (const sanitizer_finding& other : run_schedule(p, launches, code, property, f.seed, others, alone, counts)) {
        at->second.insert(other.key);
      }
    }
    return !at->second.contains(f.key);
  };
  std::vector<sanitizer_finding*> left;
  for (sanitizer_finding& f : findings) {
    left.push_back(&f);
  }
  for (const auto& [name, one] : litmus_files::checked_readings()) {
    others.readings = options.readings;
    others.readings.take(one);
    shown.clear();
    std::erase_if(left, [&, reading = name, kind = one](sanitizer_finding* f) {
      const bool gone = check::may_depend_on(p, f->found, kind) && is_gone(*f);
      if (gone) {
        f->reading = reading;
        f->found.message += litmus_files::depends_on(reading);
      }
      return gone;
    });
  }
}

}  // namespace

sanitize_result sanitize(const check::program& p, const std::vector<check::planned_launch>& launches,
                         const check::check_property& property, const sanitize_options& options) {
  program_code code;
  sanitize_result result = run_all(p, launches, code, property, options);
  name_readings(p, launches, code, property, options, result.findings);
  return result;
}

}  // namespace membar::sanitize
