// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// How device code reaches the other PEs' objects: the part of a backend that is passed to kernels, and the peer backend's
/// version of it.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/standard.hpp>
#include <membar/symmetric/pe.hpp>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// The device part of a backend: a small value that is passed to kernels. It contains this PE's number, the number of PEs, and
/// the locations of their objects. Its operations are in `detail::transport<Reach>`, in the backend's `.cuh`.
template <class Reach>
concept reach = std::is_trivially_copyable_v<Reach> && requires(const Reach& reach, void* local, pe which) {
  requires std::is_same_v<decltype(reach.self()), pe>;
  requires std::is_same_v<decltype(reach.count()), int>;
  requires std::is_same_v<decltype(reach.direct(local, which)), void*>;
};

namespace detail {

/// A backend's operations in device code. Each backend specializes this template for its reach.
template <class Reach>
struct transport;
/// The operations for a symmetric address.
template <class Address>
using transport_of = transport<typename Address::reach_type>;

}  // namespace detail

/// The reach of a PE that uses the peer backend or adopted memory: the distances from its own objects to the other PEs'
/// objects.
class peer_reach {
 public:
  /// Constructs a reach for PEs whose objects are `stride` bytes apart.
  MEMBAR_HOST_DEVICE constexpr peer_reach(pe self, int count, std::ptrdiff_t stride) noexcept
      : distances_(nullptr), stride_(stride), self_(self), count_(count) {}
  /// Constructs a reach from a table of distances, which is indexed by PE and is in the memory of PE `self`'s device.
  MEMBAR_HOST_DEVICE constexpr peer_reach(pe self, int count, const std::ptrdiff_t* distances) noexcept
      : distances_(distances), stride_(0), self_(self), count_(count) {}

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr pe self() const noexcept { return self_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr int count() const noexcept { return count_; }

  /// Returns the object of PE `which` that corresponds to `local` on this PE. With plain allocations (`peer_memory::plain`),
  /// this function works only in device code.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr void* direct(void* local, pe which) const noexcept {
    const std::ptrdiff_t distance =
        distances_ == nullptr ? (which.index() - self_.index()) * stride_ : distances_[which.index()];
    return static_cast<unsigned char*>(local) + distance;
  }

 private:
  const std::ptrdiff_t* distances_;
  std::ptrdiff_t stride_;
  pe self_;
  int count_;
};

#if defined(__CUDACC_RTC__)
/// The part of the peer backend that NVRTC compiles, which makes symmetric addresses complete types. The host part is in
/// peer_backend.hpp.
template <visibility Visible>
class basic_peer_backend {
 public:
  static constexpr visibility visible = Visible;
  using reach = peer_reach;
};
/// The part of the adopted-memory backend that NVRTC compiles. The host part is in adopted_backend.hpp.
template <visibility Visible>
class basic_adopted_backend {
 public:
  static constexpr visibility visible = Visible;
  using reach = peer_reach;
};
#endif

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
