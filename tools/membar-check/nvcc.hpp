// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Compiles CUDA C++ to PTX by running nvcc.
#pragma once

#include <string>
#include <vector>

namespace membar_check {

/// Returns the PTX that nvcc generates for a source, run in `folder`: `nvcc -std=c++20 -ptx -arch=sm_90 -lineinfo` and the
/// options. nvcc is $CUDACXX, or the one on the PATH, or the one in /usr/local/cuda. Throws `model::error` with nvcc's output,
/// and for a source or options, which may come from someone else, with which nvcc would start a program other than the
/// compiler.
[[nodiscard]] std::string compiled(const std::string& folder, const std::string& source,
                                   const std::vector<std::string>& options);

}  // namespace membar_check
