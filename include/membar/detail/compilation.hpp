// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The target of the current compilation. nvcc compiles the source once for the host and once for each architecture.
#pragma once

namespace membar {
inline namespace v0_3 {
namespace detail {

#if defined(__CUDA_ARCH__)
inline constexpr bool compiling_for_device = true;
#if __CUDA_ARCH__ >= 900
inline constexpr bool has_hopper_instructions = true;
#else
inline constexpr bool has_hopper_instructions = false;
#endif
#else
inline constexpr bool compiling_for_device = false;
inline constexpr bool has_hopper_instructions = true;
#endif

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
