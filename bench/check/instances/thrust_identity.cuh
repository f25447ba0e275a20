// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A name of Thrust that the toolkit has no more, and that sources of projects.txt use.
#pragma once

#include <cuda/std/functional>

namespace thrust {

template <class = void>
struct identity : cuda::std::identity {};

}  // namespace thrust
