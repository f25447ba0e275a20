// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a victim must wait for according to the memory model. Any other waiting is wasted.
#pragma once

#include "arms.hpp"

#include <string_view>

namespace fence_interference {

/// The earlier stores that must be visible to a thread that synchronizes with the victim, at the most distant place that the
/// victim's scope includes.
struct requirement {
  bool own;    ///< The victim's own stores.
  bool noise;  ///< The noise's stores, if the victim has never read its flag: the situation that the bench measures.
  bool noise_seen_at_device_scope;  ///< The noise's stores, if the victim had acquired a flag from it at device scope.
  bool noise_seen_at_system_scope;  ///< The noise's stores, if the victim had acquired a flag from it at system scope.
};

/// Returns what the victim with this name must wait for if the victim and the noise are in the domains of `arm`.
[[nodiscard]] requirement requirement_of(std::string_view victim, const arm& arm);

}  // namespace fence_interference
