// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Compiles CUDA C++ to PTX with nvcc, as a command.
#pragma once

#include <string>
#include <vector>

namespace membar_check {

/// The PTX that nvcc makes of a source, run in `folder`: `nvcc -std=c++20 -ptx -arch=sm_90 -lineinfo` and the options. nvcc is
/// $CUDACXX, or that on the PATH, or that in /usr/local/cuda. Throws `model::error` with what nvcc says, and for a source or options, which may
/// be somebody else's, by which nvcc would start another program than the compiler.
[[nodiscard]] std::string compiled(const std::string& folder, const std::string& source,
                                   const std::vector<std::string>& options);

}  // namespace membar_check
