// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Thread scope: which threads an atomic operation or a fence includes.
#pragma once

#include <membar/base/config.hpp>

namespace membar {
inline namespace v0_2 {

/// The set of threads, seen from the executing one, to which an operation's order and atomicity extend.
///
/// Two operations synchronize only if each includes the other's thread in its scope. Memory synchronization domains narrow
/// `device`: it includes threads of the same device whose kernels run in the same physical domain; across domains of one
/// device only `system` synchronizes.
///
/// PTX: `.cta`, `.cluster`, `.gpu`, `.sys`. `cluster` requires compute capability 9.0.
/// Source: PTX ISA, "Scope"; CUDA C++ Programming Guide, "Memory Synchronization Domains".
enum class thread_scope {
  block,    ///< threads of the same thread block
  cluster,  ///< threads of the same thread block cluster
  device,   ///< threads of the same device and the same physical memory synchronization domain
  system    ///< every thread: all devices, all domains, the host
};

/// The scope's name in membar's words: "block", "cluster", "device" or "system".
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr const char* name(thread_scope scope) noexcept {
  switch (scope) {
    case thread_scope::block:
      return "block";
    case thread_scope::cluster:
      return "cluster";
    case thread_scope::device:
      return "device";
    case thread_scope::system:
      return "system";
  }
  return "unknown thread scope";
}

}  // namespace v0_2
}  // namespace membar
