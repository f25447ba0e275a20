// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Where a put's data becomes visible, and the names of the backends.
#pragma once

#include <membar/base/config.hpp>
#include <membar/pe.hpp>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

using membar::object_identity;
using membar::pe;
using membar::pe_range;
using membar::ring_neighbour;

/// Where data is visible once it is complete, that is, after a `quiet` or after a release that has been acquired.
enum class visibility {
  everywhere,        ///< on every PE, because loads and stores reach every PE, for example over NVLink
  destination_only,  ///< only on the PE to which the data was put, because some PEs are connected by a network
};

/// Returns the name of a visibility class: "everywhere" or "destination_only".
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr const char* name(visibility seen) noexcept {
  switch (seen) {
    case visibility::everywhere:
      return "everywhere";
    case visibility::destination_only:
      return "destination_only";
  }
  return "unknown visibility";
}

/// The default backend of symmetric types: one process with peer access (peer_backend.hpp).
template <visibility Visible>
class basic_peer_backend;
using peer_backend = basic_peer_backend<visibility::everywhere>;
/// The backend for memory that was allocated outside membar (adopted_backend.hpp).
template <visibility Visible>
class basic_adopted_backend;
using adopted_backend = basic_adopted_backend<visibility::everywhere>;

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
