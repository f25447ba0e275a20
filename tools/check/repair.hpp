// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The weakest orders, scopes and fences under which a program verifies, and those of a verified program that are stronger than it
/// needs.
///
/// An execution that breaks a rule is still one after changes of instructions that it does not execute. So a set of changes that
/// verifies has one in each such execution, and the search tries those alone: sets of one change first, then of two, each change as
/// strong as PTX has it. What verifies is then weakened, one change after the other, as long as it verifies.
///
/// A barrier of the block or the warp is tried where it may order what is to blame: between two accesses of a block that race, or between an
/// access and what another thread of the block does for all.
///
/// No scope below system is proposed for an object in host memory, or one that host threads or several devices access, nor for a fence that
/// orders strong accesses of one: what is at the other side may be more than the scenario has. Orders of memory that is left to the host, of
/// which the scenario has no thread, are never called too strong.
#pragma once

#include <check/code_edit.hpp>
#include <check/order_costs.hpp>
#include <check/program.hpp>

#include <cstdint>
#include <vector>

namespace membar::check {

using namespace ptx;

/// How far a search for repairs goes.
struct repair_options {
  check_options each{};                      ///< of each exploration
  int most_edits = 3;                        ///< of a repair
  std::uint64_t most_explorations = 20'000;  ///< before it gives up
  std::uint64_t most_events = 200'000'000;   ///< added over all explorations, before it gives up
  double most_seconds = 9;                   ///< of a processor, before it gives up: what was found until then is the answer
  int most_kept = 24;                        ///< sets that verify, of which the cheapest are looked for
};

/// Changes under which a program verifies.
struct repair {
  std::vector<code_edit> edits{};
  std::vector<double> costs{};  ///< nanoseconds that each change adds to the cost of its instruction
  double cost = 0;              ///< of all, each once, but for barriers, whose cost is not measured
  int barriers = 0;             ///< how many changes are barriers
  check_statistics counts{};    ///< of the exploration that verified it
  /// A weak access becomes strong, and does not order others: a race is gone, and what is read may still be old. Only final
  /// conditions say that it may not.
  bool only_strong = false;
};

/// What a search for repairs found.
struct repair_result {
  std::vector<repair> repairs{};  ///< the cheapest first; all of one size, the smallest that there is
  std::uint64_t explorations = 0;
  int tried = 0;          ///< changes of a set: all sets of as many were tried, if nothing was left out
  bool left_out = false;  ///< an exploration was cut, or the search was
};

/// An order that is stronger than a program needs.
struct excess_order {
  code_edit edit{};
  double saved = 0;  ///< nanoseconds
};

/// What a search for excess orders found.
struct excess_result {
  std::vector<excess_order> alone{};     ///< each verifies with all others as they are
  std::vector<excess_order> together{};  ///< these verify together
  int orders = 0;                        ///< that were looked at
  std::uint64_t explorations = 0;
  bool left_out = false;
};

/// The cost of a change in nanoseconds: what the new strength costs less what the old one does. Costs of the host are not known, and count as 0.
[[nodiscard]] double cost_of(const code_site& site, const code_edit& e, const order_costs& costs);

/// Looks for the smallest sets of changes under which a program verifies, and makes each as cheap as it can. Changes are of
/// orders, scopes, fences and barriers: a repair that needs other code is not among them.
///
/// A repair is proven of this program, as `explore` proves it: of these launches and arguments. The program and the property
/// outlive the call.
[[nodiscard]] repair_result repairs_of(const program& p, const check_property& property, const order_costs& costs,
                                       const repair_options& options = {});

/// Looks for orders, scopes and fences of a verified program with which it verifies although they are weaker.
///
/// That proves nothing of other launches: an order that one launch does without another may need.
[[nodiscard]] excess_result excess_orders_of(const program& p, const check_property& property, const order_costs& costs,
                                             const repair_options& options = {});

}  // namespace membar::check
