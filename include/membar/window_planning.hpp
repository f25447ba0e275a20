// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Plans access-policy windows for kernels that may run concurrently.
///
/// A plan keeps the persisting bytes within the set-aside. Whether a window helps depends on the kernel, so measure its effect.
#pragma once

#include <membar/access_policy_window.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace membar {
inline namespace v0_3 {

/// A part of memory that a kernel reads repeatedly. `weight` is the number of accesses per byte. Any unit will do, because
/// weights are only compared with each other.
struct hot_region {
  const void* start = nullptr;
  std::size_t bytes = 0;
  double weight = 1.0;
};

/// A kernel that may run at the same time as kernels in other streams. Kernels in one stream run one after the other.
struct planned_kernel {
  cudaStream_t stream = nullptr;
  std::vector<hot_region> regions{};
};

/// The window of the kernel with the same index in the plan's input. It is off if the kernel has no region.
struct planned_window {
  cudaStream_t stream = nullptr;
  access_policy_window window{};
  /// The kernel's part of the set-aside, in bytes. The window's size times its hit ratio does not exceed this share.
  std::size_t share = 0;
};

namespace detail {

// The planner avoids <algorithm>, which takes longer to compile than this whole header.
inline constexpr auto greater = [](auto a, auto b) { return a < b ? b : a; };
inline constexpr auto lesser = [](auto a, auto b) { return b < a ? b : a; };

/// Returns the range that a kernel's window covers. A launch can have only one window. Neighbouring regions are merged if the
/// gaps make up at most an eighth of the range; the resulting range with the most accesses is chosen.
[[nodiscard]] inline hot_region chosen_region(std::vector<hot_region> regions, std::size_t max_window) {
  std::erase_if(regions, [](const hot_region& region) { return region.bytes == 0; });
  const auto address = [](const hot_region& region) { return reinterpret_cast<std::size_t>(region.start); };
  // an insertion sort by address, because there are few regions
  for (std::size_t sorted = 1; sorted < regions.size(); ++sorted) {
    for (std::size_t at = sorted; at != 0 && address(regions[at]) < address(regions[at - 1]); --at) {
      const hot_region earlier = regions[at];
      regions[at] = regions[at - 1];
      regions[at - 1] = earlier;
    }
  }
  hot_region best;
  double most = -1.0;
  for (std::size_t first = 0; first != regions.size(); ++first) {
    std::size_t end = address(regions[first]) + regions[first].bytes;
    std::size_t hot = 0;
    double accesses = 0.0;
    for (std::size_t last = first; last != regions.size(); ++last) {
      end = greater(end, address(regions[last]) + regions[last].bytes);
      hot += regions[last].bytes;
      accesses += static_cast<double>(regions[last].bytes) * regions[last].weight;
      const std::size_t bytes = end - address(regions[first]);
      const bool mostly_hot = bytes - lesser(bytes, hot) <= bytes / 8;
      if (last != first && (bytes > max_window || !mostly_hot)) {
        break;
      }
      if (accesses > most) {
        most = accesses;
        best = {regions[first].start, lesser(bytes, max_window), accesses / static_cast<double>(hot)};
      }
    }
  }
  return best;
}

/// Divides `total` among demands in proportion to demand times weight. Any part of a share that a demand does not use is
/// divided among the others.
[[nodiscard]] inline std::vector<std::size_t> divided(std::size_t total, std::span<const std::size_t> demands,
                                                      std::span<const double> weights) {
  std::vector<std::size_t> shares(demands.size(), 0);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i != demands.size(); ++i) {
    open.push_back(i);
  }
  std::size_t left = total;
  while (!open.empty()) {
    double weight = 0.0;
    for (const std::size_t i : open) {
      weight += weights[i] * static_cast<double>(demands[i]);
    }
    if (!(weight > 0.0)) {
      break;
    }
    const auto part = [&](std::size_t i) {
      return static_cast<double>(left) * (weights[i] * static_cast<double>(demands[i]) / weight);
    };
    std::vector<std::size_t> still_open;
    std::size_t taken = 0;
    for (const std::size_t i : open) {
      const bool satisfied = !(part(i) < static_cast<double>(demands[i]));
      shares[i] = satisfied ? demands[i] : static_cast<std::size_t>(part(i));
      taken += satisfied ? demands[i] : 0;
      if (!satisfied) {
        still_open.push_back(i);
      }
    }
    if (still_open.size() == open.size()) {
      break;
    }
    left -= lesser(left, taken);
    open = still_open;
  }
  return shares;
}

}  // namespace detail

