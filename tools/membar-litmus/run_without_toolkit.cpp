// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The subcommand `run` in a build without a CUDA toolkit.
#include <membar-litmus/run.hpp>

#include <iostream>

namespace membar::litmus_files {

int run_on_gpu(const run_request&) {
  std::cerr << "membar-litmus: this executable was built without a CUDA toolkit, so it cannot run tests on a GPU: build it "
               "where CMake finds a toolkit; run --source prints the source that would run\n";
  return not_run;
}

}  // namespace membar::litmus_files
