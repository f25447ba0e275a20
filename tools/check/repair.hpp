// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds the weakest orders, scopes and fences with which a program verifies, and the orders of a verified program that are
/// stronger than it needs.
///
/// An execution that breaks a rule still breaks it after changes to instructions that it does not execute. Therefore a set of
/// changes that verifies has a change in each such execution, and the search tries only such sets: first sets of one change,
/// then of two, with each change as strong as PTX allows. A set that verifies is then weakened, one change after the other, as
/// long as the program still verifies.
///
/// A barrier of the block or the warp is tried where it may order the events to blame: between two accesses of a block that
/// race, or between an access and an operation that another thread of the block performs for all threads.
///
/// No scope narrower than system is proposed for an object that is in host memory, or that host threads or several devices
/// access, nor for a fence that orders strong accesses to such an object, because the other side may do more than the scenario
/// shows. Orders on memory that is meant for the host, of which the scenario has no thread, are never reported as too strong.
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
  check_options each{};                      ///< for each exploration
  int most_edits = 3;                        ///< in one repair
  std::uint64_t most_explorations = 20'000;  ///< before the search gives up
  std::uint64_t most_events = 200'000'000;   ///< added in all explorations before the search gives up
  /// processor time before the search stops; it then returns what it has found so far
  double most_seconds = 9;
  int most_kept = 24;  ///< the number of sets that verify among which the cheapest are selected
};

/// Changes with which a program verifies.
struct repair {
  std::vector<code_edit> edits{};
  std::vector<double> costs{};  ///< the nanoseconds that each change adds to the cost of its instruction
  /// the sum, with each change counted once; barriers are not included, because their cost is not measured
  double cost = 0;
  int barriers = 0;           ///< the number of changes that are barriers
  check_statistics counts{};  ///< the statistics of the exploration that verified it
  /// Whether all changes make weak accesses strong without ordering other accesses: the race is gone, but reads may still
  /// return old values. Only final conditions can rule that out.
  bool only_strong = false;
};

/// The result of a search for repairs.
struct repair_result {
  std::vector<repair> repairs{};  ///< the cheapest first; all have the same size, which is the smallest possible
  std::uint64_t explorations = 0;
  int tried = 0;          ///< the number of changes for which all sets were tried, if nothing was left out
  bool left_out = false;  ///< whether an exploration or the search was cut short
};

/// An order that is stronger than a program needs.
struct excess_order {
  code_edit edit{};
  double saved = 0;  ///< nanoseconds
};

/// The result of a search for excess orders.
struct excess_result {
  std::vector<excess_order> alone{};     ///< each of these verifies if all others stay unchanged
  std::vector<excess_order> together{};  ///< these verify together
  int orders = 0;                        ///< the number of orders that were examined
  std::uint64_t explorations = 0;
  bool left_out = false;
};

/// Returns the cost of a change in nanoseconds: the cost of the new strength minus that of the old one. Costs on the host are
/// not known and count as 0.
[[nodiscard]] double cost_of(const code_site& site, const code_edit& e, const order_costs& costs);

/// Looks for the smallest sets of changes with which a program verifies, and makes each as cheap as possible. The changes
/// concern orders, scopes, fences and barriers; repairs that need other code are not found.
///
/// A repair is proven for this program, with its launches and arguments, in the same way as `explore` proves it. The program
/// and the property must outlive the call.
[[nodiscard]] repair_result repairs_of(const program& p, const check_property& property, const order_costs& costs,
                                       const repair_options& options = {});

/// Looks for orders, scopes and fences of a verified program that can be weakened so that the program still verifies.
///
/// This proves nothing about other launches: an order that one launch does not need may be needed by another.
[[nodiscard]] excess_result excess_orders_of(const program& p, const check_property& property, const order_costs& costs,
                                             const repair_options& options = {});

}  // namespace membar::check
