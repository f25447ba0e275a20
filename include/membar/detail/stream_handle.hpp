// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A stream as an argument of host functions.
#pragma once

#include <cuda_runtime_api.h>

#include <concepts>
#include <type_traits>

namespace membar {
inline namespace v0_3 {

namespace detail {

template <class Stream>
concept has_a_stream = requires(const Stream& stream) {
  { stream.get() } -> std::same_as<cudaStream_t>;
};

}  // namespace detail

/// The stream that an argument identifies. The argument is a `cudaStream_t`; a null pointer, for the default stream; an object
/// whose `get()` returns its stream, such as a `cuda::stream_ref`; or an object that converts to its stream, such as PyTorch's
/// `c10::cuda::CUDAStream`. This handle does not own the stream.
class stream_handle {
 public:
  constexpr stream_handle(cudaStream_t stream) noexcept : stream_(stream) {}
  template <detail::has_a_stream Stream>
  constexpr stream_handle(const Stream& stream) : stream_(stream.get()) {}
  template <class Stream>
    requires std::is_class_v<Stream> && (!detail::has_a_stream<Stream>) && std::convertible_to<const Stream&, cudaStream_t>
  constexpr stream_handle(const Stream& stream) : stream_(stream) {}

  constexpr operator cudaStream_t() const noexcept { return stream_; }

 private:
  cudaStream_t stream_;
};

}  // namespace v0_3
}  // namespace membar
