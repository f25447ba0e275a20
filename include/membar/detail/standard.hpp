// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What device code uses of the standard library: `std::size_t`, integers of fixed size and type traits.
///
/// NVRTC has no standard library. There libcu++ has these names, and they become names of `std` too, by a using-directive: what
/// another header has declared in `std` itself goes before them and does not conflict.
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
