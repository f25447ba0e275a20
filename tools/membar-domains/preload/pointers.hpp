// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines which memory the pointers among a launch's arguments point to.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>

namespace membar_domains {

/// The kinds of memory that a launch has pointers to. If there are several, a peer takes precedence over the host.
enum class reach { own, host, peer };

/// Returns the farthest memory that a launch's arguments point to. Examines every aligned 8-byte word of each argument, and
/// therefore finds pointers in structures and arrays that are passed by value. `parameters` and `extra` are the arguments of
/// cuLaunchKernel; either may be null. The driver is queried only once per address, until `memory_changed` is called.
/// Pointers in memory are not followed. The driver does not recognize pointers to pageable host memory.
[[nodiscard]] reach reach_of(CUfunction kernel, void** parameters, void** extra);

/// A callback for a pointer among the arguments. `own` is true if it points to the current device's memory.
using see_pointer = std::function<void(CUdeviceptr, bool own)>;

/// The result of `look_at_pointers`.
struct pointers_of_launch {
  reach to = reach::own;
  bool all = false;  ///< whether the sizes of the arguments are known, so that all pointers were seen
};

/// Like `reach_of`, but also calls `see` with each pointer.
[[nodiscard]] pointers_of_launch look_at_pointers(CUfunction kernel, void** parameters, void** extra, const see_pointer& see);

/// Calls `see` with each pointer that the current device's memory contains at this address, in the first 4096 bytes or up to
/// the end of the allocation. The memory is copied in a separate stream; a copy that takes more than a fifth of a second is
/// abandoned. Returns whether the memory could be read.
[[nodiscard]] bool look_into_table(CUdeviceptr table, const see_pointer& see);

/// Invalidates the cache after a call has mapped memory to new addresses.
void memory_changed() noexcept;

}  // namespace membar_domains
