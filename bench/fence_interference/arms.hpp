// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The arms of the experiment. An arm is a choice of the synchronization domains in which the victim (the timed operation) and
/// the noise (the background load) run.
#pragma once

#include <membar/sync_domain.hpp>

#include <string_view>

namespace fence_interference {

/// The logical domain and the map of a launch.
struct domain_choice {
  membar::sync_domain domain;
  membar::sync_domain_map map;

  [[nodiscard]] constexpr int physical() const noexcept { return map.physical(domain); }
};

/// One arm. The baseline without noise is also an arm.
struct arm {
  std::string_view name;
  domain_choice victim;
  domain_choice noise;
  int domains_needed;
};

inline constexpr membar::sync_domain_map one_domain{.default_ = 0, .remote = 0};
inline constexpr membar::sync_domain_map two_domains{.default_ = 0, .remote = 1};
inline constexpr membar::sync_domain_map upper_domains{.default_ = 2, .remote = 3};

inline constexpr membar::sync_domain local = membar::sync_domain::default_;
inline constexpr membar::sync_domain remote = membar::sync_domain::remote;

inline constexpr arm alone{"alone", {local, one_domain}, {local, one_domain}, 1};
inline constexpr arm same{"same", {local, one_domain}, {local, one_domain}, 1};
inline constexpr arm separate{"separate", {local, two_domains}, {remote, two_domains}, 2};
/// `separate` with the two sides swapped: the result must be the same, regardless of which side is in the remote domain.
inline constexpr arm swapped{"swapped", {remote, two_domains}, {local, two_domains}, 2};
/// Control: both sides are in the remote domain, and therefore in the same domain. The result must equal the result of `same`;
/// otherwise the relief is due to the attribute, not to the separation.
inline constexpr arm alias{"alias", {remote, two_domains}, {remote, two_domains}, 2};
/// Control: the two sides are separated, with different physical ids. The result must equal `separate`.
inline constexpr arm map{"map", {local, upper_domains}, {remote, upper_domains}, 4};
/// Control for NCCL: a process in which NCCL itself uses the default domain, with unchanged maps. The result must equal `same`.
inline constexpr arm env0{"env0", {local, two_domains}, {local, two_domains}, 2};

inline constexpr arm domain_arms[] = {same, separate, swapped, alias, map};

}  // namespace fence_interference
