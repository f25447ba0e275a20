// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines what kind of memory the pointers among a launch's arguments point to.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>

namespace membar_domains {

/// The kinds of memory that a launch has pointers to. A peer takes precedence over the host.
enum class reach { own, host, peer };

/// Examines every aligned word of eight bytes of each argument, and thus also pointers in structures and arrays that are passed
/// by value. `parameters` and `extra` are those of cuLaunchKernel, and either may be null. The driver is asked once about an
/// address, and again after `memory_changed`. The function does not follow pointers into memory, and pageable host memory does
/// not count as a pointer for the driver.
[[nodiscard]] reach reach_of(CUfunction kernel, void** parameters, void** extra);

/// A word of the arguments that is a pointer, and whether it points to memory of the current device.
using see_pointer = std::function<void(CUdeviceptr, bool own)>;

/// The result of `look_at_pointers`.
struct pointers_of_launch {
  reach to = reach::own;
  bool all = false;  ///< whether the sizes of the arguments are known
};

/// Does what `reach_of` does, and calls `see` with each pointer.
[[nodiscard]] pointers_of_launch look_at_pointers(CUfunction kernel, void** parameters, void** extra, const see_pointer& see);

/// Calls `see` with each pointer stored in the current device's memory at this address: in the first 4096 bytes, or up to the
/// end of the allocation. The copy runs in a separate stream, and is abandoned after a fifth of a second. Returns whether the
/// memory could be read.
[[nodiscard]] bool look_into_table(CUdeviceptr table, const see_pointer& see);

/// Invalidates the cache, because a call has mapped memory to new addresses.
void memory_changed() noexcept;

}  // namespace membar_domains
