// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A chain of kernels in one stream that overlap: each begins before the one before it has ended, and gets at what that one wrote only
/// after a wait.
#pragma once

#include <membar/base/config.hpp>
#include <membar/dependent_launch.cuh>
#include <membar/detail/standard.hpp>

#if !defined(__CUDACC_RTC__)  // which compiles no host code
#include <membar/detail/stream_handle.hpp>
#include <membar/error.hpp>
#include <membar/launch.hpp>
#include <membar/launch_attribute.hpp>
#endif

namespace membar {
inline namespace v0_2 {

/// Proof that the calling thread has waited for the kernels before: `chain_link::wait` returns it, and `chained::after` requires it.
class prerequisites_ended {
 private:
  template <bool>
  friend class chain_link;
  constexpr prerequisites_ended() noexcept = default;
};

/// The address of memory that kernels of a chain pass on, as a parameter of each of them: a kernel gets at it only once the kernels
/// before have ended. So it reads nothing too early, and overwrites nothing that one of them still reads.
///
/// A plain pointer is for memory that no kernel of the chain writes, such as weights: that may be read before the wait.
template <class T>
class chained {
 public:
  MEMBAR_HOST_DEVICE constexpr explicit chained(T* address) noexcept : address_(address) {}
  /// The same memory, read-only.
  template <class U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
  MEMBAR_HOST_DEVICE constexpr chained(chained<U> other) noexcept : address_(other.address_) {}

  /// The address, in a thread that has waited.
  [[nodiscard]] __device__ constexpr T* after(prerequisites_ended) const noexcept { return address_; }

 private:
  template <class>
  friend class chained;
  T* address_;
};

/// A kernel's part in a chain. Each thread makes one at the beginning of the kernel, and waits by it before it touches what the chain passes
/// on.
///
/// Synchronizes: what the kernels before in the chain did, all of them, is visible to a thread after its `wait`, and done: it may
/// overwrite what they read. A thread that makes a link and does not call `wait` waits at the link's end: no kernel of the chain ends
/// before one that comes before it.
/// It does not guarantee: anything for what comes before `wait`; that two kernels overlap.
///
/// PTX: the constructor: `griddepcontrol.launch_dependents`. wait, or else the destructor: `griddepcontrol.wait`. Requires: compute
/// capability 9.0.
template <bool Needed = true>  // so an older architecture rejects its use, but not the header
class chain_link {
 public:
  /// Lets the next kernel begin, once all blocks of this one have begun or ended.
  __device__ chain_link() noexcept { launch_dependents<Needed>(); }
  __device__ ~chain_link() {
    if (!waited_) {
      wait_for_prerequisites<Needed>();
    }
  }
  chain_link(const chain_link&) = delete;
  chain_link& operator=(const chain_link&) = delete;

  /// Waits until the kernels before have ended. It has no budget: it ends when they do.
  [[nodiscard]] __device__ prerequisites_ended wait() noexcept {
    wait_for_prerequisites<Needed>();
    waited_ = true;
    return prerequisites_ended();
  }

 private:
  bool waited_ = false;
};

#if !defined(__CUDACC_RTC__)

/// Launches the kernels of a chain into a stream: the first one after all that the stream has before, each later one so that it may begin
/// while the one before it runs.
///
/// Each of them makes a `chain_link` in every thread. Nothing else is enqueued in the stream between them. What the stream has after the
/// last one comes after all of them, by the end of that kernel.
class dependent_chain {
 public:
  explicit dependent_chain(stream_handle stream) noexcept : stream_(stream) {}

  /// Launches `kernel` as the next of the chain, by `launch` with `programmatic_stream_serialization` for all but the first.
  ///
  /// Errors: those of `launch`, and `error` if the configuration names another stream. Nothing is launched then, and the chain is as
  /// before.
  template <class... Attributes, class... Parameters>
  void launch(const launch_config<Attributes...>& config, void (*kernel)(Parameters...),
              std::type_identity_t<detail::lossless_argument<Parameters>>... arguments) {
    if (config.stream() != stream_) {
      throw error(cudaErrorInvalidValue,
                  "membar: this launch is in stream %p, but its chain is in stream %p: kernels of different streams do not "
                  "wait for each "
                  "other, so give the launch the chain's stream",
                  static_cast<void*>(config.stream()), static_cast<void*>(stream_));
    }
    if (begun_) {
      membar::launch(config.with(programmatic_stream_serialization{true}), kernel, arguments.value...);
    } else {
      membar::launch(config, kernel, arguments.value...);
    }
    begun_ = true;
  }
  /// No launch: it exists so that the compiler's message says what is wrong with the arguments.
  template <class... Attributes, class... Parameters, class... Arguments>
    requires(!detail::arguments_fit<void(Parameters...), Arguments...>)
  void launch(const launch_config<Attributes...>&, void (*)(Parameters...), Arguments&&...) {
    detail::refuse_arguments<sizeof...(Parameters), sizeof...(Arguments)>();
  }

 private:
  cudaStream_t stream_;
  bool begun_ = false;
};

#endif  // !defined(__CUDACC_RTC__)

}  // namespace v0_2
}  // namespace membar
