// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Programmatic dependent launch, from inside the kernels: waiting for the kernels before, and letting the kernels after begin.
///
/// A kernel launched with `programmatic_stream_serialization` (launch_attribute.hpp) or by a programmatic edge of a graph may begin
/// before the kernel that it depends on has ended. Nothing is ordered between the two until `wait_for_prerequisites`.
#pragma once

#include <membar/detail/compilation.cuh>

namespace membar {
inline namespace v0_2 {

namespace detail {
/// Rejects, in the pass that compiles for a device, an architecture without dependent launches.
template <bool Needed>
__device__ constexpr void require_dependent_launch() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(!Needed,
                "membar: a dependent launch requires compute capability 9.0: compile this code for sm_90 or newer only");
#endif
}
}  // namespace detail

/// Waits until the kernels that this one depends on have ended. All that they did is visible to the calling thread then.
///
/// Each thread that reads or overwrites what those kernels access calls it first, or comes after a barrier of a thread that did.
/// What comes before the call, loads of pointers and sizes included, is ordered with nothing of them. In a chain of kernels each
/// one waits: a kernel that does not wait may end before the one before it. A kernel without a prerequisite that runs continues at
/// once.
///
/// PTX: `griddepcontrol.wait`, one instruction. Requires: compute capability 9.0. Source: PTX ISA, "griddepcontrol".
template <bool Needed = true>
__device__ inline void wait_for_prerequisites() noexcept {
  detail::require_dependent_launch<Needed>();
  // griddepcontrol.wait;  PTX ISA 7.8, sm_90
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// Lets the kernels that depend on this one begin, once all its blocks have called this or ended.
///
/// It is a hint to the scheduler. It makes nothing visible, neither what comes before nor what comes after.
///
/// PTX: `griddepcontrol.launch_dependents`, one instruction. Requires: compute capability 9.0. Source: PTX ISA, "griddepcontrol".
template <bool Needed = true>
__device__ inline void launch_dependents() noexcept {
  detail::require_dependent_launch<Needed>();
  // griddepcontrol.launch_dependents;  PTX ISA 7.8, sm_90
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace v0_2
}  // namespace membar
