// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// How membar's host functions report failure: one exception type, one check, and one handler for what a destructor cannot
/// throw.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdarg>
#include <cstdio>
#include <exception>

namespace membar {

/// A failed host call: the CUDA code and one sentence that names the value, the limit and the remedy.
///
/// The sentence lives in a fixed buffer, so that throwing allocates nothing but the exception itself; a longer one is cut.
class error : public std::exception {
 public:
  /// Formats the sentence as `std::printf` does.
  error(cudaError_t code, const char* format, ...) noexcept : code_(code) {
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(sentence_, sizeof sentence_, format, arguments);
    va_end(arguments);
  }

  [[nodiscard]] const char* what() const noexcept override { return sentence_; }

  /// What CUDA answered, or `cudaErrorInvalidValue` where membar refused an argument before asking CUDA.
  [[nodiscard]] cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
  char sentence_[512];
};

/// Throws `error` unless `status` is success.
///
/// `call` names the CUDA function, `remedy` says what to do about it. CUDA's record of the last error is cleared for errors
/// that do not outlive the call, so that a caller who handles the exception does not meet the same error again.
inline void check(cudaError_t status, const char* call, const char* remedy = "see the CUDA documentation of this call") {
  if (status == cudaSuccess) {
    return;
  }
  static_cast<void>(cudaGetLastError());
  throw error(status, "membar: %s failed with %s (%s): %s", call, cudaGetErrorName(status), cudaGetErrorString(status), remedy);
}

/// Receives one sentence for each failure that a destructor met while it put a value back.
using restore_failure_handler = void (*)(const char* sentence) noexcept;

namespace detail {

inline void print_restore_failure(const char* sentence) noexcept { std::fprintf(stderr, "%s\n", sentence); }

inline restore_failure_handler current_restore_failure_handler = &print_restore_failure;

/// The non-throwing twin of `check`, for destructors.
inline void report_failed_restore(cudaError_t status, const char* call) noexcept {
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    const error failure(status, "membar: %s failed with %s (%s) while a previous value was being restored; it is still changed",
                        call, cudaGetErrorName(status), cudaGetErrorString(status));
    current_restore_failure_handler(failure.what());
  }
}

}  // namespace detail

/// Replaces the handler for failed restores, which prints to stderr, and returns the previous one; a null pointer brings the
/// printing one back. Not synchronized: call it before other threads use membar.
inline restore_failure_handler set_restore_failure_handler(restore_failure_handler handler) noexcept {
  const restore_failure_handler previous = detail::current_restore_failure_handler;
  detail::current_restore_failure_handler = handler != nullptr ? handler : &detail::print_restore_failure;
  return previous;
}

}  // namespace membar
