// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// NVRTC, the run-time compiler for CUDA C++. It is not linked; it is loaded with dlopen when it is needed, so the program
/// builds and starts without a CUDA toolkit. Linux only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace membar::litmus_files {

/// A header that a source includes: its name in the include directive, and its text.
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

/// Returns a CUDA version number as text, for example "12.8" for 12080.
[[nodiscard]] std::string cuda_version_text(int version);

/// Returns the compiler options for a device of the given compute capability, encoded as major * 10 + minor.
[[nodiscard]] std::vector<std::string> options_for(int compute_capability, bool to_ptx = false);

/// The loaded NVRTC library.
class nvrtc {
 public:
  /// Loads NVRTC from the file that the environment variable MEMBAR_NVRTC names. If the variable is not set, searches for
  /// libnvrtc in the loader's path, in `folders` and in the usual places. Throws `std::runtime_error` if NVRTC is not found.
  explicit nvrtc(const std::vector<std::string>& folders = {});

  /// Returns the version in CUDA's encoding, for example 13000 for 13.0.
  [[nodiscard]] int version() const noexcept { return version_; }

  /// Returns whether this version supports a compute capability, encoded as major * 10 + minor.
  [[nodiscard]] bool supports(int compute_capability) const;

  /// Returns the compiled cubin or PTX. Throws `std::runtime_error` with the compiler's first error message if the source does
  /// not compile.
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
