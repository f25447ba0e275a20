// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Which nodes of a launched graph run in every order of it.
#pragma once

#include <algorithm>
#include <cstddef>

namespace membar {
inline namespace v0_2 {
namespace deadlock::detail {

/// Finds the nodes of a launched graph that run in every order of it, because what they depend on does: `ready(n)` turns true
/// for each. Returns whether there are more than before. `before(a, b)`: the graph's edges put a before b.
template <class Ready, class Done, class Before, class MayRun, class Nodes, class After>
bool make_ready(const Nodes& all, Ready ready, Done done, Before before, MayRun may_run, After after) {
  bool any = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::size_t n : all) {
      const auto before_it = after(n);
      const bool reached =
          std::all_of(before_it.begin(), before_it.end(), [&](std::size_t other) { return done(other) || ready(other); });
      if (!ready(n) && reached &&
          may_run(n, [&](std::size_t other) { return done(other) || (ready(other) && before(other, n)); })) {
        ready(n) = true;
        changed = true;
      }
    }
    any = any || changed;
  }
  return any;
}

}  // namespace deadlock::detail
}  // namespace v0_2
}  // namespace membar
