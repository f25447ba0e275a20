// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Where data is visible that was put to a PE, and the backends by name.
#pragma once

#include <membar/base/config.hpp>
#include <membar/pe.hpp>

namespace membar {
inline namespace v0_2 {
namespace symmetric {

using membar::object_identity;
using membar::pe;
using membar::pe_range;
using membar::ring_neighbour;

/// Where data is visible after the operation that completed it: a `quiet`, or a release that was acquired.
enum class visibility {
  everywhere,        ///< at every PE, because loads and stores reach every PE, as over NVLink
  destination_only,  ///< at the PE that it was put to, because a network is between some PEs
};

/// The name of a visibility class: "everywhere" or "destination_only".
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr const char* name(visibility seen) noexcept {
  switch (seen) {
    case visibility::everywhere:
      return "everywhere";
    case visibility::destination_only:
      return "destination_only";
  }
  return "unknown visibility";
}

/// The backend of symmetric types that name none: one process, peer access (peer_backend.hpp).
template <visibility Visible>
class basic_peer_backend;
using peer_backend = basic_peer_backend<visibility::everywhere>;
/// The backend of memory that something else allocated (adopted_backend.hpp).
template <visibility Visible>
class basic_adopted_backend;
using adopted_backend = basic_adopted_backend<visibility::everywhere>;

}  // namespace symmetric
}  // namespace v0_2
}  // namespace membar
