// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The device side of programmatic dependent launch: waiting for preceding kernels, and letting dependent kernels start.
///
/// A kernel launched with `programmatic_stream_serialization` (launch_attribute.hpp), or through a programmatic graph edge, may
/// start before the kernel that it depends on has ended. The two kernels are not ordered until the later one calls
/// `wait_for_prerequisites`.
#pragma once

#include <membar/detail/compilation.cuh>

namespace membar {
inline namespace v0_3 {

namespace detail {
/// In the device compilation pass, rejects architectures without dependent launches.
template <bool Needed>
__device__ constexpr void require_dependent_launch() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(!Needed,
                "membar: a dependent launch requires compute capability 9.0: compile this code only for sm_90 or newer");
#endif
}
}  // namespace detail

/// Waits until the kernels that this one depends on have ended. Everything that they did is then visible to the calling thread.
///
/// Each thread that reads or overwrites data that those kernels access must first call this function or pass a barrier that
/// follows such a call. Accesses before the call, including loads of pointers and sizes, are not ordered with those kernels. In
/// a chain of kernels, every kernel must wait, because a kernel that does not wait may end before its predecessor. If no
/// prerequisite is running, the kernel continues immediately.
///
/// PTX: `griddepcontrol.wait`, one instruction. Requires: compute capability 9.0. Source: PTX ISA, "griddepcontrol".
template <bool Needed = true>
__device__ inline void wait_for_prerequisites() noexcept {
  detail::require_dependent_launch<Needed>();
  // griddepcontrol.wait;  PTX ISA 7.8, sm_90
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// Lets the kernels that depend on this one start, once all its blocks have called this function or exited.
///
/// The call is a scheduling hint. It makes no access visible, whether the access is before or after the call.
///
/// PTX: `griddepcontrol.launch_dependents`, one instruction. Requires: compute capability 9.0. Source: PTX ISA,
/// "griddepcontrol".
template <bool Needed = true>
__device__ inline void launch_dependents() noexcept {
  detail::require_dependent_launch<Needed>();
  // griddepcontrol.launch_dependents;  PTX ISA 7.8, sm_90
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace v0_3
}  // namespace membar
