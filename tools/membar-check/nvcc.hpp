// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Compiles CUDA C++ to PTX by running nvcc.
#pragma once

#include <string>
#include <vector>

namespace membar_check {

/// Returns the PTX of a source, which is compiled in `folder` with `nvcc -std=c++20 -ptx -arch=sm_90 -lineinfo` and the
/// options. nvcc is $CUDACXX, or the nvcc on the PATH, or the nvcc in /usr/local/cuda. Throws `model::error` with nvcc's output
/// if the compilation fails. The source and the options may come from an untrusted party, so the function also throws if nvcc
/// would start a program other than the compiler.
[[nodiscard]] std::string compiled(const std::string& folder, const std::string& source,
                                   const std::vector<std::string>& options);

}  // namespace membar_check
