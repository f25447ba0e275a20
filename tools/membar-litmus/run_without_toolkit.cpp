// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// `membar-litmus run` in a build without a CUDA toolkit.
#include "run.hpp"

#include <iostream>

namespace litmus_command {

int run_on_gpu(const run_request&) {
  std::cerr
      << "membar-litmus: this executable was built without a CUDA toolkit, so it runs no test on a GPU: build it where CMake "
         "finds one; run --source shows what would run\n";
  return not_run;
}

}  // namespace litmus_command
