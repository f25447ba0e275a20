// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The PTX spellings of scopes and orders, as operands for the "C" constraint of inline assembly, which inserts text into the
/// statement.
#pragma once

#include <membar/detail/compilation.cuh>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {
namespace detail {

// clang-format off
template <thread_scope Scope> struct ptx_scope;
template <> struct ptx_scope<thread_scope::block> { static constexpr char text[] = "cta"; };
template <> struct ptx_scope<thread_scope::cluster> { static constexpr char text[] = "cluster"; };
template <> struct ptx_scope<thread_scope::device> { static constexpr char text[] = "gpu"; };
template <> struct ptx_scope<thread_scope::system> { static constexpr char text[] = "sys"; };

template <memory_order Order> struct ptx_order;
template <> struct ptx_order<memory_order::relaxed> { static constexpr char text[] = "relaxed"; };
template <> struct ptx_order<memory_order::acquire> { static constexpr char text[] = "acquire"; };
template <> struct ptx_order<memory_order::release> { static constexpr char text[] = "release"; };
template <> struct ptx_order<memory_order::acq_rel> { static constexpr char text[] = "acq_rel"; };
/// Used only for fences, because no other PTX instruction is sequentially consistent on its own.
template <> struct ptx_order<memory_order::seq_cst> { static constexpr char text[] = "sc"; };
// clang-format on

/// In the device compilation pass, rejects architectures without cluster scope.
template <thread_scope Scope>
__device__ constexpr void require_architecture_of() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(Scope != thread_scope::cluster,
                "membar: thread_scope::cluster requires compute capability 9.0: compile this code only for sm_90 or newer");
#endif
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
