// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Compiles CUDA C++ to PTX by running nvcc.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace membar_check {

/// Returns the PTX of a source, which is compiled in `folder` with `nvcc -std=c++20 -ptx -arch=sm_90 -lineinfo` and the
/// options. nvcc is $CUDACXX, or the nvcc on the PATH, or the nvcc in /usr/local/cuda. Throws `model::error` with nvcc's output
/// if the compilation fails. The source and the options may come from an untrusted party, so the function also throws if nvcc
/// would start a program other than the compiler.
[[nodiscard]] std::string compiled(const std::string& folder, const std::string& source,
                                   const std::vector<std::string>& options);

/// Returns whether a file's name ends in .cu.
[[nodiscard]] bool is_source_name(const std::filesystem::path& name);

/// Adds the options -I and -D to a command that compiles the CUDA C++ sources on its command line. `to` receives them as options
/// of nvcc.
void add_nvcc_options(CLI::App& app, std::vector<std::string>& to);

/// Throws `model::error` if there are options for nvcc although no source needs to be compiled.
void require_source(const std::vector<std::string>& nvcc_options, bool has_source);

}  // namespace membar_check
