// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds the weakest orders, scopes and fences with which a program is verified, and the orders in a verified program that are
/// stronger than necessary.
///
/// An execution that violates a rule still violates it after changes to instructions that the execution does not reach.
/// Therefore a set of changes with which the program is verified must change an instruction in each such execution, and the
/// search tries only such sets. It begins with sets of one change, continues with sets of two, and makes each change as strong
/// as PTX allows. If a race has flags that are meant to order its accesses, changes at the flags are tried first. If the program
/// is verified with a set, the set's changes are immediately weakened one after another as long as the program is still
/// verified, so a search that is cut short returns the repairs that it has found so far.
///
/// A block barrier or a warp barrier is tried where it may order the blamed events: between two accesses of a block that race,
/// or between an access and an operation that another thread of the block performs on behalf of all threads.
///
/// An object may be in host memory, or may be accessed by host threads or by several devices. Accesses to such an object, and
/// fences that order strong accesses to it, keep system scope, because the host or the other devices may do more than the
/// scenario shows. Orders on memory that is meant for the host are never reported as too strong if the scenario has no host
/// thread that accesses it.
#pragma once

#include <check/code_edit.hpp>
#include <check/order_costs.hpp>
#include <check/program.hpp>

#include <cstdint>
#include <vector>

namespace membar::check {

using namespace ptx;

/// The limits of a search for repairs.
struct repair_options {
  check_options each{};                      ///< the options of each exploration
  int most_edits = 3;                        ///< the maximum number of changes in one repair
  std::uint64_t most_explorations = 20'000;  ///< the maximum number of explorations
  std::uint64_t most_events = 200'000'000;   ///< the maximum number of events added in all explorations
  /// the maximum processor time of the search, after which the search returns what it has found so far; a smaller limit in
  /// `each.time` takes precedence
  double most_seconds = 9;
  int most_kept = 24;  ///< the maximum number of verified sets from which the cheapest are selected
};

/// Changes with which a program is verified, possibly without its executions with load buffering.
struct repair {
  std::vector<code_edit> edits{};
  std::vector<double> costs{};  ///< for each change: the time in nanoseconds that it adds to the cost of its instruction
  /// the sum of the costs, with each change counted once; barriers are not included, because their cost is not measured
  double cost = 0;
  int barriers = 0;           ///< the number of changes that are barriers
  check_statistics counts{};  ///< the statistics of the exploration that verified the repair
  /// Whether a change makes a weak access strong, and either the access orders no other accesses or the program has no final
  /// condition. The race is gone, but reads may still return old values, which only final conditions can rule out.
  bool only_strong = false;
  bool load_buffering_is_open = false;  ///< whether the executions with load buffering could not all be explored
};

/// The result of a search for repairs.
struct repair_result {
  /// the best ones first, but those whose load buffering is open last; all repairs have the same number of changes, which is the
  /// smallest possible
  std::vector<repair> repairs{};
  std::uint64_t explorations = 0;
  int tried = 0;          ///< all sets of up to this number of changes were tried, unless something was left out
  bool left_out = false;  ///< whether an exploration or the search was cut short, or sets were left out
};

/// An order that is stronger than a program needs.
struct excess_order {
  code_edit edit{};
  double saved = 0;  ///< the saved time in nanoseconds
};

/// The result of a search for excess orders.
struct excess_result {
  std::vector<excess_order> alone{};     ///< the program is verified with each of these changes if nothing else is changed
  std::vector<excess_order> together{};  ///< the program is verified with all of these changes together
  int orders = 0;                        ///< the number of orders that were examined
  std::uint64_t explorations = 0;
  bool left_out = false;
};

/// Returns the cost of a change in nanoseconds: the cost of the new strength minus the cost of the old strength. Costs on the
/// host are unknown and count as 0.
[[nodiscard]] double cost_of(const code_site& site, const code_edit& e, const order_costs& costs);

/// Looks for the smallest sets of changes with which a program is verified, and makes each set as cheap as possible. The
/// changes concern orders, scopes, fences and barriers. Repairs that require any other change to the code are not found.
///
/// A repair is proven for this program, with its launches and arguments, in the same way as a program that `explore` verifies.
/// The program and the property must outlive the call.
[[nodiscard]] repair_result repairs_of(const program& p, const check_property& property, const order_costs& costs,
                                       const repair_options& options = {});

/// Looks for orders, scopes and fences in a verified program that can be weakened without breaking the verification.
///
/// The result proves nothing about other launches, which may need an order that these launches do not need.
[[nodiscard]] excess_result excess_orders_of(const program& p, const check_property& property, const order_costs& costs,
                                             const repair_options& options = {});

}  // namespace membar::check
