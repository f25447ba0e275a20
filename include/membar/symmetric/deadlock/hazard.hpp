// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Deprecated: include <membar/deadlock/hazard.hpp> and write `membar::deadlock`. The old names go with version 0.4.
#pragma once

#include <membar/deadlock/hazard.hpp>

namespace membar {
inline namespace v0_2 {
namespace symmetric {
namespace deadlock = membar::deadlock;
}  // namespace symmetric
}  // namespace v0_2
}  // namespace membar
