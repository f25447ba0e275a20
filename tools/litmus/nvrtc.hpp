// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// NVRTC, the run-time compiler for CUDA C++. It is opened with dlopen when it is needed and is not linked, so the program
/// builds and starts without a CUDA toolkit. Linux only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace membar::litmus_files {

/// A header that a source includes: the name in its include directive, and its text.
struct header_text {
  const char* name = nullptr;
  const char* text = nullptr;
};

/// A request to compile. With the same compiler, equal requests give equal results.
struct compilation {
  std::string source;
  std::span<const header_text> headers{};
  std::vector<std::string> options;
  bool to_ptx = false;  ///< whether to generate PTX instead of a cubin
};

/// Returns the text of a CUDA version number: "12.8" for 12080.
[[nodiscard]] std::string cuda_version_text(int version);

/// Returns the options for a device of compute capability major * 10 + minor.
[[nodiscard]] std::vector<std::string> options_for(int compute_capability, bool to_ptx = false);

/// NVRTC as an opened library.
class nvrtc {
 public:
  /// Opens the file that the environment variable MEMBAR_NVRTC names, or otherwise libnvrtc from the loader's path, from
  /// `folders` and from the usual places. Throws `std::runtime_error` if there is none.
  explicit nvrtc(const std::vector<std::string>& folders = {});

  /// Returns the version in CUDA's encoding: 13000 is 13.0.
  [[nodiscard]] int version() const noexcept { return version_; }

  /// Returns whether it supports a compute capability, given as major * 10 + minor.
  [[nodiscard]] bool supports(int compute_capability) const;

  /// Returns the cubin or PTX. Throws `std::runtime_error`, with the compiler's first error message, if the source does not
  /// compile.
  [[nodiscard]] std::string compile(const compilation& what) const;

 private:
  using program_handle = void*;

  struct closer {
    void operator()(void* library) const noexcept;
  };
  struct program;

  template <class Function>
  void find(Function*& function, const char* name) const;
  void require(int status, const char* call) const;
  [[nodiscard]] std::string first_error(const std::string& log, int status) const;

  std::unique_ptr<void, closer> library_;
  int version_ = 0;
  int (*version_of_)(int*, int*) = nullptr;
  int (*create_)(program_handle*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy_)(program_handle*) = nullptr;
  int (*compile_)(program_handle, int, const char* const*) = nullptr;
  int (*log_size_)(program_handle, std::size_t*) = nullptr;
  int (*log_)(program_handle, char*) = nullptr;
  int (*cubin_size_)(program_handle, std::size_t*) = nullptr;
  int (*cubin_)(program_handle, char*) = nullptr;
  int (*ptx_size_)(program_handle, std::size_t*) = nullptr;
  int (*ptx_)(program_handle, char*) = nullptr;
  const char* (*error_text_)(int) = nullptr;
  int (*architecture_count_)(int*) = nullptr;
  int (*architectures_)(int*) = nullptr;
};

}  // namespace membar::litmus_files
