// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Thread scopes, which determine the threads that an atomic operation or a fence includes.
#pragma once

#include <membar/base/config.hpp>

namespace membar {
inline namespace v0_3 {

/// The set of threads, relative to the executing thread, to which an operation's order and atomicity extend.
///
/// Two operations synchronize only if each includes the other's thread in its scope. Memory synchronization domains narrow
/// `device`: it includes only threads of the same device whose kernels run in the same physical domain. Across domains of one
/// device, only `system` synchronizes.
///
/// PTX: `.cta`, `.cluster`, `.gpu`, `.sys`. `cluster` requires compute capability 9.0. The values are the same as in libcu++,
/// so that `thread_scope(cuda::thread_scope_system)` is `system`. The operators `<` and `>` compare width. Source: PTX ISA,
/// "Scope"; CUDA C++ Programming Guide, "Memory Synchronization Domains".
enum class thread_scope {
  block = 2,    ///< the threads of the same thread block
  cluster = 4,  ///< the threads of the same thread block cluster
  device = 1,   ///< the threads of the same device in the same physical memory synchronization domain
  system = 0    ///< all threads: of all devices, of all domains, and of the host
};

namespace detail {

/// Stands in for a scope that a call or a type does not name.
inline constexpr thread_scope missing_scope = static_cast<thread_scope>(-1);

template <thread_scope Scope>
MEMBAR_HOST_DEVICE constexpr void require_scope() noexcept {
  static_assert(Scope != missing_scope,
                "membar: the scope, which specifies the participating threads, is missing: pass thread_scope::block, cluster, "
                "device or system as a template argument");
}

/// Returns a number that grows with the scope, 0 to 3.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr int width_of(thread_scope scope) noexcept {
  return scope == thread_scope::cluster ? 1 : scope == thread_scope::block ? 0 : 3 - static_cast<int>(scope);
}

}  // namespace detail

/// Compares widths: `a < b` holds if `a` includes fewer threads than `b`.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool operator<(thread_scope a, thread_scope b) noexcept {
  return detail::width_of(a) < detail::width_of(b);
}
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool operator>(thread_scope a, thread_scope b) noexcept { return b < a; }
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool operator<=(thread_scope a, thread_scope b) noexcept { return !(b < a); }
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool operator>=(thread_scope a, thread_scope b) noexcept { return !(a < b); }

/// Returns the scope's name in membar's terms: "block", "cluster", "device" or "system".
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

}  // namespace v0_3
}  // namespace membar
