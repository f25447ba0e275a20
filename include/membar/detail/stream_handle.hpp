// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A stream as an argument of host functions.
#pragma once

#include <cuda_runtime_api.h>

#include <concepts>

namespace membar {
inline namespace v0_2 {

/// The stream that an argument names. The argument is a `cudaStream_t`, the null pointer, which means the default stream, or an
/// object whose `get()` returns its stream, such as a `cuda::stream_ref`. This handle does not own the stream.
class stream_handle {
 public:
  constexpr stream_handle(cudaStream_t stream) noexcept : stream_(stream) {}
  template <class Stream>
    requires requires(const Stream& stream) {
      { stream.get() } -> std::same_as<cudaStream_t>;
    }
  constexpr stream_handle(const Stream& stream) : stream_(stream.get()) {}

  constexpr operator cudaStream_t() const noexcept { return stream_; }

 private:
  cudaStream_t stream_;
};

}  // namespace v0_2
}  // namespace membar
