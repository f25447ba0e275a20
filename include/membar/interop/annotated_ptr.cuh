// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Converts libcu++'s access properties to membar's L2 policies.
#pragma once

#include <membar/cache_hint.cuh>
#include <membar/detail/standard.hpp>
#include <membar/load_store.cuh>

#include <cuda/annotated_ptr>

namespace membar {
inline namespace v0_3 {

/// Returns the L2 policy with the bits of a `cuda::access_property`. The conversion emits no instruction.
///
/// A property that was created on the host may be passed to a kernel. The bits of the static properties (`persisting`,
/// `streaming`, `normal`, `global`) are constants. `shared` applies to shared memory and has no policy.
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

/// Loads through a `cuda::annotated_ptr` with an order, like `load`. The pointer's property becomes the L2 policy of the
/// instruction.
///
/// The order and the other hints follow the pointer. A second policy does not compile.
template <thread_scope Scope, class T, class Property, class... Said>
[[nodiscard]] __device__ inline std::remove_const_t<T> load(const cuda::annotated_ptr<T, Property>& pointer,
                                                            Said... said) noexcept {
  static_assert(!std::is_same_v<Property, cuda::access_property::shared>,
                "membar: the property 'shared' is for shared memory, which has no L2 policy: load through the pointer itself");
  return load<Scope>(static_cast<const std::remove_const_t<T>*>(pointer.get()), said..., policy_of(pointer.__property()));
}
/// Loads through a `cuda::annotated_ptr` without an order, like `load_weak`. The pointer's property becomes the L2 policy of
/// the instruction.
///
/// The other hints follow the pointer. A second policy does not compile.
template <class T, class Property, class... Said>
[[nodiscard]] __device__ inline std::remove_const_t<T> load_weak(const cuda::annotated_ptr<T, Property>& pointer,
                                                                 Said... said) noexcept {
  static_assert(!std::is_same_v<Property, cuda::access_property::shared>,
                "membar: the property 'shared' is for shared memory, which has no L2 policy: load through the pointer itself");
  return load_weak(static_cast<const std::remove_const_t<T>*>(pointer.get()), said..., policy_of(pointer.__property()));
}

}  // namespace v0_3
}  // namespace membar
