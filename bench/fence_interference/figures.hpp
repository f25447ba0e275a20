// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The measurements of the cases, figures that are derived from several cases, and the output formats.
#pragma once

#include "required.hpp"

#include <bench/common/statistics.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace fence_interference {

/// A case is one victim during one noise in one arm; its name is `victim/noise/arm`.
struct case_name {
  std::string victim;
  std::string noise;
  std::string arm;

  [[nodiscard]] std::string text() const { return victim + "/" + noise + "/" + arm; }
};

/// All measurements of a case, over all of its repetitions.
struct case_result {
  std::vector<double> ns;
  std::vector<double> medians;  ///< The median of each repetition.
  std::vector<double> noise_gbps;
  int chain = 0;                        ///< The number of kernels in the chain, if the victim is a chain.
  std::string note;                     ///< The reason why nothing was measured: "waived: ..." or "failed: ...".
  std::optional<requirement> required;  ///< In cases with noise: what the memory model requires the victim to wait for.
};

using figures = std::map<std::string, double>;

/// The results of a run, in the order in which the cases were registered.
class result_table {
 public:
  case_result& add(const case_name& name) {
    order_.push_back(name);
    return results_[name.text()];
  }

  [[nodiscard]] const case_result& of(const case_name& name) const { return results_.at(name.text()); }
  [[nodiscard]] const std::vector<case_name>& names() const noexcept { return order_; }

  /// Returns the median of a case in nanoseconds, if it was measured.
  [[nodiscard]] std::optional<double> p50(const case_name& name) const {
    const auto found = results_.find(name.text());
    if (found == results_.end() || found->second.ns.empty()) {
      return std::nullopt;
    }
    return support::median(found->second.ns);
  }

  /// The figures of a case. Times are in ns and in cycles of a `ghz` clock. Ratios of medians are given if both cases were
  /// measured: slowdown = this arm / no noise and, on the arm to which the ratio belongs, interference = same / none, relief =
  /// same / separate, residual = separate / none. The model's requirement, 1 or 0, needs no measurement.
  [[nodiscard]] figures figures_of(const case_name& name, double ghz) const {
    const case_result& result = results_.at(name.text());
    figures out;
    if (const auto& required = result.required) {
      out = {{"orders_own", required->own},
             {"orders_noise", required->noise},
             {"orders_noise_seen_at_device_scope", required->noise_seen_at_device_scope},
             {"orders_noise_seen_at_system_scope", required->noise_seen_at_system_scope}};
    }
    if (result.ns.empty()) {
      return out;
    }
    std::vector<double> sorted = result.ns;
    std::sort(sorted.begin(), sorted.end());
    const double p50_ns = support::quantile(sorted, 0.5);
    for (const auto& [label, q] :
         {std::pair("p50", 0.5), std::pair("p90", 0.9), std::pair("p99", 0.99), std::pair("max", 1.0)}) {
      out[std::string(label) + "_ns"] = support::quantile(sorted, q);
      out[std::string(label) + "_cycles"] = support::quantile(sorted, q) * ghz;
    }
    out["samples"] = static_cast<double>(sorted.size());
    const auto [least, most] = std::minmax_element(result.medians.begin(), result.medians.end());
    out["spread"] = (*most - *least) / p50_ns;
    out["sets"] = static_cast<double>(result.medians.size());
    if (const auto interval = support::relative_interval(result.medians)) {
      out["interval"] = *interval;
    }
    if (result.chain != 0) {
      out["chain"] = result.chain;
    }
    if (!result.noise_gbps.empty()) {
      out["noise_gbps"] = support::median(result.noise_gbps);
    }
    const auto ratio = [&](const char* label, std::optional<double> numerator, std::optional<double> denominator) {
      if (numerator && denominator) {
        out[label] = *numerator / *denominator;
      }
    };
    const std::optional<double> none = p50({name.victim, "none", "alone"});
    if (name.arm == "same") {
      ratio("interference", p50_ns, none);
    }
    if (name.arm == "separate") {
      ratio("relief", p50({name.victim, name.noise, "same"}), p50_ns);
      ratio("residual", p50_ns, none);
    }
    if (name.arm != "alone") {
      ratio("slowdown", p50_ns, none);
    }
    return out;
  }

 private:
  std::vector<case_name> order_;
  std::map<std::string, case_result> results_;
};

/// The data that the reporters write.
struct run_results {
  const result_table& table;
  double ghz;
  std::function<void()> complete;  ///< Repeats the measurements that need more repetitions; a second call does nothing.
};

