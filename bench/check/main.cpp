// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the cases of a bench that measures the tools. The results record the versions of the measured headers and tools.
#include <bench/common/include_hash.hpp>

#include <benchmark/benchmark.h>

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) {
    return 1;
  }
  benchmark::AddCustomContext("include", support::include_hash());
  benchmark::AddCustomContext("tools", support::tools_hash());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
