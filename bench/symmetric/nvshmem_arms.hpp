// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The arms of NVSHMEM: measured by the program symmetric_nvshmem, whose processes are one for each GPU, and read from its
/// output.
#pragma once

#include <bench/common/machine_context.hpp>

#include <unistd.h>

#include <sstream>
#include <string>
#include <vector>

namespace symmetric_bench {

/// A case, measured several times; or why it was not.
struct nvshmem_result {
  std::string name;
  std::string waived;
  std::string failed;
  std::vector<double> nanoseconds;
};

/// The bytes of one transfer that a case's name tells, as "/MiB:16"; 0 where it tells none.
[[nodiscard]] inline double bytes_of_case(const std::string& name) {
  const std::string unit = "/MiB:";
  const auto at = name.find(unit);
  return at == std::string::npos ? 0 : std::stod(name.substr(at + unit.size())) * (1 << 20);
}

/// What symmetric_nvshmem, beside this program, says of a question. Its lines are "<name> <ns> <ns> ...", "waived <reason>" or
/// "failed <reason>". Its standard error is this program's.
[[nodiscard]] inline std::vector<nvshmem_result> nvshmem_results([[maybe_unused]] const std::string& question) {
#ifdef MEMBAR_BENCH_HAS_NVSHMEM
  char path[4096] = {};
  const auto length = readlink("/proc/self/exe", path, sizeof path - 1);
  std::string program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  program = program.substr(0, program.rfind('/') + 1) + "symmetric_nvshmem";
  const support::command_result run = support::run_command(program + " " + question);
  std::istringstream lines(run.output);
  std::vector<nvshmem_result> results;
  bool said_why = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    nvshmem_result result;
    words >> result.name;
    if (result.name == "waived" || result.name == "failed") {
      std::getline(words >> std::ws, result.name == "waived" ? result.waived : result.failed);
      result.name = question + "/nvshmem";
    } else if (result.name.rfind(question + "/", 0) != 0) {
      continue;  // NVSHMEM's own words
    }
    for (double value = 0; words >> value;) {
      result.nanoseconds.push_back(value);
    }
    said_why |= !result.waived.empty() || !result.failed.empty();
    if (!result.waived.empty() || !result.failed.empty() || !result.nanoseconds.empty()) {
      results.push_back(result);
    }
  }
  if (!said_why && (run.status != 0 || results.empty())) {
    results.push_back({question + "/nvshmem",
                       "",
                       "symmetric_nvshmem ended with status " + std::to_string(run.status) + " after " +
                           std::to_string(results.size()) + " cases: what was wrong is on standard error",
                       {}});
  }
  return results;
#else
  return {{question + "/nvshmem", "membar was built without NVSHMEM", "", {}}};
#endif
}

}  // namespace symmetric_bench