/// Returns windows for kernels in several streams. The persisting bytes of kernels that may run concurrently do not exceed the
/// set-aside in `facts`.
///
/// A kernel has one window. Regions close to each other are covered together; otherwise the region with the most accesses is
/// chosen. A region larger than the largest window is truncated to it. The set-aside is divided in proportion to the regions'
/// accesses. A region that kernels in several streams share counts once. Errors: there is no set-aside, or a weight is negative
/// or not a number.
[[nodiscard]] inline std::vector<planned_window> plan_windows(std::span<const planned_kernel> kernels, const l2_facts& facts) {
  struct claim {
    hot_region region;
    cudaStream_t stream;
    bool several_streams;
    std::size_t group;
  };
  std::vector<claim> claims;
  std::vector<std::size_t> claim_of;
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  for (const planned_kernel& kernel : kernels) {
    for (const hot_region& region : kernel.regions) {
      if (!(region.weight >= 0.0 && __builtin_isfinite(region.weight))) {
        throw error(cudaErrorInvalidValue,
                    "membar: the weight of a hot region is %g: use the number of accesses per byte, which is 0 or more",
                    region.weight);
      }
    }
    const hot_region region = detail::chosen_region(kernel.regions, facts.max_window);
    if (region.bytes == 0) {
      if (!kernel.regions.empty() && facts.max_set_aside == 0) {
        validate({.start = kernel.regions.front().start, .bytes = kernel.regions.front().bytes}, facts);
      }
      claim_of.push_back(none);
      continue;
    }
    auto same = claims.begin();
    while (same != claims.end() && !(same->region.start == region.start && same->region.bytes == region.bytes)) {
      ++same;
    }
    if (same == claims.end()) {
      claim_of.push_back(claims.size());
      claims.push_back({region, kernel.stream, false, 0});
    } else {
      claim_of.push_back(static_cast<std::size_t>(same - claims.begin()));
      same->several_streams = same->several_streams || same->stream != kernel.stream;
      same->region.weight = detail::greater(same->region.weight, region.weight);
    }
  }

  // Kernels in one stream never run concurrently, so their claims get the same share. A claim made by several streams gets its
  // own share.
  std::vector<std::size_t> demands;
  std::vector<double> weights;
  for (std::size_t i = 0; i != claims.size(); ++i) {
    claims[i].group = demands.size();
    for (std::size_t j = 0; !claims[i].several_streams && j != i; ++j) {
      if (!claims[j].several_streams && claims[j].stream == claims[i].stream) {
        claims[i].group = claims[j].group;
      }
    }
    if (claims[i].group == demands.size()) {
      demands.push_back(0);
      weights.push_back(0.0);
    }
    demands[claims[i].group] = detail::greater(demands[claims[i].group], claims[i].region.bytes);
    weights[claims[i].group] = detail::greater(weights[claims[i].group], claims[i].region.weight);
  }
  const std::vector<std::size_t> shares = detail::divided(facts.set_aside, demands, weights);

  std::vector<planned_window> planned;
  for (std::size_t i = 0; i != kernels.size(); ++i) {
    planned_window result;
    result.stream = kernels[i].stream;
    if (claim_of[i] != none) {
      const claim& mine = claims[claim_of[i]];
      if (shares[mine.group] != 0 || facts.set_aside == 0) {  // without a set-aside, `window` throws the error
        result.window = l2_plan(facts).with_share(shares[mine.group]).window(mine.region.start, mine.region.bytes);
        result.share = detail::lesser(shares[mine.group], mine.region.bytes);
      }
    }
    planned.push_back(result);
  }
  return planned;
}

}  // namespace v0_3
}  // namespace membar
