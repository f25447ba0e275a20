// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A chain of overlapping kernels in one stream: each kernel begins before the previous one has ended, and can access the
/// previous kernel's results only after a wait.
#pragma once

#include <membar/base/config.hpp>
#include <membar/dependent_launch.cuh>
#include <membar/detail/standard.hpp>

#if !defined(__CUDACC_RTC__)  // NVRTC compiles no host code
#include <membar/detail/stream_handle.hpp>
#include <membar/error.hpp>
#include <membar/launch.hpp>
#include <membar/launch_attribute.hpp>
#endif

namespace membar {
inline namespace v0_3 {

/// Proof that the calling thread has waited for the preceding kernels. `chain_link::wait` returns it, and `chained::after`
/// requires it.
class prerequisites_ended {
 private:
  template <bool>
  friend class chain_link;
  constexpr prerequisites_ended() noexcept = default;
};

/// The address of memory that the kernels of a chain pass on to each other. This address is a parameter of each kernel. A
/// kernel can access the memory only once the preceding kernels have ended, so it neither reads data too early nor overwrites
/// data that a preceding kernel still reads.
///
/// Use a plain pointer for memory that no kernel in the chain writes, such as weights, which may be read before the wait.
template <class T>
class chained {
 public:
  MEMBAR_HOST_DEVICE constexpr explicit chained(T* address) noexcept : address_(address) {}
  /// Constructs the address of the same memory for reading only.
  template <class U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
  MEMBAR_HOST_DEVICE constexpr chained(chained<U> other) noexcept : address_(other.address_) {}

  /// Returns the address. The calling thread must have waited.
  [[nodiscard]] __device__ constexpr T* after(prerequisites_ended) const noexcept { return address_; }

 private:
  template <class>
  friend class chained;
  T* address_;
};

/// A kernel's link in a chain. Each thread must create one at the beginning of the kernel, and call its `wait` before it
/// accesses the memory that the chain passes on.
///
/// Synchronizes: everything that all preceding kernels of the chain did is complete and visible to a thread after its `wait`,
/// so the thread may also overwrite data that those kernels read. A thread that creates a link and does not call `wait` waits
/// in the link's destructor, so that no kernel in the chain ends before a preceding kernel. The link does not order anything
/// before `wait`, and does not guarantee that two kernels overlap.
///
/// PTX: the constructor: `griddepcontrol.launch_dependents`. `wait` or, without it, the destructor: `griddepcontrol.wait`.
/// Requires: compute capability 9.0 or later.
template <bool Needed = true>  // a template, so that on an older architecture only its use is rejected, not the header
class chain_link {
 public:
  /// Lets the next kernel start once all blocks of this kernel have started or exited.
  __device__ chain_link() noexcept { launch_dependents<Needed>(); }
  __device__ ~chain_link() {
    if (!waited_) {
      wait_for_prerequisites<Needed>();
    }
  }
  chain_link(const chain_link&) = delete;
  chain_link& operator=(const chain_link&) = delete;

  /// Waits until the preceding kernels have ended. The wait has no time limit.
  [[nodiscard]] __device__ prerequisites_ended wait() noexcept {
    wait_for_prerequisites<Needed>();
    waited_ = true;
    return prerequisites_ended();
  }

 private:
  bool waited_ = false;
};

#if !defined(__CUDACC_RTC__)

/// Launches the kernels of a chain into a stream. The first kernel runs after all earlier work in the stream, and each later
/// kernel may start while the previous kernel is running.
///
/// Each kernel must create a `chain_link` in every thread. Nothing else may be enqueued in the stream between the kernels. Work
/// that follows the last kernel in the stream is ordered after all kernels of the chain, because it starts after that kernel
/// has ended.
class dependent_chain {
 public:
  explicit dependent_chain(stream_handle stream) noexcept : stream_(stream) {}

  /// Launches `kernel` as the next kernel of the chain. All kernels except the first are launched with
  /// `programmatic_stream_serialization`.
  ///
  /// Errors: throws the errors of `launch`, and `error` if the configuration names another stream. In these cases, nothing is
  /// launched, and the chain is unchanged.
  template <class... Attributes, class... Parameters>
  void launch(const launch_config<Attributes...>& config, void (*kernel)(Parameters...),
              std::type_identity_t<detail::lossless_argument<Parameters>>... arguments) {
    if (config.stream() != stream_) {
      throw error(cudaErrorInvalidValue,
                  "membar: this launch is in stream %p, but its chain is in stream %p: kernels in different streams do not "
                  "wait for each other, so give the launch the chain's stream",
                  static_cast<void*>(config.stream()), static_cast<void*>(stream_));
    }
    if (begun_) {
      membar::launch(config.with(programmatic_stream_serialization{true}), kernel, arguments.value...);
    } else {
      membar::launch(config, kernel, arguments.value...);
    }
    begun_ = true;
  }
  /// This overload launches nothing. It exists so that the compiler's message explains what is wrong with the arguments.
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

}  // namespace v0_3
}  // namespace membar
