// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The parts of the standard library that device code uses: `std::size_t`, integers of fixed size and type traits.
///
/// NVRTC has no standard library. With NVRTC, libcu++ provides these names, and a using-directive makes them available in
/// `std`. Names that another header has declared in `std` itself take precedence and do not conflict.
#pragma once

#if defined(__CUDACC_RTC__)
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#include <cuda/std/type_traits>
namespace std {
using namespace ::cuda::std;
}
#else
#include <cstddef>
#include <cstdint>
#include <type_traits>
#endif

// These types are only declared here. Code that uses them must include <cuda_fp16.h> or <cuda_bf16.h>.
struct __half;
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;

namespace membar {
inline namespace v0_3 {
namespace detail {

/// Whether a `T` may be copied as bytes. This is true if it is trivially copyable, or if it is a packed pair, whose non-trivial
/// assignment has the same effect.
template <class T>
inline constexpr bool is_bytes = std::is_trivially_copyable_v<T>;
template <>
inline constexpr bool is_bytes<__half2> = true;
template <>
inline constexpr bool is_bytes<__nv_bfloat162> = true;

/// Satisfied by an argument that is a variable, which is never a constant expression.
template <class Argument>
concept is_variable = std::is_lvalue_reference_v<Argument> && !std::is_const_v<std::remove_reference_t<Argument>>;

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
