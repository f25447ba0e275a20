// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Recognizes a `cuda::atomic_ref` without including <cuda/atomic>, which takes longer to compile than all of atomic.cuh.
#pragma once

#include <membar/detail/standard.hpp>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {
namespace detail {

/// Returns whether `Value` is libcu++'s name for the scope. libcu++'s enumeration is recognized by its enumerators, which have
/// the same values.
template <thread_scope Scope, class CudaScope, CudaScope Value>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool is_cuda_scope() noexcept {
  return requires {
    CudaScope::thread_scope_block;
    CudaScope::thread_scope_device;
    CudaScope::thread_scope_system;
  } && Scope != thread_scope::cluster && static_cast<int>(Value) == static_cast<int>(Scope);
}

/// The information that interop/cuda_atomic.cuh provides about a libcu++ object that an `atomic_ref` may refer to:
/// `value_type`, `scope` and `address`.
template <class Object>
struct cuda_object;
template <class Object>
concept has_cuda_object = requires { typename cuda_object<std::remove_cvref_t<Object>>::value_type; };

/// Whether `Ref` refers to an object of type `T`. `cuda::atomic` also accepts an rvalue.
template <class Ref, class T>
inline constexpr bool refers_to = std::is_constructible_v<Ref, T&> && !std::is_constructible_v<Ref, T>;

template <class Ref, class T, thread_scope Scope>
struct is_cuda_atomic_ref {
  static constexpr bool value = false;
};
template <class CudaScope, template <class, CudaScope> class Ref, CudaScope Value, class T, thread_scope Scope>
  requires(is_cuda_scope<Scope, CudaScope, Value>() && std::is_trivially_copyable_v<T> && !std::is_const_v<T>)
struct is_cuda_atomic_ref<Ref<T, Value>, T, Scope> {
  static constexpr bool value = refers_to<Ref<T, Value>, T>;
};

/// Satisfied by `cuda::atomic_ref<T, ...>` with this scope.
template <class Ref, class T, thread_scope Scope>
concept cuda_atomic_ref_of = is_cuda_atomic_ref<Ref, T, Scope>::value;

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
