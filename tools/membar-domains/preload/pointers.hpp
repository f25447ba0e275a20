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
/// driver once, and again after `memory_changed`. It does not follow pointers into memory, and pageable host memory is not a pointer for
/// the driver.
[[nodiscard]] reach reach_of(CUfunction kernel, void** parameters, void** extra);

/// A word of the arguments that is a pointer, and whether to memory of the current device.
using see_pointer = std::function<void(CUdeviceptr, bool own)>;

/// What `look_at_pointers` found.
struct pointers_of_launch {
  reach to = reach::own;
  bool all = false;  ///< the sizes of the arguments are known
};

/// Like `reach_of`, and calls `see` with each pointer.
[[nodiscard]] pointers_of_launch look_at_pointers(CUfunction kernel, void** parameters, void** extra, const see_pointer& see);

/// Calls `see` with each pointer in the memory of the current device at this address: in its first 4096 bytes, to the end of the allocation. The
/// copy runs in its own stream, and is given up after a fifth of a second. Whether the memory could be read.
[[nodiscard]] bool look_into_table(CUdeviceptr table, const see_pointer& see);

/// A call gave addresses a meaning that they did not have: what is kept is void.
void memory_changed() noexcept;

}  // namespace membar_domains
