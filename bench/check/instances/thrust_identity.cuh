// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A Thrust name that the toolkit has removed, but that sources in projects.txt still use.
#pragma once

#include <cuda/std/functional>

namespace thrust {

template <class = void>
struct identity : cuda::std::identity {};

}  // namespace thrust
