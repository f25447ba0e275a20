// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Compiles CUDA C++ at run time, with NVRTC and a cache of earlier results.
#pragma once

#include <litmus/code_cache.hpp>
#include <litmus/nvrtc.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace membar::litmus_files {

/// Compiles a request, unless the cache contains the result of an equal request for the same compiler version.
class compiler {
 public:
  explicit compiler(code_cache cache = {}, std::vector<std::string> folders = {})
      : cache_(std::move(cache)), folders_(std::move(folders)) {}

  /// Returns the code for `what`. Throws `std::runtime_error` if NVRTC is not available or cannot compile the source.
  [[nodiscard]] std::string operator()(const compilation& what);

  /// Returns NVRTC. The first call loads the library.
  [[nodiscard]] const nvrtc& library();

  [[nodiscard]] int compiled() const noexcept { return compiled_; }
  [[nodiscard]] int found() const noexcept { return found_; }
  /// Returns the reason why results could not be stored. Returns an empty string if they were stored, or if there is no cache.
  [[nodiscard]] const std::string& warning() const noexcept { return warning_; }

  /// Returns a string that contains everything that the result depends on.
  [[nodiscard]] static std::string key_of(const compilation& what, int version);

 private:
  code_cache cache_;
  std::vector<std::string> folders_;
  std::unique_ptr<nvrtc> library_;
  int compiled_ = 0;
  int found_ = 0;
  std::string warning_;
};

}  // namespace membar::litmus_files
