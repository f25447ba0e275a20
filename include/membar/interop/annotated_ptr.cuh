// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// membar's L2 policies and libcu++'s access properties: one becomes the other.
#pragma once

#include <membar/cache_hint.cuh>
#include <membar/load_store.cuh>

#include <cuda/annotated_ptr>

#include <cstdint>
#include <type_traits>

namespace membar {

/// The L2 policy that a `cuda::access_property` says: no instruction, the bits are the same.
///
/// A property made on the host may be passed to a kernel. Of the static properties (`persisting`, `streaming`, `normal`,
/// `global`) the bits are constants; `shared` says nothing about global memory and has no policy.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr l2_policy policy_of(const cuda::access_property& property) noexcept {
  return l2_policy(static_cast<std::uint64_t>(property));
}

namespace detail {

template <class Pointer>
struct annotated {
  static constexpr bool value = false;
};
template <class T, class Property>
struct annotated<cuda::annotated_ptr<T, Property>> {
  static constexpr bool value = true;
  using element = T;
  using property = Property;
};

}  // namespace detail

/// `load` and `load_weak` through a `cuda::annotated_ptr`, whose property becomes the L2 policy of the one instruction; the
/// other hints, and an order, are written behind it as usual. A policy of its own would be a second one and does not compile.
template <thread_scope Scope, class T, class Property, class... Said>
[[nodiscard]] __device__ inline std::remove_const_t<T> load(const cuda::annotated_ptr<T, Property>& pointer,
                                                            Said... said) noexcept {
  static_assert(!std::is_same_v<Property, cuda::access_property::shared>,
                "membar: the property shared is of shared memory, which has no L2 policy: load through the pointer itself");
  return load<Scope>(static_cast<const std::remove_const_t<T>*>(pointer.get()), said..., policy_of(pointer.__property()));
}
template <class T, class Property, class... Said>
[[nodiscard]] __device__ inline std::remove_const_t<T> load_weak(const cuda::annotated_ptr<T, Property>& pointer,
                                                                 Said... said) noexcept {
  static_assert(!std::is_same_v<Property, cuda::access_property::shared>,
                "membar: the property shared is of shared memory, which has no L2 policy: load through the pointer itself");
  return load_weak(static_cast<const std::remove_const_t<T>*>(pointer.get()), said..., policy_of(pointer.__property()));
}

}  // namespace membar
