// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// How membar's host functions report failures: one exception type, one check, and one handler for errors that a destructor
/// cannot throw.
#pragma once

#include <membar/base/config.hpp>
#include <membar/base/process_state.hpp>

#if !defined(__cpp_exceptions)
#error "membar: host functions throw membar::error: compile without -fno-exceptions (atomic.hpp and kernels never throw)"
#if !defined(__CUDACC__)
#include "the_error_above_ends_the_compilation"
#endif
#endif

#include <cuda_runtime_api.h>

#include <cstdarg>
#include <cstdio>
#include <new>  // declares std::exception in a tenth of the compile time of <exception>
#include <source_location>

#if CUDART_VERSION < 12080
#error "membar: these headers need CUDA 12.8 or newer: compile with a newer toolkit"
#if !defined(__CUDACC__)
#include "the_error_above_ends_the_compilation"
#endif
#endif

namespace membar {
inline namespace v0_3 {

/// The error of a failed host call: the CUDA code and one sentence that names the value, the limit and the remedy.
///
/// The sentence is stored in a fixed buffer of 512 bytes, so that throwing allocates only the exception itself. A longer
/// sentence is truncated.
class error : public std::exception {
 public:
  /// Formats the sentence like `std::printf`.
  [[gnu::format(printf, 3, 4)]] error(cudaError_t code, const char* format, ...) noexcept : code_(code) {
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(sentence_, sizeof sentence_, format, arguments);
    va_end(arguments);
  }

  [[nodiscard]] const char* what() const noexcept override { return sentence_; }

  /// Returns CUDA's code, or `cudaErrorInvalidValue` if membar rejected an argument before calling CUDA.
  [[nodiscard]] cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
  char sentence_[512];
};

namespace detail {

/// Extracts the function's name from a compiler-generated signature, without the return type, the parameters and everything
/// after them.
struct function_name {
  const char* start;
  int length;
};
[[nodiscard]] constexpr function_name name_in(const char* signature) noexcept {
  const char* start = signature;
  const char* at = signature;
  for (int nested = 0; *at != '\0'; ++at) {
    if (*at == '(' && nested == 0 && at != start) {
      break;
    }
    nested += *at == '<' || *at == '(' ? 1 : *at == '>' || *at == ')' ? -1 : 0;
    if (nested == 0 && (*at == ' ' || *at == '*' || *at == '&')) {
      start = at + 1;
    }
  }
  return {start, static_cast<int>(at - start)};
}

/// Returns the remedy if the status means that CUDA does not work at all, and null for every other status.
[[nodiscard]] constexpr const char* remedy_without_cuda(cudaError_t status) noexcept {
  switch (status) {
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
      return "no CUDA driver was found, or the driver is older than the CUDA runtime of this program: install a newer driver";
    case cudaErrorNoDevice:
      return "no CUDA device is visible to this process: check CUDA_VISIBLE_DEVICES and the output of nvidia-smi";
    case cudaErrorSystemDriverMismatch:
      return "the CUDA driver's kernel module and its library have different versions: load the kernel module of the "
             "installed driver";
    default:
      return nullptr;
  }
}

/// Constructs the error of a CUDA call that returned `status` at `where`.
[[nodiscard]] inline error failed_call(cudaError_t status, const char* remedy, const std::source_location& where) noexcept {
  static_cast<void>(cudaGetLastError());
  const function_name function = name_in(where.function_name());
  const char* const without_cuda = remedy_without_cuda(status);
  return {status,
          "membar: %s (%s): %s (%s:%u, in %.*s)",
          cudaGetErrorName(status),
          cudaGetErrorString(status),
          without_cuda != nullptr ? without_cuda : remedy,
          where.file_name(),
          static_cast<unsigned>(where.line()),
          function.length,
          function.start};
}

}  // namespace detail

/// Throws `error` unless `status` is success: `check(cudaStreamSynchronize(stream), "an earlier kernel failed")`.
///
/// The sentence contains the CUDA code, the remedy, and the file, line and function of the call to `check`. If there is no
/// driver or no device, the message says so instead of giving `remedy`. CUDA's last error is cleared, so a caller that handles
/// the exception does not get the same error again. An error that makes the device unusable for the process cannot be cleared.
inline void check(cudaError_t status, const char* remedy = "see the CUDA documentation for this call",
                  const std::source_location& where = std::source_location::current()) {
  if (status != cudaSuccess) {
    throw detail::failed_call(status, remedy, where);
  }
}

/// Receives one sentence for each destructor that failed to restore a value.
using restore_failure_handler = void (*)(const char* sentence) noexcept;

namespace detail {

inline void print_restore_failure(const char* sentence) noexcept { std::fprintf(stderr, "%s\n", sentence); }

/// Passes the message of a failed restore to the handler.
inline void handle_failed_restore(const char* sentence) noexcept {
  const restore_failure_handler handler = __atomic_load_n(&membar_process_restore_failure_handler_v1, __ATOMIC_ACQUIRE);
  (handler != nullptr ? handler : &print_restore_failure)(sentence);
}

/// `check` for destructors: a failure is passed to the handler. `consequence` describes the state after the failure. The caller
/// must not hold a lock, because the handler may use membar. When a process exits, the runtime may shut down before the last
/// objects are destroyed. In that case there is nothing left to restore.
inline void report_failed_restore(cudaError_t status, const char* consequence = "a changed value could not be restored",
                                  const std::source_location& where = std::source_location::current()) noexcept {
  if (status != cudaSuccess && status != cudaErrorCudartUnloading) {
    handle_failed_restore(failed_call(status, consequence, where).what());
  }
}

}  // namespace detail

/// Replaces the handler for failed restores, which prints to stderr by default, and returns the previous one. A null pointer
/// restores the default. One handler serves the whole process: all its libraries that contain membar, and all their threads.
inline restore_failure_handler set_restore_failure_handler(restore_failure_handler handler) noexcept {
  const restore_failure_handler stored = handler != &detail::print_restore_failure ? handler : nullptr;
  const restore_failure_handler previous =
      __atomic_exchange_n(&membar_process_restore_failure_handler_v1, stored, __ATOMIC_ACQ_REL);
  return previous != nullptr ? previous : &detail::print_restore_failure;
}

}  // namespace v0_3
}  // namespace membar
