// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What kind of memory the pointers among a launch's arguments point to.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>

namespace membar_domains {

/// The memory that a launch has pointers to. A peer's counts before the host's.
enum class reach { own, host, peer };

/// Looks at every word of eight bytes of the arguments, aligned in its argument, so also at pointers in structures and arrays that are
/// passed by value. `parameters` and `extra` are cuLaunchKernel's; either may be null. What an address points to is asked of the
/// driver once, and again after `memory_changed`. It does not follow pointers into memory, and pageable host memory is no pointer for
/// the driver.
[[nodiscard]] reach reach_of(CUfunction kernel, void** parameters, void** extra);

/// As `reach_of`, but asks the driver about each word, and calls `see` with those that are pointers.
[[nodiscard]] reach reach_of_each(CUfunction kernel, void** parameters, void** extra,
                                  const std::function<void(CUdeviceptr)>& see);

/// A call gave addresses a meaning that they did not have: what is kept is void.
void memory_changed() noexcept;

}  // namespace membar_domains
