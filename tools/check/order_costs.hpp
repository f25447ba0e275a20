// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The costs of memory orders on a device: a table in text form that bench/check/order_costs.py generates from measurements.
#pragma once

#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/instruction.hpp>

#include <array>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace membar::check {

using namespace ptx;

/// The table for the NVIDIA H200, which bench/check/order_costs.py generates from docs/measurements/h200/fence_cost.json,
/// atomic_cost.json and proxy_fence_cost.json. A test compares it with these files.
inline constexpr std::string_view h200_order_costs =
    "device NVIDIA H200\n"
    "fence acquire block 14.7\n"
    "fence release block 16.4\n"
    "fence acq_rel block 15.9\n"
    "fence seq_cst block 14.7\n"
    "fence acquire device 14.8\n"
    "fence release device 326.6\n"
    "fence acq_rel device 314.1\n"
    "fence seq_cst device 314.0\n"
    "fence acquire system 14.8\n"
    "fence release system 617.4\n"
    "fence acq_rel system 607.9\n"
    "fence seq_cst system 604.2\n"
    "atomic acq_rel block 6.7\n"
    "atomic acq_rel device 201.4\n"
    "atomic acq_rel system 593.2\n"
    "proxy any 248.9\n"
    "proxy global 23.9\n"
    "proxy shared 15.3\n";

/// The time, in nanoseconds, that an order adds to the cost of its instruction.
class order_costs {
 public:
  /// Parses a table with the lines "fence ORDER SCOPE NS", "atomic ORDER SCOPE NS", "proxy any NS", "proxy global NS", "proxy
  /// shared NS" and "device NAME", and with comments after '#'. A proxy fence that is not in the table costs as much as an
  /// acq_rel fence with device scope. A stronger order or a wider scope counts as at least as expensive as a weaker order or a
  /// narrower scope; measured differences in the other direction are treated as noise. Throws `model::error` with the line
  /// number.
  [[nodiscard]] static order_costs read(std::string_view text);

  /// Returns the cost of a fence.
  [[nodiscard]] double fence(memory_order order, thread_scope scope) const { return at(fences_, order, scope); }
  /// Returns the cost of a load's or store's order. The result is the cost of the corresponding fence, which is an upper bound.
  [[nodiscard]] double access(memory_order order, thread_scope scope) const {
    return order == memory_order::relaxed ? 0 : at(fences_, order, scope);
  }
  /// Returns the cost of a read-modify-write's order.
  [[nodiscard]] double atomic(memory_order order, thread_scope scope) const {
    return order == memory_order::relaxed ? 0 : at(atomics_, order, scope);
  }
  /// Returns the cost of a proxy fence for the given spaces, encoded as in `instruction::proxy_spaces`.
  [[nodiscard]] double proxy_fence(unsigned spaces) const noexcept {
    return proxy_[spaces == bit_of(proxy_space::global) ? 1 : spaces == bit_of(proxy_space::own_shared) ? 2 : 0];
  }
  [[nodiscard]] const std::string& device() const noexcept { return device_; }

 private:
  static constexpr std::array order_of_row{memory_order::acquire, memory_order::release, memory_order::acq_rel,
                                           memory_order::seq_cst};
  static constexpr std::array scope_of_column{thread_scope::block, thread_scope::cluster, thread_scope::device,
                                              thread_scope::system};
  static constexpr std::array<std::string_view, 3> proxy_names{"any", "global", "shared"};
  static constexpr std::size_t orders = order_of_row.size();
  static constexpr std::size_t scopes = scope_of_column.size();
  using table = std::array<std::array<double, scopes>, orders>;

  order_costs();

  [[nodiscard]] static double at(const table& t, memory_order order, thread_scope scope) noexcept;

  void read_line(const std::string& kind, std::istringstream& words, int number);

  static void set(double& cell, const std::string& what, const std::string& figure, const std::string& more, int number);

  void complete();

  table fences_{};
  table atomics_{};
  std::array<double, 3> proxy_{-1, -1, -1};  ///< in the order of proxy_names
  std::string device_ = "an unnamed device";
};

}  // namespace membar::check
