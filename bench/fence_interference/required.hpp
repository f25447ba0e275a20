// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a victim has to wait for, as the memory model decides it. The rest of its wait is wasted.
#pragma once

#include "arms.hpp"

#include <string_view>

namespace fence_interference {

/// Whose earlier stores must be visible to a thread that synchronizes with the victim, in the widest place that the victim's
/// scope includes.
struct requirement {
  bool own;    ///< the victim's own
  bool noise;  ///< the noise's, which the victim has never looked at: the situation that the bench measures
  bool noise_seen_at_device_scope;  ///< the noise's, if the victim had acquired a flag of it at device scope
  bool noise_seen_at_system_scope;  ///< the noise's, if the victim had acquired a flag of it at system scope
};

/// The requirement on a victim, by its name, with both sides in the domains of `arm`.
[[nodiscard]] requirement requirement_of(std::string_view victim, const arm& arm);

}  // namespace fence_interference
