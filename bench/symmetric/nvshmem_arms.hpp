// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The NVSHMEM variants. The program symmetric_nvshmem measures them with one process for each GPU; the results are read from
/// its output.
#pragma once

#include <bench/common/harness.hpp>
#include <bench/common/machine_context.hpp>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace symmetric_bench {

/// Returns the bytes of one transfer from a size in the case's name, such as "/MiB:16", or 0 if the name contains no size.
[[nodiscard]] inline double bytes_of_case(const std::string& name) {
  const std::string unit = "/MiB:";
  const auto at = name.find(unit);
  return at == std::string::npos ? 0 : std::stod(name.substr(at + unit.size())) * (1 << 20);
}

/// Returns whether a Google Benchmark filter can match an NVSHMEM variant. The variants' full names are known only after the
/// measurement, but all contain "nvshmem". A filter that literally names a different variant cannot match; any other filter may
/// match.
[[nodiscard]] inline bool may_want_nvshmem(const std::string& filter) {
  if (filter == "-nvshmem") {
    return false;
  }
  if (filter.find_first_of("|-") != std::string::npos) {
    return true;
  }
  for (const char* const arm : {"membar_peer", "atomicAdd", "cudaMemcpy", "nccl", "cross_barrier", "by_hand", "copy_past_l1",
                                "bulk_copy", "_shot", "empty", "exchange"}) {
    if (filter.find(arm) != std::string::npos) {
      return false;
    }
  }
  return true;
}

/// Adds the NVSHMEM variants for `question`. The program symmetric_nvshmem, in the folder of this program, measures all of them
/// in one run. Its lines are "<name> <ns> <ns> ...", "waived <reason>" or "failed <reason>", in addition to NVSHMEM's own
/// output. That program inherits this program's standard error. If it fails, the case reports an error. Call this before this
/// process uses CUDA, because each program needs exclusive use of the GPUs.
inline void add_nvshmem_cases(bench::suite& cases, const std::string& question) {
  if (!may_want_nvshmem(benchmark::GetBenchmarkFilter())) {
    return;
  }
  const auto waive = [&](const std::string& why) { cases.add({question + "/nvshmem", why}, [] { return bench::figures(); }); };
#ifdef MEMBAR_BENCH_HAS_NVSHMEM
  const auto fail = [&](const std::string& why) {
    cases.add(question + "/nvshmem", [why]() -> bench::figures { throw std::runtime_error(why); });
  };
  const auto program = std::filesystem::read_symlink("/proc/self/exe").replace_filename("symmetric_nvshmem").string();
  const support::command_result run = support::run_command(program + " " + question);
  std::istringstream lines(run.output);
  int measured = 0;
  bool said_why = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "waived" || name == "failed") {
      std::string why;
      std::getline(words >> std::ws, why);
      name == "waived" ? waive(why) : fail(why);
      said_why = true;
      continue;
    }
    const std::vector<double> times(std::istream_iterator<double>(words), {});
    if (!name.starts_with(question + "/") || times.empty()) {
      continue;
    }
    ++measured;
    cases.add(name, [times, bytes = bytes_of_case(name), next = std::size_t{0}]() mutable -> bench::figures {
      const double ns = times[next++ % times.size()];
      return bytes != 0 ? bench::figures(ns, {{"GB/s", bytes / ns}}) : bench::figures(ns);
    });
  }
  if (!said_why && (run.status != 0 || measured == 0)) {
    fail("symmetric_nvshmem ended with status " + std::to_string(run.status) + " after " + std::to_string(measured) +
         " cases: standard error has the details");
  }
#else
  waive("membar was built without NVSHMEM");
#endif
}

}  // namespace symmetric_bench