/// Writes Google Benchmark's JSON, with one entry per case instead of one per repetition.
class json_file_reporter : public benchmark::JSONReporter {
 public:
  explicit json_file_reporter(const run_results& of) : of_(of) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    // The last repetition represents its case, because a failure in any repetition is known by then.
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Iteration && run.repetition_index + 1 >= run.repetitions) {
        runs_[run.run_name.function_name] = run;
      }
    }
  }

  void Finalize() override {
    of_.complete();
    std::vector<Run> ordered;
    for (const case_name& name : of_.table.names()) {
      const auto found = runs_.find(name.text());
      if (found == runs_.end()) {
        continue;
      }
      Run& run = ordered.emplace_back(found->second);
      run.run_name = benchmark::BenchmarkName();
      run.run_name.function_name = name.text();
      run.real_accumulated_time = of_.table.p50(name).value_or(0) * 1e-9 * static_cast<double>(run.iterations);
      run.cpu_accumulated_time = 0;
      for (const auto& [label, value] : of_.table.figures_of(name, of_.ghz)) {
        run.counters[label] = benchmark::Counter(value);
      }
    }
    benchmark::JSONReporter::ReportRuns(ordered);
    benchmark::JSONReporter::Finalize();
  }

 private:
  run_results of_;
  std::map<std::string, Run> runs_;
};

/// Replaces Google Benchmark's display, which has a line per repetition, with one table at the end.
class table_reporter : public benchmark::BenchmarkReporter {
 public:
  explicit table_reporter(const run_results& of) : of_(of) {}

  bool ReportContext(const Context& context) override {
    PrintBasicContext(&GetErrorStream(), context);
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      shown_.push_back(run.run_name.function_name);
    }
  }

  void Finalize() override {
    of_.complete();
    std::string victim;
    std::map<std::string, int> waived;
    for (const case_name& name : of_.table.names()) {
      if (std::find(shown_.begin(), shown_.end(), name.text()) == shown_.end()) {
        continue;
      }
      const std::string& note = of_.table.of(name).note;
      if (note.rfind("waived: ", 0) == 0) {
        ++waived[note];
        continue;
      }
      if (name.victim != victim) {
        victim = name.victim;
        std::printf("\n%-32s %10s %10s %10s %10s %9s %8s  %s\n", victim.c_str(), "p50 ns", "p90 ns", "p99 ns", "max ns", "GB/s",
                    "x alone", "");
      }
      std::printf("  %-30s", (name.noise + "/" + name.arm).c_str());
      if (!note.empty()) {
        std::printf(" %s\n", note.c_str());
        continue;
      }
      figures figure = of_.table.figures_of(name, of_.ghz);
      for (const char* label : {"p50_ns", "p90_ns", "p99_ns", "max_ns"}) {
        std::printf(" %10.0f", figure[label]);
      }
      const auto print_if = [&](const char* label, const char* format, int width) {
        return figure.count(label) != 0 ? std::printf(format, figure[label]) : std::printf("%*s", width, "");
      };
      print_if("noise_gbps", " %9.1f", 10);
      print_if("slowdown", " %8.2f", 9);
      for (const char* label : {"interference", "relief", "residual"}) {
        if (figure.count(label) != 0) {
          std::printf("  %s %.2f", label, figure[label]);
        }
      }
      std::printf("\n");
    }
    for (const auto& [note, count] : waived) {
      std::printf("\n%d case%s %s\n", count, count == 1 ? "" : "s", note.c_str());
    }
    std::fflush(stdout);
  }

 private:
  run_results of_;
  std::vector<std::string> shown_;
};

/// Writes every case and all of its figures as comma-separated values. A missing figure is an empty field.
inline void write_csv(std::ostream& out, const run_results& of) {
  const std::string columns =
      "p50_ns,p90_ns,p99_ns,max_ns,p50_cycles,p90_cycles,p99_cycles,max_cycles,samples,spread,interval,sets,chain,noise_gbps,"
      "interference,relief,"
      "residual,slowdown,orders_own,orders_noise,orders_noise_seen_at_device_scope,orders_noise_seen_at_system_scope";
  out << "victim,noise,arm," << columns << ",note\n";
  for (const case_name& name : of.table.names()) {
    out << name.victim << ',' << name.noise << ',' << name.arm;
    const figures all = of.table.figures_of(name, of.ghz);
    std::istringstream each(columns);
    for (std::string column; std::getline(each, column, ',');) {
      out << ',';
      if (const auto found = all.find(column); found != all.end()) {
        out << found->second;
      }
    }
    std::string note = of.table.of(name).note;
    std::replace(note.begin(), note.end(), '"', '\'');
    out << ",\"" << note << "\"\n";
  }
}

}  // namespace fence_interference
